#!/usr/bin/env python3
"""A short soak between two namespaces joined by a shaped link. Undisturbed it has neither steps nor events; with the link shaped to less in
the middle, and an unused interface that loses its signal and another MTU at the same moment, the step stands at that round with both events
beside it. After idle time the first operations are told apart; Ctrl-C ends in order."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from links_test import need, shape
from namespaces import Mesh, ip, require_lab
from record_lines import records

BEFORE_MBIT, AFTER_MBIT = 50, 30  # slow enough that a crowded machine hardly shows beside it
EVERY = 0.9  # s
STEP_AFTER = 10  # rounds
SCENARIO = {
    "plumbline": 1,
    "question": "Does the soak see what the test does?",
    "matrix": [{"kind": "bandwidth", "op": "stream", "bytes": "128Ki", "stop": {"min_n": 10, "max_n": 10, "max_time": "200ms"}}],
    "config": {"bind_to": "none"},
    "roofs": False,
    "report": ["console"],
}


def settle(mesh):
    """Until the kernel has made its own IPv6 addresses, which would be events."""
    end = time.monotonic() + 10
    while any(ip("-n", name, "-6", "address", "show", "tentative").strip() for name in mesh.names):
        assert time.monotonic() < end, "IPv6 addresses stay tentative"
        time.sleep(0.1)


def lines_of(path):
    """Whole lines only: the last one may be half written."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


class Soak:
    def __init__(self, folder, name, host_file, *flags):
        self.out = pathlib.Path(os.environ.get("TEST_KEEP", folder), name)
        scenario = pathlib.Path(folder, "short.json")
        scenario.write_text(json.dumps(SCENARIO))
        program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
        self.process = subprocess.Popen([program, "run", str(scenario), "--hosts", str(host_file), "--out", str(self.out), "--no-probes",
                                         "--quiet", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def records(self):
        path = self.out / "records.jsonl"
        return records(path.read_text().rpartition("\n")[0]) if path.exists() else []

    def events(self, *kinds):
        return [event for event in lines_of(self.out / "events.jsonl") if event["kind"] in kinds]

    def wait_for_round(self, number):
        end = time.monotonic() + 30
        while not any(record["soak"]["round"] >= number for record in self.records()):
            assert time.monotonic() < end and self.process.poll() is None, "round %d never came" % number
            time.sleep(0.02)

    def finish(self, code=0):
        try:
            out, err = self.process.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        assert self.process.returncode == code, "exit status %d\n%s%s" % (self.process.returncode, out, err)
        (verdict,) = json.loads((self.out / "soak" / "soak.json").read_text())["soaks"]
        return out, verdict


def steps_of(verdict):
    return [(cell["what"], step) for cell in verdict["cells"] for step in cell["steps"]]


def undisturbed(folder, host_file):
    soak = Soak(folder, "calm", host_file, "--for", "12s", "--every", "%gs" % EVERY)
    text, verdict = soak.finish()
    assert steps_of(verdict) == [], text
    assert "No steps" in text or "drift" in text, text
    assert soak.events("link", "route", "address", "host", "cell") == [], soak.events("link", "route", "address", "host", "cell")
    assert verdict["rounds"] >= 11, verdict["rounds"]
    for record in soak.records():
        assert record["outcome"] == "passed", record["reason"]
    # The grid: no record ends before its round's start, and rounds do not wander.
    for record in soak.records():
        assert record["soak"]["at_ns"] >= (record["soak"]["round"] - 1) * EVERY * 1e9, record["soak"]
    for process in verdict["memory"]:
        assert process["constant"], process
    assert {process["process"] for process in verdict["memory"]} == {"coordinator", "rank 0 of 2 on host0", "rank 1 of 2 on host1"}, verdict
    return verdict["rounds"]


def disturbed(folder, mesh, host_file):
    soak = Soak(folder, "disturbed", host_file, "--for", "19s", "--every", "%gs" % EVERY)
    soak.wait_for_round(STEP_AFTER)
    shape(mesh, 0, 1, AFTER_MBIT)
    ip("-n", mesh.names[1], "link", "set", "spare1", "down")  # its peer's signal
    ip("-n", mesh.names[0], "link", "set", "other", "mtu", "1300")
    seen = max(record["soak"]["round"] for record in soak.records())
    text, verdict = soak.finish()
    print(text[text.find("= Soak"):])
    ((what, step),) = steps_of(verdict)
    # A round that ran while the link changed belongs to either side.
    assert seen < step["first_round"] <= seen + 2, (seen, step)
    assert step["first_round"] == step["last_round"], step
    # The cell's time: 50 -> 30 Mbit/s is 1.67 times as long.
    assert 1.45 < step["after"] / step["before"] < 1.9, step
    beside = {(event["host"], event["text"]) for event in step["beside"]}
    assert ("host1", "spare0 lost its signal") in beside, beside
    assert ("host0", "other mtu 1500 -> 1300") in beside, beside
    line = [each for each in text.splitlines() if each.startswith("- ") and " step " in each][0]
    assert "host1 spare0 lost its signal" in line and "round %d" % step["first_round"] in line and what in line, line
    # `report` says the same from the files alone.
    program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
    again = subprocess.run([program, "report", "console", str(soak.out)], capture_output=True, text=True, timeout=30, check=True).stdout
    assert line in again, again
    return step["first_round"]


def check_schemas(soak):
    """A second opinion on every line."""
    try:
        import jsonschema
    except ImportError:
        print("the schemas are not checked: needs jsonschema (package python3-jsonschema)")
        return
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
    for name, lines in (("record", lines_of(soak.out / "records.jsonl")), ("event", lines_of(soak.out / "events.jsonl"))):
        schema = jsonschema.Draft7Validator(json.loads((docs / (name + ".schema.json")).read_text()))
        assert lines, name
        for line in lines:
            problems = [error.message for error in schema.iter_errors(line)]
            assert problems == [], (name, problems)


def idle(folder, host_file):
    soak = Soak(folder, "idle", host_file, "--for", "8s", "--every", "500ms", "--idle", "1s,2s")
    text, verdict = soak.finish()
    assert [cold["idle_ns"] for cold in verdict["idle"]] == [10**9, 2 * 10**9], verdict["idle"]
    for cold in verdict["idle"]:
        assert cold["times"] >= 1 and cold["errors"] == 0, cold
        for key in ("cold_meeting_ns", "warm_meeting_ns", "first_ns", "second_ns", "warm_ns"):
            assert cold[key] > 0, (key, cold)
    assert "After idle time" in text, text
    check_schemas(soak)
    for record in soak.records():
        assert ("cold_op_8_ns" in record["extra"]) == (record["soak"]["idle_ns"] > 0), record["extra"]
    return verdict["idle"]


def interrupted(folder, host_file):
    soak = Soak(folder, "interrupted", host_file, "--for", "8h", "--every", "1h")
    soak.wait_for_round(1)
    time.sleep(0.2)
    start = time.monotonic()
    soak.process.send_signal(signal.SIGINT)
    text, verdict = soak.finish(130)
    assert time.monotonic() - start < 5
    assert "interrupted" in text and verdict["rounds"] == 1, text


def main():
    require_lab()
    need("tc")
    mesh = Mesh(2)
    # Interfaces that nobody uses: a veth within each host.
    for host, names in ((1, ("spare0", "spare1")), (0, ("other", "another"))):
        ip("-n", mesh.names[host], "link", "add", names[0], "type", "veth", "peer", "name", names[1])
        for name in names:
            ip("-n", mesh.names[host], "link", "set", name, "up")
    for a, b in mesh.links:
        shape(mesh, a, b, BEFORE_MBIT)
    settle(mesh)
    hosts = {"hosts": [{"name": "host%d" % index, "netns": mesh.names[index], "data": mesh.addresses[index]} for index in range(2)]}
    with tempfile.TemporaryDirectory() as folder:
        host_file = pathlib.Path(folder, "hosts.json")
        host_file.write_text(json.dumps(hosts))
        rounds = undisturbed(folder, host_file)
        at = disturbed(folder, mesh, host_file)
        cold = idle(folder, host_file)
        interrupted(folder, host_file)
    print("ok: %d calm rounds without a step; the step at round %d; first operation after idle time %s" % (
        rounds, at, ", ".join("%.1f times the warm one" % (each["first_ns"] / each["warm_ns"]) for each in cold)))


if __name__ == "__main__":
    sys.exit(main())
