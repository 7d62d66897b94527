"""The plan that `doctor --stack` prints against the sockets that a healthy job really has (`ss` in its namespaces). The comparison is pure."""
import dataclasses
import ipaddress
import re
import subprocess

ANY = ("0.0.0.0", "::", "*", "")
OWNER = re.compile(r'"([^"]+)",pid=(\d+)')


@dataclasses.dataclass(frozen=True)
class Socket:
    host: str
    state: str
    ip: str
    port: int
    peer_ip: str = ""
    peer_port: int = 0
    programs: tuple = ()


def end_of(text):
    address, _, port = text.rpartition(":")
    address = address.strip("[]").split("%")[0]
    address = address[7:] if address.startswith("::ffff:") else address
    return address, int(port) if port.isdigit() else 0


def parse_ss(host, text):
    """Of `ss -tnpaH`: listeners and connections that somebody has."""
    found = []
    for line in text.splitlines():
        words = line.split(None, 5)
        if len(words) < 5 or words[0] not in ("LISTEN", "ESTAB"):
            continue
        owners = tuple(sorted({name for name, _ in OWNER.findall(words[5] if len(words) > 5 else "")}))
        ip, port = end_of(words[3])
        peer_ip, peer_port = end_of(words[4])
        found.append(Socket(host, words[0], ip, port, *(("", 0) if words[0] == "LISTEN" else (peer_ip, peer_port)), owners))
    return found


def sockets_of(cluster):
    found = []
    for host in cluster.names:
        done = subprocess.run(["ip", "netns", "exec", cluster.netns(host), "ss", "-tnpaH"], capture_output=True, text=True, timeout=20, check=True)
        found += parse_ss(host, done.stdout)
    return found


def local(socket):
    return socket.ip.startswith("127.") or socket.ip == "::1"


def covers(listener, ip, port):
    """IPv6 is another family: a plan of IPv4 foretells 0.0.0.0 and leaves its twin on [::] out."""
    same = listener["ip"] == ip or listener["ip"] in ANY
    return same and (listener["first"] == 0 or listener["first"] <= port <= listener["last"])


def foretold_end(listeners, addresses, ip, port, fixed=False):
    """Whether the host that has this address may have waited there."""
    return any(covers(one, ip, port) for host in listeners if ip in addresses[host] for one in listeners[host] if not fixed or one["kind"] != "ephemeral")


def possible_ends(plan, listeners, addresses, socket):
    """At which ends of a connection somebody may have waited. Any port may be an ephemeral one of either end, so that where the plan knows who calls
    whom only the called one counts."""
    ends = [(socket.ip, socket.port), (socket.peer_ip, socket.peer_port)]
    if not plan.get("higher_calls") or socket.ip == socket.peer_ip or any(foretold_end(listeners, addresses, *end, fixed=True) for end in ends):
        return ends
    return [min(ends, key=lambda end: ipaddress.ip_address(end[0]))]


def compare(plan, sockets):
    """Differences, a line each; empty = the plan is what the job does. Sockets on loopback are the host's own affair and no part of a plan."""
    wrong = []
    listeners, addresses = {}, {}
    for rank in plan["ranks"]:
        listeners.setdefault(rank["host"], []).extend(rank["listeners"])
        addresses.setdefault(rank["host"], set()).update([rank["ip"], *[word.split(" ")[-1] for word in rank.get("also", [])]])
    real = [socket for socket in sockets if not local(socket)]
    for socket in real:
        foretold = listeners.get(socket.host, [])
        if socket.state == "LISTEN":
            twin = socket.ip in ("::", "*") and any(other.state == "LISTEN" and other.host == socket.host and other.ip == "0.0.0.0" and
                                                   set(other.programs) & set(socket.programs) for other in real)
            if not twin and not any(covers(one, socket.ip, socket.port) for one in foretold):
                wrong.append("%s listens on %s:%d (%s), which the plan does not foretell" % (socket.host, socket.ip, socket.port, "/".join(socket.programs)))
        elif not any(foretold_end(listeners, addresses, *end) for end in possible_ends(plan, listeners, addresses, socket)):
            wrong.append("%s has a connection %s:%d - %s:%d at whose ends the plan foretells no listener"
                         % (socket.host, socket.ip, socket.port, socket.peer_ip, socket.peer_port))
    for host, foretold in listeners.items():
        here = [socket for socket in real if socket.host == host]
        for one in foretold:
            # Ephemeral listeners may be closed again as soon as connections stand.
            if one["kind"] != "ephemeral" and not any(covers(one, socket.ip, socket.port) or (socket.ip in ANY and covers(dict(one, ip=""), "", socket.port))
                                                      for socket in here if socket.state == "LISTEN"):
                wrong.append("%s does not listen on %s:%d-%d (%s), which the plan foretells" % (host, one["ip"], one["first"], one["last"], one["purpose"]))
        used = {socket.ip for socket in here if socket.state == "ESTAB" and socket.peer_ip not in {s.ip for s in here}}
        if used and not used & addresses[host]:
            wrong.append("%s talks from %s; the plan foretells %s" % (host, ", ".join(sorted(used)), ", ".join(sorted(addresses[host]))))
    return sorted(set(wrong))
