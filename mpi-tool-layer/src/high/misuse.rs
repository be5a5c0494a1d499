//! What a safe layer cannot do: programs that must not compile, each behind the same program
//! without the mistake, which must. Only `cargo test --doc` reads this file.
//!
//! A layer is safe code that passes the application's arguments to MPI. That MPI then touches no
//! other memory than the application meant rests on types: each value belongs to one call (a
//! lifetime) and to one parameter of it (a role). The programs here are the mistakes that those
//! types are for; each names the compiler's error, so that a program that fails for another reason
//! does not count.

/// Lengths and counts swapped: MPI would write behind the array.
///
/// ```
/// use mpi_tool_layer::{CallResult, MpiInterceptionLayer, Value, arg, mpi_sys::c_int, next};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn dims_create<'c>(
///         &self, next_f: impl next::MPI_Dims_create<'c>, nnodes: Value<'c, c_int, arg::nnodes>,
///         ndims: Value<'c, c_int, arg::ndims>, dims: Value<'c, *mut c_int, arg::dims>,
///     ) -> CallResult<'c> {
///         next_f(nnodes, ndims, dims)
///     }
/// }
/// ```
///
/// ```compile_fail,E0308
/// use mpi_tool_layer::{CallResult, MpiInterceptionLayer, Value, arg, mpi_sys::c_int, next};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn dims_create<'c>(
///         &self, next_f: impl next::MPI_Dims_create<'c>, nnodes: Value<'c, c_int, arg::nnodes>,
///         ndims: Value<'c, c_int, arg::ndims>, dims: Value<'c, *mut c_int, arg::dims>,
///     ) -> CallResult<'c> {
///         next_f(ndims, nnodes, dims)
///     }
/// }
/// ```
///
/// ```compile_fail,E0053
/// use mpi_tool_layer::{CallResult, MpiInterceptionLayer, Value, arg, mpi_sys::c_int, next};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn dims_create<'c>(
///         &self, next_f: impl next::MPI_Dims_create<'c>, nnodes: Value<'c, c_int, arg::ndims>,
///         ndims: Value<'c, c_int, arg::nnodes>, dims: Value<'c, *mut c_int, arg::dims>,
///     ) -> CallResult<'c> {
///         next_f(ndims, nnodes, dims)
///     }
/// }
/// ```
///
/// ```
/// use mpi_tool_layer::{CallResult, Communicator, MpiInterceptionLayer, Value, arg, mpi_sys::c_int, next};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn graph_get<'c>(
///         &self, next_f: impl next::MPI_Graph_get<'c>, comm: Communicator<'c>,
///         maxindex: Value<'c, c_int, arg::maxindex>, maxedges: Value<'c, c_int, arg::maxedges>,
///         index: Value<'c, *mut c_int, arg::index>, edges: Value<'c, *mut c_int, arg::edges>,
///     ) -> CallResult<'c> {
///         next_f(comm, maxindex, maxedges, index, edges)
///     }
/// }
/// ```
///
/// ```compile_fail,E0308
/// use mpi_tool_layer::{CallResult, Communicator, MpiInterceptionLayer, Value, arg, mpi_sys::c_int, next};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn graph_get<'c>(
///         &self, next_f: impl next::MPI_Graph_get<'c>, comm: Communicator<'c>,
///         maxindex: Value<'c, c_int, arg::maxindex>, maxedges: Value<'c, c_int, arg::maxedges>,
///         index: Value<'c, *mut c_int, arg::index>, edges: Value<'c, *mut c_int, arg::edges>,
///     ) -> CallResult<'c> {
///         next_f(comm, maxindex, maxedges, edges, index)
///     }
/// }
/// ```
pub struct LengthsAreNotSwapped;

/// A root of the layer's own: at a root, MPI writes through pointers that mean nothing elsewhere.
///
/// ```
/// use mpi_tool_layer::{
///     CallResult, Communicator, MpiInterceptionLayer, Root, TypeDynamicBufferMut,
///     TypeDynamicBufferRef, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn gather<'c>(
///         &self, next_f: impl next::MPI_Gather<'c>, sendbuf: TypeDynamicBufferRef<'c>,
///         recvbuf: TypeDynamicBufferMut<'c>, root: Root<'c>, comm: Communicator<'c>,
///     ) -> CallResult<'c> {
///         next_f(sendbuf, recvbuf, root, comm)
///     }
/// }
/// ```
///
/// ```compile_fail,E0308
/// use mpi_tool_layer::{
///     CallResult, Communicator, MpiInterceptionLayer, Rank, Root, TypeDynamicBufferMut,
///     TypeDynamicBufferRef, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn gather<'c>(
///         &self, next_f: impl next::MPI_Gather<'c>, sendbuf: TypeDynamicBufferRef<'c>,
///         recvbuf: TypeDynamicBufferMut<'c>, root: Root<'c>, comm: Communicator<'c>,
///     ) -> CallResult<'c> {
///         next_f(sendbuf, recvbuf, Rank::new(1), comm)
///     }
/// }
/// ```
///
/// ```compile_fail,E0133
/// use mpi_tool_layer::{
///     CallResult, Communicator, MpiInterceptionLayer, Rank, Root, TypeDynamicBufferMut,
///     TypeDynamicBufferRef, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn gather<'c>(
///         &self, next_f: impl next::MPI_Gather<'c>, sendbuf: TypeDynamicBufferRef<'c>,
///         recvbuf: TypeDynamicBufferMut<'c>, root: Root<'c>, comm: Communicator<'c>,
///     ) -> CallResult<'c> {
///         next_f(sendbuf, recvbuf, Root::new(Rank::new(1)), comm)
///     }
/// }
/// ```
pub struct RootsAreTheApplications;

/// What MPI has not written is not read: without a flag there is no message.
///
/// ```
/// use mpi_tool_layer::{
///     CallResult, Communicator, Flag, IfFlag, MpiInterceptionLayer, Out, Source, StatusMut, Tag, arg,
///     mpi_sys::MPI_Message, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn improbe<'c>(
///         &self, next_f: impl next::MPI_Improbe<'c>, source: Source<'c>, tag: Tag,
///         comm: Communicator<'c>, flag: Flag<'c>, message: Out<'c, MPI_Message, arg::message, IfFlag>,
///         status: StatusMut<'_, IfFlag>,
///     ) -> CallResult<'c> {
///         let accepted = next_f(source, tag, comm, flag, message, status)?;
///         let _: Option<MPI_Message> = message.get(accepted, flag);
///         let _ = status.get(accepted, flag);
///         Ok(accepted)
///     }
/// }
/// ```
///
/// ```compile_fail,E0061
/// use mpi_tool_layer::{
///     CallResult, Communicator, Flag, IfFlag, MpiInterceptionLayer, Out, Source, StatusMut, Tag, arg,
///     mpi_sys::MPI_Message, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn improbe<'c>(
///         &self, next_f: impl next::MPI_Improbe<'c>, source: Source<'c>, tag: Tag,
///         comm: Communicator<'c>, flag: Flag<'c>, message: Out<'c, MPI_Message, arg::message, IfFlag>,
///         status: StatusMut<'_, IfFlag>,
///     ) -> CallResult<'c> {
///         let accepted = next_f(source, tag, comm, flag, message, status)?;
///         let _: MPI_Message = message.get(accepted);
///         Ok(accepted)
///     }
/// }
/// ```
///
/// ```compile_fail,E0053
/// use mpi_tool_layer::{
///     CallResult, Communicator, Flag, IfFlag, MpiInterceptionLayer, Out, Source, StatusMut, Tag, arg,
///     mpi_sys::MPI_Message, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn improbe<'c>(
///         &self, next_f: impl next::MPI_Improbe<'c>, source: Source<'c>, tag: Tag,
///         comm: Communicator<'c>, flag: Flag<'c>, message: Out<'c, MPI_Message, arg::message>,
///         status: StatusMut<'_, IfFlag>,
///     ) -> CallResult<'c> {
///         let accepted = next_f(source, tag, comm, flag, message, status)?;
///         let _: MPI_Message = message.get(accepted);
///         Ok(accepted)
///     }
/// }
/// ```
pub struct OnlyWhatIsWrittenIsRead;

/// Handles of one type stay in their places.
///
/// ```
/// use mpi_tool_layer::{
///     CallResult, Communicator, MpiInterceptionLayer, Out, RankOf, Tag, arg, mpi_sys::MPI_Comm, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn intercomm_create<'c>(
///         &self, next_f: impl next::MPI_Intercomm_create<'c>,
///         local_comm: Communicator<'c, arg::local_comm>, local_leader: RankOf<'c, arg::local_leader>,
///         peer_comm: Communicator<'c, arg::peer_comm>, remote_leader: RankOf<'c, arg::remote_leader>,
///         tag: Tag, newintercomm: Out<'c, MPI_Comm, arg::newintercomm>,
///     ) -> CallResult<'c> {
///         next_f(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm)
///     }
/// }
/// ```
///
/// ```compile_fail,E0308
/// use mpi_tool_layer::{
///     CallResult, Communicator, MpiInterceptionLayer, Out, RankOf, Tag, arg, mpi_sys::MPI_Comm, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn intercomm_create<'c>(
///         &self, next_f: impl next::MPI_Intercomm_create<'c>,
///         local_comm: Communicator<'c, arg::local_comm>, local_leader: RankOf<'c, arg::local_leader>,
///         peer_comm: Communicator<'c, arg::peer_comm>, remote_leader: RankOf<'c, arg::remote_leader>,
///         tag: Tag, newintercomm: Out<'c, MPI_Comm, arg::newintercomm>,
///     ) -> CallResult<'c> {
///         next_f(peer_comm, local_leader, local_comm, remote_leader, tag, newintercomm)
///     }
/// }
/// ```
///
/// ```compile_fail,E0308
/// use mpi_tool_layer::{
///     CallResult, Communicator, MpiInterceptionLayer, Out, RankOf, Tag, arg, mpi_sys::MPI_Comm, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn intercomm_create<'c>(
///         &self, next_f: impl next::MPI_Intercomm_create<'c>,
///         local_comm: Communicator<'c, arg::local_comm>, local_leader: RankOf<'c, arg::local_leader>,
///         peer_comm: Communicator<'c, arg::peer_comm>, remote_leader: RankOf<'c, arg::remote_leader>,
///         tag: Tag, newintercomm: Out<'c, MPI_Comm, arg::newintercomm>,
///     ) -> CallResult<'c> {
///         next_f(local_comm, remote_leader, peer_comm, local_leader, tag, newintercomm)
///     }
/// }
/// ```
pub struct HandlesAreNotSwapped;

/// Nothing of a value can be made anew without `unsafe`.
///
/// ```
/// use mpi_tool_layer::{CallResult, Communicator, MpiInterceptionLayer, next};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn barrier<'c>(
///         &self, next_f: impl next::MPI_Barrier<'c>, comm: Communicator<'c>,
///     ) -> CallResult<'c> {
///         let raw = comm.raw();
///         // SAFETY: the application's own communicator.
///         next_f(unsafe { Communicator::from_raw(raw) })
///     }
/// }
/// ```
///
/// ```compile_fail,E0133
/// use mpi_tool_layer::{CallResult, Communicator, MpiInterceptionLayer, next};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn barrier<'c>(
///         &self, next_f: impl next::MPI_Barrier<'c>, comm: Communicator<'c>,
///     ) -> CallResult<'c> {
///         let raw = comm.raw();
///         next_f(Communicator::from_raw(raw))
///     }
/// }
/// ```
///
/// ```
/// use mpi_tool_layer::{CallResult, InOut, MpiInterceptionLayer, OwnStatus, StatusMut, next};
/// use mpi_tool_layer::mpi_sys::MPI_Request;
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn wait<'c>(
///         &self, next_f: impl next::MPI_Wait<'c>, request: InOut<'c, MPI_Request>,
///         status: StatusMut<'_>,
///     ) -> CallResult<'c> {
///         next_f(request, OwnStatus::new().for_ignored(status))
///     }
/// }
/// ```
///
/// ```compile_fail,E0133
/// use mpi_tool_layer::{CallResult, InOut, MpiInterceptionLayer, OwnStatus, StatusMut, next};
/// use mpi_tool_layer::mpi_sys::{MPI_Request, MPI_Status};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn wait<'c>(
///         &self, next_f: impl next::MPI_Wait<'c>, request: InOut<'c, MPI_Request>,
///         status: StatusMut<'_>,
///     ) -> CallResult<'c> {
///         // The application's status would stay as it is, whatever that may be.
///         let mut own: MPI_Status = unsafe { std::mem::zeroed() };
///         next_f(request, StatusMut::new(&mut own))
///     }
/// }
/// ```
pub struct ValuesAreTheApplications;

/// A tag, a color and a key may be any: no memory depends on them.
///
/// ```
/// use mpi_tool_layer::{
///     CallResult, Color, Communicator, Key, MpiInterceptionLayer, Out, arg, mpi_sys::MPI_Comm, next,
/// };
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn comm_split<'c>(
///         &self, next_f: impl next::MPI_Comm_split<'c>, comm: Communicator<'c>, color: Color, key: Key,
///         newcomm: Out<'c, MPI_Comm, arg::newcomm>,
///     ) -> CallResult<'c> {
///         next_f(comm, color, Key::new(-key.raw()), newcomm)
///     }
/// }
/// ```
pub struct SomeNumbersAreFree;

/// Success said in advance: MPI's results would be read before MPI has written them.
///
/// ```
/// use mpi_tool_layer::{Call, CallResult, MpiInterceptionLayer};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         let accepted = next_f()?;
///         let _ = call.status(accepted);
///         Ok(accepted)
///     }
/// }
/// ```
///
/// ```compile_fail,E0133
/// use mpi_tool_layer::{Call, CallResult, MpiInterceptionLayer};
/// struct Layer;
/// impl MpiInterceptionLayer for Layer {
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         let accepted = call.accepted(0).unwrap();
///         let _ = call.status(accepted);
///         next_f()
///     }
/// }
/// ```
pub struct SuccessIsNotSaidInAdvance;
