//! Requests as futures, in executors written by hand: one task, many tasks, tasks that wait long and that are dropped. Right
//! on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use std::cell::Cell;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rmpi::{Communicator, ErrorClass, OwnedRequest, RmpiResult, Status, Tag};

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    block_on(ring(world))?;
    many(world)?;
    waits_long(world)?;
    dropped(world)?;
    ends(world)?;
    world.barrier()?;
    if world.rank()? == 0 {
        println!("futures: right on {} ranks", world.size()?);
    }
    context.finalize()
}

/// Unparks the thread that runs the executor.
struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// Polls one task whenever it was woken; `None` if the time is over.
fn block_on_for<F: Future>(mut task: Pin<&mut F>, time: Duration) -> Option<F::Output> {
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(true) });
    let waker = Waker::from(Arc::clone(&unpark));
    let start = Instant::now();
    while start.elapsed() < time {
        if unpark.woken.swap(false, Ordering::SeqCst) {
            if let Poll::Ready(done) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(done);
            }
        } else {
            thread::park_timeout(time.saturating_sub(start.elapsed()));
        }
    }
    None
}

fn block_on<T>(task: impl Future<Output = T>) -> T {
    block_on_for(pin!(task), Duration::from_secs(60)).expect("what is woken in a minute")
}

/// The ranks to the left and to the right.
fn neighbours(world: &Communicator<'_>) -> RmpiResult<(usize, usize)> {
    let (rank, size) = (world.rank()?, world.size()?);
    Ok(((rank + size - 1) % size, (rank + 1) % size))
}

/// Short and long messages, one after the other.
async fn ring(world: &Communicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(world)?;
    let rank = world.rank()?;
    for length in [1, 1000, 500_000] {
        let receive = world.process(left).irecv_owned(vec![0; length], Tag::new(1))?;
        let send = world.process(right).isend_owned(vec![rank; length], Tag::new(1))?;
        let (theirs, status) = receive.await?;
        assert_eq!(theirs, vec![left; length]);
        assert_eq!(status.source(), Some(left));
        assert_eq!(send.await?.0, vec![rank; length]);
    }
    Ok(())
}

/// A future of all of several, which polls each when any was woken.
struct All<'f, T>(Vec<Task<'f, T>>, Vec<T>);

/// `None` at its end.
type Task<'f, T> = Option<Pin<Box<dyn Future<Output = T> + 'f>>>;

/// What comes of a request of a vector.
type Done<T> = RmpiResult<(Vec<T>, Status)>;

impl<T: Unpin> Future for All<'_, T> {
    type Output = Vec<T>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<T>> {
        let Self(waiting, done) = &mut *self;
        for slot in &mut *waiting {
            if let Some(Poll::Ready(value)) = slot.as_mut().map(|task| task.as_mut().poll(context))
            {
                *slot = None;
                done.push(value);
            }
        }
        if waiting.iter().all(Option::is_none) {
            Poll::Ready(std::mem::take(done))
        } else {
            Poll::Pending
        }
    }
}

/// Many receives at once, whose messages come in another order.
fn many(world: &Communicator<'_>) -> RmpiResult {
    const COUNT: usize = 100;
    let (left, right) = neighbours(world)?;
    let mut tasks: Vec<Task<'_, Done<usize>>> = Vec::new();
    for number in 0..COUNT {
        let receive = world.process(left).irecv_owned(vec![0; 100], Tag::new(number as u32))?;
        tasks.push(Some(Box::pin(receive.into_future())));
    }
    for number in (0..COUNT).rev() {
        let send = world.process(right).isend_owned(vec![number; 100], Tag::new(number as u32))?;
        tasks.push(Some(Box::pin(send.into_future())));
    }
    let mut sums = 0;
    for done in block_on(All(tasks, Vec::new())) {
        sums += done?.0.iter().sum::<usize>();
    }
    assert_eq!(sums, 2 * 100 * (0..COUNT).sum::<usize>());
    Ok(())
}

/// A future that counts how often it is polled.
struct Counted<'n, F>(F, &'n Cell<u32>);

impl<F: Future + Unpin> Future for Counted<'_, F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.1.set(self.1.get() + 1);
        Pin::new(&mut self.0).poll(context)
    }
}

/// A message that comes late: the task sleeps meanwhile, also if several wait in it.
fn waits_long(world: &Communicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(world)?;
    let receive = |tag| world.process(left).irecv_owned(vec![0_u8; 10], Tag::new(tag));
    let polls = Cell::new(0);
    let mut one = pin!(Counted(receive(7)?.into_future(), &polls));
    let start = Instant::now();
    assert!(block_on_for(one.as_mut(), Duration::from_millis(300)).is_none());
    // Some at once, and one in a millisecond at most; fewer, where the machine is busy.
    assert!((2..500).contains(&polls.get()), "{} polls in {:?}", polls.get(), start.elapsed());
    world.barrier()?;
    let send = world.process(right).isend_owned(vec![5_u8; 10], Tag::new(7))?;
    assert_eq!(block_on(one)?.0, [5; 10]);
    send.wait()?;

    let polls = Cell::new(0);
    let mut tasks: Vec<Task<'_, Done<u8>>> = Vec::new();
    for tag in 0..20 {
        tasks.push(Some(Box::pin(Counted(receive(tag)?.into_future(), &polls))));
    }
    let mut all = pin!(All(tasks, Vec::new()));
    assert!(block_on_for(all.as_mut(), Duration::from_millis(300)).is_none());
    // Each may wake the task, which polls all: it does not grow without end.
    assert!(polls.get() < 20 * 20 * 500, "{} polls", polls.get());
    world.barrier()?;
    let sends: Vec<_> = (0..20)
        .map(|tag| world.process(right).isend_owned(vec![tag as u8; 10], Tag::new(tag)))
        .collect::<RmpiResult<_>>()?;
    let mut bytes: Vec<u8> = Vec::new();
    for done in block_on(all) {
        bytes.push(done?.0[9]);
    }
    bytes.sort_unstable();
    assert!(bytes.into_iter().eq(0..20));
    sends.into_iter().try_for_each(|send| send.wait().map(drop))
}

/// A receive whose future is dropped takes no message from the next one; one that is kept goes on.
fn dropped(world: &Communicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(world)?;
    let receive = || -> RmpiResult<OwnedRequest<'_, Vec<u8>>> {
        world.process(left).irecv_owned(vec![0_u8; 4], Tag::new(9))
    };
    // Never polled; polled a few times; asleep.
    drop(receive()?.into_future());
    for time in [1, 50] {
        let mut future = receive()?.into_future();
        assert!(block_on_for(Pin::new(&mut future), Duration::from_millis(time)).is_none());
    }
    let mut kept = receive()?.into_future();
    assert!(block_on_for(Pin::new(&mut kept), Duration::from_millis(20)).is_none());
    let kept = kept.into_request().expect("it has not ended");
    world.barrier()?;
    let sends =
        [1_u8, 2].map(|value| world.process(right).isend_owned(vec![value; 4], Tag::new(9)));
    assert_eq!(block_on(kept.into_future())?.0, [1; 4]);
    assert_eq!(block_on(receive()?.into_future())?.0, [2; 4]);
    for send in sends {
        send?.wait()?;
    }
    // Leaked, and MPI may still write there.
    let mut forgotten = receive()?.into_future();
    assert!(block_on_for(Pin::new(&mut forgotten), Duration::from_millis(5)).is_none());
    std::mem::forget(forgotten);
    // Nobody sends before all have looked.
    world.barrier()?;
    world.process(right).isend_owned(vec![3_u8; 4], Tag::new(9))?.wait()?;
    // A send that is dropped arrives.
    let send = world.process(right).isend_owned(vec![4_u8; 4], Tag::new(10))?.into_future();
    let received = world.process(left).irecv_owned(vec![0_u8; 4], Tag::new(10))?;
    drop(send);
    assert_eq!(block_on(received.into_future())?.0, [4; 4]);
    Ok(())
}

/// Errors come out of the future, and nothing after the end.
fn ends(world: &Communicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(world)?;
    let send = world.process(right).isend_owned(vec![1_u8; 100], Tag::new(11))?;
    let mut short = world.process(left).irecv_owned(vec![0_u8; 10], Tag::new(11))?.into_future();
    let error = block_on(&mut short).map(drop).unwrap_err();
    assert_eq!((error.class(), error.function()), (ErrorClass::TRUNCATE, Some("MPI_Test")));
    assert_eq!(block_on(&mut short).map(drop).unwrap_err().class(), ErrorClass::REQUEST);
    assert!(short.into_request().is_none());
    send.wait()?;
    Ok(())
}
