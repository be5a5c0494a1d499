//! A report as a table for programs: RFC 4180.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ::csv::Writer;

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
    let mut out = Writer::from_writer(out);
    let mut header = vec!["function".to_owned()];
    let of_keys: &[&str] = match by {
        By::Function | By::Peer | By::Segment => &[],
        By::Site => &["site"],
        By::Communicator => &["communicator", "identity", "size", "remote_size"],
        By::Size => &["size"],
        By::Phase => &["phase"],
    };
    header.extend(of_keys.iter().map(|name| (*name).to_owned()));
    header.push(table.events.clone());
    for (index, column) in table.measures.iter().enumerate() {
        let name = match column.unit.as_str() {
            "nanoseconds" if index == 0 => "seconds".to_owned(),
            "nanoseconds" => format!("seconds_{}", column.name),
            unit => format!("{unit}_{}", column.name),
        };
        header.extend([name.clone(), format!("{name}_least"), format!("{name}_most")]);
    }
    out.write_record(header)?;
    for (key, line) in lines {
        let mut fields = vec![key.function.clone()];
        if by != By::Function {
            fields.push(match key.what {
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
                What::Phase(phase) => phase.to_string(),
            });
        }
        if by == By::Communicator {
            let known = match key.what {
                What::Communicator(number) => table.communicators[number].as_ref(),
                _ => None,
            };
            fields.extend(known.map_or([const { String::new() }; 3], |known| {
                let Communicator { identity, size, remote_size, .. } = known;
                let other = remote_size.map_or(String::new(), |size| size.to_string());
                [identity.clone(), size.to_string(), other]
            }));
        }
        fields.push(line.events.to_string());
        for (column, sums) in table.measures.iter().zip(&line.measures) {
            let in_seconds = column.is_time();
            fields.extend([Some(sums.sum), sums.least, sums.most].map(|value| match value {
                Some(value) if in_seconds => {
                    format!("{}.{:09}", value / 1_000_000_000, value % 1_000_000_000)
                }
                Some(value) => value.to_string(),
                None => String::new(),
            }));
        }
        out.write_record(fields)?;
    }
    out.flush()
}
