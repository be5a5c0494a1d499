//! Settings of a tool's own: declared by the tool, set by the user as `MPI_TOOL_<TOOL>_<NAME>`.
//!
//! The type of a setting is its default's. Values come as text; one that means nothing leaves the
//! default and is told once a run. `options.rs` finds the texts, together with what all tools
//! understand.

use core::fmt;

/// A setting that a tool declares in [`Tool::SETTINGS`](crate::Tool::SETTINGS). Users see its name,
/// help and default with `MPI_TOOL_HELP=1`.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name, of capital letters, digits and `_`: `TOP` of the tool `slow-calls` is the variable
    /// `MPI_TOOL_SLOW_CALLS_TOP`. The names that all tools understand (`OUTPUT`, `FORMAT` …) are
    /// taken.
    pub name: &'static str,
    /// What values it takes, and which one it has unless the user says otherwise.
    pub default: Default,
    /// What it does, for `MPI_TOOL_HELP=1`: a few words.
    pub help: &'static str,
}

/// The values of a setting, with its default. From outside the crate it is `SettingDefault`.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// A number from 0, in decimal digits: read by [`Settings::number`].
    Number(u64),
    /// `1` or `0`: read by [`Settings::is_on`].
    Switch(bool),
    /// Any text: read by [`Settings::text`]. An empty value in the environment leaves the default.
    Text(&'static str),
    /// One of some words, by default the first: read by [`Settings::text`].
    Choice(&'static [&'static str]),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.default {
            Default::Number(number) => write!(f, "{} (a number; default {number})", self.help),
            Default::Switch(on) => write!(f, "{} (1 or 0; default {})", self.help, u8::from(on)),
            Default::Text("") => write!(f, "{} (default: empty)", self.help),
            Default::Text(text) => write!(f, "{} (default {text})", self.help),
            Default::Choice(words) => {
                write!(f, "{} ({}; default {})", self.help, words.join(", "), self.value().text())
            }
        }
    }
}

/// What a setting is set to. A word that was chosen is a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Number(u64),
    Switch(bool),
    Text(String),
}

impl Value {
    /// As a user would write it.
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Switch(on) => u8::from(*on).to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Setting {
    /// The default.
    fn value(&self) -> Value {
        match self.default {
            Default::Number(number) => Value::Number(number),
            Default::Switch(on) => Value::Switch(on),
            Default::Text(text) => Value::Text(text.to_owned()),
            Default::Choice(words) => Value::Text(words.first().copied().unwrap_or("").to_owned()),
        }
    }

    /// The value that a text means, or why it means none, in words for the user.
    fn parse(&self, text: &str) -> Result<Value, String> {
        let used = || format!("({} is used instead)", self.value().text());
        match self.default {
            Default::Number(_) => text
                .parse()
                .map(Value::Number)
                .map_err(|_| format!("not a number from 0 to {} {}", u64::MAX, used())),
            Default::Switch(_) => match text {
                "1" => Ok(Value::Switch(true)),
                "0" => Ok(Value::Switch(false)),
                _ => Err(format!("neither 1 nor 0 {}", used())),
            },
            Default::Text(_) => Ok(Value::Text(text.to_owned())),
            Default::Choice(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Default::Choice(words) => Err(format!("not one of {} {}", words.join(", "), used())),
        }
    }
}

/// What the settings of a tool are set to, for one level of it: what
/// [`Tool::configure`](crate::Tool::configure) gets. Values are asked for by the name and in the
/// type that the tool has declared. It can be cloned and kept; the questions compare names, so what
/// each call needs is read once.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the tool declares.
    declared: &'static [Setting],
    /// Their values, in the same order.
    values: Vec<Value>,
}

impl Settings {
    /// All as they are by default.
    pub(crate) fn new(declared: &'static [Setting]) -> Self {
        Self { declared, values: declared.iter().map(Setting::value).collect() }
    }

    /// Does the tool declare a setting of this name?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.declared.iter().any(|setting| setting.name == name)
    }

    /// Sets one of those that there are; another name is ignored, and an empty text leaves the
    /// setting as it is. An error says why the text is no value.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        if !text.is_empty()
            && let Some(index) = self.declared.iter().position(|setting| setting.name == name)
        {
            self.values[index] = self.declared[index].parse(text)?;
        }
        Ok(())
    }

    /// The value of a setting, which the tool must have declared.
    fn value(&self, name: &str) -> &Value {
        let index = self.declared.iter().position(|setting| setting.name == name);
        &self.values[index.unwrap_or_else(|| panic!("the tool declares no setting {name}"))]
    }

    /// A number.
    ///
    /// # Panics
    /// If the tool declares no such setting, or one of another kind; so below. A panic in
    /// `configure` ends the process when it starts, so a wrong name is found at the first run.
    pub fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Number(number) => *number,
            _ => panic!("the setting {name} is not a number"),
        }
    }

    /// Is a switch on?
    ///
    /// # Panics
    /// As [`number`](Self::number).
    pub fn is_on(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Switch(on) => *on,
            _ => panic!("the setting {name} is not a switch"),
        }
    }

    /// A text, or the word that was chosen.
    ///
    /// # Panics
    /// As [`number`](Self::number).
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            _ => panic!("the setting {name} is not a text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &[Setting] = &[
        Setting { name: "TOP", default: Default::Number(10), help: "how many lines" },
        Setting { name: "ALL", default: Default::Switch(false), help: "all of them" },
        Setting { name: "ORDER", default: Default::Choice(&["time", "name"]), help: "the order" },
        Setting { name: "TITLE", default: Default::Text(""), help: "the title" },
    ];

    #[test]
    fn settings_are_what_the_user_says_or_their_defaults() {
        let mut settings = Settings::new(SETTINGS);
        assert_eq!((settings.number("TOP"), settings.is_on("ALL")), (10, false));
        assert_eq!((settings.text("ORDER"), settings.text("TITLE")), ("time", ""));
        for (name, text) in [("TOP", "3"), ("ALL", "1"), ("ORDER", "name"), ("TITLE", "a, b")] {
            assert_eq!(settings.set(name, text), Ok(()));
        }
        assert_eq!((settings.number("TOP"), settings.is_on("ALL")), (3, true));
        assert_eq!((settings.text("ORDER"), settings.text("TITLE")), ("name", "a, b"));
    }

    #[test]
    fn a_value_that_means_nothing_changes_nothing_and_is_told() {
        let mut settings = Settings::new(SETTINGS);
        for (name, text) in [("TOP", "-1"), ("TOP", "many"), ("ALL", "yes"), ("ORDER", "size")] {
            let why = settings.set(name, text).unwrap_err();
            assert!(why.ends_with("is used instead)"), "{why}");
        }
        assert_eq!(
            settings.set("ORDER", "x").unwrap_err(),
            "not one of time, name (time is used instead)"
        );
        assert_eq!(settings.set("TOP", ""), Ok(()));
        assert_eq!((settings.number("TOP"), settings.text("ORDER")), (10, "time"));
        assert_eq!(SETTINGS[2].to_string(), "the order (time, name; default time)");
    }
}
