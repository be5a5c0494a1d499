//! The graph of waits as a picture: ranks in a circle, an arrow for each wait. Many ranks that do the same are one
//! circle.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::reading::{Reading, World};
use super::text::{groups, list};
use crate::report::symbols::Symbols;

/// More nodes than these are put together.
const MOST: usize = 24;

/// The picture of all worlds, one below the other.
pub(super) fn of(reading: &Reading, symbols: &mut Symbols) -> String {
    const HEIGHT: usize = 640;
    let height = HEIGHT * reading.worlds.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<defs><marker id=\"to\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\"/></marker></defs>\n\
         <rect width=\"960\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (number, world) in reading.worlds.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", number * HEIGHT);
        draw(&mut svg, world, symbols);
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

/// A node: its ranks, and what they do.
struct Node {
    ranks: Vec<u32>,
    doing: String,
    is_named: bool,
}

fn nodes(world: &World, symbols: &mut Symbols) -> Vec<Node> {
    let named = |rank: u32| world.verdict.culprits.iter().any(|culprit| culprit.rank == rank);
    let mut nodes = Vec::new();
    for group in groups(world, symbols) {
        let few = world.size as usize <= MOST;
        let (alone, together): (Vec<u32>, Vec<u32>) =
            group.ranks.iter().partition(|rank| few || named(**rank));
        let node = |ranks: Vec<u32>| {
            let is_named = ranks.iter().any(|rank| named(*rank));
            Node { ranks, doing: group.doing.clone(), is_named }
        };
        nodes.extend(alone.into_iter().map(|rank| node(vec![rank])));
        if !together.is_empty() {
            nodes.push(node(together));
        }
    }
    nodes.sort_by_key(|node| node.ranks[0]);
    nodes
}

fn draw(svg: &mut String, world: &World, symbols: &mut Symbols) {
    let nodes = nodes(world, symbols);
    let place = |at: usize| {
        let angle = TAU * at as f64 / nodes.len() as f64 - TAU / 4.0;
        (480.0 + 330.0 * angle.cos(), 320.0 + 230.0 * angle.sin())
    };
    let of_rank: BTreeMap<u32, usize> = nodes
        .iter()
        .enumerate()
        .flat_map(|(at, node)| node.ranks.iter().map(move |rank| (*rank, at)))
        .collect();
    let mut arrows: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    for edge in &world.verdict.edges {
        if let (Some(from), Some(to)) = (of_rank.get(&edge.from), of_rank.get(&edge.to)) {
            *arrows.entry((*from, *to)).or_default() |= world.verdict.path.contains(edge);
        }
    }
    for ((from, to), is_path) in arrows {
        let ((x, y), (to_x, to_y)) = (place(from), place(to));
        let length = f64::hypot(to_x - x, to_y - y).max(1.0);
        let (along, up) = ((to_x - x) / length, (to_y - y) / length);
        // Both ways between two nodes are side by side.
        let (aside, down) = (-up * 5.0, along * 5.0);
        let (colour, width) = if is_path { ("#c00", 2.5) } else { ("#888", 1.0) };
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             marker-end=\"url(#to)\"/>",
            x + along * 24.0 + aside,
            y + up * 24.0 + down,
            to_x - along * 24.0 + aside,
            to_y - up * 24.0 + down
        );
    }
    for (at, node) in nodes.iter().enumerate() {
        let (x, y) = place(at);
        let fill = if node.is_named { "#fcc" } else { "#def" };
        let label = if node.ranks.len() == 1 {
            node.ranks[0].to_string()
        } else {
            format!("{}×", node.ranks.len())
        };
        let _ = writeln!(
            svg,
            "<g><title>{}: {}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"22\" fill=\"{fill}\" stroke=\"black\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\">{}</text></g>",
            escaped(&list(&node.ranks)),
            escaped(&node.doing),
            y + 5.0,
            y + 36.0,
            escaped(&node.doing)
        );
    }
}

/// A text in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
