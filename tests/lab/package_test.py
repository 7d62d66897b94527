#!/usr/bin/env python3
"""The packages where nothing else is: the .deb installed, run and removed in a Debian root that holds apt and no more, made by mmdebstrap from
this machine's own package sources; the tarball unpacked in an empty folder and run there."""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from namespaces import SKIPPED, require_lab
from record_lines import records_of
from static_files import static_binary

BUILD = os.environ["TEST_BUILD"]
SCENARIO = "quickstart"
NO_NETWORK = re.compile("Could not resolve|Could not connect|Unable to connect|Temporary failure|Network is unreachable|Connection timed out|Connection reset|"
                        "Failed to fetch|Hash Sum mismatch")


def cpack(folder, *words):
    quick = ("-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
    done = subprocess.run(["cpack", "--config", BUILD + "/CPackConfig.cmake", "-B", str(folder), *quick, *words], capture_output=True, text=True,
                          timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)


def debian_suite():
    """The release of this machine, for which its .deb is; None on other systems."""
    try:
        words = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    except OSError:
        return None
    return words.get("VERSION_CODENAME") if words.get("ID") == "debian" else None


def package_sources():
    for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"):
        if os.path.exists(path) and os.path.getsize(path) > 0:
            return path
    return None


class Scratch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def run_in(self, root, *words, code=(0,), network=False):
        """In `root` with a /proc of its own, and where there is no need of the network with a loopback of its own."""
        up = "" if network else "ip link set lo up && "
        script = up + 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"]), "sh", "-c", script, str(root),
                               *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                                   "DEBIAN_FRONTEND": "noninteractive"})
        self.assertIn(done.returncode, code, "%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
        return done.stdout


class Deb(Scratch):
    def setUp(self):
        for tool, package in (("mmdebstrap", "mmdebstrap"), ("dpkg-shlibdeps", "dpkg-dev"), ("file", "file")):
            if shutil.which(tool) is None:
                self.skipTest("no %s here (package %s; scripts/packages.sh labs test)" % (tool, package))
        self.suite, self.sources = debian_suite(), package_sources()
        if self.suite is None or self.sources is None:
            self.skipTest("a .deb is for the Debian that it is built on, and this is none, or its package sources are not known")

    def make_root(self, deb):
        root = self.folder / "root"
        install = 'chroot "$1" apt-get install --yes --quiet --no-install-recommends /tmp/%s' % deb.name
        try:
            done = subprocess.run(["mmdebstrap", "--variant=apt", "--mode=root", "--aptopt=Acquire::Languages \"none\"", "--aptopt=Acquire::Retries \"2\"",
                                   "--customize-hook=copy-in %s /tmp" % deb, "--customize-hook=" + install, self.suite, str(root), self.sources],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400)
        except subprocess.TimeoutExpired:
            self.skipTest("the package sources have not given a Debian root in 400 s")
        if done.returncode != 0 and NO_NETWORK.search(done.stderr):
            self.skipTest("no package source answers: " + NO_NETWORK.search(done.stderr).group())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return root

    def test_the_deb_is_installed_runs_and_is_removed_in_an_empty_debian_root(self):
        cpack(self.folder)
        (deb,) = self.folder.glob("*.deb")
        root = self.make_root(deb)
        files = [path for path in self.run_in(root, "dpkg", "-L", "plumbline").splitlines() if not (root / path[1:]).is_dir()]
        self.assertIn("/usr/bin/plumbline", files)
        self.assertGreater(len(files), 30)
        version = subprocess.run(["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertTrue(self.run_in(root, "plumbline", "version").startswith("plumbline %s\n" % version))
        self.the_quickstart_runs(root)
        self.doctor_looks_at_the_machine(root)
        self.shells_and_man_read_their_files(root)
        self.run_in(root, "apt-get", "remove", "--yes", "--quiet", "plumbline")
        self.assertEqual([path for path in files if (root / path[1:]).exists()], [])
        left = [str(path) for path in (root / "usr").rglob("*plumbline*")]
        self.assertEqual(left, [])
        self.run_in(root, "sh", "-c", "plumbline version", code=(127,))

    def the_quickstart_runs(self, root):
        few = ("--only", "op=allreduce", "--only", "ranks=2", "--rounds", "5")
        self.run_in(root, "plumbline", "run", SCENARIO, *few, "--out", "/tmp/out", "--quiet")
        cells = records_of(root / "tmp/out/records.jsonl")
        self.assertGreater(len(cells), 10)
        self.assertEqual({record["outcome"] for record in cells}, {"passed"})
        self.assertIn("</html>", (root / "tmp/out/report.html").read_text())

    def doctor_looks_at_the_machine(self, root):
        answer = json.loads(self.run_in(root, "plumbline", "doctor", "--json"))
        self.assertIn(answer["verdict"], ("ok", "warn"))
        self.assertGreater(len([check for check in answer["checks"] if check["outcome"] == "pass"]), 5)

    def shells_and_man_read_their_files(self, root):
        self.assertIn("plumbline", self.run_in(root, "bash", "-c", ". /usr/share/bash-completion/completions/plumbline; complete -p plumbline"))
        page = root / "usr/share/man/man1/plumbline.1.gz"
        self.assertGreater(page.stat().st_size, 5000)
        if shutil.which("man"):
            done = subprocess.run(["man", "-l", str(page)], capture_output=True, text=True, timeout=60, env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("plumbline doctor", done.stdout)


class Tarball(Scratch):
    def test_the_tarball_runs_in_an_empty_folder(self):
        _, why = static_binary(platform.machine())
        if why:
            self.skipTest(why)
        cpack(self.folder, "-G", "TGZ")
        (tarball,) = self.folder.glob("*.tar.gz")
        root = self.folder / "empty"
        (root / "proc").mkdir(parents=True)
        subprocess.run(["tar", "-xzf", tarball, "-C", root, "--strip-components=1"], check=True, timeout=60)
        self.assertEqual(sorted(path.name for path in root.iterdir()), ["bin", "proc", "share"])
        self.assertIn("plumbline", self.run_in(root, "/bin/plumbline", "version"))
        self.assertIn("cells", self.run_in(root, "/bin/plumbline", "plan", "/share/plumbline/scenarios/quickstart.json"))


if __name__ == "__main__":
    require_lab()
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print("%s: Skipped\n%s" % (test.id(), reason))
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if len(result.skipped) >= result.testsRun else 0)
