#!/usr/bin/env python3
"""Two hosts with two cables of 1 Gbit each: ranks use both, which one connection would not, and say so. Four hosts in a ring of cables that was
plugged in without looking at their numbers: large arrays go round it both ways. Four hosts with a cable for each pair: they go over all of them."""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from namespaces import Mesh, ip, require_lab
from record_lines import records

PROGRAM = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")
NAME = "cables-%d" % os.getpid()
SIZE = 16 << 20


def plumbline(*words, **more):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120, **more)
    if done.returncode != 0:
        sys.exit("%s: exit status %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def measure(hosts, op, *options, size=SIZE):
    """The record of one operation out of place, with two ranks if the options do not say otherwise."""
    text = plumbline("coll", op, "-b", str(size), "-e", str(size), "-n", "5", "-w", "1", "--hosts", hosts, "--json",
                     "--congestion-control", "reno", "--progress-thread", "off", *options)  # connections are counted below
    (record,) = [r for r in records(text) if r["cell"]["placement"] == "out"]
    assert record["outcome"] == "passed" and record["wrong"] in (0, None), record
    return record


def cables(record):
    """The address of rank 0 on each connection's cable."""
    return sorted(text.split(" ")[1].split(">")[0].rsplit(":", 1)[0] for text in record["resolved"]["address_pairs"])


def measure_ring(folder):
    """Bus bandwidth of an allreduce in parts of one cable's rate: 2 is what a ring can have whose cables carry both directions at once."""
    order, rate = (0, 2, 1, 3), 100  # Mbit/s
    cables = {tuple(sorted((order[index], order[(index + 1) % 4]))) for index in range(4)}
    mesh = Mesh(4)
    data, groups = [list(addresses) for addresses in mesh.addresses], [[] for _ in range(4)]
    for subnet, pair in enumerate(itertools.combinations(range(4), 2)):
        if pair not in cables:
            ip("-n", mesh.names[pair[0]], "link", "del", mesh.links[pair])
        for near, far in (pair, pair[::-1]):
            if pair in cables:
                groups[near].append("cable%d%d" % pair)
                subprocess.run(["tc", "-n", mesh.names[near], "qdisc", "add", "dev", mesh.links[(near, far)], "root", "tbf", "rate", "%dmbit" % rate,
                                "burst", "32kb", "latency", "50ms"], check=True, timeout=20)
            else:
                data[near] = [address for address in data[near] if not address.startswith("10.77.%d." % subnet)]
    hosts = pathlib.Path(folder, "ring.json")
    hosts.write_text(json.dumps({"hosts": [{"name": "host%d" % index, "netns": mesh.names[index], "data": data[index], "group": groups[index]}
                                           for index in range(4)]}))
    seen = {}
    for algorithm, took in (("auto", "ring:2"), ("ring", "ring"), ("tree", "tree")):
        record = measure(str(hosts), "allreduce", "--algorithm", algorithm, "--ranks", "4", size=4 << 20)
        assert record["resolved"]["algorithm"] == took, record["resolved"]
        pairs = {tuple(map(int, text.split(" ")[0].split("-"))) for text in record["resolved"]["address_pairs"]}
        assert pairs == cables, pairs
        seen[took] = record["busbw_Bps"] * 8 / (rate * 1e6)
    print("ring of four cables, bus bandwidth in cables: " + ", ".join("%s %.2f" % item for item in seen.items()))
    # 1448 of 1514 bytes are data; one ring has no more than one cable's rate, a tree of four no more than 1.5 times that.
    assert seen["ring:2"] >= 1.5 > 1.1 > seen["ring"], seen
    mesh.remove()


def measure_mesh(folder):
    """Bus bandwidth of an allreduce in parts of one cable's rate: 3 is what four hosts can have, each with three cables."""
    topology = pathlib.Path(folder, "mesh.json")
    name = NAME + "-mesh"
    topology.write_text(json.dumps({"plumbline_lab": 1, "name": name, "shape": "mesh", "hosts": ["ada", "bode", "cori", "dora"], "data": "10.32.0.0/24",
                                    "rate": "100Mbit"}))
    hosts = plumbline("lab", "up", str(topology), "--seed", "4").strip()
    try:
        record = measure(hosts, "allreduce", "--ranks", "4", size=4 << 20)
    finally:
        plumbline("lab", "down", name)
    assert record["resolved"]["algorithm"] == "halving_doubling:4", record["resolved"]
    cables = record["busbw_Bps"] * 8 / 100e6
    print("mesh of four hosts, bus bandwidth in cables: %.2f" % cables)
    assert cables >= 2.4, cables  # 1448 of 1514 bytes are data, so 2.87 at most; a ring has 0.96


def main():
    require_lab()
    with tempfile.TemporaryDirectory() as folder:
        measure_ring(folder)
        measure_mesh(folder)
        topology = pathlib.Path(folder, "topology.json")
        topology.write_text(json.dumps({"plumbline_lab": 1, "name": NAME, "shape": "mesh", "hosts": ["ada", "bode"], "cables": 2,
                                        "data": "10.31.0.0/24", "rate": "1Gbit"}))
        hosts = plumbline("lab", "up", str(topology), "--seed", "3").strip()
        try:
            one = {op: measure(hosts, op, "--streams", "1") for op in ("allreduce", "broadcast")}
            for op, single in one.items():
                both = measure(hosts, op)
                ratio = both["busbw_Bps"] / single["busbw_Bps"]
                print("%s: one cable %.0f MB/s, both %.0f MB/s, %.2f times" % (op, single["busbw_Bps"] / 1e6, both["busbw_Bps"] / 1e6, ratio))
                assert {single["resolved"]["transport"], both["resolved"]["transport"]} == {"tcp"}, "hosts that are namespaces share no memory"
                assert single["resolved"]["streams"] == 1 and both["resolved"]["streams"] == 2, (single["resolved"], both["resolved"])
                assert len(cables(single)) == 1 and len(set(cables(both))) == 2, (cables(single), cables(both))
                (settings,) = both["resolved"]["connections"]
                assert settings["ends"] == 4 and settings["mss"] > 1000 and settings["congestion_control"], settings
                # What both cables carry is what the host file states of them.
                assert both["extra"]["link_bps"] == 2 * single["extra"]["link_bps"] == 2e9, (single["extra"], both["extra"])
                assert ratio >= 1.6, ratio
            # More streams than cables: in turn.
            four = measure(hosts, "allreduce", "--streams", "4")
            assert four["resolved"]["streams"] == 4 and len(set(cables(four))) == 2 and len(cables(four)) == 4, four["resolved"]
            # Two ranks a host share its memory, over one connection; between the hosts both cables stay.
            told = json.loads(pathlib.Path(hosts).read_text())
            for host in told["hosts"]:
                host["ranks"] = 2
            crowded = pathlib.Path(folder, "crowded.json")
            crowded.write_text(json.dumps(told))
            mixed = measure(str(crowded), "allreduce", "--ranks", "4")["resolved"]
            assert mixed["transport"] == "shm+tcp" and mixed["streams"] == 2 and not mixed["fell_back"], mixed
            assert len(mixed["address_pairs"]) == 2 * 1 + 4 * 2, mixed["address_pairs"]
            refused = subprocess.run([PROGRAM, "coll", "barrier", "--ranks", "4", "--transport", "shm", "--hosts", str(crowded)],
                                     capture_output=True, text=True, timeout=120)
            assert refused.returncode != 0 and "rank 0 on ada and rank 2 on bode are on different machines" in refused.stderr, refused.stderr
        finally:
            plumbline("lab", "down", NAME)
    print("ok")


if __name__ == "__main__":
    main()
