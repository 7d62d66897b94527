"""benchmarks/vs_peers.py: its arithmetic on recorded times, that every contender has a time or a reason, that wrong results have no time, and that no
process stays when it is interrupted or a contender hangs."""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import house

BENCHMARKS = os.path.join(house.ROOT, "benchmarks")
sys.path.insert(0, BENCHMARKS)

if sys.platform.startswith("linux"):
    import contenders  # noqa: E402
    import private_network  # noqa: E402
    import processes  # noqa: E402
    import vs_peers  # noqa: E402

BUILD = os.environ.get("TEST_BUILD", os.path.join(house.ROOT, "build"))
SCRIPT = os.path.join(BENCHMARKS, "vs_peers.py")
PLUMBLINE = os.path.join(BUILD, "plumbline")

# An operation of one rank that copies, or does nothing.
PROGRAM = """#include "peer.h"
int main(int, char** argv) {
  const peer::Job job = peer::job_from(argv + 2, 0, 1);
  const peer::Arrays arrays(job);
  return peer::measure(job, arrays, [&] {
    if (argv[1][0] == 'c') std::copy(arrays.in, arrays.in + arrays.count(), arrays.out);
  });
}
"""


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Linux(unittest.TestCase):
    def setUp(self):
        if not sys.platform.startswith("linux"):
            self.skipTest("vs_peers.py is for Linux")
        self.folder = tempfile.mkdtemp(prefix="plumbline-peers-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def vs_peers(self, *words):
        """Exit status, what it printed, what it kept."""
        kept = os.path.join(self.folder, "kept")
        done = subprocess.run([sys.executable, "-B", SCRIPT, "--build", BUILD, "--json", kept, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
        if "no network namespace, so" in done.stdout:
            self.skipTest("no network namespaces here: " + done.stdout.strip())
        if not os.path.exists(kept):
            return done.returncode, done.stdout, None
        with open(kept) as file:
            return done.returncode, done.stdout, json.load(file)


class Arithmetic(Linux):
    def test_an_odd_number_of_rounds_has_a_middle_one(self):
        peers = {"a": [20.0, 30.0, 90.0], "b": [40.0, 15.0, 60.0]}
        self.assertEqual(vs_peers.ratios([10.0, 10.0, 20.0], peers), [2.0, 1.5, 3.0])
        self.assertEqual(vs_peers.describe([10.0, 10.0, 20.0], peers), (2.0, 1.5, 3.0))

    def test_of_an_even_number_the_two_in_the_middle_count(self):
        middle, low, high = vs_peers.describe([1.0, 1.0, 1.0, 2.0], {"a": [4.0, 1.0, 2.0, 16.0]})
        self.assertEqual((middle, low, high), (3.0, 1.0, 8.0))

    def test_a_ratio_needs_both_times_of_one_round(self):
        peers = {"a": [None, 8.0, None, 6.0], "b": [None, None, 3.0, 9.0]}
        self.assertEqual(vs_peers.ratios([1.0, 2.0, 3.0, None], peers), [4.0, 1.0])
        self.assertIsNone(vs_peers.describe([None, 1.0], {"a": [1.0, None]}))
        self.assertIsNone(vs_peers.describe([1.0], {}))

    def test_best_by_its_median(self):
        self.assertEqual(vs_peers.best_of({"once": [1.0, 9.0, 9.0], "often": [4.0, 4.0, 4.0], "never": [None] * 3}), "often")
        self.assertIsNone(vs_peers.best_of({"never": [None]}))

    def test_intervals_hold_the_median_in_95_of_100_cases(self):
        for n in range(vs_peers.LEAST_ROUNDS, 40):
            low, high = vs_peers.interval(range(n))
            outside = 2 * sum(vs_peers.math.comb(n, i) for i in range(low + 1)) / 2**n
            self.assertLessEqual(outside, 0.05, n)
            self.assertEqual(low + high, n - 1)
        self.assertEqual(vs_peers.interval([5.0, 1.0, 3.0]), (1.0, 5.0))
        self.assertGreater(vs_peers.interval(range(30))[0], 0)

    def test_the_slowest_rank_counts_operation_by_operation(self):
        cell = vs_peers.cell_of("allreduce", "in", 8, 2, timed=4)
        for rank, times in enumerate([[10, 50, 10, 10], [20, 10, 30, 40]]):
            with open(os.path.join(self.folder, str(rank)), "w") as file:
                file.write("".join("%d\n" % ns for ns in times))
        self.assertEqual(contenders.median_of_ranks(cell, self.folder), statistics.median([20, 50, 30, 40]))
        for spoilt in ("10\n20\n30\n", "", "10\n20\n30\nx\n"):
            with open(os.path.join(self.folder, "1"), "w") as file:
                file.write(spoilt)
            with self.assertRaises(processes.Failed):
                contenders.median_of_ranks(cell, self.folder)

    def test_the_order_rotates_and_who_fails_is_not_asked_again(self):
        asked = []

        def run(contender, _):
            asked.append(contender.name)
            if contender.name == "b" and asked.count("b") == 2:
                raise processes.Failed("wrong result: no")
            return float(len(asked))

        three = [contenders.Contender(name, "tcp", {}, (), None, None) for name in "abc"]
        times, failures = vs_peers.run_rounds(three, None, 4, run)
        self.assertEqual("".join(asked), "abc" "bca" "ca" "ac")
        self.assertEqual(failures, {"b": (2, "wrong result: no")})
        self.assertEqual(times["b"], [2.0, None, None, None])
        self.assertNotIn(None, times["a"] + times["c"])

    def test_traffic_tells_transports_apart(self):
        def cell(transport, size):
            return vs_peers.cell_of("allreduce", "in", size, 2, transport, timed=100)
        vs_peers.check_traffic(cell("tcp", 1 << 20), 100 << 20)
        vs_peers.check_traffic(cell("shm", 1 << 20), 50_000)
        for transport, moved in (("tcp", 50_000), ("shm", 100 << 20)):
            with self.assertRaisesRegex(processes.Failed, "loopback"):
                vs_peers.check_traffic(cell(transport, 1 << 20), moved)

    def test_all_are_bound_alike_but_who_would_hinder_himself(self):
        cpus = tuple(vs_peers.processors())
        one, two = (contenders.Contender("x", "tcp", {}, (), None, None, threads) for threads in (1, 2))
        for bind, ranks, bound, bound_two in (("auto", 2, len(cpus) > 1, False), ("core", 2, True, True), ("none", 2, False, False),
                                              ("auto", len(cpus) + 1, False, False), ("core", len(cpus) + 1, True, True)):
            cell = vs_peers.cell_of("allreduce", "in", 8, ranks, bind=bind)
            self.assertEqual(one.fitted(cell).cpus, cpus if bound else (), (bind, ranks))
            self.assertEqual(two.fitted(cell).cpus, cpus if bound_two else (), (bind, ranks))
            self.assertEqual(cell.crowded, ranks > len(cpus))

    def test_whole_elements_for_every_rank(self):
        self.assertEqual(vs_peers.whole_bytes("allgather", 100, 3), 96)
        self.assertEqual(vs_peers.whole_bytes("allgather", 8, 3), 0)
        self.assertEqual(vs_peers.whole_bytes("allreduce", 11, 3), 8)


class Table(Linux):
    def test_names_are_unique_and_operations_known(self):
        names = [one.name for one in contenders.PEERS]
        self.assertEqual(len(names), len(set(names)))
        for one in contenders.PEERS:
            self.assertIn(one.transport, ("tcp", "shm"))
            for op, placements in one.can.items():
                self.assertIn(op, contenders.OPS)
                self.assertLessEqual(set(placements.split()), set(contenders.OPS[op][1].split()), (one.name, op))
        for op in contenders.OPS:
            self.assertTrue(any(op in one.can for one in contenders.PEERS), op)

    def test_operations_are_those_of_the_program_and_of_its_peers(self):
        with open(os.path.join(BENCHMARKS, "peer.h")) as file:
            shares = dict(re.findall(r'\{"(\w+)", (true|false), (?:true|false), (?:true|false)\}', file.read()))
        self.assertEqual({op: share == "true" for op, share in shares.items()}, {op: share for op, (share, _) in contenders.OPS.items()})
        if not os.access(PLUMBLINE, os.X_OK):
            self.skipTest("no build/plumbline")
        listed = subprocess.run([PLUMBLINE, "list", "operations"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(re.findall(r"^  (\w+) ", listed, re.MULTILINE), list(contenders.OPS))

    def test_wrong_words_are_refused(self):
        for words, said in ((["--op", "allredcue"], "no operation 'allredcue'; there are: allreduce"), (["--sizes", "8,"], "not a list of sizes"),
                            (["--sizes", "-4"], "not a list"), (["--ranks", "1"], "from 2 to 256"), (["--peers", "nccl"], "no peer 'nccl'"),
                            (["--peers", "mpich_shm"], "give --transport shm"), (["--op", "barrier", "--placement", "in"], "no barrier in place"),
                            (["--rounds", "0"], "not a number")):
            status, out, _ = self.vs_peers(*words)
            self.assertEqual(status, 2, out)
            self.assertIn(said, out)

    def test_a_congestion_control_that_the_kernel_lacks(self):
        status, out, _ = self.vs_peers("--cc", "nosuch")
        self.assertEqual(status, 1, out)
        self.assertIn("congestion control 'nosuch' for all", out)


class Processes(Linux):
    HANGS = "setsid sh -c 'sleep 61 & echo $! >%s/orphan; exec sleep 62' & wait"

    def orphan(self):
        with open(os.path.join(self.folder, "orphan")) as file:
            return int(file.read())

    def test_a_contender_that_hangs_is_ended_with_all_it_started(self):
        processes.adopt_orphans()
        with self.assertRaisesRegex(processes.Failed, "not done after 5 s"):
            processes.run_together([["sh", "-c", self.HANGS % self.folder]], {}, 5, self.folder)
        self.assertFalse(alive(self.orphan()))
        self.assertEqual(processes.below(), [])

    def test_who_has_done_its_work_need_not_end(self):
        done = os.path.join(self.folder, "done")
        processes.run_together([["sh", "-c", ": >%s; exec sleep 60" % done]], {}, 30, self.folder, lambda: os.path.exists(done))
        self.assertEqual(processes.below(), [])
        with self.assertRaisesRegex(processes.Failed, "exit status 4"):
            processes.run_together([["sh", "-c", "exit 4"]], {}, 30, self.folder, lambda: os.path.exists(done))

    def test_the_rank_that_failed_speaks_and_the_others_do_not_wait(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(processes.Failed, r"^wrong result: 3 \(exit status 3\)$"):
            processes.run_together([["sleep", "60"], ["sh", "-c", "echo -- >&2; echo wrong result: 3 >&2; exit 3"]], {}, 60, self.folder)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(processes.Failed, "cannot be started"):
            processes.run_together([["sleep", "60"], ["/no/such/program"]], {}, 60, self.folder)
        self.assertEqual(processes.below(), [])

    def test_ctrl_c_leaves_no_process(self):
        # Our side is played by a program that hangs, with a child in a session of its own, as launchers of MPI have.
        fake = os.path.join(self.folder, "plumbline")
        with open(fake, "w") as file:
            file.write("#!/bin/sh\n" + self.HANGS % self.folder)
        os.chmod(fake, 0o755)
        environment = dict(os.environ, TMPDIR=self.folder)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([sys.executable, "-B", SCRIPT, "--build", self.folder, "--cc", "default"], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            orphan = os.path.join(self.folder, "orphan")
            self.assertTrue(until(lambda: os.path.exists(orphan) and os.path.getsize(orphan)))
            below = processes.below(process.pid)
            self.assertIn(self.orphan(), below)
            process.send_signal(number)
            out = process.communicate(timeout=30)[0]
            self.assertEqual(process.returncode, 130, out)
            self.assertEqual([pid for pid in below if alive(pid)], [], out)
            self.assertEqual(sorted(os.listdir(self.folder)), ["orphan", "plumbline"])
            os.remove(orphan)


class Peers(Linux):
    def require(self, names):
        missing = {one.lacks(lambda name: os.path.join(BUILD, name)) for one in [contenders.OURS, *contenders.PEERS] if one.name in names}
        missing.discard(None)
        if missing:
            self.skipTest("; ".join(sorted(missing)))

    def test_sizes_that_are_finished_stay_when_the_next_is_interrupted(self):
        self.require(["plumbline"])
        fake = os.path.join(self.folder, "plumbline")
        with open(fake, "w") as file:
            file.write("#!/bin/sh\ncase \"$*\" in *' 40 '*) exec %s \"$@\" ;; esac\n" % PLUMBLINE + Processes.HANGS % self.folder)
        os.chmod(fake, 0o755)
        kept, orphan = (os.path.join(self.folder, name) for name in ("kept.json", "orphan"))
        process = subprocess.Popen([sys.executable, "-B", SCRIPT, "--build", self.folder, "--cc", "default", "--rounds", "1", "--iters", "20",
                                    "--sizes", "40,64", "--json", kept], env=dict(os.environ, TMPDIR=self.folder),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertTrue(until(lambda: os.path.exists(orphan) and os.path.getsize(orphan)))
        process.send_signal(signal.SIGTERM)
        out = process.communicate(timeout=30)[0]
        self.assertEqual(process.returncode, 130, out)
        with open(kept) as file:
            self.assertEqual([result["bytes"] for result in json.load(file)["results"]], [40], out)

    def test_every_contender_has_a_time_or_a_reason(self):
        self.require(["plumbline"])
        for transport in ("tcp", "shm"):
            status, out, kept = self.vs_peers("--op", "allreduce", "--rounds", "1", "--iters", "3", "--sizes", "40", "--transport", transport)
            self.assertIn(status, (0, 1), out)
            self.assertEqual(len(kept["results"]), 1, out)
            for result in kept["results"]:
                times = dict(result["peers_us"], plumbline=result["plumbline_us"])
                for name in ["plumbline"] + [one.name for one in contenders.PEERS if one.transport == transport]:
                    found = [bool(times.get(name, [None])[0]), name in result["failures"], name in result["left_out"]]
                    self.assertEqual(sum(found), 1, (name, result))
                    self.assertIn(name, out)
                for failure in result["failures"].values():
                    self.assertTrue(failure["reason"])

    def test_a_peer_with_a_wrong_result_has_no_time(self):
        self.require(["plumbline"])
        os.symlink(PLUMBLINE, os.path.join(self.folder, "plumbline"))
        with open(os.path.join(self.folder, "gloo_peer"), "w") as file:
            file.write("#!/bin/sh\n[ $2 = 1 ] && { echo wrong result: 1 is not 2 >&2; exit 3; }\necho the other one has gone >&2; exit 1\n")
        os.chmod(file.name, 0o755)
        status, out, kept = self.vs_peers("--build", self.folder, "--rounds", "3", "--iters", "3", "--sizes", "8", "--peers", "gloo_ring")
        self.assertEqual(status, 1, out)
        self.assertEqual(kept["results"][0]["peers_us"], {"gloo_ring": [None] * 3})
        self.assertEqual(kept["results"][0]["failures"], {"gloo_ring": {"round": 1, "reason": "wrong result: 1 is not 2 (exit status 3)"}})
        self.assertIn("nothing to compare", out)

    def operations(self, op, names, *words):
        """All of them beside these peers: a time where a peer has the operation, else a reason."""
        self.require(["plumbline"])
        peers = {one.name: one for one in contenders.PEERS if one.name in names}
        lacking = {one.lacks(lambda name: os.path.join(BUILD, name)) for one in peers.values()}
        if None not in lacking:
            self.skipTest("; ".join(sorted(lacking)))
        _, out, kept = self.vs_peers("--op", op, "--rounds", "1", "--iters", "3", "--sizes", "1000", "--peers", ",".join(names), *words)
        for result in kept["results"]:
            self.assertEqual(result["failures"], {}, out)
            self.assertIsNotNone(result["plumbline_us"][0])
            for name, peer in peers.items():
                able = result["placement"] in peer.can.get(result["op"], "").split() and not peer.lacks(lambda at: os.path.join(BUILD, at))
                self.assertEqual(name not in result["left_out"], able, out)
                self.assertEqual(result["peers_us"].get(name, [None])[0] is not None, able, out)
        return [result["op"] for result in kept["results"]]

    def test_all_operations(self):
        self.assertEqual(self.operations("all", ["gloo_only", "openmpi_tcp", "mpich_ucx_tcp"]), list(contenders.OPS))

    def test_a_rank_that_has_no_part_in_an_operation_does_not_end_it(self):
        self.operations("pingpong,stream,bidirectional,broadcast", ["gloo_only"], "--ranks", "3")


class Check(Linux):
    """benchmarks/peer.h, which all peers' programs check and time with."""

    def test_a_wrong_result_has_no_time(self):
        compiler = shutil.which("c++")
        if not compiler:
            self.skipTest("no compiler here")
        source, program = os.path.join(self.folder, "program.cc"), os.path.join(self.folder, "program")
        with open(source, "w") as file:
            file.write(PROGRAM)
        subprocess.run([compiler, "-std=c++20", "-I", BENCHMARKS, source, "-o", program], check=True, timeout=120)
        times = os.path.join(self.folder, "0")
        for op in contenders.OPS:
            if op == "barrier" or op in ("pingpong", "stream", "bidirectional"):
                continue  # nothing to check, or not with one rank
            for work in ("copies", "sleeps"):
                done = subprocess.run([program, work, op, "out", "4096", "7", "2", self.folder, "-"], stderr=subprocess.PIPE, text=True)
                if work == "copies":
                    self.assertEqual((done.returncode, done.stderr), (0, ""), op)
                    with open(times) as file:
                        self.assertEqual(len(file.readlines()), 7)
                    os.remove(times)
                else:
                    self.assertEqual(done.returncode, 3, op)
                    self.assertEqual(done.stderr, "wrong result: %s, element 0 of rank 0 is -1, not 0\n" % op)
                    self.assertFalse(os.path.exists(times))


if __name__ == "__main__":
    house.main()
