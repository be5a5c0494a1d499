//! Wakes tasks after a while: one thread of the process, which calls no MPI, and which is there only while somebody waits.
//! One for both modes of the library.

use core::task::Waker;
use core::time::Duration;
use std::panic::{self, AssertUnwindSafe};
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
        // A waker may do anything when it is cloned, dropped or woken, so not under a lock.
        let old = lock(&self.0).waker.take();
        let new = match old {
            Some(old) if old.will_wake(waker) => old,
            old => {
                drop(old);
                waker.clone()
            }
        };
        {
            let mut state = lock(&self.0);
            // Only who sets it puts one in, and that is the future's thread.
            state.waker = Some(new);
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
        let waker = lock(&self.0).waker.take();
        drop(waker);
    }

    fn ring(&self) {
        let waker = {
            let mut state = lock(&self.0);
            state.queued = false;
            state.waker.take()
        };
        if let Some(waker) = waker {
            // One that panics, as the panic's message says, leaves the others their thread.
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                // Its drop may panic, too.
                core::mem::forget(payload);
            }
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

    /// A waker that panics when it is woken; and one that looks, when it is dropped, if its alarm is locked.
    struct Panics;
    struct Looks(Arc<Alarm>, Arc<Count>);

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker may do so");
        }
    }

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Looks {
        fn drop(&mut self) {
            self.1.0.fetch_add(usize::from(self.0.0.try_lock().is_ok()), SeqCst);
        }
    }

    #[test]
    fn wakers_may_panic_and_are_dropped_under_no_lock() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        for after in 1..3 {
            let (panics, well) = (Arc::new(Alarm::default()), Arc::new(Alarm::default()));
            panics.set(&Waker::from(Arc::new(Panics)), Duration::from_millis(1));
            well.set(&waker, Duration::from_millis(20));
            until(&count, after);
        }
        let unlocked = Arc::new(Count(AtomicUsize::new(0)));
        let alarm = Arc::new(Alarm::default());
        let looks = || Waker::from(Arc::new(Looks(Arc::clone(&alarm), Arc::clone(&unlocked))));
        alarm.set(&looks(), Duration::from_secs(60));
        alarm.set(&looks(), Duration::from_secs(60));
        alarm.forget();
        assert_eq!(unlocked.0.load(SeqCst), 2);
        // For the other test, whose thread ends when nobody waits.
        lock(&QUEUE).alarms.retain(|(_, other)| !Arc::ptr_eq(other, &alarm));
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
