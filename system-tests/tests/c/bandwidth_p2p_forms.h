/* The part of bandwidth_p2p.c that is there for int counts and for MPI_Count: F(x) is the function
 * and COUNT the type of its counts. Each rank sends to the right and receives from the left. */

/* Every send, of `count` ints, into a receive of more; every receive. */
static void NAME(sends)(COUNT count)
{
    enum { ROOM = 64 };
    int out[ROOM] = {0}, in[ROOM];
    void *buffer = malloc(4 * (sizeof out + MPI_BSEND_OVERHEAD)), *detached;
    MPI_Request requests[4];
    MPI_Status status;
    int size_;
    MPI_Buffer_attach(buffer, 4 * (sizeof out + MPI_BSEND_OVERHEAD));
    for (int mode = 0; mode < 8; mode++) {
        F(MPI_Irecv)(in, ROOM, MPI_INT, left, mode, comm, &requests[0]);
        MPI_Barrier(comm); /* so that ready sends are right */
        requests[1] = MPI_REQUEST_NULL;
        switch (mode) {
        case 0: F(MPI_Send)(out, count, MPI_INT, right, mode, comm); break;
        case 1: F(MPI_Bsend)(out, count, MPI_INT, right, mode, comm); break;
        case 2: F(MPI_Ssend)(out, count, MPI_INT, right, mode, comm); break;
        case 3: F(MPI_Rsend)(out, count, MPI_INT, right, mode, comm); break;
        case 4: F(MPI_Isend)(out, count, MPI_INT, right, mode, comm, &requests[1]); break;
        case 5: F(MPI_Ibsend)(out, count, MPI_INT, right, mode, comm, &requests[1]); break;
        case 6: F(MPI_Issend)(out, count, MPI_INT, right, mode, comm, &requests[1]); break;
        case 7: F(MPI_Irsend)(out, count, MPI_INT, right, mode, comm, &requests[1]); break;
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        moved(SENT, P2P, "MPI_INT", count);
        moved(RECEIVED, P2P, "MPI_INT", count);
    }
    /* Persistent ones: made, started never, once, or several times, alone and together. */
    for (int starts = 0; starts < 4; starts++) {
        F(MPI_Recv_init)(in, ROOM, MPI_INT, left, 1, comm, &requests[0]);
        switch (starts) {
        case 0: F(MPI_Send_init)(out, count, MPI_INT, right, 1, comm, &requests[1]); break;
        case 1: F(MPI_Bsend_init)(out, count, MPI_INT, right, 1, comm, &requests[1]); break;
        case 2: F(MPI_Ssend_init)(out, count, MPI_INT, right, 1, comm, &requests[1]); break;
        case 3: F(MPI_Rsend_init)(out, count, MPI_INT, right, 1, comm, &requests[1]); break;
        }
        /* Waiting for what is not active moves nothing. */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < starts; i++) {
            if (starts == 2) {
                MPI_Startall(2, requests);
            } else {
                MPI_Start(&requests[0]);
                MPI_Barrier(comm);
                MPI_Start(&requests[1]);
            }
            if (starts == 1) {
                MPI_Wait(&requests[1], &status);
                MPI_Wait(&requests[0], &status);
            } else {
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            }
            moved(SENT, P2P, "MPI_INT", count);
            moved(RECEIVED, P2P, "MPI_INT", count);
            /* A second time it is inactive. */
            MPI_Wait(&requests[0], i % 2 ? MPI_STATUS_IGNORE : &status);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    MPI_Buffer_detach(&detached, &size_);
    free(buffer);

    /* Blocking receives: by rank, by anything, with a status and without. */
    for (int way = 0; way < 4; way++) {
        MPI_Isend(out, (int)count, MPI_INT, right, 2, comm, &requests[0]);
        F(MPI_Recv)(in, ROOM, MPI_INT, way < 2 ? left : MPI_ANY_SOURCE, way < 2 ? 2 : MPI_ANY_TAG,
                    comm, way % 2 ? MPI_STATUS_IGNORE : &status);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        moved(SENT, P2P, "MPI_INT", count);
        moved(RECEIVED, P2P, "MPI_INT", count);
        MPI_Barrier(comm);
    }

    /* Matched probes. */
    for (int way = 0; way < 4; way++) {
        MPI_Message message;
        int flag = 0;
        MPI_Isend(out, (int)count, MPI_INT, right, 3, comm, &requests[0]);
        if (way < 2)
            MPI_Mprobe(left, 3, comm, &message, &status);
        else
            while (!flag)
                MPI_Improbe(left, 3, comm, &flag, &message, MPI_STATUS_IGNORE);
        if (way % 2) {
            F(MPI_Imrecv)(in, ROOM, MPI_INT, &message, &requests[1]);
            MPI_Wait(&requests[1], &status);
        } else {
            F(MPI_Mrecv)(in, ROOM, MPI_INT, &message, way ? &status : MPI_STATUS_IGNORE);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        moved(SENT, P2P, "MPI_INT", count);
        moved(RECEIVED, P2P, "MPI_INT", count);
    }
    /* A matched message of nobody. */
    MPI_Message nobody;
    MPI_Mprobe(MPI_PROC_NULL, 3, comm, &nobody, &status);
    F(MPI_Mrecv)(in, ROOM, MPI_INT, &nobody, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 3, comm, &nobody, &status);
    F(MPI_Imrecv)(in, ROOM, MPI_INT, &nobody, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* There and back in one call, of different datatypes; one side may be nobody. */
static void NAME(both_ways)(COUNT count)
{
    double out[64] = {0};
    char in[64 * sizeof(double)];
    for (int way = 0; way < 4; way++) {
        int to = way & 1 ? MPI_PROC_NULL : right, from = way & 1 ? MPI_PROC_NULL : left;
        /* Nobody on one side only, at the ends of the line. */
        if (way >= 2) {
            to = rank == size - 1 ? MPI_PROC_NULL : right;
            from = rank == 0 ? MPI_PROC_NULL : left;
        }
        MPI_Status status;
        int sends = to != MPI_PROC_NULL, receives = from != MPI_PROC_NULL;
        F(MPI_Sendrecv)(out, count, MPI_DOUBLE, to, 4, in, 64, MPI_DOUBLE, from, 4, comm,
                        way % 2 ? MPI_STATUS_IGNORE : &status);
        F(MPI_Sendrecv_replace)(out, count, MPI_DOUBLE, to, 5, from, 5, comm,
                                way % 2 ? MPI_STATUS_IGNORE : &status);
        moved(SENT, P2P, "MPI_DOUBLE", sends * 2 * count);
        moved(RECEIVED, P2P, "MPI_DOUBLE", receives * 2 * count);
#ifdef HAVE_MPI_Isendrecv
        if (IS_MPICH_4_0 && way > 0) /* which crashes on messages of nobody */
            continue;
        MPI_Request requests[2];
        /* MPICH's status does not say how much has come. */
        COUNT room = SHORT_ISENDRECV ? 64 : count;
        F(MPI_Isendrecv)(out, count, MPI_DOUBLE, to, 6, in, room, MPI_DOUBLE, from, 6, comm,
                         &requests[0]);
        /* The other buffer must not be the same. */
        double replaced[64] = {0};
        F(MPI_Isendrecv_replace)(replaced, count, MPI_DOUBLE, to, 7, from, 7, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        moved(SENT, P2P, "MPI_DOUBLE", sends * 2 * count);
        moved(RECEIVED, P2P, "MPI_DOUBLE", receives * 2 * count);
#endif
    }
}

/* Messages to and from nobody. */
static void NAME(nobody)(void)
{
    int x[4] = {0};
    MPI_Request requests[4];
    MPI_Status statuses[4];
    F(MPI_Send)(x, 4, MPI_INT, MPI_PROC_NULL, 0, comm);
    F(MPI_Ssend)(x, 4, MPI_INT, MPI_PROC_NULL, 0, comm);
    F(MPI_Recv)(x, 4, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
    F(MPI_Isend)(x, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[0]);
    F(MPI_Irecv)(x, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[1]);
    F(MPI_Send_init)(x, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[2]);
    F(MPI_Recv_init)(x, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[3]);
    MPI_Startall(2, requests + 2);
    MPI_Waitall(4, requests, statuses);
    MPI_Request_free(&requests[2]);
    MPI_Request_free(&requests[3]);
}

#undef NAME
#undef F
#undef COUNT
