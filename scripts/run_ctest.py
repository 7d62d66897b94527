#!/usr/bin/env python3
"""Runs ctest and adds what its summary leaves out: why tests were skipped, counted by reason, and
what the failed ones said.

The output stays ctest's own and ends with its summary; just before it stand the reasons, the
failures and the text of the variable STAGES_SO_FAR (the table of .ci/run). The exit status is
ctest's.

usage: run_ctest.py BUILD_FOLDER [CTEST_ARGUMENT...]
"""
import collections
import os
import re
import subprocess
import sys

SUMMARY = re.compile(r"^(\d+% tests passed|No tests were found)")
# GoogleTest writes "file.cc:12: Skipped" and the reason on the next line; the scripts under
# tests/house write the same two lines.
SKIPPED = re.compile(r": Skipped$")
# A test of ctest's LastTest.log: its name, what it said, and whether that was a failure.
SECTION = re.compile(
    r"^\d+/\d+ Testing: (?P<name>.*)\n(?:.*\n)*?Output:\n-+\n(?P<said>(?:.*\n)*?)<end of output>\n"
    r"(?:.*\n)*?Test (?P<verdict>Pass|Fail)(?:ed\.| Reason:)", re.MULTILINE)
# The first line of a failure: of GoogleTest, of our scripts, of Python.
TELLING = re.compile(r"(: Failure$|^(WRONG|FAILED) |^(ERROR|FAIL): |Error\b)")
LINES_AFTER = 4  # what was expected and what was seen
LINES_KEPT, LAST_KEPT = 24, 4  # of a test: those that tell, and its last words


def skip_reasons(log):
    """Counter of reasons in the text of ctest's LastTest.log."""
    reasons = collections.Counter()
    lines = iter(log.splitlines())
    for line in lines:
        if SKIPPED.search(line):
            reasons[next(lines, "").strip() or "no reason given"] += 1
    return reasons


def shortened(said):
    """The lines that tell why a test failed, and its last ones."""
    lines = said.splitlines()
    kept = set()
    for index, line in enumerate(lines):
        if TELLING.search(line):
            kept.update(range(index, min(index + 1 + LINES_AFTER, len(lines))))
    kept = set(sorted(kept)[:LINES_KEPT]) | set(range(max(len(lines) - LAST_KEPT, 0), len(lines)))
    return [lines[index] for index in sorted(kept)]


def failures(log):
    """(name, lines) of each failed test in the text of ctest's LastTest.log."""
    return [(found["name"], shortened(found["said"])) for found in SECTION.finditer(log)
            if found["verdict"] == "Fail"]


def stream(command):
    """Passes the output on as it comes, up to the summary; returns (summary, exit status)."""
    held = []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
    for line in process.stdout:
        if held or SUMMARY.match(line):
            held.append(line)
        else:
            print(line, end="", flush=True)
    return "".join(held), process.wait()


def main():
    build, arguments = sys.argv[1], sys.argv[2:]
    stages = os.environ.pop("STAGES_SO_FAR", "")
    log_path = os.path.join(build, "Testing", "Temporary", "LastTest.log")
    if os.path.exists(log_path):
        os.remove(log_path)  # so that the reasons below are those of this run
    summary, status = stream(["ctest", "--test-dir", build, "--output-on-failure"] + arguments)
    if os.path.exists(log_path):
        with open(log_path, errors="replace") as file:
            log = file.read()
        reasons = skip_reasons(log)
        failed = failures(log)
        if failed:
            print("failed, with what they said (whole in %s):" % log_path)
            for name, lines in failed:
                print("\n".join(["  " + name] + ["    | " + line for line in lines]))
            print()
        if reasons:
            print("skipped, with the reason:")
            for reason, count in sorted(reasons.items()):
                print("  %3d x %s" % (count, reason))
            print()
    if stages:
        print(stages)
    print(summary, end="", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
