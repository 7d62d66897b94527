#!/usr/bin/env python3
"""Every fault of the table is made once in a real lab: what it breaks is seen from the hosts, by connections, pings and transfers that do
not come from plumbline; pairs that it does not concern go on; and after `heal` everything is as before. The networks are tried side by side.
Half of the faults each day (daily.py). Arguments: seed (1), then names of faults (all)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from daily import EXHAUSTIVE, SHARE
from namespaces import beside, require_lab
import lab_net

PROGRAM = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")

# Each fault is made in the first of these that can hold it, beginning at another one each time.
NETWORKS = [
    {"shape": "star", "hosts": 3, "rate": "1Gbit"},
    {"shape": "mesh", "hosts": 3, "rate": "500Mbit"},
    {"shape": "star", "hosts": 3, "control": "10.251.0.0/24", "mtu": 9000},
    {"shape": "routed", "hosts": 4},
    {"shape": "star", "hosts": 3, "family": "ipv6"},
    {"shape": "star", "hosts": 3, "carrier": "bridge"},
]

# Wrong, but hosts that know each other's MAC go on talking for a while.
HIDDEN = {"duplicate_address"}


def lab(*words):
    done = subprocess.run([PROGRAM, "lab", *words], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError("%s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


class Network:
    """A lab that is up, with what it looks like and does while it is healthy."""

    def __init__(self, number, keys, seed, folder):
        self.name = "faults-%d-%d" % (os.getpid(), number)
        path = pathlib.Path(folder, self.name + ".json")
        path.write_text(json.dumps(dict(keys, plumbline_lab=1, name=self.name)))
        self.file = lab("up", str(path), "--seed", str(seed)).strip()
        hosts = json.load(open(self.file))["hosts"]
        state = json.load(open("/run/plumbline/%s/state.json" % self.name))["lab"]
        self.namespaces = [h["netns"] for h in hosts] + ([state["switch_netns"]] if state["switch_netns"] else [])
        self.prober = lab_net.Prober(hosts, state["ports"])
        broken = self.settled()
        assert not broken, broken
        self.before = self.snapshots()
        self.file_before = open(self.file).read()
        rows = json.loads(lab("faults", "--lab", self.name, "--json"))
        self.unavailable = {row["fault"]: row["unavailable"] for row in rows}

    def snapshots(self):
        return {netns: lab_net.snapshot(netns) for netns in self.namespaces}

    def changes(self):
        after = self.snapshots()
        return [line for netns in self.namespaces for line in lab_net.difference(self.before[netns], after[netns])]

    def broken(self):
        return {key: value for key, value in self.prober.observe().items() if value != "ok"}

    def settled(self):
        """What is still broken when a moment has passed for retransmissions and neighbour entries."""
        for _ in range(4):
            broken = self.broken()
            if not broken:
                break
            time.sleep(0.7)
        return broken

    def down(self):
        subprocess.run([PROGRAM, "lab", "down", self.name], capture_output=True, timeout=60)


def beyond(broken, concerned):
    """Of what is broken, that between hosts which the fault does not concern."""
    return [key for key in broken if not set(key.split(":")[0].split(" ")[0].split(">")) & concerned]


def check(network, fault, seed):
    injected = json.loads(lab("inject", fault, "--lab", network.name, "--seed", str(seed), "--json"))
    expect = injected["expect"]
    concerned = {expect["host"], expect["peer"], *expect["other_hosts"]}
    broken = network.broken()
    besides = beyond(broken, concerned)
    # A crowded machine is late now and then; what the fault breaks is broken again.
    if besides:
        again = network.broken()
        besides = [key for key in besides if key in again]
    changed = network.changes()
    in_file = open(network.file).read() != network.file_before
    lab("heal", fault, "--lab", network.name)

    problems = []
    shown = bool(changed or in_file or injected["doctor_args"])
    if not broken and not shown and fault != "link_flapping" and not expect["warn"]:
        problems.append("nothing is broken and nothing is changed")
    talks_anyway = expect["warn"] or fault in HIDDEN or in_file or injected["doctor_args"] or any("names" in line for line in changed)
    if not broken and not talks_anyway:
        problems.append("everything still works")
    problems += ["breaks what it does not concern: " + key for key in besides]
    left = network.changes()
    if left:
        problems.append("heal left %s" % left)
        network.before = network.snapshots()
    if open(network.file).read() != network.file_before:
        problems.append("heal left the host file changed")
    still = network.settled()
    if still:
        problems.append("not healed: %s" % still)
    print("%-22s %-7s %s%s" % (fault, "ok" if not problems else "WRONG", injected["how"], "".join("\n    " + p for p in problems)), flush=True)
    return not problems


def try_all(network, faults):
    """Those that went wrong."""
    wrong = []
    for fault, seed in faults:
        try:
            if not check(network, fault, seed):
                wrong.append(fault)
        except AssertionError as problem:
            print("%-22s WRONG   %s" % (fault, problem), flush=True)
            wrong.append(fault)
    return wrong


def main():
    require_lab()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    only = sys.argv[2:]
    networks, wrong, left_out = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number, keys in enumerate(NETWORKS):
                networks.append(Network(number, keys, seed, folder))
            tries = {network: [] for network in networks}
            for number, fault in enumerate(sorted(networks[0].unavailable)):
                if fault not in only if only else not EXHAUSTIVE and (number + SHARE) % 2 != 0:
                    continue
                order = networks[(number + seed) % len(networks):] + networks[:(number + seed) % len(networks)]
                fitting = [network for network in order if not network.unavailable[fault]]
                if fitting:
                    tries[fitting[0]].append((fault, seed * 1000 + number))
                else:
                    left_out.append("%s (%s)" % (fault, networks[0].unavailable[fault]))
            beside([lambda network=network: wrong.extend(try_all(network, tries[network])) for network in networks])
        finally:
            for network in networks:
                network.down()
    made = sum(map(len, tries.values()))
    print("%d faults made and healed, wrong: %s, left out: %s" % (made, wrong or "none", left_out or "none"))
    assert only or made >= (45 if EXHAUSTIVE else 20), made
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
