"""One class, one name: two classes of one name in one program are merged by the linker without a
word (One Definition Rule), and then the destructor of one runs over the memory of the other.
Classes of anonymous namespaces are their file's own."""
import collections
import itertools
import re
import unittest

import house

OPENED = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{")
CLOSED = re.compile(r"^\}  // namespace")
CLASS = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: : [^;]*)?(?: \{.*)?$")
PLATFORM = re.compile(r"_(?:linux|macos)\.")


def classes(text):
    """The classes of a file that other files can meet, with their namespaces."""
    inside = []
    for line in text.splitlines():
        opened, held = OPENED.match(line), CLASS.match(line)
        if opened:
            inside.append(opened.group(1))
        elif CLOSED.match(line) and inside:
            inside.pop()
        elif held and "" not in inside:
            yield "::".join(inside + [held.group(1)])


def meet(one, other):
    """Whether two files end up in one program: all modules do, and the tests of one folder with
    them; the files of two platforms never."""
    tests = {path.split("/")[1] for path in (one, other) if path.startswith("tests/")}
    return len(tests) <= 1 and not (PLATFORM.search(one) and PLATFORM.search(other))


class Names(unittest.TestCase):
    def test_every_class_has_a_name_of_its_own(self):
        found = collections.defaultdict(set)
        for path in house.files():
            if path.endswith((".h", ".cc")):
                for name in classes(house.read(path)):
                    found[name].add(path)
        self.assertGreater(len(found), 300)
        twice = [
            (name, one, other)
            for name, places in found.items()
            for one, other in itertools.combinations(sorted(places), 2)
            if meet(one, other)
        ]
        self.assertEqual(twice, [])

    def test_what_is_one_and_what_is_not(self):
        text = "namespace a {\nnamespace {\nstruct Own {\n};\n}  // namespace\nclass Met final {\n};\nstruct Said;\n}  // namespace a\n"
        self.assertEqual(list(classes(text)), ["a::Met"])
        self.assertTrue(meet("lab/a.h", "tests/lab/b.h"))
        self.assertFalse(meet("tests/core/a.cc", "tests/lab/b.h"))
        self.assertFalse(meet("probes/a_linux.cc", "probes/a_macos.cc"))


if __name__ == "__main__":
    house.main()
