//! A tool as a level of this framework's `libqmpi.so`: a [`StackTool`] has the address of a body for each
//! function, and a way to make instances of the layer. The other stacks' calls end in the same bodies.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use mpi_sys::{mpi_functions, *};

use crate::arch;
use crate::host::level::{Level, LevelRequest};
use crate::host::lifecycle::{Lifecycle, if_watched};
use crate::host::neighbours::ToolInfo;
use crate::host::options;
use crate::table::NO_FUNCTIONS;
use crate::{FunctionId, NextFunctions, NextTable, RawMpiInterceptionLayer, Tool, UnsafeBox};

/// The version of the layouts and of the calling convention below, and of `ToolInfo`, which each level has. A
/// `libqmpi.so` takes only its own.
pub const VERSION: u32 = 3;

// SAFETY: threads share the pointers, which are constant: of code, and of an instance of a layer, which is `Sync`.
unsafe impl Sync for Place {}

/// A function's address in a constant table.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Address(pub *const c_void);

// SAFETY: threads share an address of code or of a string, which is never written and the same for all of them.
unsafe impl Sync for Address {}
// SAFETY: as for `Sync`; an address owns nothing.
unsafe impl Send for Address {}

/// A tool as `libqmpi.so` sees it: the exported `mpi_tool_stack`.
#[repr(C)]
pub struct StackTool {
    /// [`VERSION`]
    pub version: u32,
    /// [`abi_number`] of the MPI that the tool was built for.
    pub abi: u32,
    /// [`list_fingerprint`]: functions have the same numbers in both.
    pub functions: u64,
    /// The tool's name.
    pub name: *const c_char,
    /// For each function the layer's, or null. See [`Place`] for how it is called.
    pub entries: *const Address,
    /// The same for what the tool itself watches, with a [`Level`] for an instance.
    pub lifecycle: *const Address,
    /// Tells the tool that it is not preloaded here: that it sees no call is no news.
    pub silence: extern "C" fn(),
    /// Makes an instance, which lives as long as the process.
    pub create: unsafe extern "C" fn(request: *const Request) -> Created,
    /// Why a [`Request`] cannot have an option of this name, in lower case: a C string that stays; null if it can.
    pub option_refusal: unsafe extern "C" fn(name: *const c_char) -> *const c_char,
    /// How many bytes an instance has.
    pub instance_size: usize,
}

// SAFETY: threads share the pointers, which are to constants: a string and two tables of the tool. The functions may
// be called by any thread.
unsafe impl Sync for StackTool {}

/// How an instance shall be.
#[repr(C)]
pub struct Request {
    /// What reports call it.
    pub label: *const c_char,
    /// Options, as pairs of name, in upper case, and value.
    pub settings: *const [*const c_char; 2],
    /// How many pairs.
    pub count: usize,
    /// Does it speak about settings that concern all levels?
    pub speaks: bool,
}

/// A new instance, in parts.
#[repr(C)]
pub struct Created {
    /// For the places of the tool's own entries.
    pub instance: *const c_void,
    /// For the places of the lifecycle's entries.
    pub level: *const c_void,
    /// The functions below the level, to be filled before the first call.
    pub below: *const NextTable,
    /// For the chain of tools.
    pub info: *const ToolInfo,
}

/// Where a level stands for one function: what an entry gets beside MPI's arguments.
///
/// MPI's functions have no floating-point arguments, so an address in the first floating-point
/// register is an ordinary further argument of type `f64`, wherever the other arguments are; so
/// that the entry can jump to the next function. `MPI_Pcontrol` can have such arguments, and its
/// entry, in assembly, gets the address in `r11`.
#[repr(C)]
pub struct Place {
    /// The function of the next level that has it.
    pub next: *const c_void,
    /// The level's instance.
    pub instance: *const c_void,
}

/// What an entry's code begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// It jumps to the next function and does nothing else.
    pub does_nothing: bool,
    /// The instructions that take its place from the register, if they come first.
    pub beginning: Option<Beginning>,
}

/// Instructions that a caller may do itself, who then jumps behind them: the entry uses the
/// argument for nothing else ([`Place::from_argument`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning {
    /// The place goes to the general register of this number.
    pub register: u8,
    /// It is then overwritten with the address of the next function, which is found there.
    pub loads_next: bool,
    /// The bytes of code.
    pub length: usize,
}

impl Entry {
    /// Looks at the code of an entry of a [`StackTool`], but `MPI_Pcontrol`'s. What may be behind the
    /// entry in `code` is not looked at. Code that is something else, or is cut off, is an entry of
    /// which nothing is known.
    pub fn of(code: &[u8]) -> Entry {
        // movq reg, xmm0
        let [0x66, rex @ (0x48 | 0x49), 0x0f, 0x7e, modrm @ 0xc0..=0xc7, rest @ ..] = code else {
            return Entry { does_nothing: false, beginning: None };
        };
        let (low, high) = (modrm & 7, rex & 1);
        let beginning =
            |loads_next, length| Some(Beginning { register: low | high << 3, loads_next, length });
        // Registers 4 and 5 are written differently; the compiler does not take them here.
        let simple = low != 4 && low != 5;
        let prefix: &[u8] = if high == 1 { &[0x41] } else { &[] };
        let jumps = |rest: &[u8], modrm: u8| {
            rest.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(&[0xff, modrm | low]))
        };
        // mov reg, [reg], where the arguments fill the registers and `jmp [reg]` is not to be had.
        let loads = [0x48 | (high * 5), 0x8b, (low << 3) | low];
        match rest.strip_prefix(&loads) {
            // jmp reg
            Some(rest) if simple => {
                Entry { does_nothing: jumps(rest, 0xe0), beginning: beginning(true, 8) }
            }
            // jmp [reg]
            _ => {
                Entry { does_nothing: simple && jumps(rest, 0x20), beginning: beginning(false, 5) }
            }
        }
    }
}

impl Place {
    /// As an entry gets it.
    #[inline(always)]
    pub(crate) fn as_argument(&'static self) -> f64 {
        f64::from_bits(ptr::from_ref(self).expose_provenance() as u64)
    }

    /// The place that an entry was called with.
    ///
    /// # Safety
    /// `argument` is the last argument of an entry, and has the bits of the address of a [`Place`] that stays for
    /// `'a` and is not written meanwhile.
    #[inline(always)]
    pub unsafe fn from_argument<'a>(argument: f64) -> &'a Place {
        // The argument is used for nothing else, so that a caller may take the address himself: `Beginning`.
        let place = arch::address_in(argument).cast::<Place>();
        // SAFETY: a place must be there for `'a`, as the caller says.
        unsafe { &*place }
    }
}

/// A layer at work: preloaded, or as a level of a stack. What is used most comes first.
#[repr(C)]
pub struct Instance<L: 'static> {
    /// The tool's layer.
    pub layer: L,
    /// The functions below.
    pub below: &'static dyn NextFunctions,
    /// Its life and its report.
    pub level: &'static Level,
}

/// A level of a stack, whose instance refers to what stands beside it.
struct StackLevel<L: 'static> {
    instance: Instance<L>,
    below: NextTable,
    level: Level,
    info: ToolInfo,
}

/// The levels that this tool has made, for the end of the process.
pub(super) static LEVELS: Mutex<Vec<&'static Level>> = Mutex::new(Vec::new());

/// The level that there is, if there is just one.
pub(crate) fn only_level() -> Option<&'static Level> {
    match LEVELS.try_lock().as_deref().map(Vec::as_slice) {
        Ok([level]) => Some(*level),
        _ => None,
    }
}

/// For a signal that is about to end the process.
pub fn signalled_levels(signal: c_int) {
    // The lock is held where a level is made, which the signal may have interrupted.
    if let Ok(levels) = LEVELS.try_lock() {
        for level in &*levels {
            level.signalled(signal);
        }
    }
}

/// At the end of the process.
pub fn unload_levels() {
    let levels = core::mem::take(&mut *LEVELS.lock().unwrap_or_else(PoisonError::into_inner));
    for level in levels {
        level.unload();
    }
}

impl<L: Tool> Instance<L> {
    /// How much memory a level takes.
    pub const SIZE: usize = size_of::<StackLevel<L>>();

    /// A new level, in parts, for a host that does not know the layer's type.
    pub fn create(
        tool: &'static str,
        version: &'static str,
        label: &'static CStr,
        settings: &'static [(String, String)],
        speaks: bool,
    ) -> Created {
        extern "C" fn signalled(signal: c_int, level: *const c_void) {
            // SAFETY: the pointer must be of a `Level` that stays. `ToolInfo` passes what `create` gave to it below:
            // the level of an instance that is never freed.
            unsafe { &*level.cast::<Level>() }.signalled(signal);
        }
        let place: &'static mut MaybeUninit<StackLevel<L>> = Box::leak(Box::new_uninit());
        let new = place.as_mut_ptr();
        let request = LevelRequest { label: label.to_str().unwrap_or(tool), settings, speaks };
        // SAFETY: writes and references need fields of an allocation that nobody else has, each reference to a field
        // that is there: they are written in such an order. The level is complete before others get it, and never
        // freed; so any thread may call `signalled` with it.
        unsafe {
            let instance = &raw mut (*new).instance;
            let level = &raw mut (*new).level;
            (&raw mut (*new).info).write(ToolInfo::new(label, signalled, level.cast()));
            (&raw mut (*instance).layer).write(L::NEW);
            let layer: &'static L = &(*instance).layer;
            level.write(Level::in_stack(layer, tool, version, &(*new).info, request));
            (&raw mut (*new).below).write(NextTable::unlinked());
            let (below, level) = (&(*new).below, &*level);
            (&raw mut (*instance).below).write(below);
            (&raw mut (*instance).level).write(level);
            level.begin();
            LEVELS.lock().unwrap_or_else(PoisonError::into_inner).push(level);
            Created {
                instance: instance.cast_const().cast(),
                level: ptr::from_ref(level).cast(),
                below,
                info: &raw const (*new).info,
            }
        }
    }

    /// For [`StackTool::option_refusal`].
    ///
    /// # Safety
    /// `name` is a C string, which is there, and not written, until this returns.
    pub unsafe extern "C" fn option_refusal(name: *const c_char) -> *const c_char {
        // SAFETY: a C string must be there: the caller promises it.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let refusal = options::refusal(L::SETTINGS, &name);
        let refusal = refusal.and_then(|reason| CString::new(reason).ok());
        refusal.map_or(ptr::null(), |reason| reason.into_raw().cast_const())
    }

    /// For [`StackTool::create`].
    ///
    /// # Safety
    /// `request` points to a [`Request`] whose `label` is a C string, and whose `settings` are `count` pairs of C
    /// strings. They are there, and not written, until this returns.
    pub unsafe fn create_for(
        tool: &'static str,
        version: &'static str,
        request: *const Request,
    ) -> Created {
        // SAFETY: the reads need a request, its pairs and its strings to be there, which the caller promises; all is
        // copied.
        let (label, settings, speaks) = unsafe {
            let Request { label, settings, count, speaks } = *request;
            let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
            let pairs: Vec<(String, String)> = (0..count)
                .map(|index| *settings.add(index))
                .map(|[name, value]| (text(name), text(value)))
                .collect();
            (CStr::from_ptr(label).to_owned(), pairs, speaks)
        };
        let label: &'static CStr = Box::leak(label.into_boxed_c_str());
        Self::create(tool, version, label, settings.leak(), speaks)
    }
}

/// The number of the ABI that this was built for.
pub const fn abi_number() -> u32 {
    match ABI {
        Abi::Mpich => 1,
        Abi::OpenMpi => 2,
        Abi::Standard => 3,
    }
}

/// The ABI of a number.
pub fn abi_of(number: u32) -> Option<Abi> {
    Abi::ALL.into_iter().zip(1..).find(|a| a.1 == number).map(|a| a.0)
}

macro_rules! fingerprint {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// What differs where the lists of functions differ.
        pub const fn list_fingerprint() -> u64 {
            const LIST: &[u8] =
                concat!($(stringify!($c_name), "(", $(stringify!($ty), ",",)* ")"),*).as_bytes();
            let mut hash = 0xcbf2_9ce4_8422_2325_u64;
            let mut index = 0;
            while index < LIST.len() {
                hash = (hash ^ LIST[index] as u64).wrapping_mul(0x100_0000_01b3);
                index += 1;
            }
            hash
        }
    };
}
mpi_functions! { [fingerprint] }

macro_rules! lifecycle {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// The entries of `Lifecycle`, null for functions that it does not watch. The instance in their places is a
        /// [`Level`].
        pub static LIFECYCLE: [Address; FunctionId::COUNT] = [$(if_watched! { $c_name
            {{
                unsafe extern "C-unwind" fn entry($($arg: $ty,)* place: f64) -> $ret {
                    // SAFETY: who calls an entry of `LIFECYCLE` passes, behind MPI's arguments, a place with the
                    // next function of this name and with a `Level` that lives as long as the process.
                    let (place, level) = unsafe {
                        let place = Place::from_argument(place);
                        (place, &*place.instance.cast::<Level>())
                    };
                    // SAFETY: the next function in the place is of this prototype, as said above. Its arguments are
                    // the application's, and the one who unwraps this passes them on as MPI asks.
                    let next = |$($arg: $ty),*| unsafe {
                        type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                        core::mem::transmute::<*const c_void, Function>(place.next)($($arg),*)
                    };
                    // SAFETY: `new` wants the arguments of a call: they are the application's.
                    let next_f = unsafe { UnsafeBox::new(next, &NO_FUNCTIONS) };
                    Lifecycle(level).$name(next_f, $($arg),*)
                }
                Address(entry as *const c_void)
            }}
            { Address(ptr::null()) }
        }),*];
    };
}
mpi_functions! { [lifecycle] }

/// What `install_qmpi_layer!` adds to a PMPI tool.
#[doc(hidden)]
#[macro_export]
macro_rules! __qmpi {
    ($layer:ty) => {
        $crate::mpi_sys::mpi_functions! { [$crate::__qmpi_entries] $layer }
        $crate::__qmpi_mpich! {}

        #[unsafe(no_mangle)]
        static mpi_tool_stack: $crate::qmpi::StackTool = $crate::qmpi::StackTool {
            version: $crate::qmpi::VERSION,
            abi: $crate::qmpi::abi_number(),
            functions: $crate::qmpi::list_fingerprint(),
            name: C_NAME.as_ptr().cast(),
            entries: ENTRIES.as_ptr(),
            lifecycle: $crate::qmpi::LIFECYCLE.as_ptr(),
            silence,
            create: create_level,
            option_refusal: Instance::<$layer>::option_refusal,
            instance_size: Instance::<$layer>::SIZE,
        };
        extern "C" fn silence() {
            LEVEL.silence();
        }
        unsafe extern "C" fn create_level(
            request: *const $crate::qmpi::Request,
        ) -> $crate::qmpi::Created {
            // SAFETY: the caller promises what `Request` says: C strings and pairs of them, which are there until
            // this returns.
            unsafe { Instance::<$layer>::create_for(NAME, env!("CARGO_PKG_VERSION"), request) }
        }

        /// The tool, for stacks that are not this framework's.
        static FOREIGN: $crate::qmpi::ForeignTool = $crate::qmpi::ForeignTool {
            entries: &ENTRIES,
            own: &LEVEL,
            create: |label, speaks| {
                Instance::<$layer>::create(NAME, env!("CARGO_PKG_VERSION"), label, &[], speaks)
            },
        };
        static TUM: $crate::qmpi::TumTool = $crate::qmpi::TumTool::new(&FOREIGN);

        #[unsafe(no_mangle)]
        extern "C" fn get_interceptions(id: c_int) -> *const ::core::ffi::c_char {
            LEVEL.silence();
            match usize::try_from(id) {
                Ok(id) if id < TUM_NAMES.len() && TUM.can_take_part() => TUM_NAMES[id].0.cast(),
                _ => c"NULL".as_ptr(),
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __qmpi_entries {
    ([$layer:ty] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        static TUM_NAMES: [Address; $crate::qmpi::TUM_FUNCTIONS] = {
            let mut names = [Address(c"NULL".as_ptr().cast()); $crate::qmpi::TUM_FUNCTIONS];
            $(
                let id: Option<usize> = $crate::__tum_id!($tum);
                if let Some(id) = id {
                    names[id] = Address(
                        concat!("mpi_tool_", stringify!($c_name), "\0").as_ptr().cast(),
                    );
                }
            )*
            names
        };

        $($crate::__qmpi_tum! { $tum $c_name })*
    };
}

#[cfg(test)]
mod tests {
    use super::{Beginning, Entry};

    fn entry(code: &[u8]) -> Entry {
        let mut bytes = [0xcc; 16];
        bytes[..code.len()].copy_from_slice(code);
        Entry::of(&bytes)
    }

    /// Encodings by the processor's manual, and GNU as.
    #[test]
    fn code_that_only_goes_on_is_known() {
        // movq rax, xmm0; jmp [rax]
        let direct = entry(&[0x66, 0x48, 0x0f, 0x7e, 0xc0, 0xff, 0x20]);
        let beginning =
            |register, loads_next, length| Some(Beginning { register, loads_next, length });
        assert_eq!(direct, Entry { does_nothing: true, beginning: beginning(0, false, 5) });
        // movq r11, xmm0; jmp [r11]
        let direct = entry(&[0x66, 0x49, 0x0f, 0x7e, 0xc3, 0x41, 0xff, 0x23]);
        assert_eq!(direct, Entry { does_nothing: true, beginning: beginning(11, false, 5) });
        // movq rax, xmm0; mov rax, [rax]; jmp rax
        let two = entry(&[0x66, 0x48, 0x0f, 0x7e, 0xc0, 0x48, 0x8b, 0x00, 0xff, 0xe0]);
        assert_eq!(two, Entry { does_nothing: true, beginning: beginning(0, true, 8) });
        // movq r10, xmm0; mov r10, [r10]; jmp r10
        let two = entry(&[0x66, 0x49, 0x0f, 0x7e, 0xc2, 0x4d, 0x8b, 0x12, 0x41, 0xff, 0xe2]);
        assert_eq!(two, Entry { does_nothing: true, beginning: beginning(10, true, 8) });
        // movq rax, xmm0; nop; jmp [rax]
        let more = entry(&[0x66, 0x48, 0x0f, 0x7e, 0xc0, 0x90, 0xff, 0x20]);
        assert_eq!(more, Entry { does_nothing: false, beginning: beginning(0, false, 5) });
        // movq rax, xmm0; jmp [rcx]; and movq rax, xmm1
        let other = entry(&[0x66, 0x48, 0x0f, 0x7e, 0xc0, 0xff, 0x21]);
        assert!(!other.does_nothing);
        assert_eq!(entry(&[0x66, 0x48, 0x0f, 0x7e, 0xc8]).beginning, None);
        // push rbx; movq rax, xmm0
        assert_eq!(entry(&[0x53, 0x66, 0x48, 0x0f, 0x7e, 0xc0]).beginning, None);
    }

    /// At the end of a tool's code there is no more to be read: what is cut off is not known.
    #[test]
    fn code_that_is_cut_off_is_not_known() {
        // movq r10, xmm0; mov r10, [r10]; jmp r10
        let whole = [0x66, 0x49, 0x0f, 0x7e, 0xc2, 0x4d, 0x8b, 0x12, 0x41, 0xff, 0xe2];
        assert!(Entry::of(&whole).does_nothing);
        for length in 0..whole.len() {
            let Entry { does_nothing, beginning } = Entry::of(&whole[..length]);
            assert!(!does_nothing);
            assert!(beginning.is_none_or(|beginning| beginning.length <= length), "{length}");
        }
    }
}
