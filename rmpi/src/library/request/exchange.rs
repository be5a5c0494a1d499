//! Sends and receives in one set of requests.

use super::super::sys::MPI_Request;
use super::set::{Pending, sealed};

/// A send or a receive: of requests, in one [`RequestSlice`](super::RequestSlice), and of the buffers that it gives back.
///
/// ```no_run
/// # fn example(left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// use rmpi::{Exchange, RequestSlice, RmpiResult, Tag};
/// let mine = [1.0; 100];
/// let mut theirs = [[0.0; 100]; 2];
/// let [from_left, from_right] = &mut theirs;
/// rmpi::scope(|scope| -> RmpiResult {
///     let mut requests = [
///         Some(Exchange::Outgoing(left.isend(scope, &mine, Tag::new(0))?)),
///         Some(Exchange::Outgoing(right.isend(scope, &mine, Tag::new(1))?)),
///         Some(Exchange::Incoming(left.irecv(scope, from_left, Tag::new(1))?)),
///         Some(Exchange::Incoming(right.irecv(scope, from_right, Tag::new(0))?)),
///     ];
///     while let Some(done) = RequestSlice::new(&mut requests).waitany()? {
///         match done.buffer {
///             Exchange::Outgoing(_) => println!("{} is sent", done.index),
///             Exchange::Incoming(numbers) => println!("{} has come: {numbers:?}", done.index),
///         }
///     }
///     Ok(())
/// })
/// # }
/// ```
///
/// Requests of more types of buffers go in one by an `Exchange` of an `Exchange`. Those whose buffers moved in are
/// often of one type, such as `OwnedRequest<'_, Vec<f64>>`, whether they send or receive, and need none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange<S, R> {
    /// What is sent.
    Outgoing(S),
    /// What is received.
    Incoming(R),
}

impl<S, R> Exchange<S, R> {
    /// What was sent, if it is that.
    pub fn outgoing(self) -> Option<S> {
        match self {
            Self::Outgoing(sent) => Some(sent),
            Self::Incoming(_) => None,
        }
    }

    /// What was received, if it is that.
    ///
    /// ```no_run
    /// # fn example<'b>(requests: &'b mut [Option<rmpi::Exchange<rmpi::Request<'b, &'b [f64]>, rmpi::Request<'b, &'b mut [f64]>>>])
    /// # -> rmpi::RmpiResult {
    /// for done in rmpi::RequestSlice::new(requests).waitall_status()? {
    ///     if let Some(numbers) = done.buffer.incoming() {
    ///         println!("{numbers:?} of {:?}", done.status.source());
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn incoming(self) -> Option<R> {
        match self {
            Self::Outgoing(_) => None,
            Self::Incoming(received) => Some(received),
        }
    }
}

impl<S: Pending, R: Pending> Pending for Exchange<S, R> {}
impl<S: Pending, R: Pending> sealed::Pending for Exchange<S, R> {
    type Buffer = Exchange<S::Buffer, R::Buffer>;
    #[inline]
    fn handle(&self) -> MPI_Request {
        match self {
            Self::Outgoing(request) => request.handle(),
            Self::Incoming(request) => request.handle(),
        }
    }
    #[inline]
    fn keep(&mut self, raw: MPI_Request) {
        match self {
            Self::Outgoing(request) => request.keep(raw),
            Self::Incoming(request) => request.keep(raw),
        }
    }
    #[inline]
    fn ended(self) -> Self::Buffer {
        match self {
            Self::Outgoing(request) => Exchange::Outgoing(request.ended()),
            Self::Incoming(request) => Exchange::Incoming(request.ended()),
        }
    }
}
