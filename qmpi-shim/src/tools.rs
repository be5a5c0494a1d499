//! Tools: finds out what each file is that levels name, and loads it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use mpi_tool_layer::install::linker::{self, Library};
use mpi_tool_layer::qmpi::{
    StackTool, TUM_FUNCTIONS, VERSION, abi_number, abi_of, list_fingerprint,
};

use crate::config::{Problem, Wanted};
use crate::pmpi::PmpiTool;
use crate::{elf, pmpi, tum};

/// A tool as it can be used.
pub(crate) enum Tool {
    Framework(&'static StackTool),
    /// Of TUM's QMPI: its functions by TUM's id, or null.
    Foreign(Box<[*const c_void; TUM_FUNCTIONS]>, Box<[*const c_char; TUM_FUNCTIONS]>),
    Pmpi(PmpiTool),
}

impl Tool {
    /// Why the tool cannot be as a level wants it.
    fn refusal(&self, wanted: &Wanted) -> Option<String> {
        let Self::Framework(tool) = self else {
            let (name, _) = wanted.options.first()?;
            return Some(format!(
                "{name} is no option of this tool; only tools of this framework have options"
            ));
        };
        wanted.options.iter().find_map(|(name, _)| {
            let name = CString::new(name.as_str()).ok()?;
            // SAFETY: `option_refusal` wants a C string that is there until it returns, and gives null or one that stays.
            let reason = unsafe {
                let reason = (tool.option_refusal)(name.as_ptr());
                if reason.is_null() { None } else { Some(CStr::from_ptr(reason)) }
            };
            reason.map(|reason| reason.to_string_lossy().into_owned())
        })
    }
}

pub(crate) struct Level {
    pub(crate) wanted: Wanted,
    pub(crate) library: Library,
    pub(crate) tool: Tool,
}

/// What a file is, for levels that name it again: what to load for it, or why it is no tool.
type Files = HashMap<PathBuf, Result<PathBuf, String>>;

/// Loads the tools; those that cannot be had are problems.
pub(crate) fn load(wanted: Vec<Wanted>, rank: u32, problems: &mut Vec<Problem>) -> Vec<Level> {
    let mut files = Files::new();
    let mut levels = Vec::new();
    for wanted in wanted.into_iter().filter(|wanted| wanted.is_on(rank)) {
        let loaded = load_one(&wanted.path, &mut files, &levels)
            .and_then(|(library, tool)| tool.refusal(&wanted).map_or(Ok((library, tool)), Err));
        match loaded {
            Ok((library, tool)) => levels.push(Level { wanted, library, tool }),
            Err(what) => {
                problems.push(Problem { level: Some(wanted.number), path: wanted.path, what });
            }
        }
    }
    levels
}

/// What to load for a path.
fn file_of(path: &Path) -> Result<PathBuf, String> {
    // A universal build would open it, but be no level.
    let path = elf::build_beside(path).unwrap_or_else(|| path.to_owned());
    if !is_bare(&path) {
        elf::check(&path)?;
    }
    Ok(path)
}

/// Says whether a path is a name without a slash, which is the dynamic linker's to find.
fn is_bare(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b'/')
}

fn open(path: &Path) -> Result<Library, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "a path has no NUL")?;
    linker::open(&name, libc::RTLD_NOW | libc::RTLD_LOCAL)
        .ok_or_else(|| format!("cannot be loaded: {}", linker::message()))
}

fn load_one(path: &Path, files: &mut Files, before: &[Level]) -> Result<(Library, Tool), String> {
    if !files.contains_key(path) {
        files.insert(path.to_owned(), file_of(path));
    }
    let path = files[path].clone()?;
    let mut library = open(&path)?;
    // What the dynamic linker has found is known only now.
    if is_bare(&path)
        && let Some(file) = pmpi::file_of(library)
    {
        match elf::build_beside(&file) {
            Some(build) => {
                elf::check(&build)?;
                library = open(&build)?;
            }
            None => elf::check(&file)?,
        }
    }
    if let Some(tool) = find(library, c"mpi_tool_stack").cast::<StackTool>() {
        // SAFETY: a number must be there: it is the first field in all versions of this exported structure, which
        // is never written, in a library that is not closed.
        let version = unsafe { (&raw const (*tool).version).read() };
        if version == VERSION {
            // SAFETY: the pointer must be of such a structure, which stays. It is the exported one of a tool of
            // this framework, of this version, and else as above.
            let tool: &'static StackTool = unsafe { &*tool };
            (tool.silence)();
            if tool.abi != abi_number() {
                return Err(
                    abi_of(tool.abi).map_or("built for an unknown ABI".into(), elf::other_abi)
                );
            }
            if tool.functions == list_fingerprint() {
                return Ok((library, Tool::Framework(tool)));
            }
        }
        // Another version's: it serves as a tool for TUM's QMPI.
    }
    let Some(ask) = find(library, c"get_interceptions").option() else {
        // Its table has room for one next level.
        let again = before.iter().any(|level| level.library == library);
        let library = if again { pmpi::load_copy(library)? } else { library };
        return match PmpiTool::of(library) {
            None => Err(elf::NO_TOOL.into()),
            Some(_) if find(library, c"mpi_tool_info").option().is_some() => {
                Err(elf::ONLY_PRELOADED.into())
            }
            Some(tool) if tool.is_the_end() => Err(
                "a PMPI tool that calls no PMPI_ function itself, so levels below it would see \
                     nothing; it can be preloaded behind libqmpi.so"
                    .into(),
            ),
            Some(tool) => Ok((library, Tool::Pmpi(tool))),
        };
    };
    // SAFETY: the transmute wants the function's own prototype: what has this name is TUM's function, which
    // takes an `int` and gives a C string.
    let ask: extern "C" fn(c_int) -> *const c_char = unsafe { core::mem::transmute(ask) };
    let mut functions = Box::new([ptr::null(); TUM_FUNCTIONS]);
    let mut names = Box::new([ptr::null(); TUM_FUNCTIONS]);
    for (id, function) in tum::functions() {
        let name = ask(id as c_int);
        names[id] = name;
        if name.is_null() {
            continue;
        }
        // SAFETY: the tool's function gives null, which was left out above, or by TUM's rules a C string that
        // stays.
        let name = unsafe { CStr::from_ptr(name) };
        if name == c"NULL" {
            continue;
        }
        match find(library, name).option() {
            Some(address) => functions[id] = address,
            None => {
                let name = name.to_string_lossy();
                return Err(format!(
                    "it says that {name} intercepts {function}, but has no {name}"
                ));
            }
        }
    }
    Ok((library, Tool::Foreign(functions, names)))
}

/// What `dlsym` found.
pub(crate) struct Found(*mut c_void);

impl Found {
    pub(crate) fn option(self) -> Option<*const c_void> {
        (!self.0.is_null()).then_some(self.0.cast_const())
    }

    fn cast<T>(self) -> Option<*const T> {
        self.option().map(<*const c_void>::cast)
    }
}

/// Looks a symbol up in a tool's library.
pub(crate) fn find(library: Library, name: &CStr) -> Found {
    let found = library.find(name);
    if found.is_null() {
        linker::clear_message();
    }
    Found(found)
}
