"""scripts/run_ctest.py: skips are counted with their reasons, the summary comes last, the exit
status is ctest's. ctest is played by a script that prints a recorded run."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import house

sys.path.insert(0, os.path.join(house.ROOT, "scripts"))
import run_ctest  # noqa: E402

LOG = """1/3 Testing: lab.mesh
[ RUN      ] lab.mesh
tests/lab/mesh_test.cc:12: Skipped
needs root

[  SKIPPED ] lab.mesh (0 ms)
2/3 Testing: lab.star
tests/lab/star_test.cc:40: Skipped
needs root
3/3 Testing: house.x
__main__.X.y: Skipped
shellcheck is not installed
"""
# As ctest writes it: a test that passed, one of GoogleTest that failed, one that was ended while it was silent.
FAILED_LOG = """Start testing: Nov 26 01:53 UTC
----------------------------------------------------------
1/3 Testing: core.A.Passes
1/3 Test: core.A.Passes
Command: "tests_core" "--gtest_filter=A.Passes"
Directory: build/tests
"core.A.Passes" start time: Nov 26 01:53 UTC
Output:
----------------------------------------------------------
a.cc:1: Failure
of a part that is meant to fail
<end of output>
Test time =   0.00 sec
----------------------------------------------------------
Test Passed.
"core.A.Passes" end time: Nov 26 01:53 UTC
----------------------------------------------------------

2/3 Testing: core.A.Skips
2/3 Test: core.A.Skips
Output:
----------------------------------------------------------
a.cc:5: Skipped
needs root
<end of output>
Test time =   0.00 sec
----------------------------------------------------------
Test Pass Reason:
Skip regular expression found in output. Regex=[Skipped]
----------------------------------------------------------

2/3 Testing: core.A.Fails
2/3 Test: core.A.Fails
Output:
----------------------------------------------------------
[ RUN      ] A.Fails
tests/core/a_test.cc:7: Failure
Expected: one
  Actual: two
%s[  FAILED  ] A.Fails (1 ms)
<end of output>
Test time =   0.00 sec
----------------------------------------------------------
Test Failed.
----------------------------------------------------------

3/3 Testing: lab.silent
3/3 Test: lab.silent
Output:
----------------------------------------------------------
<end of output>
Test time =   1.00 sec
----------------------------------------------------------
Test Failed.
----------------------------------------------------------
""" % "".join("line %d\n" % number for number in range(100))
OUTPUT = """Test project build
1/3 Test #1: lab.mesh ....***Skipped 0.01 sec

67% tests passed, 1 tests failed out of 3

Total Test time (real) =   1.50 sec
"""


class RunCtest(unittest.TestCase):
    def test_reasons_are_counted(self):
        reasons = run_ctest.skip_reasons(LOG)
        self.assertEqual(reasons, {"needs root": 2, "shellcheck is not installed": 1})

    def run_with(self, log, output, status):
        folder = tempfile.mkdtemp(prefix="plumbline-ctest-")
        self.addCleanup(shutil.rmtree, folder)
        logs = os.path.join(folder, "Testing", "Temporary")
        os.makedirs(logs)
        # Left over from an earlier run: must not be read.
        with open(os.path.join(logs, "LastTest.log"), "w") as file:
            file.write("a.cc:1: Skipped\nstale\n")
        for name, text in (("log", log), ("output", output)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        with open(os.path.join(folder, "ctest"), "w") as file:
            file.write('#!/bin/sh\ncp "%s/log" "%s/LastTest.log"\n' % (folder, logs))
            file.write('echo "arguments: $*"\ncat "%s/output"\nexit %d\n' % (folder, status))
        os.chmod(file.name, 0o755)
        environment = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])
        return subprocess.run(
            [sys.executable, "-B", run_ctest.__file__, folder, "-L", "core"], env=environment,
            stdout=subprocess.PIPE, text=True, timeout=60,
        )

    def test_the_summary_comes_last_and_the_status_is_passed_on(self):
        done = self.run_with(LOG, OUTPUT, 8)
        self.assertEqual(done.returncode, 8)
        self.assertIn("-L core", done.stdout)
        self.assertTrue(done.stdout.endswith(OUTPUT[OUTPUT.index("67%") :]), done.stdout)
        self.assertLess(done.stdout.index("2 x needs root"), done.stdout.index("67%"))
        self.assertNotIn("stale", done.stdout)

    def test_what_failed_tests_said_stands_before_the_summary(self):
        done = self.run_with(FAILED_LOG, OUTPUT, 8)
        told = done.stdout[done.stdout.index("failed, with what they said") : done.stdout.index("skipped, with")].splitlines()
        self.assertEqual(
            told[1:],
            ["  core.A.Fails", "    | tests/core/a_test.cc:7: Failure", "    | Expected: one", "    |   Actual: two",
             "    | line 0", "    | line 1", "    | line 97", "    | line 98", "    | line 99",
             "    | [  FAILED  ] A.Fails (1 ms)", "  lab.silent", ""],
        )

    def test_a_failure_of_many_lines_is_cut(self):
        lines = run_ctest.shortened("WRONG x\n" * 1000)
        self.assertEqual(len(lines), run_ctest.LINES_KEPT + run_ctest.LAST_KEPT)

    def test_nothing_is_added_when_nothing_was_skipped(self):
        done = self.run_with("all ran\n", OUTPUT, 0)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("skipped", done.stdout)


if __name__ == "__main__":
    house.main()
