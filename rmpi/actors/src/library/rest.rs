//! Waiting for others.

/// Lets other processes have the processor if there was nothing to do for a while.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// How often in a row there was nothing to do.
    idle: u32,
}

/// How often nothing comes before the process yields.
const IDLE: u32 = 2000;

impl Rest {
    pub(super) fn after(&mut self, is_busy: bool) {
        self.idle = if is_busy { 0 } else { self.idle.saturating_add(1) };
        if self.idle > IDLE {
            std::thread::yield_now();
        }
    }
}
