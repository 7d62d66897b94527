"""A cluster of namespaces for one test: every host with a real sshd of its own (own host key, own port), a data network and a control
network apart from it, and one more namespace, the desk, from which the cluster is used. Removed at the end, also after a failure."""
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import SKIPPED, ip, require_lab

SSH_PORT = 22022


def require_ssh_lab():
    require_lab()
    for program in ("/usr/sbin/sshd", "ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            print("Skipped: needs %s (package openssh-server)" % program)
            sys.exit(SKIPPED)


class SshCluster:
    """hosts[i] = {"name", "netns", "data", "control", "cache"}; `folder` holds keys, configurations and the hosts' caches. `prelude(host)` gives
    shell commands that run before the host's sshd, in the mount namespace which all that is started over it will see. `shell_level`: of shells
    that ssh starts; below 2, bash reads ~/.bashrc."""

    shell_level = 3

    def __init__(self, size, prelude=None, shell_level=shell_level):
        self.shell_level = shell_level
        self.prelude = prelude or (lambda host: ":")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-ssh-lab-"))
        self.prefix = "pl%d" % os.getpid()
        self.desk, self.switch = self.prefix + "-desk", self.prefix + "-sw"
        self.hosts = [{"name": "h%d" % (i + 1), "netns": "%s-%d" % (self.prefix, i + 1), "data": "10.10.0.%d/24" % (i + 1),
                       "control": "10.99.0.%d" % (i + 1), "cache": str(self.folder / ("cache of h%d" % (i + 1)))} for i in range(size)]
        self.daemons = {}
        self.namespaces = []
        atexit.register(self.remove)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(1))
        for name in [self.switch, self.desk] + [h["netns"] for h in self.hosts]:
            ip("netns", "add", name)
            self.namespaces.append(name)
            ip("-n", name, "link", "set", "lo", "up")
        for bridge in ("data", "control"):
            ip("-n", self.switch, "link", "add", bridge, "type", "bridge")
            ip("-n", self.switch, "link", "set", bridge, "up")
        self.plug(self.desk, "control", "10.99.0.250/24")
        for host in self.hosts:
            self.plug(host["netns"], "control", host["control"] + "/24")
            self.plug(host["netns"], "data", host["data"])
        self.write_client_key()
        os.makedirs("/run/sshd", exist_ok=True)
        for host in self.hosts:
            self.start_sshd(host)
        self.write_client_config()
        for host in self.hosts:
            self.wait_for_sshd(host)

    def plug(self, netns, bridge, address):
        port = "%s%s" % (bridge[0], netns.rsplit("-", 1)[1])
        ip("link", "add", port, "netns", self.switch, "type", "veth", "peer", "name", bridge + "0", "netns", netns)
        ip("-n", self.switch, "link", "set", port, "master", bridge, "up")
        ip("-n", netns, "addr", "add", address, "dev", bridge + "0")
        ip("-n", netns, "link", "set", bridge + "0", "up")

    def keygen(self, name):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True, timeout=20)

    def write_client_key(self):
        self.keygen("client")
        (self.folder / "authorized_keys").write_text((self.folder / "client.pub").read_text())

    def write_sshd_config(self, host):
        """The host's own key and its server's configuration; returns the latter's path."""
        name = host["name"]
        if not (self.folder / ("key-" + name)).exists():
            self.keygen("key-" + name)
        config = self.folder / ("sshd-" + name)
        config.write_text("\n".join([
            "Port %d" % SSH_PORT, "ListenAddress " + host["control"], "HostKey %s" % (self.folder / ("key-" + name)), "PidFile none",
            "AuthorizedKeysFile %s" % (self.folder / "authorized_keys"), "UsePAM no", "PasswordAuthentication no",
            "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password", "StrictModes no", "UseDNS no",
            "MaxStartups 100:30:200", 'SetEnv SHLVL=%d "XDG_CACHE_HOME=%s"' % (self.shell_level, host["cache"]), *host.get("sshd", []), ""]))
        return config

    def start_sshd(self, host):
        name = host["name"]
        config = self.write_sshd_config(host)
        log = open(self.folder / ("log-" + name), "a")
        self.daemons[name] = subprocess.Popen(["ip", "netns", "exec", host["netns"], "sh", "-c", self.prelude(host) + ' && exec "$0" "$@"',
                                               "/usr/sbin/sshd", "-D", "-e", "-f", str(config)],
                                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop_sshd(self, host):
        daemon = self.daemons.pop(host["name"])
        daemon.terminate()
        daemon.wait(10)

    def wait_for_sshd(self, host):
        end = time.time() + 60
        while True:
            try:
                done = subprocess.run(self.at_desk("ssh", "-F", str(self.config), host["name"], "true"), capture_output=True, text=True, timeout=20)
                said = done.stderr
                if done.returncode == 0:
                    return
            except subprocess.TimeoutExpired as error:
                said = str(error)
            if time.time() > end:
                sys.exit("sshd of %s: %s\n%s" % (host["name"], said, (self.folder / ("log-" + host["name"])).read_text()))
            time.sleep(0.05)

    def write_client_config(self):
        known = self.folder / "known_hosts"
        known.write_text("".join("[%s]:%d %s" % (h["control"], SSH_PORT, (self.folder / ("key-%s.pub" % h["name"])).read_text())
                                 for h in self.hosts))
        lines = []
        for host in self.hosts:
            lines += ["Host " + host["name"], "  HostName " + host["control"], "  IdentityFile %s" % (self.folder / "client")]
        lines += ["Host keyless", "  HostName " + self.hosts[:2][-1]["control"]]  # the second host, without a key that it accepts
        lines += ["Host *", "  Port %d" % SSH_PORT, "  User root", "  IdentitiesOnly yes",
                  "  UserKnownHostsFile %s" % known, "  GlobalKnownHostsFile /dev/null", "  StrictHostKeyChecking yes",
                  "  KexAlgorithms curve25519-sha256", ""]
        self.config = self.folder / "ssh_config"
        self.config.write_text("\n".join(lines))

    def host_file(self, name="hosts.json", change=None):
        """Our own form; `change(entry)` may spoil entries."""
        entries = [{"name": h["name"], "ssh": h["name"], "data": [h["data"]]} for h in self.hosts]
        for entry in entries:
            if change:
                change(entry)
        path = self.folder / name
        path.write_text(json.dumps({"hosts": entries}))
        return path

    def at_desk(self, *words):
        return ["ip", "netns", "exec", self.desk, *words]

    def environment(self):
        return dict(os.environ, PLUMBLINE_SSH_CONFIG=str(self.config))

    def run(self, *words, timeout=120):
        return subprocess.run(self.at_desk(*map(str, words)), capture_output=True, text=True, timeout=timeout, env=self.environment())

    def start(self, *words, **options):
        return subprocess.Popen(self.at_desk(*map(str, words)), text=True, env=self.environment(), **options)

    def plumblines(self, netns=None):
        """(pid, command line) of every plumbline process in the hosts' namespaces."""
        found = []
        for name in [netns] if netns else [h["netns"] for h in self.hosts] + [self.desk]:
            done = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, timeout=20)
            for pid in done.stdout.split():
                try:
                    line = pathlib.Path("/proc/%s/cmdline" % pid).read_bytes().split(b"\0")
                    state = pathlib.Path("/proc/%s/stat" % pid).read_text().rsplit(")", 1)[1].split()[0]
                except OSError:
                    continue
                if line and os.path.basename(line[0]).startswith(b"plumbline") and state != "Z":
                    found.append((int(pid), b" ".join(line).decode(errors="replace").strip()))
        return found

    def command_lines(self):
        """Of all processes in the cluster's namespaces: those that the cluster is used from, ssh's clients and servers, and what these started."""
        lines = []
        for name in [h["netns"] for h in self.hosts] + [self.desk]:
            for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, timeout=20).stdout.split():
                try:
                    lines.append(pathlib.Path("/proc/%s/cmdline" % pid).read_bytes().replace(b"\0", b" ").decode(errors="replace"))
                except OSError:
                    pass
        return "\n".join(lines)

    def wait_until_gone(self, seconds):
        """Seconds until no plumbline process was left; fails when some are."""
        start = time.time()
        while True:
            looked = time.time()  # looking takes a while itself
            left = self.plumblines()
            if not left:
                return time.time() - start
            if looked - start > seconds:
                raise AssertionError("still there after %.1f s: %s" % (seconds, left))
            time.sleep(0.05)

    def remove(self):
        for daemon in self.daemons.values():
            daemon.kill()
        for daemon in self.daemons.values():
            daemon.wait(10)
        self.daemons = {}
        for name in self.namespaces:
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, timeout=20).stdout.split()
            for pid in pids:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except OSError:
                    pass
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20)
        self.namespaces = []
        shutil.rmtree(self.folder, ignore_errors=True)
