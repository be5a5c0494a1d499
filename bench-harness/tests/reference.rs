//! Our programs call what the originals call: against the counts that the thesis measured of AMG, HPCG,
//! CoMD and OSU's latency, at its number of ranks and of steps. Counts do not depend on the size of the
//! problem, which is small here.

use std::collections::BTreeMap;
use std::path::Path;

use test_support::{Outcome, Run, is_openmpi};

/// Calls of all ranks together, by function.
fn reference(program: &str) -> BTreeMap<String, u64> {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("thesis_reference.json")).unwrap();
    let counts = all["call_counts"][program]["counts"].as_object().unwrap();
    counts.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}

fn run(program: &str, ranks: u32, arguments: &[&str]) -> Outcome {
    let outcome =
        Run::new(Path::new(program), ranks).arguments(arguments).count().seconds(400).run();
    outcome.expect_success(program);
    outcome
}

/// What differs, as (function, the original's count, ours).
fn differences(outcome: &Outcome, reference: &BTreeMap<String, u64>) -> Vec<(String, u64, u64)> {
    let mut all: Vec<&String> = reference.keys().chain(outcome.counted.keys()).collect();
    all.sort_unstable();
    all.dedup();
    let count =
        |counts: &BTreeMap<String, u64>, name: &String| counts.get(name).copied().unwrap_or(0);
    all.into_iter()
        .map(|name| (name.clone(), count(reference, name), count(&outcome.counted, name)))
        .filter(|(_, theirs, ours)| theirs != ours)
        .collect()
}

/// What rmpi itself calls as it starts and ends: it asks whether MPI was initialized, and has errors
/// returned on the two communicators.
fn of_rmpi(ranks: u64) -> Vec<(String, u64, u64)> {
    let once = |name: &str, times: u64| (name.to_owned(), 0, times * ranks);
    vec![once("MPI_Comm_set_errhandler", 2), once("MPI_Initialized", 1)]
}

#[test]
fn latency_calls_what_osu_calls() {
    let outcome = run(env!("CARGO_BIN_EXE_osu"), 2, &["latency"]);
    assert_eq!(differences(&outcome, &reference("osu_latency")), of_rmpi(2));
    // A line for each size from 0 to 4 MiB, with a positive time.
    let lines: Vec<Vec<f64>> = outcome
        .stdout
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    assert_eq!(lines.len(), 24);
    assert!(lines.iter().all(|line| line.len() == 2 && line[1] > 0.0), "{}", outcome.stdout);
    assert_eq!(lines[23][0], 4_194_304.0);
}

/// The other benchmarks run to the end, and their calls are what their rounds make.
#[test]
fn the_other_osu_benchmarks() {
    for benchmark in ["bw", "bibw", "multi-lat"] {
        let outcome =
            run(env!("CARGO_BIN_EXE_osu"), 2, &[benchmark, "--max", "4", "--iterations", "20"]);
        let lines = outcome.stdout.lines().count();
        assert_eq!(lines, if benchmark == "multi-lat" { 5 } else { 4 }, "{}", outcome.stdout);
    }
    for (benchmark, function) in [
        ("barrier", "MPI_Barrier"),
        ("bcast", "MPI_Bcast"),
        ("reduce", "MPI_Reduce"),
        ("allreduce", "MPI_Allreduce"),
        ("gather", "MPI_Gather"),
        ("scatter", "MPI_Scatter"),
        ("allgather", "MPI_Allgather"),
        ("alltoall", "MPI_Alltoall"),
    ] {
        let arguments = [benchmark, "--min", "8", "--max", "16", "--iterations", "20"];
        let outcome = run(env!("CARGO_BIN_EXE_osu"), 2, &arguments);
        // Two sizes with a round to warm up, and 20; a barrier after each round and before the first.
        let (sizes, rounds) = (if benchmark == "barrier" { 1 } else { 2 }, 21);
        let mut expected = 2 * sizes * rounds;
        match function {
            "MPI_Barrier" => expected += 2 * sizes * (rounds + 1),
            // The results of a size: average, least and most.
            "MPI_Reduce" => expected += 2 * sizes * 3,
            _ => {}
        }
        assert_eq!(outcome.counted[function], expected, "{benchmark}: {:?}", outcome.counted);
    }
}

/// The thesis's ranks under Open MPI, which yields where more ranks run than there are processors; two
/// under MPICH, which does not, and takes minutes.
fn ranks() -> u64 {
    if is_openmpi() { 24 } else { 2 }
}

/// What as many ranks call in all where each calls the same.
fn scaled(program: &str) -> BTreeMap<String, u64> {
    reference(program).into_iter().map(|(name, count)| (name, count / 24 * ranks())).collect()
}

#[test]
fn hpcg_calls_what_the_original_calls() {
    let ranks = ranks();
    let outcome = run(env!("CARGO_BIN_EXE_hpcg"), ranks as u32, &["--points", "8"]);
    let mut expected = scaled("hpcg");
    // Neighbours of all processes together: in the original's grid of 2 by 3 by 4, and in this one.
    let (theirs, neighbors) = (256, if ranks == 24 { 256 } else { 2 });
    for (name, count) in reference("hpcg") {
        if ["MPI_Send", "MPI_Irecv", "MPI_Wait"].contains(&&*name) {
            expected.insert(name, count / theirs * neighbors);
        }
    }
    // The matrix with a large diagonal is solved twice, each way. The original's problem took 12 iterations
    // without preconditioner and 2 with it; ours is smaller, and says how many it took. The diagonal has ten
    // different values, for each of which conjugate gradients need an iteration, and HPCG allows two more; with
    // the preconditioner it allows two.
    let taken = numbers(&outcome, "iterations with");
    let [plain, preconditioned] = taken[..] else { panic!("{}", outcome.stdout) };
    assert!((10..=12).contains(&plain), "{plain} iterations");
    assert!((1..=2).contains(&preconditioned), "{preconditioned} iterations");
    let (less_plain, less_preconditioned) = (12 - plain, 2 - preconditioned);
    // A process sends to each neighbour, and asks for its rank and their number, in each of the exchanges: one
    // for the matrix, ten for the preconditioner. An iteration has three scalar products.
    let exchanges = 2 * (less_plain + 11 * less_preconditioned);
    for name in ["MPI_Send", "MPI_Irecv", "MPI_Wait"] {
        *expected.get_mut(name).unwrap() -= neighbors * exchanges;
    }
    for name in ["MPI_Comm_rank", "MPI_Comm_size"] {
        *expected.get_mut(name).unwrap() -= ranks * exchanges;
    }
    *expected.get_mut("MPI_Allreduce").unwrap() -=
        ranks * 2 * 3 * (less_plain + less_preconditioned);
    let mut allowed = of_rmpi(ranks);
    // The original takes the time of each of its parts; ours before and behind the set that it sizes up, and the
    // set that it measures.
    allowed.push(("MPI_Wtime".into(), expected["MPI_Wtime"], 4 * ranks));
    // rmpi asks once how large a communicator is, to check the ranks of its messages.
    let sizes = expected["MPI_Comm_size"];
    allowed.insert(1, ("MPI_Comm_size".into(), sizes, sizes + ranks));
    assert_eq!(differences(&outcome, &expected), allowed);
}

#[test]
fn comd_calls_what_the_original_calls() {
    let program = env!("CARGO_BIN_EXE_comd");
    let ranks = ranks();
    let grid: &[&str] = if ranks == 24 {
        &["-e", "-i", "4", "-j", "3", "-k", "2", "-x", "8", "-y", "6", "-z", "4"]
    } else {
        &["-e", "-k", "2", "-x", "4", "-y", "4", "-z", "4"]
    };
    let outcome = run(program, ranks as u32, grid);
    let mut allowed = of_rmpi(ranks);
    // The original reads its potential from a file, whose parts it broadcasts by eight calls.
    allowed.push(("MPI_Bcast".into(), ranks * 8, ranks * 7));
    // Ours describes an atom to MPI, where the original sends bytes, as `rmpi` does it: by two types.
    for (name, times) in [
        ("MPI_Type_commit", 1),
        ("MPI_Type_create_resized", 1),
        ("MPI_Type_create_struct", 1),
        ("MPI_Type_free", 2),
    ] {
        allowed.push((name.into(), 0, ranks * times));
    }
    // It takes the time from the system; ours takes MPI's, before the steps and behind them.
    allowed.push(("MPI_Wtime".into(), 0, 2 * ranks));
    // It asks for its rank twice.
    allowed.push(("MPI_Comm_rank".into(), 2 * ranks, ranks));
    allowed.sort_unstable();
    assert_eq!(differences(&outcome, &scaled("comd")), allowed);
}

/// Numbers of the first line that begins so.
fn numbers(outcome: &Outcome, beginning: &str) -> Vec<u64> {
    let line = outcome.stdout.lines().find(|line| line.starts_with(beginning)).unwrap();
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The algorithm is another one than AMG's (aggregates in place of classical coarsening), so its numbers are,
/// too; the functions are the same, and each rank's neighbours. With two levels, the number of each call
/// follows from that of the iterations.
#[test]
fn amg_calls_the_functions_of_the_original() {
    let ranks = ranks();
    let points = if ranks == 24 { ["4", "2", "2"] } else { ["4", "4", "4"] };
    let arguments = [&["-n"][..], &points].concat();
    let outcome = run(env!("CARGO_BIN_EXE_amg"), ranks as u32, &arguments);
    let reference = reference("amg2006");
    let mut functions: Vec<&str> = reference.keys().map(String::as_str).collect();
    // rmpi's own calls, and the time, which the original has from the system.
    functions.extend(["MPI_Comm_set_errhandler", "MPI_Initialized", "MPI_Wtime"]);
    functions.sort_unstable();
    assert_eq!(outcome.counted.keys().collect::<Vec<_>>(), functions);

    let iterations = numbers(&outcome, "iterations");
    let [ones, known] = iterations[..] else { panic!("{}", outcome.stdout) };
    // A multigrid takes no more, whatever the size.
    assert!((1..=20).contains(&ones) && (1..=30).contains(&known), "{iterations:?}");
    assert_eq!(numbers(&outcome, "rows of the levels").len(), 2, "{}", outcome.stdout);
    // An iteration exchanges for its product, for the residual of the finer level and as it smooths back; a
    // solution, for its last residual; the levels, once, for the numbers of the aggregates.
    let iterations = ones + known;
    let exchanges = 3 * iterations + 2 + 1;
    // Ranks in a row: all but two have two neighbours, on all levels. In the original, coarser levels reach
    // further, beyond the next rank: 2.05 messages an exchange, where these are 1.92 of 24 ranks.
    let messages = 2 * (ranks - 1) * exchanges;
    let expected = [
        ("MPI_Isend", messages),
        ("MPI_Irecv", messages),
        ("MPI_Waitall", ranks * exchanges),
        // The first and the last residual of each solution, and three steps of each iteration; three norms,
        // and a sum for each level.
        ("MPI_Allreduce", ranks * (2 * 2 + 3 * iterations + 3 + 2)),
        // Where the rows of a level begin.
        ("MPI_Allgather", ranks * 2),
        // The coarsest matrix, and a right side of it in each cycle.
        ("MPI_Allgatherv", ranks * (1 + iterations)),
    ];
    for (function, count) in expected {
        assert_eq!(outcome.counted[function], count, "{function}");
    }
    // Where the original has as many ranks, it sends at most a tenth more in an exchange, and completes each by one
    // call, too.
    if ranks == 24 {
        let each = |counts: &BTreeMap<String, u64>| {
            counts["MPI_Isend"] as f64 / counts["MPI_Waitall"] as f64
        };
        let (theirs, ours) = (each(&reference), each(&outcome.counted));
        assert!((ours..1.1 * ours).contains(&theirs), "{theirs} in place of {ours}");
    }
}

/// With the other potential, the forces need no messages of their own: half of them.
#[test]
fn comd_with_lennard_jones() {
    let arguments = ["-k", "2", "-x", "4", "-y", "4", "-z", "4", "-N", "20"];
    let outcome = run(env!("CARGO_BIN_EXE_comd"), 2, &arguments);
    assert_eq!(outcome.counted["MPI_Sendrecv"], 2 * 21 * 6, "{:?}", outcome.counted);
}
