//! Index gather: each process fetches random elements of a distributed table, from a read-only array or by active
//! messages (`--form am`); in plain MPI (`--form plain`), all requests and then all replies travel at once.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::Settings;
use rmpi_pgas::{ActiveMessage, Array, Error, Here, Layout, ReadOnly, Team};

/// Fetches an element of the part of a process.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Fetch(u32);

impl ActiveMessage<&[u64]> for Fetch {
    type Answer = u64;
    #[inline]
    fn run(self, table: &mut &[u64], _: Here) -> u64 {
        table[self.0 as usize]
    }
}

/// What the table has: any numbers that everybody can compute.
fn element(index: usize) -> u64 {
    3 * index as u64 + 1
}

pub(crate) fn main() -> Result<(), Error> {
    let (options, form) =
        common::Options::read_with_form(1_000_000, 1000, &["array", "am", "plain"]);
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    team.set_settings(Settings::default().buffer(options.buffer));
    let length = options.table * team.size();
    let table = Array::<u64, ReadOnly>::from_fn(&team, length, Layout::Block, element)?;
    let mut random = common::Random::new(team.rank());
    let wanted: Vec<usize> = (0..options.updates).map(|_| random.below(table.len())).collect();
    // Which process has it, and where, is found before the time begins, as in the C program.
    let places = table.places(&wanted)?;
    let (processes, elements) = common::split(&wanted, options.table);
    let fetches = processes.iter().zip(&elements).map(|(&to, &place)| (to as usize, Fetch(place)));
    // What MPI makes for the first messages, it makes before the time begins, as with the mailboxes of the C program.

    table.batch_load(&[])?;
    team.execute(&mut table.local(), [(0, Fetch(0)); 0])?;

    let began = common::start(world)?;
    let found = if form == "array" {
        table.batch_load(&places)?
    } else if form == "plain" {
        let part = options.table;
        let requests = wanted.iter().map(|at| (at / part, (at % part) as u32));
        let (requests, places) = common::Sorted::new(team.size(), requests);
        let came = requests.exchange(world)?;
        let local = table.local();
        let items = came.items.iter().map(|&place| local[place as usize]).collect();
        let replies = common::Sorted { items, lengths: came.lengths }.exchange(world)?;
        places.iter().map(|&place| replies.items[place]).collect()
    } else {
        team.execute(&mut table.local(), fetches)?
    };

    common::report(world, "index_gather", options.updates as u64, began, || {
        Ok(found.len() == wanted.len()
            && wanted.iter().zip(&found).all(|(&index, &found)| found == element(index)))
    })?;
    Ok(())
}
