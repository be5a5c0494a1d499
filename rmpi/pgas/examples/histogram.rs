//! Histogram: each process counts random elements of a distributed table, by additions to an array or by active
//! messages (`--form am`); in plain MPI (`--form plain`), all updates travel at once.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::Settings;
use rmpi_pgas::{ActiveMessage, Array, Atomic, Error, Here, Layout, Team};

/// Counts an element of the part of a process.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Count(u32);

impl ActiveMessage<[u64]> for Count {
    type Answer = u8;
    #[inline]
    fn run(self, counts: &mut [u64], _: Here) -> u8 {
        counts[self.0 as usize] += 1;
        0
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let (options, form) =
        common::Options::read_with_form(1_000_000, 1000, &["array", "am", "plain"]);
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    team.set_settings(Settings::default().buffer(options.buffer));
    let mut table = Array::<u64, Atomic>::new(&team, options.table * team.size(), Layout::Block)?;
    let mut random = common::Random::new(team.rank());
    let updates: Vec<usize> = (0..options.updates).map(|_| random.below(table.len())).collect();
    // Which process has it, and where, is found before the time begins, as in the C program.
    let places = table.places(&updates)?;
    let (processes, elements) = common::split(&updates, options.table);
    let counts = processes.iter().zip(&elements).map(|(&to, &place)| (to as usize, Count(place)));
    // What MPI makes for the first messages, it makes before the time begins, as with the mailboxes of the C program.
    table.batch_add(&[], 1)?;
    team.post(table.local_mut(), [(0, Count(0)); 0])?;

    let began = common::start(world)?;
    if form == "array" {
        table.batch_add(&places, 1)?;
    } else if form == "plain" {
        let length = options.table;
        let counts = updates.iter().map(|at| (at / length, (at % length) as u32));
        let (counts, _) = common::Sorted::new(team.size(), counts);
        let local = table.local_mut();
        counts.exchange(world)?.items.iter().for_each(|&place| local[place as usize] += 1);
    } else {
        team.post(table.local_mut(), counts)?;
    }

    common::report(world, "histogram", options.updates as u64, began, || {
        let mut expected = vec![0_u64; options.table * world.size()?];
        updates.iter().for_each(|&at| expected[at] += 1);
        world.allreduce_in_place(&mut expected[..], rmpi::MpiOp::SUM)?;
        let first = world.rank()? * options.table;
        Ok(expected[first..][..options.table] == *table.local())
    })?;
    Ok(())
}
