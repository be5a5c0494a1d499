/*
 * The same as in `standing.c`, by sessions alone: none of these programs calls MPI_Init.
 */
#include "standing.h"

#if HAS_4

static MPI_Session session;
static MPI_Group all;
static MPI_Comm world;

static MPI_Comm made_of(MPI_Group group, const char *tag) {
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    return comm;
}

static void begin(void) {
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    world = made_of(all, "all");
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
}

static void end(void) {
    MPI_Group_free(&all);
    MPI_Comm_free(&world);
    MPI_Session_finalize(&session);
}

/* Sessions beside this one, again and again. */
static void again(void) {
    for (int round = 0; round < 20; round++) {
        MPI_Session other;
        MPI_Group group, same;
        MPI_Comm comm;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
        MPI_Group_from_session_pset(other, "mpi://WORLD", &group);
        MPI_Group_from_session_pset(other, "mpi://WORLD", &same);
        MPI_Group_free(&same);
        if (round == 18) stand_at(1);
        comm = made_of(group, "again");
        MPI_Group_free(&group);
        if (round == 19) stand_at(2);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&other);
    }
}

/* All ranks have come this far, as files say: there is no MPI between two sessions. */
static void meet(const char *file, int round) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%d.%d", file, round, rank);
    fclose(fopen(name, "w"));
    for (int other = 0; other < size; other++) {
        snprintf(name, sizeof name, "%s.%d.%d", file, round, other);
        while (access(name, F_OK) != 0) usleep(1000);
    }
}

/* One rank has no session for a while. MPICH 5.0.2 mixes the messages of two sessions up, unless all have ended the first one
 * before one of them begins the second. */
static void anew(const char *file) {
    for (int round = 0; round < 3; round++) {
        end();
        meet(file, round);
        if (round == 2) stand_at(1);
        begin();
        MPI_Barrier(world);
    }
}

/* Groups are gone as soon as their communicators are there. */
static void early(void) {
    MPI_Group half;
    MPI_Comm comm, copy, part;
    int range[1][3] = {{rank / 2 * 2, rank / 2 * 2 + 1, 1}};
    MPI_Group_range_incl(all, 1, range, &half);
    comm = made_of(half, rank < 2 ? "low" : "high");
    MPI_Group_free(&half);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&comm);
    MPI_Comm_split(world, rank % 2, -rank, &part);
    stand_at(3);
    MPI_Barrier(part);
    if (rank == 3) MPI_Send(buffer, 1, MPI_CHAR, 0, 5, copy);
    if (rank == 2) MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, copy, MPI_STATUS_IGNORE);
    if (rank < 2) MPI_Barrier(copy);
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
}

/* Two of four make a communicator, one of them late, and the others wait for these. */
static void subset(void) {
    MPI_Group some;
    MPI_Comm comm;
    int who[] = {3, 0};
    MPI_Group_incl(all, 2, who, &some);
    stand_at(3);
    if (rank == 0 || rank == 3) {
        comm = made_of(some, "some");
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Barrier(world);
}

/* Each rank sends to itself, and the others wait for one of them. */
static void self(void) {
    MPI_Group own;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Group_from_session_pset(session, "mpi://SELF", &own);
    comm = made_of(own, "own");
    MPI_Irecv(buffer, 1, MPI_CHAR, 0, 5, comm, &request);
    stand_at(2);
    MPI_Send(buffer + 1, 1, MPI_CHAR, 0, 5, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Group_free(&own);
    MPI_Barrier(world);
}

static void between(void) {
    MPI_Group halves[2];
    MPI_Comm both;
    for (int half = 0; half < 2; half++) {
        int range[1][3] = {{half * 2, half * 2 + 1, 1}};
        MPI_Group_range_incl(all, 1, range, &halves[half]);
    }
    stand_at(2);
    MPI_Intercomm_create_from_groups(halves[rank / 2], 0, halves[rank < 2], 0, "both", MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, &both);
    MPI_Group_free(&halves[0]);
    MPI_Group_free(&halves[1]);
    MPI_Barrier(both);
    MPI_Comm_free(&both);
}

static void epochs(void) {
    MPI_Group other;
    MPI_Win window;
    int mine = 0, partner = rank ^ 1, one = 1;
    MPI_Win_create(&mine, sizeof mine, sizeof mine, MPI_INFO_NULL, world, &window);
    MPI_Group_incl(all, 1, &partner, &other);
    stand_at(1);
    if (rank % 2) {
        MPI_Win_post(other, 0, window);
        MPI_Win_wait(window);
    } else {
        MPI_Win_start(other, 0, window);
        MPI_Put(&one, 1, MPI_INT, partner, 0, 1, MPI_INT, window);
        MPI_Win_complete(window);
    }
    MPI_Group_free(&other);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
#define IS(name) (strcmp(what, name) == 0)
    begin();
    if (IS("sessions again")) again();
    else if (IS("sessions anew")) anew(argv[2]);
    else if (IS("session's groups")) early();
    else if (IS("session's subset")) subset();
    else if (IS("session's self")) self();
    else if (IS("session's two groups")) between();
    else if (IS("session's epochs")) epochs();
    else if (IS("session's end")) stand_at(2);
    else return 2;
    end();
    return 0;
}

#else

int main(void) { return 2; }

#endif
