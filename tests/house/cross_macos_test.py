"""The macOS cross build refuses what only Linux has: proven with a planted epoll call, which must
fail the link although its declaration was smuggled past the compiler. Runs where the cross compiler
was fetched already (scripts/cross_macos.sh)."""
import glob
import os
import shutil
import subprocess
import tempfile
import unittest

import house

CACHE = os.path.join(house.ROOT, ".cache", "zig")
LAUNCHER = os.path.join(house.ROOT, "scripts", "macos_stub_libraries.py")

SOURCE = """
extern "C" int %s(int);
extern "C" int EVP_planted(int);
int main() { return EVP_planted(%s(0)); }
"""


class CrossMacos(unittest.TestCase):
    def setUp(self):
        found = glob.glob(os.path.join(CACHE, "node_modules", "@oven", "zig-*", "zig"))
        if not found:
            self.skipTest("no cross compiler here; scripts/cross_macos.sh fetches it")
        self.zig = [found[0], "c++", "-target", "aarch64-macos"]
        self.folder = tempfile.mkdtemp(prefix="plumbline-cross-")
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, *command):
        cache = os.path.join(CACHE, "cache")
        environment = dict(os.environ, ZIG_GLOBAL_CACHE_DIR=cache, ZIG_LOCAL_CACHE_DIR=cache)
        return subprocess.run(
            command, env=environment, cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=240,
        )

    def link(self, function):
        with open(os.path.join(self.folder, "a.cc"), "w") as file:
            file.write(SOURCE % (function, function))
        done = self.call(*self.zig, "-c", "a.cc", "-o", "a.o")
        self.assertEqual(done.returncode, 0, done.stdout)
        return self.call(LAUNCHER, "stubs", *self.zig, "a.o", "-lcrypto", "-o", "a")

    def test_symbols_of_the_stubbed_libraries_link(self):
        done = self.link("getpagesize")
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(os.path.join(self.folder, "stubs", "libcrypto.tbd")) as file:
            self.assertIn("'_EVP_planted'", file.read())

    def test_a_linux_only_call_fails_the_link(self):
        done = self.link("epoll_create1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("_epoll_create1", done.stdout)
        self.assertNotIn("EVP", done.stdout)

    def test_a_linux_only_header_fails_the_compiler(self):
        with open(os.path.join(self.folder, "b.cc"), "w") as file:
            file.write("#include <sys/epoll.h>\n")
        done = self.call(*self.zig, "-c", "b.cc", "-o", "b.o")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("sys/epoll.h", done.stdout)


if __name__ == "__main__":
    house.main()
