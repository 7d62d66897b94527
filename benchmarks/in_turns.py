#!/usr/bin/env python3
"""What one choice gains: two ways to run the same cells of `plumbline coll`, launch by launch in turns, so that a machine that is slow for a while is slow for both.

A time is the median of one launch (in place, where there is such a thing); each round gives one ratio, time of the first way / time of the second, and a row
shows the median of these and all of their range. Above 1 the second way is faster.

  benchmarks/in_turns.py --first "--progress-thread off" --second "--progress-thread auto" --ranks 2,4,7 --ops allreduce,alltoall --sizes 1M,16M
  benchmarks/in_turns.py --first-binary ../before/build/plumbline --transport shm --sizes 8,64K
"""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAUNCH_S = 120
# Operations of one launch: about this much time at a GB/s, within bounds.
BYTES_PER_LAUNCH, FEWEST, MOST = 300 << 20, 5, 2000


class Failed(Exception):
    """A launch gave no time; says why."""


def bytes_of(text):
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


def times_of_launch(binary, words, op, ranks, transport, size):
    """Median of one launch in ns, by placement."""
    count = min(MOST, max(FEWEST, BYTES_PER_LAUNCH // (size * ranks)))
    command = [binary, "coll", op, "--ranks", str(ranks), "--transport", transport, "-b", str(size), "-e", str(size), "-c", "0", "-n", str(count),
               "-w", str(max(3, count // 10)), "--json"] + words
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LAUNCH_S)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    times = {record["cell"]["placement"]: record["time_ns"]["p50"] for record in records if "time_ns" in record}
    if done.returncode != 0 or not times:
        raise Failed("%s: exit status %d, %s" % (" ".join(command), done.returncode, done.stderr.strip()[-300:]))
    return times


def launch(*cell):
    times = times_of_launch(*cell)
    return times.get("in", next(iter(times.values())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", default="", help="words that `coll` gets in the first way")
    parser.add_argument("--second", default="")
    parser.add_argument("--first-binary", default=str(ROOT / "build" / "plumbline"))
    parser.add_argument("--second-binary", default=str(ROOT / "build" / "plumbline"))
    parser.add_argument("--ops", default="allreduce")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--sizes", default="8,64K,1M,16M")
    parser.add_argument("--transport", default="tcp")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    ways = [(args.first_binary, shlex.split(args.first)), (args.second_binary, shlex.split(args.second))]
    cells = [(op, int(ranks), bytes_of(size)) for ranks in args.ranks.split(",") for op in args.ops.split(",") for size in args.sizes.split(",")]
    print("%-16s %5s %12s %12s %12s  %s" % ("op", "ranks", "bytes", "first us", "second us", "first / second"), flush=True)
    for op, ranks, size in cells:
        pairs = []
        for turn in range(args.rounds):
            order = [0, 1] if turn % 2 == 0 else [1, 0]
            times = {way: launch(*ways[way], op, ranks, args.transport, size) for way in order}
            pairs.append((times[0], times[1]))
        ratios = [first / second for first, second in pairs]
        print("%-16s %5d %12d %12.1f %12.1f  %.2f (%.2f to %.2f)" % (
            op, ranks, size, statistics.median(first for first, _ in pairs) / 1e3, statistics.median(second for _, second in pairs) / 1e3,
            statistics.median(ratios), min(ratios), max(ratios)), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError, subprocess.TimeoutExpired, KeyError, ValueError) as error:
        print("in_turns: %s" % error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
