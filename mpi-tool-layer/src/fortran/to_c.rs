//! Fortran's arguments as C's.
//!
//! A call of C has the words that [`Plan`](super::plan::Plan) says, each made of the argument of Fortran at the same
//! place. Small values are read and passed on. Arrays of handles, of `LOGICAL` and of statuses are copied into memory of
//! the conversion, and so are strings, which lose their blanks and get a NUL. What MPI only writes gets memory that is
//! filled with a value that MPI does not write ([`NOTHING`]), so that it is seen afterwards whether MPI has written.
//!
//! Nothing is read that is not significant: at other ranks than the root, and in a call in place, such arguments may be
//! anything.

use core::ffi::c_int;
use core::ptr;

use mpi_sys::prototypes::*;

use super::Form;
use super::conversion::{Array, Conversion, NOTHING};
use super::plan::{Handle, How, Length, MOST};
use super::values::{Descriptor, LONGEST_TEXT, contiguous, pack, stripped, texts, trimmed};

impl Conversion<'_> {
    /// Makes C's arguments. False if that cannot be done: the call must go to MPI as it came.
    ///
    /// # Safety
    /// The call is as the MPI standard asks, with arguments as the function's interface in Fortran says.
    pub(super) unsafe fn convert(&mut self) -> bool {
        let parameters = self.entry.function.parameters();
        let mut next = 0;
        for (index, parameter) in parameters.iter().enumerate() {
            let how = self.plan.hows[index];
            if matches!(how, How::Absent) {
                continue;
            }
            let given = self.given[next];
            next += 1;
            // SAFETY: `word` wants Fortran's argument for this parameter: `given` has them in order, without what
            // Fortran lacks. Those that are significant only at the root are left out elsewhere.
            let word = unsafe {
                if parameter.root_only && self.plan.root.is_some() && !self.at_root() {
                    continue;
                }
                match self.word(index, how, given) {
                    Some(word) => word,
                    None => return false,
                }
            };
            self.words[index] = word;
        }
        true
    }

    /// C's argument for one of Fortran's.
    ///
    /// # Safety
    /// `given` is what Fortran passes for the parameter `index`, which is converted by `how`, in a call as the MPI
    /// standard asks.
    unsafe fn word(&mut self, index: usize, how: How, given: usize) -> Option<usize> {
        let written = self.written[index].as_ptr().expose_provenance();
        // SAFETY: Fortran passes addresses, to what the list says of the parameter (and `how` goes by that): so many
        // bytes may be read there, unaligned. Lengths and counts are other arguments of the same call, which says
        // that the arrays are as long.
        Some(unsafe {
            match how {
                How::Absent => 0,
                How::Address => given,
                How::Int => (given as *const c_int).read_unaligned() as isize as usize,
                How::Long => (given as *const usize).read_unaligned(),
                How::Buffer => {
                    let address = match self.entry.form {
                        Form::F08Descriptors => contiguous(given as *const Descriptor)?,
                        _ => given,
                    };
                    if address == self.sentinels.bottom {
                        MPI_BOTTOM.addr()
                    } else if address == self.sentinels.in_place {
                        MPI_IN_PLACE.addr()
                    } else {
                        address
                    }
                }
                How::Memory if self.entry.form == Form::Mpif => written,
                How::Memory => given,
                How::Handle(handle) => handle.to_c((given as *const c_int).read_unaligned()),
                How::HandleOut(_) => written,
                How::HandleInOut(handle) => {
                    let handle = handle.to_c((given as *const c_int).read_unaligned());
                    self.written[index].set(handle as u64);
                    self.keep_before(index);
                    written
                }
                How::Handles(handle, length) => {
                    // The types that a call in place does not look at.
                    if matches!(length, Length::Targets) && self.words[0] == MPI_IN_PLACE.addr() {
                        given
                    } else {
                        self.handles(index, handle, length, given)
                    }
                }
                How::HandlesInOut(handle, length) => self.handles(index, handle, length, given),
                How::HandlesOut(_, length) => {
                    let length = self.length(length);
                    self.array(index, vec![NOTHING; length])
                }
                How::Status if given == self.sentinels.status_ignore => MPI_STATUS_IGNORE.addr(),
                How::Status => self.statuses(index, given, 1),
                How::Statuses(_) if given == self.sentinels.statuses_ignore => {
                    MPI_STATUSES_IGNORE.addr()
                }
                How::Statuses(length) => {
                    let length = self.length(length);
                    self.statuses(index, given, length)
                }
                How::Logical => usize::from((given as *const c_int).read_unaligned() != 0),
                How::LogicalOut | How::IndexOut | How::IndexCount | How::NarrowOut => written,
                How::Logicals(length) => {
                    let length = self.length(length);
                    let from = given as *const c_int;
                    let read = |at| c_int::from(from.add(at).read_unaligned() != 0);
                    let values: Vec<c_int> = (0..length).map(read).collect();
                    self.array(index, pack(&values))
                }
                How::LogicalsOut(length) => {
                    let length = self.length(length);
                    self.array(index, vec![NOTHING; length.div_ceil(2)])
                }
                How::Text => {
                    let text = stripped(given, self.text_length(index));
                    self.bytes.push((index, text));
                    self.last_bytes()
                }
                How::TextOut(length) => {
                    let wanted = length.map_or(0, |parameter| self.int(parameter));
                    let room = self
                        .text_length(index)
                        .max(usize::try_from(wanted).unwrap_or(0))
                        .max(LONGEST_TEXT);
                    let mut text = vec![0; room + 2];
                    // No text begins so: it is there as long as MPI writes nothing.
                    text[0] = 0xff;
                    self.bytes.push((index, text));
                    self.last_bytes()
                }
                How::Texts if given == self.sentinels.argv_null => MPI_ARGV_NULL.addr(),
                How::Texts => {
                    let length = self.text_length(index);
                    let all = texts(given, length, length);
                    self.pointers(index, all)
                }
                How::Commands(count) => {
                    let length = self.text_length(index);
                    let all =
                        (0..self.length(count)).map(|at| trimmed(given + at * length, length));
                    let all = all.collect();
                    self.pointers(index, all)
                }
                How::TextsOfCommands(_) if given == self.sentinels.argvs_null => {
                    MPI_ARGVS_NULL.addr()
                }
                How::TextsOfCommands(count) => {
                    // The first index is the command's.
                    let (length, count) = (self.text_length(index), self.length(count));
                    let each: Vec<u64> = (0..count)
                        .map(|at| {
                            let all = texts(given + at * length, length, count * length);
                            self.pointers(index, all) as u64
                        })
                        .collect();
                    self.array(MOST, each)
                }
                How::TextLength => {
                    let length = (given as *const c_int).read_unaligned();
                    let length = if length > 0 { length + 1 } else { 0 };
                    self.written[index].set(length.cast_unsigned().into());
                    written
                }
                How::Indices(_) => given,
                How::ErrorCodes if given == self.sentinels.error_codes_ignore => {
                    MPI_ERRCODES_IGNORE.addr()
                }
                How::ErrorCodes => given,
                How::Weights if given == self.sentinels.unweighted => self.fortran.c_unweighted,
                How::Weights if given == self.sentinels.weights_empty => {
                    self.fortran.c_weights_empty
                }
                How::Weights => given,
                How::Narrows(length) => {
                    let from = given as *const c_int;
                    let read = |at| i64::from(from.add(at).read_unaligned()).cast_unsigned();
                    let values = (0..self.length(length)).map(read).collect();
                    self.array(index, values)
                }
                How::Attribute if self.is_narrow() => {
                    (given as *const c_int).read_unaligned() as isize as usize
                }
                How::Attribute => (given as *const usize).read_unaligned(),
                How::AttributeOut => written,
            }
        })
    }

    fn last_bytes(&mut self) -> usize {
        self.bytes.last_mut().map_or(0, |(_, text)| text.as_mut_ptr().expose_provenance())
    }

    fn array(&mut self, parameter: usize, mut now: Vec<u64>) -> usize {
        let before = now.clone();
        let address = now.as_mut_ptr().expose_provenance();
        self.arrays.push(Array { parameter, now, before });
        address
    }

    fn keep_before(&mut self, index: usize) {
        let before = vec![self.written[index].get()];
        self.arrays.push(Array { parameter: index, now: Vec::new(), before });
    }

    /// # Safety
    /// `given` is the address of as many `INTEGER`s as `length` says, in a call as the MPI standard asks.
    unsafe fn handles(
        &mut self,
        index: usize,
        handle: Handle,
        length: Length,
        given: usize,
    ) -> usize {
        // SAFETY: each read needs an `INTEGER`, which a handle of Fortran is: the caller promises as many as `length`
        // says.
        let handles = unsafe {
            let from = given as *const c_int;
            let read = |at| handle.to_c(from.add(at).read_unaligned()) as u64;
            (0..self.length(length)).map(read).collect()
        };
        self.array(index, handles)
    }

    /// Statuses are the same bits in both languages, but C's may be aligned to more.
    ///
    /// # Safety
    /// `given` is the address of `length` statuses of Fortran, as many bytes as C's have.
    unsafe fn statuses(&mut self, index: usize, given: usize, length: usize) -> usize {
        if given.is_multiple_of(align_of::<MPI_Status>()) {
            return given;
        }
        let mut copy = vec![0_u64; (length * size_of::<MPI_Status>()).div_ceil(8)];
        // SAFETY: the caller promises as many statuses to read; the copy is new, and has at least as many bytes.
        unsafe {
            ptr::copy_nonoverlapping(
                given as *const u8,
                copy.as_mut_ptr().cast(),
                length * size_of::<MPI_Status>(),
            );
        }
        self.array(index, copy)
    }

    /// An array of C strings that ends with null.
    fn pointers(&mut self, index: usize, all: Vec<Vec<u8>>) -> usize {
        let mut pointers: Vec<u64> = Vec::with_capacity(all.len() + 1);
        for text in all {
            pointers.push(text.as_ptr().expose_provenance() as u64);
            self.bytes.push((index, text));
        }
        pointers.push(0);
        self.array(MOST, pointers)
    }
}
