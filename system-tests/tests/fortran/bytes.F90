#include "dialect.h"
! Ten messages of 1000 integers around a ring.
program bytes
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, i, ierror, sent(1000), received(1000)
  TYPE(Request) :: requests(2)
  STATUS(status)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  sent = rank
  do i = 1, 5
    call MPI_Irecv(received, 1000, MPI_INTEGER, mod(rank + ranks - 1, ranks), 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(sent, 1000, MPI_INTEGER, mod(rank + 1, ranks), 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call MPI_Sendrecv(sent, 1000, MPI_INTEGER, mod(rank + 1, ranks), 2, received, 1000, MPI_INTEGER, mod(rank + ranks - 1, ranks), 2, MPI_COMM_WORLD, status, ierror)
  end do
  call MPI_Finalize(ierror)
end program bytes
