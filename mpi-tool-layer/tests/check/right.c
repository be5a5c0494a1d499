/* Right programs: nothing may be found in any. Each line that begins with R is one; all run one after the other, on any
 * number of ranks from two on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *name;
    void (*run)(void);
} cases[512];
static int count, r, n, peer, left, right_, b[65536], c[65536], ones[64], steps[64], zeros[64], value, flag;
static double d[256], e[256];
static MPI_Comm comm, sub;
static MPI_Request q, qs[128];
static MPI_Status st, sts[128];
static MPI_Datatype t, u;
static MPI_Group g, h;
static MPI_Op op;
static MPI_Win w;
static MPI_Info info;
static MPI_Message m;
#define W_ MPI_COMM_WORLD
#define R(id, ...)                                                                                                     \
    static void id(void) { __VA_ARGS__; }                                                                              \
    __attribute__((constructor)) static void add_##id(void) {                                                          \
        cases[count].name = #id;                                                                                       \
        cases[count++].run = id;                                                                                       \
    }

static void sum(void *in, void *out, int *length, MPI_Datatype *datatype) {
    (void)datatype;
    for (int i = 0; i < *length; i++) ((int *)out)[i] += ((int *)in)[i];
}
static int delete_comm(MPI_Comm of, int key, void *value, void *extra) {
    (void)of, (void)key, (void)extra;
    MPI_Comm_free(value);
    return MPI_SUCCESS;
}

R(proc_null_send, MPI_Send(b, 1, MPI_INT, MPI_PROC_NULL, 0, W_))
R(proc_null_recv, MPI_Recv(b, 1, MPI_INT, MPI_PROC_NULL, 0, W_, &st))
R(proc_null_isend, MPI_Isend(b, 1, MPI_INT, MPI_PROC_NULL, 0, W_, &q); MPI_Wait(&q, &st))
R(proc_null_irecv, MPI_Irecv(b, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, W_, &q); MPI_Wait(&q, &st))
R(proc_null_sendrecv, MPI_Sendrecv(b, 1, MPI_INT, MPI_PROC_NULL, 0, b, 1, MPI_INT, MPI_PROC_NULL, 0, W_, &st))
R(proc_null_null, MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, W_))
R(proc_null_probe, MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, W_, &st))
R(count_zero, MPI_Sendrecv(NULL, 0, MPI_INT, right_, 0, NULL, 0, MPI_INT, left, 0, W_, &st))
R(count_zero_collective, MPI_Bcast(NULL, 0, MPI_INT, 0, W_); MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, W_))
R(ring, MPI_Sendrecv(b, 3, MPI_INT, right_, 1, c, 3, MPI_INT, left, 1, W_, &st))
R(ring_replace, MPI_Sendrecv_replace(b, 3, MPI_INT, right_, 1, left, 1, W_, &st))
R(ring_any, MPI_Sendrecv(b, 3, MPI_INT, right_, 1, c, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W_, MPI_STATUS_IGNORE))
R(recv_longer, MPI_Sendrecv(b, 3, MPI_INT, right_, 1, c, 300, MPI_INT, left, 1, W_, &st))
R(sendrecv_self, MPI_Sendrecv(b, 3, MPI_INT, r, 1, c, 3, MPI_INT, r, 1, W_, &st))
R(sendrecv_on_self, MPI_Sendrecv(b, 3, MPI_INT, 0, 1, c, 3, MPI_INT, 0, 1, MPI_COMM_SELF, &st))
R(tag_bound, int *bound; MPI_Comm_get_attr(W_, MPI_TAG_UB, &bound, &flag); MPI_Sendrecv(b, 1, MPI_INT, right_, *bound, c, 1, MPI_INT, left, *bound, W_, &st))
R(isend_irecv, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); MPI_Waitall(2, qs, sts))
R(isend_irecv_ignore, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE))
R(isend_read, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); value = b[3]; MPI_Waitall(2, qs, sts))
R(isend_twice, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Irecv(c + 9, 9, MPI_INT, left, 2, W_, qs + 1); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 2); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 3); MPI_Waitall(4, qs, sts))
R(wait_other_order, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Irecv(c + 9, 4, MPI_INT, left, 2, W_, qs + 1); MPI_Send(b, 9, MPI_INT, right_, 2, W_); MPI_Send(b, 4, MPI_INT, right_, 2, W_); MPI_Wait(qs + 1, &st); MPI_Wait(qs, &st))
R(two_tags_other_order, MPI_Irecv(c, 4, MPI_INT, left, 7, W_, qs); MPI_Irecv(d, 4, MPI_DOUBLE, left, 8, W_, qs + 1); MPI_Isend(e, 4, MPI_DOUBLE, right_, 8, W_, qs + 2); MPI_Isend(b, 4, MPI_INT, right_, 7, W_, qs + 3); MPI_Waitall(4, qs, sts))
R(any_types, MPI_Irecv(c, 4, MPI_INT, MPI_ANY_SOURCE, 7, W_, qs); MPI_Irecv(d, 4, MPI_DOUBLE, MPI_ANY_SOURCE, 8, W_, qs + 1); MPI_Isend(e, 4, MPI_DOUBLE, right_, 8, W_, qs + 2); MPI_Isend(b, 4, MPI_INT, right_, 7, W_, qs + 3); MPI_Waitall(4, qs, sts))
R(waitany, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); MPI_Waitany(2, qs, &value, &st); MPI_Waitany(2, qs, &value, &st))
R(waitany_none, qs[0] = qs[1] = MPI_REQUEST_NULL; MPI_Waitany(2, qs, &value, &st))
R(waitsome, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); int at[2]; for (int done = 0; done < 2; done += value) MPI_Waitsome(2, qs, &value, at, sts))
R(testall, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); do MPI_Testall(2, qs, &flag, sts); while (!flag))
R(testany, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); for (int done = 0; done < 2; done += flag) MPI_Testany(2, qs, &value, &flag, &st))
R(test, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 9, MPI_INT, right_, 2, W_, qs + 1); do MPI_Test(qs, &flag, &st); while (!flag); do MPI_Test(qs + 1, &flag, MPI_STATUS_IGNORE); while (!flag))
R(wait_null, q = MPI_REQUEST_NULL; MPI_Wait(&q, &st))
R(get_status, MPI_Irecv(c, 9, MPI_INT, left, 2, W_, qs); MPI_Send(b, 9, MPI_INT, right_, 2, W_); do MPI_Request_get_status(qs[0], &flag, &st); while (!flag); c[0] = 5; MPI_Wait(qs, &st))
R(isend_freed, MPI_Isend(b, 1, MPI_INT, right_, 2, W_, &q); MPI_Request_free(&q); MPI_Recv(c, 1, MPI_INT, left, 2, W_, &st))
R(cancelled, MPI_Irecv(c, 9, MPI_INT, left, 99, W_, &q); MPI_Cancel(&q); MPI_Wait(&q, &st); MPI_Test_cancelled(&st, &flag))
R(persistent, MPI_Recv_init(c, 9, MPI_INT, left, 2, W_, qs); MPI_Send_init(b, 9, MPI_INT, right_, 2, W_, qs + 1); for (int i = 0; i < 3; i++) { b[1] = i; MPI_Startall(2, qs); MPI_Waitall(2, qs, sts); } MPI_Request_free(qs); MPI_Request_free(qs + 1))
R(persistent_start, MPI_Recv_init(c, 9, MPI_INT, left, 2, W_, qs); MPI_Send_init(b, 9, MPI_INT, right_, 2, W_, qs + 1); MPI_Start(qs); MPI_Start(qs + 1); MPI_Wait(qs + 1, &st); MPI_Wait(qs, &st); MPI_Request_free(qs); MPI_Request_free(qs + 1))
R(persistent_inactive_wait, MPI_Recv_init(c, 9, MPI_INT, left, 2, W_, &q); MPI_Wait(&q, &st); MPI_Request_free(&q))
R(persistent_never_started, MPI_Send_init(b, 9, MPI_INT, left, 2, W_, &q); MPI_Request_free(&q))
R(persistent_same_buffer, MPI_Send_init(b, 9, MPI_INT, left, 2, W_, qs); MPI_Recv_init(b, 9, MPI_INT, left, 2, W_, qs + 1); MPI_Request_free(qs); MPI_Request_free(qs + 1))
R(probe, MPI_Isend(b, 5, MPI_INT, right_, 3, W_, &q); MPI_Probe(left, 3, W_, &st); MPI_Get_count(&st, MPI_INT, &value); MPI_Recv(c, value, MPI_INT, left, 3, W_, &st); MPI_Wait(&q, &st))
R(probe_any, MPI_Isend(b, 5, MPI_INT, right_, 3, W_, &q); MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &st); MPI_Recv(c, 5, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, W_, &st); MPI_Wait(&q, &st))
R(iprobe, MPI_Isend(b, 5, MPI_INT, right_, 3, W_, &q); do MPI_Iprobe(left, 3, W_, &flag, &st); while (!flag); MPI_Recv(c, 5, MPI_INT, left, 3, W_, &st); MPI_Wait(&q, &st))
R(mprobe, MPI_Isend(b, 5, MPI_INT, right_, 3, W_, &q); MPI_Mprobe(left, 3, W_, &m, &st); MPI_Mrecv(c, 5, MPI_INT, &m, &st); MPI_Wait(&q, &st))
R(improbe, MPI_Isend(b, 5, MPI_INT, right_, 3, W_, &q); do MPI_Improbe(MPI_ANY_SOURCE, 3, W_, &flag, &m, &st); while (!flag); MPI_Imrecv(c, 5, MPI_INT, &m, qs); MPI_Wait(qs, &st); MPI_Wait(&q, &st))
R(mprobe_nobody, MPI_Mprobe(MPI_PROC_NULL, 3, W_, &m, &st); MPI_Mrecv(c, 5, MPI_INT, &m, &st))
R(ssend, if (r % 2 == 0 && r + 1 < n) MPI_Ssend(b, 4, MPI_INT, r + 1, 3, W_); if (r % 2) MPI_Recv(c, 4, MPI_INT, r - 1, 3, W_, &st))
R(issend, MPI_Issend(b, 4, MPI_INT, right_, 3, W_, &q); MPI_Recv(c, 4, MPI_INT, left, 3, W_, &st); MPI_Wait(&q, &st))
R(rsend, MPI_Irecv(c, 4, MPI_INT, left, 3, W_, &q); MPI_Barrier(W_); MPI_Rsend(b, 4, MPI_INT, right_, 3, W_); MPI_Wait(&q, &st))
R(bsend, char *room = malloc(4096 + MPI_BSEND_OVERHEAD); MPI_Buffer_attach(room, 4096 + MPI_BSEND_OVERHEAD); MPI_Bsend(b, 4, MPI_INT, right_, 3, W_); b[0] = 3; MPI_Recv(c, 4, MPI_INT, left, 3, W_, &st); MPI_Buffer_detach(&room, &value); free(room))
R(long_messages, MPI_Irecv(c, 65536, MPI_INT, left, 2, W_, qs); MPI_Isend(b, 65536, MPI_INT, right_, 2, W_, qs + 1); MPI_Waitall(2, qs, sts))
R(many_requests, for (int i = 0; i < 64; i++) MPI_Irecv(c + i, 1, MPI_INT, left, i, W_, qs + i); for (int i = 0; i < 64; i++) MPI_Isend(b + i, 1, MPI_INT, right_, i, W_, qs + 64 + i); MPI_Waitall(128, qs, MPI_STATUSES_IGNORE))
R(columns, MPI_Type_vector(4, 1, 4, MPI_INT, &t); MPI_Type_commit(&t); MPI_Irecv(c, 1, t, left, 1, W_, qs); MPI_Irecv(c + 1, 1, t, left, 2, W_, qs + 1); MPI_Send(b, 4, MPI_INT, right_, 1, W_); MPI_Send(b, 1, t, right_, 2, W_); MPI_Waitall(2, qs, sts); MPI_Type_free(&t))
R(contiguous_as_ints, MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Sendrecv(b, 2, t, right_, 1, c, 4, MPI_INT, left, 1, W_, &st); MPI_Type_free(&t))
R(struct_as_parts, int lengths[2] = {1, 1}; MPI_Aint at[2] = {0, 8}; MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}; MPI_Type_create_struct(2, lengths, at, types, &t); MPI_Type_commit(&t); MPI_Sendrecv(d, 2, t, right_, 1, e, 2, t, left, 1, W_, &st); MPI_Type_free(&t))
R(packed, value = 0; MPI_Pack(b, 4, MPI_INT, c, 64, &value, W_); MPI_Sendrecv(c, value, MPI_PACKED, right_, 1, d, 4, MPI_INT, left, 1, W_, &st))
R(bytes, MPI_Sendrecv(b, 16, MPI_BYTE, right_, 1, c, 16, MPI_BYTE, left, 1, W_, &st))
R(bottom, MPI_Aint at; MPI_Get_address(b, &at); value = 2; MPI_Type_create_hindexed(1, &value, &at, MPI_INT, &t); MPI_Type_commit(&t); MPI_Sendrecv(MPI_BOTTOM, 1, t, right_, 1, c, 2, MPI_INT, left, 1, W_, &st); MPI_Type_free(&t))
R(freed_while_used, MPI_Type_contiguous(4, MPI_INT, &t); MPI_Type_commit(&t); MPI_Irecv(c, 1, t, left, 1, W_, &q); MPI_Type_free(&t); MPI_Send(b, 4, MPI_INT, right_, 1, W_); MPI_Wait(&q, &st))
R(not_committed_base, MPI_Type_contiguous(4, MPI_INT, &u); MPI_Type_contiguous(2, u, &t); MPI_Type_free(&u); MPI_Type_commit(&t); MPI_Sendrecv(b, 1, t, right_, 1, c, 8, MPI_INT, left, 1, W_, &st); MPI_Type_free(&t))
R(dup_committed, MPI_Type_contiguous(4, MPI_INT, &u); MPI_Type_commit(&u); MPI_Type_dup(u, &t); MPI_Bcast(b, 1, t, 0, W_); MPI_Type_free(&t); MPI_Type_free(&u))
R(dup_predefined, MPI_Type_dup(MPI_INT, &t); MPI_Bcast(b, 1, t, 0, W_); MPI_Type_free(&t))
R(resized, MPI_Type_create_resized(MPI_INT, 0, 16, &t); MPI_Type_commit(&t); MPI_Sendrecv(b, 4, t, right_, 1, c, 4, MPI_INT, left, 1, W_, &st); MPI_Type_free(&t))
R(subarray, int sizes[2] = {4, 4}, subs[2] = {2, 2}, starts[2] = {1, 1}; MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &t); MPI_Type_commit(&t); MPI_Sendrecv(b, 1, t, right_, 1, c, 4, MPI_INT, left, 1, W_, &st); MPI_Type_free(&t))
R(darray, int sizes[1] = {8}, kinds[1] = {MPI_DISTRIBUTE_BLOCK}, args[1] = {MPI_DISTRIBUTE_DFLT_DARG}, grid[1]; grid[0] = n; MPI_Type_create_darray(n, r, 1, sizes, kinds, args, grid, MPI_ORDER_C, MPI_INT, &t); MPI_Type_commit(&t); MPI_Type_free(&t))
R(indexed, int lengths[2] = {2, 1}, at[2] = {4, 0}; MPI_Type_indexed(2, lengths, at, MPI_INT, &t); MPI_Type_commit(&t); MPI_Bcast(b, 1, t, 0, W_); MPI_Type_free(&t))
R(indexed_root, int lengths[2] = {2, 1}, at[2] = {4, 0}; MPI_Type_indexed(2, lengths, at, MPI_INT, &t); MPI_Type_commit(&t); MPI_Bcast(b, r ? 3 : 1, r ? MPI_INT : t, 0, W_); MPI_Type_free(&t))
R(vector_backwards, MPI_Type_vector(3, 1, -2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Bcast(b + 8, 1, t, 0, W_); MPI_Type_free(&t))
R(empty_type, MPI_Type_contiguous(0, MPI_INT, &t); MPI_Type_commit(&t); MPI_Bcast(b, 1, t, 0, W_); MPI_Type_free(&t))
R(contents, MPI_Type_contiguous(2, MPI_INT, &u); MPI_Type_contiguous(2, u, &t); int i[4]; MPI_Aint a[4]; MPI_Datatype of[1]; int ni, na, nd, k; MPI_Type_get_envelope(t, &ni, &na, &nd, &k); MPI_Type_get_contents(t, ni, na, nd, i, a, of); MPI_Type_free(of); MPI_Type_free(&t); MPI_Type_free(&u))
R(match_size, MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &t); MPI_Bcast(b, 1, t, 0, W_))
R(f90_type, MPI_Type_create_f90_integer(6, &t); MPI_Bcast(b, 1, t, 0, W_))
R(type_names, char name[MPI_MAX_OBJECT_NAME]; MPI_Type_get_name(MPI_INT, name, &value); MPI_Comm_get_name(W_, name, &value))

R(barrier, MPI_Barrier(W_); MPI_Ibarrier(W_, &q); MPI_Wait(&q, &st))
R(bcast_each, for (int i = 0; i < n; i++) MPI_Bcast(b, 4, MPI_INT, i, W_))
R(bcast_loop, for (int i = 0; i < 300; i++) MPI_Bcast(b, 4, MPI_INT, 0, W_))
R(reduce_each, for (int i = 0; i < n; i++) MPI_Reduce(b, c, 4, MPI_INT, MPI_SUM, i, W_))
R(reduce_not_root, MPI_Reduce(b, r ? NULL : c, 4, MPI_INT, MPI_SUM, 0, W_))
R(reduce_in_place, if (r) MPI_Reduce(b, NULL, 4, MPI_INT, MPI_SUM, 0, W_); else MPI_Reduce(MPI_IN_PLACE, b, 4, MPI_INT, MPI_SUM, 0, W_))
R(reduce_same_at_others, MPI_Reduce(b, r ? b : c, 4, MPI_INT, MPI_SUM, 0, W_))
R(allreduce, MPI_Allreduce(b, c, 4, MPI_INT, MPI_MAX, W_))
R(allreduce_in_place, MPI_Allreduce(MPI_IN_PLACE, b, 4, MPI_INT, MPI_SUM, W_))
R(allreduce_next, MPI_Allreduce(b, b + 4, 4, MPI_INT, MPI_SUM, W_))
R(allreduce_some_in_place, if (r) MPI_Allreduce(b, c, 4, MPI_INT, MPI_SUM, W_); else MPI_Allreduce(MPI_IN_PLACE, b, 4, MPI_INT, MPI_SUM, W_))
R(allreduce_maxloc, MPI_Allreduce(b, c, 2, MPI_2INT, MPI_MAXLOC, W_); MPI_Allreduce(d, e, 2, MPI_DOUBLE_INT, MPI_MINLOC, W_))
R(allreduce_logical, MPI_Allreduce(b, c, 2, MPI_C_BOOL, MPI_LAND, W_); MPI_Allreduce(b, c, 2, MPI_INT, MPI_LOR, W_))
R(allreduce_bytes, MPI_Allreduce(b, c, 2, MPI_BYTE, MPI_BOR, W_))
R(allreduce_char, MPI_Allreduce(b, c, 2, MPI_SIGNED_CHAR, MPI_SUM, W_))
R(allreduce_complex, MPI_Allreduce(d, e, 2, MPI_C_DOUBLE_COMPLEX, MPI_SUM, W_))
R(allreduce_wide, MPI_Allreduce(d, e, 2, MPI_LONG_DOUBLE, MPI_MAX, W_))
R(own_op, MPI_Op_create(sum, 1, &op); MPI_Allreduce(b, c, 4, MPI_INT, op, W_); MPI_Op_free(&op))
R(own_op_derived, MPI_Op_create(sum, 1, &op); MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Allreduce(b, c, 2, t, op, W_); MPI_Type_free(&t); MPI_Op_free(&op))
R(scan, MPI_Scan(b, c, 4, MPI_INT, MPI_SUM, W_); MPI_Exscan(b, c, 4, MPI_INT, MPI_SUM, W_); MPI_Scan(MPI_IN_PLACE, c, 4, MPI_INT, MPI_SUM, W_))
R(gather, MPI_Gather(b, 3, MPI_INT, c, 3, MPI_INT, 0, W_))
R(gather_not_root, MPI_Gather(b, 3, MPI_INT, r ? NULL : c, r ? -1 : 3, r ? MPI_DATATYPE_NULL : MPI_INT, 0, W_))
R(gather_in_place, if (r) MPI_Gather(b, 3, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, W_); else MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c, 3, MPI_INT, 0, W_))
R(gather_types, MPI_Type_contiguous(3, MPI_INT, &t); MPI_Type_commit(&t); MPI_Gather(b, 1, t, c, 3, MPI_INT, 0, W_); MPI_Type_free(&t))
R(gatherv, int lengths[64]; for (int i = 0; i < n; i++) lengths[i] = i + 1, steps[i] = i * 64; MPI_Gatherv(b, r + 1, MPI_INT, c, lengths, steps, MPI_INT, 0, W_))
R(gatherv_not_root, int three[64]; for (int i = 0; i < n; i++) three[i] = 3, steps[i] = i * 4; if (r) MPI_Gatherv(b, 3, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, W_); else MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, c, three, steps, MPI_INT, 0, W_))
R(scatter, MPI_Scatter(b, 3, MPI_INT, c, 3, MPI_INT, 0, W_))
R(scatter_not_root, MPI_Scatter(r ? NULL : b, r ? 0 : 3, r ? MPI_DATATYPE_NULL : MPI_INT, c, 3, MPI_INT, 0, W_))
R(scatter_in_place, if (r) MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, c, 3, MPI_INT, 0, W_); else MPI_Scatter(b, 3, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, W_))
R(scatterv, int lengths[64]; for (int i = 0; i < n; i++) lengths[i] = i, steps[i] = i * i; MPI_Scatterv(b, lengths, steps, MPI_INT, c, r, MPI_INT, 0, W_))
R(allgather, MPI_Allgather(b, 3, MPI_INT, c, 3, MPI_INT, W_))
R(allgather_in_place, MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c, 3, MPI_INT, W_))
R(allgatherv, int lengths[64]; for (int i = 0; i < n; i++) lengths[i] = i, steps[i] = i * i; MPI_Allgatherv(b, r, MPI_INT, c, lengths, steps, MPI_INT, W_))
R(alltoall, MPI_Alltoall(b, 3, MPI_INT, c, 3, MPI_INT, W_); MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, c, 3, MPI_INT, W_))
R(alltoallv, int sent[64], got[64], at[64]; for (int i = 0; i < n; i++) sent[i] = r, got[i] = i, at[i] = i * 64; MPI_Alltoallv(b, sent, at, MPI_INT, c, got, at, MPI_INT, W_))
R(alltoallw, int at[64]; MPI_Datatype types[64]; for (int i = 0; i < n; i++) at[i] = i * 8, types[i] = MPI_INT; MPI_Alltoallw(b, ones, at, types, c, ones, at, types, W_))
R(reduce_scatter, int lengths[64]; for (int i = 0; i < n; i++) lengths[i] = i; MPI_Reduce_scatter(b, c, lengths, MPI_INT, MPI_SUM, W_); MPI_Reduce_scatter_block(b, c, 2, MPI_INT, MPI_SUM, W_))
R(nonblocking, MPI_Ibcast(b, 4, MPI_INT, 0, W_, qs); MPI_Iallreduce(b + 16, c, 4, MPI_INT, MPI_SUM, W_, qs + 1); MPI_Ialltoall(d, 1, MPI_DOUBLE, e, 1, MPI_DOUBLE, W_, qs + 2); MPI_Waitall(3, qs, sts))
R(nonblocking_sizes, MPI_Igather(b, 2, MPI_INT, c, 2, MPI_INT, 0, W_, qs); MPI_Iscatter(b, 2, MPI_INT, d, 2, MPI_INT, 1, W_, qs + 1); MPI_Waitall(2, qs, sts))
R(nonblocking_later, MPI_Ibarrier(W_, &q); MPI_Allreduce(b, c, 1, MPI_INT, MPI_SUM, W_); MPI_Wait(&q, &st))
R(on_self, MPI_Bcast(b, r + 1, MPI_INT, 0, MPI_COMM_SELF); MPI_Allreduce(b, c, r + 1, MPI_INT, r ? MPI_SUM : MPI_MAX, MPI_COMM_SELF))
R(own_colors, MPI_Comm_split(W_, r % 2, 0, &comm); MPI_Bcast(b, r % 2 + 1, MPI_INT, 0, comm); if (r % 2) MPI_Barrier(comm); MPI_Comm_free(&comm))
R(undefined_color, MPI_Comm_split(W_, r ? MPI_UNDEFINED : 0, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
R(dup, MPI_Comm_dup(W_, &comm); MPI_Bcast(b, 4, MPI_INT, 0, comm); MPI_Comm_free(&comm))
R(dup_often, for (int i = 0; i < 20; i++) { MPI_Comm_dup(W_, &comm); MPI_Barrier(comm); MPI_Comm_free(&comm); })
R(two_comms_other_numbers, MPI_Comm_dup(W_, &comm); MPI_Comm_split(comm, 0, -r, &sub); MPI_Bcast(b, 2, MPI_INT, 0, sub); MPI_Bcast(b, 1, MPI_INT, 0, comm); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(idup, MPI_Comm_idup(W_, &comm, &q); MPI_Wait(&q, &st); MPI_Barrier(comm); MPI_Comm_free(&comm))
R(split_type, MPI_Comm_split_type(W_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm); MPI_Barrier(comm); MPI_Comm_free(&comm))
R(comm_create, MPI_Comm_group(W_, &g); MPI_Group_incl(g, 1, zeros, &h); MPI_Comm_create(W_, h, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm); MPI_Group_free(&g); MPI_Group_free(&h))
R(comm_create_group, MPI_Comm_group(W_, &g); MPI_Group_incl(g, 1, zeros, &h); if (!r) { MPI_Comm_create_group(W_, h, 5, &comm); MPI_Comm_free(&comm); } MPI_Group_free(&g); MPI_Group_free(&h))
R(group_twice, MPI_Comm_group(W_, &g); MPI_Comm_group(W_, &h); MPI_Group_free(&g); MPI_Group_size(h, &value); MPI_Group_free(&h))
R(group_empty, MPI_Comm_group(W_, &g); MPI_Group_incl(g, 0, zeros, &h); if (h != MPI_GROUP_EMPTY) MPI_Group_free(&h); MPI_Group_free(&g))
R(intercomm, MPI_Comm_split(W_, r % 2, 0, &comm); MPI_Intercomm_create(comm, 0, W_, r % 2 ? 0 : 1, 3, &sub); MPI_Barrier(sub); MPI_Bcast(b, 2, MPI_INT, r % 2 ? 0 : r == 0 ? MPI_ROOT : MPI_PROC_NULL, sub); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(intercomm_null_peer, MPI_Comm_split(W_, r % 2, 0, &comm); int lead; MPI_Comm_rank(comm, &lead); MPI_Intercomm_create(comm, 0, lead ? MPI_COMM_NULL : W_, r % 2 ? 0 : 1, 3, &sub); MPI_Comm merged; MPI_Intercomm_merge(sub, r % 2, &merged); MPI_Barrier(merged); MPI_Comm_free(&merged); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(cart, int dims[1]; dims[0] = n; MPI_Cart_create(W_, 1, dims, ones, 0, &comm); int from, to; MPI_Cart_shift(comm, 0, 1, &from, &to); MPI_Sendrecv(b, 1, MPI_INT, to, 0, c, 1, MPI_INT, from, 0, comm, &st); MPI_Neighbor_allgather(b, 1, MPI_INT, c, 1, MPI_INT, comm); MPI_Comm_free(&comm))
R(cart_border, int dims[1]; dims[0] = n; MPI_Cart_create(W_, 1, dims, zeros, 0, &comm); int from, to; MPI_Cart_shift(comm, 0, 1, &from, &to); MPI_Sendrecv(b, 1, MPI_INT, to, 0, c, 1, MPI_INT, from, 0, comm, &st); MPI_Neighbor_alltoall(b, 1, MPI_INT, c, 1, MPI_INT, comm); MPI_Comm_free(&comm))
R(cart_small, int dims[1] = {1}; MPI_Cart_create(W_, 1, dims, zeros, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
R(dims, int dims[2] = {0, 0}; MPI_Dims_create(n, 2, dims))
R(dist_graph, MPI_Dist_graph_create_adjacent(W_, 1, &left, MPI_UNWEIGHTED, 1, &right_, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); MPI_Neighbor_alltoall(b, 1, MPI_INT, c, 1, MPI_INT, comm); MPI_Comm_free(&comm))
R(dist_graph_empty, MPI_Dist_graph_create_adjacent(W_, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm); MPI_Comm_free(&comm))
R(disconnect, MPI_Comm_dup(W_, &comm); MPI_Comm_disconnect(&comm))
R(get_parent, MPI_Comm_get_parent(&comm))
R(freed_in_delete, MPI_Comm *held = malloc(sizeof *held); MPI_Comm_dup(MPI_COMM_SELF, held); int key; MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &key, NULL); MPI_Comm_set_attr(MPI_COMM_SELF, key, held); MPI_Comm_free_keyval(&key))
R(errhandler, MPI_Errhandler old; MPI_Comm_get_errhandler(W_, &old); MPI_Comm_set_errhandler(W_, MPI_ERRORS_RETURN); MPI_Comm_set_errhandler(W_, old); if (old != MPI_ERRORS_ARE_FATAL) MPI_Errhandler_free(&old))
R(file_errhandler, MPI_Errhandler old; MPI_File_get_errhandler(MPI_FILE_NULL, &old); MPI_File_set_errhandler(MPI_FILE_NULL, old); MPI_Errhandler_free(&old))
R(info_objects, MPI_Info_create(&info); MPI_Info_set(info, "a", "b"); MPI_Info other; MPI_Info_dup(info, &other); MPI_Info_free(&info); MPI_Info_free(&other))
R(comm_info, MPI_Comm_set_info(W_, MPI_INFO_NULL == 0 ? MPI_INFO_NULL : MPI_INFO_ENV); MPI_Comm_get_info(W_, &info); MPI_Info_free(&info))
R(fence, MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(MPI_MODE_NOPRECEDE, w); MPI_Put(c, 1, MPI_INT, right_, 5, 1, MPI_INT, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); MPI_Win_free(&w))
R(fence_get, MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Get(c, 4, MPI_INT, right_, 0, 4, MPI_INT, w); MPI_Win_fence(0, w); MPI_Accumulate(c, 1, MPI_INT, 0, 6, 1, MPI_INT, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(put_nobody, MPI_Win_create(b, 4, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(empty_window, MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(lock, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, w); MPI_Put(b, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_unlock(right_, w); MPI_Barrier(W_); MPI_Win_free(&w))
R(lock_all, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock_all(0, w); MPI_Fetch_and_op(b, c, MPI_INT, 0, 0, MPI_SUM, w); MPI_Win_flush(0, w); MPI_Fetch_and_op(NULL, c, MPI_INT, 0, 0, MPI_NO_OP, w); MPI_Win_flush_all(w); MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w))
R(rput, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock_all(0, w); MPI_Rput(b, 1, MPI_INT, right_, 0, 1, MPI_INT, w, &q); MPI_Wait(&q, &st); MPI_Win_unlock_all(w); MPI_Win_free(&w))
R(pscw, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Comm_group(W_, &g); MPI_Group_incl(g, 1, &left, &h); MPI_Win_post(h, 0, w); MPI_Group_free(&h); MPI_Group_incl(g, 1, &right_, &h); MPI_Win_start(h, 0, w); MPI_Put(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Win_wait(w); MPI_Group_free(&h); MPI_Group_free(&g); MPI_Win_free(&w))
#define WIN MPI_Win_create(b, 4096, 4, MPI_INFO_NULL, W_, &w)
R(fence_then_lock, WIN; MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, right_, 5, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Get(c, 1, MPI_INT, 0, 9, 1, MPI_INT, w); MPI_Win_unlock(0, w); MPI_Barrier(W_); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(put_flush_get, WIN; MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, w); MPI_Put(c, 1, MPI_INT, right_, 5, 1, MPI_INT, w); MPI_Win_flush(right_, w); MPI_Get(c + 9, 1, MPI_INT, right_, 5, 1, MPI_INT, w); MPI_Win_unlock(right_, w); MPI_Barrier(W_); MPI_Win_free(&w))
R(put_flush_local_change, WIN; MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, w); MPI_Put(c, 1, MPI_INT, right_, 5, 1, MPI_INT, w); MPI_Win_flush_local(right_, w); c[0]++; MPI_Put(c, 1, MPI_INT, right_, 6, 1, MPI_INT, w); MPI_Win_unlock(right_, w); MPI_Barrier(W_); MPI_Win_free(&w))
R(puts_to_one_place, WIN; MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, w); for (int i = 0; i < 9; i++) MPI_Put(c, 1, MPI_INT, right_, 5, 1, MPI_INT, w); MPI_Win_unlock(right_, w); MPI_Barrier(W_); MPI_Win_free(&w))
R(gets_to_one_buffer, WIN; MPI_Win_fence(0, w); for (int i = 0; i < 9; i++) MPI_Get(c, 1, MPI_INT, right_, i, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(accumulates, WIN; MPI_Win_fence(0, w); MPI_Accumulate(c, 1, MPI_INT, right_, 5, 1, MPI_INT, MPI_SUM, w); MPI_Accumulate(c + 1, 1, MPI_INT, right_, 5, 1, MPI_INT, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(rput_wait_change, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock_all(0, w); MPI_Rput(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w, &q); MPI_Wait(&q, &st); c[0]++; MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w))
R(rget_wait_put, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock_all(0, w); MPI_Rget(c, 1, MPI_INT, r, 3, 1, MPI_INT, w, &q); MPI_Wait(&q, &st); MPI_Put(b, 1, MPI_INT, r, 3, 1, MPI_INT, w); MPI_Win_unlock_all(w); MPI_Win_free(&w))
R(no_op_buffer, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock_all(0, w); MPI_Fetch_and_op(c, c + 9, MPI_INT, 0, 0, MPI_NO_OP, w); c[0]++; MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w))
R(two_locks, if (n > 2) { WIN; MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w); MPI_Get(c, 1, MPI_INT, 1, 0, 1, MPI_INT, w); MPI_Win_unlock(0, w); MPI_Win_unlock(1, w); MPI_Barrier(W_); MPI_Win_free(&w); })
R(lock_two_windows, MPI_Win v; WIN; MPI_Win_create(c, 64, 4, MPI_INFO_NULL, W_, &v); MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Win_fence(0, v); MPI_Win_unlock(0, w); MPI_Win_fence(0, v); MPI_Win_free(&v); MPI_Win_free(&w))
R(put_to_nobody_outside, WIN; MPI_Win_fence(0, w); MPI_Win_fence(0, w); MPI_Get(c, 0, MPI_INT, right_, 0, 0, MPI_INT, w); MPI_Put(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); MPI_Win_free(&w))
R(dynamic, MPI_Win_create_dynamic(MPI_INFO_NULL, W_, &w); MPI_Win_attach(w, b, 64); MPI_Win_detach(w, b); MPI_Win_free(&w))
R(window_group, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_get_group(w, &g); MPI_Group_free(&g); MPI_Win_free(&w))
R(shared_window, int *base; MPI_Aint size; MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_shared_query(w, MPI_PROC_NULL, &size, &value, &base); MPI_Win_free(&w))
R(file, MPI_File f; char name[64]; snprintf(name, sizeof name, "/tmp/check-right-%d", r); MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_File_write(f, b, 4, MPI_INT, &st); MPI_File_iwrite(f, b, 4, MPI_INT, &q); MPI_Wait(&q, &st); MPI_File_close(&f))
R(initialized, MPI_Initialized(&flag); MPI_Finalized(&flag))

int main(int argc, char **argv) {
    int level;
    MPI_Initialized(&flag);
    MPI_Get_version(&value, &flag);
    MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(W_, &r);
    MPI_Comm_size(W_, &n);
    right_ = (r + 1) % n;
    left = (r + n - 1) % n;
    for (int i = 0; i < 64; i++) ones[i] = 1;
    for (int i = 0; i < count; i++) {
        if (argc > 1 && strcmp(argv[1], "all") && strcmp(argv[1], cases[i].name)) continue;
        if (getenv("SAY") && !r) puts(cases[i].name), fflush(stdout);
        cases[i].run();
        MPI_Barrier(W_);
    }
    if (!r) printf("%d programs\n", count);
    MPI_Finalize();
    MPI_Finalized(&flag);
    return 0;
}
