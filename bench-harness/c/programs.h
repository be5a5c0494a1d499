/* The functions that the programs call: FUNCTION(type, name, parameters, arguments), and FUNCTION0 for those
 * without parameters. */
#ifndef FUNCTION0
#define FUNCTION0(type, name) FUNCTION(type, name, (void), ())
#endif
FUNCTION(int, Init, (int *argc, char ***argv), (argc, argv))
FUNCTION0(int, Finalize)
FUNCTION(int, Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
FUNCTION(int, Comm_size, (MPI_Comm comm, int *size), (comm, size))
FUNCTION0(double, Wtime)
FUNCTION(int, Barrier, (MPI_Comm comm), (comm))
FUNCTION(int, Bcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),
         (buf, count, type, root, comm))
FUNCTION(int, Allreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm),
         (in, out, count, type, op, comm))
FUNCTION(int, Send, (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),
         (buf, count, type, dest, tag, comm))
FUNCTION(int, Recv, (void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Status *status),
         (buf, count, type, source, tag, comm, status))
FUNCTION(int, Isend, (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                      MPI_Request *request),
         (buf, count, type, dest, tag, comm, request))
FUNCTION(int, Irecv, (void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                      MPI_Request *request),
         (buf, count, type, source, tag, comm, request))
FUNCTION(int, Wait, (MPI_Request *request, MPI_Status *status), (request, status))
FUNCTION(int, Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]),
         (count, requests, statuses))
FUNCTION(int, Sendrecv, (const void *out, int outcount, MPI_Datatype outtype, int dest, int outtag,
                         void *in, int incount, MPI_Datatype intype, int source, int intag,
                         MPI_Comm comm, MPI_Status *status),
         (out, outcount, outtype, dest, outtag, in, incount, intype, source, intag, comm, status))
FUNCTION(int, Get_count, (const MPI_Status *status, MPI_Datatype type, int *count),
         (status, type, count))
