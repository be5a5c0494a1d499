//! The way that is told of ranks that can never go on.

use std::collections::{BTreeMap, BTreeSet};

use super::{Edge, MOST, Reason, Wait};

/// What is asked of a path for each rank on it.
pub(super) struct OnPath {
    /// Those that have called something else than another one.
    pub(super) turned_away: BTreeSet<u32>,
    /// Does each of its ranks wait?
    pub(super) is_circle: bool,
}

impl OnPath {
    pub(super) fn of(path: &[Edge]) -> Self {
        let mismatch = |edge: &&Edge| matches!(edge.reason, Reason::Mismatch { .. });
        let turned_away = path.iter().filter(mismatch).flat_map(|edge| [edge.from, edge.to]);
        let begins: BTreeSet<u32> = path.iter().map(|edge| edge.from).collect();
        Self {
            turned_away: turned_away.collect(),
            is_circle: path.iter().all(|edge| begins.contains(&edge.to)),
        }
    }
}

/// Of the ways that lead from stuck ranks round in a circle, or to who is gone, the shortest one.
pub(super) fn shortest(
    needs: &BTreeMap<u32, Wait>,
    stuck: &BTreeSet<u32>,
    is_gone: impl Fn(u32) -> bool,
) -> Vec<Edge> {
    let mut best: Vec<Edge> = Vec::new();
    // Of many ranks, ways that lead into earlier ones are not followed to their ends again.
    let has_many = stuck.len() > 16 * MOST;
    let mut earlier = BTreeSet::new();
    for &start in stuck {
        if has_many && earlier.contains(&start) {
            continue;
        }
        // Along the first wait that cannot end: what differs in its reason is the first in the list.
        let mut way: Vec<Edge> = Vec::new();
        let mut seen = BTreeMap::from([(start, 0)]);
        let mut at = start;
        let found = loop {
            let Some(Wait { edges, .. }) = needs.get(&at) else { break None };
            let turned = |edge: &&Edge| matches!(edge.reason, Reason::Mismatch { .. });
            let in_vain = |edge: &&Edge| is_gone(edge.to) || stuck.contains(&edge.to);
            let back = |edge: &&Edge| in_vain(edge) && seen.contains_key(&edge.to);
            let next = edges.iter().find(turned);
            let next = next.or_else(|| edges.iter().find(|edge| is_gone(edge.to)));
            let next =
                next.or_else(|| edges.iter().find(back)).or_else(|| edges.iter().find(in_vain));
            let Some(next) = next else { break None };
            way.push(*next);
            if turned(&next) || is_gone(next.to) {
                // What is wrong is this wait; how others came to wait for it does not matter.
                break Some(way.len() - 1);
            }
            if let Some(begin) = seen.get(&next.to) {
                break Some(*begin);
            }
            if has_many && earlier.contains(&next.to) {
                break None;
            }
            seen.insert(next.to, way.len());
            at = next.to;
        };
        if has_many {
            earlier.extend(seen.into_keys());
        }
        if let Some(begin) = found {
            let way = &way[begin..];
            if best.is_empty() || way.len() < best.len() {
                best = way.to_vec();
            }
        }
    }
    best
}
