#!/usr/bin/env python3
"""Four hosts with a cable for each pair, two of them slow: `tune` finds the ring that leaves the slow cables out, and `auto` is faster with what
it has found than without."""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from namespaces import Mesh, require_lab
from record_lines import records

PROGRAM = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")
# A ring in the order of the ranks goes over both of them.
SLOW, SLOW_MBIT, FAST_MBIT = {(0, 1), (2, 3)}, 40, 200
SIZE = "1M"


def plumbline(*words, **environment):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=180, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit("%s: exit status %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def host_file(folder, mesh):
    for pair in itertools.combinations(range(4), 2):
        for near, far in (pair, pair[::-1]):
            rate = SLOW_MBIT if pair in SLOW else FAST_MBIT
            subprocess.run(["tc", "-n", mesh.names[near], "qdisc", "add", "dev", mesh.links[(near, far)], "root", "tbf", "rate",
                            "%dmbit" % rate, "burst", "32kb", "latency", "50ms"], check=True, timeout=20)
    path = pathlib.Path(folder, "hosts.json")
    path.write_text(json.dumps({"hosts": [{"name": "host%d" % index, "netns": mesh.names[index], "data": list(mesh.addresses[index])}
                                          for index in range(4)]}))
    return str(path)


def measure(hosts, state):
    """The algorithm that `auto` takes for an allreduce of SIZE, and its bus bandwidth in Mbit/s."""
    text = plumbline("coll", "allreduce", "-b", SIZE, "-e", SIZE, "-n", "5", "-w", "1", "--hosts", hosts, "--json", XDG_STATE_HOME=state)
    (record,) = [r for r in records(text) if r["cell"]["placement"] == "out"]
    assert record["outcome"] == "passed" and record["wrong"] in (0, None), record
    return record["resolved"]["algorithm"], record["busbw_Bps"] * 8 / 1e6


def slow_hops(algorithm):
    """Of "ring:0-2-1-3" or "ring:2:0-2-1-3"."""
    order = [int(rank) for rank in algorithm.rsplit(":", 1)[-1].split("-")]
    assert sorted(order) == [0, 1, 2, 3], algorithm
    return SLOW & {tuple(sorted((order[index], order[(index + 1) % 4]))) for index in range(4)}


def main():
    require_lab()
    mesh = Mesh(4)
    with tempfile.TemporaryDirectory() as folder:
        hosts, state = host_file(folder, mesh), os.path.join(folder, "state")
        usual, before = measure(hosts, state)
        hurried = subprocess.run([PROGRAM, "tune", hosts, "--max-time", "1s", "-o", os.path.join(folder, "none.json")], capture_output=True, text=True,
                                 timeout=60, check=False)
        assert hurried.returncode != 0 and "share of --max-time" in hurried.stderr and "doctor" not in hurried.stderr, hurried
        print(plumbline("tune", hosts, "--op", "allreduce", "-b", SIZE, "-e", SIZE, "--max-time", "30s", "--seed", "7", XDG_STATE_HOME=state))
        (tuned,) = [json.loads(path.read_text()) for path in pathlib.Path(state, "plumbline", "tuning").iterdir()]
        chosen, after = measure(hosts, state)
        print("allreduce %s, auto before: %s, %.0f Mbit/s; after: %s, %.0f Mbit/s" % (SIZE, usual, before, chosen, after))
    # A cable for each pair: auto goes over all of them, and the slow ones, with a quarter of the array each way, set the pace.
    assert usual == "halving_doubling:4" and 2 * before < after, (usual, before, after)
    (row,) = tuned["table"]
    assert chosen.startswith("ring:") and row["algorithm"] == chosen and row["usual"] == usual and row["gain"] > 2, (chosen, row)
    assert not slow_hops(chosen), chosen
    # 1448 of 1514 bytes are data, and a cable carries both directions.
    assert 0.75 * FAST_MBIT < after < 2 * FAST_MBIT, after
    mesh.remove()
    print("ok")


if __name__ == "__main__":
    main()
