#!/usr/bin/env python3
"""Allreduce of two ranks of one machine over its RDMA device, with large messages read where they lie and with all of them staged, beside
TCP: in turns, 5 rounds (or ROUNDS), medians; and the processor time of an operation, of all processes together. Where no device is:

  tests/lab/rdma_vm.sh benchmarks/rdma_against_tcp.py build/plumbline rxe0

Arguments: the program and the device.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SIZES = {"1Mi": "10", "16Mi": "3"}  # and operations of a launch
WAYS = {"tcp": ["--transport", "tcp"], "rdma, read": ["--transport", "rdma"], "rdma, staged": ["--transport", "rdma", "--direct-bytes", "0"]}


def launch(program, device, words, size, count):
    """Median ms of an operation out of place, and ms of processors for each operation beyond those of a launch without any."""
    spent = []
    for operations in (count, "1"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "records.jsonl")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([program, "coll", "allreduce", "-b", size, "-e", size, "-n", operations, "-w", "1", "-c", "0", "--ranks", "2",
                                   "--rdma-device", device, "-J", path, *words], capture_output=True, text=True, timeout=120)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode != 0:
                sys.exit(done.stdout + done.stderr)
            records = [json.loads(line) for line in open(path)]
        records = [r for r in records if "time_ns" in r]
        if not records or any(r["resolved"]["transport"] != words[1] for r in records):
            sys.exit("%s was not used: %s" % (words[1], records))
        spent.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, len(records) * int(operations)))
        if operations == count:
            time = statistics.median(r["time_ns"]["p50"] for r in records) / 1e6
    (much, many), (little, few) = spent
    return time, (much - little) / (many - few) * 1e3


def main():
    program, device = sys.argv[1:] or sys.exit(__doc__)
    seen = {(size, way): [] for size in SIZES for way in WAYS}
    for _ in range(ROUNDS):
        for size, way in seen:
            seen[size, way].append(launch(program, device, WAYS[way], size, SIZES[size]))
    print("%-14s %6s %12s %14s %20s" % ("way", "size", "ms, median", "faster than tcp", "processors' ms, each"))
    for (size, way), pairs in seen.items():
        ratios = [tcp[0] / own[0] for tcp, own in zip(seen[size, "tcp"], pairs)]
        print("%-14s %6s %12.2f %8.2f times %20.1f" %
              (way, size, statistics.median(t for t, _ in pairs), statistics.median(ratios), statistics.median(c for _, c in pairs)))


if __name__ == "__main__":
    main()
