/* Wrong programs: one in each line that begins with W, which says the class of the finding that must name the line.
 * `./wrong NAME` runs one of them, on two ranks. Errors return, so that what comes afterwards does not depend on MPI. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *name;
    void (*run)(void);
} cases[1024];
static int count, r, n, peer, b[4096], c[4096], ones[16], zeros[16], value;
static double d[64];
static void *base;
static MPI_Comm comm;
static MPI_Request q, qs[4];
static MPI_Status st;
static MPI_Datatype t;
static MPI_Group g;
static MPI_Op op;
static MPI_Win w;
static MPI_Info info;
#define W_ MPI_COMM_WORLD
#define OPEN(file, name) MPI_File_open(W_, "/tmp/check-wrong-" name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file)
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

/* One-sided operations of two processes. Either line is one of both, so all are in one. */
#define FENCES(...) WIN; MPI_Win_fence(0, w); __VA_ARGS__; MPI_Win_fence(0, w); MPI_Win_free(&w)
#define ALL_LOCKED(...) WIN; MPI_Win_lock_all(0, w); __VA_ARGS__; MPI_Win_unlock_all(w); MPI_Barrier(W_); MPI_Win_free(&w)
W(puts_of_two, "rma-conflict", FENCES(c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w)))
W(puts_overlap, "rma-conflict", FENCES(c[0] = r; MPI_Put(c, 4, MPI_INT, 1, 3 * r, 4, MPI_INT, w)))
W(put_and_get, "rma-conflict", FENCES(if (r) MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); else MPI_Get(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w)))
W(put_and_sum, "rma-conflict", FENCES(if (r) MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); else MPI_Accumulate(c, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM, w)))
W(get_and_sum, "rma-conflict", FENCES(if (r) MPI_Get(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); else MPI_Accumulate(c, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM, w)))
W(put_and_no_op, "rma-conflict", FENCES(if (r) MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); else MPI_Fetch_and_op(NULL, c, MPI_INT, 0, 3, MPI_NO_OP, w)))
W(sum_and_max, "rma-conflict", FENCES(MPI_Accumulate(c, 1, MPI_INT, 0, 3, 1, MPI_INT, r ? MPI_MAX : MPI_SUM, w)))
W(sums_of_two_types, "rma-conflict", FENCES(MPI_Accumulate(c, 1, r ? MPI_FLOAT : MPI_INT, 0, 3, 1, r ? MPI_FLOAT : MPI_INT, MPI_SUM, w)))
W(column_and_row, "rma-conflict", MPI_Type_vector(4, 1, 8, MPI_INT, &t); MPI_Type_commit(&t); FENCES(c[0] = r; if (r) MPI_Put(c, 4, MPI_INT, 0, 2, 1, t, w); else MPI_Put(c, 8, MPI_INT, 0, 8, 8, MPI_INT, w)); MPI_Type_free(&t))
W(second_epoch, "rma-conflict", WIN; MPI_Win_fence(0, w); MPI_Put(c, 1, MPI_INT, 0, 9 + r, 1, MPI_INT, w); MPI_Win_fence(0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(on_a_split, "rma-conflict", MPI_Comm_split(W_, 0, -r, &comm); MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, comm, &w); MPI_Win_fence(0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w); MPI_Comm_free(&comm))
W(units_meet, "rma-conflict", MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); c[0] = r; if (r) MPI_Put(c, 1, MPI_INT, 0, 8, 1, MPI_INT, w); else MPI_Put(c, 12, MPI_BYTE, 0, 6, 12, MPI_BYTE, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(locked_pending, "rma-conflict", WIN; MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Barrier(W_); MPI_Win_unlock(0, w); MPI_Barrier(W_); MPI_Win_free(&w))
W(locked_one_after_other, "rma-conflict", WIN; MPI_Barrier(W_); c[0] = r; MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_unlock(0, w); MPI_Barrier(W_); MPI_Win_free(&w))
W(locked_late, "rma-conflict", WIN; MPI_Barrier(W_); c[0] = r; usleep(r * 200000); MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_unlock(0, w); MPI_Barrier(W_); MPI_Win_free(&w))
W(all_locked, "rma-conflict", ALL_LOCKED(c[0] = r; MPI_Put(c, 4, MPI_INT, 0, 3, 4, MPI_INT, w)))
W(all_locked_get, "rma-conflict", ALL_LOCKED(if (r) MPI_Put(c, 8, MPI_INT, 0, 3, 8, MPI_INT, w); else MPI_Get(c, 8, MPI_INT, 0, 3, 8, MPI_INT, w)))
W(all_locked_flushed, "rma-conflict", ALL_LOCKED(c[0] = r; MPI_Put(c, 4, MPI_INT, 0, 3, 4, MPI_INT, w); MPI_Win_flush(0, w)))
W(all_locked_sum, "rma-conflict", ALL_LOCKED(if (r) MPI_Put(c, 4, MPI_INT, 0, 3, 4, MPI_INT, w); else MPI_Accumulate(c, 4, MPI_INT, 0, 3, 4, MPI_INT, MPI_SUM, w)))
W(posted_for_two, "rma-conflict", WIN; MPI_Comm_group(W_, &g); MPI_Group h; MPI_Group_incl(g, 1, zeros, &h); if (!r) MPI_Win_post(g, 0, w); MPI_Win_start(h, 0, w); c[0] = r; MPI_Put(c, 1, MPI_INT, 0, 3, 1, MPI_INT, w); MPI_Win_complete(w); if (!r) MPI_Win_wait(w); MPI_Group_free(&h); MPI_Group_free(&g); MPI_Win_free(&w))
W(put_then_sum, "rma-conflict", FENCES(MPI_Put(c, 1, MPI_INT, peer, 3, 1, MPI_INT, w); MPI_Accumulate(c + 9, 1, MPI_INT, peer, 3, 1, MPI_INT, MPI_SUM, w)))
W(put_get_other_type, "rma-conflict", MPI_Type_vector(4, 1, 2, MPI_INT, &t); MPI_Type_commit(&t); FENCES(MPI_Put(c, 4, MPI_INT, peer, 0, 1, t, w); MPI_Get(c + 9, 1, MPI_INT, peer, 4, 1, MPI_INT, w)); MPI_Type_free(&t))
W(rput_changed, "buffer-in-use", WIN; MPI_Win_lock_all(0, w); MPI_Rput(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w, &q); c[0]++; MPI_Wait(&q, &st); MPI_Win_unlock_all(w); MPI_Win_free(&w))

/* On one rank only, and other faults of programs that are otherwise right. */
W(one_negative_count, "invalid-argument", if (r) MPI_Send(b, -1, MPI_INT, 0, 0, W_))
W(one_wrong_tag, "invalid-argument", if (r) MPI_Isend(b, 1, MPI_INT, 0, -3, W_, &q))
W(one_root_too_large, "invalid-argument", if (r) MPI_Reduce(b, c, 1, MPI_INT, MPI_SUM, 9, W_))
W(one_leak, "leak", if (r) MPI_Type_contiguous(2, MPI_INT, &t), MPI_Type_commit(&t))
W(one_leak_of_file, "leak", static MPI_File f; if (r) MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &f))
W(one_request_left, "request-lifecycle", if (r) MPI_Isend(b, 1, MPI_INT, 0, 0, W_, &q); else MPI_Recv(b, 1, MPI_INT, 1, 0, W_, &st))
W(one_lost, "lost-message", if (r) MPI_Isend(b, 1, MPI_INT, 0, 77, W_, &q), MPI_Wait(&q, &st))
W(one_absent, "deadlock", if (r) MPI_Allreduce(b, c, 1, MPI_INT, MPI_SUM, W_))
W(leak_of_loop, "leak", for (int i = 0; i < 5; i++) MPI_Comm_dup(MPI_COMM_SELF, &comm))
W(leak_of_intercomm, "leak", MPI_Comm other; MPI_Comm_split(W_, r, 0, &comm); MPI_Intercomm_create(comm, 0, W_, peer, 3, &other); MPI_Comm_free(&comm))
W(leak_of_subarray, "leak", int sizes[2] = {4, 4}, subs[2] = {2, 2}; MPI_Type_create_subarray(2, sizes, subs, zeros, MPI_ORDER_C, MPI_INT, &t); MPI_Type_commit(&t))
W(leak_of_dynamic_window, "leak", MPI_Win_create_dynamic(MPI_INFO_NULL, W_, &w))
W(sendrecv_count, "invalid-argument", MPI_Sendrecv(b, -1, MPI_INT, peer, 0, c, 1, MPI_INT, peer, 0, W_, &st))
W(bcast_freed_comm, "invalid-argument", MPI_Comm_dup(W_, &comm); MPI_Comm u = comm; MPI_Comm_free(&comm); MPI_Bcast(b, 1, MPI_INT, 0, u))
W(intercomm_leader, "invalid-argument", MPI_Comm other; MPI_Intercomm_create(MPI_COMM_SELF, 3, W_, peer, 3, &other))
W(sub_rank, "invalid-argument", MPI_Comm_split(W_, r, 0, &comm); MPI_Send(b, 1, MPI_INT, 1, 0, comm); MPI_Comm_free(&comm))
W(irecv_irecv_same, "buffer-in-use", MPI_Irecv(c, 1, MPI_INT, peer, 0, W_, qs); MPI_Irecv(c, 1, MPI_INT, peer, 1, W_, qs + 1); MPI_Send(b, 1, MPI_INT, peer, 0, W_); MPI_Send(b, 1, MPI_INT, peer, 1, W_); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE))
W(persistent_changed, "buffer-in-use", MPI_Send_init(b, 8, MPI_INT, peer, 0, W_, &q); MPI_Start(&q); b[1]++; MPI_Recv(c, 8, MPI_INT, peer, 0, W_, &st); MPI_Wait(&q, &st); MPI_Request_free(&q))
W(isend_isend_changed, "buffer-in-use", for (int i = 0; i < 2; i++) b[0] = i, MPI_Isend(b, 1, MPI_INT, peer, i, W_, qs + i); for (int i = 0; i < 2; i++) MPI_Recv(c, 1, MPI_INT, peer, i, W_, &st); MPI_Waitall(2, qs, MPI_STATUSES_IGNORE))
W(iallgather_changed, "buffer-in-use", MPI_Iallgather(b, 8, MPI_INT, c, 8, MPI_INT, W_, &q); b[2] += 5; MPI_Wait(&q, &st))
W(large_changed, "buffer-in-use", static int big[1 << 18]; MPI_Isend(big, 1 << 18, MPI_INT, peer, 0, W_, &q); big[7] = 1; MPI_Irecv(b, 1, MPI_INT, peer, 1, W_, qs); static int got[1 << 18]; MPI_Recv(got, 1 << 18, MPI_INT, peer, 0, W_, &st); MPI_Send(c, 1, MPI_INT, peer, 1, W_); MPI_Wait(qs, &st); MPI_Wait(&q, &st))
W(iallreduce_ibcast, "collective-mismatch", if (r) MPI_Iallreduce(b, c, 1, MPI_INT, MPI_SUM, W_, &q); else MPI_Ibcast(b, 1, MPI_INT, 0, W_, &q); MPI_Wait(&q, &st))
W(other_order, "collective-mismatch", if (r) { MPI_Barrier(W_); MPI_Bcast(b, 1, MPI_INT, 0, W_); } else { MPI_Bcast(b, 1, MPI_INT, 0, W_); MPI_Barrier(W_); })
W(on_split_counts, "collective-mismatch", MPI_Comm_split(W_, 0, -r, &comm); MPI_Bcast(b, r + 1, MPI_INT, 0, comm); MPI_Comm_free(&comm))
W(reduce_derived, "collective-mismatch", MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Bcast(b, r ? 3 : 1, r ? MPI_INT : t, 0, W_); MPI_Type_free(&t))
W(alltoall_counts, "collective-mismatch", MPI_Alltoall(b, r + 1, MPI_INT, c, r + 1, MPI_INT, W_))
W(exscan_types, "collective-mismatch", MPI_Exscan(b, c, 1, r ? MPI_FLOAT : MPI_INT, MPI_SUM, W_))
W(reduce_scatter_block_ops, "collective-mismatch", MPI_Reduce_scatter_block(b, c, 1, MPI_INT, r ? MPI_MAX : MPI_MIN, W_))
W(struct_as_ints, "datatype-mismatch", int lengths[2] = {1, 1}; MPI_Aint at[2] = {0, 4}; MPI_Datatype types[2] = {MPI_INT, MPI_FLOAT}; MPI_Type_create_struct(2, lengths, at, types, &t); MPI_Type_commit(&t); SEND(2, MPI_INT, 1); if (r) MPI_Recv(c, 1, t, 0, 1, W_, &st); MPI_Type_free(&t))
W(types_differ_mprobe, "datatype-mismatch", SEND(4, MPI_INT, 1); MPI_Message m; if (r) MPI_Mprobe(0, 1, W_, &m, &st), MPI_Mrecv(c, 4, MPI_FLOAT, &m, &st))
W(too_long_mprobe, "truncation", SEND(4, MPI_INT, 1); MPI_Message m; if (r) MPI_Mprobe(0, 1, W_, &m, &st), MPI_Mrecv(c, 2, MPI_INT, &m, &st))
W(too_long_any, "truncation", SEND(4, MPI_INT, 1); if (r) MPI_Recv(c, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W_, &st))
W(too_long_waitall, "truncation", SEND(4, MPI_INT, 1); if (r) MPI_Irecv(c, 2, MPI_INT, 0, 1, W_, qs), MPI_Waitall(1, qs, MPI_STATUSES_IGNORE))
W(lost_on_dup, "lost-message", MPI_Comm_dup(W_, &comm); if (!r) MPI_Send(b, 1, MPI_INT, 1, 1, comm); MPI_Barrier(comm); MPI_Comm_free(&comm))
W(start_before_complete, "epoch-lifecycle", WIN; MPI_Comm_group(MPI_COMM_WORLD, &g); MPI_Group h; MPI_Group_incl(g, 1, &r, &h); MPI_Win_post(h, 0, w); MPI_Win_start(h, 0, w); MPI_Win_fence(0, w); MPI_Group_free(&h); MPI_Group_free(&g); _exit(0))
W(rput_outside, "epoch-lifecycle", WIN; MPI_Rput(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w, &q); MPI_Win_free(&w))
W(swap_outside, "epoch-lifecycle", WIN; MPI_Compare_and_swap(c, b, c + 9, MPI_INT, peer, 0, w); MPI_Win_free(&w))
W(ssend_self, "deadlock", MPI_Ssend(b, 1, MPI_INT, r, 0, W_); MPI_Recv(c, 1, MPI_INT, r, 0, W_, &st))
W(sendrecv_wrong_peer, "deadlock", MPI_Sendrecv(b, 1, MPI_INT, r, 0, c, 1, MPI_INT, peer, 0, W_, &st))
W(waitany_none_comes, "deadlock", MPI_Irecv(b, 1, MPI_INT, peer, 0, W_, qs); MPI_Irecv(c, 1, MPI_INT, peer, 1, W_, qs + 1); MPI_Waitany(2, qs, &value, &st))
W(gather_recv, "deadlock", if (r) MPI_Recv(b, 1, MPI_INT, 0, 3, W_, &st); MPI_Allgather(b, 1, MPI_INT, c, 1, MPI_INT, W_); if (!r) MPI_Send(b, 1, MPI_INT, 1, 3, W_))
W(on_other_comm, "deadlock", MPI_Comm_dup(W_, &comm); if (r) MPI_Recv(b, 1, MPI_INT, 0, 3, comm, &st); else MPI_Ssend(b, 1, MPI_INT, 1, 3, W_); MPI_Comm_free(&comm))
W(ibarrier_wait, "deadlock", if (r) { MPI_Ibarrier(W_, &q); MPI_Wait(&q, &st); })
W(finalize_in_sub, "call-order", MPI_Finalize(); MPI_Barrier(MPI_COMM_SELF))

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
W(fence_barrier, "deadlock", MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); if (r) MPI_Win_fence(0, w); else MPI_Barrier(W_); MPI_Win_free(&w))
W(fence_recv, "deadlock", MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W_, &w); MPI_Win_fence(0, w); if (!r) MPI_Recv(c, 1, MPI_INT, 1, 0, W_, &st); MPI_Win_fence(0, w); if (r) MPI_Send(c, 1, MPI_INT, 0, 0, W_); MPI_Win_free(&w))
W(one_frees_the_window, "deadlock", MPI_Win_allocate(64, 4, MPI_INFO_NULL, W_, &base, &w); if (r) MPI_Win_free(&w); else MPI_Recv(c, 1, MPI_INT, 1, 0, W_, &st))
W(files_of_two_orders, "deadlock", MPI_File f; MPI_File g; OPEN(f, "a"); OPEN(g, "b"); if (r) MPI_File_set_size(f, 0), MPI_File_set_size(g, 0); else MPI_File_set_size(g, 0), MPI_File_set_size(f, 0); MPI_File_close(&f); MPI_File_close(&g))
W(file_written_and_read, "collective-mismatch", MPI_File f; OPEN(f, "c"); if (r) MPI_File_read_at_all(f, 0, c, 8, MPI_INT, &st); else MPI_File_write_at_all(f, 0, b, 8, MPI_INT, &st); MPI_File_close(&f))
W(file_written_by_one, "collective-mismatch", MPI_File f; OPEN(f, "d"); if (r) MPI_File_write_all(f, b, 8, MPI_INT, &st); MPI_File_close(&f))
W(fence_and_free, "collective-mismatch", MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W_, &w); if (r) MPI_Win_fence(0, w); MPI_Win_free(&w))
W(on_two_comms, "deadlock", MPI_Comm_dup(W_, &comm); if (r) MPI_Barrier(W_), MPI_Barrier(comm); else MPI_Barrier(comm), MPI_Barrier(W_))
W(self_recv, "deadlock", if (r) MPI_Recv(b, 1, MPI_INT, 1, 0, W_, &st); MPI_Barrier(W_))
W(bcast_recv, "deadlock", if (r) MPI_Bcast(b, 1, MPI_INT, 0, W_); else MPI_Recv(b, 1, MPI_INT, 1, 0, W_, &st), MPI_Bcast(b, 1, MPI_INT, 0, W_))

/* Pieces that meet, parts that differ. */
W(columns_overlap, "invalid-argument", MPI_Type_vector(4, 1, 6, MPI_INT, &t); MPI_Type_commit(&t); MPI_Sendrecv(c, 1, t, peer, 1, c + 6, 1, t, peer, 1, W_, &st); MPI_Type_free(&t))
W(gatherv_overlap, "invalid-argument", int at[2] = {4, 0}; MPI_Allgatherv(c, 1, MPI_INT, c, ones, at, MPI_INT, W_))
W(pair_of_others, "datatype-mismatch", SEND(2, MPI_FLOAT, 1); if (r) MPI_Recv(c, 1, MPI_2INT, 0, 1, W_, &st))
W(put_then_put_flush_local, "rma-conflict", WIN; MPI_Win_lock_all(0, w); MPI_Put(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_flush_local(peer, w); MPI_Get(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_unlock_all(w); MPI_Win_free(&w))
W(beyond_the_window, "invalid-argument", WIN; MPI_Win_fence(0, w); MPI_Get(c, 2, MPI_INT, peer, 4095, 2, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(before_the_window, "invalid-argument", WIN; MPI_Type_vector(2, 1, -2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Win_fence(0, w); MPI_Put(c, 2, MPI_INT, peer, 1, 1, t, w); MPI_Win_fence(0, w); MPI_Type_free(&t); MPI_Win_free(&w))
W(put_more_than_taken, "invalid-argument", WIN; MPI_Win_fence(0, w); MPI_Put(c, 2, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(get_others, "datatype-mismatch", WIN; MPI_Win_fence(0, w); MPI_Get(c, 1, MPI_FLOAT, peer, 0, 1, MPI_INT, w); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(bcast_of_the_root_only, "collective-mismatch", if (!r) MPI_Bcast(b, 1, MPI_INT, 0, W_))
W(persistent_never_comes, "deadlock", MPI_Recv_init(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Start(&q); MPI_Wait(&q, &st))
W(persistent_ssend_not_taken, "deadlock", MPI_Ssend_init(b, 1, MPI_INT, peer, 0, W_, &q); MPI_Start(&q); MPI_Wait(&q, &st))
W(taken_and_lost, "lost-message", MPI_Message m; SEND(4, MPI_INT, 1); if (r) MPI_Mprobe(0, 1, W_, &m, &st))

/* What one rank gives and another one takes, in operations of blocks. */
W(alltoallv_pair, "collective-mismatch", int got[2] = {1, 1}, at[2] = {0, 8}; got[!r] += r; MPI_Alltoallv(b, ones, at, MPI_INT, c, got, at, MPI_INT, W_))
W(alltoallv_other_type, "collective-mismatch", int at[2] = {0, 8}; MPI_Alltoallv(b, ones, at, r ? MPI_INT : MPI_FLOAT, c, ones, at, MPI_INT, W_))
W(alltoallw_other_type, "collective-mismatch", int at[2] = {0, 32}; MPI_Datatype sent[2] = {MPI_DOUBLE, MPI_DOUBLE}, got[2] = {MPI_DOUBLE, MPI_DOUBLE}; if (r) got[0] = MPI_LONG; MPI_Alltoallw(b, ones, at, sent, c, ones, at, got, W_))
W(ialltoallw_pair, "collective-mismatch", int at[2] = {0, 32}, got[2] = {1, 1 + !r}; MPI_Datatype types[2] = {MPI_INT, MPI_INT}; MPI_Ialltoallw(b, ones, at, types, c, got, at, types, W_, &q); MPI_Wait(&q, &st))
W(alltoallv_init_pair, "collective-mismatch", int got[2] = {1, 1 + !r}, at[2] = {0, 8}; MPI_Alltoallv_init(b, ones, at, MPI_INT, c, got, at, MPI_INT, W_, MPI_INFO_NULL, &q); MPI_Start(&q); MPI_Wait(&q, &st); MPI_Request_free(&q))
W(allgatherv_own, "collective-mismatch", int counts[2] = {2, 2}, at[2] = {0, 4}; MPI_Allgatherv(b, 2 - r, MPI_INT, c, counts, at, MPI_INT, W_))
W(gather_own, "collective-mismatch", MPI_Gather(b, 1, r ? MPI_INT : MPI_FLOAT, c, 1, MPI_INT, 0, W_))
W(neighbor_alltoall_type, "collective-mismatch", int two[1] = {2}; MPI_Cart_create(W_, 1, two, ones, 0, &comm); MPI_Neighbor_alltoall(b, 1, r ? MPI_INT : MPI_FLOAT, c, 1, MPI_INT, comm); MPI_Comm_free(&comm))
W(neighbor_alltoallv_pair, "collective-mismatch", MPI_Dist_graph_create_adjacent(W_, 1, &peer, MPI_UNWEIGHTED, 1, &peer, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm); value = 1 + r; MPI_Neighbor_alltoallv(b, &value, zeros, MPI_INT, c, ones, zeros, MPI_INT, comm); MPI_Comm_free(&comm))
W(neighbor_allgather_type, "collective-mismatch", int two[1] = {2}; MPI_Cart_create(W_, 1, two, zeros, 0, &comm); MPI_Neighbor_allgather(b, 1, r ? MPI_INT : MPI_FLOAT, c, 1, MPI_INT, comm); MPI_Comm_free(&comm))

/* Epochs with some ranks. */
#define ONE(group, rank) int one_##group = rank; MPI_Comm_group(W_, &g); MPI_Group group; MPI_Group_incl(g, 1, &one_##group, &group); MPI_Group_free(&g)
W(start_not_posted, "deadlock", WIN; ONE(h, peer); if (r) { MPI_Win_start(h, 0, w); MPI_Put(c, 1, MPI_INT, 0, 0, 1, MPI_INT, w); MPI_Win_complete(w); } MPI_Group_free(&h); MPI_Win_free(&w))
W(post_not_started, "deadlock", WIN; ONE(h, peer); if (r) { MPI_Win_post(h, 0, w); MPI_Win_wait(w); } MPI_Group_free(&h); MPI_Win_free(&w))
W(starts_cross, "deadlock", WIN; ONE(h, peer); MPI_Win_start(h, 0, w); MPI_Put(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Win_post(h, 0, w); MPI_Win_wait(w); MPI_Group_free(&h); MPI_Win_free(&w))
W(posted_once_started_twice, "deadlock", WIN; ONE(h, peer); if (r) MPI_Win_post(h, 0, w), MPI_Win_wait(w); else for (int i = 0; i < 2; i++) MPI_Win_start(h, 0, w), MPI_Win_complete(w); MPI_Group_free(&h); MPI_Win_free(&w))
W(complete_missing, "epoch-lifecycle", WIN; ONE(h, peer); if (r) { MPI_Win_post(h, 0, w); MPI_Win_wait(w); } else { MPI_Win_start(h, 0, w); } MPI_Group_free(&h); MPI_Win_free(&w))
W(put_not_started_with, "epoch-lifecycle", WIN; ONE(h, r); MPI_Win_post(h, 0, w); MPI_Win_start(h, 0, w); MPI_Put(c, 1, MPI_INT, peer, 0, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Win_wait(w); MPI_Group_free(&h); MPI_Win_free(&w))
W(rput_between_fences, "epoch-lifecycle", WIN; MPI_Win_fence(0, w); MPI_Rput(c, 1, MPI_INT, peer, r, 1, MPI_INT, w, &q); MPI_Wait(&q, &st); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(iallgather_in_place_waits, "deadlock", if (r) MPI_Recv(b, 1, MPI_INT, 0, 0, W_, &st); MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INT, c, 1, MPI_INT, W_, &q); MPI_Wait(&q, &st); if (!r) MPI_Send(b, 1, MPI_INT, 1, 0, W_))

/* Partitions. */
#define PARTS(count, ...) if (!r) { MPI_Psend_init(b, count, 1, MPI_INT, 1, 3, W_, MPI_INFO_NULL, &q); __VA_ARGS__; } else { MPI_Precv_init(b, count, 1, MPI_INT, 0, 3, W_, MPI_INFO_NULL, &q); MPI_Start(&q); } MPI_Wait(&q, &st); MPI_Request_free(&q)
W(pready_range_large, "invalid-argument", PARTS(4, MPI_Start(&q); MPI_Pready_range(0, 3, q); MPI_Pready(4, q)))
W(pready_twice, "request-lifecycle", PARTS(2, MPI_Start(&q); MPI_Pready(0, q); MPI_Pready(0, q); MPI_Pready(1, q)))
W(pready_not_started, "request-lifecycle", PARTS(1, MPI_Pready(0, q); MPI_Start(&q); MPI_Pready(0, q)))
W(parrived_of_send, "request-lifecycle", PARTS(1, MPI_Start(&q); MPI_Pready(0, q); MPI_Parrived(q, 0, &value)))

/* What single functions ask for. */
W(alltoallw_uncommitted, "invalid-argument", MPI_Type_contiguous(2, MPI_INT, &t); MPI_Datatype types[2] = {t, t}; int at[2] = {0, 16}; MPI_Alltoallw(b, ones, at, types, c, ones, at, types, W_); MPI_Type_free(&t))
W(group_rank_twice, "invalid-argument", MPI_Comm_group(W_, &g); MPI_Group h; MPI_Group_incl(g, 2, zeros, &h); MPI_Group_free(&g))
W(group_rank_large, "invalid-argument", MPI_Comm_group(W_, &g); MPI_Group h; MPI_Group_excl(g, 1, &n, &h); MPI_Group_free(&g))
W(subarray_outside, "invalid-argument", int sizes[2] = {4, 4}, parts[2] = {2, 2}, at[2] = {0, 3}; MPI_Type_create_subarray(2, sizes, parts, at, MPI_ORDER_C, MPI_INT, &t))
W(file_mode, "invalid-argument", MPI_File f; MPI_File_open(W_, "/tmp/check-wrong-mode", MPI_MODE_RDONLY | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_File_close(&f))
W(file_two_modes, "invalid-argument", MPI_File f; if (!MPI_File_open(W_, "/tmp/check-wrong-modes", MPI_MODE_RDWR | MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f)) MPI_File_close(&f))
W(no_grid, "invalid-argument", MPI_Cart_sub(W_, ones, &comm))
W(bsend_without_buffer, "invalid-argument", if (!r) MPI_Bsend(b, 1, MPI_INT, 1, 0, W_))
W(fetch_of_derived, "invalid-argument", WIN; MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t); MPI_Win_lock_all(0, w); MPI_Fetch_and_op(c, d, t, peer, 0, MPI_SUM, w); MPI_Win_unlock_all(w); MPI_Type_free(&t); MPI_Win_free(&w))
W(accumulate_own_operation, "invalid-argument", WIN; MPI_Op_create(sum, 1, &op); MPI_Win_fence(0, w); MPI_Accumulate(c, 1, MPI_INT, peer, 0, 1, MPI_INT, op, w); MPI_Win_fence(0, w); MPI_Op_free(&op); MPI_Win_free(&w))

/* Arguments that are the same on all ranks. */
W(cart_dims_differ, "collective-mismatch", int dims[2] = {r ? 2 : 1, r ? 1 : 2}; MPI_Cart_create(W_, 2, dims, zeros, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
W(cart_periods_differ, "collective-mismatch", MPI_Cart_create(W_, 1, &n, r ? ones : zeros, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
W(graph_edges_differ, "collective-mismatch", int index[2] = {1, 2}, edges[2] = {r, 1 - r}; MPI_Graph_create(W_, 2, index, edges, 0, &comm); if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm))
W(split_types_differ, "collective-mismatch", MPI_Comm_split_type(W_, r ? MPI_COMM_TYPE_SHARED : MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &comm))
W(open_modes_differ, "collective-mismatch", MPI_File f; if (!MPI_File_open(W_, "/tmp/check-wrong-open", MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | (r ? MPI_MODE_RDWR : MPI_MODE_WRONLY), MPI_INFO_NULL, &f)) MPI_File_close(&f))
W(file_sizes_differ, "collective-mismatch", MPI_File f; OPEN(f, "sizes"); MPI_File_set_size(f, 8 + r); MPI_File_close(&f))
W(fence_assertions_differ, "collective-mismatch", WIN; MPI_Win_fence(r ? MPI_MODE_NOSUCCEED : 0, w); MPI_Win_free(&w))
#define BETWEEN MPI_Intercomm_create(MPI_COMM_SELF, 0, W_, peer, 7, &comm)
W(roots_between, "collective-mismatch", BETWEEN; MPI_Bcast(b, 1, MPI_INT, 0, comm); MPI_Comm_free(&comm))
W(data_between, "collective-mismatch", BETWEEN; MPI_Bcast(b, 1, r ? MPI_INT : MPI_FLOAT, r ? 0 : MPI_ROOT, comm); MPI_Comm_free(&comm))

/* What only some of a group come to, and what others hold. */
W(create_group_missing, "deadlock", MPI_Comm_group(W_, &g); if (r) MPI_Comm_create_group(W_, g, 3, &comm); MPI_Barrier(W_); MPI_Group_free(&g))
W(create_group_tags, "deadlock", MPI_Comm_group(W_, &g); MPI_Comm_create_group(W_, g, r, &comm); MPI_Comm_free(&comm); MPI_Group_free(&g))
W(intercomm_tags, "deadlock", MPI_Intercomm_create(MPI_COMM_SELF, 0, W_, peer, r, &comm); MPI_Comm_free(&comm))
W(neighbors_not_all, "deadlock", MPI_Cart_create(W_, 1, &n, ones, 0, &comm); if (r) MPI_Recv(b, 1, MPI_INT, 0, 9, comm, &st); MPI_Neighbor_allgather(b, 1, MPI_INT, c, 1, MPI_INT, comm); if (!r) MPI_Send(b, 1, MPI_INT, 1, 9, comm); MPI_Comm_free(&comm))
W(locks_cross, "deadlock", MPI_Win v; WIN; MPI_Win_create(d, sizeof d, 8, MPI_INFO_NULL, W_, &v); MPI_Win first = r ? w : v, second = r ? v : w; MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, first); MPI_Get(c, 1, MPI_INT, 0, 0, 1, MPI_INT, first); MPI_Win_flush(0, first); MPI_Barrier(W_); MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, second); MPI_Get(c + 8, 1, MPI_INT, 0, 0, 1, MPI_INT, second); MPI_Win_unlock(0, second); MPI_Win_unlock(0, first); MPI_Win_free(&w); MPI_Win_free(&v))
W(lock_held, "deadlock", WIN; if (r) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w); MPI_Get(c, 1, MPI_INT, 1, 0, 1, MPI_INT, w); MPI_Win_flush(1, w); MPI_Barrier(W_); MPI_Recv(b + 9, 1, MPI_INT, 0, 0, W_, &st); MPI_Win_unlock(1, w); } else { MPI_Barrier(W_); MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w); MPI_Get(c, 1, MPI_INT, 1, 0, 1, MPI_INT, w); MPI_Win_unlock(1, w); MPI_Send(c, 1, MPI_INT, 1, 0, W_); } MPI_Win_free(&w))
W(partitions_not_ready, "deadlock", PARTS(4, MPI_Start(&q); MPI_Pready_range(0, 2, q)))
W(partitions_not_started, "deadlock", PARTS(4, MPI_Wait(&q, &st)))
W(partitions_too_long, "truncation", if (!r) { MPI_Psend_init(b, 4, 2, MPI_INT, 1, 3, W_, MPI_INFO_NULL, &q); MPI_Start(&q); MPI_Pready_range(0, 3, q); } else { MPI_Precv_init(b, 2, 3, MPI_INT, 0, 3, W_, MPI_INFO_NULL, &q); MPI_Start(&q); } MPI_Wait(&q, &st); MPI_Request_free(&q))
W(partitions_of_others, "datatype-mismatch", if (!r) { MPI_Psend_init(b, 4, 2, MPI_INT, 1, 3, W_, MPI_INFO_NULL, &q); MPI_Start(&q); MPI_Pready_range(0, 3, q); } else { MPI_Precv_init(b, 4, 2, MPI_FLOAT, 0, 3, W_, MPI_INFO_NULL, &q); MPI_Start(&q); } MPI_Wait(&q, &st); MPI_Request_free(&q))
W(partition_changed, "buffer-in-use", PARTS(4, MPI_Start(&q); MPI_Pready(2, q); b[2] = 77; MPI_Pready_range(0, 1, q); MPI_Pready(3, q)))

/* Keyvals. */
#define KEYVAL int kv, copy; MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kv, NULL); copy = kv
W(keyval_freed, "invalid-argument", KEYVAL; MPI_Comm_free_keyval(&kv); MPI_Comm_set_attr(W_, copy, b))
W(keyval_freed_twice, "invalid-argument", KEYVAL; MPI_Comm_free_keyval(&kv); MPI_Comm_free_keyval(&copy))
W(keyval_of_communicators, "invalid-argument", KEYVAL; MPI_Type_dup(MPI_INT, &t); MPI_Type_set_attr(t, copy, b); MPI_Type_free(&t); MPI_Comm_free_keyval(&kv))
W(keyval_freed_as_another, "invalid-argument", KEYVAL; MPI_Win_free_keyval(&kv))
W(keyval_predefined, "invalid-argument", MPI_Comm_delete_attr(W_, MPI_TAG_UB))

/* Info objects, groups by ranges, datatypes. */
static char text[MPI_MAX_INFO_VAL + 9];
#define INFO(length) memset(text, 'x', sizeof text); text[length] = 0; MPI_Info_create(&info)
W(info_key_long, "invalid-argument", INFO(MPI_MAX_INFO_KEY + 1); MPI_Info_set(info, text, "1"); MPI_Info_free(&info))
W(info_value_long, "invalid-argument", INFO(MPI_MAX_INFO_VAL + 1); MPI_Info_set(info, "key", text); MPI_Info_free(&info))
W(info_key_empty, "invalid-argument", INFO(0); MPI_Info_set(info, text, "1"); MPI_Info_free(&info))
W(info_key_missing, "invalid-argument", INFO(9); MPI_Info_set(info, "key", "1"); MPI_Info_delete(info, "other"); MPI_Info_free(&info))
W(info_key_number, "invalid-argument", INFO(9); MPI_Info_set(info, "key", "1"); MPI_Info_get_nthkey(info, 1, text); MPI_Info_free(&info))
#define RANGE(function, ...) MPI_Comm_group(W_, &g); MPI_Group h; int ranges[][3] = {__VA_ARGS__}; if (!function(g, sizeof ranges / 12, ranges, &h)) MPI_Group_free(&h); MPI_Group_free(&g)
W(range_large, "invalid-argument", RANGE(MPI_Group_range_incl, {0, n, 1}))
W(range_distance, "invalid-argument", RANGE(MPI_Group_range_excl, {0, 1, 0}))
W(range_twice, "invalid-argument", RANGE(MPI_Group_range_incl, {0, 1, 1}, {1, 1, 1}))
W(translate_large, "invalid-argument", MPI_Comm_group(W_, &g); MPI_Group_translate_ranks(g, 1, &n, g, &value); MPI_Group_free(&g))
W(struct_length, "invalid-argument", int lengths[2] = {1, -1}; MPI_Aint at[2] = {0, 8}; MPI_Datatype types[2] = {MPI_INT, MPI_INT}; if (!MPI_Type_create_struct(2, lengths, at, types, &t)) MPI_Type_free(&t))
W(subarray_empty, "invalid-argument", int sizes[2] = {4, 4}, parts[2] = {2, 0}; if (!MPI_Type_create_subarray(2, sizes, parts, zeros, MPI_ORDER_C, MPI_INT, &t)) MPI_Type_free(&t))
W(view_uncommitted, "invalid-argument", MPI_File f; OPEN(f, "view"); MPI_Type_vector(2, 1, 2, MPI_INT, &t); MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL); MPI_File_close(&f); MPI_Type_free(&t))
W(op_free_maximum, "invalid-argument", op = MPI_MAX; MPI_Op_free(&op))
W(dims_do_not_divide, "invalid-argument", int dims[2] = {n + 1, 0}; MPI_Dims_create(n, 2, dims))
W(file_read_write_only, "invalid-argument", MPI_File f; MPI_File_open(W_, "/tmp/check-wrong-wronly", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_File_read_at(f, 0, b, 0, MPI_INT, &st); MPI_File_close(&f))
W(file_write_read_only, "invalid-argument", MPI_File f; MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &f); MPI_File_write_all(f, b, 0, MPI_INT, &st); MPI_File_close(&f))

/* Packing, and buffers for buffered sends. */
static char packed[64];
W(pack_too_much, "invalid-argument", int at = 0; MPI_Pack(b, 3, MPI_INT, packed, 8, &at, W_))
W(pack_position, "invalid-argument", int at = 60; MPI_Pack(b, 2, MPI_INT, packed, 64, &at, W_))
W(unpack_too_much, "invalid-argument", int at = 4; MPI_Unpack(packed, 16, &at, b, 4, MPI_INT, W_))
W(pack_uncommitted, "invalid-argument", int at = 0; MPI_Type_contiguous(2, MPI_INT, &t); MPI_Pack(b, 1, t, packed, 64, &at, W_); MPI_Type_free(&t))
W(bsend_too_long, "invalid-argument", void *old; MPI_Buffer_attach(c, MPI_BSEND_OVERHEAD + 64); if (!r) MPI_Bsend(b, 17, MPI_INT, 1, 0, W_); MPI_Buffer_detach(&old, &value))
W(bsend_detached, "invalid-argument", void *old; MPI_Buffer_attach(c, MPI_BSEND_OVERHEAD + 64); MPI_Buffer_detach(&old, &value); if (!r) MPI_Bsend(b, 1, MPI_INT, 1, 0, W_))
W(attach_twice, "invalid-argument", void *old; MPI_Buffer_attach(c, 4096); MPI_Buffer_attach(c + 2048, 4096); MPI_Buffer_detach(&old, &value))

/* Requests, communicators and buffers before and after their time. */
W(idup_used_early, "invalid-argument", MPI_Comm_idup(W_, &comm, &q); MPI_Comm_size(comm, &value); MPI_Wait(&q, &st); MPI_Comm_free(&comm))
W(wait_copy, "request-lifecycle", MPI_Irecv(c, 1, MPI_INT, peer, 0, W_, &q); qs[0] = q; MPI_Send(b, 1, MPI_INT, peer, 0, W_); MPI_Wait(&q, &st); MPI_Wait(qs, &st))
W(start_freed, "request-lifecycle", MPI_Recv_init(c, 1, MPI_INT, peer, 0, W_, &q); qs[0] = q; MPI_Request_free(&q); MPI_Start(qs))
W(startall_twice, "request-lifecycle", MPI_Recv_init(c, 1, MPI_INT, MPI_PROC_NULL, 0, W_, qs); qs[1] = qs[0]; MPI_Startall(2, qs); MPI_Wait(qs, &st); MPI_Request_free(qs))
W(collective_freed, "request-lifecycle", MPI_Ibarrier(W_, &q); MPI_Request_free(&q); MPI_Barrier(W_))
W(collective_cancelled, "request-lifecycle", MPI_Ibarrier(W_, &q); MPI_Cancel(&q); MPI_Wait(&q, &st))
W(get_into_sent, "buffer-in-use", WIN; MPI_Win_fence(0, w); MPI_Isend(c, 4, MPI_INT, peer, 0, W_, &q); MPI_Get(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w); MPI_Recv(d, 4, MPI_INT, peer, 0, W_, &st); MPI_Wait(&q, &st); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(send_what_is_got, "rma-conflict", WIN; MPI_Win_fence(0, w); MPI_Get(c, 4, MPI_INT, peer, 0, 4, MPI_INT, w); MPI_Send(c, 4, MPI_INT, peer, 0, W_); MPI_Recv(d, 4, MPI_INT, peer, 0, W_, &st); MPI_Win_fence(0, w); MPI_Win_free(&w))
W(message_taken, "lost-message", MPI_Message m; MPI_Send(b, 1, MPI_INT, peer, 0, W_); MPI_Mprobe(peer, 0, W_, &m, &st))
static void *calls(void *);
W(other_thread, "call-order", pthread_t thread; pthread_create(&thread, NULL, calls, &value); pthread_join(thread, NULL)) static void *calls(void *rank) { MPI_Comm_rank(W_, rank); return rank; }

/* Grids, blocks and files once more. */
#define GRID(length, period) int dims[1] = {length}, periods[1] = {period}; MPI_Cart_create(W_, 1, dims, periods, 0, &comm)
W(grid_behind, "invalid-argument", int at[1] = {2}; GRID(2, 0); MPI_Cart_rank(comm, at, &value); MPI_Comm_free(&comm))
W(grid_before, "invalid-argument", int at[1] = {-1}; GRID(2, 0); MPI_Cart_rank(comm, at, &value); MPI_Comm_free(&comm))
W(grid_direction, "invalid-argument", int from, to; GRID(2, 1); MPI_Cart_shift(comm, 1, 1, &from, &to); MPI_Comm_free(&comm))
W(gathered_twice, "invalid-argument", int counts[2] = {4, 4}, places[2] = {0, 3}; MPI_Gatherv(b, 4, MPI_INT, c, counts, places, MPI_INT, 0, W_))
W(allgathered_twice, "invalid-argument", int counts[2] = {4, 4}, places[2] = {2, 0}; MPI_Allgatherv(b, 4, MPI_INT, c, counts, places, MPI_INT, W_))
W(intercomm_scan, "invalid-argument", BETWEEN; MPI_Scan(b, c, 1, MPI_INT, MPI_SUM, comm); MPI_Comm_free(&comm))
W(intercomm_window, "invalid-argument", BETWEEN; if (!MPI_Win_create(b, 4, 4, MPI_INFO_NULL, comm, &w)) MPI_Win_free(&w); MPI_Comm_free(&comm))
W(view_before, "invalid-argument", MPI_File f; OPEN(f, "before"); MPI_File_set_view(f, -4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL); MPI_File_close(&f))
W(sequential_at, "invalid-argument", MPI_File f; MPI_File_open(W_, "/tmp/check-wrong-sequential", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f); MPI_File_write_at(f, 0, b, 1, MPI_INT, &st); MPI_File_close(&f))
W(isendrecv_tags, "deadlock", MPI_Isendrecv(b, 1, MPI_INT, peer, 1, c, 1, MPI_INT, peer, 2, W_, &q); MPI_Wait(&q, &st))

/* More of them, which use what is above. */
#include "wrong_more.c"

int main(int argc, char **argv) {
    int level;
    if (argc > 1 && !strcmp(argv[1], "before_init")) MPI_Comm_size(W_, &value); /* FINDING call-order */
    if (argc > 1 && !strncmp(argv[1], "serialized", 10)) MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    else MPI_Init(&argc, &argv);
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
