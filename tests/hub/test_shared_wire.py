"""What we send, beside what the real huggingface_hub client sent (traces in
../shared/data/hub_wire): the same members, the same kinds of content."""
import gzip
import json
import re

import pytest

from little_hub import environment, succeed
from standing_in import SHARED, StandIn

KINDS = ["POST .*/repos/create", "POST .*/preupload/", "POST .*/objects/batch", "PUT /_lfs/put/",
         "PUT /_lfs/part/", "POST /_lfs/complete/", "POST /_lfs/verify", "POST .*/commit/",
         "GET .*/tree/", "GET /api/whoami-v2"]


def members(value, path=""):
    """The paths of all members; of lists those of their items."""
    if isinstance(value, dict):
        return {p for name, v in value.items() for p in {f"{path}.{name}", *members(
            v, f"{path}.{name}")}}
    if isinstance(value, list):
        return {p for v in value for p in members(v, f"{path}[]")}
    return set()


def bodies(request):
    """Those of a commit one by one; a trace cuts long ones off."""
    lines = request["body"].splitlines() if "/commit/" in request["path"] else [request["body"]]
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            pass


def shape(requests, kind):
    """Members, and the headers that say what is sent and what is wanted."""
    found, types, tokens = set(), set(), set()
    for request in requests:
        if not re.match(kind, f"{request['m']} {request['path']}") or request["status"] != 200:
            continue
        headers = {name.lower(): value for name, value in request["h"].items()}
        types.add(headers.get("content-type"))
        tokens.add("authorization" in headers)
        for body in bodies(request):
            found |= members(body)
    return found, types, tokens


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    sent = []
    for i, options in enumerate([[], ["--part-size", "1000"]]):
        folder = tmp_path_factory.mktemp(f"wire{i}")
        stand_in, model = StandIn(folder, *options), folder / "model"
        model.mkdir()
        (model / "a.txt").write_text("1")
        (model / "b.bin").write_bytes(bytes(2500))
        env = environment(stand_in.address, folder / "home")
        succeed(env, "hub", "push", "one", model)
        succeed(env, "hub", "push", "hf://datasets/tester/two", model / "a.txt")
        (model / "a.txt").write_text("2")
        succeed(env, "hub", "push", "one", model)
        succeed(env, "hub", "pull", "tester/one")
        sent += stand_in.requests()
        stand_in.close()
    return sent


@pytest.fixture(scope="module")
def theirs():
    return [json.loads(line) for name in ("wire_trace", "wire_trace_mp")
            for line in gzip.open(SHARED / f"data/hub_wire/{name}.jsonl.gz", "rt")]


@pytest.mark.parametrize("kind", KINDS)
def test_requests_have_the_members_of_the_real_clients(ours, theirs, kind):
    found, types, tokens = shape(ours, kind)
    expected, their_types, their_tokens = shape(theirs, kind)
    assert their_tokens and (found or not kind.startswith("POST"))
    assert found == expected
    assert tokens == their_tokens
    if kind.startswith("POST"):
        assert types == their_types
