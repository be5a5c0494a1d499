//! Ready sends (`MPI_Rsend`), whose receive must be posted before them.
//!
//! A receive is known from before MPI has it. So who has been told by anything that it is posted finds it here.

use core::sync::atomic::Ordering::Relaxed;

use mpi_tool_layer::FunctionId;

use super::{Send, has, has_threads};
use crate::findings::{Class, Place, report_of};
use crate::places;
use crate::shared::{RANKS, limit, shared};
use crate::waits;

/// Is the message one of a ready send?
#[inline]
pub(super) fn is_ready_send(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Irsend, MPI_Irsend_c, MPI_Rsend, MPI_Rsend_c, MPI_Rsend_init, MPI_Rsend_init_c,
    };
    matches!(
        function,
        MPI_Rsend | MPI_Rsend_c | MPI_Irsend | MPI_Irsend_c | MPI_Rsend_init | MPI_Rsend_init_c
    )
}

/// Such a message is about to be sent, with its key in the table: tells if it is certain that nobody has asked for it.
#[cold]
pub(super) fn check(send: &Send, key: u64) {
    let (shared, channel) = (shared(), send.channel);
    let is_posted = || {
        let slot = shared.messages.look(key);
        slot.is_some_and(|slot| slot.has.load(Relaxed) & has::POSTED != 0)
    };
    // A receive that may get any message is not known by its key. The receiver counts it before it is posted, and may have
    // had one between two looks.
    if !shared.is_whole()
        || has_threads()
        || channel.target as usize >= RANKS
        || is_posted()
        || waits::has_open(channel.target)
        || is_posted()
        || shared.has_reached(limit::MESSAGES | limit::DOUBT)
    {
        return;
    }
    let message = format!(
        "the message with tag {} is sent to rank {} as one for which a receive is posted, and none is: post it first, or \
         use MPI_Send",
        channel.tag, channel.target
    );
    let place = places::of_mark(send.content.mark);
    let function = send.content.function;
    report_of(
        Class::CallOrder,
        function,
        Place::Text(&place),
        "ready",
        &message,
        None,
        &[channel.source],
    );
}
