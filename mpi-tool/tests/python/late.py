"""Rank 0 sleeps, and the others wait for it in MPI_Barrier, below a function of C that calls Python back."""
import ctypes
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD


class Solver:
    def exchange(self):
        if comm.rank == 0:
            time.sleep(1000)  # sleeps
        comm.Barrier()  # waits


def compare(one, other):
    Solver().exchange()  # compares
    return 0


def main():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    numbers = (ctypes.c_int * 2)(1, 2)
    ctypes.CDLL(None).qsort(numbers, 2, 4, kind(compare))  # sorts


main()  # begins
