//! What a user can set, for all tools alike.
//!
//! | variable | values | |
//! |---|---|---|
//! | `MPI_TOOL_OUTPUT` | `stderr`, `stdout`, `none` or a path | where the report goes |
//! | `MPI_TOOL_FORMAT` | `text`, `json`, `csv` | how it looks |
//! | `MPI_TOOL_MERGE` | `1`, `0` | one report for all ranks, or one a rank without communication |
//! | `MPI_TOOL_SIGNALS` | `1`, `0` | write a partial report when a signal ends the process |
//! | `MPI_TOOL_ALL_RANKS` | `0`, `1` | also print what other ranks than 0 report for themselves |
//! | `MPI_TOOL_VERBOSE` | `0`, `1` | say where a report is; by default only to a terminal |
//! | `MPI_TOOL_HELP` | `1` | say all this |
//!
//! `MPI_TOOL_RUN` names the run folder, for the tools that keep files there. `MPI_TOOL_LIBRARIES` names libraries, by the beginnings
//! of their files' names with colons in between: a call that comes out of them is told with the program's own line.
//!
//! With the tool's name in it, a variable is for that tool alone: `MPI_TOOL_CALL_COUNTER_FORMAT`. A
//! tool may have [settings](crate::Setting) of its own, which are named so, too.
//! In a path, `%t` is the tool's name, `%p` the process id, `%h` the host's name and `%%` a `%`.
//!
//! The environment is read when MPI starts (help when the tool is loaded, settings of a tool's own
//! before its first call), by every process for itself; ranks that have different values behave
//! differently. A level of a stack has options of its own, which win over all variables. An empty
//! value is as good as none.
//!
//! Nothing that is wrong here stops a program: the default is used, and rank 0 says once what was
//! wrong, what the choices are, and what is used instead. What begins with `MPI_TOOL_` and is no
//! option is told, too, unless it may be the setting of another tool.

use std::env;
use std::ffi::{CString, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::settings::{Setting, Settings};

/// How a report looks (`MPI_TOOL_FORMAT`). All formats have the same counters; `docs/report.md`
/// describes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A line a counter, for people.
    Text,
    /// One object; `docs/report.md` has its schema.
    Json,
    /// A table with a header line: one line a counter.
    Csv,
}

/// Where a report goes (`MPI_TOOL_OUTPUT`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
    /// Nowhere: the tool prints nothing at all, no complaints either.
    None,
    /// A file: its absolute path, `%` parts filled in. Processes that report for themselves write
    /// beside it.
    File(CString),
}

impl Output {
    /// Is it printed?
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Self::Stderr | Self::Stdout)
    }
}

/// What is set for one tool, or one level of a stack, in this process. Each field has its default
/// where nothing was set, or nothing that means anything.
#[derive(Debug, Clone)]
pub struct Options {
    /// `MPI_TOOL_OUTPUT`: standard error by default.
    pub output: Output,
    /// `MPI_TOOL_FORMAT`: text by default.
    pub format: Format,
    /// `MPI_TOOL_MERGE`: on by default. If off, the tool does not communicate.
    pub merge: bool,
    /// `MPI_TOOL_SIGNALS`: on by default. If off, the tool touches no signal handler.
    pub signals: bool,
    /// `MPI_TOOL_ALL_RANKS`: off by default.
    pub all_ranks: bool,
    /// `MPI_TOOL_VERBOSE`: if standard error is a terminal, by default.
    pub verbose: Option<bool>,
    /// The tool's own settings, as it has [declared](crate::Tool::SETTINGS) them.
    pub own: Settings,
    /// What was wrong with the settings, a line each, to be told once a run.
    pub complaints: Vec<String>,
}

const PREFIX: &str = "MPI_TOOL_";
/// What all tools understand, without the prefix. `HELP` is looked at when the tool is loaded.
const NAMES: [&str; 7] = ["OUTPUT", "FORMAT", "MERGE", "SIGNALS", "ALL_RANKS", "VERBOSE", "HELP"];

/// The text of `MPI_TOOL_HELP`, for a tool without settings of its own.
pub fn help(tool: &str, version: &str) -> String {
    help_with(tool, version, &[])
}

/// The same, with the tool's own settings.
pub(crate) fn help_with(tool: &str, version: &str, settings: &[Setting]) -> String {
    let own = variable_part(tool);
    let mut text = format!(
        "{tool} {version}: an MPI tool; preload it with LD_PRELOAD into the ranks of an MPI program.

It understands these variables of the environment:
  MPI_TOOL_OUTPUT   where the report goes: stderr (default), stdout, none, or a path
                    (in it, %t is the tool's name, %p the process id, %h the host, %% a %)
  MPI_TOOL_FORMAT   how it looks: text (default), json, csv
  MPI_TOOL_MERGE    1 (default): one report, merged over the ranks; 0: one report a rank,
                    without communication (for tools on some of the ranks only)
  MPI_TOOL_SIGNALS  1 (default): write a partial report when a signal ends the process; 0: do not
  MPI_TOOL_ALL_RANKS  0 (default): when ranks report for themselves, print the report of rank 0 only, and
                    a line about its calls after MPI_Finalize; 1: print the reports of all ranks
  MPI_TOOL_VERBOSE  1: print which file the report is in; 0: do not (default: only to a terminal)
  MPI_TOOL_HELP     1: print this

{PREFIX}{own}_OUTPUT and so on set the same for {tool} alone.
"
    );
    if !settings.is_empty() {
        let _ = writeln!(text, "{tool} also has these settings:");
    }
    for setting in settings {
        let _ = writeln!(text, "  {PREFIX}{own}_{}  {setting}", setting.name);
    }
    text
}

/// Why a level of a stack cannot have an option of this name, in lower case, if it cannot.
pub(crate) fn refusal(own: &[Setting], name: &str) -> Option<String> {
    let common = NAMES.iter().copied().filter(|known| *known != "HELP");
    let known: Vec<_> = common.chain(own.iter().map(|setting| setting.name)).collect();
    let known: Vec<_> = known.iter().map(|known| known.to_lowercase()).collect();
    let is_known = known.iter().any(|known| known == name);
    (!is_known)
        .then(|| format!("{name} is no option of this tool; its options are {}", known.join(", ")))
}

/// `MPI_TOOL_LIBRARIES`: what also counts as a library, and not as the program's own.
#[cfg(feature = "call-sites")]
pub(crate) fn libraries() -> String {
    env::var("MPI_TOOL_LIBRARIES").unwrap_or_default()
}

/// Is a variable of the environment set, and not to `0`?
pub fn is_on(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Shall the tool print nothing at all? Reads the environment anew.
pub fn is_silent(tool: &str) -> bool {
    Options::read(tool, None, &[]).output == Output::None
}

/// May a tool print a line that could as well be left out, such as where its files are? Not if the user has sent its output
/// elsewhere, or wants few words. Reads the environment anew.
pub fn is_talkative(tool: &str) -> bool {
    let options = Options::read(tool, None, &[]);
    matches!(options.output, Output::Stderr | Output::Stdout) && options.verbose != Some(false)
}

/// Where a tool that writes its report itself shall put it, and in which format. Reads the environment anew.
pub fn report_options(tool: &str) -> (Output, Format) {
    let options = Options::read(tool, None, &[]);
    (options.output, options.format)
}

/// May a tool communicate with the tools of other ranks, or has the user said that some ranks may not have it
/// (`MPI_TOOL_MERGE=0`)?
pub fn may_communicate(tool: &str) -> bool {
    Options::read(tool, None, &[]).merge
}

/// `call-counter` → `CALL_COUNTER`: a tool's name as it stands in the names of variables.
fn variable_part(tool: &str) -> String {
    tool.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect()
}

impl Options {
    /// Reads the environment. `suffix` tells the tool from others of the process in file names,
    /// where there are others.
    pub(crate) fn read(tool: &str, suffix: Option<&str>, settings: &'static [Setting]) -> Self {
        let variables: Vec<_> = env::vars_os().collect();
        let mut options = Self::from_variables(tool, suffix, settings, &variables);
        options.make_absolute();
        options
    }

    /// Options of one level of a stack, by their names without `MPI_TOOL_`: they win over the
    /// environment's. A path among them is this level's alone.
    pub(crate) fn add(&mut self, settings: &[(String, String)], label: &str) {
        for (name, value) in settings {
            if let Err(reason) = self.set(name, &value.into(), label, None) {
                self.complaints.push(format!("{name} = {value:?}: {reason}"));
            }
        }
        self.make_absolute();
    }

    /// Makes a relative path absolute: the application may change its folder before the report is
    /// written.
    fn make_absolute(&mut self) {
        if let Output::File(path) = &mut self.output {
            *path = absolute(core::mem::take(path));
        }
    }

    /// The options that some variables of the environment mean. Variables for the tool alone win
    /// over the common ones, in whichever order they come. What begins with the prefix and is
    /// nobody's is complained about: most of the time it is a slip.
    fn from_variables(
        tool: &str,
        suffix: Option<&str>,
        own_settings: &'static [Setting],
        variables: &[(OsString, OsString)],
    ) -> Self {
        let mut options = Options {
            output: Output::Stderr,
            format: Format::Text,
            merge: true,
            signals: true,
            all_ranks: false,
            verbose: None,
            own: Settings::new(own_settings),
            complaints: Vec::new(),
        };
        let own = variable_part(tool) + "_";
        // The tool's own settings after the common ones, so that they win.
        let mut settings: Vec<(bool, &str, &OsString, &OsString)> = Vec::new();
        for (variable, value) in variables {
            let Some(name) = variable.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
                continue;
            };
            let specific = name.strip_prefix(&own);
            match NAMES.iter().find(|known| **known == specific.unwrap_or(name)) {
                Some(known) => settings.push((specific.is_some(), known, variable, value)),
                // The folders where `mpi-tool` looks for tools, the run folder, and what `mpi-tool run` says of the run.
                None if matches!(
                    name,
                    "PATH" | "RUN" | "LIBRARIES" | "JOB" | "GUARD" | "MARKS"
                ) => {}
                None if specific.is_some_and(|name| options.own.has(name)) => {
                    let specific = specific.unwrap_or_default();
                    if let Err(reason) = options.own.set(specific, &value.to_string_lossy()) {
                        let value = value.to_string_lossy();
                        options.complaints.push(format!("{PREFIX}{name}={value}: {reason}"));
                    }
                }
                // A tool's own option has the tool's name and its own. Which tools there are elsewhere,
                // and what options they have, this one does not know.
                None if specific.is_none() && name.contains('_') => {}
                None => {
                    let own_settings =
                        own_settings.iter().map(|setting| own.clone() + setting.name);
                    let common = NAMES.iter().map(|known| (*known).to_owned());
                    let known: Vec<_> =
                        common.chain(own_settings).map(|name| PREFIX.to_owned() + &name).collect();
                    options.complaints.push(format!(
                        "{PREFIX}{name} is not an option; the options are {} (MPI_TOOL_HELP=1 explains them)",
                        known.join(", ")
                    ));
                }
            }
        }
        settings.sort_by_key(|(specific, ..)| *specific);
        for (specific, name, variable, value) in settings {
            // A path for this tool alone needs no name in it, unless the tool is there twice.
            let suffix = suffix.filter(|suffix| !specific || *suffix != tool);
            if let Err(reason) = options.set(name, value, tool, suffix) {
                let (variable, value) = (variable.to_string_lossy(), value.to_string_lossy());
                options.complaints.push(format!("{variable}={value}: {reason}"));
            }
        }
        options
    }

    /// Sets one option, by its name without the prefix. An error says why the value means nothing.
    fn set(
        &mut self,
        name: &str,
        value: &OsString,
        tool: &str,
        suffix: Option<&str>,
    ) -> Result<(), String> {
        let text = value.to_string_lossy();
        match name {
            "OUTPUT" => {
                self.output = match &*text {
                    "" | "stderr" => Output::Stderr,
                    "stdout" => Output::Stdout,
                    "none" => Output::None,
                    _ => Output::File(path(value, tool, suffix)?),
                }
            }
            "FORMAT" => {
                self.format = match &*text {
                    "" | "text" => Format::Text,
                    "json" => Format::Json,
                    "csv" => Format::Csv,
                    _ => {
                        return Err(
                            "not a format; use text, json or csv (text is used instead)".into()
                        );
                    }
                }
            }
            "MERGE" => self.merge = switch(&text, true)?,
            "SIGNALS" => self.signals = switch(&text, true)?,
            "ALL_RANKS" => self.all_ranks = switch(&text, false)?,
            "VERBOSE" if text.is_empty() => self.verbose = None,
            "VERBOSE" => self.verbose = Some(switch(&text, false)?),
            own => self.own.set(own, &text)?,
        }
        Ok(())
    }
}

/// `1`, `0`, or the default if there is nothing.
fn switch(text: &str, default: bool) -> Result<bool, String> {
    match text {
        "" => Ok(default),
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(format!("neither 1 nor 0 ({} is used instead)", u8::from(default))),
    }
}

/// The path with its `%` parts filled in. Where several tools are in the process and the path does
/// not tell them apart, their names go before the extension.
fn path(value: &OsString, tool: &str, suffix: Option<&str>) -> Result<CString, String> {
    let mut path = Vec::new();
    let mut bytes = value.as_bytes().iter().copied();
    let mut names_tool = false;
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            path.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b't') => {
                names_tool = true;
                path.extend_from_slice(suffix.unwrap_or(tool).as_bytes());
            }
            Some(b'p') => path.extend_from_slice(std::process::id().to_string().as_bytes()),
            Some(b'h') => path.extend_from_slice(host_name().as_bytes()),
            Some(b'%') => path.push(b'%'),
            other => {
                let mut message = String::from("%");
                if let Some(other) = other {
                    let _ = write!(message, "{}", char::from(other));
                }
                return Err(message
                    + " means nothing in a path; use %t, %p, %h or %% (stderr is used instead)");
            }
        }
    }
    if let (Some(suffix), false, false) = (suffix, names_tool, path.starts_with(b"/dev/")) {
        let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let dot = path[name..].iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0);
        let at = dot.map_or(path.len(), |dot| name + dot);
        path.splice(at..at, format!(".{suffix}").into_bytes());
    }
    CString::new(path).map_err(|_| "a path has no NUL".into())
}

/// The folder that the process was started in, as far as this is known.
static START: OnceLock<PathBuf> = OnceLock::new();

/// Notes which folder the process is in, before the application goes elsewhere.
pub(crate) fn remember_folder() {
    if let Ok(folder) = env::current_dir() {
        let _ = START.set(folder);
    }
}

/// The same path from wherever the application goes until the report is written; as it is where the
/// folder that it was started in has no name.
fn absolute(path: CString) -> CString {
    if path.as_bytes().starts_with(b"/") {
        return path;
    }
    let Some(folder) = START.get().cloned().or_else(|| env::current_dir().ok()) else {
        return path;
    };
    let mut absolute = folder.into_os_string().into_encoded_bytes();
    absolute.push(b'/');
    absolute.extend_from_slice(path.as_bytes());
    CString::new(absolute).unwrap_or(path)
}

/// The host's name, for paths; cut to 255 bytes.
pub(crate) fn host_name() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: `gethostname` writes at most as many bytes as it is told; `name` has as many, and is
    // looked at up to its NUL or end.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options of the tool `call-counter`, with these variables.
    fn options(suffix: Option<&str>, variables: &[(&str, &str)]) -> Options {
        let variables: Vec<(OsString, OsString)> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Options::from_variables("call-counter", suffix, OWN, &variables)
    }

    const OWN: &[Setting] = &[Setting {
        name: "TOP",
        default: crate::SettingDefault::Number(10),
        help: "how many functions",
    }];

    fn file(path: &str) -> Output {
        Output::File(CString::new(path).unwrap())
    }

    #[test]
    fn a_tools_own_variable_wins_over_the_common_one_in_any_order() {
        for order in [[0, 1], [1, 0]] {
            let variables = [("MPI_TOOL_CALL_COUNTER_FORMAT", "csv"), ("MPI_TOOL_FORMAT", "json")];
            let options = options(None, &order.map(|index| variables[index]));
            assert_eq!(options.format, Format::Csv);
            assert!(options.complaints.is_empty());
        }
    }

    #[test]
    fn unknown_names_and_values_are_told_and_other_tools_own_are_not() {
        let options = options(
            None,
            &[
                ("MPI_TOOL_OUTPT", "x"),
                ("MPI_TOOL_FORMAT", "xml"),
                ("MPI_TOOL_MERGE", "maybe"),
                ("MPI_TOOL_BANDWIDTH_COUNTER_FORMAT", "csv"),
                // Of a tool of somebody's.
                ("MPI_TOOL_SLOW_CALLS_MICROSECONDS", "5"),
                ("MPI_TOOLBOX", "x"),
                ("MPI_TOOL_PATH", "/opt/tools"),
            ],
        );
        assert_eq!(options.complaints.len(), 3, "{:?}", options.complaints);
        assert!(options.complaints[0].starts_with("MPI_TOOL_OUTPT is not an option"));
        assert!(options.complaints[1].starts_with("MPI_TOOL_FORMAT=xml: not a format"));
        assert!(options.complaints[2].starts_with("MPI_TOOL_MERGE=maybe: neither"));
        assert_eq!((options.format, options.merge), (Format::Text, true));
    }

    #[test]
    fn a_tools_own_settings_are_set_and_checked() {
        let plain = options(None, &[]);
        assert_eq!((plain.own.number("TOP"), plain.all_ranks, plain.verbose), (10, false, None));
        let set = options(None, &[("MPI_TOOL_CALL_COUNTER_TOP", "3"), ("MPI_TOOL_VERBOSE", "1")]);
        assert_eq!((set.own.number("TOP"), set.all_ranks, set.verbose), (3, false, Some(true)));
        assert!(set.complaints.is_empty(), "{:?}", set.complaints);
        let wrong = options(
            None,
            &[("MPI_TOOL_CALL_COUNTER_TOP", "x"), ("MPI_TOOL_CALL_COUNTER_TOPS", "3")],
        );
        assert_eq!(wrong.own.number("TOP"), 10);
        assert_eq!(wrong.complaints.len(), 2, "{:?}", wrong.complaints);
        assert!(wrong.complaints[0].starts_with("MPI_TOOL_CALL_COUNTER_TOP=x: not a number"));
        assert!(wrong.complaints[1].starts_with("MPI_TOOL_CALL_COUNTER_TOPS is not an option"));
        assert!(wrong.complaints[1].contains(", MPI_TOOL_CALL_COUNTER_TOP ("));
        let mut level = options(None, &[("MPI_TOOL_CALL_COUNTER_TOP", "3")]);
        level.add(&[("TOP".into(), "5".into())], "call-counter-1");
        assert_eq!(level.own.number("TOP"), 5);
        assert_eq!(refusal(OWN, "top"), None);
        assert_eq!(refusal(OWN, "all_ranks"), None);
        let all = "output, format, merge, signals, all_ranks, verbose, top";
        for wrong in ["tops", "TOP", "help", ""] {
            assert_eq!(
                refusal(OWN, wrong),
                Some(format!("{wrong} is no option of this tool; its options are {all}"))
            );
        }
        let help = help_with("call-counter", "1.0", OWN);
        let line = "  MPI_TOOL_CALL_COUNTER_TOP  how many functions (a number; default 10)\n";
        assert!(help.ends_with(line), "{help}");
    }

    #[test]
    fn paths_tell_tools_apart() {
        let output = |suffix, path| options(suffix, &[("MPI_TOOL_OUTPUT", path)]).output;
        assert_eq!(output(None, "a.d/r.json"), file("a.d/r.json"));
        assert_eq!(output(Some("call-counter-2"), "a.d/r.json"), file("a.d/r.call-counter-2.json"));
        assert_eq!(output(Some("call-counter"), "a.d/report"), file("a.d/report.call-counter"));
        assert_eq!(output(Some("call-counter"), "a/.hidden"), file("a/.hidden.call-counter"));
        assert_eq!(output(None, "%t-100%%.csv"), file("call-counter-100%.csv"));
        assert_eq!(output(Some("call-counter-2"), "%t.csv"), file("call-counter-2.csv"));
        assert_eq!(output(Some("call-counter"), "/dev/full"), file("/dev/full"));
        let own = |suffix| options(suffix, &[("MPI_TOOL_CALL_COUNTER_OUTPUT", "r.json")]).output;
        assert_eq!(own(Some("call-counter")), file("r.json"));
        assert_eq!(own(Some("call-counter-2")), file("r.call-counter-2.json"));
        let wrong = options(None, &[("MPI_TOOL_OUTPUT", "a%x")]);
        assert_eq!(wrong.output, Output::Stderr);
        assert!(wrong.complaints[0].contains("%x means nothing"), "{:?}", wrong.complaints);
    }
}
