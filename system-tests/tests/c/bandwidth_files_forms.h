/* The part of bandwidth_files.c that is there for int counts and for MPI_Count. Each rank has eight
 * ints of a file, written and read in all ways. */

static void NAME(reads_and_writes)(MPI_File file)
{
    int data[16] = {0};
    const MPI_Offset mine = 8 * rank;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(F(MPI_File_write_at)(file, mine, data, 8, MPI_INT, &status));
    OK(F(MPI_File_write_at_all)(file, mine, data, 8, MPI_INT, MPI_STATUS_IGNORE));
    OK(F(MPI_File_iwrite_at)(file, mine, data, 8, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(F(MPI_File_iwrite_at_all)(file, mine, data, 8, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    OK(F(MPI_File_write_at_all_begin)(file, mine, data, 8, MPI_INT));
    OK(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
    moved(SENT, IO, "MPI_INT", 5 * 8);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    OK(F(MPI_File_read_at)(file, mine, data, 8, MPI_INT, MPI_STATUS_IGNORE));
    OK(F(MPI_File_read_at_all)(file, mine, data, 8, MPI_INT, &status));
    OK(F(MPI_File_iread_at)(file, mine, data, 8, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    OK(F(MPI_File_iread_at_all)(file, mine, data, 8, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(F(MPI_File_read_at_all_begin)(file, mine, data, 8, MPI_INT));
    OK(MPI_File_read_at_all_end(file, data, &status));
    moved(RECEIVED, IO, "MPI_INT", 5 * 8);

    /* At the file's end there is less, or nothing. */
    OK(F(MPI_File_read_at)(file, 8 * size - 3, data, 8, MPI_INT, &status));
    moved(RECEIVED, IO, "MPI_INT", 3);
    OK(F(MPI_File_read_at)(file, 8 * size, data, 8, MPI_INT, MPI_STATUS_IGNORE));
#ifndef OPEN_MPI /* whose request for less is never complete */
    OK(F(MPI_File_iread_at)(file, 8 * size - 2, data, 8, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    moved(RECEIVED, IO, "MPI_INT", 2);
#endif
    OK(F(MPI_File_write_at)(file, mine, data, 0, MPI_INT, &status));
    /* Two pairs and a half. */
    OK(F(MPI_File_read_at)(file, 8 * size - 5, data, 4, pair, &status));
    moved(RECEIVED, IO, "MPI_INT", 5);

    /* At the own pointer. */
    OK(MPI_File_seek(file, mine, MPI_SEEK_SET));
    OK(F(MPI_File_write)(file, data, 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(F(MPI_File_write_all)(file, data, 2, MPI_INT, &status));
    OK(F(MPI_File_iwrite)(file, data, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(F(MPI_File_iwrite_all)(file, data, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(F(MPI_File_write_all_begin)(file, data, 2, MPI_INT));
    OK(MPI_File_write_all_end(file, data, &status));
    moved(SENT, IO, "MPI_INT", 8);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    OK(MPI_File_seek(file, mine, MPI_SEEK_SET));
    OK(F(MPI_File_read)(file, data, 2, MPI_INT, &status));
    OK(F(MPI_File_read_all)(file, data, 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(F(MPI_File_iread)(file, data, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(F(MPI_File_iread_all)(file, data, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(F(MPI_File_read_all_begin)(file, data, 2, MPI_INT));
    OK(MPI_File_read_all_end(file, data, MPI_STATUS_IGNORE));
    moved(RECEIVED, IO, "MPI_INT", 8);

    /* At the shared one. */
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(F(MPI_File_write_shared)(file, data, 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(F(MPI_File_iwrite_shared)(file, data, 2, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(F(MPI_File_write_ordered)(file, data, 2, MPI_INT, &status));
    OK(F(MPI_File_write_ordered_begin)(file, data, 2, MPI_INT));
    OK(MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE));
    moved(SENT, IO, "MPI_INT", 8);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(F(MPI_File_read_shared)(file, data, 2, MPI_INT, &status));
    OK(F(MPI_File_iread_shared)(file, data, 2, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(F(MPI_File_read_ordered)(file, data, 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(F(MPI_File_read_ordered_begin)(file, data, 2, MPI_INT));
    OK(MPI_File_read_ordered_end(file, data, &status));
    moved(RECEIVED, IO, "MPI_INT", 8);
    MPI_Barrier(MPI_COMM_WORLD);
}

#undef NAME
#undef F
