//! The first process hands out work, and the others do it: messages are values of the program's own types.

use std::f64::consts::PI;

use rmpi::{MessageResult, TypedCommunicator};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum Work {
    Integrate { from: f64, to: f64 },
    Stop,
}

/// How many parts the work has.
const PARTS: usize = 20;

/// Of the function whose integral from 0 to 1 is π.
fn integral(from: f64, to: f64) -> f64 {
    let width = (to - from) / 1000.0;
    let middle = |step: usize| from + (step as f64 + 0.5) * width;
    (0..1000).map(|step| 4.0 / (1.0 + middle(step).powi(2)) * width).sum()
}

fn main() -> MessageResult {
    let context = rmpi::init()?;
    let world = TypedCommunicator::new(context.world())?;
    let (rank, size) = (world.rank()?, world.size()?);
    if rank != 0 {
        let manager = world.process(0);
        while let (Work::Integrate { from, to }, _) = manager.recv_value()? {
            manager.send_value(&integral(from, to))?;
        }
        return Ok(());
    }

    let place = |part: usize| part as f64 / PARTS as f64;
    let mut parts = (0..PARTS).map(|part| (place(part), place(part + 1)));
    // The next part of the work, if there is one; else the worker may go.
    let mut next = || parts.next().map_or(Work::Stop, |(from, to)| Work::Integrate { from, to });
    let mut sum = 0.0;
    let mut busy = 0;
    for worker in 1..size {
        let work = next();
        busy += usize::from(!matches!(work, Work::Stop));
        world.process(worker).send_value(&work)?;
    }
    while busy > 0 {
        let (part, status) = world.any_source().recv_value::<f64>()?;
        sum += part;
        let work = next();
        busy -= usize::from(matches!(work, Work::Stop));
        let worker = status.source().expect("a process has sent it");
        world.process(worker).send_value(&work)?;
    }
    // A process without others does it alone.
    sum += parts.map(|(from, to)| integral(from, to)).sum::<f64>();
    assert!((sum - PI).abs() < 1e-8, "{sum}");
    println!("work: right on {size} ranks");
    Ok(())
}
