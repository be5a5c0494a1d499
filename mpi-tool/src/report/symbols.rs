//! Source lines of places in programs and libraries, by their debug information.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use addr2line::Loader;
use mpi_facts::{is_library_file, name_in_language};
use object::Endianness;
use object::read::Object as _;
use object::read::elf::ElfFile64;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::out::errln;

/// A place in a program or library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) build_id: String,
    pub(crate) offset: u64,
    /// What was known of it when the report was printed in JSON or made a page; a tool's own report has none.
    #[serde(default)]
    frames: Vec<Known>,
}

impl Place {
    pub(crate) fn new(file: String, build_id: String, offset: u64) -> Self {
        Self { file, build_id, offset, frames: Vec::new() }
    }
}

/// A frame, as a report has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Known {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

/// A function of the source that a place is in. A place has several if the compiler has inlined some, the innermost
/// first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its name, demangled.
    pub(crate) function: Option<String>,
    /// File and line of the call, if they are known.
    pub(crate) line: Option<(String, u32)>,
    /// The place, where nothing better is known.
    pub(crate) place: String,
}

impl Frame {
    /// `solver.c:12 solve`, or what is known of it.
    pub(crate) fn short(&self) -> String {
        let line = self.line.as_ref().map(|(file, line)| {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("{name}:{line}")
        });
        match (line, &self.function) {
            (Some(line), Some(function)) => format!("{line} {function}"),
            (Some(line), None) => line,
            (None, Some(function)) => format!("{} {function}", self.place),
            (None, None) => self.place.clone(),
        }
    }

    /// `solver.c:12 (solve)`: the same, behind `at`.
    pub(crate) fn at(&self) -> String {
        let place = Self { function: None, ..self.clone() }.short();
        match &self.function {
            Some(function) => format!("{place} ({function})"),
            None => place,
        }
    }

    /// The same with the file's path, for programs to read.
    pub(crate) fn long(&self) -> String {
        match &self.line {
            Some((file, line)) => {
                format!("{file}:{line} {}", self.function.as_deref().unwrap_or("??"))
            }
            None => self.short(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let (file, line) = self.line.as_ref().map(|(file, line)| (file, line)).unzip();
        json!({"function": self.function, "file": file, "line": line})
    }
}

/// The debug information of all files, read when it is first asked for.
#[derive(Default)]
pub(crate) struct Symbols {
    files: BTreeMap<(String, String), Option<Loader>>,
    complaints: BTreeSet<String>,
}

impl Symbols {
    /// The functions that a place is in: at least one frame.
    pub(crate) fn of(&mut self, place: &Place) -> Vec<Frame> {
        if let Some((function, file)) = mpi_tool_python::split(&place.file) {
            let line = u32::try_from(place.offset).ok().filter(|line| *line > 0);
            return vec![Frame {
                function: Some(function.into()),
                line: line.map(|line| (file.into(), line)),
                place: file.rsplit('/').next().unwrap_or(file).into(),
            }];
        }
        let name = place.file.rsplit('/').next().unwrap_or(&place.file);
        // No call ends at an offset of 0: it is a function of Python without a line.
        let shown = match place.offset {
            0 => name.to_owned(),
            offset => format!("{name}+{offset:#x}"),
        };
        let known = place.frames.iter().map(|known| {
            let line = known.file.clone().zip(known.line);
            Frame { function: known.function.clone(), line, place: shown.clone() }
        });
        let known: Vec<_> = known.collect();
        if known.iter().any(|frame| frame.function.is_some() || frame.line.is_some()) {
            return known;
        }
        let unknown = Frame { function: None, line: None, place: shown.clone() };
        let Some(loader) = self.loader(place) else { return vec![unknown] };
        let mut frames = Vec::new();
        if let Ok(mut found) = loader.find_frames(place.offset) {
            while let Ok(Some(frame)) = found.next() {
                let function = frame.function.and_then(|name| {
                    let demangled = name.demangle().ok()?.into_owned();
                    Some(name_in_language(demangled, name.language.map(|language| language.0)))
                });
                let line = frame.location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
                frames.push(Frame { function, line, place: shown.clone() });
            }
        }
        // Without debug information, the table of symbols may have the function.
        if let [] | [Frame { function: None, .. }] = frames[..] {
            let symbol = loader.find_symbol(place.offset);
            let symbol =
                symbol.map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
            match frames.first_mut() {
                Some(frame) => frame.function = symbol,
                None => frames.push(Frame { function: symbol, ..unknown }),
            }
        }
        frames
    }

    /// The functions of a call site: the program's own first, and not those of a library that wraps MPI. Of a call that an installed
    /// library makes, the first one says so: `main, through H5Dwrite (libhdf5.so.310)`.
    pub(crate) fn of_site(&mut self, site: &[Place]) -> Vec<Frame> {
        let more = env::var("MPI_TOOL_LIBRARIES").unwrap_or_default();
        let program = site.last().map_or("", |place| &place.file);
        let is_own = |place: &Place| !is_library_file(&place.file, program, &more);
        let own = site.iter().position(is_own).unwrap_or(0);
        let all: Vec<Frame> = site[own..].iter().flat_map(|place| self.of(place)).collect();
        let library = mpi_facts::wrappers(all.iter().map(|frame| frame.function.as_deref()));
        let mut frames: Vec<_> = all.into_iter().skip(library).collect();
        if let (1.., Some(first)) = (own, frames.first_mut()) {
            let library = site[0].file.rsplit('/').next().unwrap_or(&site[0].file);
            let call = self.of(&site[0]).into_iter().next().and_then(|frame| frame.function);
            let call =
                call.map_or_else(|| library.to_owned(), |call| format!("{call} ({library})"));
            let own = first.function.take().map_or_else(String::new, |own| format!("{own}, "));
            first.function = Some(format!("{own}through {call}"));
        }
        frames
    }

    fn loader(&mut self, place: &Place) -> Option<&Loader> {
        let key = (place.file.clone(), place.build_id.clone());
        let complaints = &mut self.complaints;
        let loader = self.files.entry(key).or_insert_with(|| {
            open(&place.file, &place.build_id)
                .map_err(|reason| complaints.insert(format!("{}: {reason}", place.file)))
                .ok()
        });
        loader.as_ref()
    }

    /// Says of which files nothing is known.
    pub(crate) fn complain(&self) {
        for complaint in &self.complaints {
            errln!("mpi-tool: no source lines of {complaint}");
        }
    }
}

/// The debug information of a file, if it is still the one that ran.
fn open(path: &str, build_id: &str) -> Result<Loader, String> {
    // A device or a pipe might have no end.
    if !fs::metadata(path).map_err(|error| error.to_string())?.is_file() {
        return Err("it is no regular file".into());
    }
    let contents = fs::read(path).map_err(|error| error.to_string())?;
    let file = ElfFile64::<Endianness>::parse(&*contents).map_err(|error| error.to_string())?;
    let id = file.build_id().ok().flatten().unwrap_or_default();
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    if id != build_id {
        return Err("it is not the file that ran: its build ID is another one".into());
    }
    Loader::new(path).map_err(|error| error.to_string())
}
