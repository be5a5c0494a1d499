//! One HTML page of all measurements, with its figures in it, beside what the thesis says.

mod thesis;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::figure::{Line, figure};
use crate::outcome::{Failure, read_failures};
use crate::runs;
use crate::sample::{Estimate, slope};

#[derive(Args)]
pub(crate) struct Report {
    /// The runs of programs
    #[arg(long)]
    runs: Option<PathBuf>,
    /// Figures of `overhead`
    #[arg(long)]
    overhead: Option<PathBuf>,
    /// Figures of `library`
    #[arg(long)]
    library: Option<PathBuf>,
    /// How experiments failed
    #[arg(long)]
    failures: Option<PathBuf>,
    /// The page
    #[arg(long, default_value = "report.html")]
    output: PathBuf,
}

/// A target of the project, and what came of it.
struct Target {
    what: String,
    measured: String,
    met: bool,
}

#[derive(Default)]
struct Page {
    body: String,
    targets: Vec<Target>,
    failures: Vec<Failure>,
}

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}\
    table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.2em .6em;\
    text-align:right}td:first-child,th:first-child{text-align:left}.met{color:#070}.missed{color:#b00}\
    blockquote{border-left:3px solid #99c;margin-left:0;padding-left:1em;color:#446}svg{max-width:100%}";

impl Report {
    pub(crate) fn run(self) -> Result<()> {
        let mut page = Page::default();
        if let Some(path) = &self.overhead {
            page.overhead(&json(path, "mpi-tool-overhead/1")?)?;
        }
        if let Some(path) = &self.library {
            page.library(&json(path, "rmpi-speed/1")?)?;
        }
        if let Some(path) = &self.runs {
            let samples = runs::read(path)?;
            if samples.is_empty() {
                bail!("{} has no runs", path.display());
            }
            page.programs(&samples)?;
        }
        if let Some(path) = &self.failures {
            page.failures = read_failures(path)?;
        }
        let html = page.finish();
        fs::write(&self.output, html)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        println!("{}", self.output.display());
        Ok(())
    }
}

/// A file of figures of a schema.
fn json(path: &Path, schema: &str) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let value: Value = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    if value["schema"] != schema {
        bail!("{}: schema {}, where {schema} is expected", path.display(), value["schema"]);
    }
    Ok(value)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// What is in angle brackets in HTML means something else.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Page {
    fn heading(&mut self, title: &str, thesis: &str) {
        let _ = write!(self.body, "<h2>{}</h2>", escape(title));
        if !thesis.is_empty() {
            let _ = write!(self.body, "<blockquote>The thesis: {}</blockquote>", escape(thesis));
        }
    }

    fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let cells = |cells: &mut dyn Iterator<Item = &str>, tag: &str| {
            cells.fold(String::from("<tr>"), |mut row, cell| {
                let _ = write!(row, "<{tag}>{}</{tag}>", escape(cell));
                row
            }) + "</tr>"
        };
        self.body += "<table>";
        self.body += &cells(&mut head.iter().copied(), "th");
        for row in rows {
            self.body += &cells(&mut row.iter().map(String::as_str), "td");
        }
        self.body += "</table>";
    }

    fn target(&mut self, what: impl Into<String>, measured: String, met: bool) {
        self.targets.push(Target { what: what.into(), measured, met });
    }

    /// Instructions, which are exact, and time of a call.
    fn overhead(&mut self, figures: &Value) -> Result<()> {
        self.heading(
            "Instructions added to a call",
            "one tool costs nothing that can be measured in a program's run time (5.6). Instructions can.",
        );
        let all = list(&figures["instructions"]);
        let added = |tools: &str, function: &str| {
            all.iter()
                .find(|row| row["tools"] == tools && row["function"] == function)
                .map(|row| number(&row["added"]))
        };
        let rows: Vec<_> = all
            .iter()
            .map(|row| {
                let limit =
                    row["at_most"].as_f64().map(|limit| format!("{limit}")).unwrap_or_default();
                let added = format!("{:.2}", number(&row["added"]));
                vec![
                    text(&row["tools"]).to_owned(),
                    text(&row["function"]).to_owned(),
                    added,
                    limit,
                ]
            })
            .collect();
        self.table(&["tools", "call", "instructions added", "at most"], &rows);
        for (ours, theirs, what) in [
            ("empty-raw", "C, empty", "empty-raw at most the empty tool in C"),
            ("empty-high", "empty-raw", "empty-high as empty-raw"),
            (
                "call-counter",
                "C, counter",
                "call-counter at most the counter in C, in instructions",
            ),
            (
                "bandwidth-counter",
                "C, bandwidth counter",
                "bandwidth-counter at most the bandwidth counter in C",
            ),
        ] {
            let pairs: Vec<(f64, f64)> = all
                .iter()
                .filter(|row| row["tools"] == ours)
                .filter_map(|row| {
                    Some((number(&row["added"]), added(theirs, text(&row["function"]))?))
                })
                .collect();
            if pairs.is_empty() {
                // It was not measured.
                continue;
            }
            let measured: Vec<_> =
                pairs.iter().map(|(ours, theirs)| format!("{ours:.0}/{theirs:.0}")).collect();
            let met = pairs.iter().all(|(ours, theirs)| *ours <= theirs + 0.01);
            self.target(what, measured.join(", "), met);
        }
        for row in
            list(&figures["time"]).iter().filter(|row| text(&row["what"]).contains("counter"))
        {
            let (ratio, low, high) =
                (number(&row["ratio"]), number(&row["low"]), number(&row["high"]));
            let what = format!("{} in time, {} threads", text(&row["what"]), row["threads"]);
            self.target(what, format!("{ratio:.2} ({low:.2} to {high:.2})"), low <= 1.0);
        }

        self.heading(
            "Instructions of QMPI stacks",
            "the time grows with the number of tools, in Rust's layers faster than in C's (5.7.2).",
        );
        let mut lines: Vec<Line> = Vec::new();
        for row in list(&figures["stacks"]) {
            let kind = text(&row["kind"]);
            if lines.last().is_none_or(|line| line.name != kind) {
                lines.push(Line { name: kind.into(), points: Vec::new() });
            }
            let point = (number(&row["levels"]), Estimate::exact(number(&row["added"])));
            lines.last_mut().expect("just pushed").points.push(point);
        }
        // TUM's library with its own tools: measured when this project began.
        let tum = |levels: f64| if levels == 0.0 { 50.0 } else { 146.0 + 100.0 * (levels - 1.0) };
        let points = [0.0, 300.0].map(|levels| (levels, Estimate::exact(tum(levels)))).to_vec();
        lines.push(Line { name: "C tool, TUM's library".into(), points });
        self.body += &figure("levels", "instructions added to MPI_Comm_rank", &lines)?;
        for line in &lines {
            let Some(each) = slope_of(line) else { continue };
            if !line.name.contains("TUM") {
                let what = format!("{}: a quarter of TUM's C tool a level, at most", line.name);
                self.target(what, format!("{each:.1} instructions"), each <= 25.0);
            }
        }
        Ok(())
    }

    fn library(&mut self, figures: &Value) -> Result<()> {
        self.heading("rmpi beside C", "");
        let mut lines: Vec<Line> = Vec::new();
        let mut worst: (f64, String) = (0.0, String::new());
        for row in list(&figures["ratios"]) {
            let pattern = text(&row["pattern"]);
            let [median, low, high] = ["ratio", "low", "high"].map(|name| number(&row[name]));
            if lines.iter().all(|line| line.name != pattern) {
                lines.push(Line { name: pattern.into(), points: Vec::new() });
            }
            let line = lines.iter_mut().find(|line| line.name == pattern).expect("just pushed");
            line.points
                .push((number(&row["bytes"]).max(1.0).log2(), Estimate { median, low, high }));
            if pattern == "conjugate gradients" {
                self.target(
                    format!("a solver on rmpi within 2 % of C's, halo of {} bytes", row["bytes"]),
                    format!("{median:.3} ({low:.3} to {high:.3})"),
                    low <= 1.02,
                );
            } else if low > worst.0 {
                worst = (low, format!("{pattern} of {} bytes: {median:.3}", row["bytes"]));
            }
        }
        if lines.is_empty() {
            self.body += "<p>Not measured.</p>";
            return Ok(());
        }
        self.body += &figure("bytes of a message, as a power of two", "time by C's time", &lines)?;
        self.target(
            "rmpi's patterns within 2 % of C's",
            format!("worst: {}", worst.1),
            worst.0 <= 1.02,
        );
        Ok(())
    }

    fn finish(self) -> String {
        let mut html = format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>What MPI tools cost</title>\
             <style>{STYLE}</style><h1>What MPI tools cost</h1>"
        );
        let rows = machine();
        html += "<table>";
        for (what, value) in rows {
            let _ = write!(html, "<tr><td>{what}</td><td>{}</td></tr>", escape(&value));
        }
        html += "</table>";
        if !self.failures.is_empty() {
            html +=
                "<h2>What did not come out</h2><p>The rest of the page has what was measured.</p>";
            for Failure { experiment, reason } in &self.failures {
                let (experiment, reason) = (escape(experiment), escape(reason));
                let _ = write!(html, "<h3 class=missed>{experiment}</h3><pre>{reason}</pre>");
            }
        }
        html += "<h2>Targets</h2><table><tr><th>target</th><th>measured</th><th></th></tr>";
        for Target { what, measured, met } in &self.targets {
            let word = if *met { "met" } else { "missed" };
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{}</td><td class={word}>{word}</td></tr>",
                escape(what),
                escape(measured)
            );
        }
        html += "</table>";
        html += &self.body;
        html
    }
}

fn slope_of(line: &Line) -> Option<f64> {
    let points: Vec<_> = line.points.iter().map(|(x, y)| (*x, y.median)).collect();
    slope(&points)
}

/// What all figures depend on.
fn machine() -> Vec<(&'static str, String)> {
    let first_line = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
    };
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(": ")?.1.to_owned())
    });
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let unknown = || "unknown".to_owned();
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| unknown());
    vec![
        ("processor", format!("{}, {cores} cores", processor.unwrap_or_else(unknown))),
        ("system", first_line("uname", "-sr").unwrap_or_else(unknown)),
        ("Rust", first_line("rustc", "--version").unwrap_or_else(unknown)),
        ("C", first_line(&mpicc, "--version").unwrap_or_else(unknown)),
        ("MPI", std::env::var("MPI_NAME").unwrap_or(mpicc)),
        ("command", std::env::var("BENCH_COMMAND").unwrap_or_else(|_| "cargo xtask bench".into())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(folder: &Path, files: [&str; 3]) -> String {
        let path = |name: &str| (!name.is_empty()).then(|| folder.join(name));
        let [overhead, library, failures] = files.map(path);
        let output = folder.join("report.html");
        Report { runs: None, overhead, library, failures, output: output.clone() }.run().unwrap();
        fs::read_to_string(output).unwrap()
    }

    /// The page of an evening on which one experiment did not run, and another missed a target.
    #[test]
    fn what_failed_stands_beside_what_did_not() {
        let folder = tempfile::tempdir().unwrap();
        let figures = serde_json::json!({
            "schema": "mpi-tool-overhead/1",
            "instructions": [
                {"tools": "C, empty", "function": "MPI_Send", "added": 4.25, "at_most": null},
            ],
            "time": [],
            "stacks": [{"kind": "empty-raw", "levels": 1, "added": 1.0}],
        });
        fs::write(folder.path().join("overhead.json"), figures.to_string()).unwrap();
        let failures = [("overhead", "targets missed:\n  a < b"), ("library", "mpiexec failed")];
        for (experiment, reason) in failures {
            let file = folder.path().join("failures.jsonl");
            crate::outcome::write_failure(&file, experiment, &anyhow::anyhow!(reason)).unwrap();
        }
        let page = report(folder.path(), ["overhead.json", "", "failures.jsonl"]);
        assert!(page.contains("<td>4.25</td>"), "{page}");
        assert!(page.contains("overhead</h3><pre>targets missed:\n  a &lt; b</pre>"), "{page}");
        assert!(page.contains("library</h3><pre>mpiexec failed</pre>"), "{page}");
        let page = report(folder.path(), ["overhead.json", "", ""]);
        assert!(!page.contains("What did not come out"), "{page}");
    }

    /// No target is called met, and no number printed, of what was not measured.
    #[test]
    fn no_figures_no_targets() {
        let folder = tempfile::tempdir().unwrap();
        let none = serde_json::json!({"schema": "rmpi-speed/1", "ratios": [], "instructions": []});
        fs::write(folder.path().join("library.json"), none.to_string()).unwrap();
        let none = serde_json::json!({
            "schema": "mpi-tool-overhead/1", "instructions": [], "time": [], "stacks": [],
        });
        fs::write(folder.path().join("overhead.json"), none.to_string()).unwrap();
        let page = report(folder.path(), ["overhead.json", "library.json", ""]);
        assert!(!page.contains("class=met") && !page.contains("NaN"), "{page}");
    }
}
