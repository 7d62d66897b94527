"""One version everywhere: the tag or CHANGELOG.md, CMake, the program and its packages. And what cpack packs."""
import glob
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import house

BUILD = os.environ.get("TEST_BUILD", os.path.join(house.ROOT, "build"))
PROGRAM = os.path.join(BUILD, "plumbline")
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")


def run(*words, code=0, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **options)
    if done.returncode != code:
        raise AssertionError("%s: exit status %d\n%s" % (" ".join(words), done.returncode, done.stdout))
    return done.stdout


def cpack(folder, *words, code=0):
    """What it said, on one line: CMake breaks long ones. Quick compression is enough here."""
    quick = ("-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
    return " ".join(run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", folder, *quick, *words, code=code).split())


def newest_heading():
    return re.search(r"^## (\d+\.\d+\.\d+)\b", house.read("CHANGELOG.md"), re.M).group(1)


class VersionOfSources(unittest.TestCase):
    """cmake/version.cmake in a folder of its own, with and without git."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plumbline-version-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\ninclude(%s/cmake/version.cmake)\nplumbline_version(version)\n"
                   "project(p VERSION ${version} LANGUAGES NONE)\nmessage(STATUS \"It is <${PROJECT_VERSION}>\")\n" % house.ROOT)
        self.write("CHANGELOG.md", "# Changelog\n\nSee 9.9.9; [links] and ;\n\n## 0.3.1 (2026-01-01)\n\n## 0.3.0\n\n- ## 8.8.8\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def git(self, *words):
        run(*GIT, *words, cwd=self.folder)

    def commit(self):
        self.git("add", "-A", ".")
        self.git("commit", "-qm", "x", "--allow-empty")

    def version(self):
        text = run("cmake", "-S", self.folder, "-B", os.path.join(self.folder, "build"))
        return re.search("It is <(.*)>", text).group(1)

    def test_without_git_it_is_the_newest_heading(self):
        self.assertEqual(self.version(), "0.3.1")

    def test_a_tag_of_this_commit_beats_the_heading(self):
        self.git("init", "-q")
        self.commit()
        self.assertEqual(self.version(), "0.3.1")
        for tag in ("nightly", "v2", "v1.0.0-rc1", "v0.9.0"):  # the last of them names a version
            self.git("tag", tag)
        self.assertEqual(self.version(), "0.9.0")
        self.git("tag", "-am", "annotated", "v0.10.0")
        self.assertEqual(self.version(), "0.10.0")
        self.commit()
        self.assertEqual(self.version(), "0.3.1")

    def test_a_build_folder_follows_a_tag_and_a_heading(self):
        """Without being told to configure again."""
        if not shutil.which("ninja"):
            self.skipTest("no ninja here (package ninja-build)")
        self.git("init", "-q")
        self.commit()
        build = os.path.join(self.folder, "build")
        run("cmake", "-G", "Ninja", "-S", self.folder, "-B", build)
        self.git("tag", "v7.1.0")
        self.assertIn("It is <7.1.0>", run("cmake", "--build", build))
        self.git("tag", "-d", "v7.1.0")
        self.write("CHANGELOG.md", "## 7.2.0\n")
        self.assertIn("It is <7.2.0>", run("cmake", "--build", build))

    def test_a_changelog_without_a_version_is_an_error_that_says_so(self):
        self.write("CHANGELOG.md", "# Changelog\n\n## Soon\n")
        text = run("cmake", "-S", self.folder, "-B", os.path.join(self.folder, "build"), code=1)
        self.assertIn("has no heading with a version", text)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(PROGRAM) or not os.path.exists(os.path.join(BUILD, "CPackConfig.cmake")):
            raise unittest.SkipTest("the program is not part of this build, or packages are not made here")
        cls.folder = tempfile.mkdtemp(prefix="plumbline-packages-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def tearDown(self):
        shutil.rmtree(os.path.join(self.folder, "_CPack_Packages"), True)

    def deb(self):
        for tool in ("dpkg-deb", "dpkg-shlibdeps", "file"):
            if not shutil.which(tool):
                self.skipTest("no %s here; scripts/packages.sh package installs it" % tool)
        made = glob.glob(os.path.join(self.folder, "*.deb"))
        if not made:
            cpack(self.folder)
            made = glob.glob(os.path.join(self.folder, "*.deb"))
        self.assertEqual(len(made), 1)
        return made[0]

    def field(self, name):
        return run("dpkg-deb", "-f", self.deb(), name).strip()

    def test_program_cmake_package_and_changelog_have_one_version(self):
        versions = {"program": run(PROGRAM, "version").split()[1], "CHANGELOG.md": newest_heading()}
        with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
            versions["CMake"] = re.search(r"^CMAKE_PROJECT_VERSION:\w+=(.*)$", file.read(), re.M).group(1)
        versions["manual page"] = re.search(r"plumbline (\d\S*?)\"", run(PROGRAM, "man").splitlines()[0]).group(1)
        versions["--version"] = run(PROGRAM, "--version").split()[-1]
        if shutil.which("dpkg-shlibdeps"):
            versions["deb"] = self.field("Version")
            self.assertIn("plumbline_%s_" % versions["deb"], os.path.basename(self.deb()))
        self.assertEqual(set(versions.values()), {newest_heading()}, versions)

    def test_the_deb_holds_what_is_installed_and_no_tests(self):
        names = [line.split(None, 5)[5] for line in run("dpkg-deb", "-c", self.deb()).splitlines()]
        for name in ("bin/plumbline", "share/plumbline/scenarios/quickstart.json", "share/plumbline/scenarios/labs/star4.json",
                     "share/bash-completion/completions/plumbline", "share/zsh/site-functions/_plumbline",
                     "share/fish/vendor_completions.d/plumbline.fish", "share/man/man1/plumbline.1.gz",
                     "share/doc/plumbline/copyright", "share/doc/plumbline/CHANGELOG.md", "share/doc/plumbline/docs/install.md"):
            self.assertIn("./usr/" + name, names)
        for name in names:
            self.assertTrue(name.startswith("./usr/") or name == "./", name)
            self.assertNotRegex(name, r"test|\.(cc|h|py|a|so)$")

    def test_the_deb_depends_on_the_library_packages_and_no_development_files(self):
        depends = self.field("Depends")
        needed = re.findall(r"NEEDED +(lib\S+)", run("objdump", "-p", PROGRAM)) if shutil.which("objdump") else []
        for name, package in (("libssl.so", "libssl"), ("libcrypto.so", "libssl"), ("libfmt.so", "libfmt"), ("libhwy.so", "libhwy"),
                              ("libspdlog.so", "libspdlog"), ("libpcap.so", "libpcap"), ("libc.so", "libc6")):
            if any(library.startswith(name) for library in needed):
                self.assertIn(package, depends)
        self.assertRegex(depends, r"libc6 \(>= ")
        self.assertNotIn("-dev", depends)
        wanted = [line.split()[1] for line in run(os.path.join(house.ROOT, "scripts", "packages.sh"), "--list", "run").splitlines()]
        self.assertEqual(self.field("Recommends").split(", "), wanted)

    def test_without_a_static_binary_the_tarball_says_how_to_make_one(self):
        text = cpack(self.folder, "-G", "TGZ", "-D", "CPACK_PLUMBLINE_STATIC=%s/none" % self.folder, code=1)
        self.assertIn("run scripts/static_binary.sh", text)
        self.assertEqual(glob.glob(os.path.join(self.folder, "*.tar.gz")), [])

    def test_a_static_binary_of_another_build_is_not_packed(self):
        other = os.path.join(self.folder, "other")
        with open(other, "w") as file:
            file.write("plumbline-build:0.0.0-000000000000;\n")
        text = cpack(self.folder, "-G", "TGZ", "-D", "CPACK_PLUMBLINE_STATIC=" + other, code=1)
        self.assertIn("is of another build", text)
        self.assertEqual(glob.glob(os.path.join(self.folder, "*.tar.gz")), [])

    def test_the_tarball_holds_the_static_binary(self):
        build = re.search("^build (.*)$", run(PROGRAM, "version"), re.M).group(1)
        static = os.path.join(self.folder, "static")
        with open(static, "w") as file:
            file.write("plumbline-build:%s;\n" % build)
        cpack(self.folder, "-G", "TGZ", "-D", "CPACK_PLUMBLINE_STATIC=" + static)
        (made,) = glob.glob(os.path.join(self.folder, "*.tar.gz"))
        self.addCleanup(os.remove, made)
        root = os.path.basename(made)[:-len(".tar.gz")]
        self.assertEqual(root, "plumbline-%s-linux-%s" % (newest_heading(), os.uname().machine))
        with tarfile.open(made) as tar:
            members = {member.name: member for member in tar.getmembers()}
            self.assertIn(build.encode(), tar.extractfile(root + "/bin/plumbline").read(1000))
        self.assertEqual(members[root + "/bin/plumbline"].mode & 0o777, 0o755)
        for name in ("share/plumbline/scenarios/quickstart.json", "share/man/man1/plumbline.1", "share/doc/plumbline/LICENSE"):
            self.assertIn(root + "/" + name, members)


if __name__ == "__main__":
    house.main()
