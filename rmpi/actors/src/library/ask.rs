//! Requests that are answered.

use core::panic::AssertUnwindSafe;
use std::collections::VecDeque;
use std::panic::catch_unwind;

use super::domain::MailboxTag;
use super::error::check_rank;
use super::mpi::{MpiOp, OwnedRequest, Process, Source, Test};
use super::rest::Rest;
use super::{Domain, Error, failure};
use crate::Settings;
use crate::message::{self, Message};
use rmpi::Tag;

impl Domain<'_> {
    /// Sends requests to processes, which may be this one, and returns the answers in the order of the requests. Each
    /// process answers the requests of all others by its own function, which gets a request and the rank that it is
    /// from, while it waits for answers to its own. Collective: a process that has no requests calls it, too, to answer.
    ///
    /// Requests to one process travel together, and so do the answers, which come back in the same order: nothing
    /// travels that would say which request an answer belongs to. So this is faster than two mailboxes of a
    /// [`Selector`](super::Selector). Of the settings, `away` is how many buffers of requests wait for answers at once.
    ///
    /// ```no_run
    /// use rmpi_actors::{Domain, Error, Settings};
    ///
    /// fn main() -> Result<(), Error> {
    ///     let context = rmpi::init()?;
    ///     let domain = Domain::new(context.world())?;
    ///     let squares: Vec<u64> = (0..100).map(|n| n * n).collect();
    ///     // The squares of 0 to 99 from the next process.
    ///     let next = (domain.rank() + 1) % domain.size();
    ///     let requests = (0..100_u32).map(|n| (next, n));
    ///     let found = domain.ask(Settings::default(), requests, |n, _from| squares[n as usize])?;
    ///     assert_eq!(found, squares);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`] if a request is for none: those before it are answered, none after it is sent.
    /// [`Error::Elsewhere`] if other processes had such an error. [`Error::Settings`], and what MPI says.
    pub fn ask<Q: Message, A: Message>(
        &self,
        settings: Settings,
        requests: impl IntoIterator<Item = (usize, Q), IntoIter: ExactSizeIterator>,
        answer: impl FnMut(Q, usize) -> A,
    ) -> Result<Vec<A>, Error> {
        let requests = requests.into_iter();
        let mut asking = Asking::new(self, &settings, requests.len(), answer)?;
        let mut wrong = Ok(());
        for (position, (to, request)) in requests.enumerate() {
            if !asking.keep(to, request, position) {
                wrong = check_rank(to, self.size());
                if wrong.is_err() {
                    break;
                }
                asking.make_room(to)?;
                asking.keep(to, request, position);
            }
        }
        let elsewhere = asking.finish(wrong.is_err())?;
        wrong?;
        if elsewhere > 0 {
            return Err(Error::Elsewhere { processes: elsewhere });
        }
        Ok(core::mem::take(&mut asking.found))
    }
}

/// Requests of one process to another one that travel together.
#[derive(Default)]
struct Lot<Q> {
    /// As long as a buffer may be, or empty.
    requests: Vec<Q>,
    /// Where the answer of each belongs.
    positions: Vec<usize>,
    /// How many there are.
    length: usize,
}

/// A lot that was sent.
struct Away<'c, Q, A> {
    requests: OwnedRequest<'c, Vec<Q>>,
    positions: Vec<usize>,
    length: usize,
    answers: OwnedRequest<'c, Vec<A>>,
}

/// What is on its way.
///
/// Each lot that leaves has a receive for its answers before, so that answers never wait for anything but their
/// receiver's calls; whoever waits answers what comes. So nobody waits forever. Between two processes, MPI keeps the order of
/// lots, of which each is answered in turn, and of their answers.
struct Asking<'c, Q: Message, A: Message, F> {
    domain: &'c Domain<'c>,
    processes: Vec<Process<'c>>,
    anyone: Source<'c>,
    request_tag: Tag,
    answer_tag: Tag,
    _tag: MailboxTag<'c>,
    /// How long a lot may be.
    capacity: usize,
    most_away: usize,
    /// By destination.
    filling: Vec<Lot<Q>>,
    away: VecDeque<Away<'c, Q, A>>,
    /// Receives for the lots of others.
    incoming: VecDeque<OwnedRequest<'c, Vec<Q>>>,
    /// Answers to others.
    replies: VecDeque<OwnedRequest<'c, Vec<A>>>,
    spare: Vec<Lot<Q>>,
    spare_answers: Vec<Vec<A>>,
    found: Vec<A>,
    answer: F,
    rest: Rest,
}

impl<'c, Q: Message, A: Message, F: FnMut(Q, usize) -> A> Asking<'c, Q, A, F> {
    fn new(
        domain: &'c Domain<'_>,
        settings: &Settings,
        requests: usize,
        answer: F,
    ) -> Result<Self, Error> {
        const { assert!(size_of::<Q>() > 0, "a request has at least one byte") };
        const { assert!(size_of::<A>() > 0, "an answer has at least one byte") };
        let communicator = domain.communicator();
        let tag = domain.tags().take(domain.agree(settings, 1)?);
        let [request_tag, answer_tag] = tag.pair();
        let mut asking = Self {
            domain,
            processes: (0..domain.size()).map(|rank| communicator.process(rank)).collect(),
            anyone: communicator.any_source(),
            request_tag,
            answer_tag,
            _tag: tag,
            capacity: settings.buffer,
            most_away: settings.away,
            filling: (0..domain.size()).map(|_| Lot::default()).collect(),
            away: VecDeque::new(),
            incoming: VecDeque::new(),
            replies: VecDeque::new(),
            spare: Vec::new(),
            spare_answers: Vec::new(),
            found: vec![A::default(); requests],
            answer,
            rest: Rest::default(),
        };
        if domain.size() > 1 {
            for _ in 0..settings.receives {
                asking.post(vec![Q::default(); settings.buffer])?;
            }
        }
        Ok(asking)
    }

    /// Makes a receive for a lot of anybody.
    fn post(&mut self, buffer: Vec<Q>) -> Result<(), Error> {
        self.incoming.push_back(self.anyone.irecv_owned(buffer, self.request_tag)?);
        Ok(())
    }

    /// Keeps a request, if there is such a process and its lot has room.
    #[inline]
    fn keep(&mut self, to: usize, request: Q, position: usize) -> bool {
        let Some(lot) = self.filling.get_mut(to) else { return false };
        let places = (lot.requests.get_mut(lot.length), lot.positions.get_mut(lot.length));
        let (Some(place), Some(its_position)) = places else { return false };
        (*place, *its_position) = (request, position);
        lot.length += 1;
        true
    }

    /// Makes room for a request to a process. If too many lots wait for answers, answers others until one has them.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, to: usize) -> Result<(), Error> {
        if self.filling[to].length == 0 {
            self.filling[to] = self.empty_lot();
            return Ok(());
        }
        // What has come is answered as often as a lot leaves, so that nobody gets far ahead.
        self.poll()?;
        self.leave(to)
    }

    fn empty_lot(&mut self) -> Lot<Q> {
        self.spare.pop().unwrap_or_else(|| Lot {
            requests: vec![Q::default(); self.capacity],
            positions: vec![0; self.capacity],
            length: 0,
        })
    }

    /// Sends a lot, or answers it if it is this process's own, and puts an empty one in its place.
    fn leave(&mut self, to: usize) -> Result<(), Error> {
        let empty = self.empty_lot();
        let mut lot = core::mem::replace(&mut self.filling[to], empty);
        if to == self.domain.rank() {
            let answers = self.answers_to(&lot.requests[..lot.length], to);
            self.put(&lot.positions, &answers);
            self.spare_answers.push(answers);
            lot.length = 0;
            self.spare.push(lot);
            return Ok(());
        }
        while self.away.len() >= self.most_away {
            self.wait()?;
        }
        let mut answers = self.spare_answers.pop().unwrap_or_default();
        answers.resize(self.capacity, A::default());
        lot.requests.truncate(lot.length);
        let process = self.processes[to];
        let answers = process.irecv_owned(answers, self.answer_tag)?;
        let requests = process.isend_owned(lot.requests, self.request_tag)?;
        self.away.push_back(Away {
            requests,
            positions: lot.positions,
            length: lot.length,
            answers,
        });
        Ok(())
    }

    /// Answers requests. If that panics, the job ends: others wait for the answers.
    fn answers_to(&mut self, requests: &[Q], from: usize) -> Vec<A> {
        let mut answers = self.spare_answers.pop().unwrap_or_default();
        answers.clear();
        let answer = &mut self.answer;
        let result = catch_unwind(AssertUnwindSafe(|| {
            answers.extend(requests.iter().map(|&request| answer(request, from)));
        }));
        match result {
            Ok(()) => answers,
            Err(panic) => failure::end(self.domain, message::name::<Q>(), from, &*panic),
        }
    }

    /// Puts answers where they belong.
    fn put(&mut self, positions: &[usize], answers: &[A]) {
        for (&position, &answer) in positions.iter().zip(answers) {
            self.found[position] = answer;
        }
    }

    /// Takes answers that have come, and answers a lot of another process. Returns whether it did anything.
    fn poll(&mut self) -> Result<bool, Error> {
        Ok(self.take_answers()? | self.serve()?)
    }

    /// The same while others must do something first.
    fn wait(&mut self) -> Result<(), Error> {
        let is_busy = self.poll()?;
        self.rest.after(is_busy);
        Ok(())
    }

    /// Takes what has come of the answers to this process's lots.
    fn take_answers(&mut self) -> Result<bool, Error> {
        let before = self.away.len();
        for _ in 0..before {
            let Some(Away { requests, positions, length, answers }) = self.away.pop_front() else {
                break;
            };
            match answers.test()? {
                Test::Complete((answers, _)) => {
                    self.put(&positions[..length], &answers);
                    self.spare_answers.push(answers);
                    // They were received before they were answered.
                    let (mut requests, _) = requests.wait()?;
                    requests.resize(self.capacity, Q::default());
                    self.spare.push(Lot { requests, positions, length: 0 });
                }
                Test::Pending(answers) => {
                    self.away.push_back(Away { requests, positions, length, answers });
                }
            }
        }
        Ok(self.away.len() < before)
    }

    /// Answers a lot of another process, if one has come.
    fn serve(&mut self) -> Result<bool, Error> {
        while self.replies.len() >= self.most_away {
            let Some(reply) = self.replies.pop_front() else { break };
            match reply.test()? {
                Test::Complete((answers, _)) => self.spare_answers.push(answers),
                Test::Pending(reply) => {
                    self.replies.push_front(reply);
                    return Ok(false);
                }
            }
        }
        let Some(request) = self.incoming.pop_front() else { return Ok(false) };
        let (requests, status) = match request.test()? {
            Test::Complete(lot) => lot,
            Test::Pending(request) => {
                self.incoming.push_front(request);
                return Ok(false);
            }
        };
        let length = status.get_count::<Q>()?.unwrap_or(0).min(requests.len());
        let from = status.source().unwrap_or(self.domain.rank());
        let answers = self.answers_to(&requests[..length], from);
        self.replies.push_back(self.processes[from].isend_owned(answers, self.answer_tag)?);
        self.post(requests)?;
        Ok(true)
    }

    /// Sends what is left, and answers others until all processes have all their answers. Returns how many failed.
    fn finish(&mut self, has_failed: bool) -> Result<u64, Error> {
        for to in 0..self.filling.len() {
            if self.filling[to].length > 0 {
                self.leave(to)?;
            }
        }
        while !self.away.is_empty() {
            self.wait()?;
        }
        let mut failed = u64::from(has_failed);
        let communicator = self.domain.communicator();
        super::mpi::scope(|scope| {
            let mut sum = communicator.iallreduce_in_place(scope, &mut failed, MpiOp::SUM)?;
            loop {
                sum = match sum.test()? {
                    Test::Complete(_) => return Ok::<_, Error>(()),
                    Test::Pending(sum) => sum,
                };
                self.wait()?;
            }
        })?;
        for reply in self.replies.drain(..) {
            reply.wait()?;
        }
        Ok(failed)
    }
}

impl<Q: Message, A: Message, F> Drop for Asking<'_, Q, A, F> {
    /// Cancels the receives that nobody sends to, for which the requests' own drop would wait forever.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for request in &mut self.incoming {
                let _ = request.cancel();
            }
        }
    }
}
