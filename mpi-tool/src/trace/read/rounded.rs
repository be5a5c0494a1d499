//! Tests: times of calls whose records have them exactly, and of others, whose records have them in units of ticks.

use std::collections::HashMap;

use mpi_facts::FunctionId;
use mpi_facts::trace::{CALL, DEFINES, LONGEST, REPEAT, Writer, first_of_repeat, put_repeat};

use super::{Chunk, Process, made_up};

/// In units of 32 ticks.
const SHIFT: u32 = 5;

const FUNCTION: FunctionId = FunctionId::MPI_Initialized;

pub(super) fn numbers(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = [0; LONGEST];
    let mut writer = Writer::new(&mut bytes);
    numbers.iter().for_each(|&number| writer.put(number));
    let length = writer.length();
    bytes[..length].to_vec()
}

fn repeat(begin: u32, end: u32) -> Vec<u8> {
    let mut bytes = [0; LONGEST];
    put_repeat(&mut bytes, first_of_repeat(1), begin, end);
    bytes[..REPEAT].to_vec()
}

/// When each call of some records began and ended, if the one before the first ended at 1000.
fn times(records: &[u8]) -> Vec<(i64, i64)> {
    let mut process: Process = made_up::process(0, vec![]);
    process.clock.shift = SHIFT;
    let length = records.len();
    let chunk = Chunk { thread: 0, sequence: 0, first: 0, time: 1000, at: 0, length };
    process.add(&chunk, records, &HashMap::from([(0, FUNCTION)])).unwrap();
    process.threads[0].calls.iter().map(|call| (call.begin, call.end)).collect()
}

/// What a call of MPI takes is less than a unit here and there: then the next one must not begin before it has ended.
#[test]
fn a_call_in_the_unit_of_an_exact_one_begins_behind_it() {
    let defines = numbers(&[DEFINES, 1, CALL, 0]);
    // At 1013: in units, 31 and 31, which is 992.
    let within = numbers(&[CALL, 0, 0]);
    // From 1100 to 1125: three units later (zigzag: 6), 34 and 35.
    let later = numbers(&[CALL, 6, 1 << 1]);
    let records =
        [defines, repeat(1003, 1013), within.clone(), within, later, repeat(1128, 1132)].concat();
    let expected = [(1003, 1013), (1013, 1013), (1013, 1013), (1088, 1120), (1128, 1132)];
    assert_eq!(times(&records), expected);
}

/// A call around others, as of a function that calls back: it began before the last one ended, in another unit.
#[test]
fn a_call_around_an_exact_one_begins_before_it() {
    let defines = numbers(&[DEFINES, 1, CALL, 0]);
    // From 905 to 1030: from the unit of 1013, 31, three back (zigzag: 5), and 28 to 32.
    let around = numbers(&[CALL, 5, 4 << 1]);
    let records = [defines, repeat(1003, 1013), around].concat();
    assert_eq!(times(&records), [(1003, 1013), (896, 1024)]);
}
