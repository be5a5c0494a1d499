//! A rank's part of the box: its cells, the atoms in them at first, and which cells are where.

use std::error::Error;

use rmpi::{Communicator, MpiDatatype, MpiOp, RmpiContext};

use crate::Arguments;
use crate::potential::Potential;

pub(crate) type Vector = [f64; 3];
pub(crate) type Triple = [usize; 3];

#[derive(Clone, Copy, Debug, Default, MpiDatatype)]
pub(crate) struct Atom {
    pub(crate) id: i32,
    pub(crate) position: Vector,
    pub(crate) momentum: Vector,
}

#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub(crate) atoms: Vec<Atom>,
    pub(crate) force: Vec<Vector>,
    /// The derivative of the embedding energy, by atom.
    pub(crate) embedding: Vec<f64>,
}

/// Which layers of cells at an end of a rank's part.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Layers {
    /// The last own one.
    Own,
    /// The one that other ranks' atoms are in.
    Outside,
    Both,
}

pub(crate) struct Domain<'a> {
    pub(crate) context: &'a RmpiContext,
    pub(crate) world: &'a Communicator<'a>,
    /// The neighbours behind and ahead, by direction.
    pub(crate) neighbors: [[usize; 2]; 3],
    /// The whole box, and where this rank's part begins and how long it is.
    pub(crate) whole: Vector,
    origin: Vector,
    length: Vector,
    pub(crate) place: Triple,
    pub(crate) processes: Triple,
    /// Own cells in each direction; there is one more at each end, for other ranks' atoms.
    pub(crate) boxes: Triple,
    pub(crate) cells: Vec<Cell>,
    pub(crate) cutoff: f64,
    pub(crate) potential: Potential,
    pub(crate) atoms: u64,
    pub(crate) potential_energy: f64,
    pub(crate) kinetic_energy: f64,
    /// Room for messages.
    pub(crate) receive: Vec<Atom>,
    pub(crate) receive_values: Vec<f64>,
}

impl<'a> Domain<'a> {
    pub(crate) fn new(
        context: &'a RmpiContext,
        arguments: &Arguments,
    ) -> Result<Self, Box<dyn Error>> {
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

    pub(crate) fn index(&self, [x, y, z]: Triple) -> usize {
        x + (self.boxes[0] + 2) * (y + (self.boxes[1] + 2) * z)
    }

    /// Cells are counted from the outer ones: own ones begin at 1.
    pub(crate) fn is_own(&self, cell: Triple) -> bool {
        (0..3).all(|axis| (1..=self.boxes[axis]).contains(&cell[axis]))
    }

    pub(crate) fn cell_of(&self, position: Vector) -> Triple {
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

    pub(crate) fn own_cells(&self) -> impl Iterator<Item = Triple> + use<> {
        self.cells_in([1, 1, 1], self.boxes)
    }

    pub(crate) fn cells_in(
        &self,
        from: Triple,
        to: Triple,
    ) -> impl Iterator<Item = Triple> + use<> {
        (from[2]..=to[2]).flat_map(move |z| {
            (from[1]..=to[1]).flat_map(move |y| (from[0]..=to[0]).map(move |x| [x, y, z]))
        })
    }

    pub(crate) fn own_atoms(&self) -> impl Iterator<Item = &Atom> {
        self.own_cells().flat_map(|cell| &self.cells[self.index(cell)].atoms)
    }

    pub(crate) fn for_each_own(&mut self, mut change: impl FnMut(&mut Atom, Vector)) {
        for cell in self.own_cells() {
            let index = self.index(cell);
            let Cell { atoms, force, .. } = &mut self.cells[index];
            for (number, atom) in atoms.iter_mut().enumerate() {
                change(atom, force.get(number).copied().unwrap_or_default());
            }
        }
    }

    /// Layers of cells at an end of a direction.
    pub(crate) fn layers(&self, axis: usize, ahead: bool, which: Layers) -> Vec<usize> {
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
}
