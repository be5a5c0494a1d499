//! What a get brings is there when the epoch has ended.
use rmpi::{Active, Assertion, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>) -> RmpiResult {
    let mut got = [0.0; 4];
    window.fence(Assertion::NONE, |epoch| {
        epoch.process(0).get(&mut got, 0)?;
        println!("{}", got[0]);
        Ok(())
    })
}

fn main() {}
