"""Which cells a matrix has: every fault with every stack that it is made for, and for the rest (how many hosts and ranks, who is the victim, how the job
is named) a covering array: each pair of values of two of these, and of each with each fault, as early as the seed allows. Pure."""
import random

import faults
from harness import Cell
from jobs import STACKS

HOSTS, RANKS, HANDLES = (2, 3), (1, 2), ("pid", "port", "name")
TRIED = 12  # draws of which the one that covers most is taken


def victim_indices(fault, hosts):
    names = ["node%d" % (index + 1) for index in range(hosts)]
    return [names.index(name) for name in faults.possible_victims(fault, names)]


def pairs_of(cell):
    values = [("stack", cell.stack), ("fault", cell.fault), ("hosts", cell.hosts), ("ranks", cell.ranks_per_host), ("handle", cell.handle),
              ("victim", cell.victim)]
    return {(one, two) for i, one in enumerate(values) for two in values[i + 1:]}


def draw(seed, stacks, times=1):
    """Each row `times` times for each of its stacks."""
    source = random.Random(seed)
    rows = [(fault, stack) for _ in range(times) for fault in faults.FAULTS for stack in fault.stacks if stack in stacks]
    covered, cells = set(), []
    for fault, stack in rows:
        best, gain = None, -1
        for _ in range(TRIED):
            most = STACKS[stack].most_ranks
            hosts = source.choice([n for n in HOSTS if fault.least_hosts <= n <= most] or [fault.least_hosts])
            cell = Cell(stack, fault.key, hosts, source.choice([n for n in RANKS if n * hosts <= most] or [1]), source.choice(victim_indices(fault, hosts)), source.choice(HANDLES))
            new = len(pairs_of(cell) - covered)
            if new > gain and cell not in cells:
                best, gain = cell, new
        if best:
            covered |= pairs_of(best)
            cells.append(best)
    return cells


def healthy(seed, stacks, times=10):
    """Jobs without a fault: steps, ranks that compute for half a minute, an idle server, a rank that loads its model."""
    source = random.Random(seed + 1)
    modes = ("steps", "compute", "steps", "idle", "load")
    sizes = {stack: [(hosts, ranks) for hosts in HOSTS for ranks in RANKS if hosts * ranks <= STACKS[stack].most_ranks] for stack in stacks}
    return [Cell(stack, "", *source.choice(sizes[stack]), 0, source.choice(("pid", "name")) + "#%d" % number, modes[number % len(modes)])
            for stack in stacks for number in range(times)]
