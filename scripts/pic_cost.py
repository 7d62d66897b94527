#!/usr/bin/env python3
"""What it costs that the library can become part of a shared one: allreduce over loopback by two builds of these sources
in turns, with position independent code on the data path (PLUMBLINE_PIC=ON, the default) and without.

A ratio is the median over rounds of (time with) / (time without) of one round; the interval behind it holds the true
median in 95 of 100 cases. Above 1, position independence costs time.

usage: scripts/pic_cost.py [--rounds 21] [--sizes 8,65536,...] [--folder build-pic]
"""
import argparse
import math
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
from vs_gloo import ours  # noqa: E402


def build(folder, setting):
    place = folder / setting.lower()
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", place, "--log-level=NOTICE", "-DCMAKE_BUILD_TYPE=Release",
                    "-DPLUMBLINE_TESTS=OFF", "-DPLUMBLINE_BENCHMARKS=OFF", "-DPLUMBLINE_PIC=" + setting], check=True)
    subprocess.run(["cmake", "--build", place, "--target", "plumbline"], check=True)
    return place / "plumbline"


def interval(values):
    """Order statistics around the median, whatever the distribution."""
    values, n = sorted(values), len(values)
    cut, tail = 0, 0.0
    while cut < n // 2 and tail + math.comb(n, cut) / 2**n <= 0.025:
        tail += math.comb(n, cut) / 2**n
        cut += 1
    return values[max(cut - 1, 0)], values[n - max(cut, 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--sizes", default="8,65536,1048576,67108864", help="bytes, comma separated")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build-pic")
    args = parser.parse_args()
    programs = {setting: build(args.folder, setting) for setting in ("ON", "OFF")}
    print(f"{'bytes':>10} {'with':>10} {'without':>10}  with / without")
    for size in map(int, args.sizes.split(",")):
        times = {"ON": [], "OFF": []}
        for number in range(args.rounds):
            for setting in ("ON", "OFF") if number % 2 else ("OFF", "ON"):
                times[setting].append(ours(programs[setting], size, 2, "reno"))
        ratios = [a / b for a, b in zip(times["ON"], times["OFF"])]
        low, high = interval(ratios)
        print(f"{size:>10} {statistics.median(times['ON']):>8.1f}us {statistics.median(times['OFF']):>8.1f}us"
              f"  {statistics.median(ratios):.3f} ({low:.3f}..{high:.3f})", flush=True)


if __name__ == "__main__":
    main()
