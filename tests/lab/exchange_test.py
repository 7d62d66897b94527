#!/usr/bin/env python3
"""Our files in the hands of the tools that they are made for, and theirs in ours: compare.py of Google Benchmark tests two of our exports
against each other; a real iperf3 over loopback is imported, and the rates are the same."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_port

BINARY = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")
COMPARE = "/usr/share/benchmark/compare.py"
PYTHON = "/usr/bin/python3"  # Debian's: scipy is packaged for it
SKIPPED = 77


def why_not():
    if os.environ.get("TEST_LABS") != "1":
        return "run with TEST_LABS=1 (./test.sh --labs)"
    if not os.path.exists(COMPARE):
        return "no libbenchmark-tools here (scripts/packages.sh labs)"
    if subprocess.run([PYTHON, "-c", "import scipy"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return "no python3-scipy here (scripts/packages.sh labs)"
    if subprocess.run(["which", "iperf3"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        return "no iperf3 here (scripts/packages.sh labs)"
    return ""


def plumbline(*arguments):
    done = subprocess.run([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError("plumbline %s: %s" % (" ".join(arguments), done.stderr))
    return done.stdout


def iperf3(*arguments):
    """One test of a second over loopback: the client's JSON."""
    port = free_port()
    with subprocess.Popen(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port], stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(50):  # until it listens
                done = subprocess.run(["iperf3", "-c", "127.0.0.1", "-p", port, "-t", "1", "-J", *arguments],
                                      stdout=subprocess.PIPE, text=True, check=False)
                if done.returncode == 0 and "error" not in json.loads(done.stdout):  # some errors end with 0
                    return done.stdout
                time.sleep(0.1)
            raise AssertionError("iperf3: " + done.stdout)
        finally:
            server.terminate()


class Exchange(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def test_compare_py_tests_our_files(self):
        for name in ("a", "b"):
            for _ in range(3):
                plumbline("coll", "allreduce", "-b", "8", "-e", "64", "-f", "8", "-n", "50", "--ranks", "2",
                          "-J", self.path(name + ".jsonl"))
            plumbline("report", "gbench-json", self.path(name + ".jsonl"), "-o", self.path(name + ".json"))
        done = subprocess.run([PYTHON, COMPARE, "--no-color", "benchmarks", self.path("a.json"), self.path("b.json")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        tests = [line for line in done.stdout.splitlines() if "U Test, Repetitions: 3 vs 3" in line]
        self.assertEqual(len(tests), 4, done.stdout)  # two sizes, two placements

    def test_real_iperf3_is_imported_with_its_rate(self):
        for arguments in ([], ["-P", "3"], ["-R"], ["-u", "-b", "20M"]):
            text = iperf3(*arguments)
            told = json.loads(text)["end"]["sum_received"]["bits_per_second"]
            line = plumbline("report", "records", self.write("iperf3.json", text))
            self.assertAlmostEqual(json.loads(line.splitlines()[-1])["reported"]["algbw_Bps"] * 8 / told, 1, 9, arguments)
            again = json.loads(plumbline("report", "iperf3-json", self.path("iperf3.json")))
            self.assertAlmostEqual(again["end"]["sum_received"]["bits_per_second"] / told, 1, 6, arguments)


if __name__ == "__main__":
    REASON = why_not()
    if REASON:
        print("skipped: " + REASON)
        sys.exit(SKIPPED)
    unittest.main()
