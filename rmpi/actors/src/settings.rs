//! How much a selector keeps.

/// How many messages a selector collects, and how many buffers it has.
///
/// A process has at most `buffer` messages for each mailbox and process that it sends to, and for each mailbox
/// `away + 2 * receives` more buffers. A buffer is made when it is first needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub(crate) buffer: usize,
    pub(crate) away: usize,
    pub(crate) receives: usize,
}

impl Default for Settings {
    /// Buffers of 1,024 messages, 16 of them on their way, 4 to receive into.
    fn default() -> Self {
        Self { buffer: 1024, away: 16, receives: 4 }
    }
}

impl Settings {
    /// How many messages to one process travel together, at most. All processes must say the same.
    #[must_use]
    pub const fn buffer(mut self, messages: usize) -> Self {
        self.buffer = messages;
        self
    }

    /// How many full buffers of a mailbox may be on their way at once. If there are as many, `send` waits, and
    /// meanwhile handles what comes.
    #[must_use]
    pub const fn away(mut self, buffers: usize) -> Self {
        self.away = buffers;
        self
    }

    /// How many buffers of a mailbox wait for messages of others in this scope, and as many for those of the next.
    #[must_use]
    pub const fn receives(mut self, buffers: usize) -> Self {
        self.receives = buffers;
        self
    }
}
