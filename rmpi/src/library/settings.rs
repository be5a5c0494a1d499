//! What rmpi tells Open MPI before it starts: to copy messages in such a way that no process can write
//! behind the end of another one's buffer.

use std::path::Path;

use mpi_sys::{ABI, Abi};

/// Variables of Open MPI's, and values with which it looks at the length of a buffer before it writes there.
///
/// Without them, a process copies a message of more than some thousand bytes straight to the memory of
/// another process on its node ("single copy"), as long as the sender's buffer is, and only then says
/// `MPI_ERR_TRUNCATE`.
const SETTINGS: [(&str, &str); 3] = [
    // Open MPI 5.0, between processes.
    ("OMPI_MCA_smsc", "^cma,xpmem,knem"),
    // Open MPI 4, between processes.
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    // All, from a process to itself: send and receive, neither put nor get.
    ("OMPI_MCA_btl_self_flags", "1"),
];

/// Sets the variables that the user has not set, in this process's environment, which Open MPI reads when it
/// starts. Does nothing under other MPIs, and nothing where the process has more than one thread.
pub(super) fn choose() {
    if ABI != Abi::OpenMpi || !is_single_threaded() {
        return;
    }
    for (name, value) in SETTINGS {
        if std::env::var_os(name).is_none() {
            // SAFETY: nobody else may read or write the environment meanwhile. The kernel counted one
            // thread in this process, which is this one, and only a thread of the process can start
            // another: this one does not do so in this function.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

/// Does the kernel count one thread in this process? No, where it does not say.
fn is_single_threaded() -> bool {
    std::fs::read_dir(Path::new("/proc/self/task")).is_ok_and(|threads| threads.count() == 1)
}
