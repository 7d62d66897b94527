#!/usr/bin/env python3
"""Four ranks on a mesh of namespaces, one /30 per pair: every pair's bytes go over its own link, as the interface counters tell."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from namespaces import Mesh, require_lab
from record_lines import records_of

RANKS = 4
BYTES = 16 << 20  # of the alltoall: a quarter of it from each rank to each other
OPERATIONS = 2    # what a check cell runs: the first operation and the verified one


def main():
    require_lab()
    program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
    mesh = Mesh(RANKS)
    hosts = [{"name": "host%d" % index, "netns": mesh.names[index], "data": mesh.addresses[index]} for index in range(RANKS)]
    collectives = ["allreduce", "reduce_scatter", "allgather", "broadcast", "reduce", "gather", "scatter", "barrier", "sendrecv"]
    block = {"kind": "check", "ranks": RANKS}
    scenario = {"plumbline": 1, "question": "Does each pair use its own cable?", "hosts": hosts, "roofs": False, "probes": [],
                "matrix": [dict(block, op="alltoall", bytes=BYTES)], "report": ["console"]}
    with tempfile.TemporaryDirectory() as folder:
        def run(name, matrix):
            path = pathlib.Path(folder, name + ".json")
            path.write_text(json.dumps(dict(scenario, matrix=matrix)))
            out = pathlib.Path(folder, name)
            done = subprocess.run([program, "run", str(path), "--out", str(out)], capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                sys.exit("exit status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
            return records_of(out / "records.jsonl")

        for record in run("all", [dict(block, op=collectives, bytes=100_000, algorithm="all")]):
            assert record["outcome"] in ("passed", "skipped"), record
            assert record["wrong"] in (0, None), record

        before = {pair: mesh.sent_bytes(*pair) for pair in mesh.links}
        (record,) = run("alltoall", scenario["matrix"])
        sent = {pair: mesh.sent_bytes(*pair) - before[pair] for pair in mesh.links}
    assert record["outcome"] == "passed" and record["wrong"] == 0, record

    payload = OPERATIONS * BYTES // RANKS
    for (a, b), count in sorted(sent.items()):
        print("host%d -> host%d over %s: %.2f of the payload" % (a, b, mesh.links[(a, b)], count / payload))
        # Headers and acknowledgements of the other direction add a little; another pair's payload would add all of it.
        assert payload <= count <= 1.1 * payload + 100_000, (a, b, count, payload)
    pairs = record["resolved"]["address_pairs"]
    assert len(pairs) == RANKS * (RANKS - 1) // 2, pairs
    for text in pairs:
        local, remote = (end.rsplit(":", 1)[0] for end in text.split(" ")[1].split(">"))
        assert local.rsplit(".", 1)[0] == remote.rsplit(".", 1)[0], "not one subnet: " + text
    print("ok: %d links, %d address pairs" % (len(sent), len(pairs)))


if __name__ == "__main__":
    main()
