//! Where MPI puts what it answers: addresses of the application's variables, statuses, requests.
//!
//! What MPI has not written is not read: the application's variables need not have a value before.
//! [`Always`] and [`IfFlag`] say when MPI writes a result, and the methods called `get` ask for
//! what proves that it has: the [`Accepted`] of the call, and where there is one, its flag.
//!
//! Results that come when a request is complete (the new communicator of `MPI_Comm_idup`) have no
//! `get`: they are a [`Value`](super::Value).

use core::ffi::c_int;
use core::marker::PhantomData;

use mpi_sys::{MPI_Request, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, MPI_Status, pmpi};

use super::Only;
use super::arg;
use crate::call::{Accepted, Brand};

/// MPI writes the result whenever it accepts the call. It is the default of [`Out`] and
/// [`StatusMut`], so that `Out<'c, MPI_Comm, arg::newcomm>` is the type to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Always {}

/// MPI writes the result only if it sets the function's flag to true: `MPI_Improbe` has no message
/// to give where there is none. So it is with all results of a function that has a parameter
/// `flag`, but the flag itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IfFlag {}

/// Where a function puts its flag (`MPI_Test`, `MPI_Iprobe`): 0 is false, all else true.
pub type Flag<'c> = Out<'c, c_int, arg::flag>;

/// Where a function puts a result: a parameter `newcomm`, `rank`, `flag` and so on. `T` is what is
/// there, `R` the parameter ([`arg`](super::arg)), `W` when MPI writes it ([`Always`], [`IfFlag`]).
#[derive(Debug, Clone, Copy)]
pub struct Out<'c, T, R, W = Always> {
    pointer: *mut T,
    brand: Brand<'c>,
    role: PhantomData<(R, W)>,
}

impl<T: Copy, R, W> Out<'_, T, R, W> {
    #[inline(always)]
    pub(super) const fn from_c(pointer: *mut T) -> Self {
        Self { pointer, brand: PhantomData, role: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> *mut T {
        self.pointer
    }

    /// C's pointer, as the application has passed it. To follow it is the layer's own `unsafe`.
    #[inline(always)]
    pub const fn as_ptr(self) -> *mut T {
        self.pointer
    }
}

impl<'c, T: Copy, R> Out<'c, T, R> {
    /// What MPI has put there: to be called when the call has gone on. A read of memory.
    #[inline(always)]
    pub fn get(self, _: Accepted<'c>) -> T {
        // SAFETY: the address must be one that MPI can write to and that has a value. `'c` is the call's
        // in which it was passed to MPI: only this method's caller can have an `Accepted` of it, which says
        // that MPI has returned success. The function writes this result whenever it does (`Always`),
        // through the same address; and the application cannot take the variable away before its own
        // call has returned.
        unsafe { *self.pointer }
    }
}

impl<'c, T: Copy, R> Out<'c, T, R, IfFlag> {
    /// What MPI has put there; `None` if the flag is false, since then it has put nothing there.
    /// `flag` is the method's argument of that name.
    #[inline(always)]
    pub fn get(self, accepted: Accepted<'c>, flag: Flag<'c>) -> Option<T> {
        // SAFETY: the address must be one that MPI can write to and that has a value. The flag is
        // of the same call, by its lifetime, and is the flag, by its role; MPI has set it to true,
        // so it has written this result, too, and the application cannot take the variable away
        // before its own call has returned.
        (flag.get(accepted) != 0).then(|| unsafe { *self.pointer })
    }
}

/// A handle of the application's that a function reads and changes: the address of a request
/// (`MPI_Wait`), or of an object to be freed (`MPI_Comm_free`). MPI puts null there when the object
/// is gone, so a layer that keeps something by the handle reads it before the call.
#[derive(Debug, Clone, Copy)]
pub struct InOut<'c, T, R = Only> {
    pointer: *mut T,
    brand: Brand<'c>,
    role: PhantomData<R>,
}

impl<T: Copy, R> InOut<'_, T, R> {
    #[inline(always)]
    pub(super) const fn from_c(pointer: *mut T) -> Self {
        Self { pointer, brand: PhantomData, role: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> *mut T {
        self.pointer
    }

    /// C's pointer, as the application has passed it.
    #[inline(always)]
    pub const fn as_ptr(self) -> *mut T {
        self.pointer
    }

    /// What it is now: before the call the handle that the application has passed, afterwards what
    /// MPI has made of it. Nothing, if the application has passed a null pointer.
    #[inline(always)]
    pub fn get(self) -> Option<T> {
        // SAFETY: MPI must not write to it meanwhile: it is copied here, before the call goes on or after it.
        unsafe { self.as_slice() }.first().copied()
    }

    /// The value as a slice of length 1, or none of a null pointer: a request looks like an array
    /// of requests then.
    ///
    /// # Safety
    /// MPI does not write to it as long as the slice is used.
    #[inline(always)]
    pub(super) unsafe fn as_slice(&self) -> &[T] {
        if self.pointer.is_null() {
            return &[];
        }
        // SAFETY: one value must be there to be read, to which nobody writes meanwhile. The standard has the
        // application pass the address of a handle. The pointer is not null, and MPI itself reads from any other
        // address in this call. The caller promises that MPI does not write to it.
        unsafe { core::slice::from_raw_parts(self.pointer, 1) }
    }
}

/// Where a function puts a status, if the application does not ignore it: the parameter `status` of
/// `MPI_Recv`, `MPI_Wait`, `MPI_Probe`, `MPI_File_read` and so on. `'s` is the memory's lifetime; a
/// layer may lend MPI another status ([`OwnStatus`](super::OwnStatus)). `W` says when MPI writes it
/// ([`Always`], [`IfFlag`]).
#[derive(Debug, Clone, Copy)]
pub struct StatusMut<'s, W = Always> {
    pointer: *mut MPI_Status,
    memory: PhantomData<&'s MPI_Status>,
    when: PhantomData<W>,
}

impl<'s, W: Copy> StatusMut<'s, W> {
    /// C's pointer, or a layer's own status.
    #[inline(always)]
    pub(crate) const fn from_c(pointer: *mut MPI_Status) -> Self {
        Self { pointer, memory: PhantomData, when: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> *mut MPI_Status {
        self.pointer
    }

    /// A status of the layer's own. Where the application only ignores its status,
    /// [`OwnStatus`](super::OwnStatus) needs no `unsafe`.
    ///
    /// # Safety
    /// The application's status gets what the function would have put there, if it is not ignored:
    /// the layer copies it when the call has returned. (A function with one status leaves its field
    /// `MPI_ERROR` alone.)
    pub const unsafe fn new(status: &'s mut MPI_Status) -> Self {
        Self::from_c(status)
    }

    /// Is it `MPI_STATUS_IGNORE`? Then MPI writes none, and `get` has nothing.
    #[inline(always)]
    pub fn is_ignored(self) -> bool {
        self.pointer == MPI_STATUS_IGNORE
    }

    /// The status, unless it is ignored, for callers that know that MPI has accepted the call.
    #[inline(always)]
    fn look(self) -> Option<&'s MPI_Status> {
        if self.is_ignored() || self.pointer.is_null() {
            return None;
        }
        // SAFETY: an aligned status must be there, which nobody writes to for `'s`. It is the
        // layer's, or the application's, which MPI has taken in this call and which stays until the
        // application's own call returns. It need not be set: where MPI leaves it alone, it is what
        // the application, or `OwnStatus::new`, has put there. Any bits are a status.
        Some(unsafe { &*self.pointer.cast_const() })
    }
}

impl<'s> StatusMut<'s> {
    /// The status that MPI has set; nothing if it is ignored.
    /// [`received_bytes`](crate::received_bytes) says how much it tells of, its fields `MPI_SOURCE`
    /// and `MPI_TAG` from whom and how it came.
    #[inline(always)]
    pub fn get(self, _: Accepted<'_>) -> Option<&'s MPI_Status> {
        self.look()
    }
}

impl<'s> StatusMut<'s, IfFlag> {
    /// The status that MPI has set; nothing if it is ignored, or if the flag is false. `flag` is
    /// the method's argument of that name.
    #[inline(always)]
    pub fn get<'c>(self, accepted: Accepted<'c>, flag: Flag<'c>) -> Option<&'s MPI_Status> {
        if flag.get(accepted) != 0 { self.look() } else { None }
    }
}

/// Where a function puts a status for each of its requests, if the application does not ignore
/// them: the parameter `array_of_statuses` of `MPI_Waitall` and its kin. Which of them MPI writes
/// depends on the function; [`Call::finished`](crate::Call::finished) reads those that it has
/// written.
#[derive(Debug, Clone, Copy)]
pub struct StatusesMut<'c, 's> {
    pointer: *mut MPI_Status,
    memory: PhantomData<&'s MPI_Status>,
    brand: Brand<'c>,
}

impl StatusesMut<'_, '_> {
    #[inline(always)]
    pub(super) const fn from_c(pointer: *mut MPI_Status) -> Self {
        Self { pointer, memory: PhantomData, brand: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> *mut MPI_Status {
        self.pointer
    }

    /// Is it `MPI_STATUSES_IGNORE`?
    #[inline(always)]
    pub fn is_ignored(self) -> bool {
        self.pointer == MPI_STATUSES_IGNORE
    }

    /// C's pointer, as the application has passed it.
    pub const fn as_ptr(self) -> *mut MPI_Status {
        self.pointer
    }
}

/// A number of requests and their array, as one value. MPI may write to the array while the call
/// runs; the application must not touch it meanwhile.
macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident: $pointer:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'c> {
            count: c_int,
            pointer: $pointer,
            brand: Brand<'c>,
        }

        impl $name<'_> {
            #[inline(always)]
            pub(super) const fn from_c(count: c_int, pointer: $pointer) -> Self {
                Self { count, pointer, brand: PhantomData }
            }

            #[inline(always)]
            pub(super) const fn into_c(self) -> (c_int, $pointer) {
                (self.count, self.pointer)
            }

            /// How many there are: none, if the application's number is negative or its array null.
            #[inline(always)]
            pub fn len(&self) -> usize {
                if self.pointer.is_null() { 0 } else { usize::try_from(self.count).unwrap_or(0) }
            }

            /// Are there none?
            #[inline(always)]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The requests as they are now; `None` where one is null. Before the call they are
            /// those that the application has passed. What is needed is to be collected before the
            /// call goes on, which changes the array.
            pub fn iter(self) -> impl ExactSizeIterator<Item = Option<MPI_Request>> {
                (0..self.len()).map(move |index| {
                    // SAFETY: element `index` must be readable, with no writer. The application
                    // passes an array of that length, as it must; MPI reads it in this call, too.
                    // No reference is kept, so that MPI may write to the array between two reads.
                    // While it does, in the call, this thread is there, and a value with a pointer
                    // goes to no other thread.
                    let request = unsafe { *self.pointer.add(index) };
                    (request != pmpi::MPI_REQUEST_NULL).then_some(request)
                })
            }
        }
    )*};
}

requests! {
    /// Requests that a function looks at: `MPI_Request_get_status_all` and its kin.
    Requests: *const MPI_Request;
    /// Requests that a function starts or completes: `MPI_Startall`, `MPI_Waitall` and their kin.
    /// MPI puts null in the place of those that are no more, so a layer reads them before the call.
    RequestsMut: *mut MPI_Request;
}

impl RequestsMut<'_> {
    /// The application's array, to be copied before the call.
    ///
    /// # Safety
    /// MPI does not write to it as long as the slice is used.
    #[inline(always)]
    pub(super) unsafe fn as_slice(&self) -> &[MPI_Request] {
        if self.is_empty() {
            return &[];
        }
        // SAFETY: so many requests must be there to be read, to which nobody writes meanwhile. The application
        // passes an array of that length, as it must; MPI reads it in this call, too. That MPI does not write
        // to it, the caller promises.
        unsafe { core::slice::from_raw_parts(self.pointer, self.len()) }
    }
}
