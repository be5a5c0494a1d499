//! How much of the ranks' time is useful, in the run and in each of the program's phases.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Deserialize;

use super::{Extremes, Table};

/// How much of the ranks' time is time of the program's own, and why not all of it.
#[derive(Debug, Deserialize)]
pub(super) struct Efficiency {
    pub(super) parallel: f64,
    pub(super) load_balance: f64,
    pub(super) communication: f64,
    /// Of several hosts.
    pub(super) within_hosts: Option<f64>,
    pub(super) between_hosts: Option<f64>,
}

/// A phase that the program has told, and the ranks that had it.
#[derive(Debug, Deserialize)]
pub(super) struct Phase {
    #[serde(rename = "phase")]
    pub(super) number: u64,
    /// What the program calls it, if it was asked.
    pub(super) name: Option<String>,
    pub(super) ranks: u64,
    pub(super) wall: Extremes,
    pub(super) inside: Extremes,
    pub(super) useful: Extremes,
    pub(super) efficiency: Option<Efficiency>,
}

impl Phase {
    /// The part of its time that the ranks were in MPI.
    pub(super) fn share(&self) -> f64 {
        if self.wall.sum > 0.0 { self.inside.sum / self.wall.sum } else { 0.0 }
    }
}

/// A phase by its number and, if it has one, by its name: `phase 2 (solver)`.
pub(super) fn title(table: &Table, number: u64) -> String {
    let of = table.phases.iter().find(|phase| phase.number == number);
    match of.and_then(|phase| phase.name.as_deref()) {
        Some(name) => format!("phase {number} ({name})"),
        None => format!("phase {number}"),
    }
}

/// Why the efficiencies of phases are not told, though there are several; nothing if they are, or if there are not.
pub(super) fn unknown(table: &Table) -> Option<&'static str> {
    let numbers: BTreeSet<_> = table.rows.iter().filter_map(|row| row["phase"].as_u64()).collect();
    (numbers.len() > 1 && table.phases.is_empty()).then_some(
        "the efficiencies of phases are not known: the report does not have how long they took, since there was no room to tell all \
         calls apart, or an earlier version has written it",
    )
}

/// Writes a line for each phase, of several ranks and several phases.
pub(super) fn write(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    if !table.complete || table.ranks == Some(1) {
        return Ok(());
    }
    if let Some(why) = unknown(table) {
        return writeln!(out, "{why}");
    }
    if table.phases.len() < 2 {
        return Ok(());
    }
    for phase in &table.phases {
        let Phase { number, ranks, wall, useful, efficiency, .. } = phase;
        write!(
            out,
            "{}: {:.3} s, in MPI {:.1} % of it",
            title(table, *number),
            wall.most / 1e9,
            phase.share() * 100.0
        )?;
        if table.ranks != Some(*ranks) {
            let plural = if *ranks == 1 { "" } else { "s" };
            write!(out, ", of {ranks} rank{plural}")?;
        }
        match efficiency {
            None => writeln!(out, "; no time of the program's own")?,
            Some(Efficiency {
                parallel,
                load_balance,
                communication,
                within_hosts,
                between_hosts,
            }) => {
                let [parallel, load_balance, communication] =
                    [parallel, load_balance, communication].map(|part| part * 100.0);
                write!(
                    out,
                    "; parallel efficiency {parallel:.1} % = load balance {load_balance:.1} % (rank {} is the busiest) \
                     × communication efficiency {communication:.1} %",
                    useful.most_rank
                )?;
                match within_hosts.zip(*between_hosts) {
                    None => writeln!(out)?,
                    Some((within, between)) => writeln!(
                        out,
                        "; load balance within hosts {:.1} %, between hosts {:.1} %",
                        within * 100.0,
                        between * 100.0
                    )?,
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spread(of: [u64; 2]) -> Value {
        let [one, other] = of;
        let most_rank = u64::from(other > one);
        json!({"sum": one + other, "mean": (one + other) as f64 / 2.0, "least": one.min(other), "least_rank": 1 - most_rank,
            "most": one.max(other), "most_rank": most_rank})
    }

    /// Two ranks with these seconds in a phase, and these of them in MPI.
    fn phase(number: u64, wall: [u64; 2], inside: [u64; 2], efficiency: Value) -> Value {
        let nanoseconds = |of: [u64; 2]| of.map(|seconds| seconds * 1_000_000_000);
        let useful = [wall[0] - inside[0], wall[1] - inside[1]];
        json!({"phase": number, "ranks": 2, "wall": spread(nanoseconds(wall)), "inside": spread(nanoseconds(inside)),
            "useful": spread(nanoseconds(useful)), "efficiency": efficiency})
    }

    fn written(phases: &Value) -> String {
        let rows = [2, 3].map(|phase| json!({"function": "MPI_Send", "phase": phase, "calls": 1}));
        let table: Table = serde_json::from_value(json!({
            "tool": "t", "version": "1", "complete": true, "ranks": 2, "wall": spread([30, 30]), "inside": spread([1, 1]),
            "share": spread([1, 1]), "lost": 0, "events": "calls", "measures": [], "sites": [], "rows": rows,
            "phases": phases,
        }))
        .unwrap();
        let mut out = Vec::new();
        write(&mut out, &table).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// By hand: in phase 2, 6 of 10 s and 3 of 8 s are useful, 4.5 s in the mean. In phase 3, nobody works.
    #[test]
    fn each_phase_has_its_efficiencies() {
        let efficiency = json!({"parallel": 0.45, "load_balance": 0.75, "communication": 0.6});
        let two = phase(2, [10, 8], [4, 5], efficiency);
        let three = phase(3, [7, 7], [7, 7], Value::Null);
        assert_eq!(
            written(&json!([two, three])),
            "phase 2: 10.000 s, in MPI 50.0 % of it; parallel efficiency 45.0 % = load balance 75.0 % (rank 0 is the busiest) \
             × communication efficiency 60.0 %\n\
             phase 3: 7.000 s, in MPI 100.0 % of it; no time of the program's own\n"
        );
        let mut named = two.clone();
        named["name"] = "solver".into();
        named["efficiency"]["within_hosts"] = 1.0.into();
        named["efficiency"]["between_hosts"] = 0.75.into();
        let said = written(&json!([named, three]));
        assert!(said.starts_with("phase 2 (solver): 10.000 s, in MPI 50.0 % of it; "), "{said}");
        let of_hosts = "60.0 %; load balance within hosts 100.0 %, between hosts 75.0 %\n";
        assert!(said.contains(of_hosts), "{said}");
        // That is the run, nearly.
        assert_eq!(written(&json!([two])), "");
        let mut of_one = three;
        of_one["ranks"] = 1.into();
        assert!(
            written(&json!([two, of_one]))
                .contains("phase 3: 7.000 s, in MPI 100.0 % of it, of 1 rank; ")
        );
    }

    #[test]
    fn it_is_said_where_they_are_not_known() {
        assert!(written(&json!([])).starts_with("the efficiencies of phases are not known: "));
    }
}
