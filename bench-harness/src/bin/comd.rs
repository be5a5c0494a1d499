//! Molecular dynamics of copper with short-ranged forces in link cells: the algorithm and the communication
//! of CoMD, six messages a step for atoms and, with the embedded-atom method, six for its forces.
//!
//! Potentials: Lennard-Jones as in CoMD, and Sutton and Chen's for copper (Phil. Mag. Lett. 61, 1990) for
//! the embedded-atom method. Units: angstrom, electronvolt, femtosecond, kelvin. Every run checks itself:
//! the energy of the perfect crystal, the number of atoms, energy and momentum over time.

use std::error::Error;

use clap::Parser;
use rmpi::{Communicator, MpiDatatype, MpiOp, RmpiContext, RmpiResult, Tag};

#[derive(Parser)]
#[command(about = "Molecular dynamics with link cells, as CoMD does it")]
struct Arguments {
    /// Unit cells (of four atoms) in each direction, over all ranks
    #[arg(short = 'x', long, default_value_t = 20)]
    nx: usize,
    #[arg(short = 'y', long, default_value_t = 20)]
    ny: usize,
    #[arg(short = 'z', long, default_value_t = 20)]
    nz: usize,
    /// Ranks in each direction
    #[arg(short = 'i', long, default_value_t = 1)]
    xproc: usize,
    #[arg(short = 'j', long, default_value_t = 1)]
    yproc: usize,
    #[arg(short = 'k', long, default_value_t = 1)]
    zproc: usize,
    /// The embedded-atom method, in place of Lennard-Jones
    #[arg(short = 'e', long)]
    eam: bool,
    #[arg(short = 'N', long, default_value_t = 100)]
    steps: usize,
    /// Steps between lines of output
    #[arg(short = 'n', long, default_value_t = 10)]
    print: usize,
    /// A step in femtoseconds
    #[arg(short = 'd', long, default_value_t = 1.0)]
    dt: f64,
    /// Kelvin at the beginning
    #[arg(short = 'T', long, default_value_t = 600.0)]
    temperature: f64,
}

type Vector = [f64; 3];
type Triple = [usize; 3];

/// Boltzmann's constant, eV/K.
const BOLTZMANN: f64 = 8.617_333_262e-5;
/// Of copper: 63.546 u, in eV fs^2 / angstrom^2.
const MASS: f64 = 63.546 * 103.642_697;
const TAG: Tag = Tag::new(10);

#[derive(Clone, Copy, Debug, Default, MpiDatatype)]
struct Atom {
    id: i32,
    position: Vector,
    momentum: Vector,
}

/// A function of a distance or of a density in equal steps, with its derivative, by cubic interpolation.
struct Table {
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
    fn at(&self, x: f64) -> (f64, f64) {
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

enum Potential {
    LennardJones { epsilon: f64, sigma: f64 },
    EmbeddedAtom { pair: Table, density: Table, embedding: Table },
}

impl Potential {
    fn new(world: &Communicator<'_>, eam: bool) -> RmpiResult<Self> {
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

    fn cutoff_of(eam: bool) -> f64 {
        if eam { 2.0 * 3.61 } else { 2.5 * 2.315 }
    }

    fn lattice(eam: bool) -> f64 {
        if eam { 3.61 } else { 3.615 }
    }
}

#[derive(Clone, Default)]
struct Cell {
    atoms: Vec<Atom>,
    force: Vec<Vector>,
    /// The derivative of the embedding energy, by atom.
    embedding: Vec<f64>,
}

/// Which layers of cells at an end of a rank's part.
#[derive(Clone, Copy, PartialEq)]
enum Layers {
    /// The last own one.
    Own,
    /// The one that other ranks' atoms are in.
    Outside,
    Both,
}

struct Domain<'a> {
    context: &'a RmpiContext,
    world: &'a Communicator<'a>,
    /// The neighbours behind and ahead, by direction.
    neighbors: [[usize; 2]; 3],
    /// The whole box, and where this rank's part begins and how long it is.
    whole: Vector,
    origin: Vector,
    length: Vector,
    place: Triple,
    processes: Triple,
    /// Own cells in each direction; there is one more at each end, for other ranks' atoms.
    boxes: Triple,
    cells: Vec<Cell>,
    cutoff: f64,
    potential: Potential,
    atoms: u64,
    potential_energy: f64,
    kinetic_energy: f64,
    /// Room for messages.
    receive: Vec<Atom>,
    receive_values: Vec<f64>,
}

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

impl<'a> Domain<'a> {
    fn new(context: &'a RmpiContext, arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let world = context.world();
        let (rank, ranks) = (world.rank()?, world.size()?);
        let &Arguments { nx, ny, nz, xproc, yproc, zproc, eam, .. } = arguments;
        let (cells, processes) = ([nx, ny, nz], [xproc, yproc, zproc]);
        if processes.iter().product::<usize>() != ranks {
            return Err(format!("{ranks} ranks, but -i -j -k make {processes:?} of them").into());
        }
        let place = [rank % xproc, rank / xproc % yproc, rank / xproc / yproc];
        let rank_at = |place: Triple| place[0] + xproc * (place[1] + yproc * place[2]);
        let lattice = Potential::lattice(eam);
        let potential = Potential::new(world, eam)?;
        let cutoff = Potential::cutoff_of(eam);
        let whole: Vector = std::array::from_fn(|axis| cells[axis] as f64 * lattice);
        let length: Vector = std::array::from_fn(|axis| whole[axis] / processes[axis] as f64);
        let origin: Vector = std::array::from_fn(|axis| length[axis] * place[axis] as f64);
        let boxes = length.map(|length| (length / cutoff) as usize);
        if boxes.contains(&0) || (0..3).any(|axis| whole[axis] < 2.0 * cutoff) {
            return Err(format!("parts of {length:.1?} angstrom: too small for {cutoff:.1}").into());
        }
        let neighbors = std::array::from_fn(|axis| {
            [processes[axis] - 1, 1].map(|step| {
                let mut there = place;
                there[axis] = (place[axis] + step) % processes[axis];
                rank_at(there)
            })
        });
        let mut domain = Self {
            context,
            world,
            neighbors,
            whole,
            origin,
            length,
            place,
            processes,
            boxes,
            cells: vec![Cell::default(); boxes.iter().map(|n| n + 2).product()],
            cutoff,
            potential,
            atoms: 0,
            potential_energy: 0.0,
            kinetic_energy: 0.0,
            receive: Vec::new(),
            receive_values: Vec::new(),
        };
        domain.fill(cells, lattice);
        let mine = domain.own_atoms().count() as u64;
        world.allreduce(&mine, &mut domain.atoms, MpiOp::SUM)?;
        if domain.atoms != 4 * cells.iter().product::<usize>() as u64 {
            return Err(format!("{} atoms in {cells:?} unit cells", domain.atoms).into());
        }
        // What a rank sends of a layer of cells, and more.
        let most = domain.cells.len() * 64;
        domain.receive = vec![Atom::default(); most];
        domain.receive_values = vec![0.0; most];
        Ok(domain)
    }

    /// A face-centred cubic crystal.
    fn fill(&mut self, cells: Triple, lattice: f64) {
        const BASIS: [Vector; 4] =
            [[0.25; 3], [0.25, 0.75, 0.75], [0.75, 0.25, 0.75], [0.75, 0.75, 0.25]];
        let ends = |axis: usize| {
            let first = (self.origin[axis] / lattice).floor() as usize;
            first
                ..(((self.origin[axis] + self.length[axis]) / lattice).ceil() as usize)
                    .min(cells[axis])
        };
        let mut atoms = Vec::new();
        for x in ends(0) {
            for y in ends(1) {
                for z in ends(2) {
                    for (number, basis) in BASIS.iter().enumerate() {
                        let corner = [x, y, z];
                        let position: Vector = std::array::from_fn(|axis| {
                            (corner[axis] as f64 + basis[axis]) * lattice
                        });
                        let id = number + 4 * (z + cells[2] * (y + cells[1] * x));
                        atoms.push(Atom { id: id as i32, position, momentum: [0.0; 3] });
                    }
                }
            }
        }
        for atom in atoms {
            let cell = self.cell_of(atom.position);
            if self.is_own(cell) {
                let index = self.index(cell);
                self.cells[index].atoms.push(atom);
            }
        }
    }

    fn index(&self, [x, y, z]: Triple) -> usize {
        x + (self.boxes[0] + 2) * (y + (self.boxes[1] + 2) * z)
    }

    /// Cells are counted from the outer ones: own ones begin at 1.
    fn is_own(&self, cell: Triple) -> bool {
        (0..3).all(|axis| (1..=self.boxes[axis]).contains(&cell[axis]))
    }

    fn cell_of(&self, position: Vector) -> Triple {
        std::array::from_fn(|axis| {
            let offset = position[axis] - self.origin[axis];
            // Who an atom on a border belongs to is decided by this comparison alone, on both sides.
            if offset < 0.0 {
                0
            } else if position[axis] >= self.end(axis) {
                self.boxes[axis] + 1
            } else {
                let cell = offset * self.boxes[axis] as f64 / self.length[axis];
                (cell as usize).min(self.boxes[axis] - 1) + 1
            }
        })
    }

    /// Where the next rank's part begins.
    fn end(&self, axis: usize) -> f64 {
        if self.place[axis] + 1 == self.processes[axis] {
            self.whole[axis]
        } else {
            self.length[axis] * (self.place[axis] + 1) as f64
        }
    }

    fn own_cells(&self) -> impl Iterator<Item = Triple> + use<> {
        self.cells_in([1, 1, 1], self.boxes)
    }

    fn cells_in(&self, from: Triple, to: Triple) -> impl Iterator<Item = Triple> + use<> {
        (from[2]..=to[2]).flat_map(move |z| {
            (from[1]..=to[1]).flat_map(move |y| (from[0]..=to[0]).map(move |x| [x, y, z]))
        })
    }

    fn own_atoms(&self) -> impl Iterator<Item = &Atom> {
        self.own_cells().flat_map(|cell| &self.cells[self.index(cell)].atoms)
    }

    fn for_each_own(&mut self, mut change: impl FnMut(&mut Atom, Vector)) {
        for cell in self.own_cells() {
            let index = self.index(cell);
            let Cell { atoms, force, .. } = &mut self.cells[index];
            for (number, atom) in atoms.iter_mut().enumerate() {
                change(atom, force.get(number).copied().unwrap_or_default());
            }
        }
    }

    /// Layers of cells at an end of a direction.
    fn layers(&self, axis: usize, ahead: bool, which: Layers) -> Vec<usize> {
        let (mut from, mut to) = ([0; 3], self.boxes.map(|n| n + 1));
        let last = self.boxes[axis];
        (from[axis], to[axis]) = match (ahead, which) {
            (false, Layers::Both) => (0, 1),
            (false, Layers::Outside) => (0, 0),
            (false, Layers::Own) => (1, 1),
            (true, Layers::Both) => (last, last + 1),
            (true, Layers::Outside) => (last + 1, last + 1),
            (true, Layers::Own) => (last, last),
        };
        if which != Layers::Both {
            // What is outside in the directions that come later is not there yet.
            for later in axis + 1..3 {
                (from[later], to[later]) = (1, self.boxes[later]);
            }
        }
        self.cells_in(from, to).map(|cell| self.index(cell)).collect()
    }

    /// Sends atoms to both sides of each direction: those that have gone there, and copies of those near to it.
    fn redistribute(&mut self) -> RmpiResult {
        // Atoms go to the cells where they are, which may be outside.
        let mut moved = Vec::new();
        for cell in self.cells_in([0; 3], self.boxes.map(|n| n + 1)) {
            let index = self.index(cell);
            if !self.is_own(cell) {
                self.cells[index].atoms.clear();
            }
        }
        for cell in self.own_cells() {
            let index = self.index(cell);
            let mut number = 0;
            while number < self.cells[index].atoms.len() {
                let atom = self.cells[index].atoms[number];
                if self.index(self.cell_of(atom.position)) == index {
                    number += 1;
                } else {
                    moved.push(self.cells[index].atoms.swap_remove(number));
                }
            }
        }
        for atom in moved {
            let index = self.index(self.cell_of(atom.position));
            self.cells[index].atoms.push(atom);
        }
        for axis in 0..3 {
            let outgoing = [false, true].map(|ahead| {
                let mut atoms = Vec::new();
                // Around the whole box, positions begin again.
                let at_end = if ahead {
                    self.place[axis] + 1 == self.processes[axis]
                } else {
                    self.place[axis] == 0
                };
                let shift = match (at_end, ahead) {
                    (false, _) => 0.0,
                    (true, true) => -self.whole[axis],
                    (true, false) => self.whole[axis],
                };
                for index in self.layers(axis, ahead, Layers::Both) {
                    for atom in &self.cells[index].atoms {
                        let mut atom = *atom;
                        atom.position[axis] += shift;
                        atoms.push(atom);
                    }
                }
                atoms
            });
            let [behind, ahead] = self.neighbors[axis];
            let mut arrived = Vec::new();
            for (atoms, to, from) in [(&outgoing[0], behind, ahead), (&outgoing[1], ahead, behind)]
            {
                let (to, from) = (self.world.process(to), self.world.process(from));
                let status = to.sendrecv(&atoms[..], TAG, &from, &mut self.receive[..], TAG)?;
                let count = status.get_count::<Atom>()?.unwrap_or(0);
                arrived.extend_from_slice(&self.receive[..count]);
            }
            for atom in arrived {
                let index = self.index(self.cell_of(atom.position));
                self.cells[index].atoms.push(atom);
            }
        }
        // The same order on all ranks.
        for cell in &mut self.cells {
            cell.atoms.sort_unstable_by_key(|atom| atom.id);
        }
        Ok(())
    }

    /// The neighbours' values for the atoms outside: cell by cell, in the order that all agree on.
    fn exchange_embedding(&mut self) -> RmpiResult {
        let mut receive = core::mem::take(&mut self.receive_values);
        for axis in 0..3 {
            let [behind, ahead] = self.neighbors[axis];
            for (side, to, from) in [(false, behind, ahead), (true, ahead, behind)] {
                let out: Vec<f64> = self
                    .layers(axis, side, Layers::Own)
                    .into_iter()
                    .flat_map(|index| self.cells[index].embedding.iter().copied())
                    .collect();
                let (to, from) = (self.world.process(to), self.world.process(from));
                let status = to.sendrecv(&out[..], TAG, &from, &mut receive[..], TAG)?;
                let count = status.get_count::<f64>()?.unwrap_or(0);
                let mut values = receive[..count].iter();
                for index in self.layers(axis, !side, Layers::Outside) {
                    let cell = &mut self.cells[index];
                    cell.embedding.clear();
                    cell.embedding.extend(values.by_ref().take(cell.atoms.len()));
                }
            }
        }
        self.receive_values = receive;
        Ok(())
    }

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

    fn compute_force(&mut self) -> RmpiResult {
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
    fn sum_energies(&mut self) -> RmpiResult {
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

    fn temperature(&self) -> f64 {
        self.kinetic_energy / self.atoms as f64 / (1.5 * BOLTZMANN)
    }

    fn set_temperature(&mut self, kelvin: f64) -> RmpiResult {
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
    fn steps(&mut self, steps: usize, dt: f64) -> RmpiResult {
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
    fn count_atoms(&self) -> RmpiResult<u64> {
        let mine = self.own_atoms().count() as u64;
        let mut all = 0;
        self.world.allreduce(&mine, &mut all, MpiOp::SUM)?;
        Ok(all)
    }
}

/// The energy of an atom in a perfect crystal, summed over the lattice points around one of them.
fn crystal_energy(eam: bool) -> f64 {
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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let context = rmpi::init()?;
    let mut domain = Domain::new(&context, &arguments)?;
    let is_first = domain.place == [0; 3];
    domain.set_temperature(arguments.temperature)?;
    domain.redistribute()?;
    domain.compute_force()?;
    domain.sum_energies()?;

    let atoms = domain.atoms as f64;
    let expected = crystal_energy(arguments.eam);
    let first = domain.potential_energy / atoms;
    if is_first {
        println!(
            "{} atoms, {first:.8} eV an atom in the crystal ({expected:.8} by its lattice)",
            atoms
        );
        println!("#  step      energy/atom   potential/atom   kelvin   atoms");
    }
    let energy = |domain: &Domain<'_>| (domain.potential_energy + domain.kinetic_energy) / atoms;
    let before = energy(&domain);
    let start = domain.context.wtime();
    let (mut step, mut drift, mut lost) = (0, 0.0_f64, false);
    loop {
        let now = domain.count_atoms()?;
        lost |= now != domain.atoms;
        drift = drift.max((energy(&domain) - before).abs());
        if is_first {
            let (all, potential) = (energy(&domain), domain.potential_energy / atoms);
            let kelvin = domain.temperature();
            println!("{step:7} {all:16.8} {potential:16.8} {kelvin:8.2} {now:7}");
        }
        if step >= arguments.steps {
            break;
        }
        let next = arguments.print.clamp(1, arguments.steps - step);
        domain.steps(next, arguments.dt)?;
        step += next;
    }
    let seconds = domain.context.wtime() - start;
    if is_first {
        println!(
            "microseconds an atom and step: {:.4}",
            seconds * 1e6 / atoms / step.max(1) as f64
        );
        println!("largest change of energy: {drift:.2e} eV an atom");
    }
    let wrong = (first - expected).abs() > 1e-6 * expected.abs();
    // A thousandth of the heat.
    let drifts = drift > 1e-3 * (1.5 * BOLTZMANN * arguments.temperature).max(1e-3);
    if wrong || drifts || lost {
        return Err("the results are not those of this crystal".into());
    }
    Ok(())
}
