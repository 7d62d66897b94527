"""What counts in tests/lab/your_job: which cells are drawn, what is a right answer, what a plan is compared with, and that the page hides nothing. All of
it on recorded values: nothing is started."""
import dataclasses
import json
import os
import sys
import tempfile
import unittest
import unittest.mock

import house

LAB = os.path.join(house.ROOT, "tests", "lab")
sys.path[:0] = [os.path.join(LAB, "your_job"), LAB]

if sys.platform.startswith("linux"):
    import doctor  # noqa: E402
    import draw  # noqa: E402
    import faults  # noqa: E402
    import harness  # noqa: E402
    import jobs  # noqa: E402
    import judge  # noqa: E402
    import matrix  # noqa: E402
    import page  # noqa: E402
    import plans  # noqa: E402

STACKS = ("gloo", "torch-gloo", "openmpi", "mpich")
ISSUE = ("own_name_loopback", "wrong_interface", "ephemeral_closed", "master_closed", "never_started", "stopped", "never_reads", "base_is_master",
         "one_way_drop", "killed", "world_size")

# Of a healthy job of two ranks: `ss -tnpaH` on each host.
SS = {"node1": """LISTEN 0 64 *:29500 *:* users:(("job_gloo",pid=7,fd=4))
ESTAB 0 0 10.79.0.1:39395 10.79.0.2:45400 users:(("job_gloo",pid=7,fd=15))
ESTAB 0 0 [::ffff:10.79.0.1]:29500 [::ffff:10.79.0.2]:56514 users:(("job_gloo",pid=7,fd=8))
TIME-WAIT 0 0 10.79.0.1:1025 10.79.0.2:33559
""", "node2": """ESTAB 0 0 10.79.0.2:45400 10.79.0.1:39395 users:(("job_gloo",pid=8,fd=6))
ESTAB 0 0 10.79.0.2:56514 10.79.0.1:29500 users:(("job_gloo",pid=8,fd=4))
LISTEN 0 4096 127.0.0.1:47767 0.0.0.0:* users:(("job_gloo",pid=8,fd=11))
"""}


def listener(ip, first, last=None, kind="fixed"):
    return {"purpose": "a test", "ip": ip, "kind": kind, "first": first, "last": last or first}


def plan():
    return {"higher_calls": True, "ranks": [{"rank": 0, "host": "node1", "ip": "10.79.0.1", "listeners": [listener("0.0.0.0", 29500),
                                                                                  listener("10.79.0.1", 32768, 60999, "ephemeral")]},
                      {"rank": 1, "host": "node2", "ip": "10.79.0.2", "listeners": [listener("10.79.0.2", 32768, 60999, "ephemeral")]}]}


def sockets(texts=None):
    return [one for host, text in (texts or SS).items() for one in plans.parse_ss(host, text)]


def finding(cause, host="node1", outcome="fail", **more):
    return dict({"cause": cause, "outcome": outcome, "host": host, "peer": None, "remedy": "", "commands": []}, **more)


def record(name, **more):
    cell = {"stack": "gloo", "fault": "stopped/sigstop", "hosts": 2, "ranks_per_host": 1, "victim": 0, "handle": "pid", "mode": ""}
    good = {"hit": True, "right": ["job.stopped on node1"], "wrong": [], "late": False, "problem": "", "seconds": 4.0, "said": []}
    return dict({"name": name, "cell": cell, "date": "2026-11-27T23:00Z", "expected": ["hang"], "outcome": "hang", "as_expected": True, "asked": good}, **more)


@unittest.skipUnless(sys.platform.startswith("linux"), "network namespaces are Linux")
class Cells(unittest.TestCase):
    def test_every_fault_of_the_list_is_made_for_every_stack_or_says_why_not(self):
        for name in ISSUE:
            for stack in STACKS:
                made = any(fault.name == name and stack in fault.stacks for fault in faults.FAULTS)
                self.assertNotEqual(made, (name, stack) in faults.NOT_MADE, (name, stack))

    def test_keys_are_of_one_row_for_each_stack(self):
        keys = [(fault.key, stack) for fault in faults.FAULTS for stack in fault.stacks]
        self.assertEqual(len(keys), len(set(keys)))

    def test_at_least_sixty_cells_and_each_row_in_each_of_its_stacks(self):
        cells = draw.draw(1, STACKS)
        self.assertGreaterEqual(len(cells), 60)
        self.assertEqual({(cell.fault, cell.stack) for cell in cells}, {(fault.key, stack) for fault in faults.FAULTS for stack in fault.stacks if stack in STACKS})

    def test_no_more_ranks_than_a_stack_can_have(self):
        limited = dict(jobs.STACKS, gloo=dataclasses.replace(jobs.STACKS["gloo"], most_ranks=2))
        with unittest.mock.patch.object(draw, "STACKS", limited):
            cells = draw.draw(1, ("gloo",)) + draw.healthy(1, ("gloo",))
        self.assertEqual({(cell.hosts, cell.ranks_per_host) for cell in cells if not cell.fault or faults.find(cell.fault, "gloo").least_hosts < 3}, {(2, 1)})

    def test_a_seed_draws_the_same_cells_and_another_one_others(self):
        self.assertEqual(draw.draw(7, STACKS), draw.draw(7, STACKS))
        self.assertNotEqual(draw.draw(7, STACKS), draw.draw(8, STACKS))

    def test_all_pairs_of_sizes_and_handles_occur_with_each_stack(self):
        seen = {(cell.stack, cell.hosts, cell.ranks_per_host) for cell in draw.draw(1, STACKS)}
        self.assertEqual(len(seen), len(STACKS) * len(draw.HOSTS) * len(draw.RANKS))
        self.assertEqual(len({(cell.stack, cell.handle) for cell in draw.draw(1, STACKS)}), len(STACKS) * len(draw.HANDLES))

    def test_victims_are_where_the_fault_can_be(self):
        for cell in draw.draw(3, STACKS):
            fault = faults.find(cell.fault, cell.stack)
            self.assertIn(cell.victim, draw.victim_indices(fault, cell.hosts), cell)
            self.assertGreaterEqual(cell.hosts, fault.least_hosts, cell)

    def test_a_missing_stack_leaves_its_cells_out(self):
        self.assertEqual({cell.stack for cell in draw.draw(1, ["mpich"])}, {"mpich"})

    def test_healthy_runs_are_ten_of_each_with_all_modes(self):
        cells = draw.healthy(1, STACKS)
        for stack in STACKS:
            self.assertEqual(len({cell.name for cell in cells if cell.stack == stack}), 10)
            self.assertEqual({cell.mode for cell in cells if cell.stack == stack}, {"steps", "compute", "idle", "load"})

    def test_what_can_be_predicted_is_made_before_the_start(self):
        for fault in faults.FAULTS:
            self.assertFalse(fault.predicted and fault.when == "after", fault.key)
            self.assertFalse(fault.harmless and fault.predicted, fault.key)


@unittest.skipUnless(sys.platform.startswith("linux"), "network namespaces are Linux")
class Judging(unittest.TestCase):
    stopped = None

    def setUp(self):
        self.stopped = faults.find("stopped/sigstop", "gloo")

    def judge(self, findings, question="name", hosts=("node1",), seconds=3.0, problem="", fault="stopped"):
        answer = doctor.Answer(seconds, findings, problem)
        return judge.judge(self.stopped if fault == "stopped" else fault, set(hosts) if hosts else None, question, answer, doctor.LIMIT_SECONDS)

    def test_the_right_cause_on_the_right_host_hits(self):
        one = self.judge([finding("job.stopped")])
        self.assertTrue(one["hit"])
        self.assertEqual((one["right"], one["wrong"]), (["job.stopped on node1"], []))

    def test_the_right_cause_on_another_host_is_wrong(self):
        one = self.judge([finding("job.stopped", "node2")])
        self.assertFalse(one["hit"])
        self.assertEqual(one["wrong"], ["job.stopped on node2"])

    def test_ranks_that_ended_may_be_said_to_have_ended(self):
        answer = doctor.Answer(1, [finding("rank.dead", "node2")])
        one = judge.judge(self.stopped, {"node1"}, "name", answer, 15, gone={"node2"})
        self.assertEqual((one["hit"], one["right"], one["wrong"]), (False, [], []))
        self.assertEqual(judge.judge(self.stopped, {"node1"}, "name", answer, 15, gone={"node3"})["wrong"], ["rank.dead on node2"])

    def test_a_note_neither_hits_nor_harms(self):
        one = self.judge([finding("job.stopped", outcome="note"), finding("icmp.blocked", outcome="note")])
        self.assertEqual((one["hit"], one["wrong"]), (False, []))

    def test_late_answers_and_none_at_all_are_missed(self):
        self.assertFalse(self.judge([finding("job.stopped")], seconds=15.1)["hit"])
        self.assertFalse(self.judge([], problem="exit code 1")["hit"])
        self.assertTrue(judge.judge(self.stopped, None, "name", doctor.Answer(99, [finding("job.stopped")]), None)["hit"])

    def test_where_nothing_can_be_known_yet_silence_is_right_and_talk_is_wrong(self):
        self.assertEqual(self.judge([], question="predict")["hit"], None)
        self.assertEqual(self.judge([finding("job.stopped")], question="predict")["wrong"], ["job.stopped on node1"])

    def test_healthy_jobs_are_left_alone(self):
        self.assertEqual(self.judge([finding("name.loopback", outcome="warn")], fault=None)["wrong"], ["name.loopback on node1"])

    def test_harmless_facts_may_warn_and_must_not_fail(self):
        fault = faults.find("own_name_loopback/not_asked", "mpich")
        self.assertEqual(self.judge([finding("name.loopback", outcome="warn")], fault=fault)["wrong"], [])
        self.assertEqual(self.judge([finding("name.loopback")], fault=fault)["wrong"], ["name.loopback on node1"])

    def test_of_a_job_that_is_gone_nobody_is_named(self):
        answer = doctor.Answer(1, [])
        self.assertEqual(judge.judge(self.stopped, None, "name", answer, 15, alive=False)["hit"], None)

    def test_wilson_by_hand(self):
        p, low, high = judge.wilson(60, 60)
        self.assertEqual((p, high), (1, 1))
        self.assertAlmostEqual(low, 60 / (60 + 1.959964 ** 2))
        p, low, high = judge.wilson(50, 100)
        self.assertAlmostEqual(low, 1 - high)
        self.assertAlmostEqual(low, 0.40383, places=4)
        self.assertEqual(judge.wilson(0, 0), (None, 0.0, 1.0))

    def test_totals(self):
        good, bad = record("a"), record("b")
        bad["asked"] = {"hit": False, "right": [], "wrong": ["host.limits on node1"], "late": True, "problem": "", "seconds": 20.0}
        total = judge.totals([good, bad, {"name": "not asked"}], "asked")
        self.assertEqual((total["recall"], total["precision"], total["late"], total["seconds"]), ((1, 2), (1, 2), 1, (20.0, 20.0)))


@unittest.skipUnless(sys.platform.startswith("linux"), "network namespaces are Linux")
class Answers(unittest.TestCase):
    def test_what_is_no_diagnosis_is_a_problem(self):
        for text in ("", "everything is fine", "[]", '{"findings": []}', "{"):
            self.assertIn("no diagnosis", doctor.answer_of(text, 1, 0.1).problem, text)
        self.assertEqual(doctor.answer_of('{"findings": [], "verdict": "ok", "stack": {"ranks": []}}', 0, 0.1).plan, {"ranks": []})

    def test_variables_of_a_remedy_in_words(self):
        self.assertEqual(doctor.variables_in("set GLOO_SOCKET_IFNAME=eth0 for the ranks on node1"), {"GLOO_SOCKET_IFNAME": "eth0"})
        self.assertEqual(doctor.variables_in("export UCX_NET_DEVICES=eth0, then start again"), {"UCX_NET_DEVICES": "eth0"})
        self.assertEqual(doctor.variables_in("raise btl_tcp_if_include=10.0.0.0/24;"), {"OMPI_MCA_btl_tcp_if_include": "10.0.0.0/24"})
        self.assertEqual(doctor.variables_in("kill -CONT 7"), {})


@unittest.skipUnless(sys.platform.startswith("linux"), "network namespaces are Linux")
class Plans(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(plans.compare(plan(), sockets()), [])

    def test_a_listener_that_the_plan_lacks(self):
        wrong = plan()
        del wrong["ranks"][0]["listeners"][0]
        self.assertIn("node1 listens on *:29500 (job_gloo), which the plan does not foretell", plans.compare(wrong, sockets()))

    def test_a_listener_that_is_not_there(self):
        wrong = plan()
        wrong["ranks"][1]["listeners"].append(listener("0.0.0.0", 1024))
        self.assertEqual(plans.compare(wrong, sockets()), ["node2 does not listen on 0.0.0.0:1024-1024 (a test), which the plan foretells"])

    def test_another_interface(self):
        wrong = json.loads(json.dumps(plan()).replace("10.79.0.2", "172.17.0.1"))
        self.assertIn("node2 talks from 10.79.0.2; the plan foretells 172.17.0.1", plans.compare(wrong, sockets()))

    def test_ports_outside_of_the_range(self):
        wrong = json.loads(json.dumps(plan()).replace("32768", "40000"))
        self.assertTrue(any("39395" in line for line in plans.compare(wrong, sockets())))
        wrong["higher_calls"] = False  # then it may have been the other end that waited
        self.assertFalse(any("39395" in line for line in plans.compare(wrong, sockets())))

    def test_the_twin_of_a_listener_on_ipv6_and_loopback_are_no_difference(self):
        texts = {"node1": SS["node1"].replace("*:29500", "0.0.0.0:29500") + 'LISTEN 0 9 [::]:1024 [::]:* users:(("job_gloo",pid=7,fd=16))\n', "node2": SS["node2"]}
        self.assertEqual(plans.compare(plan(), sockets(texts)), [])

    def test_lines_that_are_none(self):
        self.assertEqual(plans.parse_ss("h", "\n \nLISTEN\nESTAB 0 0 x\nState Recv-Q Send-Q Local Peer\n"), [])
        odd = plans.parse_ss("h", "LISTEN 0 1 [fe80::1%eth0]:80 [::]:*\n")[0]
        self.assertEqual((odd.ip, odd.port, odd.programs), ("fe80::1", 80, ()))


@unittest.skipUnless(sys.platform.startswith("linux"), "network namespaces are Linux")
class Page(unittest.TestCase):
    ABOUT = {"plumbline": "plumbline 0.1", "kernel": "6.1", "packages": ["libgloo0 0.0"]}

    def test_failures_stand_in_it(self):
        missed, accused = record("a"), record("b")
        missed["asked"] = dict(missed["asked"], hit=False, right=[])
        accused["asked"] = dict(accused["asked"], wrong=["host.limits on node2"])
        odd = record("c", outcome="runs", as_expected=False)
        text = page.page([missed, accused, odd, record("d", trouble="Traceback\nRuntimeError: no such thing")], 1)
        for word in ("**missed**", "**wrong:** host.limits on node2", "**runs**, not hang", "RuntimeError: no such thing", "Not measured: mpich, openmpi, torch-gloo, torch-nccl.",
                     "4 cells; 2 became"):
            self.assertIn(word, text)

    def test_it_is_a_function_of_the_records(self):
        self.assertEqual(page.page([record("a")], 1), page.page([record("a")], 1))

    def test_each_machine_is_named_with_what_ran_there(self):
        there = record("b", about=dict(self.ABOUT, kernel="6.18"), date="2026-11-28T03:00Z")
        there["cell"] = dict(there["cell"], stack="torch-nccl")
        text = page.page([record("a", about=self.ABOUT), there], 1)
        self.assertIn("- 2026-11-27: gloo, with plumbline 0.1, kernel 6.1, libgloo0 0.0.", text)
        self.assertIn("- 2026-11-28: torch-nccl, with plumbline 0.1, kernel 6.18, libgloo0 0.0.", text)

    def test_no_records_make_a_page_too(self):
        self.assertIn("none asked", page.page([], 1))

    def test_the_newest_record_of_a_cell_counts(self):
        self.assertEqual(page.newest([record("a", outcome="old"), record("b"), record("a", outcome="new")])[0]["outcome"], "new")

    def test_a_line_that_was_cut_off_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cells")
            with open(path, "w") as file:
                file.write(json.dumps(record("a")) + "\n" + json.dumps(record("b"))[:40])
            self.assertEqual([one["name"] for one in matrix.read_records(path)], ["a"])
        self.assertEqual(matrix.read_records("/nowhere"), [])


@unittest.skipUnless(sys.platform.startswith("linux"), "network namespaces are Linux")
class Starting(unittest.TestCase):
    def test_nothing_of_the_developers_shell_reaches_a_job(self):
        os.environ["GLOO_SOCKET_IFNAME"] = "nonsense"
        try:
            self.assertNotIn("GLOO_SOCKET_IFNAME", jobs.clean_environment())
        finally:
            del os.environ["GLOO_SOCKET_IFNAME"]

    def test_ranks_are_dealt_by_host(self):
        job = jobs.Job(["node1", "node2"], 2)
        self.assertEqual([job.host_of(rank) for rank in range(job.size)], ["node1", "node1", "node2", "node2"])

    def test_this_process_is_no_rank(self):
        self.assertIsNone(harness.rank_of(os.getpid()))
        self.assertIsNone(harness.rank_of(2 ** 22 + 1))


if __name__ == "__main__":
    house.main()
