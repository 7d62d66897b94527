#!/usr/bin/env python3
"""What labs leave to other days (tests/lab/daily.py): every test has its turn, and some are there always."""
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lab"))
import daily  # noqa: E402

NAMES = ["boot"] + ["test_%d" % i for i in range(11)] + ["verdict"]
ALWAYS = ["boot", "verdict"]


def on(day, a_day, exhaustive=False):
    with mock.patch.multiple(daily, SHARE=day, EXHAUSTIVE=exhaustive):
        return daily.todays(NAMES, ALWAYS, a_day)


class Daily(unittest.TestCase):
    def test_every_one_has_its_turn_and_some_are_there_always(self):
        for a_day in (1, 3, 4):
            for first in (0, 20786):
                seen = set()
                for day in range(first, first + -(-11 // a_day)):
                    today = on(day, a_day)
                    self.assertEqual(len(today), a_day + 2)
                    self.assertEqual((today[0], today[-1]), ("boot", "verdict"))
                    self.assertEqual(today, sorted(today, key=NAMES.index))
                    seen.update(today)
                self.assertEqual(seen, set(NAMES), (a_day, first))

    def test_all_where_few_are_left_or_all_are_asked_for(self):
        self.assertEqual(on(3, 11), NAMES)
        self.assertEqual(on(3, 1, exhaustive=True), NAMES)

    def test_the_exit_status_tells_of_a_failure_and_the_others_are_run(self):
        class Tests:
            ran = []

            def test_a(self):
                self.ran.append("a")
                raise AssertionError("so it is")

            def test_b(self):
                self.ran.append("b")

        with mock.patch("sys.argv", ["lab"]), mock.patch("sys.stdout"):
            self.assertEqual(daily.run_methods(Tests(), [], 2), 1)
        self.assertEqual(Tests.ran, ["a", "b"])
        Tests.ran.clear()
        with mock.patch("sys.argv", ["lab", "b"]), mock.patch("sys.stdout"):
            self.assertEqual(daily.run_methods(Tests(), [], 2), 0)
        self.assertEqual(Tests.ran, ["b"])


if __name__ == "__main__":
    unittest.main()
