/* All functions of the tool information interface, as a program may call them: before MPI_Init,
 * within and after it. What variables there are depends on the MPI, which need not have any. */
#include "expect.h"

#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
#define IS_OPEN_MPI_4 1
#endif

enum { TEXT = 1024, SPACE = 65536 };

static int rank;
static MPI_Count space[SPACE / sizeof(MPI_Count)]; /* for the value of any variable */

static int bytes_of(MPI_Datatype type)
{
    int bytes;
    MPI_Type_size(type, &bytes);
    return bytes;
}

static void look_at_enum(MPI_T_enum set)
{
    int items, value, length = TEXT;
    char name[TEXT];
    CHECK(MPI_T_enum_get_info(set, &items, name, &length) == MPI_SUCCESS);
    for (int i = 0; i < items; i++) {
        length = TEXT;
        MPI_T_enum_get_item(set, i, &value, name, &length);
    }
}

/* Reads every control variable that belongs to no object, and writes one back as it is. */
static int control_variables(void)
{
    int number, written = 0;
    MPI_T_cvar_get_num(&number);
    for (int i = 0; i < number; i++) {
        int name_length = TEXT, text_length = TEXT, verbosity, bind, scope, index, count;
        char name[TEXT], text[TEXT];
        MPI_Datatype type;
        MPI_T_enum set;
        MPI_T_cvar_handle handle;
        if (MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &set, text, &text_length,
                                &bind, &scope) != MPI_SUCCESS)
            continue;
        CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
        if (set != MPI_T_ENUM_NULL && type == MPI_INT && i < 100)
            look_at_enum(set);
        if (bind != MPI_T_BIND_NO_OBJECT
            || MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) != MPI_SUCCESS)
            continue;
        if (count * bytes_of(type) <= SPACE && MPI_T_cvar_read(handle, space) == MPI_SUCCESS) {
            const int writable = scope == MPI_T_SCOPE_LOCAL || scope == MPI_T_SCOPE_ALL;
            if (!written && writable && type == MPI_INT && count == 1)
                written = MPI_T_cvar_write(handle, space) == MPI_SUCCESS;
        }
        MPI_T_cvar_handle_free(&handle);
    }
    return number;
}

/* Every performance variable that belongs to no object, in a session of its own. */
static int performance_variables(void)
{
    int number, some = 1;
    MPI_T_pvar_session session;
    MPI_T_pvar_get_num(&number);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    for (int i = 0; i < number; i++) {
        int name_length = TEXT, text_length = TEXT, verbosity, class, bind, readonly, continuous;
        int atomic, index, count;
        char name[TEXT], text[TEXT];
        MPI_Datatype type;
        MPI_T_enum set;
        MPI_T_pvar_handle handle;
        if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &set, text,
                                &text_length, &bind, &readonly, &continuous, &atomic)
            != MPI_SUCCESS)
            continue;
#ifdef IS_OPEN_MPI_4 /* which asks PSM2 for them where it has no such network, and crashes */
        if (strncmp(name, "mtl_psm", 7) == 0)
            continue;
#endif
        CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
        if (set != MPI_T_ENUM_NULL && i < 100)
            look_at_enum(set);
        if (bind != MPI_T_BIND_NO_OBJECT
            || MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count) != MPI_SUCCESS)
            continue;
        if (count * bytes_of(type) <= SPACE) {
            if (!continuous)
                MPI_T_pvar_start(session, handle);
            MPI_Sendrecv(&some, 1, MPI_INT, rank, 1, &some, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            MPI_T_pvar_read(session, handle, space);
            if (!continuous)
                MPI_T_pvar_stop(session, handle);
            if (!readonly) {
                MPI_T_pvar_readreset(session, handle, space);
                MPI_T_pvar_reset(session, handle);
                MPI_T_pvar_write(session, handle, space);
            }
        }
        MPI_T_pvar_handle_free(session, &handle);
    }
#ifndef MPI_H_ABI /* MPICH 5.0 crashes on its standard ABI's constant for all handles. */
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES);
#endif
    CHECK(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_LEVEL, &some) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    return number;
}

static int categories(void)
{
    int number, stamp, some[TEXT];
    MPI_T_category_get_num(&number);
    CHECK(MPI_T_category_changed(&stamp) == MPI_SUCCESS);
    for (int i = 0; i < number; i++) {
        int name_length = TEXT, text_length = TEXT, cvars, pvars, within, index;
        char name[TEXT], text[TEXT];
        if (MPI_T_category_get_info(i, name, &name_length, text, &text_length, &cvars, &pvars,
                                    &within) != MPI_SUCCESS)
            continue;
        CHECK(MPI_T_category_get_index(name, &index) == MPI_SUCCESS);
        MPI_T_category_get_cvars(i, cvars < TEXT ? cvars : TEXT, some);
        MPI_T_category_get_pvars(i, pvars < TEXT ? pvars : TEXT, some);
        MPI_T_category_get_categories(i, within < TEXT ? within : TEXT, some);
#ifdef HAVE_MPI_T_category_get_events
        int events = 0;
        MPI_T_category_get_num_events(i, &events);
        MPI_T_category_get_events(i, events < TEXT ? events : TEXT, some);
#endif
    }
    return number;
}

#ifdef HAVE_MPI_T_event_get_num
static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void *user_data)
{
    (void)registration, (void)safety, (void)user_data;
    int source;
    MPI_Count stamp;
    MPI_T_event_get_source(instance, &source);
    MPI_T_event_get_timestamp(instance, &stamp);
    MPI_T_event_read(instance, 0, space);
    MPI_T_event_copy(instance, space);
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                       MPI_T_cb_safety safety, void *user_data)
{
    (void)count, (void)registration, (void)source, (void)safety, (void)user_data;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    (void)registration, (void)safety, (void)user_data;
}

/* Registers for every event that belongs to no object, for a while. */
static int events(void)
{
    int number = 0, index, some = 1;
    MPI_T_event_get_num(&number);
    for (int i = 0; i < number; i++) {
        int name_length = TEXT, text_length = TEXT, verbosity, elements = 64, bind;
        char name[TEXT], text[TEXT];
        MPI_Datatype types[64];
        MPI_Aint offsets[64];
        MPI_T_enum set;
        MPI_Info info;
        MPI_T_event_registration registration;
        if (MPI_T_event_get_info(i, name, &name_length, &verbosity, types, offsets, &elements,
                                 &set, &info, text, &text_length, &bind) != MPI_SUCCESS)
            continue;
        MPI_T_event_get_index(name, &index);
        if (bind != MPI_T_BIND_NO_OBJECT
            || MPI_T_event_handle_alloc(i, NULL, MPI_INFO_NULL, &registration) != MPI_SUCCESS)
            continue;
        MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                      NULL, on_event);
        MPI_T_event_set_dropped_handler(registration, on_dropped);
        if (MPI_T_event_handle_get_info(registration, &info) == MPI_SUCCESS)
            MPI_T_event_handle_set_info(registration, info);
        if (MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, &info)
            == MPI_SUCCESS)
            MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, info);
        MPI_Bcast(&some, 1, MPI_INT, 0, MPI_COMM_SELF);
        MPI_T_event_handle_free(registration, NULL, on_free);
    }
    CHECK(MPI_T_event_get_index("no such event", &index) != MPI_SUCCESS);
    MPI_T_event_registration none;
    CHECK(MPI_T_event_handle_alloc(number, NULL, MPI_INFO_NULL, &none) != MPI_SUCCESS);
    return number;
}

static int sources(void)
{
    int number = 0;
    MPI_T_source_get_num(&number);
    for (int i = 0; i < number; i++) {
        int name_length = TEXT, text_length = TEXT;
        char name[TEXT], text[TEXT];
        MPI_T_source_order order;
        MPI_Count ticks, most, stamp;
        MPI_Info info;
        MPI_T_source_get_info(i, name, &name_length, text, &text_length, &order, &ticks, &most,
                              &info);
        MPI_T_source_get_timestamp(i, &stamp);
    }
    MPI_Count none;
    CHECK(MPI_T_source_get_timestamp(number, &none) != MPI_SUCCESS);
    return number;
}
#endif

int main(int argc, char **argv)
{
    int level, index, before, after;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS);
    MPI_T_cvar_get_num(&before);
    CHECK(MPI_T_cvar_get_index("no such variable", &index) != MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS);

    const int cvars = control_variables(), pvars = performance_variables();
    const int groups = categories();
    if (rank == 0)
        printf("%d control variables, %d performance variables, %d categories\n", cvars, pvars,
               groups);
#ifdef HAVE_MPI_T_event_get_num
    const int kinds = events(), origins = sources();
    if (rank == 0)
        printf("%d events, %d sources\n", kinds, origins);
#endif
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
#ifdef IS_OPEN_MPI_4 /* which crashes if this comes after MPI_Finalize */
    MPI_T_cvar_get_num(&after);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    MPI_Finalize();
#else
    MPI_Finalize();

    /* The interface outlives MPI. */
    MPI_T_cvar_get_num(&after);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
#endif
    if (rank == 0)
        printf("variables before %d, after %d\n", before, after);
    return 0;
}
