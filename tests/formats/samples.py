"""Runs program_samples, for the tests beside this file."""

import json
import os
import subprocess

PROGRAM = os.path.join(os.environ["ATHANOR_PROGRAMS"], "formats_program_samples")


def run(command, path):
    """The exit status, the lines of JSON and the message of a run."""
    done = subprocess.run([PROGRAM, command, str(path)], capture_output=True, text=True,
                          timeout=120)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def show(command, path):
    status, lines, message = run(command, path)
    assert status == 0, message
    return lines
