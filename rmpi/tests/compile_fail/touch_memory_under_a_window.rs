//! Borrowed memory is the window's until the end of the scope, though the window is forgotten.
use rmpi::{Active, Communicator, RmpiResult, Window};

fn example(world: &Communicator<'_>) -> RmpiResult {
    let mut memory = [0.0; 10];
    rmpi::window_scope(|scope| {
        core::mem::forget(Window::create(scope, world, &mut memory, None, Active)?);
        memory[0] = 1.0;
        Ok(())
    })
}

fn main() {}
