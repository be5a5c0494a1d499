/// The variable with the path of a file in which the tools of a run note what they have done: `mpi-tool run` sets it. Each note
/// is a [`Mark`], a letter.
pub const MARKS_VARIABLE: &str = "MPI_TOOL_MARKS";

/// What a tool notes in the file of [`MARKS_VARIABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// MPI has started in a process, and the tool will report what it does.
    Started = b'S',
    /// A report has been written that has the process's counts, by this process or another one.
    Reported = b'R',
}
