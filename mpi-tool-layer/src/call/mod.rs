//! Any call of any function, and what can be asked of it.
//!
//! A call is its function, its arguments as 64-bit words, and, in layers that watch completion, the
//! requests it was given. Everything else follows: which of the words is the communicator, the tag,
//! the count of what is received is a property of the function, its [`Shape`], which the compiler
//! computes from the list of functions (`shape.rs`). From arguments and shape follows what data the
//! call moves (`transfers.rs`), and from what MPI has returned (`returned.rs`) which requests it has
//! finished (`finished.rs`). What a call names is in `values.rs`, and what MPI is asked about that in `asking.rs`.
//!
//! There are two kinds of calls with the same methods (`kinds.rs`). A [`KnownCall`] has its function
//! as a constant of its type: every question about the shape is answered when the tool is compiled,
//! and a layer's branches on it are gone. An [`AnyCall`] has the function as a value, for code that
//! is not to be compiled 700 times; [`Call::erase`] makes it of the other.
//!
//! What makes the questions safe to ask is a lifetime, `'c`, that belongs to one call and to no
//! other ([`Brand`]). An [`Accepted`] of that lifetime is the proof that MPI has returned success
//! from just this call: before, pointers among the arguments may lead nowhere, and handles may be
//! none.

pub(crate) mod asking;
mod finished;
mod kinds;
mod once;
mod returned;
mod status;
mod transfers;
pub(crate) mod values;
mod word;

use core::ffi::c_int;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use mpi_sys::{MPI_Request, MPI_Status};

pub use kinds::{AnyCall, may_be_one_of};
pub(crate) use kinds::{Brand, KnownCall, may_complete};
pub(crate) use mpi_facts::{Completion, Data, NONE, Pattern, Position, Shape, Timing};
pub(crate) use once::Once;
pub use returned::{Accepted, CallResult, ErrorCode, Returned};
pub(crate) use returned::{Returns, code, code_with_statuses, result};
pub use status::{received_bytes, received_bytes_at_once};
pub(crate) use transfers::may_move_two;
pub use transfers::{Flow, Transfer, Transfers};
pub(crate) use values::{Communicator, File, Rank, RankKind, Tag, Window};
pub use word::Word;
pub(crate) use word::word;

use crate::{FunctionClass, FunctionId};

/// Room for the arguments of any function.
const MOST_ARGUMENTS: usize = 16;

const _: () = {
    let mut index = 0;
    while let Some(function) = FunctionId::from_index(index) {
        assert!(function.parameters().len() <= MOST_ARGUMENTS);
        index += 1;
    }
};

/// A branch of a layer's `around` that is rarely taken, for [`Call::out_of_line`]: compiled once, and not for each function.
///
/// ```
/// use mpi_tool_layer::{AnyCall, Call, CallResult, MpiInterceptionLayer, OutOfLine};
///
/// /// Says which calls have a tag, if the user wants to know.
/// struct Tags { are_wanted: bool }
///
/// struct Say;
///
/// impl OutOfLine for Say {
///     fn around<'c>(
///         self, call: AnyCall<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         eprintln!("{} has the tag {:?}", call.function(), call.tag());
///         next_f()
///     }
/// }
///
/// impl MpiInterceptionLayer for Tags {
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         if self.are_wanted { call.out_of_line(Say, next_f) } else { next_f() }
///     }
/// }
/// ```
pub trait OutOfLine {
    /// Passes the call on.
    fn around<'c>(
        self,
        call: AnyCall<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c>;
}

/// The branch for all functions that have code of their own.
#[cold]
#[inline(never)]
fn rarely<'c>(
    rare: impl OutOfLine,
    call: AnyCall<'c>,
    next: Once<'_, CallResult<'c>>,
) -> CallResult<'c> {
    rare.around(call, || next.call())
}

/// The handle that a call is about to free; `None` of a null pointer.
///
/// # Safety
/// The first parameter of the call's function is the address of a handle of this type, which MPI reads (`MPI_Comm_free`).
#[inline(always)]
pub(crate) unsafe fn freed<'c, T: Word>(call: impl Call<'c>) -> Option<T> {
    let handle: *const T = call.get(0)?;
    // SAFETY: a handle must be there to be read. The application passes its address, as the standard asks, and MPI, which the
    // call goes to next, reads there, too.
    (!handle.is_null()).then(|| unsafe { *handle })
}

/// The result of a call in the lifetime of the same call, whose proof it is: for [`Call::out_of_line`] alone.
#[inline(always)]
fn renamed<'to>(result: CallResult<'_>) -> CallResult<'to> {
    result.map(|_| Accepted(PhantomData))
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

    /// The shape of all calls of this type, if they are of one function.
    #[doc(hidden)]
    const KNOWN_SHAPE: Option<Shape>;

    /// The function of all calls of this type, if they are of one. Asked as a constant, it keeps out of a function's code what
    /// the function does not do, before the compiler has seen it.
    #[doc(hidden)]
    const KNOWN_FUNCTION: Option<FunctionId>;

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

    /// What the next function has returned for this call: only in layers that watch completion, and
    /// there of functions that change requests. `None` before it has returned, and elsewhere.
    #[doc(hidden)]
    #[inline(always)]
    fn result(self) -> Option<CallResult<'c>> {
        self.returned()?.get().map(result)
    }

    /// Where that is.
    #[doc(hidden)]
    fn returned(self) -> Option<&'c Returns>;

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
            returned: self.returned(),
            brand: PhantomData,
        }
    }

    /// Leaves the call to a branch that is [rarely taken](OutOfLine), and keeps out of the function's own code what that needs.
    ///
    /// To erase a call in a function that does more has its price in every call: somebody has the address of the
    /// arguments then, so the compiler writes all of them to memory. This copies them, in the branch only.
    #[inline(always)]
    fn out_of_line(
        self,
        rare: impl OutOfLine,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if const { Self::KNOWN_FUNCTION.is_none() } {
            // It is out of the functions' own code.
            return rare.around(self.erase(), next_f);
        }
        let mut copies = [0; MOST_ARGUMENTS];
        let words = &mut copies[..self.words().len()];
        words.copy_from_slice(self.words());
        let mut next = ManuallyDrop::new(|| renamed(next_f()));
        // SAFETY: the slices and the place must be there until `rare` has returned: the copies are this function's, and the
        // others last as long as the call. The words are those of the call. The variable must be used for nothing else
        // afterwards, which it is not.
        let (call, next) = unsafe {
            let (requests, returned) = (self.requests(), self.returned());
            let call = AnyCall::branded(self.function(), self.is_wide(), words, requests, returned);
            (call, Once::new(&mut next))
        };
        renamed(rarely(rare, call, next))
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

    /// Where in its file the call reads or writes, in units of the view's elementary datatype: of the functions that are told
    /// so (`MPI_File_write_at`, …). `None` of those that use a pointer of the file.
    fn offset(self) -> Option<i64> {
        let is_it = |parameter: &crate::Parameter| {
            parameter.kind == crate::ParameterKind::Offset
                && parameter.direction == crate::Direction::In
        };
        let (_, word) = self.arguments().find(|(parameter, _)| is_it(parameter))?;
        (self.class() == FunctionClass::Io && self.moves_data()).then_some(word.cast_signed())
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

    /// Is it a blocking collective operation of all processes of its communicator (`MPI_Bcast`, `MPI_Barrier`), and not
    /// of neighbours only?
    #[inline(always)]
    fn is_of_all(self) -> bool {
        self.shape().is_of_all()
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

    /// Does the function make a communicator, in this process or in others? `MPI_Comm_get_parent`, which returns one that
    /// is there already, does so, too.
    #[inline(always)]
    fn makes_communicator(self) -> bool {
        self.shape().new_communicator != NONE
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

    /// A status for each of the [requests](Self::requests) of a call that waits for all of them, such as `MPI_Waitall`: those of
    /// requests that are complete, since MPI has accepted the call. None of other functions, and where the application ignores
    /// its statuses, unless MPI has been lent some.
    #[inline(always)]
    fn statuses(self, accepted: Accepted<'c>) -> &'c [MPI_Status] {
        let shape = self.shape();
        if !shape.waits_for_all() {
            return &[];
        }
        if !shape.array_of_statuses {
            return self.status(accepted).map_or(&[], core::slice::from_ref);
        }
        let statuses: Option<*const MPI_Status> = self.get(shape.statuses);
        match statuses {
            Some(statuses)
                if !statuses.is_null()
                    && statuses != mpi_sys::MPI_STATUSES_IGNORE
                    && !self.requests().is_empty() =>
            {
                // SAFETY: so many statuses must be there, with no writer. The array is the application's, which has one for
                // each request, as it must, or the framework's or the layer's, which has as many; MPI has accepted the call,
                // and so has read and written both. It is no longer written to. Any bits are a status.
                unsafe { core::slice::from_raw_parts(statuses, self.requests().len()) }
            }
            _ => &[],
        }
    }

    /// Is the call's flag true, or has the function none?
    #[doc(hidden)]
    fn has_flag_set(self, _: Accepted<'c>) -> bool {
        let flag: Option<*const c_int> = self.get(self.shape().flag);
        // SAFETY: the flag must be readable and set. MPI has accepted the call, and sets the
        // function's flag whenever it does.
        flag.is_none_or(|flag| unsafe { *flag } != 0)
    }

    /// Tells of each request that the call has finished, by its position in
    /// [`requests`](Self::requests), with its status, or without one if it has failed. To be called
    /// when the next function has returned; before, there is nothing to tell. A call that returns
    /// `MPI_ERR_IN_STATUS` has finished requests, too; after any other error, those are told of that
    /// have become null. A call that completes all of its requests tells of null and inactive ones,
    /// too, which are complete from the start.
    ///
    /// What MPI has written is read by what the next function has returned, which the framework
    /// remembers.
    ///
    /// Only in layers that watch completion; without them there are no requests to tell of.
    #[inline(always)]
    fn finished(self, mut each: impl FnMut(usize, Option<&MPI_Status>)) {
        if !self.completes_requests() || self.requests().is_empty() {
            return;
        }
        let Some(result) = self.result() else { return };
        if self.shape().request_count != NONE {
            self.erase().finished_requests(result, &mut each);
            return;
        }
        // One request: by far the most frequent case.
        let Ok(accepted) = result else {
            let now: Option<*const MPI_Request> = self.get(self.shape().requests);
            // SAFETY: a request must be there to be read. It was copied from there before the call, and it is the
            // application's until the call returns.
            let now = now.map(|now| unsafe { *now });
            if now == Some(mpi_sys::pmpi::MPI_REQUEST_NULL)
                && now != self.requests().first().copied()
            {
                each(0, None);
            }
            return;
        };
        let flag: Option<*const c_int> = self.get(self.shape().flag);
        // SAFETY: the flag must be readable and set. MPI has accepted the call, as the next function
        // has said (`Call::result`), and then it has set the flag.
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

    /// Does the function move at most two pieces of data, one each way: a message, a broadcast, a read, a
    /// reduction's contribution and its result? Then [`few_transfers`](Self::few_transfers) tells all.
    #[inline(always)]
    fn moves_few(self) -> bool {
        use Pattern::{
            Accumulate, Allreduce, Broadcast, Get, GetAccumulate, Put, Read, Receive, Send,
            SendReceive, Write,
        };
        matches!(
            self.shape().pattern,
            Send | Receive
                | Broadcast
                | Read
                | Write
                | SendReceive
                | Allreduce
                | Put
                | Get
                | Accumulate
                | GetAccumulate
        )
    }

    /// All [transfers](Self::transfers) of a call that [moves few](Self::moves_few), and quicker then. Both `None` for any
    /// other call, and where the call moves nothing in this process.
    #[inline(always)]
    fn few_transfers(self, accepted: Accepted<'c>) -> [Option<Transfer<'c>>; 2] {
        transfers::few(self, accepted).unwrap_or([None, None])
    }

    /// How many bytes the call sends or contributes to a reduction, by its arguments: the sum over
    /// the [`transfers`](Self::transfers) that are not received. A question to MPI, the datatype's
    /// size, for each of them; a tool that counts in loops asks [`Datatypes`](crate::Datatypes),
    /// which remembers.
    fn bytes_sent(self, accepted: Accepted<'c>) -> u64 {
        let sent = self.transfers(accepted).filter(|transfer| transfer.flow != Flow::Received);
        sent.map(|transfer| transfer.bytes(accepted)).sum()
    }
}
