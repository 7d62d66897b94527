#!/usr/bin/env python3
"""Links whose signal comes and goes while `doctor` looks, for real: toggled at several rhythms, at the switch's port or at the host's own
interface, on one host or two. All of it is link.flapping of these hosts and nothing else; a cable that is pulled once is none; and a sound
network is not kept waiting."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from namespaces import Switched, ip, require_lab

PROGRAM = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")
# Seconds from one change to the next; which hosts; at the host's own end, or at the switch's.
RHYTHMS = [(0.1, [1], False), (0.1, [2], True), (0.5, [1], True), (0.5, [1, 3], False), (1.0, [2], False), (2.5, [0], False), (5.0, [1], True)]


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


def doctor(hosts):
    began = time.monotonic()
    done = subprocess.run([PROGRAM, "doctor", "--hosts", str(hosts), "--json"], capture_output=True, text=True, timeout=120)
    said = json.loads(done.stdout)
    # A busy machine is none of this test's business.
    found = [(finding["cause"], finding["host"]) for finding in said["findings"] if finding["outcome"] != "note" and not finding["cause"].startswith("host.")]
    return found, done.returncode, time.monotonic() - began, said


def main():
    require_lab()
    star = Switched(4)
    with tempfile.TemporaryDirectory() as folder:
        hosts = pathlib.Path(folder, "hosts.json")
        hosts.write_text(star.host_file())
        found, code, healthy_s, said = doctor(hosts)
        assert (found, code) == ([], 0), said["findings"]
        for seconds, which, own_end in RHYTHMS:
            with Flapping(star, which, own_end, seconds):
                time.sleep(min(4 * seconds, 8))  # a history of its own
                found, code, took_s, said = doctor(hosts)
            print("every %.1f s, %s of %s: %s, %.1f s" % (seconds, "own end" if own_end else "port", which, found, took_s), flush=True)
            assert found == [("link.flapping", "host%d" % host) for host in which], json.dumps(said["findings"], indent=1)
            assert code == 0, code
            # New cards: their counters begin again.
            star.remove()
            star = Switched(4)
        # Pulled once, and not put in again.
        ip("-n", star.switch, "link", "set", star.ports[1], "down")
        found, code, _, said = doctor(hosts)
        assert (found, code) == ([("link.no_carrier", "host1")], 2), said["findings"]
        ip("-n", star.switch, "link", "set", star.ports[1], "up")
        time.sleep(1)
        found, code, took_s, said = doctor(hosts)
        assert (found, code) == ([], 0), said["findings"]
        print("sound: %.1f s before, %.1f s after" % (healthy_s, took_s))
    print("ok")


if __name__ == "__main__":
    main()
