//! What a section of a slice is received into stays MPI's until the scope's end, and so does the slice.
use rmpi::{Process, RmpiResult, Sections, Tag};

fn example(left: Process<'_>, sides: &Sections<'_, f64, 1, 1>, matrix: &mut [f64]) -> RmpiResult {
    let ([from_left], [_]) = sides.of(matrix)?;
    rmpi::scope(|scope| -> RmpiResult {
        left.irecv(scope, from_left, Tag::new(0))?;
        matrix[0] = 1.0;
        Ok(())
    })
}

fn main() {}
