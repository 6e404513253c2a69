"""The profile that a plugin records is the XSpace message which TensorBoard's profile tab opens,
here read by TensorFlow: that of libtpu, which needs no TPU for it."""
import os
import pathlib
import subprocess

import pytest

PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "build" / "pjrt"


def record(name, topology, path):
    plugin = PLUGINS / name
    if not plugin.exists():
        text = f"{plugin} is missing (scripts/setup.sh check)"
        pytest.fail(text) if os.environ.get("ATHANOR_REQUIRE_PLUGINS") else pytest.skip(text)
    program = os.path.join(os.environ["ATHANOR_PROGRAMS"], "backends_program_profile")
    subprocess.run([program, str(plugin), topology, str(path)], check=True, timeout=600)
    return path.read_bytes()


def test_libtpus_profile_is_a_space_with_the_planes_of_host_and_device(tmp_path):
    xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")
    data = record("libtpu.so", "v5e:2x4", tmp_path / "host.xplane.pb")
    space = xplane_pb2.XSpace.FromString(data)
    planes = {plane.name: plane for plane in space.planes}
    assert any(name.startswith("/device:") for name in planes)
    assert sum(len(line.events) for line in planes["/host:CPU"].lines) > 10  # it compiles
    assert not space.errors
    # Nothing is lost or added on the way: what was read is the file, whatever the fields' order.
    assert space.ByteSize() == len(data)
