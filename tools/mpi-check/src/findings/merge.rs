//! Findings of other hosts, which become part of this host's.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::fs;

use super::report::{path_of_file, write_file};
use super::{Entry, all_entries, find, rank};
use crate::shared::{FINDINGS, limit, shared};

/// The findings of this host, as [`add_bytes`] takes them.
pub(crate) fn to_bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |number: u64| bytes.extend(number.to_ne_bytes());
    let mut texts = Vec::new();
    let entries: Vec<_> = all_entries(shared()).collect();
    for entry in &entries {
        put(entry.key.load(Relaxed));
        put(u64::from(entry.class.load(Relaxed)) << 32 | u64::from(entry.function.load(Relaxed)));
        put(entry.count.load(Relaxed));
        put(entry.others.load(Relaxed).into());
        put(entry.is_suppressed.load(Relaxed).into());
        entry.ranks.iter().for_each(|word| put(word.load(Relaxed)));
        for text in [entry.site.get(), entry.other_site.get(), entry.message.get()] {
            put(text.len() as u64);
            texts.push(text);
        }
    }
    texts.iter().for_each(|text| bytes.extend(text.as_bytes()));
    let count = entries.len() as u64;
    [&count.to_ne_bytes()[..], &bytes].concat()
}

/// What is read from the front of some bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(8)?.try_into().ok()?))
    }
}

/// A finding of another host.
struct Other {
    key: u64,
    what: u64,
    count: u64,
    others: bool,
    is_suppressed: bool,
    ranks: Vec<u64>,
    lengths: [usize; 3],
}

impl Other {
    fn read(from: &mut Reader<'_>, words: usize) -> Option<Self> {
        let mut number = || from.number();
        Some(Self {
            key: number()?,
            what: number()?,
            count: number()?,
            others: number()? != 0,
            is_suppressed: number()? != 0,
            ranks: (0..words).map(|_| number()).collect::<Option<_>>()?,
            lengths: [number()?, number()?, number()?].map(|length| length as usize),
        })
    }

    fn add(&self, entry: &Entry) {
        entry.count.fetch_add(self.count, Relaxed);
        entry.others.fetch_or(self.others, Relaxed);
        for (to, from) in entry.ranks.iter().zip(&self.ranks) {
            to.fetch_or(*from, Relaxed);
        }
    }
}

/// Adds the findings of another host. What is no list of them ends it.
pub(crate) fn add_bytes(bytes: &[u8]) {
    let _ = add(&mut Reader(bytes));
}

fn add(from: &mut Reader<'_>) -> Option<()> {
    let shared = shared();
    let count = (from.number()? as usize).min(FINDINGS);
    let words = shared.findings.first()?.ranks.len();
    let others: Vec<_> = (0..count).map(|_| Other::read(from, words)).collect::<Option<_>>()?;
    let _held = shared.findings_lock.take();
    for other in others {
        let mut text = |at: usize| {
            let bytes = from.bytes(other.lengths[at])?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        let [site, other_site, message] = [text(0)?, text(1)?, text(2)?];
        if let Some(entry) = find(shared, other.key) {
            other.add(entry);
            continue;
        }
        let number = shared.findings_count.load(Relaxed);
        let Some(entry) = shared.findings.get(number as usize) else {
            shared.reached(limit::FINDINGS);
            continue;
        };
        entry.class.store((other.what >> 32) as u32, Relaxed);
        entry.function.store(other.what as u32, Relaxed);
        entry.is_suppressed.store(other.is_suppressed, Relaxed);
        entry.site.set(&site);
        entry.other_site.set(&other_site);
        entry.message.set(&message);
        other.add(entry);
        entry.key.store(other.key, Relaxed);
        shared.findings_count.store(number + 1, Release);
    }
    Some(())
}

/// All findings that there are now are in the report of the host of rank 0, which has so many faults.
pub(crate) fn merged(faults: u32) {
    let shared = shared();
    shared.faults.store(faults, Relaxed);
    shared.merged.store(shared.findings_count.load(Acquire) + 1, Release);
    // MPI may fail over what is wrong before the last process writes the report.
    if rank() == 0 && faults != 0 {
        write_file(true);
    }
}

/// Nothing is left that is not in another host's report: this one's file, which was there in case the program died, is not
/// needed.
pub(super) fn remove_file() {
    if let Some(path) = path_of_file() {
        // It may not be there, and never have been.
        let _ = fs::remove_file(path);
    }
}
