//! What atoms do to each other: the potentials, and the energy of the perfect crystal by them.

use rmpi::{Communicator, RmpiResult};

/// Of copper: 63.546 u, in eV fs^2 / angstrom^2.
pub(crate) const MASS: f64 = 63.546 * 103.642_697;

/// A function of a distance or of a density in equal steps, with its derivative, by cubic interpolation.
pub(crate) struct Table {
    start: f64,
    step: f64,
    values: Vec<f64>,
}

impl Table {
    const POINTS: usize = 4000;

    fn new(start: f64, end: f64, function: impl Fn(f64) -> f64) -> Self {
        let step = (end - start) / (Self::POINTS - 3) as f64;
        // One more at each end, for the slope there.
        let values = (0..Self::POINTS).map(|i| function(start + step * (i as f64 - 1.0))).collect();
        Self { start, step, values }
    }

    /// Value and derivative.
    pub(crate) fn at(&self, x: f64) -> (f64, f64) {
        let place = ((x - self.start) / self.step).max(0.0);
        let index = (place as usize).min(self.values.len() - 4);
        let t = place - index as f64;
        let [before, from, to, after] = self.values[index..index + 4] else { unreachable!("four") };
        let (slope_from, slope_to) = ((to - before) / 2.0, (after - from) / 2.0);
        let b = 3.0 * (to - from) - 2.0 * slope_from - slope_to;
        let c = 2.0 * (from - to) + slope_from + slope_to;
        let value = from + t * (slope_from + t * (b + t * c));
        (value, (slope_from + t * (2.0 * b + 3.0 * t * c)) / self.step)
    }

    /// Rank 0's, on all ranks: as CoMD gives its potential's file to all.
    fn bcast(&mut self, world: &Communicator<'_>) -> RmpiResult {
        let root = world.process(0);
        let mut range = [self.start, self.step];
        root.bcast(&mut range)?;
        [self.start, self.step] = range;
        root.bcast(&mut self.values[..])
    }
}

pub(crate) enum Potential {
    LennardJones { epsilon: f64, sigma: f64 },
    EmbeddedAtom { pair: Table, density: Table, embedding: Table },
}

impl Potential {
    pub(crate) fn new(world: &Communicator<'_>, eam: bool) -> RmpiResult<Self> {
        if !eam {
            return Ok(Self::LennardJones { epsilon: 0.167, sigma: 2.315 });
        }
        let (a, epsilon, c) = (3.61, 1.2382e-2, 39.432);
        let cutoff = Self::cutoff_of(eam);
        // Shifted, so that both are zero at the cutoff.
        let shifted = |power: i32| move |r: f64| (a / r).powi(power) - (a / cutoff).powi(power);
        let (pair, density) = (shifted(9), shifted(6));
        let mut tables = [
            Table::new(1.0, cutoff, |r| epsilon * pair(r)),
            Table::new(1.0, cutoff, density),
            Table::new(0.0, 200.0, |rho: f64| -epsilon * c * rho.max(0.0).sqrt()),
        ];
        // The cutoff first, as its potential's file has more than tables.
        let mut header = [cutoff, a, MASS];
        world.process(0).bcast(&mut header)?;
        for table in &mut tables {
            table.bcast(world)?;
        }
        let [pair, density, embedding] = tables;
        Ok(Self::EmbeddedAtom { pair, density, embedding })
    }

    pub(crate) fn cutoff_of(eam: bool) -> f64 {
        if eam { 2.0 * 3.61 } else { 2.5 * 2.315 }
    }

    pub(crate) fn lattice(eam: bool) -> f64 {
        if eam { 3.61 } else { 3.615 }
    }
}

/// The energy of an atom in a perfect crystal, summed over the lattice points around one of them.
pub(crate) fn crystal_energy(eam: bool) -> f64 {
    let (a, cutoff) = (Potential::lattice(eam), Potential::cutoff_of(eam));
    let mut distances = Vec::new();
    for x in -8..=8_i32 {
        for y in -8..=8_i32 {
            for z in -8..=8_i32 {
                let square = f64::from(x * x + y * y + z * z) * a * a / 4.0;
                if (x + y + z) % 2 == 0 && square > 0.0 && square < cutoff * cutoff {
                    distances.push(square.sqrt());
                }
            }
        }
    }
    let sum = |function: &dyn Fn(f64) -> f64| -> f64 {
        distances.iter().map(|distance| function(*distance) - function(cutoff)).sum()
    };
    if eam {
        let (epsilon, c) = (1.2382e-2, 39.432);
        let density = sum(&|r| (3.61 / r).powi(6));
        epsilon * (0.5 * sum(&|r| (3.61 / r).powi(9)) - c * density.sqrt())
    } else {
        0.5 * 4.0 * 0.167 * sum(&|r| (2.315 / r).powi(12) - (2.315 / r).powi(6))
    }
}
