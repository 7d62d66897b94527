#!/usr/bin/env python3
"""The goals that need no peer's library: each is a ratio with the least that it should be, measured here and now.

A ratio is the median of rounds in which both sides ran in turns, the range behind it that of all rounds; above the goal is better in all rows.
Rows on shaped links make a lab (network namespaces; root, tc) and take it down again. Peers have their own command, benchmarks/vs_peers.py.

  sudo benchmarks/goals.py                        all rows
  sudo benchmarks/goals.py crc mesh --rounds 3    some of them
  benchmarks/goals.py --list
"""
import argparse
import contextlib
import json
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from in_turns import Failed, bytes_of, launch, times_of_launch

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(ROOT / "build" / "plumbline")
PAYLOAD = 1448 / 1514  # of an Ethernet frame as the shaper counts it, with IPv4 and TCP with time stamps
START_S, IPERF_S, PORT = 0.5, 3, 5209
STREAM_BYTES = 16 << 20  # of the bare stream too
# The operation that does the same through plumbline, and the least of the ratio.
BARE = {"raw_exchange": ("allreduce", 1 / 1.15), "raw_pingpong": ("pingpong", 1 / 1.1), "raw_stream": ("stream", 0.95)}
NEAR = 1.05  # auto is as good as the best row within this


def ran(command, timeout=600, codes=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode not in codes:
        raise Failed("%s: exit status %d, %s" % (" ".join(command), done.returncode, done.stderr.strip()[-300:]))
    return done.stdout


def records_of(text):
    return [record for line in text.splitlines() if line.startswith("{") and "cell" in (record := json.loads(line))]


def turns(rounds, first, second):
    """first() / second() of each round, the order swapped from round to round."""
    found = []
    for number in range(rounds):
        pair = [first(), second()] if number % 2 == 0 else [second(), first()][::-1]
        found.append(pair[0] / pair[1])
    return found


def placement(rounds):
    for transport in ("tcp", "shm"):
        for size in ("16M", "64M"):
            times = [times_of_launch(PROGRAM, [], "allreduce", 2, transport, bytes_of(size)) for _ in range(rounds)]
            yield "%s, %s" % (transport, size), [one["in"] / one["out"] for one in times]


def types(rounds):
    for transport in ("tcp", "shm"):
        for kind in ("half", "bfloat16"):
            for size in ("1M", "16M"):
                yield "%s of %s, %s" % (kind, size, transport), turns(
                    rounds, *(lambda words=words: launch(PROGRAM, words, "allreduce", 2, transport, bytes_of(size)) for words in (["-d", "float"], ["-d", kind])))


def crc(rounds):
    yield "tcp, 64M", turns(rounds, *(lambda way=way: launch(PROGRAM, ["--transport-crc", way], "allreduce", 2, "tcp", 64 << 20) for way in ("off", "on")))


def run_scenario(folder, name, hosts, matrix, roofs, config=None):
    scenario = pathlib.Path(folder, name + ".json")
    scenario.write_text(json.dumps({"plumbline": 1, "question": "Is the goal reached?", "hosts": hosts, "config": config or {}, "roofs": roofs, "probes": [],
                                    "matrix": matrix, "report": ["console"]}))
    out = pathlib.Path(folder, name)
    ran([PROGRAM, "run", str(scenario), "--out", str(out)], codes=(0, 2, 3))
    records = records_of((out / "records.jsonl").read_text())
    if not records:
        raise Failed("no records from " + name)
    return records


def bare(rounds):
    """8 bytes back to back, and 16 MiB one way, through plumbline, against the same connection without it, of one launch. (iperf3 sends and receives one
    small buffer over and over, which stays in the caches: on loopback, where copies are all there is, it is no measure for whole arrays.)"""
    matrix = [{"kind": "latency", "op": ["allreduce", "pingpong"], "transport": "tcp", "bytes": 8, "placement": "in", "sync": "none",
               "stop": {"min_n": 2000, "max_n": 2000, "max_time": "2s"}},
              {"kind": "bandwidth", "op": "stream", "transport": "tcp", "bytes": STREAM_BYTES, "stop": {"min_n": 30, "max_n": 100, "max_time": "2s"}}]
    found = {roof: [] for roof in BARE}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            records = run_scenario(folder, str(number), {"local": 2}, matrix, True)
            times = {record["cell"]["op"]: record["time_ns"]["p50"] for record in records if record["cell"]["bytes"] in (8, STREAM_BYTES)}
            for roof, ratios in found.items():
                ratios.append(times[roof] / times[BARE[roof][0]])
    for roof, ratios in found.items():
        op, least = BARE[roof]
        yield "%s / %s" % (roof, op), ratios, least


@contextlib.contextmanager
def lab(shape, hosts, rate):
    """The path of a host file of a lab that is there until the block ends, and its namespaces."""
    name = "goals%d" % (time.time_ns() % 10**6)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "lab.json")
        path.write_text(json.dumps({"plumbline_lab": 1, "name": name, "shape": shape, "hosts": ["host%d" % index for index in range(hosts)],
                                    "data": "10.43.0.0/24", "rate": rate}))
        try:
            made = ran([PROGRAM, "lab", "up", str(path), "--seed", "1"], 120).strip()
            yield made, json.loads(pathlib.Path(made).read_text())["hosts"]
        finally:
            subprocess.run([PROGRAM, "lab", "down", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=False)


def bus_bandwidths(rounds, hosts, ranks, size, *words):
    """In bits a second, one of each launch."""
    for _ in range(rounds):
        records = records_of(ran([PROGRAM, "coll", "allreduce", "--hosts", hosts, "--ranks", str(ranks), "--transport", "tcp", "-b", size, "-e", size, "-n", "5",
                                  "-c", "0", "--congestion-control", "reno", "--json", *words]))
        yield next(record["busbw_Bps"] for record in records if record["cell"]["placement"] == "in") * 8


def ring(rounds):
    for ranks, rate in ((2, 1000), (4, 200)):
        with lab("star", ranks, "%dMbit" % rate) as (hosts, _):
            yield "%d ranks, links of %d Mbit/s, 16M" % (ranks, rate), [
                seen / (rate * 1e6 * PAYLOAD) for seen in bus_bandwidths(rounds, hosts, ranks, "16M", "--algorithm", "ring")]


def mesh(rounds):
    with lab("mesh", 4, "100Mbit") as (hosts, _):
        yield "4 ranks, cables of 100 Mbit/s, 16M", [seen / 100e6 for seen in bus_bandwidths(rounds, hosts, 4, "16M")]


def iperf(inside, address):
    """Payload bits a second of one connection, reno, writes of 128 KiB, as iperf3 counts them."""
    server = subprocess.Popen([*inside[1], "iperf3", "-s", "-1", "-B", address, "-p", str(PORT)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(START_S)
        told = json.loads(ran([*inside[0], "iperf3", "-c", address, "-p", str(PORT), "-t", str(IPERF_S), "-O", "1", "-C", "reno", "-J"], 60))
        return told["end"]["sum_received"]["bits_per_second"]
    finally:
        server.kill()
        server.wait()


def stream(hosts):
    records = records_of(ran([PROGRAM, "coll", "stream", "--hosts", hosts, "--transport", "tcp", "-b", "128M", "-e", "128M", "-n", "12", "-w", "3", "-c", "0",
                              "--congestion-control", "reno", "--progress-thread", "off", "--json"]))
    return records[0]["algbw_Bps"] * 8


def sockets(rounds):
    """One direction, one connection, plumbline / iperf3."""
    if not shutil.which("iperf3"):
        raise Failed("iperf3 is not installed")
    for rate in ("1Gbit", "10Gbit"):
        with lab("star", 2, rate) as (path, hosts):
            inside = [["ip", "netns", "exec", host["netns"]] for host in hosts]
            address = hosts[1]["data"][0].split("/")[0]
            yield "link of " + rate, turns(rounds, lambda path=path: stream(path), lambda inside=inside, address=address: iperf(inside, address))


def choice(rounds):
    """What auto took, against the best row of its cell: the share of cells within 5 %. All algorithms run once in each repetition, and what comes out fastest is only suspected: the best of many draws is
    lucky too, and with 2 ranks several names are one exchange. So it then runs against what auto took, these two alone, and the median of their ratios counts.
    On shaped links without and with what `plumbline tune` (a minute) says of them, as auto's own thresholds come from loopback and memory."""
    def medians(folder, name, hosts, cells, config):
        """By operation, bytes and algorithm, the medians of the repetitions; and what auto took."""
        matrix = [dict({"kind": "latency", "placement": "in", "repeat": rounds, "sync": "barrier", "stop": {"min_n": 20, "max_n": 200, "max_time": "300ms"}}, **cell)
                  for cell in cells]
        times, took = {}, {}
        for record in run_scenario(folder, name, hosts, matrix, False, config):
            cell = record["cell"]
            if record["outcome"] != "passed" or cell["kind"] == "roof":
                continue
            key = (cell["op"], cell["bytes"])
            if cell["algorithm"] == "auto":
                took[key] = record["resolved"]["algorithm"]
            else:
                times.setdefault(key, {}).setdefault(cell["algorithm"], []).append(record["time_ns"]["p50"])
        return times, took

    def cells(name, hosts, transport, ranks, sizes, tuning="none"):
        with tempfile.TemporaryDirectory() as folder:
            every = {"op": ["allreduce", "allgather", "reduce_scatter", "broadcast", "alltoall"], "transport": transport, "ranks": ranks, "bytes": sizes}
            times, took = medians(folder, name, hosts, [dict(every, algorithm="all"), dict(every, algorithm="auto", repeat=1)],
                                  {"tuning": tuning})
            suspected = {}
            for key, rows in times.items():
                best = min(rows, key=lambda algorithm: min(rows[algorithm]))
                if min(rows.get(took[key], [float("inf")])) > NEAR * min(rows[best]):
                    suspected[key] = best
            again = {}
            if suspected:
                again, _ = medians(folder, name + "-again", hosts, [
                    {"op": op, "bytes": size, "transport": transport, "ranks": ranks, "algorithm": [took[op, size], best]} for (op, size), best in suspected.items()],
                                   {"tuning": "none"})
        if not times:
            raise Failed("no algorithm passed")
        beaten = 0
        for key, best in sorted(suspected.items()):
            ratios = [mine / other for mine, other in zip(again[key][took[key]], again[key][best])]
            beaten += statistics.median(ratios) > NEAR
            print("    %s %d: auto took %s; %s is %.2f (%.2f to %.2f) times as fast" % (
                *key, took[key], best, statistics.median(ratios), min(ratios), max(ratios)), flush=True)
        return [1 - beaten / len(times)]

    for transport in ("tcp", "shm"):
        yield "2 ranks, " + transport, cells("local", {"local": 2}, transport, 2, [8, "4Ki", "64Ki", "1Mi"])
    for rate in ("100Mbit", "1Gbit"):
        with lab("star", 4 if rate == "100Mbit" else 2, rate) as (path, hosts):
            yield "%d ranks, links of %s" % (len(hosts), rate), cells("shaped", hosts, "tcp", len(hosts), ["4Ki", "64Ki", "1Mi"])
            with tempfile.TemporaryDirectory() as folder:
                tuning = folder + "/tuning.json"
                ran([PROGRAM, "tune", path, "--transport", "tcp", "-q", "-o", tuning])
                yield "the same, tuned", cells("tuned", hosts, "tcp", len(hosts), ["4Ki", "64Ki", "1Mi"], tuning)


def prediction(_):
    """1 - the median error of `tune`'s prediction at sizes that were not measured for it."""
    for transport in ("tcp", "shm"):
        with tempfile.TemporaryDirectory() as folder:
            told = json.loads(ran([PROGRAM, "tune", "--transport", transport, "--json", "-o", folder + "/tuning.json"]))
            yield "2 ranks, " + transport, [1 - told["held_out_error"]]


# Name, what the ratio is, the least that it should be (None: the cells say it), and what measures it: yields (cell, ratios) or (cell, ratios, least).
ROWS = (
    ("placement", "allreduce, time in place / out of place", 1 / 1.1, placement),
    ("types", "allreduce, time of f32 / time of as many bytes", 1 / 1.1, types),
    ("crc", "allreduce, time without / with checksums", 0.85, crc),
    ("bare", "time of the bare connection / ours, 8 B and a stream of 16 MiB", None, bare),
    ("sockets", "one direction, rate / iperf3's", 0.95, sockets),
    ("ring", "bus bandwidth / payload of one link", 0.95, ring),
    ("mesh", "bus bandwidth / one cable's rate", 2.7, mesh),
    ("choice", "cells in which auto is within 5 % of the best algorithm", 0.9, choice),
    ("prediction", "1 - median error of the prediction", 0.85, prediction),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(name for name, *_ in ROWS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--list", action="store_true", help="what each row is")
    args = parser.parse_args()
    unknown = set(args.rows) - {name for name, *_ in ROWS}
    if unknown:
        parser.error("no row '%s'; there are: %s" % (min(unknown), ", ".join(name for name, *_ in ROWS)))
    if args.rounds < 1:
        parser.error("--rounds is at least 1")
    failed = 0
    for name, what, least, measure in ROWS:
        if args.list or (args.rows and name not in args.rows):
            if args.list:
                print("%-11s %s%s" % (name, what, "" if least is None else "; goal %.2f" % least))
            continue
        print("%s: %s" % (name, what), flush=True)
        try:
            for cell, found, *own in measure(args.rounds):
                middle, goal = statistics.median(found), own[0] if own else least
                print("  %-44s %.2f (%.2f to %.2f), goal %.2f%s" % (
                    cell, middle, min(found), max(found), goal, "" if middle >= goal else ": below"), flush=True)
        except (Failed, OSError, subprocess.TimeoutExpired, KeyError, ValueError, StopIteration) as error:
            failed += 1
            print("  not measured: %s" % (error or type(error).__name__), flush=True)
    return 1 if failed else 0


def interrupt(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a lab that is up goes down
        signal.signal(number, interrupt)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
