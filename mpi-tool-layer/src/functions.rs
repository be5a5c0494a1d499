//! Sets of functions, as constants.

/// The functions for which a condition holds, by their numbers: an array of `bool` with a place for each
/// [`FunctionId`](crate::FunctionId). In a constant, the condition must be one, too.
///
/// ```
/// use mpi_tool_layer::{FunctionClass, FunctionId, functions};
///
/// const FILES: [bool; FunctionId::COUNT] =
///     functions!(|function| matches!(function.class(), FunctionClass::Io));
///
/// assert!(FILES[FunctionId::MPI_File_open as usize]);
/// assert!(!FILES[FunctionId::MPI_Send as usize]);
/// ```
#[macro_export]
macro_rules! functions {
    (|$function:ident| $holds:expr) => {{
        let mut functions = [false; $crate::FunctionId::COUNT];
        let mut index = 0;
        while index < functions.len() {
            if let Some($function) = $crate::FunctionId::from_index(index) {
                functions[index] = $holds;
            }
            index += 1;
        }
        functions
    }};
}
