//! Calls that wait for all their requests, `MPI_Wait` and `MPI_Waitall`: in a few instructions where the same has arrived as
//! before.

use mpi_tool_layer::{Call, CallResult, Clock, QuickWay, received_bytes};

use crate::recorder::{Record, Recorder};
use crate::{Trace, circumstances};

impl Trace {
    /// Passes on a call that waits for all its requests.
    #[inline(always)]
    pub(crate) fn waited_quickly<'c>(
        &self,
        recorder: &Recorder,
        call: impl Call<'c>,
        way: impl QuickWay<'c>,
    ) -> CallResult<'c> {
        if !circumstances::are_usual(circumstances::now()) || !self.traffic.may_be_over() {
            return way.go_slowly();
        }
        let begin = Clock::cycles_before_call();
        let result = way.pass_on();
        let (end, result) = Clock::cycles_after_call(result);
        let Ok(accepted) = result else {
            self.ended_otherwise(recorder, call, begin, end, result);
            return result;
        };
        let (requests, statuses) = (call.requests(), call.statuses(accepted));
        let mut is_all = requests.len() == statuses.len();
        for (request, status) in requests.iter().zip(statuses) {
            if let Some(complete) = self.traffic.complete(*request)
                && let Some(bytes) = received_bytes(status)
                && let Some(arrival) = recorder.known_arrival(complete.tag(), bytes, status)
            {
                if call.shape().waits_for_one() {
                    if recorder.repeat(arrival.first_of_wait(), begin, end) {
                        complete.end();
                        return result;
                    }
                } else if recorder.repeat_data(arrival.record()) {
                    complete.end();
                    continue;
                }
            }
            is_all &= !self.traffic.may_keep(*request);
        }
        if is_all {
            let function = call.function();
            recorder.call(function, begin, end, false, &Record::none(function));
        } else {
            self.ended_otherwise(recorder, call, begin, end, result);
        }
        result
    }
}
