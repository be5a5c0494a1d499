//! Histogram: each process counts random elements of a table that all processes share.

mod common;

use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

struct Histogram {
    counts: Vec<u64>,
}

impl Actor for Histogram {
    type Mailboxes = (u32,);
    type Error = Error;
}

impl Handler<u32> for Histogram {
    #[inline]
    fn handle(&mut self, place: u32, _: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.counts[place as usize] += 1;
        Ok(())
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let options = common::Options::read(1_000_000, 1000);
    let context = rmpi::init()?;
    let world = context.world();
    let domain = Domain::new(world)?;
    let settings = Settings::default().buffer(options.buffer);
    let state = Histogram { counts: vec![0; options.table] };
    let mut selector = Selector::new(&domain, state, settings)?;

    let mut random = common::Random::new(domain.rank());
    // Which process, and which element of its part of the table. Two arrays come from memory faster than one of pairs.
    let (processes, places): (Vec<u32>, Vec<u32>) = (0..options.updates)
        .map(|_| random.below(options.table * domain.size()))
        .map(|element| ((element % domain.size()) as u32, (element / domain.size()) as u32))
        .unzip();
    let updates = processes.iter().copied().zip(places.iter().copied());
    let began = common::start(world)?;
    selector.finish(|scope| {
        for (process, place) in updates.clone() {
            scope.send(process as usize, place)?;
        }
        scope.done::<u32, _>()
    })?;

    common::report(world, "histogram", options.updates as u64, began, || {
        verify(world, updates, &selector.state().counts)
    })?;
    Ok(())
}

/// Are the counts those of all updates? Sums by place, which plain MPI makes, say so.
fn verify(
    world: &rmpi::Communicator<'_>,
    updates: impl Iterator<Item = (u32, u32)>,
    counts: &[u64],
) -> rmpi::RmpiResult<bool> {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut expected = vec![0_u64; counts.len() * size];
    for (process, place) in updates {
        expected[process as usize * counts.len() + place as usize] += 1;
    }
    world.allreduce_in_place(&mut expected[..], rmpi::MpiOp::SUM)?;
    Ok(expected[rank * counts.len()..][..counts.len()] == *counts)
}
