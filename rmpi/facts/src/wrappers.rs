//! Libraries that wrap MPI, as rmpi does: what a program calls is at its own line, and not at theirs.

const LIBRARIES: [&str; 5] = ["rmpi", "rmpi_actors", "rmpi_pgas", "rmpi_sys", "mpi_sys"];
/// Rust's own, which may stand in between. In C++, these are namespaces of anybody's.
const BETWEEN: [&str; 3] = ["core", "alloc", "std"];

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

#[cfg(test)]
mod tests {
    use super::wrappers;

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
