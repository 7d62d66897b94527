#!/usr/bin/env python3
"""Two-rank (or more) allreduce over TCP on loopback: plumbline beside gloo, in alternation.

Every measurement is a fresh set of processes. Both sides run in place, f32 sum, back to back, with the same number of operations and the same
congestion control; a time is the median over operations of the slowest rank. One round runs every contender once; a ratio is
the median over rounds of (best gloo variant of that round) / (ours of that round), so above 1 we are faster.

usage: benchmarks/vs_gloo.py [--rounds N] [--cc reno] [--ranks 2] [--sizes 8,65536,...] [--json FILE]
Needs build/plumbline and build/gloo_peer (package libgloo-dev; scripts/packages.sh labs).
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VARIANTS = ["ring", "bcube", "ring_chunked", "halving_doubling", "halving_doubling_busy"]
TIMEOUT_S = 120


def operations(size):
    """(timed, warm-up) operations: about the same bytes for every size, at least 20."""
    timed = max(20, min(2000, (1 << 30) // max(size, 1) // 4))
    return timed, max(5, timed // 5)


def ours(binary, size, ranks, congestion):
    timed, warmup = operations(size)
    command = [str(binary), "coll", "allreduce", "-b", str(size), "-e", str(size), "-n", str(timed), "-w", str(warmup),
               "-c", "0", "--ranks", str(ranks), "--json", "--port-base", "auto", "--congestion-control", congestion]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if record.get("cell", {}).get("placement") == "in":  # lines of an environment have no cell
            return record["time_ns"]["p50"] / 1e3
    raise RuntimeError("no in-place record")


def gloo(binary, variant, size, ranks, congestion):
    timed, warmup = operations(size)
    with tempfile.TemporaryDirectory() as store:
        processes = [subprocess.Popen([str(binary), variant, str(rank), str(ranks), str(size), str(timed), str(warmup),
                                       store, congestion], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                     for rank in range(ranks)]
        try:
            outputs = [process.communicate(timeout=TIMEOUT_S)[0].split() for process in processes]
        except subprocess.TimeoutExpired:
            return None
        finally:
            for process in processes:
                process.kill()
                process.wait()
    if any(len(output) != timed for output in outputs):
        return None  # this variant cannot do it
    slowest = [max(int(value) for value in values) for values in zip(*outputs)]
    return statistics.median(slowest) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cc", default="reno", help="congestion control of both sides")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="8,65536,1048576,67108864", help="bytes, comma separated")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path, help="write all times there")
    args = parser.parse_args()
    plumbline, peer = args.build / "plumbline", args.build / "gloo_peer"
    for binary in (plumbline, peer):
        if not binary.exists():
            sys.exit(f"{binary} is missing; install libgloo-dev (scripts/packages.sh labs) and build")
    results = []
    print(f"allreduce f32 sum in place, {args.ranks} ranks, TCP on loopback, {args.cc}, {args.rounds} rounds; "
          "medians in us of the slowest rank")
    print(f"{'bytes':>10} {'plumbline':>10} " + " ".join(f"{name:>21}" for name in VARIANTS) + "   best gloo / ours")
    for size in (int(text) for text in args.sizes.split(",")):
        mine, theirs, ratios = [], {name: [] for name in VARIANTS}, []
        for _ in range(args.rounds):
            mine.append(ours(plumbline, size, args.ranks, args.cc))
            best = None
            for name in VARIANTS:
                time_us = gloo(peer, name, size, args.ranks, args.cc)
                if time_us is None:
                    continue
                theirs[name].append(time_us)
                best = time_us if best is None else min(best, time_us)
            if best is not None:
                ratios.append(best / mine[-1])
        columns = [f"{statistics.median(times):>21.1f}" if times else f"{'n/a':>21}" for times in theirs.values()]
        spread = f"{min(ratios):.2f}..{max(ratios):.2f}" if ratios else ""
        print(f"{size:>10} {statistics.median(mine):>10.1f} " + " ".join(columns) +
              f"   {statistics.median(ratios) if ratios else float('nan'):.2f} ({spread})", flush=True)
        results.append({"bytes": size, "plumbline_us": mine, "gloo_us": theirs, "ratios": ratios})
    if args.json:
        args.json.write_text(json.dumps({"ranks": args.ranks, "congestion_control": args.cc, "results": results}, indent=1))


if __name__ == "__main__":
    main()
