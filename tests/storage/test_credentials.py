"""Where tokens come from: a service account's signed statement, verified by google-auth with the
public key; a user's file; gcloud's; the metadata server; and what is told when there is none."""
import http.server
import json
import os
import pathlib
import subprocess
import threading
import urllib.parse

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

PROGRAM = pathlib.Path(os.environ.get("ATHANOR_PROGRAMS", "build/tests"), "storage_program_token")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server_port}"
        self.asked, self.answer, self.status = [], {"access_token": "the-token"}, 200
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02},
                         daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.path, dict(self.headers.items()),
                                  dict(urllib.parse.parse_qsl(body.decode()))))
        body = json.dumps(self.server.answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


def token(folder, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GOOGLE", "CLOUDSDK"))}
    environment |= {"HOME": str(folder), "GCE_METADATA_HOST": "127.0.0.1:1",
                    "ATHANOR_RETRY_SECONDS": "2"} | variables
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment,
                          timeout=30)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def account(server, key, form):
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return {"type": "service_account", "client_email": "me@project.iam.gserviceaccount.com",
            "private_key_id": "key-1", "private_key": pem.decode(),
            "token_uri": f"http://{server.host}/token"}


@pytest.mark.parametrize("form", [serialization.PrivateFormat.PKCS8,
                                  serialization.PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("bits", [2048, 4096])
def test_a_service_accounts_statement_is_what_google_auth_verifies(server, tmp_path, form, bits):
    key = rsa.generate_private_key(65537, bits)
    (tmp_path / "key.json").write_text(json.dumps(account(server, key, form)))
    assert token(tmp_path, GOOGLE_APPLICATION_CREDENTIALS=str(tmp_path / "key.json"))[:2] == (
        0, "the-token")
    fields = server.asked[0][2]
    assert fields["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    public = key.public_key().public_bytes(serialization.Encoding.PEM,
                                           serialization.PublicFormat.SubjectPublicKeyInfo)
    claims = jwt.decode(fields["assertion"], certs={"key-1": public},
                        audience=f"http://{server.host}/token")
    assert claims["iss"] == "me@project.iam.gserviceaccount.com"
    assert claims["scope"].startswith("https://www.googleapis.com/auth/devstorage")
    assert claims["exp"] - claims["iat"] == 3600


def test_the_file_that_gcloud_writes_is_found(server, tmp_path):
    user = {"type": "authorized_user", "client_id": "a&b", "client_secret": "s=",
            "refresh_token": "1//r", "token_uri": f"http://{server.host}/t"}
    for folder, variables in [(tmp_path / ".config/gcloud", {}),
                              (tmp_path / "own", {"CLOUDSDK_CONFIG": str(tmp_path / "own")})]:
        folder.mkdir(parents=True)
        (folder / "application_default_credentials.json").write_text(json.dumps(user))
        assert token(tmp_path, **variables)[:2] == (0, "the-token")
    assert server.asked[1][2] == {"grant_type": "refresh_token", "client_id": "a&b",
                                  "client_secret": "s=", "refresh_token": "1//r"}


def test_the_metadata_server_is_asked_last(server, tmp_path):
    assert token(tmp_path, GCE_METADATA_HOST=server.host)[:2] == (0, "the-token")
    path, headers, _ = server.asked[0]
    assert path == "/computeMetadata/v1/instance/service-accounts/default/token"
    assert headers["Metadata-Flavor"] == "Google"


def test_a_refused_token_is_got_anew_and_a_good_one_is_kept(server, tmp_path):
    token(tmp_path, "another", GCE_METADATA_HOST=server.host)
    assert len(server.asked) == 1
    token(tmp_path, "the-token", GCE_METADATA_HOST=server.host)
    assert len(server.asked) == 3


def test_a_token_given_is_taken(tmp_path):
    assert token(tmp_path, GOOGLE_OAUTH_ACCESS_TOKEN="given")[:2] == (0, "given")
    code, _, text = token(tmp_path, "given", GOOGLE_OAUTH_ACCESS_TOKEN="given")
    assert code == 7 and "given" not in text


def test_without_credentials_it_is_told_what_to_do(tmp_path):
    code, _, text = token(tmp_path)
    assert code == 7 and "GOOGLE_APPLICATION_CREDENTIALS" in text and "gcloud auth" in text


@pytest.mark.parametrize("change,code,part", [
    ({"type": "external_account"}, 11, "external_account"),
    ({"type": None}, 3, '"type"'),
    ({"private_key": "no key"}, 3, "PEM"),
    ({"private_key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"}, 3, "RSA"),
    ({"private_key": None}, 3, '"private_key"'),
    ({"token_uri": "http://example.com/token"}, 3, "not encrypted"),
])
def test_a_file_that_will_not_do_is_named_with_its_fault(server, tmp_path, change, code, part):
    key = rsa.generate_private_key(65537, 2048)
    fields = account(server, key, serialization.PrivateFormat.PKCS8) | change
    path = tmp_path / "key.json"
    path.write_text(json.dumps({k: v for k, v in fields.items() if v is not None}))
    got = token(tmp_path, GOOGLE_APPLICATION_CREDENTIALS=str(path))
    assert got[0] == code and str(path) in got[2] and part in got[2] and not server.asked


def test_an_answer_without_a_token_is_a_failure_and_says_why(server, tmp_path):
    server.answer = {"error": "invalid_grant", "error_description": "Token has been revoked."}
    server.status = 400
    user = tmp_path / "user.json"
    user.write_text(json.dumps({
        "type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c",
        "token_uri": f"http://{server.host}/t"}))
    code, _, text = token(tmp_path, GOOGLE_APPLICATION_CREDENTIALS=str(user))
    assert code == 3 and "Token has been revoked." in text
    server.answer, server.status = {"expires_in": 1}, 200
    code, _, text = token(tmp_path, GOOGLE_APPLICATION_CREDENTIALS=str(user))
    assert code == 3 and "access_token" in text
