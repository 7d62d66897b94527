#!/usr/bin/env python3
"""The link matrix on a mesh of four namespaces with a veth per pair: a healthy mesh has no outliers; with one direction of one link shaped
to a tenth and another one lossy, exactly these two pairs are named, and the folder of pictures is there. All behind firewalls that let the
job's own ports through and nothing else. The healthy one runs on the file that `hosts discover` makes of the addresses alone."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from namespaces import Mesh, ip, require_lab
from record_lines import records_of

RANKS = 4
RATE_MBIT = 200
SLOW, LOSSY = (1, 2), (3, 0)  # from, to
LOSS = 0.03
NAMED = re.compile(r"^- (slow|late|lossy) (link|host|sender|receiver) ([^\s:]+)(?: > ([^\s:]+))?[: ]")


def need(program):
    if shutil.which(program) is None:
        print("Skipped: needs " + program)
        sys.exit(77)


def shape(mesh, a, b, mbit):
    subprocess.run(["tc", "-n", mesh.names[a], "qdisc", "replace", "dev", mesh.links[(a, b)], "root", "tbf", "rate", "%dmbit" % mbit,
                    "burst", "32kb", "latency", "30ms"], check=True, timeout=20)


def drop(mesh, a, b):
    """What comes from a is dropped at b, so many in a thousand."""
    inside = ("netns", "exec", mesh.names[b], "nft", "add")
    ip(*inside, "table", "inet", "lossy")
    ip(*inside, "chain", "inet", "lossy", "in", "{ type filter hook input priority 0; }")
    ip(*inside, "rule", "inet", "lossy", "in", "iifname", mesh.links[(b, a)], "numgen", "random", "mod", "1000", "<", str(int(1000 * LOSS)),
       "counter", "drop")


def protect(mesh, host):
    """A firewall that lets the job's own window of ports through, and answers to what the host itself has begun."""
    rules = """table inet guard {
  chain in {
    type filter hook input priority 0; policy drop;
    iif lo accept
    ct state established,related accept
    tcp dport 29600-%(last)d accept
    udp dport 29600-%(last)d accept
  }
}
""" % {"last": 29600 + RANKS - 1}
    subprocess.run(["ip", "netns", "exec", mesh.names[host], "nft", "-f", "-"], input=rules, text=True, check=True, timeout=20)


def discover(program, mesh, path):
    """Every cable is found, by its addresses; the program's own file of them."""
    done = subprocess.run([program, "hosts", "discover", *["netns:" + name for name in mesh.names], "--json", "--out", str(path)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    ends = {tuple((cable[end]["host"], cable[end]["interface"]) for end in "ab") for cable in found["cables"]}
    expected = {tuple((mesh.names[x], mesh.links[(x, y)]) for x, y in ((a, b), (b, a))) for a, b in mesh.links if a < b}
    assert ends == expected and found["shape"] == "mesh" and not found["doubts"], (ends ^ expected, found)
    hosts = json.loads(path.read_text())["hosts"]
    assert [(host["netns"], sorted(host["data"])) for host in hosts] == \
        [(name, sorted(mesh.addresses[index])) for index, name in enumerate(mesh.names)], hosts


def names_of(out):
    return sorted({(m[1] + " " + m[2], m[3], m[4]) for m in map(NAMED.match, out.splitlines()) if m})


def main():
    require_lab()
    need("nft")
    need("tc")
    program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
    mesh = Mesh(RANKS)
    hosts = {"hosts": [{"name": "host%d" % index, "netns": mesh.names[index], "data": mesh.addresses[index], "speed": "%dMbit" % RATE_MBIT}
                       for index in range(RANKS)]}
    for a, b in mesh.links:
        shape(mesh, a, b, RATE_MBIT)
    for host in range(RANKS):
        protect(mesh, host)
    scenario = pathlib.Path(__file__).resolve().parents[2] / "scenarios" / "link_matrix.json"
    with tempfile.TemporaryDirectory() as folder:
        host_file = pathlib.Path(folder, "hosts.json")
        host_file.write_text(json.dumps(hosts))
        found_file = pathlib.Path(folder, "found.json")
        discover(program, mesh, found_file)

        def run(name, code=0, host_file=host_file):
            out = os.environ.get("TEST_KEEP", folder) + "/" + name
            done = subprocess.run([program, "run", str(scenario), "--hosts", str(host_file), "--out", out, "--no-probes", "--quiet"],
                                  capture_output=True, text=True, timeout=200)
            if done.returncode != code:
                sys.exit("exit status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
            records = records_of(pathlib.Path(out, "records.jsonl"))
            assert len(records) == 8, [record["cell"]["measure"] for record in records]
            for record in records:
                assert record["outcome"] == "passed", record["reason"]
                assert len(record["links"]) == RANKS * (RANKS - 1), record["cell"]
                # Every pair over its own cable, and nothing but the pair's own subnet.
                for link in record["links"]:
                    assert link["direct"] and link["local"].rsplit(".", 1)[0] == link["remote"].rsplit(".", 1)[0], link
            return done.stdout, {record["cell"]["measure"]: record["links"] for record in records}, pathlib.Path(out)

        text, links, _ = run("healthy", host_file=found_file)
        print(text[text.find("= Links"):][:1500])
        assert names_of(text) == [], names_of(text)
        assert "Topology: mesh" in text, text
        for link in links["stream"]:
            assert 0.7 * RATE_MBIT < link["Bps"] * 8 / 1e6 < 1.05 * RATE_MBIT, link

        shape(mesh, *SLOW, RATE_MBIT // 10)
        drop(mesh, *LOSSY)
        text, links, out = run("broken", 2)  # a tenth of the speed that the host file states
        named = names_of(text)
        print(text[text.find("= Links"):][:3000])
        hosts_of = lambda pair: ("host%d" % pair[0], "host%d" % pair[1])
        pairs = {frozenset((a, b)) for _, a, b in named if b}
        assert all(what.endswith("link") for what, _, _ in named), named
        assert pairs == {frozenset(hosts_of(SLOW)), frozenset(hosts_of(LOSSY))}, named
        assert ("slow link", *hosts_of(SLOW)) in named, named
        assert ("lossy link", *hosts_of(LOSSY)) in named, named
        (lossy,) = [link for link in links["udp"] if (link["from"], link["to"]) == LOSSY]
        share = lossy["udp"]["lost"] / lossy["udp"]["sent"]
        assert LOSS / 2 < share < 2 * LOSS, lossy["udp"]
        (slow,) = [link for link in links["stream"] if (link["from"], link["to"]) == SLOW]
        assert slow["Bps"] * 8 / 1e6 < 1.2 * RATE_MBIT / 10, slow
        # The suggested ring goes around the slow direction.
        assert re.search(r"suggested", text), text
        ring = [line for line in text.splitlines() if "suggested" in line and " > " in line][0]
        assert "%s > %s" % hosts_of(SLOW) not in ring, ring
        for name in ("links.md", "topology.svg", "topology.dot"):
            assert (out / "links" / name).stat().st_size > 100, name
    print("ok: " + ", ".join("%s %s > %s" % each for each in named))


if __name__ == "__main__":
    main()
