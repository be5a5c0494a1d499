//! Calls of Fortran programs.
//!
//! A tool exports entry points for Fortran (`mpi_send_`, `mpi_send_f08_`). They convert the arguments
//! as the standard says and call the tool's own C function, so that layers know of C only. One
//! converter serves all functions: it goes by what the list says of each parameter.
//!
//! Callbacks and attributes are of a language: for the functions that take them, the end of the
//! stack calls MPI's own Fortran function, and the levels above see a C call all the same.

use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use std::ffi::CString;
use std::sync::OnceLock;

use mpi_sys::{Abi, language_bound_functions, pmpi, prototypes::*};

use crate::neighbours::find;
use crate::output::say;
use crate::{Direction, FunctionClass, FunctionId, MpiVersion, Parameter, ParameterKind};

/// How an entry point gets its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As `mpif.h` and the module `mpi` have it: addresses.
    Mpif,
    /// As the module `mpi_f08` has it: addresses; the error code is optional.
    F08,
    /// The same, but buffers are descriptors (`CFI_cdesc_t`).
    F08Descriptors,
    /// As C has it.
    Same,
}

/// One entry point of a tool.
pub struct Entry {
    function: FunctionId,
    form: Form,
    name: &'static CStr,
    target: Target,
    /// Where MPI's own function of this name is, once it has been looked for.
    next: AtomicPtr<c_void>,
}

/// The C function that an entry point calls.
#[derive(Clone, Copy)]
pub enum Target {
    Function(*const c_void),
    Slot(*const AtomicPtr<c_void>),
}

// SAFETY: the addresses are of functions and statics.
unsafe impl Sync for Entry {}

impl Entry {
    pub const fn new(
        function: FunctionId,
        form: Form,
        name: &'static CStr,
        target: Target,
    ) -> Self {
        Self { function, form, name, target, next: AtomicPtr::new(ptr::null_mut()) }
    }

    fn target(&self) -> *const c_void {
        match self.target {
            Target::Function(function) => function,
            // SAFETY: a slot of a static table.
            Target::Slot(slot) => unsafe { (*slot).load(Relaxed) },
        }
    }

    /// MPI's own function, or the next tool's.
    fn next(&self) -> *mut c_void {
        let mut next = self.next.load(Relaxed);
        if next.is_null() {
            next = find(libc::RTLD_NEXT, self.name);
            if next.is_null() {
                next = crate::neighbours::find_in_fortran_library(self.name);
            }
            self.next.store(next, Relaxed);
        }
        next
    }

    /// The function of MPI's Fortran library that no tool sees.
    fn bottom(&self) -> *mut c_void {
        let name = self.name.to_str().unwrap_or("");
        let hidden = match Abi::CURRENT {
            Abi::Mpich if self.form != Form::Mpif => name.replacen("mpi_", "pmpir_", 1),
            _ if name.starts_with('M') => format!("P{name}"),
            _ => format!("p{name}"),
        };
        let found =
            CString::new(hidden).map_or(ptr::null_mut(), |name| find(libc::RTLD_DEFAULT, &name));
        if found.is_null() { self.next() } else { found }
    }
}

/// Where a call of Fortran goes on: a function to jump to, or null and what to return.
#[repr(C)]
pub struct Outcome {
    next: *const c_void,
    result: usize,
}

/// What all entry points jump to, with the [`Entry`] in `r11`: saves the registers that arguments
/// are in and calls [`convert`]. Where that says so, it jumps on as if nothing had been.
///
/// # Safety
/// Entry points jump here, nothing else.
#[unsafe(naked)]
pub unsafe extern "C" fn call() {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 48",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov rdi, rsp",
        "lea rsi, [rbp + 16]",
        "mov rdx, r11",
        "call {convert}",
        "test rax, rax",
        "jne 2f",
        "mov rax, rdx",
        "leave",
        "ret",
        "2:",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "leave",
        "jmp r11",
        convert = sym convert,
    )
}

/// The arguments of a call, where the caller put them.
#[derive(Clone, Copy)]
struct Arguments {
    registers: *const usize,
    stack: *const usize,
}

impl Arguments {
    /// # Safety
    /// The caller has passed that many.
    unsafe fn get(&self, index: usize) -> usize {
        // SAFETY: as said; six are in registers.
        unsafe { if index < 6 { *self.registers.add(index) } else { *self.stack.add(index - 6) } }
    }
}

/// Most words that a call has, in either language.
const MOST: usize = 24;

/// A class of handles, with the functions that convert them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Handle {
    to_c: FunctionId,
    to_fortran: FunctionId,
    /// The same integer in both languages.
    same: bool,
}

impl Handle {
    fn of(rust_type: &str) -> Option<Self> {
        let name = rust_type.trim_start_matches("*const ").trim_start_matches("*mut ");
        let name = if name == "MPI_Datatype" { "MPI_Type" } else { name };
        Some(Self {
            to_c: format!("{name}_f2c").parse().ok()?,
            to_fortran: format!("{name}_c2f").parse().ok()?,
            same: Abi::CURRENT == Abi::Mpich && name != "MPI_File",
        })
        .filter(|_| name != "MPI_Status")
    }

    fn to_c(self, handle: MPI_Fint) -> usize {
        match pmpi::address(self.to_c as usize).filter(|_| !self.same) {
            // SAFETY: a conversion of this ABI, where such handles are addresses.
            Some(function) => unsafe {
                transmute::<*mut c_void, extern "C" fn(MPI_Fint) -> usize>(function.as_ptr())(
                    handle,
                )
            },
            None => handle.cast_unsigned() as usize,
        }
    }

    fn to_fortran(self, handle: usize) -> MPI_Fint {
        match pmpi::address(self.to_fortran as usize).filter(|_| !self.same) {
            // SAFETY: as above.
            Some(function) => unsafe {
                transmute::<*mut c_void, extern "C" fn(usize) -> MPI_Fint>(function.as_ptr())(
                    handle,
                )
            },
            None => handle as MPI_Fint,
        }
    }
}

/// How long an array is.
#[derive(Clone, Copy)]
enum Length {
    /// As this parameter says.
    Parameter(usize),
    /// A datatype for each process that data goes to, or comes from.
    Targets,
    Sources,
    /// The dimensions of the communicator's Cartesian topology.
    Dimensions,
}

/// How a parameter is converted.
#[derive(Clone, Copy)]
enum How {
    /// C has it, Fortran has not.
    Absent,
    /// An address in both.
    Address,
    Int,
    Long,
    Buffer,
    /// The address of memory, which only `mpi_f08` gets.
    Memory,
    Handle(Handle),
    HandleOut(Handle),
    HandleInOut(Handle),
    Handles(Handle, Length),
    HandlesOut(Handle, Length),
    HandlesInOut(Handle, Length),
    Status,
    Statuses(Length),
    Logical,
    LogicalOut,
    Logicals(Length),
    LogicalsOut(Length),
    Text,
    TextOut(Option<usize>),
    /// `argv`: strings up to a blank one.
    Texts,
    /// So many strings.
    Commands(Length),
    /// So many `argv`.
    TextsOfCommands(Length),
    /// The length of a text, which in C counts the NUL.
    TextLength,
    IndexOut,
    IndexCount,
    Indices(usize),
    ErrorCodes,
    Weights,
    /// An address that an old function has in an `INTEGER`.
    NarrowOut,
    Narrows(Length),
    Attribute,
    AttributeOut,
}

/// How the calls of a function are converted.
struct Plan {
    hows: Vec<How>,
    /// The arguments of Fortran, without error code and lengths of strings.
    fortran: usize,
    has_error: bool,
    strings: usize,
    /// Of callbacks or attributes.
    language_bound: bool,
    /// The parameters `root` and `comm`, where strings or arrays are significant at the root only.
    root: Option<(usize, usize)>,
    comm: Option<usize>,
    comm_handle: Option<Handle>,
    /// A narrow address in an attribute, of the functions that MPI-2 replaced.
    old: bool,
}

impl Plan {
    fn new(function: FunctionId) -> Self {
        let parameters = function.parameters();
        let old = function.first_version() < MpiVersion { major: 2, minor: 0 };
        let position = |name: &str| parameters.iter().position(|parameter| parameter.name == name);
        let hows: Vec<How> =
            parameters.iter().map(|parameter| how(function, parameter, old, &position)).collect();
        let absent = hows.iter().filter(|how| matches!(how, How::Absent)).count();
        let strings = hows.iter().filter(|how| how.is_text()).count();
        let converts_at_root = parameters.iter().zip(&hows).any(|(parameter, how)| {
            parameter.root_only
                && (how.is_text() || matches!(how, How::Handles(..) | How::ErrorCodes))
        });
        let comm = parameters.iter().position(|parameter| parameter.rust_type == "MPI_Comm");
        Self {
            fortran: hows.len() - absent,
            has_error: function.description().result == "c_int"
                && function != FunctionId::MPI_Pcontrol,
            strings,
            language_bound: bottom(function).is_some(),
            root: position("root").zip(comm).filter(|_| converts_at_root),
            comm,
            comm_handle: Handle::of("MPI_Comm"),
            old,
            hows,
        }
    }

    /// All that Fortran passes.
    fn words(&self) -> usize {
        self.fortran + usize::from(self.has_error) + self.strings
    }
}

impl How {
    fn is_text(self) -> bool {
        matches!(
            self,
            How::Text | How::TextOut(_) | How::Texts | How::Commands(_) | How::TextsOfCommands(_)
        )
    }
}

fn how(
    function: FunctionId,
    parameter: &Parameter,
    old: bool,
    position: &dyn Fn(&str) -> Option<usize>,
) -> How {
    use ParameterKind as Kind;
    let Parameter { kind, direction, .. } = *parameter;
    // The compiler may write a blank behind a star.
    let rust_type = parameter.rust_type.replace("* ", "*");
    let rust_type = rust_type.as_str();
    let is_in = rust_type.starts_with("*const");
    let is_pointer = rust_type.starts_with('*');
    let is_out = is_pointer && direction == Direction::Out;
    let is_array = parameter.name.starts_with("array_of_");
    let length = parameter.length.and_then(position).map(Length::Parameter);
    let count = || position("count").or_else(|| position("incount")).map(Length::Parameter);
    if let Some(handle) = Handle::of(rust_type) {
        let length = length.or_else(|| match parameter.name {
            "sendtypes" => Some(Length::Targets),
            "recvtypes" => Some(Length::Sources),
            _ if is_array => count(),
            _ => None,
        });
        return match length.filter(|_| is_pointer) {
            _ if handle.same => {
                if is_pointer {
                    How::Address
                } else {
                    How::Int
                }
            }
            Some(length) if is_in => How::Handles(handle, length),
            Some(length) if is_out => How::HandlesOut(handle, length),
            Some(length) => How::HandlesInOut(handle, length),
            None if !is_pointer => How::Handle(handle),
            None if is_out => How::HandleOut(handle),
            None => How::HandleInOut(handle),
        };
    }
    match kind {
        Kind::ArgumentCount | Kind::ArgumentList => How::Absent,
        Kind::AttributeVal if direction == Direction::In => How::Attribute,
        Kind::AttributeVal => How::AttributeOut,
        Kind::Buffer => How::Buffer,
        Kind::CBuffer if function.class() == FunctionClass::Buffering => How::Memory,
        Kind::Status if is_array => match count() {
            Some(length) => How::Statuses(length),
            None => How::Address,
        },
        Kind::Status => How::Status,
        Kind::Logical => match (is_pointer, is_in, length) {
            (false, ..) => How::Logical,
            (_, true, length) => How::Logicals(length.unwrap_or(Length::Dimensions)),
            (_, _, Some(length)) => How::LogicalsOut(length),
            (_, _, None) => How::LogicalOut,
        },
        Kind::String if is_in => How::Text,
        Kind::String => {
            let known = ["valuelen", "buflen", "pset_len"];
            How::TextOut(known.iter().find_map(|name| position(name)))
        }
        Kind::StringArray if is_array => match count() {
            Some(length) => How::Commands(length),
            None => How::Texts,
        },
        Kind::StringArray => How::Texts,
        Kind::String2darray => match count() {
            Some(length) => How::TextsOfCommands(length),
            None => How::Address,
        },
        Kind::InfoValueLength if is_pointer && direction == Direction::InOut => How::TextLength,
        Kind::Index if is_out && function.class() == FunctionClass::Completion => {
            match position("outcount") {
                Some(outcount) if is_array => How::Indices(outcount),
                _ => How::IndexOut,
            }
        }
        _ if parameter.name == "outcount" && position("array_of_indices").is_some() => {
            How::IndexCount
        }
        Kind::ErrorCode if is_array => How::ErrorCodes,
        Kind::Weight => How::Weights,
        _ if old && rust_type == "*mut MPI_Aint" => How::NarrowOut,
        _ if old && rust_type == "*const MPI_Aint" => match length {
            Some(length) => How::Narrows(length),
            None => How::Address,
        },
        _ if rust_type == "c_int" || old && rust_type == "MPI_Aint" => How::Int,
        _ if ["MPI_Aint", "MPI_Count", "MPI_Offset"].contains(&rust_type) => How::Long,
        // Also functions, which Fortran passes as their addresses.
        _ => How::Address,
    }
}

/// The addresses that stand for something, as Fortran has them; 0 where it has none.
#[derive(Clone, Copy, Default)]
struct Sentinels {
    bottom: usize,
    in_place: usize,
    status_ignore: usize,
    statuses_ignore: usize,
    error_codes_ignore: usize,
    argv_null: usize,
    argvs_null: usize,
    unweighted: usize,
    weights_empty: usize,
}

/// What conversion needs to know of the process.
struct Fortran {
    plans: Vec<Plan>,
    mpif: Sentinels,
    f08: Sentinels,
    /// The weights that C has for these.
    c_unweighted: usize,
    c_weights_empty: usize,
}

fn symbol(name: &CStr) -> usize {
    find(libc::RTLD_DEFAULT, name).addr()
}

/// What a symbol's pointer points to.
fn pointer(name: &CStr) -> usize {
    let address = find(libc::RTLD_DEFAULT, name).cast::<usize>();
    // SAFETY: MPI's variable of this name, a pointer.
    unsafe { address.as_ref() }.map_or(0, |pointer| *pointer)
}

impl Fortran {
    /// `None` if this process's MPI is of another ABI, or its Fortran library out of reach.
    fn new() -> Option<Self> {
        let plans = || FunctionId::all().map(Plan::new).collect();
        match Abi::CURRENT {
            Abi::OpenMpi => {
                let of = |what: &str| {
                    let all = [
                        format!("mpi_fortran_{what}_"),
                        format!("mpi_fortran_{what}"),
                        format!("mpi_fortran_{what}__"),
                        format!("MPI_FORTRAN_{}", what.to_uppercase()),
                    ];
                    let all = all.into_iter().filter_map(|name| CString::new(name).ok());
                    all.map(|name| symbol(&name)).find(|address| *address != 0).unwrap_or(0)
                };
                let sentinels = Sentinels {
                    bottom: of("bottom"),
                    in_place: of("in_place"),
                    status_ignore: of("status_ignore"),
                    statuses_ignore: of("statuses_ignore"),
                    error_codes_ignore: of("errcodes_ignore"),
                    argv_null: of("argv_null"),
                    argvs_null: of("argvs_null"),
                    unweighted: of("unweighted"),
                    weights_empty: of("weights_empty"),
                };
                // `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` of its mpi.h.
                (sentinels.bottom != 0).then(|| Self {
                    plans: plans(),
                    mpif: sentinels,
                    f08: sentinels,
                    c_unweighted: 2,
                    c_weights_empty: 3,
                })
            }
            Abi::Mpich => {
                initialize_mpich();
                let module = |what: &str| {
                    let name = format!("__mpi_f08_link_constants_MOD_mpi_{what}");
                    CString::new(name).map_or(0, |name| symbol(&name))
                };
                let f08 = Sentinels {
                    bottom: symbol(c"MPIR_F08_MPI_BOTTOM"),
                    in_place: symbol(c"MPIR_F08_MPI_IN_PLACE"),
                    status_ignore: symbol(c"MPIR_F08_MPI_STATUS_IGNORE_OBJ"),
                    statuses_ignore: symbol(c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ"),
                    error_codes_ignore: module("errcodes_ignore"),
                    argv_null: module("argv_null"),
                    argvs_null: module("argvs_null"),
                    unweighted: module("unweighted"),
                    weights_empty: module("weights_empty"),
                };
                let mpif = Sentinels {
                    bottom: pointer(c"MPIR_F_MPI_BOTTOM"),
                    status_ignore: pointer(c"MPI_F_STATUS_IGNORE"),
                    statuses_ignore: pointer(c"MPI_F_STATUSES_IGNORE"),
                    ..Sentinels::default()
                };
                (mpif.status_ignore != 0 && f08.argv_null != 0).then(|| Self {
                    plans: plans(),
                    mpif,
                    f08,
                    c_unweighted: pointer(c"MPI_UNWEIGHTED"),
                    c_weights_empty: pointer(c"MPI_WEIGHTS_EMPTY"),
                })
            }
            Abi::Standard => None,
        }
    }

    fn get() -> Option<&'static Self> {
        static FORTRAN: OnceLock<Option<Fortran>> = OnceLock::new();
        FORTRAN
            .get_or_init(|| {
                let fortran = Fortran::new();
                // SAFETY: always allowed; the messages of failed look-ups are not the application's.
                unsafe { libc::dlerror() };
                fortran
            })
            .as_ref()
    }
}

/// Has MPICH find its constants, as its own functions do at the first call of Fortran.
fn initialize_mpich() {
    let needed = find(libc::RTLD_DEFAULT, c"MPIR_F_NeedInit").cast::<c_int>();
    let initialize = find(libc::RTLD_DEFAULT, c"mpirinitf_");
    if needed.is_null() || initialize.is_null() {
        return;
    }
    // SAFETY: MPICH's flag and function of these names.
    unsafe {
        if *needed != 0 {
            transmute::<*mut c_void, extern "C" fn()>(initialize)();
            *needed = 0;
        }
    }
}

/// A call on its way to C and back.
struct Conversion<'a> {
    fortran: &'a Fortran,
    plan: &'a Plan,
    sentinels: Sentinels,
    entry: &'static Entry,
    /// What Fortran passes.
    given: [usize; MOST],
    /// What C gets.
    words: [usize; MOST],
    /// What MPI writes that must be converted, by parameter.
    written: [u64; MOST],
    /// Strings and arrays for C; each lives as long as the call.
    bytes: Vec<(usize, Vec<u8>)>,
    arrays: Vec<Array>,
    is_root: Option<bool>,
}

/// An array for C, with what was in it before the call.
struct Array {
    parameter: usize,
    now: Vec<u64>,
    before: Vec<u64>,
}

/// What `written` holds where MPI has written nothing: no handle, index or count.
const NOTHING: u64 = 0x8000_0001_8000_0001;

impl<'a> Conversion<'a> {
    /// # Safety
    /// These are the arguments of a call of the entry.
    unsafe fn new(
        fortran: &'a Fortran,
        entry: &'static Entry,
        arguments: Arguments,
    ) -> Conversion<'a> {
        let plan = &fortran.plans[entry.function as usize];
        let mut given = [0; MOST];
        for (index, word) in given.iter_mut().enumerate().take(plan.words()) {
            // SAFETY: the caller has passed as many.
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
    /// It is one.
    unsafe fn int(&self, parameter: usize) -> c_int {
        // SAFETY: Fortran passes addresses; what it declares may be aligned to less.
        unsafe { (self.argument(parameter) as *const c_int).read_unaligned() }
    }

    /// What Fortran passes for a parameter.
    fn argument(&self, parameter: usize) -> usize {
        let absent = self.plan.hows[..parameter].iter().filter(|how| matches!(how, How::Absent));
        self.given[parameter - absent.count()]
    }

    fn error(&self) -> *mut c_int {
        if self.plan.has_error {
            self.given[self.plan.fortran] as *mut c_int
        } else {
            ptr::null_mut()
        }
    }

    /// The length that belongs to a `CHARACTER` argument.
    fn text_length(&self, parameter: usize) -> usize {
        let before = self.plan.hows[..parameter].iter().filter(|how| how.is_text()).count();
        let first = self.plan.fortran + usize::from(self.plan.has_error);
        // Some compilers pass an `int`.
        self.given[first + before] as u32 as usize
    }

    /// # Safety
    /// As for the call.
    unsafe fn comm(&self, parameter: usize) -> MPI_Comm {
        // SAFETY: a communicator of Fortran, and a handle of C in as many bytes as those have.
        unsafe {
            let own = self.int(parameter);
            let word = self.plan.comm_handle.map_or(own as usize, |handle| handle.to_c(own));
            core::mem::transmute_copy::<usize, MPI_Comm>(&word)
        }
    }

    /// # Safety
    /// As for the call.
    unsafe fn length(&self, length: Length) -> usize {
        // SAFETY: as the caller says.
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
    /// As for the call.
    unsafe fn at_root(&mut self) -> bool {
        let Some((root, comm)) = self.plan.root else { return true };
        if let Some(known) = self.is_root {
            return known;
        }
        let mut rank = -1;
        // SAFETY: a communicator of Fortran; MPI checks it.
        let known = unsafe {
            pmpi::MPI_Comm_rank(self.comm(comm), &mut rank) == MPI_SUCCESS && rank == self.int(root)
        };
        self.is_root = Some(known);
        known
    }

    /// Makes C's arguments. False if that cannot be done: the call must go to MPI as it came.
    ///
    /// # Safety
    /// As for the call.
    unsafe fn convert(&mut self) -> bool {
        let parameters = self.entry.function.parameters();
        let mut next = 0;
        for (index, parameter) in parameters.iter().enumerate() {
            let how = self.plan.hows[index];
            if matches!(how, How::Absent) {
                continue;
            }
            let given = self.given[next];
            next += 1;
            // SAFETY: Fortran's arguments are as the function's interface says.
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
    /// As for the call.
    unsafe fn word(&mut self, index: usize, how: How, given: usize) -> Option<usize> {
        let written = (&raw mut self.written[index]).expose_provenance();
        // SAFETY: as the caller says.
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
                    let text = trimmed(given, self.text_length(index));
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
    fn is_narrow(&self) -> bool {
        self.plan.old
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
        let before = vec![self.written[index]];
        self.arrays.push(Array { parameter: index, now: Vec::new(), before });
    }

    fn array_of(&self, parameter: usize) -> Option<&Array> {
        self.arrays.iter().find(|array| array.parameter == parameter)
    }

    /// # Safety
    /// As for the call.
    unsafe fn handles(
        &mut self,
        index: usize,
        handle: Handle,
        length: Length,
        given: usize,
    ) -> usize {
        // SAFETY: as many handles of Fortran.
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
    /// As for the call.
    unsafe fn statuses(&mut self, index: usize, given: usize, length: usize) -> usize {
        if given.is_multiple_of(align_of::<MPI_Status>()) {
            return given;
        }
        let mut copy = vec![0_u64; (length * size_of::<MPI_Status>()).div_ceil(8)];
        // SAFETY: as many statuses.
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

    /// Gives Fortran what MPI has written.
    ///
    /// # Safety
    /// As for the call; MPI has returned.
    unsafe fn to_fortran(&self, result: c_int) {
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
                        let length = self.length(length);
                        let Some(array) = self.array_of(index) else { continue };
                        let from = array.now.as_ptr().cast::<c_int>();
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
    fn first_index(&self) -> c_int {
        static FIRST: OnceLock<c_int> = OnceLock::new();
        if Abi::CURRENT != Abi::Mpich || self.entry.form == Form::Mpif {
            return 1;
        }
        *FIRST.get_or_init(|| {
            let own = find(libc::RTLD_DEFAULT, c"pmpir_waitany_f08_");
            // SAFETY: MPICH's function, given a request that is complete, which no tool sees.
            unsafe { if own.is_null() { 1 } else { first_of_one(own) } }
        })
    }

    /// Calls a function with the first words of an array.
    ///
    /// # Safety
    /// They are its arguments.
    unsafe fn call(function: *const c_void, words: &[usize; MOST], count: usize) -> usize {
        // SAFETY: as said. A function takes no harm of more arguments than it has.
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
/// It is MPICH's `MPI_Waitany` of `mpi_f08`; MPI is initialized.
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
    // SAFETY: as said.
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
fn read<T: Copy>(value: &T) -> T {
    // SAFETY: a reference.
    unsafe { ptr::read_volatile(value) }
}

/// The `int` in a word that C was given the address of.
fn low(word: u64) -> c_int {
    word as u32 as c_int
}

fn pack(values: &[c_int]) -> Vec<u64> {
    let pair = |pair: &[c_int]| {
        let word = |at: usize| u64::from(pair.get(at).map_or(0, |value| value.cast_unsigned()));
        word(0) | word(1) << 32
    };
    values.chunks(2).map(pair).collect()
}

/// `MPI_MAX_LIBRARY_VERSION_STRING`, the longest of the constants, and an info value's, which MPI
/// does not bound by what the application says.
const LONGEST_TEXT: usize = {
    let (version, value) = (MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_INFO_VAL);
    (if version > value { version } else { value }) as usize
};

/// A `CHARACTER` as a C string: without the blanks behind it, and those before it where MPI's own
/// conversion strips them.
///
/// # Safety
/// There are as many characters.
unsafe fn trimmed(from: usize, length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 1);
    let first = ptr::with_exposed_provenance::<u8>(from);
    // SAFETY: as said; a `CHARACTER` of length 0 has any address.
    text.extend((0..length).map(|at| unsafe { first.add(at).read() }));
    while text.last() == Some(&b' ') {
        text.pop();
    }
    if Abi::CURRENT == Abi::OpenMpi {
        let leading = text.iter().take_while(|byte| **byte == b' ').count();
        text.drain(..leading);
    }
    text.push(0);
    text
}

/// The strings up to the first blank one.
///
/// # Safety
/// There are such, at this distance.
unsafe fn texts(from: usize, length: usize, distance: usize) -> Vec<Vec<u8>> {
    // SAFETY: as said.
    let each = (0..).map(|at| unsafe { trimmed(from + at * distance, length) });
    each.take_while(|text| text.len() > 1).collect()
}

/// Writes a C string as a `CHARACTER`, cut or with blanks.
///
/// # Safety
/// There is room for as many characters.
unsafe fn pad(text: &[u8], to: *mut u8, length: usize) {
    let mut ended = false;
    for at in 0..length {
        let byte = text.get(at).map_or(0, read);
        ended |= byte == 0;
        // SAFETY: as said.
        unsafe { to.add(at).write(if ended { b' ' } else { byte }) };
    }
}

/// How many processes data goes to or comes from, or how many dimensions there are.
///
/// # Safety
/// MPI checks the communicator.
unsafe fn partners(comm: MPI_Comm, what: Length, function: FunctionId) -> c_int {
    let (mut topology, mut first, mut second, mut third) = (0, 0, 0, 0);
    // SAFETY: as said; these functions are in every MPI.
    unsafe {
        if matches!(what, Length::Dimensions) {
            pmpi::MPI_Cartdim_get(comm, &mut first);
            return first;
        }
        if function.class() != FunctionClass::Neighborhood {
            pmpi::MPI_Comm_test_inter(comm, &mut topology);
            if topology != 0 {
                pmpi::MPI_Comm_remote_size(comm, &mut first);
            } else {
                pmpi::MPI_Comm_size(comm, &mut first);
            }
            return first;
        }
        pmpi::MPI_Topo_test(comm, &mut topology);
        match topology {
            MPI_CART => {
                pmpi::MPI_Cartdim_get(comm, &mut first);
                2 * first
            }
            MPI_GRAPH => {
                pmpi::MPI_Comm_rank(comm, &mut first);
                pmpi::MPI_Graph_neighbors_count(comm, first, &mut second);
                second
            }
            MPI_DIST_GRAPH => {
                pmpi::MPI_Dist_graph_neighbors_count(comm, &mut first, &mut second, &mut third);
                if matches!(what, Length::Sources) { first } else { second }
            }
            _ => 0,
        }
    }
}

/// The beginning of a `CFI_cdesc_t`, as GNU Fortran has it.
#[repr(C)]
struct Descriptor {
    base: usize,
    element: usize,
    version: c_int,
    rank: i8,
    attribute: i8,
    kind: i16,
}

/// The address of what a descriptor describes, if it lies in one piece.
///
/// # Safety
/// It is a descriptor.
unsafe fn contiguous(descriptor: *const Descriptor) -> Option<usize> {
    #[repr(C)]
    struct Dimension {
        lower: isize,
        extent: isize,
        stride: isize,
    }
    // SAFETY: as said; as many dimensions follow as its rank says.
    unsafe {
        let Descriptor { base, element, rank, .. } = *descriptor;
        let dimensions = descriptor.add(1).cast::<Dimension>();
        let mut stride = element.cast_signed();
        for at in 0..usize::try_from(rank).ok()? {
            let dimension = &*dimensions.add(at);
            if dimension.extent != 1 && dimension.stride != stride {
                return None;
            }
            // An array of assumed size ends the description.
            stride = stride.checked_mul(dimension.extent)?;
        }
        Some(base)
    }
}

/// Converts a call and makes it.
///
/// # Safety
/// The arguments are of a call of the entry.
unsafe extern "C" fn convert(
    registers: *const usize,
    stack: *const usize,
    entry: &'static Entry,
) -> Outcome {
    let arguments = Arguments { registers, stack };
    let Some(fortran) = Fortran::get() else { return pass_on(entry) };
    // SAFETY: as the caller says.
    unsafe {
        let mut conversion = Conversion::new(fortran, entry, arguments);
        if !conversion.convert() {
            return Outcome { next: entry.next(), result: 0 };
        }
        let count = conversion.plan.hows.len();
        let result = if conversion.plan.language_bound {
            by_language(&mut conversion, count) as usize
        } else {
            let words = conversion.words;
            let result = Conversion::call(entry.target(), &words, count);
            if conversion.plan.has_error {
                conversion.to_fortran(result as c_int);
            }
            result
        };
        let error = conversion.error();
        if !error.is_null() {
            error.write_unaligned(result as c_int);
        }
        Outcome { next: ptr::null(), result }
    }
}

/// Calls of Fortran go to MPI unseen.
#[cold]
fn pass_on(entry: &'static Entry) -> Outcome {
    static SAID: AtomicBool = AtomicBool::new(false);
    let next = entry.next();
    // Without MPI it is somebody else's function of this name.
    if pmpi::available(FunctionId::MPI_Init as usize) && !SAID.swap(true, Relaxed) {
        say(format_args!(
            "mpi-tool: the MPI of this program has another ABI than the tool was built for, or its \
             Fortran library was loaded privately: calls of Fortran go to MPI unseen"
        ));
    }
    if next.is_null() {
        say(format_args!(
            "mpi-tool: {} is not in any library of this process; aborting",
            entry.name.to_string_lossy()
        ));
        std::process::abort();
    }
    Outcome { next, result: 0 }
}

/// A call of Fortran on its way down the stack, whose end calls MPI's Fortran function.
#[repr(C)]
pub struct Pending {
    function: u32,
    run: unsafe extern "C" fn(pending: *const Pending, words: *const usize) -> c_int,
    conversion: *const c_void,
    result: Cell<c_int>,
    done: Cell<bool>,
}

/// The thread's pending call: what a tool exports a function for, as `mpi_tool_fortran`. The tools
/// of a process use the first one's.
pub type Slot = extern "C" fn() -> *const Cell<*const Pending>;

/// This tool's.
pub extern "C" fn slot() -> *const Cell<*const Pending> {
    std::thread_local! {
        static PENDING: Cell<*const Pending> = const { Cell::new(ptr::null()) };
    }
    PENDING.with(ptr::from_ref)
}

fn pending() -> &'static Cell<*const Pending> {
    static FIRST: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    let mut first = FIRST.load(Acquire);
    if first.is_null() {
        let exported = find(libc::RTLD_DEFAULT, c"mpi_tool_fortran").cast::<*mut c_void>();
        // SAFETY: the symbol is this framework's: a pointer that is never written.
        first = unsafe { exported.as_ref() }.map_or(slot as *mut c_void, |slot| *slot);
        FIRST.store(first, Release);
    }
    // SAFETY: a `Slot`; the thread's own, and not kept.
    unsafe { &*transmute::<*mut c_void, Slot>(first)() }
}

/// Makes a call whose callbacks or attributes are Fortran's.
///
/// # Safety
/// As for the call.
unsafe fn by_language(conversion: &mut Conversion<'_>, count: usize) -> c_int {
    let call = Pending {
        function: conversion.entry.function as u32,
        run,
        conversion: ptr::from_mut(conversion).cast(),
        result: Cell::new(MPI_SUCCESS),
        done: Cell::new(false),
    };
    let slot = pending();
    let outer = slot.replace(&call);
    // SAFETY: as said.
    let result = unsafe {
        let words = conversion.words;
        Conversion::call(conversion.entry.target(), &words, count) as c_int
    };
    slot.set(outer);
    if call.done.get() {
        return result;
    }
    // A tool at the end of the stack called PMPI_* itself.
    // SAFETY: as said.
    unsafe { run(&call, ptr::null()) }
}

/// Calls MPI's Fortran function, and gives C what it has written, where `words` says.
///
/// # Safety
/// The call is on this thread's stack, below.
unsafe extern "C" fn run(pending: *const Pending, words: *const usize) -> c_int {
    // SAFETY: as said; `by_language` has put the conversion there, and waits.
    unsafe {
        let pending = &*pending;
        pending.done.set(true);
        let conversion = &*pending.conversion.cast::<Conversion<'_>>();
        let plan = conversion.plan;
        let mut result = MPI_SUCCESS;
        let mut given = conversion.given;
        given[plan.fortran] = (&raw mut result).expose_provenance();
        Conversion::call(conversion.entry.bottom(), &given, plan.words());
        let result = read(&result);
        pending.result.set(result);
        if words.is_null() || result != MPI_SUCCESS {
            return result;
        }
        let mut next = 0;
        for (index, how) in plan.hows.iter().enumerate() {
            if matches!(how, How::Absent) {
                continue;
            }
            let from = conversion.given[next] as *const c_int;
            next += 1;
            let to = *words.add(index);
            match how {
                How::HandleOut(handle) => {
                    *(to as *mut usize) = handle.to_c(from.read_unaligned());
                }
                How::LogicalOut => *(to as *mut c_int) = c_int::from(from.read_unaligned() != 0),
                How::AttributeOut if conversion.is_narrow() => {
                    *(to as *mut isize) = from.read_unaligned() as isize;
                }
                How::AttributeOut => {
                    *(to as *mut usize) = from.cast::<usize>().read_unaligned();
                }
                // A tool in between has its own place for it.
                How::Address if to != from.addr() && is_out(conversion.entry.function, index) => {
                    *(to as *mut c_int) = from.read_unaligned();
                }
                _ => {}
            }
        }
        result
    }
}

/// Is it something that MPI writes, an `int` or what is one?
fn is_out(function: FunctionId, index: usize) -> bool {
    let parameter = &function.parameters()[index];
    parameter.direction != Direction::In && parameter.rust_type.contains("mut ")
}

/// The end of the stack for a function with callbacks or attributes.
///
/// # Safety
/// As for the call.
unsafe fn end(function: FunctionId, words: &[usize; 6]) -> usize {
    let slot = pending();
    // SAFETY: as the caller says; what is in the slot waits for this.
    unsafe {
        if let Some(call) = slot.get().as_ref()
            && call.function == function as u32
        {
            // What it calls back is no part of this call.
            slot.set(ptr::null());
            let result = (call.run)(call, words.as_ptr());
            return result as usize;
        }
        let Some(library) = pmpi::address(function as usize) else {
            return MPI_ERR_UNSUPPORTED_OPERATION as usize;
        };
        let [a, b, c, d, e, f] = *words;
        type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;
        transmute::<*mut c_void, Function>(library.as_ptr())(a, b, c, d, e, f)
    }
}

macro_rules! ends {
    ([] $($c_name:ident $name:ident;)*) => {
        /// What is at the end of the stack in the library's place, for functions with callbacks or
        /// attributes.
        pub(crate) fn bottom(function: FunctionId) -> Option<*const c_void> {
            match function {
                $(FunctionId::$c_name => {
                    unsafe extern "C" fn $name(
                        a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
                    ) -> usize {
                        // SAFETY: the caller's own call.
                        unsafe { end(FunctionId::$c_name, &[a, b, c, d, e, f]) }
                    }
                    Some($name as *const c_void)
                })*
                _ => None,
            }
        }
    };
}
language_bound_functions! { [ends] }
