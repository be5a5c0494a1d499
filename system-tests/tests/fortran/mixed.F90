#include "dialect.h"
! A program in two languages.
program mixed
  USE_MPI
  use tallies
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_MPI
  interface
    integer(c_int) function part_in_c(comm) bind(c)
      import
      integer(c_int), value :: comm
    end function part_in_c
  end interface
  integer :: rank, sum, ierror
  CALL(MPI_Init)(ierror)
  CALL(MPI_Comm_rank)(MPI_COMM_WORLD, rank, ierror)
  call tally("MPI_Allreduce")
  call tally("MPI_Barrier")
#ifdef F08
  sum = part_in_c(MPI_COMM_WORLD%MPI_VAL)
#else
  sum = part_in_c(MPI_COMM_WORLD)
#endif
  CALL(MPI_Allreduce)(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  print *, rank, sum
  CALL(MPI_Finalize)(ierror)
  call write_tallies(rank)
end program mixed
