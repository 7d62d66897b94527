#!/usr/bin/env python3
"""Somebody's own job, for real: a few cells of the matrix of your_job/ (all of them with TEST_EXHAUSTIVE=1). First with recorded answers, so that jobs,
faults and what counts them are known to work; then with plumbline itself, as far as it can be asked."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import SKIPPED, require_lab

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "your_job"))

import doctor  # noqa: E402
import draw  # noqa: E402
import jobs  # noqa: E402
import matrix  # noqa: E402
import page  # noqa: E402
from cluster import end_on_signals, left_netns, remove_orphans  # noqa: E402
from harness import READY_SECONDS, Cell, Setup  # noqa: E402
from judge import IGNORED  # noqa: E402
from recorded import Recorded  # noqa: E402

PROGRAM = os.path.join(os.environ["TEST_BUILD"], "plumbline")
# A few that are different from one another, and quick.
RECORDED = [Cell("gloo", "one_way_drop/own_output", 2, 1, 1), Cell("openmpi", "base_is_master/one_port", 2, 1, 0),
            Cell("mpich", "", 2, 2, mode="steps")]
ASKED = [Cell("gloo", "stopped/sigstop", 2, 1, 1, "port"), Cell("mpich", "never_reads/works", 2, 1, 1, "name"), Cell("gloo", "", 2, 2, mode="steps")]
failures = []


def check(condition, what):
    print(("ok    " if condition else "WRONG ") + what, flush=True)
    if not condition:
        failures.append(what)


def installed(cells):
    lacking = {name: stack.lacks() for name, stack in jobs.STACKS.items()}
    for name in sorted({cell.stack for cell in cells}):
        if lacking[name]:
            print("Skipped: %s: %s" % (name, lacking[name]))
    return [cell for cell in cells if not lacking[cell.stack]]


def judge(record):
    """A cell has become what it was meant to be, and nothing false was said of it."""
    name = record["name"]
    check(not record.get("trouble"), "%s: was made %s" % (name, record.get("trouble", "")))
    if record.get("trouble"):
        return
    check(record.get("healthy_without", True), "%s: runs without the fault %s" % (name, record.get("why", "")))
    check(record["as_expected"], "%s: %s, expected %s" % (name, record["outcome"], record["expected"]))
    for question in ("predict", "asked"):
        one = record.get(question)
        if one:
            check(one["hit"] is not False and not one["wrong"] and not one["problem"],
                  "%s: %s: %s %s in %.1f s" % (name, question, one["said"], one["problem"], one["seconds"]))
    if record.get("remedy"):
        check(record["remedy"]["runs"], "%s: runs after the remedy: %s" % (name, record["remedy"]["done"]))
    if "plan" in record:
        check(not record["plan"], "%s: the plan is what the sockets are: %s" % (name, record["plan"]))


def test_recorded(folder):
    cells = installed(RECORDED)
    runner = matrix.Runner(Recorded("right"), os.path.join(folder, "right"))
    records = [runner.run(cell) for cell in cells]
    for record in records:
        judge(record)
    if not cells:
        return False
    found = page.sums(records)
    check(found["asked"]["recall"][0] == found["asked"]["recall"][1] > 0, "all that can be named is named: %s" % (found["asked"],))
    check(found["remedies"][0] == found["remedies"][1], "what was healed runs: %s" % (found["remedies"],))
    # The same cell with a doctor that accuses: it is not counted as right because the job did hang.
    runner = matrix.Runner(Recorded("accuses"), os.path.join(folder, "accuses"), check_healthy=False)
    record = runner.run(cells[0])
    check(record["asked"]["hit"] is False and len(record["asked"]["wrong"]) == 1 and "remedy" not in record, "whoever accuses others is wrong: %s" % record["asked"])
    return True


def can_be_asked():
    help_text = subprocess.run([PROGRAM, "doctor", "--help"], capture_output=True, text=True, timeout=30).stdout
    return "--stack" in help_text and "--job" in help_text


def test_asked(folder):
    if not can_be_asked():
        print("Skipped: this plumbline knows no --stack or no --job")
        return
    runner = matrix.Runner(doctor.Doctor(PROGRAM), os.path.join(folder, "asked"), check_healthy=False)
    for cell in installed(ASKED):
        judge(runner.run(cell))


NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def unread_bytes(pid, cluster):
    """What lies in the receive queues of this process, as ss says."""
    done = subprocess.run(["ip", "netns", "exec", cluster.netns("node1"), "ss", "-tnpH"], capture_output=True, text=True, timeout=20)
    return sum(int(line.split()[1]) for line in done.stdout.splitlines() if "pid=%d," % pid in line)


def test_alone(folder):
    """One machine, no root, no host file: the rank that does not read is named, with the unread bytes."""
    if not installed([Cell("gloo", "", 1, 2)]):
        return
    with Setup(Cell("gloo", "", 1, 2, mode="unread"), os.path.join(folder, "alone")) as setup:
        job, cluster = setup.bench.job, setup.cluster
        job.who = 1
        job.before = NOBODY
        running = setup.start()
        check(running.wait_ready(READY_SECONDS["gloo"]), "alone: the job is up as nobody: %s" % running.errors())
        pid = running.pid(1)
        deadline = time.monotonic() + 20
        before, there = -1, 0
        while (there == 0 or there != before) and time.monotonic() < deadline:  # until the sender is stuck, too
            time.sleep(1)
            before, there = there, unread_bytes(pid, cluster)
        check(there > 0, "alone: ss sees %d bytes that rank 1 does not read" % there)
        if not can_be_asked():
            return
        done = cluster.run("node1", *NOBODY, "env", "-i", "PATH=" + os.environ["PATH"], "HOME=" + running.folder, PROGRAM, "doctor", "--job", str(pid), "--json", timeout=60)
        answer = doctor.answer_of(done.stdout, done.returncode, 0, done.stderr)
        named = [one for one in answer.findings if one["cause"] == "job.not_reading"]
        # A warning, since the rank works (half of a processor) and may read when it is through; a crowded machine gives it less.
        check(len(named) == 1 and [one["cause"] for one in answer.findings if one["outcome"] != "note" and one["cause"] not in IGNORED] == ["job.not_reading"],
              "alone: job.not_reading and nothing else: %s %s" % (answer.named, answer.problem))
        told = " ".join(str(evidence.get("text")) for one in named for evidence in one["evidence"])
        check(str(pid) in told and any(int(number) > 1000 for number in re.findall(r"\d+", told.replace(str(pid), ""))), "alone: with the unread bytes: %s" % told)


def test_all(folder):
    """Not every cell must be right: the matrix says how many are."""
    stacks = [name for name, stack in jobs.STACKS.items() if not stack.lacks()]
    runner = matrix.Runner(doctor.Doctor(PROGRAM), os.path.join(folder, "all"))
    records = []
    for cell in draw.draw(1, stacks) + draw.healthy(1, stacks):
        records.append(runner.run(cell))
        print("%-70s %s" % (cell.name, matrix.summary_line(records[-1])), flush=True)
    print(page.sums_text(records))
    found = page.sums(records)
    check(found["made"] >= 0.95 * found["cells"], "nearly all cells became what they were meant to be")
    for question in ("predict", "asked"):
        for kind in ("recall", "precision"):
            hits, n = found[question][kind]
            check(hits >= 0.95 * n, "%s of %s: %d of %d" % (kind, question, hits, n))


def leftovers(pid):
    """Namespaces of this process that are still there, and what `ip netns exec` reads for them."""
    return [name for name in left_netns() if name.startswith("yj%d-" % pid)]


def gone(pid, remove=None, seconds=20):
    """`remove`: tried again and again, since an `ip` whose parent was killed goes on for a moment."""
    deadline = time.monotonic() + seconds
    while leftovers(pid) and time.monotonic() < deadline:
        if remove:
            remove()
        time.sleep(0.1)
    return not leftovers(pid)


def test_ended(folder):
    """Ctrl-C in the middle of a cell removes it; what SIGKILL leaves, the next one does."""
    for number in (signal.SIGINT, signal.SIGKILL):
        out = os.path.join(folder, "ended.%d" % number)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "your_job", "matrix.py")
        started = subprocess.Popen([sys.executable, "-B", script, "--out", out, "--program", "/bin/true", "--only", "gloo", "--only", "stopped"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 20
        while not leftovers(started.pid) and started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.7)  # the job is started by then, or is about to be
        started.send_signal(number)
        started.wait(timeout=60)
        if number == signal.SIGKILL:
            check(leftovers(started.pid), "SIGKILL leaves what nobody could remove")
        check(gone(started.pid, remove_orphans if number == signal.SIGKILL else None), "nothing is left after signal %d: %s" % (number, leftovers(started.pid)))


# A signal in the middle of the removal (seen: node3's files and the switch were left), and SIGKILL before there was a namespace.
INTERRUPTED = """
import os, sys
import cluster
whole, calls = cluster.remove_netns, []
def remove_netns(netns):
    calls.append(netns)
    if len(calls) == 2:
        sys.exit(1)
    whole(netns)
made = cluster.Cluster(2, sys.argv[1])
cluster.remove_netns = remove_netns
made.remove()
"""
KILLED = "import os, cluster; os.makedirs('/etc/netns/yj%d-0-node1' % os.getpid()); os.kill(os.getpid(), 9)"


def test_interrupted(folder):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "your_job")
    for script, told in ((INTERRUPTED, "a removal that is interrupted is begun anew"), (KILLED, "files without a namespace are orphans, too")):
        started = subprocess.Popen([sys.executable, "-B", "-c", script, folder], cwd=here, env={**os.environ, "PYTHONPATH": here})
        check(started.wait(timeout=60) != 0, "%s: it was" % told)
        if script == KILLED:
            check(leftovers(started.pid), "%s: they are there" % told)
            remove_orphans()
        check(not leftovers(started.pid), "%s: %s" % (told, leftovers(started.pid)))


def main():
    require_lab()
    end_on_signals()
    with tempfile.TemporaryDirectory(prefix="plumbline-your-job-") as folder:
        os.chmod(folder, 0o755)
        for name in ("right", "accuses", "asked", "all"):
            os.mkdir(os.path.join(folder, name), 0o755)
        if os.environ.get("TEST_EXHAUSTIVE") == "1":
            test_all(folder)
        elif not test_recorded(folder):
            print("Skipped: no stack is there (scripts/packages.sh peers; then configure and build)")
            sys.exit(SKIPPED)
        else:
            test_ended(folder)
            test_interrupted(folder)
            test_alone(folder)
            test_asked(folder)
    check(not leftovers(os.getpid()), "nothing of it is left: %s" % leftovers(os.getpid()))
    sys.exit(1 if failures else 0)


main()
