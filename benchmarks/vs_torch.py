#!/usr/bin/env python3
"""plumbline beside PyTorch's own gloo: allreduce of f32 on this machine, in place, in alternation.

For machines where PyTorch is what people have; libraries that are built with us are compared by vs_peers.py. Every measurement is a fresh set of processes, one
rank a core where there are enough; one round runs gloo and plumbline over each transport once, in an order that rotates. A time is the median over operations,
gloo's that of its slowest rank, plumbline's over all of them, and shown is the median over rounds with the range of the ratios. Both have
the machine's own congestion control and settings as they come out of the box. gloo's sums are looked at once, plumbline's are verified by the run.

  benchmarks/vs_torch.py                                     2 and 4 ranks, five sizes
  benchmarks/vs_torch.py --ranks 16 --sizes 8,1M,64M --rounds 7
"""
import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSPORTS = ("tcp", "shm")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
TIMEOUT_S = 300  # of one set of processes


def operations(size, ranks):
    return max(10, min(1000, (1 << 28) // size // ranks))


def gloo_rank(sizes):
    """One rank, as torch's launchers set its environment; rank 0 prints the times in us, by size."""
    import torch
    import torch.distributed as distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    cores = sorted(os.sched_getaffinity(0))
    if ranks <= len(cores):
        os.sched_setaffinity(0, {cores[rank]})
    times = {}
    for size in sizes:
        array = torch.ones(size // 4)
        distributed.all_reduce(array)
        if not bool((array == ranks).all()):
            raise SystemExit("gloo's sum of ones over %d ranks is not %d" % (ranks, ranks))
        taken, count = [], operations(size, ranks)
        for index in range(count + max(3, count // 5)):
            array.fill_(1)
            begin = time.perf_counter()
            distributed.all_reduce(array)
            taken.append(time.perf_counter() - begin)
        slowest = torch.tensor([statistics.median(taken[-count:])])
        distributed.all_reduce(slowest, op=distributed.ReduceOp.MAX)
        times[size] = slowest.item() * 1e6
    if rank == 0:
        print(json.dumps(times))


def run_gloo(ranks, sizes):
    port = str(random.randint(20000, 32000))
    started = []
    for rank in range(ranks):
        place = dict(RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
        started.append(subprocess.Popen([sys.executable, __file__, "--as-rank", ",".join(map(str, sizes))], env={**os.environ, **place},
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    try:
        told = [process.communicate(timeout=TIMEOUT_S) for process in started]
    finally:
        for process in started:
            process.kill()
    if any(process.returncode != 0 for process in started):
        raise SystemExit("gloo over %d ranks failed: %s" % (ranks, "".join(errors for _, errors in told)[-600:]))
    return {int(size): us for size, us in json.loads(told[0][0].strip().splitlines()[-1]).items()}


def run_plumbline(program, transport, ranks, size):
    count = operations(size, ranks)
    words = ["--ranks", ranks, "--transport", transport, "-b", size, "-e", size, "-n", count, "-w", max(3, count // 5), "--json"]
    done = subprocess.run([program, "coll", "allreduce", *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S)
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if record.get("cell", {}).get("placement") == "in" and record.get("outcome") == "passed":
            return record["time_ns"]["p50"] / 1e3
    raise SystemExit("plumbline over %d ranks failed: %s%s" % (ranks, done.stdout[-300:], done.stderr[-600:]))


def compare(program, ranks, sizes, rounds):
    times = {(who, size): [] for who in ("gloo", *TRANSPORTS) for size in sizes}
    for turn in range(rounds):
        order = ["gloo", *TRANSPORTS]
        for who in order[turn % len(order):] + order[:turn % len(order)]:
            told = run_gloo(ranks, sizes) if who == "gloo" else {size: run_plumbline(program, who, ranks, size) for size in sizes}
            for size in sizes:
                times[(who, size)].append(told[size])
    for size in sizes:
        gloo = times[("gloo", size)]
        line = "%5d %11d %11.1f" % (ranks, size, statistics.median(gloo))
        for transport in TRANSPORTS:
            ours = times[(transport, size)]
            shares = [theirs / own for theirs, own in zip(gloo, ours)]
            line += "  %11.1f %7.2f (%.2f to %.2f)" % (statistics.median(ours), statistics.median(shares), min(shares), max(shares))
        print(line, flush=True)


def number(text):
    match = re.fullmatch(r"([1-9]\d{0,9})([KMG]?)", text)
    if not match:
        raise argparse.ArgumentTypeError("%r is no number such as 4 or 64K" % text)
    return int(match[1]) * UNITS[match[2]]


def listed(text):
    return [number(one) for one in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=listed, default=[2, 4])
    parser.add_argument("--sizes", type=listed, default=listed("8,64K,1M,16M,64M"), help="bytes, multiples of 4")
    parser.add_argument("--rounds", type=number, default=7)
    parser.add_argument("--plumbline", default=ROOT / "build" / "plumbline")
    parser.add_argument("--as-rank", type=listed, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.as_rank:
        return gloo_rank(args.as_rank)
    if any(size % 4 for size in args.sizes) or min(args.ranks) < 2:
        parser.error("sizes are multiples of 4 bytes, and there are 2 ranks or more")
    if subprocess.run([sys.executable, "-c", "import torch.distributed"], capture_output=True, timeout=TIMEOUT_S).returncode != 0:
        raise SystemExit("vs_torch: %s has no module torch.distributed: install PyTorch" % sys.executable)
    print("ranks       bytes     gloo us " + "".join("  %11s gloo / plumbline  " % ("%s us" % name) for name in TRANSPORTS))
    for ranks in args.ranks:
        compare(args.plumbline, ranks, args.sizes, args.rounds)


if __name__ == "__main__":
    sys.exit(main())
