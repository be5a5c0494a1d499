! What mpi-check says of Fortran: one program by its name. A line that ends with a class is the one that must be named;
! those whose names begin with right have none. On two ranks.
#include "dialect.h"
program checked
  USE_MPI
  implicit none
  INCLUDE_MPI
  TYPE(Comm) :: comm, grid
  TYPE(Datatype) :: column, pair
  TYPE(Request) :: requests(4)
  TYPE(Win) :: win
  TYPE(Group) :: whole, part
  TYPE(Op) :: op
  STATUS(state)
  character(len=32) :: name
  integer :: rank, size, other, ierror, i, dims(1), first(1), got, sent(64), received(64)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  double precision :: matrix(8, 8), border(8)
  logical :: flag, periods(1)
  integer, asynchronous :: buffer(64), window(64)
  call get_command_argument(1, name)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  other = size - 1 - rank
  sent = rank
  buffer = 0
  bytes = 256
  periods = .true.
  first = 0
  select case (name)
  case ("right_ring")
    call MPI_Irecv(received, 64, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(sent, 64, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  case ("right_column")
    call MPI_Type_vector(8, 1, 8, MPI_DOUBLE_PRECISION, column, ierror)
    call MPI_Type_commit(column, ierror)
    matrix = rank
    call MPI_Sendrecv(matrix(1, 1), 1, column, other, 2, border, 8, MPI_DOUBLE_PRECISION, other, 2, MPI_COMM_WORLD, state, ierror)
    call MPI_Type_free(column, ierror)
  case ("right_in_place")
    call MPI_Allreduce(MPI_IN_PLACE, sent, 64, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_Reduce(sent, received, 64, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
  case ("right_grid")
    dims = 0
    call MPI_Dims_create(size, 1, dims, ierror)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., grid, ierror)
    call MPI_Cart_shift(grid, 0, 1, i, other, ierror)
    call MPI_Sendrecv_replace(sent, 8, MPI_INTEGER, other, 3, i, 3, grid, state, ierror)
    call MPI_Comm_free(grid, ierror)
  case ("right_persistent")
    call MPI_Recv_init(received, 8, MPI_INTEGER, other, 4, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Send_init(sent, 8, MPI_INTEGER, other, 4, MPI_COMM_WORLD, requests(2), ierror)
    do i = 1, 3
      sent(1) = i
      call MPI_Startall(2, requests, ierror)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    end do
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)
  case ("right_split")
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm, ierror)
    call MPI_Bcast(sent, 64, MPI_INTEGER, 0, comm, ierror)
    call MPI_Comm_free(comm, ierror)
  case ("right_probe")
    call MPI_Isend(sent, 5, MPI_INTEGER, other, 5, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, state, ierror)
    call MPI_Get_count(state, MPI_INTEGER, got, ierror)
    call MPI_Recv(received, got, MPI_INTEGER, SOURCE_OF(state), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  case ("right_fence")
    call MPI_Win_create(window, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    bytes = rank
    call MPI_Put(sent, 1, MPI_INTEGER, 0, bytes, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call MPI_Win_free(win, ierror)
  case ("right_group")
    call MPI_Comm_group(MPI_COMM_WORLD, whole, ierror)
    call MPI_Group_incl(whole, 1, first, part, ierror)
    call MPI_Comm_create(MPI_COMM_WORLD, part, comm, ierror)
    if (rank == 0) call MPI_Comm_free(comm, ierror)
    call MPI_Group_free(part, ierror)
    call MPI_Group_free(whole, ierror)
  case ("right_test")
    call MPI_Ibcast(buffer, 64, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1), ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierror)
    end do
  case ("wrong_rank")
    call MPI_Send(sent, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, ierror) ! invalid-argument
  case ("wrong_count")
    call MPI_Bcast(sent, -1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror) ! invalid-argument
  case ("wrong_same_buffer")
    call MPI_Allreduce(sent, sent, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror) ! invalid-argument
  case ("wrong_uncommitted")
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierror)
    call MPI_Bcast(sent, 1, pair, 0, MPI_COMM_WORLD, ierror) ! invalid-argument
    call MPI_Type_free(pair, ierror)
  case ("wrong_leak")
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror) ! leak
  case ("wrong_roots")
    call MPI_Bcast(sent, 1, MPI_INTEGER, rank, MPI_COMM_WORLD, ierror) ! collective-mismatch
  case ("wrong_datatypes")
    if (rank == 0) call MPI_Send(sent, 4, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierror)
    if (rank == 1) call MPI_Recv(matrix, 4, MPI_REAL, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror) ! datatype-mismatch
  case ("wrong_length")
    if (rank == 0) call MPI_Send(sent, 4, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierror)
    if (rank == 1) call MPI_Recv(received, 2, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror) ! truncation
  case ("wrong_lost")
    if (rank == 0) call MPI_Send(sent, 4, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierror) ! lost-message
  case ("wrong_changed")
    call MPI_Isend(buffer, 8, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1), ierror) ! buffer-in-use
    buffer(3) = 5
    call MPI_Recv(received, 8, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  case ("wrong_never_waited")
    call MPI_Isend(buffer, 8, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1), ierror) ! request-lifecycle
    call MPI_Recv(received, 8, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  case ("wrong_epoch")
    call MPI_Win_create(window, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierror)
    bytes = 0
    call MPI_Put(sent, 1, MPI_INTEGER, other, bytes, 1, MPI_INTEGER, win, ierror) ! epoch-lifecycle
    call MPI_Win_fence(0, win, ierror)
    call MPI_Win_free(win, ierror)
  case ("wrong_puts")
    call MPI_Win_create(window, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    bytes = 7
    call MPI_Put(sent, 1, MPI_INTEGER, 0, bytes, 1, MPI_INTEGER, win, ierror) ! rma-conflict
    call MPI_Win_fence(0, win, ierror)
    call MPI_Win_free(win, ierror)
  end select
  call MPI_Finalize(ierror)
end program checked
