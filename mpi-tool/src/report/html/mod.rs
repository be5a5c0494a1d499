//! A report as one page for a browser, without any reference outside of its file.
//!
//! The page contains the report in JSON, so it is a report that `mpi-tool report` reads again. Its own sections are plain
//! HTML, which a browser shows without scripts. The script adds what depends on the reader: the picture of the matrix,
//! and tables with all numbers of the JSON.

pub(crate) mod chart;
pub(super) mod overview;
mod segments;
mod source;
mod tables;

use std::io::Write;

use anyhow::{Context as _, Result};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::read::Run;
use super::symbols::Symbols;
use super::{frames, with_frames};

/// How all pages look.
pub(crate) const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What comes before the report in a page.
const DATA: &str = "<script type=\"application/json\" id=\"mpi-tool-report\">";

/// The report in a page; `None` if the text is no page.
pub(super) fn data(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once(DATA)?;
    behind.split_once("</script>").map(|(data, _)| data)
}

/// Writes the page of a run.
pub(super) fn write(out: &mut dyn Write, run: Run, symbols: &mut Symbols) -> Result<()> {
    let Run { name, mut value, table } = run;
    let is_broken = || format!("{name} is not as a report should be");
    with_frames(&mut value, &table, symbols);
    let frames = frames(&table, symbols);
    let title = format!("{}: {}", table.tool, overview::whose(&table));
    let sections = [
        (
            "advice",
            "What limits this run",
            overview::limits(&table, &frames).with_context(is_broken)?,
        ),
        ("run", "Run and machine", overview::run(&table)),
        ("efficiency", "Efficiency", overview::efficiency(&table)),
        ("segments", "Code that computes longer on some ranks", segments::worst(&table, &frames)),
        ("ranks", "Share of MPI over ranks", overview::ranks(&table)),
        ("timeline", "When ranks are in MPI", tables::timeline(&table)),
        ("sites", "Call sites", tables::sites(&table, &frames).with_context(is_broken)?),
        ("functions", "Functions", tables::functions(&table).with_context(is_broken)?),
        ("communicators", "Communicators", tables::communicators(&table).with_context(is_broken)?),
        ("phases", "Phases", tables::phases(&table).with_context(is_broken)?),
        ("sizes", "Sizes of data", tables::sizes(&table).with_context(is_broken)?),
        ("matrix", "Who sends to whom", tables::matrix(&table)),
        ("hosts", "Hosts", tables::hosts(&table)),
        ("files", "Input and output", tables::files(&table).with_context(is_broken)?),
        ("cost", "What the tool itself cost", overview::cost(&table).with_context(is_broken)?),
    ];
    let body = html! {
        h1 { (title) }
        @if let Some(reason) = &table.reason { p.partial { "Partial: " (reason) } }
        nav aria-label="Sections" {
            @for (id, name, _) in &sections { a href={ "#" (id) } { (name) } " " }
            a href="#data" { "All numbers" }
        }
        @for (id, name, content) in &sections {
            section #(*id) aria-label=(*name) { h2 { (name) } (content) }
        }
        section #data aria-label="All numbers" {
            h2 { "All numbers" }
            p { "Every table of the report, as it is in JSON. Times are in nanoseconds." }
            noscript { p { "These tables need the page's own script." } }
        }
    };
    let page = document(&title, &body, &value);
    out.write_all(page.as_bytes())?;
    Ok(())
}

/// A whole page with a report in it.
pub(super) fn document(title: &str, body: &Markup, data: &Value) -> String {
    page(title, body, [STYLE, ""], DATA, data, SCRIPT)
}

/// A whole page without any reference outside of it: its body, styles, data behind the element that begins with `begin`,
/// and a script that reads these.
pub(crate) fn page(
    title: &str,
    body: &Markup,
    styles: [&str; 2],
    begin: &str,
    data: &Value,
    script: &str,
) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(script));
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) }
                style { @for style in styles { (PreEscaped(style)) } }
            }
            body {
                main { (body) }
                (PreEscaped(begin)) (PreEscaped(embedded(data))) (PreEscaped("</script>"))
                script { (PreEscaped(script)) }
            }
        }
    };
    page.into_string()
}

/// What a page may do: run its own script, whatever else somebody may have brought into it, and fetch nothing.
fn policy(script: &str) -> String {
    let hash = base64(&Sha256::digest(script));
    format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{hash}'"
    )
}

/// JSON that cannot end the element that it is in.
fn embedded(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Base64 of RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3)
            .fold(0_u32, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit <= chunk.len() { char::from(DIGITS[index]) } else { '=' });
        }
    }
    text
}

/// A part of 1 in percent.
pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// Nanoseconds as seconds.
fn seconds(nanoseconds: f64) -> String {
    format!("{:.3} s", nanoseconds / 1e9)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base64_is_that_of_the_standard() {
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn data_cannot_leave_its_element() {
        let value = json!({"name": "</script><script>alert(1)</script><!--&amp;"});
        let page = document("<b>", &html! { p { "</main>" } }, &value);
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(serde_json::from_str::<Value>(data(&page).unwrap()).unwrap(), value);
    }
}
