//! What a trace needs to know of functions beyond their arguments: what their calls hide if they are missing, which
//! ones probe for messages, and which sends wait for their receives.

use crate::{FunctionClass, FunctionId, Pattern, Shape};

/// What is hidden by calls of a function that are not in a trace: then nobody knows any more which of the others are the
/// first ones, and which the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden {
    /// Messages that the process sends.
    pub sends: bool,
    /// Messages that it receives. A receive that is in the trace and its completion is not is seen there.
    pub receives: bool,
    /// Collective operations.
    pub collective: bool,
}

impl Hidden {
    /// By calls of a function.
    pub fn by(function: FunctionId) -> Self {
        let Shape { class, pattern, .. } = *Shape::looked_up(function);
        let is_message = matches!(class, FunctionClass::PointToPoint);
        let starts = matches!(function, FunctionId::MPI_Start | FunctionId::MPI_Startall);
        let both = starts || is_message && matches!(pattern, Pattern::SendReceive);
        let receives = matches!(pattern, Pattern::Receive) || takes(function);
        Self {
            sends: both || is_message && matches!(pattern, Pattern::Send),
            receives: both || is_message && receives,
            collective: matches!(class, FunctionClass::Collective),
        }
    }

    /// Is anything hidden?
    pub const fn is_any(self) -> bool {
        self.sends || self.receives || self.collective
    }
}

/// Does a probe take a message out of the order, for a later call that receives it?
pub const fn takes(function: FunctionId) -> bool {
    matches!(function, FunctionId::MPI_Mprobe | FunctionId::MPI_Improbe)
}

/// Does a call of the function receive what a probe [has taken](takes)?
pub const fn receives_taken(function: FunctionId) -> bool {
    matches!(function, FunctionId::MPI_Mrecv | FunctionId::MPI_Imrecv)
}

/// Is it said of a probe which message it has [found](super::FOUND)? Of `MPI_Iprobe` it is not, which neither waits nor takes.
pub const fn tells_what_it_finds(function: FunctionId) -> bool {
    takes(function) || matches!(function, FunctionId::MPI_Probe)
}

/// Is a send that such a call starts or prepares complete only when its receive has begun?
pub const fn is_synchronous(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Issend, MPI_Issend_c, MPI_Ssend, MPI_Ssend_c, MPI_Ssend_init, MPI_Ssend_init_c,
    };
    matches!(
        function,
        MPI_Ssend | MPI_Ssend_c | MPI_Issend | MPI_Issend_c | MPI_Ssend_init | MPI_Ssend_init_c
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which functions hide messages: those that send, receive, match or start, and no others.
    #[test]
    fn what_a_missing_call_hides() {
        use FunctionId::*;
        let hidden = |function| {
            let Hidden { sends, receives, collective } = Hidden::by(function);
            [sends, receives, collective]
        };
        for function in [MPI_Send, MPI_Issend, MPI_Send_init, MPI_Isend_c] {
            assert_eq!(hidden(function), [true, false, false], "{function}");
        }
        for function in [MPI_Recv, MPI_Irecv, MPI_Recv_init, MPI_Imrecv, MPI_Mprobe, MPI_Improbe] {
            assert_eq!(hidden(function), [false, true, false], "{function}");
        }
        for function in [MPI_Sendrecv, MPI_Isendrecv_replace, MPI_Start, MPI_Startall] {
            assert_eq!(hidden(function), [true, true, false], "{function}");
        }
        for function in [MPI_Barrier, MPI_Iallreduce, MPI_Scan] {
            assert_eq!(hidden(function), [false, false, true], "{function}");
        }
        for function in [MPI_Wait, MPI_Testsome, MPI_Probe, MPI_Iprobe, MPI_Put, MPI_Psend_init] {
            assert!(!Hidden::by(function).is_any(), "{function}");
        }
    }
}
