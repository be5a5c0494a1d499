//! The memory is no longer borrowed then.
use rmpi::{Active, Communicator, RmpiResult, Window};

fn example(world: &Communicator<'_>) -> RmpiResult {
    let mut memory = [0.0; 10];
    let window =
        rmpi::window_scope(|scope| Window::create(scope, world, &mut memory, None, Active))?;
    window.free()
}

fn main() {}
