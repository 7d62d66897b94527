"""scripts/packages.sh against make-believe package managers, so that nothing is ever installed."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import house

SCRIPT = os.path.join(house.ROOT, "scripts", "packages.sh")
TOOLS = "bash awk grep sed cat xargs echo env rm id".split()
LOG = 'echo "$(basename "$0") $*" >>"$LOG"\n'

STUBS = {
    # Knows as installed what $INSTALLED lists; answers 1 for any other name, as the real one does.
    "dpkg-query": 'shift 3; status=0\nfor name; do case " $INSTALLED " in\n'
    '  *" $name "*) echo "installed $name";; *) status=1;; esac; done\nexit $status\n',
    "apt-get": LOG + 'echo "frontend=$DEBIAN_FRONTEND" >>"$LOG"\n'
    'case "$*" in *update*) exit "${UPDATE_STATUS:-0}";; esac\n',
    "id": 'echo "${USER_ID:-0}"\n',
    "sudo": LOG + 'if [ "$1" = -n ]; then shift; [ "$PASSWORD" = no ] || exit 1; fi\n"$@"\n',
    "brew": LOG + 'case $1 in list) printf "%s\\n" $INSTALLED;; esac\n',
    "tee": LOG + "cat >/dev/null\n",  # stands before the real policy-rc.d
    "chmod": LOG,
    "basename": 'echo "${1##*/}"\n',
    "true": "exit 0\n",
}


def rows():
    out = subprocess.run([SCRIPT, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split() for line in out.splitlines()]


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plumbline-packages-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = os.path.join(self.folder, "log")
        open(self.log, "w").close()
        for tool in TOOLS:
            os.symlink(shutil.which(tool), os.path.join(self.folder, tool))
        for name, text in STUBS.items():
            self.stub(name, text)

    def stub(self, name, text):
        path = os.path.join(self.folder, name)
        if os.path.lexists(path):
            os.remove(path)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def remove(self, name):
        os.remove(os.path.join(self.folder, name))

    def run_script(self, *arguments, installed="", **variables):
        environment = {"PATH": self.folder, "LOG": self.log, "INSTALLED": installed, **variables}
        done = subprocess.run(
            [SCRIPT, *arguments], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
        )
        with open(self.log) as file:
            return done.returncode, done.stdout, file.read()

    def all_of(self, group, column=1):
        return " ".join(row[column] for row in rows() if row[0] == group and row[column] != "-")

    def test_does_nothing_when_nothing_is_missing(self):
        status, out, log = self.run_script("run", installed=self.all_of("run"))
        self.assertEqual((status, out, log), (0, "", ""))

    def test_installs_exactly_what_is_missing(self):
        installed = self.all_of("run").replace("iproute2", "")
        status, out, log = self.run_script("run", installed=installed)
        self.assertEqual(status, 0, out)
        self.assertIn("installing with apt-get: iproute2\n", out)
        self.assertRegex(log, r"apt-get .*update\n(.*\n)*apt-get .*install --no-install-recommends iproute2\n")
        self.assertIn("frontend=noninteractive", log)
        self.assertNotIn("gnuplot", log)
        self.assertNotIn("policy-rc.d", log)  # only the labs group keeps services down

    def test_a_package_in_two_groups_is_installed_once(self):
        _, _, log = self.run_script("run", "labs")
        self.assertEqual(log.count("iproute2"), 1)

    def test_check_installs_nothing(self):
        status, out, log = self.run_script("--check", "run")
        self.assertEqual((status, log), (1, ""))
        self.assertIn("missing: gnuplot-nox", out)

    def test_an_unknown_group_is_named_beside_the_known_ones(self):
        status, out, log = self.run_script("run", "bulid")
        self.assertEqual((status, log), (1, ""))
        self.assertIn("no group 'bulid'; there are: build run test", out)

    def test_without_root_uses_sudo_that_needs_no_password(self):
        status, out, log = self.run_script("run", USER_ID="1000", PASSWORD="no")
        self.assertEqual(status, 0, out)
        self.assertRegex(log, r"sudo apt-get .*update")
        self.assertRegex(log, r"sudo env .*install")

    def test_without_root_says_what_to_run_when_sudo_would_ask(self):
        status, out, log = self.run_script("run", USER_ID="1000", PASSWORD="yes")
        self.assertEqual(status, 1)
        self.assertIn("sudo apt-get install --no-install-recommends gnuplot-nox", out)
        self.assertNotIn("apt-get", log)

    def test_without_root_and_sudo_says_what_to_run(self):
        self.remove("sudo")
        status, out, log = self.run_script("run", USER_ID="1000")
        self.assertEqual((status, log), (1, ""))
        self.assertIn("as root run: apt-get install --no-install-recommends gnuplot-nox", out)

    def test_a_failed_update_ends_it(self):
        status, out, log = self.run_script("run", UPDATE_STATUS="100")
        self.assertEqual(status, 1)
        self.assertIn("apt-get update failed", out)
        self.assertNotIn("install", log)

    def test_labs_keep_services_from_starting(self):
        if os.path.exists("/usr/sbin/policy-rc.d"):
            self.skipTest("this machine has a policy-rc.d of its own, which is left alone")
        status, out, log = self.run_script("labs")
        self.assertEqual(status, 0, out)
        self.assertRegex(log, r"tee /usr/sbin/policy-rc.d\n(.*\n)*apt-get .*install")

    def test_homebrew_when_there_is_no_apt(self):
        self.remove("apt-get")
        status, out, log = self.run_script("run", "build", installed="cmake ninja googletest")
        self.assertEqual(status, 0, out)
        installs = [line for line in log.splitlines() if line.startswith("brew install")]
        self.assertEqual(len(installs), 1, log)
        self.assertIn(" gnuplot ", installs[0] + " ")
        for name in ("googletest", "cmake", "iproute2", " - "):
            self.assertNotIn(name, installs[0])

    def test_neither_manager_lists_the_names(self):
        self.remove("apt-get")
        self.remove("brew")
        status, out, _ = self.run_script("run")
        self.assertEqual(status, 1)
        self.assertIn("install by hand: gnuplot-nox", out)


class Table(unittest.TestCase):
    def test_every_row_has_a_name_for_both_systems(self):
        self.assertGreater(len(rows()), 20)
        for row in rows():
            self.assertEqual(len(row), 3, row)
            self.assertRegex(row[1], r"^[a-z0-9][a-z0-9+.-]+$")
            self.assertRegex(row[2], r"^(-|[a-z0-9][a-z0-9@.-]+)$")

    def test_no_package_twice_in_a_group(self):
        seen = [(row[0], row[1]) for row in rows()]
        self.assertEqual(len(seen), len(set(seen)))


class Formula(unittest.TestCase):
    """HomebrewFormula/plumbline.rb against the table."""

    # What a build without tests and benchmarks leaves out, and where its headers lie.
    FOR_TESTS = {"googletest": "gtest gmock", "google-benchmark": "benchmark", "valijson": "valijson"}
    TEXT = house.read("HomebrewFormula/plumbline.rb")

    def test_it_depends_on_what_the_table_says(self):
        table = {row[2] for row in rows() if row[0] in ("build", "run")} - {"-"} - set(self.FOR_TESTS)
        named = re.findall(r'^  depends_on "([^"]+)"', self.TEXT, re.M)
        self.assertGreater(len(named), 5)
        self.assertEqual(sorted(named), sorted(table))

    def test_what_it_leaves_out_is_for_tests_alone(self):
        for name, folders in self.FOR_TESTS.items():
            self.assertIn(name, {row[2] for row in rows()})
            included = re.compile("#include <(?:%s)/" % folders.replace(" ", "|"))
            users = [path for path in house.files() if path.endswith((".cc", ".h")) and included.search(house.read(path))]
            self.assertTrue(users, name)
            for path in users:
                self.assertTrue(path.startswith("tests/") or path.endswith("_bench.cc"), path)

    def test_it_builds_without_tests(self):
        for option in ("PLUMBLINE_TESTS", "PLUMBLINE_BENCHMARKS"):
            self.assertIn('"-D%s=OFF"' % option, self.TEXT)
            self.assertIn("option(%s " % option, house.read("CMakeLists.txt"))

    def test_its_command_is_one_of_ours(self):
        self.assertIn('system bin/"plumbline", "selftest"', self.TEXT)
        self.assertTrue(os.path.exists(os.path.join(house.ROOT, "cli", "selftest_command.cc")))


if __name__ == "__main__":
    house.main()
