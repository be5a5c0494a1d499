//! Functions of programs, by the names that debug information has for them. Of a call through a library that wraps MPI, as
//! rmpi does, the program's own line is told, and not the library's. Functions in Fortran have the names that their authors
//! know.

const LIBRARIES: [&str; 5] = ["rmpi", "rmpi_actors", "rmpi_pgas", "rmpi_sys", "mpi_sys"];
/// Rust's own, which may stand in between. In C++, these are namespaces of anybody's.
const BETWEEN: [&str; 3] = ["core", "alloc", "std"];

/// How the names of libraries begin through which programs use MPI, wherever they are installed.
const FILES: [&str; 25] = [
    "libadios",
    "libamrex",
    "libboost_mpi",
    "libelpa",
    "libepetra",
    "libfftw3_mpi",
    "libfftw3f_mpi",
    "libfftw3l_mpi",
    "libhdf5",
    "libHYPRE",
    "libmfem",
    "libnetcdf",
    "libp4est",
    "libparmetis",
    "libpetsc",
    "libpnetcdf",
    "libptscotch",
    "libsc.",
    "libscalapack",
    "libslepc",
    "libsundials",
    "libsuperlu_dist",
    "libtpetra",
    "libtrilinos",
    "libzoltan",
];

/// Is a shared object a library that somebody has installed, and no part of the program whose author reads a report? By its path:
/// it is in the system's folders and the program is not, or has a name that is known, or that begins as one of `more`, with colons in
/// between (`MPI_TOOL_LIBRARIES`).
pub fn is_library_file(path: &str, program: &str, more: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let begins = |begin: &str| !begin.is_empty() && name.starts_with(begin);
    let is_of_system =
        |path: &str| ["/usr/", "/lib", "/bin/"].iter().any(|folder| path.starts_with(folder));
    path != program
        && (is_of_system(path) && !is_of_system(program)
            || FILES.into_iter().any(begins)
            || more.split(':').any(begins))
}

/// Is a function, by its name in Rust's spelling, one of these crates'?
fn is_of(crates: &[&str], function: &str) -> bool {
    let (own, of_trait) = match function.strip_prefix('<').and_then(|it| it.split_once(" as ")) {
        Some((own, of_trait)) => (own, Some(of_trait)),
        None => (function, None),
    };
    let own = own.trim_start_matches(['<', '&', '*']);
    let is_one = |name: &str| crates.iter().any(|it| name.split("::").next() == Some(it));
    // A slice or a number has no crate of its own.
    let is_plain = own.starts_with(['[', '(']) || !own.contains("::");
    is_one(own) || is_plain && of_trait.is_some_and(is_one)
}

/// Is a function one of such a library's, or of Rust's own? That says something only of programs that contain such a library.
pub fn is_wrapper(function: &str) -> bool {
    is_of(&LIBRARIES, function) || is_of(&BETWEEN, function)
}

/// How many of a call's functions, the innermost first, are a wrapping library's, with Rust's own in between: 0 if all are, since
/// there is no better place then, or if none of the first ones is.
pub fn wrappers<'f>(functions: impl IntoIterator<Item = Option<&'f str>>) -> usize {
    let mut has_library = false;
    let mut functions = functions.into_iter();
    let program = functions.position(|name| {
        has_library |= name.is_some_and(|name| is_of(&LIBRARIES, name));
        !name.is_some_and(is_wrapper)
    });
    program.filter(|_| has_library).unwrap_or(0)
}

/// A function's name as authors in its language know it, by the name that debug information has, and the number with which
/// DWARF names the language of its source.
pub fn name_in_language(name: String, language: Option<u16>) -> String {
    match language {
        // Fortran 77, 90, 95, 2003, 2008, 2018.
        Some(0x07 | 0x08 | 0x0e | 0x22 | 0x23 | 0x2d) => fortran_name(&name),
        _ => name,
    }
}

/// A procedure's name in Fortran, by its symbol: `solver::step` of `__solver_MOD_step` (GNU) or `solver_mp_step_` (Intel),
/// and `step` of `step_`. Others are returned as they are.
fn fortran_name(symbol: &str) -> String {
    let gnu = symbol.strip_prefix("__").and_then(|rest| rest.split_once("_MOD_"));
    let intel = || symbol.strip_suffix('_').and_then(|rest| rest.split_once("_mp_"));
    match gnu.or_else(intel) {
        Some((module, name)) if !module.is_empty() => format!("{module}::{name}"),
        // The main program of the GNU compiler is `MAIN__`.
        _ if symbol.ends_with("__") => symbol.to_owned(),
        _ => symbol.strip_suffix('_').filter(|name| !name.is_empty()).unwrap_or(symbol).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_library_file, name_in_language, wrappers};

    /// As the compilers' manuals say.
    #[test]
    fn installed_libraries_are_known_by_their_paths() {
        const PROGRAM: &str = "/home/me/build/solver";
        for (path, is_one) in [
            ("/usr/lib/x86_64-linux-gnu/libanything.so.1", true),
            ("/lib64/libm.so.6", true),
            ("/sw/hdf5/1.14/lib/libhdf5.so.310", true),
            ("/home/me/build/libsolver.so", false),
            (PROGRAM, false),
            ("/home/me/libhd.so", false),
            ("/home/me/build/libours.so.2", true),
        ] {
            assert_eq!(is_library_file(path, PROGRAM, "libother::libours"), is_one, "{path}");
        }
        assert!(!is_library_file("/home/me/build/libours.so.2", PROGRAM, ""));
        // The libraries of an installed program are its own, but for those that others use, too.
        assert!(!is_library_file("/usr/lib/liblammps.so.0", "/usr/bin/lmp", ""));
        assert!(is_library_file("/usr/lib/libhdf5.so.0", "/usr/bin/lmp", ""));
    }

    #[test]
    fn procedures_in_fortran_have_their_names() {
        for (symbol, name) in [
            ("__work_MOD_exchange", "work::exchange"),
            ("work_mp_exchange_", "work::exchange"),
            ("solve_", "solve"),
            ("time_step_", "time_step"),
            ("MAIN__", "MAIN__"),
            ("halo", "halo"),
            ("_", "_"),
        ] {
            assert_eq!(name_in_language(symbol.to_owned(), Some(0x08)), name);
            // 0x0c is C99.
            for other in [Some(0x0c), None] {
                assert_eq!(name_in_language(symbol.to_owned(), other), symbol);
            }
        }
    }

    #[test]
    fn the_program_begins_behind_the_library() {
        let called = |names: &[&str]| wrappers(names.iter().map(|name| Some(*name)));
        assert_eq!(called(&["solver::step", "solver::main"]), 0);
        let rmpi =
            "rmpi::library::collective::<impl rmpi::library::communicator::Communicator>::barrier";
        assert_eq!(called(&[rmpi, "core::ops::FnOnce::call_once", "solver::step"]), 2);
        assert_eq!(called(&["<[T] as rmpi::Buffer>::as_raw", "solver::step"]), 1);
        assert_eq!(called(&["<solver::Rows as rmpi::Buffer>::as_raw", rmpi]), 0);
        assert_eq!(called(&[rmpi, rmpi]), 0);
        assert_eq!(wrappers([Some(rmpi), None, Some("main")]), 1);
        // In C++, a program may have such names.
        assert_eq!(called(&["core::Solver::step(int)", "main"]), 0);
        assert_eq!(called(&["std::invoke<solve()::{lambda()#1}>", "main"]), 0);
    }
}
