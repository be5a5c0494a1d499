//! Messages between neighbours: atoms that move or are near, and values for the atoms that are near.

use rmpi::{RmpiResult, Tag};

use crate::domain::{Atom, Domain, Layers};

const TAG: Tag = Tag::new(10);

impl Domain<'_> {
    /// Sends atoms to both sides of each direction: those that have gone there, and copies of those near to it.
    pub(crate) fn redistribute(&mut self) -> RmpiResult {
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
    pub(crate) fn exchange_embedding(&mut self) -> RmpiResult {
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
}
