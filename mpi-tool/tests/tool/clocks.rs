//! Traces of hosts with different clocks: a real run on one host, whose clock is right, and of which one rank's file is made
//! another host's, with a clock that is off by an offset and a rate.

use std::fs;
use std::path::{Path, PathBuf};

use mpi_facts::trace::header;
use serde_json::Value;

use crate::common::mpi_tool;
use crate::trace::{json, traced};

/// A word of a file's header.
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at * 8..at * 8 + 8].try_into().unwrap())
}

fn set(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at * 8..at * 8 + 8].copy_from_slice(&value.to_ne_bytes());
}

/// The file of a rank.
fn file_of(run: &Path, rank: u64) -> PathBuf {
    let mut files = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    files.find(|file| word(&fs::read(file).unwrap(), header::RANK) == rank).unwrap()
}

/// Of each process, when its calls begin and end.
fn times(trace: &Value) -> Vec<Vec<i64>> {
    let mut times = vec![Vec::new(); trace["processes"].as_array().unwrap().len()];
    for event in trace["events"].as_array().unwrap() {
        let number = |at: usize| event[at].as_i64().unwrap();
        times[usize::try_from(number(0)).unwrap()].extend([number(3), number(4)]);
    }
    times
}

/// Nothing arrives before it was sent, and no time is further from the truth than is said.
#[test]
fn skewed_clocks_are_put_right() {
    let folder = tempfile::tempdir().unwrap();
    traced(&folder, 3, &["mpi_trace"], &["random", "8", "1"]);
    // All have exactly the same clock: else it would matter whose is taken for the host's.
    let one = fs::read(file_of(&folder.path().join("run"), 0)).unwrap();
    for rank in [1, 2] {
        let file = file_of(&folder.path().join("run"), rank);
        let mut bytes = fs::read(&file).unwrap();
        for at in header::RATE..=header::ENDED {
            set(&mut bytes, at, word(&one, at));
        }
        fs::write(&file, &bytes).unwrap();
    }
    let truth = json(folder.path());
    assert_eq!(truth["summary"]["clock_error"], Value::Null);
    let file = file_of(&folder.path().join("run"), 2);
    let whole = fs::read(&file).unwrap();
    for (seconds, rate) in [(2.5, 50e-6), (-3600.0, -50e-6), (0.0002, 0.0)] {
        let mut bytes = whole.clone();
        set(&mut bytes, header::HOST, u64::from_le_bytes(*b"elsewher"));
        set(&mut bytes, header::HOST + 1, 0);
        let created = word(&bytes, header::CREATED).cast_signed() + (seconds * 1e9) as i64;
        set(&mut bytes, header::CREATED, created.cast_unsigned());
        let right = f64::from_bits(word(&bytes, header::RATE));
        set(&mut bytes, header::RATE, (right * (1.0 + rate)).to_bits());
        fs::write(&file, &bytes).unwrap();

        let outcome = mpi_tool(folder.path(), &["trace", "run", "--to", "json"]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert!(outcome.stderr.contains("is right within"), "{outcome:?}");
        let trace: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(trace["hosts"], 2);
        assert_eq!(trace["summary"]["messages_before_sending"], 0, "{seconds} {rate}");
        let error = trace["summary"]["clock_error"].as_i64().unwrap();
        assert!((1..100_000_000).contains(&error), "{error}");
        let [truth, corrected] = [times(&truth), times(&trace)];
        // The other ranks' clock is the true one, but all times count from the first call.
        let shift = corrected[0][0] - truth[0][0];
        for (rank, (truth, corrected)) in truth.iter().zip(&corrected).enumerate() {
            for (truth, corrected) in truth.iter().zip(corrected) {
                let wrong = (corrected - truth - shift).abs();
                let most = if rank == 2 { error } else { 1 };
                assert!(wrong <= most, "rank {rank}: {wrong}, {error}, {seconds} {rate}");
            }
        }
        let text = mpi_tool(folder.path(), &["trace", "run"]).stdout;
        assert!(text.contains("# trace of 3 ranks on 2 hosts"), "{text}");
        assert!(
            text.contains("put right by the messages between them: a time of one host"),
            "{text}"
        );
    }
}
