/* More wrong programs, as in wrong.c, which includes this. Those whose names begin with `three_` run on three ranks, and those
 * that begin with `serialized` with MPI_THREAD_SERIALIZED. */

/* Two threads at once. */
static void *receives(void *of) { MPI_Recv(of, 1, MPI_INT, 1, 0, W_, &st); return of; }
#define BESIDE(function, call) pthread_t thread; pthread_create(&thread, NULL, function, c); usleep(100000); call; pthread_join(thread, NULL)
W(serialized_two, "call-order", if (r) { usleep(400000); MPI_Send(b, 1, MPI_INT, 0, 0, W_); } else { BESIDE(receives, MPI_Comm_size(W_, &value)); })
static void slow(void *in, void *out, int *length, MPI_Datatype *datatype) { sum(in, out, length, datatype); usleep(300000); }
static void *reduces(void *of) { MPI_Reduce_local(b, of, 1, MPI_INT, op); return of; }
W(serialized_in_callback, "call-order", MPI_Op_create(slow, 1, &op); BESIDE(reduces, MPI_Comm_rank(W_, &value)); MPI_Op_free(&op))

/* Operations that a flush completes. */
W(rput_changed_before_flush, "buffer-in-use", WIN; MPI_Win_lock_all(0, w); MPI_Rput(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w, &q); c[0]++; MPI_Win_flush(peer, w); MPI_Wait(&q, &st); MPI_Win_unlock_all(w); MPI_Win_free(&w))
W(rput_changed_after_other_flush, "buffer-in-use", WIN; MPI_Win_lock_all(0, w); MPI_Rput(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w, &q); MPI_Win_flush_local(r, w); c[0]++; MPI_Wait(&q, &st); MPI_Win_unlock_all(w); MPI_Win_free(&w))

/* Sequences of several basic datatypes. */
#define STRUCT(first, second) int lengths[2] = {1, 1}; MPI_Aint at[2] = {0, 8}; MPI_Datatype types[2] = {first, second}; MPI_Type_create_struct(2, lengths, at, types, &t); MPI_Type_commit(&t)
W(struct_begins_otherwise, "datatype-mismatch", STRUCT(r ? MPI_INT : MPI_FLOAT, MPI_DOUBLE); if (!r) MPI_Send(d, 2, t, 1, 0, W_); else MPI_Recv(d, 3, t, 0, 0, W_, &st); MPI_Type_free(&t))
W(struct_ends_otherwise, "datatype-mismatch", STRUCT(MPI_INT, r ? MPI_FLOAT : MPI_UNSIGNED); if (!r) MPI_Send(d, 2, t, 1, 0, W_); else MPI_Recv(d, 3, t, 0, 0, W_, &st); MPI_Type_free(&t))
W(structs_as_ints, "datatype-mismatch", STRUCT(MPI_INT, MPI_FLOAT); if (!r) MPI_Send(d, 2, t, 1, 0, W_); else MPI_Recv(d, 16, MPI_INT, 0, 0, W_, &st); MPI_Type_free(&t))
W(ints_as_struct, "datatype-mismatch", STRUCT(MPI_INT, MPI_FLOAT); if (!r) MPI_Send(d, 3, MPI_INT, 1, 0, W_); else MPI_Recv(d, 4, t, 0, 0, W_, &st); MPI_Type_free(&t))
W(struct_of_structs, "datatype-mismatch", MPI_Datatype inner; { STRUCT(MPI_INT, r ? MPI_FLOAT : MPI_INT); inner = t; } STRUCT(MPI_DOUBLE, inner); if (!r) MPI_Send(d, 1, t, 1, 0, W_); else MPI_Recv(d, 2, t, 0, 0, W_, &st); MPI_Type_free(&inner); MPI_Type_free(&t))
W(darray_of_others, "datatype-mismatch", int size = 8, kind = MPI_DISTRIBUTE_BLOCK, argument = MPI_DISTRIBUTE_DFLT_DARG; MPI_Type_create_darray(2, r, 1, &size, &kind, &argument, &n, MPI_ORDER_C, MPI_FLOAT, &t); MPI_Type_commit(&t); if (!r) MPI_Send(b, 4, MPI_INT, 1, 0, W_); else MPI_Recv(c, 1, t, 0, 0, W_, &st); MPI_Type_free(&t))

/* Data with gaps. */
#define COLUMN(width) MPI_Type_vector(4, width, 4, MPI_INT, &t); MPI_Type_commit(&t)
#define RECEIVE_TWO(at, count, type, at2, count2, type2) MPI_Irecv(at, count, type, peer, 1, W_, qs); MPI_Irecv(at2, count2, type2, peer, 2, W_, qs + 1); MPI_Send(b, 4, MPI_INT, peer, 1, W_); MPI_Send(b, 4, MPI_INT, peer, 2, W_); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE)
W(wide_columns_overlap, "buffer-in-use", COLUMN(2); RECEIVE_TWO(c, 1, t, c + 1, 1, t); MPI_Type_free(&t))
W(column_beside_row, "buffer-in-use", COLUMN(1); RECEIVE_TWO(c + 3, 1, t, c + 4, 4, MPI_INT); MPI_Type_free(&t))
#define CHANGED(buffer, change) MPI_Isend(buffer, 1, t, peer, 0, W_, &q); change; MPI_Recv(c, 99, MPI_INT, peer, 0, W_, &st); MPI_Wait(&q, &st); MPI_Type_free(&t)
W(column_changed, "buffer-in-use", COLUMN(1); CHANGED(b, b[8]++))
W(long_column_changed, "buffer-in-use", MPI_Type_vector(40, 1, 100, MPI_INT, &t); MPI_Type_commit(&t); CHANGED(b, b[3900]++))
W(subarray_changed, "buffer-in-use", int sizes[2] = {8, 8}, parts[2] = {4, 3}, at[2] = {2, 1}; MPI_Type_create_subarray(2, sizes, parts, at, MPI_ORDER_C, MPI_INT, &t); MPI_Type_commit(&t); CHANGED(b, b[8 * 5 + 3]++))
W(indexed_changed, "buffer-in-use", int lengths[6] = {1, 2, 1, 3, 1, 1}, at[6] = {0, 3, 9, 20, 33, 60}; MPI_Type_indexed(6, lengths, at, MPI_INT, &t); MPI_Type_commit(&t); CHANGED(b, b[33]++))
W(resized_changed, "buffer-in-use", MPI_Type_create_resized(MPI_INT, 0, 16, &t); MPI_Type_commit(&t); MPI_Isend(b, 4, t, peer, 0, W_, &q); b[12]++; MPI_Recv(c, 4, MPI_INT, peer, 0, W_, &st); MPI_Wait(&q, &st); MPI_Type_free(&t))
W(column_put_changed, "rma-conflict", WIN; COLUMN(1); MPI_Win_fence(0, w); MPI_Put(c, 1, t, peer, 0, 4, MPI_INT, w); c[4]++; MPI_Win_fence(0, w); MPI_Type_free(&t); MPI_Win_free(&w))

/* Split operations on files, and such with requests. */
W(split_not_ended, "request-lifecycle", MPI_File f; OPEN(f, "split"); MPI_File_write_all_begin(f, b, 4, MPI_INT); MPI_File_close(&f))
W(split_other_end, "request-lifecycle", MPI_File f; OPEN(f, "split-end"); MPI_File_write_at_all_begin(f, 16 * r, b, 4, MPI_INT); MPI_File_write_all_end(f, b, &st); MPI_File_close(&f))
W(split_end_alone, "request-lifecycle", MPI_File f; OPEN(f, "split-alone"); MPI_File_read_all_end(f, b, &st); MPI_File_close(&f))
W(split_twice, "request-lifecycle", MPI_File f; OPEN(f, "split-twice"); MPI_File_write_all_begin(f, b, 4, MPI_INT); MPI_File_write_all_begin(f, c, 4, MPI_INT); MPI_File_write_all_end(f, b, &st); MPI_File_close(&f))
W(split_between, "request-lifecycle", MPI_File f; OPEN(f, "split-between"); MPI_File_write_ordered_begin(f, b, 4, MPI_INT); MPI_File_write_at_all(f, 64 + 16 * r, c, 4, MPI_INT, &st); MPI_File_write_ordered_end(f, b, &st); MPI_File_close(&f))
W(split_changed, "buffer-in-use", MPI_File f; OPEN(f, "split-changed"); MPI_File_write_at_all_begin(f, 16 * r, b, 4, MPI_INT); b[2]++; MPI_File_write_at_all_end(f, b, &st); MPI_File_close(&f))
W(iwrite_changed, "buffer-in-use", MPI_File f; OPEN(f, "iwrite"); MPI_File_iwrite_at(f, 16 * r, b, 4, MPI_INT, &q); b[2]++; MPI_Wait(&q, &st); MPI_File_close(&f))

/* One-sided operations: two into one place, and others than the target's. */
W(get_twice, "rma-conflict", WIN; MPI_Win_fence(0, w); MPI_Get(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w); MPI_Get(c + 3, 4, MPI_INT, peer, 4, 4, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(rget_twice, "buffer-in-use", WIN; MPI_Win_lock_all(0, w); MPI_Rget(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w, qs); MPI_Rget(c + 2, 4, MPI_INT, peer, 4, 4, MPI_INT, w, qs + 1); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE); MPI_Win_unlock_all(w); MPI_Win_free(&w))
W(put_other_type, "datatype-mismatch", WIN; MPI_Win_fence(0, w); MPI_Put(c, 4, MPI_INT, peer, 0, 4, MPI_FLOAT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(get_other_type, "datatype-mismatch", WIN; MPI_Win_fence(0, w); MPI_Get(d, 2, MPI_DOUBLE, peer, 0, 4, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(get_accumulate_other_type, "datatype-mismatch", WIN; MPI_Win_lock_all(0, w); MPI_Get_accumulate(c, 2, MPI_INT, c + 8, 2, MPI_INT, peer, 0, 2, MPI_FLOAT, MPI_SUM, w); MPI_Win_unlock_all(w); MPI_Win_free(&w))
W(accumulate_other_type, "datatype-mismatch", WIN; MPI_Win_fence(0, w); MPI_Accumulate(c, 2, MPI_INT, peer, 0, 2, MPI_UNSIGNED, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(put_other_struct, "datatype-mismatch", WIN; STRUCT(MPI_INT, MPI_DOUBLE); MPI_Win_fence(0, w); MPI_Put(d, 1, t, peer, 0, 4, MPI_INT, w); MPI_Win_fence(0, w); MPI_Type_free(&t); MPI_Win_free(&w))

/* Ready sends. */
W(rsend_early, "call-order", if (!r) MPI_Rsend(b, 1, MPI_INT, 1, 0, W_); MPI_Barrier(W_); if (r) MPI_Recv(c, 1, MPI_INT, 0, 0, W_, &st))
W(irsend_other_tag, "call-order", if (r) MPI_Irecv(c, 1, MPI_INT, 0, 1, W_, &q); MPI_Barrier(W_); if (!r) { MPI_Irsend(b, 1, MPI_INT, 1, 0, W_, &q); MPI_Send(b, 1, MPI_INT, 1, 1, W_); } MPI_Wait(&q, &st); MPI_Barrier(W_); if (r) MPI_Recv(c, 1, MPI_INT, 0, 0, W_, &st))
W(rsend_started_early, "call-order", if (!r) { MPI_Rsend_init(b, 1, MPI_INT, 1, 0, W_, &q); MPI_Start(&q); MPI_Wait(&q, &st); MPI_Request_free(&q); } MPI_Barrier(W_); if (r) MPI_Recv(c, 1, MPI_INT, 0, 0, W_, &st))

/* Two groups that do not meet. */
W(three_not_all_meet, "deadlock", MPI_Comm sub; MPI_Comm_split(W_, r > 0, r, &sub); if (r == 2) MPI_Recv(b, 1, MPI_INT, 0, 0, W_, &st); MPI_Intercomm_create(sub, 0, W_, r ? 0 : 1, 7, &comm); if (!r) MPI_Send(b, 1, MPI_INT, 2, 0, W_); MPI_Comm_free(&comm); MPI_Comm_free(&sub))

/* No room for a result. */
W(test_no_flag, "invalid-argument", MPI_Irecv(c, 1, MPI_INT, MPI_PROC_NULL, 0, W_, &q); MPI_Test(&q, NULL, MPI_STATUS_IGNORE); MPI_Wait(&q, &st))
W(iprobe_no_flag, "invalid-argument", MPI_Iprobe(MPI_ANY_SOURCE, 0, W_, NULL, &st))
W(rank_nowhere, "invalid-argument", MPI_Comm_rank(W_, NULL))

/* Two receives, and one message. */
W(waitall_one_comes, "deadlock", MPI_Irecv(b, 1, MPI_INT, peer, 0, W_, qs); MPI_Irecv(c, 1, MPI_INT, peer, 0, W_, qs + 1); MPI_Send(d, 1, MPI_INT, peer, 0, W_); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE))

/* Windows that are freed too early, or are none, and sums of which elements overlap in part. */
W(free_before_fence, "epoch-lifecycle", WIN; MPI_Win_fence(0, w); MPI_Put(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w); MPI_Win_free(&w))
W(free_no_window, "invalid-argument", memset(&w, 1, sizeof w); MPI_Win_free(&w))
W(accumulate_askew, "rma-conflict", MPI_Win_create(b, 64, 1, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Accumulate(c, 2, MPI_INT, 0, r, 2, MPI_INT, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))

/* Operations that others never come to, with counts for each rank, and of those before a rank only. */
W(allgatherv_alone, "deadlock", int counts[2] = {1, 1}, at[2] = {0, 1}; if (r) MPI_Allgatherv(b, 1, MPI_INT, c, counts, at, MPI_INT, W_))
W(alltoallv_alone, "deadlock", int counts[2] = {1, 1}, at[2] = {0, 1}; if (!r) MPI_Alltoallv(b, counts, at, MPI_INT, c, counts, at, MPI_INT, W_))
W(exscan_alone, "deadlock", if (r) MPI_Exscan(b, c, 1, MPI_INT, MPI_SUM, W_))
W(scan_waits_for_receiver, "deadlock", if (!r) MPI_Recv(b, 1, MPI_INT, 1, 0, W_, &st); MPI_Scan(c, ones, 1, MPI_INT, MPI_SUM, W_); if (r) MPI_Send(b, 1, MPI_INT, 0, 0, W_))
W(window_nowhere, "invalid-argument", MPI_Win_create(NULL, 16, 4, MPI_INFO_NULL, W_, &w); MPI_Win_free(&w))

/* What has arrived at once, from memory that both ranks see, and is changed before the end of the epoch. Not every MPI brings it
 * at once: then nobody can see the change, and the program says so. */
#define LATER(condition) if (condition) puts("brought later")
#define COMMON int *there; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &there, &w); for (int i = 0; i < 16; i++) there[i] = 100 + i; MPI_Win_fence(0, w)
W(got_and_changed, "rma-conflict", COMMON; MPI_Get(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w); LATER(c[1] != 101); c[1] = 7; MPI_Win_fence(0, w); MPI_Win_free(&w))
W(fetched_and_changed, "rma-conflict", COMMON; MPI_Win_lock_all(0, w); MPI_Fetch_and_op(ones, &value, MPI_INT, peer, 9, MPI_SUM, w); LATER(value != 109); value++; MPI_Win_flush_all(w); MPI_Win_unlock_all(w); MPI_Win_free(&w))

/* Arrays that must be there, and what is in them. */
W(graph_edge_outside, "invalid-argument", int ends[2] = {1, 2}, edges[2] = {1, 5}; MPI_Graph_create(W_, 2, ends, edges, 0, &comm))
W(graph_falls, "invalid-argument", int ends[2] = {2, 1}, edges[2] = {1, 0}; MPI_Graph_create(W_, 2, ends, edges, 0, &comm))
W(graph_too_large, "invalid-argument", int ends[3] = {1, 2, 3}, edges[3] = {1, 2, 0}; MPI_Graph_create(W_, 3, ends, edges, 0, &comm))
W(dist_graph_outside, "invalid-argument", int degree = 1, to = n; MPI_Dist_graph_create(W_, 1, &r, &degree, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm))
W(adjacent_outside, "invalid-argument", int to = -3; MPI_Dist_graph_create_adjacent(W_, 1, &peer, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm))
W(merge_of_one_group, "invalid-argument", MPI_Intercomm_merge(W_, 0, &comm))
W(remote_size_of_one_group, "invalid-argument", MPI_Comm_remote_size(W_, &value))
W(struct_of_null, "invalid-argument", int lengths[2] = {1, 1}; MPI_Aint at[2] = {0, 8}; MPI_Datatype parts[2] = {MPI_INT, MPI_DATATYPE_NULL}; MPI_Type_create_struct(2, lengths, at, parts, &t))
W(struct_of_freed, "invalid-argument", MPI_Datatype gone; MPI_Type_contiguous(2, MPI_INT, &gone); MPI_Datatype parts[2] = {MPI_INT, gone}; MPI_Type_free(&gone); int lengths[2] = {1, 1}; MPI_Aint at[2] = {0, 8}; MPI_Type_create_struct(2, lengths, at, parts, &t))
W(gatherv_no_counts, "invalid-argument", int at[2] = {0, 1}; MPI_Gatherv(b, 1, MPI_INT, c, NULL, at, MPI_INT, 0, W_))
W(scatterv_no_counts, "invalid-argument", int at[2] = {0, 1}; MPI_Scatterv(b, NULL, at, MPI_INT, c, 1, MPI_INT, 0, W_))
W(allgatherv_no_places, "invalid-argument", MPI_Allgatherv(b, 1, MPI_INT, c, ones, NULL, MPI_INT, W_))
W(reduce_scatter_no_counts, "invalid-argument", MPI_Reduce_scatter(b, c, NULL, MPI_INT, MPI_SUM, W_))
W(alltoallv_no_places, "invalid-argument", int at[2] = {0, 1}; MPI_Alltoallv(b, ones, NULL, MPI_INT, c, ones, at, MPI_INT, W_))
W(incl_no_ranks, "invalid-argument", MPI_Group other; MPI_Comm_group(W_, &g); MPI_Group_incl(g, 2, NULL, &other))
W(waitall_no_requests, "invalid-argument", MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE))
W(indexed_no_lengths, "invalid-argument", int at[2] = {0, 1}; MPI_Type_indexed(2, NULL, at, MPI_INT, &t))

/* Requests. */
W(cancel_inactive, "request-lifecycle", MPI_Send_init(b, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &q); MPI_Cancel(&q); MPI_Request_free(&q))
W(cancel_nothing, "invalid-argument", q = MPI_REQUEST_NULL; MPI_Cancel(&q))
W(startall_one_buffer, "buffer-in-use", MPI_Recv_init(c, 1, MPI_INT, peer, 0, W_, qs); MPI_Recv_init(c, 1, MPI_INT, peer, 1, W_, qs + 1); MPI_Startall(2, qs); MPI_Send(b, 1, MPI_INT, peer, 0, W_); MPI_Send(b, 1, MPI_INT, peer, 1, W_); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE); MPI_Request_free(qs); MPI_Request_free(qs + 1))
/* What MPI-4 brought is not in every header. */
#if MPI_VERSION >= 4
#define IN_MPI_4(...) __VA_ARGS__
#else
#define IN_MPI_4(...) puts("brought later")
#endif
W(psend_negative, "invalid-argument", IN_MPI_4(MPI_Psend_init(b, -8, 1, MPI_INT, 1, 3, W_, MPI_INFO_NULL, &q)))
W(precv_negative, "invalid-argument", IN_MPI_4(MPI_Precv_init(b, -8, 1, MPI_INT, 1, 3, W_, MPI_INFO_NULL, &q)))
W(partitions_turned, "invalid-argument", IN_MPI_4(PARTS(8, MPI_Start(&q); MPI_Pready_range(8, -1, q); MPI_Pready_range(0, 7, q))))
W(partitions_cancelled, "request-lifecycle", IN_MPI_4(PARTS(8, MPI_Start(&q); MPI_Cancel(&q); MPI_Pready_range(0, 7, q))))

/* One-sided operations. */
W(put_then_noprecede, "epoch-lifecycle", COMMON; if (!r) MPI_Put(c, 1, MPI_INT, 1, 0, 1, MPI_INT, w); MPI_Win_fence(MPI_MODE_NOPRECEDE, w); MPI_Win_free(&w))
static void first_put(void) { MPI_Put(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); }
W(puts_other_data, "rma-conflict", COMMON; c[0] = 1; c[1] = 2; MPI_Win_fence(MPI_MODE_NOSUCCEED, w); MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, w); first_put(); MPI_Put(c + 1, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_unlock(peer, w); MPI_Win_free(&w))
W(accumulates_as_other, "rma-conflict", COMMON; float f = 1; if (!r) { MPI_Accumulate(&f, 1, MPI_FLOAT, 1, 1, 1, MPI_FLOAT, MPI_SUM, w); MPI_Accumulate(ones, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, w); } MPI_Win_fence(0, w); MPI_Win_free(&w))
W(pending_get_changed, "rma-conflict", COMMON; c[0] = -1; MPI_Get(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); c[0] = 55; MPI_Win_fence(0, w); MPI_Win_free(&w))

/* Hangs in what need not wait, in polling, and for one message too few. It takes some seconds until they are told. */
W(scan_first_stands, "deadlock", alarm(40); if (!r) { MPI_Scan(b, c, 1, MPI_INT, MPI_SUM, W_); MPI_Send(b, 1, MPI_INT, 1, 0, W_); } else { MPI_Recv(b, 1, MPI_INT, 0, 0, W_, &st); MPI_Scan(b, c, 1, MPI_INT, MPI_SUM, W_); } LATER(1))
W(large_bcast_root_stands, "deadlock", alarm(40); static int large[1 << 22]; if (!r) { MPI_Bcast(large, 1 << 22, MPI_INT, 0, W_); MPI_Send(b, 1, MPI_INT, 1, 0, W_); } else { MPI_Recv(b, 1, MPI_INT, 0, 0, W_, &st); MPI_Bcast(large, 1 << 22, MPI_INT, 0, W_); } LATER(1))
W(waitall_any_and_named, "deadlock", alarm(40); if (!r) MPI_Send(b, 1, MPI_INT, 1, 0, W_); else { MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, W_, qs); MPI_Irecv(c, 1, MPI_INT, 0, 0, W_, qs + 1); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE); } MPI_Barrier(W_))
W(both_poll, "deadlock", alarm(60); value = 0; while (!value) MPI_Iprobe(peer, 0, W_, &value, &st))
W(one_polls_one_stands, "deadlock", alarm(60); value = 0; MPI_Message message; if (!r) while (!value) MPI_Improbe(1, 5, W_, &value, &message, &st); MPI_Barrier(W_))
W(polls_request, "deadlock", alarm(60); value = 0; MPI_Irecv(c, 1, MPI_INT, peer, 5, W_, &q); while (!value) MPI_Test(&q, &value, &st))

/* Collective operations between two groups, persistent ones, and the halves of split ones, to which not all come. */
#define BETWEEN(...) MPI_Comm inter; MPI_Intercomm_create(MPI_COMM_SELF, 0, W_, peer, 5, &inter); __VA_ARGS__; MPI_Comm_free(&inter)
#define OTHERWISE(mine, theirs) if (r == mine) theirs; else MPI_Recv(c, 1, MPI_INT, peer, 0, W_, &st)
W(between_barrier, "deadlock", BETWEEN(OTHERWISE(0, MPI_Barrier(inter))))
W(between_ibarrier, "deadlock", BETWEEN(OTHERWISE(1, (MPI_Ibarrier(inter, &q), MPI_Wait(&q, &st)))))
W(between_bcast, "deadlock", BETWEEN(OTHERWISE(1, MPI_Bcast(c, 4, MPI_INT, 0, inter))))
W(between_reduce, "deadlock", BETWEEN(OTHERWISE(0, MPI_Reduce(NULL, c, 4, MPI_INT, MPI_SUM, MPI_ROOT, inter))))
W(between_allgather, "deadlock", BETWEEN(OTHERWISE(0, MPI_Allgather(b, 1, MPI_INT, c, 1, MPI_INT, inter))))
W(three_between_alltoall, "deadlock", MPI_Comm sub, inter; MPI_Comm_split(W_, r > 0, r, &sub); MPI_Intercomm_create(sub, 0, W_, r ? 0 : 1, 7, &inter); if (r < 2) MPI_Alltoall(b, 1, MPI_INT, c, 1, MPI_INT, inter); else MPI_Recv(c, 1, MPI_INT, 0, 0, W_, &st))
#define PERSISTENT(init, ...) init; __VA_ARGS__; MPI_Request_free(&q)
#define RUN MPI_Start(&q), MPI_Wait(&q, &st)
W(persistent_barrier_alone, "deadlock", PERSISTENT(MPI_Barrier_init(W_, MPI_INFO_NULL, &q), OTHERWISE(0, (RUN))))
W(persistent_bcast_without_root, "deadlock", PERSISTENT(MPI_Bcast_init(b, 4, MPI_INT, 0, W_, MPI_INFO_NULL, &q), OTHERWISE(1, (RUN))))
W(persistent_gather_second_time, "deadlock", PERSISTENT(MPI_Gather_init(b, 1, MPI_INT, c, 1, MPI_INT, 0, W_, MPI_INFO_NULL, &q), RUN; OTHERWISE(0, (RUN))))
W(split_half_alone, "deadlock", alarm(40); MPI_File f; OPEN(f, "split-half"); OTHERWISE(0, (MPI_File_write_all_begin(f, b, 4, MPI_INT), MPI_File_write_all_end(f, b, &st))); MPI_File_close(&f))
#define OF_RANKS(...) MPI_Comm_group(W_, &g); MPI_Group part; int ranks[2] = {__VA_ARGS__}; MPI_Group_incl(g, 2, ranks, &part)
W(create_in_other_order, "collective-mismatch", OF_RANKS(r, 1 - r); MPI_Comm_create(W_, part, &comm); MPI_Group_free(&part); MPI_Group_free(&g))
W(three_create_of_others, "collective-mismatch", OF_RANKS(0, r ? 2 : 1); MPI_Comm_create(W_, part, &comm); MPI_Group_free(&part); MPI_Group_free(&g))
W(probed_and_left, "deadlock", MPI_Message message; if (!r) MPI_Ssend(b, 1, MPI_INT, 1, 0, W_); else { MPI_Mprobe(0, 0, W_, &message, &st); MPI_Recv(c, 1, MPI_INT, 0, 1, W_, &st); MPI_Mrecv(c, 1, MPI_INT, &message, &st); } MPI_Send(b, 1, MPI_INT, peer, 1, W_))
