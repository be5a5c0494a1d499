//! The fast path: calls that repeat one that the function has had lately, and calls that wait for all their requests
//! (`MPI_Wait`, `MPI_Waitall`) where the same has arrived as before.

use mpi_facts::Shape;
use mpi_tool_layer::{
    Call, CallResult, Clock, FastCall, FastPath, FunctionId, functions, received_bytes,
};

use crate::recorder::{Record, Recorder};
use crate::{Trace, circumstances, repeats};

pub(crate) struct Fast;

impl FastPath<Trace> for Fast {
    const FUNCTIONS: &'static [bool; FunctionId::COUNT] = &functions!(|function| {
        repeats::REPEATING[function as usize]
            || !function.is_large_count() && Shape::of(function).waits_for_all()
    });
    const LENDS_STATUS: bool = true;

    #[inline(always)]
    fn around<'c>(trace: &Trace, call: impl Call<'c>, next: impl FastCall<'c>) -> CallResult<'c> {
        let Some(recorder) = Recorder::known() else { return next.fall_back() };
        if call.shape().waits_for_all() {
            return trace.waited(recorder, call, next);
        }
        trace.repeated_fast(recorder, call, next)
    }
}

impl Trace {
    /// Passes on a call that may repeat one that the function has had lately.
    #[inline(always)]
    fn repeated_fast<'c>(
        &self,
        recorder: &Recorder,
        call: impl Call<'c>,
        next: impl FastCall<'c>,
    ) -> CallResult<'c> {
        let Some(repeat) = recorder.repeats.last_or_next(call) else { return next.fall_back() };
        let first = repeat.first();
        let begin = Clock::cycles_before_call();
        let result = next.pass_on();
        let (end, result) = Clock::cycles_after_call(result);
        if call.shape().statuses == mpi_facts::NONE && !repeats::starts_message(call) {
            // The arguments are not kept while MPI has the call, which would take instructions: whatever comes of it, what is
            // known of the other one tells them.
            if result.is_err() || !recorder.repeat(first, begin, end) {
                return recorder.repeat_slowly(first, begin, end, result);
            }
            return result;
        }
        let is_recorded = result.is_ok_and(|accepted| {
            // As in `repeated`.
            repeat.first() == first
                && (repeats::starts_message(call) || repeat.has_arrived(call, accepted))
                && self.record_repeat(recorder, repeat, call, accepted, [begin, end])
        });
        if !is_recorded {
            self.ended_otherwise(recorder, call.erase(), begin, end, result);
        }
        result
    }

    /// Passes on a call that waits for all its requests.
    #[inline(always)]
    fn waited<'c>(
        &self,
        recorder: &Recorder,
        call: impl Call<'c>,
        next: impl FastCall<'c>,
    ) -> CallResult<'c> {
        if !circumstances::are_usual(circumstances::now()) || !self.traffic.may_be_over() {
            return next.fall_back();
        }
        let begin = Clock::cycles_before_call();
        let result = next.pass_on();
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
