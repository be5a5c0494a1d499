//! What waits for all operations of a file comes after the scope of those that do not block.
use rmpi::{File, RmpiResult};

fn example(mut file: File<'_>) -> RmpiResult {
    let mut numbers = [0.0_f64; 10];
    rmpi::scope(|scope| {
        let request = file.iread(scope, &mut numbers)?;
        file.sync()?;
        request.wait().map(drop)
    })
}

fn main() {}
