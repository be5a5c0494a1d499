//! Collective operations (MPI-5.0, chapter 6) with the same count for all; `collective_v` has those
//! with a count for each, `collective_reduce` the reductions.
//!
//! Of each there are three forms: `gather` blocks, `igather` begins, `gather_init` prepares.
//!
//! Operations with a root belong to its [`Process`]. The root calls `gather_root`, which has the
//! buffers of both roles, or `gather_in_place`; the others call `gather`, which has that of theirs.
//! `gather_root` may be called by all, as in C: elsewhere the root's buffer is not used.

use core::ptr;

use rmpi_macros::wraps;

use super::blocks::{per_rank, received, sent};
use super::buffer::{BufferMut, BufferRef, RawBuffer, TypedBuffer};
use super::communicator::Communicator;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::process::Process;
use super::request::{PersistentRequest, Request, Scope};
use super::sys::{self, MPI_Count, c_int};
use crate::MpiDatatype;

/// The three forms of an operation. All that differs between operations comes from the invocation:
/// arguments, what they are made ready with, and what C gets before its last arguments.
macro_rules! collective {
    (
        [$($receiver:lifetime)?] [$($where:tt)*]
        $example:literal, $object:literal;
        $this:ident, $what:literal, $errors:tt, $setup:literal, $arguments:literal;
        $name:ident $start:ident $init:ident = $blocking:ident, $immediate:ident, $persistent:ident;
        [$($life:lifetime)?] <$($generic:ident: [$($bound:tt)*]),*>
        ($($argument:ident: $type:ty),*) => $buffers_type:ty = $buffers:tt;
        { $($prepare:tt)* }
        $(keep $kept:ident = $keep:expr;)?
        ($($call:expr),*)
    ) => {
        #[doc = concat!($what, ". C: `", stringify!($blocking), "`. Collective, blocks.")]
        ///
        /// # Errors
        #[doc = super::collective::errors! { $errors }]
        ///
        /// ```no_run
        #[doc = concat!("# fn example(", $example, ") -> rmpi::RmpiResult {")]
        #[doc = $setup]
        #[doc = concat!($object, ".", stringify!($name), "(", $arguments, ")?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($blocking)]
        #[allow(unused_mut, clippy::needless_lifetimes, reason = "as the other operations need it")]
        pub fn $name<$($life,)? $($generic: $($bound)*),*>(
            &self,
            $(mut $argument: $type),*
        ) -> RmpiResult {
            let $this = self;
            let $buffers = &mut $buffers;
            $($prepare)*
            $(let $kept = $keep;)?
            // SAFETY: MPI reads and writes the buffers during the call, for which they are borrowed, as far as
            // counts and datatypes say. These are the buffers' own, or a process's share of them, which was
            // computed above; arrays of them live on. The communicator is borrowed, too.
            check(unsafe { mpi.call($($call),*) })
        }

        #[doc = concat!($what, ", in the background. C: `", stringify!($immediate),
            "`. Collective, does not block.")]
        ///
        /// # Errors
        #[doc = super::collective::errors! { $errors }]
        ///
        /// ```no_run
        #[doc = concat!("# fn example(", $example, ") -> rmpi::RmpiResult {")]
        #[doc = $setup]
        #[doc = concat!("rmpi::scope(|scope| ", $object, ".", stringify!($start), "(scope, ",
            $arguments, ")?.wait().map(drop))?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($immediate)]
        #[allow(unused_mut, reason = "as the other operations need it")]
        #[allow(clippy::multiple_bound_locations, reason = "one list of generics for three forms")]
        pub fn $start<'scope, $($life,)? $($generic: $($bound)*),*>(
            &$($receiver)? self,
            scope: &'scope Scope<'scope, '_>,
            $(mut $argument: $type),*
        ) -> RmpiResult<Request<'scope, $buffers_type>>
        where
            $($where)*
            $($life: 'scope,)?
            $($generic: 'scope,)*
        {
            let $this = self;
            let buffers = super::collective::buffers!($buffers $($kept)?);
            // SAFETY: `begin_lasting` asks for memory that is the buffers' wherever they move, and valid for
            // `'scope`: their traits and the bounds above say so. MPI uses it as far as the counts say, as in
            // the form that blocks. Arrays of them are kept in a box beside the buffers. The communicator and a
            // reduction's operation outlive `'scope`.
            unsafe {
                scope.begin_lasting(buffers, |buffers| {
                    super::collective::buffers!(let $buffers, arrays = buffers; $($kept)?);
                    $($prepare)*
                    $(let $kept = arrays.keep($keep);)?
                    output(sys::MPI_REQUEST_NULL, |request| mpi.call($($call,)* request))
                })
            }
        }

        #[doc = concat!($what, ", to be started often. C: `", stringify!($persistent),
            "`. Collective; the starts are local.")]
        ///
        /// # Errors
        #[doc = concat!("[`UNSUPPORTED_OPERATION`](crate::ErrorClass::UNSUPPORTED_OPERATION) if MPI is \
            older than 4.0. ", super::collective::errors! { $errors })]
        ///
        /// ```no_run
        #[doc = concat!("# fn example(", $example, ") -> rmpi::RmpiResult {")]
        #[doc = $setup]
        /// rmpi::scope(|scope| {
        #[doc = concat!("    let mut request = ", $object, ".", stringify!($init), "(scope, ",
            $arguments, ")?;")]
        ///     request.start()?;
        ///     request.wait().map(drop)
        /// })?;
        /// # Ok(()) }
        /// ```
        #[wraps($persistent)]
        #[allow(unused_mut, reason = "as the other operations need it")]
        #[allow(clippy::multiple_bound_locations, reason = "one list of generics for three forms")]
        pub fn $init<'scope, $($life,)? $($generic: $($bound)*),*>(
            &$($receiver)? self,
            scope: &'scope Scope<'scope, '_>,
            $(mut $argument: $type),*
        ) -> RmpiResult<PersistentRequest<'scope, $buffers_type>>
        where
            $($where)*
            $($life: 'scope,)?
            $($generic: 'scope,)*
        {
            let $this = self;
            let buffers = super::collective::buffers!($buffers $($kept)?);
            // SAFETY: `begin_persistent_all` asks for the same as `begin_lasting`, for each start, and for a
            // persistent request: buffers, arrays, communicator and operation are as in the form that does not
            // block.
            unsafe {
                scope.begin_persistent_all(buffers, |buffers| {
                    super::collective::buffers!(let $buffers, arrays = buffers; $($kept)?);
                    $($prepare)*
                    $(let $kept = arrays.keep($keep);)?
                    output(sys::MPI_REQUEST_NULL, |request| {
                        mpi.call($($call,)* sys::MPI_INFO_NULL, request)
                    })
                })
            }
        }
    };
}

/// The buffers that an operation keeps, with the counts that it keeps beside them, if it does.
macro_rules! buffers {
    (let $buffers:tt, $arrays:ident = $kept:expr;) => {
        let $buffers = $kept;
    };
    (let $buffers:tt, $arrays:ident = $kept:expr; $name:ident) => {
        let WithCounts { buffers: $buffers, arrays: $arrays } = $kept;
    };
    ($buffers:tt) => {
        $buffers
    };
    ($buffers:tt $name:ident) => {
        WithCounts::new($buffers)
    };
}

/// What an operation's errors are.
macro_rules! errors {
    (plain) => {
        "What MPI says."
    };
    (in_place) => {
        "[`ROOT`](crate::ErrorClass::ROOT) if this is not the root's process; what MPI says."
    };
    (not_root) => {
        "[`ROOT`](crate::ErrorClass::ROOT) if this is the root's process; what MPI says."
    };
    (divided) => {
        "[`COUNT`](crate::ErrorClass::COUNT) if a buffer cannot be divided among the processes; what MPI \
            says."
    };
    (in_place_divided) => {
        "[`COUNT`](crate::ErrorClass::COUNT) if the buffer cannot be divided among the processes; \
            [`ROOT`](crate::ErrorClass::ROOT) if this is not the root's process; what MPI says."
    };
    (blocks) => {
        "[`COUNT`](crate::ErrorClass::COUNT) if there are not as many blocks as processes, \
            [`ARG`](crate::ErrorClass::ARG) if they do not lie whole elements apart; what MPI says, such as \
            [`UNSUPPORTED_OPERATION`](crate::ErrorClass::UNSUPPORTED_OPERATION) if they lie too far apart."
    };
    (blocks_in_place) => {
        "[`ROOT`](crate::ErrorClass::ROOT) if this is not the root's process; \
            [`COUNT`](crate::ErrorClass::COUNT) if there are not as many blocks as processes, \
            [`ARG`](crate::ErrorClass::ARG) if they do not lie whole elements apart; what MPI says."
    };
    (reduction) => {
        "[`COUNT`](crate::ErrorClass::COUNT) if the lengths of the buffers do not fit, \
            [`OP`](crate::ErrorClass::OP) if the operation does not take such elements; what MPI says."
    };
    (reduction_in_place) => {
        "[`OP`](crate::ErrorClass::OP) if the operation does not take such elements, \
            [`ROOT`](crate::ErrorClass::ROOT) if this is not the root's process; what MPI says."
    };
    (reduction_not_root) => {
        "[`OP`](crate::ErrorClass::OP) if the operation does not take such elements, \
            [`ROOT`](crate::ErrorClass::ROOT) if this is the root's process; what MPI says."
    };
}

macro_rules! on_communicator {
    ($($operation:tt)*) => {
        collective! {
            ['scope] []
            "world: &rmpi::Communicator<'_>", "world";
            $($operation)*
        }
    };
}

macro_rules! on_process {
    ($($operation:tt)*) => {
        collective! {
            [] ['c: 'scope,]
            "root: rmpi::Process<'_>", "root";
            $($operation)*
        }
    };
}

pub(super) use {buffers, collective, errors, on_communicator, on_process};

impl Process<'_> {
    /// C's rank of a root. Refuses `MPI_PROC_NULL`, which Open MPI takes for the index of an array where it does
    /// not check its arguments.
    #[inline]
    pub(super) fn root(&self) -> RmpiResult<c_int> {
        let rank = self.peer()?;
        if rank < 0 {
            return Err(Error::refused(ErrorClass::ROOT, "no process is no root"));
        }
        Ok(rank)
    }

    /// Refuses other processes than this one, where what they would pass means something else to MPI.
    pub(super) fn check_root(&self) -> RmpiResult {
        self.communicator.intra()?;
        if Some(self.communicator.known_rank()?) == self.rank() {
            return Ok(());
        }
        Err(Error::refused(ErrorClass::ROOT, "only the process that is the root may call this"))
    }

    /// Refuses this process, of which MPI wants more than it would be passed.
    pub(super) fn check_not_root(&self) -> RmpiResult {
        // The root of an intercommunicator's operation is one of the other side.
        if self.communicator.intra().is_err()
            || Some(self.communicator.known_rank()?) != self.rank()
        {
            return Ok(());
        }
        Err(Error::refused(
            ErrorClass::ROOT,
            "the process that is the root calls the form whose name ends with `_root`",
        ))
    }
}

impl<B> PersistentRequest<'_, B> {
    /// The buffer, or all of a collective operation's, while the operation is not started.
    pub fn get(&self) -> Option<&B> {
        if self.is_active() {
            return None;
        }
        // SAFETY: `assume_init_ref` asks for a value, which every request is made with. MPI does not use it
        // while the request is inactive, and to start it takes `&mut self`.
        Some(unsafe { self.buffer.assume_init_ref() })
    }
}

impl<S: TypedBuffer<Element: MpiDatatype> + BufferMut, R> PersistentRequest<'_, (S, R)> {
    /// The elements to send, while the operation is not started.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let (mut mine, mut sum) = ([0.0; 2], [0.0; 2]);
    /// rmpi::scope(|scope| {
    ///     let op = rmpi::MpiOp::SUM;
    ///     let mut request = world.allreduce_init(scope, &mut mine[..], &mut sum[..], op)?;
    ///     for _ in 0..10 {
    ///         request.send_buffer_mut().expect("it is complete")[0] += 1.0;
    ///         request.start()?;
    ///         request.wait()?;
    ///         println!("{:?}", request.get().expect("it is complete").1);
    ///     }
    ///     Ok(())
    /// })
    /// # }
    /// ```
    pub fn send_buffer_mut(&mut self) -> Option<&mut [S::Element]> {
        if self.is_active() {
            return None;
        }
        // SAFETY: `from_raw_parts_mut` asks for so many values that nobody else uses while the slice lives. The
        // buffer, which is a value since the request was made, promises them as a `TypedBuffer`, and as a
        // `BufferMut` that nobody else has access. MPI does not use them while the request is inactive, and
        // `self` is borrowed. The elements, and not the buffer, since another buffer must not take its place.
        unsafe {
            let buffer = &mut self.buffer.assume_init_mut().0;
            let length = buffer.as_elements().1;
            let pointer = buffer.as_raw_mut().ok()?.pointer.cast();
            Some(core::slice::from_raw_parts_mut(pointer, length))
        }
    }
}

/// Refuses parts of different lengths, which are an error whatever the other processes have: not
/// every MPI looks for it.
fn same(send: &RawBuffer, sent: MPI_Count, receive: &RawBuffer, received: MPI_Count) -> RmpiResult {
    if send.datatype != receive.datatype || sent == received {
        return Ok(());
    }
    Err(Error::refused(
        ErrorClass::COUNT,
        "what is sent to a process is not as long as what is received from one",
    ))
}

impl Communicator<'_> {
    on_communicator! {
        this, "Waits until all processes are here", plain,
        "", "";
        barrier ibarrier barrier_init = MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init;
        [] <>
        () => () = ();
        {

        }
        (this.as_raw())
    }

    on_communicator! {
        this, "Collects the buffers of all processes, by rank, at all of them", divided,
        "let mine = [1.0, 2.0];\nlet mut all = vec![0.0; 2 * world.size()?];", "&mine, &mut all";
        allgather iallgather allgather_init = MPI_Allgather, MPI_Iallgather, MPI_Allgather_init;
        [] <S: [BufferRef], R: [BufferMut]>
        (send: S, receive: R) => (S, R) = (send, receive);
        {
            let (from, to) = (sent(send)?, received(receive)?);
            let part = per_rank(&to, this.known_size()?)?;
            same(&from, from.count, &to, part)?;
        }
        (from.pointer, from.count, from.datatype, to.pointer, part, to.datatype, this.as_raw())
    }

    on_communicator! {
        this, "Collects the parts of a buffer, of which each process has the one of its rank, at all of them", divided,
        "let mut all = vec![0.0; 2 * world.size()?];", "&mut all";
        allgather_in_place iallgather_in_place allgather_in_place_init = MPI_Allgather, MPI_Iallgather, MPI_Allgather_init;
        [] <B: [BufferMut]>
        (buffer: B) => B = buffer;
        {
            let to = received(buffer)?;
            let part = per_rank(&to, this.known_size()?)?;
        }
        (sys::MPI_IN_PLACE, 0, to.datatype, to.pointer, part, to.datatype, this.as_raw())
    }

    on_communicator! {
        this, "Sends a part of a buffer to each process and receives one from each", divided,
        "let to_each = vec![1.0; 2 * world.size()?];\nlet mut of_each = to_each.clone();", "&to_each, &mut of_each";
        alltoall ialltoall alltoall_init = MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init;
        [] <S: [BufferRef], R: [BufferMut]>
        (send: S, receive: R) => (S, R) = (send, receive);
        {
            let (from, to) = (sent(send)?, received(receive)?);
            let size = this.known_size()?;
            let (part, to_part) = (per_rank(&from, size)?, per_rank(&to, size)?);
            same(&from, part, &to, to_part)?;
        }
        (from.pointer, part, from.datatype, to.pointer, to_part, to.datatype, this.as_raw())
    }

    on_communicator! {
        this, "Exchanges the parts of a buffer with all processes", divided,
        "let mut parts = vec![1.0; 2 * world.size()?];", "&mut parts";
        alltoall_in_place ialltoall_in_place alltoall_in_place_init = MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init;
        [] <B: [BufferMut]>
        (buffer: B) => B = buffer;
        {
            let to = received(buffer)?;
            let part = per_rank(&to, this.known_size()?)?;
        }
        (sys::MPI_IN_PLACE, 0, to.datatype, to.pointer, part, to.datatype, this.as_raw())
    }
}

impl<'c> Process<'c> {
    on_process! {
        this, "Sends the root's buffer to all processes; all call it", plain,
        "let mut numbers = [1.0, 2.0];", "&mut numbers";
        bcast ibcast bcast_init = MPI_Bcast, MPI_Ibcast, MPI_Bcast_init;
        [] <B: [BufferMut]>
        (buffer: B) => B = buffer;
        {
            let rank = this.root()?;
            let raw = received(buffer)?;
        }
        (raw.pointer, raw.count, raw.datatype, rank, this.comm())
    }

    on_process! {
        this, "Sends a buffer to the root, which collects them", not_root,
        "let mine = [1.0, 2.0];", "&mine";
        gather igather gather_init = MPI_Gather, MPI_Igather, MPI_Gather_init;
        [] <S: [BufferRef]>
        (send: S) => S = send;
        {
            let rank = this.root()?;
            this.check_not_root()?;
            let from = sent(send)?;
        }
        (from.pointer, from.count, from.datatype, ptr::null_mut(), 0, from.datatype, rank, this.comm())
    }

    on_process! {
        this, "Collects the buffers of all processes, by rank, at the root", divided,
        "let mine = [1.0, 2.0];\nlet mut all = vec![0.0; 2 * root.communicator().size()?];", "&mine, &mut all";
        gather_root igather_root gather_root_init = MPI_Gather, MPI_Igather, MPI_Gather_init;
        [] <S: [BufferRef], R: [BufferMut]>
        (send: S, receive: R) => (S, R) = (send, receive);
        {
            let rank = this.root()?;
            let (from, to) = (sent(send)?, received(receive)?);
            let part = per_rank(&to, this.communicator.known_size()?)?;
        }
        (from.pointer, from.count, from.datatype, to.pointer, part, to.datatype, rank, this.comm())
    }

    on_process! {
        this, "Collects the buffers of all processes at the root, whose own part is in its place already", in_place_divided,
        "let mut all = vec![0.0; 2 * root.communicator().size()?];", "&mut all";
        gather_in_place igather_in_place gather_in_place_init = MPI_Gather, MPI_Igather, MPI_Gather_init;
        [] <B: [BufferMut]>
        (buffer: B) => B = buffer;
        {
            let rank = this.root()?;
            this.check_root()?;
            let to = received(buffer)?;
            let part = per_rank(&to, this.communicator.known_size()?)?;
        }
        (sys::MPI_IN_PLACE, 0, to.datatype, to.pointer, part, to.datatype, rank, this.comm())
    }

    on_process! {
        this, "Receives this process's part of the root's buffer", not_root,
        "let mut mine = [0.0; 2];", "&mut mine";
        scatter iscatter scatter_init = MPI_Scatter, MPI_Iscatter, MPI_Scatter_init;
        [] <R: [BufferMut]>
        (receive: R) => R = receive;
        {
            let rank = this.root()?;
            this.check_not_root()?;
            let to = received(receive)?;
        }
        (ptr::null(), 0, to.datatype, to.pointer, to.count, to.datatype, rank, this.comm())
    }

    on_process! {
        this, "Sends a part of the root's buffer to each process", divided,
        "let all = vec![1.0; 2 * root.communicator().size()?];\nlet mut mine = [0.0; 2];", "&all, &mut mine";
        scatter_root iscatter_root scatter_root_init = MPI_Scatter, MPI_Iscatter, MPI_Scatter_init;
        [] <S: [BufferRef], R: [BufferMut]>
        (send: S, receive: R) => (S, R) = (send, receive);
        {
            let rank = this.root()?;
            let (from, to) = (sent(send)?, received(receive)?);
            let part = per_rank(&from, this.communicator.known_size()?)?;
        }
        (from.pointer, part, from.datatype, to.pointer, to.count, to.datatype, rank, this.comm())
    }

    on_process! {
        this, "Sends a part of the root's buffer to each process, and leaves the root's own where it is", in_place_divided,
        "let all = vec![1.0; 2 * root.communicator().size()?];", "&all";
        scatter_in_place iscatter_in_place scatter_in_place_init = MPI_Scatter, MPI_Iscatter, MPI_Scatter_init;
        [] <B: [BufferRef]>
        (buffer: B) => B = buffer;
        {
            let rank = this.root()?;
            this.check_root()?;
            let from = sent(buffer)?;
            let part = per_rank(&from, this.communicator.known_size()?)?;
        }
        (from.pointer, part, from.datatype, sys::MPI_IN_PLACE, 0, from.datatype, rank, this.comm())
    }
}
