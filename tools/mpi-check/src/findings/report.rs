//! The report: as text and JSON, on a stream or in a file.

use core::fmt::Write as _;
use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed},
};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use mpi_tool_layer::options::{Format, Output};
use mpi_tool_layer::{FunctionId, print, say, without_signals};

use super::limits::limits;
use super::{Class, Settings, all_entries, entries, merge, ranks_text, settings};
use crate::shared::{Shared, shared};

/// How many findings the user does not want to see.
fn suppressed(shared: &Shared) -> usize {
    all_entries(shared).filter(|entry| entry.is_suppressed.load(Relaxed)).count()
}

/// How many ranks the report is of: the world's, or, of a program that has sessions only, the processes of this host.
fn ranks(shared: &Shared) -> u32 {
    match shared.size.load(Relaxed) {
        0 => shared.joined.load(Relaxed).max(1),
        size => size,
    }
}

/// The report, as text or JSON.
fn text(shared: &Shared) -> String {
    let size = ranks(shared);
    let ranks = match shared.one_of_hosts() {
        Some(host) => format!("{} of {size} ranks, on {host}", shared.joined.load(Relaxed)),
        None if size == 1 => "1 rank".to_owned(),
        None => format!("{size} ranks"),
    };
    let mut text = String::new();
    let count = entries(shared).count();
    let _ = match count {
        0 => writeln!(text, "mpi-check: nothing was found ({ranks})"),
        1 => writeln!(text, "mpi-check: 1 finding ({ranks})"),
        _ => writeln!(text, "mpi-check: {count} findings ({ranks})"),
    };
    for entry in entries(shared) {
        let class = Class::NAMES.get(entry.class.load(Relaxed) as usize).unwrap_or(&"");
        let times = match entry.count.load(Relaxed) {
            0 | 1 => String::new(),
            times => format!(", {times} times"),
        };
        let site = entry.site.get();
        let at = if site.is_empty() { String::new() } else { format!(" at {site}") };
        let _ = writeln!(text, "  {class}{at}, {}{times}", ranks_text(&entry.ranks()));
        let other = entry.other_site.get();
        let other = if other.is_empty() { String::new() } else { format!(" ({other})") };
        let _ = writeln!(text, "    {}{other}", entry.message.get());
    }
    let _ = match suppressed(shared) {
        0 => Ok(()),
        1 => writeln!(text, "  1 finding was suppressed"),
        suppressed => writeln!(text, "  {suppressed} findings were suppressed"),
    };
    for limit in limits(shared) {
        let _ = writeln!(text, "  note: {limit}");
    }
    text
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' => quoted.write_str("\\\""),
            '\\' => quoted.write_str("\\\\"),
            c if (c as u32) < 0x20 => write!(quoted, "\\u{:04x}", c as u32),
            c => quoted.write_char(c),
        };
    }
    quoted.push('"');
    quoted
}

fn json(shared: &Shared, partial: bool) -> String {
    let mut text = String::from("{\n");
    let _ = writeln!(text, "  \"schema\": \"mpi-tool-check/1\",");
    let _ = writeln!(text, "  \"tool\": \"mpi-check\",");
    let _ = writeln!(text, "  \"ranks\": {},", ranks(shared));
    let _ = writeln!(text, "  \"partial\": {partial},");
    let _ = writeln!(text, "  \"suppressed\": {},", suppressed(shared));
    let limits: Vec<_> = limits(shared).iter().map(|limit| quoted(limit)).collect();
    let _ = writeln!(text, "  \"limits\": [{}],", limits.join(", "));
    let _ = write!(text, "  \"findings\": [");
    for (number, entry) in entries(shared).enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let class = Class::NAMES.get(entry.class.load(Relaxed) as usize).unwrap_or(&"");
        let ranks: Vec<_> = entry.ranks().iter().map(u32::to_string).collect();
        let function = FunctionId::from_index(entry.function.load(Relaxed) as usize);
        let function = function.map_or("", FunctionId::name);
        let _ = write!(
            text,
            "{comma}\n    {{\"class\": \"{class}\", \"ranks\": [{}], \"function\": \"{function}\", \"site\": {}, \
             \"message\": {}, \"count\": {}, \"other_site\": {}}}",
            ranks.join(", "),
            quoted(&entry.site.get()),
            quoted(&entry.message.get()),
            entry.count.load(Relaxed).max(1),
            quoted(&entry.other_site.get()),
        );
    }
    let _ = write!(text, "{}]\n}}\n", if entries(shared).next().is_none() { "" } else { "\n  " });
    text
}

/// Writes the report's file anew. Each process that has found something new does so, as it may be the last one that
/// can.
pub(super) fn write_file(partial: bool) {
    let Some(path) = path_of_file() else { return };
    let shared = shared();
    let contents = match settings().format {
        Format::Json => json(shared, partial),
        _ => text(shared),
    };
    if let Err(error) = without_signals(|| replace(&path, &contents)) {
        say(format_args!("mpi-check: {}: {error}; the report is not there", path.display()));
    }
}

/// The same with all findings, also those that other processes add meanwhile, whose own file this one may replace.
pub(super) fn write_newest() {
    loop {
        let count = shared().findings_count.load(Acquire);
        write_file(true);
        if shared().findings_count.load(Acquire) == count {
            return;
        }
    }
}

/// Where this host's report goes, if it goes to a file. Each host has one, and none may write over another one's.
pub(super) fn path_of_file() -> Option<PathBuf> {
    let Output::File(path) = &settings().output else { return None };
    let mut path = OsStr::from_bytes(path.as_bytes()).to_owned();
    let shared = shared();
    if let Some(host) = shared.one_of_hosts().filter(|_| !shared.has_first.load(Relaxed)) {
        path.push(format!(".{host}"));
    }
    Some(path.into())
}

/// A reader never sees half of a file.
fn replace(path: &Path, contents: &str) -> std::io::Result<()> {
    if path.starts_with("/dev") {
        return fs::write(path, contents);
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    fs::write(&part, contents)?;
    fs::rename(&part, path)
}

/// This process prints no report unless something is found.
static ONLY_FINDINGS: AtomicBool = AtomicBool::new(false);

/// Others, which are as this one, print that nothing was found.
pub(crate) fn say_only_what_is_found() {
    ONLY_FINDINGS.store(true, Relaxed);
}

/// The report of this host, where the user wants it.
pub(super) fn write_report() {
    let shared = shared();
    let Settings { output, format } = settings();
    let contents = || match format {
        Format::Json => json(shared, false),
        _ => text(shared),
    };
    if shared.is_in_other_report() {
        merge::remove_file();
        return;
    }
    // What is printed does not grow with the number of hosts.
    let is_news = (shared.has_first.load(Relaxed) || shared.one_of_hosts().is_none())
        && !ONLY_FINDINGS.load(Relaxed)
        || entries(shared).next().is_some();
    match output {
        Output::Stdout | Output::Stderr if !is_news => {}
        Output::None => {}
        Output::File(_) => write_file(false),
        Output::Stdout => {
            print(&contents());
        }
        _ => {
            say(format_args!("{}", contents().trim_end()));
        }
    }
}
