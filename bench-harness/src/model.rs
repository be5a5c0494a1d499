//! What the end of a program costs by the number of ranks p on k processors:
//! `a + b log2 p + c w + d w log2 p`, none of the factors negative, where `w` is how many ranks wait for each
//! one that runs, `p / k - 1` and at least zero.
//!
//! `a` is what each end costs, `b` a step of a reduction's tree. Where ranks wait for a processor, `c` is what
//! each of them adds once, and `d` what it adds to each step. With a processor for each rank, `a + b log2 p`
//! is left. The fit is of the least sum of relative distances, so that a few bad runs do not turn it, and small
//! numbers of ranks count as much as large ones.

use crate::sample::{Estimate, Random, median};

const TERMS: usize = 4;

/// The parts of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model {
    pub(crate) factors: [f64; TERMS],
    processors: f64,
}

fn terms(ranks: f64, processors: f64) -> [f64; TERMS] {
    let waiting = (ranks / processors - 1.0).max(0.0);
    [1.0, ranks.log2(), waiting, waiting * ranks.log2()]
}

impl Model {
    pub(crate) fn at(&self, ranks: f64) -> f64 {
        let terms = terms(ranks, self.processors);
        self.factors.iter().zip(terms).map(|(factor, term)| factor * term).sum()
    }

    /// With a processor for each rank.
    pub(crate) fn at_with_processors(&self, ranks: f64) -> f64 {
        Self { processors: ranks, ..*self }.at(ranks)
    }
}

/// Solves as many equations as unknowns, by elimination; None where they do not say all.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for column in 0..n {
        let largest =
            |a: &usize, b: &usize| rows[*a][column].abs().total_cmp(&rows[*b][column].abs());
        let pivot = (column..n).max_by(largest)?;
        rows.swap(column, pivot);
        if rows[column][column].abs() < 1e-300 {
            return None;
        }
        let line = rows[column].clone();
        for (number, row) in rows.iter_mut().enumerate() {
            if number != column {
                let factor = row[column] / line[column];
                row.iter_mut().zip(&line).for_each(|(value, above)| *value -= factor * above);
            }
        }
    }
    Some((0..n).map(|row| rows[row][n] / rows[row][row]).collect())
}

/// The least sum of weighted absolute distances with some of the terms, by reweighted least squares.
fn fit_terms(
    points: &[(f64, f64)],
    scales: &[f64],
    chosen: &[usize],
    processors: f64,
) -> Option<Model> {
    let mut weights: Vec<f64> = scales.iter().map(|scale| 1.0 / (scale * scale)).collect();
    let none = Model { factors: [0.0; TERMS], processors };
    let mut model = none;
    for _ in 0..30 {
        let mut rows = vec![vec![0.0; chosen.len() + 1]; chosen.len()];
        for ((ranks, time), weight) in points.iter().zip(&weights) {
            let terms = terms(*ranks, processors);
            for (row, a) in rows.iter_mut().zip(chosen) {
                for (value, b) in row.iter_mut().zip(chosen) {
                    *value += weight * terms[*a] * terms[*b];
                }
                row[chosen.len()] += weight * terms[*a] * time;
            }
        }
        let factors = solve(rows)?;
        model = none;
        for (factor, term) in factors.into_iter().zip(chosen) {
            model.factors[*term] = factor;
        }
        for (((ranks, time), scale), weight) in points.iter().zip(scales).zip(&mut weights) {
            let distance = (time - model.at(*ranks)).abs() / scale;
            *weight = 1.0 / (scale * scale * distance.max(1e-6));
        }
    }
    model.factors.iter().all(|factor| *factor >= 0.0).then_some(model)
}

/// The median of the values of each number of ranks, ascending.
pub(crate) fn medians(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut ranks: Vec<f64> = points.iter().map(|point| point.0).collect();
    ranks.sort_by(f64::total_cmp);
    ranks.dedup();
    ranks
        .into_iter()
        .map(|ranks| {
            let of = points.iter().filter(|point| point.0 == ranks);
            (ranks, median(&mut of.map(|point| point.1).collect::<Vec<_>>()))
        })
        .collect()
}

/// Fits to points of ranks and time; None if there are too few.
pub(crate) fn fit(points: &[(f64, f64)], processors: f64) -> Option<Model> {
    let medians = medians(points);
    if medians.len() < TERMS {
        return None;
    }
    let most = medians.iter().map(|point| point.1.abs()).fold(0.0, f64::max);
    // Differences near zero say no more than those of a hundredth of the largest.
    let scales: Vec<f64> = points
        .iter()
        .map(|(ranks, _)| {
            let same = medians.iter().find(|point| point.0 == *ranks);
            same.map_or(most, |point| point.1.abs()).max(most / 100.0).max(1e-300)
        })
        .collect();
    let distance = |model: &Model| -> f64 {
        let distances = points.iter().zip(&scales);
        distances.map(|((ranks, time), scale)| (time - model.at(*ranks)).abs() / scale).sum()
    };
    (1_usize..1 << TERMS)
        .filter_map(|choice| {
            let chosen: Vec<usize> = (0..TERMS).filter(|term| choice >> term & 1 == 1).collect();
            fit_terms(points, &scales, &chosen, processors)
        })
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// A fit, and how far it can be trusted.
pub(crate) struct Fitted {
    pub(crate) model: Model,
    /// Its parts, with 95 % intervals from resampling.
    pub(crate) parts: [Estimate; TERMS],
    /// How far the model is from the median of each number of ranks, as a part of it: the median and the
    /// most.
    pub(crate) error: f64,
    pub(crate) worst: f64,
    /// What a model of all but the largest number of ranks says of that one, by what it took.
    pub(crate) prediction: f64,
}

pub(crate) fn fitted(points: &[(f64, f64)], processors: f64) -> Option<Fitted> {
    const RESAMPLES: usize = 100;
    let model = fit(points, processors)?;
    let mut random = Random::new();
    let medians = medians(points);
    let mut parts: [Vec<f64>; TERMS] = Default::default();
    for _ in 0..RESAMPLES {
        // As many of each number of ranks as there were.
        let sample: Vec<(f64, f64)> = medians
            .iter()
            .flat_map(|(ranks, _)| {
                let of: Vec<_> = points.iter().filter(|point| point.0 == *ranks).collect();
                (0..of.len()).map(|_| *of[random.below(of.len())]).collect::<Vec<_>>()
            })
            .collect();
        if let Some(model) = fit(&sample, processors) {
            parts.iter_mut().zip(model.factors).for_each(|(part, value)| part.push(value));
        }
    }
    let mut errors: Vec<f64> =
        medians.iter().map(|(ranks, time)| (model.at(*ranks) / time - 1.0).abs()).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let (last, others) = medians.split_last()?;
    let before: Vec<_> = points.iter().copied().filter(|point| point.0 < last.0).collect();
    let prediction = match fit(&before, processors) {
        Some(model) if others.len() >= TERMS => model.at(last.0) / last.1,
        _ => f64::NAN,
    };
    let mut index = 0;
    let parts = parts.map(|mut part| {
        part.sort_by(f64::total_cmp);
        let at = |share: usize| part.get(part.len() * share / 1000).copied().unwrap_or(f64::NAN);
        index += 1;
        Estimate { median: model.factors[index - 1], low: at(25), high: at(975) }
    });
    Some(Fitted { model, parts, error: median(&mut errors), worst, prediction })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    fn points(factors: [f64; TERMS], bad: usize) -> Vec<(f64, f64)> {
        let model = Model { factors, processors: 2.0 };
        let rounds = (0..5).flat_map(|round| RANKS.iter().map(move |ranks| (round, *ranks)));
        rounds
            .enumerate()
            .map(|(number, (round, ranks))| {
                let noise = 1.0 + 0.01 * f64::from(round - 2);
                let disturbed = if number % 11 < bad { 4.0 } else { 1.0 };
                (ranks, model.at(ranks) * noise * disturbed)
            })
            .collect()
    }

    #[test]
    fn a_known_model_is_found_again() {
        for known in [[0.01, 0.002, 0.0, 0.0], [0.01, 0.0, 0.004, 0.0], [0.003, 0.002, 0.001, 0.01]]
        {
            let fitted = fitted(&points(known, 0), 2.0).unwrap();
            for (found, known) in fitted.model.factors.iter().zip(known) {
                assert!((found - known).abs() < 6e-4, "{:?}", fitted.model);
            }
            assert!(fitted.worst < 0.05 && (fitted.prediction - 1.0).abs() < 0.05);
            let beyond = known[0] + 10.0 * known[1];
            assert!((fitted.model.at_with_processors(1024.0) / beyond - 1.0).abs() < 0.2);
        }
    }

    /// A tenth of the runs takes four times as long.
    #[test]
    fn a_few_bad_runs_do_not_turn_it() {
        let fitted = fitted(&points([0.01, 0.002, 0.001, 0.003], 1), 2.0).unwrap();
        assert!(fitted.worst < 0.1, "{:?}", fitted.model);
    }

    #[test]
    fn too_few_numbers_of_ranks_make_no_model() {
        assert!(fit(&[(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)], 2.0).is_none());
    }
}
