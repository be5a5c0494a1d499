#include "dialect.h"
! Neighbours, generalized requests, infos and data representations: callbacks, strings and arrays of other kinds.
module answers
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: queried = 0, freed = 0, cancelled = 0
contains
  subroutine query(extra, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    STATUS(status)
    integer :: ierror
    queried = queried + int(extra)
    call MPI_Status_set_elements(status, MPI_INTEGER, 5, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    freed = freed + int(extra)
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    cancelled = cancelled + int(extra)
    if (complete) cancelled = cancelled + 100
    ierror = MPI_SUCCESS
  end subroutine cancel
end module answers

program more
  USE_MPI
  use tallies
  use answers
  implicit none
  integer :: rank, ranks, left, right, ierror
  call tally("MPI_Init"); call MPI_Init(ierror)
  CALL(MPI_Comm_rank)(MPI_COMM_WORLD, rank, ierror)
  CALL(MPI_Comm_size)(MPI_COMM_WORLD, ranks, ierror)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call neighbours
  call requests
  call infos
  call write_tallies(rank)
  call tally("MPI_Finalize"); call write_tallies(rank)
  call MPI_Finalize(ierror)
contains
  subroutine neighbours
    TYPE(Comm) :: ring
    TYPE(Datatype) :: types(2)
    integer :: sent(2), received(2), counts(2), weights(2)
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    integer :: indegree, outdegree
    logical :: weighted
    CALL(MPI_Dist_graph_create_adjacent)(MPI_COMM_WORLD, 2, [left, right], MPI_UNWEIGHTED, 2, [left, right], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, ierror)
    CALL(MPI_Dist_graph_neighbors_count)(ring, indegree, outdegree, weighted, ierror)
    if (weighted) stop "weights where there are none"
    sent = [10 * rank, 10 * rank + 1]
    received = -1
    counts = 1
    places = [0, 4]
    types = MPI_INTEGER
    CALL(MPI_Neighbor_alltoallw)(sent, counts, places, types, received, counts, places, types, ring, ierror)
    if (ranks > 2 .and. any(received /= [10 * left + 1, 10 * right])) stop "alltoallw"
    print "('rank ', i0, ' neighbours ', 2(i0, 1x), 2(i0, 1x))", rank, indegree, outdegree, received
    CALL(MPI_Comm_free)(ring, ierror)
    weights = 3
    CALL(MPI_Dist_graph_create_adjacent)(MPI_COMM_WORLD, 2, [left, right], weights, 2, [left, right], weights, MPI_INFO_NULL, .false., ring, ierror)
    CALL(MPI_Dist_graph_neighbors_count)(ring, indegree, outdegree, weighted, ierror)
    if (.not. weighted) stop "no weights where there are some"
    CALL(MPI_Comm_free)(ring, ierror)
  end subroutine neighbours

  subroutine requests
    TYPE(Request) :: one
    STATUS(status)
    integer :: count
    logical :: flag
    CALL(MPI_Grequest_start)(query, release, cancel, int(7, MPI_ADDRESS_KIND), one, ierror)
    CALL(MPI_Cancel)(one, ierror)
    if (cancelled /= 7) stop "cancel: not called, or with another state"
    CALL(MPI_Request_get_status)(one, flag, status, ierror)
    if (flag) stop "complete before it was"
    CALL(MPI_Grequest_complete)(one, ierror)
    CALL(MPI_Wait)(one, status, ierror)
    if (queried < 7 .or. freed /= 7) stop "query or free"
    CALL(MPI_Get_count)(status, MPI_INTEGER, count, ierror)
    print "('rank ', i0, ' grequest ', i0, 1x, l1)", rank, count, one == MPI_REQUEST_NULL
  end subroutine requests

  subroutine infos
    TYPE(Info) :: info
    character(len=20) :: key, value
    integer :: n, length
    logical :: flag
    CALL(MPI_Info_create)(info, ierror)
    CALL(MPI_Info_set)(info, "  a key ", " some value  ", ierror)
    CALL(MPI_Info_get_nkeys)(info, n, ierror)
    CALL(MPI_Info_get_nthkey)(info, 0, key, ierror)
    CALL(MPI_Info_get_valuelen)(info, "a key", length, flag, ierror)
    if (.not. flag) stop "valuelen: not found"
    CALL(MPI_Info_get)(info, " a key", 20, value, flag, ierror)
    print "('rank ', i0, ' info ', i0, 1x, i0, ' <', a, '> <', a, '>')", rank, n, length, key, value
    value = "untouched"
    CALL(MPI_Info_get)(info, "another", 20, value, flag, ierror)
    if (flag .or. value /= "untouched") stop "get: found"
    CALL(MPI_Info_delete)(info, "a key", ierror)
    CALL(MPI_Info_free)(info, ierror)
    if (info /= MPI_INFO_NULL) stop "info is not null"
  end subroutine infos
end program more
