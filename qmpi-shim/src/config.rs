//! Which tools are to be stacked: `TOOLS`, or the file that `QMPI_STACK` names.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use mpi_tool_layer::FunctionId;
use serde::Deserialize;

/// What is wrong with a stack, or with one of its levels.
#[derive(Debug)]
pub(crate) struct Problem {
    /// As the user counts, from 1.
    pub(crate) level: Option<usize>,
    pub(crate) path: PathBuf,
    pub(crate) what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, path, what } = self;
        match level {
            Some(level) => write!(f, "level {level} ({}): {what}", path.display()),
            None if path.as_os_str().is_empty() => write!(f, "{what}"),
            None => write!(f, "{}: {what}", path.display()),
        }
    }
}

/// One level, as it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Where it stands in the list, from 1.
    pub(crate) number: usize,
    pub(crate) path: PathBuf,
    /// What reports call it.
    pub(crate) name: Option<String>,
    /// Pairs of an option's name, as it is in the file, and its value, as a variable of the environment would have it.
    pub(crate) options: Vec<(String, String)>,
    pub(crate) ranks: Option<Vec<(u32, u32)>>,
    pub(crate) functions: Option<Vec<bool>>,
}

impl Wanted {
    pub(crate) fn sees(&self, function: FunctionId) -> bool {
        self.functions.as_ref().is_none_or(|seen| seen[function as usize])
    }

    pub(crate) fn is_on(&self, rank: u32) -> bool {
        let ranges = self.ranks.as_ref();
        ranges.is_none_or(|ranges| {
            ranges.iter().any(|(first, last)| (*first..=*last).contains(&rank))
        })
    }
}

/// What the environment asks for.
pub(crate) fn wanted() -> (Vec<Wanted>, Vec<Problem>) {
    let (tools, file) = (env::var_os("TOOLS"), env::var_os("QMPI_STACK"));
    match (tools, file) {
        (None, None) => (Vec::new(), Vec::new()),
        (Some(tools), None) => from_list(&tools),
        (None, Some(file)) => from_file(Path::new(&file)),
        (Some(_), Some(_)) => {
            let what = "TOOLS and QMPI_STACK are both set; unset one of them".into();
            (Vec::new(), vec![Problem { level: None, path: PathBuf::new(), what }])
        }
    }
}

fn from_list(list: &OsStr) -> (Vec<Wanted>, Vec<Problem>) {
    let (mut levels, mut problems) = (Vec::new(), Vec::new());
    if list.is_empty() {
        let what = "TOOLS is empty; unset it, or name tools in it (a.so:b.so)".into();
        return (levels, vec![Problem { level: None, path: PathBuf::new(), what }]);
    }
    for (number, path) in (1..).zip(list.as_bytes().split(|&byte| byte == b':')) {
        let path = PathBuf::from(OsStr::from_bytes(path));
        if path.as_os_str().is_empty() {
            let what = "an empty path in TOOLS (two colons, or one at an end)".into();
            problems.push(Problem { level: Some(number), path, what });
        } else {
            levels.push(Wanted { number, path, ..Wanted::default() });
        }
    }
    (levels, problems)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    level: Vec<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Level {
    path: PathBuf,
    name: Option<String>,
    #[serde(default)]
    options: toml::Table,
    ranks: Option<Ranks>,
    functions: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Ranks {
    One(u32),
    List(Vec<u32>),
    Text(String),
}

fn from_file(file: &Path) -> (Vec<Wanted>, Vec<Problem>) {
    let of_file =
        |what: String| (Vec::new(), vec![Problem { level: None, path: file.into(), what }]);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return of_file(format!("cannot be read: {error} (QMPI_STACK names it)")),
    };
    let parsed: File = match toml::from_str(&text) {
        Ok(parsed) => parsed,
        Err(error) => return of_file(one_line(&error.to_string())),
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let (mut levels, mut problems) = (Vec::new(), Vec::new());
    for (number, level) in (1..).zip(parsed.level) {
        let shown = level.get("path").and_then(|path| path.as_str()).unwrap_or("no path").into();
        let level = level
            .try_into()
            .map_err(|error: toml::de::Error| one_line(&error.to_string()))
            .and_then(|level| checked(number, level, folder));
        match level {
            Ok(level) => levels.push(level),
            Err(what) => problems.push(Problem { level: Some(number), path: shown, what }),
        }
    }
    (levels, problems)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn checked(number: usize, level: Level, folder: &Path) -> Result<Wanted, String> {
    if level.path.as_os_str().is_empty() {
        return Err("an empty path".into());
    }
    // As in TOOLS, a name without a slash is looked for by the dynamic linker.
    let has_slash = level.path.as_os_str().as_bytes().contains(&b'/');
    let path = if has_slash { folder.join(level.path) } else { level.path };
    let options = options(level.options)?;
    let ranks = level.ranks.map(ranges).transpose()?;
    if ranks.is_some() && options.iter().any(|(name, value)| name == "merge" && value == "1") {
        return Err("a level on some of the ranks cannot merge its report over all".into());
    }
    if level.name.as_ref().is_some_and(|name| name.is_empty() || name.contains(['\0', '/'])) {
        return Err("a name has at least one character, no slash and no NUL".into());
    }
    let functions = level.functions.map(|patterns| seen(&patterns)).transpose()?;
    Ok(Wanted { number, path, name: level.name, options, ranks, functions })
}

/// Options of a level: `true` is `1`. Which there are, the tool knows: `load` asks it.
fn options(table: toml::Table) -> Result<Vec<(String, String)>, String> {
    let option = |(name, value): (String, toml::Value)| {
        let value = match value {
            toml::Value::String(text) if text.contains('\0') => {
                return Err(format!("options: {name}: an option has no NUL"));
            }
            toml::Value::String(text) => text,
            toml::Value::Integer(number) if number >= 0 => number.to_string(),
            toml::Value::Boolean(on) => u8::from(on).to_string(),
            _ => {
                return Err(format!(
                    "options: {name} is not a text, a number from 0, true or false"
                ));
            }
        };
        Ok((name, value))
    };
    table.into_iter().map(option).collect()
}

/// `3`, `[0, 3]`, `"0,4-7"`
fn ranges(ranks: Ranks) -> Result<Vec<(u32, u32)>, String> {
    let text = match ranks {
        Ranks::One(rank) => return Ok(vec![(rank, rank)]),
        Ranks::List(ranks) => return Ok(ranks.into_iter().map(|rank| (rank, rank)).collect()),
        Ranks::Text(text) => text,
    };
    text.split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.trim().parse(), last.trim().parse()) {
                (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
                _ => {
                    Err(format!("ranks = {text:?}: {part:?} is neither a rank nor a range (0,4-7)"))
                }
            }
        })
        .collect()
}

/// Names of functions; one that ends in `*` stands for all that begin so.
fn seen(patterns: &[String]) -> Result<Vec<bool>, String> {
    let mut seen = vec![false; FunctionId::COUNT];
    for pattern in patterns {
        let mut found = false;
        for function in FunctionId::all() {
            let matches = match pattern.strip_suffix('*') {
                Some(beginning) => function.name().starts_with(beginning),
                None => function.name() == pattern,
            };
            seen[function as usize] |= matches;
            found |= matches;
        }
        if !found {
            return Err(format!("functions: {pattern:?} is not the name of an MPI function"));
        }
    }
    Ok(seen)
}

/// What happens when a level cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    Stop,
    Skip,
}

pub(crate) fn on_error() -> Result<OnError, OsString> {
    match env::var_os("QMPI_ON_ERROR") {
        None => Ok(OnError::Stop),
        Some(value) if value == "stop" || value.is_empty() => Ok(OnError::Stop),
        Some(value) if value == "skip" => Ok(OnError::Skip),
        Some(value) => Err(value),
    }
}
