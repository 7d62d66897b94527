"""Starts the processes of one contender and sees to it that none stays: neither past its deadline, nor after a failure, nor when this program is
interrupted. Launchers of MPI give ranks sessions and process groups of their own, so what is ended is everything below this process, and orphans come
to it (PR_SET_CHILD_SUBREAPER). For a program that runs one contender at a time and has no other children. Linux."""
import contextlib
import ctypes
import os
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.005
GRACE_S = 2.0  # for launchers to clean up, and for the other ranks when one has failed
KILL_S = 5.0
WRONG_RESULT = 3  # exit status, as in benchmarks/peer.h


class Failed(Exception):
    """A contender gave no time; says why."""


def adopt_orphans():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below(pid=None):
    """Process ids of all descendants, zombies too."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        children.setdefault(int(fields[1]), []).append(int(name))
    found, ask = [], [pid or os.getpid()]
    while ask:
        mine = children.get(ask.pop(), [])
        found += mine
        ask += mine
    return found


def _reap(started):
    """Collects orphans that have ended; those that were started here are Popen's own."""
    own = {process.pid for process in started}
    for process in started:
        process.poll()
    for pid in below():
        if pid not in own:
            with contextlib.suppress(OSError):  # the child of a child
                os.waitpid(pid, os.WNOHANG)


def _signal(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _gone(started, seconds):
    end = time.monotonic() + seconds
    while True:
        _reap(started)
        if not below():
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(POLL_S)


def end_all(started):
    """Asks first: launchers know what to remove. Ctrl-C waits until it is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        if _gone(started, 0):
            return
        _signal(below(), signal.SIGTERM)
        if _gone(started, GRACE_S):
            return
        end = time.monotonic() + KILL_S
        while time.monotonic() < end:  # again, for what a process has started meanwhile
            _signal(below(), signal.SIGKILL)
            if _gone(started, 0.1):
                return
        raise RuntimeError("processes %s do not end" % below())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def first_words(text):
    """The first line that says something; launchers frame theirs."""
    for line in text.splitlines():
        if any(character.isalpha() for character in line):
            return line.strip()
    return ""


def _wait(started, timeout_s, finished):
    """Until all have ended, or one has failed and the others had their grace. False = too late."""
    end, grace = time.monotonic() + timeout_s, False
    while None in (statuses := [process.poll() for process in started]):
        if not grace and (finished() or any(statuses)):
            grace = True
            end = min(end, time.monotonic() + GRACE_S)
        if time.monotonic() >= end:
            return finished()
        time.sleep(POLL_S)
    return True


def run_together(commands, environment, timeout_s, folder, finished=lambda: False):
    """Runs them side by side until all have ended. finished() tells that their work is done: from then on they are given a moment to end (MPICH
    hangs in MPI_Finalize now and then), and it is no failure if they do not. Raises Failed."""
    started, said, in_time = [], [], False
    try:
        for number, command in enumerate(commands):
            said.append(os.path.join(folder, "said.%d" % number))
            with open(said[-1], "wb") as file:
                # In a session of its own: a terminal's Ctrl-C is for this program, which ends them all.
                started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file,
                                                env=dict(os.environ, **environment), start_new_session=True))
        in_time = _wait(started, timeout_s, finished)
    except OSError as error:
        raise Failed("cannot be started: %s" % error) from None
    finally:
        statuses = [process.poll() for process in started]
        end_all(started)
    # A wrong result explains more than the complaints of ranks whose peer has gone.
    for status, path in sorted(zip(statuses, said), key=lambda pair: pair[0] != WRONG_RESULT):
        if status:
            with open(path, errors="replace") as file:
                words = first_words(file.read()) or "said nothing"
            raise Failed("%s (%s)" % (words, "signal %d" % -status if status < 0 else "exit status %d" % status))
    if not in_time:
        raise Failed("not done after %g s" % timeout_s)
