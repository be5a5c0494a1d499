//! Two windows on two rows of one matrix, without copying: rows are borrowed apart. Right on any number
//! of ranks.

use rmpi::{Active, Assertion, RmpiResult, Window};

const COLUMNS: usize = 100;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let (above, below) = (rank.checked_sub(1), Some(rank + 1).filter(|below| *below < size));

    // Rows of one large matrix: first and last are the neighbours', between them are this rank's.
    let mut matrix = vec![0.0; 4 * COLUMNS];
    let place = matrix.as_ptr();
    matrix[COLUMNS..3 * COLUMNS].fill(rank as f64 + 1.0);

    let (upper_halo, rest) = matrix.split_at_mut(COLUMNS);
    let (own, lower_halo) = rest.split_at_mut(2 * COLUMNS);
    rmpi::window_scope(|scope| {
        let mut upper = Window::create(scope, world, upper_halo, None, Active)?;
        let mut lower = Window::create(scope, world, lower_halo, None, Active)?;
        for round in 1..=3 {
            let (first, last) = own.split_at(COLUMNS);
            // The first row goes to who is above, as its lower halo, and the last one down.
            lower.fence(Assertion::NONE, |epoch| match above {
                Some(above) => epoch.process(above).put(first, 0),
                None => Ok(()),
            })?;
            upper.fence(Assertion::NONE, |epoch| match below {
                Some(below) => epoch.process(below).put(last, 0),
                None => Ok(()),
            })?;
            // The windows' rows are read, and the matrix's own are written to.
            let expected = |rank: Option<usize>| rank.map_or(0.0, |rank| (rank + round) as f64);
            assert!(upper.local().iter().all(|value| *value == expected(above)));
            assert!(lower.local().iter().all(|value| *value == expected(below)));
            own.iter_mut().for_each(|value| *value += 1.0);
        }
        upper.free()?;
        lower.free()
    })?;
    assert_eq!(matrix.as_ptr(), place, "it is the same matrix");
    assert_eq!(matrix[COLUMNS], (rank + 4) as f64);
    world.barrier()?;
    if rank == 0 {
        println!("matrix_rows: right on {size} ranks");
    }
    Ok(())
}
