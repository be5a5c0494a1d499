//! Why a tool may have seen nothing of MPI in a process. The answers are lines for users: an empty
//! report without a reason looks like a program without MPI.

use core::ffi::{c_int, c_void};

use mpi_sys::pmpi;

use crate::FunctionId;
use crate::host::launcher::launched_rank;
use crate::host::neighbours::mpi_objects;
use crate::host::objects::each_object;

/// Why a tool may have seen nothing in a process with MPI; `None` in other processes. Looks at the
/// objects of the process, and for processes that a launcher has started into the program's file.
/// To be called at the process's end, where nothing was seen.
pub fn why_nothing_was_seen() -> Option<&'static str> {
    let objects = mpi_objects();
    let known = pmpi::available(FunctionId::MPI_Init as usize);
    if objects.program {
        Some(
            "the program did not start it, or a tool in front of this one did not pass its calls on",
        )
    } else if objects.library && has_started() {
        Some(if known {
            "MPI was started: the program takes MPI's functions from the library itself (dlsym on its handle, \
             RTLD_DEEPBIND), which no preloaded tool sees; have it look them up in all libraries (RTLD_DEFAULT, \
             ctypes.CDLL(None))"
        } else {
            "MPI was started: the program has opened its library for itself (dlopen); preload the library behind the tool, \
             and have the program look functions up in all libraries (RTLD_DEFAULT, ctypes.CDLL(None)), not in that one"
        })
    } else if launched_rank().is_some() && static_mpi_in_program() {
        Some("MPI is linked statically into the program, which no preloaded tool can intercept")
    } else {
        None
    }
}

/// Does an MPI library of the process say that it has been started?
fn has_started() -> bool {
    let mut found = Vec::new();
    each_object(|object| {
        if object.is_mpi_library() {
            found.extend(object.address_of(c"PMPI_Initialized"));
        }
    });
    found.into_iter().any(|function| {
        let mut is_started = 0;
        // SAFETY: what an MPI library exports by this name is MPI's function, which has this type, may be called at any time,
        // and writes one `int`. The library was there a moment ago, and at the end of a process nobody closes one.
        unsafe {
            type Initialized = unsafe extern "C" fn(*mut c_int) -> c_int;
            core::mem::transmute::<*mut c_void, Initialized>(function)(&mut is_started);
        }
        is_started != 0
    })
}

/// Has the program's file MPI's functions in its own symbol table, or, where that was stripped,
/// what an MPI library says when it is called too early? Reads the whole file, so only processes
/// that a launcher has started are asked.
fn static_mpi_in_program() -> bool {
    /// Larger programs are not read.
    const LARGEST: u64 = 1 << 28;
    const SIGNS: [&[u8]; 3] = [
        b"\0PMPI_Init\0",
        b"Attempting to use an MPI routine",
        b"function was called before MPI_INIT was invoked",
    ];
    std::fs::metadata("/proc/self/exe").is_ok_and(|file| file.len() < LARGEST)
        && std::fs::read("/proc/self/exe").is_ok_and(|program| {
            SIGNS.iter().any(|sign| program.windows(sign.len()).any(|window| window == *sign))
        })
}
