//! How much of their time ranks compute, from the moment when `MPI_Init` has returned until `MPI_Finalize` is called, in the
//! terms of POP.

use mpi_facts::FunctionId::{MPI_Finalize, MPI_Init, MPI_Init_thread};

use super::path::outer_calls;
use super::read::{Thread, Trace};

/// Of all ranks that have initialized MPI, by the threads that have done so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Efficiency {
    /// Useful time of all ranks, over their number and the longest one's time.
    pub(super) parallel: f64,
    /// The mean useful time over the longest one.
    pub(super) load_balance: f64,
    /// The longest useful time over the longest time.
    pub(super) communication: f64,
    /// How long the longest one takes from `MPI_Init` to `MPI_Finalize`, in nanoseconds.
    pub(super) time: i64,
    /// When the last `MPI_Init` has returned.
    pub(super) started: i64,
}

impl Efficiency {
    /// `None` if no rank's `MPI_Init` is in the trace, or nothing comes behind it.
    pub(super) fn of(trace: &Trace) -> Option<Self> {
        let threads = trace.processes.iter().flat_map(|process| &process.threads);
        let ranks: Vec<[i64; 3]> = threads.filter_map(times).collect();
        let most = |of: usize| ranks.iter().map(|one| one[of]).max();
        let (useful, time, started) = (most(0)?, most(1)?, most(2)?);
        if useful <= 0 || time <= 0 {
            return None;
        }
        let sum: i64 = ranks.iter().map(|one| one[0]).sum();
        let mean = sum as f64 / ranks.len() as f64;
        let load_balance = mean / useful as f64;
        let communication = useful as f64 / time as f64;
        Some(Self { parallel: mean / time as f64, load_balance, communication, time, started })
    }
}

/// Of a thread that has initialized MPI: its useful time, its time, and when `MPI_Init` has returned.
fn times(thread: &Thread) -> Option<[i64; 3]> {
    let is_init = |function| matches!(function, MPI_Init | MPI_Init_thread);
    let outer = outer_calls(&thread.calls);
    let calls = || outer.iter().map(|at| &thread.calls[*at]);
    let started = calls().find(|call| is_init(call.function))?.end;
    let end = calls()
        .find(|call| call.function == MPI_Finalize)
        .map_or_else(|| calls().map(|call| call.end).max(), |call| Some(call.begin))?;
    let inside = calls().filter(|call| call.begin >= started && call.end <= end);
    let mpi: i64 = inside.map(|call| call.end - call.begin).sum();
    Some([end - started - mpi, end - started, started])
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::MPI_Barrier;

    use super::super::read::made_up::{call, process, trace};
    use super::*;

    /// Rank 0 computes for 600 of 1,000, and rank 1 for 900; neither `MPI_Init` nor `MPI_Finalize` counts.
    #[test]
    fn start_up_and_end_are_no_communication() {
        let rank = |rank: u32, barrier: i64| {
            let calls = vec![
                call(MPI_Init, 0, 5000),
                call(MPI_Barrier, barrier, 5900).on_world(),
                call(MPI_Finalize, 6000, 9000),
            ];
            process(rank, calls)
        };
        let trace = trace(vec![rank(0, 5500), rank(1, 5800)]);
        let found = Efficiency::of(&trace).unwrap();
        assert_eq!((found.time, found.started), (1000, 5000));
        let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one}, {other}");
        near(found.parallel, 0.75);
        near(found.load_balance, 750.0 / 900.0);
        near(found.communication, 0.9);
    }

    #[test]
    fn without_a_beginning_there_is_none() {
        assert_eq!(Efficiency::of(&trace(vec![process(0, vec![call(MPI_Barrier, 1, 2)])])), None);
    }
}
