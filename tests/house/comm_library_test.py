"""plumbline as a library: installed into an empty folder, with nothing but its five headers, its archive and its CMake
package, it serves a program outside the tree (examples/comm), inside a shared library and between two processes."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import house

BUILD = os.environ.get("TEST_BUILD", os.path.join(house.ROOT, "build"))
HEADERS = ["communicator.h", "error.h", "options.h", "types.h", "version.h"]


def cached(name):
    """A value of the build's CMake cache; empty when it has none."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
        found = re.search(r"^%s:\w+=(.*)$" % name, file.read(), re.M)
    return found.group(1) if found else ""


def run(*words, timeout=120, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **options)
    if done.returncode != 0:
        raise AssertionError("%s: exit status %d\n%s" % (" ".join(words), done.returncode, done.stdout))
    return done.stdout


class CommLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BUILD, "libplumbline_comm.a")):
            raise unittest.SkipTest("the library is not part of this build")
        if cached("PLUMBLINE_SANITIZE"):
            raise unittest.SkipTest("a program without a sanitizer cannot use a library with one")
        for tool in ("cmake", cached("CMAKE_CXX_COMPILER")):
            if not shutil.which(tool):
                raise unittest.SkipTest("there is no %s here" % tool)
        cls.folder = tempfile.mkdtemp(prefix="plumbline-comm-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = os.path.join(cls.folder, "prefix")
        run("cmake", "--install", BUILD, "--component", "comm", "--prefix", cls.prefix)
        cls.example = os.path.join(cls.folder, "example")
        run("cmake", "-G", cached("CMAKE_GENERATOR"), "-S", os.path.join(house.ROOT, "examples", "comm"), "-B", cls.example,
            "-DCMAKE_PREFIX_PATH=" + cls.prefix, "-DCMAKE_CXX_COMPILER=" + cached("CMAKE_CXX_COMPILER"),
            "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Werror")
        run("cmake", "--build", cls.example, timeout=240)

    def test_only_the_library_is_installed(self):
        found = [os.path.relpath(os.path.join(folder, name), self.prefix)
                 for folder, _, names in os.walk(self.prefix) for name in names]
        self.assertEqual(sorted(name for name in found if name.endswith(".h")),
                         [os.path.join("include", "plumbline", name) for name in HEADERS])
        self.assertEqual([os.path.basename(name) for name in found if name.endswith(".a")], ["libplumbline_comm.a"])
        for name in found:
            self.assertRegex(name, r"\.(h|a|cmake)$")

    def test_any_compiler_can_link_the_archive(self):
        # What GCC leaves for its own linking across files only its very version reads.
        archive, = (os.path.join(folder, name) for folder, _, names in os.walk(self.prefix) for name in names if name.endswith(".a"))
        sections = run("readelf", "--wide", "--section-headers", archive)
        self.assertIn(".text", sections)
        self.assertNotIn(".gnu.lto", sections)

    def test_each_header_stands_alone(self):
        for name in HEADERS:
            run(cached("CMAKE_CXX_COMPILER"), "-std=c++20", "-pedantic-errors", "-fsyntax-only", "-I",
                os.path.join(self.prefix, "include"), "-x", "c++", "-", input="#include <plumbline/%s>\n" % name)

    def test_two_processes_average(self):
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([os.path.join(self.example, "average"), str(rank), "2", folder], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in (1, 0)]
            try:
                said = [rank.communicate(timeout=60)[0] for rank in ranks]
            finally:
                for rank in ranks:
                    rank.kill()
                    rank.wait()
        self.assertEqual(said, ["0.5 1\n"] * 2)

    def test_three_threads_average(self):
        self.assertEqual(run(os.path.join(self.example, "average"), "3"), "1 2\n" * 3)

    def test_pairs_of_five_threads_average(self):
        self.assertEqual(run(os.path.join(self.example, "average"), "5", "pairs"), "0.5 1\n" * 2 + "2.5 5\n" * 2 + "4 8\n")


if __name__ == "__main__":
    house.main()
