//! The functions of OTF2's library that are needed, which is opened at run time: who writes no such traces need not have
//! it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{NonNull, null, null_mut};
use std::env;
use std::ffi::CString;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use libloading::Library;

/// Names of the library of OTF2 3, whose functions these are: Debian's, and its own.
const NAMES: [&str; 2] = ["libopen-trace-format2.so.10", "libotf2.so.10"];

/// The user's own library.
const VARIABLE: &str = "MPI_TOOL_OTF2";

/// Declares the functions, by their names and types in OTF2's headers.
macro_rules! functions {
    ($($field:ident = $name:literal ($($argument:ty),*) -> $result:ty;)*) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Where they are.
            _library: Library,
        }

        impl Functions {
            /// # Safety
            /// The library is OTF2's, of version 3.
            unsafe fn of(library: Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the type must be that of the function: it is the one in the headers of OTF2 3, which the
                    // library is, as the caller says.
                    $($field: unsafe { *library.get(concat!($name, "\0").as_bytes())? },)*
                    _library: library,
                })
            }
        }
    };
}

type Handle = *mut c_void;
/// `OTF2_ErrorCode`
type Code = c_int;

functions! {
    open = "OTF2_Archive_Open"(*const c_char, *const c_char, u8, u64, u64, u8, u8) -> Handle;
    set_flush = "OTF2_Archive_SetFlushCallbacks"(Handle, *const FlushCallbacks, *mut c_void) -> Code;
    set_serial = "OTF2_Archive_SetSerialCollectiveCallbacks"(Handle) -> Code;
    open_events = "OTF2_Archive_OpenEvtFiles"(Handle) -> Code;
    close_events = "OTF2_Archive_CloseEvtFiles"(Handle) -> Code;
    event_writer = "OTF2_Archive_GetEvtWriter"(Handle, u64) -> Handle;
    close_event_writer = "OTF2_Archive_CloseEvtWriter"(Handle, Handle) -> Code;
    open_local = "OTF2_Archive_OpenDefFiles"(Handle) -> Code;
    close_local = "OTF2_Archive_CloseDefFiles"(Handle) -> Code;
    local_writer = "OTF2_Archive_GetDefWriter"(Handle, u64) -> Handle;
    close_local_writer = "OTF2_Archive_CloseDefWriter"(Handle, Handle) -> Code;
    global_writer = "OTF2_Archive_GetGlobalDefWriter"(Handle) -> Handle;
    close = "OTF2_Archive_Close"(Handle) -> Code;
    description = "OTF2_Error_GetDescription"(Code) -> *const c_char;
    clock = "OTF2_GlobalDefWriter_WriteClockProperties"(Handle, u64, u64, u64, u64) -> Code;
    string = "OTF2_GlobalDefWriter_WriteString"(Handle, u32, *const c_char) -> Code;
    node = "OTF2_GlobalDefWriter_WriteSystemTreeNode"(Handle, u32, u32, u32, u32) -> Code;
    location_group = "OTF2_GlobalDefWriter_WriteLocationGroup"(Handle, u32, u32, u8, u32, u32) -> Code;
    location = "OTF2_GlobalDefWriter_WriteLocation"(Handle, u64, u32, u8, u64, u32) -> Code;
    region = "OTF2_GlobalDefWriter_WriteRegion"(Handle, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32) -> Code;
    group = "OTF2_GlobalDefWriter_WriteGroup"(Handle, u32, u32, u8, u8, u32, u32, *const u64) -> Code;
    comm = "OTF2_GlobalDefWriter_WriteComm"(Handle, u32, u32, u32, u32, u32) -> Code;
    // Not called: version 2 has no such function, and others have other arguments there.
    _version_3 = "OTF2_GlobalDefWriter_WriteInterComm"() -> Code;
    enter = "OTF2_EvtWriter_Enter"(Handle, Handle, u64, u32) -> Code;
    leave = "OTF2_EvtWriter_Leave"(Handle, Handle, u64, u32) -> Code;
    send = "OTF2_EvtWriter_MpiSend"(Handle, Handle, u64, u32, u32, u32, u64) -> Code;
    isend = "OTF2_EvtWriter_MpiIsend"(Handle, Handle, u64, u32, u32, u32, u64, u64) -> Code;
    receive = "OTF2_EvtWriter_MpiRecv"(Handle, Handle, u64, u32, u32, u32, u64) -> Code;
    receive_request = "OTF2_EvtWriter_MpiIrecvRequest"(Handle, Handle, u64, u64) -> Code;
    ireceive = "OTF2_EvtWriter_MpiIrecv"(Handle, Handle, u64, u32, u32, u32, u64, u64) -> Code;
    collective_begin = "OTF2_EvtWriter_MpiCollectiveBegin"(Handle, Handle, u64) -> Code;
    collective_end = "OTF2_EvtWriter_MpiCollectiveEnd"(Handle, Handle, u64, u8, u32, u32, u64, u64) -> Code;
}

/// `OTF2_FlushCallbacks`
#[repr(C)]
struct FlushCallbacks {
    before: Option<unsafe extern "C" fn(*mut c_void, u8, u64, *mut c_void, bool) -> u8>,
    after: Option<unsafe extern "C" fn(*mut c_void, u8, u64) -> u64>,
}

/// Full buffers go to the files: `OTF2_FLUSH`.
unsafe extern "C" fn flush(_: *mut c_void, _: u8, _: u64, _: *mut c_void, _: bool) -> u8 {
    1
}

static FLUSH: FlushCallbacks = FlushCallbacks { before: Some(flush), after: None };

/// No number, name, group, and so on.
pub(super) const NONE: u32 = u32::MAX;
/// Constants of OTF2's headers, by their names there.
const FILEMODE_WRITE: u8 = 0;
const SUBSTRATE_POSIX: u8 = 1;
const COMPRESSION_NONE: u8 = 1;
const LOCATION_GROUP_TYPE_PROCESS: u8 = 1;
const LOCATION_TYPE_CPU_THREAD: u8 = 1;
const PARADIGM_MPI: u8 = 4;
const CHUNK_SIZE_EVENTS: u64 = 1 << 20;
const CHUNK_SIZE_DEFINITIONS: u64 = 4 << 20;

/// What the members of a group are: `OTF2_GroupType`.
#[derive(Debug, Clone, Copy)]
pub(super) enum GroupType {
    /// Locations, of all ranks.
    Locations = 4,
    /// Ranks, by their places among these.
    Ranks = 5,
}

/// An archive that is written. What goes wrong later leaves it as it is.
pub(super) struct Archive {
    functions: Functions,
    archive: Handle,
    is_open: bool,
}

impl Archive {
    /// Opens the library, and an archive in a folder.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let library = library()?;
        // SAFETY: the library must be OTF2's of version 3: that is what these names mean, or what the user says; one of
        // version 2 lacks a function that is looked for.
        let functions = unsafe { Functions::of(library) }
            .context("OTF2's library is not of version 3, which writes these traces")?;
        let path = CString::new(folder.to_string_lossy().into_owned())
            .context("the folder's name cannot have a NUL")?;
        let (events, definitions) = (CHUNK_SIZE_EVENTS, CHUNK_SIZE_DEFINITIONS);
        // SAFETY: both names must be C strings, and the numbers constants of the headers: they are.
        let archive = unsafe {
            (functions.open)(
                path.as_ptr(),
                c"trace".as_ptr(),
                FILEMODE_WRITE,
                events,
                definitions,
                SUBSTRATE_POSIX,
                COMPRESSION_NONE,
            )
        };
        if archive.is_null() {
            bail!("{}: OTF2 cannot make a trace there", folder.display());
        }
        let archive = Self { functions, archive, is_open: true };
        let Functions { set_flush, set_serial, open_events, .. } = &archive.functions;
        // SAFETY: the archive must be open: it is. The callbacks must stay: they are static, and take what OTF2 gives.
        unsafe {
            archive.check(set_flush(archive.archive, &raw const FLUSH, null_mut()))?;
            archive.check(set_serial(archive.archive))?;
            archive.check(open_events(archive.archive))?;
        }
        Ok(archive)
    }

    /// An error is OTF2's own sentence.
    fn check(&self, code: Code) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: any code may be asked for; the answer is a C string that stays, or null.
        let text = unsafe {
            let text = (self.functions.description)(code);
            NonNull::new(text.cast_mut()).map(|text| CStr::from_ptr(text.as_ptr()))
        };
        let text = text.map_or(String::new(), |text| text.to_string_lossy().into_owned());
        bail!("OTF2 says: {text} (error {code})")
    }

    fn writer(&self, writer: Handle) -> Result<Handle> {
        if writer.is_null() {
            bail!("OTF2 has no room for a further thread");
        }
        Ok(writer)
    }

    /// Writes the events of a location, by a function that gets a writer for them.
    pub(super) fn events(
        &self,
        location: u64,
        write: impl FnOnce(&Events<'_>) -> Result<()>,
    ) -> Result<()> {
        let Functions { event_writer, close_event_writer, .. } = &self.functions;
        // SAFETY: the archive must be open, and its files for events: they are until `finish`.
        let writer = self.writer(unsafe { event_writer(self.archive, location) })?;
        write(&Events { archive: self, writer })?;
        // SAFETY: the writer must be this archive's, and not be used later: `Events` is gone.
        self.check(unsafe { close_event_writer(self.archive, writer) })
    }

    /// Writes the definitions, by a function that gets a writer for them, and closes the archive.
    pub(super) fn finish(
        mut self,
        locations: &[u64],
        write: impl FnOnce(&Definitions<'_>) -> Result<()>,
    ) -> Result<()> {
        let Functions {
            close_events,
            open_local,
            close_local,
            local_writer,
            close_local_writer,
            global_writer,
            close,
            ..
        } = &self.functions;
        let archive = self.archive;
        // SAFETY: the archive must be open: it is. A location's own definitions, of which there are none, must be written
        // after the events and before the global ones.
        let writer = unsafe {
            self.check(close_events(archive))?;
            self.check(open_local(archive))?;
            for location in locations {
                let writer = self.writer(local_writer(archive, *location))?;
                self.check(close_local_writer(archive, writer))?;
            }
            self.check(close_local(archive))?;
            self.writer(global_writer(archive))?
        };
        write(&Definitions { archive: &self, writer })?;
        // SAFETY: the archive must be open, and is not used afterwards.
        let closed = self.check(unsafe { close(archive) });
        self.is_open = false;
        closed
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if self.is_open {
            // SAFETY: the archive must be open, and is not used afterwards. What OTF2 says of it does not matter: an
            // error has come before.
            unsafe { (self.functions.close)(self.archive) };
        }
    }
}

fn library() -> Result<Library> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        // SAFETY: what the library does when it is opened must be right: the user has named it for this.
        return unsafe { Library::new(&path) }.with_context(|| {
            format!("{VARIABLE}: {}: cannot open it", Path::new(&path).display())
        });
    }
    for name in NAMES {
        // SAFETY: what the library does when it is opened must be right: these are names of OTF2's library.
        if let Ok(library) = unsafe { Library::new(name) } {
            return Ok(library);
        }
    }
    bail!(
        "OTF2's library is not installed (there is no {}): install Debian's package libopen-trace-format2-10, or \
         build OTF2 3 and name the library's file in {VARIABLE}",
        NAMES.join(" and no ")
    )
}

/// Writes events of a location. Times must not run backwards. The writer is open as long as the archive lends it.
pub(super) struct Events<'a> {
    archive: &'a Archive,
    writer: Handle,
}

/// A message, as one of its sides says it: the other one's rank in a communicator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope {
    pub(super) peer: u32,
    pub(super) comm: u32,
    pub(super) tag: u32,
    pub(super) bytes: u64,
}

/// A collective operation, as a rank says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Collective {
    pub(super) operation: u8,
    pub(super) comm: u32,
    pub(super) root: u32,
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Events<'_> {
    pub(super) fn enter(&self, time: u64, region: u32) -> Result<()> {
        let f = &self.archive.functions;
        // SAFETY: the function wants an open writer, which this has, attributes or null, and any numbers.
        self.archive.check(unsafe { (f.enter)(self.writer, null_mut(), time, region) })
    }

    pub(super) fn leave(&self, time: u64, region: u32) -> Result<()> {
        let f = &self.archive.functions;
        // SAFETY: the function wants an open writer, which this has, attributes or null, and any numbers.
        self.archive.check(unsafe { (f.leave)(self.writer, null_mut(), time, region) })
    }

    /// A message leaves, by a request if that has a number.
    pub(super) fn send(&self, time: u64, to: Envelope, request: Option<u64>) -> Result<()> {
        let (f, writer) = (&self.archive.functions, self.writer);
        let Envelope { peer, comm, tag, bytes } = to;
        // SAFETY: both functions want an open writer, which this has, attributes or null, and any numbers.
        self.archive.check(unsafe {
            match request {
                None => (f.send)(writer, null_mut(), time, peer, comm, tag, bytes),
                Some(id) => (f.isend)(writer, null_mut(), time, peer, comm, tag, bytes, id),
            }
        })
    }

    /// A message arrives.
    pub(super) fn receive(&self, time: u64, from: Envelope, request: Option<u64>) -> Result<()> {
        let (f, writer) = (&self.archive.functions, self.writer);
        let Envelope { peer, comm, tag, bytes } = from;
        // SAFETY: both functions want an open writer, which this has, attributes or null, and any numbers.
        self.archive.check(unsafe {
            match request {
                None => (f.receive)(writer, null_mut(), time, peer, comm, tag, bytes),
                Some(id) => (f.ireceive)(writer, null_mut(), time, peer, comm, tag, bytes, id),
            }
        })
    }

    /// A receive is started.
    pub(super) fn receive_request(&self, time: u64, request: u64) -> Result<()> {
        let f = &self.archive.functions;
        // SAFETY: the function wants an open writer, which this has, attributes or null, and any numbers.
        self.archive.check(unsafe { (f.receive_request)(self.writer, null_mut(), time, request) })
    }

    pub(super) fn collective_begin(&self, time: u64) -> Result<()> {
        let f = &self.archive.functions;
        // SAFETY: the function wants an open writer, which this has, attributes or null, and any numbers.
        self.archive.check(unsafe { (f.collective_begin)(self.writer, null_mut(), time) })
    }

    pub(super) fn collective_end(&self, time: u64, what: Collective) -> Result<()> {
        let (f, writer) = (&self.archive.functions, self.writer);
        let Collective { operation, comm, root, sent, received } = what;
        // SAFETY: the function wants an open writer, which this has, attributes or null, and any numbers.
        self.archive.check(unsafe {
            (f.collective_end)(writer, null_mut(), time, operation, comm, root, sent, received)
        })
    }
}

/// Writes definitions. What one refers to must have been defined before. The writer is open as long as the archive lends it.
pub(super) struct Definitions<'a> {
    archive: &'a Archive,
    writer: Handle,
}

impl Definitions<'_> {
    /// Times are nanoseconds from 0 to an end.
    pub(super) fn clock(&self, end: u64) -> Result<()> {
        let f = &self.archive.functions;
        let (resolution, unknown) = (1_000_000_000, u64::MAX);
        // SAFETY: the function wants an open writer, which this has, and any numbers.
        self.archive.check(unsafe { (f.clock)(self.writer, resolution, 0, end, unknown) })
    }

    pub(super) fn string(&self, number: u32, text: &str) -> Result<()> {
        let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
        let f = &self.archive.functions;
        // SAFETY: the function wants an open writer, which this has, and a C string, which `text` is, and which it copies.
        self.archive.check(unsafe { (f.string)(self.writer, number, text.as_ptr()) })
    }

    /// A host, or the machine above all hosts.
    pub(super) fn node(&self, number: u32, name: u32, class: u32, parent: u32) -> Result<()> {
        let f = &self.archive.functions;
        // SAFETY: the function wants an open writer, which this has, and any numbers.
        self.archive.check(unsafe { (f.node)(self.writer, number, name, class, parent) })
    }

    pub(super) fn process(&self, number: u32, name: u32, host: u32) -> Result<()> {
        let (f, kind) = (&self.archive.functions, LOCATION_GROUP_TYPE_PROCESS);
        // SAFETY: the function wants an open writer, which this has, and any numbers.
        self.archive
            .check(unsafe { (f.location_group)(self.writer, number, name, kind, host, NONE) })
    }

    pub(super) fn location(&self, id: u64, name: u32, events: u64, process: u32) -> Result<()> {
        let (f, kind) = (&self.archive.functions, LOCATION_TYPE_CPU_THREAD);
        // SAFETY: the function wants an open writer, which this has, and any numbers.
        self.archive.check(unsafe { (f.location)(self.writer, id, name, kind, events, process) })
    }

    pub(super) fn region(&self, number: u32, name: u32, role: u8) -> Result<()> {
        let (f, mpi) = (&self.archive.functions, PARADIGM_MPI);
        // SAFETY: the function wants an open writer, which this has, and any numbers.
        self.archive.check(unsafe {
            (f.region)(self.writer, number, name, name, NONE, role, mpi, 0, NONE, 0, 0)
        })
    }

    pub(super) fn group(
        &self,
        number: u32,
        name: u32,
        kind: GroupType,
        members: &[u64],
    ) -> Result<()> {
        let f = &self.archive.functions;
        let (mpi, length) = (PARADIGM_MPI, u32::try_from(members.len())?);
        let members = if members.is_empty() { null() } else { members.as_ptr() };
        // SAFETY: the function wants an open writer, which this has, and as many members as it is told: it reads the slice, or null
        // if that is empty.
        self.archive.check(unsafe {
            (f.group)(self.writer, number, name, kind as u8, mpi, 0, length, members)
        })
    }

    pub(super) fn comm(&self, number: u32, name: u32, group: u32) -> Result<()> {
        let f = &self.archive.functions;
        // SAFETY: the function wants an open writer, which this has, and any numbers.
        self.archive.check(unsafe { (f.comm)(self.writer, number, name, group, NONE, 0) })
    }
}
