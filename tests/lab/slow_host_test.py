#!/usr/bin/env python3
"""One bad host of four is half of all links: the link matrix names it in every output, with a speed in the host file (a failure, for it carries
less than a quarter of that) and without (a remark); three bad hosts where a speed is stated; and two hosts that nobody can judge. The same of
`doctor`, whose hosts share this machine's cores, so that without a speed only a repeated ratio of four counts."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from links_test import names_of, need
from namespaces import Switched, beside, require_lab

BAD_MBIT, STAR_MBIT = 28, 200  # what a bad host carries, and what all should


def run_matrix(program, scenario, host_file, out, code):
    done = subprocess.run([program, "run", str(scenario), "--hosts", str(host_file), "--out", str(out), "--no-probes", "--quiet"],
                          capture_output=True, text=True, timeout=200)
    if done.returncode != code:
        sys.exit("exit status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    page = (out / "report.html").read_text()
    answer = re.search(r'<div class="answer[^>]*><strong>([^<]*)</strong>', page)[1]
    return done.stdout, answer, (out / "links" / "topology.dot").read_text()


def red_edges(dot):
    return {tuple(map(int, edge)) for edge in re.findall(r"r(\d+) -- r(\d+) \[label=[^]]*#D55E00", dot)}


def slow_star(*bad):
    star = Switched(4)
    for host in range(4):
        star.shape(host, BAD_MBIT if host in bad else STAR_MBIT)
    return star


class Cases:
    """Each in a star of its own, so that all can wait at the same time."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        shipped = (pathlib.Path(__file__).resolve().parents[2] / "scenarios" / "link_matrix.json").read_text()
        assert shipped.count('"time": "500ms"') == 1
        # All measures of the shipped file, for less long each.
        self.all = self.write("all.json", shipped.replace('"time": "500ms"', '"time": "250ms"'))
        self.short_keys = {"plumbline": 1, "matrix": [{"kind": "link", "op": "link", "measure": ["stream", "parallel"], "streams": 4,
                                                       "time": "300ms"}], "report": ["console", "links", "html"]}
        self.short = self.write("short.json", json.dumps(self.short_keys))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, name, scenario, hosts, code):
        began = time.monotonic()
        said = run_matrix(self.program, scenario, self.write(name + "-hosts.json", hosts), self.folder / name, code)
        print("%s: %.1f s" % (name, time.monotonic() - began), flush=True)
        return said

    def one_bad(self, name, star, scenario, hosts, code, word):
        """Half of all links, and the console, the page, the topology and the exit status say so."""
        text, answer, dot = self.run(name, scenario, hosts, code)
        edges = {(0, 2), (1, 2), (2, 3)}
        slow = [each for each in names_of(text) if each[0].startswith("slow")]
        assert slow == [("slow host", "host2", None)], names_of(text)
        assert "stands out." not in text and answer == word, (answer, text)
        # On a busy machine round trips may stand out as well; the short scenario has none.
        assert red_edges(dot) >= edges if scenario == self.all else red_edges(dot) == edges, (names_of(text), dot)

    def stated(self, star):  # 14 % of a stated speed is a failure
        self.one_bad("stated", star, self.all, star.host_file("%dMbit" % STAR_MBIT), 2, "Not sound")

    def unknown(self, star):  # where nobody states one it is a remark
        self.one_bad("unknown", star, self.short, star.host_file(), 0, "Sound, with remarks")

    def ruled(self, star):  # a rule of the scenario still decides: 4
        rule = {"where": {"measure": "stream"}, "link_rate": ">=100Mbit"}
        ruled = self.write("ruled.json", json.dumps(dict(self.short_keys, expect=[rule])))
        self.run("ruled", ruled, star.host_file(), 4)

    def two(self, star):  # slow alike, and no speed: nobody can know
        hosts = json.dumps({"hosts": json.loads(star.host_file())["hosts"][:2]})
        text, answer, _ = self.run("two", self.short, hosts, 0)
        assert "Not known:" in text and "stands out." not in text and answer == "Not known whether sound", (answer, text)

    def three(self, star):  # with a speed: all links are slow
        text, answer, dot = self.run("three", self.short, star.host_file("%dMbit" % STAR_MBIT), 2)
        assert "slow everywhere" in text and answer == "Not sound" and len(red_edges(dot)) == 6, (answer, text)

    def doctor(self, name, hosts):
        done = subprocess.run([self.program, "doctor", "--hosts", str(self.write(name, hosts)), "--json"], capture_output=True, text=True, timeout=200)
        return done.returncode, [(finding["cause"], finding["host"], finding["peer"], finding["outcome"]) for finding in json.loads(done.stdout)["findings"]
                                 if finding["outcome"] != "note" and not finding["cause"].startswith("host.")]

    def doctor_unknown(self, star):  # the hosts share this machine's cores
        found = self.doctor("doctor-unknown", star.host_file())
        assert found == (0, [("rate.below_link", "host2", None, "warn")]), found

    def doctor_stated(self, star):  # a failure
        found = self.doctor("doctor-stated", star.host_file("%dMbit" % STAR_MBIT))
        assert found == (2, [("rate.below_link", "host2", None, "fail")]), found


def main():
    require_lab()
    need("tc")
    program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(program, folder)
        one_slow_link = Switched(4)  # a hundred times slower than all others
        one_slow_link.shape(2, BAD_MBIT)
        works = [(cases.stated, slow_star(2)), (cases.three, slow_star(0, 1, 2)), (cases.unknown, slow_star(2)), (cases.ruled, slow_star(2)),
                 (cases.two, slow_star(0, 1)), (cases.doctor_unknown, one_slow_link), (cases.doctor_stated, slow_star(2))]
        beside([lambda case=case, star=star: case(star) for case, star in works])
    print("ok")


if __name__ == "__main__":
    main()
