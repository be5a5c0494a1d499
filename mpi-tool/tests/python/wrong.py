"""Faults that mpi-check names, on two ranks, each at the line of this script. The ranks are in different functions where it can be."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
peer = 1 - rank


def roots(root):
    world.Bcast(bytearray(4), root=root)  # root


def truncated():
    short = bytearray(2)
    request = world.Irecv([short, MPI.BYTE], source=peer, tag=1)  # truncated
    world.Send([bytearray(8), MPI.BYTE], dest=peer, tag=1)  # sent
    try:
        request.Wait()
    except MPI.Exception:
        pass


class Left:
    def begin(self):
        self.kept = MPI.INT.Create_contiguous(2)  # leak


def stand():
    if rank == 0:
        waits_for_message()
    else:
        waits_for_all()


def waits_for_message():
    world.Recv(bytearray(1), source=1, tag=7)  # receives


def waits_for_all():
    world.Barrier()  # stands


if sys.argv[1] == "root":
    roots(0) if rank == 0 else roots(1)
elif sys.argv[1] == "truncated":
    truncated()
elif sys.argv[1] == "leak":
    Left().begin()
else:
    stand()
