//! Messages to and from nobody, and calls that only tell something: passed on in as few instructions as can be, if nothing is
//! unusual.

use mpi_facts::only_tells;
use mpi_tool_layer::{
    Call, CallResult, Clock, FastCall, FastPath, FunctionId, KnownRow, MESSAGES, Nesting, Site,
    ThisThread, TrackedComm, Traffic, functions,
};

use crate::Profile;
use crate::keys::Keys;
use crate::row::{MEASURES, Row};

/// Calls that are sure to move nothing: messages to and from nobody, and what only tells something.
pub(crate) struct Fast;

impl FastPath<Profile> for Fast {
    const FUNCTIONS: &'static [bool; FunctionId::COUNT] =
        &functions!(|function| MESSAGES[function as usize] || only_tells(function));

    #[inline(always)]
    fn takes<'c>(_: &Profile, call: impl Call<'c>) -> bool {
        moves_nothing(call)
    }

    /// A call in no other call, whose row the thread has last used with its function and site.
    #[inline(always)]
    fn around<'c>(
        profile: &Profile,
        call: impl Call<'c>,
        next: impl FastCall<'c>,
    ) -> CallResult<'c> {
        profile.pass_on(call, next)
    }
}

/// Is a call of one of these functions sure to move nothing?
#[inline(always)]
pub(crate) fn moves_nothing<'c>(call: impl Call<'c>) -> bool {
    only_tells(call.function()) || Traffic::<Row>::moves_nothing(call)
}

impl Profile {
    /// Passes on a call that is sure to move nothing.
    #[inline(always)]
    pub(crate) fn pass_on<'c>(
        &self,
        call: impl Call<'c>,
        next: impl FastCall<'c>,
    ) -> CallResult<'c> {
        let (thread, keys) = (ThisThread::get(), self.keys());
        if keys.has(Keys::UNUSUAL) || Nesting::is_inside() {
            return next.fall_back();
        }
        // Twice, so that nothing is left of the site where there is none.
        if keys.depth() == 0 {
            self.timed_fast(thread, Site::UNKNOWN, call, next)
        } else if let Some(site) = Site::at_once(thread) {
            self.timed_fast(thread, site, call, next)
        } else {
            next.fall_back()
        }
    }

    /// Passes on a call that moves no data, that is in no other one and is not [unusual](Keys::UNUSUAL), and adds its time to
    /// its row, which is found before the call, so that nothing else need be kept.
    #[inline(always)]
    fn timed_fast<'c>(
        &self,
        thread: ThisThread,
        site: Site,
        call: impl Call<'c>,
        next: impl FastCall<'c>,
    ) -> CallResult<'c> {
        let communicator = match call.communicator() {
            Some(comm) => self.communicators.known_handle(comm.raw()),
            None => Some(TrackedComm::NONE),
        };
        let row = communicator.and_then(|communicator| {
            self.calls.known(thread, self.row_of(call.function(), site, communicator))
        });
        let Some(row) = row else { return next.fall_back() };
        let nesting = Nesting::enter_outermost();
        let start = Clock::cycles();
        let result = next.pass_on();
        let end = Clock::cycles();
        drop(nesting);
        if !row.add(end, [Some(end.wrapping_sub(start)), None, None, None]) {
            self.add_known_slowly(row, start, end);
        }
        result
    }

    /// Adds a call to a row that was found before it: its time, which is less or greater than all before, or something is due.
    #[cold]
    #[inline(never)]
    fn add_known_slowly(&self, row: KnownRow<'_, Row, { MEASURES.len() }>, start: u64, end: u64) {
        let look = || self.early.look(start, end, self.calls.any());
        self.calls.add_to_known(row, end, [Some(end.wrapping_sub(start)), None, None, None], look);
    }
}
