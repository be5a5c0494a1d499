//! What rmpi tells Open MPI before it starts: to copy messages in such a way that no process can write
//! behind the end of another one's buffer.

use std::path::Path;

use mpi_sys::{ABI, Abi};

use super::sys;
use crate::{Multiple, ThreadLevel};

/// A variable of Open MPI's, and a value with which it looks at the length of a buffer before it writes there.
///
/// Without it, a process copies a message of more than some thousand bytes straight to the memory of another process
/// on its node, or of its own ("single copy"), as long as the sender's buffer is, and only then says
/// `MPI_ERR_TRUNCATE`. That is the work of its engine for messages (`ob1`), which takes the transports that can write to
/// another process's memory, as many as this says, for each message. Windows need these transports, too, and lose
/// them where they are switched off: so they stay as they are.
const LENGTHS: (&str, &str) = ("OMPI_MCA_pml_ob1_max_rdma_per_request", "0");

/// Open MPI 4.1 has two ways for windows without a network: one that writes to another process's memory, whose
/// `MPI_Compare_and_swap` crashes within a node, and one by messages, which is not there for [`Multiple`]. Where both are
/// there, the second one.
const WINDOWS: (&str, &str) = ("OMPI_MCA_osc_rdma_priority", "5");

/// Sets what the user has not set, in this process's environment, which Open MPI reads when it starts with this level of
/// threads. Does nothing under other MPIs, and nothing where the process has more than one thread.
pub(super) fn choose<L: ThreadLevel>() {
    if ABI != Abi::OpenMpi || !is_single_threaded() {
        return;
    }
    // Sessions came with 5.0.
    let by_messages = !sys::has_sessions() && L::RAW != Multiple::RAW;
    for (name, value) in [LENGTHS].into_iter().chain(by_messages.then_some(WINDOWS)) {
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
