//! Messages that a preloaded tool notes down in a dozen instructions, in memory of its own at an address that is known when
//! it is linked: for a tool that says what a process is doing, to whoever reads that memory.
//!
//! The exported functions look at one byte there, the *way* ([`NotesMessages`]). Where it is open, they write arguments and
//! function, call MPI, and write that the call is over. The word that says so is pushed onto the stack before the call and
//! popped into the memory after it: the stack has to be aligned for the call anyway, so that it costs no instruction.
//! Otherwise they take the [fast path](crate::FastPath), with or without a note of their caller, or leave the call to the
//! layer.
//!
//! Two arguments of a message are never written: the buffer and the count.

/// Where a tool that is installed with `notes` has what its exported functions write of messages (`MPI_Send` and its kin,
/// `MPI_Recv`), in bytes from the beginning of the static that it names.
///
/// The static has 64-bit words, each at a multiple of eight, which only this process writes. They are always there, and
/// zeros at first.
///
/// # Safety
/// Exported functions write there without asking. The static is aligned to eight bytes, may be changed while it is shared (it
/// is made of atomic words), and has all eight bytes of each of these places, which are multiples of eight. A process writes
/// [`OPEN`](Self::OPEN) only when it is in no call of MPI and one thread calls MPI.
pub unsafe trait NotesMessages {
    /// The word with the function, in its lower half, and with the way in the byte of [`WAY_SHIFT`](Self::WAY_SHIFT). Written
    /// last of all when a call begins, with the function alone, and when it is over, with [`OPEN`](Self::OPEN), too.
    const FUNCTION: usize;
    /// How many calls there were: one more, before anything else.
    const CALLS: usize;
    /// Where the stack is when a call begins.
    const STACK: usize;
    /// The communicator's handle; its lower half where handles are `int`s, and then anything in the upper one.
    const COMM: usize;
    /// The lower half: the destination.
    const DESTINATION: usize;
    /// The lower half: the source.
    const SOURCE: usize;
    /// The lower half: the tag.
    const TAG: usize;

    /// The way's byte in the word of the function: so many bits.
    const WAY_SHIFT: u32 = 16;
    /// A way: messages are noted in this memory. To be said only while one thread calls MPI, and when it is in no call.
    const OPEN: u8 = 1;
    /// A way: the fast path, with a note of the caller.
    const WITH_CALLER: u8 = 2;
    /// A way: the fast path, without one.
    const BARE: u8 = 0x80;
    // Any other, such as 0: messages are left to the layer.
}

/// An exported function of a tool that is installed with `notes`.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_noting_messages {
    ($class:ident MPI_Bsend $($rest:tt)*) => { $crate::__export_noted! { sent MPI_Bsend $($rest)* } };
    ($class:ident MPI_Rsend $($rest:tt)*) => { $crate::__export_noted! { sent MPI_Rsend $($rest)* } };
    ($class:ident MPI_Send $($rest:tt)*) => { $crate::__export_noted! { sent MPI_Send $($rest)* } };
    ($class:ident MPI_Ssend $($rest:tt)*) => { $crate::__export_noted! { sent MPI_Ssend $($rest)* } };
    ($class:ident MPI_Recv $($rest:tt)*) => { $crate::__export_noted! { received MPI_Recv $($rest)* } };
    // Where a tool may have a fast path that knows that the thread is alone.
    (PointToPoint $($rest:tt)*) => { $crate::__export_noted! { neither $($rest)* } };
    (Collective $($rest:tt)*) => { $crate::__export_noted! { neither $($rest)* } };
    (Completion $($rest:tt)*) => { $crate::__export_noted! { neither $($rest)* } };
    ($class:ident $($rest:tt)*) => { $crate::__export_optionally_noting_caller! { $($rest)* } };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_noted {
    ($how:ident $c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl Here {
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: it wants what the MPI standard asks of the function's caller, who has called the
                // exported function, which jumps here with all arguments as they are.
                unsafe {
                    $crate::install::entry::always_fast::$name::<Here, { $crate::How::WITH_CALLER }>(
                        $($arg,)* Here::$name
                    )
                }
            }
        }

        #[unsafe(export_name = stringify!($c_name))]
        #[unsafe(naked)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            unsafe extern "C-unwind" fn bare($($arg: $ty),*) -> $ret {
                // SAFETY: it wants what the MPI standard asks of the function's caller, who has called the
                // exported function, which jumps here with all arguments as they are.
                unsafe {
                    $crate::install::entry::always_fast::$name::<Here, { $crate::How::BARE }>(
                        $($arg,)* Here::$name
                    )
                }
            }
            #[allow(dead_code)]
            unsafe extern "C-unwind" fn alone($($arg: $ty),*) -> $ret {
                // SAFETY: it wants what the MPI standard asks of the function's caller, who has called the
                // exported function, which jumps here with all arguments as they are.
                unsafe {
                    $crate::install::entry::always_fast::$name::<Here, { $crate::How::ALONE }>(
                        $($arg,)* Here::$name
                    )
                }
            }
            $crate::__noted! {
                $how
                $crate::FunctionId::$c_name,
                alone,
                bare,
                Here::$name,
                $crate::install::entry::outlined::$name::<Here>
            }
        }
    };
}

/// Where the notes of a tool are: names for what its exported functions write. Found by the names `NOTES`, `NEXT` and
/// `Notes`.
#[doc(hidden)]
#[macro_export]
macro_rules! __notes {
    ($layer:ty, $notes:path) => {
        use $notes as NOTES;

        struct Notes;

        impl Notes {
            const FUNCTION: usize = <$layer as $crate::NotesMessages>::FUNCTION;
            const CALLS: usize = <$layer as $crate::NotesMessages>::CALLS;
            const STACK: usize = <$layer as $crate::NotesMessages>::STACK;
            const COMM: usize = <$layer as $crate::NotesMessages>::COMM;
            const DESTINATION: usize = <$layer as $crate::NotesMessages>::DESTINATION;
            const SOURCE: usize = <$layer as $crate::NotesMessages>::SOURCE;
            const TAG: usize = <$layer as $crate::NotesMessages>::TAG;
            const WAY: usize =
                Self::FUNCTION + <$layer as $crate::NotesMessages>::WAY_SHIFT as usize / 8;
            const OPEN: u8 = <$layer as $crate::NotesMessages>::OPEN;
            #[allow(dead_code, reason = "not every processor asks for it by name")]
            const WITH_CALLER: u8 = <$layer as $crate::NotesMessages>::WITH_CALLER;
            #[allow(dead_code, reason = "as above")]
            const BARE: u8 = <$layer as $crate::NotesMessages>::BARE;

            /// The word of a function whose call is over.
            const fn outside(function: $crate::FunctionId) -> usize {
                function as usize
                    | (Self::OPEN as usize) << <$layer as $crate::NotesMessages>::WAY_SHIFT
            }
        }
    };
}
