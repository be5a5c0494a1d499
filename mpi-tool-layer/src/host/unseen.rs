//! Why a tool may have seen nothing of MPI in a process. The answers are lines for users: an empty
//! report without a reason looks like a program without MPI.

use mpi_sys::pmpi;

use crate::FunctionId;
use crate::host::launcher::launched_rank;
use crate::host::neighbours::mpi_objects;

/// Why a tool may have seen nothing in a process with MPI; `None` in other processes. Looks at the
/// objects of the process, and for processes that a launcher has started into the program's file.
/// To be called at the process's end, where nothing was seen.
pub fn why_nothing_was_seen() -> Option<&'static str> {
    let objects = mpi_objects();
    let known = pmpi::available(FunctionId::MPI_Init as usize);
    if objects.library && !known {
        Some("MPI was loaded privately (dlopen); preload its library behind the tool")
    } else if objects.program {
        Some(
            "the program did not start it, or a tool in front of this one did not pass its calls on",
        )
    } else if launched_rank().is_some() && static_mpi_in_program() {
        Some("MPI is linked statically into the program, which no preloaded tool can intercept")
    } else {
        None
    }
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
