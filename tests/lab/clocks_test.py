#!/usr/bin/env python3
"""Window timing between hosts whose clocks are days apart: namespaces for the network and for the time, with known offsets, a real run,
and the true offset inside the stated bound."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from namespaces import Mesh, SKIPPED, require_lab
from record_lines import records_of

RANKS = 3
AHEAD_S = [0, 1000, 3 * 86400]  # each host's monotonic clock, seconds before that of this machine
READ_CLOCK = "import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))"


def in_time_namespace(seconds):
    return ["unshare", "--time", "--monotonic", str(seconds), "--fork", "--kill-child", "--"]


def require_time_namespaces():
    """This machine can shift a clock, which is seen without plumbline."""
    def clock(prefix):
        done = subprocess.run(prefix + [sys.executable, "-c", READ_CLOCK], capture_output=True, text=True, timeout=20)
        return int(done.stdout) if done.returncode == 0 else None
    here, there = clock([]), clock(in_time_namespace(1000))
    if there is None or not 1000 <= (there - here) / 1e9 < 1060:
        print("Skipped: this system has no time namespaces (Linux 5.6, util-linux 2.36)")
        sys.exit(SKIPPED)


def start_script(folder, program, seconds):
    """A host's `binary`: the program with its clock shifted."""
    path = pathlib.Path(folder, "ahead-%d" % seconds)
    path.write_text("#!/bin/sh\nexec %s %s \"$@\"\n" % (" ".join(in_time_namespace(seconds)), program))
    path.chmod(0o755)
    return str(path)


def run(program, folder, hosts, name):
    scenario = {"plumbline": 1, "question": "How long does an operation take by one clock?", "hosts": hosts, "roofs": False, "probes": [],
                "matrix": [{"op": ["allreduce", "broadcast", "barrier"], "bytes": 4096, "sync": "window", "ranks": [2, RANKS],
                            "stop": {"max_time": "1s"}}], "report": ["console"]}
    path = pathlib.Path(folder, name + ".json")
    path.write_text(json.dumps(scenario))
    out = pathlib.Path(folder, name)
    done = subprocess.run([program, "run", str(path), "--out", str(out), "--allow-commands"], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit("exit status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    assert "sync window" in done.stdout, done.stdout
    return records_of(out / "records.jsonl")


def check(record, ahead_s):
    what = "%s, %d ranks" % (record["cell"]["op"], record["cell"]["ranks"])
    extra = record["extra"]
    assert record["outcome"] == "passed" and record["cell"]["sync"] == "window", record
    assert extra["clock_breaks_count"] == 0, (what, extra)
    assert record["time_ns"]["n"] == record["iterations"], (what, extra)
    if record["time_ns"]["n"] > 0:
        # By any two of these clocks alone the time would be off by a quarter of an hour.
        assert 1000 < record["time_ns"]["p50"] < 1e9, (what, record["time_ns"])
    else:  # ranks that share a busy core may all be late, always; then the row must say so
        assert record["cell"]["ranks"] > os.cpu_count(), (what, extra)
        assert record["noise"] == {"verdict": "invalid", "causes": ["every sample late"]}, (what, record["noise"])
    for rank in record["per_rank"]:
        truth = (ahead_s[0] - ahead_s[rank["rank"]]) * 1e9
        wrong = abs(rank["clock_offset_ns"] - truth)
        print("%s: rank %d off by %.1f us, bound %.1f us" % (what, rank["rank"], wrong / 1e3, rank["clock_error_ns"] / 1e3))
        assert wrong <= rank["clock_error_ns"], (what, rank, wrong)
        assert (rank["rank"] == 0) == (rank["clock_offset_ns"] == 0), (what, rank)
    drift, error = extra["clock_drift_ppm"], extra["clock_drift_error_ppm"]
    assert drift <= error, (what, "one machine, no drift", extra)  # the magnitude of an estimate whose truth is 0
    print("%s: p50 %.1f us, clock error %.1f us, drift %.1f +- %.1f ppm, %d of %d late, window %.0f us" % (
        what, (record["time_ns"]["p50"] or 0) / 1e3, extra["clock_error_ns"] / 1e3, drift, error, extra["late_samples_count"],
        extra["late_samples_count"] + record["time_ns"]["n"], extra["window_ns"] / 1e3))


def main():
    require_lab()
    require_time_namespaces()
    program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
    mesh = Mesh(RANKS)
    checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, ahead_s in (("rank-0-here", AHEAD_S), ("rank-0-ahead", AHEAD_S[::-1])):
            hosts = [{"name": "host%d" % index, "netns": mesh.names[index], "data": mesh.addresses[index],
                      "binary": start_script(folder, program, ahead_s[index])} for index in range(RANKS)]
            records = run(program, folder, hosts, name)
            assert len(records) == 6, len(records)
            for record in records:
                check(record, ahead_s)
                checked += record["cell"]["ranks"]
    print("ok: %d offsets inside their bounds" % checked)


if __name__ == "__main__":
    main()
