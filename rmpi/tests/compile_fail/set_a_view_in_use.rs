//! A view changes after the end of a split operation, which uses it.
use rmpi::{DatatypeRef, File, RmpiResult};

fn example(file: &mut File<'_>, etype: DatatypeRef<'_>) -> RmpiResult {
    let operation = file.read_all_begin(vec![0.0_f64; 10])?;
    file.set_view(0, etype, etype, c"native", None)?;
    operation.end().map(drop)
}

fn main() {}
