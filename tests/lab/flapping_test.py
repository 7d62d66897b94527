#!/usr/bin/env python3
"""Links whose signal comes and goes while `doctor` looks, for real: every rhythm once, at an end and on one host or two as a seed draws them,
each in a network of its own and all at the same time. All of it is link.flapping of these hosts and nothing else, also a slow one that no
short check would see; a cable that is pulled once is none; and a sound network is not kept waiting. The rules are tried at every phase by
tests/probes/rules/host_flapping_test.cc.
Arguments: seed (1). With TEST_EXHAUSTIVE=1 the full cross."""
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

from namespaces import Switched, beside, ip, require_lab

PROGRAM = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")
SECONDS = [0.1, 0.5, 1.0, 2.5, 5.0]  # from one change to the next
HOSTS = 4


class Flapping:
    """Until it is left: the signal goes and comes, and is there in the end."""

    def __init__(self, star, hosts, own_end, seconds):
        self.ends = [(star.names[host], "eth0") if own_end else (star.switch, star.ports[host]) for host in hosts]
        self.seconds, self.over = seconds, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def set(self, state):
        for netns, device in self.ends:
            ip("-n", netns, "link", "set", device, state)

    def run(self):
        state = "down"
        self.set(state)
        while not self.over.wait(self.seconds):
            state = "up" if state == "down" else "down"
            self.set(state)
        self.set("up")

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def doctor(star, folder):
    hosts = pathlib.Path(folder, star.switch)
    hosts.write_text(star.host_file())
    began = time.monotonic()
    done = subprocess.run([PROGRAM, "doctor", "--hosts", str(hosts), "--json"], capture_output=True, text=True, timeout=120)
    said = json.loads(done.stdout)
    # A busy machine is none of this test's business.
    found = [(finding["cause"], finding["host"]) for finding in said["findings"] if finding["outcome"] != "note" and not finding["cause"].startswith("host.")]
    return found, done.returncode, time.monotonic() - began, said


def drawn(seed):
    """Seconds, hosts, whether at their own end: every rhythm once, at both ends, one of them on two hosts."""
    draw = random.Random(seed)
    ends = [True, False, True, False, draw.random() < 0.5]
    draw.shuffle(ends)
    two = draw.randrange(len(SECONDS))
    return [(seconds, sorted(draw.sample(range(HOSTS), 2 if number == two else 1)), ends[number]) for number, seconds in enumerate(SECONDS)]


def full_cross():
    return [(seconds, which, own_end) for seconds, which, own_end in itertools.product(SECONDS, [[0], [2], [1, 3]], [True, False])]


def flaps(star, folder, seconds, which, own_end):
    with Flapping(star, which, own_end, seconds):
        time.sleep(min(4 * seconds, 8))  # a history of its own
        found, code, took_s, said = doctor(star, folder)
    print("every %.1f s, %s of %s: %s, %.1f s" % (seconds, "own end" if own_end else "port", which, found, took_s), flush=True)
    assert found == [("link.flapping", "host%d" % host) for host in which], json.dumps(said["findings"], indent=1)
    assert code == 0, code


def slow_with_a_past(star, folder):
    """Its signal is there when a check begins, and would be at the end of a short one; it went and came three times before."""
    port = ("-n", star.switch, "link", "set", star.ports[1])
    for state in ["down", "up"] * 3:
        ip(*port, state)
        time.sleep(0.2)
    timers = [threading.Timer(at, ip, (*port, state)) for at, state in ((4, "down"), (9, "up"))]
    for timer in timers:
        timer.start()
    found, code, took_s, said = doctor(star, folder)
    for timer in timers:
        timer.join()
    print("every 5 s, first after 4 s: %s, %.1f s" % (found, took_s), flush=True)
    assert (found, code) == ([("link.flapping", "host1")], 0), json.dumps(said["findings"], indent=1)


def pulled_once(star, folder):
    found, code, healthy_s, said = doctor(star, folder)
    assert (found, code) == ([], 0), said["findings"]
    ip("-n", star.switch, "link", "set", star.ports[1], "down")  # and not put in again
    found, code, _, said = doctor(star, folder)
    assert (found, code) == ([("link.no_carrier", "host1")], 2), said["findings"]
    ip("-n", star.switch, "link", "set", star.ports[1], "up")
    time.sleep(1)
    found, code, took_s, said = doctor(star, folder)
    assert (found, code) == ([], 0), said["findings"]
    print("sound: %.1f s before, %.1f s after" % (healthy_s, took_s))


def main():
    require_lab()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rhythms = full_cross() if os.environ.get("TEST_EXHAUSTIVE") == "1" else drawn(seed)
    print("seed %d" % seed)
    with tempfile.TemporaryDirectory() as folder:
        works = [lambda star=Switched(HOSTS): pulled_once(star, folder), lambda star=Switched(HOSTS): slow_with_a_past(star, folder)]
        for begin in range(0, len(rhythms), len(SECONDS)):
            works += [lambda star=Switched(HOSTS), rhythm=rhythm: flaps(star, folder, *rhythm) for rhythm in rhythms[begin:begin + len(SECONDS)]]
            beside(works)
            works = []
    print("ok")


if __name__ == "__main__":
    main()
