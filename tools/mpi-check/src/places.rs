//! Source lines of call sites, read from debug information in the process itself, when there is a finding. Functions of Python have
//! theirs from the interpreter.

use core::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use addr2line::{Loader, demangle_auto};
use mpi_facts::name_in_language;
use mpi_tool_layer::{CodePlace, PythonPlace, Site};
use rustc_hash::FxHashMap;

use crate::shared::{Text, shared};
use crate::wrappers;

/// `solver.c:12 main`, or what is known of the place of a call; empty if nothing is. Of a call that an installed library makes:
/// `solver.c:12 main, through H5Dwrite (libhdf5.so.310)`.
pub(crate) fn describe(site: Site) -> String {
    let Some(place) = place_of(site) else { return String::new() };
    let text = describe_place(place.file(), place.offset());
    match site.places().first() {
        Some(call) if call.offset() != place.offset() && call.is_of_library() => {
            let library = Path::new(call.file()).file_name().unwrap_or_default().to_string_lossy();
            let function = frames(call.file(), call.offset());
            let function = function.and_then(|all| all.into_iter().next()?.function);
            match function {
                Some(function) => format!("{text}, through {function} ({library})"),
                None => format!("{text}, through {library}"),
            }
        }
        _ => text,
    }
}

/// The place that a site's findings name: the call's own, or the first one outside of a library that wraps MPI or uses it.
pub(crate) fn place_of(site: Site) -> Option<&'static CodePlace> {
    let places = site.places();
    if places.len() < 2 {
        return places.first();
    }
    let of_user = |place: &CodePlace| {
        if place.python().is_some() {
            return true;
        }
        if place.is_of_library() {
            return false;
        }
        let all = frames(place.file(), place.offset());
        all.is_none_or(|all| !all.iter().all(Frame::is_wrapper))
    };
    places.get(wrappers::known_place(site.number(), || places.iter().position(of_user)))
}

/// A place that other processes of the host understand: which file, and where in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// A hash of the file's path.
    pub(crate) module: u64,
    /// The offset in it.
    pub(crate) offset: u64,
}

impl Mark {
    /// Of a site of this process.
    pub(crate) fn of(site: Site) -> Self {
        let Some(place) = place_of(site) else { return Self::default() };
        Self { module: hash_of_file(place), offset: place.offset() }
    }

    /// Is it in the file of this path?
    pub(crate) fn is_in(self, path: &str) -> bool {
        self.module != 0 && hash(path) == self.module
    }
}

/// How many functions of Python others may know, and how long their names may be with the files'.
const PYTHON: (usize, usize) = (512, 244);

/// Functions of Python that calls come from, with their files, as places have them: other processes may not be in them. Zeros are an
/// empty table.
#[repr(C)]
pub(crate) struct Python([PythonFunction; PYTHON.0]);

#[repr(C)]
struct PythonFunction {
    /// 0 if the place is free.
    module: AtomicU64,
    name: Text<{ PYTHON.1 }>,
}

/// The places of the table from a module's on.
fn python_functions(module: u64) -> impl Iterator<Item = &'static PythonFunction> {
    let all = &shared().python.0;
    (0..PYTHON.0).map(move |step| &all[(module as usize).wrapping_add(step) % PYTHON.0])
}

/// A function of Python is where a mark is. What there is no room for has no name in other processes.
fn note_python(module: u64, function: &str) {
    // Half a path is another one.
    if function.len() > PYTHON.1 {
        return;
    }
    for place in python_functions(module) {
        match place.module.compare_exchange(0, module, AcqRel, Acquire) {
            Ok(_) => return place.name.set(function),
            Err(known) if known == module => return,
            Err(_) => {}
        }
    }
}

/// `script.py:12 function` of a mark, if that is in Python.
fn python_of_mark(mark: Mark) -> Option<String> {
    let is_it = |place: &&PythonFunction| place.module.load(Acquire) == mark.module;
    let mut known =
        python_functions(mark.module).take_while(|place| place.module.load(Acquire) != 0);
    let name = known.find(is_it)?.name.get();
    Some(PythonPlace::of(&name, mark.offset)?.to_string())
}

/// Hashes of the paths of the first files with call sites, by the addresses of the paths, which stay. Few programs call MPI
/// from more.
static HASHES: [(AtomicUsize, AtomicU64); 8] =
    [const { (AtomicUsize::new(0), AtomicU64::new(0)) }; 8];

/// The hash of a place's path, which is long: each call asks for it. Others are told of what is in Python.
fn hash_of_file(place: &CodePlace) -> u64 {
    let path = place.file();
    let new = || {
        let module = hash(path);
        if place.python().is_some() {
            note_python(module, path);
        }
        module
    };
    let address = path.as_ptr().addr();
    for (known, value) in &HASHES {
        let found = match known.load(Relaxed) {
            0 => known
                .compare_exchange(0, address, Relaxed, Relaxed)
                .map_or_else(|it| it, |_| address),
            found => found,
        };
        if found == address {
            // Only who has this path writes here.
            let mut of_path = value.load(Relaxed);
            if of_path == 0 {
                of_path = new();
                value.store(of_path, Relaxed);
            }
            return of_path;
        }
    }
    new()
}

fn hash(path: &str) -> u64 {
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// A place of any process of the host, if this process has the same file loaded.
pub(crate) fn of_mark(mark: Mark) -> String {
    if mark.module == 0 {
        return String::new();
    }
    if let Some(python) = python_of_mark(mark) {
        return python;
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let path = paths.find(|path| mark.is_in(path));
    path.map_or_else(String::new, |path| describe_place(path, mark.offset))
}

/// `solver.c:12 main`, of a place in a file; `script.py:12 function` of one in Python.
pub(crate) fn describe_place(path: &str, offset: u64) -> String {
    if let Some(python) = PythonPlace::of(path, offset) {
        return python.to_string();
    }
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    let unknown = format!("{name}+{offset:#x}");
    let Some(mut all) = frames(path, offset) else { return unknown };
    let at = all.iter().position(|frame| !frame.is_wrapper()).unwrap_or(0);
    if all.is_empty() {
        return unknown;
    }
    let Frame { function, line } = all.swap_remove(at);
    let at = match line {
        Some((file, line)) => format!("{}:{line}", file.rsplit('/').next().unwrap_or(&file)),
        None => unknown,
    };
    match function {
        Some(function) => format!("{at} {function}"),
        None => at,
    }
}

/// A function at a place, of which one may be inlined into the next.
struct Frame {
    function: Option<String>,
    line: Option<(String, u32)>,
}

impl Frame {
    /// Is it a function of a library that wraps MPI?
    fn is_wrapper(&self) -> bool {
        self.function.as_deref().is_some_and(wrappers::is_wrapper)
    }
}

/// The functions at a place, the innermost first: at least one, if anything is known of it. `None` if the file cannot be read.
///
/// A file's debug information is looked through once in a process, which takes a tenth of a second and more: a program that
/// wraps MPI asks for each of its call sites, and for each of their callers.
fn frames(path: &str, offset: u64) -> Option<Vec<Frame>> {
    static FILES: Mutex<Option<FxHashMap<String, Option<Loader>>>> = Mutex::new(None);
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let files = files.get_or_insert_default();
    let loader = files.entry(path.to_owned()).or_insert_with(|| Loader::new(path).ok());
    loader.as_ref().map(|loader| frames_in(loader, offset))
}

fn frames_in(loader: &Loader, offset: u64) -> Vec<Frame> {
    let mut all = Vec::new();
    if let Ok(mut frames) = loader.find_frames(offset) {
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.and_then(|name| {
                let demangled = name.demangle().ok()?.into_owned();
                Some(name_in_language(demangled, name.language.map(|language| language.0)))
            });
            let line = frame.location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
            all.push(Frame { function: name, line });
        }
    }
    // Without debug information, or where it names no function.
    let symbol = || {
        let symbol = loader.find_symbol(offset)?;
        Some(demangle_auto(symbol.into(), None).into_owned())
    };
    match all.first_mut() {
        Some(first) if first.function.is_none() => first.function = symbol(),
        Some(_) => {}
        None => {
            all.extend(symbol().map(|function| Frame { function: Some(function), line: None }));
        }
    }
    all
}
