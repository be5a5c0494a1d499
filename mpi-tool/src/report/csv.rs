//! A report as a table for programs: RFC 4180.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::symbols::Frame;
use super::{Communicator, Key, Line, Table, What};
use crate::cli::By;

/// Writes a header and a line for each key. Times are in seconds.
pub(super) fn write(
    out: &mut dyn Write,
    table: &Table,
    lines: &BTreeMap<Key, Line>,
    by: By,
    frames: &[Vec<Frame>],
) -> io::Result<()> {
    let mut header = String::from("function");
    header += match by {
        By::Function => "",
        By::Site => ",site",
        By::Communicator => ",communicator,identity,size,remote_size",
        By::Size => ",size",
    };
    let _ = write!(header, ",{}", field(&table.events));
    for column in &table.measures {
        let name = match column.unit.as_str() {
            "nanoseconds" => "seconds".to_owned(),
            unit => format!("{unit}_{}", column.name),
        };
        let _ = write!(
            header,
            ",{},{},{}",
            field(&name),
            field(&format!("{name}_least")),
            field(&format!("{name}_most"))
        );
    }
    writeln!(out, "{header}")?;
    for (key, line) in lines {
        let mut text = field(&key.function);
        if by != By::Function {
            let what = match key.what {
                What::All => String::new(),
                What::Others(_) => "others".to_owned(),
                What::Unknown => "unknown".to_owned(),
                What::Site(site) => {
                    frames[site].iter().map(Frame::long).collect::<Vec<_>>().join(" < ")
                }
                What::Communicator(number) => {
                    let known = table.communicators[number].as_ref();
                    known.map_or(String::new(), |known| known.name.clone())
                }
                What::Size(most) => most.to_string(),
            };
            text = text + "," + &field(&what);
        }
        if by == By::Communicator {
            let known = match key.what {
                What::Communicator(number) => table.communicators[number].as_ref(),
                _ => None,
            };
            text += &known.map_or(",,,".to_owned(), |known| {
                let Communicator { identity, size, remote_size, .. } = known;
                let other = remote_size.map_or(String::new(), |size| size.to_string());
                format!(",{},{size},{other}", field(identity))
            });
        }
        let _ = write!(text, ",{}", line.events);
        for (column, sums) in table.measures.iter().zip(&line.measures) {
            let in_seconds = column.unit == "nanoseconds";
            for value in [Some(sums.sum), sums.least, sums.most] {
                text += ",";
                match value {
                    Some(value) if in_seconds => {
                        let _ =
                            write!(text, "{}.{:09}", value / 1_000_000_000, value % 1_000_000_000);
                    }
                    Some(value) => text += &value.to_string(),
                    None => {}
                }
            }
        }
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// A field, in quotes where it must be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
