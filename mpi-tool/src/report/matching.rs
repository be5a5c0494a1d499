//! Which call sites of several runs are the same one, though the program may have been changed between them, and which
//! segments are.
//!
//! A call site is the MPI function and the functions around the call, each with its line. Sites that are equal in all
//! of that are the same. Of those that are left, sites are the same whose functions are, but not the lines: in the order
//! of their lines, if both runs have as many of them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::read::Run;
use super::symbols::Frame;
use super::{By, Key, What, sites};

/// A call, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) function: String,
    /// The functions around it, the innermost first; none if that is not known.
    pub(super) frames: Vec<Frame>,
    /// There was no room to tell it from others.
    pub(super) is_of_others: bool,
}

impl Call {
    /// `MPI_Send, solver.c:12 solve < main.c:3 main`.
    fn name(&self) -> String {
        let frames: Vec<_> = self.frames.iter().map(Frame::short).collect();
        match (&frames[..], self.is_of_others) {
            (_, true) => format!("{}, other places", self.function),
            ([], false) => self.function.clone(),
            (frames, false) => format!("{}, {}", self.function, frames.join(" < ")),
        }
    }

    /// `MPI_Allreduce at slow.c:9 (norm)`, or with the callers, too.
    pub(super) fn at(&self, has_callers: bool) -> String {
        let Self { function, frames, is_of_others } = self;
        let Some((own, callers)) = frames.split_first().filter(|_| !is_of_others) else {
            let place = if *is_of_others { " at other places" } else { "" };
            return format!("{function}{place}");
        };
        let mut text = format!("{function} at {}", own.at());
        for caller in callers.iter().filter(|_| has_callers) {
            text += &format!(" < {}", caller.short());
        }
        text
    }
}

/// A call site of a run, or a segment.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// One call, or the two that a segment is between.
    pub(super) calls: Vec<Call>,
    /// The mean of the ranks, or of a segment the time of the rank with most useful time.
    pub(super) seconds: f64,
    /// How many calls a rank has made, in the mean.
    pub(super) count: f64,
    /// The standard deviation of the calls' times by their mean.
    pub(super) variation: f64,
}

/// What does not depend on lines: of each call its function, whether it is one of others, and of each frame its function and
/// the name of the file.
pub(super) type Loose = Vec<(String, bool, Vec<(Option<String>, String)>)>;

/// The lines of the frames, or the places of those that have none.
type Lines = Vec<(u32, String)>;

impl Site {
    pub(super) fn loose(&self) -> Loose {
        let frame = |frame: &Frame| {
            let file = match (&frame.line, &frame.function) {
                (Some((file, _)), _) => file.rsplit('/').next().unwrap_or(file).to_owned(),
                // An offset says nothing in another build.
                (None, _) => frame.place.split('+').next().unwrap_or_default().to_owned(),
            };
            (frame.function.clone(), file)
        };
        let call = |call: &Call| {
            let frames = call.frames.iter().map(frame).collect();
            (call.function.clone(), call.is_of_others, frames)
        };
        self.calls.iter().map(call).collect()
    }

    fn lines(&self) -> Lines {
        let line = |frame: &Frame| match &frame.line {
            Some((_, line)) => (*line, String::new()),
            None => (0, format!("{:>24}", frame.place)),
        };
        self.calls.iter().flat_map(|call| &call.frames).map(line).collect()
    }

    /// The name of a call site.
    pub(super) fn name(&self) -> String {
        self.calls.iter().map(Call::name).collect::<Vec<_>>().join(", ")
    }

    /// The name of a segment, with the callers of both calls or without.
    fn between(&self, has_callers: bool) -> String {
        match &self.calls[..] {
            [before, after] => {
                format!("between {} and {}", before.at(has_callers), after.at(has_callers))
            }
            _ => "code that belongs to no segment".to_owned(),
        }
    }

    /// The call sites of a run, whose functions are known.
    pub(super) fn of_run(run: &Run, frames: &[Vec<Frame>]) -> Result<Vec<Self>> {
        let is_broken = || format!("{} is not as a report should be", run.name);
        let ranks = run.ranks();
        let variations = variations(run, &sites::same(&run.table, frames));
        let lines = sites::lines(&run.table, frames).with_context(is_broken)?;
        let sites = lines.into_iter().map(|(key, line)| {
            let of = match key.what {
                What::Site(site) => frames[site].clone(),
                _ => Vec::new(),
            };
            let variation = variations.get(&key).copied().unwrap_or(0.0);
            let is_of_others = matches!(key.what, What::Others(_));
            Self {
                seconds: line.first() as f64 / 1e9 / ranks,
                count: line.events as f64 / ranks,
                variation,
                calls: vec![Call { function: key.function, frames: of, is_of_others }],
            }
        });
        Ok(sites.collect())
    }
}

/// How much the times of calls vary, by function and site: of several rows, the most.
fn variations(run: &Run, same: &[usize]) -> BTreeMap<Key, f64> {
    let mut known = BTreeMap::new();
    let Some(time) = run.table.measures.first() else { return known };
    for row in &run.table.rows {
        let variation = row[&time.name]["variation"].as_f64().unwrap_or(0.0);
        if let (Some(function), Ok(mut what)) =
            (row["function"].as_str(), What::of(&run.table, row, By::Site))
        {
            if let What::Site(site) = &mut what {
                *site = same[*site];
            }
            let most = known.entry(Key { function: function.to_owned(), what }).or_insert(0.0_f64);
            *most = most.max(variation);
        }
    }
    known
}

/// A call site of several runs.
pub(super) struct Known {
    /// As the last run has it.
    pub(super) site: Site,
    lines: Lines,
    /// Of each side, of each of its runs; 0 where a run does not have the site.
    pub(super) seconds: Vec<Vec<f64>>,
    /// The variance of the mean of a run's calls, of all runs, and the fewest calls.
    pub(super) noise: f64,
    pub(super) fewest: f64,
}

/// The call sites of all runs.
pub(super) struct Sites {
    counts: Vec<usize>,
    known: BTreeMap<Loose, Vec<Known>>,
}

impl Sites {
    /// For so many runs of each side.
    pub(super) fn new(counts: Vec<usize>) -> Self {
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
                    here.count += site.count;
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
                        seconds: self.counts.iter().map(|count| vec![0.0; *count]).collect(),
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

    /// All of them.
    pub(super) fn into_known(self) -> impl Iterator<Item = Known> {
        self.known.into_values().flatten()
    }
}

/// The names of segments, in their order. Calls in one line may have different callers: then these are named, too.
pub(super) fn between(all: &[Known]) -> Vec<String> {
    let short: Vec<String> = all.iter().map(|known| known.site.between(false)).collect();
    let mut times: BTreeMap<&String, usize> = BTreeMap::new();
    for name in &short {
        *times.entry(name).or_default() += 1;
    }
    let name = |(known, name): (&Known, &String)| {
        if times.get(name) == Some(&1) { name.clone() } else { known.site.between(true) }
    };
    all.iter().zip(&short).map(name).collect()
}

impl Known {
    /// Later runs are compared with the lines of this one.
    fn add(&mut self, side: usize, run: usize, lines: Lines, site: Site) {
        if let Some(here) = self.seconds.get_mut(side).and_then(|runs| runs.get_mut(run)) {
            *here += site.seconds;
        }
        if site.count > 0.0 {
            self.noise += site.variation * site.variation / site.count;
        }
        self.fewest = self.fewest.min(site.count);
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
        let calls = vec![Call { function: function.to_owned(), frames, is_of_others: false }];
        Site { calls, seconds, count: 100.0, variation: 0.1 }
    }

    fn values(before: Vec<Site>, after: Vec<Site>) -> Vec<(String, f64, f64)> {
        let mut sites = Sites::new(vec![1, 1]);
        sites.add(0, 0, before);
        sites.add(1, 0, after);
        let known = sites.into_known();
        known.map(|known| (known.site.name(), known.seconds[0][0], known.seconds[1][0])).collect()
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
