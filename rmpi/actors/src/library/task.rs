//! Tasks: what this process is to do in a scope, beside the messages.

use core::panic::AssertUnwindSafe;
use std::collections::VecDeque;
use std::panic::catch_unwind;

use super::failure;
use super::{Actor, Context, Domain, Mailboxes, Scope};

/// What runs once, as a handler does.
type Task<'c, S> =
    Box<dyn FnOnce(&mut S, &mut Context<'_, 'c, S>) -> Result<(), <S as Actor>::Error> + 'c>;

/// Says when a task can run.
type Condition<'c, S> = Box<dyn FnMut(&S) -> bool + 'c>;

/// The tasks of a selector on this process.
#[doc(hidden)]
pub struct Tasks<'c, S: Actor> {
    ready: VecDeque<Task<'c, S>>,
    waiting: Vec<(Condition<'c, S>, Task<'c, S>)>,
}

/// Tasks of a scope that wait, while one inside of it runs.
pub(super) struct Aside<'c, S: Actor>(Vec<(Condition<'c, S>, Task<'c, S>)>);

impl<S: Actor> core::fmt::Debug for Tasks<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (ready, waiting) = (self.ready.len(), self.waiting.len());
        f.debug_struct("Tasks").field("ready", &ready).field("waiting", &waiting).finish()
    }
}

impl<'c, S: Actor> Tasks<'c, S> {
    pub(super) const fn new() -> Self {
        Self { ready: VecDeque::new(), waiting: Vec::new() }
    }

    /// How many wait for something that has not happened.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Drops those that wait for what will not happen any more.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn set_aside(&mut self) -> Aside<'c, S> {
        Aside(core::mem::take(&mut self.waiting))
    }

    pub(super) fn take_back(&mut self, aside: Aside<'c, S>) {
        self.waiting = aside.0;
    }

    /// Runs the tasks that can run now, and returns whether there were any.
    #[inline]
    pub(super) fn run(
        &mut self,
        state: &mut S,
        lanes: &mut <S::Mailboxes as Mailboxes<S>>::Lanes<'c>,
        domain: &Domain<'_>,
        failed: &mut Option<S::Error>,
    ) -> bool {
        if self.ready.is_empty() && self.waiting.is_empty() {
            return false;
        }
        self.run_some(state, lanes, domain, failed)
    }

    #[cold]
    fn run_some(
        &mut self,
        state: &mut S,
        lanes: &mut <S::Mailboxes as Mailboxes<S>>::Lanes<'c>,
        domain: &Domain<'_>,
        failed: &mut Option<S::Error>,
    ) -> bool {
        let (rank, size) = (domain.rank(), domain.size());
        let result = catch_unwind(AssertUnwindSafe(|| {
            for (mut condition, task) in core::mem::take(&mut self.waiting) {
                if condition(state) {
                    self.ready.push_back(task);
                } else {
                    self.waiting.push((condition, task));
                }
            }
            // Those that these make have their turn later, after messages.
            let now = self.ready.len();
            for _ in 0..now {
                let Some(task) = self.ready.pop_front() else { break };
                let mut context = Context { lanes, tasks: self, from: rank, rank, size };
                if let Err(error) = task(state, &mut context) {
                    failed.get_or_insert(error);
                }
            }
            now > 0
        }));
        match result {
            Ok(has_run) => has_run,
            Err(panic) => failure::end(domain, "task", rank, &*panic),
        }
    }

    fn spawn(
        &mut self,
        task: impl FnOnce(&mut S, &mut Context<'_, 'c, S>) -> Result<(), S::Error> + 'c,
    ) {
        self.ready.push_back(Box::new(task));
    }

    fn spawn_when(
        &mut self,
        condition: impl FnMut(&S) -> bool + 'c,
        task: impl FnOnce(&mut S, &mut Context<'_, 'c, S>) -> Result<(), S::Error> + 'c,
    ) {
        self.waiting.push((Box::new(condition), Box::new(task)));
    }
}

macro_rules! spawns {
    ($([$($generics:tt)*] $type:ty, $self:ident => $tasks:expr;)*) => {$(
        impl<$($generics)*> $type {
            /// Runs a function on this process later in this scope, between messages, as a handler runs: it gets
            /// the state, and may send and spawn. The scope waits for it. Nothing travels.
            ///
            /// ```no_run
            /// # use rmpi_actors::{Actor, Context, Error, Handler, Selector};
            /// # struct Sum { total: u64 }
            /// # impl Actor for Sum { type Mailboxes = (u64,); type Error = Error; }
            /// # impl Handler<u64> for Sum {
            /// #     fn handle(&mut self, m: u64, _: &mut Context<'_, '_, Self>) -> Result<(), Error> { Ok(()) }
            /// # }
            /// # fn example(selector: &mut Selector<'_, Sum>) -> Result<(), Error> {
            /// selector.finish(|scope| {
            ///     scope.spawn(|sum, context| {
            ///         sum.total += 1;
            ///         context.send(0, 5_u64)
            ///     });
            ///     Ok(())
            /// })
            /// # }
            /// ```
            ///
            /// It may borrow what lives longer than the selector. Its error is one of a handler, and a panic ends
            /// the job.
            pub fn spawn(
                &mut self,
                task: impl FnOnce(&mut S, &mut Context<'_, 'c, S>) -> Result<(), S::Error> + 'c,
            ) {
                let $self = self;
                $tasks.spawn(task);
            }

            /// As [`spawn`](Self::spawn), as soon as a condition of the state is true: when an answer has come, or
            /// another task has run. The condition is asked whenever messages have been handled. If it can never
            /// become true, since no message and no task is left anywhere, the task does not run, and the scope
            /// ends with [`Error::Stuck`](super::Error::Stuck) on all processes.
            ///
            /// ```no_run
            /// # use rmpi_actors::{Actor, Context, Error, Handler, Selector};
            /// # struct Sum { total: u64 }
            /// # impl Actor for Sum { type Mailboxes = (u64,); type Error = Error; }
            /// # impl Handler<u64> for Sum {
            /// #     fn handle(&mut self, m: u64, _: &mut Context<'_, '_, Self>) -> Result<(), Error> { Ok(()) }
            /// # }
            /// # fn example(selector: &mut Selector<'_, Sum>) -> Result<(), Error> {
            /// selector.finish(|scope| {
            ///     let everybody = scope.size() as u64;
            ///     scope.spawn_when(
            ///         move |sum| sum.total == everybody,
            ///         |sum, _| {
            ///             println!("all have sent");
            ///             Ok(())
            ///         },
            ///     );
            ///     (0..scope.size()).try_for_each(|to| scope.send(to, 1_u64))
            /// })
            /// # }
            /// ```
            pub fn spawn_when(
                &mut self,
                condition: impl FnMut(&S) -> bool + 'c,
                task: impl FnOnce(&mut S, &mut Context<'_, 'c, S>) -> Result<(), S::Error> + 'c,
            ) {
                let $self = self;
                $tasks.spawn_when(condition, task);
            }
        }
    )*};
}

spawns! {
    ['c, S: Actor] Context<'_, 'c, S>, it => it.tasks;
    ['c, S: Actor] Scope<'_, 'c, S>, it => it.selector.tasks;
}
