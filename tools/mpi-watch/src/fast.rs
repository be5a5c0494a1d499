//! The fast path of what programs call in loops.

use mpi_facts::watch::{FAST, NO_TIME, has_no_number, slot};
use mpi_tool_layer::{Call, CallResult, FastCall, FastPath, FunctionId, Site, ThisThread};

use crate::groups::QuickGroup;
use crate::state::Slot;
use crate::{BARE, Entered, Watch, is_collective, is_way, keep_request};

pub(crate) struct Fast;

impl FastPath<Watch> for Fast {
    const FUNCTIONS: &'static [bool; FunctionId::COUNT] = &FAST;

    /// Where nobody wants to know call sites, it is not noted either when messages began: that would cost as much as all the
    /// rest. Calls come with their callers where those are wanted, and time is by the cycle counter:
    /// [`way_of_messages`](crate::way_of_messages).
    #[inline(always)]
    fn around<'c>(watch: &Watch, call: impl Call<'c>, next: impl FastCall<'c>) -> CallResult<'c> {
        watch.noted(call, next)
    }
}

impl Watch {
    /// Notes a call and passes it on, or leaves it to the layer.
    #[inline(always)]
    fn noted<'c>(&self, call: impl Call<'c>, next: impl FastCall<'c>) -> CallResult<'c> {
        let is_alone = next.is_alone();
        let slot = if is_alone {
            Slot::of_only_thread()
        } else {
            let Some(slot) = Slot::of_this_thread() else { return next.fall_back() };
            slot
        };
        let site = if next.has_caller() {
            let Some(site) = Site::at_once(ThisThread::get()) else { return next.fall_back() };
            Some(u64::from(site.number()))
        } else {
            None
        };
        let has_time = next.has_caller() || !NO_TIME[call.function() as usize];
        if has_time && !next.has_caller() && !is_way::<BARE>() {
            return next.fall_back();
        }
        let group = if is_collective(call) {
            let Some(group) = call.communicator().and_then(|comm| QuickGroup::of(comm.raw()))
            else {
                return next.fall_back();
            };
            Some(group)
        } else {
            None
        };
        if is_alone {
            Slot::note_stack_of_only_thread();
        } else {
            slot.note_stack();
        }
        slot.count();
        // Its places are in the file.
        if let Some(site) = site {
            slot.set(slot::SITE, site);
        }
        if has_time {
            slot.note_cycles();
        }
        let mut number = 0;
        if let Some(group) = group {
            number = group.next(call.function() as u64, site.unwrap_or(0));
        }
        if !has_no_number(call.class()) {
            slot.set(slot::NUMBER, number);
        }
        Self::note_arguments(slot, call);
        Self::note_requests(slot, call);
        slot.set_inside(call.function());
        let result = next.pass_on();
        slot.leave();
        self.after_fast(call, Entered { slot, number, is_alone }, result);
        result
    }

    /// As [`after`](Self::after), of what has a fast path.
    #[inline(always)]
    fn after_fast<'c>(&self, call: impl Call<'c>, entered: Entered, result: CallResult<'c>) {
        Self::end_requests(call, result);
        match result {
            Ok(accepted) if call.is_started() => keep_request(call, entered, accepted),
            Err(_) if !has_no_number(call.class()) => self.note_failure(entered.slot),
            _ => {}
        }
    }
}
