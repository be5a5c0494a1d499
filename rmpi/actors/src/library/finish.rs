//! The end of a scope: when no message is left anywhere.

use super::dispatch::Lanes as _;
use super::mpi::{MpiOp, Test};
use super::{Actor, Error, Selector};

impl<S: Actor> Selector<'_, S> {
    /// Handles messages until none is left on any process, and returns how many processes failed, and how many tasks
    /// still wait for something, which can not happen any more.
    ///
    /// Messages are counted in waves (Mattern's four counters). A process takes part in a wave when it has sent
    /// all that it has, with the numbers of messages it has sent and handled by then, and goes on handling
    /// meanwhile. A wave begins on a process after the one before has ended there, so all numbers of a wave are
    /// taken after all numbers of the one before. If as many messages were handled by the first of two waves as
    /// were sent by the second, there was no message on its way between them, and no handler ran that could
    /// have sent another one.
    pub(super) fn terminate(&mut self, body_failed: bool) -> Result<[u64; 2], Error> {
        let mut handled_before = None;
        loop {
            while self.advance()? || !self.lanes.is_empty() {}
            let (sent, handled) = self.lanes.counts();
            let failed = u64::from(body_failed || self.failed.is_some());
            let sums = self.wave([sent, handled, failed, self.tasks.waiting()])?;
            if handled_before == Some(sums[0]) {
                // Others may send again before this process comes here. It does not handle that before.
                self.lanes.turn();
                return Ok([sums[2], sums[3]]);
            }
            handled_before = Some(sums[1]);
        }
    }

    /// The sums over all processes. Handles messages until they are there.
    fn wave(&mut self, mine: [u64; 4]) -> Result<[u64; 4], Error> {
        let mut sums = mine;
        let communicator = self.domain.communicator();
        super::mpi::scope(|scope| {
            let mut request = communicator.iallreduce_in_place(scope, &mut sums[..], MpiOp::SUM)?;
            loop {
                request = match request.test()? {
                    Test::Complete(_) => return Ok::<_, Error>(()),
                    Test::Pending(request) => request,
                };
                self.advance()?;
            }
        })?;
        Ok(sums)
    }
}
