//! A report as a database of SQLite: a table for each of its lists.
//!
//! Nested fields are columns with the names of the path: `time_sum`. What is not a number or a text is JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rusqlite::types::Value as Field;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value};

use super::super::read::Run;
use super::super::symbols::Frame;

/// The names of the lists that become tables.
const LISTS: [&str; 7] = ["rows", "hosts", "communicators", "measures", "keys", "matrix", "phases"];

/// Writes the database of a report.
pub(in super::super) fn write(path: &Path, run: &Run, frames: &[Vec<Frame>]) -> Result<()> {
    database(path, |connection| fill(connection, run, frames))
}

/// Writes a database in place of the file, if there is one. A device or a pipe stays: a database cannot be written to it, and
/// must not take its place.
pub(crate) fn database(path: &Path, fill: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        bail!("{}: a database is a file of its own, and this is no regular file", path.display());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // It gets its name when it is complete.
    let unfinished = tempfile_in(folder.unwrap_or(Path::new(".")));
    let filled = || -> Result<()> {
        let mut connection = Connection::open(&unfinished)?;
        let transaction = connection.transaction()?;
        fill(&transaction)?;
        transaction.commit()?;
        drop(connection);
        Ok(fs::rename(&unfinished, path)?)
    };
    let result = filled();
    if result.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    result.with_context(|| path.display().to_string())
}

/// A name that nobody else has there.
fn tempfile_in(folder: &Path) -> std::path::PathBuf {
    folder.join(format!(".mpi-tool.{}.part", std::process::id()))
}

fn fill(connection: &Connection, run: &Run, frames: &[Vec<Frame>]) -> Result<()> {
    let report = &run.value;
    let mut single = Map::new();
    for (name, value) in report.as_object().into_iter().flatten() {
        if !value.is_array() {
            single.insert(name.clone(), value.clone());
        }
    }
    if let Some(Value::Object(segments)) = single.get_mut("segments") {
        segments.remove("rows");
    }
    insert(connection, "report", &[flattened(&Value::Object(single))])?;
    let segments = ("segments", &report["segments"]["rows"]);
    for (name, list) in LISTS.iter().map(|name| (*name, &report[*name])).chain([segments]) {
        let rows = list.as_array().into_iter().flatten().map(flattened);
        let rows: Vec<_> =
            rows.enumerate().map(|(index, row)| numbered("number", index, row)).collect();
        insert(connection, name, &rows)?;
    }
    let mut places = Vec::new();
    for (site, frames) in frames.iter().enumerate() {
        for (depth, frame) in frames.iter().enumerate() {
            let mut row = flattened(&frame.to_json());
            row.push(("place".into(), Field::Text(frame.place.clone())));
            places.push(numbered("site", site, numbered("depth", depth, row)));
        }
    }
    insert(connection, "sites", &places)?;
    let mut ranks = Vec::new();
    for host in &run.table.hosts {
        let Some(of) = &host.by_rank else { continue };
        for ((rank, wall), inside) in of.rank.iter().zip(&of.wall).zip(&of.inside) {
            ranks.push(vec![
                ("rank".into(), number(*rank)),
                ("host".into(), Field::Text(host.name.clone())),
                ("wall".into(), number(*wall)),
                ("inside".into(), number(*inside)),
            ]);
        }
    }
    insert(connection, "ranks", &ranks)
}

type Row = Vec<(String, Field)>;

/// Makes a table of rows; none if there are no rows. Numbers of sites and communicators in rows count from 1.
fn insert(connection: &Connection, name: &str, rows: &[Row]) -> Result<()> {
    let mut columns: Vec<&str> = Vec::new();
    for (column, _) in rows.iter().flatten() {
        // SQLite does not tell the cases of letters apart.
        if !columns.iter().any(|known| known.eq_ignore_ascii_case(column)) {
            columns.push(column);
        }
    }
    if columns.is_empty() {
        return Ok(());
    }
    let quoted: Vec<String> = columns.iter().map(|column| quote(column)).collect();
    let list = quoted.join(", ");
    connection.execute(&format!("create table {} ({list})", quote(name)), [])?;
    let places = vec!["?"; columns.len()].join(", ");
    let mut statement =
        connection.prepare(&format!("insert into {} ({list}) values ({places})", quote(name)))?;
    for row in rows {
        let values = columns.iter().map(|column| {
            let found = row.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
            found.map_or(Field::Null, |(_, value)| value.clone())
        });
        statement.execute(params_from_iter(values))?;
    }
    Ok(())
}

/// A name as SQL has it.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\"").replace('\0', ""))
}

fn numbered(name: &str, index: usize, mut row: Row) -> Row {
    row.insert(0, (name.to_owned(), number(index as u64 + 1)));
    row
}

/// SQLite's numbers have a sign: greater ones become inexact.
fn number(value: u64) -> Field {
    i64::try_from(value).map_or(Field::Real(value as f64), Field::Integer)
}

/// The fields of an object, with those of objects in it.
fn flattened(value: &Value) -> Row {
    fn add(path: &str, value: &Value, row: &mut Row) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}_{name}") };
                    add(&path, inner, row);
                }
            }
            Value::Null => row.push((path.to_owned(), Field::Null)),
            Value::Bool(value) => row.push((path.to_owned(), Field::Integer((*value).into()))),
            Value::String(text) => row.push((path.to_owned(), Field::Text(text.clone()))),
            Value::Array(_) => row.push((path.to_owned(), Field::Text(value.to_string()))),
            Value::Number(written) => {
                let field = match (written.as_i64(), written.as_f64()) {
                    (Some(integer), _) => Field::Integer(integer),
                    (None, Some(real)) => Field::Real(real),
                    (None, None) => Field::Null,
                };
                row.push((path.to_owned(), field));
            }
        }
    }
    let mut row = Vec::new();
    add("", value, &mut row);
    row
}
