//! Messages between hosts: before a process sends one, it posts a record of it to the receiver, which keeps it in the memory
//! of its host, as if the sender had written it there. The receiver takes records whenever it comes by, and waits for none.
//!
//! A record is sent synchronously, so that the sender knows how many have not been taken. If these are too many, no more are
//! sent, and no more messages are compared.

use core::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use super::comm::{OwnComm, Request, begin_receive, begin_send, test_some};
use crate::shared::{limit, shared};

/// How many words a record has.
const WORDS: usize = 11;

/// What is posted.
pub(crate) type Record = [u64; WORDS];

const TAG: c_int = 1;
/// How many records of a process may be under way.
const MOST: usize = 4096;
/// How many places are made at once, and after how many records those that have been taken are looked for.
const STEP: usize = 64;
/// How many receives are there for records.
const RECEIVES: usize = 16;

/// Records on their way, and receives for those of others.
#[derive(Default)]
struct Post {
    /// Where the records are that are sent, which do not move, and their requests.
    sent: Vec<Box<Record>>,
    requests: Vec<Request>,
    /// Places that are free.
    free: Vec<usize>,
    /// How many have been sent since the last look.
    since: usize,
    received: Vec<Box<Record>>,
    receives: Vec<Request>,
    /// Which receive is the next one to get a record: MPI fills them in the order in which they were posted.
    next: usize,
}

static POST: Mutex<Option<Post>> = Mutex::new(None);

fn with<R>(action: impl FnOnce(&mut Post) -> R) -> Option<R> {
    POST.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(action)
}

/// From now on, records can be sent and come.
pub(super) fn begin(comm: OwnComm) {
    let mut post = Post::default();
    for _ in 0..RECEIVES {
        let mut record = Box::new([0; WORDS]);
        // SAFETY: the record stays in its box, which `Post` has, and is read when the request is complete.
        let Ok(request) = (unsafe { begin_receive(comm, &mut *record, TAG) }) else { break };
        post.received.push(record);
        post.receives.push(request);
    }
    *POST.lock().unwrap_or_else(PoisonError::into_inner) = Some(post);
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
        Some(())
    });
    if is_sent.flatten().is_none() {
        shared().reached(limit::MESSAGES);
    }
}

impl Post {
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

/// Takes the records that have come.
pub(crate) fn drain() {
    let Some(hosts) = super::get() else { return };
    with(|post| {
        // Others go on while one takes records, and must find its own.
        for _ in 0..4 * RECEIVES {
            let at = post.next;
            let Some(request) = post.receives.get_mut(at) else { return };
            match request.test() {
                Ok(true) => {}
                _ => return,
            }
            crate::messages::posted(&post.received[at]);
            // SAFETY: as in `begin`.
            let request = unsafe { begin_receive(hosts.post, &mut *post.received[at], TAG) };
            match request {
                Ok(request) => post.receives[at] = request,
                Err(_) => {
                    // Nobody can say any more what comes.
                    shared().reached(limit::MESSAGES);
                    return;
                }
            }
            post.next = (at + 1) % post.receives.len();
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
    let Some(mut post) = post else { return };
    post.receives.iter_mut().for_each(Request::cancel);
    if post.free.len() < post.requests.len() {
        // MPI may still read them.
        std::mem::forget(post);
    }
}
