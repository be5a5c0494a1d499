//! Multigrid by aggregation: each level's unknowns are groups of about four of the finer one, which are found
//! in the matrix, not in a grid. Notay's K-cycle (Electronic Transactions on Numerical Analysis 37, 2010): on
//! each level one or two steps of conjugate gradients, so that the number of iterations does not grow with
//! that of levels.

use std::collections::BTreeMap;

use rmpi::{Communicator, MpiOp, RmpiResult, split_blocks};

use crate::matrix::Matrix;

/// The coarsest level has at most so many rows, over all ranks, where the others could be halved.
const COARSEST: u64 = 100;

struct Level {
    matrix: Matrix,
    /// For each own row the own row of the next level.
    aggregates: Vec<u32>,
}

/// The last level, which each rank solves for itself.
struct Coarsest {
    begins: Vec<u64>,
    rank: usize,
    /// The lower triangle of Cholesky's decomposition, row by row.
    triangle: Vec<Vec<f64>>,
}

/// Vectors of a level.
struct Work {
    residual: Vec<f64>,
    correction: Vec<f64>,
    product: Vec<f64>,
    /// Of the step of conjugate gradients.
    right: Vec<f64>,
    direction: Vec<f64>,
    solution: Vec<f64>,
    first: Vec<f64>,
}

pub(crate) struct Multigrid<'a> {
    world: &'a Communicator<'a>,
    levels: Vec<Level>,
    coarsest: Coarsest,
    work: Vec<Work>,
}

/// Scalar products over all ranks, by one operation.
pub(crate) fn dot<const N: usize>(
    world: &Communicator<'_>,
    pairs: [(&[f64], &[f64]); N],
) -> RmpiResult<[f64; N]> {
    let mine = pairs.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>());
    let mut all = [0.0; N];
    world.allreduce(&mine, &mut all, MpiOp::SUM)?;
    Ok(all)
}

type Rows = Vec<Vec<(u32, f64)>>;

/// Puts each row together with the one that it is most coupled with, of those that are left; one that has none
/// goes to a pair beside it.
fn pairs(rows: &Rows) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut group = vec![NONE; rows.len()];
    let mut sizes: Vec<u32> = Vec::new();
    for row in 0..rows.len() {
        if group[row] != NONE {
            continue;
        }
        let strongest = |fits: &dyn Fn(usize) -> bool| {
            let others = rows[row].iter().filter(|(other, value)| {
                *other as usize != row && *value < 0.0 && fits(*other as usize)
            });
            // The first of equal ones.
            others.fold(None, |best: Option<(u32, f64)>, &(other, value)| match best {
                Some((_, least)) if least <= value => best,
                _ => Some((other, value)),
            })
        };
        if let Some((other, _)) = strongest(&|other| group[other] == NONE) {
            (group[row], group[other as usize]) = (sizes.len() as u32, sizes.len() as u32);
            sizes.push(2);
        } else if let Some((other, _)) = strongest(&|other| sizes[group[other] as usize] == 2) {
            group[row] = group[other as usize];
            sizes[group[row] as usize] += 1;
        } else {
            group[row] = sizes.len() as u32;
            sizes.push(1);
        }
    }
    group
}

/// The rows of groups: the sums of what is between their members.
fn sums<K: Ord + Copy>(
    groups: &[u32],
    entries: impl Iterator<Item = (usize, K, f64)>,
) -> Vec<Vec<(K, f64)>> {
    let count = groups.iter().max().map_or(0, |most| *most as usize + 1);
    let mut rows: Vec<BTreeMap<K, f64>> = vec![BTreeMap::new(); count];
    for (row, column, value) in entries {
        *rows[groups[row] as usize].entry(column).or_default() += value;
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

impl Level {
    /// Pairs of pairs, within this rank.
    fn aggregate(matrix: &Matrix) -> Vec<u32> {
        let own = matrix.own();
        let rows: Rows = (0..own)
            .map(|row| {
                let local = matrix.row(row).filter(|(column, _)| *column < own);
                local.map(|(column, value)| (column as u32, value)).collect()
            })
            .collect();
        let first = pairs(&rows);
        let entries = rows.iter().enumerate().flat_map(|(row, entries)| {
            let first = &first;
            entries.iter().map(move |(column, value)| (row, first[*column as usize], *value))
        });
        let second = pairs(&sums(&first, entries));
        first.iter().map(|group| second[*group as usize]).collect()
    }

    /// The next level's matrix, by Galerkin's condition.
    fn coarse(
        matrix: &Matrix,
        aggregates: &[u32],
        world: &Communicator<'_>,
        rank: usize,
    ) -> RmpiResult<Matrix> {
        let count = aggregates.iter().max().map_or(0, |most| *most as usize + 1);
        let begins = begins(world, count as u64)?;
        // The groups of other ranks' rows, by their numbers over all ranks.
        let mut groups: Vec<u64> =
            aggregates.iter().map(|group| begins[rank] + u64::from(*group)).collect();
        groups.resize(matrix.own() + matrix.external.len(), 0);
        matrix.exchange(world, &mut groups)?;
        let groups = &groups;
        let entries = (0..matrix.own()).flat_map(|row| {
            matrix.row(row).map(move |(column, value)| (row, groups[column], value))
        });
        Ok(Matrix::new(begins, rank, &sums(aggregates, entries)))
    }
}

/// Where each rank's rows begin if this one has so many.
pub(crate) fn begins(world: &Communicator<'_>, own: u64) -> RmpiResult<Vec<u64>> {
    let mut counts = vec![0_u64; world.size()?];
    world.allgather(&own, &mut counts[..])?;
    let mut begins = vec![0];
    begins.extend(counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    }));
    Ok(begins)
}

/// As many numbers of each rank as it has rows, on all ranks.
fn gather(
    world: &Communicator<'_>,
    begins: &[u64],
    own: &[f64],
    each: usize,
) -> RmpiResult<Vec<f64>> {
    let lengths: Vec<usize> =
        begins.windows(2).map(|ends| (ends[1] - ends[0]) as usize * each).collect();
    let mut all = vec![0.0; lengths.iter().sum()];
    let mut blocks = split_blocks(&mut all, &lengths).expect("as long as all together");
    world.allgatherv(own, &mut blocks)?;
    Ok(all)
}

impl Coarsest {
    fn new(world: &Communicator<'_>, matrix: &Matrix, rank: usize) -> RmpiResult<Self> {
        let (own, all) = (matrix.own(), matrix.all() as usize);
        let mut dense = vec![0.0; own * all];
        for row in 0..own {
            for (column, value) in matrix.row(row) {
                let column = match column.checked_sub(own) {
                    None => matrix.begins[rank] + column as u64,
                    Some(place) => matrix.external[place],
                };
                dense[row * all + column as usize] = value;
            }
        }
        let dense = gather(world, &matrix.begins, &dense, all)?;
        let mut triangle: Vec<Vec<f64>> = Vec::with_capacity(all);
        for row in 0..all {
            let mut line = Vec::with_capacity(row + 1);
            for column in 0..=row {
                let above = if column == row { &line } else { &triangle[column] };
                let sum: f64 = line.iter().zip(above).take(column).map(|(a, b)| a * b).sum();
                let rest = dense[row * all + column] - sum;
                line.push(if column == row { rest.sqrt() } else { rest / above[column] });
            }
            triangle.push(line);
        }
        Ok(Self { begins: matrix.begins.clone(), rank, triangle })
    }

    fn solve(&self, world: &Communicator<'_>, right: &[f64], solution: &mut [f64]) -> RmpiResult {
        let own = (self.begins[self.rank + 1] - self.begins[self.rank]) as usize;
        let mut x = gather(world, &self.begins, &right[..own], 1)?;
        for row in 0..x.len() {
            let line = &self.triangle[row];
            let sum: f64 = line.iter().zip(&x).take(row).map(|(a, b)| a * b).sum();
            x[row] = (x[row] - sum) / line[row];
        }
        for row in (0..x.len()).rev() {
            x[row] /= self.triangle[row][row];
            let value = x[row];
            for (above, factor) in x[..row].iter_mut().zip(&self.triangle[row]) {
                *above -= factor * value;
            }
        }
        let begin = self.begins[self.rank] as usize;
        solution[..own].copy_from_slice(&x[begin..begin + own]);
        Ok(())
    }
}

impl<'a> Multigrid<'a> {
    pub(crate) fn new(world: &'a Communicator<'a>, finest: Matrix) -> RmpiResult<Self> {
        let rank = world.rank()?;
        let mut levels: Vec<Level> = Vec::new();
        let mut matrix = finest;
        let coarsest = loop {
            let aggregates = Level::aggregate(&matrix);
            if matrix.all() <= COARSEST {
                break matrix;
            }
            let coarse = Level::coarse(&matrix, &aggregates, world, rank)?;
            if coarse.all() == matrix.all() {
                break matrix;
            }
            levels.push(Level { matrix, aggregates });
            matrix = coarse;
        };
        let work = levels
            .iter()
            .map(|level| &level.matrix)
            .chain([&coarsest])
            .map(|matrix| {
                let [residual, correction, product, right] = [(); 4].map(|()| matrix.vector());
                let [direction, solution, first] = [(); 3].map(|()| matrix.vector());
                Work { residual, correction, product, right, direction, solution, first }
            })
            .collect();
        let last = Coarsest::new(world, &coarsest, rank)?;
        levels.push(Level { matrix: coarsest, aggregates: Vec::new() });
        Ok(Self { world, levels, coarsest: last, work })
    }

    pub(crate) fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        self.levels.iter().map(|level| &level.matrix)
    }

    pub(crate) fn finest(&self) -> &Matrix {
        &self.levels[0].matrix
    }

    /// About the solution for a right side.
    pub(crate) fn precondition(&mut self, right: &[f64], solution: &mut [f64]) -> RmpiResult {
        cycle(self.world, &self.levels, &self.coarsest, &mut self.work, right, solution)
    }
}

/// Smooths, solves on the next level what is left, and smooths back.
fn cycle(
    world: &Communicator<'_>,
    levels: &[Level],
    coarsest: &Coarsest,
    work: &mut [Work],
    right: &[f64],
    solution: &mut [f64],
) -> RmpiResult {
    let [Level { matrix, aggregates }, coarser @ ..] = levels else { unreachable!("a level") };
    if coarser.is_empty() {
        return coarsest.solve(world, right, solution);
    }
    matrix.smooth_forth(right, solution);
    let (mine, below) = work.split_first_mut().expect("as many as levels");
    matrix.multiply(world, solution, &mut mine.residual)?;
    let own = matrix.own();
    let mut coarse_right = std::mem::take(&mut below[0].right);
    let mut coarse_solution = std::mem::take(&mut below[0].solution);
    coarse_right.fill(0.0);
    for row in 0..own {
        coarse_right[aggregates[row] as usize] += right[row] - mine.residual[row];
    }
    solve(world, coarser, coarsest, below, &mut coarse_right, &mut coarse_solution)?;
    for row in 0..own {
        solution[row] += coarse_solution[aggregates[row] as usize];
    }
    below[0].right = coarse_right;
    below[0].solution = coarse_solution;
    matrix.smooth_back(world, right, solution)
}

/// One or two steps of flexible conjugate gradients; changes the right side.
fn solve(
    world: &Communicator<'_>,
    levels: &[Level],
    coarsest: &Coarsest,
    work: &mut [Work],
    right: &mut [f64],
    solution: &mut [f64],
) -> RmpiResult {
    let matrix = &levels[0].matrix;
    if levels.len() == 1 {
        return coarsest.solve(world, right, solution);
    }
    let own = matrix.own();
    let [mut first, mut product] =
        [std::mem::take(&mut work[0].first), std::mem::take(&mut work[0].product)];
    cycle(world, levels, coarsest, work, right, &mut first)?;
    matrix.multiply(world, &mut first, &mut product)?;
    let [curvature, descent, before, mixed, square] = dot(
        world,
        [
            (&first[..own], &product[..own]),
            (&first[..own], &right[..own]),
            (&right[..own], &right[..own]),
            (&product[..own], &right[..own]),
            (&product[..own], &product[..own]),
        ],
    )?;
    let step = if curvature > 0.0 { descent / curvature } else { 0.0 };
    let after = before - step * (2.0 * mixed - step * square);
    // A step that leaves less than a quarter is enough.
    if after <= 0.0625 * before {
        for row in 0..own {
            solution[row] = step * first[row];
        }
    } else {
        for row in 0..own {
            right[row] -= step * product[row];
        }
        let [mut second, mut image] =
            [std::mem::take(&mut work[0].direction), std::mem::take(&mut work[0].correction)];
        cycle(world, levels, coarsest, work, right, &mut second)?;
        matrix.multiply(world, &mut second, &mut image)?;
        let [between, own_curvature, own_descent] = dot(
            world,
            [
                (&second[..own], &product[..own]),
                (&second[..own], &image[..own]),
                (&second[..own], &right[..own]),
            ],
        )?;
        let rest = own_curvature - between * between / curvature;
        let other = if rest > 0.0 { own_descent / rest } else { 0.0 };
        let step = step - between / curvature * other;
        for row in 0..own {
            solution[row] = step * first[row] + other * second[row];
        }
        (work[0].direction, work[0].correction) = (second, image);
    }
    (work[0].first, work[0].product) = (first, product);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a chain, neighbours come together, and the sum of all entries stays.
    #[test]
    fn pairs_of_a_chain() {
        let row = |at: u32| -> Vec<(u32, f64)> {
            [(at.wrapping_sub(1), -1.0), (at, 2.0), (at + 1, -1.0)]
                .into_iter()
                .filter(|(column, _)| *column < 5)
                .collect()
        };
        let rows: Rows = (0..5).map(row).collect();
        let groups = pairs(&rows);
        // The fifth has nobody left.
        assert_eq!(groups, [0, 0, 1, 1, 1]);
        let entries = rows.iter().enumerate().flat_map(|(row, entries)| {
            let groups = &groups;
            entries.iter().map(move |(column, value)| (row, groups[*column as usize], *value))
        });
        assert_eq!(sums(&groups, entries), [vec![(0, 2.0), (1, -1.0)], vec![(0, -1.0), (1, 2.0)]]);
    }
}
