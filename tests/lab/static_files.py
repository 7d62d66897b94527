"""The static binaries that scripts/static_binary.sh built, for tests: there, and of the build under test."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.join(os.environ["TEST_BUILD"], "plumbline")


def build_of(*command):
    """What a plumbline says of its build."""
    done = subprocess.run([*command, "version"], capture_output=True, text=True, timeout=60, check=True)
    return next(line for line in done.stdout.splitlines() if line.startswith("build "))


def static_binary(machine):
    """(path, None), or (None, why there is none)."""
    path = ROOT / "build-static" / ("plumbline-linux-" + machine)
    if not path.exists():
        return None, "no %s; scripts/static_binary.sh %s builds it" % (path.name, machine)
    mark = build_of(PROGRAM).replace("build ", "plumbline-build:") + ";"
    if mark.encode() not in path.read_bytes():
        return None, "%s is of another build; scripts/static_binary.sh %s renews it" % (path.name, machine)
    return path, None
