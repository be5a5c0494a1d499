//! Forces, energies and steps.

use rmpi::{MpiOp, RmpiResult};

use crate::domain::{Domain, Vector};
use crate::potential::{MASS, Potential};

/// Boltzmann's constant, eV/K.
pub(crate) const BOLTZMANN: f64 = 8.617_333_262e-5;

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn add(to: &mut Vector, factor: f64, vector: Vector) {
    for (to, part) in to.iter_mut().zip(vector) {
        *to += factor * part;
    }
}

/// A number that only an atom's own number decides, so that all decompositions begin alike: normally
/// distributed, of three in a row.
fn normal(id: i32, axis: usize) -> f64 {
    let mut state = (id as u64 * 3 + axis as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

impl Domain<'_> {
    /// The atoms around each own atom, within the cutoff: `visit(cell, number, other cell, other number,
    /// distance vector, squared distance)`.
    fn pairs(&self, mut visit: impl FnMut(usize, usize, usize, usize, Vector, f64)) {
        let square = self.cutoff * self.cutoff;
        for [x, y, z] in self.own_cells() {
            let own = self.index([x, y, z]);
            for other in self.cells_in([x - 1, y - 1, z - 1], [x + 1, y + 1, z + 1]) {
                let other = self.index(other);
                for (i, atom) in self.cells[own].atoms.iter().enumerate() {
                    for (j, near) in self.cells[other].atoms.iter().enumerate() {
                        let r: Vector =
                            std::array::from_fn(|axis| atom.position[axis] - near.position[axis]);
                        let distance = dot(r, r);
                        if distance < square && (own, i) != (other, j) {
                            visit(own, i, other, j, r, distance);
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn compute_force(&mut self) -> RmpiResult {
        let mut force: Vec<Vec<Vector>> =
            self.cells.iter().map(|cell| vec![[0.0; 3]; cell.atoms.len()]).collect();
        let mut energy = 0.0;
        match &self.potential {
            Potential::LennardJones { epsilon, sigma } => {
                let sixth = |square: f64| (sigma * sigma / square).powi(3);
                let at_cutoff = sixth(self.cutoff * self.cutoff);
                let shift = at_cutoff * (at_cutoff - 1.0);
                self.pairs(|cell, i, _, _, r, square| {
                    let near = sixth(square);
                    energy += 0.5 * 4.0 * epsilon * (near * (near - 1.0) - shift);
                    let strength = 4.0 * epsilon * near * (12.0 * near - 6.0) / square;
                    add(&mut force[cell][i], strength, r);
                });
            }
            Potential::EmbeddedAtom { pair, density, embedding } => {
                let mut densities: Vec<Vec<f64>> =
                    self.cells.iter().map(|cell| vec![0.0; cell.atoms.len()]).collect();
                self.pairs(|cell, i, _, _, r, square| {
                    let distance = square.sqrt();
                    let (value, slope) = pair.at(distance);
                    energy += 0.5 * value;
                    densities[cell][i] += density.at(distance).0;
                    add(&mut force[cell][i], -slope / distance, r);
                });
                let mut derivatives: Vec<Vec<f64>> = vec![Vec::new(); self.cells.len()];
                for cell in self.own_cells() {
                    let index = self.index(cell);
                    for rho in &densities[index] {
                        let (value, slope) = embedding.at(*rho);
                        energy += value;
                        derivatives[index].push(slope);
                    }
                }
                for (cell, derivatives) in self.cells.iter_mut().zip(derivatives) {
                    cell.embedding = derivatives;
                }
                self.exchange_embedding()?;
                let Potential::EmbeddedAtom { density, .. } = &self.potential else {
                    unreachable!("it is the same")
                };
                self.pairs(|cell, i, other, j, r, square| {
                    let distance = square.sqrt();
                    let slope = density.at(distance).1;
                    let both = self.cells[cell].embedding[i] + self.cells[other].embedding[j];
                    add(&mut force[cell][i], -both * slope / distance, r);
                });
            }
        }
        self.potential_energy = energy;
        for (cell, force) in self.cells.iter_mut().zip(force) {
            cell.force = force;
        }
        Ok(())
    }

    /// Both energies over all ranks, by one operation.
    pub(crate) fn sum_energies(&mut self) -> RmpiResult {
        let kinetic =
            self.own_atoms().map(|atom| dot(atom.momentum, atom.momentum) / (2.0 * MASS)).sum();
        let mut sums = [0.0; 2];
        self.world.allreduce(&[self.potential_energy, kinetic], &mut sums, MpiOp::SUM)?;
        [self.potential_energy, self.kinetic_energy] = sums;
        Ok(())
    }

    /// All momentum, over all ranks.
    fn momentum(&self) -> RmpiResult<Vector> {
        let mut mine = [0.0; 3];
        for atom in self.own_atoms() {
            for (sum, part) in mine.iter_mut().zip(atom.momentum) {
                *sum += part;
            }
        }
        let mut all = [0.0; 3];
        self.world.allreduce(&mine, &mut all, MpiOp::SUM)?;
        Ok(all)
    }

    pub(crate) fn temperature(&self) -> f64 {
        self.kinetic_energy / self.atoms as f64 / (1.5 * BOLTZMANN)
    }

    pub(crate) fn set_temperature(&mut self, kelvin: f64) -> RmpiResult {
        let spread = (MASS * BOLTZMANN * kelvin).sqrt();
        self.for_each_own(|atom, _| {
            atom.momentum = std::array::from_fn(|axis| spread * normal(atom.id, axis));
        });
        let (all, atoms) = (self.momentum()?, self.atoms as f64);
        self.for_each_own(|atom, _| {
            for (part, sum) in atom.momentum.iter_mut().zip(all) {
                *part -= sum / atoms;
            }
        });
        self.sum_energies()?;
        let scale = if kelvin > 0.0 { (kelvin / self.temperature()).sqrt() } else { 0.0 };
        self.for_each_own(|atom, _| atom.momentum = atom.momentum.map(|part| part * scale));
        self.sum_energies()
    }

    /// Steps of the velocity Verlet method.
    pub(crate) fn steps(&mut self, steps: usize, dt: f64) -> RmpiResult {
        for _ in 0..steps {
            self.for_each_own(|atom, force| {
                add(&mut atom.momentum, 0.5 * dt, force);
                add(&mut atom.position, dt / MASS, atom.momentum);
            });
            self.redistribute()?;
            self.compute_force()?;
            self.for_each_own(|atom, force| {
                add(&mut atom.momentum, 0.5 * dt, force);
            });
        }
        self.sum_energies()
    }

    /// Atoms over all ranks, which must stay as many.
    pub(crate) fn count_atoms(&self) -> RmpiResult<u64> {
        let mine = self.own_atoms().count() as u64;
        let mut all = 0;
        self.world.allreduce(&mine, &mut all, MpiOp::SUM)?;
        Ok(all)
    }
}
