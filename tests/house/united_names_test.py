#!/usr/bin/env python3
"""Several files are compiled as one (PLUMBLINE_UNITY, cmake/plumbline.cmake), so a function that two of them keep in
their unnamed namespaces would become one set of overloads, and a call might quietly take the other file's. No two files
that are compiled as one may therefore define a function of the same name there. (Two types or constants of one name
are an error of the compiler.)"""
import collections
import os
import re
import sys

INCLUDE = re.compile(r'^#include "(.*)"$')
# Nothing is indented inside a namespace, so what is defined there begins in the first column.
FUNCTION = re.compile(r"^(?!using |return |namespace |class |struct |enum |TEST|INSTANTIATE|//)"
                      r"[A-Za-z_][\w:<>,&*\[\]() ]*?[ &*](\w+)\((?!\))?")


def functions(path):
    """The functions that a source file keeps to itself, with the line of the first."""
    found = {}
    inside = False
    with open(path, errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("namespace {"):
                inside = True
            elif line.startswith("}  // namespace"):
                inside = False
            match = FUNCTION.match(line) if inside else None
            if match and "=" not in line[:match.end()]:
                found.setdefault(match.group(1), number)
    return found


def units(build):
    """The files that are compiled as one, a list for each of those sources that CMake writes."""
    with open(os.path.join(build, "build.ninja")) as rules:  # CMake leaves those of earlier layouts behind
        compiled = rules.read()
    for folder, _, names in os.walk(build):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.startswith("unity_") and name.endswith(".cxx") and os.path.relpath(path, build) in compiled:
                with open(path) as unit:
                    yield [m.group(1) for m in map(INCLUDE.match, unit) if m]


def clashes(files):
    places = collections.defaultdict(list)
    for path in files:
        for name, line in functions(path).items():
            places[name].append("%s:%d" % (path, line))
    return {name: where for name, where in places.items() if len(where) > 1}


def main(build):
    seen, bad = 0, 0
    for files in units(build):
        seen += 1
        for name, where in sorted(clashes(files).items()):
            bad += 1
            print("%s() is defined in the unnamed namespaces of files that are compiled as one: %s" %
                  (name, ", ".join(where)))
    if not seen:
        print("united_names_test.py:1: Skipped\nthis build compiles every file by itself (PLUMBLINE_UNITY=OFF)")
        return 77
    print("%d units, %d clashes" % (seen, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(os.environ.get("TEST_BUILD") or sys.argv[1]))
