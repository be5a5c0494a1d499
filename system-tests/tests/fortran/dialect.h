! The same source as mpif.h, the module mpi and the module mpi_f08 have it.
! The preprocessor is the traditional one: it replaces a parameter in a string, too.
#define CALL(f) call tally("f"); call f
#ifdef F08
#define TYPE(handle) type(MPI_/**/handle)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(statuses, i) statuses(i)%MPI_TAG
#else
#define TYPE(handle) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(statuses, i) statuses(MPI_TAG, i)
#endif
#if defined(F08)
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#elif defined(MODULE)
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#endif
