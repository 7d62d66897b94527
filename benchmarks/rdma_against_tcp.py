#!/usr/bin/env python3
"""Allreduce of two ranks of one machine over its RDMA device, with large messages read where they lie and with all of them staged, beside
TCP: in turns, 7 rounds (or ROUNDS), medians. Where no device is: tests/lab/rdma_vm.sh benchmarks/rdma_against_tcp.py build/plumbline rxe0
Arguments: the program, the device, and more options for plumbline."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("ROUNDS", "7"))
SIZES = ["1Mi", "16Mi"]
WAYS = {"tcp": ["--transport", "tcp"], "rdma, read": ["--transport", "rdma"], "rdma, staged": ["--transport", "rdma", "--direct-bytes", "0"]}


def main():
    program, device, *more = sys.argv[1:]
    seen = {(way, size): [] for way in WAYS for size in SIZES}
    for _ in range(ROUNDS):
        for way, words in WAYS.items():
            for size in SIZES:
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "records.jsonl")
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    done = subprocess.run([program, "coll", "allreduce", "-b", size, "-e", size, "-n", "10", "--ranks", "2", "--rdma-device", device,
                                           "-J", path, *words, *more], capture_output=True, text=True, timeout=120)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    if done.returncode != 0:
                        sys.exit(done.stdout + done.stderr)
                    records = [json.loads(line) for line in open(path)]
                    records = [r for r in records if "time_ns" in r]
                wrong = [r for r in records if r["resolved"]["transport"] != words[1]]
                if wrong or not records:
                    sys.exit("%s was not used: %s" % (words[1], wrong))
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                operations = sum(r["time_ns"]["n"] for r in records)
                seen[way, size].append((min(r["time_ns"]["p50"] for r in records) / 1e6, cpu / operations * 1e3))
    print("%-14s %6s %12s %9s %16s" % ("way", "size", "ms, median", "to tcp", "processor ms"))
    for size in SIZES:
        tcp = statistics.median(t for t, _ in seen["tcp", size])
        for way in WAYS:
            times = statistics.median(t for t, _ in seen[way, size])
            print("%-14s %6s %12.3f %9.2f %16.3f" % (way, size, times, tcp / times, statistics.median(c for _, c in seen[way, size])))


if __name__ == "__main__":
    main()
