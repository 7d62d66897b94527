"""Virtual machines with an RDMA device: rxe0, soft-RoCE on the data network. As a program: runs a command in one of them (rdma_vm.sh)."""
import os
import shlex
import subprocess
import sys

from vm_lab import VmCluster, require_vm_lab

LIMIT_S = 500  # of a command


class RdmaCluster(VmCluster):
    def wait(self):
        super().wait()
        for host in self.hosts:
            self.add_device(host)
            # Sessions inherit it from the ssh server.
            self.sh(host, "prlimit --memlock=unlimited --pid $(cat /run/sshd.pid)")

    def add_device(self, host):
        self.sh(host, "modprobe crc32_generic; modprobe rdma_rxe; rdma link add rxe0 type rxe netdev data0")

    def remove_device(self, host):
        self.sh(host, "rdma link delete rxe0")

    def call(self, host, *words, timeout=120, **environment):
        """What a command prints on a host, with its exit status as the last line."""
        variables = " ".join("%s=%s" % (name, shlex.quote(value)) for name, value in environment.items())
        line = "cd %s && env %s %s" % (shlex.quote(os.getcwd()), variables, " ".join(shlex.quote(str(word)) for word in words))
        return subprocess.run(self.ssh(host) + [line], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)


def main():
    if not sys.argv[1:]:
        sys.exit("usage: rdma_vm.sh COMMAND [ARGUMENT]...")
    require_vm_lab()
    cluster = RdmaCluster([2])
    cluster.wait()
    try:
        done = cluster.call(cluster.hosts[0], *sys.argv[1:], timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        sys.exit("the command did not end in %d s" % LIMIT_S)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
