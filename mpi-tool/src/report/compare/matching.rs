//! Which call sites of two runs are the same one, though the program may have been changed between them.
//!
//! A call site is the MPI function and the functions around the call, each with its line. Sites that are equal in all
//! of that are the same. Of those that are left, sites are the same whose functions are, but not the lines: in the order
//! of their lines, if both runs have as many of them.

use std::collections::BTreeMap;

use super::super::symbols::Frame;
use super::Item;
use super::judge::Noise;

/// A call site of a run.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) function: String,
    pub(super) frames: Vec<Frame>,
    /// The mean of the ranks.
    pub(super) seconds: f64,
    pub(super) calls: f64,
    /// The standard deviation of the calls' times by their mean.
    pub(super) variation: f64,
}

/// What does not depend on lines: the function, and of each frame its function and the name of the file.
type Loose = (String, Vec<(Option<String>, String)>);

/// The lines of the frames, or the places of those that have none.
type Lines = Vec<(u32, String)>;

impl Site {
    fn loose(&self) -> Loose {
        let frame = |frame: &Frame| {
            let file = match (&frame.line, &frame.function) {
                (Some((file, _)), _) => file.rsplit('/').next().unwrap_or(file).to_owned(),
                // An offset says nothing in another build.
                (None, _) => frame.place.split('+').next().unwrap_or_default().to_owned(),
            };
            (frame.function.clone(), file)
        };
        (self.function.clone(), self.frames.iter().map(frame).collect())
    }

    fn lines(&self) -> Lines {
        let line = |frame: &Frame| match &frame.line {
            Some((_, line)) => (*line, String::new()),
            None => (0, format!("{:>24}", frame.place)),
        };
        self.frames.iter().map(line).collect()
    }

    /// `MPI_Send, solver.c:12 solve < main.c:3 main`.
    fn name(&self) -> String {
        let frames: Vec<_> = self.frames.iter().map(Frame::short).collect();
        match &frames[..] {
            [] => self.function.clone(),
            frames => format!("{}, {}", self.function, frames.join(" < ")),
        }
    }
}

/// A call site of several runs.
struct Known {
    site: Site,
    lines: Lines,
    seconds: [Vec<f64>; 2],
    /// The variance of the mean of a run's calls, of all runs, and the fewest calls.
    noise: f64,
    fewest: f64,
}

/// The call sites of all runs.
pub(super) struct Sites {
    counts: [usize; 2],
    known: BTreeMap<Loose, Vec<Known>>,
}

impl Sites {
    /// For so many runs of each side.
    pub(super) fn new(counts: [usize; 2]) -> Self {
        Self { counts, known: BTreeMap::new() }
    }

    /// Adds those of a run, by its number on its side.
    pub(super) fn add(&mut self, side: usize, run: usize, sites: Vec<Site>) {
        let mut groups: BTreeMap<Loose, BTreeMap<Lines, Site>> = BTreeMap::new();
        for site in sites {
            // What is not told apart by its lines is one site.
            let group = groups.entry(site.loose()).or_default();
            group
                .entry(site.lines())
                .and_modify(|here| {
                    here.seconds += site.seconds;
                    here.calls += site.calls;
                    here.variation = here.variation.max(site.variation);
                })
                .or_insert(site);
        }
        for (loose, group) in groups {
            let known = self.known.entry(loose).or_default();
            let mut left: Vec<(Lines, Site)> = Vec::new();
            let mut taken = vec![false; known.len()];
            for (lines, site) in group {
                match known.iter().position(|known| known.lines == lines) {
                    Some(index) => {
                        taken[index] = true;
                        known[index].add(side, run, lines, site);
                    }
                    None => left.push((lines, site)),
                }
            }
            let mut free: Vec<usize> = (0..known.len()).filter(|index| !taken[*index]).collect();
            free.sort_by(|one, other| known[*one].lines.cmp(&known[*other].lines));
            let have_moved = free.len() == left.len();
            for (position, (lines, site)) in left.into_iter().enumerate() {
                if have_moved {
                    known[free[position]].add(side, run, lines, site);
                } else {
                    known.push(Known {
                        site: site.clone(),
                        lines: lines.clone(),
                        seconds: self.counts.map(|count| vec![0.0; count]),
                        noise: 0.0,
                        fewest: f64::MAX,
                    });
                    if let Some(new) = known.last_mut() {
                        new.add(side, run, lines, site);
                    }
                }
            }
        }
    }

    /// All of them, with what is known of their noise.
    pub(super) fn into_items(self) -> Vec<(Item, Noise)> {
        let item = |known: Known| {
            let Known { site, seconds, noise, fewest, .. } = known;
            let noise = Noise::OfCalls { variance: noise, calls: fewest };
            (Item::new(site.name(), Some(site.function), seconds), noise)
        };
        self.known.into_values().flatten().map(item).collect()
    }
}

impl Known {
    /// Later runs are compared with the lines of this one.
    fn add(&mut self, side: usize, run: usize, lines: Lines, site: Site) {
        if let Some(here) = self.seconds[side].get_mut(run) {
            *here += site.seconds;
        }
        if site.calls > 0.0 {
            self.noise += site.variation * site.variation / site.calls;
        }
        self.fewest = self.fewest.min(site.calls);
        self.lines = lines;
        self.site = site;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(function: &str, frames: &[(&str, u32)], seconds: f64) -> Site {
        let frames = frames.iter().map(|(function, line)| Frame {
            function: Some((*function).to_owned()),
            line: Some(("/src/a.c".to_owned(), *line)),
            place: "a+0x1".to_owned(),
        });
        let frames = frames.collect();
        Site { function: function.to_owned(), frames, seconds, calls: 100.0, variation: 0.1 }
    }

    fn values(before: Vec<Site>, after: Vec<Site>) -> Vec<(String, f64, f64)> {
        let mut sites = Sites::new([1, 1]);
        sites.add(0, 0, before);
        sites.add(1, 0, after);
        let items = sites.into_items().into_iter();
        items.map(|(item, _)| (item.name.clone(), item.mean_before, item.mean_after)).collect()
    }

    /// Five lines were put in above both calls of a function.
    #[test]
    fn sites_are_found_again_when_their_lines_have_moved() {
        let before = vec![
            site("MPI_Send", &[("f", 10), ("main", 90)], 1.0),
            site("MPI_Send", &[("f", 12), ("main", 90)], 2.0),
        ];
        let after = vec![
            site("MPI_Send", &[("f", 15), ("main", 95)], 1.5),
            site("MPI_Send", &[("f", 17), ("main", 95)], 2.5),
        ];
        assert_eq!(
            values(before, after),
            [
                ("MPI_Send, a.c:15 f < a.c:95 main".to_owned(), 1.0, 1.5),
                ("MPI_Send, a.c:17 f < a.c:95 main".to_owned(), 2.0, 2.5),
            ]
        );
    }

    #[test]
    fn another_function_is_another_site() {
        let before = vec![site("MPI_Send", &[("f", 10)], 1.0)];
        let after = vec![site("MPI_Send", &[("g", 10)], 1.0), site("MPI_Recv", &[("f", 10)], 1.0)];
        let found = values(before, after);
        assert_eq!(found.len(), 3);
        assert!(
            found.iter().all(|(_, before, after)| *before == 0.0 || *after == 0.0),
            "{found:?}"
        );
    }

    /// A new call between two others: those that have not moved are the same, and the new one is new.
    #[test]
    fn a_new_call_takes_nobody_elses_place() {
        let before = vec![site("MPI_Send", &[("f", 10)], 1.0), site("MPI_Send", &[("f", 12)], 2.0)];
        let after = vec![
            site("MPI_Send", &[("f", 10)], 1.0),
            site("MPI_Send", &[("f", 11)], 9.0),
            site("MPI_Send", &[("f", 12)], 2.0),
        ];
        let mut found = values(before, after);
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let numbers: Vec<_> = found.iter().map(|(_, before, after)| (*before, *after)).collect();
        assert_eq!(numbers, [(1.0, 1.0), (0.0, 9.0), (2.0, 2.0)]);
    }
}
