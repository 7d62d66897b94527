"""What is done to a job, one row for each fault in each of its shapes: how it is made, for which stacks and on which hosts it means anything, when, and
what the true answer is. A row is a fact about the world: it was seen in the lab that the job then hangs, fails, or (rows with RUNS) runs all the
same, because this stack does not care. Everything lies in the cluster's own namespaces and goes away with them."""
import dataclasses
import os
import signal
from typing import Callable

import jobs

GLOO, NCCL, MPI = ("gloo", "torch-gloo"), ("torch-nccl",), ("openmpi", "mpich")
BY_VARIABLES = GLOO + NCCL  # without a launcher of their own
ALL = BY_VARIABLES + MPI
LAUNCHER_PORT = 21000  # where a launcher waits for its daemons, when it is told to
MASTER_ENV = {"openmpi": {"OMPI_MCA_oob_tcp_static_ipv4_ports": str(LAUNCHER_PORT)},
              "mpich": {"MPIEXEC_PORT_RANGE": "%d:%d" % (LAUNCHER_PORT, LAUNCHER_PORT)}}

DROP = "drop"
ICMP = "reject with icmp type port-unreachable"
RST = "reject with tcp reset"
INBOUND = {DROP: ("firewall.drop_inbound", "firewall.partial_range"), ICMP: ("firewall.reject_icmp", "firewall.partial_range"),
           RST: ("firewall.reject_rst", "firewall.partial_range")}


@dataclasses.dataclass
class Bench:
    """What a fault may change: the cluster, the job before it starts, and whom it is about."""
    cluster: object
    job: object
    stack: str
    victim: str  # host
    peer: str  # another host
    running: object = None

    @property
    def master_port(self):
        return jobs.MASTER_PORT if self.stack in BY_VARIABLES else LAUNCHER_PORT

    @property
    def rank(self):
        """The first rank of the victim."""
        return self.job.hosts.index(self.victim) * self.job.ranks_per_host


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str  # of the fault; with the variant it is the row's key
    variant: str
    text: str
    stacks: tuple
    make: Callable  # (bench): before the start, or when connections stand
    predicted: tuple = ()  # causes of which --stack must name one before the start; () = nothing can be known then
    named: tuple = ()  # causes of which --job must name one, if a process of the job is left to ask
    when: str = "before"  # "after" = connections stand
    outcomes: tuple = ("hang", "over")  # what becomes of the job: "runs" where it does all the same
    harmless: tuple = ()  # causes that are true here but must not be worse than a warning
    where: str = "victim"  # the host that may be named: "victim", "first" (the job's first), "any"
    victims: str = "any"  # of which hosts: "any", "first", "not_first", "not_last", "last"
    world: dict = dataclasses.field(default_factory=dict)  # what the cluster needs
    mode: str = "steps"
    remedy: str = ""  # "" = not on these hosts; "restart" = commands or variables, then start again; "go_on" = the job itself goes on
    least_hosts: int = 2

    @property
    def key(self):
        return self.name + "/" + self.variant


def own_name(address, everywhere=False):
    def make(bench):
        for host in bench.cluster.names if everywhere else [bench.victim]:
            bench.cluster.write_names(host, address)
    return make


def own_name_office(bench):
    bench.cluster.write_names(bench.victim, "%s.%d" % (bench.cluster.office_network, bench.cluster.names.index(bench.victim) + 1))


def variables(**env):
    def make(bench):
        bench.job.env.update(env)
    return make


def nothing(_):
    """What the cluster has by itself is the fault."""


def rule(bench, host, hook, match, verdict):
    bench.cluster.nft(bench.cluster.netns(host), """add table inet yj
add chain inet yj %s { type filter hook %s priority 0; }
add rule inet yj %s %s %s
""" % (hook, hook, hook, match, verdict))


def ephemeral_closed(verdict):
    """A firewall that lets in what it was told of (the master port) and what was asked for from inside."""
    def make(bench):
        netns = bench.cluster.netns(bench.victim)
        bench.cluster.nft(netns, """add table inet yj
add chain inet yj input { type filter hook input priority 0; }
add rule inet yj input ct state established,related accept
add rule inet yj input iif lo accept
add rule inet yj input tcp dport %d accept
add rule inet yj input tcp dport 32768-60999 %s
""" % (bench.master_port, verdict))
    return make


def master_inbound(verdict):
    """Rank 0's host does not let the victim in."""
    def make(bench):
        bench.job.env.update(MASTER_ENV.get(bench.stack, {}))
        rule(bench, bench.job.hosts[0], "input", "ip saddr %s tcp dport %d" % (bench.cluster.address(bench.victim), bench.master_port), verdict)
    return make


def master_outbound(verdict):
    def make(bench):
        bench.job.env.update(MASTER_ENV.get(bench.stack, {}))
        rule(bench, bench.victim, "output", "tcp dport %d" % bench.master_port, verdict)
    return make


def absent(bench):
    bench.job.absent = (bench.rank,)


def send(number):
    def make(bench):
        os.kill(bench.running.pid(bench.rank), number)
    return make


def unread(bench):
    bench.job.who = bench.rank


def base_is_master_openmpi(bench):
    """As many ports as ranks, of which the launcher or its daemon holds the first."""
    bench.job.env.update(MASTER_ENV["openmpi"], OMPI_MCA_btl_tcp_port_min_v4=str(LAUNCHER_PORT), OMPI_MCA_btl_tcp_port_range_v4=str(bench.job.ranks_per_host))


def base_is_master_mpich(bench):
    bench.job.env.update(MASTER_ENV["mpich"], UCX_TCP_PORT_RANGE="%d-%d" % (LAUNCHER_PORT, LAUNCHER_PORT + bench.job.ranks_per_host - 1))


def drop_own(bench):
    rule(bench, bench.victim, "output", "ip daddr %s" % bench.cluster.address(bench.peer), DROP)


def drop_at_peer(bench):
    rule(bench, bench.victim, "input", "ip saddr %s" % bench.cluster.address(bench.peer), DROP)


def drop_in_switch(bench):
    bench.cluster.nft(bench.cluster.switches[0], """add table bridge yj
add chain bridge yj forward { type filter hook forward priority 0; }
add rule bridge yj forward ether type ip ip saddr %s ip daddr %s drop
""" % (bench.cluster.address(bench.victim), bench.cluster.address(bench.peer)))


def world_size(change):
    def make(bench):
        for rank in range(bench.rank, bench.rank + bench.job.ranks_per_host):
            bench.job.env_of[rank] = {"WORLD_SIZE": str(bench.job.size + change)}
    return make


def one_rank_each(bench):
    """Every process believes that it is all of the job, as where a launcher forwards no variables."""
    for rank in range(bench.job.size):
        bench.job.env_of[rank] = {"WORLD_SIZE": "1", "RANK": "0", "MASTER_ADDR": bench.cluster.address(bench.job.host_of(rank)),
                                  "MASTER_PORT": str(jobs.MASTER_PORT + rank), "YOUR_JOB_LOG": str(rank)}


def alone(bench):
    bench.job.alone = True


def killed(bench):
    os.kill(bench.running.pid(bench.rank), signal.SIGKILL)


RUNS = ("runs",)
LOW, HIGH = {"network": "10.79.0"}, {"network": "192.168.79"}
DEAD = {"office": "dead", "network": "192.168.79"}
CONTAINERS = {"containers": True}
NAME = ("name.loopback", "stack.interface")
WRONG = ("stack.interface", "name.wrong_address")
CUT = ("stack.interface", "neighbour.unresolved", "topology.not_mesh", "firewall.drop_path")
LOST = ("rank.missing", "rank.dead", "rank.late")

FAULTS = [
    Fault("own_name_loopback", "one_host", "the victim's own name gives 127.0.1.1; others must connect to it", GLOO, own_name("127.0.1.1"),
          predicted=NAME, named=NAME, world=HIGH, remedy="restart"),
    Fault("own_name_loopback", "all_hosts", "every host's own name gives 127.0.1.1", GLOO, own_name("127.0.1.1", everywhere=True),
          predicted=NAME, named=NAME, where="any", world=LOW, remedy="restart"),
    Fault("own_name_loopback", "connects_outwards", "the victim's own name gives 127.0.1.1, but that is above the others' addresses, so it connects to them",
          GLOO, own_name("127.0.1.1"), world=LOW, outcomes=RUNS, harmless=NAME),
    Fault("own_name_loopback", "not_asked", "the victim's own name gives 127.0.1.1; this stack does not ask for it", MPI, own_name("127.0.1.1"), outcomes=RUNS,
          harmless=NAME),
    Fault("wrong_interface", "containers", "the variable names docker0, which has the same address everywhere", GLOO, variables(GLOO_SOCKET_IFNAME="docker0"),
          predicted=("stack.interface",), named=("stack.interface",), where="any", world=CONTAINERS, remedy="restart"),
    Fault("wrong_interface", "containers", "the variable names docker0, which has the same address everywhere", ("openmpi",),
          variables(OMPI_MCA_btl_tcp_if_include="docker0"), predicted=("stack.interface",), named=("stack.interface",), where="any", world=CONTAINERS,
          remedy="restart"),
    Fault("wrong_interface", "containers", "the variable names docker0, which has the same address everywhere", ("mpich",),
          variables(UCX_NET_DEVICES="docker0"), predicted=("stack.interface",), named=("stack.interface",), where="any", world=CONTAINERS, remedy="restart"),
    Fault("wrong_interface", "containers_by_itself", "docker0 is there, and the stack uses every interface", MPI, nothing,
          predicted=("stack.interface",), named=("stack.interface",), where="any", world=CONTAINERS, remedy="restart"),
    Fault("wrong_interface", "absent", "the variable names an interface that is not there", GLOO, variables(GLOO_SOCKET_IFNAME="eth9"),
          predicted=("stack.interface", "link.missing"), named=("stack.interface", "link.missing"), where="any", remedy="restart"),
    Fault("wrong_interface", "absent", "the variable names an interface that is not there", ("openmpi",), variables(OMPI_MCA_btl_tcp_if_include="eth9"),
          predicted=("stack.interface", "link.missing"), named=("stack.interface", "link.missing"), where="any", remedy="restart"),
    Fault("wrong_interface", "dead_network", "the variable names the interface of a network that joins nobody", GLOO, variables(GLOO_SOCKET_IFNAME="eth1"),
          predicted=CUT, named=CUT, where="any", world=DEAD, remedy="restart"),
    Fault("wrong_interface", "dead_network", "the variable names the interface of a network that joins nobody", ("openmpi",),
          variables(OMPI_MCA_btl_tcp_if_include="eth1"), predicted=CUT, named=CUT, where="any", world=DEAD, remedy="restart"),
    Fault("wrong_interface", "dead_network", "the variable names the interface of a network that joins nobody", ("mpich",), variables(UCX_NET_DEVICES="eth1"),
          predicted=CUT, named=CUT, where="any", world=DEAD, remedy="restart"),
    Fault("wrong_interface", "containers", "the variable names docker0, which has the same address everywhere", NCCL,
          variables(NCCL_SOCKET_IFNAME="docker0"), predicted=("stack.interface",), named=("stack.interface",), where="any", world=CONTAINERS, remedy="restart"),
    Fault("wrong_interface", "absent", "the variable names an interface that is not there", NCCL, variables(NCCL_SOCKET_IFNAME="eth9"),
          predicted=("stack.interface", "link.missing"), named=("stack.interface", "link.missing"), where="any", remedy="restart"),
    Fault("wrong_interface", "dead_network", "the variable names the interface of a network that joins nobody", NCCL, variables(NCCL_SOCKET_IFNAME="eth1"),
          predicted=CUT, named=CUT, where="any", world=DEAD, remedy="restart"),
    Fault("wrong_interface", "dead_by_itself", "a second network joins nobody, and the stack uses every interface", MPI, nothing, predicted=CUT, named=CUT,
          where="any", world=DEAD, remedy="restart"),
    Fault("wrong_interface", "name_of_office", "the victim's own name gives its address in a network that joins nobody", GLOO, own_name_office,
          predicted=WRONG + CUT, named=WRONG + CUT, world=DEAD, remedy="restart"),
]
FAULTS += [
    Fault("ephemeral_closed", shape, "the victim's firewall lets in the master port and no ephemeral port (%s)" % verdict, stacks, ephemeral_closed(verdict),
          predicted=INBOUND[verdict], named=INBOUND[verdict], victims=victims, remedy="restart")
    for shape, verdict in (("drop", DROP), ("icmp", ICMP), ("rst", RST))
    # gloo: the host with the highest address connects to all others. Open MPI: daemons connect to the launcher's host, ranks have ports below.
    for stacks, victims in ((GLOO, "not_last"), (("openmpi",), "first"), (("mpich",), "any"), (NCCL, "any"))]
FAULTS += [
    Fault("ephemeral_closed", "nobody_comes", "the same on the host with the highest address, to which nobody connects", GLOO, ephemeral_closed(DROP),
          victims="last", outcomes=RUNS, harmless=INBOUND[DROP]),
    Fault("master_closed", "inbound_drop", "the first host drops what the victim sends to the master port", ALL, master_inbound(DROP), where="first",
          predicted=INBOUND[DROP], named=INBOUND[DROP], victims="not_first", remedy="restart"),
    Fault("master_closed", "inbound_icmp", "the first host refuses the victim at the master port with ICMP", ALL, master_inbound(ICMP), where="first",
          predicted=INBOUND[ICMP], named=INBOUND[ICMP], victims="not_first", remedy="restart"),
    Fault("master_closed", "outbound_drop", "the victim drops what it sends to the master port", ALL, master_outbound(DROP),
          predicted=("firewall.drop_outbound", "firewall.partial_range"), named=("firewall.drop_outbound", "firewall.partial_range"), victims="not_first",
          remedy="restart"),
    Fault("never_started", "absent", "nobody starts one rank", BY_VARIABLES, absent, named=("rank.missing", "rank.late"), victims="not_first", where="any"),
    Fault("never_started", "asleep", "one rank's program never comes as far as MPI_Init", MPI, absent, named=("rank.missing", "rank.late")),
    Fault("stopped", "sigstop", "one rank is stopped (SIGSTOP)", ALL, send(signal.SIGSTOP), named=("job.stopped",), when="after", remedy="go_on"),
    Fault("never_reads", "works", "one rank works and never reads what a peer sends", ("gloo",) + MPI, unread, named=("job.not_reading",), mode="unread"),
    Fault("base_is_master", "one_port", "ranks are told to listen on the launcher's own port", ("openmpi",), base_is_master_openmpi,
          predicted=("tcp.port_collision",), named=("tcp.port_collision",), where="any"),
    Fault("base_is_master", "one_port", "ranks are told to listen on the launcher's own port", ("mpich",), base_is_master_mpich,
          predicted=("tcp.port_collision",), named=("tcp.port_collision",), where="any"),
    Fault("one_way_drop", "own_output", "when connections stand, the victim drops all that it sends to the peer", ALL, drop_own, when="after",
          named=("firewall.drop_outbound",), remedy="go_on"),
    Fault("one_way_drop", "own_input", "when connections stand, the victim drops all that comes from the peer", ALL, drop_at_peer, when="after",
          named=("firewall.drop_inbound",), remedy="go_on"),
    Fault("one_way_drop", "switch", "when connections stand, the switch drops all from the victim to the peer", ALL, drop_in_switch, when="after",
          named=("firewall.drop_path",)),
    Fault("killed", "sigkill", "one rank is killed (SIGKILL); the others stay where their errors leave them", BY_VARIABLES, killed, named=LOST, when="after",
          mode="stay", where="any"),
    # Launchers that are told to go on (--enable-recovery, -disable-auto-cleanup) end all the same after the loss of a rank of another host.
    Fault("killed", "sigkill", "one rank is killed (SIGKILL); the launcher is told to leave the others alone", MPI, killed, named=LOST, when="after",
          where="any", victims="first"),
    Fault("world_size", "one_more", "the victim's ranks are told of one rank more", BY_VARIABLES, world_size(1), predicted=("config.mismatch",), named=LOST,
          where="any", mode="stay"),
    Fault("world_size", "one_less", "the victim's ranks are told of one rank less", GLOO, world_size(-1), predicted=("config.mismatch",), named=LOST,
          where="any", victims="not_last", least_hosts=3, mode="stay"),
    Fault("world_size", "one_rank_each", "every process is told that it is the whole job", GLOO, one_rank_each, predicted=("stack.one_rank", "config.mismatch"),
          named=("stack.one_rank", "config.mismatch"), where="any", outcomes=RUNS),
    Fault("world_size", "other_launcher", "started by the launcher of another MPI: every process is the whole job", MPI, alone, named=("stack.one_rank",),
          where="any", outcomes=RUNS),
]
# What a row of the list does not exist for, and why: docs/your_job.md says it too.
NOT_MADE = {
    ("never_reads", "torch-gloo"): "torch's gloo reads in a thread of its own and asks before it sends: a rank that works leaves nothing unread",
    ("base_is_master", "gloo"): "gloo has no base port: every listener is ephemeral",
    ("base_is_master", "torch-gloo"): "torch has no base port: every listener but the master's is ephemeral",
}


def find(key, stack):
    return next(fault for fault in FAULTS if fault.key == key and stack in fault.stacks)


def possible_victims(fault, hosts):
    every = list(hosts)
    return {"any": every, "first": every[:1], "not_first": every[1:], "not_last": every[:-1], "last": every[-1:]}[fault.victims]


def right_hosts(fault, bench):
    """None = any."""
    return {"victim": {bench.victim}, "first": {bench.job.hosts[0]}, "any": None}[fault.where]
