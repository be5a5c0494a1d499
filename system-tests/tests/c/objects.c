/* All functions on groups, communicators and info objects, on the environment, on generalized
 * requests and on handles as integers, and those of the processes that need no second program. */
#include "expect.h"

static int rank, size;

/* Errors return until fatal() again: for what an MPI need not be able to do. */
static void tolerant(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static void fatal(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void infos(int argc, char **argv)
{
    MPI_Info info, copy;
    int flag, number, length;
    char key[MPI_MAX_INFO_KEY + 1], value[64];
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "nowhere");
    MPI_Info_set(info, "wdir", "/tmp");
    MPI_Info_get_nkeys(info, &number);
    CHECK(number == 2);
    MPI_Info_get_nthkey(info, 1, key);
    CHECK(strcmp(key, "host") == 0 || strcmp(key, "wdir") == 0);
    MPI_Info_get_valuelen(info, "host", &length, &flag);
    CHECK(flag && length == 7);
    MPI_Info_get(info, "host", sizeof value - 1, value, &flag);
    CHECK(flag && strcmp(value, "nowhere") == 0);
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "host");
    MPI_Info_get(info, "host", sizeof value - 1, value, &flag);
    CHECK(!flag);
    MPI_Info_get_nkeys(copy, &number);
    CHECK(number == 2);
#ifdef HAVE_MPI_Info_get_string
    length = 3;
    MPI_Info_get_string(copy, "wdir", &length, value, &flag);
    CHECK(flag && length == 5 && strcmp(value, "/t") == 0);
#endif
    MPI_Info_free(&copy);
    MPI_Info_free(&info);
#ifdef HAVE_MPI_Info_create_env
    MPI_Info_create_env(argc, argv, &info);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
#else
    (void)argc, (void)argv;
#endif
}

static void groups(void)
{
    MPI_Group world, first, rest, other;
    int result, number, own, numbers[2] = {0, 1}, translated[2], range[1][3] = {{0, size - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(world, &number);
    MPI_Group_rank(world, &own);
    CHECK(number == size && own == rank);
    MPI_Group_incl(world, 1, numbers, &first);
    MPI_Group_excl(world, 1, numbers, &rest);
    MPI_Group_size(rest, &number);
    CHECK(number == size - 1);
    MPI_Group_rank(first, &own);
    CHECK(own == (rank == 0 ? 0 : MPI_UNDEFINED));
    MPI_Group_translate_ranks(world, 2, numbers, rest, translated);
    CHECK(translated[0] == MPI_UNDEFINED && translated[1] == 0);

    MPI_Group_union(rest, first, &other);
    MPI_Group_compare(world, other, &result);
    CHECK(result == MPI_SIMILAR);
    MPI_Group_free(&other);
    MPI_Group_intersection(rest, first, &other);
    CHECK(other == MPI_GROUP_EMPTY);
    MPI_Group_difference(world, first, &other);
    MPI_Group_compare(rest, other, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&other);
    MPI_Group_range_incl(world, 1, range, &other);
    MPI_Group_compare(world, other, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&other);
    MPI_Group_range_excl(world, 1, range, &other);
    MPI_Group_size(other, &number);
    CHECK(number == 0);
    MPI_Group_free(&first);
    MPI_Group_free(&rest);
    MPI_Group_free(&world);
    CHECK(world == MPI_GROUP_NULL);
}

/* The communicator has so many ranks, can be used, and is freed. */
static void use(MPI_Comm *comm, int members)
{
    int number, one = 1, sum;
    MPI_Comm_size(*comm, &number);
    CHECK(number == members);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *comm);
    CHECK(sum == members);
    MPI_Comm_free(comm);
    CHECK(*comm == MPI_COMM_NULL);
}

static void communicators(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Info info;
    MPI_Group world, half;
    int result, length, flag;
    char name[MPI_MAX_OBJECT_NAME];
    const int evens = (size + 1) / 2, like_me = rank % 2 ? size - evens : evens;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_compare(MPI_COMM_WORLD, comm, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
    MPI_Comm_set_name(comm, "twin");
    MPI_Comm_get_name(comm, name, &length);
    CHECK(strcmp(name, "twin") == 0 && length == 4);
    MPI_Comm_test_inter(comm, &flag);
    CHECK(!flag);
    use(&comm, size);

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Comm_set_info(comm, info);
    use(&comm, size);
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    CHECK(info != MPI_INFO_NULL);
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(&comm, size);
#ifdef HAVE_MPI_Comm_idup_with_info
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(&comm, size);
#endif
    MPI_Info_free(&info);

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    MPI_Comm_compare(MPI_COMM_WORLD, comm, &result);
    CHECK(result == MPI_UNEQUAL);
    use(&comm, like_me);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 5, 0, &comm);
    CHECK((comm == MPI_COMM_NULL) == (rank == 0));
    if (comm != MPI_COMM_NULL)
        use(&comm, size - 1);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &length);
    use(&comm, length);

    int range[1][3] = {{rank % 2, size - 1, 2}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &half);
    MPI_Comm_create(MPI_COMM_WORLD, half, &comm);
    use(&comm, like_me);
    MPI_Comm_create_group(MPI_COMM_WORLD, half, 9, &comm);
    use(&comm, like_me);
    MPI_Group_free(&half);
    MPI_Group_free(&world);
}

/* Even ranks on the one side, odd ones on the other. */
static void intercommunicators(void)
{
    MPI_Comm side, both, merged;
    MPI_Group group;
    int flag, number;
    const int odd = rank % 2, others = odd ? (size + 1) / 2 : size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - odd, 6, &both);
    MPI_Comm_test_inter(both, &flag);
    CHECK(flag);
    MPI_Comm_remote_size(both, &number);
    CHECK(number == others);
    MPI_Comm_remote_group(both, &group);
    MPI_Group_size(group, &number);
    CHECK(number == others);
    MPI_Group_free(&group);
    MPI_Intercomm_merge(both, odd, &merged);
    MPI_Comm_rank(merged, &number);
    CHECK(number == rank / 2 + (odd ? (size + 1) / 2 : 0));
    use(&merged, size);
    MPI_Comm_free(&both);
    MPI_Comm_free(&side);
}

/* Communicators without a parent. */
static void from_groups(void)
{
#ifdef HAVE_MPI_Session_init
    MPI_Session session;
    MPI_Group world, mine, theirs;
    MPI_Comm comm;
    int number;
    const int odd = rank % 2;
    int own_range[1][3] = {{odd, size - 1, 2}}, other_range[1][3] = {{1 - odd, size - 1, 2}};
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Comm_create_from_group(world, "org.example.all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    use(&comm, size);
    MPI_Group_range_incl(world, 1, own_range, &mine);
    MPI_Group_range_incl(world, 1, other_range, &theirs);
    MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "org.example.sides", MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_remote_size(comm, &number);
    CHECK(number == (odd ? (size + 1) / 2 : size / 2));
    MPI_Comm_free(&comm);
    MPI_Group_free(&mine);
    MPI_Group_free(&theirs);
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
#endif
}

static void environment(void)
{
    int version, subversion, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    double *memory;
    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Get_library_version(library, &length);
    CHECK(length > 0);
    MPI_Get_processor_name(name, &length);
    CHECK(length > 0 && length == (int)strlen(name));
    const double start = MPI_Wtime();
    CHECK(MPI_Wtime() >= start && MPI_Wtick() > 0);
    MPI_Alloc_mem(100 * sizeof *memory, MPI_INFO_NULL, &memory);
    for (int i = 0; i < 100; i++)
        memory[i] = i;
    MPI_Free_mem(memory);

    /* The only function with arguments of any number and type. */
    MPI_Pcontrol(1);
    MPI_Pcontrol(2, 5);
    MPI_Pcontrol(3, 2.5, "text", 7L);
    MPI_Pcontrol(4, "a", 1, 2.0, "b", 3, 4.0, "c", 5, 6.0, "d", 7, 8.0);
    MPI_Pcontrol(0);

#ifdef HAVE_MPI_Abi_get_version
    MPI_Info info;
    MPI_Abi_get_version(&version, &subversion);
    CHECK(version >= 1 || version == -1);
    MPI_Abi_get_info(&info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    /* An MPI with Fortran of its own refuses what it is told about Fortran. */
    tolerant();
    int yes = 1, no = 0, known;
    MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no);
    MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &known);
    CHECK(!known || yes != no);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_integer_size", "4");
    MPI_Abi_set_fortran_info(info);
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_info(&info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    fatal();
#endif
#ifdef HAVE_MPI_Get_hw_resource_info
    MPI_Info resources;
    MPI_Get_hw_resource_info(&resources);
    MPI_Info_free(&resources);
#endif
}

/* Every handle goes to an integer and comes back. */
static void conversions(void)
{
    MPI_Group group;
    MPI_Info info;
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    MPI_Message message;
    MPI_Status status, back;
    char name[64];
    int memory = 0, number = rank, got;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Info_create(&info);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    snprintf(name, sizeof name, "objects-test-%d.data", rank);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_Isend(&number, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &request);
    MPI_Mprobe(rank, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);

#define THERE_AND_BACK(kind, handle) CHECK(MPI_##kind##_f2c(MPI_##kind##_c2f(handle)) == (handle))
#ifndef MPI_H_ABI /* Its header has no Fortran. */
    THERE_AND_BACK(Comm, MPI_COMM_WORLD);
    THERE_AND_BACK(Type, MPI_DOUBLE);
    THERE_AND_BACK(Group, group);
    THERE_AND_BACK(Info, info);
    THERE_AND_BACK(Op, MPI_SUM);
    THERE_AND_BACK(Errhandler, MPI_ERRORS_RETURN);
    THERE_AND_BACK(Win, win);
    THERE_AND_BACK(File, file);
    THERE_AND_BACK(Request, request);
    THERE_AND_BACK(Message, message);
#ifdef HAVE_MPI_Session_init
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    THERE_AND_BACK(Session, session);
    MPI_Session_finalize(&session);
#endif
#endif
#undef THERE_AND_BACK

#ifdef HAVE_MPI_Comm_toint
#define THERE_AND_BACK(kind, handle)                                                              \
    CHECK(MPI_##kind##_fromint(MPI_##kind##_toint(handle)) == (handle))
    MPI_Session other;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    THERE_AND_BACK(Session, other);
    MPI_Session_finalize(&other);
    THERE_AND_BACK(Comm, MPI_COMM_WORLD);
    THERE_AND_BACK(Type, MPI_DOUBLE);
    THERE_AND_BACK(Group, group);
    THERE_AND_BACK(Info, info);
    THERE_AND_BACK(Op, MPI_SUM);
    THERE_AND_BACK(Errhandler, MPI_ERRORS_RETURN);
    THERE_AND_BACK(Win, win);
    THERE_AND_BACK(File, file);
    THERE_AND_BACK(Request, request);
    THERE_AND_BACK(Message, message);
#undef THERE_AND_BACK
#endif

    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
    CHECK(got == rank);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(&back, 0, sizeof back);
#if defined(HAVE_MPI_Status_c2f) && !defined(MPI_H_ABI)
#ifndef MPI_F_STATUS_SIZE /* of MPI-4 */
#define MPI_F_STATUS_SIZE (sizeof(MPI_Status) / sizeof(MPI_Fint))
#endif
    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    MPI_Status_c2f(&status, fortran);
    MPI_Status_f2c(fortran, &back);
    CHECK(back.MPI_SOURCE == rank && back.MPI_TAG == 8);
#ifdef HAVE_MPI_Status_c2f08
    MPI_F08_status newer;
    MPI_Status_c2f08(&status, &newer);
    CHECK(newer.MPI_SOURCE == rank && newer.MPI_TAG == 8);
    MPI_Status_f082c(&newer, &back);
    CHECK(back.MPI_SOURCE == rank && back.MPI_TAG == 8);
    MPI_Status_f082f(&newer, fortran);
    MPI_Status_f2f08(fortran, &newer);
    CHECK(newer.MPI_SOURCE == rank && newer.MPI_TAG == 8);
#endif
#endif
    MPI_File_close(&file);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
}

static int queries, releases, cancels;

static int query(void *extra_state, MPI_Status *status)
{
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra_state);
    MPI_Status_set_cancelled(status, cancels > 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *extra_state)
{
    int own;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    CHECK(own == rank && *(int *)extra_state == 12);
    releases++;
    return MPI_SUCCESS;
}

static int cancel(void *extra_state, int complete)
{
    CHECK(!complete && *(int *)extra_state == 12);
    cancels++;
    return MPI_SUCCESS;
}

/* A request that the program itself fulfils; the second one is cancelled. */
static void generalized_requests(void)
{
    int number = 12, flag, count;
    MPI_Request request;
    MPI_Status status;
    MPI_Grequest_start(query, release, cancel, &number, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Test_cancelled(&status, &flag);
    CHECK(request == MPI_REQUEST_NULL && count == 12 && !flag);
    CHECK(queries == 1 && releases == 1 && cancels == 0);

    MPI_Grequest_start(query, release, cancel, &number, &request);
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && queries == 2 && releases == 2 && cancels == 1);
}

static void processes(void)
{
    MPI_Comm parent;
    int flag, level;
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    MPI_Query_thread(&level);
    CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    MPI_Is_thread_main(&flag);
    CHECK(flag);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);

    /* Ports and names need a launcher that can. */
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    tolerant();
    if (rank == 0) {
        const int opened = MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS;
        const int published = MPI_Publish_name("objects", MPI_INFO_NULL, port) == MPI_SUCCESS;
        const int looked_up = MPI_Lookup_name("objects", MPI_INFO_NULL, found) == MPI_SUCCESS;
        const int withdrawn = MPI_Unpublish_name("objects", MPI_INFO_NULL, port) == MPI_SUCCESS;
        CHECK(!looked_up || strcmp(port, found) == 0);
        if (opened)
            MPI_Close_port(port);
        printf("port %d, published %d, looked up %d, withdrawn %d\n", opened, published, looked_up,
               withdrawn);
    }
    fatal();
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    infos(argc, argv);
    groups();
    communicators();
    intercommunicators();
    from_groups();
    environment();
    conversions();
    generalized_requests();
    processes();
    MPI_Finalize();
    MPI_Finalized(&level);
    CHECK(level);
    if (rank == 0)
        printf("all objects gone\n");
    return 0;
}
