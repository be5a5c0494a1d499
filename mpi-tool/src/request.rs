//! A tool on the command line, with options for it alone: `call-counter:format=json,merge=0`.

use std::env;
use std::path::Path;
use std::str::FromStr;

use crate::tools::stem;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolRequest {
    /// The tool's name, or the path of its shared object.
    pub(crate) name: String,
    /// Names of variables without what they all begin with, and values.
    pub(crate) options: Vec<(&'static str, String)>,
}

const OPTIONS: [(&str, &str); 4] =
    [("output", "OUTPUT"), ("format", "FORMAT"), ("merge", "MERGE"), ("signals", "SIGNALS")];

impl FromStr for ToolRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = match text.split_once(':') {
            Some((name, settings)) => (name, Some(settings)),
            None => (text, None),
        };
        if name.is_empty() {
            return Err("the tool's name is missing".into());
        }
        let mut options = Vec::new();
        for setting in settings.into_iter().flat_map(|settings| settings.split(',')) {
            let Some((key, value)) = setting.split_once('=') else {
                let hint = if Path::new(text).exists() {
                    " (a colon begins the options, so a path cannot contain one)"
                } else {
                    ""
                };
                return Err(format!("`{setting}` is not OPTION=VALUE{hint}"));
            };
            let Some((_, variable)) = OPTIONS.iter().find(|(known, _)| *known == key) else {
                let known = OPTIONS.map(|(known, _)| known).join(", ");
                return Err(format!("there is no option `{key}`; the options are {known}"));
            };
            let right = match key {
                "format" => matches!(value, "text" | "json" | "csv"),
                "merge" | "signals" => matches!(value, "0" | "1"),
                _ => !value.is_empty(),
            };
            if !right {
                let values = match key {
                    "format" => "text, json or csv",
                    "output" => "stderr, stdout, none or a path",
                    _ => "0 or 1",
                };
                return Err(format!("`{key}` cannot be `{value}`: it is {values}"));
            }
            let value = if key == "output" { absolute(value) } else { value.into() };
            options.push((*variable, value));
        }
        Ok(Self { name: name.into(), options })
    }
}

impl ToolRequest {
    /// A tool without options of its own.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.into(), options: Vec::new() }
    }

    /// Is it for the tool of this name, such as `mpi-watch`? A path is by the name of its file, such as `libmpi_watch.so`.
    pub(crate) fn is_for(&self, tool: &str) -> bool {
        let file = self.name.rsplit('/').next().unwrap_or_default();
        let name = file.split(".so").next().unwrap_or_default();
        stem(Path::new(name)).replace('_', "-") == tool
    }
}

/// A place for reports, which ranks may see from another working folder.
pub(crate) fn absolute(output: &str) -> String {
    let here = || env::current_dir().unwrap_or_default();
    match output {
        "stderr" | "stdout" | "none" => output.into(),
        path if Path::new(path).is_absolute() => path.into(),
        path => here().join(path).display().to_string(),
    }
}

/// The variable that sets an option for one tool alone: `MPI_TOOL_CALL_COUNTER_FORMAT`.
pub(crate) fn own_variable(tool: &str, option: &str) -> String {
    let own: String = tool
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    format!("MPI_TOOL_{own}_{option}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_a_tools_name() {
        let request: ToolRequest =
            "call-counter:format=json,output=/tmp/x,merge=0".parse().unwrap();
        assert_eq!(request.name, "call-counter");
        let options: Vec<_> = request.options.iter().map(|(a, b)| (*a, b.as_str())).collect();
        assert_eq!(options, [("FORMAT", "json"), ("OUTPUT", "/tmp/x"), ("MERGE", "0")]);
        assert_eq!(own_variable("call-counter", "FORMAT"), "MPI_TOOL_CALL_COUNTER_FORMAT");
    }

    #[test]
    fn a_tool_is_known_by_its_name_and_by_its_path() {
        let is_watch = |name: &str| ToolRequest::named(name).is_for("mpi-watch");
        for name in ["mpi-watch", "mpi_watch", "/opt/libmpi_watch.so", "lib/libmpi_watch.so.1"] {
            assert!(is_watch(name), "{name}");
        }
        for name in ["mpi-watcher", "/opt/mpi-watch/libmpi_check.so", "lib/libmy_mpi_watch.so"] {
            assert!(!is_watch(name), "{name}");
        }
    }

    #[test]
    fn wrong_options_are_told() {
        for (text, said) in [
            ("t:format=xml", "`format` cannot be `xml`: it is text, json or csv"),
            ("t:merge=yes", "`merge` cannot be `yes`: it is 0 or 1"),
            (
                "t:colour=red",
                "there is no option `colour`; the options are output, format, merge, signals",
            ),
            ("t:json", "`json` is not OPTION=VALUE"),
            (":format=json", "the tool's name is missing"),
        ] {
            assert_eq!(text.parse::<ToolRequest>().unwrap_err(), said);
        }
    }
}
