#include "dialect.h"
! Exchanges whose datatypes MPI looks at until they are complete, also where the program has freed them: it is the
! program's arrays that must stay, and what a tool makes of them. Any number of ranks.
program pending
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, parameter :: most = 8
  integer :: rank, ranks, round, i, ierror, sent(2 * most), received(2 * most)
  integer :: counts(most), places(most)
  TYPE(Datatype) :: pair, from(most), to(most)
  TYPE(Request) :: one(1), none(most)
  logical :: done
  STATUS(status)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  counts = 1
  places = [(8 * (i - 1), i = 1, most)]
  none = MPI_REQUEST_NULL
  do round = 1, 50
    sent = [(1000 * round + 10 * rank + (i - 1) / 2, i = 1, 2 * most)]
    received = 0
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierror)
    call MPI_Type_commit(pair, ierror)
    from = pair
    to = pair
    call MPI_Ialltoallw(sent, counts, places, from, received, counts, places, to, MPI_COMM_WORLD, one(1), ierror)
    call MPI_Type_free(pair, ierror)
    ! Other arrays of that length.
    do i = 1, 4
      call MPI_Testall(ranks, none, done, MPI_STATUSES_IGNORE, ierror)
      if (.not. done) stop "no requests are not complete"
    end do
    if (mod(round, 3) == 0) then
      call MPI_Waitall(1, one, MPI_STATUSES_IGNORE, ierror)
    else if (mod(round, 3) == 1) then
      done = .false.
      do while (.not. done)
        call MPI_Test(one(1), done, status, ierror)
      end do
    else
      call MPI_Wait(one(1), status, ierror)
    end if
    do i = 1, ranks
      if (any(received(2 * i - 1:2 * i) /= 1000 * round + 10 * (i - 1) + rank)) stop "something else came"
    end do
  end do
  print "('rank ', i0, ' of ', i0)", rank, ranks
  call MPI_Finalize(ierror)
end program pending
