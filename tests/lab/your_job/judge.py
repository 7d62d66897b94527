"""What was answered against what was done. Pure."""
import math

IGNORED = {"host.overloaded"}  # true on a machine that runs a matrix
GONE = {"rank.dead", "rank.missing"}  # true of a rank that has ended, whatever made it end


def accepted(fault, question):
    """Causes that are right answers: before the start what can be known then, later also what hangs because of it."""
    if question == "predict":
        return set(fault.predicted)
    return set(fault.named) | set(fault.predicted)


def judge(fault, hosts, question, answer, limit, alive=True, gone=()):
    """hit: None where there is nothing to be named. A finding counts when it fails or warns; one that names an accepted cause on another host is wrong.
    fault None = a healthy job; limit None = an answer may take its time, as before a start. `gone`: hosts of
    ranks that have ended; to say so of them is no answer, unless that was the fault, but not wrong either."""
    causes = accepted(fault, question) if fault else set()
    if question == "name" and not alive:
        causes = set()
    right, wrong = [], []
    for finding in answer.findings:
        if finding["outcome"] == "note" or finding["cause"] in IGNORED:
            continue
        shown = "%s%s" % (finding["cause"], " on " + finding["host"] if finding.get("host") else "")
        if finding["cause"] in causes and (hosts is None or not finding.get("host") or finding["host"] in hosts):
            right.append(shown)
        elif finding["cause"] in GONE and finding.get("host") in gone:
            continue
        elif fault and finding["cause"] in fault.harmless and finding["outcome"] == "warn":
            continue
        else:
            wrong.append(shown)
    late = limit is not None and answer.seconds > limit
    hit = None
    if causes:
        hit = bool(right) and not late and not answer.problem
    return {"hit": hit, "right": right, "wrong": wrong, "late": late, "problem": answer.problem, "seconds": round(answer.seconds, 2)}


def wilson(hits, n, z=1.959964):
    """Share and its 95 % interval."""
    if n == 0:
        return None, 0.0, 1.0
    p = hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, max(0.0, middle - half), min(1.0, middle + half)


def totals(records, question):
    """Over the records of a matrix: recall by cell with something to name, precision by finding, answers in time, and remedies."""
    judged = [record[question] for record in records if record.get(question)]
    expected = [one for one in judged if one["hit"] is not None]
    right, wrong = sum(len(one["right"]) for one in judged), sum(len(one["wrong"]) for one in judged)
    seconds = sorted(one["seconds"] for one in judged)
    return {"recall": (sum(one["hit"] for one in expected), len(expected)), "precision": (right, right + wrong),
            "quiet": (sum(not one["wrong"] for one in judged if one["hit"] is None), len(judged) - len(expected)),
            "seconds": (seconds[len(seconds) // 2], seconds[-1]) if seconds else None, "late": sum(one["late"] for one in judged),
            "problems": sum(bool(one["problem"]) for one in judged)}
