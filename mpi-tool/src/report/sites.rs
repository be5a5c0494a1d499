//! Call sites as people know them: by function and line.
//!
//! A compiler may make several call instructions of one line, of a macro, or of a loop that it unrolls. A report has a site
//! for each of them. Here they are one.

use std::collections::BTreeMap;

use anyhow::Result;

use super::symbols::Frame;
use super::{Key, Line, Table, What, lines as rows_added_up};
use crate::cli::By;

/// For each site the first one that is the same for people, itself or one before it: its functions and lines are, and those
/// of all its callers. Where a line is not known, the place in the file counts.
pub(super) fn same(table: &Table, frames: &[Vec<Frame>]) -> Vec<usize> {
    let mut first = BTreeMap::new();
    let sites = frames.iter().enumerate().map(|(site, frames)| {
        let names: Vec<String> = frames.iter().map(Frame::long).collect();
        // Files of one name may be different ones.
        let files: Vec<_> = if frames.iter().all(|frame| frame.line.is_some()) {
            Vec::new()
        } else {
            table.sites[site].iter().map(|place| (&place.file, &place.build_id)).collect()
        };
        *first.entry((names, files)).or_insert(site)
    });
    sites.collect()
}

/// The rows of a table, added up by function and site.
pub(super) fn lines(table: &Table, frames: &[Vec<Frame>]) -> Result<BTreeMap<Key, Line>> {
    let same = same(table, frames);
    let mut united: BTreeMap<Key, Line> = BTreeMap::new();
    for (mut key, line) in rows_added_up(table, By::Site)? {
        if let What::Site(site) = &mut key.what {
            *site = same[*site];
        }
        match united.get_mut(&key) {
            Some(known) => known.add(&line),
            None => {
                united.insert(key, line);
            }
        }
    }
    Ok(united)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::symbols::Symbols;
    use super::super::{csv, frames};
    use super::*;

    fn measured(sum: u64, least: u64, most: u64, of_rank: [u64; 2]) -> Value {
        json!({"count": 2, "sum": sum, "least": least, "most": most,
            "by_rank": {"sum": sum, "most": of_rank[0], "most_rank": of_rank[1]}})
    }

    fn table(by_rank: [[u64; 2]; 2]) -> Table {
        let place = |offset: u64, line: Value| {
            json!([{"file": "/b/app", "build_id": "ab", "offset": offset,
                "frames": [{"function": "loop", "file": "/s/a.c", "line": line}]}])
        };
        let unknown =
            |file: &str| json!([{"file": file, "build_id": "ab", "offset": 9, "frames": []}]);
        let spread = json!({"sum": 9, "least": 1, "least_rank": 0, "most": 5, "most_rank": 1});
        let row = |site: u64, function: &str, time: Value| json!({"function": function, "site": site, "calls": 2, "ranks": 2, "time": time});
        serde_json::from_value(json!({
            "tool": "t", "version": "1", "complete": true, "ranks": 2, "wall": spread, "inside": spread, "share": spread,
            "lost": 0, "events": "calls", "measures": [{"name": "time", "unit": "nanoseconds"}],
            "sites": [place(1, 3.into()), place(2, 3.into()), place(3, 4.into()), unknown("/none/a/lib.so"), unknown("/none/b/lib.so")],
            "rows": [
                row(1, "MPI_Send", measured(10, 4, 6, by_rank[0])),
                row(2, "MPI_Send", measured(20, 3, 9, by_rank[1])),
                row(2, "MPI_Recv", measured(5, 1, 2, [5, 0])),
                row(3, "MPI_Send", measured(7, 3, 4, [4, 1])),
                row(4, "MPI_Send", measured(1, 1, 1, [1, 1])),
                row(5, "MPI_Send", measured(1, 1, 1, [1, 1])),
            ],
        }))
        .unwrap()
    }

    /// By hand: both calls of `MPI_Send` in line 3 are one line, and that of `MPI_Recv`, line 4, and places of two libraries
    /// of one name are others.
    #[test]
    fn calls_of_one_line_are_one() {
        let table = table([[7, 1], [12, 1]]);
        let frames = frames(&table, &mut Symbols::default());
        let lines = lines(&table, &frames).unwrap();
        let mut out = Vec::new();
        csv::write(&mut out, &table, &lines, By::Site, &frames).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "function,site,calls,seconds,seconds_least,seconds_most\n\
             MPI_Recv,/s/a.c:3 loop,2,0.000000005,0.000000001,0.000000002\n\
             MPI_Send,/s/a.c:3 loop,4,0.000000030,0.000000003,0.000000009\n\
             MPI_Send,/s/a.c:4 loop,2,0.000000007,0.000000003,0.000000004\n\
             MPI_Send,lib.so+0x9,2,0.000000001,0.000000001,0.000000001\n\
             MPI_Send,lib.so+0x9,2,0.000000001,0.000000001,0.000000001\n"
        );
    }

    /// If one rank has most of both, it has most of the sum, and that is known; else it is not.
    #[test]
    fn the_slowest_rank_is_told_where_it_is_known() {
        for (by_rank, most) in [([[7, 1], [12, 1]], Some(19.0)), ([[7, 1], [12, 0]], None)] {
            let table = table(by_rank);
            let lines = lines(&table, &frames(&table, &mut Symbols::default())).unwrap();
            let key = Key { function: "MPI_Send".into(), what: What::Site(0) };
            assert_eq!(lines[&key].measures[0].by_rank.as_ref().map(|of| of.most), most);
        }
    }
}
