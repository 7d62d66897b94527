"""What stands around the code: links lead somewhere, the licence is there, and no file names a
machine that it was written on."""
import os
import re
import unittest

import house

# Paths and hosts of one machine have no business in a repository that others clone.
MACHINE = re.compile(
    r"(?<![\w./-])/(?:work|root|Users|home/\w+)/\w"
    r"|registry\.(?:npmjs|yarnpkg)\.\w+|(?:deb|snapshot|security)\.debian\.org|artifactor[y]"
)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.M)


def machine_names(text):
    return [match.group(0) for match in MACHINE.finditer(text)]


def anchors(text):
    """Anchors as the usual renderers make them from headings."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in plain}


def broken_links(path, text):
    """Relative links of one Markdown text at `path` that lead nowhere."""
    broken = []
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(os.path.join(house.ROOT, file)):
            broken.append("%s: %s does not exist" % (path, target))
        elif anchor and file.endswith(".md"):
            there = text if file == path else house.read(file)
            if anchor not in anchors(there):
                broken.append("%s: %s has no such heading" % (path, target))
    return broken


class Papers(unittest.TestCase):
    def test_the_checks_can_fail(self):
        self.assertTrue(machine_names("see /ro" + "ot/x"))
        self.assertTrue(machine_names("https://registry.npm" + "js.org"))
        self.assertFalse(machine_names("a/work/b, ./root/x, /run/plumbline, /usr/bin"))
        self.assertTrue(broken_links("README.md", "[a](docs/nowhere.md)"))
        self.assertTrue(broken_links("README.md", "# One\n[a](#two)"))
        self.assertFalse(broken_links("README.md", "# One thing\n[a](#one-thing) [b](LICENSE)"))

    def test_no_file_names_a_machine(self):
        for path in house.files():
            self.assertEqual(machine_names(house.read(path)), [], path)

    def test_links_lead_somewhere(self):
        pages = [path for path in house.files() if path.endswith(".md")]
        self.assertIn("README.md", pages)
        broken = [line for path in pages for line in broken_links(path, house.read(path))]
        self.assertEqual(broken, [])

    def test_the_licence_is_mit(self):
        text = " ".join(house.read("LICENSE").split())
        self.assertTrue(text.startswith("MIT License"))
        self.assertIn("Permission is hereby granted, free of charge", text)
        self.assertIn('THE SOFTWARE IS PROVIDED "AS IS"', text)


if __name__ == "__main__":
    house.main()
