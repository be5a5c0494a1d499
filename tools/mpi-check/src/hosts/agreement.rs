//! Collective operations on communicators with processes on several hosts.
//!
//! Each such communicator has a shadow that the application does not know. Before an operation is entered, a nonblocking
//! reduction of what each process calls is started on it. As MPI goes on with that whatever a process waits for, the last
//! one that comes gets the result, and so can say what differs before it enters the operation.
//!
//! Nobody waits for the others for longer than a while: then the operation is entered, and the result looked at later. So
//! what would go on without the tool goes on with it.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mpi_tool_layer::{FunctionId, Site};

use super::comm::{OwnComm, Request};
use super::vote::{Difference, Vote};
use crate::arguments::Checked;
use crate::collectives::{self, Contribution, What};
use crate::comms::CommRef;
use crate::findings::{Class, Place, rank, report_of};
use crate::places::{self, Mark};
use crate::waits::Need;

/// For how long a process that needs the others waits for them.
const NEEDED: Duration = Duration::from_millis(1000);
/// For how long one waits that may go on without them.
const NOT_NEEDED: Duration = Duration::from_millis(20);
/// From so many reductions on that are not complete, each further blocking operation waits for the first one for a while.
const MANY: usize = 512;

/// A reduction that is not complete.
struct Pending {
    identity: u64,
    number: u64,
    request: Request,
    /// What this process says, and what all say together: in a box, as MPI reads and writes them where they are.
    votes: Box<[Vote; 2]>,
    site: Site,
    function: FunctionId,
    comm: CommRef,
}

static PENDING: Mutex<Vec<Pending>> = Mutex::new(Vec::new());

fn with<R>(action: impl FnOnce(&mut Vec<Pending>) -> R) -> R {
    action(&mut PENDING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Starts to compare an operation with those of the other processes. To be called before it is passed on.
pub(crate) fn begin(
    checked: &Checked<'_>,
    comm: &CommRef,
    shadow: OwnComm,
    number: u64,
    own: &Contribution,
) {
    let Some(hosts) = super::get() else { return };
    let reduction = hosts.votes.read().unwrap_or_else(PoisonError::into_inner);
    let Some(reduction) = &*reduction else { return };
    look_at_old();
    let vote = Vote::new(checked.function, rank(), Mark::of(checked.site), own);
    let mut votes = Box::new([vote, Vote::default()]);
    let [own, all] = &mut *votes;
    // SAFETY: both are votes, for which the reduction is. They stay in their box, which `Pending` has and nobody looks into
    // until the request is complete. All processes of the communicator come here with each collective operation on it, and
    // the shadow is for nothing else.
    let request =
        unsafe { reduction.begin(shadow, (&raw const *own).cast(), (&raw mut *all).cast()) };
    let Ok(request) = request else { return };
    let (site, function) = (checked.site, checked.function);
    let identity = comm.identity;
    let comm = comm.clone();
    let pending = Pending { identity, number, request, votes, site, function, comm };
    with(|all| all.push(pending));
}

/// Waits for what was started of an operation, for a while. `need`: of the process in the operation, which is blocking.
pub(crate) fn settle(identity: u64, number: u64, need: Need) {
    let most =
        if matches!(need, Need::Nothing | Need::Attendance { .. }) { NOT_NEEDED } else { NEEDED };
    wait(most, |pending| pending.identity == identity && pending.number == number);
    if with(|all| all.len()) >= MANY {
        let first = with(|all| all.first().map(|first| (first.identity, first.number)));
        wait(NEEDED, |pending| Some((pending.identity, pending.number)) == first);
    }
}

/// The same before a wait for requests, by what they need.
pub(crate) fn settle_all(needs: &[Need]) {
    let is_meant = |pending: &Pending| {
        let is = |need: &Need| {
            matches!(*need, Need::Collective { identity, number, .. }
            if identity == pending.identity && number == pending.number)
        };
        needs.iter().any(is)
    };
    if with(|all| all.iter().any(is_meant)) {
        wait(NEEDED, is_meant);
    }
}

/// The same of all that was started on a communicator. Is it complete?
pub(super) fn settle_comm(identity: u64) -> bool {
    wait(NEEDED, |pending| pending.identity == identity)
}

/// Waits until none of those that are meant is pending, for a while. `false` if one still is.
fn wait(most: Duration, is_meant: impl Fn(&Pending) -> bool) -> bool {
    let begin = Instant::now();
    loop {
        let is_left = look(&is_meant);
        if !is_left || begin.elapsed() > most {
            return !is_left;
        }
        // Another process may need this processor to get there.
        thread::yield_now();
        super::post::drain();
    }
}

/// Looks at those that are meant, and says what is found. Are any of them left?
fn look(is_meant: impl Fn(&Pending) -> bool) -> bool {
    let mut complete = Vec::new();
    let is_left = with(|all| {
        let mut at = 0;
        let mut is_left = false;
        while at < all.len() {
            match is_meant(&all[at]).then(|| all[at].request.test()) {
                Some(Ok(true)) => complete.push(all.remove(at)),
                // What MPI refuses, nobody can look at.
                Some(Err(_)) => std::mem::forget(all.remove(at)),
                Some(Ok(false)) => {
                    is_left = true;
                    at += 1;
                }
                None => at += 1,
            }
        }
        is_left
    });
    complete.iter().for_each(Pending::judge);
    is_left
}

/// Looks at what has been complete meanwhile, of the oldest ones.
fn look_at_old() {
    let oldest = with(|all| all.first().map(|first| (first.identity, first.number)));
    if oldest.is_some() {
        look(|pending| Some((pending.identity, pending.number)) == oldest);
    }
}

/// The program ends: what is complete now is looked at, and what will never be stays where MPI may write to it.
pub(super) fn end() {
    wait(Duration::from_millis(100), |_| true);
    with(|all| all.drain(..).for_each(std::mem::forget));
    let reduction = super::get()
        .and_then(|hosts| hosts.votes.write().unwrap_or_else(PoisonError::into_inner).take());
    if let Some(reduction) = reduction {
        reduction.free();
    }
}

impl Pending {
    /// Says what differs.
    fn judge(&self) {
        let Some(difference) = self.votes[1].difference() else { return };
        let Difference { what, by_rank, sides: [first, other], texts } = difference;
        // One finding of functions is enough: what comes on the communicator afterwards only repeats it.
        if collectives::is_broken(self.identity) {
            return;
        }
        if what == What::Functions {
            collectives::mark_broken(self.identity);
        }
        let (Some(theirs), Some(function)) = (first.function(), other.function()) else { return };
        // Who is in a block is not told where it was called.
        let (first_rank, place) = match by_rank {
            Some(rank) => (self.comm.world_rank(rank as i32).unwrap_or(rank), String::new()),
            None => (first.rank as u32, places::of_mark(first.mark())),
        };
        let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
        let [of_first, of_other] = texts;
        let message = format!(
            "{} of the same collective operation on {} differ: {of_other} in {function} on rank {}, {of_first} in {theirs} on rank {}{at}",
            what.name(),
            self.comm.describe(),
            other.rank,
            first_rank,
        );
        let text = places::of_mark(other.mark());
        let is_own = other.rank == u64::from(rank()) && function == self.function;
        let place = if is_own { Place::Here(self.site) } else { Place::Counted(&text) };
        let ranks = [first_rank, other.rank as u32];
        report_of(Class::CollectiveMismatch, function, place, what.name(), &message, None, &ranks);
    }
}
