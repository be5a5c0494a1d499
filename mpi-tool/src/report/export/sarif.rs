//! Findings of `mpi-check` as SARIF 2.1.0, which code hosts and editors show at the lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

/// What `mpi-check` writes: `docs/schemas/mpi-tool-check-1.json`.
#[derive(Debug, Deserialize)]
struct Findings {
    schema: String,
    limits: Vec<String>,
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    class: String,
    ranks: Vec<u32>,
    function: String,
    site: String,
    message: String,
    count: u64,
    other_site: String,
}

/// The classes: what a code host shows of each, and how bad it is.
const CLASSES: [(&str, &str, &str); 13] = [
    ("invalid-argument", "error", "An argument that the MPI standard forbids"),
    ("call-order", "error", "A call at a time at which MPI does not allow it"),
    ("collective-mismatch", "error", "Ranks do not call the same collective operation alike"),
    ("datatype-mismatch", "error", "A message is received as other datatypes than it was sent"),
    ("truncation", "error", "A message is longer than what is received"),
    ("lost-message", "error", "A message that nobody receives"),
    ("deadlock", "error", "Ranks wait for each other for ever"),
    ("buffer-in-use", "error", "A buffer is used while MPI uses it"),
    ("request-lifecycle", "error", "A request is not completed, or used wrongly"),
    ("leak", "warning", "An object that is never freed"),
    ("epoch-lifecycle", "error", "An epoch of one-sided communication is begun or ended wrongly"),
    ("rma-conflict", "error", "One-sided operations of one epoch that must not meet"),
    ("message-race", "note", "A receive from anybody that might have got another message"),
];

/// How many files are looked through for the sources.
const MOST_FILES: usize = 200_000;

/// The findings of a file as SARIF: a text.
pub(in crate::report) fn of(path: &Path) -> Result<Vec<u8>> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    let value: Value =
        serde_json::from_str(&text).with_context(|| format!("{name} is no report in JSON"))?;
    let is_broken = || format!("{name} is no list of findings as mpi-check writes it");
    let found: Findings = serde_json::from_value(value).with_context(is_broken)?;
    if found.schema != "mpi-tool-check/1" {
        bail!("{}: its schema is {}, not mpi-tool-check/1", is_broken(), found.schema);
    }
    let places = found.findings.iter().flat_map(|finding| [&finding.site, &finding.other_site]);
    let names = places.filter_map(|text| Some(Place::of(text)?.file.to_owned()));
    let sources = Sources::find(names);
    let results: Vec<_> = found.findings.iter().map(|finding| finding.result(&sources)).collect();
    let limits: Vec<_> = found
        .limits
        .iter()
        .map(|limit| json!({"level": "note", "message": {"text": plain(limit)}}))
        .collect();
    let rules: Vec<_> = CLASSES
        .iter()
        .map(|(id, level, short)| {
            json!({
                "id": id,
                "shortDescription": {"text": format!("{short}.")},
                "defaultConfiguration": {"level": level},
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "mpi-check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": limits,
            }],
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    });
    Ok((serde_json::to_string_pretty(&log)? + "\n").into_bytes())
}

impl Finding {
    fn result(&self, sources: &Sources) -> Value {
        let index = CLASSES.iter().position(|(id, ..)| *id == self.class);
        let level = index.map_or("warning", |index| CLASSES[index].1);
        let ranks: Vec<_> = self.ranks.iter().map(u32::to_string).collect();
        let mut result = json!({
            "ruleId": self.class,
            "level": level,
            "message": {"text": plain(&self.message)},
            "occurrenceCount": self.count.max(1),
            "properties": {"ranks": self.ranks, "function": self.function},
            // What is the same when the program was changed elsewhere.
            "partialFingerprints": {
                "mpiCheck/v1": format!("{}:{}:{}", self.class, self.function, without_line(&self.site)),
            },
        });
        if let Some(index) = index {
            result["ruleIndex"] = index.into();
        }
        if let Some(mut location) = sources.location(&self.site) {
            let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
            let text = format!("{} on {noun} {}", self.function, ranks.join(", "));
            location["message"] = json!({"text": text});
            result["locations"] = json!([location]);
        }
        if let Some(mut location) = sources.location(&self.other_site) {
            location["id"] = 1.into();
            location["message"] = json!({"text": plain(&self.other_site)});
            result["relatedLocations"] = json!([location]);
        }
        result
    }
}

/// A message of SARIF's, in which braces are places for arguments unless they stand twice.
fn plain(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// A site in words, without what changes when lines are added above.
fn without_line(site: &str) -> String {
    Place::of(site).map_or_else(|| site.to_owned(), |it| format!("{} {}", it.file, it.function))
}

/// What a site says: `solver.c:12 main`, also behind words such as `started at`.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    file: &'a str,
    line: u64,
    function: &'a str,
}

impl<'a> Place<'a> {
    /// `None` of a site without a source line.
    fn of(site: &'a str) -> Option<Self> {
        let mut at = 0;
        for word in site.split(' ') {
            let end = at + word.len();
            if let Some((file, line)) = word.rsplit_once(':')
                && let Ok(line) = line.parse::<u64>()
                && line > 0
                && !file.is_empty()
            {
                return Some(Self { file, line, function: site[end..].trim() });
            }
            at = end + 1;
        }
        None
    }
}

/// Where the sources are, by their names: below the working folder, of which a code host knows the paths.
#[derive(Debug, Default)]
struct Sources(BTreeMap<String, Option<PathBuf>>);

impl Sources {
    /// Looks for files with these names.
    fn find(names: impl Iterator<Item = String>) -> Self {
        let mut wanted: BTreeMap<String, Vec<PathBuf>> =
            names.map(|name| (name, Vec::new())).collect();
        let mut folders = vec![PathBuf::from(".")];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            if wanted.is_empty() {
                break;
            }
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                seen += 1;
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name().to_string_lossy().into_owned();
                if kind.is_dir() && !name.starts_with('.') && name != "target" {
                    folders.push(entry.path());
                } else if kind.is_file()
                    && let Some(found) = wanted.get_mut(&name)
                {
                    found.push(entry.path());
                }
            }
            if seen > MOST_FILES {
                break;
            }
        }
        // Of two files with one name, nobody knows which is meant.
        let one = |mut found: Vec<PathBuf>| if found.len() == 1 { found.pop() } else { None };
        Self(wanted.into_iter().map(|(name, found)| (name, one(found))).collect())
    }

    /// A site as SARIF has it. `None` of one without a source line.
    fn location(&self, site: &str) -> Option<Value> {
        let place = Place::of(site)?;
        let path = self.0.get(place.file).and_then(Option::as_deref);
        let path = path.map_or_else(
            || place.file.to_owned(),
            |path| path.strip_prefix(".").unwrap_or(path).display().to_string(),
        );
        let mut location = json!({
            "physicalLocation": {
                "artifactLocation": {"uri": uri(&path)},
                "region": {"startLine": place.line},
            },
        });
        if !place.function.is_empty() {
            location["logicalLocations"] =
                json!([{"fullyQualifiedName": place.function, "kind": "function"}]);
        }
        Some(location)
    }
}

/// A relative path as a URI: what has a meaning there is written as numbers.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_taken_apart() {
        let place = |site| Place::of(site).map(|it| (it.file, it.line, it.function));
        assert_eq!(place("solver.c:12 main"), Some(("solver.c", 12, "main")));
        assert_eq!(place("started at a.cpp:7 f(int, char)"), Some(("a.cpp", 7, "f(int, char)")));
        assert_eq!(place("a.out+0x123 main"), None);
        assert_eq!(place(""), None);
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(uri("ä.c"), "%C3%A4.c");
    }
}
