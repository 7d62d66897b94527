"""One cell: a job over a cluster, a fault, and what became of the job, seen without plumbline. Every wait has an end."""
import dataclasses
import os
import time

import faults
import jobs
from cluster import Cluster

QUIET_SECONDS = 3  # without a line of any rank, a job that writes every 60 ms hangs
# Until connections stand on this machine, with room for one that is busy: torch's ranks are imported one after the other.
READY_SECONDS = {"gloo": 10, "openmpi": 15, "mpich": 10, "torch-gloo": 30, "torch-nccl": 60}
BROKEN_SECONDS = {"gloo": 5, "openmpi": 7, "mpich": 6, "torch-gloo": 15, "torch-nccl": 25}  # after which a job that is not ready is looked at


@dataclasses.dataclass(frozen=True)
class Cell:
    stack: str
    fault: str  # key of a row, "" = none
    hosts: int
    ranks_per_host: int
    victim: int = 0  # index of a host
    handle: str = "pid"  # how --job is told: pid, port, name
    mode: str = ""  # of a job without a fault

    @property
    def name(self):
        return "%s %s %dx%d victim%d %s%s" % (self.stack, self.fault or "healthy", self.hosts, self.ranks_per_host, self.victim, self.handle,
                                             " " + self.mode if self.mode else "")


class Setup:
    """The cluster and the job of a cell, not started yet; removes all of it at the end of `with`."""

    def __init__(self, cell, folder, seconds=70):
        self.cell, self.folder = cell, folder
        self.fault = faults.find(cell.fault, cell.stack) if cell.fault else None
        os.makedirs(folder)
        os.chmod(folder, 0o755)
        self.cluster = Cluster(cell.hosts, folder, **(self.fault.world if self.fault else {}))
        mode = cell.mode or (self.fault.mode if self.fault else "steps")
        names = list(self.cluster.names)
        job = jobs.Job(names, cell.ranks_per_host, mode, seconds=seconds)
        job.recover = bool(self.fault and self.fault.name == "killed")
        victim = names[cell.victim]
        job.who = names.index(victim) * job.ranks_per_host
        peer = names[(cell.victim + 1) % len(names)]
        self.bench = faults.Bench(self.cluster, job, cell.stack, victim, peer)
        self.starts = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.remove()

    def start(self):
        """Also a second time, when the first one's processes have ended."""
        self.starts += 1
        job, stack = self.bench.job, jobs.STACKS[self.cell.stack]
        self.bench.running = jobs.Running(self.cluster, stack, job, os.path.join(self.folder, "job%d" % self.starts))
        return self.bench.running

    def user_environment(self):
        """What the user of this job has set, as --env is told it: K=V of all ranks, HOST:K=V where all ranks of one host have it."""
        job = self.bench.job
        said = {} if jobs.STACKS[self.cell.stack].launcher else {"MASTER_ADDR": self.cluster.address(job.hosts[0]), "MASTER_PORT": str(jobs.MASTER_PORT),
                                                                 "WORLD_SIZE": str(job.size)}
        said.update(job.env)
        words = ["%s=%s" % item for item in sorted(said.items())]
        for host in job.hosts:
            own = [set(job.env_of.get(rank, {}).items()) for rank in range(job.size) if job.host_of(rank) == host]
            words += ["%s:%s=%s" % (host, *item) for item in sorted(set.intersection(*own)) if item[0] != "YOUR_JOB_LOG"]
        return words


RANK_VARIABLES = (b"YOUR_JOB_LOG", b"OMPI_COMM_WORLD_RANK", b"PMI_RANK", b"RANK")


def living(running):
    """Rank -> pid of its process, for all that are there, whether or not they have come as far as to write a line."""
    found = {}
    for host in running.cluster.names:
        for pid in running.cluster.pids(host):
            rank = rank_of(pid)
            if rank is not None and running.job.host_of(rank) == host:
                found.setdefault(rank, pid)
    return found


def rank_of(pid):
    """None where it is no rank, or ended (what has ended has no environment)."""
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            variables = dict(part.split(b"=", 1) for part in file.read().split(b"\0") if b"=" in part)
        with open("/proc/%d/comm" % pid) as file:
            name = file.read().strip()
    except OSError:
        return None
    if not (name.startswith("job_") or name in ("python3", "sleep")):
        return None  # what a launcher is made of
    return next((int(variables[key]) for key in RANK_VARIABLES if key in variables), None)


def moves(running, seconds=QUIET_SECONDS):
    """Whether any rank writes a line in this time."""
    before = running.progress()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if running.progress() != before:
            return True
        if running.over():
            return False
        time.sleep(0.1)
    return False


def outcome(running):
    """over = no process of it is left; hang = some are and nothing moves; runs."""
    if running.over() and not living(running):
        return "over"
    if not running.ready():
        return "hang" if not moves(running) else "starts"
    return "runs" if moves(running) else ("over" if running.over() and not living(running) else "hang")


def settle(running, stack):
    """Until the job is ready, over, or late: what a job that is broken from its start looks like after a while."""
    running.wait_ready(BROKEN_SECONDS[stack])
    seen = outcome(running)
    if seen == "starts":  # slow, not broken: the machine is busy
        running.wait_ready(READY_SECONDS[stack])
        seen = outcome(running)
    return seen


def break_job(setup):
    """Makes the fault and starts the job, in the fault's order; returns the outcome."""
    bench, fault = setup.bench, setup.fault
    if fault.when == "before":
        running = bench.running or setup.start()
        return settle(running, setup.cell.stack)
    running = setup.start()
    if not running.wait_ready(READY_SECONDS[setup.cell.stack]):
        return "never ready: " + "; ".join(running.errors())[:500]
    fault.make(bench)
    time.sleep(1)
    return outcome(running)


def healthy_from_start(setup):
    """The same job without the fault: connections stand and ranks move. Its processes are ended."""
    running = setup.start()
    ready = running.wait_ready(READY_SECONDS[setup.cell.stack])
    good = ready and (running.job.mode != "steps" or moves(running))
    why = "" if good else "; ".join(running.errors())[:500] or outcome(running)
    setup.cluster.end_processes()
    setup.bench.running = None
    return good, why
