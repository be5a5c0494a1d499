//! One mailbox of a process: buffers of messages that leave, and of those that come.

use std::collections::VecDeque;

use super::domain::MailboxTag;
use super::error::check_rank;
use super::mpi::{OwnedRequest, Process, Source, Test};
use super::{Domain, Error};
use crate::{Message, Settings};
use rmpi::Tag;

/// One mailbox of a selector.
///
/// A buffer for each process collects messages. A full one leaves by a non-blocking send that owns it
/// (`away`), and comes back to be filled again (`spare`).
#[derive(Debug)]
pub struct Lane<'c, M: Message> {
    /// What is collected, by destination. Never longer than `capacity`.
    filling: Vec<Vec<M>>,
    capacity: usize,
    /// May the main program send?
    pub(super) is_open: bool,
    spare: Vec<Vec<M>>,
    away: VecDeque<OwnedRequest<'c, Vec<M>>>,
    most_away: usize,
    /// Full buffers of handlers, which cannot wait.
    waiting: VecDeque<(usize, Vec<M>)>,
    /// Full buffers to this process itself.
    local: VecDeque<Vec<M>>,
    /// By turn: what others send who have ended a scope already, which this process has not, waits for its turn.
    receives: [VecDeque<OwnedRequest<'c, Vec<M>>>; 2],
    turn: usize,
    processes: Vec<Process<'c>>,
    anyone: Source<'c>,
    /// By turn.
    tags: [Tag; 2],
    _tag: MailboxTag<'c>,
    rank: usize,
    /// Messages that left for other processes.
    pub(super) sent: u64,
    /// Messages of other processes that were handled.
    pub(super) handled: u64,
}

/// Messages that came together.
pub(super) struct Batch<M> {
    pub(super) buffer: Vec<M>,
    pub(super) length: usize,
    pub(super) from: usize,
    is_local: bool,
}

impl<'c, M: Message> Lane<'c, M> {
    pub(super) fn new(
        domain: &'c Domain<'_>,
        turn: u64,
        settings: &Settings,
    ) -> Result<Self, Error> {
        const { assert!(size_of::<M>() > 0, "a message of a mailbox has at least one byte") };
        let communicator = domain.communicator();
        let tag = domain.tags().take(turn);
        let mut lane = Self {
            filling: (0..domain.size()).map(|_| Vec::new()).collect(),
            capacity: settings.buffer,
            is_open: false,
            spare: Vec::new(),
            away: VecDeque::new(),
            most_away: settings.away,
            waiting: VecDeque::new(),
            local: VecDeque::new(),
            receives: Default::default(),
            turn: 0,
            processes: (0..domain.size()).map(|rank| communicator.process(rank)).collect(),
            anyone: communicator.any_source(),
            tags: tag.pair(),
            _tag: tag,
            rank: domain.rank(),
            sent: 0,
            handled: 0,
        };
        if domain.size() > 1 {
            for turn in [1, 0] {
                lane.turn = turn;
                for _ in 0..settings.receives {
                    lane.post(vec![M::default(); settings.buffer])?;
                }
            }
        }
        Ok(lane)
    }

    fn post(&mut self, buffer: Vec<M>) -> Result<(), Error> {
        let request = self.anyone.irecv_owned(buffer, self.tags[self.turn])?;
        self.receives[self.turn].push_back(request);
        Ok(())
    }

    /// Keeps a message, if there is such a process and its buffer has room.
    #[inline]
    pub(super) fn keep(&mut self, to: usize, message: M) -> bool {
        match self.filling.get_mut(to) {
            Some(buffer) if buffer.len() < buffer.capacity() => {
                buffer.push(message);
                true
            }
            _ => false,
        }
    }

    pub(super) const fn check(&self, to: usize) -> Result<(), Error> {
        check_rank(to, self.filling.len())
    }

    /// Makes room for a message without waiting. What cannot leave now waits here.
    pub(super) fn make_room(&mut self, to: usize) -> Result<(), Error> {
        if self.filling[to].len() == self.filling[to].capacity() {
            let full = self.take_full(to);
            if full.capacity() == 0 {
                return Ok(());
            } else if to == self.rank {
                self.local.push_back(full);
            } else if !self.waiting.is_empty() || !self.may_leave()? {
                self.waiting.push_back((to, full));
            } else {
                self.leave(to, full)?;
            }
        }
        Ok(())
    }

    /// Makes room for a message, if that takes no waiting.
    pub(super) fn try_make_room(&mut self, to: usize) -> Result<bool, Error> {
        let is_full = self.filling[to].len() == self.filling[to].capacity();
        let must_wait = if !is_full || self.filling[to].capacity() == 0 {
            false
        } else if to == self.rank {
            self.local.len() >= self.most_away
        } else {
            !self.send_waiting()? || !self.may_leave()?
        };
        if must_wait {
            return Ok(false);
        }
        self.make_room(to)?;
        Ok(true)
    }

    /// The buffer for a process, in whose place an empty one comes.
    fn take_full(&mut self, to: usize) -> Vec<M> {
        let empty = match self.spare.pop() {
            Some(empty) => empty,
            None => {
                let mut empty = Vec::new();
                empty.reserve_exact(self.capacity);
                empty
            }
        };
        core::mem::replace(&mut self.filling[to], empty)
    }

    /// Begins to send a buffer.
    fn leave(&mut self, to: usize, full: Vec<M>) -> Result<(), Error> {
        self.sent += full.len() as u64;
        self.away.push_back(self.processes[to].isend_owned(full, self.tags[self.turn])?);
        Ok(())
    }

    /// Is there room for one more buffer on its way?
    fn may_leave(&mut self) -> Result<bool, Error> {
        if self.away.len() >= self.most_away {
            self.take_back()?;
        }
        Ok(self.away.len() < self.most_away)
    }

    /// Takes back the buffers that have left.
    fn take_back(&mut self) -> Result<bool, Error> {
        let before = self.away.len();
        for _ in 0..before {
            let Some(request) = self.away.pop_front() else { break };
            match request.test()? {
                Test::Complete((mut buffer, _)) => {
                    buffer.clear();
                    self.spare.push(buffer);
                }
                Test::Pending(request) => self.away.push_back(request),
            }
        }
        Ok(self.away.len() < before)
    }

    /// Sends what waits, as far as it may leave. Returns whether nothing waits any more.
    pub(super) fn send_waiting(&mut self) -> Result<bool, Error> {
        while !self.waiting.is_empty() {
            if !self.may_leave()? {
                return Ok(false);
            }
            if let Some((to, full)) = self.waiting.pop_front() {
                self.leave(to, full)?;
            }
        }
        Ok(true)
    }

    /// Do more buffers wait than may be on their way?
    pub(super) fn is_overfull(&self) -> bool {
        self.waiting.len() > self.most_away
    }

    /// Sends what is collected, as far as it may leave. Returns whether it sent anything.
    pub(super) fn flush(&mut self) -> Result<bool, Error> {
        let mut has_sent = false;
        if !self.send_waiting()? {
            return Ok(false);
        }
        for to in 0..self.filling.len() {
            if self.filling[to].is_empty() {
                continue;
            }
            if to == self.rank {
                let full = self.take_full(to);
                self.local.push_back(full);
            } else if self.may_leave()? {
                let full = self.take_full(to);
                self.leave(to, full)?;
            } else {
                return Ok(has_sent);
            }
            has_sent = true;
        }
        Ok(has_sent)
    }

    /// Is nothing here that has not left?
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.local.is_empty() && self.filling.iter().all(Vec::is_empty)
    }

    /// Messages of this process to itself, if there are any.
    pub(super) fn receive_local(&mut self) -> Option<Batch<M>> {
        let buffer = self.local.pop_front()?;
        Some(Batch { length: buffer.len(), buffer, from: self.rank, is_local: true })
    }

    /// Messages of others, if there are any.
    pub(super) fn receive(&mut self) -> Result<Option<Batch<M>>, Error> {
        let Some(request) = self.receives[self.turn].pop_front() else { return Ok(None) };
        match request.test()? {
            Test::Complete((buffer, status)) => {
                let length = status.get_count::<M>()?.unwrap_or(0).min(buffer.len());
                let from = status.source().unwrap_or(self.rank);
                Ok(Some(Batch { buffer, length, from, is_local: false }))
            }
            Test::Pending(request) => {
                self.receives[self.turn].push_front(request);
                Ok(None)
            }
        }
    }

    /// Begins the next turn, when no message of this one is left anywhere.
    pub(super) const fn turn(&mut self) {
        self.turn = 1 - self.turn;
    }

    /// Takes the buffer of handled messages back.
    pub(super) fn recycle(&mut self, batch: Batch<M>) -> Result<(), Error> {
        let Batch { mut buffer, length, is_local, .. } = batch;
        if is_local {
            buffer.clear();
            self.spare.push(buffer);
            return Ok(());
        }
        self.handled += length as u64;
        self.post(buffer)
    }
}

impl<M: Message> Drop for Lane<'_, M> {
    /// Cancels the receives that nobody sends to, for which the requests' own drop would wait forever.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for request in self.receives.iter_mut().flatten() {
                let _ = request.cancel();
            }
        }
    }
}
