"""What a lab really looks like and does, seen without plumbline: the settings of its namespaces as text, and what happens when its hosts talk."""
import json
import os
import re
import subprocess
import sys

# Runs in a namespace. `serve ADDRESSES PORTS`: answers "ours" on every port that is free, takes a transfer of any size and says how much
# came. `try PEERS PORTS` (PEERS = {name: [from, to]}): connects to every port, pings, sends 60 kB; prints what happened as JSON.
PROBER = r'''
import json, select, socket, subprocess, sys, threading, time
def family(ip): return socket.AF_INET6 if ":" in ip else socket.AF_INET
def serve(addresses, ports):
    sockets = []
    for ip in addresses:
        for port in ports:
            s = socket.socket(family(ip)); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try: s.bind((ip, port)); s.listen(64); sockets.append(s)
            except OSError: s.close()
    print("ready", flush=True)
    def answer(c):
        try:
            c.settimeout(6); c.sendall(b"ours\n"); got = 0
            while True:
                data = c.recv(65536)
                if not data: break
                got += len(data)
                if data.endswith(b"\n"): c.sendall(b"%d\n" % got)
        except OSError: pass
        finally: c.close()
    while True:
        for s in select.select(sockets, [], [])[0]:
            c, _ = s.accept(); threading.Thread(target=answer, args=(c,), daemon=True).start()
def connect(source, ip, port, size):
    s = socket.socket(family(ip)); s.settimeout(0.8)
    try:
        s.bind((source, 0))
    except OSError: pass  # the address may be what is missing
    try:
        s.connect((ip, port)); line = b""
        while not line.endswith(b"\n"):
            data = s.recv(100)
            if not data: return "closed"
            line += data
        if line != b"ours\n": return "stranger"
        if size == 0: return "ok"
        s.settimeout(2.5); s.sendall(b"x" * (size - 1) + b"\n"); line = b""
        while not line.endswith(b"\n"): line += s.recv(100) or b"gone\n"
        return "ok" if line == b"%d\n" % size else "partial"
    except socket.timeout: return "timeout"
    except ConnectionRefusedError: return "refused"
    except ConnectionResetError: return "reset"
    except OSError as e: return "unreachable"
    finally: s.close()
def ping(source, ip):
    done = subprocess.run(["ping", "-c1", "-W1", "-n", "-I", source, ip], capture_output=True)
    return "ok" if done.returncode == 0 else "lost"
def attempt(peers, ports):
    out = {}; threads = []
    def run(key, f, *a):
        out[key] = f(*a)
    for name, (source, ip) in peers.items():
        for port in ports: threads.append(threading.Thread(target=run, args=("%s:%d" % (name, port), connect, source, ip, port, 0)))
        threads.append(threading.Thread(target=run, args=(name + " ping", ping, source, ip)))
        threads.append(threading.Thread(target=run, args=(name + " bulk", connect, source, ip, ports[0], 60000)))
    for t in threads: t.start()
    for t in threads: t.join()
    print(json.dumps(out))
{"serve": serve, "try": attempt}[sys.argv[1]](json.loads(sys.argv[2]), json.loads(sys.argv[3]))
'''
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def command(*words, check=True, timeout=30):
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    if check and done.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def ip_of(address):
    return address.split("/")[0]


def address_pairs(hosts):
    """host -> peer -> (own address, address of the peer), the two that share a subnet or else the first ones."""
    import ipaddress
    pairs = {}
    for host in hosts:
        pairs[host["name"]] = {}
        for peer in hosts:
            if peer is host:
                continue
            chosen = (host["data"][0], peer["data"][0])
            for a in host["data"]:
                for b in peer["data"]:
                    if ipaddress.ip_interface(a).network == ipaddress.ip_interface(b).network:
                        chosen = (a, b)
                        break
            pairs[host["name"]][peer["name"]] = (ip_of(chosen[0]), ip_of(chosen[1]))
    return pairs


class Prober:
    """Listeners on all hosts of a healthy host file, and attempts between all of them."""

    def __init__(self, hosts, ports):
        self.hosts, self.ports = hosts, ports
        self.pairs = address_pairs(hosts)

    def observe(self):
        servers = []
        try:
            for host in self.hosts:
                words = ["ip", "netns", "exec", host["netns"], PYTHON, "-c", PROBER, "serve",
                         json.dumps([ip_of(a) for a in host["data"]]), json.dumps(self.ports)]
                servers.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            for server in servers:
                assert server.stdout.readline() == "ready\n"
            clients = {}
            for host in self.hosts:
                words = ["ip", "netns", "exec", host["netns"], PYTHON, "-c", PROBER, "try", json.dumps(self.pairs[host["name"]]), json.dumps(self.ports)]
                clients[host["name"]] = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            seen = {}
            for name, client in clients.items():
                for key, value in json.loads(client.communicate(timeout=60)[0]).items():
                    seen["%s>%s" % (name, key)] = value
            return seen
        finally:
            for server in servers:
                server.kill()
                server.wait()


def _links(netns):
    lines = []
    for link in json.loads(command("ip", "-n", netns, "-d", "-j", "address", "show") or "[]"):
        flags = sorted(set(link["flags"]) & {"UP", "NOARP"})
        kind = link.get("linkinfo", {})
        lines.append("link %s %s mtu %d master %s kind %s isolated %s" % (
            link["ifname"], flags, link["mtu"], link.get("master"), kind.get("info_kind"), kind.get("info_slave_data", {}).get("isolated")))
        for a in link.get("addr_info", []):
            if a.get("local", "").startswith("fe80") and "ff:fe" in a["local"]:  # made from the MAC by the kernel
                continue
            lines.append("address %s/%s on %s %s" % (a.get("local"), a.get("prefixlen"), link["ifname"], a.get("scope")))
    return lines


def _routes(netns):
    lines = []
    for family in ("-4", "-6"):
        for route in json.loads(command("ip", "-n", netns, family, "-j", "route", "show", "table", "all", check=False) or "[]"):
            if route["dst"].startswith(("fe80", "ff00")) or route.get("table") == "local":
                continue
            route.pop("flags", None)
            route.pop("pref", None)
            lines.append("route " + json.dumps(route, sort_keys=True))
        for rule in json.loads(command("ip", "-n", netns, family, "-j", "rule", check=False) or "[]"):
            lines.append("rule " + json.dumps(rule, sort_keys=True))
    return lines


def _filters(netns):
    inside = ("ip", "netns", "exec", netns)
    lines = command(*inside, "nft", "-s", "list", "ruleset", check=False).splitlines()
    saved = command(*inside, "iptables-legacy-save", check=False)
    # Tables that were used once stay registered, empty and accepting.
    lines += [line for line in saved.splitlines() if line.startswith("-A") or (line.startswith(":") and " ACCEPT " not in line)]
    for link in json.loads(command("ip", "-n", netns, "-j", "link", "show") or "[]"):
        name = link["ifname"]
        qdisc = command("tc", "-n", netns, "qdisc", "show", "dev", name)
        lines += ["%s %s" % (name, re.sub(r"qdisc (\w+) [0-9a-f]+: |refcnt \d+ ", r"\1 ", line)) for line in qdisc.splitlines()]
        for side in ("ingress", "egress"):
            lines += command("tc", "-n", netns, "filter", "show", "dev", name, side, check=False).splitlines()
    return lines


def _sysctls(netns):
    text = command("ip", "netns", "exec", netns, "sysctl", "-a", "-r", r"^net\.(ipv4\.(conf|icmp_echo|ip_forward)|ipv6\.(conf|icmp)|bridge)", check=False)
    ignored = ("stable_secret", "mc_forwarding", "temp_", "addr_gen_mode")
    return [line for line in text.splitlines() if not any(word in line for word in ignored)]


def snapshot(netns):
    """Everything that was set in a namespace, without counters and ages, sorted."""
    neighbours = ["neighbour " + line for line in command("ip", "-n", netns, "neighbour", "show", "nud", "permanent").splitlines()]
    lines = _links(netns) + _routes(netns) + _filters(netns) + _sysctls(netns) + neighbours
    names = "/etc/netns/%s/hosts" % netns
    if os.path.exists(names):
        lines += ["names " + line for line in open(names).read().splitlines()]
    return sorted(lines)


def difference(before, after):
    return ["- " + line for line in before if line not in after] + ["+ " + line for line in after if line not in before]
