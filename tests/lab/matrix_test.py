#!/usr/bin/env python3
"""The fault matrix itself. First with doctors that are made up: one that knows the truth, one that says nothing, one that accuses, one that
dies, so that its counting is known to be right; then, reduced, with the real one."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

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
    """The labs of matrices that are up now."""
    folder = "/run/plumbline"
    return {name for name in os.listdir(folder) if name.startswith("matrix-")} if os.path.isdir(folder) else set()


def oracle(folder, mode):
    path = pathlib.Path(folder, mode)
    path.write_text(ORACLE.replace("MODE", mode))
    path.chmod(0o755)
    return str(path)


def test_counting(folder):
    cells = ["--only", "drop_inbound", "--only", "link_down", "--only", "drop_inbound+link_down", "--only", "star", "--only", "bond"]
    _, right = matrix("--program", oracle(folder, "right"), *cells)
    assert right["single"]["hits"] == right["single"]["n"] == 2, right["single"]
    assert right["recall"]["hits"] == right["recall"]["n"] == 4 and right["precision"]["value"] == 1
    assert right["pairs"]["hits"] == 1 and right["zoo"]["hits"] >= 1
    assert all(cell["skipped"] == "" or cell["name"] == "bond" for cell in right["cells"])
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
        if os.environ.get("TEST_DOCTOR") != "0":
            test_real(folder)
            print("ok: the reduced matrix")
    assert not labs() - before, labs() - before


if __name__ == "__main__":
    main()
