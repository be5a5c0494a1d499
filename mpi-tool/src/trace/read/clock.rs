//! Times of a process's clock in nanoseconds.

use std::collections::HashMap;

use super::Process;

/// How ticks are nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub(super) shift: u32,
    pub(super) rate: f64,
    pub(super) ticks: u64,
    pub(super) created: u64,
    pub(super) end_ticks: u64,
    pub(super) ended: u64,
}

impl Clock {
    /// Over how many ticks its rate is known.
    fn length(self) -> u64 {
        self.end_ticks.saturating_sub(self.ticks)
    }

    /// Nanoseconds since 1970, of ticks.
    pub(super) fn time(self, ticks: i64) -> i64 {
        let ticks = ticks.wrapping_sub(self.ticks.cast_signed());
        self.created.cast_signed().wrapping_add((ticks as f64 * self.rate()) as i64)
    }

    fn rate(self) -> f64 {
        // The realtime clock may be set while the program runs; the rate that the process has measured cannot.
        let measured = self.ended.saturating_sub(self.created) as f64 / self.length().max(1) as f64;
        if self.rate <= 0.0 { measured } else { self.rate }
    }
}

/// Gives the processes of a host one clock. Returns how many hosts there are.
pub(super) fn share<'a>(processes: impl Iterator<Item = &'a mut Process>) -> usize {
    let processes: Vec<_> = processes.collect();
    let mut clocks: HashMap<String, Clock> = HashMap::new();
    for process in &processes {
        let clock = process.clock;
        // The longer a process has run, the better it knows how long a tick is.
        let known = clocks.entry(process.host.clone()).or_insert(clock);
        if clock.length() > known.length() {
            *known = clock;
        }
    }
    for process in processes {
        process.clock = clocks[&process.host];
    }
    clocks.len()
}

/// Makes all times nanoseconds since the first call of all.
pub(super) fn set_times(processes: &mut [Process]) {
    let mut first = i64::MAX;
    for process in processes.iter_mut() {
        let clock = process.clock;
        process.off_times().for_each(|time| *time = clock.time(*time));
        for call in process.threads.iter_mut().flat_map(|thread| thread.calls.iter_mut()) {
            call.begin = clock.time(call.begin);
            call.end = clock.time(call.end);
            first = first.min(call.begin);
        }
    }
    for process in processes.iter_mut() {
        process.off_times().for_each(|time| *time = time.wrapping_sub(first));
        for call in process.threads.iter_mut().flat_map(|thread| thread.calls.iter_mut()) {
            call.begin = call.begin.wrapping_sub(first);
            call.end = call.end.wrapping_sub(first);
        }
    }
}
