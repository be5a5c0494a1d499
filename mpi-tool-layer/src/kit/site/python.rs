//! The Python functions that a call comes from.
//!
//! Where a process has an interpreter of Python, all stacks of C look the same. So a site has the functions of Python, with file and line, in
//! place of the interpreter's: they are read from the memory of the thread's own frames, which stay as they are while the thread is in MPI,
//! whether it has the interpreter's lock or not. How they are known again is `trail.rs`.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::ffi::CStr;
use std::path::Path;

use mpi_tool_python::{Interpreter, Memory, Stack, Unknown, is_of_library, version_by_name};

use super::trail::{Functions, GetState, IsFinalizing, Trail};
use crate::host::linker::open_again;
use crate::host::objects::each_object;

/// Are functions of Python wanted?
static IS_WANTED: AtomicBool = AtomicBool::new(false);

pub(super) fn want() {
    IS_WANTED.store(true, Relaxed);
}

/// An interpreter that is in this process, for good.
pub(super) struct Python {
    interpreter: Interpreter,
    functions: Functions,
    /// Where its code is.
    pub(super) addresses: core::ops::Range<u64>,
}

/// This process's own memory, read by the kernel: what is not there is no fault.
struct Own;

impl Memory for Own {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let there = libc::iovec {
            iov_base: core::ptr::with_exposed_provenance_mut(address as usize),
            iov_len: bytes.len(),
        };
        // SAFETY: the kernel writes to `bytes`, for which there is room, and reads from where something is only.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
        usize::try_from(read) == Ok(bytes.len())
    }
}

impl Python {
    /// The interpreter among the loaded objects, if functions of Python are wanted and it is one that can be read.
    pub(super) fn find() -> Option<Self> {
        if !IS_WANTED.load(Relaxed) {
            return None;
        }
        let mut found = None;
        each_object(|object| {
            if found.is_some() || !object.defines(c"_PyRuntime") {
                return;
            }
            let addresses = object.addresses();
            let runtime = object.address_of(c"_PyRuntime");
            let get_state = object.address_of(c"PyGILState_GetThisThreadState");
            // The first is of Python 3.13 and later.
            let is_finalizing = object
                .address_of(c"Py_IsFinalizing")
                .or_else(|| object.address_of(c"_Py_IsFinalizing"));
            let functions = get_state.zip(is_finalizing);
            let version = object.address_of(c"Py_Version");
            found = Some((object.path().to_owned(), addresses, runtime, functions, version));
        });
        let (path, addresses, runtime, functions, version) = found?;
        let (get_state, is_finalizing) = functions?;
        // It is called by its address, and so must never be unloaded; a program is not.
        if !path.is_empty() {
            open_again(&path, libc::RTLD_NODELETE)?;
        }
        let version = match version {
            Some(version) => {
                let mut bytes = [0; 4];
                Own.read(version.expose_provenance() as u64, &mut bytes)
                    .then(|| u32::from_le_bytes(bytes))
            }
            None => version_by_name(&name_of(&path)),
        };
        let runtime = runtime?.expose_provenance() as u64;
        let interpreter = Interpreter::new(&Own, runtime, version).ok()?;
        // SAFETY: the functions must be what their names say: `PyGILState_GetThisThreadState` of an interpreter takes nothing and gives an address, and
        // `Py_IsFinalizing` takes nothing and gives a number, as all versions have them that `Interpreter` knows.
        let functions = unsafe {
            Functions {
                get_state: transmute::<NonNull<c_void>, GetState>(NonNull::new(get_state)?),
                is_finalizing: transmute::<NonNull<c_void>, IsFinalizing>(NonNull::new(
                    is_finalizing,
                )?),
            }
        };
        let addresses = addresses.start as u64..addresses.end as u64;
        Some(Self { interpreter, functions, addresses })
    }

    /// The functions that this thread is in, and by what they are known again. The first one is the innermost of the application's, if there is one.
    pub(super) fn stack(&self, depth: usize) -> Result<(Stack, Trail), Unknown> {
        let state = self.functions.state().ok_or(Unknown::Wrong)?;
        let trail = |words, bytes| Trail::new(self.functions, state, words, bytes);
        if state == 0 {
            return Ok((
                Stack { is_whole: true, ..Stack::default() },
                trail(Vec::new(), Vec::new()),
            ));
        }
        // Before 3.12 it is not certain which one of several interpreters' states this is.
        if self.interpreter.minor() < 12 && self.interpreter.has_others(&Own)? {
            return Err(Unknown::Wrong);
        }
        let thread = self.interpreter.state(&Own, state)?;
        // SAFETY: `pthread_self` takes nothing and always succeeds.
        if thread.pthread != unsafe { libc::pthread_self() } {
            return Err(Unknown::Wrong);
        }
        let is_own = |frame: &mpi_tool_python::Frame| !is_of_library(&frame.file);
        let (stack, found) = self.interpreter.stack_with_trail(&Own, &thread, depth, is_own)?;
        Ok((stack, trail(found.words, found.bytes)))
    }
}

/// The name of an object's file; the dynamic linker gives the program none.
fn name_of(path: &CStr) -> String {
    let program = || std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let path = path.to_str().ok().filter(|path| !path.is_empty()).map_or_else(program, Into::into);
    Path::file_name(&path).unwrap_or_default().to_string_lossy().into_owned()
}
