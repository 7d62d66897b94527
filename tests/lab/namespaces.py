"""Hosts as network namespaces for one test: made with a prefix of the test's own, removed at its end, also after a failure or a signal."""
import atexit
import concurrent.futures
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys

SKIPPED = 77


def require_lab():
    """Ends the test as skipped, with the reason, where it cannot run."""
    reason = None
    if os.environ.get("TEST_LABS") != "1":
        reason = "lab tests run with ./test.sh --labs"
    elif os.geteuid() != 0:
        reason = "needs root to make network namespaces"
    elif shutil.which("ip") is None:
        reason = "needs ip (package iproute2)"
    elif subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        reason = "this system does not allow network namespaces"
    if reason:
        print("Skipped: " + reason)
        sys.exit(SKIPPED)


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        raise RuntimeError("ip %s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def beside(works):
    """Does all of them at the same time, and fails as the first that failed: for what mostly waits, each in a network of its own."""
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


class Mesh:
    """`size` hosts, every pair joined by a veth of its own with its own /30."""

    def __init__(self, size):
        self.names = ["pl%d-%d" % (os.getpid(), index) for index in range(size)]
        self.addresses = [[] for _ in range(size)]  # "10.77.0.1/30"
        self.links = {}  # (a, b) -> interface of a that leads to b
        atexit.register(self.remove)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(1))
        for name in self.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        subnet = 0
        for a in range(size):
            for b in range(a + 1, size):
                self.join(a, b, subnet)
                subnet += 1

    def join(self, a, b, subnet):
        ends = {a: "to%d" % b, b: "to%d" % a}
        ip("link", "add", ends[a], "netns", self.names[a], "type", "veth", "peer", "name", ends[b], "netns", self.names[b])
        for index, host in enumerate((a, b)):
            address = "10.77.%d.%d/30" % (subnet, index + 1)
            ip("-n", self.names[host], "addr", "add", address, "dev", ends[host])
            ip("-n", self.names[host], "link", "set", ends[host], "up")
            self.addresses[host].append(address)
        self.links[(a, b)], self.links[(b, a)] = ends[a], ends[b]

    def sent_bytes(self, a, b):
        """Bytes that a has sent on its link to b so far."""
        path = "/sys/class/net/%s/statistics/tx_bytes" % self.links[(a, b)]
        done = subprocess.run(["ip", "netns", "exec", self.names[a], "cat", path], capture_output=True, text=True,
                              timeout=20, check=True)
        return int(done.stdout)

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20)
        self.names = []


class Switched:
    """`size` hosts at one switch: eth0 of each is joined to a port of a bridge in a namespace of its own. Made on the main thread (signals)."""

    numbers = itertools.count()

    def __init__(self, size):
        prefix = "pl%d-%d" % (os.getpid(), next(self.numbers))
        self.names = ["%s-s%d" % (prefix, index) for index in range(size)]
        self.switch = prefix + "-switch"
        self.ports = ["port%d" % index for index in range(size)]
        self.addresses = ["10.78.0.%d/24" % (index + 1) for index in range(size)]
        atexit.register(self.remove)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(1))
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
        ip("-n", self.switch, "link", "set", "br0", "up")
        for name, port, address in zip(self.names, self.ports, self.addresses):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", port, "netns", self.switch)
            ip("-n", self.switch, "link", "set", port, "master", "br0", "up")
            ip("-n", name, "addr", "add", address, "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")

    def host_file(self, speed=None):
        hosts = [{"name": "host%d" % index, "netns": name, "data": address} for index, (name, address) in enumerate(zip(self.names, self.addresses))]
        for host in hosts if speed else []:
            host["speed"] = speed
        return json.dumps({"hosts": hosts})

    def shape(self, host, mbit):
        """What this host sends and receives."""
        for netns, device in ((self.names[host], "eth0"), (self.switch, self.ports[host])):
            subprocess.run(["tc", "-n", netns, "qdisc", "replace", "dev", device, "root", "tbf", "rate", "%dmbit" % mbit, "burst", "256kb",
                            "latency", "30ms"], check=True, timeout=20)

    def remove(self):
        for name in self.names + [self.switch]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20)
        self.names = []
