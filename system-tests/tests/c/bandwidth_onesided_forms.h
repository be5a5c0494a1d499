/* The part of bandwidth_onesided.c that is there for int counts and for MPI_Count. */

static void NAME(transfers)(MPI_Win win, int target)
{
    const int there = target != MPI_PROC_NULL;
    double out[8] = {0}, in[8], old[8];
    MPI_Request requests[8];
    int n = 0;
    F(MPI_Put)(out, 3, MPI_DOUBLE, target, 0, 3, MPI_DOUBLE, win);
    F(MPI_Rput)(out, 4, MPI_DOUBLE, target, 0, 4, MPI_DOUBLE, win, &requests[n++]);
    moved(SENT, R, "MPI_DOUBLE", there * (3 + 4));
    MPI_Win_flush_all(win);
    F(MPI_Get)(in, 2, MPI_DOUBLE, target, 0, 2, MPI_DOUBLE, win);
    /* Several at once, which may be complete from the start. */
    F(MPI_Rget)(in + 2, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, win, &requests[n++]);
    F(MPI_Rget)(in + 3, 2, MPI_DOUBLE, target, 0, 2, MPI_DOUBLE, win, &requests[n++]);
    F(MPI_Rget)(in + 5, 3, MPI_DOUBLE, target, 0, 3, MPI_DOUBLE, win, &requests[n++]);
    moved(RECEIVED, R, "MPI_DOUBLE", there * (2 + 1 + 2 + 3));
    F(MPI_Accumulate)(out, 3, MPI_DOUBLE, target, 0, 3, MPI_DOUBLE, MPI_SUM, win);
    F(MPI_Raccumulate)(out, 4, MPI_DOUBLE, target, 0, 4, MPI_DOUBLE, MPI_SUM, win,
                       &requests[n++]);
    moved(REDUCED, R, "MPI_DOUBLE", there * (3 + 4));
    F(MPI_Accumulate)(out, 2, MPI_DOUBLE, target, 0, 2, MPI_DOUBLE, MPI_REPLACE, win);
    moved(SENT, R, "MPI_DOUBLE", there * 2);
    F(MPI_Get_accumulate)(out, 2, MPI_DOUBLE, old, 2, MPI_DOUBLE, target, 0, 2, MPI_DOUBLE,
                          MPI_SUM, win);
    F(MPI_Rget_accumulate)(out, 1, MPI_DOUBLE, old + 2, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE,
                           MPI_SUM, win, &requests[n++]);
    moved(REDUCED, R, "MPI_DOUBLE", there * (2 + 1));
    moved(RECEIVED, R, "MPI_DOUBLE", there * (2 + 1));
    /* Read alone; and written. */
    F(MPI_Get_accumulate)(NULL, 0, MPI_DOUBLE, old, 5, MPI_DOUBLE, target, 0, 5, MPI_DOUBLE,
                          MPI_NO_OP, win);
    moved(RECEIVED, R, "MPI_DOUBLE", there * 5);
    F(MPI_Get_accumulate)(out, 3, MPI_DOUBLE, old + 5, 3, MPI_DOUBLE, target, 0, 3, MPI_DOUBLE,
                          MPI_REPLACE, win);
    moved(SENT, R, "MPI_DOUBLE", there * 3);
    moved(RECEIVED, R, "MPI_DOUBLE", there * 3);
    F(MPI_Put)(out, 0, MPI_DOUBLE, target, 0, 0, MPI_DOUBLE, win);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win);
}

#undef NAME
#undef F
