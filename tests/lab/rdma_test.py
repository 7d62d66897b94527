#!/usr/bin/env python3
"""The transport rdma on real verbs: soft-RoCE in two small virtual machines. Collectives with every result compared, on RC and on UC, between
ranks of one device and between machines; what is said when a link, a peer or a setting breaks. Arguments: parts of names of tests (all)."""
import json
import os
import signal
import subprocess
import sys
import time

from daily import EXHAUSTIVE, SHARE, run_methods
from rdma_lab import RdmaCluster
from record_lines import records_of
from vm_lab import require_vm_lab

BUILD = os.environ["TEST_BUILD"]
PROGRAM = os.path.join(BUILD, "plumbline")
WHOLE = {"TEST_EXHAUSTIVE": "1"} if EXHAUSTIVE else {}
# Of what takes long, one type of queue pairs a day.
TYPES = ["rc", "uc"] if EXHAUSTIVE else [("rc", "uc")[SHARE % 2]]
ALWAYS = ["test_doctor_climbs_all_rungs_with_both_ends", "test_collectives_between_machines", "test_auto_takes_it_between_machines"]


class Tests:
    def __init__(self, cluster):
        self.cluster = cluster
        self.h1, self.h2 = cluster.hosts
        rows = {"h1": [None, "rxe0"], "h2": ["rxe0", None]}
        self.plain = cluster.host_file()
        self.matrix = cluster.host_file("matrix.json", lambda entry: entry.update(rdma=rows[entry["name"]]))

    def coll(self, *words, hosts=None, timeout=100):
        out = self.cluster.folder / ("records-%d.jsonl" % time.monotonic_ns())
        done = self.cluster.run(PROGRAM, "coll", *words, "--hosts", hosts or self.plain, "-J", out, timeout=timeout)
        return done, records_of(out) if out.exists() else []

    def doctor(self, *words, hosts=None):
        done = self.cluster.run(PROGRAM, "doctor", hosts or self.matrix, "--only", "rdma", "--json", *words, timeout=120)
        report = json.loads(done.stdout)
        print("    " + "; ".join("%s: %s" % (c["host"], c["reason"]) for c in report["checks"]), flush=True)
        return report

    def causes(self, **more):
        return [(f["cause"], f["host"]) for f in self.doctor(**more)["findings"]]

    # ---

    def test_doctor_climbs_all_rungs_with_both_ends(self):
        report = self.doctor()
        assert not report["findings"] and [c["outcome"] for c in report["checks"]] == ["pass", "pass"], report
        assert "with h2: median of 200 round trips: " in report["checks"][0]["reason"], report["checks"]
        assert "messages of 4 KiB: " in report["checks"][0]["reason"], report["checks"]
        before = self.cluster.sh(self.h2, "rdma resource show | grep rxe0")
        deep = self.doctor("--deep")
        assert "has room for 1000 and more queue pairs" in deep["checks"][0]["reason"], deep["checks"]
        assert self.cluster.sh(self.h2, "rdma resource show | grep rxe0") == before

    def test_doctor_names_what_two_ends_cannot(self):
        # A filter: the queue pairs are ready, and nothing arrives.
        self.cluster.sh(self.h2, "nft add table inet no_roce; nft 'add chain inet no_roce in { type filter hook input priority 0; }'; "
                        "nft add rule inet no_roce in udp dport 4791 drop")
        try:
            assert self.causes() == [("rdma.path", "h1")]
        finally:
            self.cluster.sh(self.h2, "nft delete table inet no_roce")
        # The host file's device is on another network: rxe1 faces the control network.
        control = self.cluster.sh(self.h2, "ip -o link | sed -n 's/^[0-9]*: \\([^:@]*\\).*/\\1/p' | grep -v -e lo -e data0 | head -1").strip()
        self.cluster.sh(self.h2, "rdma link add rxe1 type rxe netdev %s" % control)
        rows = {"h1": [None, "rxe0"], "h2": ["rxe1", None]}
        crossed = self.cluster.host_file("crossed.json", lambda entry: entry.update(rdma=rows[entry["name"]]))
        try:
            causes = self.causes(hosts=crossed)
            assert causes and {cause for cause, _ in causes} <= {"rdma.rtr", "rdma.path"}, causes
        finally:
            self.cluster.sh(self.h2, "rdma link delete rxe1")
        assert self.causes() == []

    def test_links_over_bare_verbs(self):
        out = self.cluster.folder / "links"
        scenario = self.cluster.folder / "links.json"
        scenario.write_text(json.dumps({"plumbline": 1, "hosts": {"local": 1}, "matrix": [
            {"kind": "link", "op": "link", "transport": "rdma", "measure": ["send_lat", "write_lat", "read_lat"], "bytes": [1, 4096], "time": "100ms"},
            {"kind": "link", "op": "link", "transport": "rdma", "measure": ["send_bw", "write_bw", "read_bw", "send_bibw"], "bytes": 65536,
             "streams": [1, 3], "time": "200ms"}], "report": ["console"]}))
        done = self.cluster.run(PROGRAM, "run", scenario, "--hosts", self.plain, "--out", out, timeout=150)
        assert done.returncode in (0, 4), done.stdout[-2000:] + done.stderr[-2000:]
        records = [r for r in records_of(next(out.rglob("records.jsonl"))) if r.get("links")]
        assert len(records) == 14, len(records)
        for record in records:
            for link in record["links"]:
                assert not link.get("error") and link["queue_pair"] == "RC rxe0" and (link.get("Bps") or link.get("rtt_ns")), record

    def test_collectives_on_one_device(self):
        """The covering array of the correctness matrix, ranks as threads of one machine; a share of it, by the day."""
        for kind in TYPES:
            done = self.cluster.call(self.h2, os.path.join(BUILD, "tests/collectives/tests_collectives"), "--gtest_brief=1",
                                     "--gtest_filter=CollectivesThroughTheTable.AllPairsOfTheMatrixOverEveryTransport", timeout=500,
                                     TEST_RDMA_DEVICE="rxe0", TEST_RDMA_QP=kind, TEST_ONLY_TRANSPORT="rdma", TEST_SHARE=str(SHARE), **WHOLE)
            assert done.returncode == 0, kind + done.stdout[-3000:] + done.stderr[-1000:]

    def test_collectives_between_machines(self):
        for kind in ("rc", "uc"):
            done, records = self.coll("allreduce", "-b", "4", "-e", "1Mi", "-f", "64", "-n", "10", "--ranks", "2", "--transport", "rdma",
                                      "--rdma-qp", kind)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            assert len(records) >= 4, records
            for record in records:
                assert record["outcome"] == "passed" and record["resolved"]["transport"] == "rdma" and record["wrong"] == 0, record

    def test_auto_takes_it_between_machines(self):
        for hosts in (self.plain, self.matrix):
            done, records = self.coll("allreduce", "-b", "1Ki", "-e", "64Ki", "-f", "64", "-n", "10", "--ranks", "2", hosts=hosts)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            assert {r["resolved"]["transport"] for r in records} == {"rdma"}, [r["resolved"] for r in records]

    def test_without_a_device_auto_goes_over_tcp_and_rdma_says_why(self):
        self.cluster.remove_device(self.h2)
        try:
            done, records = self.coll("allreduce", "-b", "1Ki", "-e", "1Ki", "-n", "5", "--ranks", "2", hosts=self.matrix)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            assert records[0]["resolved"]["transport"] == "tcp", records[0]["resolved"]
            assert "lists no device" in json.dumps(records[0]["resolved"]), records[0]["resolved"]
            done, _ = self.coll("allreduce", "-b", "1Ki", "-e", "1Ki", "-n", "5", "--ranks", "2", "--transport", "rdma", hosts=self.matrix)
            said = done.stdout + done.stderr
            assert done.returncode != 0 and "rank 1 on h2" in said and "lists no device" in said, said[-2000:]
        finally:
            self.cluster.add_device(self.h2)

    def test_little_memory_that_may_be_locked(self):
        """For who is not root, 64 KiB are too little for rings, and the error says which limit that is."""
        self.cluster.sh(self.h2, "chmod 666 /dev/infiniband/uverbs*")
        said = self.cluster.sh(self.h2, "cd /tmp; export HOME=/tmp/nobody; prlimit --memlock=65536 setpriv --reuid 65534 --regid 65534 "
                               "--clear-groups %s coll allreduce -b 1Ki -e 1Ki -n 5 --ranks 2 --rdma-device rxe0 --transport rdma 2>&1 "
                               "|| echo it failed" % PROGRAM, timeout=60)
        assert "it failed" in said and "register" in said and "ENOMEM" in said and "ulimit -l" in said, said

    def test_loss(self):
        """RC sends again what was lost; of UC it is an error in time."""
        self.cluster.sh(self.h1, "tc qdisc replace dev data0 root netem loss 2%")
        try:
            done, records = self.coll("allreduce", "-b", "64Ki", "-e", "64Ki", "-n", "20", "--ranks", "2", "--transport", "rdma", "--rdma-qp", "rc")
            assert done.returncode == 0 and records[0]["resolved"]["transport"] == "rdma", done.stdout[-2000:] + done.stderr[-2000:]
            # So little that the one message before any data arrives, which it mostly must.
            self.cluster.sh(self.h1, "tc qdisc replace dev data0 root netem loss 0.2%")
            start = time.time()
            done, _ = self.coll("allreduce", "-b", "1Mi", "-e", "1Mi", "-n", "100", "--ranks", "2", "--transport", "rdma", "--rdma-qp", "uc")
            said = done.stdout + done.stderr
            assert done.returncode != 0 and "UC sends nothing again" in said, said[-2000:]
            assert time.time() - start < 45, "it took %.0f s" % (time.time() - start)
        finally:
            self.cluster.sh(self.h1, "tc qdisc del dev data0 root")

    def test_a_killed_rank_is_blamed(self):
        for kind in TYPES:
            run = self.cluster.start(PROGRAM, "coll", "allreduce", "-b", "64Ki", "-e", "64Ki", "-n", "700", "--ranks", "2", "--transport", "rdma",
                                     "--rdma-qp", kind, "--timeout", "30", "--hosts", self.plain, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            try:
                # The process that has a queue pair is a rank.
                self.cluster.sh(self.h2, "for i in $(seq 60); do victim=$(rdma resource show qp link rxe0 | sed -n 's/.* pid \\([0-9]*\\) .*/\\1/p' | head -1); "
                                "[ -n \"$victim\" ] && break; sleep 0.5; done; sleep 1; kill -KILL $victim", timeout=60)
                said = run.communicate(timeout=60)[0]
            finally:
                if run.poll() is None:
                    run.send_signal(signal.SIGKILL)
            # What comes after it has new ranks, and goes on.
            assert run.returncode != 0 and "rank 1 on h2 is gone" in said, said[-2000:]
            for host in self.cluster.hosts:
                left = self.cluster.sh(host, "for i in 1 2 3 4 5 6 7 8 9 10; do rdma resource show qp link rxe0 | grep -c plumbline || break; sleep 1; done").split()
                assert not left or left[-1] == "0" or len(left) < 10, (host["name"], left)


    def test_an_interface_that_goes_down_is_blamed(self):
        run = self.cluster.start(PROGRAM, "coll", "allreduce", "-b", "64Ki", "-e", "64Ki", "-n", "700", "--ranks", "2", "--transport", "rdma",
                                 "--timeout", "15", "--hosts", self.plain, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.cluster.sh(self.h2, "for i in $(seq 60); do rdma resource show qp link rxe0 | grep -q plumbline && break; sleep 0.5; done; sleep 1; "
                            "ip link set data0 down", timeout=60)
            said = run.communicate(timeout=90)[0]
        finally:
            if run.poll() is None:
                run.send_signal(signal.SIGKILL)
            self.cluster.sh(self.h2, "ip link set data0 up")
        assert run.returncode != 0 and "h2" in said and ("rdma.path" in said or "RDMA with" in said or "rank 1" in said), said[-2000:]
        assert self.causes() == []


def main():
    require_vm_lab()
    start = time.time()
    cluster = RdmaCluster([1, 2])
    cluster.wait()
    tests = Tests(cluster)
    print("ok boot (%.1f s)" % (time.time() - start), flush=True)
    sys.exit(run_methods(tests, ALWAYS, 1))


if __name__ == "__main__":
    main()
