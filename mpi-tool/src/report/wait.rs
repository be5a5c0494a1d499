//! How long calls have waited for other ranks, where that was not measured: what they took beyond the quickest one of
//! their function, with data of the same size, on communicators of the same size, on any rank.
//!
//! That is an estimate. The quickest call may have waited, too, and what is beyond it may be the way of the data, where
//! ranks are further from each other than others are.

use std::collections::BTreeMap;

use mpi_facts::{FunctionId, Shape};
use serde_json::{Value, json};

/// What is compared with each other: function, size of the communicator and of the data.
type Alike = (FunctionId, Option<u64>, u64);

/// Adds estimates to the rows of a report that tells sizes apart and has measured no waiting. Rows of which nothing can
/// be said stay as they are, and so do those that are broken.
pub(super) fn estimate(report: &mut Value) {
    let sizes: Vec<_> = report["communicators"]
        .as_array()
        .map(|known| known.iter().map(|known| known["size"].as_u64()).collect())
        .unwrap_or_default();
    let Some(rows) = report["rows"].as_array_mut() else { return };
    if rows.iter().any(|row| !row["wait"].is_null()) {
        return;
    }
    let mut quickest: BTreeMap<Alike, u64> = BTreeMap::new();
    for row in &*rows {
        if let (Some(alike), Some(least)) = (alike(row, &sizes), row["time"]["least"].as_u64()) {
            let known = quickest.entry(alike).or_insert(least);
            *known = least.min(*known);
        }
    }
    for row in rows {
        let numbers = (row["time"]["count"].as_u64(), row["time"]["sum"].as_u64());
        if let (Some(alike), (Some(count), Some(sum))) = (alike(row, &sizes), numbers)
            && let Some(least) = quickest.get(&alike)
        {
            let wait = sum.saturating_sub(count.saturating_mul(*least));
            row["wait"] = json!({"count": count, "sum": wait, "estimated": true});
        }
    }
}

/// What a row's calls are compared with, if they may wait.
fn alike(row: &Value, communicators: &[Option<u64>]) -> Option<Alike> {
    let function: FunctionId = row["function"].as_str()?.parse().ok()?;
    let index = row["communicator"].as_u64().and_then(|number| number.checked_sub(1));
    let ranks = index.and_then(|index| *communicators.get(usize::try_from(index).ok()?)?);
    Shape::may_wait(function).then_some((function, ranks, row["size"].as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of broadcasts of up to 8 bytes over four ranks the quickest took 3, so 10 of two calls are 4 of waiting,
    /// and 9 of one call 6. Those over two ranks, and those of 16 bytes, are another matter. A call that has waited for
    /// nobody has no estimate.
    #[test]
    fn waiting_is_what_is_beyond_the_quickest_call() {
        let row =
            |function: &str, communicator: u64, size: Value, count: u64, sum: u64, least: u64| {
                json!({"function": function, "communicator": communicator, "size": size,
                "time": {"count": count, "sum": sum, "least": least}, "wait": null})
            };
        let mut report = json!({
            "communicators": [{"size": 4}, {"size": 4}, {"size": 2}, null],
            "rows": [
                row("MPI_Bcast", 1, 8.into(), 2, 10, 4),
                row("MPI_Bcast", 2, 8.into(), 1, 9, 3),
                row("MPI_Bcast", 3, 8.into(), 3, 9, 2),
                row("MPI_Bcast", 1, 16.into(), 1, 50, 50),
                row("MPI_Comm_rank", 1, 0.into(), 5, 50, 1),
                row("MPI_Bcast", 1, "others".into(), 5, 50, 1),
                row("MPI_Wait", 0, 0.into(), 5, 50, 1),
                row("MPI_Frobnicate", 9, 0.into(), 5, 50, 1),
                json!(3),
            ],
        });
        estimate(&mut report);
        let rows = report["rows"].as_array().unwrap();
        let waits: Vec<_> = rows.iter().map(|row| row["wait"]["sum"].as_u64()).collect();
        let expected = [Some(4), Some(6), Some(3), Some(0), None, None, Some(45), None, None];
        assert_eq!(waits, expected);
        assert_eq!(rows[0]["wait"]["estimated"], true);
    }

    #[test]
    fn what_was_measured_stays() {
        let mut report = json!({"rows": [
            {"function": "MPI_Recv", "size": 1, "time": {"count": 1, "sum": 9, "least": 9}, "wait": null},
            {"function": "MPI_Bcast", "size": 1, "time": {"count": 1, "sum": 9, "least": 9}, "wait": {"sum": 2}},
        ]});
        let before = report.clone();
        estimate(&mut report);
        assert_eq!(report, before);
    }
}
