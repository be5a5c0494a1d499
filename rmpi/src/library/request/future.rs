//! Requests as futures.

use core::future::{Future, IntoFuture};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::status::Status;
use super::{OwnedRequest, Test};
use crate::timer::Alarm;

/// How many polls wake their task at once, which lets other tasks run in between: most messages are there by then.
const AT_ONCE: u32 = 32;
/// How long a task sleeps after that, the first time.
const SHORTEST: Duration = Duration::from_micros(20);
/// And in the end.
const LONGEST: Duration = Duration::from_millis(1);

/// An [`OwnedRequest`] as a future of its buffer and its status, for any executor; `request.await` makes one.
///
/// A poll asks MPI (`MPI_Test`), which is also what moves the message on. MPI wakes nobody, so the first 32 polls have their
/// task polled again at once, and later ones after 20 µs, then longer each time, to 1 ms: a thread of rmpi's does that, which
/// calls no MPI. A message that takes long is so found up to 1 ms late, and its task costs a thousand polls a second.
/// The future stays on its thread, as the request does: it is for executors that run tasks on one thread (`block_on`,
/// `LocalSet`, `LocalPool`).
///
/// Dropped before its end, it is cancelled (`MPI_Cancel`) and waited for: a receive that has no message yet ends, and the next
/// one gets the message. A message that has come is lost with the buffer, and a send is waited for, since MPI does not cancel
/// it. [`into_request`](Self::into_request) keeps both; so does a `&mut` future in what chooses among several.
/// Forgotten, or dropped by a panic, it leaks the buffer.
///
/// ```no_run
/// # async fn example(left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// use rmpi::Tag;
/// let receive = left.irecv_owned(vec![0.0; 100], Tag::new(0))?;
/// let send = right.isend_owned(vec![1.0; 100], Tag::new(0))?;
/// let (theirs, status) = receive.await?;
/// let (mine, _) = send.await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "it does nothing until it is polled, and is cancelled when it is dropped"]
pub struct RequestFuture<'c, B> {
    /// `None` at the end.
    request: Option<OwnedRequest<'c, B>>,
    polls: u32,
    delay: Duration,
    alarm: Option<Arc<Alarm>>,
}

// What it points to stays where it is when it moves, as with the request.
impl<B> Unpin for RequestFuture<'_, B> {}

impl<'c, B> IntoFuture for OwnedRequest<'c, B> {
    type Output = RmpiResult<(B, Status)>;
    type IntoFuture = RequestFuture<'c, B>;

    fn into_future(self) -> RequestFuture<'c, B> {
        RequestFuture { request: Some(self), polls: 0, delay: SHORTEST, alarm: None }
    }
}

impl<'c, B> RequestFuture<'c, B> {
    /// The request, as it was before it became a future; `None` if it has ended.
    pub fn into_request(mut self) -> Option<OwnedRequest<'c, B>> {
        self.request.take()
    }
}

impl<B> Future for RequestFuture<'_, B> {
    /// The buffer and the status, or an error as of [`OwnedRequest::test`]; of class
    /// [`REQUEST`](ErrorClass::REQUEST) after the end.
    type Output = RmpiResult<(B, Status)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(request) = this.request.take() else {
            return Poll::Ready(Err(Error::refused(
                ErrorClass::REQUEST,
                "the future has ended before",
            )));
        };
        match request.test() {
            Ok(Test::Pending(request)) => this.request = Some(request),
            Ok(Test::Complete(done)) => return Poll::Ready(Ok(done)),
            Err(error) => return Poll::Ready(Err(error)),
        }
        if this.polls < AT_ONCE {
            this.polls += 1;
            context.waker().wake_by_ref();
        } else {
            this.alarm.get_or_insert_default().set(context.waker(), this.delay);
            this.delay = (this.delay * 3 / 2).min(LONGEST);
        }
        Poll::Pending
    }
}

impl<B> Drop for RequestFuture<'_, B> {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.forget();
        }
        if let Some(request) = &mut self.request
            && !std::thread::panicking()
        {
            // If that fails, it is waited for.
            let _ = request.cancel();
        }
    }
}
