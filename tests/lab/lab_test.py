#!/usr/bin/env python3
"""The commands of `plumbline lab`, as people and scripts type them."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import require_lab
import lab_net

PROGRAM = os.path.join(os.environ.get("TEST_BUILD", "build"), "plumbline")
NAME = "e2e-%d" % os.getpid()


def lab(*words, code=0, **more):
    done = subprocess.run([PROGRAM, "lab", *words], capture_output=True, text=True, timeout=60, **more)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


def topology(folder, **keys):
    path = pathlib.Path(folder, "topology-%s.json" % keys.get("name", NAME))
    path.write_text(json.dumps(dict({"plumbline_lab": 1, "name": NAME, "hosts": ["ada", "bode", "curie"], "data": "10.10.0.0/24"}, **keys)))
    return str(path)


def one_line(done, *words):
    """An error is one line that names what was wrong."""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("plumbline: "), done.stderr
    for word in words:
        assert word in lines[0], (word, lines[0])


def namespaces():
    return {line.split()[0] for line in lab_net.command("ip", "netns", "list").splitlines() if line.startswith("pl-")}


def test_up_prints_only_the_host_file(folder):
    done = lab("up", topology(folder), "--seed", "7")
    path = done.stdout.strip()
    assert done.stdout == path + "\n" and path == "/run/plumbline/%s/hosts.json" % NAME
    assert "seed 7" in done.stderr
    hosts = json.load(open(path))["hosts"]
    assert [h["name"] for h in hosts] == ["ada", "bode", "curie"]
    assert [h["data"] for h in hosts] == [["10.10.0.1/24"], ["10.10.0.2/24"], ["10.10.0.3/24"]]
    assert {h["netns"] for h in hosts} <= namespaces()
    one_line(lab("up", topology(folder), code=1), "is up already", "lab down " + NAME)
    return hosts


def test_exec_is_the_command(hosts):
    def run(*words, code=0, **more):
        return lab("exec", *words, "--lab", NAME, code=code, **more) if "--" not in words else lab("exec", "--lab", NAME, *words, code=code, **more)
    assert "10.10.0.2" in run("bode", "--", "ip", "-4", "address").stdout
    run("ada", "--", "sh", "-c", "exit 7", code=7)
    assert run("ada", "--", "cat", input="through\n").stdout == "through\n"
    assert run("ada", "--", "getent", "hosts", "curie").stdout.split() == ["10.10.0.3", "curie"]
    run("ada", "--", "ping", "-c1", "-W1", "bode")
    one_line(run("adda", "--", "true", code=1), "adda", "did you mean ada")
    one_line(run("ada", code=1), "a host and a command")
    # Options of the command without the "--": said how to write it, and never eaten as one of ours.
    done = lab("exec", "ada", "ping", "-c1", "bode", code=1)
    assert "-c1" in done.stderr and "plumbline lab exec HOST -- CMD" in done.stderr, done.stderr
    one_line(lab("exec", "--lab", NAME, "ada", "ip", "--json", "address", code=1), "takes no --json", "plumbline lab exec HOST -- CMD")
    assert lab("exec", "--lab", NAME, "ada", "--", "ip", "--json", "address").stdout.startswith("[{")


def test_a_lab_that_is_not_there_is_said(hosts):
    for action in ("list", "faults", "heal", "exec"):
        one_line(lab(action, "--lab", NAME + "x", code=1), "no lab '%sx' is up" % NAME, "did you mean " + NAME)
    assert [entry["name"] for entry in json.loads(lab("list", "--lab", NAME, "--json").stdout)] == [NAME]


def test_faults_come_and_go(hosts):
    before = {h["netns"]: lab_net.snapshot(h["netns"]) for h in hosts}
    listed = {row["fault"]: row for row in json.loads(lab("faults", "--lab", NAME, "--json").stdout)}
    assert len(listed) >= 45 and listed["cables_crossed"]["unavailable"]
    one_line(lab("inject", "link_dwon", "--lab", NAME, code=1), "did you mean link_down")
    one_line(lab("inject", "cables_crossed", "--lab", NAME, code=1), "cannot be made here", "mesh")
    one_line(lab("inject", "link_down", "--lab", NAME, "--host", "nobody", code=1), "no host 'nobody'")
    one_line(lab("inject", "link_down", "--lab", NAME, "--port", "70000", code=1), "--port '70000' is not a whole number")
    done = lab("inject", "drop_inbound_peer", "--lab", NAME, "--host", "bode", "--peer", "ada", "--seed", "5", "--json")
    injected = json.loads(done.stdout)
    assert (injected["expect"]["host"], injected["expect"]["peer"]) == ("bode", "ada"), injected
    assert injected["expect"]["causes"] == ["firewall.drop_inbound"]
    lab("inject", "route_blocked", "--lab", NAME, "--host", "curie")
    assert "drop_inbound_peer" in lab("list").stdout
    one_line(lab("inject", "route_blocked", "--lab", NAME, code=1), "is in already")
    lab("heal", "drop_inbound_peer", "--lab", NAME)
    one_line(lab("heal", "drop_inbound_peer", "--lab", NAME, code=1), "is not in")
    lab("heal", "--lab", NAME)
    for netns, text in before.items():
        assert lab_net.difference(text, lab_net.snapshot(netns)) == [], netns


def test_the_same_seed_breaks_the_same(hosts):
    said = []
    for _ in range(2):
        said.append(json.loads(lab("inject", "drop_outbound", "--lab", NAME, "--seed", "12", "--json").stdout))
        lab("heal", "--lab", NAME)
    assert said[0] == said[1], said


def test_down_removes_all(hosts):
    sleeper = subprocess.Popen([PROGRAM, "lab", "exec", "--lab", NAME, "ada", "--", "sleep", "600"])
    ada = next(h["netns"] for h in hosts if h["name"] == "ada")
    deadline = time.monotonic() + 30
    while not subprocess.run(["ip", "netns", "pids", ada], capture_output=True, text=True).stdout.strip():
        assert time.monotonic() < deadline, "sleep does not run in " + ada
        time.sleep(0.02)
    lab("inject", "port_in_use", "--lab", NAME)
    lab("down", NAME)
    assert sleeper.wait(timeout=10) != 0
    assert not {h["netns"] for h in hosts} & namespaces()
    assert not os.path.exists("/run/plumbline/" + NAME)
    assert not any(os.path.exists("/etc/netns/" + h["netns"]) for h in hosts)
    one_line(lab("down", NAME, code=1), "no lab '%s'" % NAME)


def test_the_same_seed_tells_the_same_tour(folder):
    """The tour of the README: lab, fault, diagnosis and remedy are those of the seed; measured times are not."""
    told = []
    for seed in ("7", "7", "8"):
        up = lab("up", topology(folder), "--seed", seed)
        inject = lab("inject", "drop_inbound", "--lab", NAME, "--host", "bode", "--seed", seed)
        done = subprocess.run([PROGRAM, "doctor", "--hosts", up.stdout.strip(), "--json"], capture_output=True, text=True, timeout=100)
        assert done.returncode == 2, done.stderr
        first = json.loads(done.stdout)["findings"][0]
        told.append([up.stderr, inject.stderr, first["cause"], first["host"], first["ports"], first["remedy"], first["commands"]])
        lab("down", NAME)
    assert told[0] == told[1], told
    assert told[0][2:5] == ["firewall.drop_inbound", "bode", told[2][4]], told
    assert told[0][0] != told[2][0] and told[0][1] != told[2][1], told


def at_work_in(session):
    """Processes of a session, zombies left out."""
    pids = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open("/proc/%s/stat" % entry).read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) == session:
            pids.append(int(entry))
    return pids


def test_down_after_kill(folder):
    """kill -9 of `up` at any time: `down` of the next process removes what was made."""
    for delay in (0.0, 0.02, 0.04, 0.07, 0.1, 0.15, 0.3):
        up = subprocess.Popen([PROGRAM, "lab", "up", topology(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True)
        time.sleep(delay)
        up.kill()
        up.wait()
        deadline = time.monotonic() + 30
        while at_work_in(up.pid) and time.monotonic() < deadline:  # the shell that was at work ends by itself
            time.sleep(0.02)
        made = []
        try:
            state = json.load(open("/run/plumbline/%s/state.json" % NAME))
            made = [h["netns"] for h in state["lab"]["hosts"]] + [state["lab"]["switch_netns"]]
        except OSError:
            pass
        if os.path.exists("/run/plumbline/" + NAME):
            lab("down", NAME)
        assert not set(made) & namespaces(), delay
        assert not os.path.exists("/run/plumbline/" + NAME)


def test_heal_after_a_remedy_by_hand(folder):
    path = lab("up", topology(folder), "--seed", "7").stdout.strip()
    host = json.load(open(path))["hosts"][2]
    lab("inject", "address_missing", "--lab", NAME, "--host", "curie", "--seed", "2")
    inside = ["ip", "netns", "exec", host["netns"], "ip"]
    cards = json.loads(lab_net.command(*inside, "-j", "link", "show", "type", "veth"))
    lab_net.command(*inside, "address", "replace", host["data"][0], "dev", cards[0]["ifname"])
    lab("heal", "--lab", NAME)
    # A host that is gone is not healed.
    lab("inject", "wrong_mask", "--lab", NAME, "--host", "curie", "--seed", "2")
    lab_net.command("ip", "netns", "del", host["netns"])
    one_line(lab("heal", "--lab", NAME, code=1), "wrong_mask", host["netns"])
    lab("down", NAME)


def test_ctrl_c_removes_what_was_made(folder):
    # Names of this process alone: tests beside this one make namespaces too.
    mark = "x%05d" % (os.getpid() % 100000)
    names = [mark + letter for letter in "abcdefghijkl"]
    for delay in (0.03, 0.08):
        up = subprocess.Popen([PROGRAM, "lab", "up", topology(folder, hosts=names)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        up.send_signal(signal.SIGINT)
        out, err = up.communicate(timeout=30)
        if up.returncode == 0:  # it was faster
            lab("down", NAME)
            continue
        assert up.returncode in (130, -signal.SIGINT), (up.returncode, err)
        left = [netns for netns in namespaces() if mark in netns]
        assert out == "" and not left, (left, err)
        assert not os.path.exists("/run/plumbline/" + NAME)


def test_without_root_it_says_so(folder):
    words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PROGRAM, "lab", "up", topology(folder)]
    os.chmod(folder, 0o755)
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    if "Permission denied" in done.stderr and "root" not in done.stderr:
        print("  skipped: nobody may not run this build")
        return
    assert done.returncode == 1 and done.stdout == "", done
    one_line(done, "root")


def main():
    require_lab()
    with tempfile.TemporaryDirectory() as folder:
        try:
            hosts = test_up_prints_only_the_host_file(folder)
            for test in (test_exec_is_the_command, test_a_lab_that_is_not_there_is_said, test_faults_come_and_go, test_the_same_seed_breaks_the_same, test_down_removes_all):
                test(hosts)
                print("ok: " + test.__name__)
            for test in (test_heal_after_a_remedy_by_hand, test_the_same_seed_tells_the_same_tour, test_down_after_kill, test_ctrl_c_removes_what_was_made, test_without_root_it_says_so):
                test(folder)
                print("ok: " + test.__name__)
        finally:
            subprocess.run([PROGRAM, "lab", "down", NAME], capture_output=True)


if __name__ == "__main__":
    main()
