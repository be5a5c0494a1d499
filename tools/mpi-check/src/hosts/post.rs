//! Messages between hosts: before a process sends one, it posts a record of it to the receiver, which keeps it in the memory
//! of its host, as if the sender had written it there. The receiver takes records whenever it comes by, and waits for none.
//!
//! A record is sent synchronously, so that the sender knows how many have not been taken. If these are too many, no more are
//! sent, and no more messages are compared.

use core::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use super::comm::{self, OwnComm, Request, begin_receive, begin_send, test_some};
use crate::messages;
use crate::shared::{limit, shared};
use crate::waits;

/// How many words a record has.
const WORDS: usize = 12;

/// What is posted.
pub(crate) type Record = [u64; WORDS];

const TAG: c_int = 1;
/// How many records of a process may be under way.
const MOST: usize = 4096;
/// How many places are made at once, and after how many records those that have been taken are looked for.
const STEP: usize = 64;
/// How many records are taken at once.
const TAKEN: usize = 64;

/// Records on their way, and receives for those of others.
#[derive(Default)]
struct Post {
    /// Where the records are that are sent, which do not move, and their requests.
    #[allow(clippy::vec_box, reason = "MPI reads them where they are while the list grows")]
    sent: Vec<Box<Record>>,
    requests: Vec<Request>,
    /// Places that are free.
    free: Vec<usize>,
    /// How many have been sent since the last look.
    since: usize,
    /// The record that is being received, if one is.
    received: Box<Record>,
    receive: Option<Request>,
}

static POST: Mutex<Option<Post>> = Mutex::new(None);

fn with<R>(action: impl FnOnce(&mut Post) -> R) -> Option<R> {
    POST.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(action)
}

/// From now on, records can be sent and taken.
pub(super) fn begin() {
    *POST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Post::default());
}

/// Sends a record to a rank of the world.
pub(crate) fn send(record: Record, to: u32) {
    let Some(hosts) = super::get() else { return };
    let is_sent = with(|post| {
        if post.free.is_empty() || post.since >= STEP {
            post.reclaim();
        }
        let at = post.free.pop()?;
        *post.sent[at] = record;
        // SAFETY: the record stays in its box, which `Post` has, and is written again when its place is free, which it is
        // when the request is complete.
        let request = unsafe { begin_send(hosts.post, &*post.sent[at], to, TAG) };
        post.requests[at] = request.ok()?;
        post.since += 1;
        waits::count_records(1, 0);
        Some(())
    });
    if is_sent.flatten().is_none() {
        shared().reached(limit::MESSAGES);
    }
}

impl Post {
    /// Takes a record, if one is there.
    fn take(&mut self, comm: OwnComm) -> comm::Result<bool> {
        let mut receive = match self.receive.take() {
            Some(receive) => receive,
            None => {
                let Some(from) = comm::sender(comm, TAG)? else { return Ok(false) };
                // SAFETY: the record stays in its box, which `Post` has, and is read when the request is complete.
                unsafe { begin_receive(comm, &mut *self.received, from, TAG)? }
            }
        };
        let is_there = receive.test()?;
        match is_there {
            true => {
                messages::posted(&self.received);
                waits::count_records(0, 1);
            }
            // It has begun to come.
            false => self.receive = Some(receive),
        }
        Ok(is_there)
    }

    /// Finds places whose records have been taken, or makes more.
    fn reclaim(&mut self) {
        self.since = 0;
        if self.free.len() < self.requests.len() {
            let _ = test_some(&mut self.requests);
            self.free.clear();
            let places = 0..self.requests.len();
            self.free.extend(places.filter(|at| self.requests[*at].is_none()));
        }
        while self.free.len() < STEP && self.requests.len() < MOST {
            self.free.push(self.requests.len());
            self.sent.push(Box::new([0; WORDS]));
            self.requests.push(Request::none());
        }
    }
}

/// Takes the records that have come. No receive waits for them, as MPIs do not do well with those from anybody.
pub(crate) fn drain() {
    let Some(hosts) = super::get() else { return };
    with(|post| {
        // Others go on while one takes records, and must find its own.
        for _ in 0..TAKEN {
            if post.take(hosts.post) != Ok(true) {
                return;
            }
        }
    });
}

/// Has everything that this process has sent been taken? Asked at the end.
pub(super) fn is_all_taken() -> bool {
    with(|post| {
        post.reclaim();
        post.free.len() == post.requests.len()
    })
    .unwrap_or(true)
}

/// Nobody sends any more.
pub(super) fn end() {
    let post = POST.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(post) = post else { return };
    if post.receive.is_some() || post.free.len() < post.requests.len() {
        // MPI may still read them.
        std::mem::forget(post);
    }
}
