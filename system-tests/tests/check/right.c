/* Right programs: nothing may be found in any. Each line that begins with R is one; all run one after the other, on any
 * number of ranks from two on. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
/* Of unistd.h, whose other names are those of programs here. */
int close(int), ftruncate(int, off_t), getpid(void), unlink(const char *), usleep(unsigned);

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
/* A datatype that MPI takes no notice of. Open MPI looks at it all the same. */
#ifdef MPICH
#define NO_TYPE MPI_DATATYPE_NULL
#else
#define NO_TYPE MPI_INT
#endif
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
R(fences_of_two_windows, MPI_Win v; MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_create(c, 64, 4, MPI_INFO_NULL, W_, &v); for (int i = 0; i < 3; i++) MPI_Win_fence(0, w), MPI_Win_fence(0, v); MPI_Win_fence(MPI_MODE_NOSUCCEED, v); MPI_Win_free(&v); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(windows_of_halves, MPI_Comm_split(W_, r % 2, 0, &comm); MPI_Win_create(b, 64, 4, MPI_INFO_NULL, comm, &w); MPI_Win_fence(0, w); if (r % 2) MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Comm_free(&comm))
R(files_of_all_and_of_one, MPI_File f; MPI_File g; char name[64] = ""; char own[80]; if (!r) snprintf(name, sizeof name, "/tmp/check-right-both-%d", getpid()); MPI_Bcast(name, 64, MPI_CHAR, 0, W_); snprintf(own, sizeof own, "%s-%d", name, r); MPI_File_open(W_, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &g); if (r % 2) MPI_File_set_size(g, 64), MPI_File_write_all(g, b, 4, MPI_INT, &st); MPI_File_set_size(f, 64); MPI_File_write_at(f, 4 * r, b, 1, MPI_INT, &st); MPI_File_iwrite_at_all(f, 4 * r, b, 1, MPI_INT, &q); MPI_Wait(&q, &st); MPI_File_close(&g); MPI_File_write_ordered(f, b, 1, MPI_INT, &st); MPI_File_preallocate(f, 128); MPI_File_close(&f))
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
R(no_op_ignores_the_origin, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_fence(0, w); MPI_Get_accumulate(NULL, 4, MPI_INT, c, 4, MPI_INT, 0, 0, 4, MPI_INT, MPI_NO_OP, w); MPI_Get_accumulate(NULL, 0, NO_TYPE, c + 8, 4, MPI_INT, 0, 4, 4, MPI_INT, MPI_NO_OP, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(two_locks, if (n > 2) { WIN; MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w); MPI_Get(c, 1, MPI_INT, 1, 0, 1, MPI_INT, w); MPI_Win_unlock(0, w); MPI_Win_unlock(1, w); MPI_Barrier(W_); MPI_Win_free(&w); })
R(lock_two_windows, MPI_Win v; WIN; MPI_Win_create(c, 64, 4, MPI_INFO_NULL, W_, &v); MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Win_fence(0, v); MPI_Win_unlock(0, w); MPI_Win_fence(0, v); MPI_Win_free(&v); MPI_Win_free(&w))
R(put_to_nobody_outside, WIN; MPI_Win_fence(0, w); MPI_Win_fence(0, w); MPI_Get(c, 0, MPI_INT, right_, 0, 0, MPI_INT, w); MPI_Put(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); MPI_Win_free(&w))
R(dynamic, MPI_Win_create_dynamic(MPI_INFO_NULL, W_, &w); MPI_Win_attach(w, b, 64); MPI_Win_detach(w, b); MPI_Win_free(&w))
R(window_group, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_get_group(w, &g); MPI_Group_free(&g); MPI_Win_free(&w))
R(shared_window, int *base; MPI_Aint size; MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_shared_query(w, MPI_PROC_NULL, &size, &value, &base); MPI_Win_free(&w))
R(file, MPI_File f; char name[64]; snprintf(name, sizeof name, "/tmp/check-right-%d", r); MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_File_write(f, b, 4, MPI_INT, &st); MPI_File_iwrite(f, b, 4, MPI_INT, &q); MPI_Wait(&q, &st); MPI_File_close(&f))
/* One-sided operations of several processes. */
#define COLUMN MPI_Type_vector(4, 1, 4, MPI_INT, &t); MPI_Type_commit(&t)
#define NEXT_ENTRY 64 * r
R(puts_of_all, WIN; MPI_Win_fence(0, w); MPI_Put(c, 4, MPI_INT, 0, NEXT_ENTRY, 4, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(puts_of_all_the_same, WIN; c[0] = 7; MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, 0, 9, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(gets_of_all, WIN; MPI_Win_fence(0, w); MPI_Get(c, 4, MPI_INT, 0, 1, 4, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(sums_of_all, WIN; MPI_Win_fence(0, w); for (int i = 0; i < n; i++) MPI_Accumulate(c, 4, MPI_INT, i, 1, 4, MPI_INT, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(sums_and_reads_of_all, WIN; MPI_Win_fence(0, w); MPI_Get_accumulate(NULL, 0, MPI_INT, c, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_NO_OP, w); MPI_Accumulate(b + 2048, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(columns_of_all, COLUMN; WIN; MPI_Win_fence(0, w); if (r < 4) MPI_Put(c, 4, MPI_INT, 0, r, 1, t, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Type_free(&t))
R(columns_put_and_got, COLUMN; WIN; MPI_Win_fence(0, w); if (r == 0) MPI_Put(c, 4, MPI_INT, 0, 0, 1, t, w); if (r == 1) MPI_Get(c, 4, MPI_INT, 0, 1, 1, t, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Type_free(&t))
R(columns_of_one, COLUMN; WIN; MPI_Win_fence(0, w); MPI_Put(c, 4, MPI_INT, right_, 64 * r, 1, t, w); MPI_Get(c + 16, 4, MPI_INT, right_, 64 * r + 1, 1, t, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Type_free(&t))
R(even_and_odd, int even[2] = {0, 2}, odd[2] = {1, 3}; MPI_Type_create_indexed_block(2, 1, even, MPI_INT, &t); MPI_Type_create_indexed_block(2, 1, odd, MPI_INT, &u); MPI_Type_commit(&t); MPI_Type_commit(&u); WIN; MPI_Win_fence(0, w); if (r == 0) MPI_Put(c, 2, MPI_INT, right_, 0, 1, t, w), MPI_Get(c + 9, 2, MPI_INT, right_, 0, 1, u, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Type_free(&t); MPI_Type_free(&u))
R(halves_of_a_matrix, int sizes[2] = {8, 8}, subs[2] = {8, 4}, starts[2] = {0, 0}; starts[1] = r % 2 * 4; MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &t); MPI_Type_commit(&t); WIN; MPI_Win_fence(0, w); if (r < 2) MPI_Put(c, 32, MPI_INT, 0, 0, 1, t, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Type_free(&t))
R(fields_of_a_struct, int one = 1; MPI_Aint at = 4 * (r % 2); u = MPI_INT; MPI_Type_create_struct(1, &one, &at, &u, &t); MPI_Type_create_resized(t, 0, 8, &u); MPI_Type_commit(&u); WIN; MPI_Win_fence(0, w); if (r < 2) MPI_Put(c, 4, MPI_INT, 0, 0, 4, u, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Type_free(&t); MPI_Type_free(&u))
R(put_fence_get, WIN; MPI_Win_fence(0, w); if (!r) MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Get(c + 1, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(turns_of_fences, WIN; MPI_Win_fence(0, w); for (int i = 0; i < n; i++) { c[0] = r; if (r == i) MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); } MPI_Win_free(&w))
R(turns_of_exclusive_locks, WIN; MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_unlock(0, w); MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w); MPI_Get(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_unlock(0, w); MPI_Barrier(W_); MPI_Win_free(&w))
R(turns_of_barriers, WIN; MPI_Win_lock_all(0, w); for (int i = 0; i < n; i++) { c[0] = r; if (r == i) MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w), MPI_Win_flush(0, w); MPI_Barrier(W_); } MPI_Win_unlock_all(w); MPI_Win_free(&w))
R(turns_of_messages, WIN; MPI_Win_lock_all(MPI_MODE_NOCHECK, w); if (r) MPI_Recv(c, 1, MPI_INT, r - 1, 3, W_, &st); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_flush(0, w); if (r < n - 1) MPI_Send(c, 1, MPI_INT, r + 1, 3, W_); MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w))
R(turns_of_flags, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); for (int i = 0; i < 16; i++) base[i] = 0; MPI_Barrier(W_); MPI_Win_lock_all(0, w); int zero = 0, one = 1, got = r == 0; while (!got) { MPI_Fetch_and_op(&zero, &got, MPI_INT, r, 0, MPI_NO_OP, w); MPI_Win_flush(r, w); } c[0] = r; MPI_Put(c, 4, MPI_INT, 0, 8, 4, MPI_INT, w); MPI_Win_flush(0, w); if (r < n - 1) MPI_Accumulate(&one, 1, MPI_INT, r + 1, 0, 1, MPI_INT, MPI_REPLACE, w), MPI_Win_flush(r + 1, w); MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w))
R(turns_of_tickets, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); for (int i = 0; i < 16; i++) base[i] = 0; MPI_Barrier(W_); MPI_Win_lock_all(0, w); int one = 1, ticket, serving = -1; MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, w); MPI_Win_flush(0, w); while (serving != ticket) { MPI_Fetch_and_op(NULL, &serving, MPI_INT, 0, 1, MPI_NO_OP, w); MPI_Win_flush(0, w); } c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 8, 1, MPI_INT, w); MPI_Win_flush(0, w); MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, w); MPI_Win_flush(0, w); MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w))
R(spin_lock, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); for (int i = 0; i < 16; i++) base[i] = 0; MPI_Barrier(W_); MPI_Win_lock_all(0, w); int zero = 0, one = 1, was; do { MPI_Compare_and_swap(&one, &zero, &was, MPI_INT, 0, 0, w); MPI_Win_flush(0, w); } while (was); MPI_Get(c, 1, MPI_INT, 0, 4, 1, MPI_INT, w); MPI_Win_flush(0, w); c[0]++; MPI_Put(c, 1, MPI_INT, 0, 4, 1, MPI_INT, w); MPI_Win_flush(0, w); MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, w); MPI_Win_unlock_all(w); MPI_Barrier(W_); if (!r && base[4] != n) abort(); MPI_Win_free(&w))
R(counter, int *base; MPI_Win_allocate(8, 4, MPI_INFO_NULL, W_, &base, &w); base[0] = 0; MPI_Barrier(W_); int one = 1, mine; MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Fetch_and_op(&one, &mine, MPI_INT, 0, 0, MPI_SUM, w); MPI_Win_unlock(0, w); MPI_Barrier(W_); MPI_Win_free(&w))
R(halo_by_posts, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); int both[2] = {0, 0}; both[0] = left, both[1] = right_; MPI_Comm_group(W_, &g); MPI_Group_incl(g, n > 2 ? 2 : 1, both, &h); for (int i = 0; i < 3; i++) { MPI_Win_post(h, 0, w); MPI_Win_start(h, 0, w); MPI_Put(b, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Put(b, 1, MPI_INT, left, 1, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Win_wait(w); } MPI_Group_free(&h); MPI_Group_free(&g); MPI_Win_free(&w))
R(posts_in_turn, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Comm_group(W_, &g); if (!r) for (int i = 1; i < n; i++) { MPI_Group_incl(g, 1, &i, &h); MPI_Win_post(h, 0, w); MPI_Win_wait(w); MPI_Group_free(&h); } else { MPI_Group_incl(g, 1, zeros, &h); MPI_Win_start(h, 0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 0, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Group_free(&h); } MPI_Group_free(&g); MPI_Barrier(W_); MPI_Win_free(&w))
R(post_test, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Comm_group(W_, &g); if (r == 0) { MPI_Group_incl(g, 1, ones, &h); MPI_Win_post(h, 0, w); do MPI_Win_test(w, &flag); while (!flag); MPI_Group_free(&h); } if (r == 1) { MPI_Group_incl(g, 1, zeros, &h); MPI_Win_start(h, 0, w); MPI_Put(c, 2, MPI_INT, 0, 0, 2, MPI_INT, w); MPI_Win_complete(w); MPI_Group_free(&h); } MPI_Group_free(&g); MPI_Barrier(W_); MPI_Win_free(&w))
R(units_differ, MPI_Win_create(b, 4096, r ? 1 : 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, r, 1, MPI_INT, w); c[1] = r; MPI_Put(c + 1, 1, MPI_INT, 1, 4 * r, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(dynamic_puts, MPI_Aint at[64]; MPI_Win_create_dynamic(MPI_INFO_NULL, W_, &w); MPI_Win_attach(w, b, 4096); MPI_Get_address(b, at + r); MPI_Allgather(MPI_IN_PLACE, 0, MPI_AINT, at, 1, MPI_AINT, W_); MPI_Win_lock_all(0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, MPI_Aint_add(at[0], 4 * r), 1, MPI_INT, w); MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_detach(w, b); MPI_Win_free(&w))
R(shared_stores, int *base; MPI_Aint size; MPI_Comm_split_type(W_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm); MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, comm, &base, &w); MPI_Win_lock_all(MPI_MODE_NOCHECK, w); base[0] = r; MPI_Win_sync(w); MPI_Barrier(comm); MPI_Win_sync(w); int *theirs; MPI_Win_shared_query(w, 0, &size, &value, &theirs); if (theirs[0] < 0) abort(); MPI_Win_unlock_all(w); MPI_Win_free(&w); MPI_Comm_free(&comm))
R(requests_of_epochs, int *base; MPI_Win_allocate(4096, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock_all(0, w); for (int i = 0; i < 8; i++) MPI_Rget(c + i, 1, MPI_INT, right_, i, 1, MPI_INT, w, qs + i); MPI_Waitall(8, qs, MPI_STATUSES_IGNORE); MPI_Barrier(W_); for (int i = 0; i < 8; i++) MPI_Rput(c + i, 1, MPI_INT, right_, i, 1, MPI_INT, w, qs + i); MPI_Waitall(8, qs, MPI_STATUSES_IGNORE); MPI_Win_flush_all(w); MPI_Raccumulate(c, 1, MPI_INT, 0, 99, 1, MPI_INT, MPI_SUM, w, &q); MPI_Wait(&q, &st); MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w))
R(many_accumulates, WIN; MPI_Win_fence(0, w); for (int i = 0; i < 500; i++) MPI_Accumulate(c, 1, MPI_INT, (r + i) % n, i * 37 % 1000, 1, MPI_INT, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(two_windows_one_memory, MPI_Win v; WIN; MPI_Win_create(b, 4096, 4, MPI_INFO_NULL, W_, &v); MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_fence(0, v); MPI_Get(c + 1, 1, MPI_INT, right_, 0, 1, MPI_INT, v); MPI_Win_fence(0, v); MPI_Win_free(&v); MPI_Win_free(&w))
R(window_of_half, MPI_Comm_split(W_, r % 2, 0, &comm); MPI_Win_create(b, 4096, 4, MPI_INFO_NULL, comm, &w); MPI_Win_fence(0, w); int mine; MPI_Comm_rank(comm, &mine); if (!mine) c[0] = r, MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Comm_free(&comm))
R(windows_again, for (int i = 0; i < 30; i++) { WIN; MPI_Win_fence(0, w); c[0] = i; if (r == i % n) MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w); })
R(reduce_to_one_and_swap, WIN; MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); int was, mine = 1; MPI_Compare_and_swap(&mine, zeros, &was, MPI_INT, 0, 700, w); MPI_Accumulate(c, 1, MPI_INT, 0, 701, 1, MPI_INT, MPI_MAX, w); MPI_Win_unlock(0, w); MPI_Barrier(W_); MPI_Win_free(&w))
R(put_from_own_window, WIN; MPI_Win_fence(0, w); MPI_Put(b + 512, 4, MPI_INT, right_, 0, 4, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))

/* Programs as tutorials have them. */
static int compare_keys(MPI_Comm of, int key, void *extra, void *in, void *out, int *copied) {
    (void)of, (void)key, (void)extra;
    *(void **)out = in;
    *copied = 1;
    return MPI_SUCCESS;
}
static int query(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED, status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int freed(void *extra) { (void)extra; return MPI_SUCCESS; }
static int cancelled_(void *extra, int complete) { (void)extra, (void)complete; return MPI_SUCCESS; }
static int failures;
static void count_failure(MPI_Comm *of, int *code, ...) { (void)of, (void)code; failures++; }
R(halo_persistent, MPI_Recv_init(c, 1, MPI_INT, left, 1, W_, qs); MPI_Recv_init(c + 9, 1, MPI_INT, right_, 2, W_, qs + 1); MPI_Send_init(c + 8, 1, MPI_INT, right_, 1, W_, qs + 2); MPI_Send_init(c + 1, 1, MPI_INT, left, 2, W_, qs + 3); for (int i = 0; i < 10; i++) { for (int j = 1; j < 9; j++) c[j] += i; MPI_Startall(4, qs); for (int j = 2; j < 8; j++) value += c[j]; MPI_Waitall(4, qs, MPI_STATUSES_IGNORE); } for (int i = 0; i < 4; i++) MPI_Request_free(qs + i))
R(halo_of_grid, int dims[2] = {0, 0}, from[2], to[2]; MPI_Dims_create(n, 2, dims); MPI_Cart_create(W_, 2, dims, zeros, 1, &comm); MPI_Cart_shift(comm, 0, 1, from, to); MPI_Cart_shift(comm, 1, 1, from + 1, to + 1); MPI_Type_vector(8, 1, 10, MPI_INT, &t); MPI_Type_commit(&t); int *m = c + 11; MPI_Irecv(m - 10, 8, MPI_INT, from[0], 0, comm, qs); MPI_Irecv(m + 80, 8, MPI_INT, to[0], 1, comm, qs + 1); MPI_Irecv(m - 1, 1, t, from[1], 2, comm, qs + 2); MPI_Irecv(m + 8, 1, t, to[1], 3, comm, qs + 3); MPI_Isend(m, 8, MPI_INT, from[0], 1, comm, qs + 4); MPI_Isend(m + 70, 8, MPI_INT, to[0], 0, comm, qs + 5); MPI_Isend(m, 1, t, from[1], 3, comm, qs + 6); MPI_Isend(m + 7, 1, t, to[1], 2, comm, qs + 7); MPI_Waitall(8, qs, sts); MPI_Type_free(&t); MPI_Comm_free(&comm))
R(cart_sub, int dims[2] = {0, 1}, keep[2] = {1, 0}, at[2]; dims[0] = n; MPI_Cart_create(W_, 2, dims, zeros, 0, &comm); MPI_Cart_sub(comm, keep, &sub); MPI_Allreduce(b, c, 1, MPI_INT, MPI_SUM, sub); MPI_Cart_coords(comm, r, 2, at); MPI_Cart_rank(comm, at, &value); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(master_worker, if (!r) { for (int i = 1, left_ = 12; i < n; i++, left_--) MPI_Send(&left_, 1, MPI_INT, i, 1, W_); int stopped = 0; for (int i = 0; stopped < n - 1; i++) { MPI_Recv(c, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &st); if (i < 10) MPI_Send(c, 1, MPI_INT, st.MPI_SOURCE, 1, W_); else MPI_Send(NULL, 0, MPI_INT, st.MPI_SOURCE, 2, W_), stopped++; } } else for (;;) { MPI_Recv(c, 1, MPI_INT, 0, MPI_ANY_TAG, W_, &st); if (st.MPI_TAG == 2) break; MPI_Send(c, 1, MPI_INT, 0, 7, W_); })
R(any_source_irecvs, if (!r) { for (int i = 1; i < n; i++) MPI_Irecv(c + i, 1, MPI_INT, MPI_ANY_SOURCE, 5, W_, qs + i - 1); for (int done = 1; done < n; done++) MPI_Waitany(n - 1, qs, &value, &st); } else MPI_Send(b, 1, MPI_INT, 0, 5, W_))
R(probe_then_size, if (!r) for (int i = 1; i < n; i++) { MPI_Probe(MPI_ANY_SOURCE, 6, W_, &st); MPI_Get_count(&st, MPI_INT, &value); MPI_Recv(c, value, MPI_INT, st.MPI_SOURCE, 6, W_, MPI_STATUS_IGNORE); } else MPI_Send(b, r, MPI_INT, 0, 6, W_))
R(mprobe_of_all, if (!r) for (int i = 1; i < n; i++) { MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &m, &st); MPI_Get_count(&st, MPI_INT, &value); MPI_Mrecv(c, value, MPI_INT, &m, MPI_STATUS_IGNORE); } else MPI_Send(b, r, MPI_INT, 0, r, W_))
R(testsome, for (int i = 0; i < 6; i++) MPI_Irecv(c + i, 1, MPI_INT, left, i, W_, qs + i), MPI_Isend(b + i, 1, MPI_INT, right_, i, W_, qs + 6 + i); int at[12]; for (int done = 0; done < 12;) { MPI_Testsome(12, qs, &value, at, sts); if (value != MPI_UNDEFINED) done += value; })
R(bcasts_waited_backwards, for (int i = 0; i < 4; i++) MPI_Ibcast(b + 8 * i, 8, MPI_INT, i % n, W_, qs + i); for (int i = 3; i >= 0; i--) MPI_Wait(qs + i, &st))
R(ibarrier_while_receiving, int done = 0, sent = 0; if (r) MPI_Issend(b, 1, MPI_INT, 0, 8, W_, qs); else sent = 1; MPI_Request barrier = MPI_REQUEST_NULL; while (!done) { MPI_Iprobe(MPI_ANY_SOURCE, 8, W_, &flag, &st); if (flag) MPI_Recv(c, 1, MPI_INT, st.MPI_SOURCE, 8, W_, &st); if (barrier != MPI_REQUEST_NULL) MPI_Test(&barrier, &done, &st); else { if (!sent) MPI_Test(qs, &sent, &st); if (sent) MPI_Ibarrier(W_, &barrier); } })
R(bottom_struct, struct { int i; double x; } s = {1, 2}, got; int lengths[2] = {1, 1}; MPI_Aint at[2]; MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}; MPI_Get_address(&s.i, at); MPI_Get_address(&s.x, at + 1); MPI_Type_create_struct(2, lengths, at, types, &t); MPI_Type_commit(&t); MPI_Get_address(&got.i, at); MPI_Get_address(&got.x, at + 1); MPI_Type_create_struct(2, lengths, at, types, &u); MPI_Type_commit(&u); MPI_Sendrecv(MPI_BOTTOM, 1, t, right_, 1, MPI_BOTTOM, 1, u, left, 1, W_, &st); if (got.x != 2) abort(); MPI_Bcast(MPI_BOTTOM, 1, t, 0, W_); MPI_Type_free(&t); MPI_Type_free(&u))
R(struct_with_gap, typedef struct { char k; double v; int i; } Part; static Part sent[8], got[8]; int lengths[3] = {1, 1, 1}; MPI_Aint at[3] = {0, 8, 16}; MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}; MPI_Type_create_struct(3, lengths, at, types, &u); MPI_Type_create_resized(u, 0, sizeof(Part), &t); MPI_Type_commit(&t); MPI_Type_free(&u); MPI_Irecv(got, 8, t, left, 3, W_, qs); MPI_Isend(sent, 8, t, right_, 3, W_, qs + 1); MPI_Waitall(2, qs, sts); MPI_Allgather(sent, 1, t, c, 1, t, W_); MPI_Type_free(&t))
R(transposed_blocks, MPI_Type_vector(4, 1, n, MPI_INT, &u); MPI_Type_create_resized(u, 0, 4, &t); MPI_Type_commit(&t); MPI_Alltoall(b, 1, t, c, 4, MPI_INT, W_); MPI_Type_free(&t); MPI_Type_free(&u))
R(alltoallw_types, int at[64], counts[64]; MPI_Datatype sent[64], got[64]; for (int i = 0; i < n; i++) counts[i] = 1, at[i] = 32 * i, MPI_Type_contiguous(i + 1, MPI_INT, sent + i), MPI_Type_commit(sent + i), MPI_Type_contiguous(r + 1, MPI_INT, got + i), MPI_Type_commit(got + i); MPI_Alltoallw(b, counts, at, sent, c, counts, at, got, W_); for (int i = 0; i < n; i++) MPI_Type_free(sent + i), MPI_Type_free(got + i))
R(alltoallw_none, int none[64] = {0}; MPI_Datatype types[64]; for (int i = 0; i < n; i++) types[i] = MPI_BYTE; MPI_Alltoallw(b, none, none, types, c, none, none, types, W_))
R(alltoallv_empty, int none[64] = {0}; MPI_Alltoallv(NULL, none, none, MPI_INT, c, none, none, MPI_INT, W_))
R(gatherv_empty, int lengths[64]; for (int i = 0; i < n; i++) lengths[i] = i == 1, steps[i] = 0; MPI_Gatherv(r == 1 ? b : NULL, r == 1, MPI_INT, r ? NULL : c, r ? NULL : lengths, r ? NULL : steps, MPI_INT, 0, W_))
R(neighbors, MPI_Dist_graph_create_adjacent(W_, 1, &left, MPI_UNWEIGHTED, 1, &right_, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); int one = 1, zero = 0; MPI_Aint nowhere = 0; MPI_Datatype of = MPI_INT; MPI_Neighbor_alltoallv(b, &one, &zero, MPI_INT, c, &one, &zero, MPI_INT, comm); MPI_Neighbor_alltoallw(b, &one, &nowhere, &of, c, &one, &nowhere, &of, comm); MPI_Ineighbor_allgather(b, 1, MPI_INT, c, 1, MPI_INT, comm, &q); MPI_Wait(&q, &st); MPI_Neighbor_allgatherv(b, 1, MPI_INT, c, &one, &zero, MPI_INT, comm); MPI_Comm_free(&comm))
R(graph, int degrees[64], edges[128]; for (int i = 0; i < n; i++) degrees[i] = 2 * (i + 1), edges[2 * i] = (i + 1) % n, edges[2 * i + 1] = (i + n - 1) % n; MPI_Graph_create(W_, n, degrees, edges, 0, &comm); MPI_Graph_neighbors_count(comm, r, &value); MPI_Neighbor_allgather(b, 1, MPI_INT, c, 1, MPI_INT, comm); MPI_Comm_free(&comm))
R(split_with_keys, MPI_Comm_split(W_, r / 2, -r, &comm); MPI_Comm_rank(comm, &value); MPI_Bcast(b, 4, MPI_INT, 0, comm); MPI_Reduce(b, c, 4, MPI_INT, MPI_SUM, 0, comm); MPI_Comm_split(comm, 0, 0, &sub); MPI_Barrier(sub); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(intercomm_collectives, MPI_Comm_split(W_, r % 2, 0, &comm); MPI_Intercomm_create(comm, 0, W_, 1 - r % 2, 3, &sub); int far; MPI_Comm_remote_size(sub, &far); MPI_Allreduce(b, c, 2, MPI_INT, MPI_SUM, sub); MPI_Allgather(b, 1, MPI_INT, c, 1, MPI_INT, sub); MPI_Alltoall(b, 1, MPI_INT, c, 1, MPI_INT, sub); MPI_Gather(b, 1, MPI_INT, c, 1, MPI_INT, r % 2 ? 0 : r ? MPI_PROC_NULL : MPI_ROOT, sub); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(intercomm_messages, MPI_Comm_split(W_, r % 2, 0, &comm); MPI_Intercomm_create(comm, 0, W_, 1 - r % 2, 3, &sub); int mine, far; MPI_Comm_rank(sub, &mine); MPI_Comm_remote_size(sub, &far); if (mine < far) MPI_Sendrecv(b, 3, MPI_INT, mine, 4, c, 3, MPI_INT, mine, 4, sub, &st); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(comm_compare, MPI_Comm_dup(W_, &comm); MPI_Comm_compare(W_, comm, &value); MPI_Comm_set_name(comm, "mine"); MPI_Comm_group(comm, &g); MPI_Comm_group(W_, &h); MPI_Group_compare(g, h, &value); MPI_Group u_; MPI_Group_union(g, h, &u_); MPI_Group_free(&u_); MPI_Group_free(&g); MPI_Group_free(&h); MPI_Comm_free(&comm))
R(attributes, static int number = 5; int key, *back; MPI_Comm_create_keyval(compare_keys, MPI_COMM_NULL_DELETE_FN, &key, NULL); MPI_Comm_dup(W_, &comm); MPI_Comm_set_attr(comm, key, &number); MPI_Comm_dup(comm, &sub); MPI_Comm_get_attr(sub, key, &back, &flag); if (!flag || *back != 5) abort(); MPI_Comm_delete_attr(comm, key); MPI_Comm_free_keyval(&key); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(type_attributes, int key; MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL); MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_set_attr(t, key, NULL); MPI_Type_dup(t, &u); MPI_Type_free(&t); MPI_Type_free(&u); MPI_Type_free_keyval(&key))
R(own_errhandler, MPI_Errhandler e_; MPI_Comm_create_errhandler(count_failure, &e_); MPI_Comm_dup(W_, &comm); MPI_Comm_set_errhandler(comm, e_); MPI_Errhandler_free(&e_); MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); if (!failures) abort(); MPI_Comm_free(&comm))
R(own_error_codes, int class_, code; char text[MPI_MAX_ERROR_STRING]; MPI_Add_error_class(&class_); MPI_Add_error_code(class_, &code); MPI_Add_error_string(code, "mine"); MPI_Error_string(code, text, &value); MPI_Error_class(code, &value))
R(file_not_there, MPI_File f; if (MPI_File_open(MPI_COMM_SELF, "/tmp/no such folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &f) == MPI_SUCCESS) abort())
R(generalized, MPI_Grequest_start(query, freed, cancelled_, NULL, &q); MPI_Test(&q, &flag, &st); MPI_Grequest_complete(q); MPI_Wait(&q, &st))
R(cancelled_any, MPI_Irecv(c, 9, MPI_INT, MPI_ANY_SOURCE, 98, W_, &q); MPI_Cancel(&q); MPI_Wait(&q, &st); MPI_Test_cancelled(&st, &flag); MPI_Barrier(W_); MPI_Sendrecv(b, 2, MPI_INT, right_, 98, c, 2, MPI_INT, left, 98, W_, &st))
R(cancelled_freed, MPI_Irecv(c, 9, MPI_INT, MPI_ANY_SOURCE, 97, W_, &q); MPI_Cancel(&q); MPI_Request_free(&q); MPI_Barrier(W_))
R(own_op_not_commutative, MPI_Op_create(sum, 0, &op); MPI_Reduce(b, c, 3, MPI_INT, op, 0, W_); MPI_Scan(b, c, 3, MPI_INT, op, W_); MPI_Reduce_local(b, c, 3, MPI_INT, op); MPI_Op_free(&op))
R(in_place_all, MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c, 1, MPI_INT, W_); MPI_Reduce_scatter_block(MPI_IN_PLACE, c, 1, MPI_INT, MPI_SUM, W_); MPI_Exscan(MPI_IN_PLACE, c, 1, MPI_INT, MPI_SUM, W_); MPI_Iallreduce(MPI_IN_PLACE, c, 4, MPI_INT, MPI_MIN, W_, &q); MPI_Wait(&q, &st); if (r) MPI_Gather(c, 1, MPI_INT, NULL, 0, MPI_INT, 0, W_); else MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, c, 1, MPI_INT, 0, W_))
R(pack_and_unpack, char room[64]; int at = 0; MPI_Pack(b, 2, MPI_INT, room, 64, &at, W_); MPI_Pack(d, 1, MPI_DOUBLE, room, 64, &at, W_); MPI_Bcast(room, at, MPI_PACKED, 0, W_); int got = 0; MPI_Unpack(room, at, &got, c, 2, MPI_INT, W_); MPI_Unpack(room, at, &got, d, 1, MPI_DOUBLE, W_))
R(parts_of_a_buffer, for (int i = 0; i < 8; i++) MPI_Irecv(c + 4 * i, 4, MPI_INT, left, i, W_, qs + i); for (int i = 0; i < 8; i++) MPI_Isend(b + 4 * i, 4, MPI_INT, right_, i, W_, qs + 8 + i); MPI_Waitall(16, qs, MPI_STATUSES_IGNORE))
R(one_buffer_to_all, for (int i = 0; i < n; i++) MPI_Irecv(c + i, 1, MPI_INT, i, 4, W_, qs + i), MPI_Isend(b, 1, MPI_INT, i, 4, W_, qs + n + i); MPI_Waitall(2 * n, qs, MPI_STATUSES_IGNORE))
R(received_less, MPI_Irecv(c, 100, MPI_INT, left, 4, W_, &q); MPI_Send(NULL, 0, MPI_INT, right_, 4, W_); MPI_Wait(&q, &st); MPI_Get_count(&st, MPI_INT, &value))
R(char_text, char text[32] = "text"; MPI_Bcast(text, 32, MPI_CHAR, 0, W_); MPI_Sendrecv(text, 5, MPI_CHAR, right_, 4, c, 32, MPI_CHAR, left, 4, W_, &st); MPI_Get_elements(&st, MPI_CHAR, &value))
/* The barrier is for Open MPI 5, which hangs when some read while others still write. */
R(file_views, MPI_File f; char name[64] = ""; if (!r) snprintf(name, sizeof name, "/tmp/check-right-view-%d", getpid()); MPI_Bcast(name, 64, MPI_CHAR, 0, W_); MPI_File_open(W_, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_Type_vector(4, 1, n, MPI_INT, &t); MPI_Type_commit(&t); MPI_File_set_view(f, 4 * r, MPI_INT, t, "native", MPI_INFO_NULL); MPI_File_write_all(f, b, 4, MPI_INT, &st); MPI_Barrier(W_); MPI_File_seek(f, 0, MPI_SEEK_SET); MPI_File_read_all_begin(f, c, 4, MPI_INT); MPI_File_read_all_end(f, c, &st); MPI_Barrier(W_); MPI_File_write_at_all(f, 0, b, 2, MPI_INT, &st); MPI_File_sync(f); MPI_File_close(&f); MPI_Type_free(&t))
R(buffered_twice, int size; MPI_Pack_size(4, MPI_INT, W_, &size); size += MPI_BSEND_OVERHEAD; void *room = malloc(2 * size), *back; MPI_Buffer_attach(room, 2 * size); MPI_Request two; MPI_Ibsend(b, 4, MPI_INT, right_, 3, W_, &two); MPI_Bsend(b, 2, MPI_INT, right_, 4, W_); MPI_Recv(c, 4, MPI_INT, left, 3, W_, &st); MPI_Recv(c, 2, MPI_INT, left, 4, W_, &st); MPI_Wait(&two, &st); MPI_Buffer_detach(&back, &value); free(room))
R(detach_waits_for_a_late_receive, enum { LONG = 1 << 22 }; static char long_[LONG], room[LONG + 256 + 2 * MPI_BSEND_OVERHEAD]; char *back; if (!r) { MPI_Buffer_attach(room, sizeof room); MPI_Bsend(b, 4, MPI_INT, right_, 2, W_); MPI_Bsend(long_, LONG, MPI_CHAR, right_, 1, W_); MPI_Buffer_detach(&back, &value); MPI_Send(b, 1, MPI_INT, right_, 3, W_); } else if (r == 1) { usleep(2500000); MPI_Recv(long_, LONG, MPI_CHAR, 0, 1, W_, &st); MPI_Recv(c, 4, MPI_INT, 0, 2, W_, &st); MPI_Recv(c, 1, MPI_INT, 0, 3, W_, &st); })
R(tool_interface, int level, number; MPI_T_init_thread(MPI_THREAD_SINGLE, &level); MPI_T_cvar_get_num(&number); MPI_T_pvar_get_num(&number); MPI_T_finalize())
R(memory_of_mpi, void *at; MPI_Alloc_mem(64, MPI_INFO_NULL, &at); memset(at, 0, 64); MPI_Allreduce(MPI_IN_PLACE, at, 16, MPI_INT, MPI_SUM, W_); MPI_Free_mem(at))
R(win_errhandler, MPI_Errhandler e_; WIN; MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN); MPI_Win_get_errhandler(w, &e_); MPI_Errhandler_free(&e_); int *at; MPI_Win_get_attr(w, MPI_WIN_BASE, &at, &flag); MPI_Win_set_name(w, "mine"); MPI_Win_free(&w))
#if MPI_VERSION >= 4
R(large_counts, MPI_Count one = 1; MPI_Sendrecv_c(b, 3, MPI_INT, right_, 1, c, 3, MPI_INT, left, 1, W_, &st); MPI_Type_contiguous_c(3, MPI_INT, &t); MPI_Type_commit(&t); MPI_Bcast_c(b, one, t, 0, W_); MPI_Allreduce_c(b, c, 4, MPI_INT, MPI_SUM, W_); MPI_Type_free(&t))
R(partitioned, MPI_Psend_init(b, 4, 2, MPI_INT, right_, 3, W_, MPI_INFO_NULL, qs); MPI_Precv_init(c, 2, 4, MPI_INT, left, 3, W_, MPI_INFO_NULL, qs + 1); for (int i = 0; i < 2; i++) { MPI_Startall(2, qs); for (int j = 0; j < 4; j++) b[2 * j] = j, MPI_Pready(j, qs[0]); MPI_Waitall(2, qs, sts); } MPI_Request_free(qs); MPI_Request_free(qs + 1))
R(persistent_collectives, MPI_Allreduce_init(b, c, 2, MPI_INT, MPI_SUM, W_, MPI_INFO_NULL, qs); MPI_Bcast_init(d, 2, MPI_DOUBLE, 0, W_, MPI_INFO_NULL, qs + 1); MPI_Barrier_init(W_, MPI_INFO_NULL, qs + 2); for (int i = 0; i < 3; i++) { b[0] = i; MPI_Startall(3, qs); MPI_Waitall(3, qs, sts); } for (int i = 0; i < 3; i++) MPI_Request_free(qs + i))
R(sessions, MPI_Session s; MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s); MPI_Group_from_session_pset(s, "mpi://WORLD", &g); MPI_Comm_create_from_group(g, "check", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm); MPI_Group_free(&g); MPI_Allreduce(b, c, 1, MPI_INT, MPI_SUM, comm); MPI_Sendrecv(b, 1, MPI_INT, right_, 3, c, 1, MPI_INT, left, 3, comm, &st); MPI_Comm_free(&comm); MPI_Session_finalize(&s))
R(isendrecv, MPI_Isendrecv(b, 3, MPI_INT, right_, 3, c, 3, MPI_INT, left, 3, W_, &q); MPI_Wait(&q, &st); MPI_Isendrecv_replace(b, 3, MPI_INT, right_, 3, left, 3, W_, &q); MPI_Wait(&q, &st))
R(contents_large, MPI_Type_contiguous(2, MPI_INT, &u); MPI_Type_dup(u, &t); MPI_Count ni, na, nc, nd, l[4]; int i[4], k; MPI_Aint a[4]; MPI_Datatype of[1]; MPI_Type_get_envelope_c(t, &ni, &na, &nc, &nd, &k); MPI_Type_get_contents_c(t, ni, na, nc, nd, i, a, l, of); MPI_Type_free(of); MPI_Type_size(u, &value); MPI_Type_free(&t); MPI_Type_free(&u))
#if MPI_VERSION > 4 || MPI_SUBVERSION >= 1
R(empty_status, MPI_Status_set_source(&st, MPI_ANY_SOURCE); MPI_Status_set_tag(&st, MPI_ANY_TAG); MPI_Status_set_error(&st, MPI_SUCCESS))
#endif
#endif
/* What lies between the pieces of a datatype belongs to nobody. */
R(halo_columns, MPI_Type_vector(4, 1, 6, MPI_INT, &t); MPI_Type_commit(&t); MPI_Sendrecv(c + 4, 1, t, right_, 1, c, 1, t, left, 1, W_, &st); MPI_Sendrecv(c + 1, 1, t, left, 2, c + 5, 1, t, right_, 2, W_, &st); MPI_Type_free(&t))
R(halo_subarrays, int sizes[2] = {6, 6}, subs[2] = {4, 1}, inner[2] = {1, 1}, outer[2] = {1, 5}; MPI_Type_create_subarray(2, sizes, subs, inner, MPI_ORDER_C, MPI_DOUBLE, &t); MPI_Type_create_subarray(2, sizes, subs, outer, MPI_ORDER_C, MPI_DOUBLE, &u); MPI_Type_commit(&t); MPI_Type_commit(&u); MPI_Sendrecv(d, 1, t, left, 1, d, 1, u, right_, 1, W_, &st); MPI_Type_free(&t); MPI_Type_free(&u))
R(exscan_first_gets_nothing, if (!r) MPI_Irecv(c, 1, MPI_INT, 1, 3, W_, &q); MPI_Exscan(b, r ? c + 8 : c, 1, MPI_INT, MPI_SUM, W_); if (r == 1) MPI_Send(b, 1, MPI_INT, 0, 3, W_); if (!r) MPI_Wait(&q, &st))
R(pairs_as_parts, struct { double v; int i; } pair = {1, 2}; int lengths[2] = {1, 1}; MPI_Aint at[2] = {0, 8}; MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}; MPI_Type_create_struct(2, lengths, at, types, &t); MPI_Type_commit(&t); MPI_Bcast(&pair, 1, r ? t : MPI_DOUBLE_INT, 0, W_); MPI_Type_free(&t); MPI_Sendrecv(b, 1, MPI_2INT, right_, 1, c, 2, MPI_INT, left, 1, W_, &st))
/* What an operation brings has been read at the target. */
R(get_change_put_back, WIN; MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, w); MPI_Get(c, 1, MPI_INT, right_, r, 1, MPI_INT, w); MPI_Win_flush_local(right_, w); c[0]++; MPI_Put(c, 1, MPI_INT, right_, r, 1, MPI_INT, w); MPI_Win_unlock(right_, w); MPI_Win_free(&w))
R(fetch_then_put, WIN; MPI_Win_lock_all(0, w); MPI_Fetch_and_op(c, c + 1, MPI_INT, right_, r, MPI_SUM, w); MPI_Win_flush_local_all(w); MPI_Put(c, 1, MPI_INT, right_, r, 1, MPI_INT, w); MPI_Win_unlock_all(w); MPI_Win_free(&w))
R(get_then_another_puts, WIN; MPI_Win_lock_all(0, w); for (int i = 0; i < 3; i++) { if (!r) { MPI_Get(c, 100, MPI_INT, n - 1, 0, 100, MPI_INT, w); MPI_Win_flush_local(n - 1, w); } MPI_Barrier(W_); if (r == 1) { MPI_Put(c, 100, MPI_INT, n - 1, 0, 100, MPI_INT, w); MPI_Win_flush(n - 1, w); } MPI_Barrier(W_); } MPI_Win_unlock_all(w); MPI_Win_free(&w))
/* Memory that MPI knows nothing of tells the other process. The target, a third one, is in MPI meanwhile. */
R(told_by_a_file, if (n == 2) return; char name[64] = ""; if (!r) snprintf(name, sizeof name, "/tmp/check-right-told-%d", getpid()); MPI_Bcast(name, 64, MPI_CHAR, 0, W_); int file = open(name, O_RDWR | O_CREAT, 0600); if (ftruncate(file, 4096)) abort(); volatile int *told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); WIN; MPI_Win_lock_all(0, w); MPI_Barrier(W_); if (!r) { MPI_Put(c, 100, MPI_INT, n - 1, 0, 100, MPI_INT, w); MPI_Win_flush(n - 1, w); *told = 1; } if (r == 1) { while (!*told) usleep(100); MPI_Get(c, 100, MPI_INT, n - 1, 0, 100, MPI_INT, w); MPI_Win_flush(n - 1, w); } MPI_Win_unlock_all(w); MPI_Win_free(&w); munmap((void *)told, 4096); close(file); if (!r) unlink(name))
/* Without a status. */
R(mprobe_no_status, MPI_Isend(b, 5, MPI_INT, right_, 3, W_, qs); MPI_Isend(d, 2, MPI_DOUBLE, right_, 3, W_, qs + 1); MPI_Mprobe(left, 3, W_, &m, MPI_STATUS_IGNORE); MPI_Recv(e, 2, MPI_DOUBLE, left, 3, W_, &st); MPI_Mrecv(c, 5, MPI_INT, &m, MPI_STATUS_IGNORE); MPI_Waitall(2, qs, sts))
R(improbe_no_status, MPI_Isend(b, 5, MPI_INT, right_, 3, W_, &q); do MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &flag, &m, MPI_STATUS_IGNORE); while (!flag); MPI_Imrecv(c, 5, MPI_INT, &m, qs); MPI_Wait(qs, MPI_STATUS_IGNORE); MPI_Wait(&q, &st))
/* A receive that is cancelled gets no message, or it does. */
R(cancelled_before_another, MPI_Irecv(c, 1, MPI_INT, left, 96, W_, qs); MPI_Irecv(e, 1, MPI_DOUBLE, left, 96, W_, qs + 1); MPI_Cancel(qs); MPI_Wait(qs, &st); MPI_Barrier(W_); MPI_Send(d, 1, MPI_DOUBLE, right_, 96, W_); MPI_Wait(qs + 1, &st))
R(cancelled_and_waited_late, MPI_Irecv(c, 1, MPI_INT, left, 95, W_, qs); MPI_Irecv(e, 1, MPI_DOUBLE, left, 95, W_, qs + 1); MPI_Cancel(qs); MPI_Barrier(W_); MPI_Send(d, 1, MPI_DOUBLE, right_, 95, W_); MPI_Wait(qs + 1, &st); MPI_Wait(qs, &st))
R(cancelled_both, MPI_Irecv(c, 1, MPI_INT, left, 94, W_, qs); MPI_Irecv(c + 1, 1, MPI_INT, left, 94, W_, qs + 1); MPI_Cancel(qs); MPI_Cancel(qs + 1); MPI_Waitall(2, qs, sts); MPI_Barrier(W_); MPI_Sendrecv(d, 5, MPI_DOUBLE, right_, 94, e, 5, MPI_DOUBLE, left, 94, W_, &st))
R(cancelled_and_freed, MPI_Irecv(c, 1, MPI_INT, left, 93, W_, &q); MPI_Cancel(&q); MPI_Request_free(&q); MPI_Barrier(W_); MPI_Sendrecv(d, 1, MPI_DOUBLE, right_, 93, e, 1, MPI_DOUBLE, left, 93, W_, &st))
R(freed_from_anybody, MPI_Irecv(c + 9, 1, MPI_INT, MPI_ANY_SOURCE, 92, W_, &q); MPI_Request_free(&q); MPI_Barrier(W_); MPI_Send(b, 1, MPI_INT, right_, 92, W_); MPI_Barrier(W_); MPI_Sendrecv(d, 1, MPI_DOUBLE, right_, 92, e, 1, MPI_DOUBLE, left, 92, W_, &st))
R(freed_one_of_two, MPI_Isend(b, 1, MPI_INT, right_, 1, W_, qs); MPI_Isend(b + 8, 1, MPI_INT, right_, 2, W_, qs + 1); MPI_Request_free(qs + 1); MPI_Recv(c, 1, MPI_INT, left, 1, W_, &st); MPI_Recv(c, 1, MPI_INT, left, 2, W_, &st); MPI_Barrier(W_); b[8]++; MPI_Wait(qs, &st))
R(persistent_send_freed, MPI_Send_init(b, 1, MPI_INT, right_, 1, W_, &q); MPI_Start(&q); MPI_Request_free(&q); MPI_Recv(c, 1, MPI_INT, left, 1, W_, &st))
R(initialized, MPI_Initialized(&flag); MPI_Finalized(&flag))

/* The same data in other datatypes: signatures are what must be equal. */
R(allgatherv_signatures, MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); int twos[64], at[64]; for (int i = 0; i < n; i++) twos[i] = 2, steps[i] = i, at[i] = 2 * i; MPI_Allgatherv(b, r ? 1 : 2, r ? t : MPI_INT, c, r % 2 ? twos : ones, r % 2 ? at : steps, r % 2 ? MPI_INT : t, W_); MPI_Type_free(&t))
R(alltoallv_signatures, MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); int twos[64], at[64]; for (int i = 0; i < n; i++) twos[i] = 2, steps[i] = i, at[i] = 2 * i; MPI_Alltoallv(b, r ? ones : twos, r ? steps : at, r ? t : MPI_INT, c, r % 2 ? twos : ones, r % 2 ? at : steps, r % 2 ? MPI_INT : t, W_); MPI_Type_free(&t))
R(alltoallv_matrix, int sent[64], got[64], at[64]; for (int i = 0; i < n; i++) sent[i] = (3 * r + 5 * i) % 4, got[i] = (3 * i + 5 * r) % 4, at[i] = 4 * i; for (int k = 0; k < 4; k++) { MPI_Alltoallv(b, sent, at, MPI_INT, c, got, at, MPI_INT, W_); MPI_Ialltoallv(b, sent, at, MPI_INT, c, got, at, MPI_INT, W_, &q); MPI_Wait(&q, &st); })
R(alltoallw_empty_types, int sent[64], got[64], at[64]; MPI_Datatype types[64], others[64]; for (int i = 0; i < n; i++) sent[i] = (3 * r + 5 * i) % 2, got[i] = (3 * i + 5 * r) % 2, at[i] = 16 * i, types[i] = sent[i] ? MPI_INT : MPI_DOUBLE, others[i] = got[i] ? MPI_INT : MPI_CHAR; MPI_Alltoallw(b, sent, at, types, c, got, at, others, W_))
R(neighbors_twice, int in[3] = {0, 0, 0}, out[3] = {0, 0, 0}, at[3] = {0, 1, 2}; in[0] = in[1] = out[0] = out[1] = r; in[2] = left; out[2] = right_; MPI_Dist_graph_create_adjacent(W_, 3, in, MPI_UNWEIGHTED, 3, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); MPI_Neighbor_alltoall(b, 1, MPI_INT, c, 1, MPI_INT, comm); MPI_Neighbor_allgatherv(b, 1, MPI_INT, c, ones, at, MPI_INT, comm); MPI_Ineighbor_alltoallv(b, ones, at, MPI_INT, c, ones, at, MPI_INT, comm, &q); MPI_Wait(&q, &st); MPI_Comm_free(&comm))
R(neighbors_at_a_border, int dims[1] = {0}, sent[2] = {0, 0}, got[2] = {0, 0}, at[2] = {0, 100}; dims[0] = n; MPI_Cart_create(W_, 1, dims, zeros, 0, &comm); sent[0] = sent[1] = r + 1; got[0] = r ? r : 77; got[1] = r + 1 < n ? r + 2 : 99; MPI_Neighbor_alltoallv(b, sent, at, MPI_INT, c, got, at, MPI_INT, comm); MPI_Comm_free(&comm))

/* Epochs that begin late, with nobody, and with a process itself; partitions that are ready in any order. */
R(post_late, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Comm_group(W_, &g); if (r == 0) { MPI_Group_incl(g, 1, ones, &h); MPI_Win_start(h, 0, w); MPI_Put(c, 1, MPI_INT, 1, 0, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Send(c, 1, MPI_INT, 1, 0, W_); MPI_Group_free(&h); } if (r == 1) { usleep(1500000); MPI_Group_incl(g, 1, zeros, &h); MPI_Win_post(h, 0, w); MPI_Recv(c, 1, MPI_INT, 0, 0, W_, &st); MPI_Win_wait(w); MPI_Group_free(&h); } MPI_Group_free(&g); MPI_Win_free(&w))
R(posts_for_nobody_and_self, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_post(MPI_GROUP_EMPTY, 0, w); MPI_Win_start(MPI_GROUP_EMPTY, 0, w); MPI_Win_complete(w); MPI_Win_wait(w); MPI_Comm_group(W_, &g); MPI_Group_incl(g, 1, &r, &h); MPI_Win_post(h, 0, w); MPI_Win_start(h, 0, w); MPI_Put(c, 1, MPI_INT, r, 0, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Win_wait(w); MPI_Group_free(&g); MPI_Group_free(&h); MPI_Win_free(&w))
R(partitions_in_any_order, int list[2] = {3, 0}; MPI_Psend_init(b, 4, 3, MPI_INT, right_, 0, W_, MPI_INFO_NULL, qs); MPI_Precv_init(c, 4, 3, MPI_INT, left, 0, W_, MPI_INFO_NULL, qs + 1); for (int i = 0; i < 2; i++) { MPI_Startall(2, qs); MPI_Pready_list(2, list, qs[0]); MPI_Pready_range(1, 2, qs[0]); MPI_Parrived(qs[1], 2, &flag); MPI_Waitall(2, qs, sts); } MPI_Request_free(qs); MPI_Request_free(qs + 1))

/* What is the same on all ranks, though it looks different. */
R(cart_periods_are_logical, MPI_Cart_create(W_, 1, &n, (int[]){2 * (r + 1)}, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
R(split_type_undefined, MPI_Comm_split_type(W_, r == 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, r, MPI_INFO_NULL, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
R(fence_own_assertions, MPI_Win_create(b, 64, r ? 4 : 1, MPI_INFO_NULL, W_, &w); MPI_Win_fence(r ? MPI_MODE_NOSTORE | MPI_MODE_NOPRECEDE : MPI_MODE_NOPRECEDE, w); MPI_Win_fence(r ? 0 : MPI_MODE_NOPUT, w); MPI_Win_free(&w))
#define BETWEEN MPI_Comm_split(W_, r % 2, r, &sub); MPI_Intercomm_create(sub, 0, W_, 1 - r % 2, 7, &comm)
R(roots_between_groups, BETWEEN; MPI_Bcast(b, 2, MPI_INT, r % 2 ? 0 : r ? MPI_PROC_NULL : MPI_ROOT, comm); MPI_Reduce(b, c, 2, MPI_INT, MPI_SUM, r % 2 == 0 ? 0 : r == 1 ? MPI_ROOT : MPI_PROC_NULL, comm); MPI_Allreduce(b, c, 1, MPI_INT, MPI_SUM, comm); MPI_Comm_free(&comm); MPI_Comm_free(&sub))
R(intercomm_late, usleep(r * 300000); BETWEEN; MPI_Comm_free(&comm); MPI_Comm_free(&sub))
R(create_group_of_two, MPI_Comm_group(W_, &g); MPI_Group_incl(g, 2, (int[]){1, 0}, &h); if (r < 2) { usleep(r * 1500000); MPI_Comm_create_group(W_, h, 3, &comm); MPI_Barrier(comm); MPI_Comm_free(&comm); } MPI_Group_free(&g); MPI_Group_free(&h))
R(neighbors_late, MPI_Cart_create(W_, 1, &n, zeros, 0, &comm); usleep(r ? 0 : 1500000); MPI_Neighbor_allgather(b, 1, MPI_INT, c, 1, MPI_INT, comm); MPI_Comm_free(&comm))
R(neighbors_of_nobody, int other = 1 - r; MPI_Dist_graph_create_adjacent(W_, r < 2, &other, MPI_UNWEIGHTED, r < 2, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); if (r == 2) MPI_Recv(d, 1, MPI_INT, 0, 0, comm, &st); MPI_Neighbor_alltoall(b, 1, MPI_INT, c, 1, MPI_INT, comm); if (!r && n > 2) MPI_Send(b, 1, MPI_INT, 2, 0, comm); MPI_Comm_free(&comm))
R(locks_in_one_order, MPI_Win v; MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_create(d, 64, 4, MPI_INFO_NULL, W_, &v); MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w); MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, v); MPI_Get(c, 1, MPI_INT, 0, 0, 1, MPI_INT, v); usleep(400000); MPI_Win_unlock(0, v); MPI_Win_unlock(0, w); MPI_Win_free(&v); MPI_Win_free(&w))
R(lock_held_long, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); if (!r) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w); MPI_Barrier(W_); usleep(1800000); MPI_Win_unlock(0, w); } else { MPI_Barrier(W_); MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Win_unlock(0, w); } MPI_Win_free(&w))
R(locks_shared_and_unchecked, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Barrier(W_); MPI_Win_unlock(0, w); MPI_Win_lock_all(MPI_MODE_NOCHECK, w); MPI_Barrier(W_); MPI_Win_unlock_all(w); MPI_Win_free(&w))
R(partitions_of_a_datatype, MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Psend_init(b, 4, 1, t, right_, 0, W_, MPI_INFO_NULL, qs); MPI_Precv_init(c, 4, 2, MPI_INT, left, 0, W_, MPI_INFO_NULL, qs + 1); MPI_Type_free(&t); for (int i = 0; i < 3; i++) { MPI_Startall(2, qs); b[4] = i; MPI_Pready_range(0, 3, qs[0]); MPI_Waitall(2, qs, sts); b[0] = i; } MPI_Request_free(qs); MPI_Request_free(qs + 1))

/* Keyvals, info objects, groups and datatypes at their limits. */
static int copies(MPI_Comm of, int key, void *extra, void *in, void *out, int *is_copied) { (void)of, (void)key, (void)extra; *(void **)out = in; return *is_copied = 1, MPI_SUCCESS; }
R(keyval_freed_in_use, int kv; int copy; void *of; MPI_Comm_dup(W_, &comm); MPI_Comm_create_keyval(copies, MPI_COMM_NULL_DELETE_FN, &kv, NULL); copy = kv; MPI_Comm_set_attr(comm, kv, b); MPI_Comm_free_keyval(&kv); MPI_Comm_dup(comm, &sub); MPI_Comm_get_attr(comm, copy, &of, &flag); MPI_Comm_delete_attr(comm, copy); MPI_Comm_free(&sub); MPI_Comm_free(&comm))
R(view_from_here, MPI_File f; MPI_File_open(W_, "/tmp/check-right-sequential", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL); MPI_File_close(&f))
R(keyvals_one_by_one, int kv; for (int i = 0; i < 4; i++) { MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kv, NULL); MPI_Comm_free_keyval(&kv); MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &kv, NULL); MPI_Type_dup(MPI_INT, &t); MPI_Type_set_attr(t, kv, b); MPI_Type_delete_attr(t, kv); MPI_Type_free(&t); MPI_Type_free_keyval(&kv); })
static char text[MPI_MAX_INFO_VAL + 9];
R(info_longest, MPI_Info_create(&info); memset(text, 'k', sizeof text); text[MPI_MAX_INFO_KEY - 1] = 0; MPI_Info_set(info, text, "a"); MPI_Info_set(info, text, "b"); MPI_Info_delete(info, text); memset(text, 'v', sizeof text); text[MPI_MAX_INFO_VAL - 1] = 0; MPI_Info_set(info, "key", text); MPI_Info_get_nthkey(info, 0, text); MPI_Info_get(info, "no", 1, text, &flag); MPI_Info_free(&info))
R(ranges_of_all_kinds, MPI_Comm_group(W_, &g); int ranges[3][3] = {{n - 1, 1, -1}, {0, 0, 9}, {1, 0, 5}}; MPI_Group_range_incl(g, 2, ranges, &h); MPI_Group_translate_ranks(g, 2, (int[]){MPI_PROC_NULL, n - 1}, h, (int[2]){0}); MPI_Group_free(&h); MPI_Group_range_excl(g, 0, ranges, &h); MPI_Group_free(&h); MPI_Group_free(&g))
R(view_freed_datatype, MPI_File f; MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &f); MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL); MPI_Type_free(&t); MPI_File_close(&f))
R(dims_that_divide, int dims[3] = {0, n, 0}; MPI_Dims_create(2 * n, 3, dims); dims[0] = dims[2] = 1; MPI_Dims_create(n, 3, dims))
R(file_modes, MPI_File f; MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &f); MPI_File_read_at(f, 0, c, 0, MPI_INT, &st); MPI_File_close(&f); MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &f); MPI_File_write_at(f, 0, b, 1, MPI_INT, &st); MPI_File_close(&f))

/* Buffers that are just large enough, and calls at their time. */
R(pack_to_the_end, char to[20]; int at = 0; MPI_Pack(b, 3, MPI_INT, to, 20, &at, W_); MPI_Pack(d, 1, MPI_DOUBLE, to, 20, &at, W_); MPI_Pack(d, 0, MPI_DOUBLE, to, 20, &at, W_); at = 0; MPI_Unpack(to, 20, &at, c, 3, MPI_INT, W_); MPI_Unpack(to, 20, &at, e, 1, MPI_DOUBLE, W_))
R(bsend_to_the_end, MPI_Pack_size(100, MPI_INT, W_, &value); value += MPI_BSEND_OVERHEAD; void *old; for (int i = 0; i < 2; i++) { MPI_Buffer_attach(c + 128 * i, value); MPI_Bsend(b, 100, MPI_INT, right_, 1, W_); MPI_Recv(c + 4096, 100, MPI_INT, left, 1, W_, &st); MPI_Buffer_detach(&old, &value); })
R(idup_used_later, for (int i = 0; i < 3; i++) { MPI_Comm_idup(W_, &comm, &q); if (i == 1) do MPI_Test(&q, &flag, &st); while (!flag); else if (i) do MPI_Request_get_status(q, &flag, &st); while (!flag); else MPI_Wait(&q, &st); MPI_Comm_size(comm, &value); MPI_Wait(&q, &st); MPI_Comm_free(&comm); })
R(handles_come_back, for (int i = 0; i < 40; i++) { MPI_Irecv(c, 1, MPI_INT, left, 0, W_, qs); MPI_Isend(b, 1, MPI_INT, right_, 0, W_, qs + 1); q = qs[i % 2]; MPI_Wait(&q, &st); qs[i % 2] = MPI_REQUEST_NULL; MPI_Waitall(2, qs, sts); MPI_Recv_init(c, 1, MPI_INT, MPI_PROC_NULL, 0, W_, &q); MPI_Start(&q); MPI_Wait(&q, &st); MPI_Wait(&q, &st); MPI_Request_free(&q); })
R(got_then_sent, MPI_Win_create(b, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_lock_all(0, w); MPI_Get(c, 4, MPI_INT, r, 0, 4, MPI_INT, w); MPI_Sendrecv(c + 4, 4, MPI_INT, right_, 0, c + 8, 4, MPI_INT, left, 0, W_, &st); MPI_Win_flush(r, w); MPI_Sendrecv(c, 4, MPI_INT, right_, 0, c + 8, 4, MPI_INT, left, 0, W_, &st); MPI_Win_unlock_all(w); MPI_Win_free(&w))
R(sent_and_put, MPI_Win_create(d, 64, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Isend(b, 4, MPI_INT, right_, 0, W_, &q); MPI_Put(b, 1, MPI_INT, r, 0, 1, MPI_INT, w); MPI_Recv(c, 4, MPI_INT, left, 0, W_, &st); MPI_Wait(&q, &st); MPI_Win_fence(0, w); MPI_Win_free(&w))
static void *asks(void *is) { int level; MPI_Initialized(is); MPI_Query_thread(&level); MPI_Is_thread_main(is); return is; }
R(other_thread_asks, pthread_t thread; pthread_create(&thread, NULL, asks, &flag); pthread_join(thread, NULL))
R(grid_outside, int dims[2] = {n, 1}, periods[2] = {1, 0}, at[2] = {-3, 0}; MPI_Cart_create(W_, 2, dims, periods, 0, &comm); MPI_Cart_rank(comm, at, &value); at[0] = 2 * n + 1; MPI_Cart_rank(comm, at, &value); MPI_Cart_shift(comm, 1, 9, &value, &flag); MPI_Comm_free(&comm))
R(grid_of_no_dimension, MPI_Cart_create(W_, 0, NULL, NULL, 0, &comm); if (comm != MPI_COMM_NULL) { MPI_Cart_rank(comm, zeros, &value); MPI_Comm_free(&comm); })
R(gathered_side_by_side, MPI_Type_vector(2, 1, 64, MPI_INT, &t); MPI_Type_create_resized(t, 0, 4, &u); MPI_Type_commit(&u); int *counts = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int)); for (int i = 0; i < n; i++) counts[i] = i != 1, places[i] = i == 1 ? 0 : n - 1 - i; MPI_Allgatherv(b, r == 1 ? 0 : 2, MPI_INT, c, counts, places, u, W_); MPI_Type_free(&t); MPI_Type_free(&u); free(counts); free(places))
R(gathered_in_place, int *counts = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int)); for (int i = 0; i < n; i++) counts[i] = 2, places[i] = 2 * (n - i); MPI_Gatherv(r ? b : MPI_IN_PLACE, 2, MPI_INT, c, r ? NULL : counts, r ? zeros : places, MPI_INT, 0, W_); free(counts); free(places))
R(scattered_twice, int *counts = malloc(n * sizeof(int)); for (int i = 0; i < n; i++) counts[i] = 2; int *places = calloc(n, sizeof(int)); MPI_Scatterv(b, counts, places, MPI_INT, c, 2, MPI_INT, 0, W_); free(counts); free(places))
#if MPI_VERSION >= 4
R(isendrecv_from_anybody, MPI_Isendrecv_replace(b, 3, MPI_INT, right_, 1, left, MPI_ANY_TAG, W_, &q); MPI_Wait(&q, &st); MPI_Isendrecv(b, 1, MPI_INT, 0, 4, c, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_SELF, &q); MPI_Wait(&q, &st))
R(isendrecv_late, MPI_Isendrecv(b, 1, MPI_INT, right_, 1, c, 1, MPI_INT, left, 2, W_, &q); MPI_Recv(d, 1, MPI_INT, left, 1, W_, &st); usleep(2000); MPI_Send(b, 1, MPI_INT, right_, 2, W_); MPI_Wait(&q, &st))
#endif

/* Operations that a flush completes: their buffers are the program's before their requests are. */
#define LOCKED(...) int *base; MPI_Win_allocate(4096, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock_all(0, w); __VA_ARGS__; MPI_Win_unlock_all(w); MPI_Win_free(&w)
R(rput_flush_change, LOCKED(MPI_Rput(c, 4, MPI_INT, r, 0, 4, MPI_INT, w, &q); MPI_Win_flush(r, w); c[0]++; MPI_Wait(&q, &st)))
R(rput_flush_local_change, LOCKED(MPI_Rput(c, 4, MPI_INT, r, 0, 4, MPI_INT, w, &q); MPI_Win_flush_local(r, w); c[0]++; MPI_Wait(&q, &st)))
R(raccumulate_flush_all_change, LOCKED(MPI_Raccumulate(c, 4, MPI_INT, r, 0, 4, MPI_INT, MPI_SUM, w, qs); MPI_Rput(c + 8, 4, MPI_INT, r, 8, 4, MPI_INT, w, qs + 1); MPI_Win_flush_all(w); c[0]++; c[8]++; MPI_Waitall(2, qs, sts)))
R(rget_flush_local_all_receive, LOCKED(MPI_Rget(c, 4, MPI_INT, r, 0, 4, MPI_INT, w, &q); MPI_Win_flush_local_all(w); MPI_Sendrecv(b, 4, MPI_INT, right_, 0, c, 4, MPI_INT, left, 0, W_, &st); MPI_Wait(&q, &st)))
R(rput_unlock_change, int *base; MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); MPI_Win_lock(MPI_LOCK_SHARED, r, 0, w); MPI_Rput(c, 4, MPI_INT, r, 0, 4, MPI_INT, w, &q); MPI_Win_unlock(r, w); c[0]++; MPI_Wait(&q, &st); MPI_Win_free(&w))
R(get_again, LOCKED(for (int i = 0; i < 4; i++) MPI_Get(c, 4, MPI_INT, r, 0, 4, MPI_INT, w); for (int i = 0; i < 4; i++) MPI_Rget(c + 8, 4, MPI_INT, r, 8, 4, MPI_INT, w, qs + i); MPI_Waitall(4, qs, sts)))
R(get_columns, MPI_Type_vector(4, 1, 4, MPI_INT, &t); MPI_Type_commit(&t); LOCKED(for (int i = 0; i < 4; i++) MPI_Get(c + i, 1, t, r, 4 * i, 4, MPI_INT, w); for (int i = 0; i < 4; i++) MPI_Rget(c + 64 + i, 1, t, r, 4 * i, 4, MPI_INT, w, qs + i); MPI_Waitall(4, qs, sts)); MPI_Type_free(&t))
R(got_changed_after_flush, LOCKED(base[0] = 55; MPI_Win_sync(w); MPI_Get(c, 4, MPI_INT, r, 0, 4, MPI_INT, w); MPI_Win_flush(r, w); c[0]++; MPI_Fetch_and_op(b, c + 8, MPI_INT, r, 9, MPI_SUM, w); MPI_Win_flush_local_all(w); c[8]++))
R(fetch_to_one_place, LOCKED(for (int i = 0; i < 4; i++) MPI_Rget_accumulate(b, 1, MPI_INT, c, 1, MPI_INT, r, i, 1, MPI_INT, MPI_SUM, w, qs + i); MPI_Waitall(4, qs, sts)))
R(fetch_of_all_to_one_place, MPI_Win_create(b, 4096, 4, MPI_INFO_NULL, W_, &w); for (int k = 0; k < 3; k++) { for (int i = 0; i < n; i++) MPI_Win_lock(MPI_LOCK_SHARED, i, 0, w); for (int i = 0; i < n; i++) MPI_Fetch_and_op(ones, c, MPI_INT, i, 0, MPI_SUM, w); for (int i = n; i-- > 0;) MPI_Win_unlock(i, w); } MPI_Win_free(&w))

/* Data of several basic datatypes: what is received may be longer. */
#define STRUCT(first, second) int lengths[2] = {1, 1}; MPI_Aint at[2] = {0, 8}; MPI_Datatype types[2] = {first, second}; MPI_Type_create_struct(2, lengths, at, types, &t); MPI_Type_commit(&t)
R(struct_longer, STRUCT(MPI_INT, MPI_DOUBLE); MPI_Sendrecv(d, 2, t, right_, 0, e, 7, t, left, 0, W_, &st); MPI_Type_free(&t))
R(struct_begun, STRUCT(MPI_INT, MPI_DOUBLE); MPI_Sendrecv(b, 1, MPI_INT, right_, 0, e, 7, t, left, 0, W_, &st); MPI_Type_free(&t))
R(struct_of_equals, STRUCT(MPI_INT, MPI_INT); MPI_Sendrecv(d, 5, t, right_, 0, c, 64, MPI_INT, left, 0, W_, &st); MPI_Sendrecv(b, 13, MPI_INT, right_, 0, d, 9, t, left, 0, W_, &st); MPI_Type_free(&t))
R(struct_as_another, STRUCT(MPI_INT, MPI_DOUBLE); u = t; { int lengths[3] = {1, 1, 1}; MPI_Aint at[3] = {0, 8, 16}; MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_INT}; MPI_Type_create_struct(3, lengths, at, types, &t); MPI_Type_commit(&t); } MPI_Sendrecv(d, 1, t, right_, 0, e, 2, u, left, 0, W_, &st); MPI_Type_free(&t); MPI_Type_free(&u))
R(struct_packed, STRUCT(MPI_INT, MPI_DOUBLE); value = 0; MPI_Pack(d, 2, t, c, 256, &value, W_); MPI_Sendrecv(c, value, MPI_PACKED, right_, 0, e, 9, t, left, 0, W_, &st); MPI_Type_free(&t))
R(struct_put, STRUCT(MPI_INT, MPI_INT); LOCKED(MPI_Put(d, 2, t, r, 0, 4, MPI_INT, w)); MPI_Type_free(&t))

/* Data with gaps, which are not used. */
#define COLUMNS(count, blocks, width, stride) MPI_Type_vector(blocks, width, stride, MPI_INT, &t); MPI_Type_commit(&t); for (int i = 0; i < count; i++) { MPI_Irecv(c + width * i, 1, t, left, i, W_, qs + i); MPI_Isend(b + width * i, 1, t, right_, i, W_, qs + 64 + i); }
R(many_columns, COLUMNS(64, 16, 1, 64); MPI_Waitall(64, qs, sts); MPI_Waitall(64, qs + 64, sts); MPI_Type_free(&t))
R(wide_columns, COLUMNS(4, 8, 3, 12); MPI_Waitall(4, qs, sts); MPI_Waitall(4, qs + 64, sts); MPI_Type_free(&t))
R(gap_changed, COLUMNS(1, 8, 2, 8); b[2]++; b[15]++; b[64]++; c[2]++; MPI_Waitall(1, qs, sts); MPI_Waitall(1, qs + 64, sts); MPI_Type_free(&t))
R(blocks_between, int lengths[6] = {1, 2, 1, 3, 1, 1}, at[6] = {0, 3, 9, 20, 33, 60}, others[6] = {1, 5, 10, 23, 34, 61}; MPI_Type_indexed(6, lengths, at, MPI_INT, &t); MPI_Type_indexed(6, lengths, others, MPI_INT, &u); MPI_Type_commit(&t); MPI_Type_commit(&u); MPI_Irecv(c, 1, t, left, 1, W_, qs); MPI_Irecv(c, 1, u, left, 2, W_, qs + 1); MPI_Isend(b, 1, t, right_, 1, W_, qs + 2); b[1]++; MPI_Send(b, 1, u, right_, 2, W_); MPI_Waitall(3, qs, sts); MPI_Type_free(&t); MPI_Type_free(&u))
R(halves_of_a_block, int sizes[2] = {8, 8}, parts[2] = {8, 4}, at[2] = {0, 0}; MPI_Type_create_subarray(2, sizes, parts, at, MPI_ORDER_C, MPI_INT, &t); at[1] = 4; MPI_Type_create_subarray(2, sizes, parts, at, MPI_ORDER_C, MPI_INT, &u); MPI_Type_commit(&t); MPI_Type_commit(&u); MPI_Irecv(c, 1, t, left, 1, W_, qs); MPI_Isend(c, 1, u, right_, 1, W_, qs + 1); MPI_Waitall(2, qs, sts); MPI_Type_free(&t); MPI_Type_free(&u))
R(resized_between, MPI_Type_create_resized(MPI_INT, 0, 8, &t); MPI_Type_commit(&t); MPI_Irecv(c, 9, t, left, 1, W_, qs); MPI_Irecv(c + 1, 9, t, left, 2, W_, qs + 1); MPI_Send(b, 9, t, right_, 1, W_); MPI_Send(b + 1, 9, t, right_, 2, W_); MPI_Waitall(2, qs, sts); MPI_Type_free(&t))

/* Split operations on files, with others between that not all processes call. */
#define FILE_(name) MPI_File f; MPI_File_open(W_, "/tmp/check-right-" name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f)
R(split, FILE_("split"); MPI_File_write_at_all_begin(f, 16 * r, b, 4, MPI_INT); MPI_File_write_at(f, 4096 + 16 * r, b, 4, MPI_INT, &st); value = b[1]; MPI_Barrier(W_); MPI_File_write_at_all_end(f, b, &st); b[1]++; MPI_File_read_at_all_begin(f, 16 * r, c, 4, MPI_INT); MPI_File_read_at_all_end(f, c, &st); MPI_File_write_ordered_begin(f, b, 4, MPI_INT); MPI_File_write_ordered_end(f, b, &st); MPI_File_sync(f); MPI_File_close(&f))
R(split_two_files, FILE_("split-one"); MPI_File v = f; { FILE_("split-two"); MPI_File_write_all_begin(f, b, 4, MPI_INT); MPI_File_write_all_begin(v, b, 4, MPI_INT); MPI_File_write_all_end(f, b, &st); MPI_File_write_all_end(v, b, &st); MPI_File_close(&f); } MPI_File_close(&v))
R(iwrite_iread, FILE_("requests"); MPI_File_iwrite_at(f, 64 * r, b, 4, MPI_INT, qs); MPI_File_iwrite_at(f, 64 * r + 16, b, 4, MPI_INT, qs + 1); MPI_Waitall(2, qs, sts); b[0]++; MPI_File_iread_at(f, 64 * r, c, 4, MPI_INT, &q); MPI_Wait(&q, &st); c[0]++; MPI_File_close(&f))

/* Ready sends whose receives are posted in all ways. */
R(rsend_to_anybody, MPI_Irecv(c, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &q); MPI_Barrier(W_); MPI_Rsend(b, 4, MPI_INT, right_, 3, W_); MPI_Wait(&q, &st))
R(rsend_again, MPI_Recv_init(c, 4, MPI_INT, left, 3, W_, qs); MPI_Rsend_init(b, 4, MPI_INT, right_, 3, W_, qs + 1); for (int i = 0; i < 3; i++) { MPI_Start(qs); MPI_Barrier(W_); MPI_Start(qs + 1); MPI_Waitall(2, qs, sts); } MPI_Request_free(qs); MPI_Request_free(qs + 1))
R(rsend_as_told, MPI_Irecv(c, 4, MPI_INT, left, 3, W_, qs); MPI_Send(b, 0, MPI_INT, left, 4, W_); MPI_Recv(d, 0, MPI_INT, right_, 4, W_, &st); MPI_Irsend(b, 4, MPI_INT, right_, 3, W_, qs + 1); MPI_Waitall(2, qs, sts))
R(rsend_after_others, MPI_Irecv(c, 4, MPI_INT, MPI_ANY_SOURCE, 3, W_, qs); MPI_Irecv(c + 8, 4, MPI_INT, left, 3, W_, qs + 1); MPI_Barrier(W_); MPI_Rsend(b, 4, MPI_INT, right_, 3, W_); MPI_Rsend(b, 4, MPI_INT, right_, 3, W_); MPI_Waitall(2, qs, sts))

/* Statuses that are only written in part: what MPI leaves in them says nothing. */
#define FILL memset(sts, 0xff, sizeof sts); st = sts[0]
#define SENT(count) MPI_Isend(b, count, MPI_INT, right_, 3, W_, &q)
R(half_mprobe, FILL; SENT(5); MPI_Mprobe(left, 3, W_, &m, &st); MPI_Mrecv(c, 5, MPI_INT, &m, &st); MPI_Wait(&q, sts))
R(half_mprobe_any, FILL; SENT(5); MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &m, &st); FILL; MPI_Imrecv(c, 9, MPI_INT, &m, qs); MPI_Wait(qs, &st); MPI_Wait(&q, sts))
R(half_improbe, SENT(5); do { FILL; MPI_Improbe(left, 3, W_, &flag, &m, &st); } while (!flag); MPI_Mrecv(c, 5, MPI_INT, &m, &st); MPI_Wait(&q, sts))
R(half_probe, FILL; SENT(5); MPI_Probe(left, 3, W_, &st); FILL; MPI_Recv(c, 5, MPI_INT, left, 3, W_, &st); MPI_Wait(&q, sts))
R(half_iprobe, SENT(5); do { FILL; MPI_Iprobe(MPI_ANY_SOURCE, 3, W_, &flag, &st); } while (!flag); MPI_Recv(c, 5, MPI_INT, st.MPI_SOURCE, 3, W_, &st); MPI_Wait(&q, sts))
R(half_recv, FILL; SENT(5); MPI_Recv(c, 9, MPI_INT, MPI_ANY_SOURCE, 3, W_, &st); MPI_Wait(&q, sts))
R(half_sendrecv, FILL; MPI_Sendrecv(b, 3, MPI_INT, right_, 1, c, 3, MPI_INT, left, 1, W_, &st); FILL; MPI_Sendrecv_replace(b, 3, MPI_INT, right_, 1, left, 1, W_, &st))
R(half_waits, FILL; MPI_Irecv(c, 9, MPI_INT, left, 3, W_, qs); SENT(9); MPI_Waitall(1, qs, sts); MPI_Wait(&q, sts); MPI_Irecv(c, 9, MPI_INT, left, 3, W_, qs); SENT(2); do { FILL; MPI_Testall(1, qs, &flag, sts); } while (!flag); MPI_Wait(&q, sts))
R(half_nobody, FILL; MPI_Recv(c, 9, MPI_INT, MPI_PROC_NULL, 3, W_, &st); MPI_Mprobe(MPI_PROC_NULL, 3, W_, &m, &st); MPI_Mrecv(c, 9, MPI_INT, &m, &st))
R(half_started, MPI_Recv_init(c, 9, MPI_INT, left, 3, W_, qs); for (int i = 0; i < 3; i++) { FILL; MPI_Start(qs); MPI_Send(b, 1 + i, MPI_INT, right_, 3, W_); MPI_Wait(qs, &st); } MPI_Request_free(qs))
R(half_cancelled, FILL; MPI_Irecv(c, 9, MPI_INT, left, 99, W_, &q); MPI_Cancel(&q); MPI_Wait(&q, &st); MPI_Barrier(W_); MPI_Sendrecv(b, 3, MPI_INT, right_, 99, c, 3, MPI_INT, left, 99, W_, &st))
R(half_cancelled_started, FILL; MPI_Recv_init(c, 9, MPI_INT, left, 98, W_, &q); MPI_Start(&q); MPI_Cancel(&q); MPI_Wait(&q, &st); MPI_Barrier(W_); FILL; MPI_Start(&q); MPI_Send(b, 4, MPI_INT, right_, 98, W_); MPI_Wait(&q, &st); MPI_Request_free(&q))

/* What MPI makes for itself, and handles of what was there before. */
R(view_of_darray, int sizes[1] = {16 * n}, kinds[1] = {MPI_DISTRIBUTE_BLOCK}, args[1] = {MPI_DISTRIBUTE_DFLT_DARG}; MPI_Type_create_darray(n, r, 1, sizes, kinds, args, &n, MPI_ORDER_C, MPI_INT, &t); MPI_Type_commit(&t); FILE_("darray"); MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL); MPI_File_write_all(f, b, 16, MPI_INT, &st); MPI_File_close(&f); MPI_Type_free(&t))
R(view_of_grid, int g2[2] = {4, 8}, d2[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE}, a2[2] = {1, MPI_DISTRIBUTE_DFLT_DARG}, p2[2] = {n, 1}; MPI_Type_create_darray(n, r, 2, g2, d2, a2, p2, MPI_ORDER_FORTRAN, MPI_INT, &t); MPI_Type_commit(&t); FILE_("grid"); MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL); MPI_File_close(&f); MPI_Type_free(&t))
R(view_got_back, MPI_Type_vector(4, 1, 2, MPI_INT, &t); MPI_Type_commit(&t); FILE_("got"); MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL); MPI_Datatype e_, f_; MPI_Offset o; char rep[MPI_MAX_DATAREP_STRING]; MPI_File_get_view(f, &o, &e_, &f_, rep); int i_, a_, d_, k_; MPI_Type_get_envelope(f_, &i_, &a_, &d_, &k_); if (k_ != MPI_COMBINER_NAMED) MPI_Type_free(&f_); MPI_File_close(&f); MPI_Type_free(&t))
R(nonblocking_file, FILE_("nonblocking"); MPI_File_iwrite_at_all(f, 16 * r, b, 4, MPI_INT, &q); MPI_Wait(&q, &st); MPI_File_write_shared(f, b, 1, MPI_INT, &st); MPI_File_close(&f))
R(handler_got_again, MPI_Errhandler a, got; MPI_Comm_get_errhandler(W_, &a); for (int i = 0; i < 3; i++) { MPI_Comm_get_errhandler(W_, &got); MPI_Comm_set_errhandler(W_, got); if (got != MPI_ERRORS_ARE_FATAL && got != MPI_ERRORS_RETURN) MPI_Errhandler_free(&got); })
static void handle_error(MPI_Comm *of, int *code, ...) { (void)of, (void)code; }
R(handler_freed_in_use, MPI_Errhandler own, got; MPI_Comm_create_errhandler(handle_error, &own); MPI_Comm_dup(W_, &comm); MPI_Comm_set_errhandler(comm, own); MPI_Errhandler_free(&own); for (int i = 0; i < 2; i++) { MPI_Comm_get_errhandler(comm, &got); MPI_Errhandler_free(&got); } MPI_Comm_get_errhandler(comm, &got); MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); MPI_Comm_set_errhandler(comm, got); MPI_Errhandler_free(&got); MPI_Comm_free(&comm))
R(groups_of_one, MPI_Comm_group(W_, &g); MPI_Comm_group(W_, &h); MPI_Group_free(&g); MPI_Group_size(h, &value); MPI_Group_free(&h); MPI_Group_incl(MPI_GROUP_EMPTY, 0, NULL, &g); if (g != MPI_GROUP_EMPTY) MPI_Group_free(&g))
R(through_fortran, MPI_Comm_dup(W_, &comm); MPI_Fint number = MPI_Comm_c2f(comm); MPI_Comm again = MPI_Comm_f2c(number); MPI_Barrier(again); MPI_Comm_free(&again); MPI_Type_contiguous(2, MPI_INT, &t); number = MPI_Type_c2f(t); u = MPI_Type_f2c(number); MPI_Type_commit(&u); MPI_Type_free(&u))
R(through_attribute, int key; MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL); static MPI_Comm kept; MPI_Comm_dup(W_, &kept); MPI_Comm_dup(W_, &comm); MPI_Comm_set_attr(comm, key, &kept); MPI_Comm *got; MPI_Comm_get_attr(comm, key, &got, &flag); MPI_Comm_free(got); MPI_Comm_delete_attr(comm, key); MPI_Comm_free_keyval(&key); MPI_Comm_free(&comm))
R(info_of_comm, MPI_Info a, two; MPI_Comm_get_info(W_, &a); MPI_Comm_get_info(W_, &two); MPI_Info_free(&a); MPI_Info_free(&two))
static void sum_and_ask(void *in, void *out, int *length, MPI_Datatype *datatype) {
    MPI_Datatype made;
    MPI_Type_contiguous(*length, *datatype, &made);
    MPI_Type_free(&made);
    sum(in, out, length, datatype);
}
R(callback_makes_and_frees, MPI_Op_create(sum_and_ask, 1, &op); MPI_Allreduce(b, c, 4, MPI_INT, op, W_); MPI_Op_free(&op))

/* Polling that will end. */
#define LATE(microseconds) if (r == n - 1) usleep(microseconds)
R(polls_iprobe, LATE(300000); SENT(1); do MPI_Iprobe(left, 3, W_, &flag, &st); while (!flag); MPI_Recv(c, 1, MPI_INT, left, 3, W_, &st); MPI_Wait(&q, sts))
R(polls_for_either, LATE(300000); SENT(1); flag = 0; for (int i = 0; !flag; i++) MPI_Iprobe(left, i % 2 ? 3 : 4, W_, &flag, &st); MPI_Recv(c, 1, MPI_INT, left, 3, W_, &st); MPI_Wait(&q, sts))
R(polls_test, LATE(300000); MPI_Irecv(c, 1, MPI_INT, left, 3, W_, qs); SENT(1); do MPI_Test(qs, &flag, &st); while (!flag); MPI_Wait(&q, sts))
R(polls_testany, LATE(200000); MPI_Irecv(c, 1, MPI_INT, left, 3, W_, qs); MPI_Irecv(c + 1, 1, MPI_INT, left, 4, W_, qs + 1); SENT(1); do MPI_Testany(2, qs, &value, &flag, &st); while (!flag); MPI_Wait(&q, sts); MPI_Send(b, 1, MPI_INT, right_, 4, W_); MPI_Wait(qs + 1, &st))
R(polls_testsome, LATE(200000); MPI_Irecv(c, 1, MPI_INT, left, 3, W_, qs); SENT(1); int at[1]; do MPI_Testsome(1, qs, &value, at, sts); while (!value); MPI_Wait(&q, sts))
R(polls_status, LATE(200000); MPI_Irecv(c, 1, MPI_INT, left, 3, W_, qs); SENT(1); do MPI_Request_get_status(qs[0], &flag, &st); while (!flag); MPI_Wait(qs, &st); MPI_Wait(&q, sts))
R(polls_collective, LATE(300000); MPI_Iallreduce(b, c, 1, MPI_INT, MPI_SUM, W_, qs); do MPI_Test(qs, &flag, &st); while (!flag))
R(polls_in_vain, MPI_Irecv(c, 1, MPI_INT, left, 3, W_, qs); for (int i = 0; i < 20000; i++) { MPI_Iprobe(left, 77, W_, &flag, &st); MPI_Test(qs, &flag, &st); } MPI_Barrier(W_); SENT(1); if (qs[0] != MPI_REQUEST_NULL) MPI_Wait(qs, &st); MPI_Wait(&q, sts))
R(polls_while_others_wait, if (!r) { for (int i = 0; i < 40000; i++) MPI_Iprobe(MPI_ANY_SOURCE, 77, W_, &flag, &st); usleep(500000); } MPI_Barrier(W_))

/* Operations that a process may leave early, or stands in for a while. */
R(root_goes_on, MPI_Bcast(b, 1, MPI_INT, 0, W_); MPI_Sendrecv(b, 1, MPI_INT, right_, 3, c, 1, MPI_INT, left, 3, W_, &st))
R(root_waits_for_late_ones, if (r) usleep(700000); MPI_Bcast(b, 65536, MPI_INT, 0, W_); MPI_Scatter(b, 64, MPI_INT, c, 64, MPI_INT, 0, W_))
R(scan_waits_for_late_ones, LATE(700000); MPI_Scan(b, c, 4, MPI_INT, MPI_SUM, W_); MPI_Exscan(b, c, 4, MPI_INT, MPI_SUM, W_))
R(gather_goes_on, if (!r) usleep(300000); MPI_Gather(b, 1, MPI_INT, c, 1, MPI_INT, 0, W_); MPI_Reduce(b, c, 1, MPI_INT, MPI_SUM, 0, W_))
R(empty_goes_on, LATE(300000); MPI_Bcast(b, 0, MPI_INT, 0, W_); MPI_Gather(b, 0, MPI_INT, c, 0, MPI_INT, 0, W_))
R(ibcast_root_waits, MPI_Ibcast(b, 4096, MPI_INT, 0, W_, &q); LATE(300000); MPI_Wait(&q, &st))
R(any_beside_one, MPI_Irecv(c, 1, MPI_INT, MPI_ANY_SOURCE, 3, W_, qs); MPI_Irecv(c + 1, 1, MPI_INT, left, 3, W_, qs + 1); MPI_Send(b, 1, MPI_INT, right_, 3, W_); LATE(200000); MPI_Send(b, 1, MPI_INT, right_, 3, W_); MPI_Waitall(2, qs, sts))
R(any_beside_others, MPI_Irecv(c, 1, MPI_INT, left, 3, W_, qs); MPI_Irecv(c + 1, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W_, qs + 1); MPI_Send(b, 1, MPI_INT, right_, 3, W_); MPI_Send(b, 1, MPI_INT, right_, 4, W_); MPI_Waitall(2, qs, sts); MPI_Barrier(W_))

/* The same between two groups, and of persistent ones. */
#define BETWEEN(...) MPI_Comm part, inter; MPI_Comm_split(W_, r > 0, r, &part); MPI_Intercomm_create(part, 0, W_, r ? 0 : 1, 7, &inter); __VA_ARGS__; MPI_Comm_free(&inter); MPI_Comm_free(&part)
R(groups_come_late, BETWEEN(if (r) usleep(700000); MPI_Barrier(inter); if (!r) usleep(700000); MPI_Allreduce(b, c, 4, MPI_INT, MPI_SUM, inter); MPI_Allgather(b, 1, MPI_INT, c, 1, MPI_INT, inter)))
R(groups_have_roots, BETWEEN(if (!r) usleep(700000); MPI_Bcast(b, 4, MPI_INT, r ? 0 : MPI_ROOT, inter); if (r == n - 1) usleep(300000); MPI_Gather(b, 1, MPI_INT, c, 1, MPI_INT, r ? 0 : MPI_ROOT, inter); MPI_Bcast(b, 4, MPI_INT, !r ? 0 : r == 1 ? MPI_ROOT : MPI_PROC_NULL, inter)))
R(groups_leave_early, BETWEEN(MPI_Bcast(b, 4, MPI_INT, r ? 0 : MPI_ROOT, inter); if (!r) { usleep(400000); MPI_Send(b, 1, MPI_INT, n - 1, 3, W_); } if (r == n - 1) MPI_Recv(c, 1, MPI_INT, 0, 3, W_, &st); MPI_Barrier(inter)))
R(groups_do_not_block, BETWEEN(MPI_Ibarrier(inter, &q); LATE(300000); MPI_Wait(&q, &st); MPI_Iallreduce(b, c, 4, MPI_INT, MPI_SUM, inter, qs); LATE(300000); MPI_Wait(qs, &st)))
R(groups_split_and_merge, BETWEEN(MPI_Comm copy, both; LATE(300000); MPI_Comm_dup(inter, &copy); LATE(300000); MPI_Intercomm_merge(copy, r > 0, &both); MPI_Barrier(both); MPI_Comm_free(&both); MPI_Comm_free(&copy)))
#if MPI_VERSION >= 4
R(persistent_come_late, MPI_Barrier_init(W_, MPI_INFO_NULL, qs); MPI_Bcast_init(b, 4, MPI_INT, 0, W_, MPI_INFO_NULL, qs + 1); for (int i = 0; i < 3; i++) { LATE(300000); MPI_Start(qs); MPI_Wait(qs, &st); MPI_Start(qs + 1); LATE(300000); MPI_Wait(qs + 1, &st); } MPI_Request_free(qs); MPI_Request_free(qs + 1))
R(persistent_both_ways, MPI_Allreduce_init(b, c, 4, MPI_INT, MPI_SUM, W_, MPI_INFO_NULL, qs); MPI_Allgather_init(b, 1, MPI_INT, c + 64, 1, MPI_INT, W_, MPI_INFO_NULL, qs + 1); for (int i = 0; i < 4; i++) { MPI_Startall(2, qs); LATE(200000); MPI_Waitall(2, qs, sts); } MPI_Request_free(qs); MPI_Request_free(qs + 1))
R(persistent_of_many, MPI_Request many[24]; for (int i = 0; i < 24; i++) MPI_Allreduce_init(b, c + i, 1, MPI_INT, MPI_SUM, W_, MPI_INFO_NULL, many + i); for (int i = 0; i < 2; i++) { LATE(300000); MPI_Startall(24, many); MPI_Waitall(24, many, MPI_STATUSES_IGNORE); } for (int i = 0; i < 24; i++) MPI_Request_free(many + i))
R(persistent_beside_others, MPI_Barrier_init(W_, MPI_INFO_NULL, qs); MPI_Irecv(c, 1, MPI_INT, left, 9, W_, qs + 1); MPI_Start(qs); LATE(700000); MPI_Waitany(2, qs, &value, &st); MPI_Send(b, 1, MPI_INT, right_, 9, W_); MPI_Waitall(2, qs, sts); MPI_Request_free(qs))
#endif

R(probed_and_received_late, MPI_Message message; MPI_Issend(b, 1, MPI_INT, right_, 6, W_, &q); MPI_Mprobe(left, 6, W_, &message, &st); LATE(700000); MPI_Mrecv(c, 1, MPI_INT, &message, &st); MPI_Wait(&q, &st))

/* Groups that communicators are made of. */
#define OF_(length, ...) MPI_Comm_group(W_, &g); int ranks[] = {__VA_ARGS__}; MPI_Group_incl(g, length, ranks, &h)
R(all_say_one_group, OF_(2, 1, 0); MPI_Comm_create(W_, h, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm); MPI_Group_free(&h); MPI_Group_free(&g))
R(each_says_its_own, OF_(1, r); MPI_Comm_create(W_, h, &comm); MPI_Comm_free(&comm); MPI_Group_free(&h); MPI_Group_free(&g))
R(others_say_none, OF_(2, 1, 0); MPI_Comm_create(W_, r < 2 ? h : MPI_GROUP_EMPTY, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm); MPI_Group_free(&h); MPI_Group_free(&g))
R(split_halves_come_late, MPI_File f; MPI_File_open(W_, "/tmp/check-right-halves", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); LATE(300000); MPI_File_write_at_all_begin(f, 16 * r, b, 4, MPI_INT); LATE(300000); MPI_File_write_at_all_end(f, b, &st); MPI_File_close(&f))

/* Arrays that need not be there. */
R(counts_at_root_only, int at[64] = {0}; for (int i = 0; i < n; i++) at[i] = i; MPI_Gatherv(b, 1, MPI_INT, c, r ? NULL : ones, r ? NULL : at, MPI_INT, 0, W_); MPI_Scatterv(b, r ? NULL : ones, r ? NULL : at, MPI_INT, c, 1, MPI_INT, 0, W_))
R(in_place_without_counts, int at[64] = {0}; MPI_Datatype types[64]; for (int i = 0; i < n; i++) { at[i] = i; types[i] = MPI_INT; } MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, c, ones, at, MPI_INT, W_); for (int i = 0; i < n; i++) at[i] = 4 * i; MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, c, ones, at, types, W_))
R(nothing_without_arrays, MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE); MPI_Comm_group(W_, &g); MPI_Group_incl(g, 0, NULL, &h); if (h != MPI_GROUP_EMPTY) MPI_Group_free(&h); MPI_Group_free(&g); MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE))
R(empty_types, MPI_Type_create_struct(0, NULL, NULL, NULL, &t); MPI_Type_commit(&t); MPI_Type_free(&t); MPI_Type_indexed(0, NULL, NULL, MPI_INT, &t); MPI_Type_commit(&t); MPI_Type_free(&t))
R(graph_of_two, int ends[2] = {1, 2}, edges[2] = {1, 0}; MPI_Graph_create(W_, 2, ends, edges, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
R(graph_of_loops, int ends[2] = {1, 3}, edges[3] = {0, 1, 1}; MPI_Graph_create(W_, 2, ends, edges, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
R(dist_graphs, int degree = 1; MPI_Dist_graph_create(W_, 1, &r, &degree, &right_, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); MPI_Comm_free(&comm); MPI_Dist_graph_create(W_, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); MPI_Comm_free(&comm); MPI_Dist_graph_create_adjacent(W_, 1, &left, MPI_UNWEIGHTED, 1, &right_, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); MPI_Comm_free(&comm); MPI_Dist_graph_create_adjacent(W_, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm); MPI_Comm_free(&comm))
R(between_and_merged, MPI_Comm halves, both; MPI_Comm_split(W_, r > 0, r, &halves); MPI_Intercomm_create(halves, 0, W_, r ? 0 : 1, 7, &comm); MPI_Comm_remote_size(comm, &value); MPI_Comm_remote_group(comm, &g); MPI_Group_free(&g); MPI_Intercomm_merge(comm, r > 0, &both); MPI_Barrier(both); MPI_Comm_free(&both); MPI_Comm_free(&comm); MPI_Comm_free(&halves))
R(started_together, MPI_Recv_init(c, 4, MPI_INT, left, 1, W_, qs); MPI_Recv_init(c + 4, 4, MPI_INT, left, 2, W_, qs + 1); MPI_Send_init(b, 4, MPI_INT, right_, 1, W_, qs + 2); MPI_Send_init(b, 4, MPI_INT, right_, 2, W_, qs + 3); MPI_Startall(4, qs); MPI_Waitall(4, qs, sts); for (int i = 0; i < 4; i++) MPI_Request_free(qs + i))
R(cancelled_started, MPI_Recv_init(c, 4, MPI_INT, left, 97, W_, &q); MPI_Start(&q); MPI_Cancel(&q); MPI_Wait(&q, &st); MPI_Request_free(&q))

/* One-sided operations beside those that are wrong. */
#define SHARED_ int *base; MPI_Win_allocate(4096, 4, MPI_INFO_NULL, W_, &base, &w)
R(fences_without_epoch, SHARED_; MPI_Win_fence(MPI_MODE_NOPRECEDE, w); MPI_Put(b, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_fence(MPI_MODE_NOPRECEDE, w); MPI_Put(b, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); MPI_Win_free(&w))
R(locks_before_noprecede, SHARED_; MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, w); MPI_Put(b, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_unlock(right_, w); MPI_Barrier(W_); MPI_Win_fence(MPI_MODE_NOPRECEDE, w); MPI_Get(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); MPI_Win_free(&w))
R(accumulates_of_two_types, SHARED_; base[0] = base[1] = 0; MPI_Win_fence(0, w); float f = 1; MPI_Accumulate(&f, 1, MPI_FLOAT, right_, 0, 1, MPI_FLOAT, MPI_SUM, w); MPI_Accumulate(ones, 1, MPI_INT, right_, 1, 1, MPI_INT, MPI_SUM, w); MPI_Accumulate(ones + 1, 1, MPI_INT, right_, 1, 1, MPI_INT, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
R(accumulates_after_flush, SHARED_; base[0] = 0; MPI_Win_fence(0, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); float f = 1; MPI_Win_lock_all(0, w); MPI_Accumulate(&f, 1, MPI_FLOAT, right_, r, 1, MPI_FLOAT, MPI_SUM, w); MPI_Win_flush(right_, w); MPI_Accumulate(ones, 1, MPI_INT, right_, r, 1, MPI_INT, MPI_SUM, w); MPI_Win_unlock_all(w); MPI_Win_free(&w))
R(puts_of_two_lines, SHARED_; MPI_Win_fence(0, w); b[0] = b[1] = 7; MPI_Put(b, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Put(b + 1, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); for (int i = 0; i < 3; i++) MPI_Put(b + i, 1, MPI_INT, right_, 1, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, w); MPI_Put(b, 1, MPI_INT, right_, 2, 1, MPI_INT, w); MPI_Win_flush(right_, w); MPI_Put(b + 9, 1, MPI_INT, right_, 2, 1, MPI_INT, w); MPI_Win_unlock(right_, w); MPI_Win_free(&w))
R(gets_untouched, SHARED_; base[0] = r + 100; MPI_Win_fence(0, w); c[0] = -1; MPI_Get(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); c[0] = 5; MPI_Get(c, 1, MPI_INT, left, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); c[0]++; MPI_Win_free(&w))
R(gets_under_locks, SHARED_; base[0] = r + 100; MPI_Barrier(W_); for (int i = 0; i < 4; i++) { c[0] = i; MPI_Win_lock(MPI_LOCK_SHARED, right_, 0, w); MPI_Get(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_flush(right_, w); c[0] = -i; MPI_Get(c, 1, MPI_INT, right_, 0, 1, MPI_INT, w); MPI_Win_unlock(right_, w); } MPI_Win_free(&w))

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
