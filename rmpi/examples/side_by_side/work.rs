//! The first process hands out work, and the others do it.

use rmpi::{MessageResult, TypedCommunicator};
use serde::{Deserialize, Serialize};

const PARTS: usize = 20;
const NUMBERS: u64 = 500;

#[derive(Serialize, Deserialize)]
enum Work {
    Part(usize),
    Stop,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Chain {
    start: u64,
    steps: usize,
}

/// Until 1: half of an even number, or 3 n + 1.
fn steps(mut n: u64) -> usize {
    let mut count = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        count += 1;
    }
    count
}

fn longest(part: usize) -> Chain {
    let first = part as u64 * NUMBERS + 1;
    let chain = |start| Chain { start, steps: steps(start) };
    // The first of those that are equally long.
    let all = (first..first + NUMBERS).rev().map(chain);
    all.max_by_key(|chain| chain.steps).expect("a part has numbers")
}

fn work(world: &TypedCommunicator<'_>) -> MessageResult {
    let master = world.process(0);
    while let (Work::Part(part), _) = master.recv_value()? {
        master.send_value(&(part, longest(part)))?;
    }
    Ok(())
}

type Chains = Vec<Option<Chain>>;

fn hand_out(world: &TypedCommunicator<'_>) -> MessageResult<Chains> {
    let mut parts = 0..PARTS;
    let mut chains = vec![None; PARTS];
    let mut send_next = |worker: usize| -> MessageResult<bool> {
        let work = parts.next().map_or(Work::Stop, Work::Part);
        world.process(worker).send_value(&work)?;
        Ok(matches!(work, Work::Part(_)))
    };
    let mut busy = 0;
    for worker in 1..world.size()? {
        busy += usize::from(send_next(worker)?);
    }
    while busy > 0 {
        let (result, status) = world.any_source().recv_value()?;
        let (part, chain): (usize, Chain) = result;
        chains[part] = Some(chain);
        let worker = status.source().expect("a process has sent it");
        busy -= usize::from(!send_next(worker)?);
    }
    // A process without others does it alone.
    for part in parts {
        chains[part] = Some(longest(part));
    }
    Ok(chains)
}

fn main() -> MessageResult {
    let context = rmpi::init()?;
    let world = TypedCommunicator::new(context.world())?;
    if world.rank()? != 0 {
        return work(&world);
    }
    for (i, chain) in hand_out(&world)?.iter().enumerate().step_by(5) {
        if let Some(Chain { start, steps }) = chain {
            println!("part {i}: {start} takes {steps} steps");
        }
    }
    Ok(())
}
