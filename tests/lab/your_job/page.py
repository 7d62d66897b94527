"""docs/your_job.md from the records of a matrix. Pure: the same records give the same page. Nothing is left out: a cell that was missed, a wrong
finding and a cell that could not be made stand in it as such."""
import collections
import json

import faults
import judge

COMMAND = "sudo TEST_BUILD=$PWD/build python3 -B tests/lab/your_job/matrix.py --seed %d --out cells.jsonl --docs docs/your_job.md"
QUESTIONS = (("predict", "`--stack`, before the start"), ("asked", "`--job`, while it hangs"))


def newest(records, names=None):
    """The last record of each cell, in the order of the first."""
    found = {}
    for record in records:
        if names is None or record["name"] in names:
            found[record["name"]] = record
    return list(found.values())


def share(hits_of):
    hits, n = hits_of
    if n == 0:
        return "none asked"
    p, low, high = judge.wilson(hits, n)
    return "%d of %d = %.3f (%.3f to %.3f)" % (hits, n, p, low, high)


def made(records):
    return [record for record in records if not record.get("trouble") and record.get("as_expected")]


def sums(records):
    good = made(records)
    broken, healthy = [r for r in good if r["cell"]["fault"]], [r for r in good if not r["cell"]["fault"]]
    remedies = [r["remedy"] for r in broken if r.get("remedy")]
    return {"cells": len(records), "made": len(good), "broken": len(broken), "healthy": len(healthy),
            "remedies": (sum(bool(one["runs"]) for one in remedies), len(remedies)),
            "plans": (sum(not r["plan"] for r in healthy if "plan" in r), sum("plan" in r for r in healthy)),
            "silent": (sum(not r["asked"]["wrong"] and not r["asked"]["problem"] for r in healthy if r.get("asked")),
                       sum(bool(r.get("asked")) for r in healthy)),
            **{question: judge.totals(good, question) for question, _ in QUESTIONS}}


def sums_text(records):
    found = sums(records)
    lines = ["%d cells, %d as they were meant (%d with a fault, %d without)" % (found["cells"], found["made"], found["broken"], found["healthy"])]
    for question, _ in QUESTIONS:
        total = found[question]
        lines.append("%-8s recall %s, precision %s, quiet %s, median and longest %s s, %d late, %d without an answer"
                     % (question, share(total["recall"]), share(total["precision"]), share(total["quiet"]), total["seconds"], total["late"], total["problems"]))
    lines.append("remedies %s; healthy: plan equals sockets %s, --job silent %s" % (share(found["remedies"]), share(found["plans"]), share(found["silent"])))
    return "\n".join(lines)


def mark(one):
    if one is None:
        return "–"
    if one["problem"]:
        return "**no answer**"
    if one["wrong"]:
        return "**wrong:** " + ", ".join(one["wrong"])
    if one["hit"] is None:
        return "silent"
    if not one["hit"]:
        return "**late** (%.0f s)" % one["seconds"] if one["late"] else "**missed**"
    return ", ".join(sorted(set(one["right"]))) + " (%.1f s)" % one["seconds"]


def cell_row(record):
    cell = record["cell"]
    if record.get("trouble"):
        return [cell["stack"], cell["fault"] or cell["mode"], "%d x %d" % (cell["hosts"], cell["ranks_per_host"]), "**not made**", "", "", ""]
    outcome = record["outcome"] if record["as_expected"] else "**%s**, not %s" % (record["outcome"].split(":")[0], "/".join(record["expected"]))
    remedy = record.get("remedy")
    told = "" if not remedy else "runs" if remedy["runs"] else "**does not run**"
    return [cell["stack"], cell["fault"] or cell["mode"], "%d x %d" % (cell["hosts"], cell["ranks_per_host"]), outcome, mark(record.get("predict")),
            mark(record.get("asked")), told]


def table(head, rows):
    lines = [[str(word).replace("|", "\\|") for word in row] for row in rows]
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(line) + " |" for line in lines)]


def plan_word(record):
    if "plan" not in record:
        return "–"
    return "**differ:** " + "; ".join(record["plan"])[:300] if record["plan"] else "equal"


def by_fault(records):
    groups = collections.OrderedDict()
    for record in made(records):
        if record["cell"]["fault"]:
            groups.setdefault(record["cell"]["fault"].split("/")[0], []).append(record)
    rows = []
    for name, group in groups.items():
        cells = [name, len(group)]
        for question, _ in QUESTIONS:
            total = judge.totals(group, question)
            cells += ["%d of %d" % total["recall"] if total["recall"][1] else "–", total["precision"][1] - total["precision"][0]]
        rows.append(cells)
    return table(["fault", "cells", "foretold", "wrong", "named", "wrong"], rows)


def machines(records):
    """What was measured where: a line for each machine and program."""
    groups = collections.OrderedDict()
    for record in records:
        groups.setdefault(json.dumps(record.get("about", {}), sort_keys=True), []).append(record)
    lines = []
    for key, group in groups.items():
        about, days = json.loads(key), sorted({record["date"][:10] for record in group})
        stacks = sorted({record["cell"]["stack"] for record in group})
        lines.append("- %s: %s, with %s, kernel %s, %s." % (" to ".join(sorted({days[0], days[-1]})), ", ".join(stacks), about.get("plumbline", "?"),
                                                            about.get("kernel", "?"), ", ".join(about.get("packages") or ["no packages"])))
    return lines


def intro(found, records, seed):
    lines = ["# Your own job", "", "<!-- Made by tests/lab/your_job/matrix.py from the records of its cells: do not edit. -->", "",
             "\"Ping works, training hangs\": `plumbline doctor --stack NAME` says before the start which addresses and ports a job will take and",
             "whether they work; `plumbline doctor --job PID` says of one that hangs who waits for whom. How often that was right stands here: real jobs over",
             "network namespaces of one machine, made to hang or fail in known ways, and left alone.", "",
             "Measured with seed %d (each line a machine of its own):" % seed, "", *(machines(records) or ["- never."]), "",
             "    " + COMMAND % seed, "", "## Sums", ""]
    rows = []
    for question, text in QUESTIONS:
        total = found[question]
        rows.append([text, share(total["recall"]), share(total["precision"]), share(total["quiet"]),
                     "%.1f and %.1f s" % total["seconds"] if total["seconds"] else "–", total["late"], total["problems"]])
    lines += table(["", "recall", "precision", "nothing to say, and silent", "median and longest answer", "`--job` later than 15 s", "no answer"], rows)
    lines += ["", "Recall counts cells with something that can be known then, precision findings that fail or warn; 95 % intervals are Wilson's. A finding on",
              "another host than the right one is wrong. %d cells; %d became what they were meant to be and count." % (found["cells"], found["made"]), "",
              "- The printed remedy makes the job run, where it is local: %s." % share(found["remedies"]),
              "- Healthy jobs whose sockets are those of the plan: %s." % share(found["plans"]),
              "- Healthy jobs of which `--job` says nothing (some compute for 30 s between operations, wait as a server does, or load a model): %s."
              % share(found["silent"])]
    return lines


def page(records, seed):
    lines = intro(sums(records), records, seed)
    missing = sorted({stack for fault in faults.FAULTS for stack in fault.stacks} - {record["cell"]["stack"] for record in records})
    if missing:
        lines.append("- Not measured: %s." % ", ".join(missing))
    lines += ["", "## By fault", ""] + by_fault(records)
    lines += ["", "## What was done", ""]
    seen = {}
    for fault in faults.FAULTS:
        seen.setdefault((fault.key, fault.text), []).extend(fault.stacks)
    lines += table(["fault", "stacks", "what"], [[key, ", ".join(stacks), text] for (key, text), stacks in seen.items()])
    lines += ["", "Not made:", ""] + ["- %s, %s: %s." % (*key, why) for key, why in faults.NOT_MADE.items()]
    lines += ["", "## Every cell", "", "Hosts times ranks on each; what the job did; what was said. `silent` where there was nothing to say, – where it",
              "was not asked.", ""]
    lines += table(["stack", "fault", "size", "job", "`--stack`", "`--job`", "after the remedy"], [cell_row(r) for r in records if r["cell"]["fault"]])
    lines += ["", "## Healthy jobs", ""]
    healthy = [r for r in records if not r["cell"]["fault"]]
    lines += table(["stack", "mode", "size", "job", "`--stack`", "`--job`", "plan and sockets"],
                   [cell_row(r)[:6] + [plan_word(r)] for r in healthy])
    bad = [r for r in records if r.get("trouble") or not r.get("as_expected")]
    if bad:
        lines += ["", "## Cells that did not become what they were meant to be", ""]
        lines += ["- %s: %s" % (r["name"], r.get("trouble", "").strip().splitlines()[-1] if r.get("trouble") else r["outcome"]) for r in bad]
    return "\n".join(lines) + "\n"
