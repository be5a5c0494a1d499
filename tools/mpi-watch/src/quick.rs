//! The quick way of what programs call in loops.

use mpi_facts::watch::{NO_TIME, has_no_number, slot};
use mpi_tool_layer::{Call, CallResult, QuickWay, Site, ThisThread};

use crate::groups::QuickGroup;
use crate::state::Slot;
use crate::{BARE, Entered, Watch, is_collective, is_way, keep_request};

impl Watch {
    /// Notes a call and passes it on, or leaves it to the layer's other methods.
    #[inline(always)]
    pub(crate) fn quickly<'c>(
        &self,
        call: impl Call<'c>,
        way: impl QuickWay<'c>,
    ) -> CallResult<'c> {
        let is_alone = way.is_alone();
        let slot = if is_alone {
            Slot::of_only_thread()
        } else {
            let Some(slot) = Slot::of_this_thread() else { return way.go_slowly() };
            slot
        };
        let site = if way.has_caller() {
            let Some(site) = Site::at_once(ThisThread::get()) else { return way.go_slowly() };
            Some(u64::from(site.number()))
        } else {
            None
        };
        let has_time = way.has_caller() || !NO_TIME[call.function() as usize];
        if has_time && !way.has_caller() && !is_way::<BARE>() {
            return way.go_slowly();
        }
        let group = if is_collective(call) {
            let Some(group) = call.communicator().and_then(|comm| QuickGroup::of(comm.raw()))
            else {
                return way.go_slowly();
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
        let result = way.pass_on();
        slot.leave();
        self.after_quickly(call, Entered { slot, number, is_alone }, result);
        result
    }

    /// As [`after`](Self::after), of what has a quick way.
    #[inline(always)]
    fn after_quickly<'c>(&self, call: impl Call<'c>, entered: Entered, result: CallResult<'c>) {
        Self::end_requests(call, result);
        match result {
            Ok(accepted) if call.is_started() => keep_request(call, entered, accepted),
            Err(_) if !has_no_number(call.class()) => self.note_failure(entered.slot),
            _ => {}
        }
    }
}
