//! With whom data move: as a rank in `MPI_COMM_WORLD`, whatever communicator or window the call has.
//!
//! A rank means a process only together with a group. That of a message is the communicator's; a message that
//! `MPI_Mprobe` has matched is in the communicator of that call, and one-sided communication in the one of which the
//! window was made. Requests keep the groups, so that it does not matter when the application frees its communicator.

use core::ffi::c_int;
use std::sync::Arc;

use mpi_sys::{MPI_Comm, MPI_Message, MPI_Status, MPI_Win};

use crate::call::Pattern;
use crate::kit::peers::Peer;
use crate::kit::tracking::Groups;
use crate::{
    Accepted, AnyCall, Call, Communicators, FunctionId, HandleMap, ParameterKind, Rank, RankKind,
    Transfer,
};

/// What is known of windows and of matched messages. Entries of windows that are freed stay until their handles are
/// used again.
#[derive(Debug)]
pub(super) struct Whom {
    windows: HandleMap<Arc<Groups>>,
    messages: HandleMap<Arc<Groups>>,
}

/// Among which processes a call communicates.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    /// It is not to or from single processes.
    Nowhere,
    Communicator(MPI_Comm),
    Window(MPI_Win),
    /// Those among which a message was matched, if they are known.
    Matched(Option<&'a Arc<Groups>>),
}

impl<'a> Place<'a> {
    /// Of an accepted call. `matched` is what was kept of the message that it receives.
    #[inline(always)]
    pub(super) fn of<'c>(call: impl Call<'c>, matched: Option<&'a Arc<Groups>>) -> Self {
        use Pattern::{
            Accumulate, Get, GetAccumulate, NeighborAllgather, NeighborAlltoall, Put, Receive,
            Send, SendReceive,
        };
        match call.shape().pattern {
            Put | Get | Accumulate | GetAccumulate => {
                call.window().map_or(Self::Nowhere, |window| Self::Window(window.raw()))
            }
            Receive if receives_matched(call.function()) => Self::Matched(matched),
            Send | Receive | SendReceive | NeighborAllgather | NeighborAlltoall => {
                call.communicator().map_or(Self::Nowhere, |comm| Self::Communicator(comm.raw()))
            }
            _ => Self::Nowhere,
        }
    }
}

/// The peer of an operation that is not complete.
#[derive(Debug, Clone)]
pub(super) enum Kept {
    Known(Peer),
    /// Whoever the status says.
    Source(Option<Arc<Groups>>),
}

impl Kept {
    /// The peer, when the operation is complete. `None` if there is none after all.
    pub(super) fn completed(&self, status: &MPI_Status) -> Option<Peer> {
        match self {
            Self::Known(peer) => Some(*peer),
            Self::Source(groups) => peer_of(groups.as_deref(), status.MPI_SOURCE),
        }
    }

    /// The peer of an operation that only starts.
    pub(super) fn known(&self) -> Peer {
        match self {
            Self::Known(peer) => *peer,
            Self::Source(_) => Peer::UNKNOWN,
        }
    }
}

/// The process of a rank; `None` of `MPI_PROC_NULL`.
fn peer_of(groups: Option<&Groups>, rank: c_int) -> Option<Peer> {
    match (Rank::new(rank).kind(), groups) {
        (RankKind::ProcNull, _) => None,
        (RankKind::Rank(rank), Some(groups)) => {
            Some(groups.peers().world_rank(rank).map_or(Peer::OUTSIDE, Peer::of_world))
        }
        _ => Some(Peer::UNKNOWN),
    }
}

/// Does a function receive a message that was matched before?
#[inline(always)]
pub(super) const fn receives_matched(function: FunctionId) -> bool {
    mpi_facts::trace::receives_taken(function)
}

/// Does a function match a message?
const fn matches_message(function: FunctionId) -> bool {
    mpi_facts::trace::takes(function)
}

/// Does a function make what [`Whom`] knows?
#[inline(always)]
pub(super) const fn makes_place(function: FunctionId) -> bool {
    makes_window(function) || matches_message(function)
}

/// Does a function make a window of a communicator?
const fn makes_window(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Win_allocate, MPI_Win_allocate_shared, MPI_Win_create, MPI_Win_create_dynamic,
    };
    matches!(
        function,
        MPI_Win_create | MPI_Win_allocate | MPI_Win_allocate_shared | MPI_Win_create_dynamic
    )
}

/// The handle at the address that a call has as its parameter of a kind, if it has one.
///
/// # Safety
/// If the address is not null, it must be readable and initialised: MPI reads it as the application's call demands, or
/// has written it.
unsafe fn handle_at<'c, T: Copy>(call: AnyCall<'c>, kind: ParameterKind) -> Option<T> {
    let position = call.function().parameters().iter().position(|one| one.kind == kind)?;
    let address: *const T = call.get(position.try_into().ok()?)?;
    // SAFETY: what an address must be is the caller's promise, and a null one is none.
    (!address.is_null()).then(|| unsafe { *address })
}

impl Whom {
    pub(super) const fn new() -> Self {
        Self { windows: HandleMap::new(), messages: HandleMap::new() }
    }

    /// What is known of the message that a call is going to receive. Nothing is known of it afterwards.
    #[cold]
    pub(super) fn take_matched(&self, call: AnyCall<'_>) -> Option<Arc<Groups>> {
        // SAFETY: the parameter is a message, which MPI reads when the call is passed on.
        let message: Option<MPI_Message> = unsafe { handle_at(call, ParameterKind::Message) };
        self.messages.remove(message?)
    }

    /// The peer of a piece of data that moves later.
    pub(super) fn kept(
        &self,
        communicators: &Communicators,
        place: Place<'_>,
        transfer: &Transfer<'_>,
    ) -> Kept {
        let rank = transfer.peer.map(Rank::kind);
        if let (Place::Communicator(comm), Some(RankKind::Rank(rank))) = (place, rank)
            && let Some(peer) = communicators.spaced_rank(comm, rank)
        {
            return Kept::Known(Peer::of_world(peer));
        }
        let groups = match place {
            Place::Nowhere => return Kept::Known(Peer::NONE),
            Place::Communicator(comm) => communicators.groups_of(comm),
            Place::Window(window) => self.windows.get(window),
            Place::Matched(groups) => groups.cloned(),
        };
        match rank {
            // What goes to several neighbours counts once.
            None if !transfer.at_most => Kept::Known(Peer::NONE),
            None => Kept::Source(groups),
            Some(RankKind::AnySource) if transfer.at_most => Kept::Source(groups),
            Some(_) => {
                let rank = transfer.peer.map_or(mpi_sys::MPI_PROC_NULL, Rank::raw);
                Kept::Known(peer_of(groups.as_deref(), rank).unwrap_or(Peer::NONE))
            }
        }
    }

    /// Notes what an accepted call has made.
    #[cold]
    pub(super) fn made<'c>(
        &self,
        call: AnyCall<'c>,
        accepted: Accepted<'c>,
        communicators: &Communicators,
    ) {
        let groups = || communicators.groups_of(call.communicator()?.raw());
        if makes_window(call.function()) {
            // SAFETY: the parameter is a window, which MPI has written, since it has accepted the call.
            let window: Option<MPI_Win> = unsafe { handle_at(call, ParameterKind::Window) };
            match (window, groups()) {
                (Some(window), Some(groups)) => self.windows.insert(window, groups),
                (Some(window), None) => drop(self.windows.remove(window)),
                (None, _) => {}
            }
        } else if matches_message(call.function())
            && call.has_flag_set(accepted)
            && let Some(groups) = groups()
        {
            // SAFETY: the parameter is a message, which MPI has written: it has accepted the call, and its flag, if
            // there is one, is true.
            let message: Option<MPI_Message> = unsafe { handle_at(call, ParameterKind::Message) };
            if let Some(message) = message {
                self.messages.insert(message, groups);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    /// By the list of functions: which have to do with matched messages, and which make windows.
    #[test]
    fn all_functions_with_messages_and_windows_are_known() {
        let functions = (0..FunctionId::COUNT).filter_map(FunctionId::from_index);
        let mut found = 0;
        for function in functions {
            let of_kind = |kind| function.parameters().iter().find(move |one| one.kind == kind);
            let is_pointer = |one: &crate::Parameter| one.rust_type().starts_with('*');
            let name = function.to_string();
            let is_narrow =
                !name.ends_with("_c") && !name.contains("_f2c") && !name.contains("fromint");
            if let Some(message) = of_kind(ParameterKind::Message)
                && is_pointer(message)
                && is_narrow
            {
                let is_made = message.direction == Direction::Out;
                let known = [matches_message(function), receives_matched(function)];
                assert_eq!(known, [is_made, !is_made], "{function}");
                found += 1;
            }
            if let Some(window) = of_kind(ParameterKind::Window)
                && window.direction == Direction::Out
                && of_kind(ParameterKind::Communicator).is_some()
                && is_narrow
            {
                assert!(makes_window(function), "{function}");
                found += 1;
            }
        }
        assert_eq!(found, 8);
    }
}
