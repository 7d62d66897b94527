"""What the house tests share: the root of the repository, its files, and a runner that ends with
exit status 77 when every test was skipped, printing reasons as GoogleTest does."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files():
    """Paths of the repository's own files, relative to ROOT; nothing built, hidden or fetched."""
    for folder, folders, names in os.walk(ROOT):
        here = os.path.relpath(folder, ROOT)
        folders[:] = sorted(
            name
            for name in folders
            if name == ".ci"
            or not (name.startswith((".", "__pycache__")) or name == "plumbline-out")
            and not (here == "." and name.startswith("build"))
        )
        for name in sorted(names):
            yield os.path.normpath(os.path.join(here, name))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def main():
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print("%s: Skipped\n%s" % (test.id(), reason))
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun + len(result.skipped) == 0:
        sys.exit("no tests in this file")
    # A class that is skipped as a whole counts as one skip and no test run.
    sys.exit(77 if result.testsRun <= len(result.skipped) else 0)
