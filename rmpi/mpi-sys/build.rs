//! Chooses the ABI: `MPI_ABI` names it, else the MPI of `$MPICC` has one, else it is MPICH's. With the feature `link`,
//! and where there is an `mpicc` of that ABI, asks it where its library is and which of the listed functions that
//! library has, for programs that link it. Tools link no MPI, so they compile without any. Says which entry points
//! tools have for Fortran under the ABI.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_facts::fortran::{self, FortranEntry};
use mpi_facts::{Abi, FunctionId};
#[cfg(feature = "link")]
use object::{Object, ObjectSymbol, read::elf::ElfFile64};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={MPI_ABI}");
    println!("cargo::rerun-if-env-changed=MPICC");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-env-changed={FORTRAN_NAMES}");
    println!("cargo::rustc-check-cfg=cfg(mpi_abi, values(\"mpich\", \"openmpi\", \"standard\"))");

    let listed: BTreeSet<String> =
        FunctionId::all().map(|function| function.name().to_owned()).collect();
    if env::var_os("DOCS_RS").is_some() {
        return emit(Abi::Mpich, "", &listed, &listed);
    }
    match choose() {
        Ok(Choice { abi, why, mpi: Some(mpi) }) => {
            for file in mpi.libraries.iter().chain(mpi.compiler.as_ref()) {
                println!("cargo::rerun-if-changed={}", file.display());
            }
            for (directory, name) in mpi.libraries.iter().filter_map(|file| link_name(file)) {
                println!("cargo::rustc-link-search=native={}", directory.display());
                println!("cargo::rustc-link-lib=dylib={name}");
            }
            say(abi, &why);
            let version = mpi.version.replace(['"', '\\'], "");
            emit(abi, &version, &listed, &mpi.functions);
        }
        Ok(Choice { abi, why, mpi: None }) => {
            say(abi, &why);
            // Nobody can link a program to an MPI that is not there; a tool looks at load what there is.
            emit(abi, "no MPI", &listed, &listed);
        }
        Err(message) => {
            println!("cargo::error={message}");
        }
    }
}

/// The variable that names the ABI.
const MPI_ABI: &str = "MPI_ABI";

/// What is built for, and why.
struct Choice {
    abi: Abi,
    why: String,
    /// The MPI that programs are linked to.
    mpi: Option<Mpi>,
}

fn choose() -> Result<Choice, String> {
    let named = env::var("MPICC").ok().filter(|mpicc| !mpicc.trim().is_empty());
    let mpicc = named.as_deref().unwrap_or("mpicc");
    let wanted = match env::var(MPI_ABI) {
        Ok(wanted) if !wanted.is_empty() => match Abi::of_name(&wanted) {
            Some(abi) => Some(abi),
            None => {
                return Err(format!(
                    "{MPI_ABI}={wanted} names no ABI: set it to mpich (also for Intel MPI, Cray MPICH and \
                     MVAPICH), openmpi or standard"
                ));
            }
        },
        _ => None,
    };
    let probed = probe(mpicc);
    match (wanted, probed) {
        (Some(abi), Ok(mpi)) if mpi.abi == abi => Ok(Choice {
            abi,
            why: format!("{MPI_ABI} says so; {mpicc} is {}", mpi.version),
            mpi: Some(mpi),
        }),
        (Some(abi), Ok(mpi)) => {
            let why = format!("{MPI_ABI} says so; {mpicc} is {} and is not used", mpi.version);
            Ok(Choice { abi, why, mpi: None })
        }
        (Some(abi), Err(_)) => Ok(Choice { abi, why: format!("{MPI_ABI} says so"), mpi: None }),
        (None, Ok(mpi)) => {
            Ok(Choice { abi: mpi.abi, why: format!("{mpicc} is {}", mpi.version), mpi: Some(mpi) })
        }
        // An mpicc that somebody names, or that is there and fails, is a mistake to be told.
        (None, Err(NoMpi::Broken(message))) => {
            Err(format!("{message}; {MPI_ABI}=mpich, openmpi or standard builds tools without it"))
        }
        (None, Err(NoMpi::Missing(message))) if named.is_some() => Err(message),
        (None, Err(NoMpi::Missing(_))) => Ok(Choice {
            abi: Abi::Mpich,
            why: format!(
                "there is no mpicc; {MPI_ABI}=openmpi or {MPI_ABI}=standard chooses another"
            ),
            mpi: None,
        }),
    }
}

/// Tells the user once what is built.
fn say(abi: Abi, why: &str) {
    let abi = match abi {
        Abi::Mpich => "MPICH's ABI",
        Abi::OpenMpi => "Open MPI's ABI",
        Abi::Standard => "MPI-5's standard ABI",
    };
    println!("cargo::warning=building for {abi} ({why})");
}

/// Writes what other crates' macros need to know of the probed library.
fn emit(abi: Abi, version: &str, listed: &BTreeSet<String>, present: &BTreeSet<String>) {
    println!("cargo::rustc-cfg=mpi_abi=\"{}\"", abi.name());
    let mut out = String::new();
    let _ = writeln!(out, "/// The MPI library that this crate was built against.");
    let _ = writeln!(out, "pub const BUILT_AGAINST: &str = \"{version}\";");
    out.push_str(
        "/// `if_exported! { MPI_X { items } }`: the items, where the MPI library that this crate was\n\
         /// built against exports the function.\n\
         #[macro_export]\n\
         macro_rules! if_exported {\n",
    );
    for missing in listed.difference(present) {
        let _ = writeln!(out, "    ({missing} $items:tt) => {{}};");
    }
    out.push_str("    ($name:ident { $($items:tt)* }) => { $($items)* };\n}\n");
    out.push_str(
        "/// `if_missing! { MPI_X { items } }`: the items, where that library lacks the function.\n\
         #[macro_export]\n\
         macro_rules! if_missing {\n",
    );
    for missing in listed.difference(present) {
        let _ = writeln!(out, "    ({missing} {{ $($items:tt)* }}) => {{ $($items)* }};");
    }
    out.push_str("    ($name:ident $items:tt) => {};\n}\n");
    fortran(&mut out, abi);
    let file = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("probed.rs");
    fs::write(&file, out).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// How the user's Fortran compiler makes symbols of names.
const FORTRAN_NAMES: &str = "MPI_FORTRAN_NAMES";

/// Writes which entry points a tool has for Fortran, and which functions have callbacks or
/// attributes, whose languages MPI keeps apart.
///
/// Which ones there are follows from the ABI and not from the Fortran library of this MPI, which
/// may have none: a tool serves all MPIs of its ABI.
///
/// A universal build has those of all ABIs.
fn fortran(out: &mut String, abi: Abi) {
    let Some(manglings) = manglings() else { return };
    let of = |abi| {
        let names = FortranEntry::all(abi);
        names.flat_map(|entry| {
            manglings.iter().map(move |mangled| (entry.function, entry.form, mangled(&entry.name)))
        })
    };
    let mut entries = String::new();
    for (function, form, symbol) in of(abi) {
        let method = function.method_name();
        let _ = writeln!(entries, "        {function} {method} {form} {symbol:?};");
    }
    let symbols: BTreeSet<String> =
        Abi::ALL.into_iter().flat_map(of).map(|(.., symbol)| symbol).collect();
    let symbols: String = symbols.iter().map(|symbol| format!("        {symbol:?}\n")).collect();
    let mut own_language = String::new();
    for function in
        FunctionId::all().filter(|function| fortran::is_bound_to_its_language(*function))
    {
        let _ = writeln!(own_language, "        {function} {};", function.method_name());
    }
    let _ = write!(
        out,
        "/// Calls the macro in the first brackets with the rest of the arguments, in brackets, and the\n\
         /// entry points for Fortran: `MPI_Send send Mpif \"mpi_send_\";`, where the third word says how\n\
         /// arguments are passed.\n\
         #[macro_export]\n\
         macro_rules! fortran_entries {{\n    \
             ([$($callback:tt)*] $($context:tt)*) => {{ $($callback)*! {{ [$($context)*]\n{entries}    }} }};\n}}\n\
         /// The same for the functions whose callbacks or attributes are of the language that gave them.\n\
         #[macro_export]\n\
         macro_rules! language_bound_functions {{\n    \
             ([$($callback:tt)*] $($context:tt)*) => {{ $($callback)*! {{ [$($context)*]\n{own_language}    }} }};\n}}\n\
         /// The same for the symbols of all entry points for Fortran, of whichever ABI.\n\
         #[macro_export]\n\
         macro_rules! fortran_symbols {{\n    \
             ([$($callback:tt)*] $($context:tt)*) => {{ $($callback)*! {{ [$($context)*]\n{symbols}    }} }};\n}}\n"
    );
}

/// How a compiler makes a symbol of a name.
type Mangling = fn(&str) -> String;

fn manglings() -> Option<Vec<Mangling>> {
    let names = env::var(FORTRAN_NAMES).unwrap_or_else(|_| "name_".into());
    let mut manglings: Vec<Mangling> = Vec::new();
    for name in names.split(',') {
        manglings.push(match name.trim() {
            "name_" => |name| format!("{name}_"),
            "name__" => |name| format!("{name}__"),
            "name" => str::to_owned,
            "NAME" => str::to_uppercase,
            other => {
                println!(
                    "cargo::error={FORTRAN_NAMES}: {other:?} is none of name_, name__, name, NAME"
                );
                return None;
            }
        });
    }
    Some(manglings)
}

struct Mpi {
    abi: Abi,
    version: String,
    compiler: Option<PathBuf>,
    libraries: Vec<PathBuf>,
    functions: BTreeSet<String>,
}

/// Why there is no MPI to link to.
enum NoMpi {
    /// There is no such compiler.
    Missing(String),
    /// It cannot be used.
    Broken(String),
}

impl From<String> for NoMpi {
    fn from(message: String) -> Self {
        NoMpi::Broken(message)
    }
}

fn probe(mpicc: &str) -> Result<Mpi, NoMpi> {
    let preprocessed = run(mpicc, &["-E", "-P"], PROBE)?;
    let answer = |key: &str| {
        let line = preprocessed.lines().find_map(|line| line.trim().strip_prefix(key));
        // The preprocessor puts blanks where it likes: `"Open MPI " 5 . 0 . 11`.
        let words: Vec<_> = line?.split(['"', ' ']).filter(|word| !word.is_empty()).collect();
        Some(words.join(" ").replace(" . ", "."))
    };
    let abi = match answer("RMPI_ABI:").as_deref() {
        Some(name) => Abi::of_name(name),
        None => None,
    };
    let Some(abi) = abi else {
        return Err(NoMpi::Broken(format!(
            "{mpicc}: its mpi.h is of no ABI that is known here (mpich, openmpi, MPI-5 standard)"
        )));
    };
    let (libraries, functions) = linked(mpicc)?;
    Ok(Mpi {
        abi,
        version: answer("RMPI_VERSION:").unwrap_or_default(),
        compiler: find_in_path(mpicc),
        libraries,
        functions,
    })
}

/// The MPI's libraries, and the listed functions that they export.
#[cfg(feature = "link")]
fn linked(mpicc: &str) -> Result<(Vec<PathBuf>, BTreeSet<String>), NoMpi> {
    // The linker says which files it took; the MPI library is among them.
    let linker = ["-shared", "-fPIC", "-Wl,--trace", "-Wl,--no-as-needed", "-o", "probe.so"];
    let trace = run(mpicc, &linker, "int rmpi_probe;\n")?;
    let mut libraries = Vec::new();
    let mut functions = BTreeSet::new();
    for path in trace.split_whitespace().map(|word| word.trim_matches(['(', ')'])) {
        let path = Path::new(path);
        if libraries.iter().any(|known| known == path) || !is_shared_object(path) {
            continue;
        }
        let found = exported_functions(path)?;
        if !found.is_empty() {
            libraries.push(path.to_owned());
            functions.extend(found);
        }
    }
    if functions.is_empty() {
        return Err(NoMpi::Broken(format!(
            "{mpicc}: links no shared library with PMPI_* functions (a static MPI cannot be intercepted)"
        )));
    }
    Ok((libraries, functions))
}

/// Nothing is linked: the libraries do not matter, and a tool looks at load which functions there are.
#[cfg(not(feature = "link"))]
fn linked(_: &str) -> Result<(Vec<PathBuf>, BTreeSet<String>), NoMpi> {
    Ok((Vec::new(), FunctionId::all().map(|function| function.name().to_owned()).collect()))
}

const PROBE: &str = "#include <mpi.h>
#if defined(OPEN_MPI)
RMPI_ABI: openmpi
RMPI_VERSION: \"Open MPI \" OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION
#elif defined(MPI_ABI_VERSION) && defined(MPI_H_ABI)
RMPI_ABI: standard
RMPI_VERSION: \"MPI ABI \" MPI_ABI_VERSION.MPI_ABI_SUBVERSION
#elif defined(MPICH_VERSION) || defined(MPICH_NUMVERSION) || defined(I_MPI_VERSION)
RMPI_ABI: mpich
RMPI_VERSION: \"MPICH \" MPICH_VERSION
#endif
";

/// Runs the compiler wrapper on a source text, in the build directory.
fn run(mpicc: &str, arguments: &[&str], source: &str) -> Result<String, NoMpi> {
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(directory.join("probe.c"), source)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut words = mpicc.split_whitespace();
    let program = words.next().ok_or_else(|| "MPICC is empty".to_owned())?;
    let output = Command::new(program)
        .args(words)
        .args(arguments)
        .arg("probe.c")
        .current_dir(&directory)
        .output()
        .map_err(|error| {
            NoMpi::Missing(format!(
                "no MPI compiler: `{mpicc}` does not run ({error}); set MPICC to the mpicc of the MPI to \
                 build for, or unset it and name the ABI of a tool by {MPI_ABI}=mpich, openmpi or standard"
            ))
        })?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.lines().next().unwrap_or("no message").to_owned();
        return Err(NoMpi::Broken(format!("`{mpicc} {}` failed: {reason}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(feature = "link")]
fn is_shared_object(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    path.is_absolute() && (name.ends_with(".so") || name.contains(".so."))
}

#[cfg(feature = "link")]
/// The `MPI_*` functions that a library exports and whose `PMPI_*` twins it has.
fn exported_functions(path: &Path) -> Result<BTreeSet<String>, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // A linker script is no ELF file; the linker's trace also has what it names.
    let Ok(file) = ElfFile64::<object::Endianness>::parse(&*bytes) else {
        return Ok(BTreeSet::new());
    };
    let defined: BTreeSet<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    Ok(defined
        .iter()
        .filter_map(|name| name.strip_prefix('P'))
        .filter(|name| name.starts_with("MPI_") && defined.contains(name))
        .map(str::to_owned)
        .collect())
}

/// `/lib/libmpich.so.12` → (`/lib`, `mpich`), where `libmpich.so` is there to link with.
fn link_name(file: &Path) -> Option<(PathBuf, String)> {
    let stem = file.file_name()?.to_str()?.strip_prefix("lib")?;
    let name = &stem[..stem.find(".so")?];
    let directory = file.parent()?;
    let link = directory.join(format!("lib{name}.so"));
    link.exists().then(|| (directory.to_owned(), name.to_owned()))
}

fn find_in_path(mpicc: &str) -> Option<PathBuf> {
    let program = mpicc.split_whitespace().next()?;
    if program.contains('/') {
        return Some(program.into());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}
