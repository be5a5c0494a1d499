//! Calls that wait for others.

use mpi_facts::{NONE, Timing};
use mpi_tool_layer::{AnyCall, Call as _, FunctionClass, FunctionId};

use crate::arguments::Checked;
use crate::{epochs, hosts, messages, requests, waits};

/// May a call wait for others itself? The halves of a split operation on a file may, which have no request.
fn may_stand(checked: &Checked<'_>) -> bool {
    checked.shape.timing == Timing::Blocking
        || checked.facts.is_on_object && checked.shape.new_request == NONE
}

/// Notes what a call waits for, if it does.
pub(crate) fn enter(
    call: AnyCall<'_>,
    checked: &Checked<'_>,
    number: u64,
    collective: waits::Need,
    send: Option<&messages::Send>,
    receive: Option<&messages::Receive>,
) {
    use FunctionId::{
        MPI_Buffer_detach, MPI_Buffer_detach_c, MPI_Buffer_flush, MPI_Comm_detach_buffer,
        MPI_Comm_detach_buffer_c, MPI_Comm_flush_buffer, MPI_Mprobe, MPI_Probe,
        MPI_Session_detach_buffer, MPI_Session_detach_buffer_c, MPI_Session_flush_buffer, MPI_Wait,
        MPI_Waitall, MPI_Waitany, MPI_Waitsome, MPI_Win_complete, MPI_Win_lock, MPI_Win_lock_all,
        MPI_Win_start, MPI_Win_wait,
    };
    let function = checked.function;
    match function {
        MPI_Wait | MPI_Waitall | MPI_Waitany | MPI_Waitsome => {
            let is_any = matches!(function, MPI_Waitany | MPI_Waitsome);
            let needs = requests::needs_of(call.requests());
            waits::enter(checked, &needs, is_any);
            if !is_any && hosts::is_on() {
                hosts::settle_all(&needs);
                messages::await_records(requests::receives_of(call.requests()).iter());
            }
        }
        MPI_Probe | MPI_Mprobe => {
            if let Some(wanted) = messages::wanted_of(checked) {
                waits::enter(checked, &[waits::Need::Message(wanted)], false);
            }
        }
        _ if waits::is_blocking_message(checked) => {
            match (send.map(waits::of_send), receive.map(waits::of_receive)) {
                (Some(sent), Some(received)) => waits::enter(checked, &[sent, received], false),
                (Some(need), None) | (None, Some(need)) => waits::enter(checked, &[need], false),
                (None, None) => {}
            }
            if receive.is_some() && hosts::is_on() {
                messages::await_records(receive.into_iter());
            }
        }
        MPI_Win_start | MPI_Win_complete | MPI_Win_wait => {
            waits::enter(checked, &epochs::needs(checked), false);
        }
        MPI_Win_lock | MPI_Win_lock_all => {
            if let Some(lock) = epochs::lock_of(checked) {
                waits::enter(checked, &[waits::Need::Unlocked(lock)], false);
            }
        }
        MPI_Buffer_detach
        | MPI_Buffer_detach_c
        | MPI_Buffer_flush
        | MPI_Comm_detach_buffer
        | MPI_Comm_detach_buffer_c
        | MPI_Comm_flush_buffer
        | MPI_Session_detach_buffer
        | MPI_Session_detach_buffer_c
        | MPI_Session_flush_buffer => waits::enter(checked, &messages::buffered(), true),
        FunctionId::MPI_Finalize => waits::enter(checked, &[], false),
        // They have said already what they wait for.
        _ if checked.facts.is_of_group => {}
        _ if checked.shape.timing == Timing::Blocking
            && number != 0
            && !checked.facts.is_on_object
            && checked.comm.as_ref().is_some_and(|comm| comm.is_inter) =>
        {
            waits::enter(checked, &waits::of_groups(checked, number), false);
        }
        _ if checked.shape.class == FunctionClass::Neighborhood
            && checked.shape.timing == Timing::Blocking =>
        {
            waits::enter(checked, &waits::of_neighbors(checked, number), false);
        }
        _ if may_stand(checked) => {
            if checked.facts.is_scan {
                waits::enter(checked, &waits::of_scan(checked, number, collective), false);
            } else {
                waits::enter(checked, &[collective], false);
            }
            if number != 0 && hosts::is_on() {
                let comm = checked.comm.as_ref().map_or(0, |comm| comm.identity);
                hosts::settle(comm, number, collective);
            }
        }
        _ => {}
    }
}
