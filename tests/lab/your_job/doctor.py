"""The two questions that the matrix asks plumbline, and their answers as plain values. A test puts recorded answers in the place of the program."""
import dataclasses
import json
import os
import re
import subprocess
import time

import jobs

LIMIT_SECONDS = 15  # an answer that takes longer counts as none
PATIENCE = 60


@dataclasses.dataclass
class Answer:
    seconds: float
    findings: list  # as `doctor --json` has them
    problem: str = ""  # why there is no answer
    plan: dict = None  # what --stack foretells
    verdict: str = ""

    @property
    def named(self):
        return ["%s %s%s%s" % (f["outcome"], f["cause"], " on " + f["host"] if f.get("host") else "", ">" + f["peer"] if f.get("peer") else "")
                for f in self.findings if f["outcome"] != "note"]


def answer_of(text, exit_code, seconds, stderr=""):
    try:
        found = json.loads(text)
        return Answer(seconds, found["findings"], "", found.get("stack"), found["verdict"])
    except (ValueError, KeyError, TypeError):
        said = (stderr.strip() or text.strip() or "it said nothing")[:300]
        return Answer(seconds, [], "exit code %d and no diagnosis: %s" % (exit_code, said))


class Doctor:
    """The program itself."""

    def __init__(self, program):
        self.program = os.path.abspath(program)

    def _ask(self, words):
        began = time.monotonic()
        environment = {"PATH": os.environ["PATH"], "HOME": "/root", "XDG_STATE_HOME": os.environ.get("XDG_STATE_HOME", "/tmp")}
        try:
            done = subprocess.run([self.program, "doctor", *words, "--json"], capture_output=True, text=True, timeout=PATIENCE, env=environment,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return Answer(time.monotonic() - began, [], "no answer within %d s" % PATIENCE)
        return answer_of(done.stdout, done.returncode, time.monotonic() - began, done.stderr)

    def predict(self, setup):
        words = ["--hosts", setup.cluster.host_file(), "--stack", jobs.STACKS[setup.cell.stack].model, "--ranks", str(setup.bench.job.size)]
        for text in setup.user_environment():
            words += ["--env", text]
        return self._ask(words)

    def name_it(self, setup, handle):
        return self._ask(["--hosts", setup.cluster.host_file(), "--job", handle])


def listens(cluster, host, port):
    """A rank that saw an error may have closed what it listened on."""
    done = subprocess.run(["ip", "netns", "exec", cluster.netns(host), "ss", "-tlnH", "sport", "=", ":%d" % port], capture_output=True, text=True, timeout=20)
    return bool(done.stdout.strip())


def handle_of(setup, kind, living):
    """How the user says which job is meant; falls back to a pid where the rest is not there. None = no process of it is left."""
    running = setup.bench.running
    job = running.job
    if kind == "port" and not running.stack.launcher and listens(setup.cluster, job.hosts[0], setup.bench.master_port):
        return ":%d@%s" % (setup.bench.master_port, job.hosts[0])
    if living:
        rank = min(living)
        if kind == "name" and not running.stack.name.startswith("torch-") and not job.alone:
            return "%s@%s" % (os.path.basename(running.stack.program()[0]), job.host_of(rank))
        return "%d@%s" % (living[rank], job.host_of(rank))
    left = [process.pid for process in running.processes if process.poll() is None]
    return "%d@%s" % (left[0], job.hosts[0]) if left else None


VARIABLE = re.compile(r"\b([A-Za-z][A-Za-z0-9_]*)=([^\s,;'\"]+)")


def variables_in(remedy):
    """What a remedy in words tells to set: "set GLOO_SOCKET_IFNAME=eth0 for the ranks on node1"."""
    found = {}
    for name, value in VARIABLE.findall(remedy):
        # Open MPI's own words for a parameter; it reads OMPI_MCA_NAME.
        found["OMPI_MCA_" + name if name.startswith(("btl_", "oob_")) else name] = value
    return found


def apply_remedy(setup, finding):
    """Does what the finding says: its commands on their hosts, or the variables that it names for the job's next start. Returns what was done; empty
    when there was nothing that could be done."""
    done = []
    for command in finding.get("commands") or []:
        argv = command["argv"]
        if argv and argv[0] == "export":
            done += set_variables(setup, dict(word.split("=", 1) for word in argv[1:] if "=" in word), command.get("host"))
            continue
        ended = setup.cluster.run(command["host"], *argv)
        done.append("%s: %s -> %d" % (command["host"], " ".join(argv), ended.returncode))
        if ended.returncode != 0:
            return done
    if not finding.get("commands"):
        done += set_variables(setup, variables_in(finding.get("remedy") or ""), None)
    return done


def set_variables(setup, variables, host):
    job = setup.bench.job
    if not variables:
        return []
    if host:
        for rank in range(job.size):
            if job.host_of(rank) == host:
                job.env_of.setdefault(rank, {}).update(variables)
    else:
        job.env.update(variables)
    return ["%sset %s" % (host + ": " if host else "", " ".join("%s=%s" % item for item in variables.items()))]
