#include "dialect.h"
! Calls of every kind of argument, whose answers and numbers are known; on any number of ranks.

! What MPI calls back.
module callbacks
  USE_MPI
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_MPI
  integer :: copied = 0, deleted = 0, handled = 0
contains
#ifdef F08
  subroutine add_up(a, b, length, datatype)
    type(c_ptr), value :: a, b
    integer :: length
    TYPE(Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(a, from, [length])
    call c_f_pointer(b, to, [length])
    if (datatype /= MPI_INTEGER) stop "add_up: another datatype"
    to = to + from
  end subroutine add_up
#else
  subroutine add_up(from, to, length, datatype)
    integer :: length, from(length), to(length), datatype
    if (datatype /= MPI_INTEGER) stop "add_up: another datatype"
    to = to + from
  end subroutine add_up
#endif

  subroutine copy(comm, keyval, extra, given, made, flag, ierror)
    TYPE(Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, given, made
    logical :: flag
    if (comm /= MPI_COMM_SELF) stop "copy: another communicator"
    copied = copied + 1
    made = given + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine delete(comm, keyval, value, extra, ierror)
    TYPE(Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine delete

#ifdef F08
  subroutine handler(comm, code)
    TYPE(Comm) :: comm
    integer :: code
#else
  subroutine handler(comm, code)
    integer :: comm, code
#endif
    if (comm /= MPI_COMM_SELF) stop "handler: another communicator"
    handled = handled + 1
  end subroutine handler
end module callbacks

program calls
  USE_MPI
  use tallies
  use callbacks
  implicit none
  integer :: rank, ranks, next, before, ierror, position
  character(len=8) :: who

  logical :: flag
  CALL(MPI_Initialized)(flag, ierror)
  if (flag) stop "initialized before MPI_Init"
  CALL(MPI_Init)(ierror)
  CALL(MPI_Initialized)(flag, ierror)
  if (.not. flag) stop "not initialized after MPI_Init"
  CALL(MPI_Comm_rank)(MPI_COMM_WORLD, rank, ierror)
  CALL(MPI_Comm_size)(MPI_COMM_WORLD, ranks, ierror)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  write (who, "(a,i0,a)") "rank ", rank, ":"

  call strings
  call messages
  call completions
  call collectives
  call types
  call groups
  call topologies
  call attributes
  call errors
  call windows
  call files
  CALL(MPI_Pcontrol)(1)
  CALL(MPI_Barrier)(MPI_COMM_WORLD, ierror)
  CALL(MPI_Finalize)(ierror)
  CALL(MPI_Finalized)(flag, ierror)
  if (.not. flag) stop "not finalized after MPI_Finalize"
  print *, who, " ends with", ierror
  call write_tallies(rank)

contains

  subroutine strings
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_OBJECT_NAME) :: object
    character(len=10) :: short
    character(len=40) :: key, value
    character(len=MPI_MAX_ERROR_STRING) :: text
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: length, keys, class
    logical :: known
    TYPE(Info) :: info
    CALL(MPI_Get_processor_name)(name, length, ierror)
    if (len_trim(name) /= length .or. length < 1) stop "the processor's name"
    CALL(MPI_Comm_set_name)(MPI_COMM_SELF, "my own self   ", ierror)
    object = repeat("x", len(object))
    CALL(MPI_Comm_get_name)(MPI_COMM_SELF, object, length, ierror)
    print *, who, " [", trim(object), "]", length
    CALL(MPI_Info_create)(info, ierror)
    CALL(MPI_Info_set)(info, "colour  ", "red and green", ierror)
    CALL(MPI_Info_set)(info, "shape", "round", ierror)
    value = "untouched"
    CALL(MPI_Info_get)(info, "size", len(value), value, known, ierror)
    if (known .or. value /= "untouched") stop "a value of a key that is not there"
    CALL(MPI_Info_get)(info, "colour", len(value), value, known, ierror)
    print *, who, known, " [", value, "]"
    CALL(MPI_Info_get)(info, "shape", len(short), short, known, ierror)
    print *, who, known, " [", short, "]"
    CALL(MPI_Info_get_valuelen)(info, "colour ", length, known, ierror)
    CALL(MPI_Info_get_nkeys)(info, keys, ierror)
    CALL(MPI_Info_get_nthkey)(info, 0, key, ierror)
    print *, who, length, known, keys, " [", key, "]"
    CALL(MPI_Info_delete)(info, "shape", ierror)
    CALL(MPI_Info_free)(info, ierror)
    if (info /= MPI_INFO_NULL) stop "the freed info is no null handle"
    CALL(MPI_Error_class)(MPI_ERR_RANK, class, ierror)
    text = repeat("x", len(text))
    CALL(MPI_Error_string)(MPI_ERR_RANK, text, length, ierror)
    print *, who, class == MPI_ERR_RANK, len_trim(text) == length, " [", trim(text), "]"
    CALL(MPI_Get_library_version)(version, length, ierror)
    if (len_trim(version) > length) stop "the version of the library"
  end subroutine strings

  subroutine messages
    integer :: sent(3), received(3), count
    integer, allocatable :: attached(:)
    STATUS(status)
    TYPE(Request) :: request
    logical :: there
    sent = [rank, 20, 30]
    CALL(MPI_Isend)(sent, 3, MPI_INTEGER, next, 7, MPI_COMM_WORLD, request, ierror)
    CALL(MPI_Recv)(received, 3, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
    CALL(MPI_Wait)(request, MPI_STATUS_IGNORE, ierror)
    if (request /= MPI_REQUEST_NULL) stop "the finished request is no null handle"
    CALL(MPI_Get_count)(status, MPI_INTEGER, count, ierror)
    if (SOURCE_OF(status) /= before .or. count /= 3) stop "the status of a receive"
    print *, who, received
    CALL(MPI_Sendrecv)(sent, 3, MPI_INTEGER, next, 8, received, 3, MPI_INTEGER, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    CALL(MPI_Sendrecv_replace)(received, 3, MPI_INTEGER, next, 9, before, 9, MPI_COMM_WORLD, status, ierror)
    print *, who, received, SOURCE_OF(status) == before
    ! To nobody, and from nobody.
    CALL(MPI_Send)(sent, 3, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, ierror)
    CALL(MPI_Recv)(received, 3, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierror)
    if (SOURCE_OF(status) /= MPI_PROC_NULL) stop "a message from nobody"
    allocate (attached(1000))
    CALL(MPI_Buffer_attach)(attached, 4000, ierror)
    CALL(MPI_Bsend)(sent, 3, MPI_INTEGER, next, 10, MPI_COMM_WORLD, ierror)
    CALL(MPI_Probe)(before, 10, MPI_COMM_WORLD, status, ierror)
    CALL(MPI_Iprobe)(before, 11, MPI_COMM_WORLD, there, MPI_STATUS_IGNORE, ierror)
    if (there) stop "a message that was not sent"
    CALL(MPI_Recv)(received, 3, MPI_INTEGER, before, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call detach
    print *, who, received
  end subroutine messages

  subroutine detach
    integer :: size
#ifdef F08
    type(c_ptr) :: address
    CALL(MPI_Buffer_detach)(address, size)
    if (.not. c_associated(address)) stop "no address of the buffer"
#else
    integer :: address(2)
    CALL(MPI_Buffer_detach)(address, size, ierror)
#endif
    if (size /= 4000) stop "the buffer's size"
  end subroutine detach

  subroutine completions
    integer, parameter :: n = 4
    integer :: sent(n), received(n), i, index, seen, number, indices(2 * n)
    TYPE(Request) :: requests(2 * n), persistent(2)
    STATUSES(statuses, 2 * n)
    STATUS(status)
    logical :: done
    sent = [(100 * rank + i, i = 1, n)]

    ! One after the other: each index once, and then none.
    call start(n, sent, received, requests)
    seen = 0
    do i = 1, 2 * n
      CALL(MPI_Waitany)(2 * n, requests, index, status, ierror)
#ifndef F08
      ! In mpi_f08 of MPICH 4.0.2 the first index is 0.
      if (requests(index) /= MPI_REQUEST_NULL) stop "MPI_Waitany: another request"
      if (index <= n) then
        if (SOURCE_OF(status) /= before) stop "MPI_Waitany: another status"
      end if
#endif
      seen = seen + 2 ** index
    end do
    CALL(MPI_Waitany)(2 * n, requests, index, MPI_STATUS_IGNORE, ierror)
    ! It is MPI_UNDEFINED, to which MPICH 4.0.2 adds one in mpif.h.
    print *, who, " any", seen, index < 0, received

    call start(n, sent, received, requests)
    seen = 0
    do
      CALL(MPI_Waitsome)(2 * n, requests, number, indices, statuses, ierror)
      if (number == MPI_UNDEFINED) exit
      do i = 1, number
#ifndef F08
        if (indices(i) <= n) then
          if (TAG_OF(statuses, i) /= indices(i)) stop "MPI_Waitsome: another status"
        end if
#endif
        seen = seen + 2 ** indices(i)
      end do
    end do
    print *, who, " some", seen, received

    call start(n, sent, received, requests)
    CALL(MPI_Waitall)(2 * n, requests, statuses, ierror)
    print *, who, " all", [(TAG_OF(statuses, i), i = 1, n)], all([(requests(i) == MPI_REQUEST_NULL, i = 1, 2 * n)])
    call start(n, sent, received, requests)
    CALL(MPI_Waitall)(2 * n, requests, MPI_STATUSES_IGNORE, ierror)
    call start(n, sent, received, requests)
    done = .false.
    do while (.not. done)
      CALL(MPI_Testall)(2 * n, requests, done, MPI_STATUSES_IGNORE, ierror)
    end do
    call start(n, sent, received, requests)
    seen = 0
    do
      CALL(MPI_Testany)(2 * n, requests, index, done, MPI_STATUS_IGNORE, ierror)
      if (.not. done) cycle
      if (index < 0) exit
      seen = seen + 2 ** index
    end do
    print *, who, " test any", seen, received
    call start(n, sent, received, requests)
    seen = 0
    do
      CALL(MPI_Testsome)(2 * n, requests, number, indices, MPI_STATUSES_IGNORE, ierror)
      if (number == MPI_UNDEFINED) exit
      do i = 1, number
        seen = seen + 2 ** indices(i)
      end do
    end do
    print *, who, " test some", seen

    CALL(MPI_Recv_init)(received, n, MPI_INTEGER, before, 5, MPI_COMM_WORLD, persistent(1), ierror)
    CALL(MPI_Send_init)(sent, n, MPI_INTEGER, next, 5, MPI_COMM_WORLD, persistent(2), ierror)
    do i = 1, 3
      sent = i
      CALL(MPI_Startall)(2, persistent, ierror)
      CALL(MPI_Waitall)(2, persistent, MPI_STATUSES_IGNORE, ierror)
      if (any(received /= i)) stop "a persistent receive"
    end do
    CALL(MPI_Start)(persistent(1), ierror)
    CALL(MPI_Cancel)(persistent(1), ierror)
    CALL(MPI_Wait)(persistent(1), status, ierror)
    CALL(MPI_Test_cancelled)(status, done, ierror)
    CALL(MPI_Request_free)(persistent(1), ierror)
    CALL(MPI_Request_free)(persistent(2), ierror)
    print *, who, " cancelled", done, persistent(1) == MPI_REQUEST_NULL

    CALL(MPI_Isend)(sent, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, requests(1), ierror)
    CALL(MPI_Recv)(received, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    done = .false.
    do while (.not. done)
      CALL(MPI_Test)(requests(1), done, status, ierror)
    end do
  end subroutine completions

  subroutine start(n, sent, received, requests)
    integer :: n, sent(n), received(n), i
    TYPE(Request) :: requests(2 * n)
    received = 0
    do i = 1, n
      CALL(MPI_Irecv)(received(i), 1, MPI_INTEGER, before, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    do i = 1, n
      CALL(MPI_Isend)(sent(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, requests(n + i), ierror)
    end do
  end subroutine start

  subroutine collectives
    integer :: values(2), all(2 * 64), i, sum(2), counts(64), places(64)
    TYPE(Op) :: op
    TYPE(Datatype) :: ints(64), others(64)
    logical :: commutes
    values = [rank + 1, 5]
    CALL(MPI_Allreduce)(MPI_IN_PLACE, values, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    print *, who, " reduced", values
    if (rank == 0) then
      CALL(MPI_Reduce)(MPI_IN_PLACE, values, 2, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
    else
      CALL(MPI_Reduce)(values, sum, 2, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
    end if
    values = 7 + rank
    CALL(MPI_Bcast)(values, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    all = 0
    CALL(MPI_Allgather)(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    print *, who, values, all(1:ranks)
    all(rank + 1) = rank * 3
    CALL(MPI_Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    print *, who, all(1:ranks)
    counts = 1
    places = [(i - 1, i = 1, 64)]
    CALL(MPI_Gatherv)(rank, 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    ! Each rank's own number to all, with types for each.
    ints = MPI_INTEGER
    others = MPI_INTEGER
    places = [(4 * (i - 1), i = 1, 64)]
    all(1:ranks) = rank + 50
    all(65:64 + ranks) = 0
    CALL(MPI_Alltoallw)(all, counts, places, ints, all(65), counts, places, others, MPI_COMM_WORLD, ierror)
    print *, who, " all to all", all(65:64 + ranks)
    CALL(MPI_Op_create)(add_up, .true., op, ierror)
    CALL(MPI_Op_commutative)(op, commutes, ierror)
    values = [rank + 1, 4]
    CALL(MPI_Allreduce)(MPI_IN_PLACE, values, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    CALL(MPI_Op_free)(op, ierror)
    print *, who, " added up", values, commutes, op == MPI_OP_NULL
  end subroutine collectives

  subroutine types
    integer :: apart(10), i, size, got(4), integers(20), n_integers, n_addresses, n_types, combiner
    integer(kind=MPI_ADDRESS_KIND) :: addresses(2), lower, extent
    integer(kind=MPI_ADDRESS_KIND) :: found(20)
    TYPE(Datatype) :: vector, absolute, struct, parts(2), contents(20)
    character(len=100) :: packed
    apart = [(i, i = 1, 10)]
    CALL(MPI_Type_vector)(3, 1, 2, MPI_INTEGER, vector, ierror)
    CALL(MPI_Type_commit)(vector, ierror)
    CALL(MPI_Type_size)(vector, size, ierror)
    CALL(MPI_Type_get_extent)(vector, lower, extent, ierror)
    print *, who, " vector", size, lower, extent
    got = 0
    CALL(MPI_Sendrecv)(apart, 1, vector, rank, 1, got, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    print *, who, got
    CALL(MPI_Get_address)(apart(2), addresses(1), ierror)
    CALL(MPI_Get_address)(apart(9), addresses(2), ierror)
    print *, who, addresses(2) - addresses(1)
    CALL(MPI_Type_create_hindexed)(2, [1, 2], addresses, MPI_INTEGER, absolute, ierror)
    CALL(MPI_Type_commit)(absolute, ierror)
    got = 0
    CALL(MPI_Sendrecv)(MPI_BOTTOM, 1, absolute, rank, 2, got, 4, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    print *, who, " absolute", got
    parts(1) = MPI_INTEGER
    parts(2) = vector
    addresses = [0, 16]
    CALL(MPI_Type_create_struct)(2, [2, 1], addresses, parts, struct, ierror)
    CALL(MPI_Type_get_envelope)(struct, n_integers, n_addresses, n_types, combiner, ierror)
    CALL(MPI_Type_get_contents)(struct, n_integers, n_addresses, n_types, integers, found, contents, ierror)
    print *, who, " struct", n_integers, n_addresses, n_types, combiner == MPI_COMBINER_STRUCT, integers(1:3), found(1:2)
    if (contents(1) /= MPI_INTEGER) stop "the first part of the struct"
    CALL(MPI_Type_free)(contents(2), ierror)
    position = 0
    CALL(MPI_Pack)(apart, 2, MPI_INTEGER, packed, 100, position, MPI_COMM_WORLD, ierror)
    CALL(MPI_Pack)(apart, 1, vector, packed, 100, position, MPI_COMM_WORLD, ierror)
    print *, who, " packed", position
    CALL(MPI_Type_free)(struct, ierror)
    CALL(MPI_Type_free)(absolute, ierror)
    CALL(MPI_Type_free)(vector, ierror)
    print *, who, vector == MPI_DATATYPE_NULL
  end subroutine types

  subroutine groups
    TYPE(Comm) :: half, twin, self
    TYPE(Group) :: group, ours
    integer :: result, of_world(1), size
    logical :: inter
    double precision :: time
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierror)
    CALL(MPI_Comm_dup)(half, twin, ierror)
    CALL(MPI_Comm_compare)(half, twin, result, ierror)
    CALL(MPI_Comm_group)(twin, ours, ierror)
    CALL(MPI_Comm_group)(MPI_COMM_WORLD, group, ierror)
    CALL(MPI_Group_translate_ranks)(ours, 1, [0], group, of_world, ierror)
    CALL(MPI_Comm_test_inter)(twin, inter, ierror)
    CALL(MPI_Comm_size)(twin, size, ierror)
    print *, who, result == MPI_CONGRUENT, of_world, inter, size
    CALL(MPI_Group_free)(ours, ierror)
    CALL(MPI_Group_free)(group, ierror)
    CALL(MPI_Comm_free)(twin, ierror)
    CALL(MPI_Comm_free)(half, ierror)
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, MPI_UNDEFINED, 0, self, ierror)
    print *, who, half == MPI_COMM_NULL, self == MPI_COMM_NULL
    call tally("MPI_Wtime")
    time = MPI_Wtime()
    call tally("MPI_Wtick")
    if (MPI_Wtick() <= 0 .or. time < 0) stop "the clock"
  end subroutine groups

  subroutine topologies
    TYPE(Comm) :: cart, line, graph
    integer :: sizes(2), coordinates(2), from, to, degree_in, degree_out, neighbor(1), other(1), weights(1)
    logical :: periods(2), weighted
    sizes = [ranks, 1]
    CALL(MPI_Cart_create)(MPI_COMM_WORLD, 2, sizes, [.true., .false.], .false., cart, ierror)
    sizes = 0
    CALL(MPI_Cart_get)(cart, 2, sizes, periods, coordinates, ierror)
    CALL(MPI_Cart_shift)(cart, 0, 1, from, to, ierror)
    print *, who, " cart", sizes, periods, coordinates, from == before, to == next
    CALL(MPI_Cart_shift)(cart, 1, 1, from, to, ierror)
    if (from /= MPI_PROC_NULL .or. to /= MPI_PROC_NULL) stop "neighbours in a line of one"
    CALL(MPI_Cart_sub)(cart, [.true., .false.], line, ierror)
    CALL(MPI_Comm_size)(line, from, ierror)
    print *, who, from
    CALL(MPI_Comm_free)(line, ierror)
    CALL(MPI_Comm_free)(cart, ierror)
    CALL(MPI_Dist_graph_create_adjacent)(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, 1, [next], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierror)
    CALL(MPI_Dist_graph_neighbors_count)(graph, degree_in, degree_out, weighted, ierror)
    CALL(MPI_Dist_graph_neighbors)(graph, 1, neighbor, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, ierror)
    print *, who, " graph", degree_in, degree_out, weighted, neighbor == before, other == next
    CALL(MPI_Comm_free)(graph, ierror)
    CALL(MPI_Dist_graph_create_adjacent)(MPI_COMM_WORLD, 1, [before], [rank + 2], 1, [next], [next + 2], MPI_INFO_NULL, .false., graph, ierror)
    CALL(MPI_Dist_graph_neighbors)(graph, 1, neighbor, weights, 1, other, sizes, ierror)
    print *, who, weights, sizes(1) == next + 2
    CALL(MPI_Comm_free)(graph, ierror)
  end subroutine topologies

  subroutine attributes
    integer :: keyval
    integer(kind=MPI_ADDRESS_KIND) :: extra, value
    TYPE(Comm) :: twin
    logical :: there
    extra = 1000
    CALL(MPI_Comm_create_keyval)(copy, delete, keyval, extra, ierror)
    value = 42
    CALL(MPI_Comm_set_attr)(MPI_COMM_SELF, keyval, value, ierror)
    CALL(MPI_Comm_dup)(MPI_COMM_SELF, twin, ierror)
    value = 0
    CALL(MPI_Comm_get_attr)(twin, keyval, value, there, ierror)
    print *, who, " attribute", value, there, copied
    CALL(MPI_Comm_free)(twin, ierror)
    CALL(MPI_Comm_delete_attr)(MPI_COMM_SELF, keyval, ierror)
    CALL(MPI_Comm_get_attr)(MPI_COMM_SELF, keyval, value, there, ierror)
    CALL(MPI_Comm_free_keyval)(keyval, ierror)
    print *, who, there, deleted, keyval == MPI_KEYVAL_INVALID
    CALL(MPI_Comm_get_attr)(MPI_COMM_WORLD, MPI_TAG_UB, value, there, ierror)
    print *, who, there, value >= 32767
    CALL(MPI_Comm_create_keyval)(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra, ierror)
    CALL(MPI_Comm_set_attr)(MPI_COMM_SELF, keyval, value, ierror)
    CALL(MPI_Comm_dup)(MPI_COMM_SELF, twin, ierror)
    CALL(MPI_Comm_get_attr)(twin, keyval, value, there, ierror)
    print *, who, there
    CALL(MPI_Comm_free)(twin, ierror)
    CALL(MPI_Comm_delete_attr)(MPI_COMM_SELF, keyval, ierror)
    CALL(MPI_Comm_free_keyval)(keyval, ierror)
  end subroutine attributes

  subroutine errors
    TYPE(Errhandler) :: own
    integer :: code, class
    CALL(MPI_Comm_set_errhandler)(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
    CALL(MPI_Send)(rank, 1, MPI_INTEGER, 99, 1, MPI_COMM_SELF, code)
    CALL(MPI_Error_class)(code, class, ierror)
    print *, who, " error", class == MPI_ERR_RANK
    CALL(MPI_Comm_create_errhandler)(handler, own, ierror)
    CALL(MPI_Comm_set_errhandler)(MPI_COMM_SELF, own, ierror)
    CALL(MPI_Errhandler_free)(own, ierror)
    CALL(MPI_Send)(rank, 1, MPI_INTEGER, 99, 1, MPI_COMM_SELF, code)
    CALL(MPI_Comm_get_errhandler)(MPI_COMM_SELF, own, ierror)
    CALL(MPI_Errhandler_free)(own, ierror)
    CALL(MPI_Comm_set_errhandler)(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, ierror)
    print *, who, handled, own == MPI_ERRHANDLER_NULL
#ifdef F08
    ! The error code may be left out.
    CALL(MPI_Barrier)(MPI_COMM_SELF)
    CALL(MPI_Send)(rank, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_SELF)
    CALL(MPI_Comm_set_name)(MPI_COMM_SELF, "me")
#endif
  end subroutine errors

  subroutine windows
    integer :: memory(4), i
    integer(kind=MPI_ADDRESS_KIND) :: bytes, place
    TYPE(Win) :: window
    memory = 0
    bytes = 16
    CALL(MPI_Win_create)(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror)
    CALL(MPI_Win_set_name)(window, "panes", ierror)
    CALL(MPI_Win_fence)(0, window, ierror)
    do i = 0, 1
      place = i
      CALL(MPI_Put)([rank + 10 * i], 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, window, ierror)
    end do
    CALL(MPI_Win_fence)(0, window, ierror)
    print *, who, " window", memory
    CALL(MPI_Win_free)(window, ierror)
    if (window /= MPI_WIN_NULL) stop "the freed window is no null handle"
  end subroutine windows

  subroutine files
    TYPE(File) :: file
    STATUS(status)
    TYPE(Request) :: request
    integer(kind=MPI_OFFSET_KIND) :: place, size
    integer :: there(2), count
    character(len=80) :: name
    logical :: atomic
    write (name, "(a,i0)") "written.", rank
    CALL(MPI_File_open)(MPI_COMM_SELF, name, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, ierror)
    place = 8
    CALL(MPI_File_write_at)(file, place, [rank, 77], 2, MPI_INTEGER, status, ierror)
    CALL(MPI_Get_count)(status, MPI_INTEGER, count, ierror)
    CALL(MPI_File_get_size)(file, size, ierror)
    CALL(MPI_File_seek)(file, place, MPI_SEEK_SET, ierror)
    CALL(MPI_File_read)(file, there, 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    CALL(MPI_File_get_atomicity)(file, atomic, ierror)
    print *, who, " file", count, size, there, atomic
    there = 0
    CALL(MPI_File_iread_at)(file, place, there, 2, MPI_INTEGER, request, ierror)
    CALL(MPI_Wait)(request, MPI_STATUS_IGNORE, ierror)
    CALL(MPI_File_close)(file, ierror)
    CALL(MPI_File_delete)(name, MPI_INFO_NULL, ierror)
    print *, who, there, file == MPI_FILE_NULL, ierror
  end subroutine files
end program calls
