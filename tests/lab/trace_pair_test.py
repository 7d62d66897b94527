#!/usr/bin/env python3
"""`plumbline trace A B` on real captures of both ends that do not begin and end together, by clocks that disagree: packets are lost between
the hosts, by the receiver's own filter, by the sender's own queue, or not at all, and both files are cut at either end. Nobody is accused who
is innocent, the files are taken for the right hosts, and with whole files the place is found.

  trace_pair_test.py                 all places
  trace_pair_test.py NAME...         only these
  TEST_EXHAUSTIVE=1                  every cut of both files, in tenths
  TEST_KEEP=FOLDER                   keep the captures there
"""
import itertools
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from namespaces import SKIPPED, require_lab
import trace_tshark_test as tshark

A, B = tshark.A4, tshark.B4
HEADER = 24
FINE = ("nowhere", "unknown")


def lose_nothing(lab):
    """All is well."""


def lose_between(lab):
    lab.forward("iifname to-a tcp dport 29600 tcp flags & syn == 0 numgen random mod 100 < 3 drop")


def lose_at_receiver(lab):
    lab.net.rules("b", "chain i { type filter hook input priority 0; tcp dport 29600 tcp flags & syn == 0 numgen random mod 100 < 3 drop; }")


def lose_at_sender(lab):
    """Routed into a cable that ends nowhere. A plain drop would be told to TCP, which then does not count the packet as sent."""
    for words in ("link add void type veth peer name void-end", "link set void up", "link set void-end up",
                  "neigh add 10.99.0.2 lladdr 02:00:00:00:00:99 dev void", "route add default via 10.99.0.2 dev void onlink table 77",
                  "rule add fwmark 7 lookup 77"):
        lab.net.run("a", "ip", *words.split())
    lab.net.rules("a", "chain o { type route hook output priority 0; tcp dport 29600 tcp flags & syn == 0 numgen random mod 100 < 3 meta mark set 7; }")


PLACES = {
    "none": (lose_nothing, "nowhere"),
    "between": (lose_between, "between the hosts"),
    "receiver": (lose_at_receiver, "behind the receiver's wire"),
    "sender": (lose_at_sender, "before the sender's wire"),
}


def records(path):
    """(time in microseconds, the rest of the record) of a pcap in this machine's byte order."""
    data, at, out = path.read_bytes(), HEADER, []
    while at + 16 <= len(data):
        seconds, micros, size = struct.unpack("<III", data[at:at + 12])
        out.append((seconds * 1_000_000 + micros, data[at + 8:at + 16 + size]))
        at += 16 + size
    return data[:HEADER], out


def cut(whole, path, head, tail, skew_us):
    """Writes what is left of a capture without these tenths of its time, by a clock that is off; returns the true times of its packets."""
    header, packets = whole
    first, last = packets[0][0], packets[-1][0]
    begin, end = first + (last - first) * head / 10, last - (last - first) * tail / 10
    left = [(at, rest) for at, rest in packets if begin <= at <= end]
    path.write_bytes(header + b"".join(struct.pack("<II", *divmod(at + skew_us, 1_000_000)) + rest for at, rest in left))
    return [at for at, _ in left]


def compare(program, first, second):
    done = subprocess.run([program, "trace", "--json", str(first), str(second)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit("plumbline trace: exit status %d\n%s" % (done.returncode, done.stderr))
    return json.loads(done.stdout)


def shared_packets(a_times, b_times):
    """How many packets at least either file has in the time that both cover in truth."""
    if not a_times or not b_times:
        return 0
    begin, end = max(a_times[0], b_times[0]), min(a_times[-1], b_times[-1])
    return min(sum(begin <= at <= end for at in times) for times in (a_times, b_times))


def check(found, guilty, covered, skew_us, whole):
    """Lines about what is wrong. `covered`: packets of either file in the time that both cover in truth."""
    overlap, wrong = found["overlap"], []
    if overlap["not_compared"]:
        return ["not compared: " + overlap["not_compared"]] if covered > 200 else []
    error_ns = 1e9 if overlap["clock_error_ns"] is None else overlap["clock_error_ns"] + 1e6
    if covered > 0 and abs(overlap["clock_offset_ns"] - skew_us * 1000) > error_ns:
        wrong.append("clocks %d ns apart" % overlap["clock_offset_ns"])
    places = set()
    for pair in found["pairs"]:
        flow = pair["here"] if pair["here"]["a_ip"] else pair["there"]
        a_sends = flow["a_ip"] == A
        if pair["told_by"] != "undecided" and pair["here_is_a"] != a_sends:
            wrong.append("taken for the other host, told by " + pair["told_by"])
        there, back = (pair["a_to_b"], pair["b_to_a"]) if a_sends else (pair["b_to_a"], pair["a_to_b"])
        places.add(there["where"])
        if there["where"] not in FINE + (guilty,):
            wrong.append("%s instead of %s" % (there["where"], guilty))
        if back["where"] not in FINE:
            wrong.append("the way back: " + back["where"])
        if guilty != "between the hosts" and there["left"] != there["arrived"] and there["where"] != "unknown":
            wrong.append("%d of %d arrived" % (there["arrived"], there["left"]))
    if whole and guilty not in places:
        wrong.append("the place was not found: %s" % sorted(places))
    return wrong


def cuts():
    halves = [(head, tail) for head in range(10) for tail in range(10 - head)]
    if os.environ.get("TEST_EXHAUSTIVE"):
        return list(itertools.product(halves, halves))
    ends = [(head, 0) for head in range(10)] + [(0, tail) for tail in range(1, 10)] + [(4, 4), (1, 6), (6, 1)]
    return [(one, other) for one in ends for other in ((0, 0), (3, 0), (0, 3), (5, 4))] + [((0, 0), one) for one in ends]


def main(names):
    require_lab()
    for tool in ("tcpdump", "nft", "tc"):
        if shutil.which(tool) is None:
            print("Skipped: needs " + tool)
            sys.exit(SKIPPED)
    program = os.environ.get("TEST_TRACE_PROGRAM") or os.path.join(os.environ["TEST_BUILD"], "plumbline")
    bad = cases = 0
    with tempfile.TemporaryDirectory() as folder:
        net = tshark.Net(os.environ.get("TEST_KEEP") or folder)
        for name in names or PLACES:
            lose, guilty = PLACES[name]
            ends = {host: net.capture(host, "%s-%s" % (name, host), "-i", "eth0") for host in "ab"}
            lab = tshark.Lab(net)
            lab.small_segments()
            net.run("r", "tc", "qdisc", "add", "dev", "to-b", "root", "tbf", "rate", "40mbit", "burst", "20000", "limit", "4000000")
            lose(lab)
            lab.server("read")
            lab.client(3_000_000, wait=150)
            whole = {host: records(end()) for host, end in ends.items()}
            net.reset()
            for number, (cut_a, cut_b) in enumerate(cuts()):
                skew = (0, 3_600_000_000, -2_500_000)[number % 3]
                paths = [pathlib.Path(folder) / host for host in "ab"]
                a_times = cut(whole["a"], paths[0], *cut_a, 0)
                b_times = cut(whole["b"], paths[1], *cut_b, skew)
                covered = shared_packets(a_times, b_times)
                turned = number % 2 == 1
                found = compare(program, *(reversed(paths) if turned else paths))
                if turned:  # the checks are for a's file first
                    for pair in found["pairs"]:
                        pair["here_is_a"] = not pair["here_is_a"]
                wrong = check(found, guilty, covered, -skew if turned else skew, cut_a == cut_b == (0, 0))
                cases += 1
                bad += bool(wrong)
                if wrong:
                    print("%s, a without %s, b without %s tenths, clock %+d us: %s" % (name, cut_a, cut_b, skew, "; ".join(wrong)), flush=True)
            print("%-10s %d cuts" % (name, len(cuts())), flush=True)
    print("%d comparisons, %d wrong" % (cases, bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
