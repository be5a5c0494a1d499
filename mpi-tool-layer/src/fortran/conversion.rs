//! One call: what Fortran passes, what C gets, and the call itself. `to_c.rs` makes C's arguments,
//! `to_fortran.rs` gives Fortran what MPI has written.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr;

use mpi_sys::prototypes::*;

use super::plan::{How, Length, MOST, Plan};
use super::process::{Fortran, Sentinels};
use super::values::partners;
use super::{Entry, Form};
use crate::arch::ARGUMENTS;
use crate::call::asking::UsedComm;

/// The arguments of a call, where the caller put them.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub(super) registers: *const usize,
    pub(super) stack: *const usize,
}

impl Arguments {
    /// # Safety
    /// `registers` points to as many words as a call has in registers, `stack` to those behind them, and the call has more than `index` arguments.
    pub(super) unsafe fn get(&self, index: usize) -> usize {
        // SAFETY: the caller promises so many arguments: the first ones are in registers, and the others on the
        // stack in their order.
        unsafe {
            match index.checked_sub(ARGUMENTS) {
                None => *self.registers.add(index),
                Some(index) => *self.stack.add(index),
            }
        }
    }
}

/// A call on its way to C and back.
pub(super) struct Conversion<'a> {
    pub(super) fortran: &'a Fortran,
    pub(super) plan: &'a Plan,
    pub(super) sentinels: Sentinels,
    pub(super) entry: &'static Entry,
    /// What Fortran passes.
    pub(super) given: [usize; MOST],
    /// What C gets.
    pub(super) words: [usize; MOST],
    /// What MPI writes that must be converted, by parameter. C has addresses of it while the conversion is used.
    pub(super) written: &'a [Cell<u64>; MOST],
    /// Strings and arrays for C; each lives as long as the call.
    pub(super) bytes: Vec<(usize, Vec<u8>)>,
    pub(super) arrays: Vec<Array>,
    pub(super) is_root: Option<bool>,
}

/// An array for C, with what was in it before the call.
pub(super) struct Array {
    pub(super) parameter: usize,
    pub(super) now: Vec<u64>,
    pub(super) before: Vec<u64>,
}

/// What `written` holds where MPI has written nothing: no handle, index or count.
pub(super) const NOTHING: u64 = 0x8000_0001_8000_0001;

impl<'a> Conversion<'a> {
    /// # Safety
    /// `arguments` are those of a call of the entry: Fortran's of its function, with an error code and with lengths
    /// of strings where it has some.
    pub(super) unsafe fn new(
        fortran: &'a Fortran,
        entry: &'static Entry,
        arguments: Arguments,
        written: &'a [Cell<u64>; MOST],
    ) -> Conversion<'a> {
        let plan = &fortran.plans[entry.function as usize];
        let mut given = [0; MOST];
        for (index, word) in given.iter_mut().enumerate().take(plan.words()) {
            // SAFETY: `get` wants an argument of this number: the call has as many words as the plan says, since the
            // caller promises a call of this entry.
            *word = unsafe { arguments.get(index) };
        }
        let sentinels = if entry.form == Form::Mpif { fortran.mpif } else { fortran.f08 };
        Self {
            fortran,
            plan,
            sentinels,
            entry,
            given,
            words: [0; MOST],
            written,
            bytes: Vec::new(),
            arrays: Vec::new(),
            is_root: None,
        }
    }

    /// Fortran's `INTEGER` for a parameter.
    ///
    /// # Safety
    /// Fortran passes for the parameter the address of an `INTEGER`, as it does for a handle or a number.
    pub(super) unsafe fn int(&self, parameter: usize) -> c_int {
        // SAFETY: the read needs a valid address of four bytes, which the caller promises; what Fortran declares may
        // be aligned to less, so it is unaligned.
        unsafe { (self.argument(parameter) as *const c_int).read_unaligned() }
    }

    /// What Fortran passes for a parameter.
    pub(super) fn argument(&self, parameter: usize) -> usize {
        let absent = self.plan.hows[..parameter].iter().filter(|how| matches!(how, How::Absent));
        self.given[parameter - absent.count()]
    }

    pub(super) fn error(&self) -> *mut c_int {
        if self.plan.has_error {
            self.given[self.plan.fortran] as *mut c_int
        } else {
            ptr::null_mut()
        }
    }

    /// The length that belongs to a `CHARACTER` argument.
    pub(super) fn text_length(&self, parameter: usize) -> usize {
        let before = self.plan.hows[..parameter].iter().filter(|how| how.is_text()).count();
        let first = self.plan.fortran + usize::from(self.plan.has_error);
        // Some compilers pass an `int`.
        self.given[first + before] as u32 as usize
    }

    /// # Safety
    /// The parameter is a communicator, and the call is as the MPI standard asks.
    pub(super) unsafe fn comm(&self, parameter: usize) -> MPI_Comm {
        // SAFETY: `int` wants an `INTEGER`, which Fortran's communicator is. C's handle has as many bytes as the
        // word, or the lower ones of it, and all bits are a value.
        unsafe {
            let own = self.int(parameter);
            let word = self.plan.comm_handle.map_or(own as usize, |handle| handle.to_c(own));
            core::mem::transmute_copy::<usize, MPI_Comm>(&word)
        }
    }

    /// # Safety
    /// The parameters that `length` names are of the entry's function, and the call is as the MPI standard asks.
    pub(super) unsafe fn length(&self, length: Length) -> usize {
        // SAFETY: `int` and `comm` want parameters that are an `INTEGER` and a communicator: the plan has found them
        // by what the list says, and the caller promises a call of this function.
        let length = unsafe {
            match length {
                Length::Parameter(parameter) => self.int(parameter),
                Length::Targets | Length::Sources | Length::Dimensions => {
                    let Some(comm) = self.plan.comm else { return 0 };
                    partners(self.comm(comm), length, self.entry.function)
                }
            }
        };
        usize::try_from(length).unwrap_or(0)
    }

    /// Are the arguments that are significant at the root significant here?
    ///
    /// # Safety
    /// The call is as the MPI standard asks.
    pub(super) unsafe fn at_root(&mut self) -> bool {
        let Some((root, comm)) = self.plan.root else { return true };
        if let Some(known) = self.is_root {
            return known;
        }
        // SAFETY: the plan has found these parameters by their names and types: the caller promises a call in which
        // they are a communicator and a root, both `INTEGER`s. `assume` wants the communicator of a call that goes to
        // MPI next, and an MPI of this ABI: it is this call's, and there is no `Fortran` for another ABI.
        let known = unsafe {
            let (comm, root) = (self.comm(comm), self.int(root));
            UsedComm::assume(comm).is_some_and(|comm| comm.rank() == root)
        };
        self.is_root = Some(known);
        known
    }

    /// Are attributes `INTEGER`s?
    pub(super) fn is_narrow(&self) -> bool {
        self.plan.old
    }

    pub(super) fn array_of(&self, parameter: usize) -> Option<&Array> {
        self.arrays.iter().find(|array| array.parameter == parameter)
    }

    /// Calls a function with the first words of an array.
    ///
    /// # Safety
    /// `function` is a function whose arguments are the first words, in which an address is valid for what the
    /// function does with it. It has at most six parameters if `count` is at most six, else at most 16.
    pub(super) unsafe fn call(
        function: *const c_void,
        words: &[usize; MOST],
        count: usize,
    ) -> usize {
        // SAFETY: the caller promises a function for these words. It gets more words than it has parameters, which by
        // the convention of C on this processor it does not look at, and the caller of it cleans up.
        unsafe {
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = *words;
            if count <= 6 {
                type Short =
                    unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;
                transmute::<*const c_void, Short>(function)(a, b, c, d, e, f)
            } else {
                type Long = unsafe extern "C-unwind" fn(
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                ) -> usize;
                transmute::<*const c_void, Long>(function)(
                    a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p,
                )
            }
        }
    }
}

/// What C has written behind the compiler's back.
pub(super) fn read<T: Copy>(value: &T) -> T {
    // SAFETY: a reference is valid for reads of its type, which is `Copy`.
    unsafe { ptr::read_volatile(value) }
}
