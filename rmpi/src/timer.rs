//! Wakes tasks after a while: one thread of the process, which calls no MPI, and which is there only while somebody waits.
//! One for both modes of the library.

use core::task::Waker;
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// A task that waits to be woken, at most once at a time, however often it asks.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whom to wake.
    waker: Option<Waker>,
    /// Is it in the queue?
    queued: bool,
}

struct Queue {
    alarms: Vec<(Instant, Arc<Alarm>)>,
    runs: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { alarms: Vec::new(), runs: false });
static CHANGED: Condvar = Condvar::new();

/// How long the thread stays when nobody waits.
const IDLE: Duration = Duration::from_secs(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Alarm {
    /// Wakes the task after a while, or a little later; if it waits already, then when it was to be woken. Where there can be
    /// no thread, at once.
    pub(crate) fn set(self: &Arc<Self>, waker: &Waker, delay: Duration) {
        {
            let mut state = lock(&self.0);
            if !state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
                state.waker = Some(waker.clone());
            }
            if core::mem::replace(&mut state.queued, true) {
                return;
            }
        }
        let mut queue = lock(&QUEUE);
        queue.alarms.push((Instant::now() + delay, Arc::clone(self)));
        if !queue.runs {
            let started = thread::Builder::new().name("rmpi timer".to_owned()).spawn(run);
            queue.runs = started.is_ok();
            if !queue.runs {
                let alarms = core::mem::take(&mut queue.alarms);
                drop(queue);
                alarms.iter().for_each(|(_, alarm)| alarm.ring());
                return;
            }
        }
        drop(queue);
        CHANGED.notify_one();
    }

    /// Wakes nobody any more.
    pub(crate) fn forget(&self) {
        lock(&self.0).waker = None;
    }

    fn ring(&self) {
        // A waker may do anything, so not under the lock.
        let waker = {
            let mut state = lock(&self.0);
            state.queued = false;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The thread.
fn run() {
    let mut queue = lock(&QUEUE);
    loop {
        let now = Instant::now();
        let due: Vec<_> = queue.alarms.extract_if(.., |(due, _)| *due <= now).collect();
        if !due.is_empty() {
            drop(queue);
            due.iter().for_each(|(_, alarm)| alarm.ring());
            queue = lock(&QUEUE);
            continue;
        }
        let next = queue.alarms.iter().map(|(due, _)| *due).min();
        let wait = next.map_or(IDLE, |next| next.duration_since(now));
        let (guard, timeout) =
            CHANGED.wait_timeout(queue, wait).unwrap_or_else(PoisonError::into_inner);
        queue = guard;
        if queue.alarms.is_empty() && next.is_none() && timeout.timed_out() {
            queue.runs = false;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::Wake;

    use super::*;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    fn until(count: &Count, least: usize) {
        let start = Instant::now();
        while count.0.load(SeqCst) < least {
            assert!(start.elapsed() < Duration::from_secs(20), "nobody wakes");
            thread::yield_now();
        }
    }

    #[test]
    fn each_alarm_wakes_once_and_not_early() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let alarms: Vec<_> = (0..10).map(|_| Arc::new(Alarm::default())).collect();
        let start = Instant::now();
        for alarm in alarms.iter().chain(&alarms) {
            alarm.set(&waker, Duration::from_millis(200));
        }
        until(&count, 10);
        assert!(start.elapsed() >= Duration::from_millis(200));
        thread::sleep(Duration::from_millis(300));
        assert_eq!(count.0.load(SeqCst), 10, "an alarm that was set twice wakes once");
        alarms[0].set(&waker, Duration::from_millis(1));
        until(&count, 11);
        alarms[1].set(&waker, Duration::from_secs(1));
        alarms[1].forget();
        // The thread ends, and comes again.
        let start = Instant::now();
        while lock(&QUEUE).runs {
            assert!(start.elapsed() < Duration::from_secs(20), "the thread does not end");
            thread::sleep(Duration::from_millis(10));
        }
        assert!(start.elapsed() > IDLE);
        alarms[2].set(&waker, Duration::ZERO);
        until(&count, 12);
        assert_eq!(count.0.load(SeqCst), 12, "one that was forgotten wakes nobody");
    }
}
