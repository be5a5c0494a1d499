//! Processes that have arrays together.

use core::cell::{Cell, RefCell};

use rmpi::{Communicator, MpiOp};
use rmpi_actors::{Domain, Settings};

use crate::Error;
use crate::darc::Registry;

/// Some processes: those of a communicator, or a part of another team.
#[derive(Debug)]
pub struct Team<'ctx> {
    domain: Domain<'ctx>,
    settings: Cell<Settings>,
    pub(crate) darcs: RefCell<Registry>,
}

impl<'ctx> Team<'ctx> {
    /// The team of a communicator's processes. Collective. C: `MPI_Comm_dup`.
    ///
    /// # Errors
    /// What MPI says.
    pub fn new(communicator: &Communicator<'ctx>) -> Result<Self, Error> {
        let domain = Domain::new(communicator)?;
        Ok(Self { domain, settings: Cell::default(), darcs: RefCell::default() })
    }

    /// Teams of the processes that say the same color, ordered by key and rank; none for a process that says none.
    /// Collective. C: `MPI_Comm_split`.
    ///
    /// # Errors
    /// What MPI says.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Team<'_>>, Error> {
        let part = self.domain.communicator().split(color, key)?;
        Ok(match part {
            Some(part) => {
                let team = Team::new(&part)?;
                team.settings.set(self.settings.get());
                Some(team)
            }
            None => None,
        })
    }

    /// How much of a batch travels together. The same on all processes.
    pub fn set_settings(&self, settings: Settings) {
        self.settings.set(settings);
    }

    /// This process's rank in the team.
    pub const fn rank(&self) -> usize {
        self.domain.rank()
    }

    /// How many processes the team has.
    pub const fn size(&self) -> usize {
        self.domain.size()
    }

    /// Waits for all processes of the team. C: `MPI_Barrier`.
    ///
    /// # Errors
    /// What MPI says.
    pub fn barrier(&self) -> Result<(), Error> {
        Ok(self.domain.communicator().barrier()?)
    }

    pub(crate) const fn domain(&self) -> &Domain<'ctx> {
        &self.domain
    }

    pub(crate) const fn settings(&self) -> Settings {
        self.settings.get()
    }

    /// Is a number the same everywhere? Collective.
    pub(crate) fn agree(&self, what: &'static str, number: u64) -> Result<(), Error> {
        let mut extremes = [0; 2];
        let communicator = self.domain.communicator();
        communicator.allreduce(&[number, !number][..], &mut extremes[..], MpiOp::MAX)?;
        if extremes[0] == !extremes[1] { Ok(()) } else { Err(Error::Differs(what)) }
    }

    /// Has a process an error? Then all return one, so that none waits for the others. Collective.
    pub(crate) fn all_right(&self, mine: Result<(), Error>) -> Result<(), Error> {
        let mut wrong = 0;
        let communicator = self.domain.communicator();
        communicator.allreduce(&u64::from(mine.is_err()), &mut wrong, MpiOp::SUM)?;
        mine?;
        if wrong == 0 {
            Ok(())
        } else {
            Err(rmpi_actors::Error::Elsewhere { processes: wrong }.into())
        }
    }
}
