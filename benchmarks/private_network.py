"""A network namespace of this process and all that it starts: its loopback device carries nothing else, and the congestion control that its sockets
begin with is its own, so that every program has the same without being asked, and the machine's setting stays as it is. As root, or as any user where
the system allows user namespaces. Linux."""
import ctypes
import errno
import fcntl
import os
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"


def read(path):
    with open(path) as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, "unshare: " + os.strerror(number))


def _loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        request = bytearray(struct.pack("16sh22x", b"lo", 0))  # struct ifreq
        fcntl.ioctl(one, SIOCGIFFLAGS, request)
        flags = struct.unpack_from("h", request, 16)[0]
        struct.pack_into("h", request, 16, flags | IFF_UP)
        fcntl.ioctl(one, SIOCSIFFLAGS, request)


def enter():
    """Raises OSError where the system does not let this user have one."""
    try:
        _unshare(CLONE_NEWNET)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        user, group = os.getuid(), os.getgid()
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", "0 %d 1" % user)
        write("/proc/self/gid_map", "0 %d 1" % group)
    _loopback_up()


def congestion_control():
    return read(CONGESTION)


def set_congestion_control(name):
    """Raises OSError: ENOENT where the kernel has none of that name, EPERM where it keeps it to the machine's own network."""
    write(CONGESTION, name)


def loopback_bytes():
    """Received on the loopback device so far."""
    for line in read("/proc/net/dev").splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    raise OSError(errno.ENODEV, "no loopback device in /proc/net/dev")
