//! The thesis's experiments, each beside what the thesis says of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;

use super::{Page, escape};
use crate::figure::{Line, Options, REST, figure, figure_with, shares};
use crate::model::{fitted, medians};
use crate::programs::{Experiment, NONE, SCALE_TOOLS};
use crate::runs::Sample;
use crate::sample::{Estimate, estimate, median, slope_estimate};

/// A value of a run.
type Value = fn(&Sample) -> f64;

impl Page {
    pub(super) fn programs(&mut self, samples: &[Sample]) -> Result<()> {
        let of = |experiment| -> Vec<&Sample> {
            samples.iter().filter(|sample| sample.experiment == experiment).collect()
        };
        self.time_split(&of(Experiment::TimeSplit))?;
        self.latency(&of(Experiment::Latency))?;
        for (experiment, title, thesis) in [
            (
                Experiment::SingleTool,
                "One tool that does nothing",
                "between 0.3 % less and 1.2 % more time than without a tool, which is noise (table 5.4).",
            ),
            (
                Experiment::Counter,
                "The call counter",
                "Rust's counter is faster than C's, most of all with HPCG (figures 5.10 and 5.11).",
            ),
            (
                Experiment::Bandwidth,
                "The bandwidth counter",
                "Rust's and C's take the same time (figures 5.13 and 5.14).",
            ),
            (Experiment::AgainstC, "A program on rmpi beside the same in C", ""),
        ] {
            self.ratios_table(title, thesis, &of(experiment), experiment);
        }
        let counters = of(Experiment::Counter);
        for program in programs_of(&counters) {
            self.curves(&counters, &program, |sample| sample.time)?;
        }
        let stack = of(Experiment::Stack);
        if !stack.is_empty() {
            self.heading(
                "Stacks of tools that do nothing",
                "run time grows in a straight line; HPCG is the most sensitive (figures 5.5 to 5.8).",
            );
            for program in programs_of(&stack) {
                self.curves(&stack, &program, |sample| sample.time)?;
            }
        }
        self.start_up(&of(Experiment::StartUp))?;
        self.scale(&of(Experiment::Scale))
    }

    /// Pairs' ratios, with those that are far from the others.
    fn ratios_table(&mut self, title: &str, thesis: &str, samples: &[&Sample], of: Experiment) {
        if samples.is_empty() {
            return;
        }
        self.heading(title, thesis);
        let mut rows = Vec::new();
        for (program, variant, levels) in variants(samples) {
            let ratios: Vec<f64> =
                ratios(samples, &program, &variant, levels, |sample| sample.time)
                    .into_iter()
                    .map(|(_, ratio)| ratio)
                    .collect();
            if ratios.is_empty() {
                continue;
            }
            let ratio = estimate(&ratios);
            let outliers = ratios
                .iter()
                .filter(|one| (**one / ratio.median - 1.0).abs() > 0.25)
                .map(|one| format!("{one:.2}"))
                .collect::<Vec<_>>();
            let name = match levels {
                Some(levels) => format!("{variant} of {levels}"),
                None => variant.clone(),
            };
            let interval = format!("{:.3} to {:.3}", ratio.low, ratio.high);
            let mut row = vec![program.clone(), name, format!("{:.3}", ratio.median)];
            row.extend([interval.clone(), ratios.len().to_string(), outliers.join(" ")]);
            if of == Experiment::SingleTool {
                let thesis = of_thesis(&program, &variant);
                row.push(thesis.map(|ratio| format!("{ratio:.3}")).unwrap_or_default());
            }
            rows.push(row);
            if of == Experiment::AgainstC {
                // Outside for sure: the interval does not reach into what is allowed.
                self.target(
                    format!("{program} on rmpi within 2 % of the same in C"),
                    format!("{:.3} ({interval})", ratio.median),
                    ratio.low <= 1.02,
                );
            }
        }
        let without =
            if of == Experiment::AgainstC { "time by C's" } else { "time by time without" };
        let mut head = vec!["program", "tool", without, "95 %", "pairs", "far away"];
        if of == Experiment::SingleTool {
            head.push("the thesis's");
        }
        self.table(&head, &rows);
    }

    /// What the levels of stacks add to a program: every run, the medians, and the slopes.
    fn curves(&mut self, samples: &[&Sample], program: &str, value: Value) -> Result<()> {
        let (lines, dots) = curves(samples, program, value, true);
        if lines.is_empty() {
            return Ok(());
        }
        let _ = write!(self.body, "<h3>{}</h3>", escape(program));
        let options = Options { dots: &dots, ..Options::default() };
        self.body += &figure_with("levels", "time by time without tools", &lines, &options)?;
        self.slopes(&lines, &dots, "of the run time a level", 100.0, "%");
        Ok(())
    }

    fn slopes(
        &mut self,
        lines: &[Line],
        dots: &[Vec<(f64, f64)>],
        what: &str,
        factor: f64,
        unit: &str,
    ) {
        let rows: Vec<_> = lines
            .iter()
            .zip(dots)
            .filter_map(|(line, dots)| {
                let slope = slope_estimate(dots)?;
                let [median, low, high] =
                    [slope.median, slope.low, slope.high].map(|slope| slope * factor);
                Some(vec![
                    line.name.clone(),
                    format!("{median:.4} {unit} {what}"),
                    format!("{low:.4} to {high:.4}"),
                ])
            })
            .collect();
        self.table(&["stack", "slope (Theil and Sen's)", "95 %"], &rows);
    }

    /// Where the time goes, by MPI function.
    fn time_split(&mut self, samples: &[&Sample]) -> Result<()> {
        let measured: Vec<&Sample> =
            samples.iter().copied().filter(|sample| !sample.parts.is_empty()).collect();
        if measured.is_empty() {
            return Ok(());
        }
        self.heading(
            "Time by MPI function",
            "of AMG's run 11.4 % are in MPI_Allgather, MPI_Allreduce and MPI_Waitall; of HPCG's 9.1 % in \
             MPI_Send, MPI_Wait and MPI_Allreduce; of CoMD's 2.9 % in MPI_Sendrecv, MPI_Allreduce and \
             MPI_Bcast; MPI_Init takes 0.8 s, 7 % of each (figures 5.1 to 5.3).",
        );
        let mut bars = Vec::new();
        let mut rows = Vec::new();
        for program in programs_of(&measured) {
            let parts = split(&measured, &program);
            let inside: f64 = parts.iter().map(|(_, share)| share).sum();
            for (name, share) in parts.iter().filter(|(_, share)| *share >= 0.0005) {
                rows.push(vec![program.clone(), name.clone(), format!("{:.2} %", share * 100.0)]);
            }
            let (mut shown, small): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|(_, share)| *share >= 0.004);
            shown.push(("other functions".into(), small.iter().map(|(_, share)| share).sum()));
            shown.push((REST.into(), (1.0 - inside).max(0.0)));
            bars.push((program, shown));
        }
        self.body += &shares(&bars)?;
        self.body += "<p>Shares of all ranks' time from the launcher's start to its end, medians of the runs. \
            MPI_Finalize, in which the report is made, is outside.</p>";
        self.table(&["program", "function", "share"], &rows);
        Ok(())
    }

    /// Latency by message size.
    fn latency(&mut self, samples: &[&Sample]) -> Result<()> {
        if samples.is_empty() {
            return Ok(());
        }
        self.heading(
            "Latency by message size",
            "small messages take the same time up to 2^10 bytes, larger ones grow with their size; stacks of \
             tools add as much to each size (figures 5.4 and 5.8).",
        );
        let mut lines: Vec<Line> = Vec::new();
        let mut values: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
        for sample in samples {
            let name = match sample.levels {
                Some(levels) => format!("{} of {levels}", sample.variant),
                None => sample.variant.clone(),
            };
            for (size, time) in &sample.parts {
                values.entry((name.clone(), size.parse()?)).or_default().push(*time);
            }
        }
        for ((name, size), values) in values {
            if lines.last().is_none_or(|line| line.name != name) {
                lines.push(Line { name, points: Vec::new() });
            }
            let line = lines.last_mut().expect("just pushed");
            line.points.push((size as f64, estimate(&values)));
        }
        let options = Options { logarithmic: true, ..Options::default() };
        self.body += &figure_with("bytes", "microseconds one way", &lines, &options)?;
        let sizes = [0.0, 1024.0, 32768.0, 4_194_304.0];
        let rows: Vec<_> = lines
            .iter()
            .map(|line| {
                let at = |size: &f64| {
                    let point = line.points.iter().find(|point| point.0 == *size);
                    point.map(|(_, y)| format!("{:.2}", y.median)).unwrap_or_default()
                };
                [vec![line.name.clone()], sizes.iter().map(at).collect()].concat()
            })
            .collect();
        self.table(&["microseconds of a message", "0 B", "1 KiB", "32 KiB", "4 MiB"], &rows);
        Ok(())
    }

    fn start_up(&mut self, samples: &[&Sample]) -> Result<()> {
        if samples.is_empty() {
            return Ok(());
        }
        self.heading(
            "Start and end, by levels and ranks",
            "starting takes 0.8 s of 24 ranks, whatever the tools (5.1 to 5.3).",
        );
        for program in programs_of(samples) {
            let (lines, dots) = curves(samples, &program, |sample| sample.wall, false);
            let what = format!("seconds, {program}");
            let options = Options { dots: &dots, ..Options::default() };
            self.body += &figure_with("levels", &what, &lines, &options)?;
            self.slopes(&lines, &dots, "a level", 1e3, "ms");
            let memory: Value = |sample| sample.memory.unwrap_or(f64::NAN);
            let (lines, dots) = curves(samples, &program, memory, false);
            if lines.iter().any(|line| line.points.iter().any(|(_, y)| y.median.is_finite())) {
                self.body += &figure("levels", "MiB of a process", &lines)?;
                self.slopes(&lines, &dots, "a level", 1024.0, "KiB");
            }
        }
        Ok(())
    }

    /// The end by ranks, and the model of it.
    fn scale(&mut self, samples: &[&Sample]) -> Result<()> {
        if samples.is_empty() {
            return Ok(());
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.heading("The end, by ranks", "");
        let _ = write!(
            self.body,
            "<p>What MPI_Finalize takes on rank 0, and what a tool's report adds to it (reduced over all \
             ranks by trees), of 1 to 64 ranks on {processors} processors, by a model \
             a + b log<sub>2</sub> p + c w + d w log<sub>2</sub> p, where w is how many ranks wait for each one \
             that runs (p / {processors} - 1). With a processor for each rank, a + b log<sub>2</sub> p is left: \
             the last columns say what that makes, far outside of what was measured, with a b that only the \
             steps up to {processors} ranks decide.</p>"
        );
        let none: Vec<(f64, f64)> = samples
            .iter()
            .filter(|sample| sample.variant == NONE)
            .map(|sample| (sample.ranks as f64, sample.time))
            .collect();
        let mut sets = vec![("MPI_Finalize without tools".to_owned(), none)];
        for tool in SCALE_TOOLS {
            let added =
                samples.iter().filter(|sample| sample.variant == tool).filter_map(|sample| {
                    let base = samples.iter().find(|base| {
                        base.variant == NONE
                            && (base.ranks, base.round) == (sample.ranks, sample.round)
                    })?;
                    Some((sample.ranks as f64, sample.time - base.time))
                });
            sets.push((format!("{tool} adds"), added.collect()));
        }
        let (mut lines, mut dots, mut rows, mut values) = (vec![], vec![], vec![], vec![]);
        for (name, points) in sets {
            let estimates: Vec<_> = medians(&points)
                .iter()
                .map(|(ranks, _)| {
                    let of = points.iter().filter(|point| point.0 == *ranks);
                    (*ranks, estimate(&of.map(|point| point.1).collect::<Vec<_>>()))
                })
                .collect();
            let cells = estimates.iter().map(|(_, y)| format!("{:.1}", y.median * 1e3));
            values.push(std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>());
            // A tool without a report adds nothing that a model could tell from noise.
            let is_noise = estimates.iter().filter(|(_, y)| y.low <= 0.0).count() > 2;
            if !is_noise && let Some(fitted) = fitted(&points, processors as f64) {
                let part = |part: &Estimate| {
                    let [median, low, high] =
                        [part.median, part.low, part.high].map(|part| part * 1e3);
                    format!("{median:.3} ({low:.3} to {high:.3})")
                };
                let beyond = |ranks: f64| {
                    let seconds = fitted.model.at_with_processors(ranks);
                    format!("{:.1}", seconds * 1e3)
                };
                let mut row = vec![name.clone()];
                row.extend(fitted.parts.iter().map(part));
                row.push(format!("{:.0} % ({:.0} %)", fitted.error * 100.0, fitted.worst * 100.0));
                row.push(format!("{:.2}", fitted.prediction));
                row.extend([beyond(1024.0), beyond(65536.0)]);
                rows.push(row);
                let model = estimates
                    .iter()
                    .map(|(ranks, _)| (*ranks, Estimate::exact(fitted.model.at(*ranks))))
                    .collect();
                lines.push(Line { name: format!("{name}, model"), points: model });
                dots.push(Vec::new());
            }
            lines.push(Line { name, points: estimates });
            dots.push(points);
        }
        let options = Options { logarithmic: true, dots: &dots };
        self.body += &figure_with("ranks", "seconds", &lines, &options)?;
        let numbers: Vec<String> =
            medians(&dots.concat()).iter().map(|(ranks, _)| format!("{ranks} ranks")).collect();
        let head: Vec<&str> =
            std::iter::once("milliseconds").chain(numbers.iter().map(String::as_str)).collect();
        self.table(&head, &values);
        let head =
            ["milliseconds", "a", "b, a step", "c, a waiting rank", "d, and step", "error (most)"];
        let head = [&head[..], &["predicted for the most ranks, by what it took"]].concat();
        let head = [&head[..], &["1,024 ranks", "65,536 ranks"]].concat();
        self.table(&head, &rows);
        Ok(())
    }
}

/// The thesis's own ratio (table 5.4).
fn of_thesis(program: &str, variant: &str) -> Option<f64> {
    let column = match variant {
        "empty-raw" => "PMPI Rust raw layer",
        "empty-high" => "PMPI Rust high level 2.0",
        "QMPI, empty stack" => "QMPI empty stack",
        _ => return None,
    };
    let all: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/thesis_reference.json")).ok()?;
    let table = &all["baseline_seconds_table_5_4"];
    let columns = table["columns"].as_array()?;
    let index = columns.iter().position(|name| name == column)?;
    let row =
        ["AMG", "HPCG", "CoMD"].into_iter().find(|name| name.eq_ignore_ascii_case(program))?;
    Some(table[row][index].as_f64()? / table[row][0].as_f64()?)
}

/// Shares of a program's time by function, the largest first: the median of the runs.
fn split(samples: &[&Sample], program: &str) -> Vec<(String, f64)> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.program == program) {
        for (name, seconds) in &sample.parts {
            let share = seconds / (sample.wall * sample.ranks as f64);
            values.entry(name).or_default().push(share);
        }
    }
    let mut parts: Vec<(String, f64)> =
        values.into_iter().map(|(name, mut of)| (name.to_owned(), median(&mut of))).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}

/// Programs, variants and levels, by name.
fn variants(samples: &[&Sample]) -> Vec<(String, String, Option<usize>)> {
    let mut all: Vec<_> = samples
        .iter()
        .filter(|sample| sample.variant != NONE)
        .map(|sample| (sample.program.clone(), sample.variant.clone(), sample.levels))
        .collect();
    all.sort();
    all.dedup();
    all
}

fn programs_of(samples: &[&Sample]) -> Vec<String> {
    let mut all: Vec<_> = samples.iter().map(|sample| sample.program.clone()).collect();
    all.sort();
    all.dedup();
    all
}

/// A variant's figures by those without tools, round by round.
fn ratios(
    samples: &[&Sample],
    program: &str,
    variant: &str,
    levels: Option<usize>,
    value: Value,
) -> Vec<(usize, f64)> {
    let of_program = || samples.iter().filter(|sample| sample.program == program);
    of_program()
        .filter(|sample| sample.variant == variant && sample.levels == levels)
        .filter_map(|sample| {
            let base =
                of_program().find(|base| base.variant == NONE && base.round == sample.round)?;
            Some((sample.round, value(sample) / value(base)))
        })
        .collect()
}

/// A line for each kind of stack, and all its single values: by levels the ratios, or the values.
fn curves(
    samples: &[&Sample],
    program: &str,
    value: Value,
    ratio: bool,
) -> (Vec<Line>, Vec<Vec<(f64, f64)>>) {
    let (mut lines, mut dots): (Vec<Line>, Vec<Vec<(f64, f64)>>) = (Vec::new(), Vec::new());
    for (of, variant, levels) in variants(samples) {
        let Some(levels) = levels.filter(|_| of == program) else { continue };
        let values: Vec<f64> = if ratio {
            let ratios = ratios(samples, program, &variant, Some(levels), value);
            ratios.into_iter().map(|(_, ratio)| ratio).collect()
        } else {
            samples
                .iter()
                .filter(|s| s.program == of && s.variant == variant && s.levels == Some(levels))
                .map(|sample| value(sample))
                .collect()
        };
        if values.is_empty() {
            continue;
        }
        if lines.iter().all(|line| line.name != variant) {
            lines.push(Line { name: variant.clone(), points: Vec::new() });
            dots.push(Vec::new());
        }
        let index = lines.iter().position(|line| line.name == variant).expect("just pushed");
        lines[index].points.push((levels as f64, estimate(&values)));
        dots[index].extend(values.into_iter().map(|value| (levels as f64, value)));
    }
    (lines, dots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::SCHEMA;

    fn sample(variant: &str, levels: Option<usize>, round: usize, time: f64) -> Sample {
        Sample {
            schema: SCHEMA,
            experiment: Experiment::Stack,
            program: "p".into(),
            ranks: 2,
            variant: variant.into(),
            arguments: String::new(),
            levels,
            round,
            time,
            wall: time,
            memory: None,
            parts: Vec::new(),
        }
    }

    /// Ratios are within a round: a slow second round changes nothing.
    #[test]
    fn ratios_are_of_the_same_round() {
        let samples: Vec<_> = [(0, 1.0), (1, 10.0)]
            .into_iter()
            .flat_map(|(round, slow)| {
                [
                    sample(NONE, None, round, slow),
                    sample("x", Some(100), round, 1.5 * slow),
                    sample("x", Some(300), round, 2.5 * slow),
                ]
            })
            .collect();
        let samples: Vec<_> = samples.iter().collect();
        let (lines, dots) = curves(&samples, "p", |sample| sample.time, true);
        assert_eq!(lines.len(), 1);
        let medians: Vec<_> = lines[0].points.iter().map(|(x, y)| (*x, y.median)).collect();
        assert_eq!(medians, [(100.0, 1.5), (300.0, 2.5)]);
        assert_eq!(slope_estimate(&dots[0]).unwrap().median, 0.005);
        let page = {
            let mut page = Page::default();
            page.programs(&samples.into_iter().cloned().collect::<Vec<_>>()).unwrap();
            page.target("a < b", "1".into(), false);
            page.finish()
        };
        assert!(page.contains("<svg") && page.contains("a &lt; b") && page.contains("missed"));
    }

    /// Every experiment makes its part of the page.
    #[test]
    fn all_experiments_are_on_the_page() {
        let mut samples = Vec::new();
        for round in 0..3 {
            for ranks in [1, 2, 4, 8, 16] {
                let mut none = sample(NONE, None, round, 0.01 * ranks as f64);
                (none.experiment, none.ranks) = (Experiment::Scale, ranks);
                let mut tool = Sample { variant: "call-counter".into(), ..none.clone() };
                tool.time *= 3.0;
                samples.extend([none, tool]);
            }
            let mut split = sample("mpi-time", None, round, 1.0);
            split.experiment = Experiment::TimeSplit;
            split.parts = vec![("MPI_Wait".into(), 0.5), ("MPI_Init".into(), 0.1)];
            let mut latency = sample(NONE, None, round, 1.0);
            latency.experiment = Experiment::Latency;
            latency.parts = vec![("0".into(), 0.2), ("1024".into(), 0.4)];
            let mut c = sample(NONE, None, round, 1.0);
            c.experiment = Experiment::AgainstC;
            let rust = Sample { variant: "rmpi".into(), time: 1.1, ..c.clone() };
            samples.extend([split, latency, c, rust]);
        }
        let mut page = Page::default();
        page.programs(&samples).unwrap();
        let page = page.finish();
        // Half a second of two ranks in a second each is a quarter.
        assert!(page.contains("<td>MPI_Wait</td><td>25.00 %</td>"), "{page}");
        assert!(page.contains("<td>0.20</td><td>0.40</td>"));
        assert!(page.contains("p on rmpi within 2 % of the same in C") && page.contains("missed"));
        // Of 4 ranks 40 ms without tools, and with one twice as much more.
        assert!(page.contains("<td>40.0</td>") && page.contains("<td>80.0</td>"), "{page}");
        assert!(page.contains("call-counter adds, model"), "{page}");
    }

    #[test]
    fn the_thesis_s_own_ratios() {
        assert_eq!(of_thesis("amg", "empty-raw"), Some(10.652 / 10.685));
        assert_eq!(of_thesis("comd", "QMPI, empty stack"), Some(11.773 / 11.688));
        assert_eq!(of_thesis("osu latency", "empty-raw"), None);
    }
}
