"""Ports for the servers of a test in the machine's own network, by the rules of tests/support/ports.h: below the ephemeral ones, which may
be the source port of anybody's connection (also of one that is over, for a minute), and in a block that a bound UDP socket keeps from all
other tests as long as this process lives."""
import socket

FIRST, OF_A_BLOCK, BLOCKS = 10000, 16, 1000
claims = []


def free_port():
    """A port, as text, on which nobody listens and which no other test is given."""
    for block in range(BLOCKS):
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        port = FIRST + block * OF_A_BLOCK
        try:
            claim.bind(("127.0.0.1", port))
            with socket.socket() as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(("", port + 1))
        except OSError:
            claim.close()
            continue
        claims.append(claim)
        return str(port + 1)
    raise RuntimeError("no block of %d ports from %d on is free" % (OF_A_BLOCK, FIRST))
