"""Who takes part in vs_peers.py: one row for each contender, with what it can do, what it needs, and how its ranks are started.

All are asked the same operations (f32, sum, root 0; bytes as in core/op.h) and leave their durations in a folder: gloo and the MPIs a file for each
rank (benchmarks/peer.h), plumbline a record. Every contender has alike: which processor a rank is bound to, and that waiting ranks give their processor
away when there are more ranks than processors, as far as it can."""
import dataclasses
import json
import os
import shutil
import statistics
from typing import Callable

from processes import Failed

ELEMENT_BYTES = 4
# Operations of plumbline (`plumbline list operations`): whether the bytes span all ranks, and the placements that it has.
OPS = {
    "allreduce": (False, "in out"),
    "reduce_scatter": (True, "in out"),
    "allgather": (True, "in out"),
    "broadcast": (False, "in out"),
    "reduce": (False, "in out"),
    "gather": (True, "in out"),
    "scatter": (True, "in out"),
    "alltoall": (True, "out"),
    "barrier": (False, "out"),
    "pingpong": (False, "out"),
    "stream": (False, "out"),
    "bidirectional": (False, "out"),
    "sendrecv": (False, "out"),
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one start of a contender is to measure."""
    op: str
    placement: str  # "in", "out"
    bytes: int
    ranks: int
    timed: int
    warmup: int
    transport: str  # "tcp", "shm"
    cpus: tuple  # rank r runs on the r-th, round and round; empty = the system decides
    alike: bool  # also ranks whose threads would share one of them
    crowded: bool  # more ranks than processors
    congestion: str  # that all sockets have

    def words(self, folder):
        """As benchmarks/peer.h reads them."""
        return [self.op, self.placement, str(self.bytes), str(self.timed), str(self.warmup), folder, ",".join(map(str, self.cpus)) or "-"]


@dataclasses.dataclass(frozen=True)
class Contender:
    name: str
    transport: str  # "tcp", "shm", or "any"
    can: dict  # operation -> placements, "in out"
    needs: tuple  # programs: of the build folder (build/...) or of the PATH
    start: Callable  # (cell, at, folder) -> commands, environment; at gives the path of a program of the build folder
    median: Callable  # (cell, folder) -> ns, over operations of the slowest rank; raises Failed
    threads: int = 1  # of a rank, that work in turns with one another
    finished: Callable = lambda cell, folder: False  # all times are there, and how the processes end does not matter

    def lacks(self, at):
        """What is not installed; None when all is there."""
        for need in self.needs:
            here, _, name = need.rpartition("/")
            if here and not os.access(at(name), os.X_OK):
                return "%s is not built (scripts/packages.sh peers; then configure and build)" % at(name)
            if not here and not shutil.which(need):
                return "%s is not installed (scripts/packages.sh peers)" % need
        return None

    def fitted(self, cell):
        """Several threads that wait for one another on one processor would be a handicap that nobody chooses."""
        return cell if cell.alike or self.threads == 1 else dataclasses.replace(cell, cpus=())

    def cannot(self, op, placement):
        """Why it has no such operation; None when it has."""
        if placement in self.can.get(op, "").split():
            return None
        return "has no %s%s" % (op, {"in": " in place", "out": " out of place"}[placement] if op in self.can else "")


def median_of_ranks(cell, folder):
    ranks = []
    for rank in range(cell.ranks):
        try:
            with open(os.path.join(folder, str(rank))) as file:
                ranks.append([int(line) for line in file])
        except (OSError, ValueError) as error:
            raise Failed("rank %d left no times: %s" % (rank, error)) from None
        if len(ranks[-1]) != cell.timed:
            raise Failed("rank %d timed %d operations of %d" % (rank, len(ranks[-1]), cell.timed))
    return statistics.median(max(values) for values in zip(*ranks))


def all_ranks_wrote(cell, folder):
    return all(os.path.exists(os.path.join(folder, str(rank))) for rank in range(cell.ranks))


# --format nccl times exactly as many operations as asked; the first operation and the last one are verified.
def plumbline_start(cell, at, folder):
    command = [at("plumbline"), "coll", cell.op, "-b", str(cell.bytes), "-e", str(cell.bytes), "-n", str(cell.timed),
               "-w", str(cell.warmup), "--verify", "last", "--ranks", str(cell.ranks), "--format", "nccl", "-J", os.path.join(folder, "records"),
               "--transport", cell.transport, "--port-base", "auto", "--bind-to", "core" if cell.cpus else "none"]
    if cell.transport == "tcp":
        command += ["--congestion-control", cell.congestion]  # or it would choose for loopback itself
    if cell.cpus:  # it would take any: two runs at once shall not meet
        command = ["taskset", "-c", ",".join(map(str, cell.cpus[:cell.ranks])), *command]
    return [command], {}


def plumbline_median(cell, folder):
    try:
        with open(os.path.join(folder, "records")) as file:
            records = [json.loads(line) for line in file]
    except (OSError, ValueError) as error:
        raise Failed("left no records: %s" % error) from None
    for record in records:  # lines of an environment have no cell
        if record.get("cell", {}).get("placement") != cell.placement:
            continue
        if record["outcome"] != "passed":
            raise Failed("%s: %s" % (record["outcome"], record.get("reason", "")))
        if record["resolved"]["transport"] != cell.transport:
            raise Failed("used the transport %s" % record["resolved"]["transport"])
        if record["iterations"] != cell.timed:
            raise Failed("timed %d operations of %d" % (record["iterations"], cell.timed))
        return record["time_ns"]["p50"]
    raise Failed("left no record of that placement")


def gloo(variant, can):
    def start(cell, at, folder):
        store = os.path.join(folder, "store")
        os.mkdir(store)
        return [[at("gloo_peer"), variant, str(rank), str(cell.ranks), store, *cell.words(folder)]
                for rank in range(cell.ranks)], {}
    # Beside the thread of the operation one waits for the network, where pairs do not poll.
    threads = 1 if variant.endswith("_busy") else 2
    return Contender("gloo_" + variant, "tcp", can, ("build/gloo_peer",), start, median_of_ranks, threads, all_ranks_wrote)


MPI_CAN = {op: placements for op, (_, placements) in OPS.items()}
MPI_CAN["broadcast"] = "in"  # MPI_Bcast has one array


def openmpi(name, transport, parameters, environment):
    def start(cell, at, folder):
        command = ["mpirun.openmpi", "-np", str(cell.ranks), "--oversubscribe", "--bind-to", "none"]  # ranks bind themselves
        for key, value in dict(parameters, mpi_yield_when_idle=int(cell.crowded), orte_tmpdir_base=folder).items():
            command += ["--mca", key, str(value)]
        # Without these it does not start as root, which a user is in a network of his own too.
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return [[*command, at("mpi_peer_openmpi"), *cell.words(folder)]], dict(environment, **root)
    return Contender(name, transport, MPI_CAN, ("build/mpi_peer_openmpi", "mpirun.openmpi"), start, median_of_ranks, 1, all_ranks_wrote)


# Nothing makes its waiting ranks yield: MPIR_CVAR_POLLS_BEFORE_YIELD=1 changes no time.
def mpich(name, transport, environment):
    def start(cell, at, folder):
        return [["mpiexec.mpich", "-n", str(cell.ranks), "-bind-to", "none", at("mpi_peer_mpich"),
                 *cell.words(folder)]], environment
    return Contender(name, transport, MPI_CAN, ("build/mpi_peer_mpich", "mpiexec.mpich"), start, median_of_ranks, 1, all_ranks_wrote)


# The loopback device, which Open MPI and UCX leave out by themselves; the memory of this host.
UCX_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}
UCX_SHM = {"UCX_TLS": "posix,sysv,cma,self"}
# Without RDMA hardware Open MPI takes UCX only when told to.
PML_UCX = {"pml": "ucx", "opal_common_ucx_tls": "any", "opal_common_ucx_devices": "any"}
# MPICH's own way within a host is left out: everything goes through UCX.
MPICH_UCX = {"MPIR_CVAR_NOLOCAL": "1"}
# What gloo has one implementation of, and that out of place.
GLOO_OUT = dict.fromkeys(("alltoall", "barrier", "gather", "scatter", "pingpong", "stream", "bidirectional", "sendrecv"), "out")

OURS = Contender("plumbline", "any", {op: placements for op, (_, placements) in OPS.items()}, ("build/plumbline",), plumbline_start,
                 plumbline_median)
PEERS = [
    gloo("only", dict(GLOO_OUT, allgather="in out", broadcast="in out", reduce="in out")),
    gloo("ring", {"allreduce": "in out"}),
    gloo("bcube", {"allreduce": "in out"}),
    gloo("ring_chunked", {"allreduce": "in"}),
    gloo("halving_doubling", {"allreduce": "in", "reduce_scatter": "in"}),
    gloo("halving_doubling_busy", {"allreduce": "in", "reduce_scatter": "in"}),
    gloo("legacy_busy", {"allgather": "out", "broadcast": "in", "barrier": "out"}),
    openmpi("openmpi_tcp", "tcp", {"pml": "ob1", "btl": "self,tcp", "btl_tcp_if_include": "lo"}, {}),
    openmpi("openmpi_ucx_tcp", "tcp", PML_UCX, UCX_TCP),
    mpich("mpich_ucx_tcp", "tcp", dict(UCX_TCP, **MPICH_UCX)),
    openmpi("openmpi_vader", "shm", {"pml": "ob1", "btl": "self,vader"}, {}),
    openmpi("openmpi_ucx_shm", "shm", PML_UCX, UCX_SHM),
    mpich("mpich_shm", "shm", {}),
    mpich("mpich_ucx_shm", "shm", dict(UCX_SHM, **MPICH_UCX)),
]

# Whose versions a comparison names: library, program that says it, its arguments.
VERSIONS = [("Open MPI", "mpirun.openmpi", ["--version"]), ("MPICH", "mpichversion", []), ("UCX", "ucx_info", ["-v"])]
