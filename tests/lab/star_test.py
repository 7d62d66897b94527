#!/usr/bin/env python3
"""A star of three namespaces whose leaves have no path to one another: the link matrix measures what is there and says why the rest is not,
the doctor finds nothing wrong, collectives go over the hub or run in the groups that can, and a leaf that is lost is named to the other leaf too."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import Mesh, ip, require_lab
from record_lines import records_of

HUB, LEAVES = 1, (0, 2)  # rank 0 is a leaf: its way to the other one leads over rank 1
NAMES = ("leaf0", "hub", "leaf2")
OPERATIONS = ["allreduce", "reduce_scatter", "allgather", "broadcast", "reduce", "gather", "scatter", "alltoall", "barrier"]
MATRIX = [
    {"op": "link", "measure": ["latency", "stream", "incast", "all_pairs"], "time": "200ms"},
    {"kind": "check", "op": "allreduce", "bytes": 4096, "hosts": "groups"},
    {"kind": "check", "op": OPERATIONS, "bytes": [4096, "1Mi"], "hosts": "all", "algorithm": ["auto", "ring"]},
    {"kind": "latency", "op": ["allreduce", "alltoall"], "bytes": [96, "256Ki"], "sync": ["window", "none"], "stop": {"max_time": "50ms"}},
    {"kind": "check", "op": "allreduce", "bytes": 4096, "hosts": "pairs"},
]


def is_rank(pid):
    try:
        return b"\0rank\0" in pathlib.Path("/proc", pid, "cmdline").read_bytes()
    except OSError:  # it has ended
        return False


def stopped_leaf(program, mesh, hosts, folder):
    """The ranks wait for a leaf that is stopped, one of them over the hub: who is at fault is named all the same, in time."""
    scenario = pathlib.Path(folder, "long.json")
    matrix = [{"op": "allreduce", "bytes": 65536, "repeat": 200, "stop": {"ci": 0, "max_n": 100000, "max_time": "200ms"}}]
    scenario.write_text(json.dumps({"plumbline": 1, "hosts": hosts, "config": {"watchdog_timeout_ms": 3000}, "matrix": matrix, "roofs": False,
                                    "report": ["console"]}))
    path = pathlib.Path(folder, "long", "records.jsonl")
    run = subprocess.Popen([program, "run", str(scenario), "--out", str(path.parent), "--no-probes", "--quiet"], stdout=subprocess.DEVNULL)

    def measured():
        return records_of(path) if path.exists() else []

    def reasons():
        return [record["reason"] for record in measured() if record["outcome"] == "error"]

    def wait_for(found, seconds):
        deadline = time.monotonic() + seconds
        while not found() and time.monotonic() < deadline:
            time.sleep(0.05)
        return found()

    try:
        assert wait_for(lambda: len(measured()) > 1, 60), "nothing was measured"
        pids = subprocess.run(["ip", "netns", "pids", mesh.names[2]], capture_output=True, text=True).stdout.split()
        stopped = [pid for pid in pids if is_rank(pid)]
        assert len(stopped) == 1, pids
        os.kill(int(stopped[0]), signal.SIGSTOP)
        assert wait_for(reasons, 3 + 20), "nobody noticed that rank 2 is stopped"
        assert "rank 2 does not answer" in reasons()[0], reasons()
    finally:
        run.send_signal(signal.SIGINT)
        try:
            run.wait(timeout=30)
        except subprocess.TimeoutExpired:
            run.kill()
            for pid in subprocess.run(["ip", "netns", "pids", mesh.names[2]], capture_output=True, text=True).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            raise


def main():
    require_lab()
    program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
    mesh = Mesh(3)
    ip("-n", mesh.names[0], "link", "del", mesh.links[LEAVES])
    data = [list(addresses) for addresses in mesh.addresses]
    del data[0][1], data[2][0]  # those were on that cable
    groups = {HUB: ["left", "right"], LEAVES[0]: ["left"], LEAVES[1]: ["right"]}
    hosts = [{"name": NAMES[index], "netns": mesh.names[index], "data": data[index], "group": groups[index]} for index in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "star.json")
        scenario.write_text(json.dumps({"plumbline": 1, "hosts": hosts, "matrix": MATRIX, "roofs": False, "report": ["console"]}))

        def plumbline(*words, status=0):
            done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
            if done.returncode != status:
                sys.exit("%s: exit status %d\n%s%s" % (words, done.returncode, done.stdout, done.stderr))
            return done

        plumbline("run", str(scenario), "--out", folder + "/out", "--no-probes", "--quiet")
        kept = records_of(pathlib.Path(folder, "out", "records.jsonl"))
        links = [record for record in kept if record["cell"]["kind"] == "link"]
        assert len(links) == 4, len(links)
        for record in links:
            assert record["outcome"] == "passed", record["reason"]
            for link in record["links"]:
                leaves = HUB not in (link["from"], link["to"])
                assert bool(link.get("skipped")) == leaves, link
                assert leaves or not link.get("error"), link
        checks = {record["cell"]["hosts"]: record for record in kept if record["cell"]["kind"] == "check" and record["cell"].get("hosts")}
        assert {names: record["outcome"] for names, record in checks.items()} == {
            "leaf0+leaf2": "skipped", "leaf0+hub": "passed", "hub+leaf2": "passed"}, checks
        assert "leaf0 and leaf2" in checks["leaf0+leaf2"]["reason"], checks["leaf0+leaf2"]["reason"]
        for names in ("leaf0+hub", "hub+leaf2"):
            assert checks[names]["verified"] and checks[names]["wrong"] == 0, checks[names]

        # Over all three: what has no way goes over the hub, whatever the operation; a ring needs the missing cable.
        whole = [record for record in kept if record["cell"]["kind"] in ("check", "latency") and not record["cell"].get("hosts")]
        relayed = [record for record in whole if record["cell"]["algorithm"] == "auto"]
        assert {record["cell"]["op"] for record in relayed} == set(OPERATIONS)
        for record in relayed:
            assert record["outcome"] == "passed" and record["wrong"] == 0, record
            assert record["verified"] or record["cell"]["sync"] == "none", record  # of those a share
            used = {frozenset(map(int, pair.split(" ")[0].split("-"))) for pair in record["resolved"]["address_pairs"]}
            assert frozenset(LEAVES) not in used, record["resolved"]
            allowed = ("chain", "tree") if record["cell"]["op"] in ("broadcast", "reduce") else ("tree",)  # 0 - 1 - 2 is a chain too
            assert record["resolved"]["algorithm"] in allowed, record
        rings = [record for record in whole
                 if record["cell"]["algorithm"] == "ring" and record["cell"]["op"] in ("allreduce", "reduce_scatter", "allgather")]
        assert len(rings) == 6, rings
        for record in rings:
            assert record["outcome"] == "skipped" and "ranks 0 and 2, which are not connected" in record["reason"], record

        coll = plumbline("coll", "alltoall", "--hosts", str(scenario), "--ranks", "3", "-b", "96", "-e", "8M", "-f", "1024", "-n", "10", "--json")
        lines = [json.loads(line) for line in coll.stdout.splitlines() if '"cell"' in line]
        assert [line["resolved"]["algorithm"] for line in lines] == ["tree"] * len(lines) and len(lines) >= 2, lines
        refused = plumbline("coll", "allreduce", "--hosts", str(scenario), "--ranks", "3", "-b", "8", "-e", "8", "--algorithm", "ring", status=2)
        assert "leaf0 and leaf2" in refused.stdout + refused.stderr and "auto" in refused.stdout + refused.stderr, refused

        stopped_leaf(program, mesh, hosts, folder)

        verdict = json.loads(plumbline("doctor", "--hosts", str(scenario), "--json").stdout)
        assert verdict["verdict"] == "ok", verdict["findings"]
        skipped = [check for check in verdict["checks"] if {check["host"], check["peer"]} == {"leaf0", "leaf2"}]
        assert skipped and all(check["outcome"] == "skipped" for check in skipped), skipped
    print("ok: %d link cells, groups %s" % (len(links), sorted(checks)))


if __name__ == "__main__":
    main()
