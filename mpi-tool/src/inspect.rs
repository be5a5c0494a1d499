//! What an application is, which MPI it uses, and whether tools will see its calls.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use mpi_facts::is_part_of_mpi;
use serde::Serialize;

use crate::elf::{Elf, Machine, texts};
use crate::libraries::Libraries;
use crate::mpi::Mpi;
use crate::python::{self, Choice};
use crate::words::{base, behind_wrappers, program};

/// Of the JSON.
const SCHEMA: &str = "mpi-tool-inspect/1";

/// Programs whose arguments are scripts, or which load what they need when they run.
const INTERPRETERS: [&str; 10] =
    ["sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "perl", "julia", "R"];

/// What there is to know about an application before it starts.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Inspection {
    pub(crate) schema: &'static str,
    /// The word that the command line calls it by.
    pub(crate) program: String,
    /// Its file; nothing if there is none.
    pub(crate) path: Option<PathBuf>,
    pub(crate) kind: Kind,
    pub(crate) mpi: Option<Mpi>,
    /// Further MPI libraries that come with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_mpis: Vec<Mpi>,
    /// The libraries of the sanitizers that it is compiled with, which must be the first ones of the process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sanitizers: Vec<PathBuf>,
    /// What it calls MPI by, where that can be seen.
    pub(crate) bindings: Vec<Binding>,
    /// MPI comes by `dlopen`, as far as can be seen.
    pub(crate) loads_mpi_late: bool,
    /// It can start further processes by `MPI_Comm_spawn`.
    pub(crate) spawns: bool,
    /// It has a set-user-ID or set-group-ID bit that takes effect for the present user.
    pub(crate) setuid: bool,
    /// Libraries that were not found.
    pub(crate) missing_libraries: Vec<String>,
    pub(crate) interception: Interception,
    /// Why.
    pub(crate) reason: String,
}

/// What kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A program whose libraries are linked when it starts.
    Dynamic,
    /// One that contains all it needs.
    Static,
    /// For 32-bit processors.
    #[serde(rename = "32-bit")]
    Bits32,
    /// For another processor than the tools.
    OtherProcessor,
    /// A Python program.
    Python,
    /// Another script, or its interpreter.
    Script,
    /// Nothing that can be started.
    NoProgram,
    /// There is no such file.
    Missing,
}

/// A way to call MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Binding {
    #[serde(rename = "C")]
    C,
    /// The C++ bindings that MPI-3.0 removed; other C++ programs use C's.
    #[serde(rename = "C++")]
    Cxx,
    /// The two have the same symbols.
    #[serde(rename = "mpif.h or use mpi")]
    Fortran,
    #[serde(rename = "use mpi_f08")]
    F08,
    #[serde(rename = "mpi4py")]
    Mpi4py,
}

impl Binding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Binding::C => "C",
            Binding::Cxx => "C++ (MPI::)",
            Binding::Fortran => "Fortran (mpif.h or use mpi)",
            Binding::F08 => "Fortran (use mpi_f08)",
            Binding::Mpi4py => "mpi4py",
        }
    }

    fn of_symbol(name: &str) -> Option<Self> {
        let function = |rest: &str| {
            rest.len() > 1
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        if let Some(rest) = name.strip_prefix("MPI_").or_else(|| name.strip_prefix("PMPI_")) {
            // MPI_SEND: a Fortran compiler's choice.
            let fortran = rest.len() > 1 && !rest.bytes().any(|byte| byte.is_ascii_lowercase());
            return Some(if fortran { Self::Fortran } else { Self::C });
        }
        if name.starts_with("_ZN3MPI")
            || name.starts_with("_ZNK3MPI")
            || name.starts_with("_ZTVN3MPI")
        {
            return Some(Self::Cxx);
        }
        let rest = name.strip_prefix("mpi_").or_else(|| name.strip_prefix("pmpi_"))?;
        let rest = rest.strip_suffix('_')?;
        // Constants in common blocks: mpi_fortran_bottom_.
        if !function(rest) || rest.starts_with("fortran_") {
            return None;
        }
        Some(if rest.ends_with("_f08") || rest.ends_with("_f08ts") {
            Self::F08
        } else {
            Self::Fortran
        })
    }
}

/// Will tools see the calls?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Interception {
    Yes,
    No,
    /// It depends on what cannot be seen.
    Unknown,
}

impl Inspection {
    /// Looks at an application: a program and its arguments, wrappers such as `env` in front or not.
    pub(crate) fn of(words: &[String], folder: &Path) -> Self {
        let words = &words[behind_wrappers(words, folder)..];
        let word = words.first().map_or("", String::as_str);
        let mut inspection = Self {
            schema: SCHEMA,
            program: word.into(),
            path: program(word, folder),
            kind: Kind::Missing,
            mpi: None,
            other_mpis: Vec::new(),
            sanitizers: Vec::new(),
            bindings: Vec::new(),
            loads_mpi_late: false,
            spawns: false,
            setuid: false,
            missing_libraries: Vec::new(),
            interception: Interception::No,
            reason: "no such program".into(),
        };
        let Some(path) = inspection.path.clone() else { return inspection };
        inspection.setuid = takes_rights(&path);
        if base(word).starts_with("python") {
            inspection.python(word, folder);
        } else {
            match Elf::read(&path) {
                Ok(Some(_)) if INTERPRETERS.contains(&base(word)) => inspection.starts_others(word),
                Ok(Some(elf)) => inspection.elf(&elf),
                Ok(None) => inspection.script(&path, folder),
                Err(error) => {
                    inspection.kind = Kind::NoProgram;
                    inspection.reason = format!("it cannot be read: {error}");
                }
            }
        }
        if inspection.setuid && inspection.interception != Interception::No {
            inspection.interception = Interception::No;
            inspection.reason = "it is setuid, so the dynamic linker ignores LD_PRELOAD".into();
        }
        inspection
    }

    fn set(&mut self, interception: Interception, reason: impl Into<String>) {
        self.interception = interception;
        self.reason = reason.into();
    }

    fn python(&mut self, python: &str, folder: &Path) {
        self.kind = Kind::Python;
        match python::choice(python, folder) {
            Choice::NoMpi4py => {
                self.set(
                    Interception::Unknown,
                    "this Python has no mpi4py; it may use MPI in another way",
                );
            }
            Choice::NoMpi => {
                self.set(
                    Interception::No,
                    "mpi4py finds no MPI library (it looks in LD_LIBRARY_PATH)",
                );
            }
            Choice::Mpi(mpi) => {
                self.set(Interception::Yes, format!("mpi4py takes {}", mpi.title()));
                self.mpi = Some(mpi);
                self.bindings = vec![Binding::Mpi4py];
                self.loads_mpi_late = true;
            }
        }
    }

    fn script(&mut self, path: &Path, folder: &Path) {
        let text = fs::read(path).unwrap_or_default();
        let Some(line) =
            text.strip_prefix(b"#!").and_then(|text| text.split(|b| *b == b'\n').next())
        else {
            self.kind = Kind::NoProgram;
            return self.set(Interception::No, "it is neither an ELF program nor a script");
        };
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split_whitespace();
        let mut interpreter = words.next().unwrap_or("");
        if base(interpreter) == "env" {
            interpreter = words.find(|word| !word.starts_with('-')).unwrap_or("");
        }
        if base(interpreter).starts_with("python") {
            return self.python(interpreter, folder);
        }
        self.starts_others(interpreter);
    }

    fn starts_others(&mut self, interpreter: &str) {
        self.kind = Kind::Script;
        let name = base(interpreter);
        let reason =
            format!("it is a script ({name}): the answer depends on the programs that it starts");
        self.set(Interception::Unknown, reason);
    }

    fn elf(&mut self, elf: &Elf) {
        if elf.bits == 32 {
            self.kind = Kind::Bits32;
            return self.set(Interception::No, "it is a 32-bit program; tools are 64-bit");
        }
        if elf.machine != Some(Machine::OWN) {
            self.kind = Kind::OtherProcessor;
            let other = elf.machine.map_or("another processor", Machine::name);
            let own = Machine::OWN.name();
            let reason =
                format!("it is for {other}, and this mpi-tool and its tools are for {own}");
            return self.set(Interception::No, reason);
        }
        let libraries = Libraries::of(elf);
        self.kind = if elf.dynamic { Kind::Dynamic } else { Kind::Static };
        let mut found = libraries
            .found
            .iter()
            .filter_map(|library| Mpi::new(library.soname.as_deref()?, Some(&library.path)));
        self.mpi = found.next();
        self.other_mpis = found.filter(|other| !self.is_the_mpi(other)).collect();
        if self.mpi.is_none() {
            self.mpi = libraries.missing.iter().find_map(|name| Mpi::new(name, None));
        }
        let of_sanitizers =
            libraries.found.iter().filter(|it| it.soname.as_deref().is_some_and(is_of_sanitizer));
        self.sanitizers = of_sanitizers.map(|library| library.path.clone()).collect();
        self.bindings = bindings(elf, &libraries);
        let imports = |wanted: &str| elf.imports.iter().any(|name| name == wanted);
        self.loads_mpi_late = self.mpi.is_none() && imports("dlopen") && names_mpi(elf);
        self.spawns = imports("MPI_Comm_spawn") || imports("MPI_Comm_spawn_multiple");
        self.missing_libraries = libraries.missing;

        let contains_mpi = ["PMPI_Init", "MPI_Init", "mpi_init_"].iter().any(|name| elf.has(name));
        if let Some(mpi) = &self.mpi {
            if let Some(other) = self.other_mpis.first() {
                let reason = format!(
                    "two MPI libraries come with it, {} and {}: tools see the one that each call goes to, and can report \
                     of one only",
                    mpi.soname, other.soname
                );
                return self.set(Interception::Unknown, reason);
            }
            if mpi.path.is_some() {
                return self.set(Interception::Yes, format!("it is linked to {}", mpi.soname));
            }
            let reason =
                format!("it is linked to {}, which is not found on this machine", mpi.soname);
            return self.set(Interception::Unknown, reason);
        }
        if contains_mpi || has_texts_of_mpi(elf) {
            let reason = "MPI is statically linked: its calls do not go through the dynamic linker";
            return self.set(Interception::No, reason);
        }
        if self.kind == Kind::Static {
            return self.set(Interception::No, "it is statically linked: nothing can be preloaded");
        }
        if self.loads_mpi_late {
            let reason = "it names an MPI library and may load it by dlopen; a tool must have the ABI of that library";
            return self.set(Interception::Unknown, reason);
        }
        self.set(Interception::Unknown, "no MPI found: it is not linked to an MPI library");
    }

    /// Is this the MPI library that was found, perhaps by another name? Distributions have one file under several.
    fn is_the_mpi(&self, other: &Mpi) -> bool {
        let file = |mpi: &Mpi| mpi.path.as_ref().and_then(|path| path.canonicalize().ok());
        self.mpi.as_ref().is_some_and(|mpi| mpi.soname == other.soname || file(mpi) == file(other))
    }

    /// Does it call MPI from Fortran?
    pub(crate) fn is_fortran(&self) -> bool {
        self.bindings.iter().any(|binding| matches!(binding, Binding::Fortran | Binding::F08))
    }
}

/// What the program and its libraries call MPI by; MPI's own libraries call themselves.
fn bindings(program: &Elf, libraries: &Libraries) -> Vec<Binding> {
    let others = libraries.found.iter().filter(|library| {
        library.soname.as_deref().is_none_or(|name| !is_part_of_mpi(name))
            // Open MPI's and MPICH's parts.
            && !library.exports.iter().any(|name| name.starts_with("opal_") || name.starts_with("MPL_"))
    });
    let mut bindings: Vec<_> = std::iter::once(program)
        .chain(others)
        .flat_map(|object| object.imports.iter().filter_map(|name| Binding::of_symbol(name)))
        .collect();
    bindings.sort_unstable();
    bindings.dedup();
    bindings
}

/// Is a library of this name the runtime of a sanitizer, of GCC or of Clang?
pub(crate) fn is_of_sanitizer(name: &str) -> bool {
    const NAMES: [&str; 6] =
        ["libasan.so", "libtsan.so", "liblsan.so", "libubsan.so", "libhwasan.so", "libclang_rt."];
    NAMES.iter().any(|known| name.starts_with(known))
}

/// Is it ThreadSanitizer's? That need not come first, and tools that have something to say to it must come before it.
pub(crate) fn is_of_thread_sanitizer(name: &str) -> bool {
    name.starts_with("libtsan.so") || name.starts_with("libclang_rt.tsan")
}

/// Is there a library's name among its texts?
fn names_mpi(elf: &Elf) -> bool {
    fs::read(&elf.path).is_ok_and(|data| {
        texts(&data).any(|text| base(text).starts_with("libmpi") && text.contains(".so"))
    })
}

/// Has it what an MPI library says when it is called too early? Stripping leaves texts.
fn has_texts_of_mpi(elf: &Elf) -> bool {
    const TEXTS: [&str; 2] =
        ["Attempting to use an MPI routine", "function was called before MPI_INIT was invoked"];
    fs::read(&elf.path)
        .is_ok_and(|data| texts(&data).any(|text| TEXTS.iter().any(|part| text.contains(part))))
}

/// Does starting it change the rights of the present user? The owner's own program does not.
fn takes_rights(path: &Path) -> bool {
    let (Ok(file), Ok(we)) = (path.metadata(), Path::new("/proc/self").metadata()) else {
        return false;
    };
    const SETUID: u32 = 0o4000;
    // Without the right to execute for the group, the bit means something else.
    const SETGID: u32 = 0o2010;
    (file.mode() & SETUID != 0 && file.uid() != we.uid())
        || (file.mode() & SETGID == SETGID && file.gid() != we.gid())
}

#[cfg(test)]
mod tests {
    use super::Binding;

    /// Symbols of programs that GCC and gfortran made for MPICH and Open MPI.
    #[test]
    fn bindings_are_known_by_their_symbols() {
        for (name, binding) in [
            ("MPI_Send", Some(Binding::C)),
            ("PMPI_Comm_rank", Some(Binding::C)),
            ("mpi_send_", Some(Binding::Fortran)),
            ("MPI_SEND", Some(Binding::Fortran)),
            ("mpi_send_f08_", Some(Binding::F08)),
            ("mpi_send_f08ts_", Some(Binding::F08)),
            ("_ZN3MPI4InitEv", Some(Binding::Cxx)),
            ("mpi_fortran_bottom_", None),
            ("mpiprivc_", None),
            ("ompi_mpi_comm_world", None),
            ("mpi_helper", None),
        ] {
            assert_eq!(Binding::of_symbol(name), binding, "{name}");
        }
    }
}
