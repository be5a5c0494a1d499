"""Heat in a plate that is hot at its upper edge."""

import numpy
from mpi4py import MPI

SIDE, STEPS = 48, 100

world = MPI.COMM_WORLD
dims = MPI.Compute_dims(world.size, 2)
grid = world.Create_cart(dims, [False, False], True)
up, down = grid.Shift(0, 1)
left, right = grid.Shift(1, 1)

# With the neighbours' cells around its own.
rows, columns = SIDE // dims[0], SIDE // dims[1]
width = columns + 2
cells = numpy.zeros((rows + 2, width))
if up == MPI.PROC_NULL:
    cells[0] = 100

column = MPI.DOUBLE.Create_vector(rows, 1, width)
column.Commit()
flat = cells.reshape(-1)


def side(i):
    return [flat[width + i:], 1, column]


for step in range(1, STEPS + 1):
    above, below = cells[0, 1:-1], cells[-1, 1:-1]
    top, bottom = cells[1, 1:-1], cells[-2, 1:-1]
    MPI.Request.Waitall([
        grid.Irecv(above, up, 0),
        grid.Irecv(below, down, 1),
        grid.Irecv(side(0), left, 2),
        grid.Irecv(side(columns + 1), right, 3),
        grid.Isend(top, up, 1),
        grid.Isend(bottom, down, 0),
        grid.Isend(side(1), left, 3),
        grid.Isend(side(columns), right, 2),
    ])
    cells[1:-1, 1:-1] = 0.25 * (
        cells[1:-1, :-2] + cells[1:-1, 2:]
        + cells[:-2, 1:-1] + cells[2:, 1:-1])
    if step % 25 == 0:
        heat = grid.allreduce(cells[1:-1, 1:-1].sum())
        if grid.rank == 0:
            print(f"step {step}: heat {heat:.6f}")
column.Free()
grid.Free()
