//! An array in a file, of which each process has a part.

use rmpi::{AccessMode, Datatype, DatatypeRef, File, Order, RmpiResult};

const ROWS: usize = 12;
const COLUMNS: usize = 24;

fn main() -> RmpiResult {
    let path = std::env::args().nth(1).expect("the name of a file");
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);

    // A block of the array for each process.
    let mut dims = [0, 0];
    rmpi::dims_create(world, size, &mut dims)?;
    let mine = [ROWS / dims[0], COLUMNS / dims[1]];
    let start = [rank / dims[1] * mine[0], rank % dims[1] * mine[1]];
    let value = |i: usize| {
        let (row, column) = (start[0] + i / mine[1], start[1] + i % mine[1]);
        (row * COLUMNS + column) as f64
    };
    let block: Vec<f64> = (0..mine[0] * mine[1]).map(value).collect();

    let mode = AccessMode::CREATE | AccessMode::RDWR;
    let mut file = File::open(world, path, mode, None)?;
    let number = DatatypeRef::of::<f64>(world)?;
    let all = [ROWS, COLUMNS];
    let part = Datatype::subarray(world, &all, &mine, &start, Order::C, &number)?;
    let part = part.commit()?;
    file.set_view(0, number, part.as_ref(), c"native", None)?;
    file.write_all(&block)?;
    file.sync()?;
    world.barrier()?;
    file.sync()?;

    // Now whole columns, which others have written.
    let width = COLUMNS / size;
    let (columns, first) = ([ROWS, width], [0, rank * width]);
    let part = Datatype::subarray(world, &all, &columns, &first, Order::C, &number)?;
    let part = part.commit()?;
    file.set_view(0, number, part.as_ref(), c"native", None)?;
    let mut block = vec![0.0; ROWS * width];
    let status = file.read_all(&mut block)?;
    let got = status.get_count::<f64>()?.unwrap_or(0);
    file.close()?;

    let sum: f64 = block[..got].iter().sum();
    let sums = world.process(0).gatherv_vec(&[sum])?;
    for (i, sum) in sums.into_iter().flatten().enumerate() {
        println!("columns from {}: sum {sum:.1}", i * width);
    }
    Ok(())
}
