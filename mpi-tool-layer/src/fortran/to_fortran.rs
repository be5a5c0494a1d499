//! What MPI has written for C, as Fortran's variables.
//!
//! Only what MPI has written is given back: handles that have changed, numbers and strings that are not any more what
//! `to_c.rs` has put there. So a variable that MPI's own Fortran function would leave alone is left alone here, too, also
//! where a call fails. Positions of requests get one added, as Fortran counts from 1, and C's `true` becomes Fortran's.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr;
use std::sync::OnceLock;

use mpi_sys::{ABI, Abi, pmpi, prototypes::*};

use super::Form;
use super::conversion::{Conversion, NOTHING, read};
use super::language::is_out;
use super::plan::How;
use super::values::pad;
use crate::host::linker::{Scope, find};

impl Conversion<'_> {
    /// Gives Fortran what MPI has written.
    ///
    /// # Safety
    /// `result` is what the call has returned, which [`convert`](Self::convert) has converted and MPI has accepted or
    /// refused; Fortran's arguments are still there.
    pub(super) unsafe fn to_fortran(&self, result: c_int) {
        let mut next = 0;
        for index in 0..self.plan.hows.len() {
            let how = self.plan.hows[index];
            if matches!(how, How::Absent) {
                continue;
            }
            let given = self.given[next];
            next += 1;
            let written = self.written[index].get();
            let to = given as *mut c_int;
            // SAFETY: the variables must be there: they are Fortran's, which MPI's own functions would write, too. The handles must
            // be MPI's: it has written them in this call.
            unsafe {
                match how {
                    How::HandleOut(handle) if written != NOTHING && result == MPI_SUCCESS => {
                        to.write_unaligned(handle.to_fortran(written as usize));
                    }
                    How::HandleInOut(handle) => {
                        let before = self.array_of(index).map_or(written, |array| array.before[0]);
                        if before != written {
                            to.write_unaligned(handle.to_fortran(written as usize));
                        }
                    }
                    How::HandlesInOut(handle, _) | How::HandlesOut(handle, _) => {
                        let Some(array) = self.array_of(index) else { continue };
                        for (at, (now, before)) in array.now.iter().zip(&array.before).enumerate() {
                            // What has not changed may be no handle any more.
                            if read(now) != *before {
                                let handle = handle.to_fortran(read(now) as usize);
                                to.add(at).write_unaligned(handle);
                            }
                        }
                    }
                    How::Status | How::Statuses(_) if is_out(self.entry.function, index) => {
                        let Some(array) = self.array_of(index) else { continue };
                        let (from, size) = (array.now.as_ptr(), size_of::<MPI_Status>());
                        let bytes = array.now.len() * 8 / size * size;
                        ptr::copy_nonoverlapping(from.cast::<u8>(), given as *mut u8, bytes);
                    }
                    How::LogicalOut if low(written) != low(NOTHING) => {
                        to.write_unaligned(c_int::from(low(written) != 0));
                    }
                    How::LogicalsOut(length) => {
                        let Some(array) = self.array_of(index) else { continue };
                        let from = array.now.as_ptr().cast::<c_int>();
                        // The variable that says how many may be another one's by now; two are in a word.
                        let length = self.length(length).min(2 * array.now.len());
                        for at in 0..length {
                            let value = from.add(at).read_volatile();
                            if value != low(NOTHING) {
                                to.add(at).write_unaligned(c_int::from(value != 0));
                            }
                        }
                    }
                    How::TextOut(_) => {
                        let length = self.text_length(index);
                        let text = self.bytes.iter().find(|(parameter, _)| *parameter == index);
                        let Some((_, text)) = text else { continue };
                        if read(&text[0]) != 0xff {
                            pad(text, given as *mut u8, length);
                        }
                    }
                    How::TextLength => {
                        let now = low(written);
                        if result == MPI_SUCCESS && now > 0 {
                            to.write_unaligned(now - 1);
                        }
                    }
                    How::IndexOut if low(written) != low(NOTHING) => {
                        let index = low(written);
                        let undefined = index == MPI_UNDEFINED;
                        let first = if undefined { 0 } else { self.first_index() };
                        to.write_unaligned(index + first);
                    }
                    How::IndexCount | How::NarrowOut if low(written) != low(NOTHING) => {
                        to.write_unaligned(low(written));
                    }
                    How::Indices(count) if low(self.written[count].get()) != low(NOTHING) => {
                        for at in 0..usize::try_from(low(self.written[count].get())).unwrap_or(0) {
                            let index = to.add(at).read_unaligned();
                            to.add(at).write_unaligned(index + self.first_index());
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// What Fortran calls the first of several requests: 1, but in `mpi_f08` what MPICH calls it,
    /// since 4.0.2 returns C's 0 there, and a tool changes nothing.
    fn first_index(&self) -> c_int {
        static FIRST: OnceLock<c_int> = OnceLock::new();
        if ABI != Abi::Mpich || self.entry.form == Form::Mpif {
            return 1;
        }
        *FIRST.get_or_init(|| {
            let own = find(Scope::Default, c"pmpir_waitany_f08_");
            // SAFETY: `first_of_one` wants MPICH's `MPI_Waitany` of `mpi_f08`, which the name is of in this ABI, and
            // an MPI that runs: MPI has just written an index for a call of the application.
            unsafe { if own.is_null() { 1 } else { first_of_one(own) } }
        })
    }
}

/// The index that MPICH's own function gives for the only request.
///
/// # Safety
/// `wait_any` is MPICH's `MPI_Waitany` of `mpi_f08`, of that prototype. MPI is initialized and not finalized.
unsafe fn first_of_one(wait_any: *mut c_void) -> c_int {
    extern "C" fn query(_: *mut c_void, _: *mut MPI_Status) -> c_int {
        MPI_SUCCESS
    }
    extern "C" fn free(_: *mut c_void) -> c_int {
        MPI_SUCCESS
    }
    extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
        MPI_SUCCESS
    }
    type WaitAny = unsafe extern "C" fn(
        *const c_int,
        *mut MPI_Request,
        *mut c_int,
        *mut MPI_Status,
        *mut c_int,
    );
    // SAFETY: zeros are a value of a request and a status, which are integers in this ABI. The request is valid and
    // complete, its callbacks take their arguments and do nothing, and all variables live until the calls return;
    // none of the functions is seen by a tool.
    unsafe {
        let mut request: MPI_Request = core::mem::zeroed();
        let mut status: MPI_Status = core::mem::zeroed();
        let (mut index, mut error) = (1, MPI_SUCCESS);
        let (query, free, cancel) = (Some(query as _), Some(free as _), Some(cancel as _));
        let extra = ptr::null_mut();
        if pmpi::MPI_Grequest_start(query, free, cancel, extra, &mut request) == MPI_SUCCESS {
            pmpi::MPI_Grequest_complete(request);
            let wait_any = transmute::<*mut c_void, WaitAny>(wait_any);
            wait_any(&1, &mut request, &mut index, &mut status, &mut error);
        }
        index.clamp(0, 1)
    }
}

/// The `int` in a word that C was given the address of.
fn low(word: u64) -> c_int {
    word as u32 as c_int
}
