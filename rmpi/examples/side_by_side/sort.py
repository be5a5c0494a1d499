"""Numbers that lie anywhere are sorted over all processes."""

import numpy
from mpi4py import MPI

COUNT, SAMPLES = 1000, 16

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
numbers = numpy.empty(COUNT, numpy.int32)
state = rank + 1
for i in range(COUNT):
    state = (state * 1103515245 + 12345) & 0x7FFFFFFF
    numbers[i] = state
numbers.sort()

at = numpy.arange(SAMPLES) * COUNT // SAMPLES
samples = numpy.empty(size * SAMPLES, numpy.int32)
world.Allgather(numbers[at], samples)
samples.sort()

# The numbers are sorted: what goes to a process lies
# together.
splitters = samples[SAMPLES::SAMPLES]
ends = numpy.searchsorted(numbers, splitters)
to_at = numpy.concatenate(([0], ends))
to = numpy.diff(numpy.concatenate((to_at, [COUNT])))
come = numpy.empty_like(to)
world.Alltoall(to, come)
from_at = numpy.cumsum(come) - come
mine = numpy.empty(come.sum(), numpy.int32)
world.Alltoallv(
    [numbers, to, to_at, MPI.INT32_T],
    [mine, come, from_at, MPI.INT32_T])
mine.sort()

part = len(mine), mine[0], mine[-1]
parts = world.gather(part, 0)
if rank == 0:
    for i, (count, first, last) in enumerate(parts):
        print(f"rank {i}: {count} numbers",
              f"from {first} to {last}")
