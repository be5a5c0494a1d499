//! Libraries that wrap MPI, as rmpi does: what a program calls is at its own line, and not at theirs.

/// Is a function one of such a library's, by its name in Rust's spelling? Or one of Rust's own, which may stand in between: that
/// says something only of programs that contain such a library.
pub fn is_wrapper(function: &str) -> bool {
    const CRATES: [&str; 8] =
        ["rmpi", "rmpi_actors", "rmpi_pgas", "rmpi_sys", "mpi_sys", "core", "alloc", "std"];
    let (own, of_trait) = match function.strip_prefix('<').and_then(|it| it.split_once(" as ")) {
        Some((own, of_trait)) => (own, Some(of_trait)),
        None => (function, None),
    };
    let own = own.trim_start_matches(['<', '&', '*']);
    let is_of = |name: &str| CRATES.iter().any(|it| name.split("::").next() == Some(it));
    // A slice or a number has no crate of its own.
    let is_plain = own.starts_with(['[', '(']) || !own.contains("::");
    is_of(own) || is_plain && of_trait.is_some_and(is_of)
}

/// How many of a call's functions, the innermost first, are a wrapping library's: 0 if all are, since there is no better place
/// then, or if the first one is not.
pub fn wrappers<'f>(functions: impl IntoIterator<Item = Option<&'f str>>) -> usize {
    let mut functions = functions.into_iter().map(|name| name.is_some_and(is_wrapper));
    functions.by_ref().position(|is_wrapper| !is_wrapper).unwrap_or(0)
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
    }
}
