#!/usr/bin/env python3
"""Whether one build of plumbline is slower than another: allreduce over TCP on loopback by both in turns.

A ratio is the median over rounds of (time of the second) / (time of the first) of one round; the interval behind it
holds the true median in 95 of 100 cases. Above 1, the second is slower.

usage: scripts/compare_builds.py FIRST SECOND [--rounds 21] [--ranks 2] [--sizes 8,65536,...]
       scripts/compare_builds.py --pic [...]
--pic builds these sources twice, into build-pic: with plumbline_comm's parts as they are (they may become part of a
shared library), against the same without position independence.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
from contenders import OURS  # noqa: E402
from vs_peers import cell_of, interval, measure  # noqa: E402


def build(setting):
    place = ROOT / "build-pic" / setting.lower()
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", place, "--log-level=NOTICE", "-DCMAKE_BUILD_TYPE=Release",
                    "-DPLUMBLINE_TESTS=OFF", "-DPLUMBLINE_BENCHMARKS=OFF", "-DPLUMBLINE_PIC=" + setting], check=True)
    subprocess.run(["cmake", "--build", place, "--target", "plumbline"], check=True)
    return place / "plumbline"


def time_of(program, size, ranks):
    """In us, of a fresh set of processes."""
    return measure(OURS, cell_of("allreduce", "in", size, ranks), lambda _: str(program))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, nargs="*", metavar="PROGRAM")
    parser.add_argument("--pic", action="store_true")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="8,65536,1048576,67108864", help="bytes, comma separated")
    args = parser.parse_args()
    if len(args.programs) != (0 if args.pic else 2):
        parser.error("give two programs, or --pic alone")
    programs = [build("OFF"), build("ON")] if args.pic else args.programs
    print(f"{'bytes':>10} {'first':>12} {'second':>12}  second / first")
    for size in map(int, args.sizes.split(",")):
        times = ([], [])
        for number in range(args.rounds):
            for side in (0, 1) if number % 2 else (1, 0):
                times[side].append(time_of(programs[side], size, args.ranks))
        ratios = [second / first for first, second in zip(*times)]
        low, high = interval(ratios)
        print(f"{size:>10} {statistics.median(times[0]):>10.1f}us {statistics.median(times[1]):>10.1f}us"
              f"  {statistics.median(ratios):.3f} ({low:.3f}..{high:.3f})", flush=True)


if __name__ == "__main__":
    main()
