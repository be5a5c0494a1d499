//! The programs and libraries that call sites are in, and what unwinding needs of them.

use core::ops::Range;
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt as _;

use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use mpi_facts::is_library_file;

use super::File;
use crate::arch::{DYNAMIC_LINKER, Unwinder};
use crate::host::linker::here;
use crate::host::objects::{Object, each_object};
use crate::host::options;

/// A loaded object.
pub(super) struct Loaded {
    pub(super) addresses: Range<u64>,
    /// What addresses in its file begin at in memory.
    pub(super) base: u64,
    pub(super) file: &'static File,
    pub(super) role: Role,
}

/// What an object is to call sites.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The application's code.
    Application,
    /// A library that was installed: who asks where a call comes from means what has called it.
    Library,
    /// A tool: a call that comes out of it is the application's call of it.
    Tool,
    /// MPI's own code, which calls MPI for itself.
    Mpi,
    /// A library by which another language calls MPI.
    Binding,
    /// The C library, which calls `main` and starts threads: not worth a frame.
    Start,
}

impl Role {
    /// Is it passed over, as what stands between the application and the tool?
    pub(super) fn is_between(self) -> bool {
        matches!(self, Self::Tool | Self::Mpi | Self::Binding)
    }
}

/// All loaded objects, as they were when the dynamic linker had loaded and unloaded so many.
pub(super) struct Modules {
    version: [u64; 2],
    loaded: Vec<Loaded>,
    pub(super) unwinder: Unwinder<&'static [u8]>,
    /// The program's path.
    program: String,
    /// The names of libraries that the user has set.
    libraries: String,
    /// All that there ever were.
    files: Vec<(Range<u64>, &'static File)>,
}

impl Modules {
    pub(super) fn new() -> Self {
        Self {
            version: [0; 2],
            loaded: Vec::new(),
            unwinder: Unwinder::new(),
            program: path_of(c""),
            libraries: options::libraries(),
            files: Vec::new(),
        }
    }

    /// Looks again if something was loaded or unloaded, and says whether that was so.
    pub(super) fn update(&mut self) -> bool {
        let mut version = [0; 2];
        each_object(|object| version = object.loads());
        if version == self.version {
            return false;
        }
        self.loaded.clear();
        self.unwinder = Unwinder::new();
        each_object(|object| self.add(&object));
        self.version = version;
        true
    }

    fn add(&mut self, object: &Object<'_>) {
        let range = object.addresses();
        let addresses = range.start as u64..range.end as u64;
        if addresses.is_empty() {
            return;
        }
        let is_tool = range.contains(&here().addr()) || object.exports(c"mpi_tool_info");
        let role = match object.path().to_bytes().rsplit(|byte| *byte == b'/').next() {
            _ if is_tool => Role::Tool,
            _ if object.is_fortran_library() => Role::Binding,
            // What Fortran calls may be in the same file as the rest.
            _ if object.is_mpi_library() && object.exports(c"mpi_init_") => Role::Binding,
            _ if object.is_mpi_code() => Role::Mpi,
            Some(b"libc.so.6" | b"libpthread.so.0") => Role::Start,
            Some(name) if name == DYNAMIC_LINKER => Role::Start,
            // The program itself has no path here.
            _ if self.is_library(object) => Role::Library,
            _ => Role::Application,
        };
        let build_id = object.build_id().unwrap_or_default();
        let path = path_of(object.path());
        let known = self
            .files
            .iter()
            .find(|(at, file)| *at == addresses && file.path == path && file.build_id == build_id);
        let file = match known {
            Some((_, file)) => *file,
            None => {
                let is_library = role == Role::Library;
                let file: &'static File =
                    Box::leak(Box::new(File { path, build_id: build_id.to_owned(), is_library }));
                self.files.push((addresses.clone(), file));
                file
            }
        };
        let base = object.base();
        if let Some(tables) = object.unwind_tables() {
            let in_file = |range: &Range<u64>| range.start - base..range.end - base;
            // SAFETY: the bytes must be readable and stay as long as they are used. They are of the loaded object,
            // as its headers say. They are used while an address in the object is on the stack, which therefore
            // is not unloaded; `update` forgets them when the dynamic linker has unloaded something.
            let bytes = |range: &Range<u64>| unsafe {
                core::slice::from_raw_parts(
                    range.start as *const u8,
                    (range.end - range.start) as usize,
                )
            };
            let sections = ExplicitModuleSectionInfo {
                eh_frame_hdr_svma: Some(in_file(&tables.index)),
                eh_frame_hdr: Some(bytes(&tables.index)),
                eh_frame_svma: Some(in_file(&tables.frames)),
                eh_frame: Some(bytes(&tables.frames)),
                ..ExplicitModuleSectionInfo::default()
            };
            self.unwinder.add_module(Module::new(String::new(), addresses.clone(), base, sections));
        }
        self.loaded.push(Loaded { addresses, base, file, role });
    }

    fn is_library(&self, object: &Object<'_>) -> bool {
        let path = object.path().to_string_lossy();
        !path.is_empty() && is_library_file(&path, &self.program, &self.libraries)
    }

    /// Is an address in the code that the kernel has started, which calls the C library, which calls `main`?
    pub(super) fn is_entry(&self, address: u64) -> bool {
        // SAFETY: `getauxval` takes any number and touches no memory of the caller's.
        let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
        (entry..entry + 64).contains(&address)
    }

    /// The object that an address is in.
    pub(super) fn of(&self, address: u64) -> Option<&Loaded> {
        self.loaded.iter().find(|object| object.addresses.contains(&address))
    }
}

/// The path of an object; the dynamic linker gives the program none.
fn path_of(path: &CStr) -> String {
    if !path.is_empty() {
        return path.to_string_lossy().into_owned();
    }
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    String::from_utf8_lossy(program.as_os_str().as_bytes()).into_owned()
}
