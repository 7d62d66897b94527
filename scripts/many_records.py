#!/usr/bin/env python3
"""Writes a record file of very many launches, as large as one wants: histograms, no samples.

usage: many_records.py RECORDS [--cells N] [--seed N] [--slower PERCENT] [--host NAME] > records.jsonl

The lines are what plumbline itself writes (1.7 KB each): launch after launch of the same cells in
shuffled order, each launch with a run id and an environment of its own, times that differ by some percent
from launch to launch, 1000 samples in each histogram, and derived values that agree with them.
The same arguments give the same bytes. --slower makes every fourth cell slower, for comparisons.
"""
import argparse
import hashlib
import json
import random
import sys

OPERATIONS = (("allreduce", 1.0, "sum"), ("broadcast", 1.0, "none"), ("allgather", 0.5, "none"),
              ("reduce_scatter", 0.5, "sum"), ("alltoall", 0.5, "none"))  # bus factor of 2 ranks
ALGORITHMS = ("ring", "direct", "tree", "bruck", "auto")
SIZES = [1 << power for power in range(3, 23)]
ROOFS = (("raw_pingpong", 8, 9_800), ("raw_stream", 4 << 20, 745_000),
         ("raw_duplex", 4 << 20, 1_300_000))
SAMPLES = 1000
WIDTH = 24  # buckets of a histogram


def octave(ns):
    """Width of a bucket at ns, and the first bucket's index and value there."""
    power = max(ns.bit_length() - 1, 10)
    return 1 << (power - 9), 1024 + (power - 10) * 512, 1 << power


class Shape:
    """One way in which 1000 samples may lie in neighbouring buckets; positions count from the first."""

    def __init__(self, rng):
        weights = [rng.uniform(0.3, 1) / (1 + ((i - WIDTH // 4) / 4) ** 2) for i in range(WIDTH)]
        counts = [1 + int(w * (SAMPLES - WIDTH) / sum(weights)) for w in weights]
        counts[WIDTH // 4] += SAMPLES - sum(counts)
        self.counts = counts
        self.at = {}
        for rank in (469, 500, 501, 532, 900, 950, 990):
            seen = 0
            for position, count in enumerate(counts):
                seen += count
                if seen >= rank:
                    self.at[rank] = position
                    break
        self.sum = sum(p * c for p, c in enumerate(counts))
        mean = self.sum / SAMPLES
        self.deviation = (sum(c * (p - mean) ** 2 for p, c in enumerate(counts)) / SAMPLES) ** 0.5
        middle = (self.at[500] + self.at[501]) / 2
        self.mad = sorted(abs(p - middle) for p, c in enumerate(counts) for _ in range(c))[499]


def times(shape, ns):
    """(time_ns, hist) as JSON text, and the median, of a shape whose first bucket is near ns."""
    width, first, base = octave(ns)
    index = min((ns - base) // width, 511 - WIDTH)
    bucket, low = first + index, base + index * width + width // 2  # low: a bucket's midpoint

    def value(position):
        return low + position * width

    at = shape.at
    p50 = (value(at[500]) + value(at[501])) / 2
    total = SAMPLES * low + shape.sum * width
    time_ns = (
        '{"cv":%.6f,"mad":%.1f,"max":%.1f,"min":%.1f,"n":1000,"p50":%.1f,"p50_ci95":[%.1f,%.1f],'
        '"p90":%.1f,"p95":%.1f,"p99":%.1f,"stop_reason":"count"}' % (
            shape.deviation * width / (total / SAMPLES), shape.mad * width, value(WIDTH - 1),
            value(0), p50, value(at[469]), value(at[532]), value(at[900]), value(at[950]),
            value(at[990])))
    buckets = ",".join(["%d,%d" % (1 if i else bucket, count) for i, count in enumerate(shape.counts)])
    hist = '{"buckets":[%s],"max":%d,"min":%d,"n":1000,"sum":%d}' % (
        buckets, value(WIDTH - 1), value(0), total)
    return time_ns, hist, p50


def cells(wanted):
    """(cell as a dict, typical time in ns, bus bandwidth over algbw)."""
    out = []

    def add(kind, op, algorithm, redop, size, ns, factor):
        cell = {"algorithm": algorithm, "bytes": size, "cache": "cold", "count": size // 4,
                "dtype": "f32", "engine": "native", "kind": kind, "op": op, "outstanding": 1,
                "params": {}, "placement": "out", "ranks": 2, "redop": redop, "repeat": 0,
                "root": 0 if op == "broadcast" else -1, "sync": "barrier", "transport": "tcp"}
        out.append((cell, ns, factor))

    for op, size, ns in ROOFS:
        add("roof", op, "auto", "none", size, ns, 2.0 if op == "raw_pingpong" else 1.0)
    repeat = 0
    while len(out) < wanted:
        for op, factor, redop in OPERATIONS:
            for a, algorithm in enumerate(ALGORITHMS):
                for size in SIZES:
                    kind = "latency" if size < 65536 else "bandwidth"
                    ns = int(9_000 * (1 + 0.3 * a) + size * (0.4 + 0.1 * a))
                    add(kind, op, algorithm, redop, size, ns, factor)
                    out[-1][0]["repeat"] = repeat
        repeat += 1
    return out[:wanted]


def environment(rng, host, launch):
    """The line of one launch's environment, and the hash by which its records refer to it."""
    text = json.dumps({
        "auth": "token", "command": ["plumbline", "run", "many.json"], "control": "pipes",
        "hosts": [{
            "arch": "x86_64", "boot_id": "", "cgroup_quota_cores": None, "clock_source": "tsc",
            "congestion_control": "cubic", "cores_online": 8, "cores_usable": 8,
            "cpu_model": "Example", "environment": {}, "ephemeral_ports": [32768, 60999],
            "governor": None, "hostname": host, "kernel": "Linux 6.1.0 x86_64", "libraries": {},
            "load1": round(rng.uniform(0, 2), 2), "memory_available_bytes": 8 << 30,
            "memory_bytes": 16 << 30, "nics": [], "os": "Debian GNU/Linux 12", "rmem_max": 212992,
            "virtualisation": None, "wmem_max": 212992}],
        "options": {"chunk_bytes": {"origin": "default", "value": "262144"}},
    }, separators=(",", ":"), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return '{"environment":%s,"hash":"%s","schema":2}\n' % (text, digest), digest


LINE = (
    '{"algbw_Bps":%(algbw)s,"busbw_Bps":%(busbw)s,"cell":%(cell)s,'
    '"cell_id":"%(cell_id)s","elapsed_ns":%(elapsed)d,"environment":"%(environment)s",'
    '"extra":{"involuntary_switches_count":%(switches)d.0},"first_op_ns":%(first)d,"hist":%(hist)s,'
    '"ideal_wire_bytes":%(ideal)d,"iterations":1000,"noise":%(noise)s,'
    '"outcome":"passed","per_rank":[%(ranks)s],"plan_hash":"0123456789abcdef",'
    '"resolved":{"address_pairs":["0-1 127.0.0.1:%(port)d>127.0.0.1:29601"],'
    '"algorithm":"%(algorithm)s","chunk_bytes":262144,"congestion_control":"reno","kernel":"AVX3",'
    '"transport":"tcp"},"run_id":"%(run_id)s","scenario":"many",'
    '"schema":2,"seed":%(seed)d,"stop_reason":"count","suite_version":"0.1.0","time":"%(time)s",'
    '"time_ns":%(time_ns)s,"verified":true,"warmup_converged":true,"warmup_iterations":20,'
    '"wire_bytes":%(ideal)d,"wrong":0}\n')
RANK = (
    '{"affinity":"%(rank)d",'
    '"context_switches":%(switches)d,"cpu":%(rank)d,"cpu_ns":%(cpu_ns)d,"host":"%(host)s",'
    '"mean":%(p50).1f,"numa_node":0,"p50":%(p50).1f,"p99":%(p50).1f,"rank":%(rank)d,'
    '"wire_bytes":%(wire)d}')


def write(options, out):
    rng = random.Random(options.seed)
    shapes = [Shape(rng) for _ in range(64)]
    known = [(json.dumps(cell, separators=(",", ":"), sort_keys=True), cell, ns, factor, i)
             for i, (cell, ns, factor) in enumerate(cells(options.cells))]
    ids = [hashlib.sha256(text.encode()).hexdigest()[:16] for text, *_ in known]
    noises = ('{"verdict":"clean"}', '{"causes":["load"],"verdict":"noisy"}')
    written = launch = 0
    while written < options.records:
        order = rng.sample(known, len(known))
        run_id = "%016x" % rng.getrandbits(64)
        line, where = environment(rng, options.host, launch)
        out.write(line)
        shift = rng.gauss(1, 0.02)
        for second, (text, cell, ns, factor, number) in enumerate(order[:options.records - written]):
            slower = 1 + options.slower / 100 if number % 4 == 3 else 1
            moment = rng.random()
            time_ns, hist, p50 = times(shapes[int(moment * 64)],
                                       int(ns * shift * slower * (0.99 + 0.02 * moment)))
            algbw = cell["bytes"] / p50 * 1e9
            if cell["op"] == "raw_pingpong":
                algbw, factor = 2 * algbw, 1.0
            switches = int(moment * 90)
            ideal = 0 if cell["kind"] == "roof" else cell["bytes"]
            ranks = ",".join([RANK % {
                "rank": rank, "switches": switches, "cpu_ns": int(p50 * 900), "host": options.host,
                "p50": p50, "wire": 1000 * cell["bytes"]} for rank in (0, 1)])
            out.write(LINE % {
                "algbw": repr(algbw), "busbw": repr(algbw * factor), "cell": text,
                "cell_id": ids[number], "elapsed": int(p50 * SAMPLES), "environment": where,
                "switches": switches, "first": int(p50 * 3), "hist": hist, "ideal": ideal,
                "noise": noises[moment > 0.97], "ranks": ranks, "port": 40_000 + launch % 20_000,
                "algorithm": "ring" if cell["algorithm"] == "auto" else cell["algorithm"],
                "run_id": run_id, "seed": options.seed, "time_ns": time_ns,
                "time": "2026-01-%02dT%02d:%02d:%02d.%03dZ" % (
                    1 + launch // 86400 % 28, launch // 3600 % 24, launch // 60 % 60, launch % 60,
                    second % 1000)})
        written += min(len(order), options.records - written)
        launch += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=int)
    parser.add_argument("--cells", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slower", type=float, default=0)
    parser.add_argument("--host", default="many")
    write(parser.parse_args(), sys.stdout)


if __name__ == "__main__":
    main()
