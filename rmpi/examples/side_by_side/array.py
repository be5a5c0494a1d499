"""An array in a file, of which each process has a part."""

import sys

import numpy
from mpi4py import MPI

ROWS, COLUMNS = 12, 24

world = MPI.COMM_WORLD
rank, size = world.rank, world.size

# A block of the array for each process.
dims = MPI.Compute_dims(size, 2)
mine = [ROWS // dims[0], COLUMNS // dims[1]]
start = [rank // dims[1] * mine[0],
         rank % dims[1] * mine[1]]
rows = start[0] + numpy.arange(mine[0])
columns = start[1] + numpy.arange(mine[1])
block = rows[:, None] * COLUMNS + columns.astype(float)

file = MPI.File.Open(
    world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
part = MPI.DOUBLE.Create_subarray(
    [ROWS, COLUMNS], mine, start, MPI.ORDER_C)
part.Commit()
file.Set_view(0, MPI.DOUBLE, part)
file.Write_all(block)
part.Free()
file.Sync()
world.Barrier()
file.Sync()

# Now whole columns, which others have written.
width = COLUMNS // size
part = MPI.DOUBLE.Create_subarray(
    [ROWS, COLUMNS], [ROWS, width], [0, rank * width],
    MPI.ORDER_C)
part.Commit()
file.Set_view(0, MPI.DOUBLE, part)
block = numpy.empty((ROWS, width))
status = MPI.Status()
file.Read_all(block, status)
got = status.Get_count(MPI.DOUBLE)
part.Free()
file.Close()

sums = world.gather(block.reshape(-1)[:got].sum(), 0)
if rank == 0:
    for i, each in enumerate(sums):
        print(f"columns from {i * width}: sum {each:.1f}")
