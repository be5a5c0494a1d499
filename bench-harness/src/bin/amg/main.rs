//! Conjugate gradients with an algebraic multigrid as preconditioner, on the Laplacian of a box: what AMG 2006
//! does with `-laplace`, with the same communication (neighbours by `MPI_Isend`, `MPI_Irecv` and
//! `MPI_Waitall`, scalar products by `MPI_Allreduce`, levels and the coarsest matrix by `MPI_Allgather` and
//! `MPI_Allgatherv`), and with aggregation in place of BoomerAMG's coarsening.
//!
//! Every run checks itself: each level's matrix has the sum that Galerkin's condition gives it, the number
//! of iterations is bounded, and a right side whose solution is known in closed form has it.

mod matrix;
mod multigrid;

use std::error::Error;
use std::f64::consts::PI;

use clap::Parser;
use rmpi::{Communicator, MpiOp, RmpiContext, RmpiResult};

use matrix::Matrix;
use multigrid::{Multigrid, begins, dot};

#[derive(Parser)]
#[command(about = "Conjugate gradients with an algebraic multigrid, on the Laplacian of a box")]
struct Arguments {
    /// Points of each rank in each direction
    #[arg(short = 'n', num_args = 3, default_values_t = [16, 16, 16])]
    points: Vec<usize>,
    /// Ranks in each direction; by default all in the first one
    #[arg(short = 'P', num_args = 3)]
    processes: Option<Vec<usize>>,
    /// The residual to reach, by the first one
    #[arg(long, default_value_t = 1e-8)]
    tolerance: f64,
}

/// What each run must do with, whatever its size and the number of ranks. Without multigrid, the number grows
/// with the number of points in a direction.
const MOST_ITERATIONS: usize = 20;

/// A box of points with zero all around, in equal parts.
struct Grid {
    points: [usize; 3],
    processes: [usize; 3],
    place: [usize; 3],
}

impl Grid {
    fn own(&self) -> usize {
        self.points.iter().product()
    }

    /// Points over all ranks.
    fn whole(&self, axis: usize) -> usize {
        self.points[axis] * self.processes[axis]
    }

    /// Where an own point is in the box.
    fn at(&self, row: usize) -> [usize; 3] {
        let [nx, ny, _] = self.points;
        let local = [row % nx, row / nx % ny, row / nx / ny];
        std::array::from_fn(|axis| self.place[axis] * self.points[axis] + local[axis])
    }

    /// The number of a point, over all ranks: those of a rank are consecutive.
    fn number(&self, at: [usize; 3]) -> u64 {
        let [nx, ny, _] = self.points;
        let [px, py, _] = self.processes;
        let [place, local]: [[usize; 3]; 2] = [
            std::array::from_fn(|axis| at[axis] / self.points[axis]),
            std::array::from_fn(|axis| at[axis] % self.points[axis]),
        ];
        let rank = place[0] + px * (place[1] + py * place[2]);
        (rank * self.own() + local[0] + nx * (local[1] + ny * local[2])) as u64
    }

    /// A row of the Laplacian, times the square of the distance of points.
    fn row(&self, row: usize) -> Vec<(u64, f64)> {
        let at = self.at(row);
        let mut entries = vec![(self.number(at), 6.0)];
        for axis in 0..3 {
            for there in [at[axis].checked_sub(1), Some(at[axis] + 1)].into_iter().flatten() {
                if there < self.whole(axis) {
                    let mut at = at;
                    at[axis] = there;
                    entries.push((self.number(at), -1.0));
                }
            }
        }
        entries.sort_unstable_by_key(|(number, _)| *number);
        entries
    }

    /// A product of sines, which is zero around the box, and an eigenvector of the matrix.
    fn wave(&self, row: usize) -> f64 {
        let at = self.at(row);
        let sine = |axis: usize| PI * (at[axis] + 1) as f64 / (self.whole(axis) + 1) as f64;
        (0..3).map(|axis| sine(axis).sin()).product()
    }

    /// What Laplace's operator makes of the wave, and what the matrix does: a factor each.
    fn eigenvalues(&self) -> [f64; 2] {
        let angles = [0, 1, 2].map(|axis| PI / (self.whole(axis) + 1) as f64);
        let exact = angles.iter().map(|angle| angle * angle).sum();
        let discrete = angles.iter().map(|angle| 4.0 * (angle / 2.0).sin().powi(2)).sum();
        [exact, discrete]
    }

    /// What the entries of the matrix add up to: one for each point on a face of the box.
    fn sum(&self) -> f64 {
        let [x, y, z] = [0, 1, 2].map(|axis| self.whole(axis) as f64);
        2.0 * (x * y + y * z + z * x)
    }
}

struct Solved {
    iterations: usize,
    /// The residual by the first one, computed anew.
    reduction: f64,
}

/// Flexible conjugate gradients, from zero.
fn solve(
    world: &Communicator<'_>,
    multigrid: &mut Multigrid<'_>,
    right: &[f64],
    x: &mut [f64],
    tolerance: f64,
) -> RmpiResult<Solved> {
    let own = multigrid.finest().own();
    let [mut z, mut direction, mut product] = [(); 3].map(|()| multigrid.finest().vector());
    let mut residual = right.to_vec();
    let mut before = residual.clone();
    x.fill(0.0);
    let [first] = dot(world, [(&residual, &residual)])?;
    let mut descent = 0.0;
    let mut iterations = 0;
    let mut square = first;
    while square > tolerance * tolerance * first && iterations < 2 * MOST_ITERATIONS {
        iterations += 1;
        multigrid.precondition(&residual, &mut z)?;
        let last = descent;
        let mixed;
        [descent, mixed] = dot(world, [(&residual, &z[..own]), (&before, &z[..own])])?;
        let beta = if iterations == 1 { 0.0 } else { (descent - mixed) / last };
        for row in 0..own {
            direction[row] = z[row] + beta * direction[row];
        }
        multigrid.finest().multiply(world, &mut direction, &mut product)?;
        let [curvature] = dot(world, [(&direction[..own], &product[..own])])?;
        let alpha = descent / curvature;
        before.copy_from_slice(&residual);
        for row in 0..own {
            x[row] += alpha * direction[row];
            residual[row] -= alpha * product[row];
        }
        [square] = dot(world, [(&residual, &residual)])?;
    }
    multigrid.finest().multiply(world, x, &mut product)?;
    for row in 0..own {
        residual[row] = right[row] - product[row];
    }
    let [last] = dot(world, [(&residual, &residual)])?;
    Ok(Solved { iterations, reduction: (last / first).sqrt() })
}

/// The largest over all ranks.
fn largest(world: &Communicator<'_>, values: impl Iterator<Item = f64>) -> RmpiResult<f64> {
    let mine = values.map(f64::abs).fold(0.0, f64::max);
    let mut all = 0.0;
    world.allreduce(&mine, &mut all, MpiOp::MAX)?;
    Ok(all)
}

/// Do all levels' matrices have the sum of the first one? Both are whole numbers, exact as they are.
fn galerkin(world: &Communicator<'_>, multigrid: &Multigrid<'_>, sum: f64) -> RmpiResult<bool> {
    let mut same = true;
    for matrix in multigrid.matrices() {
        let rows = (0..matrix.own()).flat_map(|row| matrix.row(row));
        let mine: f64 = rows.map(|(_, value)| value).sum();
        let mut all = 0.0;
        world.allreduce(&mine, &mut all, MpiOp::SUM)?;
        same &= all == sum;
    }
    Ok(same)
}

fn run(context: &RmpiContext, grid: &Grid, tolerance: f64) -> Result<(), Box<dyn Error>> {
    let world = context.world();
    let rank = world.rank()?;
    let own = grid.own();

    let start = context.wtime();
    let begins = begins(world, own as u64)?;
    let rows: Vec<_> = (0..own).map(|row| grid.row(row)).collect();
    let mut multigrid = Multigrid::new(world, Matrix::new(begins, rank, &rows))?;
    let setup = context.wtime() - start;

    let mut x = multigrid.finest().vector();
    let start = context.wtime();
    let ones = solve(world, &mut multigrid, &vec![1.0; own], &mut x, tolerance)?;
    let seconds = context.wtime() - start;

    // Its discrete solution is the wave times the quotient of the eigenvalues.
    let [exact, discrete] = grid.eigenvalues();
    let wave: Vec<f64> = (0..own).map(|row| grid.wave(row)).collect();
    let right: Vec<f64> = wave.iter().map(|wave| exact * wave).collect();
    let known = solve(world, &mut multigrid, &right, &mut x, 1e-12)?;
    let solution = |row: usize| exact / discrete * wave[row];
    let wrong = largest(world, (0..own).map(|row| x[row] - solution(row)))?;
    let error = largest(world, (0..own).map(|row| x[row] - wave[row]))?;
    let height = largest(world, wave.iter().copied())?;
    let expected = (exact / discrete - 1.0) * height;
    let sums = galerkin(world, &multigrid, grid.sum())?;

    if rank == 0 {
        let levels: Vec<_> = multigrid.matrices().map(|matrix| matrix.all().to_string()).collect();
        let entries: usize = multigrid.matrices().map(Matrix::entries).sum();
        let complexity = entries as f64 / multigrid.finest().entries() as f64;
        println!("rows of the levels: {}", levels.join(" "));
        println!("entries of all levels by the first's, on rank 0: {complexity:.3}");
        println!("setup seconds: {setup:.6}");
        println!("iterations: {} and {}", ones.iterations, known.iterations);
        println!("solve seconds: {seconds:.6}");
        println!("residual by the first: {:.3e}", ones.reduction);
        println!("discretisation error: {error:.6e} ({expected:.6e} in theory)");
    }
    let solved = ones.iterations <= MOST_ITERATIONS && ones.reduction <= 2.0 * tolerance;
    if !(solved && sums && wrong <= 1e-3 * expected) {
        return Err("the results are not those of this problem".into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let context = rmpi::init()?;
    let (rank, ranks) = (context.world().rank()?, context.world().size()?);
    let points: [usize; 3] = arguments.points.try_into().map_err(|_| "-n wants three numbers")?;
    let processes = arguments.processes.unwrap_or_else(|| vec![ranks, 1, 1]);
    let processes: [usize; 3] = processes.try_into().map_err(|_| "-P wants three numbers")?;
    if processes.iter().product::<usize>() != ranks {
        return Err(format!("{ranks} ranks, but -P makes {processes:?} of them").into());
    }
    if points.contains(&0) {
        return Err(format!("-n {points:?}: at least one point is needed").into());
    }
    let [px, py, _] = processes;
    let place = [rank % px, rank / px % py, rank / px / py];
    run(&context, &Grid { points, processes, place }, arguments.tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wave is an eigenvector, and the sum is that of a cube's faces.
    #[test]
    fn the_matrix_has_its_eigenvalue_and_its_sum() {
        let grid = Grid { points: [5, 4, 3], processes: [1; 3], place: [0; 3] };
        let [exact, discrete] = grid.eigenvalues();
        let mut sum = 0.0;
        for row in 0..grid.own() {
            let entries = grid.row(row);
            let image: f64 =
                entries.iter().map(|(column, value)| value * grid.wave(*column as usize)).sum();
            assert!((image - discrete * grid.wave(row)).abs() < 1e-14);
            sum += entries.iter().map(|(_, value)| value).sum::<f64>();
        }
        assert_eq!(sum, grid.sum());
        assert!(discrete < exact && discrete > 0.9 * exact);
    }

    #[test]
    fn points_of_a_rank_are_consecutive() {
        let grid = Grid { points: [2, 3, 4], processes: [2, 2, 2], place: [1, 0, 1] };
        for row in 0..grid.own() {
            assert_eq!(grid.number(grid.at(row)), (5 * grid.own() + row) as u64);
        }
    }
}
