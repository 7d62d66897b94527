#!/usr/bin/env python3
"""How often `plumbline compare` is wrong: real runs in turns, with nothing and with a delay planted.

Each trial is `plumbline run --interleave` of two scenarios on this machine, whose ranks are disturbed by a process that
computes in bursts. Both sides send through the transport's delay wrapper; side b holds every write back so long that an
operation takes a given share longer (0 = nothing is planted, and every verdict of a change is a false alarm). How much
delay that is, a calibration on this machine tells first.

  scripts/compare_trials.py                        200 trials without a change, 100 each with 3 % and 10 %
  scripts/compare_trials.py --plant 0 --trials 20  what the tests repeat
  scripts/compare_trials.py --jobs 5 --docs docs/comparing.md   on 16 cores; writes the table into the page

Exit code 1 when there are more false alarms than the stated alpha explains, 2 when trials failed.
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading

ALPHA = 0.05
# Operation and bytes: what one message costs, and one that is mostly copying.
CELLS = [("pingpong", 1024), ("pingpong", 32768), ("allreduce", 4096)]
CELL_TIME = "60ms"
CALIBRATION_NS = 100_000
CORES_A_JOB = 3  # two ranks, and the rest
NOISE = r"""
import random, sys, threading, time
threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0)), daemon=True).start()
draw = random.Random(int(sys.argv[1]))
while True:
    time.sleep(draw.expovariate(1 / 0.06))
    end = time.monotonic() + draw.expovariate(1 / 0.006)
    while time.monotonic() < end:
        pass
"""


def scenario(delays_ns, port_base, seed):
    blocks = []
    for (op, size), delay in zip(CELLS, delays_ns):
        blocks.append({"kind": "latency", "op": op, "bytes": size, "transport": "tcp",
                       "config": {"fault": f"delay:ns={delay},rank=0"},
                       "stop": {"ci": 0.01, "max_time": CELL_TIME}})
    return {"plumbline": 1, "question": "How often is compare wrong?", "hosts": {"local": 2},
            "launch": {"port_base": port_base, "master_port": port_base + 8}, "roofs": False, "probes": [], "seed": seed,
            "matrix": blocks, "report": ["csv"]}


class Slot:
    """A place for one trial at a time: its cores, its ports, and who disturbs it there."""

    def __init__(self, number, jobs, seed):
        cores = sorted(os.sched_getaffinity(0))
        share = cores[number * CORES_A_JOB:(number + 1) * CORES_A_JOB]
        self.cores = share if jobs > 1 and len(share) == CORES_A_JOB else cores
        self.port_base = 21000 + 20 * number
        self.noise = subprocess.Popen([sys.executable, "-c", NOISE, str(seed + number)], stdin=subprocess.PIPE,
                                      preexec_fn=lambda: os.sched_setaffinity(0, self.cores))

    def run(self, argv, accepted):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False,
                              preexec_fn=lambda: os.sched_setaffinity(0, self.cores))
        if done.returncode not in accepted:
            raise RuntimeError(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done

    def close(self):
        self.noise.stdin.close()
        self.noise.wait()


def interleave(slot, program, delays_a, delays_b, launches, seed):
    """The rows of compare.json, in the order of CELLS."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, delays in (("a", delays_a), ("b", delays_b)):
            paths.append(os.path.join(folder, f"{name}.json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(scenario(delays, slot.port_base, seed), file)
        slot.run([program, "run", "--interleave", *paths, "--repeat", str(launches), "--ignore", "params", "--quiet",
                  "--launcher", "none", "--out", os.path.join(folder, "out")], {0, 5})
        with open(os.path.join(folder, "out", "compare.json"), encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    by_cell = {(row["cell"]["op"], row["cell"]["bytes"]): row for row in rows}
    return [by_cell[cell] for cell in CELLS]


def calibrate(slot, program, seed):
    """(ns of an operation, ns that a delay of 1 ns adds to it) for each cell."""
    rows = interleave(slot, program, [0] * len(CELLS), [CALIBRATION_NS] * len(CELLS), 5, seed)
    out = []
    for row in rows:
        before, after = row["a"]["median"], row["b"]["median"]
        out.append((before, (after - before) / CALIBRATION_NS))
    return out


def one_trial(slots, lock, program, plant, launches, seed, calibrations):
    with lock:
        slot = slots.pop()
    try:
        delays = [round(plant * time / slope) for time, slope in calibrations[slot]]
        rows = interleave(slot, program, [0] * len(CELLS), delays, launches, seed)
        return {"plant": plant, "seed": seed, "launches": launches, "verdicts": [row["verdict"] for row in rows],
                "ratios": [row["ratio"] for row in rows], "thresholds": [row["threshold"] for row in rows]}
    except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
        return {"plant": plant, "seed": seed, "error": str(error)}
    finally:
        with lock:
            slots.append(slot)


def at_least(k, n, p):
    """Chance of k or more of n."""
    return sum(math.comb(n, i) * p**i * (1 - p)**(n - i) for i in range(k, n + 1))


def most_alarms(n, alpha, chance):
    """The most false alarms among n trials that the stated alpha still explains with this chance."""
    k = 0
    while at_least(k + 1, n, alpha) > chance:
        k += 1
    return k


def wilson(k, n):
    z, share = 1.96, k / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return f"{max(0, 100 * (middle - half)):.0f}-{100 * (middle + half):.0f} %"


def machine():
    model = "unknown CPU"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = " ".join(line.split(":", 1)[1].split())
                break
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def summarise(plant, trials):
    """The rows of the table for one planted share, and the number of trials with a false alarm."""
    lines, alarms = [], 0
    launches = ", ".join(str(n) for n in sorted({t["launches"] for t in trials}))
    if plant == 0:
        alarms = sum(any(v in ("regress", "improve", "broken") for v in t["verdicts"]) for t in trials)
    for index, (op, size) in enumerate(CELLS):
        verdicts = [t["verdicts"][index] for t in trials]
        found = verdicts.count("regress")
        shift = statistics.median(t["ratios"][index] for t in trials) - 1
        threshold = statistics.median(t["thresholds"][index] for t in trials)
        lines.append(f"| {100 * plant:g} % | {op} {size} B | {len(trials)} | {launches} | {100 * shift:+.1f} % | {100 * threshold:.1f} % "
                     f"| {found} ({100 * found / len(trials):.0f} %; {wilson(found, len(trials))}) | {verdicts.count('improve')} "
                     f"| {verdicts.count('same')} | {verdicts.count('inconclusive')} |")
    return lines, alarms


def write_table(path, text):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    page, count = re.subn(r"(<!-- trials -->\n).*?(<!-- end of trials -->)", lambda m: m[1] + text + m[2], page, flags=re.S)
    if count != 1:
        raise SystemExit(f"{path}: no place for the table (<!-- trials -->)")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default=os.path.join(os.path.dirname(__file__), "..", "build", "plumbline"))
    parser.add_argument("--trials", type=int, help="for each share (200 without a change, 100 with one)")
    parser.add_argument("--plant", type=float, nargs="+", default=[0, 3, 10], help="shares in percent (0 3 10)")
    parser.add_argument("--launches", type=int, default=12, help="of each side in a trial (12)")
    parser.add_argument("--jobs", type=int, default=1, help=f"trials at the same time, {CORES_A_JOB} cores each (1)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--chance", type=float, default=0.05, help="at which too many alarms are an error (0.05)")
    parser.add_argument("--save", help="append every trial to this file, a JSON object a line")
    parser.add_argument("--from", dest="saved", nargs="+", help="only summarise trials that were saved")
    parser.add_argument("--docs", help="write the table into this page")
    args = parser.parse_args()
    trials, headers = [], []
    if args.saved:
        for path in args.saved:
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            headers += [line["header"] for line in lines if "header" in line]
            trials += [line for line in lines if "plant" in line]
    else:
        headers = [f"Seed {args.seed}; {machine()}; {args.jobs} trials at a time."]
        trials = measure(args, headers[0])
    failed = [t for t in trials if "error" in t]
    trials = [t for t in trials if "error" not in t]
    table = ["| planted | cell | trials | launches a side | measured (median) | counts from (median) | regress (95 % CI) | improve | same "
             "| inconclusive |", "|---|---|---|---|---|---|---|---|---|---|"]
    status, lines = 0, []
    for plant in sorted({t["plant"] for t in trials}):
        group = [t for t in trials if t["plant"] == plant]
        rows, alarms = summarise(plant, group)
        table += rows
        if plant == 0:
            most = most_alarms(len(group), ALPHA, args.chance)
            lines.append(f"Trials without a change in which any cell was called changed: {alarms} of {len(group)} "
                         f"(alpha {100 * ALPHA:g} % for all cells of a trial together explains up to {most}).")
            status = 1 if alarms > most else 0
    text = "\n".join(table + [""] + lines + headers + [""])
    print(text)
    if args.docs:
        write_table(args.docs, text)
    for trial in failed:
        print(f"failed: {trial['error']}", file=sys.stderr)
    return 2 if failed or not trials else status


def measure(args, header):
    program = os.path.abspath(args.program)
    slots = [Slot(i, args.jobs, args.seed) for i in range(args.jobs)]
    save = open(args.save, "a", encoding="utf-8") if args.save else None
    try:
        calibrations = {slot: calibrate(slot, program, args.seed) for slot in slots}
        for slot in slots:
            for (op, size), (time, slope) in zip(CELLS, calibrations[slot]):
                print(f"calibration: {op} {size} B takes {time / 1000:.1f} us, a delay of 1 ns adds {slope:.2f} ns", flush=True)
        if save:
            print(json.dumps({"header": header}), file=save, flush=True)
        wanted = []
        for plant in args.plant:
            count = args.trials or (200 if plant == 0 else 100)
            wanted += [(plant / 100, args.seed + i) for i in range(count)]
        lock, free, out = threading.Lock(), list(slots), []
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            waiting = [pool.submit(one_trial, free, lock, program, plant, args.launches, seed, calibrations)
                       for plant, seed in wanted]
            for done in concurrent.futures.as_completed(waiting):
                out.append(done.result())
                if save:
                    print(json.dumps(out[-1]), file=save, flush=True)
                if sys.stderr.isatty() or len(out) % 20 == 0:
                    print(f"{len(out)}/{len(wanted)} trials", file=sys.stderr, flush=True)
        return out
    finally:
        for slot in slots:
            slot.close()
        if save:
            save.close()


if __name__ == "__main__":
    sys.exit(main())
