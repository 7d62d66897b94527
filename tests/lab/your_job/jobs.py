"""The stacks whose jobs are started for real: one row each, with what it needs and how its ranks are started over the hosts of a cluster."""
import dataclasses
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
# The one that has torch, if any: the system's, or that of an environment in which the matrix is run.
PYTHON = sys.executable if importlib.util.find_spec("torch") else "/usr/bin/python3"
MASTER_PORT = 29500
MODES = ("steps", "compute", "idle", "load", "unread", "stay")


@dataclasses.dataclass
class Job:
    """What is to run: `ranks` on each host in turn (block), in a mode of job_options.h."""
    hosts: list
    ranks_per_host: int = 1
    mode: str = "steps"
    who: int = 1  # the rank that a mode or a fault is about
    seconds: int = 60
    env: dict = dataclasses.field(default_factory=dict)  # of all ranks, as the user would set it
    env_of: dict = dataclasses.field(default_factory=dict)  # rank -> what only that one has
    absent: tuple = ()  # ranks that nobody starts
    alone: bool = False  # started by the launcher of another stack: each rank would be a world of one
    before: tuple = ()  # words before the program of each rank that is started by hand: as whom it runs
    recover: bool = False  # the launcher does not end all for the sake of one

    @property
    def size(self):
        return len(self.hosts) * self.ranks_per_host

    def host_of(self, rank):
        return self.hosts[rank // self.ranks_per_host]


@dataclasses.dataclass(frozen=True)
class Stack:
    name: str
    model: str  # its name in `plumbline doctor --stack`
    program: Callable  # () -> words of the program
    lacks: Callable  # () -> what is missing, None when all is there
    start: Callable  # (cluster, job, folder) -> processes
    launcher: bool  # one process starts all ranks
    most_ranks: int = 64


def built(name):
    return os.path.join(os.path.abspath(os.environ.get("TEST_BUILD", "build")), name)


def words(stack, job, folder):
    return [*stack.program(), job.mode, str(job.seconds), str(job.who), folder]


def clean_environment(**more):
    """Of this machine only what a job needs, so that nothing of a developer's shell decides."""
    return dict({"PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8"}, **more)


def by_variables(name, cluster, job, folder, more=lambda rank: {}):
    """Each rank by hand, as torch's own launcher does in the end: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT."""
    stack, started = STACKS[name], []
    for rank in range(job.size):
        if rank in job.absent:
            continue
        environment = clean_environment(RANK=str(rank), WORLD_SIZE=str(job.size), MASTER_ADDR=cluster.address(job.hosts[0]), MASTER_PORT=str(MASTER_PORT),
                                        LOCAL_RANK=str(rank % job.ranks_per_host), OMP_NUM_THREADS="1")
        environment.update(more(rank))
        environment.update(job.env)
        environment.update(job.env_of.get(rank, {}))
        started.append(cluster.start(job.host_of(rank), [*job.before, *words(stack, job, folder)], environment, os.path.join(folder, "output.%d" % rank)))
    return started


def nccl_start(cluster, job, folder):
    """A GPU for each rank, and sockets only: namespaces of one machine have shared memory and NVLink between them."""
    driver = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}  # where some machines keep it
    return by_variables("torch-nccl", cluster, job, folder, lambda rank: {
        **driver,
        "CUDA_VISIBLE_DEVICES": str(rank), "YOUR_JOB_BACKEND": "nccl", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_IB_DISABLE": "1",
        "NCCL_NVLS_ENABLE": "0", "NCCL_NET": "Socket", "NCCL_HOSTID": job.host_of(rank)})


# Namespaces of one machine share what UCX takes for the mark of a machine (the boot's id), so it would take shared memory between them.
APART = {"UCX_TLS": "tcp,self"}


def wrapped(stack, job, folder):
    """A program in which ranks that nobody starts sleep in its place: to the launcher they are there."""
    if not job.absent and not job.env_of:
        return words(stack, job, folder)
    path = os.path.join(folder, "wrapped")
    with open(path, "w") as file:
        file.write("#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n")
        for rank in job.absent:
            file.write('[ "$rank" != %d ] || exec sleep %d\n' % (rank, job.seconds))
        for rank, more in job.env_of.items():
            for name, value in more.items():
                file.write('[ "$rank" != %d ] || export %s=%s\n' % (rank, name, value))
        file.write('exec "$@"\n')
    os.chmod(path, 0o755)
    return [path, *words(stack, job, folder)]


def openmpi_start(cluster, job, folder):
    slots = ",".join("%s:%d" % (host, job.ranks_per_host) for host in job.hosts)
    program = words(STACKS["mpich"], job, folder) if job.alone else wrapped(STACKS["openmpi"], job, folder)
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "plm_rsh_agent", cluster.reach(),
               "--mca", "orte_tmpdir_base", folder, "--mca", "mpi_yield_when_idle", "1"]
    command += ["--enable-recovery"] if job.recover else []
    for name in job.env:
        if not name.startswith(("OMPI_MCA_", "PMIX_MCA_")):
            command += ["-x", name]
    command += ["--host", slots, "-n", str(job.size), *program]
    environment = clean_environment(**job.env)
    return [cluster.start(job.hosts[0], command, environment, os.path.join(folder, "output.launcher"))]


def mpich_start(cluster, job, folder):
    slots = ",".join("%s:%d" % (host, job.ranks_per_host) for host in job.hosts)
    program = words(STACKS["openmpi"], job, folder) if job.alone else wrapped(STACKS["mpich"], job, folder)
    command = ["mpiexec.hydra", *(["-disable-auto-cleanup"] if job.recover else []), "-launcher", "ssh", "-launcher-exec", cluster.reach(),
               "-hosts", slots, "-n", str(job.size), *program]
    environment = clean_environment(**dict(APART, **job.env))
    return [cluster.start(job.hosts[0], command, environment, os.path.join(folder, "output.launcher"))]


def needs(*programs):
    def lacks():
        for program in programs:
            if not (os.access(program, os.X_OK) if os.sep in program else shutil.which(program)):
                return "%s is missing (scripts/packages.sh peers; then configure and build)" % program
        return None
    return lacks


def needs_built(name, *programs):
    return lambda: needs(built(name), *programs)()


def asked_of_python(code):
    try:
        done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def torch_lacks():
    found = asked_of_python("import importlib.util; print(importlib.util.find_spec('torch') is not None)")
    return None if found == "True" else "python3-torch is not installed (scripts/packages.sh torch)"


def gpus():
    """How many that NCCL can use; importing a torch takes seconds, so only where a driver is."""
    if not os.path.exists("/dev/nvidiactl") or torch_lacks():
        return 0
    return int(asked_of_python("import torch; print(torch.cuda.device_count() if torch.distributed.is_nccl_available() else 0)") or 0)


GPUS = gpus()


STACKS = {stack.name: stack for stack in (
    Stack("gloo", "torch-gloo", lambda: [built("job_gloo")], needs_built("job_gloo"), functools.partial(by_variables, "gloo"), False),
    Stack("torch-gloo", "torch-gloo", lambda: [PYTHON, "-B", os.path.join(HERE, "torch_job.py")], torch_lacks,
          functools.partial(by_variables, "torch-gloo"), False),
    Stack("torch-nccl", "nccl", lambda: [PYTHON, "-B", os.path.join(HERE, "torch_job.py")],
          lambda: None if GPUS > 1 else "no two GPUs, or no torch that can use them", nccl_start, False, GPUS),
    Stack("openmpi", "openmpi", lambda: [built("job_openmpi")], needs_built("job_openmpi", "mpirun.openmpi"), openmpi_start, True),
    Stack("mpich", "mpich", lambda: [built("job_mpich")], needs_built("job_mpich", "mpiexec.hydra"), mpich_start, True))}


class Running:
    """A job that was started, and what its ranks wrote."""

    def __init__(self, cluster, stack, job, folder):
        self.cluster, self.stack, self.job, self.folder = cluster, stack, job, folder
        os.makedirs(folder)
        os.chmod(folder, 0o777)  # also for ranks of another user
        self.began = time.monotonic()
        self.processes = stack.start(cluster, job, folder)

    def lines(self, rank):
        try:
            with open(os.path.join(self.folder, "rank.%d" % rank)) as file:
                return file.read().splitlines()
        except OSError:
            return []

    def pid(self, rank):
        """None where the rank did not come as far as to say it."""
        first = (self.lines(rank) or [""])[0].split()
        return int(first[1]) if first[:1] == ["pid"] else None

    def says(self, rank, word):
        return any(line.split(" ")[0] == word for line in self.lines(rank))

    def ready(self):
        return all(self.says(rank, "ready") for rank in range(self.job.size) if rank not in self.job.absent)

    def wait_ready(self, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.ready():
                return True
            if self.over():
                return self.ready()
            time.sleep(0.05)
        return False

    def over(self):
        return all(process.poll() is not None for process in self.processes)

    def progress(self):
        return sum(len(self.lines(rank)) for rank in range(self.job.size))

    def errors(self):
        found = ["rank %d: %s" % (rank, line) for rank in range(self.job.size) for line in self.lines(rank) if line.startswith("error")]
        for name in sorted(os.listdir(self.folder)):
            if name.startswith("output."):
                with open(os.path.join(self.folder, name), errors="replace") as file:
                    text = file.read().strip()
                found += ["%s: %s" % (name, text[-600:])] if text else []
        return found
