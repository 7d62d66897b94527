"""Answers in the place of the program's, to test what counts them: a doctor that knows the truth, one that says nothing, one that accuses whoever it
likes, one that is late, one that babbles."""
import faults
from doctor import LIMIT_SECONDS, Answer, answer_of


class Recorded:
    def __init__(self, manner):
        self.manner = manner
        self.asked = []

    def predict(self, setup):
        answer = self._answer(setup, "predict", setup.fault.predicted if setup.fault else ())
        if not setup.fault and self.manner == "right":
            answer.plan = plan(setup)
        return answer

    def name_it(self, setup, handle):
        fault = setup.fault
        return self._answer(setup, handle, (fault.named or fault.predicted) if fault else ())

    def _answer(self, setup, question, causes):
        self.asked.append(question)
        host = setup.bench.victim
        if setup.fault and setup.fault.where in ("any", "first"):
            host = setup.cluster.names[0]
        finding = {"outcome": "fail", "host": host, "peer": None, "commands": commands(setup), "remedy": words(setup)}
        if self.manner == "babbles":
            return answer_of("everything is fine", 0, 0.1)
        if self.manner == "mute":
            causes = ()
        if self.manner == "accuses":
            causes = ("host.limits",)
        return Answer(LIMIT_SECONDS + 1 if self.manner == "late" else 0.5, [dict(finding, cause=causes[0])] if causes else [])


def plan(setup):
    """What was seen of healthy jobs of these versions, in the form of `doctor --stack NAME --json`."""
    stack, job = setup.cell.stack, setup.bench.job
    ranks = []
    for rank in range(job.size):
        host = job.host_of(rank)
        ip = setup.cluster.address(host)
        listeners = [waits("0.0.0.0", 1024, 1024 + job.ranks_per_host - 1, "window")] if stack == "openmpi" else [waits(ip, 32768, 60999, "ephemeral")]
        if rank == 0 and stack in faults.GLOO:
            listeners.append(waits("0.0.0.0", setup.bench.master_port, setup.bench.master_port, "fixed"))
        if stack == "openmpi" or (rank == 0 and stack == "mpich"):  # the launcher and its daemons
            listeners.append(waits("0.0.0.0", 32768, 60999, "ephemeral"))
        ranks.append({"rank": rank, "host": host, "interface": "eth0", "ip": ip, "listeners": listeners})
    return {"stack": stack, "ranks": ranks, "higher_calls": stack in faults.GLOO}


def waits(ip, first, last, kind):
    return {"purpose": "seen", "ip": ip, "kind": kind, "first": first, "last": last}


def commands(setup):
    """What heals the faults that commands heal: the ones of the packet filter, of names, and a stopped process."""
    fault, bench = setup.fault, setup.bench
    if fault is None:
        return []
    hosts = sorted({bench.victim, bench.job.hosts[0]})
    if fault.name in ("ephemeral_closed", "master_closed", "one_way_drop"):
        return [{"host": host, "argv": ["sh", "-c", "nft delete table inet yj 2>/dev/null || true"]} for host in hosts]
    if fault.name == "stopped":
        return [{"host": bench.victim, "argv": ["kill", "-CONT", str(bench.running.pid(bench.rank))]}] if bench.running else []
    return []


def words(setup):
    """What a stack's own variable heals, in doctor's words."""
    heals = {"gloo": "GLOO_SOCKET_IFNAME", "torch-gloo": "GLOO_SOCKET_IFNAME", "openmpi": "btl_tcp_if_include", "mpich": "UCX_NET_DEVICES"}
    if setup.fault and setup.fault.name in ("own_name_loopback", "wrong_interface"):
        return "set %s=eth0 for the ranks on every host" % heals[setup.cell.stack]
    return ""
