#include "dialect.h"
program ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, left, right, i, ierror, sent(1000), received(1000), mine(10), sums(10)
  double precision :: values(500)
  TYPE(Request) :: receive, send
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  sent = rank
  do i = 1, 5
    call MPI_Irecv(received, 1000, MPI_INTEGER, left, 1, MPI_COMM_WORLD, receive, ierror)
    call MPI_Isend(sent, 1000, MPI_INTEGER, right, 1, MPI_COMM_WORLD, send, ierror)
    call MPI_Wait(receive, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(send, MPI_STATUS_IGNORE, ierror)
    call MPI_Sendrecv(sent, 1000, MPI_INTEGER, right, 2, received, 1000, MPI_INTEGER, left, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  end do
  values = 0
  call MPI_Bcast(values, 500, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierror)
  mine = received(1:10)
  call MPI_Allreduce(mine, sums, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) print "('sum ', i0)", sums(10)
  call MPI_Finalize(ierror)
end program ring
