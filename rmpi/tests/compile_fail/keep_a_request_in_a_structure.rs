//! A request of a scope ends with it: what a structure keeps is an `OwnedRequest` or an `OwnedPersistentRequest`.
use rmpi::{Communicator, Request, RmpiResult, Tag};

struct Simulation<'a> {
    world: &'a Communicator<'a>,
    pending: Vec<Request<'a, &'a [f64]>>,
    halo: Vec<f64>,
}

impl<'a> Simulation<'a> {
    fn step(&mut self) -> RmpiResult {
        let left = self.world.process(0);
        rmpi::scope(|scope| {
            let request = left.isend(scope, &self.halo[..], Tag::new(0))?;
            self.pending.push(request);
            Ok(())
        })
    }
}

fn main() {}
