#!/usr/bin/env python3
"""What `plumbline trace` counts against what tshark counts, flow by flow, on fresh captures made in network namespaces: clean and
lossy transfers, refused and dropped connections, black holes, closed windows. Where the two legitimately differ, the table EXCEPTIONS says
which count, in which captures, and why.

Two hosts with a router between them: a (10.78.1.2) - r - b (10.78.2.2), and the same with fd78::/64. tcpdump runs on a and on b, in some
scenarios on all interfaces of r.

  trace_tshark_test.py                 all scenarios
  trace_tshark_test.py NAME...         only these
  TEST_KEEP=FOLDER                     keep the captures there
"""
import atexit
import collections
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from namespaces import SKIPPED, beside, ip, require_lab

SIDE_BY_SIDE = 3  # scenarios at the same time, each in a network of its own: most of them wait

A4, B4, A6, B6 = "10.78.1.2", "10.78.2.2", "fd78:1::2", "fd78:2::2"

# ---- what is compared: our count of a direction -> tshark's fields of that direction's packets -------------------------------------------

COUNTS = {
    "syn": "syn", "syn_ack": "syn_ack", "rst": "rst", "fin": "fin",
    "retransmissions": "retransmissions",
    "out_of_order": "tcp.analysis.out_of_order",
    "duplicate_acks": "tcp.analysis.duplicate_ack",
    "zero_windows": "tcp.analysis.zero_window",
    "window_full": "tcp.analysis.window_full",
    "probes": "probes",          # keepalives and window probes together: see EXCEPTIONS
    "skipped": "tcp.analysis.lost_segment",
    "unseen_acked": "unseen_acked",
}

def seen_before(ours, theirs):
    """Only the name differs, and ours never says out of order more often."""
    return (ours["retransmissions"] + ours["out_of_order"] == theirs["retransmissions"] + theirs["tcp.analysis.out_of_order"]
            and ours["retransmissions"] >= theirs["retransmissions"])


# Legitimate differences: (counts, scenario or "*", place of the capture or "*", check(our counts, tshark's) of the direction, reason).
# A difference that no row allows fails the test.
EXCEPTIONS = [
    (("retransmissions", "out_of_order"), "*", "*", seen_before,
     "bytes that the trace holds already were sent again; tshark calls that out of order when it comes within the first round trip time "
     "of the highest segment"),
    (("duplicate_acks",), "*", "*", lambda ours, theirs: ours["duplicate_acks"] < theirs["tcp.analysis.duplicate_ack"] <=
     ours["duplicate_acks"] + theirs["selective"],
     "tshark 4.2 and later also count acknowledgements that change the window and carry SACK blocks"),
    (("unseen_acked",), "*", "*", lambda ours, theirs: ours["unseen_acked"] < theirs["unseen_acked"] <=
     ours["unseen_acked"] + theirs["extended"],
     "a segment sent again that also carries new bytes: tshark does not take these for seen"),
]

FIELDS = ["tcp.stream", "ip.src", "ipv6.src", "tcp.srcport", "tcp.flags.syn", "tcp.flags.ack", "tcp.flags.reset", "tcp.flags.fin",
          "tcp.analysis.retransmission", "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission",
          "tcp.analysis.out_of_order", "tcp.analysis.duplicate_ack", "tcp.analysis.zero_window", "tcp.analysis.window_full",
          "tcp.analysis.keep_alive", "tcp.analysis.zero_window_probe", "tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment",
          "ip.dst", "ipv6.dst", "tcp.dstport", "tcp.options.sack_le", "tcp.nxtseq"]


def tshark_flows(path, only):
    """Streams in order; each {"ends": (a, b), a: Counter, b: Counter}: counts of what each end sent. `only`: a filter of tshark that leaves
    one sighting of each packet; empty = the capture has but one."""
    if only:
        one = path.with_suffix(".one.pcapng")
        subprocess.run(["tshark", "-r", str(path), "-Y", only, "-w", str(one)], check=True, capture_output=True, timeout=180)
        path = one
    command = ["tshark", "-r", str(path), "-Y", "tcp && !icmp && !icmpv6", "-T", "fields", "-E", "separator=;", "-E", "occurrence=f"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    if done.returncode != 0:
        sys.exit("tshark: " + done.stderr)
    streams = {}
    for line in done.stdout.splitlines():
        row = dict(zip(FIELDS, line.split(";")))
        source = (row["ip.src"] or row["ipv6.src"], int(row["tcp.srcport"]))
        target = (row["ip.dst"] or row["ipv6.dst"], int(row["tcp.dstport"]))
        stream = streams.setdefault(int(row["tcp.stream"]), {"ends": (source, target), source: collections.Counter(),
                                                             target: collections.Counter()})
        mine, other = stream[source], stream[target]
        syn, ack = row["tcp.flags.syn"] == "1", row["tcp.flags.ack"] == "1"
        mine["packets"] += 1
        mine["syn"] += syn and not ack
        mine["syn_ack"] += syn and ack
        mine["rst"] += row["tcp.flags.reset"] == "1"
        mine["fin"] += row["tcp.flags.fin"] == "1"
        for field in FIELDS:
            if field.startswith("tcp.analysis."):
                mine[field] += bool(row[field])
        mine["retransmissions"] += any(row["tcp.analysis." + kind + "retransmission"] for kind in ("", "fast_", "spurious_"))
        mine["probes"] += bool(row["tcp.analysis.keep_alive"] or row["tcp.analysis.zero_window_probe"])
        again = row["tcp.analysis.retransmission"] or row["tcp.analysis.out_of_order"]
        end = int(row["tcp.nxtseq"] or 0)
        mine["extended"] += bool(again) and end > mine["highest"]
        mine["highest"] = max(mine["highest"], end)
        mine["selective"] += bool(row["tcp.options.sack_le"])
        other["unseen_acked"] += bool(row["tcp.analysis.ack_lost_segment"])
    return [streams[number] for number in sorted(streams)]


def our_flows(program, path):
    done = subprocess.run([program, "trace", "--json", str(path)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit("plumbline trace %s: exit status %d\n%s" % (path, done.returncode, done.stderr))
    summary = json.loads(done.stdout)
    return [flow for flow in summary["traces"][0]["flows"] if flow["protocol"] == "tcp" and flow["a"]["packets"] + flow["b"]["packets"]]


def counts_of(direction):
    counts = dict(direction)
    counts["probes"] = direction["keepalives"] + direction["window_probes"]
    counts["skipped"] = direction["gaps"] - direction["unseen_acked"]
    return counts


def allowed(count, scenario, place, ours, theirs):
    for known, where, at, check, reason in EXCEPTIONS:
        if count in known and where in ("*", scenario) and at in ("*", place) and check(ours, theirs):
            return reason
    return None


def first_sightings(path, only):
    """As tshark_flows(); what an end sent is counted where it came in, of `only` = (filter for a's packets, filter for b's). The processors
    of a busy machine may write the sightings where they go out in another order."""
    from_a, from_b = (tshark_flows(path, each) for each in only)
    return [{"ends": one["ends"], **{end: (one if end[0] in (A4, A6) else other)[end] for end in one["ends"]}}
            for one, other in zip(from_a, from_b, strict=True)]


def compare(program, scenario, place, path, only):
    """Lines about every difference, and the number of those that no exception allows. Where a capture shows packets more than once, which
    tshark takes for retransmissions, it is given one sighting of each, and we find out on our own."""
    theirs, ours = first_sightings(path, only) if only else tshark_flows(path, ""), our_flows(program, path)
    lines, wrong, total = [], 0, collections.Counter()
    if len(theirs) != len(ours):
        return ["  %d flows, tshark has %d" % (len(ours), len(theirs))], 1, total, ours
    for flow, stream in zip(ours, theirs):
        ends = {"a": (flow["a_ip"], flow["a_port"]), "b": (flow["b_ip"], flow["b_port"])}
        for side, end in ends.items():
            if end not in stream:
                return ["  flow %s: tshark has %s" % (end, stream["ends"])], wrong + 1, total, ours
            counts = counts_of(flow[side])
            for count, field in COUNTS.items():
                mine, other = counts[count], stream[end][field]
                total[count] += mine
                if mine == other:
                    continue
                reason = allowed(count, scenario, place, counts, stream[end])
                wrong += reason is None
                lines.append("  %s:%d %s: %d, tshark %d%s" % (end[0], end[1], count, mine, other, " (" + reason + ")" if reason else ""))
    return lines, wrong, total, ours


# ---- the network -------------------------------------------------------------------------------------------------------------------------


class Net:
    numbers = itertools.count()

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        number = next(self.numbers)
        self.names = {host: "plt%d-%d-%s" % (os.getpid(), number, host) for host in "arb"}
        self.children = []
        atexit.register(self.remove)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(1))
        for name in self.names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for host, number in (("a", 1), ("b", 2)):
            ip("link", "add", "eth0", "netns", self.names[host], "type", "veth", "peer", "name", "to-" + host, "netns", self.names["r"])
            for end, device, last in ((host, "eth0", 2), ("r", "to-" + host, 1)):
                ip("-n", self.names[end], "addr", "add", "10.78.%d.%d/24" % (number, last), "dev", device)
                ip("-n", self.names[end], "addr", "add", "fd78:%d::%d/64" % (number, last), "dev", device, "nodad")
                ip("-n", self.names[end], "link", "set", device, "up")
            ip("-n", self.names[host], "route", "add", "default", "via", "10.78.%d.1" % number)
            ip("-n", self.names[host], "-6", "route", "add", "default", "via", "fd78:%d::1" % number)
        self.run("r", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")

    def run(self, host, *words, check=True):
        return subprocess.run(["ip", "netns", "exec", self.names[host], *words], check=check, capture_output=True, text=True, timeout=60)

    def start(self, host, *words, **options):
        child = subprocess.Popen(["ip", "netns", "exec", self.names[host], *words], start_new_session=True, **options)
        self.children.append(child)
        return child

    def end_children(self):
        """Ends what was started, and what that started: each has a process group of its own."""
        for child in self.children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        self.children = []

    def rules(self, host, text):
        """One table for the scenario's rules; removed by reset()."""
        done = subprocess.run(["ip", "netns", "exec", self.names[host], "nft", "-f", "-"], input="table inet t {\n%s\n}\n" % text,
                              capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise RuntimeError("nft: " + done.stderr)

    def reset(self):
        self.end_children()
        for host in self.names:
            self.run(host, "nft", "flush", "ruleset", check=False)
            self.run(host, "ip", "route", "flush", "cache", check=False)
            self.run(host, "ip", "tcp_metrics", "flush", check=False)
        for device in ("to-a", "to-b"):
            self.run("r", "tc", "qdisc", "del", "dev", device, "root", check=False)
            self.run("r", "ip", "link", "set", device, "mtu", "1500")
        for host in "ab":
            self.run(host, "ip", "link", "set", "eth0", "gso_max_segs", "65535")

    def remove(self):
        self.end_children()
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20)
        self.names = {}

    def index(self, host, device):
        return int(self.run(host, "cat", "/sys/class/net/%s/ifindex" % device).stdout)

    def capture(self, host, name, *words):
        """tcpdump (or dumpcap) on a host; returns the function that ends it and gives the file."""
        if words[0] == "dumpcap":
            path = self.folder / (name + ".pcapng")
            command, started = ["dumpcap", "-s", "128", "-B", "16", "-w", str(path), *words[1:]], "File: "
        else:
            path = self.folder / (name + ".pcap")
            command = ["tcpdump", "-n", "-U", "--immediate-mode", "-B", "16384", "-Z", "root", "-s", "128", "-w", str(path), *words]
            started = "listening on"
        child = self.start(host, *command, stderr=subprocess.PIPE, text=True)
        for line in child.stderr:
            if started in line:
                break
        else:
            raise RuntimeError(command[0] + " did not start")

        def end():
            time.sleep(0.5)  # packets are taken from a ring; the last ones need a moment
            child.send_signal(signal.SIGINT)
            text = child.communicate(timeout=20)[1]
            dropped = re.search(r"^([1-9]\d*) packets dropped by kernel", text, re.MULTILINE)
            if dropped:
                print("  note: the capture missed %s packets, so both count gaps" % dropped.group(1))
            return path
        return end


# ---- what runs on the hosts: this file again, with a role -------------------------------------------------------------------------------


def serve(address, port, how):
    """Takes connections one after another. how: "read", "echo", "slow" (first nothing, then all), "close" (sends nothing, closes),
    "reset" (resets after the first bytes)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if how == "slow":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        listener.bind((address, int(port)))
        listener.listen(64)
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                try:
                    answer(connection, how)
                except OSError:
                    pass  # the other side gave up, as some scenarios want
                os._exit(0)
            connection.close()


def answer(connection, how):
    if how == "slow":
        time.sleep(2.5)
    while True:
        data = connection.recv(65536)
        if not data:
            break
        if how == "echo":
            connection.sendall(data)
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            break
    connection.close()


def call(address, port, size, *how):
    """Connects, sends `size` bytes, closes. how: "echo" (waits for all of it to come back), "small" (one 100-byte message at a time, echoed),
    "keepalive" (idles for 3.5 s), "from=PORT", "reset" (closes with RST), "give-up=SECONDS"."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    words = dict(word.partition("=")[::2] for word in how)
    size = int(size)
    with socket.socket(family) as connection:
        connection.settimeout(float(words.get("give-up", 60)))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if "from" in words:
            connection.bind(("", int(words["from"])))
        if "keepalive" in words:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
                connection.setsockopt(socket.IPPROTO_TCP, option, 1)
        try:
            connection.connect((address, int(port)))
            exchange(connection, size, words)
        except OSError as error:
            print(error, file=sys.stderr)


def exchange(connection, size, words):
    if "small" in words:
        for _ in range(size // 100):
            connection.sendall(b"x" * 100)
            received = 0
            while received < 100:
                received += len(connection.recv(65536))
    elif "echo" in words:
        if os.fork() == 0:
            connection.sendall(b"x" * size)
            os._exit(0)
        received = 0
        while received < size:
            received += len(connection.recv(65536))
        os.wait()
    else:
        connection.sendall(b"x" * size)
    if "keepalive" in words:
        time.sleep(3.5)
    if "reset" in words:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(65536):
        pass


# ---- scenarios ---------------------------------------------------------------------------------------------------------------------------


class Lab:
    """One scenario at work: a server on b, clients on a."""

    def __init__(self, net):
        self.net = net

    def server(self, how="read", port=29600, address=B4):
        child = self.net.start("b", sys.executable, "-B", __file__, "--serve", address, str(port), how, stdout=subprocess.PIPE, text=True)
        if child.stdout.readline() != "ready\n":
            raise RuntimeError("the server did not start")

    def client(self, size, *how, port=29600, address=B4, wait=90):
        child = self.net.start("a", sys.executable, "-B", __file__, "--call", address, str(port), str(size), *how, stderr=subprocess.DEVNULL)
        if wait:
            child.wait(timeout=wait)
        return child

    def small_segments(self):
        """Nothing larger than a packet of the wire: what is lost then is one packet."""
        for host in "ab":
            self.net.run(host, "ip", "link", "set", "eth0", "gso_max_segs", "1")

    def forward(self, *rules):
        self.net.rules("r", "chain f { type filter hook forward priority 0; %s; }" % "; ".join(rules))


def clean(lab):
    lab.server("echo")
    lab.client(20_000, "small")


def transfer(lab):
    lab.server("read")
    lab.client(20_000_000)


def bulk_small(lab):
    lab.small_segments()
    lab.server("read")
    lab.client(3_000_000)


def two_way(lab):
    lab.server("echo")
    lab.client(3_000_000, "echo")


def shaped(lab):
    lab.net.run("r", "tc", "qdisc", "add", "dev", "to-b", "root", "tbf", "rate", "100mbit", "burst", "20000", "limit", "60000")
    lab.server("read")
    lab.client(15_000_000)


def random_loss(lab):
    lab.forward("meta l4proto tcp numgen random mod 100 < 3 drop")
    lab.server("echo")
    lab.client(60_000, "small", wait=150)


def random_loss_bulk(lab):
    lab.small_segments()
    lab.forward("meta l4proto tcp numgen random mod 100 < 2 drop")
    lab.server("read")
    lab.client(8_000_000, wait=150)


def one_way_loss(lab):
    lab.small_segments()
    lab.forward("iifname to-a meta l4proto tcp numgen random mod 100 < 4 drop")
    lab.server("read")
    lab.client(5_000_000, wait=150)


def ack_loss(lab):
    lab.small_segments()
    lab.forward("iifname to-b meta l4proto tcp numgen random mod 100 < 25 drop")
    lab.server("read")
    lab.client(5_000_000, wait=150)


def drop(lab):
    lab.net.rules("b", "chain i { type filter hook input priority 0; tcp dport 29600 drop; }")
    lab.client(10, "give-up=4")


def reject_icmp(lab):
    lab.net.rules("b", "chain i { type filter hook input priority 0; tcp dport 29600 reject with icmpx admin-prohibited; }")
    lab.client(10, "give-up=4")


def reject_rst(lab):
    lab.net.rules("b", "chain i { type filter hook input priority 0; tcp dport 29600 reject with tcp reset; }")
    lab.client(10, "give-up=4")


def nobody(lab):
    lab.client(10, "give-up=4")


def answer_lost(lab):
    lab.forward("iifname to-b drop")
    lab.server("read")
    lab.client(10, "give-up=4")


def black_hole(lab):
    lab.net.run("r", "ip", "link", "set", "to-b", "mtu", "1300")
    lab.net.rules("r", "chain o { type filter hook output priority 0; meta l4proto icmp drop; }")
    lab.server("echo")
    lab.client(300_000, "echo", "give-up=5", wait=30)


def told_mtu(lab):
    lab.net.run("r", "ip", "link", "set", "to-b", "mtu", "1300")
    lab.server("echo")
    lab.client(300_000, "echo")


def zero_window(lab):
    lab.server("slow")
    lab.client(2_000_000)


def two_flows(lab):
    lab.small_segments()
    lab.forward("meta l4proto tcp numgen random mod 100 < 1 drop")
    lab.server("read")
    lab.server("read", port=29601)
    first = lab.client(3_000_000, wait=0)
    lab.client(3_000_000, port=29601, wait=150)
    first.wait(timeout=150)


def ipv6(lab):
    lab.forward("meta l4proto tcp numgen random mod 100 < 3 drop")
    lab.server("echo", address=B6)
    lab.client(60_000, "small", address=B6, wait=150)


def ipv6_clean(lab):
    lab.server("echo", address=B6)
    lab.client(20_000, "small", address=B6)


def ipv6_reject(lab):
    lab.net.rules("b", "chain i { type filter hook input priority 0; tcp dport 29600 reject with icmpx port-unreachable; }")
    lab.client(10, "give-up=4", address=B6)


def keepalive(lab):
    lab.server("read")
    lab.client(1000, "keepalive")


def port_reuse(lab):
    lab.server("read")
    for _ in range(3):
        lab.client(5000, "from=41000", "reset")


def reset(lab):
    lab.server("reset")
    lab.client(3_000_000)


def outage(lab):
    lab.server("read")
    lab.net.run("r", "tc", "qdisc", "add", "dev", "to-b", "root", "tbf", "rate", "50mbit", "burst", "20000", "limit", "200000")
    child = lab.client(12_000_000, wait=0)
    time.sleep(0.7)
    lab.forward("meta l4proto tcp drop")
    time.sleep(1.2)
    lab.net.run("r", "nft", "flush", "ruleset")
    child.wait(timeout=90)


def read_pcap(path):
    """A pcap file's header, and (time, the rest) of each of its packets, as bytes."""
    data = path.read_bytes()
    records, at = [], 24
    while at + 16 <= len(data):
        size = struct.unpack("<I", data[at + 8:at + 12])[0]
        records.append((data[at:at + 8], data[at + 8:at + 16 + size]))
        at += 16 + size
    return data[:24], records


def write_pcap(path, header, records):
    path.write_bytes(header + b"".join(time + rest for time, rest in records))


def hold_time(path):
    """No time of a capture goes back. Two processors that stamp packets may write them the other way round; a time that is earlier than the
    one before is near for us, and for tshark, which takes differences without a sign, farther than any round trip. Returns how many did."""
    header, records = read_pcap(path)
    latest, held = (0, 0), 0
    for i, (stamp, rest) in enumerate(records):
        latest, early = max(latest, struct.unpack("<II", stamp)), struct.unpack("<II", stamp) < latest
        held += early
        records[i] = (struct.pack("<II", *latest), rest)
    if held:
        write_pcap(path, header, records)
    return held


def overtake(path):
    """Swaps some neighbouring data packets of a capture, as a network with two paths would; their times stay in order."""
    header, records = read_pcap(path)
    for i in range(20, len(records) - 1, 25):
        if all(struct.unpack("<I", rest[4:8])[0] > 500 for _, rest in records[i:i + 2]):
            (early, one), (late, other) = records[i], records[i + 1]
            records[i], records[i + 1] = (early, other), (late, one)
    write_pcap(path, header, records)


def set_back(path):
    """Neighbouring packets with each other's times."""
    header, records = read_pcap(path)
    for i in range(10, len(records) - 1, 3):
        (early, one), (late, other) = records[i], records[i + 1]
        records[i], records[i + 1] = (late, one), (early, other)
    write_pcap(path, header, records)


def sort(path):
    """dumpcap writes the packets of two interfaces as they come, not in the order of their times."""
    shuffled = path.with_suffix(".shuffled.pcapng")
    path.rename(shuffled)
    subprocess.run(["reordercap", str(shuffled), str(path)], check=True, capture_output=True, timeout=60)


CHANGED = {"overtaken": overtake, "set_back": set_back, "r": sort}  # captures that are changed before they are read, by scenario or place

EVERYWHERE = {"any": ("r", ["-i", "any"])}
# Into one file with two interfaces.
TWICE = {"r": ("r", ["dumpcap", "-i", "to-a", "-i", "to-b"])}
# The sightings of packets on each of r's interfaces, that towards a and that towards b.
ONLY = {"any": lambda net: ["sll.ifindex == %d" % net.index("r", name) for name in ("to-a", "to-b")],
        "r": lambda net: ["frame.interface_id == %d" % number for number in (0, 1)]}

# name: (what happens, further captures: {place: (host, words of the program)})
SCENARIOS = {
    "clean": (clean, {}),
    "transfer": (transfer, {}),
    "bulk_small": (bulk_small, {}),
    "two_way": (two_way, {}),
    "shaped": (shaped, {}),
    "everywhere": (clean, {**EVERYWHERE, **TWICE}),
    "lossy_everywhere": (one_way_loss, EVERYWHERE),
    "overtaken": (bulk_small, {}),
    "set_back": (random_loss_bulk, {}),
    "random_loss": (random_loss, {}),
    "random_loss_bulk": (random_loss_bulk, {}),
    "one_way_loss": (one_way_loss, {}),
    "ack_loss": (ack_loss, {}),
    "drop": (drop, EVERYWHERE),
    "reject_icmp": (reject_icmp, {}),
    "reject_rst": (reject_rst, {}),
    "nobody": (nobody, {}),
    "answer_lost": (answer_lost, {}),
    "black_hole": (black_hole, {}),
    "told_mtu": (told_mtu, {}),
    "zero_window": (zero_window, {}),
    "two_flows": (two_flows, {}),
    "ipv6": (ipv6, {}),
    "ipv6_everywhere": (ipv6_clean, {**EVERYWHERE, **TWICE}),
    "ipv6_reject": (ipv6_reject, {}),
    "keepalive": (keepalive, {}),
    "port_reuse": (port_reuse, {}),
    "reset": (reset, {}),
    "outage": (outage, {}),
}


def main(names):
    require_lab()
    for tool in ("tshark", "tcpdump", "dumpcap", "reordercap", "nft", "tc"):
        if shutil.which(tool) is None:
            print("Skipped: needs " + tool)
            sys.exit(SKIPPED)
    program = os.environ.get("TEST_TRACE_PROGRAM") or os.path.join(os.environ["TEST_BUILD"], "plumbline")
    with tempfile.TemporaryDirectory() as folder:
        left = collections.deque(names or SCENARIOS)
        agreed = []
        nets = [Net(os.environ.get("TEST_KEEP") or folder) for _ in range(SIDE_BY_SIDE)]
        beside([lambda net=net: try_scenarios(program, net, left, agreed) for net in nets])
    print("%d captures, %d disagree" % (len(agreed), agreed.count(False)))
    sys.exit(0 if agreed and all(agreed) else 1)


def try_scenarios(program, net, left, agreed):
    """Takes names from `left` until there are none; adds to `agreed` a bool for each capture."""
    while left:
        try:
            name = left.popleft()
        except IndexError:  # another one was faster
            break
        scenario, more = SCENARIOS[name]
        places = {"a": ("a", ["-i", "eth0"]), "b": ("b", ["-i", "eth0"]), **more}
        ends = {place: net.capture(host, "%s-%s" % (name, place), *words) for place, (host, words) in places.items()}
        scenario(Lab(net))
        for place, end in ends.items():
            path = end()
            for what in (name, place):
                if what in CHANGED:
                    CHANGED[what](path)
            held = hold_time(path) if path.suffix == ".pcap" else 0
            if name == "set_back":
                agreed.append(held > 100)
            lines, wrong, total, flows = compare(program, name, place, path, ONLY[place](net) if place in ONLY else [])
            agreed.append(wrong == 0)
            told = ", ".join("%d %s" % (value, count.replace("_", " ")) for count, value in total.items() if value)
            shakes = ", ".join(sorted({flow["handshake"] for flow in flows}))
            if held:
                lines.append("  %d times that went back were held" % held)
            text = "%-18s at %-4s %d flows, %s; %s: %s" % (name, place, len(flows), shakes, told, "WRONG" if wrong else "agrees")
            print("\n".join([text, *lines]) + "\n", end="", flush=True)
        net.reset()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    elif sys.argv[1:2] == ["--call"]:
        call(*sys.argv[2:])
    else:
        main(sys.argv[1:])
