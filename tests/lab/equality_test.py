#!/usr/bin/env python3
"""Four hosts over ssh, each with a home and a python3 of its own on the PATH, and a difference planted on each: a version, a variable that only
interactive shells set, a shard that is cut off, another index, a model that is not there. jaccl_mesh names all of them and stops; the remedies
that it prints are carried out; then nothing is found, twenty times, and it measures, with a host file made of
their cables. Last a model of 100 files and 20 GB, in under 10 s."""
import atexit
import itertools
import json
import os
import pathlib
import shlex
import shutil
import sys
import tempfile
import time

import record_lines
from namespaces import SKIPPED, ip
from ssh_lab import SshCluster, require_ssh_lab

PROGRAM = os.path.abspath(os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline"))
HOSTS = 4
MODELS = ["~/models/qwen", "~/models/llama"]
# As much of an interpreter as is asked for: the list of what is installed, and what pip would do about it.
PYTHON = r"""#!/bin/sh
list=$HOME/installed
if [ "$1 $2 $3" = "-m pip install" ]; then
  sed -i "s/^${4%%==*} .*/${4%%==*} ${4##*==}/" "$list"
  exit
fi
[ "$1" = -c ] || exit 9
cat "$list"
"""
GUARD = "case $- in *i*) ;; *) return ;; esac\n"
VARIABLE = "export HF_HUB_OFFLINE=1\n"


def safetensors(data):
    header = json.dumps({"w": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}}).encode()
    return len(header).to_bytes(8, "little") + header + data


class Homes:
    """What each host has below its home and in /usr/local/bin; hosts see their own alone."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-homes-"))
        atexit.register(shutil.rmtree, self.root, ignore_errors=True)

    def prelude(self, host):
        home, programs = self.of(host), self.root / (host["name"] + "-bin")
        return "mount --make-rprivate / && mount --bind %s /root && mount --bind %s /usr/local/bin" % (shlex.quote(str(home)),
                                                                                                     shlex.quote(str(programs)))

    def of(self, host):
        return self.root / (host["name"] + "-home")

    def fill(self, host):
        home = self.of(host)
        programs = self.root / (host["name"] + "-bin")
        programs.mkdir(parents=True)
        (programs / "python3").write_text(PYTHON)
        (programs / "python3").chmod(0o755)
        for number, model in enumerate(MODELS):
            folder = home / model[2:]
            folder.mkdir(parents=True)
            (folder / "config.json").write_text('{"layers": %d}' % number)
            shards = ["m-%d-of-3.safetensors" % part for part in (1, 2, 3)]
            blobs = home / "models/blobs" if number else folder  # as Hugging Face's cache keeps them
            blobs.mkdir(exist_ok=True)
            for shard in shards:
                (blobs / shard).write_bytes(safetensors(bytes(range(256)) * 4000))
                if number:
                    (folder / shard).symlink_to("../blobs/" + shard)
            (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w%d" % i: s for i, s in enumerate(shards)}}))
        (home / "installed").write_text("python 3.12.1\nmlx 0.31.0\nmlx-lm 0.29.1\n")
        (home / ".bashrc").write_text(VARIABLE + GUARD)


def plant(homes, hosts):
    """What is wrong, by cause and host."""
    first, second, third, fourth = (homes.of(host) for host in hosts)
    (first / ".bashrc").write_text(GUARD + VARIABLE)
    installed = second / "installed"
    installed.write_text(installed.read_text().replace("0.31.0", "0.30.4"))
    index = second / "models/qwen/model.safetensors.index.json"
    index.write_text(index.read_text().replace("w0", "w9"))
    shard = third / "models/qwen/m-2-of-3.safetensors"
    shard.write_bytes(shard.read_bytes()[:-100])
    shutil.rmtree(fourth / "models/llama")
    return {("config.mismatch", "h1", "HF_HUB_OFFLINE"), ("config.version_mismatch", "h2", "mlx: 0.30.4 here, 0.31.0 on"),
            ("artifact.differs", "h2", "index.json"), ("artifact.differs", "h3", "100 bytes are missing at its end"),
            ("artifact.missing", "h4", "~/models/llama is not there")}


def models():
    return [word for model in MODELS for word in ("--model", model)]


def equality(report):
    """Findings about what should be equal: cause, host, evidence."""
    return [(f["cause"], f["host"], " ".join(e["text"] for e in f["evidence"])) for f in report["findings"]
            if f["outcome"] != "note" and (f["cause"].startswith("artifact.") or f["cause"].startswith("config."))]


class Lab:
    def __init__(self):
        self.homes = Homes()  # before the first sshd starts
        for number in range(HOSTS):
            self.homes.fill({"name": "h%d" % (number + 1)})
        self.cluster = SshCluster(HOSTS, self.homes.prelude, shell_level=0)
        self.hosts = self.cluster.host_file()
        for host in self.cluster.hosts:
            config = self.homes.of(host) / ".ssh/config"
            config.parent.mkdir()
            config.write_text(self.cluster.config.read_text())

    def doctor(self, *words):
        done = self.cluster.run(PROGRAM, "doctor", self.hosts, "--only", "software", "--only", "artifact", "--json", *words)
        try:
            return done, json.loads(done.stdout)
        except ValueError:
            sys.exit("doctor said no JSON (exit %d):\n%s%s" % (done.returncode, done.stdout, done.stderr))

    def run_mesh(self, out, *words):
        return self.cluster.run(PROGRAM, "run", "jaccl_mesh", "--hosts", self.hosts, "--out", self.cluster.folder / out, "--no-history", *models(),
                                *words, timeout=300)

    def at(self, host, line):
        """A line of a remedy, where it is to be executed."""
        done = self.cluster.run("ssh", "-F", self.cluster.config, host, line, timeout=60)
        assert done.returncode == 0, "%s on %s: %d\n%s%s" % (line, host, done.returncode, done.stdout, done.stderr)

    def test_differences_are_named_and_mended(self):
        planted = plant(self.homes, self.cluster.hosts)
        done = self.run_mesh("planted")
        assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
        report = json.loads((self.cluster.folder / "planted/doctor.json").read_text())
        found = equality(report)
        for cause, host, words in planted:
            assert any(c == cause and h == host and words in text for c, h, text in found), (cause, host, words, found)
        assert {(c, h) for c, h, _ in found} == {(c, h) for c, h, _ in planted}, found
        assert not list(self.cluster.folder.glob("planted/records.jsonl")) or \
            '"cell"' not in (self.cluster.folder / "planted/records.jsonl").read_text(), "it measured"
        self.mend()

    def mend(self):
        """By the plan that doctor prints for each host."""
        plan = self.cluster.run(PROGRAM, "doctor", self.hosts, "--only", "software", "--only", "artifact", "--fix-plan", *models()).stdout
        (self.cluster.folder / "plan.sh").write_text(plan)
        # All of it lies below the homes, which are the hosts' own; the hosts share this machine's /etc.
        assert "/etc" not in "".join(line for line in plan.splitlines(True) if line.startswith("run ")), plan
        for host in ("h1", "h2", "h3", "h4"):
            self.at(host, "sh %s %s" % (self.cluster.folder / "plan.sh", host))
        bashrc = (self.homes.of({"name": "h1"}) / ".bashrc").read_text()
        assert bashrc == VARIABLE + GUARD + VARIABLE, bashrc
        _, report = self.doctor(*models())
        assert not equality(report), (equality(report), plan)

    def test_equal_hosts_have_no_finding(self):
        for _ in range(20):
            done, report = self.doctor(*models())
            assert done.returncode == 0 and not report["findings"], report["findings"]
            seen = [c for c in report["checks"] if c["id"] == "software"]
            assert len(seen) == 4 and all("mlx 0.31.0" in c["reason"] and c["outcome"] == "pass" for c in seen), seen
            seen = [c for c in report["checks"] if c["id"] == "artifact"]
            assert len(seen) == 8 and all("5 files" in c["reason"] and c["outcome"] == "pass" for c in seen), seen

    def plug_cables(self):
        """One between every two hosts, with addresses of their own."""
        hosts = self.cluster.hosts
        for number, (a, b) in enumerate(itertools.combinations(range(HOSTS), 2)):
            ends = ((a, "to%d" % (b + 1), 1), (b, "to%d" % (a + 1), 2))
            (_, one, _), (_, other, _) = ends
            ip("link", "add", one, "netns", hosts[a]["netns"], "type", "veth", "peer", "name", other, "netns", hosts[b]["netns"])
            for host, name, last in ends:
                ip("-n", hosts[host]["netns"], "addr", "add", "10.7.0.%d/30" % (4 * number + last), "dev", name)
                ip("-n", hosts[host]["netns"], "link", "set", name, "up")

    def test_cables_over_ssh_become_the_host_file(self):
        self.plug_cables()
        self.hosts = self.cluster.folder / "discovered.json"
        done = self.cluster.run(PROGRAM, "hosts", "discover", *(h["name"] for h in self.cluster.hosts), "--out", self.hosts)
        assert done.returncode == 0 and "4 hosts, 6 cables: mesh" in done.stdout, (done.stdout, done.stderr)

    def test_then_it_measures(self):
        done = self.run_mesh("healthy", "--rounds", "2")
        report = json.loads((self.cluster.folder / "healthy/doctor.json").read_text())
        assert done.returncode == 0 and not equality(report), (done.returncode, equality(report), done.stdout[-3000:], done.stderr)
        assert "the same, on every host" in done.stdout, done.stdout
        records = record_lines.records_of(self.cluster.folder / "healthy/records.jsonl")
        assert len(records) == 64 and all(r["outcome"] == "passed" for r in records), [r["outcome"] for r in records]

    def test_a_large_model_is_compared_quickly(self):
        folder = self.cluster.folder / "large"
        folder.mkdir()
        for number in range(100):
            with open(folder / ("part-%03d.bin" % number), "wb") as file:
                file.truncate(200 << 20)
        begin = time.monotonic()
        done, report = self.doctor("--model", str(folder))
        took = time.monotonic() - begin
        seen = [c for c in report["checks"] if c["id"] == "artifact"]
        assert done.returncode == 0 and len(seen) == 4 and all("100 files" in c["reason"] for c in seen), (seen, report["findings"])
        print("100 files, 20 GB: compared on four hosts of two processors in %.1f s" % took)
        assert took < 10, took


def main():
    require_ssh_lab()
    for program in ("rsync", "bash"):
        if shutil.which(program) is None:
            print("Skipped: needs %s" % program)
            return SKIPPED
    lab = Lab()
    # In this order: the first one leaves the hosts equal.
    for test in (lab.test_differences_are_named_and_mended, lab.test_equal_hosts_have_no_finding,
                 lab.test_cables_over_ssh_become_the_host_file, lab.test_then_it_measures,
                 lab.test_a_large_model_is_compared_quickly):
        if len(sys.argv) > 1 and sys.argv[1] not in test.__name__:
            continue
        begin = time.monotonic()
        test()
        print("ok %s (%.1f s)" % (test.__name__, time.monotonic() - begin))
    return 0


if __name__ == "__main__":
    sys.exit(main())
