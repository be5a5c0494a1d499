//! Findings that the user knows and does not want to see: a file with a pattern of class, function and site in each line.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use mpi_tool_layer::{FunctionId, launched_rank, say};

use crate::findings::{self, Class};

/// A line of the file: what a finding must have.
#[derive(Debug)]
struct Rule {
    class: String,
    function: String,
    site: String,
}

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// The user has named a file.
pub(crate) fn set_file(path: &str) {
    if !path.is_empty() {
        let _ = FILE.set(path.into());
    }
}

/// What is suppressed: read at the first question. What is wrong with the file is said once.
fn rules() -> &'static [Rule] {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    RULES.get_or_init(|| {
        let Some(path) = FILE.get() else { return Vec::new() };
        let say = |problem: &str| {
            if launched_rank().unwrap_or(0) == 0 && !findings::is_silent() {
                say(format_args!("mpi-check: {}{problem}", path.display()));
            }
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                say(&format!(": {error}; nothing is suppressed (MPI_TOOL_MPI_CHECK_SUPPRESS)"));
                return Vec::new();
            }
        };
        let mut rules = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match Rule::read(line) {
                Ok(rule) => rules.push(rule),
                Err(problem) => say(&format!(":{}: {problem}; the line is passed over", index + 1)),
            }
        }
        rules
    })
}

/// Reads the file, before the program changes its folder.
pub(crate) fn prepare() {
    rules();
}

/// Does the user not want to see a finding?
pub(crate) fn is_suppressed(class: Class, function: FunctionId, site: &str) -> bool {
    rules().iter().any(|rule| {
        fits(&rule.class, class.name())
            && fits(&rule.function, function.name())
            && fits(&rule.site, site)
    })
}

impl Rule {
    /// `CLASS [FUNCTION [SITE]]`. The site has spaces: it is the rest of the line.
    fn read(line: &str) -> Result<Self, String> {
        let (class, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim_start();
        let (function, site) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let or_any = |pattern: &str| match pattern.trim() {
            "" => "*".to_owned(),
            pattern => pattern.to_owned(),
        };
        let rule = Self { class: or_any(class), function: or_any(function), site: or_any(site) };
        if !Class::all().any(|class| fits(&rule.class, class)) {
            let known = Class::all().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "there is no class `{}`; a line is CLASS [FUNCTION [SITE]], and the classes are {known}",
                rule.class
            ));
        }
        if !FunctionId::all().any(|function| fits(&rule.function, function.name())) {
            return Err(format!(
                "there is no function `{}`; a line is CLASS [FUNCTION [SITE]], such as: leak MPI_Comm_dup solver.c:*",
                rule.function
            ));
        }
        Ok(rule)
    }
}

/// Does a text fit a pattern, in which `*` stands for anything?
fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or("");
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}
