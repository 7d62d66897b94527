"""cmake --install into an empty folder: everything arrives, and the installed program runs."""
import glob
import os
import shutil
import subprocess
import tempfile
import unittest

import house

BUILD = os.environ.get("TEST_BUILD", os.path.join(house.ROOT, "build"))


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BUILD, "plumbline")):
            raise unittest.SkipTest("the program is not part of this build")
        cls.prefix = tempfile.mkdtemp(prefix="plumbline-install-")
        cls.addClassCleanup(shutil.rmtree, cls.prefix)
        cls.done = subprocess.run(
            ["cmake", "--install", BUILD, "--prefix", cls.prefix], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=120,
        )

    def path(self, *parts):
        return os.path.join(self.prefix, *parts)

    def test_it_succeeds(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout)

    def test_the_program_runs(self):
        program = self.path("bin", "plumbline")
        done = subprocess.run([program, "version"], stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn("plumbline", done.stdout)

    def test_an_installed_scenario_can_be_planned(self):
        scenario = self.path("share", "plumbline", "scenarios", "quickstart.json")
        done = subprocess.run(
            [self.path("bin", "plumbline"), "plan", scenario], cwd=self.prefix,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_an_installed_scenario_is_found_by_its_name(self):
        program = self.path("bin", "plumbline")
        for words, said in ((["plan", "smoke"], "allreduce"), (["list", "scenarios"], "quickstart")):
            done = subprocess.run(
                [program, *words], cwd=self.prefix, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=60,
            )
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(said, done.stdout)

    def test_papers_and_completions_are_there(self):
        for parts in (
            ("share", "doc", "plumbline", "README.md"),
            ("share", "doc", "plumbline", "LICENSE"),
            ("share", "doc", "plumbline", "CHANGELOG.md"),
            ("share", "doc", "plumbline", "CONTRIBUTING.md"),
            ("share", "doc", "plumbline", "docs", "measuring.md"),
            ("share", "bash-completion", "completions", "plumbline"),
            ("share", "zsh", "site-functions", "_plumbline"),
            ("share", "fish", "vendor_completions.d", "plumbline.fish"),
            ("share", "man", "man1", "plumbline.1"),
        ):
            with self.subTest(parts[-1]):
                self.assertGreater(os.path.getsize(self.path(*parts)), 0)

    def test_modules_of_engines_are_found_where_they_are_installed(self):
        built = glob.glob(os.path.join(BUILD, "plumbline_engine_*.so"))
        if not built:
            self.skipTest("no module is built")
        done = subprocess.run(
            [self.path("bin", "plumbline"), "list", "engines"], cwd=self.prefix, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60,
        )
        for module in built:
            name = os.path.basename(module)
            self.assertTrue(os.path.exists(self.path("lib", "plumbline", name)), name)
            self.assertNotIn("there is no " + name, done.stdout)

    def test_no_source_files_are_installed(self):
        for _, _, names in os.walk(self.prefix):
            for name in names:
                self.assertFalse(name.endswith((".cc", ".h")), name)


if __name__ == "__main__":
    house.main()
