//! What a profile says of the code that makes the others wait, of programs that sleep in known places and say how long.

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Outcome, compile_with, launcher, limited, mpi_tool, setting, tool};

const SOURCE: &str = include_str!("../c/causes.c");

/// The line with a text, by its number.
fn line(of: &str) -> u64 {
    let found: Vec<u64> =
        (1..).zip(SOURCE.lines()).filter(|(_, line)| line.contains(of)).map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1, "{of}");
    found[0]
}

/// A run of one of the programs, with what it prints.
struct Profiled {
    folder: TempDir,
    stdout: String,
}

impl Profiled {
    fn of(program: &str, ranks: &str, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let executable = compile_with(setting("MPICC"), "causes", "causes", &["-g"]);
        let [mpiexec, option, ranks] = launcher(ranks);
        let mut command = limited(mpiexec);
        command.args([option, ranks]).arg(&executable).arg(program).current_dir(folder.path());
        command.env("LD_PRELOAD", tool("mpi_profile")).env("MPI_TOOL_FORMAT", "json");
        command.env("MPI_TOOL_OUTPUT", folder.path().join("profile.json"));
        command.envs(settings.iter().copied());
        let outcome = Outcome::of(&mut command);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        Self { folder, stdout: outcome.stdout }
    }

    fn printed(&self, options: &[&str]) -> String {
        let outcome =
            mpi_tool(self.folder.path(), &[&["report", "profile.json"], options].concat());
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        outcome.stdout
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.printed(&["--to", "json"])).unwrap()
    }
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is no number"))
}

/// What the rank with most work takes beyond the mean in each segment, by the lines of both calls: those with most first. It
/// adds up to what load imbalance costs.
fn beyond(report: &Value) -> Vec<(f64, [Option<u64>; 2])> {
    let (segments, useful) = (&report["segments"], &report["useful"]);
    let ranks = number(&report["ranks"]);
    assert_eq!(segments["rank"], useful["most_rank"]);
    let site = |of: &Value| {
        let index = usize::try_from(of.as_u64()?).unwrap();
        report["sites"][index - 1][0]["frames"][0]["line"].as_u64()
    };
    let rows = segments["rows"].as_array().unwrap().iter().map(|row| {
        if let Some(times) = row["by_rank"].as_array() {
            let times: Vec<u64> = times.iter().map(|time| time.as_u64().unwrap()).collect();
            assert_eq!(times.len() as f64, ranks);
            assert_eq!(times.iter().sum::<u64>(), row["time"]["sum"]);
            for rank in ["least", "most"] {
                let at = row["time"][format!("{rank}_rank")].as_u64().unwrap() as usize;
                // A rank without the segment has no part in what is least.
                assert!(times[at] == row["time"][rank], "{row}");
            }
            assert_eq!(
                times[report["segments"]["rank"].as_u64().unwrap() as usize],
                row["busiest"]
            );
        }
        let beyond = number(&row["busiest"]) - number(&row["time"]["sum"]) / ranks;
        (beyond, [site(&row["before_site"]), site(&row["after_site"])])
    });
    let mut rows: Vec<_> = rows.collect();
    let elsewhere = &segments["elsewhere"];
    let rest = number(&elsewhere["busiest"]) - number(&elsewhere["sum"]) / ranks;
    let sum = rest + rows.iter().map(|(beyond, _)| beyond).sum::<f64>();
    let cost = number(&useful["most"]) - number(&useful["sum"]) / ranks;
    // As sums of numbers with sixteen digits are.
    assert!((sum - cost).abs() < 1e-9 * number(&useful["sum"]), "{sum}, {cost}");
    rows.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    rows
}

/// Of a run in which one rank sleeps too long between two lines.
fn found(program: &str, ranks: u32, late: u32, before: &str, after: &str, calls: [&str; 2]) {
    let run = Profiled::of(program, &ranks.to_string(), &[]);
    let slept: f64 = run.stdout.trim().parse().unwrap();
    let report = run.json();
    let (worst, lines) = beyond(&report)[0];
    let of_ranks = report["segments"]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["by_rank"].is_array());
    assert!((1..=8).contains(&of_ranks.count()), "{report:#}");
    assert_eq!(report["segments"]["rank"], late);
    assert_eq!(lines, [Some(line(before)), Some(line(after))], "{program}: {report:#}");
    let expected = slept * 1e9 * (1.0 - 1.0 / f64::from(ranks));
    assert!((worst - expected).abs() < 0.03 * expected, "{program}: {worst}, {expected}");
    // The first of all that is said of the code, in the text of the command and in the tool's own.
    let at = |call: &str, of: &str| format!("{call} at causes.c:{} ({program})", line(of));
    let sentence = format!(
        "rank {late} computes {:.3} s longer than the mean between {} and {}",
        worst / 1e9,
        at(calls[0], before),
        at(calls[1], after)
    );
    let text = run.printed(&[]);
    let mut said = text.lines().skip_while(|said| !said.starts_with("load imbalance costs up to "));
    assert_eq!(said.nth(1), Some(&*sentence), "{text}");
    let rest = said.find(|said| !said.contains(" longer than the mean between ")).unwrap();
    assert!(rest.starts_with(&format!("rank {late} computes ")), "{text}");
    assert!(rest.ends_with(" than the mean elsewhere"), "{text}");
}

#[test]
fn the_place_of_too_much_work_is_named_with_its_seconds() {
    let inter = "MPI_Comm_test_inter";
    let slow = ["before the slow part", "behind the slow part"];
    found("chain", 16, 0, slow[0], slow[1], [inter, "MPI_Send"]);
    let long = ["before what is too long", "behind what is too long"];
    found("skew", 2, 1, long[0], long[1], ["MPI_Barrier", inter]);
    let part = ["before the part's work", "behind the part's work"];
    found("nested", 8, 1, part[0], part[1], ["MPI_Bcast", "MPI_Allreduce"]);
    found("posted", 4, 3, "before the overlap", "behind the overlap", ["MPI_Isend", "MPI_Waitall"]);
}

/// Rank 1 works for longest. In one place it takes less than rank 0, but more than the mean of all.
#[test]
fn each_place_counts_with_what_is_beyond_its_mean() {
    let run = Profiled::of("places", "3", &[]);
    let slept = |rank: usize| -> [f64; 2] {
        let line = run.stdout.lines().find(|line| line.starts_with(&format!("{rank} "))).unwrap();
        let mut numbers =
            line.split(' ').skip(1).map(|number| number.parse::<f64>().unwrap() * 1e9);
        [numbers.next().unwrap(), numbers.next().unwrap()]
    };
    let [[zero, _], [one, other]] = [0, 1].map(slept);
    let report = run.json();
    assert_eq!(report["segments"]["rank"], 1);
    let rows = beyond(&report);
    let [first, second] = [rows[0], rows[1]];
    let [before, between, behind] =
        ["before the one place", "between both places", "behind the other place"]
            .map(|at| Some(line(at)));
    assert_eq!([first.1, second.1], [[between, behind], [before, between]], "{report:#}");
    for (told, expected) in [(first.0, other * 2.0 / 3.0), (second.0, one - (zero + one) / 3.0)] {
        assert!((told - expected).abs() < 0.03 * other, "{told}, {expected}");
    }
}

#[test]
fn segments_can_be_switched_off() {
    let run = Profiled::of("skew", "2", &[("MPI_TOOL_MPI_PROFILE_SEGMENTS", "0")]);
    let text = run.printed(&[]);
    assert!(
        text.contains("load imbalance costs up to ") && !text.contains(" longer than the mean "),
        "{text}"
    );
    assert_eq!(run.json()["segments"], Value::Null);
}
