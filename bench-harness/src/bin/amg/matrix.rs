//! A sparse matrix of which each rank has some consecutive rows, and what its products exchange.

use rmpi::{Communicator, MpiDatatype, Request, RequestSlice, RmpiResult, Tag};

const TAG: Tag = Tag::new(99);

/// What is exchanged with another rank.
struct Neighbor {
    rank: usize,
    /// The own rows that it needs.
    send: Vec<u32>,
    /// How many of its rows are needed here.
    receive: usize,
}

/// A rank's rows of a symmetric matrix. Vectors have the own rows first, and then those of other ranks that
/// the own ones are coupled with.
pub(crate) struct Matrix {
    /// The row where each rank's part begins, and the end.
    pub(crate) begins: Vec<u64>,
    /// Where the rows begin in the next two, and the end.
    rows: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    diagonal: Vec<f64>,
    neighbors: Vec<Neighbor>,
    /// The numbers of other ranks' rows, ascending, and so rank by rank.
    pub(crate) external: Vec<u64>,
}

impl Matrix {
    /// A matrix of these rows: columns by their numbers over all ranks, each once, and values.
    pub(crate) fn new(begins: Vec<u64>, rank: usize, entries: &[Vec<(u64, f64)>]) -> Self {
        let (begin, end) = (begins[rank], begins[rank + 1]);
        let own = entries.len();
        let is_own = |column: u64| (begin..end).contains(&column);
        let mut external: Vec<u64> =
            entries.iter().flatten().map(|entry| entry.0).filter(|id| !is_own(*id)).collect();
        external.sort_unstable();
        external.dedup();
        let rank_of = |id: u64| begins.partition_point(|begin| *begin <= id) - 1;
        let mut neighbors: Vec<Neighbor> = Vec::new();
        for id in &external {
            let rank = rank_of(*id);
            if neighbors.last().is_none_or(|last| last.rank != rank) {
                neighbors.push(Neighbor { rank, send: Vec::new(), receive: 0 });
            }
            neighbors.last_mut().expect("just pushed").receive += 1;
        }
        let (mut rows, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut diagonal = vec![0.0; own];
        for (row, entries) in entries.iter().enumerate() {
            for &(id, value) in entries {
                let column = if is_own(id) {
                    (id - begin) as usize
                } else {
                    // The matrix is symmetric: who is needed here needs this row.
                    let rank = rank_of(id);
                    let neighbor = neighbors.iter_mut().find(|neighbor| neighbor.rank == rank);
                    let send = &mut neighbor.expect("all have been found").send;
                    if send.last() != Some(&(row as u32)) {
                        send.push(row as u32);
                    }
                    own + external.binary_search(&id).expect("all are there")
                };
                if column == row {
                    diagonal[row] = value;
                }
                columns.push(column as u32);
                values.push(value);
            }
            rows.push(columns.len());
        }
        Self { begins, rows, columns, values, diagonal, neighbors, external }
    }

    pub(crate) fn own(&self) -> usize {
        self.diagonal.len()
    }

    /// Rows over all ranks.
    pub(crate) fn all(&self) -> u64 {
        self.begins[self.begins.len() - 1]
    }

    pub(crate) fn entries(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn vector(&self) -> Vec<f64> {
        vec![0.0; self.own() + self.external.len()]
    }

    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.rows[row]..self.rows[row + 1];
        let columns = self.columns[range.clone()].iter().map(|column| *column as usize);
        columns.zip(self.values[range].iter().copied())
    }

    /// Gets other ranks' parts of a vector.
    pub(crate) fn exchange<T: MpiDatatype + Copy>(
        &self,
        world: &Communicator<'_>,
        vector: &mut [T],
    ) -> RmpiResult {
        let (own, mut external) = vector.split_at_mut(self.own());
        let packed: Vec<T> = self
            .neighbors
            .iter()
            .flat_map(|neighbor| neighbor.send.iter().map(|row| own[*row as usize]))
            .collect();
        rmpi::scope(|scope| {
            let mut requests: Vec<Option<Request<'_, ()>>> =
                Vec::with_capacity(2 * self.neighbors.len());
            for neighbor in &self.neighbors {
                let (part, rest) = external.split_at_mut(neighbor.receive);
                external = rest;
                let request = world.process(neighbor.rank).irecv(scope, part, TAG)?;
                requests.push(Some(request.without_buffer()));
            }
            let mut packed = &packed[..];
            for neighbor in &self.neighbors {
                let (part, rest) = packed.split_at(neighbor.send.len());
                packed = rest;
                let request = world.process(neighbor.rank).isend(scope, part, TAG)?;
                requests.push(Some(request.without_buffer()));
            }
            if requests.is_empty() {
                return Ok(());
            }
            RequestSlice::new(&mut requests).waitall()
        })
    }

    /// Needs other ranks' parts of the vector.
    fn times(&self, row: usize, vector: &[f64]) -> f64 {
        self.row(row).map(|(column, value)| value * vector[column]).sum()
    }

    pub(crate) fn multiply(
        &self,
        world: &Communicator<'_>,
        vector: &mut [f64],
        product: &mut [f64],
    ) -> RmpiResult {
        self.exchange(world, vector)?;
        for (row, result) in product[..self.own()].iter_mut().enumerate() {
            *result = self.times(row, vector);
        }
        Ok(())
    }

    fn relax(&self, row: usize, right: &[f64], solution: &mut [f64]) {
        solution[row] += (right[row] - self.times(row, solution)) / self.diagonal[row];
    }

    /// One sweep of Gauss-Seidel on the own rows, from zero.
    pub(crate) fn smooth_forth(&self, right: &[f64], solution: &mut [f64]) {
        solution.fill(0.0);
        (0..self.own()).for_each(|row| self.relax(row, right, solution));
    }

    /// One sweep back, with what the other ranks have.
    pub(crate) fn smooth_back(
        &self,
        world: &Communicator<'_>,
        right: &[f64],
        solution: &mut [f64],
    ) -> RmpiResult {
        self.exchange(world, solution)?;
        (0..self.own()).rev().for_each(|row| self.relax(row, right, solution));
        Ok(())
    }
}
