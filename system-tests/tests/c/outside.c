/* Calls that are allowed before MPI_Init and after MPI_Finalize: those that always were, and
 * those on info objects and errors, which are since MPI-4.0, as sessions are. */
#include "expect.h"

static void ask(int initialized, int finalized)
{
    int flag = -1, version, subversion, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    CHECK(flag == initialized);
    MPI_Finalized(&flag);
    CHECK(flag == finalized);
    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Get_library_version(library, &length);
    CHECK(length > 0 && strlen(library) > 0);
}

#ifdef HAVE_MPI_Session_init
static void use_info(int argc, char **argv)
{
    MPI_Info info, copy;
    int flag, number, length = 16;
    char value[16], key[MPI_MAX_INFO_KEY + 1];
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "green");
    MPI_Info_set(info, "taste", "sour");
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "taste");
    MPI_Info_get_nkeys(info, &number);
    CHECK(number == 1);
    MPI_Info_get_nkeys(copy, &number);
    CHECK(number == 2);
    MPI_Info_get_nthkey(info, 0, key);
    CHECK(strcmp(key, "colour") == 0);
    MPI_Info_get_string(info, "colour", &length, value, &flag);
    CHECK(flag && length == 6 && strcmp(value, "green") == 0);
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
    MPI_Info_create_env(argc, argv, &info);
    MPI_Info_free(&info);
}

static void use_errors(void)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(MPI_ERR_TYPE, &class);
    CHECK(class == MPI_ERR_TYPE);
    MPI_Error_string(MPI_ERR_TYPE, text, &length);
    CHECK(length > 0);
}
#endif

int main(int argc, char **argv)
{
    ask(0, 0);
#ifdef HAVE_MPI_Session_init
    use_info(argc, argv);
    use_errors();
#endif
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ask(1, 0);
    MPI_Finalize();
    ask(1, 1);
#ifdef HAVE_MPI_Session_init
    use_info(argc, argv);
    use_errors();
#endif
    ask(1, 1);
    if (rank == 0)
        printf("MPI %d.%d answers outside\n", MPI_VERSION, MPI_SUBVERSION);
    return 0;
}
