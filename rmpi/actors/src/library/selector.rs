//! A selector: state, mailboxes, and scopes that end when all messages have been handled.

use super::dispatch::Lanes as _;
use super::rest::Rest;
use super::task::Tasks;
use super::{Actor, Domain, Error, Mailboxes, Scope};
use crate::Settings;

/// An actor with several mailboxes on each process of a [`Domain`].
///
/// It owns the state, or a state that borrows. While the main program has the state, no handler can run:
///
/// ```compile_fail,E0499
/// # use rmpi_actors::{Actor, Context, Error, Handler, Selector};
/// # struct Sum { total: u64 }
/// # impl Actor for Sum { type Mailboxes = (u64,); type Error = Error; }
/// # impl Handler<u64> for Sum {
/// #     fn handle(&mut self, m: u64, _: &mut Context<'_, '_, Self>) -> Result<(), Error> { Ok(()) }
/// # }
/// fn example(selector: &mut Selector<'_, Sum>) -> Result<(), Error> {
///     selector.finish(|scope| {
///         let total = &mut scope.state_mut().total;
///         scope.send(0, 1_u64)?;
///         *total += 1;
///         Ok(())
///     })
/// }
/// ```
pub struct Selector<'c, S: Actor> {
    pub(super) state: S,
    pub(super) lanes: <S::Mailboxes as Mailboxes<S>>::Lanes<'c>,
    pub(super) tasks: Tasks<'c, S>,
    pub(super) domain: &'c Domain<'c>,
    /// The first error of this process's handlers in the scope.
    pub(super) failed: Option<S::Error>,
    /// How often in a row nothing could be done, since too much waits to be sent.
    stuck: u32,
    pub(super) rest: Rest,
}

impl<S: Actor + core::fmt::Debug> core::fmt::Debug for Selector<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Selector").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<'c, S: Actor> Selector<'c, S> {
    /// A selector with its state on this process. Collective: all processes make their selectors in one order, with
    /// the same types and settings.
    ///
    /// # Errors
    /// [`Error::Settings`], and what MPI says.
    pub fn new(domain: &'c Domain<'c>, state: S, settings: Settings) -> Result<Self, Error> {
        let lanes = S::Mailboxes::lanes(domain, &settings)?;
        Ok(Self {
            state,
            lanes,
            tasks: Tasks::new(),
            domain,
            failed: None,
            stuck: 0,
            rest: Rest::default(),
        })
    }

    /// The state.
    pub const fn state(&self) -> &S {
        &self.state
    }

    /// The state, to change.
    pub const fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }

    /// The state, without the selector. Collective with the others' drop.
    pub fn into_state(self) -> S {
        self.state
    }

    /// Runs a function that sends, and returns when all messages have been handled on all processes: those of the
    /// function, and those that handlers sent. Collective.
    ///
    /// # Errors
    /// The function's error, or else the first error of a handler on this process, or else
    /// [`Error::Elsewhere`] if other processes had one, or else [`Error::Stuck`]. The messages have been handled all the same. If MPI says an
    /// error, they may not have been.
    pub fn finish<R>(
        &mut self,
        body: impl FnOnce(&mut Scope<'_, 'c, S>) -> Result<R, S::Error>,
    ) -> Result<R, S::Error> {
        let opened = self.lanes.open(u8::MAX);
        // What those of a scope around this one wait for may come after it.
        let outer = self.tasks.set_aside();
        let result = body(&mut Scope::new(self));
        let [failures, stuck] = self.terminate(result.is_err())?;
        self.tasks.give_up();
        self.tasks.take_back(outer);
        self.lanes.open(opened);
        let handlers = self.failed.take();
        match (result, handlers) {
            (Err(error), _) | (Ok(_), Some(error)) => Err(error),
            (Ok(_), None) if failures > 0 => Err(Error::Elsewhere { processes: failures }.into()),
            (Ok(_), None) if stuck > 0 => Err(Error::Stuck { tasks: stuck }.into()),
            (Ok(value), None) => Ok(value),
        }
    }

    /// Handles what has come. Returns whether there was anything.
    pub(super) fn poll(&mut self) -> Result<bool, Error> {
        // Handlers could send more than others take: first what waits has to leave. If nothing leaves, everybody
        // may be waiting like this, and handling a batch frees a buffer for what others send.
        if !self.lanes.send_waiting()? && self.lanes.is_overfull() {
            self.stuck += 1;
            if !self.stuck.is_multiple_of(PATIENCE) {
                return Ok(false);
            }
        }
        let Self { state, lanes, tasks, domain, failed, .. } = self;
        let has_handled = S::Mailboxes::poll(state, lanes, tasks, domain, failed)?;
        Ok(tasks.run(state, lanes, domain, failed) || has_handled)
    }

    /// Handles what has come, or else sends what is collected. Returns whether it did anything.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        let is_busy = self.poll()? || self.lanes.flush()?;
        self.rest.after(is_busy);
        Ok(is_busy)
    }
}

/// How often nothing leaves before a batch is handled all the same.
const PATIENCE: u32 = 64;
