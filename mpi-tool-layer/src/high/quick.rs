//! Calls that a layer passes on in a few instructions, before its other code is looked at.
//!
//! What a layer does with messages that carry data needs many registers, and the compiler saves them at the beginning of
//! the function, also for calls that need none of it. So a function of a preloaded tool may have a *quick way*: code of its
//! own, which handles a call or jumps to the rest with all arguments where they are.

use mpi_facts::{Completion, FunctionClass, NONE, Pattern, Shape, Timing};

use crate::FunctionId;

/// A call on its quick way: see [`around_quickly`](crate::MpiInterceptionLayer::around_quickly). A layer takes one of two
/// ways, once.
#[derive(Debug)]
pub struct Quickly<N, S> {
    next: N,
    slowly: S,
    has_caller: bool,
}

/// The functions that send or receive messages and are over when they return, such as `MPI_Send`, `MPI_Recv` and
/// `MPI_Sendrecv`, for [`QUICK`](crate::MpiInterceptionLayer::QUICK). Their large-count twins are not among them.
pub const MESSAGES: [bool; FunctionId::COUNT] = {
    let mut messages = [false; FunctionId::COUNT];
    let mut index = 0;
    while index < messages.len() {
        if let Some(function) = FunctionId::from_index(index) {
            let shape = Shape::of(function);
            messages[index] = matches!(shape.class, FunctionClass::PointToPoint)
                && matches!(shape.pattern, Pattern::Send | Pattern::Receive | Pattern::SendReceive)
                && matches!(shape.timing, Timing::Blocking)
                && matches!(shape.completion, Completion::None)
                && (shape.destination != NONE || shape.source != NONE)
                && !function.is_large_count();
        }
        index += 1;
    }
    messages
};

impl<N, S> Quickly<N, S> {
    /// Of a call.
    #[inline(always)]
    pub(crate) fn new(next: N, slowly: S, has_caller: bool) -> Self {
        Self { next, slowly, has_caller }
    }

    /// Has the tool noted down where the call comes from? Known when the layer is compiled. Not of calls that
    /// [come without](crate::Caller::spare_quick_calls) that.
    #[inline(always)]
    pub fn has_caller(&self) -> bool {
        self.has_caller
    }

    /// Passes the call on, with the application's arguments.
    #[inline(always)]
    pub fn pass_on<R>(self) -> R
    where
        N: FnOnce() -> R,
    {
        (self.next)()
    }

    /// Leaves the call to the layer's other methods. What is done before this and after it should be little: at best it is a
    /// jump.
    #[inline(always)]
    pub fn go_slowly<R>(self) -> R
    where
        S: FnOnce() -> R,
    {
        (self.slowly)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the standard's chapter on messages.
    #[test]
    fn messages_are_those_of_the_standard() {
        let messages: Vec<_> =
            FunctionId::all().filter(|function| MESSAGES[*function as usize]).collect();
        use FunctionId::*;
        let all = [
            MPI_Bsend,
            MPI_Recv,
            MPI_Rsend,
            MPI_Send,
            MPI_Sendrecv,
            MPI_Sendrecv_replace,
            MPI_Ssend,
        ];
        assert!(all.iter().all(|function| messages.contains(function)), "{messages:?}");
        assert_eq!(messages.len(), all.len(), "{messages:?}");
    }
}
