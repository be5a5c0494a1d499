/* What reads and writes of files move: in all forms, at the file's end too.
 * Needs 2 ranks or more, on one node. */
#include "moved.h"

#define IO "I/O"

/* Errors on files are not fatal by default. */
#define OK(call) CHECK((call) == MPI_SUCCESS)

static int rank, size;
static MPI_Datatype pair;

#define NAME(name) name##_int
#define F(function) function
#include "bandwidth_files_forms.h"

#ifdef HAVE_MPI_File_read_c
#define NAME(name) name##_large
#define F(function) function##_c
#include "bandwidth_files_forms.h"
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, "bandwidth.data", MPI_MODE_CREATE | MPI_MODE_RDWR,
                     MPI_INFO_NULL, &file));
    reads_and_writes_int(file);
#ifdef HAVE_MPI_File_read_c
    reads_and_writes_large(file);
#endif
    OK(MPI_File_close(&file));
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
