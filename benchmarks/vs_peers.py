#!/usr/bin/env python3
"""plumbline beside gloo, Open MPI and MPICH, on this machine, in alternation.

Every measurement is a fresh set of processes. All sides run the same operation on f32 (sum, root 0), back to back, with the same number of operations
and of warm-up ones, ranks bound alike (--bind), and verify the first result; a time is the median over operations of the slowest rank. One round runs every
contender once, in an order that rotates. A ratio is the median over rounds of (best peer of that round) / (ours of that round): above 1 we are faster.
From 6 rounds on the interval behind it holds the true median in 95 of 100 cases; with fewer it is the range. A contender that cannot run is listed with
its reason; one that fails is not asked again at that size.

Everything runs in a network namespace of its own, where all sockets have the same congestion control (--cc) and where the bytes on the loopback device
tell whether a contender has used the transport that it is listed under.

  benchmarks/vs_peers.py                                            allreduce over TCP, 2 ranks, four sizes
  benchmarks/vs_peers.py --op all --ranks 4 --sizes 8,64K
  benchmarks/vs_peers.py --transport shm --peers openmpi_vader,mpich_shm --json out.json

Needs build/plumbline and of the peers what there is (scripts/packages.sh peers before the build is configured). Linux.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import private_network
import processes
from contenders import ELEMENT_BYTES, OPS, OURS, PEERS, VERSIONS, Cell
from processes import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST_ROUNDS = 6  # for an interval of 95 %
LAUNCHER_BYTES, LAUNCHED_BYTES = 1 << 20, 1 << 17  # what starting may send over the loopback device: at least, and for each rank


def operations(size, crowded=False):
    """(timed, warm-up) operations: about the same bytes for every size, at least 20."""
    timed = max(20, min(200 if crowded else 2000, (1 << 28) // max(size, 1)))
    return timed, max(5, timed // 5)


def ratios(ours, peers):
    """Of each round in which both have a time: the best peer over ours. `peers` has a list for each name; None = no time in that round."""
    found = []
    for number, mine in enumerate(ours):
        best = min((times[number] for times in peers.values() if times[number] is not None), default=None)
        if mine is not None and best is not None:
            found.append(best / mine)
    return found


def interval(values):
    """Around the median, by rank, whatever the distribution: 95 % from LEAST_ROUNDS values on, else all of them."""
    values, n = sorted(values), len(values)
    cut, tail = 0, 0.0
    while cut < n // 2 and tail + math.comb(n, cut) / 2**n <= 0.025:
        tail += math.comb(n, cut) / 2**n
        cut += 1
    return values[max(cut - 1, 0)], values[n - max(cut, 1)]


def best_of(peers):
    """The name with the lowest median; None when none has a time."""
    medians = {name: statistics.median(have) for name, times in peers.items() if (have := [t for t in times if t is not None])}
    return min(medians, key=medians.get, default=None)


def processors():
    """Those that this process may use, one of every core first, its hyper-threads after them: as plumbline binds its ranks."""
    def is_second(cpu):
        try:
            with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu) as file:
                return file.read().replace("-", ",").split(",")[0].strip() != str(cpu)
        except OSError:
            return False
    return sorted(sorted(os.sched_getaffinity(0)), key=is_second)


def whole_bytes(op, size, ranks):
    """What is left of a size when every rank has whole elements."""
    unit = ELEMENT_BYTES * (ranks if OPS[op][0] else 1)
    return size // unit * unit


def cell_of(op, placement, size, ranks, transport="tcp", congestion="reno", bind="auto", timed=None):
    cpus = processors()
    crowded = ranks > len(cpus)
    bound = bind == "core" or (bind == "auto" and not crowded)
    timed, warmup = (timed, max(5, timed // 5)) if timed else operations(size, crowded)
    return Cell(op, placement, size, ranks, timed, warmup, transport, tuple(cpus) if bound else (), bind == "core", crowded, congestion)


def check_traffic(cell, moved):
    """Raises Failed where the bytes on the loopback device do not fit the transport."""
    least = cell.timed * cell.bytes // 2  # no operation sends less over all ranks
    if cell.transport == "tcp" and moved < least and cell.op != "barrier":
        raise Failed("sent only %d bytes over the loopback device, so not all by TCP" % moved)
    if cell.transport == "shm" and moved > max(LAUNCHER_BYTES, LAUNCHED_BYTES * cell.ranks) + least:
        raise Failed("sent %d bytes over the loopback device, so not all by memory" % moved)


def measure(contender, cell, at, timeout_s=120, private=False):
    """The time of one start, in us. Raises Failed."""
    cell = contender.fitted(cell)
    with tempfile.TemporaryDirectory(prefix="plumbline-peers-") as folder:
        before = private_network.loopback_bytes() if private else 0
        processes.run_together(*contender.start(cell, at, folder), timeout_s, folder, lambda: contender.finished(cell, folder))
        if private:
            check_traffic(cell, private_network.loopback_bytes() - before)
        return contender.median(cell, folder) / 1e3


def run_rounds(contenders, cell, rounds, run):
    """run(contender, cell) gives a time or raises Failed. Returns the times, a list for each name, and the failures: (round, reason) by name."""
    times, failures = {one.name: [None] * rounds for one in contenders}, {}
    for number in range(rounds):
        shift = number % len(contenders)
        for contender in contenders[shift:] + contenders[:shift]:
            if contender.name in failures:
                continue
            try:
                times[contender.name][number] = run(contender, cell)
            except Failed as error:
                failures[contender.name] = (number + 1, str(error))
    return times, failures


def describe(ours, peers):
    """(median ratio, low, high) or None."""
    found = ratios(ours, peers)
    return (statistics.median(found), *interval(found)) if found else None


def show(cell, times, failures, left_out, rounds, unbound=()):
    placement = {"in": "in place, ", "out": "out of place, "}[cell.placement] if " " in OPS[cell.op][1] else ""
    print("\n%s, %d bytes, %s%d ranks %s, %d operations after %d; us, slowest rank, median of %d rounds (fastest to slowest)" % (
        cell.op, cell.bytes, placement, cell.ranks, "each on a processor" if cell.cpus else "not bound", cell.timed, cell.warmup, rounds))
    ours = times[OURS.name]
    for name, values in times.items():
        have = [value for value in values if value is not None]
        line = "  %-27s" % name
        if have:
            line += " %11.1f  (%.1f to %.1f)" % (statistics.median(have), min(have), max(have))
        against = describe(ours, {name: values}) if name != OURS.name else None
        if against:
            line += "   %.2f (%.2f to %.2f)" % against
        if name in unbound:
            line += "  not bound"
        if name in failures:
            line += "  round %d: %s" % failures[name]
        print(line)
    for reason in dict.fromkeys(left_out.values()):
        print("  left out, %s: %s" % (reason, ", ".join(name for name, why in left_out.items() if why == reason)))
    peers = {name: values for name, values in times.items() if name != OURS.name}
    result = describe(ours, peers)
    if result:
        print("  best peer of each round / ours: %.2f (%s %.2f to %.2f); best by its median: %s" % (
            result[0], "95 %:" if len(ratios(ours, peers)) >= LEAST_ROUNDS else "range", result[1], result[2], best_of(peers)))
    print("  %d contenders, %d failed, %d left out" % (len(times) + len(left_out), len(failures), len(left_out)), flush=True)


def version_of(program, arguments):
    if not shutil.which(program):
        return None
    try:
        done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (processes.first_words(done.stdout).split() or [None])[-1]


def compare(args, op, at):
    """All sizes of one operation, one after the other: what --json keeps of each."""
    placement = args.placement or OPS[op][1].split()[0]
    peers = [one for one in PEERS if one.transport == args.transport and (not args.peers or one.name in args.peers)]
    left_out = {one.name: why for one in [OURS, *peers] if (why := one.lacks(at) or one.cannot(op, placement))}
    if OURS.name in left_out:
        sys.exit("vs_peers: plumbline " + left_out[OURS.name])
    contenders = [OURS, *(one for one in peers if one.name not in left_out)]
    for size in [0] if op == "barrier" else args.sizes:
        whole = whole_bytes(op, size, args.ranks)
        if whole == 0 and op != "barrier":
            print("\n%s, %d bytes: less than an element for each of %d ranks, left out" % (op, size, args.ranks))
            continue
        cell = cell_of(op, placement, whole, args.ranks, args.transport, args.congestion, args.bind, args.iters)
        times, failures = run_rounds(contenders, cell, args.rounds, lambda one, what: measure(one, what, at, args.timeout, args.private))
        show(cell, times, failures, left_out, args.rounds, [one.name for one in contenders if one.fitted(cell) != cell and cell.cpus])
        mine = times.pop(OURS.name)
        yield {"op": op, "placement": placement, "bytes": whole, "timed": cell.timed, "warmup": cell.warmup, "bound": bool(cell.cpus),
               "plumbline_us": mine, "peers_us": times, "ratios": ratios(mine, times), "best": best_of(times),
               "failures": {name: {"round": number, "reason": why} for name, (number, why) in failures.items()}, "left_out": left_out}


def size_of(text):
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    size = int(text[:-1] if factor > 1 else text) * factor
    if not 0 < size <= 1 << 32:
        raise ValueError
    return size


def listed(what, allowed, whole=None):
    def parse(text):
        if whole is not None and text == whole:
            return list(allowed)
        names = text.split(",")
        for name in names:
            if name not in allowed:
                raise argparse.ArgumentTypeError("no %s '%s'; there are: %s" % (what, name, ", ".join(allowed)))
        return names
    return parse


def sizes(text):
    try:
        return [size_of(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError("'%s' is not a list of sizes from 1 to 4G, such as 8,64K,1M" % text) from None


def number(least, most):
    def parse(text):
        if text.isdecimal() and least <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError("'%s' is not a number from %d to %d" % (text, least, most))
    return parse


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--op", type=listed("operation", OPS, "all"), default=["allreduce"], metavar="NAMES",
                        help="operations, comma separated, or all: " + ", ".join(OPS))
    parser.add_argument("--ranks", type=number(2, 256), default=2)
    parser.add_argument("--sizes", type=sizes, default="8,64K,1M,64M", help="bytes, comma separated; over all ranks as in plumbline (8,64K,1M,64M)")
    parser.add_argument("--rounds", type=number(1, 10000), default=7)
    parser.add_argument("--iters", type=number(1, 1000000), help="timed operations of one start, if not by size: at least 20, at most 2000")
    parser.add_argument("--transport", choices=["tcp", "shm"], default="tcp")
    parser.add_argument("--placement", choices=["in", "out"], help="in place where the operation has it, if not given")
    parser.add_argument("--cc", default="reno", help="congestion control of all sockets; default = the machine's own (reno)")
    parser.add_argument("--bind", choices=["auto", "core", "none"], default="auto",
                        help="core: each rank on a processor of its own, all contenders alike; auto: where there are enough, and gloo's only where its "
                        "ranks have one thread (see docs/performance.md)")
    parser.add_argument("--peers", type=listed("peer", [one.name for one in PEERS]), metavar="NAMES",
                        help="only these, comma separated: " + ", ".join("%s (%s)" % (one.name, one.transport) for one in PEERS))
    parser.add_argument("--timeout", type=number(1, 3600), default=120, help="seconds that one start of a contender may take")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder of the peers' programs")
    parser.add_argument("--plumbline", type=pathlib.Path, help="our program, if not that of the build folder")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all times there")
    args = parser.parse_args()
    for name in args.peers or []:
        other = next(one.transport for one in PEERS if one.name == name)
        if other != args.transport:
            parser.error("%s is a peer over %s; give --transport %s" % (name, other, other))
    for op in args.op:
        if args.placement and args.placement not in OPS[op][1].split():
            parser.error("plumbline has no %s in place" % op)
    return args


def enter_network(args):
    """Sets args.private and args.congestion."""
    machine = private_network.congestion_control()
    args.congestion = machine if args.cc == "default" else args.cc
    try:
        private_network.enter()
        args.private = True
    except OSError as error:
        args.private = False
        if args.transport == "tcp" and args.congestion != machine:
            sys.exit("vs_peers: no network namespace, so the peers' congestion control cannot be made %s: %s; run as root, or with --cc default "
                     "(%s here)" % (args.congestion, error, machine))
        print("no network namespace (%s): whether contenders use their transports is not checked" % error)
        return
    try:
        private_network.set_congestion_control(args.congestion)
    except OSError as error:
        sys.exit("vs_peers: congestion control '%s' for all: %s; the kernel has to have it, and to allow it to everybody "
                 "(sysctl net.ipv4.tcp_allowed_congestion_control)" % (args.congestion, error))


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    args = arguments()
    if not sys.platform.startswith("linux"):
        sys.exit("vs_peers: only Linux has the peers' packages and network namespaces")
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    enter_network(args)
    processes.adopt_orphans()
    own = {"plumbline": args.plumbline} if args.plumbline else {}
    versions = {name: version for name, *command in VERSIONS if (version := version_of(*command))}
    print("%s, %d ranks, %d rounds; %s; peer / plumbline above 1: plumbline is faster" % (
        "TCP on loopback, " + args.congestion if args.transport == "tcp" else "shared memory", args.ranks, args.rounds,
        ", ".join("%s %s" % pair for pair in versions.items()) or "no MPI here"), flush=True)
    results = []
    try:
        for op in args.op:
            for result in compare(args, op, lambda name: str(own.get(name, args.build / name))):
                results.append(result)  # what is finished stays when the next is interrupted
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if args.json:
            args.json.write_text(json.dumps({
                "transport": args.transport, "ranks": args.ranks, "rounds": args.rounds, "congestion_control": args.congestion, "versions": versions,
                "kernel": platform.release(), "processors": len(processors()), "results": results}, indent=1) + "\n")
    if not any(result["ratios"] for result in results):
        sys.exit("vs_peers: nothing to compare, see the reasons above")


if __name__ == "__main__":
    main()
