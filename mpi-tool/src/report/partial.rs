//! The reports that processes have written so far, as one: while a program runs, and after it was killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

/// Of the name of a rank's own report, `PATH.rank0`, what the ranks' names have in common: `PATH`. `None` of other files.
pub(super) fn without_rank(file: &str) -> Option<&str> {
    let (name, rank) = file.rsplit_once(".rank")?;
    let is_number = !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(name)
}

/// The files of the ranks of a report that is not there: `PATH.rank0` and so on.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten();
    let is_rank = |path: &PathBuf| {
        path.file_name().and_then(|file| without_rank(file.to_str()?)) == Some(name)
    };
    let mut files: Vec<_> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_rank).collect();
    files.sort();
    files
}

/// One report of some ranks' own.
pub(super) fn merged(files: &[PathBuf]) -> Result<Value> {
    let mut all = Merged::default();
    let mut first: Option<Value> = None;
    for file in files {
        let name = file.display();
        let text = fs::read_to_string(file).with_context(|| name.to_string())?;
        let report: Value =
            serde_json::from_str(&text).with_context(|| format!("{name} is no report in JSON"))?;
        let known = first.get_or_insert_with(|| report.clone());
        for field in ["schema", "tool", "version", "ranks", "events", "keys", "measures"] {
            if report[field] != known[field] {
                bail!(
                    "{name} is of another run than {}: its {field} is another",
                    files[0].display()
                );
            }
        }
        all.add(&report).with_context(|| format!("{name} is not as a report should be"))?;
    }
    let Some(mut report) = first else { bail!("there are no reports") };
    let reason = report["reason"].as_str().unwrap_or("not all ranks are known").to_owned();
    let world = report["ranks"].as_u64();
    let of = world.map_or(String::new(), |ranks| format!(" of {ranks}"));
    report["reason"] = json!(format!("{}{of} ranks' own reports: {reason}", files.len()));
    report["rank"] = Value::Null;
    all.write(&mut report);
    Ok(report)
}

/// What some ranks have in all.
#[derive(Default)]
struct Merged {
    /// Sites and communicators, by their JSON; their numbers count from 1.
    sites: BTreeMap<String, usize>,
    communicators: BTreeMap<String, usize>,
    lists: [Vec<Value>; 2],
    rows: BTreeMap<String, Value>,
    matrix: Option<Vec<Value>>,
    spreads: [Vec<(u64, u64)>; 3],
    shares: Vec<(u64, f64)>,
    /// The same times of each phase, by its number.
    phases: BTreeMap<u64, [Vec<(u64, u64)>; 3]>,
    /// The names of those that have one.
    phase_names: BTreeMap<u64, Value>,
    lost: u64,
}

/// The times that are numbers of each rank.
const SPREADS: [&str; 3] = ["wall", "inside", "useful"];

impl Merged {
    /// Adds a rank's report.
    fn add(&mut self, report: &Value) -> Result<()> {
        let rank = report["rank"].as_u64().context("the rank is not known")?;
        for (name, spread) in SPREADS.iter().zip(&mut self.spreads) {
            spread
                .push((rank, report[*name]["sum"].as_u64().with_context(|| format!("no {name}"))?));
        }
        self.shares.push((rank, report["share"]["most"].as_f64().context("no share")?));
        for phase in report["phases"].as_array().into_iter().flatten() {
            let number = phase["phase"].as_u64().context("a phase has no number")?;
            if phase["name"].is_string() {
                self.phase_names.entry(number).or_insert_with(|| phase["name"].clone());
            }
            for (name, spread) in SPREADS.iter().zip(self.phases.entry(number).or_default()) {
                let sum = phase[*name]["sum"].as_u64();
                spread.push((rank, sum.with_context(|| format!("a phase has no {name}"))?));
            }
        }
        self.lost = self.lost.saturating_add(report["lost"].as_u64().unwrap_or(0));
        let sites = numbered(&report["sites"], &mut self.sites, &mut self.lists[0]);
        let communicators =
            numbered(&report["communicators"], &mut self.communicators, &mut self.lists[1]);
        let names = |list: &str| -> Vec<String> {
            let named = report[list].as_array().into_iter().flatten();
            named.filter_map(|item| Some(item["name"].as_str()?.to_owned())).collect()
        };
        let (keys, measures) = (names("keys"), names("measures"));
        let events = report["events"].as_str().context("no events")?;
        for row in report["rows"].as_array().context("no rows")? {
            let mut row = row.clone();
            for (key, numbers) in [("site", &sites), ("communicator", &communicators)] {
                if let Some(number) = row[key].as_u64() {
                    let index =
                        usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                    let new = index.and_then(|index| numbers.get(index));
                    row[key] =
                        json!(new.with_context(|| format!("a row has a {key} that is not there"))?);
                }
            }
            let key: Vec<&Value> = keys.iter().map(|key| &row[key]).collect();
            let key = json!(key).to_string();
            let Some(here) = self.rows.get_mut(&key) else {
                self.rows.insert(key, row);
                continue;
            };
            for name in [events, "ranks"] {
                let sum = [&*here, &row].map(|row| row[name].as_u64().unwrap_or(0));
                here[name] = json!(sum[0].saturating_add(sum[1]));
            }
            for name in &measures {
                here[name] = measured(&here[name], &row[name]);
            }
        }
        if let Some(entries) = report["matrix"].as_array() {
            self.matrix.get_or_insert_default().extend(entries.iter().cloned());
        }
        Ok(())
    }

    /// Puts it into a rank's report, in place of what that had.
    fn write(self, report: &mut Value) {
        for (name, values) in SPREADS.iter().zip(&self.spreads) {
            report[*name] = spread(values);
        }
        let by_share = |one: &&(u64, f64), other: &&(u64, f64)| one.1.total_cmp(&other.1);
        let (least, most) =
            (self.shares.iter().min_by(by_share), self.shares.iter().max_by(by_share));
        if let (Some((low, least)), Some((high, most))) = (least, most) {
            report["share"] =
                json!({"least": least, "least_rank": low, "most": most, "most_rank": high});
        }
        report["efficiency"] = efficiency(&report["wall"], &report["useful"]);
        let phases = self.phases.into_iter().map(|(number, spreads)| {
            let mut phase = json!({"phase": number, "ranks": spreads[0].len()});
            if let Some(name) = self.phase_names.get(&number) {
                phase["name"] = name.clone();
            }
            for (name, values) in SPREADS.iter().zip(&spreads) {
                phase[*name] = spread(values);
            }
            phase["efficiency"] = efficiency(&phase["wall"], &phase["useful"]);
            phase
        });
        let phases: Vec<_> = phases.collect();
        if !phases.is_empty() {
            report["phases"] = phases.into();
        }
        report["lost"] = json!(self.lost);
        // Ranks know it at their end only.
        report["overhead"] = Value::Null;
        report["preempted"] = Value::Null;
        let [sites, communicators] = self.lists;
        report["sites"] = Value::Array(sites);
        report["communicators"] = Value::Array(communicators);
        report["rows"] = self.rows.into_values().collect();
        if let Some(matrix) = self.matrix {
            report["matrix"] = Value::Array(matrix);
        }
    }
}

/// The number of each element of a list among those of all ranks.
fn numbered(list: &Value, known: &mut BTreeMap<String, usize>, all: &mut Vec<Value>) -> Vec<usize> {
    let items = list.as_array().into_iter().flatten();
    let number = |item: &Value| {
        *known.entry(item.to_string()).or_insert_with(|| {
            all.push(item.clone());
            all.len()
        })
    };
    items.map(number).collect()
}

/// A measure of two ranks, or of several and one.
fn measured(one: &Value, other: &Value) -> Value {
    let (Some(here), Some(there)) = (one.as_object(), other.as_object()) else {
        return if one.is_null() { other.clone() } else { one.clone() };
    };
    let number =
        |of: &Map<String, Value>, name: &str| of.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    // The mean of the squares of all values.
    let squares = |of: &Map<String, Value>| {
        let (mean, variation) = (number(of, "mean"), number(of, "variation"));
        number(of, "count") * mean * mean * (1.0 + variation * variation)
    };
    let (count, sum) = (sums(one, other, "count"), sums(one, other, "sum"));
    let mean = sum as f64 / count.max(1) as f64;
    let variance = ((squares(here) + squares(there)) / count.max(1) as f64 - mean * mean).max(0.0);
    let mut both = json!({"count": count, "sum": sum, "mean": mean});
    extremes(&mut both, one, other);
    both["variation"] = json!(if mean > 0.0 { variance.sqrt() / mean } else { 0.0 });
    let (one, other) = (&one["by_rank"], &other["by_rank"]);
    let ranks = |of: &Value| {
        let (sum, mean) = (of["sum"].as_f64().unwrap_or(0.0), of["mean"].as_f64().unwrap_or(0.0));
        if mean > 0.0 { (sum / mean).round() } else { 1.0 }
    };
    let sum = sums(one, other, "sum");
    let mut by_rank = json!({"sum": sum, "mean": sum as f64 / (ranks(one) + ranks(other))});
    extremes(&mut by_rank, one, other);
    both["by_rank"] = by_rank;
    both
}

fn sums(one: &Value, other: &Value, name: &str) -> u64 {
    let [one, other] = [one, other].map(|of| of[name].as_u64().unwrap_or(0));
    one.saturating_add(other)
}

/// The least and the greatest value of two, with their ranks.
fn extremes(both: &mut Value, one: &Value, other: &Value) {
    let value = |of: &Value, name: &str| of[name].as_u64().unwrap_or(0);
    let least = if value(one, "least") <= value(other, "least") { one } else { other };
    let most = if value(one, "most") >= value(other, "most") { one } else { other };
    for (name, of) in [("least", least), ("most", most)] {
        let rank = format!("{name}_rank");
        both[name] = of[name].clone();
        both[&rank] = of[&rank].clone();
    }
}

/// A number of each rank.
fn spread(values: &[(u64, u64)]) -> Value {
    let sum = values.iter().fold(0_u64, |sum, (_, value)| sum.saturating_add(*value));
    let least = values.iter().min_by_key(|(_, value)| value);
    let most = values.iter().max_by_key(|(_, value)| value);
    let (Some(least), Some(most)) = (least, most) else { return Value::Null };
    json!({"sum": sum, "mean": sum as f64 / values.len() as f64, "least": least.1, "least_rank": least.0,
        "most": most.1, "most_rank": most.0})
}

/// The efficiencies of the ranks so far.
fn efficiency(wall: &Value, useful: &Value) -> Value {
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap_or(0.0);
    let (wall, most, mean) = (number(wall, "most"), number(useful, "most"), number(useful, "mean"));
    // A rank of which it is not known has none.
    if number(useful, "least") <= 0.0 || wall <= 0.0 {
        return Value::Null;
    }
    json!({"parallel": mean / wall, "load_balance": mean / most, "communication": most / wall})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks, whose sites have other numbers: values 2 and 4 of one rank, 6 of the other. By hand: the mean is 4, and the
    /// variance (4 + 0 + 4) / 3.
    #[test]
    fn two_ranks_are_added_up() {
        let report = |rank: u64, number: u64, row: Value| {
            let one = |value: u64| {
                json!({"sum": value, "mean": value, "least": value, "least_rank": rank,
                "most": value, "most_rank": rank})
            };
            let place = |offset: u64| json!([{"file": "/a", "build_id": "", "offset": offset}]);
            let sites = if number == 2 { json!([place(9), place(7)]) } else { json!([place(7)]) };
            json!({"schema": "mpi-tool-report/2", "tool": "t", "version": "1", "complete": false, "ranks": 4,
                "rank": rank, "reason": "the program is still running", "wall": one(100), "inside": one(40),
                "useful": one(60), "share": {"least": 0.4, "least_rank": rank, "most": 0.4, "most_rank": rank},
                "phases": [{"phase": 2, "name": "solver", "ranks": 1, "wall": one(10 - rank), "inside": one(4), "useful": one(6 - rank),
                    "efficiency": null}],
                "efficiency": null, "hosts": [], "lost": 0, "events": "calls",
                "keys": [{"name": "function", "type": "function"}, {"name": "site", "type": "site"}],
                "measures": [{"name": "time", "unit": "nanoseconds"}], "sites": sites, "communicators": [],
                "rows": [{"function": "MPI_Send", "site": number, "calls": row["count"], "ranks": 1, "time": row}]})
        };
        let by_rank = |sum: u64, rank: u64| {
            json!({"sum": sum, "mean": sum, "least": sum, "least_rank": rank,
            "most": sum, "most_rank": rank})
        };
        let variation = 1.0 / 3.0;
        let one = json!({"count": 2, "sum": 6, "mean": 3.0, "least": 2, "least_rank": 0, "most": 4, "most_rank": 0,
            "variation": variation, "by_rank": by_rank(6, 0)});
        let other = json!({"count": 1, "sum": 6, "mean": 6.0, "least": 6, "least_rank": 3, "most": 6,
            "most_rank": 3, "variation": 0.0, "by_rank": by_rank(6, 3)});
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        for (rank, number, row) in [(0, 2, one), (3, 1, other)] {
            let file = folder.path().join(format!("run.json.rank{rank}"));
            fs::write(file, report(rank, number, row).to_string()).unwrap();
        }
        fs::write(folder.path().join("run.json.rank3.part"), "").unwrap();
        let files = files(&path);
        assert_eq!(files.len(), 2);
        let all = merged(&files).unwrap();
        let row = &all["rows"][0];
        assert_eq!(all["rows"].as_array().unwrap().len(), 1);
        assert_eq!((&row["calls"], &row["ranks"], &row["site"]), (&json!(3), &json!(2), &json!(2)));
        let time = &row["time"];
        assert_eq!(
            (&time["sum"], &time["least_rank"], &time["most_rank"]),
            (&json!(12), &json!(0), &json!(3))
        );
        let variation = time["variation"].as_f64().unwrap();
        assert!((variation - (8.0_f64 / 3.0).sqrt() / 4.0).abs() < 1e-9, "{variation}");
        assert_eq!(time["by_rank"]["mean"], 6.0);
        assert_eq!(all["wall"]["sum"], 200);
        // Of 10 and 7 ns, 6 and 3 are useful.
        let phase = &all["phases"][0];
        assert_eq!((&phase["ranks"], &phase["wall"]["sum"]), (&json!(2), &json!(17)));
        assert_eq!(phase["name"], "solver");
        let expected = json!({"parallel": 0.45, "load_balance": 0.75, "communication": 0.6});
        assert_eq!(phase["efficiency"], expected);
        assert_eq!(all["reason"], "2 of 4 ranks' own reports: the program is still running");
        assert!(super::super::read::Run::read(&path).is_ok());
    }
}
