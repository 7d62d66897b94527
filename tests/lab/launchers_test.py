"""The launchers themselves: Open MPI's and MPICH's mpirun and Slurm's srun start `plumbline run` and `plumbline coll`, on this machine and on
two hosts that are network namespaces with host names of their own. Slurm is a real one: slurmctld, two slurmd, munge. What is not installed is
skipped with the reason. Needs root; nothing outside the test's own namespaces and folder is touched, and nothing stays."""
import atexit
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import record_lines
from namespaces import SKIPPED, Mesh, ip, require_lab
from ports import free_port

PLUMBLINE = os.path.join(os.environ["TEST_BUILD"], "plumbline")
PREFIX = "pl%d-" % os.getpid()
HOSTS = ["node0", "node1", "node2"]  # node0 holds the bridge, the user and slurmctld
SCENARIO = """{"plumbline": 1, "question": "Do launched ranks measure?", "hosts": {"local": 2}, "probes": ["link", "tcp.connect"], COMMON,
 "matrix": [{"kind": "latency", "op": "allreduce", "bytes": [8, 4096], "ranks": [2, 4], "stop": {"max_time": "30ms"}},
            {"kind": "check", "op": ["alltoall", "broadcast"], "bytes": 1000, "ranks": [4, 3]}]}"""
CELLS = 8
MESH = """{"plumbline": 1, "question": "Do cables of their own work?", "hosts": {"local": 3}, "probes": ["link", "tcp.connect"], COMMON,
 "matrix": [{"kind": "latency", "op": "alltoall", "bytes": 4096, "stop": {"max_time": "30ms"}}]}"""
LONG = """{"plumbline": 1, "question": "Does it survive?", "hosts": {"local": 2}, "probes": ["link"], COMMON,
 "matrix": [{"kind": "latency", "op": "allreduce", "bytes": 8, "repeat": 100, "stop": {"ci": 0, "max_n": 10000000, "max_time": "100ms"}}]}"""

# One host or both, dealt in either way: any of a launcher's ranks can be a rank of the world.
AXES = """{"plumbline": 1, "question": "Which ranks take part?", "hosts": {"local": 2}, COMMON,
 "matrix": [{"op": "allreduce", "bytes": 4096, "hosts": [1, 2], "distribution": ["block", "cyclic"], "stop": {"max_time": "30ms"}}]}"""
SHIPPED = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "scenarios")

COMMON = '"roofs": false, "launch": {"port_base": "auto", "master_port": PORT}, "report": ["console"], "seed": 7'

processes = []  # daemons of ours, ended at exit
failures = []


PORT = free_port()


def check(condition, what):
    print(("ok    " if condition else "WRONG ") + what)
    if not condition:
        failures.append(what)


def address(host):
    return "10.213.8.%d" % (10 + HOSTS.index(host))


def on(host, command):
    """What runs a command on a host: in its network, with its name. Slurm wants a place for control groups, which ip netns exec hides."""
    script = 'mount -t tmpfs none /sys/fs/cgroup && hostname "$0" && exec "$@"'
    return ["ip", "netns", "exec", PREFIX + host, "unshare", "--uts", "--mount", "sh", "-c", script, host, *command]


class Cluster:
    """Three hosts on one bridge."""

    def __init__(self, folder):
        self.folder = folder
        atexit.register(self.remove)
        hosts = "127.0.0.1 localhost\n" + "".join("%s %s\n" % (address(host), host) for host in HOSTS)
        for host in HOSTS:
            ip("netns", "add", PREFIX + host)
            ip("-n", PREFIX + host, "link", "set", "lo", "up")
            os.makedirs("/etc/netns/" + PREFIX + host)
            with open("/etc/netns/%s/hosts" % (PREFIX + host), "w") as file:
                file.write(hosts)
        center = PREFIX + "node0"
        ip("-n", center, "link", "add", "br0", "type", "bridge")
        ip("-n", center, "link", "set", "br0", "up")
        ip("-n", center, "addr", "add", address("node0") + "/24", "dev", "br0")
        for index, host in enumerate(HOSTS[1:], 1):
            ip("link", "add", "v%d" % index, "netns", center, "type", "veth", "peer", "name", "eth0", "netns", PREFIX + host)
            ip("-n", center, "link", "set", "v%d" % index, "master", "br0", "up")
            ip("-n", PREFIX + host, "addr", "add", address(host) + "/24", "dev", "eth0")
            ip("-n", PREFIX + host, "link", "set", "eth0", "up")

    def agent(self):
        """What mpirun uses instead of ssh: [options] host command..."""
        path = os.path.join(self.folder, "reach")
        with open(path, "w") as file:
            file.write('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1\nshift\n'
                       "exec ip netns exec %s$host unshare --uts sh -c 'hostname \"$0\" && exec sh -c \"$*\"' $host \"$@\"\n" % PREFIX)
        os.chmod(path, 0o755)
        return path

    def remove(self):
        for process in reversed(processes):
            process.kill()
            process.wait()
        for host in HOSTS:
            pids = subprocess.run(["ip", "netns", "pids", PREFIX + host], capture_output=True, text=True).stdout.split()
            for pid in pids:  # slurmstepd, which leaves its slurmd
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "del", PREFIX + host], capture_output=True)
            shutil.rmtree("/etc/netns/" + PREFIX + host, ignore_errors=True)


def run(argv, environment=None, timeout=90):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, env=dict(os.environ, **(environment or {})))
    except subprocess.TimeoutExpired as expired:
        return subprocess.CompletedProcess(argv, 124, str(expired.stdout), str(expired.stderr))


def records(path):
    return record_lines.records_of(path)


def records_printed(text):
    return record_lines.records("\n".join(line for line in text.splitlines() if line.startswith("{")))


def judge_run(name, argv, folder, hosts, environment=None):
    """`plumbline run` started by argv: one output, one set of records, all hosts in them."""
    out = os.path.join(folder, "out-" + name.replace(" ", "-"))
    done = run([*argv, PLUMBLINE, "run", os.path.join(folder, "scenario.json"), "--out", out], environment)
    check(done.returncode == 0, "%s: run ends with 0 (%d)" % (name, done.returncode))
    check(done.stdout.count("= Summary") == 1, "%s: the report is printed once" % name)
    if os.path.exists(out + "/evidence.json"):
        with open(out + "/evidence.json") as file:
            agents = [host.get("source") for host in json.load(file)["hosts"]]
        check(agents == ["agent"] * len(hosts), "%s: every host has an agent: %s" % (name, agents))
    else:
        check(False, "%s: probes have left evidence" % name)
    if done.returncode != 0 or not os.path.exists(out + "/records.jsonl"):
        print(done.stdout[-3000:], done.stderr[-3000:])
        return
    all_records = records(out + "/records.jsonl")
    check(len(all_records) == CELLS, "%s: %d records" % (name, len(all_records)))
    check(all(record["outcome"] == "passed" for record in all_records), "%s: all passed" % name)
    four = [record for record in all_records if record["cell"]["ranks"] == 4]
    check(sorted(host["hostname"] for host in four[-1]["environment"]["hosts"]) == sorted(hosts), "%s: on the hosts %s" % (name, hosts))
    pairs = " ".join(pair for record in four for pair in record["resolved"]["address_pairs"])
    check((len(hosts) > 1) == ("10.213.8." in pairs), "%s: the data takes the network only between hosts" % name)
    check(all(record["environment"]["auth"] == "rendezvous" and record["environment"]["control"] == "data-network"
              for record in all_records), "%s: auth and control are recorded" % name)


def judge_axes(name, argv, folder, environment=None):
    """Sets of hosts and distributions, on two hosts with two ranks each."""
    out = os.path.join(folder, "axes-" + name.replace(" ", "-"))
    done = run([*argv, PLUMBLINE, "run", os.path.join(folder, "axes.json"), "--out", out, "--no-probes"], environment)
    check(done.returncode == 0, "%s: run over the axes ends with 0 (%d)" % (name, done.returncode))
    if done.returncode != 0:
        print(done.stdout[-2000:], done.stderr[-2000:])
        return
    placed = {(r["cell"].get("hosts", "all"), r["cell"]["distribution"]): [each["host"] for each in r["per_rank"]]
              for r in records(out + "/records.jsonl") if r["outcome"] == "passed" and r["verified"]}
    check(placed == {("node1", "block"): ["node1"] * 2, ("node1", "cyclic"): ["node1"] * 2,
                     ("all", "block"): ["node1", "node1", "node2", "node2"], ("all", "cyclic"): ["node1", "node2"] * 2},
          "%s: ranks are where the axes say: %s" % (name, placed))


def judge_shipped(name, argv, folder, environment=None):
    """The scenario that MLX's host files run over ssh, as it ships."""
    out = os.path.join(folder, "mesh-" + name.replace(" ", "-"))
    done = run([*argv, PLUMBLINE, "run", os.path.join(SHIPPED, "jaccl_mesh.json"), "--out", out, "--rounds", "10", "--only", "bytes<=1Mi",
                "--port-base", "auto", "--master-port", PORT], environment)
    check(done.returncode == 0, "%s: jaccl_mesh.json ends with 0 (%d)" % (name, done.returncode))
    marks = [line[:6] for line in done.stdout.splitlines() if line[:1] == "[" and line[5:6] == "]"]
    check(len(marks) == 11 and marks[7:] == ["[ ok ]"] * 4 and "[FAIL]" not in marks, "%s: its checklist: %s" % (name, marks))
    if done.returncode != 0:
        print(done.stdout[-2000:], done.stderr[-2000:])


def judge_coll(name, argv, environment=None):
    done = run([*argv, PLUMBLINE, "coll", "allreduce", "-b", "8", "-e", "64", "-f", "8", "-n", "5", "--json", "--port-base", "auto", "--master-port", PORT], environment)
    lines = records_printed(done.stdout)
    check(done.returncode == 0 and len(lines) == 4, "%s: coll prints four records once (%d, %d)" % (name, done.returncode, len(lines)))
    check(all(line["cell"]["ranks"] == 4 for line in lines), "%s: coll counts four ranks" % name)
    if not lines:
        print(done.stdout[-2000:], done.stderr[-2000:])


def own_pids(marker):
    """Processes with TEST_MARK=marker in their environment: the ranks, their agents, what the launcher made of them. Zombies have none."""
    pids = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and int(entry) != os.getpid():
                with open("/proc/%s/environ" % entry, "rb") as file:
                    if b"TEST_MARK=%s\0" % marker.encode() in file.read():
                        pids.append(int(entry))
        except OSError:
            pass
    return pids


def gone(marker, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not own_pids(marker):
            return True
        time.sleep(0.05)
    return False


def judge_end(name, argv, folder, number, codes, environment=None):
    """A run that gets a signal in the middle: Ctrl-C at the launcher, or SIGKILL of one rank."""
    out = os.path.join(folder, "end-%s-%d" % (name.replace(" ", "-"), number))
    launcher = subprocess.Popen([*argv, PLUMBLINE, "run", os.path.join(folder, "long.json"), "--out", out], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=dict(os.environ, TEST_MARK=out, **(environment or {})))
    path = out + "/records.jsonl"
    check(record_lines.wait_for_record(path, 30), "%s: a record is there in time" % name)
    ranks = []
    for pid in own_pids(out):
        try:
            with open("/proc/%d/environ" % pid, "rb") as file:
                variables = dict(part.split(b"=", 1) for part in file.read().split(b"\0") if b"=" in part)
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        rank = variables.get(b"OMPI_COMM_WORLD_RANK", variables.get(b"PMI_RANK", variables.get(b"SLURM_PROCID")))
        if words[0].endswith(b"plumbline") and words[1:2] == [b"run"] and rank == b"1":
            ranks.append(pid)
    if number == signal.SIGKILL:
        check(len(ranks) == 1, "%s: rank 1 is found" % name)
        for pid in ranks:
            os.kill(pid, signal.SIGKILL)
    else:
        launcher.send_signal(number)
        if "srun" in argv:  # it asks for a second one; two that come before it looks are one
            for _ in range(4):
                time.sleep(0.3)
                launcher.send_signal(number)
                try:
                    launcher.wait(timeout=5)
                    break
                except subprocess.TimeoutExpired:
                    launcher.send_signal(number)
    try:
        out_text, err_text = launcher.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        launcher.kill()
        out_text, err_text = launcher.communicate()
        check(False, "%s: ends in time after signal %d" % (name, number))
    check(launcher.returncode in codes, "%s: signal %d gives the exit code %d of %s" % (name, number, launcher.returncode, codes))
    check(gone(out, 3), "%s: nothing is left 3 s after signal %d" % (name, number))
    kept = records(path)
    check(len(ranks) > 0, "%s: the ranks carry the mark" % name)
    check(0 < len(kept) < 100, "%s: %d valid records after signal %d" % (name, len(kept), number))
    if launcher.returncode not in codes:
        print(out_text[-2000:], err_text[-2000:])


def judge_orphans(name, argv, folder):
    """A launcher that is killed tells nobody: the ranks end all the same."""
    out = os.path.join(folder, "orphans-" + name.replace(" ", "-"))
    launcher = subprocess.Popen([*argv, PLUMBLINE, "run", os.path.join(folder, "long.json"), "--out", out], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=dict(os.environ, TEST_MARK=out))
    path = out + "/records.jsonl"
    check(record_lines.wait_for_record(path, 30), "%s: a record is there in time" % name)
    launcher.kill()
    launcher.wait()
    check(gone(out, 3), "%s: nothing is left 3 s after kill -9 of the launcher" % name)
    check(len(records(path)) > 0, "%s: the records so far are valid" % name)


def test_mpirun(folder, cluster):
    launchers = [("Open MPI", "mpirun.openmpi", ["--allow-run-as-root", "--oversubscribe"],
                  ["--mca", "plm_rsh_agent", cluster.agent(), "--mca", "oob_tcp_if_include", "eth0", "--host", "node1:2,node2:2"]),
                 ("MPICH", "mpiexec.hydra", [], ["-launcher", "ssh", "-launcher-exec", cluster.agent(), "-hosts", "node1:2,node2:2"])]
    ran = False
    for name, program, always, two_hosts in launchers:
        if shutil.which(program) is None:
            print("Skipped: %s is not installed" % program)
            continue
        ran = True
        here = [program, *always, "-n", "4"]
        judge_run(name, here, folder, [os.uname().nodename])
        judge_coll(name, here)
        # After Ctrl-C, Hydra 4.0 hands rank 0's 130 on or says 0, as it falls out: rank 0 ends with 130 both times.
        judge_end(name, here, folder, signal.SIGINT, range(0 if name == "MPICH" else 1, 256))
        judge_end(name, here, folder, signal.SIGKILL, range(1, 256))
        judge_orphans(name, here, folder)
        both = on("node1", [program, *always, *two_hosts, "-n", "4"])
        judge_run(name + " two hosts", both, folder, ["node1", "node2"])
        judge_axes(name, both, folder)
        judge_shipped(name, both, folder)
    return ran


def test_mesh(folder):
    """Three hosts of one name, every pair joined by a cable with a subnet of its own, ranks started by hand: no address would do for all."""
    mesh = Mesh(3)
    out = os.path.join(folder, "out-mesh")
    ranks = []
    for rank in range(3):
        # Rank 0's end of the cable that leads to this rank.
        master = (mesh.addresses[0][max(rank, 1) - 1]).split("/")[0]
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="3", MASTER_ADDR=master)
        ranks.append(subprocess.Popen(["ip", "netns", "exec", mesh.names[rank], PLUMBLINE, "run", os.path.join(folder, "mesh.json"), "--out", out],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment))
    answers = [rank.communicate(timeout=60) for rank in ranks]
    codes = [rank.returncode for rank in ranks]
    check(codes == [0, 0, 0], "mesh: all ranks end with 0 (%s)" % codes)
    if codes != [0, 0, 0]:
        print(answers)
        return
    check(answers[1][0] + answers[2][0] == "", "mesh: rank 0 alone prints")
    node = os.uname().nodename
    check("%s (1), %s-2 (1), %s-3 (1)" % (node, node, node) in answers[0][1], "mesh: hosts of one name are told apart")
    pairs = sorted(pair.split(" ")[1].split(">") for pair in records(out + "/records.jsonl")[-1]["resolved"]["address_pairs"])
    used = [sorted(end.rsplit(":", 1)[0] for end in pair) for pair in pairs]
    check(sorted(used) == [["10.77.%d.1" % cable, "10.77.%d.2" % cable] for cable in range(3)], "mesh: every pair takes its own cable: %s" % used)


SLURM_CONF = """ClusterName=lab
SlurmctldHost=node0(10.213.8.10)
SlurmUser=root
AuthInfo=socket={0}/munge.sock
StateSaveLocation={0}/state
SlurmdSpoolDir={0}/spool.%n
SlurmctldPidFile={0}/ctld.pid
SlurmdPidFile={0}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
NodeName=node1 NodeAddr=10.213.8.11 CPUs=4
NodeName=node2 NodeAddr=10.213.8.12 CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""


def start(argv, folder, environment=None):
    log = open(os.path.join(folder, os.path.basename(argv[-1]) + ".%d.log" % len(processes)), "w")
    processes.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(os.environ, **(environment or {}))))


def start_slurm(folder):
    """slurmctld on node0, slurmd on node1 and node2, one munged for all; returns the environment of its commands."""
    folder = os.path.join(folder, "slurm")
    os.makedirs(folder + "/state")
    os.chmod(folder, 0o755)
    with open(folder + "/slurm.conf", "w") as file:
        file.write(SLURM_CONF.format(folder))
    with open(folder + "/cgroup.conf", "w") as file:
        file.write("CgroupPlugin=cgroup/v1\n")
    with open(folder + "/key", "wb") as file:
        file.write(os.urandom(1024))
    os.chmod(folder + "/key", 0o600)
    start(["munged", "-F", "--socket=%s/munge.sock" % folder, "--key-file=%s/key" % folder, "--log-file=%s/munged.log" % folder,
           "--pid-file=%s/munged.pid" % folder, "--seed-file=%s/seed" % folder], folder)
    environment = {"SLURM_CONF": folder + "/slurm.conf"}
    deadline = time.monotonic() + 120  # three daemons of Slurm, beside other tests
    while time.monotonic() < deadline and not os.path.exists(folder + "/munge.sock"):
        time.sleep(0.02)
    start(on("node0", ["slurmctld", "-D"]), folder, environment)
    for host in ("node1", "node2"):
        start(on(host, ["slurmd", "-D"]), folder, environment)
    while time.monotonic() < deadline:
        state = run(on("node0", ["sinfo", "-h", "-o", "%D %t"]), environment, timeout=10).stdout.strip()
        if state == "2 idle":
            return environment
        time.sleep(0.1)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".log"):
            print(name, open(os.path.join(folder, name)).read()[-1500:])
    raise RuntimeError("Slurm's nodes are '%s', not idle" % state)


def test_slurm(folder):
    programs = ["slurmctld", "slurmd", "srun", "sinfo", "munged"]
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        print("Skipped: Slurm: not installed: " + ", ".join(missing))
        return False
    environment = start_slurm(folder)
    srun = on("node0", ["srun", "-N2", "-n4", "--ntasks-per-node=2", "--chdir", folder])
    judge_run("Slurm", srun, folder, ["node1", "node2"], environment)
    judge_run("Slurm cyclic", on("node0", ["srun", "-N2", "-n4", "-m", "cyclic", "--chdir", folder]), folder, ["node1", "node2"], environment)
    judge_run("Slurm pmi2", [*srun, "--mpi=pmi2"], folder, ["node1", "node2"], environment)
    judge_coll("Slurm", srun, environment)
    judge_axes("Slurm", srun, folder, environment)
    judge_shipped("Slurm", srun, folder, environment)
    one = on("node0", ["srun", "-N1", "-n4", "--chdir", folder])
    judge_run("Slurm one node", one, folder, ["node1"], environment)
    # A shell of salloc without a step is no launch: run works alone there, with the scenario's own hosts.
    out = os.path.join(folder, "out-salloc")
    done = run(on("node0", ["salloc", "-Q", "-N2", "-n4", PLUMBLINE, "run", os.path.join(folder, "scenario.json"), "--out", out]), environment)
    check(done.returncode == 0 and "placed" not in done.stderr, "salloc without a step is no launch (%d)" % done.returncode)
    # Leaving one node out leaves two ranks.
    done = run([*srun, PLUMBLINE, "coll", "allreduce", "-b", "8", "-e", "8", "--json", "--exclude", "node2", "--master-port", PORT], environment)
    lines = records_printed(done.stdout)
    check(done.returncode == 0 and lines and all(line["cell"]["ranks"] == 2 for line in lines), "--exclude node2 leaves two ranks")
    judge_end("Slurm", srun, folder, signal.SIGINT, range(1, 256), environment)
    judge_end("Slurm", srun, folder, signal.SIGKILL, range(1, 256), environment)
    return True


def adopt_orphans():
    """What daemons leave behind becomes ours and is reaped at the end, also where process 1 reaps nobody."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def reap():
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.02)
            except ChildProcessError:
                return
    atexit.register(reap)  # runs last: what is registered first


def main():
    require_lab()
    adopt_orphans()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="plumbline-launchers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    for name, text in (("scenario.json", SCENARIO), ("long.json", LONG), ("mesh.json", MESH), ("axes.json", AXES)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text.replace("COMMON", COMMON).replace("PORT", PORT))
    test_mesh(folder)
    cluster = Cluster(folder)
    ran = test_mpirun(folder, cluster)
    ran = test_slurm(folder) or ran
    if not ran and not failures:
        print("Skipped: no launcher is installed (openmpi-bin, mpich, slurmctld and slurmd)")
        sys.exit(SKIPPED)
    sys.exit(1 if failures else 0)


main()
