//! Index gather: each process fetches random elements of a table that all processes share.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

/// Asks for an element of the table, for a place of the result.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Request {
    result: u32,
    place: u32,
}

/// The element for a place of the result.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Reply {
    result: u64,
    element: u64,
}

struct Gather {
    table: Vec<u64>,
    results: Vec<u64>,
}

impl Actor for Gather {
    type Mailboxes = (Request, Reply);
    type Error = Error;
}

impl Handler<Request> for Gather {
    #[inline]
    fn handle(&mut self, m: Request, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        let reply = Reply { result: m.result.into(), element: self.table[m.place as usize] };
        context.send(context.sender(), reply)
    }
}

impl Handler<Reply> for Gather {
    #[inline]
    fn handle(&mut self, reply: Reply, _: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.results[reply.result as usize] = reply.element;
        Ok(())
    }
}

/// What the table has at a place of a process: any numbers that everybody can compute.
fn element(process: usize, place: usize) -> u64 {
    (process as u64 + 1) << 40 | (3 * place as u64 + 1)
}

pub(crate) fn main() -> Result<(), Error> {
    let options = common::Options::read(1_000_000, 1000);
    let context = rmpi::init()?;
    let world = context.world();
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let state = Gather {
        table: (0..options.table).map(|place| element(rank, place)).collect(),
        results: vec![0; options.updates],
    };
    let settings = Settings::default().buffer(options.buffer);
    let mut selector = Selector::new(&domain, state, settings)?;

    let mut random = common::Random::new(rank);
    // Which process, and which element of its part of the table. Two arrays come from memory faster than one of pairs.
    let (processes, places): (Vec<u32>, Vec<u32>) = (0..options.updates)
        .map(|_| random.below(options.table * size))
        .map(|element| ((element % size) as u32, (element / size) as u32))
        .unzip();
    let requests = processes.iter().copied().zip(places.iter().copied());
    let began = common::start(world)?;
    selector.finish(|scope| {
        for (result, (process, place)) in requests.clone().enumerate() {
            scope.send(process as usize, Request { result: result as u32, place })?;
        }
        scope.done::<Request, _>()
    })?;

    common::report(world, "index_gather", options.updates as u64, began, || {
        let results = &selector.state().results;
        Ok(requests
            .zip(results)
            .all(|((process, place), &result)| result == element(process as usize, place as usize)))
    })?;
    Ok(())
}
