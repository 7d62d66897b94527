"""Small virtual machines for one test: hosts with a kernel of their own (Debian's, unpacked from its package and never installed) under
qemu's software emulation. Their root is this machine's own, read-only through 9p, with a layer in memory above it: what was just built runs
there, and nothing that they write arrives here. sshd with keys of the test's own answers on the control network; the data network is apart.

The test moves into an unnamed network namespace, which holds both networks as bridges and disappears with the last process in it; machines
get SIGKILL when the test ends, however it ends, and power themselves off after LIFE_S."""
import atexit
import ctypes
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from namespaces import SKIPPED, ip, require_lab
from ssh_lab import SshCluster

CACHE = pathlib.Path(__file__).resolve().parents[2] / ".cache" / "vm"
LIFE_S = 570  # a machine's longest life, below the limit of the test
BOOT_S = 90  # a boot takes 4 to 15 s
MEMORY_MIB = 640
FOLDER = "plumbline-vm-lab-"  # of a test's keys and logs; then the test's pid and a random part
INSIDE = "TEST_VM_LAB"  # set in the test's own namespace
QEMU = "qemu-system-x86_64"

# What the initramfs loads, with all that these need; the rest comes from the unpacked package once the root is there.
BOOT_MODULES = ["virtio_pci", "virtio_net", "virtio_rng", "9pnet_virtio", "9p", "overlay"]
# Most of the package is drivers for hardware that no machine here has.
KERNEL_PARTS = ["./boot/vmlinuz-*", "./lib/modules/*/modules.*", "./lib/modules/*/kernel/arch/*", "./lib/modules/*/kernel/crypto/*",
                "./lib/modules/*/kernel/fs/*", "./lib/modules/*/kernel/lib/*", "./lib/modules/*/kernel/net/*",
                "./lib/modules/*/kernel/drivers/virtio/*", "./lib/modules/*/kernel/drivers/char/hw_random/*",
                "./lib/modules/*/kernel/drivers/net/[^/]*.ko", "./lib/modules/*/kernel/drivers/infiniband/core/*",
                "./lib/modules/*/kernel/drivers/infiniband/sw/*"]

# The kernel's first program: modules, root, and on to the second script.
INIT = """#!/bin/busybox sh
busybox mkdir -p /proc /dev /lower /upper /whole
busybox mount -t proc proc /proc
busybox mount -t devtmpfs dev /dev
while read -r module; do busybox insmod "/modules/$module"; done </modules.list
busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,cache=loose,ro root /lower
busybox mount -t tmpfs -o size=50% upper /upper
busybox mkdir /upper/files /upper/work
busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /whole
busybox mount --move /dev /whole/dev
busybox mount --move /proc /whole/proc
for word in $(busybox cat /whole/proc/cmdline); do
  case $word in vm_start=*) start=${word#vm_start=} ;; esac
done
exec busybox switch_root /whole /bin/sh "$start"
"""

# The second one, of one host. The first process also has to wait for orphans: that is the loop at the end.
START = """set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd /dev/pts /dev/shm /lib/modules/%(version)s
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount --bind %(kernel)s/lib/modules/%(version)s /lib/modules/%(version)s
hostname %(name)s
printf '%%s\\n' %(names)s >/etc/hosts
ip link set lo up
ip link set eth0 name control0
ip link set eth1 name data0
ip addr add %(control)s/24 dev control0
ip addr add %(data)s dev data0
ip link set control0 up
ip link set data0 up
(sleep %(life)d; echo o >/proc/sysrq-trigger) &
/usr/sbin/sshd -D -e -f %(sshd)s </dev/null &
echo $! >/run/sshd.pid
set +e
while true; do wait; sleep 1; done
"""


def skip(reason):
    print("Skipped: " + reason)
    sys.exit(SKIPPED)


def require_vm_lab():
    """Ends the test as skipped, with the reason, where there can be no machines; else goes on in a namespace of the test's own."""
    require_lab()
    if platform.machine() != "x86_64":
        skip("the machines are x86_64, this one is %s: emulation would take too long" % platform.machine())
    for program, package in ((QEMU, "qemu-system-x86"), ("busybox", "busybox-static"), ("cpio", "cpio"), ("modprobe", "kmod"),
                             ("depmod", "kmod"), ("/usr/sbin/sshd", "openssh-server"), ("ssh", "openssh-client"), ("dpkg-deb", "dpkg")):
        if shutil.which(program) is None:
            skip("needs %s (package %s)" % (program, package))
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        skip("this kernel has no tun devices (/dev/net/tun)")
    if os.environ.get(INSIDE) != "1":
        Kernel()  # in there is no way to the package's server
        # A /sys of its own shows the interfaces of the namespace.
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys && exec "$@"', "sh",
                              sys.executable, "-B", *sys.argv])


def die_with_parent():
    """In a child, before it becomes another program: SIGKILL as soon as the test is gone."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def bounded_machine():
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (4 * LIFE_S, 4 * LIFE_S))  # seconds, for a machine that no longer tells the time


class Kernel:
    """Debian's kernel in the cache folder; fetched and unpacked there when it is not."""

    def __init__(self):
        found = sorted(CACHE.glob("linux-image-*/boot/vmlinuz-*"))
        self.image = found[-1] if found else self.fetch()
        self.folder = self.image.parents[1]
        self.version = self.image.name.split("-", 1)[1]

    @staticmethod
    def fetch():
        depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, timeout=60).stdout
        match = re.search(r"Depends: (linux-image-[0-9]\S*-amd64)$", depends, re.M)
        if not match:
            skip("apt knows no package linux-image-amd64 (other distribution, or apt-get update was never run)")
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            try:
                done = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", match[1]], cwd=work, capture_output=True,
                                      text=True, timeout=240)
            except subprocess.TimeoutExpired:
                skip("%s did not come from the package sources in 240 s" % match[1])
            packages = list(pathlib.Path(work).glob("*.deb"))
            if done.returncode != 0 or not packages:
                skip("%s cannot be fetched (apt-get update, or no network?): %s" % (match[1], done.stderr.strip()[-300:]))
            unpacked = pathlib.Path(work, "unpacked")
            unpacked.mkdir()
            unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(packages[0])], stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x", "-C", str(unpacked), "--wildcards", *KERNEL_PARTS], stdin=unpack.stdout, check=True, timeout=120)
            unpack.stdout.close()
            if unpack.wait(30) != 0:
                raise RuntimeError("dpkg-deb cannot read " + packages[0].name)
            version = next(unpacked.glob("boot/vmlinuz-*")).name.split("-", 1)[1]
            subprocess.run(["depmod", "-b", str(unpacked), version], check=True, timeout=60)
            try:
                unpacked.rename(CACHE / match[1])
            except OSError:  # another test was faster
                pass
        return next((CACHE / match[1]).glob("boot/vmlinuz-*"))

    def initramfs(self, path):
        """Writes the archive that the kernel boots into."""
        root = path.with_suffix(".files")
        (root / "bin").mkdir(parents=True)
        (root / "modules").mkdir()
        shutil.copy(shutil.which("busybox"), root / "bin" / "busybox")
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        names = []
        for module in BOOT_MODULES:
            done = subprocess.run(["modprobe", "-d", str(self.folder), "-S", self.version, "--show-depends", module],
                                  capture_output=True, text=True, timeout=20, check=True)
            for words in map(str.split, done.stdout.splitlines()):
                if words[0] == "insmod" and os.path.basename(words[1]) not in names:
                    names.append(os.path.basename(words[1]))
                    shutil.copy(words[1], root / "modules")
        (root / "modules.list").write_text("".join(name + "\n" for name in names))
        files = "\n".join(str(each.relative_to(root)) for each in sorted(root.rglob("*")))
        with open(path, "wb") as archive:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], input=files.encode(), cwd=root, stdout=archive, check=True, timeout=60)


class VmCluster(SshCluster):
    """hosts[i] = {"name", "data", "control"}, as in SshCluster, each a machine of its own with `cores[i]` processors. They begin to boot;
    wait() until they can be used."""

    def __init__(self, cores):
        remove_leftovers()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="%s%d-" % (FOLDER, os.getpid())))
        self.hosts = [{"name": "h%d" % (i + 1), "data": "10.10.0.%d/24" % (i + 1), "control": "10.99.0.%d" % (i + 1), "cache": "/var/cache", "cores": n}
                      for i, n in enumerate(cores)]
        self.machines, self.lines = {}, []
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(1))
        atexit.register(self.remove)
        self.make_networks()
        self.write_client_key()
        kernel = Kernel()
        kernel.initramfs(self.folder / "initramfs")
        for host in self.hosts:
            self.boot(kernel, host)
        self.write_client_config()

    def wait(self):
        for host in self.hosts:
            self.wait_for_boot(host)
            # One connection for all commands of the test, as plumbline has its own.
            self.lines.append(subprocess.Popen(self.ssh(host, "-M", "-N"), stdin=subprocess.DEVNULL, preexec_fn=die_with_parent))
            self.set_clock(host)

    def make_networks(self):
        ip("link", "set", "lo", "up")
        for bridge in ("data", "control"):
            ip("link", "add", bridge, "type", "bridge")
            ip("link", "set", bridge, "up")
        ip("addr", "add", "10.99.0.250/24", "dev", "control")
        for host in self.hosts:
            for bridge in ("data", "control"):
                tap = "%s-%s" % (bridge, host["name"])
                ip("tuntap", "add", tap, "mode", "tap")
                ip("link", "set", tap, "master", bridge, "up")

    def boot(self, kernel, host):
        name, number = host["name"], self.hosts.index(host) + 1
        names = ["127.0.0.1 localhost"] + ["%s %s" % (h["data"].split("/")[0], h["name"]) for h in self.hosts]
        start = self.folder / ("start-" + name)
        start.write_text(START % {"version": kernel.version, "kernel": kernel.folder, "name": name, "control": host["control"],
                                  "data": host["data"], "life": LIFE_S, "sshd": self.write_sshd_config(host),
                                  "names": " ".join("'%s'" % each for each in names)})
        # no_timer_check: a kernel that gets too little time while it boots takes its timer for broken.
        words = [QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(host["cores"]), "-m", str(MEMORY_MIB), "-nodefaults",
                 "-no-user-config", "-display", "none", "-no-reboot", "-kernel", str(kernel.image), "-initrd", str(self.folder / "initramfs"),
                 "-append", "console=ttyS0 loglevel=4 panic=-1 no_timer_check tsc=reliable mitigations=off nokaslr random.trust_cpu=on vm_start=%s" % start,
                 "-serial", "file:%s" % (self.folder / ("console-" + name)),
                 "-qmp", "unix:%s,server=on,wait=off" % (self.folder / ("monitor-" + name)),
                 "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
                 "-device", "virtio-rng-pci"]
        for place, bridge in enumerate(("control", "data")):  # in this order they become eth0 and eth1
            words += ["-netdev", "tap,id=%s,ifname=%s-%s,script=no,downscript=no" % (bridge, bridge, name),
                      "-device", "virtio-net-pci,netdev=%s,id=card-%s,mac=52:54:00:00:%02x:%02x" % (bridge, bridge, place, number)]
        log = open(self.folder / ("log-" + name), "w")
        self.machines[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=bounded_machine)

    def wait_for_boot(self, host):
        end = time.time() + BOOT_S
        machine = self.machines[host["name"]]
        while True:
            try:
                socket.create_connection((host["control"], 22022), 1).close()
                return self.wait_for_sshd(host)
            except OSError as error:
                if machine.poll() is not None or time.time() > end:
                    sys.exit("%s does not boot (%s, exit status %s):\n%s" % (host["name"], error, machine.returncode, self.last_words(host)))
            time.sleep(0.1)

    def last_words(self, host):
        texts = [self.folder / (kind + host["name"]) for kind in ("log-", "console-")]
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in texts if path.exists())

    def at_desk(self, *words):
        return list(words)  # the test itself is there

    def run(self, *words, timeout=120):
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=timeout, env=self.environment(),
                              preexec_fn=die_with_parent)

    def sh(self, host, script, timeout=30):
        """What a root shell on the host prints; fails when the script does."""
        done = subprocess.run(self.ssh(host) + ["sh -e"], input=script, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise AssertionError("on %s: %s: exit status %d: %s%s" % (host["name"], script, done.returncode, done.stdout, done.stderr))
        return done.stdout

    def ssh(self, host, *options):
        return ["ssh", "-F", str(self.config), "-S", str(self.folder / ("line-" + host["name"])), *options, host["name"]]

    def set_clock(self, host, ahead_s=0):
        """A machine reads its clock in whole seconds at the start; this is right to the time that a line takes to get there."""
        with subprocess.Popen(self.ssh(host) + ['echo ready; read -r now; date -s "@$now"'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, preexec_fn=die_with_parent) as command:
            command.stdout.readline()
            command.stdin.write("%.3f\n" % (time.time() + ahead_s))
            command.stdin.close()
            if command.wait(20) != 0:
                raise AssertionError("the clock of %s cannot be set" % host["name"])

    def monitor(self, host, command, **arguments):
        """One command of qemu's machine protocol (QMP)."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(10)
            line.connect(str(self.folder / ("monitor-" + host["name"])))
            stream = line.makefile("rw")
            stream.readline()  # the greeting
            for execute, words in (("qmp_capabilities", {}), (command, arguments)):
                stream.write(json.dumps({"execute": execute, "arguments": words}) + "\n")
                stream.flush()
                while True:
                    answer = json.loads(stream.readline())
                    if "error" in answer:
                        raise AssertionError("%s: %s" % (execute, answer["error"]))
                    if "return" in answer:
                        break

    def remove(self):
        processes = self.lines + list(self.machines.values())
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(10)
        self.machines, self.lines = {}, []
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_leftovers():
    """Folders of tests that were killed: their machines and networks went with them."""
    for path in pathlib.Path(tempfile.gettempdir()).glob(FOLDER + "*"):
        owner = path.name[len(FOLDER):].split("-")[0]
        if owner.isdigit() and not os.path.exists("/proc/" + owner):
            shutil.rmtree(path, ignore_errors=True)
