#!/usr/bin/env python3
"""What compressing an allreduce gains on a slow link: each codec's time as a share of the uncompressed one.

Makes a lab of two hosts behind shaped links (scenarios/labs/pair.json: 1 Gbit/s), runs a scenario in which the uncompressed cell and the compressed ones
take turns in an order that is drawn, and takes the lab down again. A time is the median of the repetitions' medians, and the range behind a share is that of all
repetitions' shares of the median uncompressed time. Results are verified by the run: wrong data ends it. Needs root, tc and build/plumbline.

  sudo benchmarks/compression.py
  sudo benchmarks/compression.py --lab my_lab.json --scenario my_scenario.json
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def times_of(path):
    """Medians of each codec's cells in nanoseconds, and what else the records say of it, by bytes and codec."""
    times, told = collections.defaultdict(list), {}
    for line in open(path):
        record = json.loads(line)
        cell = record.get("cell", {})
        if cell.get("op") != "allreduce" or record.get("outcome") != "passed":
            continue
        key = (cell["bytes"], cell.get("compression", "none"))
        times[key].append(record["time_ns"]["p50"])
        told[key] = (record["wire_bytes"], record.get("extra", {}).get("max_error_rel", 0.0))
    return times, told


def show(times, told):
    print("%-12s %-12s %10s  %-22s %12s %10s" % ("bytes", "compression", "ms", "of uncompressed", "wire bytes", "max error"))
    for (size, codec), values in sorted(times.items()):
        if (size, "none") not in times:
            continue
        plain = statistics.median(times[(size, "none")])
        share = "%.3f (%.3f - %.3f)" % (statistics.median(values) / plain, min(values) / plain, max(values) / plain)
        wire, error = told[(size, codec)]
        print("%-12d %-12s %10.2f  %-22s %12d %10.1e" % (size, codec, statistics.median(values) / 1e6, share, wire, error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumbline", default=str(ROOT / "build" / "plumbline"))
    parser.add_argument("--lab", default=str(ROOT / "scenarios" / "labs" / "pair.json"))
    parser.add_argument("--scenario", default=str(ROOT / "scenarios" / "compression.json"))
    args = parser.parse_args()
    name = json.loads("".join(line for line in open(args.lab) if not line.lstrip().startswith("//"))).get("name", "lab")
    up = subprocess.run([args.plumbline, "lab", "up", args.lab], stdout=subprocess.PIPE, text=True, timeout=120)
    if up.returncode != 0:
        return up.returncode
    try:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "run"
            run = subprocess.run([args.plumbline, "run", args.scenario, "--hosts", up.stdout.strip(), "--out", str(out)],
                                 stdout=subprocess.DEVNULL, timeout=1800)
            if run.returncode == 0:
                show(*times_of(out / "records.jsonl"))
            return run.returncode
    finally:
        subprocess.run([args.plumbline, "lab", "down", name], stdout=subprocess.DEVNULL, timeout=120)


if __name__ == "__main__":
    sys.exit(main())
