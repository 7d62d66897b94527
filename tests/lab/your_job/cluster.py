"""Hosts for somebody's own job: network namespaces at one switch, each with a host name, a file of names, and, as real hosts have, more networks
than the one that the job should take. All that is made carries this process's prefix and goes away with the namespaces, also after a crash."""
import atexit
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from namespaces import ip  # noqa: E402

NETWORKS = ("192.168.79", "10.79.0")  # above and below 127.0.0.0/8: gloo compares addresses
OFFICE = "10.80.0"
CONTAINERS = "172.17.0.1/16"  # each host's docker0 has it

numbers = itertools.count()
ORPHAN = re.compile(r"yj(\d+)-\d+-[a-z]+\d*$")


class Cluster:
    """`size` hosts node1, node2 ...: eth0 at the data switch, eth1 at the office switch (which forwards nothing when `office` is "dead"), docker0 with
    the same address everywhere where `containers` is true."""

    def __init__(self, size, folder, office=None, containers=False, network=NETWORKS[0]):
        self.prefix = "yj%d-%d-" % (os.getpid(), next(numbers))
        self.names = ["node%d" % (index + 1) for index in range(size)]
        self.folder = folder
        self.processes = []
        self.program = os.environ.get("YOUR_JOB_PROGRAM", os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline"))  # the agents'
        self.office_network = OFFICE
        self.office, self.containers, self.network = office, containers, network
        self.switches = []
        atexit.register(self.remove)
        try:
            self._make()
        except BaseException:
            self.remove()
            raise

    def netns(self, host):
        return self.prefix + host

    def address(self, host):
        return "%s.%d" % (self.network, self.names.index(host) + 1)

    def _make(self):
        for host in self.names:
            os.makedirs("/etc/netns/" + self.netns(host))
            ip("netns", "add", self.netns(host))
            ip("-n", self.netns(host), "link", "set", "lo", "up")
            self.write_names(host)
            self._write_agent(host)
        self._switch("data", "eth0", self.network)
        if self.office:
            self._switch("office", "eth1", OFFICE)
        for host in self.names if self.containers else []:
            self._containers(self.netns(host))

    def _switch(self, name, device, network):
        """Its ports do not talk to one another where the office is dead: addresses are there, and nobody is reached."""
        switch = self.prefix + name
        self.switches.append(switch)
        ip("netns", "add", switch)
        ip("-n", switch, "link", "add", "br0", "type", "bridge")
        ip("-n", switch, "link", "set", "br0", "up")
        for index, host in enumerate(self.names):
            port = "p%d" % index
            ip("link", "add", device, "netns", self.netns(host), "type", "veth", "peer", "name", port, "netns", switch)
            if name != "office" or self.office != "dead":
                ip("-n", switch, "link", "set", port, "master", "br0")
            ip("-n", switch, "link", "set", port, "up")
            ip("-n", self.netns(host), "addr", "add", "%s.%d/24" % (network, index + 1), "dev", device)
            ip("-n", self.netns(host), "link", "set", device, "up")

    @staticmethod
    def _containers(netns):
        ip("-n", netns, "link", "add", "docker0", "type", "bridge")
        ip("-n", netns, "addr", "add", CONTAINERS, "dev", "docker0")
        ip("-n", netns, "link", "add", "vc0", "type", "veth", "peer", "name", "vc1")
        ip("-n", netns, "link", "set", "vc0", "master", "docker0")
        for device in ("vc0", "vc1", "docker0"):
            ip("-n", netns, "link", "set", device, "up")

    def write_names(self, host, own=None):
        """The host's own name means `own`, all others their data address. No name server, so that what is unknown is so at once."""
        lines = ["127.0.0.1 localhost"]
        for other in self.names:
            address = own if own and other == host else self.address(other)
            lines.append("%s %s" % (address, other))
        path = "/etc/netns/%s/" % self.netns(host)
        for name, text in (("hosts", "\n".join(lines) + "\n"), ("resolv.conf", "options attempts:1 timeout:1\n")):
            # In place: who runs in the namespace has this very file mounted.
            with open(path + name, "w") as file:
                file.write(text)

    def _write_agent(self, host):
        """plumbline's agent on this host, with the host's name."""
        with open(self.agent(host), "w") as file:
            file.write('#!/bin/sh\nexec unshare --uts sh -c \'hostname %s && exec "$@"\' sh "%s" "$@"\n'
                       % (host, os.path.abspath(self.program)))
        os.chmod(self.agent(host), 0o755)

    def agent(self, host):
        return os.path.join(self.folder, "plumbline-" + host)

    def host_file(self):
        """As plumbline reads it; the path."""
        path = os.path.join(self.folder, "hosts.json")
        with open(path, "w") as file:
            json.dump({"hosts": [{"name": host, "netns": self.netns(host), "data": [self.address(host) + "/24"], "binary": self.agent(host)}
                                 for host in self.names]}, file, indent=1)
        return path

    def on(self, host, command):
        """What runs a command there: in its network, with its name and its shared memory. All of it becomes the command, so its pid is known."""
        return ["ip", "netns", "exec", self.netns(host), "unshare", "--uts", "--ipc", "sh", "-c", 'hostname "$0" && exec "$@"', host, *command]

    def reach(self):
        """What an mpirun uses in the place of ssh: [options] host command..."""
        path = os.path.join(self.folder, "reach")
        with open(path, "w") as file:
            file.write('#!/bin/bash\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1\nshift\n'
                       # What a remote host would never have: the launcher's own open sockets.
                       'for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -lt 3 ] || [ "$fd" = 255 ] || eval "exec $fd<&-"; done 2>/dev/null\n'
                       "exec ip netns exec %s$host unshare --uts --ipc sh -c 'hostname \"$0\" && exec sh -c \"$*\"' $host \"$@\"\n" % self.prefix)
        os.chmod(path, 0o755)
        return path

    def start(self, host, command, environment, log):
        """The process, which leads a group of its own; its output goes to the file."""
        with open(log, "w") as output:
            process = subprocess.Popen(self.on(host, command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       env=environment, start_new_session=True)
        self.processes.append(process)
        return process

    def run(self, host, *command, timeout=20):
        return subprocess.run(self.on(host, command), capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def nft(self, netns, text):
        done = subprocess.run(["ip", "netns", "exec", netns, "nft", "-f", "-"], input=text, capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise RuntimeError("nft: %s\n%s" % (done.stderr.strip(), text))

    def pids(self, host):
        """All that runs in the host's network."""
        done = subprocess.run(["ip", "netns", "pids", self.netns(host)], capture_output=True, text=True, timeout=20)
        return [int(word) for word in done.stdout.split()]

    def end_processes(self):
        """What was started, and what that started inside the namespaces (daemons of a launcher)."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            living = [pid for host in self.names for pid in self.pids(host)]
            for pid in living:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
                    process.wait(timeout=10)
            self.processes = []
            if not living:
                return
            time.sleep(0.05)
        raise RuntimeError("processes that SIGKILL does not end: %s" % living)

    def remove(self):
        """Twice is no harm. A signal that comes in the middle (end_on_signals) leaves it to atexit, which begins anew."""
        try:
            self.end_processes()
        finally:
            for netns in [self.netns(host) for host in self.names] + self.switches:
                remove_netns(netns)
            self.names, self.switches = [], []
            atexit.unregister(self.remove)


def remove_netns(netns):
    """The namespace and its files, as far as they are there."""
    subprocess.run(["ip", "netns", "del", netns], capture_output=True, timeout=60)
    shutil.rmtree("/etc/netns/" + netns, ignore_errors=True)


def left_netns():
    """Names of namespaces that are there, or whose files are: a cluster makes the files first."""
    return sorted({netns for folder in ("/run/netns", "/etc/netns") if os.path.isdir(folder) for netns in os.listdir(folder)})


def remove_orphans():
    """What a process of this kind left that was killed (SIGKILL) before it could remove it."""
    for netns in left_netns():
        owner = ORPHAN.match(netns)
        if not owner or os.path.exists("/proc/" + owner.group(1)):
            continue
        for pid in subprocess.run(["ip", "netns", "pids", netns], capture_output=True, text=True, timeout=20).stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        remove_netns(netns)


def end_on_signals():
    """So that atexit removes what was made."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
