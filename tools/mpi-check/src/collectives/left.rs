//! Collective operations to which not all ranks have come when all are in `MPI_Finalize`.

use core::sync::atomic::Ordering::Relaxed;

use mpi_tool_layer::FunctionId;
use mpi_tool_layer::mpi_sys::pmpi;

use super::is_broken;
use crate::comms;
use crate::findings::{Class, Place, report_of};
use crate::places::{self, Mark};
use crate::shared::{limit, shared};

/// All ranks of the world have come to `MPI_Finalize`: what is left on `MPI_COMM_WORLD` was called by some of them only. The
/// first such operation is told. Other communicators may have processes that are not here.
pub(crate) fn report_left() {
    let shared = shared();
    let Some(world) = comms::predefined(pmpi::MPI_COMM_WORLD).and_then(|place| place.get()) else {
        return;
    };
    if !shared.is_whole() || shared.has_reached(limit::COLLECTIVES) || is_broken(world.identity) {
        return;
    }
    let slots = shared.collectives.iter().flat_map(|bucket| &bucket.slots);
    let left = slots
        .filter(|slot| slot.key.load(Relaxed) != 0 && slot.identity.load(Relaxed) == world.identity)
        .min_by_key(|slot| slot.number.load(Relaxed));
    let Some(slot) = left else { return };
    let (arrived, expected) = (slot.arrived.load(Relaxed), slot.expected.load(Relaxed));
    let Some(function) = FunctionId::from_index(slot.function.load(Relaxed) as usize) else {
        return;
    };
    let has = if arrived == 1 { "has" } else { "have" };
    let message = format!(
        "{arrived} of {expected} ranks {has} called {function} on MPI_COMM_WORLD, and all are in MPI_Finalize"
    );
    let place = places::of_mark(Mark {
        module: slot.module.load(Relaxed),
        offset: slot.offset.load(Relaxed),
    });
    let ranks = [slot.rank.load(Relaxed)];
    let place = Place::Text(&place);
    report_of(Class::CollectiveMismatch, function, place, "left", &message, None, &ranks);
}
