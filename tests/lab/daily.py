"""Labs whose tests take minutes together run some of them always and of the others a few each day, in turn; with TEST_EXHAUSTIVE=1 (the
tests labelled exhaustive) all of them. TEST_SHARE=20784 is another day: as for tests/support/row_share.h."""
import os
import subprocess
import sys
import time

SHARE = int(os.environ.get("TEST_SHARE", time.time() // 86400))
EXHAUSTIVE = bool(os.environ.get("TEST_EXHAUSTIVE"))


def todays(names, always, a_day):
    """Of `names` those in `always` and `a_day` others, in their order; every one has its turn."""
    others = [name for name in names if name not in always]
    if EXHAUSTIVE or len(others) <= a_day:
        return list(names)
    turn = {others[(SHARE * a_day + i) % len(others)] for i in range(a_day)}
    return [name for name in names if name in always or name in turn]


def run_methods(tests, always, a_day, first=()):
    """Runs the methods test_* of an object in the order in which they stand in its class; returns the exit status. Words of the command
    line are parts of names, and run those and `first` instead of today's."""
    names = [name for name in vars(type(tests)) if name.startswith("test_")]
    wanted = sys.argv[1:]
    if wanted:
        chosen = [name for name in names if name in first or any(word in name for word in wanted)]
    else:
        chosen = todays(names, always, a_day)
    failed = []
    for name in chosen:
        start = time.time()
        try:
            getattr(tests, name)()
            print("ok %s (%.1f s)" % (name, time.time() - start), flush=True)
        except (AssertionError, KeyError, ValueError, OSError, SystemExit, subprocess.TimeoutExpired) as error:
            failed.append(name)
            print("FAILED %s: %s: %s" % (name, type(error).__name__, error), flush=True)
    print("%d of %d tests (TEST_SHARE=%d), %d failed" % (len(chosen), len(names), SHARE, len(failed)))
    return 1 if failed else 0
