/* MPI_IN_PLACE on communicators of which a tool knows nothing: of a session (`./unknown session`), and made past the tool. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void use(MPI_Comm comm)
{
    int rank, size, values[64] = {0};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, comm);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, comm);
    MPI_Scan(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, comm);
    MPI_Reduce(rank ? values : MPI_IN_PLACE, rank ? NULL : values, 1, MPI_INT, MPI_SUM, 0, comm);
    MPI_Gather(rank ? values : MPI_IN_PLACE, 1, MPI_INT, rank ? NULL : values, 1, MPI_INT, 0, comm);
    if (rank == 0)
        MPI_Scatter(values, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm);
    else
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, 0, comm);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "session")) {
#if MPI_VERSION >= 4
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm, part;
        int rank;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "unknown", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Group_free(&group);
        use(comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_split(comm, rank % 2, 0, &part);
        use(part);
        MPI_Comm_free(&part);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
#endif
        return 0;
    }
    MPI_Comm comm;
    MPI_Datatype type;
    int value[2] = {1, 2};
    static char buffer[4096];
    MPI_Init(&argc, &argv);
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm);
    PMPI_Comm_free(&comm);
    MPI_Type_contiguous(2, MPI_INT, &type);
    PMPI_Type_commit(&type);
    MPI_Bcast(value, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    PMPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Bsend(value, 2, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Recv(value, 2, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    int length;
    char *address;
    PMPI_Buffer_detach(&address, &length);
    MPI_Finalize();
    return 0;
}
