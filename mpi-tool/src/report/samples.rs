//! What `mpi-tool top --record` keeps: how often each rank was found where, at many looks. It is a profile of a run that had
//! only mpi-watch. Shares of looks are estimates, and are never printed as if they had been counted or timed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::{By, Report, To};
use crate::hang::list;

/// What such a file is called in itself.
pub(crate) const SCHEMA: &str = "mpi-tool-samples/1";

/// A file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Samples {
    pub(crate) schema: String,
    /// When the first look was, in seconds since the beginning of 1970.
    pub(crate) begun: f64,
    /// From the first look to the last one.
    pub(crate) seconds: f64,
    pub(crate) looks: u64,
    pub(crate) worlds: Vec<World>,
}

/// A world of ranks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct World {
    pub(crate) world: String,
    pub(crate) program: String,
    pub(crate) size: u32,
    /// Which ranks were not seen, and why.
    pub(crate) unseen: Option<String>,
    pub(crate) ranks: Vec<Rank>,
    pub(crate) places: Vec<Place>,
}

/// At how many looks a rank was found to do what.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rank {
    pub(crate) rank: u32,
    pub(crate) host: String,
    /// The sum of the three that follow.
    pub(crate) looks: u64,
    pub(crate) in_mpi: u64,
    pub(crate) outside: u64,
    pub(crate) stopped: u64,
    /// At how many it waited for others of whom it is known who they are.
    pub(crate) waiting: u64,
    /// For whom, and at how many. It may have waited for several at one look.
    pub(crate) waits: Vec<(u32, u64)>,
    /// How many calls it had made at the first and at the last look: these are counted, not sampled.
    pub(crate) calls: [u64; 2],
}

/// Where ranks were found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    /// `in MPI`, `outside of MPI` or `stopped`.
    pub(crate) state: String,
    /// The function that a rank was in, or its last one.
    pub(crate) function: String,
    pub(crate) site: Vec<Frame>,
    /// Which ranks, and at how many looks.
    pub(crate) ranks: Vec<(u32, u64)>,
}

/// Where a function was called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// The same in short.
    pub(crate) text: String,
}

/// Is it such a file?
pub(super) fn is(value: &Value) -> bool {
    value["schema"] == SCHEMA
}

/// What is asked for of a file.
pub(super) fn of(report: &Report, name: &str, value: Value) -> Result<String> {
    if report.matrix.is_some() || report.placement.is_some() || report.trace.is_some() {
        bail!(
            "{name} has samples of mpi-tool top, which know nothing of messages: --matrix, --placement and --trace need mpi-profile"
        );
    }
    let samples: Samples = serde_json::from_value(value.clone())
        .with_context(|| format!("{name} is not as samples of mpi-tool top should be"))?;
    match report.format() {
        To::Json => Ok(serde_json::to_string_pretty(&value)? + "\n"),
        To::Text => samples.text(name, report),
        To::Csv => samples.csv(name, report.by),
        _ => bail!(
            "{name} has samples of mpi-tool top: they are printed as text, JSON or CSV (--to)"
        ),
    }
}

/// A line of the table.
struct Line {
    what: String,
    looks: u64,
    ranks: BTreeMap<u32, u64>,
}

impl Samples {
    fn text(&self, name: &str, report: &Report) -> Result<String> {
        let mut text = format!(
            "# {name}: samples of mpi-tool top, {} looks in {:.1} s\n",
            self.looks, self.seconds
        );
        if self.looks > 0 {
            let _ = writeln!(
                text,
                "Shares are of these looks: estimates, exact to about {:.1} % of a rank's time; no call was timed",
                100.0 / (self.looks as f64).sqrt()
            );
        }
        for world in &self.worlds {
            world.text(&mut text, name, report)?;
        }
        Ok(text)
    }

    fn csv(&self, name: &str, by: By) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["world", "where", "sampled looks", "share of looks", "ranks"])?;
        for world in &self.worlds {
            for line in world.lines(name, by)? {
                let share = line.looks as f64 / world.looks().max(1) as f64;
                writer.write_record([
                    world.world.as_str(),
                    &line.what,
                    &line.looks.to_string(),
                    &share.to_string(),
                    &line.ranks.len().to_string(),
                ])?;
            }
        }
        Ok(String::from_utf8(writer.into_inner().map_err(|error| error.into_error())?)?)
    }
}

impl World {
    /// Of all ranks.
    fn looks(&self) -> u64 {
        self.ranks.iter().fold(0, |sum, rank| sum.saturating_add(rank.looks))
    }

    /// Where ranks were found, most first.
    fn lines(&self, name: &str, by: By) -> Result<Vec<Line>> {
        let mut lines: BTreeMap<String, Line> = BTreeMap::new();
        for place in &self.places {
            let what = match by {
                By::Site => place.sentence(),
                By::Function if place.state == "in MPI" => place.function.clone(),
                By::Function => place.state.clone(),
                _ => bail!(
                    "{name} has samples of mpi-tool top: they tell functions and places only (--by function, --by site)"
                ),
            };
            let what = plain(&what);
            let line = lines.entry(what.clone());
            let line = line.or_insert(Line { what, looks: 0, ranks: BTreeMap::new() });
            for (rank, looks) in &place.ranks {
                let sum = line.ranks.entry(*rank).or_default();
                *sum = sum.saturating_add(*looks);
                line.looks = line.looks.saturating_add(*looks);
            }
        }
        let mut lines: Vec<Line> = lines.into_values().collect();
        lines.sort_by(|one, other| other.looks.cmp(&one.looks).then(one.what.cmp(&other.what)));
        Ok(lines)
    }

    fn text(&self, text: &mut String, name: &str, report: &Report) -> Result<()> {
        let all = self.looks().max(1) as f64;
        let _ = writeln!(
            text,
            "\n{} of {} ranks of {}",
            self.ranks.len(),
            self.size,
            plain(base(&self.program))
        );
        if let Some(unseen) = &self.unseen {
            let _ = writeln!(text, "{}", plain(unseen));
        }
        let mut of_ranks = |what: &str, looks: fn(&Rank) -> u64| {
            let shares = self.ranks.iter().filter(|rank| rank.looks > 0);
            let shares = shares.map(|rank| (looks(rank) as f64 / rank.looks as f64, rank.rank));
            let by_share = |one: &(f64, u32), other: &(f64, u32)| one.0.total_cmp(&other.0);
            let (least, most) = (shares.clone().min_by(by_share), shares.max_by(by_share));
            let sum: u64 = self.ranks.iter().fold(0, |sum, rank| sum.saturating_add(looks(rank)));
            if let Some(((least, least_rank), (most, most_rank))) =
                least.zip(most).filter(|_| sum > 0)
            {
                let _ = writeln!(
                    text,
                    "{what} {:.1} % of all looks: least rank {least_rank} ({:.1} %), most rank {most_rank} ({:.1} %)",
                    100.0 * sum as f64 / all,
                    100.0 * least,
                    100.0 * most
                );
            }
        };
        of_ranks("in MPI:        ", |rank| rank.in_mpi);
        of_ranks("outside of MPI:", |rank| rank.outside);
        of_ranks("stopped:       ", |rank| rank.stopped);
        of_ranks("waiting:       ", |rank| rank.waiting);
        let mut whom: BTreeMap<u32, (u64, Vec<u32>)> = BTreeMap::new();
        for rank in &self.ranks {
            for (other, looks) in &rank.waits {
                let (sum, waiting) = whom.entry(*other).or_default();
                *sum = sum.saturating_add(*looks);
                waiting.push(rank.rank);
            }
        }
        let mut whom: Vec<_> = whom.into_iter().collect();
        whom.sort_by_key(|(rank, (sum, _))| (std::cmp::Reverse(*sum), *rank));
        for (rank, (sum, waiting)) in whom.iter().take(3) {
            let many = if waiting.len() == 1 { "" } else { "s" };
            let _ = writeln!(
                text,
                "  for rank {rank}: {:.1} % of all looks, by rank{many} {}",
                100.0 * *sum as f64 / all,
                list(waiting)
            );
        }
        let lines = self.lines(name, report.by)?;
        let shown = if report.top == 0 { lines.len() } else { report.top };
        let _ = writeln!(text, "\n   share   ranks  most                where");
        for line in lines.iter().take(shown) {
            let share = |rank: u32, looks: u64| {
                let all = self.ranks.iter().find(|one| one.rank == rank).map_or(0, |one| one.looks);
                100.0 * looks as f64 / all.max(1) as f64
            };
            let most = line.ranks.iter().map(|(rank, looks)| (share(*rank, *looks), *rank));
            let most =
                most.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
            let most =
                most.map_or(String::new(), |(share, rank)| format!("rank {rank}: {share:.1} %"));
            let _ = writeln!(
                text,
                "{:>6.1} % {:>7}  {most:<18}  {}",
                100.0 * line.looks as f64 / all,
                line.ranks.len(),
                line.what
            );
        }
        if lines.len() > shown {
            let _ = writeln!(text, "… and {} more lines ({})", lines.len() - shown, report.rest);
        }
        Ok(())
    }
}

impl Place {
    /// `in MPI_Recv at chain.c:16 main`
    fn sentence(&self) -> String {
        let at = self.site.first().map_or(String::new(), |frame| format!(" at {}", frame.text));
        let function = &self.function;
        match &*self.state {
            "in MPI" => format!("in {function}{at}"),
            state => format!("{state} after {function}{at}"),
        }
    }
}

/// What a terminal would obey stays out.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Two ranks, ten looks each: rank 0 is in MPI at 2, rank 1 at 9 of them, at 8 of which it waits for rank 0.
    fn example() -> Value {
        let rank = |rank: u32, in_mpi: u64, waits: &[(u32, u64)]| {
            json!({
                "rank": rank, "host": "node", "looks": 10, "in_mpi": in_mpi, "outside": 10 - in_mpi, "stopped": 0,
                "waiting": waits.iter().map(|(_, looks)| looks).sum::<u64>(), "waits": waits, "calls": [0, 100],
            })
        };
        let place = |state: &str, function: &str, line: u32, ranks: &[(u32, u64)]| {
            let text = format!("app.c:{line} main");
            let site =
                json!([{"function": "main", "file": "/src/app.c", "line": line, "text": text}]);
            json!({"state": state, "function": function, "site": site, "ranks": ranks})
        };
        json!({
            "schema": SCHEMA, "begun": 1.5, "seconds": 0.9, "looks": 10,
            "worlds": [{
                "world": "", "program": "/src/app", "size": 2, "unseen": null,
                "ranks": [rank(0, 2, &[]), rank(1, 9, &[(0, 8)])],
                "places": [
                    place("outside of MPI", "MPI_Send", 3, &[(0, 8), (1, 1)]),
                    place("in MPI", "MPI_Send", 3, &[(0, 2)]),
                    place("in MPI", "MPI_Recv", 5, &[(1, 6)]),
                    place("in MPI", "MPI_Recv", 7, &[(1, 3)]),
                ],
            }],
        })
    }

    #[test]
    fn shares_are_of_looks() {
        let of = |report: Report| of(&report, "run.json", example()).unwrap();
        let said = of(Report::of("run.json"));
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "# run.json: samples of mpi-tool top, 10 looks in 0.9 s");
        assert!(
            lines[1].starts_with("Shares are of these looks: estimates, exact to about 31.6 %"),
            "{said}"
        );
        for line in [
            "2 of 2 ranks of app",
            // 11 of 20 looks.
            "in MPI:         55.0 % of all looks: least rank 0 (20.0 %), most rank 1 (90.0 %)",
            "outside of MPI: 45.0 % of all looks: least rank 1 (10.0 %), most rank 0 (80.0 %)",
            "waiting:        40.0 % of all looks: least rank 0 (0.0 %), most rank 1 (80.0 %)",
            "  for rank 0: 40.0 % of all looks, by rank 1",
            "  45.0 %       2  rank 0: 80.0 %      outside of MPI after MPI_Send at app.c:3 main",
            "  30.0 %       1  rank 1: 60.0 %      in MPI_Recv at app.c:5 main",
        ] {
            assert!(lines.contains(&line), "{line}\n{said}");
        }
        assert!(!said.contains("stopped"), "{said}");
        let said = of(Report { by: By::Function, ..Report::of("run.json") });
        assert!(said.contains("  45.0 %       1  rank 1: 90.0 %      MPI_Recv\n"), "{said}");
        let said = of(Report { to: Some(To::Csv), ..Report::of("run.json") });
        assert!(said.contains("\n,in MPI_Recv at app.c:7 main,3,0.15,1\n"), "{said}");
        let said = of(Report { to: Some(To::Json), ..Report::of("run.json") });
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), example());
        let said = of(Report { top: 1, ..Report::of("run.json") });
        assert!(said.ends_with("… and 3 more lines (--top 0 prints all)\n"), "{said}");
    }

    #[test]
    fn what_samples_do_not_tell_is_said() {
        let wrong =
            |report: Report, value: Value| of(&report, "run.json", value).unwrap_err().to_string();
        let asked = Report { by: By::Size, ..Report::of("run.json") };
        assert!(wrong(asked, example()).contains("--by function"));
        let asked = Report { to: Some(To::Pprof), ..Report::of("run.json") };
        assert!(wrong(asked, example()).contains("text, JSON or CSV"));
        let mut damaged = example();
        damaged["worlds"][0]["ranks"][0]["looks"] = json!(-1);
        assert!(wrong(Report::of("run.json"), damaged).contains("is not as samples"));
        // No sum and no letter of a damaged file does any harm.
        let mut odd = example();
        odd["worlds"][0]["ranks"][0]["looks"] = json!(u64::MAX);
        odd["worlds"][0]["places"][0]["ranks"] = json!([[7, u64::MAX], [8, u64::MAX]]);
        odd["worlds"][0]["places"][0]["function"] = json!("\u{1b}[2J");
        let said = of(&Report::of("run.json"), "run.json", odd).unwrap();
        assert!(!said.contains('\u{1b}'), "{said}");
    }
}
