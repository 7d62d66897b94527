#!/usr/bin/env python3
"""The static binaries in folders where there is nothing else: no library, no /proc, no /etc. The one of this machine's architecture in an empty
chroot, alone in a network namespace with a name server of the test's; the other one under qemu's emulator of single programs."""
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import record_lines
from namespaces import SKIPPED, require_lab
from static_files import PROGRAM, build_of, static_binary

MACHINE = platform.machine()


def answer_a(query):
    """A DNS answer (RFC 1035): by-dns.test is 127.0.0.1, all else does not exist."""
    end = query.index(b"\0", 12) + 5
    question, name = query[12:end], query[12:end - 4]
    kind = struct.unpack(">H", query[end - 4:end - 2])[0]
    known = name == b"\x06by-dns\x04test\0"
    here = known and kind == 1
    header = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, int(here), 0, 0)
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([127, 0, 0, 1])
    return header + question + (record if here else b"")


def serve_names(server):
    while True:
        query, peer = server.recvfrom(512)
        server.sendto(answer_a(query), peer)


class EmptyRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.static, why = static_binary(MACHINE)
        if why:
            raise unittest.SkipTest(why)
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-root-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        shutil.copy(cls.static, cls.root / "plumbline")

    def setUp(self):
        self.addCleanup(shutil.rmtree, self.root / "etc", True)

    def tearDown(self):
        for path in self.root.iterdir():  # it needed nothing, and made nothing
            self.assertIn(path.name, ("plumbline", "etc"))

    def command(self, *words):
        return ["chroot", str(self.root), "/plumbline", *words]

    def run_there(self, *words, code=0, **options):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=120, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_it_is_one_file(self):
        headers = subprocess.run(["readelf", "-lW", self.static], capture_output=True, text=True)
        if headers.returncode != 0:
            self.skipTest("no readelf (package binutils)")
        self.assertNotRegex(headers.stdout, "INTERP|DYNAMIC")

    def test_version_and_kernels_are_those_of_the_normal_build(self):
        own = subprocess.run([PROGRAM, "version"], capture_output=True, text=True, timeout=60, check=True).stdout
        there = self.run_there("version").stdout
        for pattern in (r"^build .*$", r"kernels \w+"):
            self.assertEqual(re.search(pattern, own, re.M).group(), re.search(pattern, there, re.M).group())

    def test_it_measures_itself(self):
        self.assertNotIn("wrong", self.run_there("selftest").stdout)

    def test_two_ranks_reduce_right(self):
        done = self.run_there("coll", "allreduce", "-b", "4", "-e", "1M", "-f", "64", "-d", "float", "--ranks", "2", "--port-base", "auto",
                              "--json")
        records = record_lines.records(done.stdout)
        self.assertGreater(len(records), 4)
        for record in records:
            self.assertEqual((record["outcome"], record["wrong"]), ("passed", 0), record)
            self.assertIn("tcp", json.dumps(record["resolved"]))

    def test_an_agent_tells_what_there_is(self):
        agent = subprocess.Popen(self.command("agent"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(agent.stdout.close)
        snapshot = {"host": "a", "ports": [], "names": ["by-dns.test"], "own_data_ip": "127.0.0.1", "buffer_bytes": 65536, "deep": False}
        version = self.run_there("version").stdout.split()[1]
        for number, (request, params) in enumerate([("hello", {"version": version, "host": "a", "config": {}}), ("snapshot", snapshot)]):
            agent.stdin.write(json.dumps({"id": number + 1, "request": request, "within_ms": 20000, "params": params}) + "\n")
            agent.stdin.flush()
            answer = json.loads(agent.stdout.readline())
            self.assertIn("reply", answer)
        agent.stdin.close()
        self.assertEqual(agent.wait(20), 0)
        evidence = answer["reply"]
        self.assertIn("lo", [interface["name"] for interface in evidence["interfaces"]])
        # It loads nothing, so it says what it looked at.
        self.assertIn("library folders", evidence["rdma"]["library_error"])
        self.assertIn("no mDNS", evidence["names"][0]["error"])

    # --- names: /etc/hosts and DNS without glibc's modules

    def meet(self, name, code):
        """Rank 1 of a world whose rank 0 is called `name`."""
        ranks = []
        for rank in (0, 1):
            environment = {"PLUMBLINE_RANK": str(rank), "PLUMBLINE_WORLD_SIZE": "2", "PLUMBLINE_MASTER_ADDR": name if rank else "127.0.0.1",
                           "PLUMBLINE_CONNECT_TIMEOUT_MS": "30000" if code == 0 else "1000", "PATH": os.environ["PATH"]}
            words = ("coll", "allreduce", "-b", "8", "-e", "8", "--port-base", "auto")
            if rank or code == 0:
                ranks.append(subprocess.Popen(self.command(*words), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        said = ""
        for rank in ranks:
            out, err = rank.communicate(timeout=60)
            said += out + err
            self.assertEqual(rank.returncode, code, said)
        return said

    def write(self, name, text):
        (self.root / "etc").mkdir(exist_ok=True)
        (self.root / "etc" / name).write_text(text)

    def test_a_name_of_the_hosts_file(self):
        self.write("hosts", "127.0.0.1 by-file.test\n")
        # Modules are never loaded: what is built in is asked all the same.
        self.write("nsswitch.conf", "hosts: resolve\n")
        self.meet("by-file.test", 0)

    def test_a_name_of_dns(self):
        self.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:10 attempts:1\n")
        self.meet("by-dns.test", 0)

    def test_an_unknown_name_is_named(self):
        self.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        self.assertIn("the name no-such.test gives no address", self.meet("no-such.test", 2))


def handler(machine, qemu):
    """The line that makes the kernel start programs of `machine` with qemu, see its admin-guide/binfmt-misc."""
    number = {"aarch64": 183, "x86_64": 62}[machine]
    magic = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + struct.pack("<H", number)
    mask = b"\xff" * 7 + b"\x00" + b"\xff" * 8 + b"\xfe\xff\xff\xff"
    text = ["".join("\\x%02x" % byte for byte in part) for part in (magic, mask)]
    return ":plumbline-test:M::%s:%s:%s:F" % (*text, qemu)


class Outside(unittest.TestCase):
    def test_it_draws(self):
        """Boost's pipes, statically linked, called a function that was not there."""
        binary, why = static_binary(MACHINE)
        if binary is None:
            raise unittest.SkipTest(why)
        if shutil.which("gnuplot") is None:
            raise unittest.SkipTest("gnuplot is not installed")
        with tempfile.TemporaryDirectory() as folder:
            records = os.path.join(folder, "records.jsonl")
            subprocess.run([binary, "coll", "pingpong", "-b", "8", "-e", "1K", "-f", "8", "-J", records],
                           check=True, capture_output=True, timeout=60)
            plots = os.path.join(folder, "plots")
            done = subprocess.run([binary, "report", "plots", records, "-o", plots],
                                  check=False, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue([name for name in os.listdir(plots) if name.endswith(".svg")])


class Emulated(unittest.TestCase):
    """Of another architecture, called by the emulator's name. Only where the kernel has handlers for foreign programs in a user namespace (since
    6.7) are they used, for ranks that start ranks: elsewhere that is a setting of the whole machine."""

    @classmethod
    def setUpClass(cls):
        machine = "aarch64" if MACHINE == "x86_64" else "x86_64"
        cls.static, why = static_binary(machine)
        cls.qemu = shutil.which("qemu-" + machine) or shutil.which("qemu-%s-static" % machine)
        if why or not cls.qemu:
            raise unittest.SkipTest(why or "no qemu-%s (package qemu-user; scripts/packages.sh static)" % machine)
        cls.machine = machine

    def run_there(self, *words):
        done = subprocess.run([self.qemu, str(self.static), *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_it_is_of_the_same_build(self):
        self.assertEqual(build_of(self.qemu, str(self.static)), build_of(PROGRAM))
        self.assertIn(self.machine, self.run_there("version"))

    def test_its_kernels_and_schedules_are_right(self):
        text = self.run_there("selftest")
        self.assertRegex(text, r"kernels +(\d+) checks: \1 pass")
        own = subprocess.run([PROGRAM, "selftest"], capture_output=True, text=True, timeout=300, check=True).stdout
        digest = r"digest \w{16}"
        self.assertEqual(re.search(digest, text).group(), re.search(digest, own).group())
        self.assertRegex(text, r"schedules +(\d+) checks: \1 pass")

    def test_ranks_of_both_architectures_are_one_group(self):
        """What each of the two has reduced the other one has too, and every element is compared with what it must be, on both."""
        secret = os.urandom(16).hex()
        with tempfile.NamedTemporaryFile("w") as token:
            token.write(secret + "\n")
            token.flush()
            for least, transport, words in ((30, "shm", ("allreduce", "-d", "all", "-o", "all")), (10, "tcp", ("alltoall", "-d", "all")),
                                            (2, "tcp", ("allreduce", "--compression", "fp16"))):
                said = self.one_group(token.name, "coll", *words, "-b", "40", "-e", "100K", "-f", "50", "-n", "3", "-w", "1", "--json",
                                      "--transport", transport)
                records = record_lines.records(said)
                self.assertGreater(len(records), least)
                for record in records:
                    self.assertEqual((record["outcome"], record["wrong"], record["resolved"]["transport"]), ("passed", 0, transport), record)
                self.assertIn(self.machine, json.dumps(records[0]["environment"]["hosts"]))

    def one_group(self, token, *words):
        """What rank 0 says, on this architecture; rank 1 is emulated."""
        ranks = []
        for rank, program in enumerate(([PROGRAM], [self.qemu, str(self.static)])):
            environment = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "PLUMBLINE_TOKEN_FILE": token, "PATH": os.environ["PATH"]}
            ranks.append(subprocess.Popen([*program, *words, "--port-base", "auto"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          text=True))
        said = [rank.communicate(timeout=200) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
        return said[0][0]

    def test_two_ranks_reduce_right(self):
        inside = ["unshare", "-U", "-r", "-m", "sh", "-c", "mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && "
                  "printf %s \"$0\" >/proc/sys/fs/binfmt_misc/register && exec \"$@\"", handler(self.machine, self.qemu)]
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("no handlers for foreign programs in a user namespace (Linux 6.7)")
        done = subprocess.run([*inside, str(self.static), "coll", "allreduce", "-b", "4", "-e", "256K", "-f", "64", "-d", "all", "--ranks", "2",
                               "--port-base", "auto", "--json"], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr)
        records = record_lines.records(done.stdout)
        self.assertGreater(len({record["cell"]["dtype"] for record in records}), 5)
        for record in records:
            self.assertEqual((record["outcome"], record["wrong"]), ("passed", 0), record)
            self.assertIn(self.machine, json.dumps(record["environment"]["hosts"]))


def main():
    require_lab()
    # A network of our own: only loopback, which has to be switched on, and port 53 is free.
    if os.environ.get("PLUMBLINE_STATIC_TEST") != "inside":
        code = "ip link set lo up && exec \"$0\" -B \"$@\""
        os.environ["PLUMBLINE_STATIC_TEST"] = "inside"
        os.execvp("unshare", ["unshare", "-n", "sh", "-c", code, sys.executable, *sys.argv])
    del os.environ["PLUMBLINE_STATIC_TEST"]
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    threading.Thread(target=serve_names, args=(server,), daemon=True).start()
    start = time.time()
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print("%s: Skipped: %s" % (test.id(), reason))
    print("%d tests in %.1f s" % (result.testsRun, time.time() - start))
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun <= len(result.skipped) else 0)


if __name__ == "__main__":
    main()
