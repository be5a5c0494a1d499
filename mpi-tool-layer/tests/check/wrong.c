/* Wrong programs: one in each line that begins with W, which says the class of the finding that must name the line.
 * `./wrong NAME` runs one of them, on two ranks. Errors return, so that what comes afterwards does not depend on MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *name;
    void (*run)(void);
} cases[512];
static int count, r, n, peer, b[4096], c[4096], ones[16], zeros[16], value;
static double d[64];
static MPI_Comm comm;
static MPI_Request q, qs[4];
static MPI_Status st;
static MPI_Datatype t;
static MPI_Group g;
static MPI_Op op;
static MPI_Win w;
static MPI_Info info;
#define W_ MPI_COMM_WORLD
#define W(id, class, ...)                                                                                            \
    static void id(void) { __VA_ARGS__; }                                                                            \
    __attribute__((constructor)) static void add_##id(void) {                                                        \
        cases[count].name = #id;                                                                                       \
        cases[count++].run = id;                                                                                       \
    }

static void sum(void *in, void *out, int *length, MPI_Datatype *datatype) {
    (void)in, (void)out, (void)length, (void)datatype;
}

/* Arguments of messages. */
W(send_count, "invalid-argument", MPI_Send(b, -1, MPI_INT, MPI_PROC_NULL, 0, W_))
W(recv_count, "invalid-argument", MPI_Recv(b, -1, MPI_INT, MPI_PROC_NULL, 0, W_, &st))
W(isend_count, "invalid-argument", MPI_Isend(b, -2, MPI_INT, MPI_PROC_NULL, 0, W_, &q))
W(send_rank, "invalid-argument", MPI_Send(b, 1, MPI_INT, n, 0, W_))
W(send_rank_negative, "invalid-argument", MPI_Send(b, 1, MPI_INT, -77, 0, W_))
W(send_any_source, "invalid-argument", MPI_Send(b, 1, MPI_INT, MPI_ANY_SOURCE == MPI_PROC_NULL ? -9 : MPI_ANY_SOURCE, 0, W_))
W(isend_rank, "invalid-argument", MPI_Isend(b, 1, MPI_INT, n + 3, 0, W_, &q))
W(ssend_rank, "invalid-argument", MPI_Ssend(b, 1, MPI_INT, n, 0, W_))
W(rsend_rank, "invalid-argument", MPI_Rsend(b, 1, MPI_INT, n, 0, W_))
W(bsend_rank, "invalid-argument", MPI_Bsend(b, 1, MPI_INT, n, 0, W_))
W(issend_rank, "invalid-argument", MPI_Issend(b, 1, MPI_INT, n, 0, W_, &q))
W(send_init_rank, "invalid-argument", MPI_Send_init(b, 1, MPI_INT, n, 0, W_, &q))
W(recv_init_rank, "invalid-argument", MPI_Recv_init(b, 1, MPI_INT, n, 0, W_, &q))
W(recv_rank, "invalid-argument", MPI_Recv(b, 1, MPI_INT, n, 0, W_, &st))
W(irecv_rank, "invalid-argument", MPI_Irecv(b, 1, MPI_INT, n, 0, W_, &q))
W(probe_rank, "invalid-argument", MPI_Probe(n, 0, W_, &st))
W(iprobe_rank, "invalid-argument", MPI_Iprobe(n, 0, W_, &value, &st))
W(sendrecv_rank, "invalid-argument", MPI_Sendrecv(b, 1, MPI_INT, n, 0, c, 1, MPI_INT, MPI_PROC_NULL, 0, W_, &st))
W(sendrecv_source, "invalid-argument", MPI_Sendrecv(b, 1, MPI_INT, MPI_PROC_NULL, 0, c, 1, MPI_INT, n, 0, W_, &st))
W(send_tag, "invalid-argument", MPI_Send(b, 1, MPI_INT, peer, -5, W_))
W(send_any_tag, "invalid-argument", MPI_Send(b, 1, MPI_INT, peer, MPI_ANY_TAG, W_))
W(isend_tag, "invalid-argument", MPI_Isend(b, 1, MPI_INT, peer, -5, W_, &q))
W(recv_tag, "invalid-argument", MPI_Recv(b, 1, MPI_INT, peer, -7, W_, &st))
W(irecv_tag, "invalid-argument", MPI_Irecv(b, 1, MPI_INT, peer, -7, W_, &q))
W(probe_tag, "invalid-argument", MPI_Probe(peer, -7, W_, &st))
W(sendrecv_tag, "invalid-argument", MPI_Sendrecv(b, 1, MPI_INT, peer, -4, c, 1, MPI_INT, peer, 0, W_, &st))
W(send_null_type, "invalid-argument", MPI_Send(b, 1, MPI_DATATYPE_NULL, peer, 0, W_))
W(recv_null_type, "invalid-argument", MPI_Recv(b, 1, MPI_DATATYPE_NULL, peer, 0, W_, &st))
W(isend_null_type, "invalid-argument", MPI_Isend(b, 1, MPI_DATATYPE_NULL, peer, 0, W_, &q))
W(irecv_null_type, "invalid-argument", MPI_Irecv(b, 1, MPI_DATATYPE_NULL, peer, 0, W_, &q))
W(send_null_comm, "invalid-argument", MPI_Send(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL))
W(recv_null_comm, "invalid-argument", MPI_Recv(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &st))
W(isend_null_comm, "invalid-argument", MPI_Isend(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &q))
W(irecv_null_comm, "invalid-argument", MPI_Irecv(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &q))
W(probe_null_comm, "invalid-argument", MPI_Probe(0, 0, MPI_COMM_NULL, &st))
W(send_null_buffer, "invalid-argument", MPI_Send(NULL, 1, MPI_INT, peer, 0, W_))
W(recv_null_buffer, "invalid-argument", MPI_Recv(NULL, 1, MPI_INT, peer, 0, W_, &st))
W(isend_null_request, "invalid-argument", MPI_Isend(b, 1, MPI_INT, MPI_PROC_NULL, 0, W_, NULL))
W(sendrecv_overlap, "invalid-argument", MPI_Sendrecv(b, 2, MPI_INT, peer, 0, b + 1, 2, MPI_INT, peer, 0, W_, &st))

/* Datatypes. */
W(send_uncommitted, "invalid-argument", MPI_Type_contiguous(2, MPI_INT, &t); MPI_Send(b, 1, t, peer, 0, W_); MPI_Type_free(&t))
W(bcast_uncommitted, "invalid-argument", MPI_Type_vector(2, 1, 2, MPI_INT, &t); MPI_Bcast(b, 1, t, 0, W_); MPI_Type_free(&t))
W(isend_uncommitted, "invalid-argument", MPI_Type_dup(MPI_INT, &t); MPI_Type_free(&t); MPI_Type_contiguous(3, MPI_INT, &t); MPI_Isend(b, 1, t, MPI_PROC_NULL, 0, W_, &q); MPI_Send(b, 1, t, peer, 1, W_))
W(send_freed_type, "invalid-argument", MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Datatype u = t; MPI_Type_free(&t); MPI_Send(b, 1, u, peer, 0, W_))
W(bcast_freed_type, "invalid-argument", MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Datatype u = t; MPI_Type_free(&t); MPI_Bcast(b, 1, u, 0, W_))
W(type_free_null, "invalid-argument", t = MPI_DATATYPE_NULL; MPI_Type_free(&t))
W(type_free_twice, "invalid-argument", MPI_Type_contiguous(2, MPI_INT, &t); MPI_Datatype u = t; MPI_Type_free(&t); MPI_Type_free(&u))
W(type_free_predefined, "invalid-argument", t = MPI_INT; MPI_Type_free(&t))
W(type_contiguous_negative, "invalid-argument", MPI_Type_contiguous(-1, MPI_INT, &t))
W(type_vector_negative, "invalid-argument", MPI_Type_vector(-1, 1, 1, MPI_INT, &t))
W(type_vector_blocklength, "invalid-argument", MPI_Type_vector(1, -1, 1, MPI_INT, &t))
W(type_contiguous_null, "invalid-argument", MPI_Type_contiguous(2, MPI_DATATYPE_NULL, &t))
W(type_vector_null, "invalid-argument", MPI_Type_vector(2, 1, 1, MPI_DATATYPE_NULL, &t))
W(type_size_null, "invalid-argument", MPI_Type_size(MPI_DATATYPE_NULL, &value))
W(type_dup_null, "invalid-argument", MPI_Type_dup(MPI_DATATYPE_NULL, &t))

/* Communicators and groups. */
W(comm_rank_null, "invalid-argument", MPI_Comm_rank(MPI_COMM_NULL, &value))
W(comm_size_null, "invalid-argument", MPI_Comm_size(MPI_COMM_NULL, &value))
W(comm_dup_null, "invalid-argument", MPI_Comm_dup(MPI_COMM_NULL, &comm))
W(comm_split_null, "invalid-argument", MPI_Comm_split(MPI_COMM_NULL, 0, 0, &comm))
W(comm_split_color, "invalid-argument", MPI_Comm_split(W_, -3, 0, &comm))
W(comm_free_null, "invalid-argument", comm = MPI_COMM_NULL; MPI_Comm_free(&comm))
W(comm_group_null, "invalid-argument", MPI_Comm_group(MPI_COMM_NULL, &g))
W(barrier_null, "invalid-argument", MPI_Barrier(MPI_COMM_NULL))
W(ibarrier_null, "invalid-argument", MPI_Ibarrier(MPI_COMM_NULL, &q))
W(barrier_freed, "invalid-argument", MPI_Comm_dup(W_, &comm); MPI_Comm u = comm; MPI_Comm_free(&comm); MPI_Barrier(u))
W(send_freed_comm, "invalid-argument", MPI_Comm_dup(W_, &comm); MPI_Comm u = comm; MPI_Comm_free(&comm); MPI_Send(b, 1, MPI_INT, MPI_PROC_NULL, 0, u))
W(comm_free_twice, "invalid-argument", MPI_Comm_dup(W_, &comm); MPI_Comm u = comm; MPI_Comm_free(&comm); MPI_Comm_free(&u))
W(comm_create_null_group, "invalid-argument", MPI_Comm_create(W_, MPI_GROUP_NULL, &comm))
W(group_size_null, "invalid-argument", MPI_Group_size(MPI_GROUP_NULL, &value))
W(group_rank_null, "invalid-argument", MPI_Group_rank(MPI_GROUP_NULL, &value))
W(group_free_null, "invalid-argument", g = MPI_GROUP_NULL; MPI_Group_free(&g))
W(group_free_twice, "invalid-argument", MPI_Comm_group(W_, &g); MPI_Group h; MPI_Group_incl(g, 1, zeros, &h); MPI_Group_free(&g); g = h; MPI_Group_free(&h); MPI_Group_free(&g))
W(cart_create_negative, "invalid-argument", int dims[1] = {-2}; MPI_Cart_create(W_, 1, dims, zeros, 0, &comm))
W(cart_create_large, "invalid-argument", int dims[1] = {1000}; MPI_Cart_create(W_, 1, dims, zeros, 0, &comm))
W(cart_create_ndims, "invalid-argument", MPI_Cart_create(W_, -1, ones, zeros, 0, &comm))
W(dims_create_negative, "invalid-argument", int dims[1] = {-2}; MPI_Dims_create(4, 1, dims))

/* Collective operations. */
W(bcast_root, "invalid-argument", MPI_Bcast(b, 1, MPI_INT, n, W_))
W(bcast_root_negative, "invalid-argument", MPI_Bcast(b, 1, MPI_INT, -9, W_))
W(reduce_root, "invalid-argument", MPI_Reduce(b, c, 1, MPI_INT, MPI_SUM, n, W_))
W(gather_root, "invalid-argument", MPI_Gather(b, 1, MPI_INT, c, 1, MPI_INT, n, W_))
W(scatter_root, "invalid-argument", MPI_Scatter(b, 1, MPI_INT, c, 1, MPI_INT, n, W_))
W(gatherv_root, "invalid-argument", MPI_Gatherv(b, 1, MPI_INT, c, ones, zeros, MPI_INT, n, W_))
W(scatterv_root, "invalid-argument", MPI_Scatterv(b, ones, zeros, MPI_INT, c, 1, MPI_INT, n, W_))
W(ibcast_root, "invalid-argument", MPI_Ibcast(b, 1, MPI_INT, n, W_, &q))
W(ireduce_root, "invalid-argument", MPI_Ireduce(b, c, 1, MPI_INT, MPI_SUM, n, W_, &q))
W(bcast_count, "invalid-argument", MPI_Bcast(b, -1, MPI_INT, 0, W_))
W(reduce_count, "invalid-argument", MPI_Reduce(b, c, -1, MPI_INT, MPI_SUM, 0, W_))
W(allreduce_count, "invalid-argument", MPI_Allreduce(b, c, -1, MPI_INT, MPI_SUM, W_))
W(gather_count, "invalid-argument", MPI_Gather(b, -1, MPI_INT, c, 1, MPI_INT, 0, W_))
W(allgather_count, "invalid-argument", MPI_Allgather(b, -1, MPI_INT, c, 1, MPI_INT, W_))
W(alltoall_count, "invalid-argument", MPI_Alltoall(b, -1, MPI_INT, c, 1, MPI_INT, W_))
W(scan_count, "invalid-argument", MPI_Scan(b, c, -1, MPI_INT, MPI_SUM, W_))
W(exscan_count, "invalid-argument", MPI_Exscan(b, c, -1, MPI_INT, MPI_SUM, W_))
W(allgatherv_counts, "invalid-argument", int counts[2] = {1, -1}; MPI_Allgatherv(b, 1, MPI_INT, c, counts, zeros, MPI_INT, W_))
W(alltoallv_counts, "invalid-argument", int counts[2] = {1, -1}; MPI_Alltoallv(b, counts, zeros, MPI_INT, c, ones, zeros, MPI_INT, W_))
W(bcast_null_type, "invalid-argument", MPI_Bcast(b, 1, MPI_DATATYPE_NULL, 0, W_))
W(reduce_null_type, "invalid-argument", MPI_Reduce(b, c, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, W_))
W(allreduce_null_type, "invalid-argument", MPI_Allreduce(b, c, 1, MPI_DATATYPE_NULL, MPI_SUM, W_))
W(allgather_null_type, "invalid-argument", MPI_Allgather(b, 1, MPI_DATATYPE_NULL, c, 1, MPI_INT, W_))
W(alltoall_null_type, "invalid-argument", MPI_Alltoall(b, 1, MPI_DATATYPE_NULL, c, 1, MPI_INT, W_))
W(bcast_null_comm, "invalid-argument", MPI_Bcast(b, 1, MPI_INT, 0, MPI_COMM_NULL))
W(reduce_null_comm, "invalid-argument", MPI_Reduce(b, c, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL))
W(allreduce_null_comm, "invalid-argument", MPI_Allreduce(b, c, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL))
W(allgather_null_comm, "invalid-argument", MPI_Allgather(b, 1, MPI_INT, c, 1, MPI_INT, MPI_COMM_NULL))
W(alltoall_null_comm, "invalid-argument", MPI_Alltoall(b, 1, MPI_INT, c, 1, MPI_INT, MPI_COMM_NULL))
W(reduce_null_op, "invalid-argument", MPI_Reduce(b, c, 1, MPI_INT, MPI_OP_NULL, 0, W_))
W(allreduce_null_op, "invalid-argument", MPI_Allreduce(b, c, 1, MPI_INT, MPI_OP_NULL, W_))
W(scan_null_op, "invalid-argument", MPI_Scan(b, c, 1, MPI_INT, MPI_OP_NULL, W_))
W(iallreduce_null_op, "invalid-argument", MPI_Iallreduce(b, c, 1, MPI_INT, MPI_OP_NULL, W_, &q))
W(allreduce_freed_op, "invalid-argument", MPI_Op_create(sum, 1, &op); MPI_Op u = op; MPI_Op_free(&op); MPI_Allreduce(b, c, 1, MPI_INT, u, W_))
W(allreduce_band_double, "invalid-argument", MPI_Allreduce(d, d + 8, 1, MPI_DOUBLE, MPI_BAND, W_))
W(reduce_bxor_float, "invalid-argument", MPI_Reduce(b, c, 1, MPI_FLOAT, MPI_BXOR, 0, W_))
W(allreduce_maxloc_int, "invalid-argument", MPI_Allreduce(b, c, 1, MPI_INT, MPI_MAXLOC, W_))
W(allreduce_replace, "invalid-argument", MPI_Allreduce(b, c, 1, MPI_INT, MPI_REPLACE, W_))
W(op_free_predefined, "invalid-argument", op = MPI_OP_NULL; MPI_Op_free(&op))
W(bcast_in_place, "invalid-argument", MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, W_))
W(allreduce_in_place_received, "invalid-argument", MPI_Allreduce(b, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W_))
W(reduce_in_place_not_root, "invalid-argument", MPI_Reduce(MPI_IN_PLACE, c, 1, MPI_INT, MPI_SUM, 0, W_))
W(gather_in_place_not_root, "invalid-argument", MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, c, 1, MPI_INT, 0, W_))
W(scatter_in_place_not_root, "invalid-argument", MPI_Scatter(b, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, W_))
W(allgather_in_place_received, "invalid-argument", MPI_Allgather(b, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, W_))
W(allreduce_same_buffer, "invalid-argument", MPI_Allreduce(b, b, 1, MPI_INT, MPI_SUM, W_))
W(reduce_same_buffer, "invalid-argument", MPI_Reduce(b, b, 1, MPI_INT, MPI_SUM, 0, W_))
W(allreduce_overlap, "invalid-argument", MPI_Allreduce(b, b + 1, 2, MPI_INT, MPI_SUM, W_))
W(allgather_overlap, "invalid-argument", MPI_Allgather(b + 1, 1, MPI_INT, b, 1, MPI_INT, W_))
W(alltoall_overlap, "invalid-argument", MPI_Alltoall(b, 1, MPI_INT, b, 1, MPI_INT, W_))
W(gather_overlap, "invalid-argument", MPI_Gather(b, 1, MPI_INT, b, 1, MPI_INT, 0, W_))
W(scan_same_buffer, "invalid-argument", MPI_Scan(b, b, 1, MPI_INT, MPI_SUM, W_))
W(iallreduce_same_buffer, "invalid-argument", MPI_Iallreduce(b, b, 1, MPI_INT, MPI_SUM, W_, &q); MPI_Wait(&q, &st))
W(bcast_null_buffer, "invalid-argument", MPI_Bcast(NULL, 1, MPI_INT, 0, W_))
W(allreduce_null_buffer, "invalid-argument", MPI_Allreduce(NULL, c, 1, MPI_INT, MPI_SUM, W_))

/* Requests, windows, info objects, files. */
W(request_free_null, "invalid-argument", q = MPI_REQUEST_NULL; MPI_Request_free(&q))
W(start_null, "invalid-argument", q = MPI_REQUEST_NULL; MPI_Start(&q))
W(waitall_negative, "invalid-argument", MPI_Waitall(-1, qs, MPI_STATUSES_IGNORE))
W(win_fence_null, "invalid-argument", MPI_Win_fence(0, MPI_WIN_NULL))
W(put_null_win, "invalid-argument", MPI_Put(b, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL))
W(win_free_null, "invalid-argument", w = MPI_WIN_NULL; MPI_Win_free(&w))
W(win_create_size, "invalid-argument", MPI_Win_create(b, -4, 1, MPI_INFO_NULL, W_, &w))
W(win_create_unit, "invalid-argument", MPI_Win_create(b, 4, 0, MPI_INFO_NULL, W_, &w))
W(win_create_null_comm, "invalid-argument", MPI_Win_create(b, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &w))
W(put_target, "invalid-argument", MPI_Win_create(b, 16, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, n + 5, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(put_count, "invalid-argument", MPI_Win_create(b, 16, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Put(c, -1, MPI_INT, 0, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(get_null_type, "invalid-argument", MPI_Win_create(b, 16, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); MPI_Get(c, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(info_set_null, "invalid-argument", MPI_Info_set(MPI_INFO_NULL, "a", "b"))
W(info_dup_null, "invalid-argument", MPI_Info_dup(MPI_INFO_NULL, &info))
W(info_free_null, "invalid-argument", info = MPI_INFO_NULL; MPI_Info_free(&info))
W(errhandler_set_null, "invalid-argument", MPI_Comm_set_errhandler(W_, MPI_ERRHANDLER_NULL))
W(attr_keyval_invalid, "invalid-argument", MPI_Comm_set_attr(W_, MPI_KEYVAL_INVALID, NULL))

/* The order of calls. */
W(init_twice, "call-order", MPI_Init(NULL, NULL))
W(after_finalize, "call-order", MPI_Finalize(); MPI_Comm_size(W_, &value))
W(finalize_twice, "call-order", MPI_Finalize(); MPI_Finalize())
W(send_after_finalize, "call-order", MPI_Finalize(); MPI_Send(b, 0, MPI_INT, MPI_PROC_NULL, 0, W_))

/* Leaks. */
W(leak_dup, "leak", MPI_Comm_dup(W_, &comm))
W(leak_split, "leak", MPI_Comm_split(W_, r, 0, &comm))
W(leak_cart, "leak", int dims[1] = {2}; MPI_Cart_create(W_, 1, dims, zeros, 0, &comm))
W(leak_idup, "leak", MPI_Comm_idup(W_, &comm, &q); MPI_Wait(&q, &st))
W(leak_split_type, "leak", MPI_Comm_split_type(W_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm))
W(leak_group, "leak", MPI_Comm_group(W_, &g))
W(leak_group_incl, "leak", MPI_Group all; MPI_Comm_group(W_, &all); MPI_Group_incl(all, 1, zeros, &g); MPI_Group_free(&all))
W(leak_contiguous, "leak", MPI_Type_contiguous(2, MPI_INT, &t))
W(leak_committed, "leak", MPI_Type_vector(2, 1, 2, MPI_INT, &t); MPI_Type_commit(&t))
W(leak_type_dup, "leak", MPI_Type_dup(MPI_INT, &t))
W(leak_op, "leak", MPI_Op_create(sum, 1, &op))
W(leak_win, "leak", MPI_Win_create(b, 4, 1, MPI_INFO_NULL, W_, &w))
W(leak_win_allocate, "leak", void *base; MPI_Win_allocate(4, 1, MPI_INFO_NULL, W_, &base, &w))
W(leak_info, "leak", MPI_Info_create(&info))
W(leak_info_dup, "leak", MPI_Info i; MPI_Info_create(&i); MPI_Info_dup(i, &info); MPI_Info_free(&i))
W(leak_errhandler, "leak", MPI_Errhandler e; MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)sum, &e))
W(leak_keyval, "leak", MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &value, NULL))
W(leak_persistent, "leak", MPI_Send_init(b, 1, MPI_INT, peer, 0, W_, &q))
W(leak_persistent_recv, "leak", MPI_Recv_init(b, 1, MPI_INT, peer, 0, W_, &q))

/* Requests. */
W(irecv_left, "request-lifecycle", MPI_Irecv(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Send(c, 1, MPI_INT, peer, 0, W_))
W(isend_left, "request-lifecycle", MPI_Isend(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Recv(c, 1, MPI_INT, peer, 0, W_, &st))
W(ibarrier_left, "request-lifecycle", MPI_Ibarrier(W_, &q); MPI_Barrier(W_))
W(start_left, "request-lifecycle", MPI_Send_init(b, 1, MPI_INT, MPI_PROC_NULL, 0, W_, &q); MPI_Start(&q))
W(start_twice, "request-lifecycle", MPI_Recv_init(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Start(&q); MPI_Start(&q))
W(start_not_persistent, "request-lifecycle", MPI_Irecv(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Start(&q))
W(free_active, "request-lifecycle", MPI_Recv_init(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Start(&q); MPI_Request_free(&q); MPI_Send(c, 1, MPI_INT, peer, 0, W_))

/* Buffers in use. */
W(isend_changed, "buffer-in-use", MPI_Isend(b, 8, MPI_INT, peer, 0, W_, &q); b[3] = 77; MPI_Recv(c, 8, MPI_INT, peer, 0, W_, &st); MPI_Wait(&q, &st))
W(isend_received_into, "buffer-in-use", MPI_Isend(b, 8, MPI_INT, peer, 0, W_, &q); MPI_Recv(b, 8, MPI_INT, peer, 0, W_, &st); MPI_Wait(&q, &st))
W(irecv_overlap, "buffer-in-use", MPI_Irecv(b, 8, MPI_INT, peer, 0, W_, qs); MPI_Irecv(b + 4, 8, MPI_INT, peer, 1, W_, qs + 1); MPI_Send(c, 8, MPI_INT, peer, 0, W_); MPI_Send(c, 8, MPI_INT, peer, 1, W_); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE))
W(irecv_sent, "buffer-in-use", MPI_Irecv(b, 8, MPI_INT, peer, 0, W_, &q); MPI_Send(b, 8, MPI_INT, peer, 0, W_); MPI_Wait(&q, &st))
W(ibcast_changed, "buffer-in-use", MPI_Ibcast(b, 8, MPI_INT, 0, W_, &q); if (r == 0) b[2] = 5; MPI_Wait(&q, &st))
W(iallreduce_read, "buffer-in-use", MPI_Iallreduce(b, c, 8, MPI_INT, MPI_SUM, W_, &q); MPI_Bcast(c, 8, MPI_INT, 0, W_); MPI_Wait(&q, &st))

/* Collective operations that do not match. The line is that of the rank that comes last, so all are in one. */
W(bcast_reduce, "collective-mismatch", if (r) MPI_Reduce(b, c, 1, MPI_INT, MPI_SUM, 1, W_); else MPI_Bcast(b, 1, MPI_INT, 0, W_))
W(barrier_allreduce, "collective-mismatch", if (r) MPI_Allreduce(b, c, 1, MPI_INT, MPI_SUM, W_); else MPI_Barrier(W_))
W(ibcast_bcast, "collective-mismatch", if (r) { MPI_Ibcast(b, 1, MPI_INT, 0, W_, &q); MPI_Wait(&q, &st); } else MPI_Bcast(b, 1, MPI_INT, 0, W_))
W(ibarrier_barrier, "collective-mismatch", if (r) { MPI_Ibarrier(W_, &q); MPI_Wait(&q, &st); } else MPI_Barrier(W_))
W(split_dup, "collective-mismatch", if (r) MPI_Comm_dup(W_, &comm); else MPI_Comm_split(W_, 0, 0, &comm))
W(bcast_roots, "collective-mismatch", MPI_Bcast(b, 1, MPI_INT, r, W_))
W(reduce_roots, "collective-mismatch", MPI_Reduce(b, c, 1, MPI_INT, MPI_SUM, r, W_))
W(gather_roots, "collective-mismatch", MPI_Gather(b, 1, MPI_INT, c, 1, MPI_INT, r, W_))
W(scatter_roots, "collective-mismatch", MPI_Scatter(b, 1, MPI_INT, c, 1, MPI_INT, r, W_))
W(ibcast_roots, "collective-mismatch", MPI_Ibcast(b, 1, MPI_INT, r, W_, &q); MPI_Wait(&q, &st))
W(allreduce_ops, "collective-mismatch", MPI_Allreduce(b, c, 1, MPI_INT, r ? MPI_MAX : MPI_SUM, W_))
W(reduce_ops, "collective-mismatch", MPI_Reduce(b, c, 1, MPI_INT, r ? MPI_PROD : MPI_SUM, 0, W_))
W(scan_ops, "collective-mismatch", MPI_Scan(b, c, 1, MPI_INT, r ? MPI_MIN : MPI_SUM, W_))
W(allreduce_types, "collective-mismatch", MPI_Allreduce(b, c, 1, r ? MPI_FLOAT : MPI_INT, MPI_SUM, W_))
W(bcast_types, "collective-mismatch", MPI_Bcast(b, 1, r ? MPI_FLOAT : MPI_INT, 0, W_))
W(bcast_counts, "collective-mismatch", MPI_Bcast(b, r ? 3 : 2, MPI_INT, 0, W_))
W(allreduce_counts, "collective-mismatch", MPI_Allreduce(b, c, r + 1, MPI_INT, MPI_SUM, W_))
W(reduce_counts, "collective-mismatch", MPI_Reduce(b, c, r + 1, MPI_INT, MPI_SUM, 0, W_))
W(gather_counts, "collective-mismatch", MPI_Gather(b, r + 1, MPI_INT, c, 1, MPI_INT, 0, W_))
W(gather_types, "collective-mismatch", MPI_Gather(b, 1, r ? MPI_FLOAT : MPI_INT, c, 1, MPI_INT, 0, W_))
W(scatter_counts, "collective-mismatch", MPI_Scatter(b, 1, MPI_INT, c, r + 1, MPI_INT, 0, W_))
W(allgather_counts, "collective-mismatch", MPI_Allgather(b, r + 1, MPI_INT, c, r + 1, MPI_INT, W_))
W(alltoall_types, "collective-mismatch", MPI_Alltoall(b, 1, r ? MPI_FLOAT : MPI_INT, c, 1, r ? MPI_FLOAT : MPI_INT, W_))
W(gatherv_blocks, "collective-mismatch", MPI_Gatherv(b, r + 1, MPI_INT, c, ones, zeros, MPI_INT, 0, W_))
W(scatterv_blocks, "collective-mismatch", MPI_Scatterv(b, ones, zeros, MPI_INT, c, r + 1, MPI_INT, 0, W_))
W(allgatherv_arrays, "collective-mismatch", int counts[2] = {1, 1 + r}; int at[2] = {0, 4}; MPI_Allgatherv(b, counts[r], MPI_INT, c, counts, at, MPI_INT, W_))
W(reduce_scatter_arrays, "collective-mismatch", int counts[2] = {1, 1 + r}; MPI_Reduce_scatter(b, c, counts, MPI_INT, MPI_SUM, W_))
W(on_dup_roots, "collective-mismatch", MPI_Comm_dup(W_, &comm); MPI_Bcast(b, 1, MPI_INT, r, comm); MPI_Comm_free(&comm))
W(iallreduce_ops, "collective-mismatch", MPI_Iallreduce(b, c, 1, MPI_INT, r ? MPI_MAX : MPI_SUM, W_, &q); MPI_Wait(&q, &st))

/* Messages: the receiver's line, or the sender's of a lost one. */
#define SEND(count, type, tag) if (!r) MPI_Send(b, count, type, 1, tag, W_)
W(types_differ, "datatype-mismatch", SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 4, MPI_FLOAT, 0, 1, W_, &st))
W(types_differ_any, "datatype-mismatch", SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 4, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &st))
W(types_differ_irecv, "datatype-mismatch", SEND(4, MPI_INT, 1); if (r) MPI_Irecv(c, 4, MPI_FLOAT, 0, 1, W_, &q), MPI_Wait(&q, &st))
W(types_differ_size, "datatype-mismatch", SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 4, MPI_DOUBLE, 0, 1, W_, &st))
W(types_differ_byte, "datatype-mismatch", SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 16, MPI_BYTE, 0, 1, W_, &st))
W(types_differ_unsigned, "datatype-mismatch", SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 4, MPI_UNSIGNED, 0, 1, W_, &st))
W(types_differ_derived, "datatype-mismatch", MPI_Type_contiguous(2, MPI_FLOAT, &t); MPI_Type_commit(&t); SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 2, t, 0, 1, W_, &st); MPI_Type_free(&t))
W(types_differ_sendrecv, "datatype-mismatch", MPI_Sendrecv(b, 4, r ? MPI_INT : MPI_FLOAT, peer, 1, c, 4, MPI_INT, peer, 1, W_, &st))
W(types_differ_second, "datatype-mismatch", SEND(4, MPI_INT, 1); SEND(4, MPI_FLOAT, 1); if (r) MPI_Recv(c, 4, MPI_INT, 0, 1, W_, &st), MPI_Recv(c, 4, MPI_INT, 0, 1, W_, &st))
W(types_differ_persistent, "datatype-mismatch", SEND(4, MPI_INT, 1); if (r) MPI_Recv_init(c, 4, MPI_FLOAT, 0, 1, W_, &q), MPI_Start(&q), MPI_Wait(&q, &st), MPI_Request_free(&q))
W(types_differ_isend, "datatype-mismatch", if (!r) MPI_Isend(b, 4, MPI_INT, 1, 1, W_, &q), MPI_Wait(&q, &st); else MPI_Recv(c, 4, MPI_FLOAT, 0, 1, W_, &st))
W(types_differ_on_dup, "datatype-mismatch", MPI_Comm_dup(W_, &comm); if (r) MPI_Recv(c, 4, MPI_FLOAT, 0, 1, comm, &st); else MPI_Send(b, 4, MPI_INT, 1, 1, comm); MPI_Comm_free(&comm))
W(too_long, "truncation", SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 2, MPI_INT, 0, 1, W_, &st))
W(too_long_irecv, "truncation", SEND(4, MPI_INT, 1); if (r) MPI_Irecv(c, 2, MPI_INT, 0, 1, W_, &q), MPI_Wait(&q, &st))
W(too_long_sendrecv, "truncation", MPI_Sendrecv(b, 4, MPI_INT, peer, 1, c, 3 + r, MPI_INT, peer, 1, W_, &st))
W(too_long_large, "truncation", SEND(4000, MPI_INT, 1); if (r) MPI_Recv(c, 3999, MPI_INT, 0, 1, W_, &st))
W(too_long_nothing, "truncation", SEND(1, MPI_INT, 1); if (r) MPI_Recv(c, 0, MPI_INT, 0, 1, W_, &st))
W(lost_send, "lost-message", SEND(4, MPI_INT, 1))
W(lost_isend, "lost-message", if (!r) MPI_Isend(b, 4, MPI_INT, 1, 1, W_, &q), MPI_Wait(&q, &st))
W(lost_tag, "lost-message", SEND(4, MPI_INT, 7); SEND(4, MPI_INT, 8); if (r) MPI_Recv(c, 4, MPI_INT, 0, 8, W_, &st))
W(lost_second, "lost-message", SEND(4, MPI_INT, 7); SEND(4, MPI_INT, 7); if (r) MPI_Recv(c, 4, MPI_INT, 0, MPI_ANY_TAG, W_, &st))
W(lost_bsend, "lost-message", static char room[9999]; MPI_Buffer_attach(room, sizeof room); if (!r) MPI_Bsend(b, 4, MPI_INT, 1, 1, W_))
W(lost_to_self, "lost-message", MPI_Isend(b, 1, MPI_INT, r, 1, W_, &q); MPI_Request_free(&q))
W(lost_probed, "lost-message", SEND(4, MPI_INT, 1); if (r) MPI_Probe(0, 1, W_, &st))

/* Epochs. */
#define WIN MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W_, &w); MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN)
W(put_outside, "epoch-lifecycle", WIN; MPI_Put(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(get_outside, "epoch-lifecycle", WIN; MPI_Get(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(put_after_fence, "epoch-lifecycle", WIN; MPI_Win_fence(0, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); MPI_Put(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_free(&w))
W(put_after_unlock, "epoch-lifecycle", WIN; MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Win_unlock(peer, w); MPI_Put(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_free(&w))
W(put_to_unlocked, "epoch-lifecycle", WIN; MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Put(c, 1, MPI_INT, r, 0, 1, MPI_INT, w); MPI_Win_unlock(peer, w); MPI_Win_free(&w))
W(accumulate_outside, "epoch-lifecycle", WIN; MPI_Accumulate(c, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_SUM, w); MPI_Win_free(&w))
W(unlock_unlocked, "epoch-lifecycle", WIN; MPI_Win_unlock(peer, w); MPI_Win_free(&w))
W(unlock_all_unlocked, "epoch-lifecycle", WIN; MPI_Win_unlock_all(w); MPI_Win_free(&w))
W(lock_twice, "epoch-lifecycle", WIN; MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Win_unlock(peer, w); MPI_Win_free(&w))
W(lock_in_lock_all, "epoch-lifecycle", WIN; MPI_Win_lock_all(0, w); MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Win_unlock_all(w); MPI_Win_free(&w))
W(flush_unlocked, "epoch-lifecycle", WIN; MPI_Win_flush(peer, w); MPI_Win_free(&w))
W(flush_all_unlocked, "epoch-lifecycle", WIN; MPI_Win_fence(0, w); MPI_Win_flush_all(w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(complete_unstarted, "epoch-lifecycle", WIN; MPI_Win_complete(w); MPI_Win_free(&w))
W(wait_unposted, "epoch-lifecycle", WIN; MPI_Win_wait(w); MPI_Win_free(&w))
W(fence_in_lock, "epoch-lifecycle", WIN; MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Win_fence(0, w); MPI_Win_unlock(peer, w); MPI_Win_free(&w))
W(free_in_lock, "epoch-lifecycle", WIN; MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Win_free(&w))
W(put_get, "rma-conflict", WIN; MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, peer, 3, 1, MPI_INT, w); MPI_Get(c + 9, 1, MPI_INT, peer, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(get_accumulate, "rma-conflict", WIN; MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w); MPI_Get(c, 1, MPI_INT, peer, 3, 1, MPI_INT, w); MPI_Accumulate(c + 9, 1, MPI_INT, peer, 3, 1, MPI_INT, MPI_SUM, w); MPI_Win_unlock(peer, w); MPI_Win_free(&w))
W(put_changed, "rma-conflict", WIN; MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, peer, 3, 1, MPI_INT, w); c[0]++; MPI_Win_fence(0, w); MPI_Win_free(&w))
W(get_then_put, "rma-conflict", WIN; MPI_Win_fence(0, w); MPI_Get(c, 1, MPI_INT, peer, 3, 1, MPI_INT, w); MPI_Put(c, 1, MPI_INT, peer, 5, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))

/* Deadlocks. */
W(recv_recv, "deadlock", MPI_Recv(b, 1, MPI_INT, peer, 0, W_, &st); MPI_Send(b, 1, MPI_INT, peer, 0, W_))
W(ssend_ssend, "deadlock", MPI_Ssend(b, 1, MPI_INT, peer, 0, W_); MPI_Recv(b, 1, MPI_INT, peer, 0, W_, &st))
W(long_sends, "deadlock", static int big[1 << 20]; MPI_Send(big, 1 << 20, MPI_INT, peer, 0, W_); MPI_Recv(big, 1 << 20, MPI_INT, peer, 0, W_, &st))
W(other_tag, "deadlock", if (r) MPI_Recv(b, 1, MPI_INT, 0, 5, W_, &st); else MPI_Ssend(b, 1, MPI_INT, 1, 6, W_))
W(recv_barrier, "deadlock", if (r) MPI_Recv(b, 1, MPI_INT, 0, 5, W_, &st); MPI_Barrier(W_))
W(recv_finalize, "deadlock", if (r) MPI_Recv(b, 1, MPI_INT, 0, 5, W_, &st))
W(barrier_finalize, "deadlock", if (r) MPI_Barrier(W_))
W(any_any, "deadlock", MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &st))
W(wait_wait, "deadlock", MPI_Irecv(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Wait(&q, &st); MPI_Send(b, 1, MPI_INT, peer, 0, W_))
W(waitall, "deadlock", MPI_Irecv(b, 1, MPI_INT, peer, 0, W_, qs); MPI_Isend(c, 1, MPI_INT, peer, 1, W_, qs + 1); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE))
W(probe_probe, "deadlock", MPI_Probe(peer, 0, W_, &st))
W(on_two_comms, "deadlock", MPI_Comm_dup(W_, &comm); if (r) MPI_Barrier(W_), MPI_Barrier(comm); else MPI_Barrier(comm), MPI_Barrier(W_))
W(self_recv, "deadlock", if (r) MPI_Recv(b, 1, MPI_INT, 1, 0, W_, &st); MPI_Barrier(W_))
W(bcast_recv, "deadlock", if (r) MPI_Bcast(b, 1, MPI_INT, 0, W_); else MPI_Recv(b, 1, MPI_INT, 1, 0, W_, &st), MPI_Bcast(b, 1, MPI_INT, 0, W_))

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "before_init")) MPI_Comm_size(W_, &value); /* FINDING call-order */
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(W_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(W_, &r);
    MPI_Comm_size(W_, &n);
    peer = n - 1 - r;
    /* Some of them hang. */
    alarm(4);
    for (int i = 0; i < 16; i++) ones[i] = 1;
    for (int i = 0; argc > 1 && i < count; i++)
        if (!strcmp(cases[i].name, argv[1])) cases[i].run();
    int over;
    MPI_Finalized(&over);
    if (!over) MPI_Finalize();
    return 0;
}
