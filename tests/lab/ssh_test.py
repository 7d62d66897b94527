#!/usr/bin/env python3
"""plumbline over ssh: four namespaces with a real sshd each, data and control network apart. What works, what is said when it does not, and
that nothing stays behind when anything is killed in the middle."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import record_lines
from ssh_lab import SSH_PORT, SshCluster, require_ssh_lab

HOSTS = 4
PROGRAM = os.path.join(os.environ["TEST_BUILD"], "plumbline")
# Long enough to be hit in the middle: every cell lasts until its time is over.
LONG = {"plumbline": 1, "question": "What stays behind?", "roofs": False, "probes": [], "report": ["console"], "config": {"watchdog_timeout_ms": 4000},
        "matrix": [{"kind": "latency", "op": "allreduce", "bytes": [8, 64, 512, 4096], "ranks": HOSTS, "repeat": 5,
                    "stop": {"ci": 0, "max_n": 1000000000, "max_time": "700ms"}}]}


def records_of(out):
    path = pathlib.Path(out, "records.jsonl")
    return record_lines.records_of(path) if path.exists() else []


def send(pid, number):
    """To a process that may have ended by itself."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Tests:
    def __init__(self, cluster):
        self.cluster = cluster
        self.hosts = cluster.host_file()

    def doctor(self, hosts, *words):
        done = self.cluster.run(PROGRAM, "doctor", "--hosts", hosts, "--json", *words)
        try:
            return done, json.loads(done.stdout)
        except ValueError:
            sys.exit("doctor said no JSON (exit %d):\n%s%s" % (done.returncode, done.stdout, done.stderr))

    def scenario(self, name, content):
        path = self.cluster.folder / (name + ".json")
        path.write_text(json.dumps(dict(content, hosts=json.loads(self.hosts.read_text())["hosts"])))
        return path

    def start_long(self, name):
        """A run that has measured its first cells and goes on."""
        out = self.cluster.folder / ("out-" + name)
        run = self.cluster.start(PROGRAM, "run", self.scenario(name, LONG), "--out", out, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        end = time.time() + 30
        while len(records_of(out)) < 2:
            if run.poll() is not None or time.time() > end:
                run.kill()
                sys.exit("%s: the run did not get going:\n%s" % (name, run.communicate()[0]))
            time.sleep(0.05)
        return run, out

    def finish(self, name, run, code, seconds=40):
        text = run.communicate(timeout=seconds)[0]
        assert run.returncode == code, "%s: exit status %s instead of %s\n%s" % (name, run.returncode, code, text)
        return text

    # --- what works

    def test_doctor_sees_every_host(self):
        done, report = self.doctor(self.hosts)
        launch = [c for c in report["checks"] if c["id"] == "launch"]
        assert len(launch) == HOSTS and all(c["outcome"] == "pass" for c in launch), launch
        fails = [f for f in report["findings"] if f["outcome"] == "fail"]
        assert not fails and done.returncode == 0, (fails, done.stderr)

    def test_a_run_measures_over_the_data_network(self):
        out = self.cluster.folder / "out-run"
        short = dict(LONG, matrix=[{"kind": "check", "op": ["allreduce", "alltoall"], "bytes": [4, 100000], "ranks": [2, HOSTS]}])
        done = self.cluster.run(PROGRAM, "run", self.scenario("short", short), "--out", out)
        assert done.returncode == 0, done.stdout + done.stderr
        records = records_of(out)
        assert len(records) == 8 and all(r["outcome"] == "passed" and r["wrong"] == 0 for r in records)
        assert records[0]["environment"]["control"] == "ssh"
        pairs = [p for r in records for p in r["resolved"]["address_pairs"]]
        assert pairs and all("10.99." not in p and "10.10.0." in p for p in pairs), pairs

    def test_the_token_is_in_no_command_line_and_no_file(self):
        run, out = self.start_long("token")
        lines = self.cluster.command_lines()
        run.send_signal(signal.SIGINT)
        self.finish("token", run, 130)
        import re
        assert lines.count(" rank ") >= HOSTS, lines
        assert not re.search(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", lines), "64 hex digits in a command line"
        text = (pathlib.Path(out) / "records.jsonl").read_text()
        assert "token" not in {k for r in records_of(out) for k in r["environment"]["options"]}
        assert not re.search(r'"[0-9a-f]{64}"', text.replace('"plan_hash":"', '"plan_hash":').replace('"hash":"', '"hash":')), "a token in the records"

    def test_an_mlx_host_file(self):
        """The data addresses are those of the interfaces behind the device matrix; `ips` is the control network."""
        hosts = [{"ssh": h["name"], "ips": [h["control"]], "rdma": [None if i == j else "rdma_data0" for j in range(HOSTS)]}
                 for i, h in enumerate(self.cluster.hosts)]
        for name, content in (("mlx", {"backend": "jaccl", "hosts": hosts}), ("mlx-array", hosts)):
            path = self.cluster.folder / (name + ".json")
            path.write_text(json.dumps(content))
            done = self.cluster.run(PROGRAM, "coll", "allreduce", "-b", "8", "-e", "64K", "-f", "16", "--json", "--hosts", path, "--ranks", HOSTS)
            assert done.returncode == 0, done.stdout + done.stderr
            for record in record_lines.records(done.stdout):
                pairs = record["resolved"]["address_pairs"]
                assert len(pairs) == HOSTS * (HOSTS - 1) // 2 and all(p.count("10.10.0.") == 2 for p in pairs), pairs
        hosts[1]["rdma"] = [None if j == 1 else "rdma_nosuch" for j in range(HOSTS)]
        path = self.cluster.folder / "mlx-bad.json"
        path.write_text(json.dumps(hosts))
        done = self.cluster.run(PROGRAM, "coll", "allreduce", "--hosts", path, "--ranks", HOSTS)
        assert done.returncode == 2 and "nosuch" in done.stderr and "h2" in done.stderr, done

    def test_an_mlx_host_file_over_ethernet(self):
        """What mlx.distributed_config --over ethernet writes: one address of the LAN each, no devices, no backend. All reach one another."""
        for backend in ("", "ring"):
            hosts = [{"ssh": h["name"], "ips": [h["data"].split("/")[0]], "rdma": []} for h in self.cluster.hosts]
            path = self.cluster.folder / "mlx-ethernet.json"
            path.write_text(json.dumps({"backend": backend, "envs": [], "hosts": hosts}))
            done = self.cluster.run(PROGRAM, "coll", "allreduce", "-b", "8", "-e", "64", "-f", "8", "--json", "--hosts", path)
            assert done.returncode == 0, (backend, done)
            lines = record_lines.records(done.stdout)
            assert len(lines) == 4 and all(line["cell"]["ranks"] == HOSTS for line in lines), done.stdout
            pairs = {pair for line in lines for pair in line["resolved"]["address_pairs"]}
            assert len(pairs) == HOSTS * (HOSTS - 1) // 2 and all(p.count("10.10.0.") == 2 for p in pairs), pairs

    def test_an_mlx_ring_of_cables(self):
        """Each host's `ips` face the one before it, as mlx.distributed_config sets up the cables: /30s, one after the other. The subnets, found
        on the hosts, say that those across share no cable: what needs them is skipped, a ring does without, and the rest is relayed."""
        names = [h["netns"] for h in self.cluster.hosts]
        hosts = [{"ssh": h["name"], "ips": ["192.168.77.%d" % (4 * ((i - 1) % HOSTS) + 2)], "rdma": []} for i, h in enumerate(self.cluster.hosts)]
        try:
            for i in range(HOSTS):
                after = names[(i + 1) % HOSTS]
                subprocess.run(["ip", "link", "add", "next0", "netns", names[i], "type", "veth", "peer", "name", "prev0", "netns", after], check=True)
                for netns, name, address in ((names[i], "next0", 4 * i + 1), (after, "prev0", 4 * i + 2)):
                    subprocess.run(["ip", "-n", netns, "addr", "add", "192.168.77.%d/30" % address, "dev", name], check=True)
                    subprocess.run(["ip", "-n", netns, "link", "set", name, "up"], check=True)
            path = self.cluster.folder / "mlx-cables.json"
            path.write_text(json.dumps({"backend": "ring", "envs": [], "hosts": hosts}))
            scenario = self.cluster.folder / "cables.json"
            scenario.write_text(json.dumps({"plumbline": 1, "question": "Who is cabled to whom?", "roofs": False, "probes": [],
                                            "matrix": [{"kind": "check", "op": ["allreduce", "alltoall"], "bytes": 1024, "ranks": [2, HOSTS]},
                                                       {"kind": "check", "op": "allreduce", "bytes": 1024, "ranks": HOSTS,
                                                        "algorithm": ["ring", "exchange"]}]}))
            out = self.cluster.folder / "out-cables"
            done = self.cluster.run(PROGRAM, "run", scenario, "--hosts", path, "--out", out)
            told = {(r["cell"]["op"], r["cell"]["algorithm"], r["cell"]["ranks"]): (r["outcome"], r["resolved"].get("algorithm"), r["reason"] or "")
                    for r in records_of(out)}
            assert len(told) == 6, (told, done)
            for op, used in (("allreduce", "tree"), ("alltoall", "tree")):
                assert told[(op, "auto", 2)][0] == "passed", told
                assert told[(op, "auto", HOSTS)][:2] == ("passed", used), told
            assert told[("allreduce", "ring", HOSTS)][0] == "passed", told
            outcome, _, reason = told[("allreduce", "exchange", HOSTS)]
            assert outcome == "skipped" and "not neighbours in the ring, and share no subnet" in reason, told
            assert "which are not connected" in reason, told
        finally:
            for netns in names:
                subprocess.run(["ip", "-n", netns, "link", "del", "next0"], check=False)

    def test_standard_input_reaches_the_ranks(self):
        for words, ranks in ((["--stdin", "all"], range(HOSTS)), ([], [0]), (["--stdin", "2"], [2])):
            run = self.cluster.start(PROGRAM, "launch", "-q", "--hosts", self.hosts, *words, "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            out = run.communicate("one\ntwo\n" * 20000, timeout=60)[0]
            assert run.returncode == 0, (words, run.returncode)
            lines = out.splitlines()
            assert all(lines.count("[%d] %s" % (r, word)) == 20000 for r in ranks for word in ("one", "two")), (words, len(lines))
            assert len(lines) == 40000 * len(ranks), (words, len(lines))

    def test_a_link_matrix_from_an_mlx_host_file(self):
        hosts = [{"ssh": h["name"], "ips": [h["control"]], "rdma": [None if i == j else "rdma_data0" for j in range(HOSTS)]}
                 for i, h in enumerate(self.cluster.hosts)]
        path = self.cluster.folder / "mlx-links.json"
        path.write_text(json.dumps(hosts))
        out = self.cluster.folder / "out-links"
        shipped = pathlib.Path(__file__).parents[2] / "scenarios" / "link_matrix.json"
        done = self.cluster.run(PROGRAM, "run", shipped, "--hosts", path, "--out", out, "--no-probes", timeout=240)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        links = [link for record in records_of(out) for link in record.get("links", [])]
        pairs = {(link["from_host"], link["to_host"]) for link in links}
        assert len(pairs) == HOSTS * (HOSTS - 1), pairs

    def restart_sshd(self, host):
        self.cluster.stop_sshd(host)
        self.cluster.start_sshd(host)
        self.cluster.wait_for_sshd(host)

    def test_a_login_shell_that_greets(self):
        """What stands in a .bashrc is said before every command, to agents and ranks as well."""
        host = self.cluster.hosts[1]
        host["sshd"] = ["ForceCommand echo Welcome to h2; echo; echo 'Today is [a] good {day}'; exec sh -c \"$SSH_ORIGINAL_COMMAND\""]
        self.restart_sshd(host)
        try:
            doctor = self.cluster.run(PROGRAM, "doctor", "--hosts", self.hosts, "--json", "--only", "launch")
            assert doctor.returncode == 0 and json.loads(doctor.stdout)["verdict"] == "ok", doctor
            done = self.cluster.run(PROGRAM, "coll", "allreduce", "-b", "8", "-e", "64", "-f", "8", "--json", "--hosts", self.hosts, "--ranks", HOSTS)
            assert done.returncode == 0 and len(record_lines.records(done.stdout)) == 4, done
        finally:
            del host["sshd"]
            self.restart_sshd(host)

    def test_the_jaccl_mesh_from_an_mlx_host_file(self):
        """Cluster checks and four phases, each an item of the checklist; data go over the interfaces behind the device matrix."""
        hosts = [{"ssh": h["name"], "ips": [h["control"]], "rdma": [None if i == j else "rdma_data0" for j in range(HOSTS)]}
                 for i, h in enumerate(self.cluster.hosts)]
        path = self.cluster.folder / "mlx-mesh.json"
        path.write_text(json.dumps({"backend": "jaccl", "hosts": hosts}))
        out = self.cluster.folder / "out-mesh"
        shipped = pathlib.Path(__file__).parents[2] / "scenarios" / "jaccl_mesh.json"
        done = self.cluster.run(PROGRAM, "run", shipped, "--hosts", path, "--out", out, "--rounds", "20", timeout=240)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        items = [line for line in done.stdout.splitlines() if line[:1] == "[" and line[5:6] == "]"]
        assert len(items) == 11 and not any(line.startswith(("[FAIL]", "[ -- ]")) for line in items), items
        assert items[2].startswith("[ ok ] System, Python, mlx"), items
        assert items[3].startswith("[skip] The model") and "--model PATH" in items[3], items
        # The file names RDMA devices and this machine has none: a warning in a run, which goes on over tcp.
        assert items[4].startswith("[warn] RDMA") and "rdma.no_device" in items[4], items
        assert all(line.startswith("[ ok ]") and "over tcp" in line for line in items[7:]), items
        phases = records_of(out)
        assert {r["outcome"] for r in phases} == {"passed"}, {r["reason"] for r in phases}
        assert max(r["time_ns"]["n"] for r in phases if r["cell"]["kind"] == "bandwidth") == 20
        pairs = {pair for r in phases for pair in r["resolved"]["address_pairs"]}
        assert pairs and all(pair.count("10.10.0.") == 2 for pair in pairs), pairs

    def test_the_jaccl_mesh_over_rdma(self):
        """The same over Apple's verbs, on a library without hardware: pairs go over RDMA, and each phase says so."""
        library = self.cluster.folder / "verbs.so"
        shutil.copy(os.path.join(os.environ["TEST_BUILD"], "tests/plumbline_fake_verbs.so"), library)
        (self.cluster.folder / "sockets").mkdir()
        library.with_suffix(".so.settings").write_text("device rdma_data0\ngid 1 ::ffff:10.10.0.1\nrc refused\nmost qp 10\nmost mr 100\n"
                                                       "sockets %s\n" % (self.cluster.folder / "sockets"))
        hosts = [{"ssh": h["name"], "ips": [h["control"]], "rdma": [None if i == j else "rdma_data0" for j in range(HOSTS)]}
                 for i, h in enumerate(self.cluster.hosts)]
        path = self.cluster.folder / "mlx-rdma.json"
        path.write_text(json.dumps({"backend": "jaccl", "hosts": hosts}))
        out = self.cluster.folder / "out-rdma"
        shipped = pathlib.Path(__file__).parents[2] / "scenarios" / "jaccl_mesh.json"
        done = self.cluster.run(PROGRAM, "run", shipped, "--hosts", path, "--out", out, "--rounds", "20", "--rdma-library", library,
                                "--rdma-qp", "uc", timeout=240)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        phases = [line for line in done.stdout.splitlines() if re.match(r"\[.{4}\] Phase", line)]
        records = records_of(out)
        assert len(phases) == 4 and all(line.startswith("[ ok ]") and "over rdma" in line for line in phases), (phases, records[0]["resolved"])
        assert {(r["outcome"], r["resolved"]["transport"]) for r in records} == {("passed", "rdma")}, {r["reason"] for r in records}

    def test_launch_runs_any_program_everywhere(self):
        done = self.cluster.run(PROGRAM, "launch", "--hosts", self.hosts, "--as", "torchrun", "--env", "WORD=it's $HOME", "--", "sh", "-c",
                                "echo $RANK/$WORLD_SIZE $MASTER_ADDR \"$WORD\" $(ip -br address show data0 | grep -c 10.10.0.$((RANK + 1))/)")
        assert done.returncode == 0, done
        assert sorted(done.stdout.splitlines()) == ["[%d] %d/%d 10.10.0.1 it's $HOME 1" % (r, r, HOSTS) for r in range(HOSTS)], done.stdout

    def test_stop_ends_what_a_launch_left(self):
        run = self.cluster.start(PROGRAM, "launch", "--hosts", self.hosts, "--", "sleep", "60", stderr=subprocess.PIPE)
        run_id = run.stderr.readline().split()[-1]
        # These "hosts" are namespaces of one machine, so each of them sees all programs.
        end = time.time() + 60
        while True:
            listed = self.cluster.run(PROGRAM, "stop", "--list", "--hosts", self.hosts).stdout
            if listed.count("h1: runs " + run_id) >= HOSTS:
                break
            assert time.time() < end, "the program did not start everywhere:\n" + listed
        done = self.cluster.run(PROGRAM, "stop", run_id, "--hosts", self.hosts)
        assert done.returncode == 0 and done.stdout.count("ended " + run_id) == HOSTS, done
        assert run.wait(15) != 0
        assert run_id not in self.cluster.run(PROGRAM, "stop", "--list", "--hosts", self.hosts).stdout
        self.cluster.wait_until_gone(3)

    # --- what is said when it does not

    def cause(self, name, cause, change):
        path = self.cluster.host_file("hosts-%s.json" % name, change)
        done, report = self.doctor(path)
        fails = [f for f in report["findings"] if f["outcome"] == "fail"]
        assert [(f["cause"], f["host"]) for f in fails] == [(cause, "h2")], (name, fails, done.stderr)
        assert done.returncode == 2, done.returncode
        assert fails[0]["remedy"] and fails[0]["evidence"], fails
        print("    %s: %s | %s" % (name, fails[0]["evidence"][0]["text"], fails[0]["remedy"]))

    def only_h2(self, **keys):
        return lambda entry: entry.update(keys) if entry["name"] == "h2" else None

    def test_an_unknown_name(self):
        self.cause("name", "name.unresolved", self.only_h2(ssh="no-such-host.invalid"))

    def test_nobody_listens(self):
        self.cause("refused", "ssh.refused", self.only_h2(port=22))

    def test_a_host_that_is_off(self):
        self.cause("off", "ssh.unreachable", self.only_h2(ssh="10.99.0.77"))

    def test_another_key(self):
        self.cluster.keygen("stranger")
        self.cause("auth", "ssh.auth", self.only_h2(ssh="keyless", key=str(self.cluster.folder / "stranger")))

    def test_a_key_that_others_can_read(self):
        self.cluster.keygen("open")
        os.chmod(self.cluster.folder / "open", 0o644)
        with open(self.cluster.folder / "authorized_keys", "a") as keys:  # the server would take it
            keys.write((self.cluster.folder / "open.pub").read_text())
        self.cause("permissions", "ssh.key_permissions", self.only_h2(ssh="keyless", key=str(self.cluster.folder / "open")))

    def test_no_program_there(self):
        self.cause("binary", "ssh.no_binary", self.only_h2(binary="/nowhere/plumbline"))

    def test_a_program_of_another_machine(self):
        foreign = self.cluster.folder / "foreign"
        # The beginning of an executable for a machine that is none of ours (e_machine 0xfeed).
        foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xed\xfe\x01\x00\x00\x00" + bytes(100))
        foreign.chmod(0o755)
        self.cause("foreign", "ssh.wrong_binary", self.only_h2(binary=str(foreign)))

    def test_another_host_key(self):
        host = self.cluster.hosts[1]
        self.cluster.stop_sshd(host)
        key = self.cluster.folder / "key-h2"
        for path in (key, key.with_suffix(".pub")):
            path.rename(str(path) + ".kept")
        self.cluster.start_sshd(host)
        try:
            scan = self.cluster.at_desk("ssh-keyscan", "-p", str(SSH_PORT), "-T", "1", host["control"])
            end = time.time() + 60
            while not subprocess.run(scan, capture_output=True, text=True, timeout=20).stdout:
                assert time.time() < end, "sshd does not listen"
                time.sleep(0.05)
            self.cause("hostkey", "ssh.host_key", None)
        finally:
            self.cluster.stop_sshd(host)
            for path in (key, key.with_suffix(".pub")):
                pathlib.Path(str(path) + ".kept").rename(path)
            self.cluster.start_sshd(host)
            self.cluster.wait_for_sshd(host)

    def test_a_run_without_probes_says_why_it_cannot_start(self):
        path = self.scenario("nostart", LONG)
        content = json.loads(path.read_text())
        content["hosts"][1]["port"] = 22
        path.write_text(json.dumps(content))
        done = self.cluster.run(PROGRAM, "run", path, "--out", self.cluster.folder / "out-nostart")
        assert done.returncode == 2 and "h2" in done.stderr and "refused" in done.stderr, done

    def test_sizes_beyond_memory_are_refused_before_anything_starts(self):
        """Over ssh as on one machine: exit 1, with host, need and what is there, and no rank was ever started."""
        words = ["512 GiB", "does not fit into memory: a rank needs", "on h", "are available there", "coll: -e"]
        huge = dict(LONG, matrix=[{"kind": "bandwidth", "op": "allreduce", "bytes": ["4Ki", "512Gi"], "ranks": HOSTS}])
        out = self.cluster.folder / "out-huge"
        for call in (["run", self.scenario("huge", huge), "--out", out],
                     ["coll", "allreduce", "-b", "512G", "-e", "512G", "--hosts", self.hosts, "--ranks", HOSTS]):
            done = self.cluster.run(PROGRAM, *call, "--log-level", "info")
            assert done.returncode == 1 and all(word in done.stderr for word in words), done
            assert "rank 0" not in done.stderr, done.stderr  # each says its options when it begins
        assert records_of(out) == []
        self.cluster.wait_until_gone(3)

    # --- ranks that are stopped or killed while they start

    def hit_while_starting(self, name, number):
        """A run whose rank on h3 gets this signal in its first moments; seconds until the run is told of, what it says, its exit status."""
        # Long enough for the signal to come before the end on a busy machine.
        quick = dict(LONG, config={"watchdog_timeout_ms": 3000, "connect_timeout_ms": 60000},
                     matrix=[{"kind": "latency", "op": "allreduce", "bytes": 4, "ranks": HOSTS,
                              "stop": {"ci": 0, "max_n": 10000000, "max_time": "3s"}}])
        run = self.cluster.start(PROGRAM, "run", self.scenario(name, quick), "--out", self.cluster.folder / ("out-" + name),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        netns, end, found = self.cluster.hosts[2]["netns"], time.time() + 30, []
        while not found:
            assert time.time() < end and run.poll() is None, run.communicate()[0]
            found = [pid for pid, line in self.cluster.plumblines(netns) if " rank" in line]
        for pid in found:
            send(pid, number)
        start = time.time()
        text = run.communicate(timeout=150)[0]
        print("    over after %.1f s: %s" % (time.time() - start, [line for line in text.splitlines() if "again" in line]))
        for pid in found:  # a stopped one cannot see that its coordinator has gone
            send(pid, signal.SIGKILL)
        return time.time() - start, text, run.returncode

    def test_a_rank_that_is_stopped_while_it_starts(self):
        seconds, text, code = self.hit_while_starting("stopped-early", signal.SIGSTOP)
        # By the coordinator while it starts; the moment may also be one in which it measures already.
        early = code == 0 and "ranks are started again: rank 2 on h3 has said nothing for" in text
        assert early or code == 2 and "rank 2 does not answer" in text, (code, text)
        assert seconds < 40, (seconds, text)

    def test_a_rank_that_is_killed_while_it_starts(self):
        seconds, text, code = self.hit_while_starting("killed-early", signal.SIGKILL)
        assert "h3" in text and seconds < 20, (seconds, text)
        assert code == 0 and "ranks are started again: rank 2 on h3" in text or code == 2, (code, text)

    # --- what stays behind

    def test_ctrl_c(self):
        run, out = self.start_long("ctrl-c")
        # The wrapper `ip netns exec` has become plumbline itself.
        run.send_signal(signal.SIGINT)
        text = self.finish("ctrl-c", run, 130)
        gone = self.cluster.wait_until_gone(3)
        print("    gone %.2f s after the end; %d records" % (gone, len(records_of(out))))
        assert "Records:" in text

    def test_kill_of_the_coordinator(self):
        run, out = self.start_long("kill")
        before = len(records_of(out))
        run.kill()
        run.wait(10)
        gone = self.cluster.wait_until_gone(3)
        print("    gone %.2f s after the kill" % gone)
        assert len(records_of(out)) >= before

    def break_in_the_middle(self, name, action, cause_words, gone_s=3):
        run, out = self.start_long(name)
        action()
        text = self.finish(name, run, 2, 60)
        records = records_of(out)
        errors = [r for r in records if r["outcome"] == "error"]
        assert errors or "could not be started" in text, text
        said = text + json.dumps(errors)
        assert all(words in said for words in cause_words), (name, cause_words, said[-3000:])
        if errors:
            print("    %s: %s" % (errors[0]["cause"], errors[0]["reason"]))
        gone = self.cluster.wait_until_gone(gone_s)
        print("    gone after %.2f s" % gone)

    def of_host(self, index, word):
        found = [pid for pid, line in self.cluster.plumblines(self.cluster.hosts[index]["netns"]) if " " + word in line]
        assert found, (word, self.cluster.plumblines())
        return found

    def test_kill_of_a_rank(self):
        self.break_in_the_middle("rank", lambda: [send(pid, signal.SIGKILL) for pid in self.of_host(2, "rank")], ["h3"])

    def test_kill_of_an_ssh_server(self):
        def kill():
            host = self.cluster.hosts[2]
            self.cluster.stop_sshd(host)
            pids = subprocess.run(["ip", "netns", "pids", host["netns"]], capture_output=True, text=True).stdout.split()
            for pid in pids:
                try:
                    daemon = pathlib.Path("/proc/%s/comm" % pid).read_text().startswith("sshd")
                except OSError:  # gone with the one before
                    continue
                if daemon:
                    send(int(pid), signal.SIGKILL)
        try:
            self.break_in_the_middle("sshd", kill, ["h3"])
        finally:
            self.cluster.start_sshd(self.cluster.hosts[2])
            self.cluster.wait_for_sshd(self.cluster.hosts[2])

    def test_the_network_of_a_host_dies(self):
        netns = self.cluster.hosts[2]["netns"]

        def links(state):
            for name in ("data0", "control0"):
                subprocess.run(["ip", "-n", netns, "link", "set", name, state], check=True)
        try:
            # Those on the dead host learn it from the silence alone.
            self.break_in_the_middle("network", lambda: links("down"), ["h3"], gone_s=15)
        finally:
            links("up")
            self.cluster.wait_for_sshd(self.cluster.hosts[2])


def main():
    require_ssh_lab()
    wanted = sys.argv[1:]
    tests = Tests(SshCluster(HOSTS))
    names = [n for n in dir(Tests) if n.startswith("test_") and (not wanted or any(w in n for w in wanted))]
    failed = []
    for name in sorted(names):
        start = time.time()
        try:
            getattr(tests, name)()
            print("ok %s (%.1f s)" % (name, time.time() - start), flush=True)
        except (AssertionError, SystemExit, subprocess.TimeoutExpired, OSError, ValueError, LookupError) as error:
            failed.append(name)
            print("FAILED %s: %s" % (name, error), flush=True)
    print("%d tests, %d failed" % (len(names), len(failed)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
