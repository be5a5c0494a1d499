//! One call: Fortran's arguments to C's, and back what MPI has written.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr;
use std::sync::OnceLock;

use mpi_sys::{Abi, pmpi, prototypes::*};

use super::language::is_out;
use super::plan::{Handle, How, Length, MOST, Plan};
use super::process::{Fortran, Sentinels};
use super::values::{
    Descriptor, LONGEST_TEXT, contiguous, pack, pad, partners, stripped, texts, trimmed,
};
use super::{Entry, Form};
use crate::asking::UsedComm;
use crate::neighbours::find;

/// The arguments of a call, where the caller put them.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub(super) registers: *const usize,
    pub(super) stack: *const usize,
}

impl Arguments {
    /// # Safety
    /// `registers` points to six words, `stack` to those behind them, and the call has more than `index` arguments.
    pub(super) unsafe fn get(&self, index: usize) -> usize {
        // SAFETY: the caller promises so many arguments: the first six are in registers, and the others on the stack
        // in their order.
        unsafe { if index < 6 { *self.registers.add(index) } else { *self.stack.add(index - 6) } }
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
    /// What MPI writes that must be converted, by parameter.
    pub(super) written: [u64; MOST],
    /// Strings and arrays for C; each lives as long as the call.
    pub(super) bytes: Vec<(usize, Vec<u8>)>,
    pub(super) arrays: Vec<Array>,
    pub(super) is_root: Option<bool>,
}

/// An array for C, with what was in it before the call.
pub(super) struct Array {
    parameter: usize,
    now: Vec<u64>,
    before: Vec<u64>,
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
            written: [NOTHING; MOST],
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
        // they are a communicator and a root, both `INTEGER`s.
        let (comm, root) = unsafe { (self.comm(comm), self.int(root)) };
        let known = UsedComm::not_null(comm).is_some_and(|comm| comm.rank() == root);
        self.is_root = Some(known);
        known
    }

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
    pub(super) unsafe fn word(&mut self, index: usize, how: How, given: usize) -> Option<usize> {
        let written = (&raw mut self.written[index]).expose_provenance();
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
                    self.written[index] =
                        handle.to_c((given as *const c_int).read_unaligned()) as u64;
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
                    self.written[index] = length.cast_unsigned().into();
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

    /// Are attributes `INTEGER`s?
    pub(super) fn is_narrow(&self) -> bool {
        self.plan.old
    }

    pub(super) fn last_bytes(&mut self) -> usize {
        self.bytes.last_mut().map_or(0, |(_, text)| text.as_mut_ptr().expose_provenance())
    }

    pub(super) fn array(&mut self, parameter: usize, mut now: Vec<u64>) -> usize {
        let before = now.clone();
        let address = now.as_mut_ptr().expose_provenance();
        self.arrays.push(Array { parameter, now, before });
        address
    }

    pub(super) fn keep_before(&mut self, index: usize) {
        let before = vec![self.written[index]];
        self.arrays.push(Array { parameter: index, now: Vec::new(), before });
    }

    pub(super) fn array_of(&self, parameter: usize) -> Option<&Array> {
        self.arrays.iter().find(|array| array.parameter == parameter)
    }

    /// # Safety
    /// `given` is the address of as many `INTEGER`s as `length` says, in a call as the MPI standard asks.
    pub(super) unsafe fn handles(
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
    pub(super) unsafe fn statuses(&mut self, index: usize, given: usize, length: usize) -> usize {
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
    pub(super) fn pointers(&mut self, index: usize, all: Vec<Vec<u8>>) -> usize {
        let mut pointers: Vec<u64> = Vec::with_capacity(all.len() + 1);
        for text in all {
            pointers.push(text.as_ptr().expose_provenance() as u64);
            self.bytes.push((index, text));
        }
        pointers.push(0);
        self.array(MOST, pointers)
    }

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
            let written = self.written[index];
            let to = given as *mut c_int;
            // SAFETY: Fortran's variables, which MPI's own functions would write, too.
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
                    How::Indices(count) if low(self.written[count]) != low(NOTHING) => {
                        for at in 0..usize::try_from(low(self.written[count])).unwrap_or(0) {
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
    pub(super) fn first_index(&self) -> c_int {
        static FIRST: OnceLock<c_int> = OnceLock::new();
        if Abi::CURRENT != Abi::Mpich || self.entry.form == Form::Mpif {
            return 1;
        }
        *FIRST.get_or_init(|| {
            let own = find(libc::RTLD_DEFAULT, c"pmpir_waitany_f08_");
            // SAFETY: `first_of_one` wants MPICH's `MPI_Waitany` of `mpi_f08`, which the name is of in this ABI, and
            // an MPI that runs: MPI has just written an index for a call of the application.
            unsafe { if own.is_null() { 1 } else { first_of_one(own) } }
        })
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
                    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;
                transmute::<*const c_void, Short>(function)(a, b, c, d, e, f)
            } else {
                type Long = unsafe extern "C" fn(
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

/// The index that MPICH's own function gives for the only request.
///
/// # Safety
/// `wait_any` is MPICH's `MPI_Waitany` of `mpi_f08`, of that prototype. MPI is initialized and not finalized.
pub(super) unsafe fn first_of_one(wait_any: *mut c_void) -> c_int {
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

/// What C has written behind the compiler's back.
pub(super) fn read<T: Copy>(value: &T) -> T {
    // SAFETY: a reference is valid for reads of its type, which is `Copy`.
    unsafe { ptr::read_volatile(value) }
}

/// The `int` in a word that C was given the address of.
pub(super) fn low(word: u64) -> c_int {
    word as u32 as c_int
}
