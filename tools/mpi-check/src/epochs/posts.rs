//! Epochs that are started with some, posted for some, and wait for each other.

use mpi_tool_layer::FunctionId;
use mpi_tool_layer::mpi_sys::c_int;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Common, Window, window_of, with};
use crate::accesses::{self, Collective};
use crate::arguments::Checked;
use crate::exposures::{self, What};
use crate::groups;
use crate::knowledge;
use crate::shared::{limit, shared};
use crate::waits::Need;

/// The ranks in a window of the processes of a call's group; `None` if nobody knows.
fn members(checked: &Checked<'_>, window: u64) -> Option<Vec<u32>> {
    let named = groups::world_ranks(checked.call)?;
    let comm = with(window, |window| window.common.as_ref().map(|common| common.comm.clone()))?;
    let rank_of = |it: u32| comm.world_rank(c_int::try_from(it).ok()?);
    // Most often, all have the same rank there.
    if named.iter().all(|rank| rank_of(*rank) == Some(*rank)) {
        return Some(named);
    }
    let all: FxHashMap<u32, u32> =
        (0..comm.size).filter_map(|it| Some((rank_of(it)?, it))).collect();
    named.into_iter().map(|rank| all.get(&rank).copied()).collect()
}

/// A call is about to be passed on: whom an epoch is with, and what others may wait for.
pub(super) fn entering(checked: &Checked<'_>, window: u64) {
    use FunctionId::{MPI_Win_complete, MPI_Win_post, MPI_Win_start};
    let function = checked.function;
    if !matches!(function, MPI_Win_start | MPI_Win_post | MPI_Win_complete) || !checked.is_sound {
        return;
    }
    if with(window, |window| window.common.is_none()) {
        return;
    }
    let named = match function {
        MPI_Win_complete => Some(Vec::new()),
        _ => members(checked, window),
    };
    with(window, |window| {
        let Some(named) = named else {
            // Nothing is said of this window's epochs any more, nor of what anybody waits for in one.
            window.common = None;
            shared().reached(limit::EXPOSURES);
            return;
        };
        let Some(common) = &mut window.common else { return };
        match function {
            MPI_Win_start => {
                common.targets = named;
                common.started_with = knowledge::last(0).map(|last| (last, 0));
            }
            MPI_Win_post => {
                common.origins = named;
                common.note(What::Post);
            }
            _ => common.note(What::Complete),
        }
    });
}

/// What a call needs to return that starts an epoch, completes one, or waits for the end of those of others.
pub(crate) fn needs(checked: &Checked<'_>) -> SmallVec<[Need; 4]> {
    use FunctionId::{MPI_Win_complete, MPI_Win_start, MPI_Win_test, MPI_Win_wait};
    let Some(window) = window_of(checked, None).filter(|_| checked.is_sound) else {
        return SmallVec::new();
    };
    with(window, |window| {
        let (started, posted) = (window.started.is_some(), window.posted.is_some());
        let Some(common) = &window.common else { return SmallVec::new() };
        match checked.function {
            MPI_Win_start if !started => common.needs(What::Post, 1),
            MPI_Win_complete if started => common.needs(What::Post, 0),
            MPI_Win_wait | MPI_Win_test if posted => common.needs(What::Complete, 0),
            _ => SmallVec::new(),
        }
    })
}

impl Common {
    /// This process has posted the window for some, or come to the end of its epoch with some.
    fn note(&self, what: What) {
        let Ok(own) = u32::try_from(self.comm.rank) else { return };
        let others = match what {
            What::Post => &self.origins,
            What::Complete => &self.targets,
        };
        others
            .iter()
            .for_each(|other| exposures::note(exposures::key(self.identity, what, own, *other)));
    }

    /// What those of an epoch must have done, so often as this process has begun one with them, and `more` times.
    fn needs(&self, what: What, more: u64) -> SmallVec<[Need; 4]> {
        let Ok(own) = u32::try_from(self.comm.rank) else { return SmallVec::new() };
        let (others, counts) = match what {
            What::Post => (&self.targets, &self.starts),
            What::Complete => (&self.origins, &self.posts),
        };
        let need = |other: &u32| {
            let count = counts.get(other).copied().unwrap_or(0) + more;
            let key = exposures::key(self.identity, what, *other, own);
            let rank = self.comm.world_rank(c_int::try_from(*other).ok()?)?;
            Some(match what {
                What::Post => Need::Post { key, count, rank },
                What::Complete => Need::Completion { key, count, rank },
            })
        };
        others.iter().map(|other| need(other).unwrap_or(Need::Nothing)).collect()
    }

    /// MPI has accepted that this process starts an epoch.
    pub(super) fn started(&mut self) {
        self.targets.iter().for_each(|target| *self.starts.entry(*target).or_default() += 1);
        self.started_with.iter_mut().for_each(|(_, gains)| *gains = knowledge::gains());
    }

    /// The collective operation that all knowledge of others is from, but that they have posted their windows, if this process is in
    /// an epoch that it has started.
    pub(super) fn since_start(&self) -> Option<Collective> {
        self.started_with.filter(|(_, gains)| *gains == knowledge::gains()).map(|(last, _)| last)
    }

    /// MPI has accepted that this process exposes the window.
    pub(super) fn posted(&mut self) {
        self.exposed.clear();
        for origin in &self.origins {
            let count = self.posts.entry(*origin).or_default();
            *count += 1;
            if let Some(rank) =
                c_int::try_from(*origin).ok().and_then(|it| self.comm.world_rank(it))
            {
                self.exposed.push((rank, *count));
            }
        }
    }

    /// The window is freed, by all.
    pub(super) fn forget_exposures(&self) {
        let Ok(own) = u32::try_from(self.comm.rank) else { return };
        for (what, others) in [(What::Post, &self.posts), (What::Complete, &self.starts)] {
            for other in others.keys() {
                exposures::forget(exposures::key(self.identity, what, own, *other));
            }
        }
    }
}

impl Window {
    /// The exposure that was posted is over.
    pub(super) fn exposure_over(&mut self) {
        self.posted = None;
        if let Some(common) = &mut self.common
            && let Ok(rank) = u32::try_from(common.comm.rank)
        {
            let found = accesses::exposure_over(common.identity, rank, &common.exposed);
            common.exposed.clear();
            self.target.iter_mut().for_each(|target| target.exposure_over(&found));
        }
    }

    /// Is a target one that the started epoch is not with, and no other epoch either?
    pub(super) fn is_not_started_with(&self, target: i64) -> bool {
        let is_only_started = self.started.is_some()
            && self.fence.is_none()
            && self.locked_all.is_none()
            && !self.locks.contains_key(&target);
        let is_target =
            |common: &Common| common.targets.iter().any(|one| i64::from(*one) == target);
        is_only_started && self.common.as_ref().is_some_and(|common| !is_target(common))
    }
}
