//! Conjugate gradients with a multigrid preconditioner on a 27-point stencil: the algorithm, the phases and
//! the communication of HPCG 3.1 in its quick form, which has one set of timed iterations.
//!
//! The exact solution is one everywhere, so that every run checks itself: the residuals, how many
//! iterations a matrix with a large diagonal takes, and that matrix and preconditioner are symmetric.

use std::error::Error;

use clap::Parser;
use rmpi::{Communicator, MpiOp, RmpiContext, RmpiResult, Tag};

#[derive(Parser)]
#[command(about = "Preconditioned conjugate gradients on a 27-point stencil, as HPCG does it")]
struct Arguments {
    /// Points of each rank in each direction, a multiple of 8
    #[arg(long, default_value_t = 16)]
    points: usize,
    /// Iterations of each set
    #[arg(long, default_value_t = 50)]
    iterations: usize,
}

const LEVELS: usize = 4;
const TAG: Tag = Tag::new(99);
type Triple = [usize; 3];

/// The grid of processes that is nearest to a cube, longest side last.
fn process_grid(ranks: usize) -> Triple {
    let divisors = |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    divisors(ranks)
        .flat_map(|x| divisors(ranks / x).map(move |y| [x, y, ranks / x / y]))
        .filter(|[x, y, z]| x <= y && y <= z)
        .min_by_key(|[x, y, z]| x * y + y * z + z * x)
        .expect("one times one times all")
}

/// What is exchanged with another rank.
struct Neighbor {
    rank: usize,
    /// The own points that it needs.
    send: Vec<usize>,
    /// How many of its points are needed here.
    receive: usize,
}

/// A grid's part on this rank, and the matrix on it, row by row.
struct Level {
    points: Triple,
    /// Where the rows begin in the next two, and the end.
    rows: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    diagonal: Vec<f64>,
    neighbors: Vec<Neighbor>,
    /// Points of other ranks, which vectors have behind the own ones.
    external: usize,
    /// For each point of the next coarser grid the one of this.
    coarse: Vec<usize>,
}

/// Vectors of a level of the multigrid.
struct Work {
    residual: Vec<f64>,
    solution: Vec<f64>,
    product: Vec<f64>,
}

struct Problem<'a> {
    context: &'a RmpiContext,
    world: &'a Communicator<'a>,
    levels: Vec<Level>,
    work: Vec<Work>,
    global_row: Vec<usize>,
    /// For messages.
    buffer: Vec<f64>,
    /// Of floating-point numbers, on this rank.
    operations: f64,
}

/// The parts of -1, 0 and 1 that a point's neighbours are at in one direction.
fn around(
    at: usize,
    process: usize,
    points: usize,
    processes: usize,
) -> impl Iterator<Item = isize> {
    let (first, last) = (at == 0 && process == 0, at + 1 == points && process + 1 == processes);
    (-1..=1).filter(move |step| !(first && *step < 0 || last && *step > 0))
}

impl Level {
    fn new(points: Triple, processes: Triple, place: Triple) -> Self {
        let [nx, ny, nz] = points;
        let index = |[x, y, z]: Triple| x + nx * (y + ny * z);
        // The layer of points next to another process in a direction, or all for none.
        let layer = |axis: usize, step: isize| match step {
            -1 => 0..1,
            1 => points[axis] - 1..points[axis],
            _ => 0..points[axis],
        };
        let steps = || {
            let one = || -1..=1_isize;
            one().flat_map(move |z| one().flat_map(move |y| one().map(move |x| [x, y, z])))
        };
        let mut neighbors = Vec::new();
        let mut begins = [usize::MAX; 27];
        let mut external = 0;
        for (number, step) in steps().enumerate().filter(|(_, step)| *step != [0; 3]) {
            let mut rank = 0;
            let mut there = true;
            for axis in (0..3).rev() {
                let at =
                    place[axis].checked_add_signed(step[axis]).filter(|at| *at < processes[axis]);
                there &= at.is_some();
                rank = rank * processes[axis] + at.unwrap_or(0);
            }
            if !there {
                continue;
            }
            let mut send = Vec::new();
            for z in layer(2, step[2]) {
                for y in layer(1, step[1]) {
                    send.extend(layer(0, step[0]).map(|x| index([x, y, z])));
                }
            }
            begins[number] = external;
            external += send.len();
            neighbors.push(Neighbor { rank, receive: send.len(), send });
        }

        let own = nx * ny * nz;
        // A neighbouring point that another process has: its place among that process's points.
        let column = |at: [isize; 3]| -> usize {
            let mut number = 0;
            let (mut offset, mut stride) = (0, 1);
            let mut outside = false;
            let mut local = [0; 3];
            for axis in 0..3 {
                let length = points[axis] as isize;
                let step = if at[axis] < 0 { -1 } else { isize::from(at[axis] >= length) };
                outside |= step != 0;
                number += (step + 1) as usize * 3_usize.pow(axis as u32);
                local[axis] = at[axis].rem_euclid(length) as usize;
                if step == 0 {
                    offset += stride * local[axis];
                    stride *= points[axis];
                }
            }
            if outside { own + begins[number] + offset } else { index(local) }
        };
        let mut level = Self {
            points,
            rows: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            diagonal: vec![26.0; own],
            neighbors,
            external,
            coarse: Vec::new(),
        };
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    for dz in around(z, place[2], nz, processes[2]) {
                        for dy in around(y, place[1], ny, processes[1]) {
                            for dx in around(x, place[0], nx, processes[0]) {
                                let at = [x as isize + dx, y as isize + dy, z as isize + dz];
                                let here = [dx, dy, dz] == [0; 3];
                                level.columns.push(column(at) as u32);
                                level.values.push(if here { 26.0 } else { -1.0 });
                            }
                        }
                    }
                    level.rows.push(level.columns.len());
                }
            }
        }
        if points.iter().all(|n| n.is_multiple_of(2)) {
            let half = points.map(|n| n / 2);
            for z in 0..half[2] {
                for y in 0..half[1] {
                    level.coarse.extend((0..half[0]).map(|x| index([2 * x, 2 * y, 2 * z])));
                }
            }
        }
        level
    }

    fn own(&self) -> usize {
        self.points.iter().product()
    }

    fn vector(&self) -> Vec<f64> {
        vec![0.0; self.own() + self.external]
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.rows[row]..self.rows[row + 1];
        let columns = self.columns[range.clone()].iter().map(|column| *column as usize);
        columns.zip(self.values[range].iter().copied())
    }

    /// Gets other ranks' points of a vector.
    fn exchange(
        &self,
        world: &Communicator<'_>,
        buffer: &mut Vec<f64>,
        vector: &mut [f64],
    ) -> RmpiResult {
        // The original asks here, each time.
        let _ = (world.size()?, world.rank()?);
        let (own, mut external) = vector.split_at_mut(self.own());
        rmpi::scope(|scope| {
            let mut requests = Vec::with_capacity(self.neighbors.len());
            for neighbor in &self.neighbors {
                let (part, rest) = external.split_at_mut(neighbor.receive);
                external = rest;
                requests.push(world.process(neighbor.rank).irecv(scope, part, TAG)?);
            }
            for neighbor in &self.neighbors {
                buffer.clear();
                buffer.extend(neighbor.send.iter().map(|point| own[*point]));
                world.process(neighbor.rank).send(&buffer[..], TAG)?;
            }
            for request in requests {
                request.wait()?;
            }
            Ok(())
        })
    }

    fn multiply(
        &self,
        world: &Communicator<'_>,
        buffer: &mut Vec<f64>,
        vector: &mut [f64],
        product: &mut [f64],
    ) -> RmpiResult {
        self.exchange(world, buffer, vector)?;
        for (row, result) in product[..self.own()].iter_mut().enumerate() {
            *result = self.row(row).map(|(column, value)| value * vector[column]).sum();
        }
        Ok(())
    }

    /// One sweep of Gauss-Seidel forth and one back.
    fn smooth(
        &self,
        world: &Communicator<'_>,
        buffer: &mut Vec<f64>,
        right: &[f64],
        solution: &mut [f64],
    ) -> RmpiResult {
        self.exchange(world, buffer, solution)?;
        let mut relax = |row: usize| {
            let others: f64 = self.row(row).map(|(column, value)| value * solution[column]).sum();
            let diagonal = self.diagonal[row];
            solution[row] += (right[row] - others) / diagonal;
        };
        (0..self.own()).for_each(&mut relax);
        (0..self.own()).rev().for_each(&mut relax);
        Ok(())
    }
}

/// How a solution went.
#[derive(Debug, Clone, Copy)]
struct Solved {
    iterations: usize,
    /// The last residual by the first.
    reduction: f64,
}

impl<'a> Problem<'a> {
    fn new(context: &'a RmpiContext, points: usize) -> RmpiResult<Self> {
        let world = context.world();
        let (rank, ranks) = (world.rank()?, world.size()?);
        let processes = process_grid(ranks);
        let [px, py, _] = processes;
        let place = [rank % px, rank / px % py, rank / px / py];
        let mut levels = Vec::new();
        for level in 0..LEVELS {
            levels.push(Level::new([points >> level; 3], processes, place));
            // The original counts the matrix's entries over all ranks, and so do we.
            let own = levels[level].values.len() as u64;
            let mut all = 0_u64;
            world.allreduce(&own, &mut all, MpiOp::SUM)?;
        }
        let work = levels
            .iter()
            .map(|level| Work {
                residual: level.vector(),
                solution: level.vector(),
                product: level.vector(),
            })
            .collect();
        let global = |at: usize, axis: usize| place[axis] * points + at;
        let mut global_row = Vec::new();
        for z in 0..points {
            for y in 0..points {
                for x in 0..points {
                    let width = [processes[0] * points, processes[1] * points];
                    global_row
                        .push(global(x, 0) + width[0] * (global(y, 1) + width[1] * global(z, 2)));
                }
            }
        }
        let buffer = Vec::new();
        Ok(Self { context, world, levels, work, global_row, buffer, operations: 0.0 })
    }

    /// The right side whose solution is one everywhere.
    fn right_side(&self) -> Vec<f64> {
        let fine = &self.levels[0];
        (0..fine.own()).map(|row| fine.row(row).map(|(_, value)| value).sum()).collect()
    }

    fn dot(&mut self, a: &[f64], b: &[f64]) -> RmpiResult<f64> {
        let own = self.levels[0].own();
        let mine: f64 = a[..own].iter().zip(&b[..own]).map(|(a, b)| a * b).sum();
        let mut all = 0.0;
        self.world.allreduce(&mine, &mut all, MpiOp::SUM)?;
        self.operations += 2.0 * own as f64;
        Ok(all)
    }

    fn multiply(&mut self, vector: &mut [f64], product: &mut [f64]) -> RmpiResult {
        let fine = &self.levels[0];
        self.operations += 2.0 * fine.values.len() as f64;
        fine.multiply(self.world, &mut self.buffer, vector, product)
    }

    /// The preconditioner: one V-cycle.
    fn multigrid(&mut self, residual: &[f64], solution: &mut [f64]) -> RmpiResult {
        let own = self.levels[0].own();
        self.work[0].residual[..own].copy_from_slice(&residual[..own]);
        self.cycle(0)?;
        solution.copy_from_slice(&self.work[0].solution);
        Ok(())
    }

    fn cycle(&mut self, level: usize) -> RmpiResult {
        let (world, grid) = (self.world, &self.levels[level]);
        let Work { residual, solution, product } = &mut self.work[level];
        solution.fill(0.0);
        self.operations += 4.0 * grid.values.len() as f64;
        grid.smooth(world, &mut self.buffer, residual, solution)?;
        if level + 1 == LEVELS {
            return Ok(());
        }
        grid.multiply(world, &mut self.buffer, solution, product)?;
        self.operations += 6.0 * grid.values.len() as f64;
        let [fine, coarse] = &mut self.work[level..level + 2] else { unreachable!("two levels") };
        for (point, below) in grid.coarse.iter().zip(&mut coarse.residual) {
            *below = fine.residual[*point] - fine.product[*point];
        }
        self.cycle(level + 1)?;
        let grid = &self.levels[level];
        let [fine, coarse] = &mut self.work[level..level + 2] else { unreachable!("two levels") };
        for (point, correction) in grid.coarse.iter().zip(&coarse.solution) {
            fine.solution[*point] += correction;
        }
        grid.smooth(world, &mut self.buffer, &fine.residual, &mut fine.solution)
    }

    /// Conjugate gradients from `x` on.
    fn solve(
        &mut self,
        right: &[f64],
        x: &mut [f64],
        iterations: usize,
        tolerance: f64,
        preconditioned: bool,
    ) -> RmpiResult<Solved> {
        let own = self.levels[0].own();
        let [mut residual, mut z, mut product] = [(); 3].map(|()| self.levels[0].vector());
        let mut direction = x.to_vec();
        self.multiply(&mut direction, &mut product)?;
        for row in 0..own {
            residual[row] = right[row] - product[row];
        }
        let first = self.dot(&residual, &residual)?.sqrt();
        let mut norm = first;
        let mut square = 0.0;
        let mut done = 0;
        while done < iterations && norm / first > tolerance {
            done += 1;
            if preconditioned {
                self.multigrid(&residual, &mut z)?;
            } else {
                z[..own].copy_from_slice(&residual[..own]);
            }
            let before = square;
            square = self.dot(&residual, &z)?;
            let beta = if done == 1 { 0.0 } else { square / before };
            for row in 0..own {
                direction[row] = z[row] + beta * direction[row];
            }
            self.multiply(&mut direction, &mut product)?;
            let alpha = square / self.dot(&direction, &product)?;
            for row in 0..own {
                x[row] += alpha * direction[row];
                residual[row] -= alpha * product[row];
            }
            self.operations += 6.0 * own as f64;
            norm = self.dot(&residual, &residual)?.sqrt();
        }
        Ok(Solved { iterations: done, reduction: norm / first })
    }

    /// With a large diagonal, there is a known number of iterations: one for each of its different values,
    /// and some; the preconditioner solves it almost at once.
    fn test_iterations(&mut self, right: &[f64]) -> RmpiResult<[Solved; 2]> {
        let before = (self.levels[0].values.clone(), self.levels[0].diagonal.clone());
        let mut large_right = right.to_vec();
        let fine = &mut self.levels[0];
        for (row, right) in large_right.iter_mut().enumerate() {
            let global = self.global_row[row];
            let scale = if global < 9 { (global + 2) as f64 * 1e6 } else { 1e6 };
            let range = fine.rows[row]..fine.rows[row + 1];
            let at = range.clone().find(|at| fine.columns[*at] as usize == row);
            fine.values[at.expect("each row has a diagonal")] *= scale;
            fine.diagonal[row] *= scale;
            *right *= scale;
        }
        let mut solve = |preconditioned| {
            let mut result = Solved { iterations: 0, reduction: 1.0 };
            for _ in 0..2 {
                let mut x = self.levels[0].vector();
                result = self.solve(&large_right, &mut x, 50, 1e-12, preconditioned)?;
            }
            Ok(result)
        };
        let results = [solve(false)?, solve(true)?];
        (self.levels[0].values, self.levels[0].diagonal) = before;
        Ok(results)
    }

    /// How far matrix and preconditioner are from symmetric, relative to rounding.
    fn test_symmetry(&mut self) -> RmpiResult<[f64; 2]> {
        // Each rank has other numbers.
        let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(self.global_row[0] as u64 + 1);
        let mut vector = || {
            let mut vector = self.levels[0].vector();
            for value in &mut vector {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                *value = (random >> 11) as f64 / (1_u64 << 53) as f64;
            }
            vector
        };
        let (mut x, mut y) = (vector(), vector());
        let mut z = self.levels[0].vector();
        let norms = self.dot(&x, &x)?.sqrt() * self.dot(&y, &y)?.sqrt();
        // The matrix's norm is at most the sum of the absolute values of a row.
        let scale = norms * 52.0 * f64::EPSILON;
        self.multiply(&mut y, &mut z)?;
        let first = self.dot(&x, &z)?;
        self.multiply(&mut x, &mut z)?;
        let matrix = (first - self.dot(&y, &z)?).abs() / scale;
        self.multigrid(&y, &mut z)?;
        let first = self.dot(&x, &z)?;
        self.multigrid(&x, &mut z)?;
        let preconditioner = (first - self.dot(&y, &z)?).abs() / scale;
        Ok([matrix, preconditioner])
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let Arguments { points, iterations } = arguments;
    let least = 1 << (LEVELS - 1);
    if points == 0 || !points.is_multiple_of(least) {
        return Err(format!("--points {points}: a multiple of {least} is needed").into());
    }
    let context = rmpi::init()?;
    // All ranks take rank 0's word for the size, as in the original.
    let mut size = points as u64;
    context.world().process(0).bcast(&mut size)?;
    let rank = context.world().rank()?;
    let mut problem = Problem::new(&context, size as usize)?;
    let right = problem.right_side();

    let mut x = problem.levels[0].vector();
    let mut product = problem.levels[0].vector();
    problem.multiply(&mut x, &mut product)?;
    problem.multigrid(&right, &mut product)?;

    // What the timed set has to reach.
    let reference = problem.solve(&right, &mut x, iterations, 0.0, true)?;
    let tested = problem.test_iterations(&right)?;
    let symmetry = problem.test_symmetry()?;

    let start = problem.context.wtime();
    x.fill(0.0);
    let set = problem.solve(&right, &mut x, 10 * iterations, reference.reduction, true)?;
    // The original decides by the slowest rank how many sets it runs; here there is one.
    let mut longest = 0.0;
    let mine = problem.context.wtime() - start;
    problem.world.allreduce(&mine, &mut longest, MpiOp::MAX)?;

    problem.operations = 0.0;
    let start = problem.context.wtime();
    x.fill(0.0);
    let timed = problem.solve(&right, &mut x, set.iterations, 0.0, true)?;
    let seconds = problem.context.wtime() - start;
    let own = problem.levels[0].own();
    let error = x[..own].iter().map(|value| (value - 1.0).abs()).fold(0.0, f64::max);

    if rank == 0 {
        println!("points a rank: {size}x{size}x{size}");
        println!("timed iterations: {}", timed.iterations);
        println!("timed seconds: {seconds:.6}");
        println!("residual by the first: {:.3e}", timed.reduction);
        println!("largest error on rank 0: {error:.3e}");
        println!(
            "iterations with a large diagonal: {} and {}",
            tested[0].iterations, tested[1].iterations
        );
        println!("asymmetry: {:.3} and {:.3} roundings", symmetry[0], symmetry[1]);
        println!("GFLOP/s of rank 0: {:.3}", problem.operations / seconds * 1e-9);
    }
    let right_iterations = tested[0].iterations <= 12 && tested[1].iterations <= 2;
    let symmetric = symmetry.iter().all(|roundings| *roundings < 10.0);
    let same = (timed.reduction - reference.reduction).abs() <= 1e-6 * reference.reduction;
    if !(right_iterations && symmetric && same) {
        return Err("the results are not those of this problem".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_of_processes() {
        assert_eq!(process_grid(1), [1, 1, 1]);
        assert_eq!(process_grid(7), [1, 1, 7]);
        assert_eq!(process_grid(24), [2, 3, 4]);
        assert_eq!(process_grid(64), [4, 4, 4]);
    }

    /// Inside, each row has 27 entries and the sum 0; a corner of the domain has 8.
    #[test]
    fn the_stencil() {
        let alone = Level::new([4; 3], [1; 3], [0; 3]);
        assert_eq!(alone.row(0).count(), 8);
        assert_eq!(alone.row(21).count(), 27);
        assert_eq!(alone.row(21).map(|(_, value)| value).sum::<f64>(), 0.0);
        assert_eq!(alone.external, 0);
        // In the middle of 27 processes there is a neighbour for each of 26 directions, and the points around
        // a cube of 4.
        let middle = Level::new([4; 3], [3; 3], [1; 3]);
        assert_eq!(middle.neighbors.len(), 26);
        assert_eq!(middle.external, 6 * 6 * 6 - 4 * 4 * 4);
        assert_eq!(middle.rows.last(), Some(&(27 * 64)));
    }
}
