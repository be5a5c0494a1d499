/*
 * Programs that hang, one by one, by the first argument, by sessions alone: none of them calls MPI_Init. Lines that a test asks
 * for end in a comment. All run on three ranks.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5

static int rank, size;
static char buffer[64];
static MPI_Session session;
static MPI_Group all;
static MPI_Comm world;

static MPI_Comm made_of(MPI_Group group, const char *tag) {
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm); /* makes one */
    return comm;
}

static void begin(void) {
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    world = made_of(all, "all");
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
}

static void receive_from(int from, MPI_Comm comm) {
    MPI_Recv(buffer, 1, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE); /* receives */
}

/* One rank waits for a message instead of coming to the barrier. */
static void missing_collective(void) {
    MPI_Barrier(world);
    if (rank == 1) receive_from(0, world);
    MPI_Barrier(world); /* barrier */
}

/* The last and the first rank, in this order, by a way round. */
static MPI_Group two_of_three(void) {
    MPI_Group parts[7];
    int one = 1, two = 2, range[1][3] = {{0, 0, 1}};
    MPI_Group_incl(all, 1, &two, &parts[0]);
    MPI_Group_range_incl(all, 1, range, &parts[1]);
    MPI_Group_union(parts[0], parts[1], &parts[2]);
    MPI_Group_excl(all, 1, &one, &parts[3]);
    MPI_Group_intersection(parts[2], parts[3], &parts[4]);
    MPI_Group_incl(all, 1, &one, &parts[5]);
    MPI_Group_difference(parts[4], parts[5], &parts[6]);
    for (int i = 0; i < 6; i++) MPI_Group_free(&parts[i]);
    return parts[6];
}

/* Two ranks receive from each other, in a copy of a communicator of theirs. */
static void subset(void) {
    MPI_Group two = two_of_three();
    if (rank != 1) {
        MPI_Comm pair = made_of(two, "pair"), copy;
        MPI_Comm_dup(pair, &copy);
        MPI_Comm_set_name(copy, "pair");
        receive_from(rank == 2 ? 1 : 0, copy);
    }
    MPI_Group_free(&two);
    MPI_Barrier(world);
}

/* One rank does not come to make a communicator for the second time. */
static void no_member(void) {
    for (int round = 0; round < 2; round++) {
        if (rank == 1 && round == 1) receive_from(0, world);
        MPI_Comm comm = made_of(all, "again");
        MPI_Comm_free(&comm);
    }
}

/* The other group's leader does not come. */
static void between(void) {
    MPI_Group groups[2];
    MPI_Comm both;
    int first[2] = {0, 1}, last = 2;
    MPI_Group_incl(all, 2, first, &groups[0]);
    MPI_Group_incl(all, 1, &last, &groups[1]);
    if (rank == 2) receive_from(0, world);
    MPI_Intercomm_create_from_groups(groups[rank == 2], 0, groups[rank != 2], 0, "between", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &both); /* between two */
}

static void window(void) {
    MPI_Win window;
    MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, world, &window);
    MPI_Win_fence(0, window);
    if (rank == 1) receive_from(0, world);
    MPI_Win_fence(0, window); /* fence */
}

static void file(const char *path) {
    MPI_File file;
    MPI_File_open(world, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 1) receive_from(0, world);
    MPI_File_write_at_all(file, rank, buffer, 1, MPI_CHAR, MPI_STATUS_IGNORE); /* writes */
}

/* One rank does not open its window. */
static void epoch(void) {
    MPI_Win window;
    MPI_Group first, others;
    int zero = 0;
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_excl(all, 1, &zero, &others);
    MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, world, &window);
    if (rank == 0) {
        receive_from(1, world);
        MPI_Win_post(others, 0, window);
        MPI_Win_wait(window);
    } else {
        MPI_Win_start(first, 0, window); /* starts */
        MPI_Put(&rank, 1, MPI_INT, 0, 4 * rank, 1, MPI_INT, window); /* puts */
        MPI_Win_complete(window); /* completes */
    }
}

static void finalize(void) {
    MPI_Group_free(&all);
    MPI_Comm_free(&world);
    MPI_Session_finalize(&session); /* finalizes */
}

/* Right as far as anybody knows: one rank has no session any more, and sleeps. */
static void left(void) {
    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
    if (rank == 1) {
        MPI_Comm_free(&copy);
        finalize();
        sleep(600);
    }
    receive_from(1, world);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
#define IS(name) (strcmp(what, name) == 0)
    if (IS("has sessions")) return 0;
    begin();
    if (IS("receive cycle")) receive_from((rank + 1) % size, world);
    else if (IS("missing collective")) missing_collective();
    else if (IS("subset")) subset();
    else if (IS("no member")) no_member();
    else if (IS("between")) between();
    else if (IS("window")) window();
    else if (IS("file")) file(argument);
    else if (IS("epoch")) epoch();
    else if (IS("left")) left();
    finalize();
    return 0;
}

#else

int main(void) { return 1; }

#endif
