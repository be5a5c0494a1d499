//! What the end of a program costs by the number of ranks: `a + b log2 p + c p`, none of them negative.
//!
//! `a` is what each end costs, `b` a step of a reduction's tree, `c` what ranks add that have to wait for a
//! processor, or that are asked one by one. The fit is of the least sum of relative distances, so that a few
//! bad runs do not turn it, and small numbers of ranks count as much as large ones.

use crate::sample::{Estimate, Random, median};

/// The three parts of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model(pub(crate) [f64; 3]);

fn terms(ranks: f64) -> [f64; 3] {
    [1.0, ranks.log2(), ranks]
}

impl Model {
    pub(crate) fn at(&self, ranks: f64) -> f64 {
        self.0.iter().zip(terms(ranks)).map(|(factor, term)| factor * term).sum()
    }

    /// With a processor for each rank: what ranks wait for one another on `processors` is each rank's own
    /// work there.
    pub(crate) fn at_with_processors(&self, ranks: f64, processors: f64) -> f64 {
        let [once, step, waiting] = self.0;
        once + step * ranks.log2() + waiting * processors
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
fn fit_terms(points: &[(f64, f64)], scales: &[f64], chosen: &[usize]) -> Option<Model> {
    let mut weights: Vec<f64> = scales.iter().map(|scale| 1.0 / (scale * scale)).collect();
    let mut model = Model([0.0; 3]);
    for _ in 0..50 {
        let mut rows = vec![vec![0.0; chosen.len() + 1]; chosen.len()];
        for ((ranks, time), weight) in points.iter().zip(&weights) {
            let terms = terms(*ranks);
            for (row, a) in rows.iter_mut().zip(chosen) {
                for (value, b) in row.iter_mut().zip(chosen) {
                    *value += weight * terms[*a] * terms[*b];
                }
                row[chosen.len()] += weight * terms[*a] * time;
            }
        }
        let factors = solve(rows)?;
        model = Model([0.0; 3]);
        for (factor, term) in factors.into_iter().zip(chosen) {
            model.0[*term] = factor;
        }
        for (((ranks, time), scale), weight) in points.iter().zip(scales).zip(&mut weights) {
            let distance = (time - model.at(*ranks)).abs() / scale;
            *weight = 1.0 / (scale * scale * distance.max(1e-6));
        }
    }
    model.0.iter().all(|factor| *factor >= 0.0).then_some(model)
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
pub(crate) fn fit(points: &[(f64, f64)]) -> Option<Model> {
    let medians = medians(points);
    if medians.len() < 3 {
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
    let choices: [&[usize]; 7] = [&[0, 1, 2], &[0, 1], &[0, 2], &[1, 2], &[0], &[1], &[2]];
    choices
        .into_iter()
        .filter_map(|chosen| fit_terms(points, &scales, chosen))
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// A fit, and how far it can be trusted.
pub(crate) struct Fitted {
    pub(crate) model: Model,
    /// Its three parts, with 95 % intervals from resampling.
    pub(crate) parts: [Estimate; 3],
    /// How far the model is from the median of each number of ranks, as a part of it: the median and the
    /// most.
    pub(crate) error: f64,
    pub(crate) worst: f64,
    /// What a model of all but the largest number of ranks says of that one, by what it took.
    pub(crate) prediction: f64,
}

pub(crate) fn fitted(points: &[(f64, f64)]) -> Option<Fitted> {
    const RESAMPLES: usize = 200;
    let model = fit(points)?;
    let mut random = Random::new();
    let medians = medians(points);
    let mut parts: [Vec<f64>; 3] = Default::default();
    for _ in 0..RESAMPLES {
        // As many of each number of ranks as there were.
        let sample: Vec<(f64, f64)> = medians
            .iter()
            .flat_map(|(ranks, _)| {
                let of: Vec<_> = points.iter().filter(|point| point.0 == *ranks).collect();
                (0..of.len()).map(|_| *of[random.below(of.len())]).collect::<Vec<_>>()
            })
            .collect();
        if let Some(model) = fit(&sample) {
            parts.iter_mut().zip(model.0).for_each(|(part, value)| part.push(value));
        }
    }
    let mut errors: Vec<f64> =
        medians.iter().map(|(ranks, time)| (model.at(*ranks) / time - 1.0).abs()).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let (last, others) = medians.split_last()?;
    let before: Vec<_> = points.iter().copied().filter(|point| point.0 < last.0).collect();
    let prediction = match fit(&before) {
        Some(model) if others.len() >= 3 => model.at(last.0) / last.1,
        _ => f64::NAN,
    };
    let mut index = 0;
    let parts = parts.map(|mut part| {
        part.sort_by(f64::total_cmp);
        let at = |share: usize| part.get(part.len() * share / 1000).copied().unwrap_or(f64::NAN);
        index += 1;
        Estimate { median: model.0[index - 1], low: at(25), high: at(975) }
    });
    Some(Fitted { model, parts, error: median(&mut errors), worst, prediction })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    fn points(model: [f64; 3], bad: usize) -> Vec<(f64, f64)> {
        let rounds = (0..5).flat_map(|round| RANKS.iter().map(move |ranks| (round, *ranks)));
        rounds
            .enumerate()
            .map(|(number, (round, ranks))| {
                let noise = 1.0 + 0.01 * f64::from(round - 2);
                let disturbed = if number % 11 < bad { 4.0 } else { 1.0 };
                (ranks, Model(model).at(ranks) * noise * disturbed)
            })
            .collect()
    }

    #[test]
    fn a_known_model_is_found_again() {
        for model in [[0.01, 0.002, 0.0], [0.01, 0.0, 0.004], [0.003, 0.002, 0.001]] {
            let fitted = fitted(&points(model, 0)).unwrap();
            for (found, known) in fitted.model.0.iter().zip(model) {
                assert!((found - known).abs() < 0.05 * model[0].max(known), "{:?}", fitted.model);
            }
            assert!(fitted.worst < 0.05 && (fitted.prediction - 1.0).abs() < 0.05);
        }
    }

    /// A tenth of the runs takes four times as long.
    #[test]
    fn a_few_bad_runs_do_not_turn_it() {
        let fitted = fitted(&points([0.01, 0.002, 0.001], 1)).unwrap();
        assert!(fitted.worst < 0.1, "{:?}", fitted.model);
    }

    #[test]
    fn too_few_numbers_of_ranks_make_no_model() {
        assert!(fit(&[(1.0, 1.0), (2.0, 2.0)]).is_none());
    }
}
