"""Every script parses, says what it does when asked, and refuses what it does not know."""
import os
import re
import shutil
import subprocess
import unittest

import house


def shell_scripts():
    return [path for path in house.files() if house.read(path).startswith("#!/usr/bin/env bash")]


def run(*command):
    return subprocess.run(
        command, cwd=house.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=120,
    )


class Scripts(unittest.TestCase):
    def test_the_scripts_are_found(self):
        for name in ("quickstart.sh", "test.sh", ".ci/run", "scripts/packages.sh"):
            self.assertIn(name, shell_scripts())

    def test_bash_can_parse_them(self):
        for path in shell_scripts():
            done = run("bash", "-n", path)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_they_stop_at_the_first_error(self):
        for path in shell_scripts():
            self.assertIn("\nset -euo pipefail\n", house.read(path), path)

    def test_they_may_be_executed(self):
        for path in house.files():
            if house.read(path).startswith("#!"):
                self.assertTrue(os.access(os.path.join(house.ROOT, path), os.X_OK), path)

    def test_shellcheck_has_nothing_to_say(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed (scripts/packages.sh lint)")
        done = run("shellcheck", *shell_scripts())
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_help_explains_and_does_nothing(self):
        for path in shell_scripts():
            done = run("./" + path, "--help")
            self.assertEqual(done.returncode, 0, path + ": " + done.stdout)
            self.assertIn(path, done.stdout)
            self.assertNotIn("set -euo", done.stdout)

    def test_quickstart_refuses_what_it_does_not_know(self):
        for arguments in (["--uot", "x"], ["x"], ["--out"]):
            done = run("./quickstart.sh", *arguments)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertTrue(done.stdout.startswith("quickstart: "), done.stdout)

    def test_sanitizers_leave_out_labs_but_not_the_unit_tests_of_the_folder_lab(self):
        pattern = re.search(r"^readonly not_units='(.*)'$", house.read(".ci/run"), re.M).group(1)
        for label in ("lab", "process", "house", "exhaustive"):
            self.assertTrue(re.search(pattern, label), label)
        for label in ("labs", "core", "reports", "fuzz"):
            self.assertFalse(re.search(pattern, label), label)

    def test_python_can_parse_its_own(self):
        for path in house.files():
            if path.endswith(".py"):
                compile(house.read(path), path, "exec")


if __name__ == "__main__":
    house.main()
