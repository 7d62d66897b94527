#!/usr/bin/env python3
"""`--push` over real sshd: hosts that have no plumbline get the static one, once; a spoiled copy is replaced; a full disk and a noexec one are
named. On h1 and h2 the whole build folder is hidden; the cache of h3 is a disk that is too small, that of h4 starts no programs. h5 says that
it is a Mac."""
import hashlib
import json
import os
import pathlib
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import time

from mac_program import mac_program
from namespaces import SKIPPED
from record_lines import records_of
from ssh_lab import SshCluster, require_ssh_lab
from static_files import PROGRAM, ROOT, build_of, static_binary

SHORT = {"plumbline": 1, "question": "Does a copied plumbline measure?", "roofs": False, "probes": [], "report": ["console"],
         "matrix": [{"kind": "check", "op": ["allreduce", "alltoall"], "bytes": [4, 100000], "ranks": 2}]}


# What h5 has instead of the tools of these names. It cannot start a Mac's program, and no shell there shall take one for a script; so chmod
# keeps a copy of what came, beside the path where it lay.
MAC_TOOLS = {
    "uname": "case $1 in -s) echo Darwin;; -m) echo arm64;; esac",
    "chmod": 'cp "$2" "$0 kept" && echo "$2" >"$0 path"; exec "$0 real" 600 "$2"',
}


def mac_tool(host, name):
    return pathlib.Path("%s %s" % (host["cache"], name))


def put_mac_tools(host):
    """Makes them, and gives the commands that put them in the place of this machine's."""
    for name, script in MAC_TOOLS.items():
        real, tool = os.path.realpath(shutil.which(name)), mac_tool(host, name)
        shutil.copy(real, "%s real" % tool)
        tool.write_text("#!/bin/sh\n%s\n" % script.replace("$0", str(tool)))
        tool.chmod(0o755)
        yield "mount --bind %s %s" % (shlex.quote(str(tool)), shlex.quote(real))


def prelude(host):
    lines = ["mount -t tmpfs none " + shlex.quote(os.environ["TEST_BUILD"])]
    options = {"h3": "size=4m", "h4": "noexec"}.get(host["name"])
    if options:
        lines += ["mkdir -p " + shlex.quote(host["cache"]), "mount -t tmpfs -o %s none %s" % (options, shlex.quote(host["cache"]))]
    if host["name"] == "h5":
        lines += put_mac_tools(host)
    return " && ".join(lines)


class Tests:
    def __init__(self, cluster, static):
        self.cluster, self.static = cluster, static
        self.hash = hashlib.sha256(static.read_bytes()).hexdigest()
        self.files = {names: self.host_file(names) for names in ("h1 h2", "h1 h3", "h1 h4", "h1 h5")}

    def host_file(self, names, **keys):
        path = self.cluster.host_file()
        entries = [dict(entry, **keys) for entry in json.loads(path.read_text())["hosts"] if entry["name"] in names.split()]
        path = self.cluster.folder / ("hosts-%s.json" % "-".join(names.split() + list(keys)))
        path.write_text(json.dumps({"hosts": entries}))
        return path

    def host(self, name):
        return next(host for host in self.cluster.hosts if host["name"] == name)

    def copy_on(self, name):
        return pathlib.Path(self.host(name)["cache"], "plumbline", self.hash, "plumbline")

    def clear(self):
        for name in ("h1", "h2"):
            shutil.rmtree(self.host(name)["cache"], ignore_errors=True)

    def run(self, *words, names="h1 h2", push="auto"):
        path = self.cluster.folder / "short.json"
        path.write_text(json.dumps(SHORT))
        out = self.cluster.folder / ("out-%d" % time.monotonic_ns())
        done = self.cluster.run(PROGRAM, "run", path, "--hosts", self.files[names], "--out", out, "--push", push, *words)
        records = pathlib.Path(out, "records.jsonl")
        return done, records_of(records) if records.exists() else []

    def passes(self, sent, **how):
        """A run that measures; `sent` = the hosts that the program was copied to."""
        start = time.time()
        done, records = self.run(**how)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(records) == 4 and all(r["outcome"] == "passed" and r["wrong"] == 0 for r in records), records
        told = [line for line in done.stderr.splitlines() if "sending" in line]
        assert sorted(line.rsplit(" ", 1)[1] for line in told) == sent, (sent, done.stderr)
        return time.time() - start

    # --- what works

    def test_a_host_without_plumbline_gets_it_once(self):
        self.clear()
        first = self.passes(["h1", "h2"])
        before = [self.copy_on(name).stat() for name in ("h1", "h2")]
        for name in ("h1", "h2"):
            assert self.copy_on(name).read_bytes() == self.static.read_bytes()
            assert sorted(p.name for p in self.copy_on(name).parent.iterdir()) == ["plumbline"]
            assert self.copy_on(name).stat().st_mode & 0o777 == 0o700
        second = self.passes([])
        assert [self.copy_on(name).stat().st_ino for name in ("h1", "h2")] == [stat.st_ino for stat in before]
        print("    %.2f s with the copies, %.2f s when they are there" % (first, second))
        self.cluster.wait_until_gone(3)

    def test_a_spoiled_copy_is_replaced(self):
        self.passes([] if self.copy_on("h2").exists() else ["h1", "h2"])
        with open(self.copy_on("h2"), "r+b") as file:
            file.seek(1000000)
            file.write(b"spoiled")
        self.passes(["h2"])
        assert self.copy_on("h2").read_bytes() == self.static.read_bytes()

    def test_two_coordinators_at_once(self):
        self.clear()
        words = (PROGRAM, "launch", "--hosts", self.files["h1 h2"], "--push", "auto", "--", "sh", "-c", "echo rank $PLUMBLINE_RANK")
        runs = [self.cluster.start(*words, stdout=-1, stderr=-1) for _ in range(3)]
        for run in runs:
            out, err = run.communicate(timeout=60)
            assert run.returncode == 0 and sorted(out.splitlines()) == ["[0] rank 0", "[1] rank 1"], out + err
        assert self.copy_on("h1").read_bytes() == self.static.read_bytes()
        assert sorted(p.name for p in self.copy_on("h1").parent.iterdir()) == ["plumbline"]

    def break_while_sending(self, action):
        """The control network is slow, so that the copying lasts some 7 s; nothing is left soon after `action`."""
        self.clear()
        shape = ["ip", "netns", "exec", self.cluster.desk, "tc", "qdisc"]
        subprocess.run([*shape, "add", "dev", "control0", "root", "tbf", "rate", "40mbit", "burst", "64k", "latency", "100ms"], check=True)
        try:
            run = self.cluster.start(PROGRAM, "launch", "--hosts", self.files["h1 h2"], "--push", "auto", "--", "true", stdout=-1, stderr=-1)
            halves = [self.copy_on(name).parent for name in ("h1", "h2")]
            end = time.time() + 60
            while not all(list(half.glob(".sending-*")) for half in halves):
                assert time.time() < end and run.poll() is None, "nothing is sent: " + str(run.poll())
                time.sleep(0.02)
            action(run)
            said = run.communicate(timeout=30)[1]
            end = time.time() + 15  # what ssh holds already still comes
            while any(half.exists() for half in halves):
                assert time.time() < end, [list(half.iterdir()) for half in halves]
                time.sleep(0.05)
            self.cluster.wait_until_gone(3)
            return run.returncode, said
        finally:
            subprocess.run([*shape, "del", "dev", "control0", "root"], check=True)

    def test_a_coordinator_that_is_killed_leaves_no_half(self):
        self.break_while_sending(lambda run: run.kill())

    def test_ctrl_c_leaves_no_half(self):
        code, said = self.break_while_sending(lambda run: run.send_signal(signal.SIGINT))
        assert code != 0, said

    def test_doctor_coll_and_stop_use_the_copy(self):
        hosts = self.files["h1 h2"]
        done = self.cluster.run(PROGRAM, "doctor", "--hosts", hosts, "--json", "--push", "auto")
        report = json.loads(done.stdout)
        assert done.returncode == 0 and not [f for f in report["findings"] if f["outcome"] == "fail"], (report["findings"], done.stderr)
        done = self.cluster.run(PROGRAM, "coll", "allreduce", "-b", "8", "-e", "64K", "-f", "16", "--json", "--hosts", hosts, "--push", "auto")
        assert done.returncode == 0 and done.stdout.count('"wrong":0') >= 4, done.stdout + done.stderr
        done = self.cluster.run(PROGRAM, "stop", "--list", "--hosts", hosts, "--push", "auto")
        assert done.returncode == 0, done.stdout + done.stderr

    def test_a_program_of_the_same_build_is_left_alone(self):
        self.clear()
        own = self.cluster.folder / "own plumbline"
        shutil.copy(PROGRAM, own)
        self.files["own"] = self.host_file("h1 h2", binary=str(own))
        self.passes([], names="own")
        assert not self.copy_on("h1").exists()
        self.passes(["h1", "h2"], names="own", push="always")

    def test_a_program_of_another_build_is_not(self):
        self.clear()
        old = self.cluster.folder / "old"
        old.write_text("#!/bin/sh\necho plumbline 0.1.0\necho build 0.1.0-000000000000\n")
        old.chmod(0o755)
        self.files["old"] = self.host_file("h1 h2", binary=str(old))
        self.passes(["h1", "h2"], names="old")

    # --- what is said when it does not

    def fails(self, said, words=(), **how):
        done, records = self.run(*words, **how)
        assert done.returncode == 2 and not records, (done.returncode, done.stdout, done.stderr)
        assert all(word in done.stderr for word in said), (said, done.stderr)
        print("    " + done.stderr.strip().splitlines()[-1])
        self.cluster.wait_until_gone(3)

    def test_never_is_what_it_was(self):
        self.fails(["h1", "exit status 127"], push="never")

    def test_a_full_disk(self):
        self.fails(["h3 cannot store plumbline", "No space left on device", "XDG_CACHE_HOME"], names="h1 h3")

    def test_a_disk_that_starts_no_programs(self):
        self.fails(["does not start on h4", "ermission denied", "noexec"], names="h1 h4")

    def test_no_static_binary_here(self):
        self.clear()
        empty = self.cluster.folder / "empty"
        empty.mkdir(exist_ok=True)
        done, _ = self.run("--static-dir", empty)
        machine = platform.machine()
        assert done.returncode == 2 and "scripts/static_binary.sh " + machine in done.stderr and str(empty) in done.stderr, done.stderr

    def test_one_that_is_not_static_is_not_sent(self):
        self.clear()
        wrong = self.cluster.folder / "wrong"
        wrong.mkdir(exist_ok=True)
        shutil.copy(PROGRAM, wrong / ("plumbline-linux-" + platform.machine()))
        done, _ = self.run("--static-dir", wrong)
        assert done.returncode == 2 and "not static" in done.stderr, done.stderr

    # --- to a host that says it is a Mac

    def for_both(self, name, content):
        """Words that name a folder with the right program for h1 and this one for h5."""
        folder = self.cluster.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "plumbline-darwin-arm64").write_bytes(content)
        linux = folder / self.static.name
        if not linux.exists():
            linux.symlink_to(self.static)
        return ["--static-dir", folder]

    def arrives_on_the_mac(self, name, content):
        """A run that sends exactly these bytes to where they belong, and says that they do not start there."""
        kept, path = (mac_tool(self.host("h5"), "chmod " + name) for name in ("kept", "path"))
        for file in (kept, path):
            file.unlink(missing_ok=True)
        self.fails(["plumbline-darwin-arm64 (%.1f MB) to h5" % (len(content) / 1e6), "copy of plumbline does not start on h5", "ermission denied"],
                   words=self.for_both(name, content), names="h1 h5")
        digest = hashlib.sha256(content).hexdigest()
        assert hashlib.sha256(kept.read_bytes()).hexdigest() == digest
        cache = pathlib.Path(self.host("h5")["cache"], "plumbline", digest)
        assert path.read_text().startswith(str(cache / ".sending-")), path.read_text()
        assert not cache.exists()

    def refused_for_the_mac(self, name, content, why):
        self.fails([why, str(self.cluster.folder / name / "plumbline-darwin-arm64"), "scripts/cross_macos.sh --ship"],
                   words=self.for_both(name, content), names="h1 h5")
        assert not mac_tool(self.host("h5"), "chmod kept").exists()

    def mark(self):
        return build_of(PROGRAM).replace("build ", "plumbline-build:").encode() + b";"

    def test_a_mac_gets_its_own_file(self):
        self.arrives_on_the_mac("mac", mac_program(self.mark()))

    def test_a_mac_gets_what_was_built_for_it(self):
        shipped = ROOT / "build-macos-ship" / "plumbline-darwin-arm64"
        if not shipped.exists() or self.mark() not in shipped.read_bytes():
            print("    not built here, or of another build: scripts/cross_macos.sh --ship")
            return
        self.arrives_on_the_mac("mac-shipped", shipped.read_bytes())

    def test_what_is_not_for_a_mac_is_refused_by_name(self):
        mac_tool(self.host("h5"), "chmod kept").unlink(missing_ok=True)
        self.refused_for_the_mac("mac-linux", self.static.read_bytes(), "(a program of Linux (ELF))")
        libraries = ("/usr/lib/libSystem.B.dylib", "/opt/homebrew/opt/fmt/lib/libfmt.9.dylib")
        self.refused_for_the_mac("mac-homebrew", mac_program(self.mark(), libraries), "(it needs /opt/homebrew/opt/fmt/lib/libfmt.9.dylib")
        self.refused_for_the_mac("mac-old", mac_program(b"plumbline-build:0.1.0-000000000000;"), "(not of the build ")
        whole = mac_program(self.mark())
        self.refused_for_the_mac("mac-changed", whole[:50000] + b"x" + whole[50001:], "(it was changed after it was signed)")

    def test_the_doctor_names_it(self):
        done = self.cluster.run(PROGRAM, "doctor", "--hosts", self.files["h1 h3"], "--json", "--push", "auto")
        fails = [f for f in json.loads(done.stdout)["findings"] if f["outcome"] == "fail" and f["host"] == "h3"]
        assert [(f["cause"], f["host"]) for f in fails] == [("ssh.no_binary", "h3")], (fails, done.stderr)
        assert "No space left" in json.dumps(fails[0]["evidence"]), fails

    def test_a_host_that_is_off_is_waited_for_once(self):
        self.files["off"] = self.host_file("h1 h2", ssh="10.99.0.77")
        start = time.time()
        self.fails(["over ssh", "255"], names="off")
        assert time.time() - start < 8, time.time() - start


def main():
    require_ssh_lab()
    static, why = static_binary(platform.machine())
    if why:
        print("Skipped: " + why)
        sys.exit(SKIPPED)
    assert build_of(PROGRAM) == build_of(static)
    wanted = sys.argv[1:]
    tests = Tests(SshCluster(5, prelude), static)
    names = [n for n in dir(Tests) if n.startswith("test_") and (not wanted or any(w in n for w in wanted))]
    failed = []
    for name in sorted(names):
        start = time.time()
        try:
            getattr(tests, name)()
            print("ok %s (%.1f s)" % (name, time.time() - start), flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed.append(name)
            print("FAILED %s: %s: %s" % (name, type(error).__name__, error), flush=True)
    print("%d tests, %d failed" % (len(names), len(failed)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
