//! Any call of any function, and what can be asked of it.

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
/// the lifetime.
pub(crate) type Brand<'c> = PhantomData<fn(&'c ()) -> &'c ()>;

/// MPI has accepted a call: its handles are valid and its buffers described well.
///
/// What asks MPI about a call's arguments wants one. A wrong handle is the application's error, and its
/// own call tells it so; asked about by a tool, MPI would call the application's error handler a
/// second time, or end it.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'c>(Brand<'c>);

impl Accepted<'_> {
    /// For a call whose arguments are known to be right.
    ///
    /// # Safety
    /// MPI has returned success from the call.
    pub const unsafe fn assume() -> Self {
        Self(PhantomData)
    }
}

/// What MPI says went wrong: an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(NonZero<c_int>);

impl ErrorCode {
    /// The code; none is 0, success.
    pub const fn get(self) -> c_int {
        self.0.get()
    }

    /// An error of a tool's own: a code of MPI's, other than success.
    pub const fn new(code: c_int) -> Option<Self> {
        match NonZero::new(code) {
            Some(code) => Some(Self(code)),
            None => None,
        }
    }

    /// The error class of the code (`MPI_Error_class`).
    pub fn class(self) -> c_int {
        let mut class = self.get();
        if pmpi::available(FunctionId::MPI_Error_class as usize) {
            // SAFETY: may be called at any time, by any thread.
            unsafe { pmpi::MPI_Error_class(self.get(), &mut class) };
        }
        class
    }
}

/// What a call returns.
pub type CallResult<'c> = Result<Accepted<'c>, ErrorCode>;

/// A C function's result, for a layer.
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
/// What it says of itself costs nothing; what MPI must be asked for wants an [`Accepted`], which the
/// call's success is. In a layer, the function and what its parameters mean are known when the layer is
/// compiled: an `if` on them is none when the program runs.
pub trait Call<'c>: Copy {
    /// Which function is called. Of `MPI_Send` and `MPI_Send_c`, a high-level layer sees the first.
    fn function(self) -> FunctionId;

    /// What the function is about.
    #[inline(always)]
    fn class(self) -> FunctionClass {
        self.shape().class
    }

    #[doc(hidden)]
    fn shape(self) -> Shape;
    #[doc(hidden)]
    fn words(self) -> &'c [u64];
    /// Are arrays of counts of the large-count form?
    #[doc(hidden)]
    fn is_wide(self) -> bool;

    /// The requests that the call was given, as they were before it: for functions that change them,
    /// and only in layers that [watch completion](crate::MpiInterceptionLayer::WATCHES_COMPLETION).
    fn requests(self) -> &'c [MPI_Request];

    /// The argument of a position, as what it is.
    #[doc(hidden)]
    #[inline(always)]
    fn get<T: Word>(self, position: Position) -> Option<T> {
        (position != NONE).then(|| T::from_word(self.words()[usize::from(position)]))
    }

    /// The same call, as a value whose type does not depend on the function.
    fn erase(self) -> AnyCall<'c> {
        AnyCall {
            function: self.function(),
            wide: self.is_wide(),
            words: self.words(),
            before: self.requests(),
            brand: PhantomData,
        }
    }

    /// The arguments as words: integers extended by their sign, addresses, handles. Functions
    /// (callbacks) are 0.
    fn arguments(self) -> impl ExactSizeIterator<Item = (&'static crate::Parameter, u64)> {
        self.function().parameters().iter().zip(self.words().iter().copied())
    }

    /// The communicator of the call, if it has one.
    #[inline(always)]
    fn communicator(self) -> Option<Communicator<'c>> {
        self.get(self.shape().communicator).map(Communicator::from_c)
    }

    /// The window.
    #[inline(always)]
    fn window(self) -> Option<Window<'c>> {
        self.get(self.shape().window).map(Window::from_c)
    }

    /// The file.
    #[inline(always)]
    fn file(self) -> Option<File<'c>> {
        self.get(self.shape().file).map(File::from_c)
    }

    /// The root of a collective call.
    #[inline(always)]
    fn root(self) -> Option<Rank> {
        self.get(self.shape().root).map(Rank::new)
    }

    /// To whom the call sends: the destination of a message, the target of one-sided communication.
    #[inline(always)]
    fn destination(self) -> Option<Rank> {
        self.get(self.shape().destination).or_else(|| self.get(self.shape().target)).map(Rank::new)
    }

    /// From whom the call receives, as it is asked for; a status says who it was.
    #[inline(always)]
    fn source(self) -> Option<Rank> {
        self.get(self.shape().source).map(Rank::new)
    }

    /// The one other rank of the call: destination, source, target or root.
    #[inline(always)]
    fn peer(self) -> Option<Rank> {
        self.destination().or_else(|| self.source()).or_else(|| self.root())
    }

    /// The tag, of what is sent where there are two.
    #[inline(always)]
    fn tag(self) -> Option<Tag> {
        self.get(self.shape().tags.0).map(Tag::new)
    }

    /// The tag of what is received.
    #[inline(always)]
    fn received_tag(self) -> Option<Tag> {
        self.get(self.shape().tags.1).map(Tag::new)
    }

    /// The datatype of what is sent; of the first block with data, where each has its own.
    fn sent_datatype(self, accepted: Accepted<'c>) -> Option<MPI_Datatype> {
        self.datatype(self.shape().sent, accepted)
    }

    /// The datatype of what is received.
    fn received_datatype(self, accepted: Accepted<'c>) -> Option<MPI_Datatype> {
        self.datatype(self.shape().received, accepted)
    }

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

    /// Do the data of the call move later than it returns, when its request is complete?
    #[inline(always)]
    fn is_started(self) -> bool {
        self.shape().timing == Timing::Started
    }

    /// Does the call only prepare what `MPI_Start` starts?
    #[inline(always)]
    fn is_persistent(self) -> bool {
        self.shape().timing == Timing::Persistent
    }

    /// Does the call end a split collective operation on a file?
    #[inline(always)]
    fn is_split_end(self) -> bool {
        self.shape().pattern == Pattern::SplitEnd
    }

    /// The request that the call has made.
    #[inline(always)]
    fn new_request(self, _: Accepted<'c>) -> Option<MPI_Request> {
        let request: *mut MPI_Request = self.get(self.shape().new_request)?;
        // SAFETY: MPI has written it.
        Some(unsafe { *request })
    }

    /// Does the call start persistent requests (`MPI_Start`, `MPI_Startall`)?
    #[inline(always)]
    fn starts_requests(self) -> bool {
        matches!(self.function(), FunctionId::MPI_Start | FunctionId::MPI_Startall)
    }

    /// May the call complete [requests](Self::requests)?
    #[inline(always)]
    fn completes_requests(self) -> bool {
        self.shape().completion != Completion::None
    }

    /// The status of the call itself, where MPI has set one: of a receive, a probe, a read. Where MPI
    /// sets it only if a flag is true, that is looked at; calls with many statuses have none of their own.
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
            // SAFETY: MPI has accepted the call, and sets the flag whenever it does.
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
    /// [`requests`](Self::requests), with its status, or without one if it has failed.
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
        // SAFETY: MPI has set it.
        if flag.is_none_or(|flag| unsafe { *flag } != 0) {
            each(0, self.status(accepted));
        }
    }

    /// Has MPI accepted the call, by what it has returned?
    #[inline(always)]
    fn accepted<R: Returned>(self, returned: R) -> Option<Accepted<'c>> {
        (self.shape().returns_code && returned.as_code() == Some(mpi_sys::MPI_SUCCESS))
            .then_some(Accepted(PhantomData))
    }

    /// What data the call moves, by its arguments: of a call that starts an operation or makes a
    /// persistent request, what will move when it is complete.
    ///
    /// A process's contribution to a collective operation counts once, whatever MPI makes of it, and
    /// what `MPI_IN_PLACE` leaves in its place does not count. Roots are told apart by the rank in
    /// the call's communicator; in an inter-communicator by `MPI_ROOT`. Communication with
    /// `MPI_PROC_NULL` moves nothing.
    #[inline(always)]
    fn transfers(self, accepted: Accepted<'c>) -> Transfers<'c> {
        Transfers::of(self, accepted)
    }

    /// Does the function move data, at once, later, or as a persistent request's?
    #[inline(always)]
    fn moves_data(self) -> bool {
        self.shape().pattern != Pattern::Nothing
    }

    /// Does the function move one piece of data: a message, a broadcast, a read?
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

    /// The first of the [transfers](Self::transfers): all there is of a call that
    /// [moves one](Self::moves_one), and quicker then.
    #[inline(always)]
    fn transfer(self, accepted: Accepted<'c>) -> Option<Transfer<'c>> {
        self.transfers(accepted).next()
    }

    /// How many bytes the call sends or contributes to a reduction, by its arguments.
    fn bytes_sent(self, accepted: Accepted<'c>) -> u64 {
        let sent = self.transfers(accepted).filter(|transfer| transfer.flow != Flow::Received);
        sent.map(|transfer| transfer.bytes(accepted)).sum()
    }

    /// How many bytes the call has received: what its [status](Self::status) says, where there is one,
    /// else what its arguments say.
    fn bytes_received(self, accepted: Accepted<'c>) -> u64 {
        let received = self.transfers(accepted).filter(|transfer| transfer.flow == Flow::Received);
        let bytes = received.map(|transfer| match self.status(accepted) {
            Some(status) if transfer.at_most => received_bytes_at_once(status),
            _ => transfer.bytes(accepted),
        });
        bytes.sum()
    }
}

/// A function that is called once, for code that can only borrow it.
#[inline(always)]
pub(crate) fn once<R>(function: impl FnOnce() -> R) -> impl FnMut() -> R {
    let mut function = Some(function);
    move || match function.take() {
        Some(function) => function(),
        None => called_again(),
    }
}

#[cold]
#[inline(never)]
fn called_again() -> ! {
    unreachable!("a call goes on once")
}

/// A call whose function is known when the program is compiled.
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
    const SHAPE: Shape = Shape::of(Self::ID);

    /// A call for a layer's `around`, which is generic in `'c`: it can keep nothing of that lifetime.
    ///
    /// # Safety
    /// The slices are there until `around` has returned.
    #[inline(always)]
    pub(crate) unsafe fn branded(wide: bool, words: &[u64], before: &[MPI_Request]) -> Self {
        // SAFETY: the caller's promise; what has this lifetime ends before they do.
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

/// A call of any function.
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

    /// After an error: the requests that are no more.
    fn failed(self, each: &mut dyn FnMut(usize, Option<&MPI_Status>)) {
        let Some(now) = self.get::<*const MPI_Request>(self.shape().requests) else { return };
        for (i, before) in self.requests().iter().enumerate() {
            // SAFETY: the application's array, which was read before the call.
            let now = unsafe { *now.add(i) };
            if now != *before && now == mpi_sys::pmpi::MPI_REQUEST_NULL {
                each(i, None);
            }
        }
    }
}

/// What an intercepting function returns: an error code, a time, an address.
pub trait Returned: Copy {
    /// The error code, if it is one.
    fn as_code(self) -> Option<c_int>;
}

impl Returned for c_int {
    #[inline(always)]
    fn as_code(self) -> Option<c_int> {
        Some(self)
    }
}

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
