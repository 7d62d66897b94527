"""The macOS cross build refuses what only Linux has: proven with a planted epoll call, which must fail the link although its declaration was
smuggled past the compiler. scripts/mach_o.py refuses what a Mac would not start: proven with small programs that are wrong in one way each. And
what scripts/cross_macos.sh has built here is read once more. Runs where the cross compiler was fetched already."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import house

sys.path.insert(0, os.path.join(house.ROOT, "scripts"))
import mach_o  # noqa: E402  pylint: disable=wrong-import-position

CACHE = os.path.join(house.ROOT, ".cache", "zig")
SCRIPT = house.read("scripts/cross_macos.sh")
OLDEST = re.search(r"^readonly oldest=(\S+)", SCRIPT, re.M).group(1)

CALL = """
extern "C" int %s(int);
int main() { return %s(0); }
"""
MARKED = """
const char* const volatile mark = "plumbline-build:0.0.1-test;";
int main() { return mark[0]; }
"""
STUB = """--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: '%s'
exports:
  - targets: [ arm64-macos ]
    symbols: [ _planted ]
...
"""


class WithCompiler(unittest.TestCase):
    target = "aarch64-macos." + OLDEST

    def setUp(self):
        found = glob.glob(os.path.join(CACHE, "node_modules", "@oven", "zig-*", "zig"))
        if not found:
            self.skipTest("no cross compiler here; scripts/cross_macos.sh fetches it")
        self.zig = found[0]
        self.folder = tempfile.mkdtemp(prefix="plumbline-cross-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def call(self, *words, target=None):
        cache = os.path.join(CACHE, "cache")
        environment = dict(os.environ, ZIG_GLOBAL_CACHE_DIR=cache, ZIG_LOCAL_CACHE_DIR=cache)
        return subprocess.run(
            [self.zig, "cc", "-target", target or self.target, "-g0", *words], env=environment, cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240,
        )

    def make(self, source, *words, target=None):
        """The bytes of the program out of this C file."""
        self.write("a.c", source)
        done = self.call("a.c", "-o", "a", *words, target=target)
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(self.path("a"), "rb") as file:
            return file.read()


class LinuxOnly(WithCompiler):
    def link(self, function):
        self.write("a.cc", CALL % (function, function))
        done = self.call("-c", "a.cc", "-o", "a.o")
        self.assertEqual(done.returncode, 0, done.stdout)
        return self.call("a.o", "-o", "a")

    def test_what_a_mac_has_links(self):
        done = self.link("getpagesize")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_linux_only_call_fails_the_link(self):
        done = self.link("epoll_create1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("_epoll_create1", done.stdout)

    def test_a_linux_only_header_fails_the_compiler(self):
        self.write("b.cc", "#include <sys/epoll.h>\n")
        done = self.call("-c", "b.cc", "-o", "b.o")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("sys/epoll.h", done.stdout)


class Reader(WithCompiler):
    def refused(self, data, why):
        with self.assertRaises(mach_o.Wrong) as caught:
            mach_o.read(data)
        self.assertIn(why, str(caught.exception))

    def test_a_program_is_what_it_is(self):
        said = mach_o.read(self.make(MARKED))
        self.assertEqual(said["libraries"], ["/usr/lib/libSystem.B.dylib"])
        self.assertEqual((said["oldest"], said["ad_hoc"], said["build"]), (OLDEST, True, "0.0.1-test"))

    def test_a_library_of_elsewhere_is_named(self):
        for name, right in (("/opt/homebrew/lib/libplanted.dylib", False), ("/usr/lib/libplanted.dylib", True)):
            self.write("libplanted.tbd", STUB % name)
            data = self.make("int planted(void); " + MARKED.replace("mark[0]", "mark[0] + planted()"), "-L.", "-lplanted")
            if right:
                self.assertIn(name, mach_o.read(data)["libraries"])
            else:
                self.refused(data, "it needs " + name)

    def test_another_processor_is_named(self):
        self.refused(self.make(MARKED, target="x86_64-macos." + OLDEST), "not for arm64")

    def test_what_is_changed_or_cut_off_does_not_fit_its_signature(self):
        data = self.make(MARKED)
        at = data.index(b"plumbline-build:")
        self.refused(data[:at] + b"P" + data[at + 1 :], "was changed after it was signed")
        for size in (0, 31, 40, len(data) // 2):
            with self.assertRaises((mach_o.Wrong, mach_o.struct.error)):
                mach_o.read(data[:size])

    def test_a_program_without_its_signature_is_refused(self):
        data = bytearray(self.make(MARKED))
        at = 32
        while data[at] != mach_o.LC_CODE_SIGNATURE:
            at += int.from_bytes(data[at + 4 : at + 8], "little")
        data[at] = 0x26  # a command that nobody looks at
        self.refused(bytes(data), "it is not signed")

    def test_a_program_without_a_mark_is_refused(self):
        self.refused(self.make("int main(void) { return 0; }"), "no mark of a build")

    def test_another_oldest_system_is_refused_and_so_is_a_large_one(self):
        self.make(MARKED)
        for words, why in ((["--oldest", "12.0"], "for macOS %s and later" % OLDEST), (["--most-mb", "0.001"], "too many")):
            done = subprocess.run(
                [os.path.join(house.ROOT, "scripts", "mach_o.py"), *words, self.path("a")], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, timeout=60,
            )
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(why, done.stderr)


class Built(unittest.TestCase):
    def read(self, *names):
        path = os.path.join(house.ROOT, *names)
        if not os.path.exists(path):
            self.skipTest("no %s here; scripts/cross_macos.sh builds it" % os.path.join(*names))
        with open(path, "rb") as file:
            return mach_o.read(file.read())

    def test_what_ci_builds(self):
        said = self.read("build-macos", "plumbline")
        self.assertEqual(said["libraries"], ["/usr/lib/libSystem.B.dylib"])
        self.assertEqual((said["oldest"], said["ad_hoc"]), (OLDEST, True))

    def test_what_is_shipped(self):
        said = self.read("build-macos-ship", "plumbline-darwin-arm64")
        self.assertEqual(said["libraries"], ["/usr/lib/libSystem.B.dylib"])
        self.assertEqual((said["oldest"], said["ad_hoc"]), (OLDEST, True))
        self.assertLessEqual(said["bytes"], 25e6)
        self.assertLess(said["symbols"], 1000)  # what it takes from the system; its own are stripped


class Words(unittest.TestCase):
    def test_the_oldest_system_is_told_as_it_is(self):
        for path in ("docs/install.md", "docs/clusters.md"):
            told = set(re.findall(r"macOS (\d+)", house.read(path)))
            self.assertEqual(told, {OLDEST.split(".")[0]}, path)


if __name__ == "__main__":
    house.main()
