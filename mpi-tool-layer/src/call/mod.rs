//! Any call of any function, and what can be asked of it.
//!
//! A call is its function, its arguments as 64-bit words, and, in layers that watch completion, the
//! requests it was given. Everything else follows: which of the words is the communicator, the tag,
//! the count of what is received is a property of the function, its [`Shape`], which the compiler
//! computes from the list of functions (`shape.rs`). From arguments and shape follows what data the
//! call moves (`transfers.rs`).
//!
//! There are two kinds of calls with the same methods. A [`KnownCall`] has its function as a
//! constant of its type: every question about the shape is answered when the tool is compiled, and
//! a layer's branches on it are gone. An [`AnyCall`] has the function as a value, for code that is
//! not to be compiled 700 times; [`Call::erase`] makes it of the other.
//!
//! What makes the questions safe to ask is a lifetime, `'c`, that belongs to one call and to no
//! other ([`Brand`]). An [`Accepted`] of that lifetime is the proof that MPI has returned success
//! from just this call: before, pointers among the arguments may lead nowhere, and handles may be
//! none.

mod shape;
mod status;
mod transfers;
mod word;

use core::ffi::c_int;
use core::marker::PhantomData;
use core::num::NonZero;

use mpi_sys::{MPI_Datatype, MPI_Request, MPI_Status, pmpi};

pub(crate) use shape::{Completion, Data, NONE, Pattern, Position, Shape, Timing};
pub use status::{received_bytes, received_bytes_at_once};
pub use transfers::{Flow, Transfer, Transfers};
pub use word::Word;
pub(crate) use word::word;

use crate::high::{Communicator, File, Rank, Tag, Window};
use crate::{FunctionClass, FunctionId};

/// Makes what belongs to one call unusable in another: the compiler neither shortens nor stretches
/// the lifetime, as `'c` stands both where a function takes it and where it returns it. Whoever
/// makes values of a call (`around`, a layer's method) does so for a function that is generic in
/// `'c`, so that two calls never have the same.
pub(crate) type Brand<'c> = PhantomData<fn(&'c ()) -> &'c ()>;

/// MPI has accepted a call: its handles are valid and its buffers described well.
///
/// It is what a next function returns on success, and what a layer's method must return. It costs
/// nothing: it is a value without contents.
///
/// What asks MPI about a call's arguments, or reads what MPI has written, wants one. A wrong handle
/// is the application's error, and its own call tells it so; asked about by a tool, MPI would call
/// the application's error handler a second time, or end it.
///
/// Accepted does not mean that every argument is valid: MPI need not look at those that are not
/// significant in this process (a receive buffer at other ranks than the root), nor at a datatype
/// whose count is 0. The methods that take an `Accepted` know that.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'c>(Brand<'c>);

/// What MPI says went wrong: an error code, which is any number but `MPI_SUCCESS`. Codes are an
/// implementation's own; what they have in common is the [class](Self::class).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(NonZero<c_int>);

impl ErrorCode {
    /// The code; none is 0, success.
    pub const fn get(self) -> c_int {
        self.0.get()
    }

    /// An error of a tool's own, for a layer that refuses a call instead of passing it on: a code
    /// of MPI's, such as `MPI_ERR_OTHER`. `None` of 0, which is success. The application's error
    /// handler is not called for it; the code is only returned.
    pub const fn new(code: c_int) -> Option<Self> {
        match NonZero::new(code) {
            Some(code) => Some(Self(code)),
            None => None,
        }
    }

    /// The error class of the code (`MPI_Error_class`): the standard's `MPI_ERR_…`, which means the
    /// same under every MPI of an ABI. A question to MPI each time, to be asked from `MPI_Init` to
    /// `MPI_Finalize`: at other times the standard allows it since MPI-4.0 only. In a process whose
    /// MPI lacks the function, the code itself.
    pub fn class(self) -> c_int {
        let mut class = self.get();
        if pmpi::available(FunctionId::MPI_Error_class as usize) {
            // SAFETY: may be called at any time, by any thread.
            unsafe { pmpi::MPI_Error_class(self.get(), &mut class) };
        }
        class
    }
}

/// What a call returns: on success the proof of it, which belongs to that call, else the error code
/// that goes back to the application. A layer ends with the result of its next function, as a rule
/// by `?` and `Ok(accepted)`.
pub type CallResult<'c> = Result<Accepted<'c>, ErrorCode>;

/// A C function's result, for a layer. The lifetime is the caller's choice: it is used only in the
/// next function of a high-level method, whose type says which call it is of.
#[inline(always)]
pub(crate) fn result<'c>(code: c_int) -> CallResult<'c> {
    match NonZero::new(code) {
        None => Ok(Accepted(PhantomData)),
        Some(code) => Err(ErrorCode(code)),
    }
}

/// A layer's result, for C.
#[inline(always)]
pub(crate) fn code(result: CallResult<'_>) -> c_int {
    match result {
        Ok(_) => mpi_sys::MPI_SUCCESS,
        Err(code) => code.get(),
    }
}

/// A call of the application, whichever function it is of.
///
/// What it says of itself costs nothing; what MPI must be asked for wants an [`Accepted`], which
/// the call's success is. In a layer, the function and what its parameters mean are known when the
/// layer is compiled: an `if` on them is none when the program runs.
///
/// Answers are `None` where the function has nothing of the kind, so a layer asks without knowing
/// the function. They come from the arguments, as the application passed them: a communicator may
/// be null, a rank out of range. Methods with an `Accepted` among their parameters read what MPI
/// has written, or ask MPI.
///
/// A function and its large-count twin answer alike, also where counts are arrays. Functions that
/// free an object (`MPI_Comm_free`) have the address of a handle and no handle, so
/// [`communicator`](Self::communicator) and its like say nothing of them.
///
/// A call cannot be kept beyond `around`: what is to outlive it, a [`FunctionId`], a [`Transfer`]'s
/// numbers or a request's handle, is copied out.
pub trait Call<'c>: Copy {
    /// Which function is called. Of `MPI_Send` and `MPI_Send_c`, a high-level layer sees the first;
    /// a raw one sees which it was.
    fn function(self) -> FunctionId;

    /// What the function is about: [`FunctionClass`] has the chapters of the standard.
    #[inline(always)]
    fn class(self) -> FunctionClass {
        self.shape().class
    }

    /// Which parameter of the function is what. Hidden, since positions mean something only
    /// together with the words.
    #[doc(hidden)]
    fn shape(self) -> Shape;
    /// The arguments as words, one for each parameter of the function, in its order.
    #[doc(hidden)]
    fn words(self) -> &'c [u64];
    /// Are arrays of counts of the large-count form?
    #[doc(hidden)]
    fn is_wide(self) -> bool;

    /// The requests that the call was given, as they were before it: for functions that change them
    /// (`MPI_Wait` and its kin, `MPI_Start`), and only in layers that [watch
    /// completion](crate::MpiInterceptionLayer::WATCHES_COMPLETION); else none. Some may be null.
    /// They are a copy: MPI puts `MPI_REQUEST_NULL` into the application's array where a request is
    /// complete.
    fn requests(self) -> &'c [MPI_Request];

    /// The argument of a position, as what it is; `None` if the function has no such parameter. `T`
    /// must be the parameter's type, or an integer type for an integer: nothing checks it.
    #[doc(hidden)]
    #[inline(always)]
    fn get<T: Word>(self, position: Position) -> Option<T> {
        (position != NONE).then(|| T::from_word(self.words()[usize::from(position)]))
    }

    /// The same call, as a value whose type does not depend on the function. For the rare and long
    /// parts of a layer: they are compiled once, and look the function's properties up when the
    /// program runs.
    fn erase(self) -> AnyCall<'c> {
        AnyCall {
            function: self.function(),
            wide: self.is_wide(),
            words: self.words(),
            before: self.requests(),
            brand: PhantomData,
        }
    }

    /// The arguments as words, each with what the list says of its parameter: integers extended by
    /// their sign, addresses, handles. Functions (callbacks) are 0. For tools that print or record
    /// calls; addresses must not be followed without knowing what the parameter's
    /// [direction](crate::Parameter::direction) and the call's success say of them.
    fn arguments(self) -> impl ExactSizeIterator<Item = (&'static crate::Parameter, u64)> {
        self.function().parameters().iter().zip(self.words().iter().copied())
    }

    /// The communicator of the call, if it has one; the first of several.
    #[inline(always)]
    fn communicator(self) -> Option<Communicator<'c>> {
        self.get(self.shape().communicator).map(Communicator::from_c)
    }

    /// The window of one-sided communication or of a question about it.
    #[inline(always)]
    fn window(self) -> Option<Window<'c>> {
        self.get(self.shape().window).map(Window::from_c)
    }

    /// The file that is read, written or asked about.
    #[inline(always)]
    fn file(self) -> Option<File<'c>> {
        self.get(self.shape().file).map(File::from_c)
    }

    /// The root of a collective call: a rank of the communicator, or between groups `MPI_ROOT` or
    /// `MPI_PROC_NULL` ([`RankKind`](crate::RankKind)).
    #[inline(always)]
    fn root(self) -> Option<Rank> {
        self.get(self.shape().root).map(Rank::new)
    }

    /// To whom the call sends: the destination of a message, the target of one-sided communication,
    /// whichever way that moves data. May be `MPI_PROC_NULL`.
    #[inline(always)]
    fn destination(self) -> Option<Rank> {
        self.get(self.shape().destination).or_else(|| self.get(self.shape().target)).map(Rank::new)
    }

    /// From whom the call receives, as it is asked for, which may be `MPI_ANY_SOURCE`; a
    /// [status](Self::status) says who it was.
    #[inline(always)]
    fn source(self) -> Option<Rank> {
        self.get(self.shape().source).map(Rank::new)
    }

    /// The one other rank of the call: destination, source, target or root, whichever is there
    /// first in this order. Of `MPI_Sendrecv` it is the destination.
    #[inline(always)]
    fn peer(self) -> Option<Rank> {
        self.destination().or_else(|| self.source()).or_else(|| self.root())
    }

    /// The tag, of what is sent where there are two. In a receive it may be `MPI_ANY_TAG`.
    #[inline(always)]
    fn tag(self) -> Option<Tag> {
        self.get(self.shape().tags.0).map(Tag::new)
    }

    /// The tag of what is received, as it is asked for. The same as [`tag`](Self::tag) where there
    /// is one.
    #[inline(always)]
    fn received_tag(self) -> Option<Tag> {
        self.get(self.shape().tags.1).map(Tag::new)
    }

    /// The datatype of what is sent; of the first block with data, where each has its own
    /// (`MPI_Alltoallw`). Its handle may be null or wrong where MPI need not have looked at it;
    /// [`Transfer::datatype`] is the one for questions. Costs nothing but for functions with arrays
    /// of datatypes, for which MPI is asked for the communicator's size.
    fn sent_datatype(self, accepted: Accepted<'c>) -> Option<MPI_Datatype> {
        self.datatype(self.shape().sent, accepted)
    }

    /// The datatype of what is received; in all else like [`sent_datatype`](Self::sent_datatype).
    fn received_datatype(self, accepted: Accepted<'c>) -> Option<MPI_Datatype> {
        self.datatype(self.shape().received, accepted)
    }

    /// The datatype of one direction. An array of datatypes need not be there in this process, so
    /// the first transfer that goes in that direction says it.
    #[doc(hidden)]
    fn datatype(self, data: Data, accepted: Accepted<'c>) -> Option<MPI_Datatype> {
        if !data.array_of_datatypes {
            return self.get(data.datatype);
        }
        // An array need not be there: in place, or where there are no neighbours. The transfers know.
        let received = data.buffer == self.shape().received.buffer;
        let mut transfers = self.transfers(accepted);
        let first = transfers.find(|transfer| (transfer.flow == Flow::Received) == received);
        first.map(|transfer| transfer.datatype())
    }

    /// Do the data of the call move later than it returns, when its request is complete? So it is
    /// with `MPI_Isend` and its kin, and with the beginnings of split collective operations on
    /// files (`MPI_File_read_all_begin`), which have no request.
    #[inline(always)]
    fn is_started(self) -> bool {
        self.shape().timing == Timing::Started
    }

    /// Does the call only prepare what `MPI_Start` starts (`MPI_Send_init`, `MPI_Bcast_init`,
    /// `MPI_Psend_init`)? Its [`transfers`](Self::transfers) move each time that the request is
    /// started.
    #[inline(always)]
    fn is_persistent(self) -> bool {
        self.shape().timing == Timing::Persistent
    }

    /// Does the call end a split collective operation on a file (`MPI_File_read_all_end`)? Then its
    /// [`status`](Self::status) says how much was moved; the datatype was an argument of the
    /// beginning.
    #[inline(always)]
    fn is_split_end(self) -> bool {
        self.shape().pattern == Pattern::SplitEnd
    }

    /// The request that the call has made. `None` of functions that make none. It may be a handle
    /// that other requests have, too, or null, where MPI completed the operation at once:
    /// [`PendingRequests`](crate::PendingRequests) knows that.
    #[inline(always)]
    fn new_request(self, _: Accepted<'c>) -> Option<MPI_Request> {
        let request: *mut MPI_Request = self.get(self.shape().new_request)?;
        // SAFETY: the pointer must lead to an initialised request. It is the argument of a
        // parameter by which the function returns the request that it makes, and MPI has written
        // it, since it has accepted this call (`'c`), which has not returned yet.
        Some(unsafe { *request })
    }

    /// Does the call start persistent requests (`MPI_Start`, `MPI_Startall`)? Which ones,
    /// [`requests`](Self::requests) says.
    #[inline(always)]
    fn starts_requests(self) -> bool {
        matches!(self.function(), FunctionId::MPI_Start | FunctionId::MPI_Startall)
    }

    /// May the call complete [requests](Self::requests)? The eight functions are `MPI_Wait` and
    /// `MPI_Test`, each alone and with `all`, `any` and `some`.
    #[inline(always)]
    fn completes_requests(self) -> bool {
        self.shape().completion != Completion::None
    }

    /// The status of the call itself, where MPI has set one: of a receive, a probe, a read. Where
    /// MPI sets it only if a flag is true, that is looked at; calls with many statuses have none of
    /// their own ([`finished`](Self::finished) tells of those).
    ///
    /// `None` also where the application ignores its status, unless the layer [watches
    /// completion](crate::MpiInterceptionLayer::WATCHES_COMPLETION): then MPI has been lent one.
    #[inline(always)]
    fn status(self, _: Accepted<'c>) -> Option<&'c MPI_Status> {
        let shape = self.shape();
        if shape.array_of_statuses {
            return None;
        }
        let status: *const MPI_Status = self.get(shape.statuses)?;
        if status.is_null() || status == mpi_sys::MPI_STATUS_IGNORE {
            return None;
        }
        if let Some(flag) = self.get::<*const c_int>(shape.flag) {
            // SAFETY: the flag must be readable and set. MPI has accepted the call, and sets the
            // function's flag whenever it does.
            if unsafe { *flag } == 0 {
                return None;
            }
        }
        // SAFETY: one status that is not ignored, which MPI sets in every accepted call if there is no
        // flag, and else if the flag is true. It is the application's or the layer's, and both outlive
        // the call.
        Some(unsafe { &*status })
    }

    /// Tells of each request that the call has finished, by its position in
    /// [`requests`](Self::requests), with its status, or without one if it has failed. It takes the
    /// call's result, since a call that returns `MPI_ERR_IN_STATUS` has finished requests, too;
    /// after any other error, those are told of that have become null. A call that completes all of
    /// its requests tells of null and inactive ones, too, which are complete from the start.
    /// `result` must be what the next function has returned: by it, what MPI has written is read.
    ///
    /// Only in layers that watch completion; without them there are no requests to tell of.
    #[inline(always)]
    fn finished(self, result: CallResult<'c>, mut each: impl FnMut(usize, Option<&MPI_Status>)) {
        if !self.completes_requests() || self.requests().is_empty() {
            return;
        }
        let (Ok(accepted), NONE) = (result, self.shape().request_count) else {
            self.erase().finished_requests(result, &mut each);
            return;
        };
        // One request: by far the most frequent case.
        let flag: Option<*const c_int> = self.get(self.shape().flag);
        // SAFETY: the flag must be readable and set. MPI has accepted the call (`result` is `Ok`),
        // and then it has set the flag.
        if flag.is_none_or(|flag| unsafe { *flag } != 0) {
            each(0, self.status(accepted));
        }
    }

    /// Has MPI accepted the call, by what it has returned? For raw layers, which get C's result:
    /// `None` if that is an error, or if the function returns something else than an error code.
    /// High-level layers get an [`Accepted`] from their next function and have no use for this.
    ///
    /// # Safety
    /// `returned` is what the next function has returned for this very call: what MPI has written then is
    /// read by the methods that take an [`Accepted`].
    #[inline(always)]
    unsafe fn accepted<R: Returned>(self, returned: R) -> Option<Accepted<'c>> {
        (self.shape().returns_code && returned.as_code() == Some(mpi_sys::MPI_SUCCESS))
            .then_some(Accepted(PhantomData))
    }

    /// What data the call moves, by its arguments: of a call that starts an operation or makes a
    /// persistent request, what will move when it is complete.
    ///
    /// A process's contribution to a collective operation counts once, whatever MPI makes of it,
    /// and what `MPI_IN_PLACE` leaves in its place does not count. Roots are told apart by the rank
    /// in the call's communicator; in an inter-communicator by `MPI_ROOT`. Communication with
    /// `MPI_PROC_NULL` moves nothing.
    ///
    /// What it costs depends on the function: nothing but a few instructions for messages,
    /// one-sided communication, files, and reductions to all; questions to MPI about rank, size or
    /// topology for other collective operations; and an allocation where more than two blocks are
    /// told of, each by itself.
    #[inline(always)]
    fn transfers(self, accepted: Accepted<'c>) -> Transfers<'c> {
        Transfers::of(self, accepted)
    }

    /// Does the function move data, at once, later, or as a persistent request's? A matter of the
    /// function alone: with a count of 0, or with `MPI_PROC_NULL`, a call of it moves none. Probes,
    /// barriers, packing and local reductions do not.
    #[inline(always)]
    fn moves_data(self) -> bool {
        self.shape().pattern != Pattern::Nothing
    }

    /// Does the function move one piece of data: a message, a broadcast, a read? Then
    /// [`transfer`](Self::transfer) is all.
    #[inline(always)]
    fn moves_one(self) -> bool {
        use Pattern::{Broadcast, Read, Receive, Send, Write};
        matches!(self.shape().pattern, Send | Receive | Broadcast | Read | Write)
    }

    /// Does the function move at most two pieces of data, which its arguments tell without a question to
    /// MPI: a message each way, a reduction's contribution and result?
    #[inline(always)]
    fn moves_few(self) -> bool {
        use Pattern::{Accumulate, Allreduce, Get, GetAccumulate, Put, SendReceive};
        let pattern = self.shape().pattern;
        self.moves_one()
            || matches!(pattern, SendReceive | Allreduce | Put | Get | Accumulate | GetAccumulate)
    }

    /// The first of the [transfers](Self::transfers): all there is of a call that [moves
    /// one](Self::moves_one), and quicker then. `None` if the call moves nothing in this process.
    #[inline(always)]
    fn transfer(self, accepted: Accepted<'c>) -> Option<Transfer<'c>> {
        self.transfers(accepted).next()
    }

    /// How many bytes the call sends or contributes to a reduction, by its arguments: the sum over
    /// the [`transfers`](Self::transfers) that are not received. A question to MPI, the datatype's
    /// size, for each of them; a tool that counts in loops asks [`Datatypes`](crate::Datatypes),
    /// which remembers.
    fn bytes_sent(self, accepted: Accepted<'c>) -> u64 {
        let sent = self.transfers(accepted).filter(|transfer| transfer.flow != Flow::Received);
        sent.map(|transfer| transfer.bytes(accepted)).sum()
    }

    /// How many bytes the call has received: what its [status](Self::status) says, where there is
    /// one, else what its arguments say, which for a receive is the most that could have come. Of a
    /// call that [starts](Self::is_started) an operation, nothing has been received yet: this is
    /// what will be, at most.
    fn bytes_received(self, accepted: Accepted<'c>) -> u64 {
        let received = self.transfers(accepted).filter(|transfer| transfer.flow == Flow::Received);
        let bytes = received.map(|transfer| match self.status(accepted) {
            Some(status) if transfer.at_most => received_bytes_at_once(status),
            _ => transfer.bytes(accepted),
        });
        bytes.sum()
    }
}

/// A function that is called once, for code that can only borrow it: `dyn FnMut` for a `FnOnce`. A
/// second call panics.
#[inline(always)]
pub(crate) fn once<R>(function: impl FnOnce() -> R) -> impl FnMut() -> R {
    let mut function = Some(function);
    move || match function.take() {
        Some(function) => function(),
        None => called_again(),
    }
}

/// Out of line, so that the check costs little.
#[cold]
#[inline(never)]
fn called_again() -> ! {
    unreachable!("a call goes on once")
}

/// A call whose function is known when the program is compiled: `FUNCTION` is the number of a
/// [`FunctionId`]. The shape is a constant of the type. As a field it would be a value that the
/// compiler carries through all branches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownCall<'c, const FUNCTION: usize> {
    wide: bool,
    words: &'c [u64],
    before: &'c [MPI_Request],
    brand: Brand<'c>,
}

impl<'c, const FUNCTION: usize> KnownCall<'c, FUNCTION> {
    const ID: FunctionId = match FunctionId::from_index(FUNCTION) {
        Some(function) => function,
        None => panic!("no function has this number"),
    };
    /// Where what is among the arguments of this function.
    const SHAPE: Shape = Shape::of(Self::ID);

    /// A call for a layer's `around`, which is generic in `'c`: it can keep nothing of that
    /// lifetime. `wide` says whether arrays of counts have `MPI_Count`s, and `before` are the
    /// requests before the call.
    ///
    /// # Safety
    /// The slices are there until `around` has returned, and nobody writes to them; `words` has a
    /// word for each parameter of the function, made of the argument's own type.
    #[inline(always)]
    pub(crate) unsafe fn branded(wide: bool, words: &[u64], before: &[MPI_Request]) -> Self {
        // SAFETY: both slices must outlive `'c` and not be written to. They come from valid slices,
        // of the same address and length; the caller promises that they are there until `around`
        // returns, and `around` can keep nothing of `'c`.
        let (words, before) = unsafe {
            (
                core::slice::from_raw_parts(words.as_ptr(), words.len()),
                core::slice::from_raw_parts(before.as_ptr(), before.len()),
            )
        };
        Self { wide, words, before, brand: PhantomData }
    }
}

impl<'c, const FUNCTION: usize> Call<'c> for KnownCall<'c, FUNCTION> {
    #[inline(always)]
    fn function(self) -> FunctionId {
        Self::ID
    }
    #[inline(always)]
    fn shape(self) -> Shape {
        Self::SHAPE
    }
    #[inline(always)]
    fn words(self) -> &'c [u64] {
        self.words
    }
    #[inline(always)]
    fn is_wide(self) -> bool {
        self.wide
    }
    #[inline(always)]
    fn requests(self) -> &'c [MPI_Request] {
        self.before
    }
}

/// A call of any function: what [`Call::erase`] makes. Its function is a value, so it can go
/// through code that is compiled once, and through `dyn` functions; each question costs a look at
/// the function's entry in a table.
#[derive(Debug, Clone, Copy)]
pub struct AnyCall<'c> {
    function: FunctionId,
    wide: bool,
    words: &'c [u64],
    before: &'c [MPI_Request],
    brand: Brand<'c>,
}

impl<'c> Call<'c> for AnyCall<'c> {
    #[inline]
    fn function(self) -> FunctionId {
        self.function
    }
    #[inline]
    fn shape(self) -> Shape {
        *Shape::looked_up(self.function)
    }
    #[inline]
    fn words(self) -> &'c [u64] {
        self.words
    }
    #[inline]
    fn is_wide(self) -> bool {
        self.wide
    }
    #[inline]
    fn requests(self) -> &'c [MPI_Request] {
        self.before
    }
}

impl<'c> AnyCall<'c> {
    /// [`Call::finished`] for all that is not one request of a call that succeeded.
    #[inline(never)]
    fn finished_requests(
        self,
        result: CallResult<'c>,
        each: &mut dyn FnMut(usize, Option<&MPI_Status>),
    ) {
        let shape = self.shape();
        let statuses: *const MPI_Status = self
            .get(shape.statuses)
            .filter(|statuses: &*const MPI_Status| *statuses != mpi_sys::MPI_STATUSES_IGNORE)
            .unwrap_or(core::ptr::null());
        let in_statuses = match result {
            Ok(_) => false,
            Err(code) if code.class() == mpi_sys::MPI_ERR_IN_STATUS => true,
            Err(_) => {
                self.failed(each);
                return;
            }
        };
        let mut one = |position: usize, status: usize| {
            // SAFETY: MPI has set this status, or there are none.
            let status = unsafe { statuses.add(status).as_ref() };
            match status {
                Some(status) if in_statuses => match status.MPI_ERROR {
                    mpi_sys::MPI_SUCCESS => each(position, Some(status)),
                    error if error == mpi_sys::MPI_ERR_PENDING => {}
                    _ => each(position, None),
                },
                status => each(position, status),
            }
        };
        // SAFETY: MPI has set flag, index, indices and their number, as the function says; with
        // MPI_ERR_IN_STATUS, too, as far as it uses them.
        unsafe {
            if let Some(flag) = self.get::<*const c_int>(shape.flag)
                && !in_statuses
                && *flag == 0
            {
                return;
            }
            match shape.completion {
                Completion::None => {}
                Completion::All => (0..self.requests().len()).for_each(|i| one(i, i)),
                Completion::Any => {
                    let index = self.get::<*const c_int>(shape.index).map_or(-1, |index| *index);
                    if let Ok(index) = usize::try_from(index)
                        && index < self.requests().len()
                    {
                        one(index, 0);
                    }
                }
                Completion::Some => {
                    let count = self.get::<*const c_int>(shape.out_count).map_or(0, |count| *count);
                    let Some(indices) = self.get::<*const c_int>(shape.index) else { return };
                    // MPI_UNDEFINED, negative, where no request was active.
                    for i in 0..usize::try_from(count).unwrap_or(0) {
                        let index = usize::try_from(*indices.add(i)).unwrap_or(usize::MAX);
                        if index < self.requests().len() {
                            one(index, i);
                        }
                    }
                }
            }
        }
    }

    /// After an error other than `MPI_ERR_IN_STATUS`: tells of the requests that are no more. MPI
    /// has put null in the place of those that it has completed; the others are still pending.
    fn failed(self, each: &mut dyn FnMut(usize, Option<&MPI_Status>)) {
        let Some(now) = self.get::<*const MPI_Request>(self.shape().requests) else { return };
        for (i, before) in self.requests().iter().enumerate() {
            // SAFETY: the element must be in the application's array and readable. The array has as
            // many requests as `self.requests()`, which was copied from it before the call, and it
            // is the application's until the call returns.
            let now = unsafe { *now.add(i) };
            if now != *before && now == mpi_sys::pmpi::MPI_REQUEST_NULL {
                each(i, None);
            }
        }
    }
}

/// What an intercepting function returns: an error code, a time, an address. A raw layer's
/// `around_call` is generic in it.
pub trait Returned: Copy {
    /// The error code, if it is one; `None` for the functions that return no code (`MPI_Wtime`,
    /// `MPI_Aint_add`).
    fn as_code(self) -> Option<c_int>;
}

impl Returned for c_int {
    #[inline(always)]
    fn as_code(self) -> Option<c_int> {
        Some(self)
    }
}

/// The results that are no error codes by their type: times, addresses and handles that are
/// pointers. (A conversion that returns an `int` is told by its shape.)
macro_rules! no_code {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Returned for $type {
            #[inline(always)]
            fn as_code(self) -> Option<c_int> {
                None
            }
        }
    )*};
}
no_code! {
    [] f64;
    [] i64;
    [] isize;
    [T] *mut T;
}
