/* MPI_Init and a session in one program; the session starts later and ends after MPI_Finalize. */
#include "expect.h"

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);

#ifdef HAVE_MPI_Session_init
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int own_rank;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "org.example.both", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &own_rank);
    for (int round = 0; round < 10; round++) {
        MPI_Bcast(&round, 1, MPI_INT, 0, comm);
        MPI_Allreduce(&own_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    CHECK(sum == size * (size - 1) / 2);
    MPI_Finalize();

    /* The world model is over, the session is not. */
    for (int round = 0; round < 7; round++)
        MPI_Allreduce(&own_rank, &sum, 1, MPI_INT, MPI_MAX, comm);
    CHECK(sum == size - 1);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
#else
    MPI_Finalize();
#endif
    int flag;
    MPI_Finalized(&flag);
    CHECK(flag);
    if (rank == 0)
        printf("sum %d on both\n", sum);
    return 0;
}
