#!/usr/bin/env python3
"""A star of three namespaces whose leaves have no path to one another: the link matrix measures what is there and says why the rest is not,
the doctor finds nothing wrong, collectives run in the groups that can, and a leaf that is lost is named to the other leaf too."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from namespaces import Mesh, ip, require_lab
from record_lines import records_of

HUB, LEAVES = 1, (0, 2)  # rank 0 is a leaf: its way to the other one leads over rank 1
NAMES = ("leaf0", "hub", "leaf2")
MATRIX = [
    {"op": "link", "measure": ["latency", "stream", "incast", "all_pairs"], "time": "200ms"},
    {"kind": "check", "op": "allreduce", "bytes": 4096, "hosts": ["all", "groups"]},
    {"kind": "check", "op": "allreduce", "bytes": 4096, "hosts": "pairs"},
]


def main():
    require_lab()
    program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
    mesh = Mesh(3)
    ip("-n", mesh.names[0], "link", "del", mesh.links[LEAVES])
    data = [list(addresses) for addresses in mesh.addresses]
    del data[0][1], data[2][0]  # those were on that cable
    groups = {HUB: ["left", "right"], LEAVES[0]: ["left"], LEAVES[1]: ["right"]}
    hosts = [{"name": NAMES[index], "netns": mesh.names[index], "data": data[index], "group": groups[index]} for index in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "star.json")
        scenario.write_text(json.dumps({"plumbline": 1, "hosts": hosts, "matrix": MATRIX, "roofs": False, "report": ["console"]}))

        def plumbline(*words, status=0):
            done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
            if done.returncode != status:
                sys.exit("%s: exit status %d\n%s%s" % (words, done.returncode, done.stdout, done.stderr))
            return done

        plumbline("run", str(scenario), "--out", folder + "/out", "--no-probes", "--quiet")
        records = records_of(pathlib.Path(folder, "out", "records.jsonl"))
        links = [record for record in records if record["cell"]["kind"] == "link"]
        assert len(links) == 4, len(links)
        for record in links:
            assert record["outcome"] == "passed", record["reason"]
            for link in record["links"]:
                leaves = HUB not in (link["from"], link["to"])
                assert bool(link.get("skipped")) == leaves, link
                assert leaves or not link.get("error"), link
        checks = {record["cell"].get("hosts", "all"): record for record in records if record["cell"]["kind"] == "check"}
        assert {hosts: record["outcome"] for hosts, record in checks.items()} == {
            "all": "skipped", "leaf0+leaf2": "skipped", "leaf0+hub": "passed", "hub+leaf2": "passed"}, checks
        assert "leaf0 and leaf2" in checks["all"]["reason"] and "groups" in checks["all"]["reason"], checks["all"]["reason"]
        for hosts in ("leaf0+hub", "hub+leaf2"):
            assert checks[hosts]["verified"] and checks[hosts]["wrong"] == 0, checks[hosts]

        # A collective over all of them is refused with the same words, before anything hangs.
        refused = plumbline("coll", "allreduce", "--hosts", str(scenario), "--ranks", "3", "-b", "8", "-e", "8", status=2)
        assert "leaf0 and leaf2" in refused.stdout + refused.stderr, refused

        verdict = json.loads(plumbline("doctor", "--hosts", str(scenario), "--json").stdout)
        assert verdict["verdict"] == "ok", verdict["findings"]
        skipped = [check for check in verdict["checks"] if {check["host"], check["peer"]} == {"leaf0", "leaf2"}]
        assert skipped and all(check["outcome"] == "skipped" for check in skipped), skipped
    print("ok: %d link cells, groups %s" % (len(links), sorted(checks)))


if __name__ == "__main__":
    main()
