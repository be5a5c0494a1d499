//! Where calls come from, by source lines.

use core::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mpi_facts::trace::Reader;

use super::{Call, Process, Source};
use crate::report::symbols::{Frame, Place, Symbols};

/// A call site: the functions that the call is in, the innermost first. The same one in all processes of a run.
#[derive(Debug)]
pub(in crate::trace) struct Site {
    /// As `solver.c:12 solve < main.c:3 main`.
    pub(in crate::trace) path: String,
    pub(in crate::trace) frames: Vec<Frame>,
}

/// By their texts, as two places may be in one line.
impl PartialEq for Site {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Site {}

impl PartialOrd for Site {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Site {
    fn cmp(&self, other: &Self) -> Ordering {
        self.path.cmp(&other.path)
    }
}

/// Programs and libraries that calls come from, by their numbers: path and build ID.
#[derive(Default)]
pub(super) struct Modules(pub(super) HashMap<u64, (String, String)>);

impl Modules {
    /// The places of a call site.
    pub(super) fn places(&self, rest: &mut Reader<'_>) -> Option<Vec<Place>> {
        let mut places = Vec::new();
        while !rest.is_empty() {
            let (path, id) = self.0.get(&rest.number()?).cloned().unwrap_or_default();
            places.push(Place::new(path, id, rest.number()?));
        }
        Some(places)
    }
}

impl Process {
    /// Where a call of the process comes from; `None` if that is not known.
    pub(in crate::trace) fn site(&self, call: &Call) -> Option<&Rc<Site>> {
        self.sites.get(&call.site)
    }
}

impl Process {
    /// The names of all functions that call sites are in.
    pub(in crate::trace) fn functions_of_sites(&self) -> impl Iterator<Item = &str> {
        let frames = self.sites.values().flat_map(|site| &site.frames);
        frames.filter_map(|frame| frame.function.as_deref())
    }
}

/// Looks all sites up. Says of which programs and libraries nothing is known.
pub(super) fn look_up(files: &mut [(Process, Source)]) {
    let mut symbols = Symbols::default();
    let mut known: BTreeMap<Vec<Place>, Rc<Site>> = BTreeMap::new();
    for (process, source) in files {
        for (number, places) in source.sites.drain() {
            let site = known.entry(places).or_insert_with_key(|places| {
                let frames = symbols.of_site(places);
                let texts: Vec<String> = frames.iter().map(Frame::short).collect();
                Rc::new(Site { path: texts.join(" < "), frames })
            });
            process.sites.insert(number, Rc::clone(site));
        }
    }
    symbols.complain();
}
