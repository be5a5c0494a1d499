//! Source lines around call sites, where the source can be read.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use maud::{Markup, html};

use super::super::symbols::Frame;

/// So many lines before and behind the call.
const AROUND: usize = 3;

/// A larger file is not one that somebody has written.
const MOST_BYTES: u64 = 4 << 20;

/// A longer line is cut.
const MOST_LETTERS: usize = 200;

/// Only files whose names end so are shown: a report may name any file.
const SOURCES: [&str; 19] = [
    "c", "cc", "cpp", "cxx", "C", "h", "hh", "hpp", "hxx", "f", "F", "for", "f77", "f90", "F90",
    "f03", "f08", "rs", "cu",
];

/// The source files that were read.
#[derive(Default)]
pub(super) struct Sources(HashMap<String, Option<String>>);

impl Sources {
    /// The lines around a call; nothing if they are not there.
    pub(super) fn around(&mut self, frame: &Frame) -> Markup {
        let Some((file, line)) = &frame.line else { return html! {} };
        let Some(text) = self.0.entry(file.clone()).or_insert_with(|| read(file)) else {
            return html! {};
        };
        let line = *line as usize;
        let first = line.saturating_sub(AROUND).max(1);
        let lines = text.lines().enumerate().skip(first - 1).take(line + AROUND + 1 - first);
        let lines: Vec<(usize, String)> = lines
            .map(|(index, text)| (index + 1, text.chars().take(MOST_LETTERS).collect()))
            .collect();
        html! {
            pre.source aria-label="source lines" {
                @for (number, text) in lines {
                    @let marker = if number == line { '>' } else { ' ' };
                    (format!("{marker}{number:>6}  {text}\n"))
                }
            }
        }
    }
}

fn read(file: &str) -> Option<String> {
    let path = Path::new(file);
    let is_source =
        path.extension().and_then(|name| name.to_str()).is_some_and(|name| SOURCES.contains(&name));
    let known = fs::metadata(path).ok()?;
    if !is_source || !path.is_absolute() || !known.is_file() || known.len() > MOST_BYTES {
        return None;
    }
    fs::read_to_string(path).ok()
}
