//! A slice of the window's memory ends before the next epoch.
use rmpi::{Active, Assertion, Group, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>, others: &Group<'_>) -> RmpiResult {
    let memory = window.local_mut();
    window.post(others, Assertion::NONE, |_| Ok(()))?;
    memory[0] = 1.0;
    Ok(())
}

fn main() {}
