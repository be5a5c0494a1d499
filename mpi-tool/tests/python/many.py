"""Calls MPI_Barrier from 200 lines by turns, a hundred times: more than a place in C has paths of Python."""
from mpi4py import MPI

comm = MPI.COMM_SELF
space = {"comm": comm}
source = "".join(f"def f{i}(): comm.Barrier()\n" for i in range(200))
exec(compile(source, "<many>", "exec"), space)
functions = [space[f"f{i}"] for i in range(200)]
for _ in range(100):
    for function in functions:
        function()
