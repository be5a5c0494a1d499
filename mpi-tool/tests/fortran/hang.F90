! Programs that hang, one by one, by the first argument: with the module `mpi`, or with `mpif.h`. Lines that a test asks for end in a comment.
program hang
#ifdef WITH_MPIF_H
    implicit none
    include 'mpif.h'
#else
    use mpi
    implicit none
#endif
    integer :: rank, size, error, buffer(1)
    integer :: status(MPI_STATUS_SIZE)
    character(len=40) :: what

    call get_command_argument(1, what)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, size, error)
    buffer = rank
    select case (what)
    case ('receive cycle')
        call receive_from(mod(rank + 1, size))
    case ('missing collective')
        if (rank /= 1) call MPI_Barrier(MPI_COMM_WORLD, error) ! barrier
        call MPI_Finalize(error)
        stop
    case ('wrong tag')
        if (rank == 0) call MPI_Recv(buffer, 1, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, status, error) ! tag 5
        if (rank == 1) call MPI_Ssend(buffer, 1, MPI_INTEGER, 0, 6, MPI_COMM_WORLD, error) ! tag 6
    end select
    call MPI_Finalize(error)

contains

    subroutine receive_from(source)
        integer, intent(in) :: source
        call MPI_Recv(buffer, 1, MPI_INTEGER, source, 5, MPI_COMM_WORLD, status, error) ! cycle
    end subroutine receive_from
end program hang
