//! Triangle counting: how many triples of vertices of a random graph are neighbours of one another, by loads from an
//! array of neighbours, by active messages (`--form am`), or in plain MPI (`--form plain`). Vertices are dealt out to
//! the processes in turn. `--table` says how many vertices a process has, `--updates` how many edges they have
//! together, about.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::Settings;
use rmpi_pgas::{ActiveMessage, Array, Error, Here, Layout, ReadOnly, Team};

/// Are two vertices neighbours? The first one's process has the list, on which this runs.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Edge {
    place: u64,
    smaller: u64,
}

impl ActiveMessage<(&[u64], usize)> for Edge {
    type Answer = u64;
    #[inline]
    fn run(self, (neighbours, edges): &mut (&[u64], usize), _: Here) -> u64 {
        let first = self.place as usize * *edges;
        u64::from(neighbours[first..first + *edges].binary_search(&self.smaller).is_ok())
    }
}

/// The neighbours of smaller numbers: everybody can compute them. Few of them are far away, so that there are
/// triangles.
fn smaller_neighbours(vertex: u64, edges: u64) -> Vec<u64> {
    let mut neighbours: Vec<u64> = (0..edges.min(vertex))
        .map(|n| common::mix(vertex * edges + n))
        .map(|random| {
            let range = if random % 4 == 0 { vertex } else { vertex.min(4 * edges) };
            vertex - 1 - random / 4 % range
        })
        .collect();
    neighbours.sort_unstable();
    neighbours.dedup();
    neighbours
}

/// Stands where a vertex has no more neighbours.
const NONE: u64 = u64::MAX;

pub(crate) fn main() -> Result<(), Error> {
    let (options, form) =
        common::Options::read_with_form(40_000, 10_000, &["array", "am", "plain"]);
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    team.set_settings(Settings::default().buffer(options.buffer));
    let size = team.size();
    let vertices = options.table * size;
    let edges = options.updates.div_ceil(options.table);
    // `edges` places for each vertex, with those of a process one after the other.
    let neighbours =
        Array::<u64, ReadOnly>::from_fn(&team, vertices * edges, Layout::Block, |place| {
            let (process, own) = (place / edges / options.table, place / edges % options.table);
            let list = smaller_neighbours((own * size + process) as u64, edges as u64);
            list.get(place % edges).copied().unwrap_or(NONE)
        })?;
    let lists = || neighbours.local().chunks(edges);
    let real = |list: &[u64]| list.iter().filter(|&&one| one != NONE).count();

    let began = common::start(world)?;
    let (triangles, asked) = if form == "array" {
        // The list of each neighbour of each vertex.
        let lists_of = lists().flat_map(|list| &list[..real(list)]);
        let first = |one: usize| (one % size * options.table + one / size) * edges;
        let places: Vec<usize> = lists_of
            .map(|&one| first(one as usize))
            .flat_map(|first| first..first + edges)
            .collect();
        let loaded = neighbours.batch_load(&places)?;
        let mut theirs = loaded.chunks(edges);
        let (mut triangles, mut asked) = (0, 0);
        for list in lists() {
            // As many pairs as the other forms ask about one by one.
            asked += real(list) * real(list).saturating_sub(1) / 2;
            for their in theirs.by_ref().take(real(list)) {
                let both = their.iter().filter(|&&one| one != NONE && list.contains(&one));
                triangles += both.count() as u64;
            }
        }
        (triangles, asked)
    } else {
        let mut asked = Vec::new();
        for list in lists() {
            for (at, &greater) in list[..real(list)].iter().enumerate() {
                let (process, place) = (greater as usize % size, greater / size as u64);
                asked.extend(list[..at].iter().map(|&smaller| (process, Edge { place, smaller })));
            }
        }
        let mut mine = (neighbours.local(), edges);
        let found: u64 = if form == "plain" {
            // It does not matter which process adds them up.
            let asked = asked.iter().map(|&(process, edge)| (process, edge));
            let (asked, _) = common::Sorted::new(size, asked);
            let rank = team.rank();
            let here = Here { sender: rank, rank, size };
            asked.exchange(world)?.items.iter().map(|edge| edge.run(&mut mine, here)).sum()
        } else {
            team.execute(&mut mine, asked.iter().copied())?.iter().sum()
        };
        (found, asked.len())
    };

    common::report(world, "triangle_counting", asked as u64, began, || {
        // Of each vertex, marked neighbours that are neighbours of neighbours.
        let mut marks = vec![usize::MAX; vertices];
        let mut expected = 0;
        let all: Vec<_> =
            (0..vertices).map(|of| smaller_neighbours(of as u64, edges as u64)).collect();
        for (vertex, list) in all.iter().enumerate() {
            list.iter().for_each(|&one| marks[one as usize] = vertex);
            let others = list.iter().flat_map(|&one| &all[one as usize]);
            expected += others.filter(|&&other| marks[other as usize] == vertex).count() as u64;
        }
        Ok(expected > 0 && common::sum(world, triangles)? == expected)
    })?;
    Ok(())
}
