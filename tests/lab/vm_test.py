#!/usr/bin/env python3
"""plumbline over ssh between two small virtual machines, each with a kernel of its own: what namespaces of one machine cannot show. Links
with delay, loss and reordering (netem), a full table of tracked connections, a clock that is off, a cable without a signal, socket
buffers that the kernel limits, an RDMA device. One boot for all of it. Arguments: parts of names of tests (all)."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from daily import run_methods
from record_lines import records_of
from vm_lab import INSIDE, VmCluster, remove_leftovers, require_vm_lab

PROGRAM = os.path.join(os.environ["TEST_BUILD"], "plumbline")
MATRIX = pathlib.Path(__file__).resolve().parents[2] / "scenarios" / "link_matrix.json"
CORES = [1, 2]  # of the two machines
DELAY_MS, LOSS_PERCENT = 20, 5
THERE, BACK = ("h1", "h2"), ("h2", "h1")
# Emulated processors stall now and then: queues are short then, and rates and loads are the processor's.
MOST_LOST = 0.01  # of datagrams on a sound link
TRUE_HERE = {"host.overloaded", "rate.asymmetric", "rate.host_limited"}

# Everything but the control network comes into the table of tracked connections.
TRACK = """modprobe nf_conntrack
nft -f - <<END
table inet tracked {
  chain before { type filter hook prerouting priority raw; iifname control0 notrack; }
  chain out { type filter hook output priority raw; oifname control0 notrack; }
  chain in { type filter hook input priority 0; ct state new accept; }
}
END
"""
# Opens so many connections to itself and holds them; a file tells that they are there.
CROWD = """import pathlib, socket, time
listener = socket.create_server(("127.0.0.1", 7000), backlog=512)
held = []
for _ in range(%d):
    held += [socket.create_connection(("127.0.0.1", 7000)), listener.accept()[0]]
pathlib.Path("/run/crowd").touch()
time.sleep(240)
"""
CONNECTIONS = 100
# The first mends what all later ones take for granted.
ALWAYS = ["test_stock_kernels", "test_doctor_finds_no_loss_where_none_is", "test_final_verdict"]
LOSSY = re.compile(r"^- lossy link (\S+) > ([^\s:]+)", re.M)
DROP = """nft -f - <<END
table inet broken {
  chain in { type filter hook input priority 0; iifname data0 tcp dport 29500-29700 counter drop; }
}
END
"""


class Tests:
    """In the order in which they stand here; each leaves the network as it was."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.h1, self.h2 = cluster.hosts
        self.hosts = cluster.host_file()

    # --- helpers

    def netem(self, host, words):
        self.cluster.sh(host, "tc qdisc replace dev data0 root netem " + words)

    def no_netem(self, host):
        self.cluster.sh(host, "tc qdisc del dev data0 root")

    def links(self, name, *words):
        """One run of the shipped link matrix: its report, what it measured by measure and direction, its records."""
        out = self.cluster.folder / ("out-" + name)
        done = self.cluster.run(PROGRAM, "run", MATRIX, "--hosts", self.hosts, "--out", out, "--no-probes", "--quiet", *words)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        records = records_of(out / "records.jsonl")
        assert records and all(r["outcome"] == "passed" for r in records), [r["reason"] for r in records]
        links = {r["cell"]["measure"]: {(l["from_host"], l["to_host"]): l for l in r["links"]} for r in records}
        for key in (THERE, BACK):
            udp, rtt = links["udp"][key]["udp"], links["latency"][key]["rtt_ns"]
            print("    %s > %s: round trip %.2f ms, datagrams: %d of %d lost, %d reordered" % (
                *key, rtt["p50"] / 1e6, udp["lost"], udp["sent"], udp["reordered"]), flush=True)
        lossy = LOSSY.findall(done.stdout)
        assert all(links["udp"][key]["udp"]["lost"] > 0 for key in lossy), done.stdout
        return done.stdout, links, records

    def impaired(self, host, netem, *words):
        """The link matrix while one host's way out to the data network is like this."""
        self.netem(host, netem)
        try:
            text, links, _ = self.links(netem.replace(" ", "-").replace("%", ""), "--only", "measure=latency,udp")
        finally:
            self.no_netem(host)
        return text, links["latency"], {key: link["udp"] for key, link in links["udp"].items()}

    def doctor(self, *words):
        start = time.time()
        done = self.cluster.run(PROGRAM, "doctor", "--hosts", self.hosts, "--json", *words)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            raise AssertionError("doctor said no JSON (exit %d):\n%s%s" % (done.returncode, done.stdout, done.stderr))
        named = ["%(outcome)s %(cause)s on %(host)s" % f + (", peer " + f["peer"] if f["peer"] else "") for f in report["findings"]]
        print("    doctor (%.1f s): %s" % (time.time() - start, "; ".join(named) or "nothing"), flush=True)
        assert done.returncode == (2 if any(f["outcome"] == "fail" for f in report["findings"]) else 0), (done.returncode, done.stderr)
        return report

    def named(self, *expected):
        """Doctor names exactly these (cause, host, peer), notes and what is true of emulated machines apart; returns the findings."""
        report = self.doctor()
        found = [f for f in report["findings"] if f["outcome"] != "note" and f["cause"] not in TRUE_HERE]
        seen = sorted((f["cause"], f["host"], f["peer"] or "") for f in found)
        assert seen == sorted(expected), "expected %s:\n%s" % (expected, json.dumps(report["findings"], indent=1))
        return found

    def mend(self, finding):
        """The remedy, on its host, as doctor prints it."""
        host = next(h for h in self.cluster.hosts if h["name"] == finding["host"])
        self.cluster.sh(host, finding["remedy"])

    # --- tests

    def test_stock_kernels(self):
        """A kernel as it is installed lets buffers grow only so far; in a namespace these limits cannot be seen."""
        for finding in self.named(("host.sockbuf_clamped", "h1", ""), ("host.sockbuf_clamped", "h2", "")):
            assert "208 KiB" in finding["evidence"][0]["text"], finding  # net.core.rmem_max, 212992
            self.mend(finding)

    def test_link_matrix(self):
        text, links, records = self.links("clean")
        assert len(records) == 8, list(links)
        environment = records[0]["environment"]
        own = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert len({facts["boot_id"] for facts in environment["hosts"]} | {own}) == 3, environment
        assert [facts["cores_usable"] for facts in environment["hosts"]] == CORES, environment
        assert environment["control"] == "ssh" and "share one machine" not in text, text
        for pairs in links.values():
            assert set(pairs) == {THERE, BACK}, pairs
            for link in pairs.values():
                assert link["direct"] and link["local"].startswith("10.10.0.") and link["remote"].startswith("10.10.0."), link
        for key in (THERE, BACK):
            udp = links["udp"][key]["udp"]
            assert udp["lost"] <= MOST_LOST * udp["sent"] and udp["reordered"] == 0, udp
            assert links["stream"][key]["Bps"] > 1e6 and links["latency"][key]["rtt_ns"]["p50"] < DELAY_MS * 1e6 / 4, links

    def test_delay_one_way(self):
        _, latency, udp = self.impaired(self.h1, "delay %dms" % DELAY_MS)
        for key in (THERE, BACK):  # a round trip begun at either end passes there once
            rtt = latency[key]["rtt_ns"]
            assert rtt["min"] >= DELAY_MS * 1e6 and rtt["p50"] < 1.5 * DELAY_MS * 1e6, rtt
            assert udp[key]["lost"] <= MOST_LOST * udp[key]["sent"] and udp[key]["reordered"] == 0, udp

    def test_loss_one_way(self):
        text, _, udp = self.impaired(self.h2, "loss %d%%" % LOSS_PERCENT)
        share = udp[BACK]["lost"] / udp[BACK]["sent"]
        assert LOSS_PERCENT / 200 < share < LOSS_PERCENT / 50, udp
        assert udp[THERE]["lost"] <= MOST_LOST * udp[THERE]["sent"], udp
        assert BACK in LOSSY.findall(text), text

    def test_reordering_one_way(self):
        _, _, udp = self.impaired(self.h1, "delay 5ms reorder 25% 50%")
        assert udp[THERE]["reordered"] > 0.05 * udp[THERE]["received"], udp
        assert udp[THERE]["lost"] <= MOST_LOST * udp[THERE]["sent"], udp
        assert udp[BACK]["reordered"] == 0, udp

    def test_doctor_finds_no_loss_where_none_is(self):
        """A long link that reorders: what is sent again is late, not lost. That TCP is slower this way is true, and may be said."""
        self.netem(self.h1, "delay 10ms 2ms reorder 25% 50%")
        try:
            findings = self.doctor()["findings"]
            assert {f["cause"] for f in findings} <= TRUE_HERE, findings
        finally:
            self.no_netem(self.h1)

    def test_doctor_loss_one_way(self):
        self.netem(self.h1, "loss 8%")
        try:
            self.named(("loss.one_way", "h1", "h2"))
        finally:
            self.no_netem(self.h1)

    def test_doctor_loss_both_ways(self):
        """And at the same time a clock an hour ahead, which is no business of the link's."""
        for host in (self.h1, self.h2):
            self.netem(host, "loss 8%")
        self.cluster.set_clock(self.h2, 3600)
        try:
            self.named(("loss.random", "h1", "h2"), ("host.clock_skew", "h2", ""))
        finally:
            self.cluster.set_clock(self.h2)
            for host in (self.h1, self.h2):
                self.no_netem(host)

    def test_doctor_firewall(self):
        self.cluster.sh(self.h2, DROP)
        try:
            (finding,) = self.named(("firewall.drop_inbound", "h2", ""))
            assert "broken" in json.dumps(finding), finding  # the rule that does it
            self.mend(finding)
            self.named()
        finally:
            self.cluster.sh(self.h2, "nft delete table inet broken || true")

    def test_doctor_table_of_connections(self):
        """A limit of the whole kernel. The control network is kept out, so that ssh goes on."""
        self.cluster.sh(self.h2, TRACK)
        crowd = self.cluster.folder / "crowd.py"
        crowd.write_text(CROWD % CONNECTIONS)
        try:
            self.cluster.sh(self.h2, "sysctl -qw net.netfilter.nf_conntrack_max=%d\nrm -f /run/crowd\n" % CONNECTIONS +
                            "(exec python3 %s) >/dev/null 2>&1 & echo $! >/run/crowd.pid\n" % crowd +
                            "for i in $(seq 600); do [ -e /run/crowd ] && exit 0; sleep 0.1; done; exit 1", timeout=90)
            (finding,) = self.named(("host.conntrack_full", "h2", ""))
            self.mend(finding)
            self.named()
        finally:
            self.cluster.sh(self.h2, "kill $(cat /run/crowd.pid) || true; nft delete table inet tracked")

    def test_doctor_no_carrier(self):
        """The cable of one card is pulled: a virtual one's, by the machine's monitor."""
        self.cluster.monitor(self.h2, "set_link", name="card-data", up=False)
        try:
            self.named(("link.no_carrier", "h2", ""))
        finally:
            self.cluster.monitor(self.h2, "set_link", name="card-data", up=True)

    def test_doctor_rdma(self):
        """Soft-RoCE is a device of the kernel like any other: port state, GIDs and the limit of locked memory are read from it."""
        self.cluster.sh(self.h2, "modprobe crc32_generic; modprobe rdma_rxe; rdma link add rxe0 type rxe netdev data0")
        try:
            report = self.doctor("--only", "rdma")
            print("    " + "; ".join(c["reason"] for c in report["checks"]))
            assert [(f["cause"], f["host"]) for f in report["findings"]] == [("rdma.memlock", "h2")], report["findings"]
            # As told, where the ranks are started: sessions inherit it from the ssh server.
            self.cluster.sh(self.h2, "prlimit --memlock=unlimited --pid $(cat /run/sshd.pid)")
            report = self.doctor("--only", "rdma")
            reasons = {c["host"]: (c["outcome"], c["reason"]) for c in report["checks"]}
            assert reasons["h2"] == ("pass", "rxe0 port 1 ACTIVE, with a GID"), reasons
            assert reasons["h1"][0] == "skipped", reasons  # it has none
        finally:
            self.cluster.sh(self.h2, "rdma link delete rxe0")

    def test_doctor_rdma_ladder(self):
        """A host file that names devices asks for RDMA: on real verbs all is tried up to a queue pair, and the first step that fails is the finding."""
        plain = self.hosts
        rows = {"h1": [None, "rxe0"], "h2": ["rxe0", None]}
        self.hosts = self.cluster.host_file("matrix.json", lambda entry: entry.update(rdma=rows[entry["name"]]))
        for host in self.cluster.hosts:
            self.cluster.sh(host, "modprobe crc32_generic; modprobe rdma_rxe; rdma link add rxe0 type rxe netdev data0")
            self.cluster.sh(host, "prlimit --memlock=unlimited --pid $(cat /run/sshd.pid)")
        try:
            report = self.doctor("--only", "rdma")
            print("    " + "; ".join(c["reason"] for c in report["checks"]))
            assert [(c["outcome"], "a queue pair and a region can be made" in c["reason"]) for c in report["checks"]] == [("pass", True)] * 2, report["checks"]
            address = self.h2["data"]
            self.cluster.sh(self.h2, "ip addr del %s dev data0" % address)
            try:
                self.first_rung("rdma.no_gid")
            finally:
                self.cluster.sh(self.h2, "ip addr add %s dev data0" % address)
            self.cluster.sh(self.h2, "rdma link delete rxe0; rdma link add rxe7 type rxe netdev data0")
            self.first_rung("rdma.no_device")
            self.cluster.sh(self.h2, "rdma link delete rxe7")
            self.first_rung("rdma.no_device")
        finally:
            self.hosts = plain
            for host in self.cluster.hosts:
                self.cluster.sh(host, "rdma link delete rxe0 || true; rdma link delete rxe7 2>/dev/null || true")

    def first_rung(self, cause):
        report = self.doctor("--only", "rdma")
        assert [(f["outcome"], f["cause"], f["host"]) for f in report["findings"]] == [("fail", cause, "h2")], report["findings"]

    def test_final_verdict(self):
        """Of all that was broken, nothing is left."""
        report = self.doctor()
        left = [f for f in report["findings"] if f["cause"] not in TRUE_HERE]
        assert not left and report["verdict"] in ("ok", "warn"), left


def start_and_wait():
    """In a process of its own: begins to boot, says which processes and which folder are there, and waits to be killed."""
    cluster = VmCluster([1, 1])
    print(json.dumps({"pids": [m.pid for m in cluster.machines.values()], "folder": str(cluster.folder)}), flush=True)
    time.sleep(60)


def alive(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check_nothing_stays():
    """A test that is killed takes its machines with it; the next one removes its folder."""
    environment = {key: value for key, value in os.environ.items() if key != INSIDE}
    victim = subprocess.Popen([sys.executable, "-B", __file__, "--start-and-wait"], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        started = json.loads(victim.stdout.readline())
        assert all(map(alive, started["pids"])), started
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.wait(10)
    end = time.time() + 5
    while any(map(alive, started["pids"])):
        assert time.time() < end, "machines outlive their test: %s" % started
        time.sleep(0.05)
    remove_leftovers()
    assert not os.path.exists(started["folder"]), started


def main():
    require_vm_lab()
    if sys.argv[1:] == ["--start-and-wait"]:
        return start_and_wait()
    start = time.time()
    check_nothing_stays()
    print("ok check_nothing_stays (%.1f s)" % (time.time() - start), flush=True)
    start = time.time()
    cluster = VmCluster(CORES)
    cluster.wait()
    tests = Tests(cluster)
    print("ok boot (%.1f s)" % (time.time() - start), flush=True)
    sys.exit(run_methods(tests, ALWAYS, 4, first=ALWAYS[:1]))


if __name__ == "__main__":
    main()
