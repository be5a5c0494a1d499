//! Active messages that a thread of their own handles.

use core::marker::PhantomData;
use std::sync::mpsc;

use rmpi::{Communicator, MpiDatatype, Multiple};
use rmpi_actors::{Actor, Context, Domain, Handler, Selector, Settings};

use crate::{ActiveMessage, Error, Here};

/// A message whose answer is awaited under a number.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Call<A> {
    ticket: u64,
    message: A,
}

/// The answer to the message of a number.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Answer<R> {
    ticket: u64,
    value: R,
}

/// A message without an answer.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Post<A>(A);

/// What the program asks its thread for.
enum Request<A, R> {
    Call {
        to: usize,
        message: A,
        answer: mpsc::Sender<R>,
    },
    Post {
        to: usize,
        message: A,
    },
    /// The function has returned: nothing comes any more, though a clone of the `Remote` may be left.
    End,
}

/// By what the program sends active messages that a thread handles: see [`serve`].
#[derive(Debug)]
pub struct Remote<S: ?Sized, A: ActiveMessage<S>> {
    requests: mpsc::Sender<Request<A, A::Answer>>,
    rank: usize,
    size: usize,
    _state: PhantomData<fn(&S)>,
}

/// An answer that is on its way.
#[derive(Debug)]
pub struct Pending<R>(mpsc::Receiver<R>);

impl<R> Pending<R> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// [`Error::Ended`] if the thread has ended before; [`serve`] says why.
    pub fn wait(self) -> Result<R, Error> {
        self.0.recv().map_err(|_| Error::Ended)
    }

    /// The answer, if it is there.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn test(&self) -> Result<Option<R>, Error> {
        match self.0.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(mpsc::TryRecvError::Empty) => Ok(None),
            Err(mpsc::TryRecvError::Disconnected) => Err(Error::Ended),
        }
    }
}

impl<S: ?Sized, A: ActiveMessage<S>> Clone for Remote<S, A> {
    fn clone(&self) -> Self {
        let (rank, size) = (self.rank, self.size);
        Self { requests: self.requests.clone(), rank, size, _state: PhantomData }
    }
}

impl<S: ?Sized, A: ActiveMessage<S>> Remote<S, A> {
    /// This process's rank.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes there are.
    pub const fn size(&self) -> usize {
        self.size
    }

    fn request(&self, to: usize, request: Request<A, A::Answer>) -> Result<(), Error> {
        if to >= self.size {
            let processes = self.size;
            return Err(rmpi_actors::Error::NoSuchProcess { rank: to, processes }.into());
        }
        self.requests.send(request).map_err(|_| Error::Ended)
    }

    /// Runs an active message on a process, which may be this one. Returns at once; the answer comes later.
    ///
    /// # Errors
    /// [`NoSuchProcess`](rmpi_actors::Error::NoSuchProcess), and [`Error::Ended`] if the thread has ended: [`serve`]
    /// says why.
    pub fn call(&self, to: usize, message: A) -> Result<Pending<A::Answer>, Error> {
        let (answer, pending) = mpsc::channel();
        self.request(to, Request::Call { to, message, answer })?;
        Ok(Pending(pending))
    }

    /// Runs an active message on a process, without an answer. Returns at once.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn post(&self, to: usize, message: A) -> Result<(), Error> {
        self.request(to, Request::Post { to, message })
    }
}

/// The state of the thread.
struct Server<S, A: ActiveMessage<S>> {
    state: S,
    /// Who waits for the answer of a ticket.
    waiting: Vec<Option<mpsc::Sender<A::Answer>>>,
    free: Vec<usize>,
}

impl<S, A: ActiveMessage<S>> Server<S, A> {
    fn ticket(&mut self, answer: mpsc::Sender<A::Answer>) -> u64 {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.waiting.push(None);
            self.waiting.len() - 1
        });
        self.waiting[ticket] = Some(answer);
        ticket as u64
    }
}

impl<S, A: ActiveMessage<S>> Actor for Server<S, A> {
    type Mailboxes = (Call<A>, Post<A>, Answer<A::Answer>);
    type Error = rmpi_actors::Error;
}

fn here<X: Actor>(context: &Context<'_, '_, X>) -> Here {
    Here { sender: context.sender(), rank: context.rank(), size: context.size() }
}

impl<S, A: ActiveMessage<S>> Handler<Call<A>> for Server<S, A> {
    fn handle(
        &mut self,
        call: Call<A>,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), rmpi_actors::Error> {
        let value = call.message.run(&mut self.state, here(context));
        context.send(context.sender(), Answer { ticket: call.ticket, value })
    }
}

impl<S, A: ActiveMessage<S>> Handler<Post<A>> for Server<S, A> {
    fn handle(
        &mut self,
        post: Post<A>,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), rmpi_actors::Error> {
        post.0.run(&mut self.state, here(context));
        Ok(())
    }
}

impl<S, A: ActiveMessage<S>> Handler<Answer<A::Answer>> for Server<S, A> {
    fn handle(
        &mut self,
        answer: Answer<A::Answer>,
        _: &mut Context<'_, '_, Self>,
    ) -> Result<(), rmpi_actors::Error> {
        let ticket = answer.ticket as usize;
        if let Some(waiting) = self.waiting[ticket].take() {
            self.free.push(ticket);
            // Who does not want it any more has dropped the other end.
            let _ = waiting.send(answer.value);
        }
        Ok(())
    }
}

/// Runs a function, and meanwhile active messages of all processes on a state of this one, in a thread of its own:
/// messages are handled while the function computes, or waits for something else. The function sends by its
/// [`Remote`], which its own threads can have clones of. When it has returned on all processes, and all messages have
/// been handled, `serve` returns the state and what the function has returned. Collective. C: `MPI_Comm_dup`, and
/// what [actors](rmpi_actors) call.
///
/// A `Remote` that is left returns [`Error::Ended`] from then on. If the function panics, the panic goes on when all
/// processes have come so far.
///
/// The state belongs to the thread: no lock is needed, and the function reaches its own state by messages, too. MPI
/// runs at [`Multiple`], which the type of the communicator says. The thread looks for messages all the time, and so
/// takes a processor.
///
/// ```no_run
/// use rmpi::{MpiDatatype, Multiple};
/// use rmpi_pgas::{ActiveMessage, Error, Here, serve};
///
/// /// Adds to a process's number, and says what it is then.
/// #[derive(Clone, Copy, Default, MpiDatatype)]
/// struct Add(u64);
///
/// impl ActiveMessage<u64> for Add {
///     type Answer = u64;
///     fn run(self, number: &mut u64, _: Here) -> u64 {
///         *number += self.0;
///         *number
///     }
/// }
///
/// fn main() -> Result<(), Error> {
///     let context = rmpi::init_thread(Multiple)?;
///     let (number, now) = serve(context.world(), 0, Default::default(), |remote| {
///         let pending = remote.call((remote.rank() + 1) % remote.size(), Add(5))?;
///         // Compute something else here.
///         pending.wait()
///     })?;
///     println!("{number}, {}", now?);
///     Ok(())
/// }
/// ```
///
/// # Errors
/// What MPI says.
pub fn serve<S, A, R>(
    communicator: &Communicator<'_, Multiple>,
    state: S,
    settings: Settings,
    function: impl FnOnce(Remote<S, A>) -> R,
) -> Result<(S, R), Error>
where
    S: Send,
    A: ActiveMessage<S> + Send,
    A::Answer: Send,
{
    let (rank, size) = (communicator.rank()?, communicator.size()?);
    let (sender, requests) = mpsc::channel();
    let (ready, is_ready) = mpsc::channel();
    std::thread::scope(|threads| {
        let server = threads.spawn(move || -> Result<S, rmpi_actors::Error> {
            let domain = Domain::new(communicator)?;
            let server = Server { state, waiting: Vec::new(), free: Vec::new() };
            let mut selector = Selector::new(&domain, server, settings)?;
            // From here on, the communicator is the program's.
            let _ = ready.send(());
            selector.finish(|scope| {
                loop {
                    // Not all at once: the others' messages are handled, too.
                    for _ in 0..REQUESTS {
                        match requests.try_recv() {
                            Ok(Request::Call { to, message, answer }) => {
                                let ticket = scope.state_mut().ticket(answer);
                                scope.send(to, Call { ticket, message })?;
                            }
                            Ok(Request::Post { to, message }) => scope.send(to, Post(message))?,
                            Err(mpsc::TryRecvError::Empty) => break,
                            Ok(Request::End) | Err(mpsc::TryRecvError::Disconnected) => {
                                return Ok(());
                            }
                        }
                    }
                    scope.advance()?;
                }
            })?;
            Ok(selector.into_state().state)
        });
        // If there is an error, the thread ends, and says it below.
        let _ = is_ready.recv();
        let end = sender.clone();
        let result = function(Remote { requests: sender, rank, size, _state: PhantomData });
        let _ = end.send(Request::End);
        match server.join() {
            Ok(state) => Ok((state?, result)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// How many requests a thread takes before it looks for messages.
const REQUESTS: usize = 256;
