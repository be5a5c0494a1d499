"""The same with mpi4py."""

from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
left, right = (rank + size - 1) % size, (rank + 1) % size
sent, received = array("i", [rank] * 1000), array("i", [0] * 1000)
for _ in range(5):
    receive = world.Irecv(received, left, 1)
    send = world.Isend(sent, right, 1)
    receive.Wait()
    send.Wait()
    world.Sendrecv(sent, right, 2, received, left, 2)
world.Bcast(array("d", [0.0] * 500), 0)
sums = array("i", [0] * 10)
world.Allreduce(received[:10], sums, MPI.SUM)
world.Barrier()
if rank == 0:
    print("sum", sums[9])
