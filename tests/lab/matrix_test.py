#!/usr/bin/env python3
"""The fault matrix itself. First with doctors that are made up: one that knows the truth, one that says nothing, one that accuses, one that
dies, so that its counting is known to be right; then, reduced, with the real one."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import require_lab

PROGRAM = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")

# Reads what was really done from the lab's state. MODE: right, mute, accuse, crash, babble.
ORACLE = r'''#!/usr/bin/python3
import json, os, signal, sys
mode = "MODE"
hosts = sys.argv[sys.argv.index("--hosts") + 1]
state = json.load(open(os.path.join(os.path.dirname(hosts), "state.json")))
if mode == "crash": os.kill(os.getpid(), signal.SIGSEGV)
if mode == "babble": print("everything is fine"); sys.exit(0)
findings = []
for fault in [] if mode == "mute" else state["injected"]:
    note = fault["causes"][0] == "icmp.blocked"
    findings.append({"cause": fault["causes"][0], "outcome": "note" if note else "warn" if fault["warn"] else "fail", "host": fault["expect_host"],
                     "peer": fault["expect_peer"] or None, "evidence": [], "remedy": "touch /run/plumbline/REMEDY" if False else "true"})
if mode == "accuse":
    findings.append({"cause": "tcp.no_listener", "outcome": "fail", "host": state["lab"]["hosts"][0]["name"], "peer": None, "evidence": [], "remedy": ""})
print(json.dumps({"schema": 1, "verdict": "fail" if findings else "ok", "findings": findings, "checks": []}))
sys.exit(2 if findings else 0)
'''


def matrix(*words, timeout=1200):
    done = subprocess.run([PROGRAM, "lab", "matrix", *words, "--json"], capture_output=True, text=True, timeout=timeout)
    try:
        return done, json.loads(done.stdout)
    except ValueError:
        sys.exit("no JSON from %s: %s%s" % (words, done.stdout, done.stderr))


def labs():
    """The labs of matrices that are up now, and lock files of theirs (".matrix-...lock"): also those that a kernel without vlan or bond refused."""
    folder = "/run/plumbline"
    return {name for name in os.listdir(folder) if name.lstrip(".").startswith("matrix-")} if os.path.isdir(folder) else set()


def oracle(folder, mode):
    path = pathlib.Path(folder, mode)
    path.write_text(ORACLE.replace("MODE", mode))
    path.chmod(0o755)
    return str(path)


def test_counting(folder):
    cells = ["--only", "drop_inbound", "--only", "link_down", "--only", "drop_inbound+link_down", "--only", "star", "--only", "bond", "--only", "vlan"]
    _, right = matrix("--program", oracle(folder, "right"), *cells)
    assert right["single"]["hits"] == right["single"]["n"] == 2, right["single"]
    assert right["recall"]["hits"] == right["recall"]["n"] == 4 and right["precision"]["value"] == 1
    assert right["pairs"]["hits"] == 1 and right["zoo"]["hits"] >= 1
    assert all(cell["skipped"] == "" or cell["name"] in ("bond", "vlan") for cell in right["cells"])
    done, mute = matrix("--program", oracle(folder, "mute"), *cells)
    assert done.returncode == 2 and mute["recall"]["hits"] == 0 and mute["recall"]["n"] == 4
    assert mute["zoo"]["hits"] == mute["zoo"]["n"] >= 1 and mute["remedies"]["n"] == 0
    assert all("got nothing" in line for line in mute["confusions"]) and len(mute["confusions"]) == 3
    done, accuse = matrix("--program", oracle(folder, "accuse"), *cells)
    assert done.returncode == 2 and accuse["recall"]["value"] == 1 and accuse["single"]["hits"] == 0
    assert accuse["zoo"]["hits"] == 0 and accuse["precision"]["value"] < 1
    for mode in ("crash", "babble"):
        done, broken = matrix("--program", oracle(folder, mode), "--only", "link_down")
        assert done.returncode == 2 and broken["errors"] == 1 and broken["single"]["hits"] == 0, mode
    # Side by side they are the same cells, in the same order.
    _, beside = matrix("--program", oracle(folder, "right"), "--jobs", "3", *cells)
    assert [cell["name"] for cell in beside["cells"]] == [cell["name"] for cell in right["cells"]]
    assert beside["recall"] == right["recall"] and beside["zoo"] == right["zoo"]
    for wrong in ("0", "65", "many"):
        assert subprocess.run([PROGRAM, "lab", "matrix", "--jobs", wrong], capture_output=True).returncode == 1
    # A cell can be repeated exactly.
    _, again = matrix("--program", oracle(folder, "mute"), "--only", "drop_inbound")
    first = next(cell for cell in mute["cells"] if cell["name"] == "drop_inbound")
    assert [f["how"] for f in again["cells"][0]["faults"]] == [f["how"] for f in first["faults"]]


def namespaces():
    return set(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else set()


def interrupted(folder, stubborn, times):
    """Ctrl-C while a doctor runs that lives for a minute: how long until the matrix is gone, and what it says."""
    started = pathlib.Path(folder, "started")
    started.unlink(missing_ok=True)
    doctor = pathlib.Path(folder, "slow")
    trap = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else ""
    doctor.write_text("#!/usr/bin/python3\nimport os, pathlib, signal, time\n%s\npathlib.Path(%r).write_text(str(os.getpid()))\ntime.sleep(60)\n"
                      % (trap, str(started)))
    doctor.chmod(0o755)
    before = labs()
    run = subprocess.Popen([PROGRAM, "lab", "matrix", "--program", str(doctor), "--only", "star", "--only", "drop_inbound", "--seeds", "3"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 60
    while not (started.exists() and started.read_text()):
        assert time.time() < deadline and run.poll() is None, run.poll()
        time.sleep(0.02)
    # Not all that are new: a test beside this one makes and keeps some too.
    states = "".join(state.read_text() for lab in labs() - before for state in pathlib.Path("/run/plumbline", lab).glob("state.json"))
    mine = {name for name in namespaces() if '"%s"' % name in states}
    assert mine, "the lab is not up"
    began = time.time()
    run.send_signal(signal.SIGINT)
    line = run.stderr.readline()
    said = time.time() - began
    assert "interrupted" in line and "Ctrl-C" in line, line
    assert said < 10, said  # before the doctor's minute is over
    if times > 1:
        run.send_signal(signal.SIGINT)
    last = time.time() if times > 1 else began
    while alive(int(started.read_text())):
        assert time.time() < last + 60, "the doctor goes on"
        time.sleep(0.01)
    doctor_took = time.time() - last
    _, rest = run.communicate(timeout=60)
    took = time.time() - began
    assert run.returncode == 130, (run.returncode, rest)
    assert "interrupted" not in rest, rest  # said once
    while mine & namespaces() and time.time() < deadline:
        time.sleep(0.1)
    assert not mine & namespaces(), mine & namespaces()
    assert not os.path.exists("/proc/%s" % started.read_text())
    return took, doctor_took


def alive(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_interrupt(folder):
    before = labs()
    orderly, _ = interrupted(folder, False, 1)
    patient, given = interrupted(folder, True, 1)
    at_once, not_given = interrupted(folder, True, 2)
    print("one Ctrl-C: %.1f s; with a doctor that will not end: %.1f s; again Ctrl-C: %.1f s" % (orderly, patient, at_once))
    print("a doctor that will not end has %.1f s, and after another Ctrl-C %.1f s" % (given, not_given))
    assert given > 1.9 > not_given, (given, not_given)
    assert orderly < 10 and patient < 12
    assert not labs() - before


def test_real(folder):
    page = pathlib.Path(folder, "diagnosis.md")
    page.write_text("# Diagnosis\n\n<!-- matrix:begin -->\n<!-- matrix:end -->\n\nThe end.\n")
    done, result = matrix("--reduced", "--jobs", "2", "--docs", str(page))
    sys.stderr.write(done.stderr)
    text = page.read_text()
    assert "| `drop_inbound` |" in text and text.endswith("The end.\n"), text
    wrong = [(cell["name"], cell["faults"], cell["findings"], cell["error"]) for cell in result["cells"] if not cell["right"] and not cell["skipped"]]
    assert done.returncode == 0 and not wrong, "\n".join(map(str, wrong))
    unhealed = [(cell["name"], cell["after_remedy"], cell["changed_elsewhere"]) for cell in result["cells"] if cell["remedy_tried"] and not cell["healed"]]
    assert not unhealed, "\n".join(map(str, unhealed))


def main():
    require_lab()
    before = labs()
    with tempfile.TemporaryDirectory() as folder:
        test_counting(folder)
        print("ok: counting")
        test_interrupt(folder)
        print("ok: an interrupt")
        if os.environ.get("TEST_DOCTOR") != "0":
            test_real(folder)
            print("ok: the reduced matrix")
    assert not labs() - before, labs() - before


if __name__ == "__main__":
    main()
