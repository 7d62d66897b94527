#!/usr/bin/env python3
"""Real jobs of gloo, torch, Open MPI and MPICH over network namespaces, each made to hang or fail in one of the ways of faults.py (or left alone), and what
`plumbline doctor --stack` foretold and `plumbline doctor --job` named. Needs root. One line of JSON for each cell; what is there already is not run again.

    sudo TEST_BUILD=$PWD/build python3 -B tests/lab/your_job/matrix.py --seed 1 --out cells.jsonl --docs docs/your_job.md
    sudo ... matrix.py --only gloo --only stopped          # cells whose name has all of these words
    sudo ... matrix.py --ask predict                       # only --stack: no job is started
    matrix.py --out cells.jsonl --docs docs/your_job.md --no-run   # the page once more
"""
import argparse
import dataclasses
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback

import doctor
import draw
import faults
import harness
import jobs
import judge
import page
import plans
from cluster import end_on_signals, remove_orphans

GO_ON_SECONDS = 40  # a connection that lost packets waits longer each time before it tries again


def versions(program, its_digest):
    def said(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
        except OSError:
            return ""
    packages = said("dpkg-query", "-W", "-f", "${Package} ${Version}\n", "libgloo0", "libopenmpi3", "libmpich12", "libucx0", "libtorch1.13")
    torch = jobs.asked_of_python("import torch; n = torch.cuda.is_available() and torch.cuda.nccl.version(); "
                                 "print('torch', torch.__version__); n and print('nccl', '.'.join(map(str, n)))")
    packages += "\n" + torch
    return {"plumbline": "%s (%s)" % (said(program, "--version") or "no plumbline", its_digest), "kernel": os.uname().release, "packages": [line for line in packages.splitlines() if len(line.split()) == 2]}


def digest(program):
    with open(program, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


class Runner:
    """Runs cells with a doctor, which may be the program or recorded answers."""

    def __init__(self, doctor_of, folder, check_healthy=True, ask="both"):
        self.doctor, self.folder, self.check_healthy, self.ask = doctor_of, folder, check_healthy, ask
        self.known_healthy = {}
        self.number = 0

    def _setup(self, cell, **more):
        self.number += 1
        return harness.Setup(cell, os.path.join(self.folder, str(self.number)), **more)

    def run(self, cell):
        began = time.monotonic()
        record = {"cell": dataclasses.asdict(cell), "name": cell.name, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")}
        try:
            record.update(self._foretold(cell) if self.ask == "predict" else self._broken(cell) if cell.fault else self._healthy(cell))
        except Exception:  # a cell that could not be made must not end the others; it is shown as such
            record["trouble"] = traceback.format_exc(limit=3)
        record["wall"] = round(time.monotonic() - began, 1)
        return record

    def _without_fault(self, cell):
        """The same stack on as many hosts without any fault; asked once for each size."""
        key = (cell.stack, cell.hosts, cell.ranks_per_host)
        if key not in self.known_healthy:
            with self._setup(harness.Cell(*key[:1], "", *key[1:])) as setup:
                self.known_healthy[key] = harness.healthy_from_start(setup)
        return self.known_healthy[key]

    def _foretold(self, cell):
        """Only the question that is asked before the start."""
        fault = faults.find(cell.fault, cell.stack) if cell.fault else None
        with self._setup(cell) as setup:
            if fault and fault.when == "before":
                fault.make(setup.bench)
            answer = self.doctor.predict(setup)
            hosts = faults.right_hosts(fault, setup.bench) if fault else None
            told = judge.judge(fault if fault and fault.when == "before" else None, hosts, "predict", answer, None)
            return {"expected": [], "outcome": "not started", "as_expected": True, "predict": dict(told, said=answer.named)}

    def _broken(self, cell):
        fault = faults.find(cell.fault, cell.stack)
        record = {"expected": list(fault.outcomes)}
        if self.check_healthy:
            record["healthy_without"], record["why"] = self._without_fault(cell)
        with self._setup(cell) as setup:
            bench = setup.bench
            foretold = None
            if fault.when == "before":
                fault.make(bench)
                foretold = self.doctor.predict(setup) if self.ask == "both" else None
            record["outcome"] = harness.break_job(setup)
            record["as_expected"] = record["outcome"] in fault.outcomes
            living = harness.living(bench.running)
            handle = doctor.handle_of(setup, cell.handle, living)
            record["living"], record["handle"] = sorted(living), handle
            hosts = faults.right_hosts(fault, bench)
            gone = {bench.job.host_of(rank) for rank in range(bench.job.size) if rank not in living}
            named = self.doctor.name_it(setup, handle) if handle else None
            if foretold:
                record["predict"] = dict(judge.judge(fault, hosts, "predict", foretold, None), said=foretold.named)
            if named:
                record["asked"] = dict(judge.judge(fault, hosts, "name", named, doctor.LIMIT_SECONDS, gone=gone), said=named.named)
            record["errors"] = [line[:200] for line in bench.running.errors()[:3]]
            best = self._best(fault, hosts, [foretold, named])
            if fault.remedy and best and record["as_expected"]:
                record["remedy"] = self._remedied(setup, fault, best)
        return record

    @staticmethod
    def _best(fault, hosts, answers):
        causes = judge.accepted(fault, "name")
        for answer in answers:
            for finding in answer.findings if answer else []:
                if finding["cause"] in causes and finding["outcome"] != "note" and (hosts is None or finding.get("host") in hosts):
                    return finding
        return None

    @staticmethod
    def _remedied(setup, fault, finding):
        """Whether what doctor printed makes the job run: the one that hangs, or the next one."""
        done = doctor.apply_remedy(setup, finding)
        result = {"done": done, "printed": finding.get("remedy", "")[:400]}
        if not done:
            return dict(result, runs=False, why="nothing that could be done")
        running = setup.bench.running
        if fault.remedy == "go_on":
            result["runs"] = harness.moves(running, GO_ON_SECONDS)
            return result
        setup.cluster.end_processes()
        running = setup.start()
        result["runs"] = running.wait_ready(harness.READY_SECONDS[setup.cell.stack]) and (harness.moves(running) or harness.outcome(running) == "runs")
        return result

    def _healthy(self, cell):
        """The plan before the start, its sockets when connections stand, and what --job says of a job that works, computes, waits or loads."""
        record = {"expected": ["runs"]}
        with self._setup(cell) as setup:
            foretold = self.doctor.predict(setup)  # for its plan
            record["predict"] = dict(judge.judge(None, None, "predict", foretold, None), said=foretold.named)
            running = setup.start()
            if cell.mode == "load":
                time.sleep(harness.BROKEN_SECONDS[cell.stack])  # the others wait for the one that loads
                record["as_expected"] = not running.over()
            else:
                record["as_expected"] = running.wait_ready(harness.READY_SECONDS[cell.stack])
            record["outcome"] = "runs" if record["as_expected"] else harness.outcome(running)
            if cell.mode == "compute":
                time.sleep(2)  # the worker works, the others wait for it
            handle = doctor.handle_of(setup, cell.handle.split("#")[0], harness.living(running))
            named = self.doctor.name_it(setup, handle)
            record["handle"] = handle
            record["asked"] = dict(judge.judge(None, None, "name", named, doctor.LIMIT_SECONDS), said=named.named)
            if cell.mode != "load":
                sockets = plans.sockets_of(setup.cluster)
                record["plan"] = plans.compare(foretold.plan, sockets) if foretold.plan else ["no plan: " + foretold.problem]
        return record


def read_records(path):
    """A line that was cut off is left out: its cell runs again."""
    found = []
    try:
        with open(path) as file:
            for line in file:
                try:
                    found.append(json.loads(line))
                except ValueError:
                    continue
    except OSError:
        pass
    return found


def summary_line(record):
    if record.get("trouble"):
        return "TROUBLE " + record["trouble"].strip().splitlines()[-1]
    words = ["" if record["as_expected"] else "UNEXPECTED " + record["outcome"]]
    for question in ("predict", "asked"):
        one = record.get(question)
        if one:
            mark = "WRONG" if one["wrong"] else {True: "ok", False: "LATE" if one["late"] else "MISSED", None: "quiet"}[one["hit"]]
            words.append("%s %s %.1fs%s" % (question, mark, one["seconds"], " " + "; ".join(one["said"]) if one["said"] else ""))
            words.append(one["problem"])
    if record.get("remedy"):
        words.append("remedy " + ("runs" if record["remedy"]["runs"] else "FAILS"))
    if record.get("plan"):
        words.append("PLAN " + "; ".join(record["plan"]))
    return "  ".join(word for word in words if word)


def chosen(cells, only):
    return [cell for cell in cells if all(word in cell.name.split() or word in cell.fault for word in only)]


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=1, help="each fault with each stack so often")
    parser.add_argument("--healthy", type=int, default=10, help="runs without a fault for each stack")
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--out", default="your_job.jsonl")
    parser.add_argument("--also", action="append", default=[], metavar="FILE", help="records of another machine, for the sums and the page")
    parser.add_argument("--docs", help="write the page")
    parser.add_argument("--program", default=os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline"))
    parser.add_argument("--ask", choices=("both", "predict", "name"), default="both")
    parser.add_argument("--no-run", action="store_true", help="only the page and the sums of what is in --out")
    parser.add_argument("--list", action="store_true", help="only print the cells")
    return parser.parse_args(argv)


def run_cells(args, cells, program, about):
    done = {record["name"] for record in read_records(args.out) if record.get("program") == program}
    wanted = [cell for cell in cells if cell.name not in done]
    print("%d cells, %d of them done before (seed %d, program %s)" % (len(cells), len(cells) - len(wanted), args.seed, program), flush=True)
    with tempfile.TemporaryDirectory(prefix="plumbline-your-job-") as folder, open(args.out, "a", buffering=1) as out:
        os.chmod(folder, 0o755)
        runner = Runner(doctor.Doctor(args.program), folder, ask=args.ask)
        for number, cell in enumerate(wanted):
            record = dict(runner.run(cell), program=program, seed=args.seed, about=about)
            print(json.dumps(record, sort_keys=True), file=out)
            print("%3d/%d %-70s %s" % (number + 1, len(wanted), cell.name, summary_line(record)), flush=True)


def main(argv):
    args = arguments(argv)
    lacking = {name: stack.lacks() for name, stack in jobs.STACKS.items()}
    stacks = [name for name, lack in lacking.items() if not lack]
    for name, lack in lacking.items():
        if lack:
            print("Skipped: %s: %s" % (name, lack))
    cells = chosen(draw.draw(args.seed, stacks, args.times) + draw.healthy(args.seed, stacks, args.healthy), args.only)
    if args.list:
        print("\n".join(cell.name for cell in cells))
        return 0
    program = digest(args.program)
    os.environ["YOUR_JOB_PROGRAM"] = args.program
    if not args.no_run:
        end_on_signals()
        remove_orphans()
        run_cells(args, cells, program, versions(args.program, program))
    records = page.newest(read_records(args.out), {cell.name for cell in cells} if not args.no_run else None)
    records += [record for path in args.also for record in page.newest(read_records(path))]
    print(page.sums_text(records))
    if args.docs:
        with open(args.docs, "w") as file:
            file.write(page.page(records, args.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
