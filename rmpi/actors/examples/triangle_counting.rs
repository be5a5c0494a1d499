//! Triangle counting: how many triples of vertices of a random graph are neighbours of one another. Vertices are dealt
//! out to the processes in turn, each with its neighbours of smaller numbers. `--table` says how many vertices a process
//! has, `--updates` how many edges they have together, about.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

/// Are two vertices neighbours? The first one's process knows.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Edge {
    greater: u64,
    smaller: u64,
}

struct Graph {
    /// The neighbours of smaller numbers, in order.
    smaller: Vec<Vec<u64>>,
    triangles: u64,
}

impl Actor for Graph {
    type Mailboxes = (Edge,);
    type Error = Error;
}

impl Handler<Edge> for Graph {
    #[inline]
    fn handle(&mut self, edge: Edge, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        let neighbours = &self.smaller[edge.greater as usize / context.size()];
        self.triangles += u64::from(neighbours.binary_search(&edge.smaller).is_ok());
        Ok(())
    }
}

/// The neighbours of smaller numbers: everybody can compute them. Few of them are far away, so that there are
/// triangles.
fn smaller_neighbours(vertex: u64, edges: u64) -> Vec<u64> {
    let mut neighbours: Vec<u64> = (0..edges.min(vertex))
        .map(|n| common::mix(vertex * edges + n))
        .map(|random| {
            if random % 4 == 0 {
                random / 4 % vertex
            } else {
                vertex - 1 - random / 4 % vertex.min(4 * edges)
            }
        })
        .collect();
    neighbours.sort_unstable();
    neighbours.dedup();
    neighbours
}

pub(crate) fn main() -> Result<(), Error> {
    let options = common::Options::read(80_000, 10_000);
    let context = rmpi::init()?;
    let world = context.world();
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let edges = options.updates.div_ceil(options.table) as u64;
    let mine = |place: usize| smaller_neighbours((place * size + rank) as u64, edges);
    let state = Graph { smaller: (0..options.table).map(mine).collect(), triangles: 0 };
    let neighbours = state.smaller.clone();
    let settings = Settings::default().buffer(options.buffer);
    let mut selector = Selector::new(&domain, state, settings)?;

    let began = common::start(world)?;
    let mut asked = 0;
    selector.finish(|scope| {
        for neighbours in &neighbours {
            for (at, &greater) in neighbours.iter().enumerate() {
                for &smaller in &neighbours[..at] {
                    scope.send(greater as usize % size, Edge { greater, smaller })?;
                    asked += 1;
                }
            }
        }
        scope.done::<Edge, _>()
    })?;

    common::report(world, "triangle_counting", asked, began, || {
        // Of each vertex, marked neighbours that are neighbours of neighbours.
        let vertices = (options.table * size) as u64;
        let mut marks = vec![u64::MAX; vertices as usize];
        let mut expected = 0;
        let all: Vec<_> = (0..vertices).map(|vertex| smaller_neighbours(vertex, edges)).collect();
        for (vertex, neighbours) in all.iter().enumerate() {
            neighbours.iter().for_each(|&one| marks[one as usize] = vertex as u64);
            let others = neighbours.iter().flat_map(|&one| &all[one as usize]);
            expected +=
                others.filter(|&&other| marks[other as usize] == vertex as u64).count() as u64;
        }
        Ok(common::sum(world, selector.state().triangles)? == expected)
    })?;
    Ok(())
}
