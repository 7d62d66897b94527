#!/usr/bin/env python3
"""Link cells over bare verbs beside perftest's programs, on one RDMA device of this machine, in turns: 7 rounds (or ROUNDS), medians of both
and their ratio (latency: ours / theirs; rates: ours / theirs). Half a round trip of SEND and WRITE, as perftest tells it. Where no device is:

  tests/lab/rdma_vm.sh benchmarks/rdma_against_perftest.py build/plumbline rxe0

Arguments: the program, the device, and which rows (all): send_lat, write_lat, read_lat, send_bw, write_bw, read_bw. perftest waits for an
acknowledgement as long as plumbline does (-u). A round in which it prints a rate of 0 gives no ratio: another one is made instead, twice as many
as asked for at most, and the last column counts them.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("ROUNDS", "7"))
LATENCY, RATE = [2, 4096], [65536, 1 << 20]
ROWS = {"send_lat": LATENCY, "write_lat": LATENCY, "read_lat": LATENCY, "send_bw": RATE, "write_bw": RATE, "read_bw": RATE}
MIB = 1 << 20
TIME_MS = 400  # of each of our cells
PORT = 18515
TIMEOUT = 17  # 4.096 us x 2^17 until a message is sent again, as transport/rdma has it; perftest's own is 14


def gid_index(device):
    """The first IPv4 address in the device's table, as plumbline takes it."""
    folder = pathlib.Path("/sys/class/infiniband/%s/ports/1/gids" % device)
    for entry in sorted(folder.iterdir(), key=lambda path: int(path.name)):
        if entry.read_text().startswith("0000:0000:0000:0000:0000:ffff:"):
            return entry.name
    sys.exit("%s has no GID of an IPv4 address" % device)


def perftest(row, size, device, index, port):
    """Median latency in us, or the rate in bytes/s; None where it prints 0."""
    latency = row.endswith("lat")
    count = 1000 if latency else max(40, (16 << 20) // size)
    words = ["ib_" + row, "-d", device, "-x", index, "-s", str(size), "-n", str(count), "-u", str(TIMEOUT), "-F", "-p", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(50):  # until it listens
            time.sleep(0.1)
            client = subprocess.run(words + ["127.0.0.1"], capture_output=True, text=True, timeout=60)
            if client.returncode == 0:
                break
        else:
            sys.exit("%s: %s" % (" ".join(words), client.stdout + client.stderr))
        server.wait(timeout=20)
    finally:
        server.kill()
        server.wait()
    lines = [l.split() for l in client.stdout.splitlines() if re.match(r"\s*%d\s+\d+\s" % size, l)]
    if not lines:
        sys.exit("%s measured nothing: %s" % (" ".join(words), client.stdout))
    value = float(lines[-1][4 if latency else 3])  # t_typical; BW average [MB/sec], which are MiB
    return (value if latency else value * MIB) or None


def ours(program, device, rows):
    """By row and size, of one run."""
    blocks = [{"kind": "link", "op": "link", "transport": "rdma", "measure": row, "bytes": ROWS[row], "time": "%dms" % TIME_MS} for row in rows]
    scenario = {"plumbline": 1, "hosts": {"local": 2}, "config": {"rdma_device": device}, "matrix": blocks, "report": ["console"]}
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "scenario.json"), os.path.join(folder, "out")
        with open(path, "w") as file:
            json.dump(scenario, file)
        done = subprocess.run([program, "run", path, "--out", out], capture_output=True, text=True, timeout=200)
        files = list(pathlib.Path(out).rglob("records.jsonl"))
        if not files:
            sys.exit(done.stdout + done.stderr)
        records = [json.loads(line) for line in files[0].read_text().splitlines()]
    found = {}
    for record in records:
        links = record.get("links", [])
        if not links:
            continue
        wrong = [link for link in links if link.get("error") or not link.get("queue_pair", "").endswith(device)]
        if wrong:
            sys.exit("not measured: %s" % wrong[0])
        row, size = record["cell"]["measure"], record["cell"]["bytes"]
        link = links[0]  # one direction, as perftest
        half = 1 if row == "read_lat" else 2
        found[row, size] = link["rtt_ns"]["p50"] / half / 1e3 if row.endswith("lat") else link["Bps"]
    return found


def main():
    program, device, *rows = sys.argv[1:] or sys.exit(__doc__)
    rows = rows or list(ROWS)
    index = gid_index(device)
    seen = {(row, size): [] for row in rows for size in ROWS[row]}
    zeros = dict.fromkeys(seen, 0)
    for turn in range(2 * ROUNDS):
        if all(len(pairs) >= ROUNDS for pairs in seen.values()):
            break
        mine = ours(program, device, rows)
        for number, (row, size) in enumerate(seen):
            theirs = perftest(row, size, device, index, PORT + (turn * len(seen) + number) % 500)
            if theirs is None:
                zeros[row, size] += 1
            else:
                seen[row, size].append((mine[row, size], theirs))
    print("rounds in turns; medians, and of the ratio of each round median, lowest and highest")
    print("%-10s %8s %12s %12s %6s %13s %6s %5s" % ("row", "bytes", "plumbline", "perftest", "ratio", "range", "rounds", "zeros"))
    for (row, size), pairs in seen.items():
        if not pairs:
            print("%-10s %8d not measured: perftest printed 0 in all %d rounds" % (row, size, zeros[row, size]))
            continue
        scale, unit = (1, "us") if row.endswith("lat") else (1e9, "GB/s")
        ratios = [a / b for a, b in pairs]
        mine, theirs = (statistics.median(column) / scale for column in zip(*pairs))
        print("%-10s %8d %7.3f %-4s %7.3f %-4s %6.3f %6.2f %6.2f %6d %5d" %
              (row, size, mine, unit, theirs, unit, statistics.median(ratios), min(ratios), max(ratios), len(pairs), zeros[row, size]))


if __name__ == "__main__":
    main()
