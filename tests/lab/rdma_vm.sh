#!/bin/sh
# Runs a command in a small virtual machine that has an RDMA device: rxe0, Debian's soft-RoCE, on an
# interface with the address 10.10.0.1. The machine's files are this one's, so that what was just
# built runs there, and what the command writes is gone with it. Prints what it prints, and has its
# exit status; 77 where there can be no such machine. As root.
#   tests/lab/rdma_vm.sh ibv_devinfo
#   tests/lab/rdma_vm.sh build/plumbline coll allreduce --ranks 2 --transport rdma -b 8 -e 1M
exec /usr/bin/python3 -B "$(dirname "$0")/rdma_lab.py" "$@"
