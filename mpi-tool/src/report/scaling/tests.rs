//! Scaling of reports whose numbers are known by hand.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::report::read::Run;

/// A number of each rank, as reports have it: seconds in nanoseconds.
fn spread(of: &[f64]) -> Value {
    let extreme = |is_better: fn(f64, f64) -> bool| {
        (0..of.len()).fold(0, |best, at| if is_better(of[at], of[best]) { at } else { best })
    };
    let (least, most) = (extreme(|one, other| one < other), extreme(|one, other| one > other));
    json!({"sum": of.iter().sum::<f64>() * 1e9, "least": of[least] * 1e9, "least_rank": least,
        "most": of[most] * 1e9, "most_rank": most})
}

/// A run of as many ranks as there are useful times, in seconds.
fn report(seconds: f64, useful: &[f64]) -> Value {
    let all = vec![seconds; useful.len()];
    let inside: Vec<_> = useful.iter().map(|useful| seconds - useful).collect();
    json!({
        "schema": "mpi-tool-report/2", "tool": "mpi-profile", "version": "1", "complete": true, "ranks": useful.len(),
        "wall": spread(&all), "active": spread(&all), "inside": spread(&inside), "useful": spread(useful),
        "share": {"least": 0.1, "least_rank": 0, "most": 0.2, "most_rank": 0},
        "hosts": [{"name": "h", "ranks": useful.len(), "useful": spread(useful)}],
        "lost": 0, "events": "calls", "measures": [{"name": "time", "unit": "nanoseconds"}], "sites": [], "rows": [],
    })
}

/// A site of `solver.c`.
fn place(function: &str, line: u64) -> Value {
    json!([{"file": "/b/solver", "build_id": "ab", "offset": line,
        "frames": [{"function": function, "file": "/s/solver.c", "line": line}]}])
}

/// Adds call sites, with the seconds of all ranks together in MPI there.
fn with_sites(report: &mut Value, sites: &[(&str, u64, f64)]) {
    report["sites"] = sites.iter().map(|(_, line, _)| place("step", *line)).collect();
    let row = |(at, (function, _, seconds)): (usize, &(&str, u64, f64))| json!({"function": function, "site": at + 1, "calls": 1, "ranks": 1, "time": {"count": 1, "sum": (seconds * 1e9) as u64}});
    report["rows"] = sites.iter().enumerate().map(row).collect();
}

/// Adds segments between sites, which count from 1, with the seconds of the rank with most useful time.
fn with_segments(report: &mut Value, segments: &[(u64, u64, f64)]) {
    let rows = segments.iter().map(|(before, after, busiest)| {
        json!({"before": "MPI_Bcast", "before_site": before, "after": "MPI_Barrier", "after_site": after, "phase": null, "ranks": 1,
            "time": spread(&[*busiest]), "busiest": busiest * 1e9})
    });
    report["segments"] =
        json!({"rank": 0, "rows": rows.collect::<Vec<_>>(), "elsewhere": {"sum": 0, "busiest": 0}});
}

fn input(name: &str, report: Value) -> Result<Input> {
    if talp::is(&report) {
        talp::read(name.to_owned(), &report)
    } else {
        Input::of_run(Run::of(name.to_owned(), report)?)
    }
}

/// Scaling of reports; each is named by its number, from 0.
fn scaling(reports: &[Value], kind: Kind, reference: Option<u64>) -> Result<Scaling> {
    let inputs = reports
        .iter()
        .enumerate()
        .map(|(at, report)| input(&format!("{at}.json"), report.clone()))
        .collect::<Result<Vec<_>>>()?;
    Scaling::of(inputs, kind, reference, &mut Symbols::default())
}

fn strong(reports: &[Value]) -> Scaling {
    scaling(reports, Kind::Strong, None).unwrap()
}

fn refusal(reports: &[Value], reference: Option<u64>) -> String {
    format!("{:#}", scaling(reports, Kind::Strong, reference).unwrap_err())
}

fn close(one: Option<f64>, other: f64) {
    let one = one.unwrap();
    assert!((one - other).abs() < 1e-12 * other.abs().max(1.0), "{one}, {other}");
}

/// By hand: 16, 16 and 20 s of useful time on 2, 4 and 8 ranks, in 10, 6 and 4 s.
fn three() -> [Value; 3] {
    [
        report(4.0, &[3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0]),
        report(10.0, &[9.0, 7.0]),
        report(6.0, &[5.0, 4.0, 4.0, 3.0]),
    ]
}

#[test]
fn strong_scaling_is_as_by_hand() {
    let Scaling { sizes, reference, .. } = strong(&three());
    assert_eq!((reference, sizes.len()), (2, 3));
    let [two, four, eight] = &sizes[..] else { panic!("{sizes:?}") };
    assert_eq!([two.ranks, four.ranks, eight.ranks], [2, 4, 8]);
    assert_eq!((two.speedup, two.efficiency, two.computation_scaling), (1.0, 1.0, Some(1.0)));
    close(two.load_balance, 8.0 / 9.0);
    close(two.communication_efficiency, 0.9);
    close(two.parallel_efficiency, 0.8);
    close(two.global_efficiency, 0.8);
    close(Some(four.speedup), 10.0 / 6.0);
    close(Some(four.efficiency), 5.0 / 6.0);
    close(four.load_balance, 0.8);
    close(four.communication_efficiency, 5.0 / 6.0);
    close(four.global_efficiency, 2.0 / 3.0);
    close(Some(eight.speedup), 2.5);
    close(Some(eight.speedup_ideal), 4.0);
    close(eight.parallel_efficiency, 0.625);
    close(eight.computation_scaling, 0.8);
    close(eight.global_efficiency, 0.5);
    let step = eight.step.as_ref().unwrap();
    assert_eq!((step.from, step.noise), (4, Certainty::Unknown));
    close(Some(step.speedup), 1.5);
    close(Some(step.efficiency), 0.75);
    assert!(two.step.is_none());
}

/// The same reports: with twice as many ranks, twice the work was done.
#[test]
fn weak_scaling_is_as_by_hand() {
    let Scaling { sizes, .. } = scaling(&three(), Kind::Weak, None).unwrap();
    let [_, four, eight] = &sizes[..] else { panic!("{sizes:?}") };
    close(Some(four.speedup), 2.0 * 10.0 / 6.0);
    close(Some(four.efficiency), 10.0 / 6.0);
    // A rank computes for 8 s in the mean, for 4 s and for 2.5 s.
    close(four.computation_scaling, 2.0);
    close(eight.computation_scaling, 3.2);
    close(eight.global_efficiency, 2.0);
    close(Some(eight.efficiency), 2.5);
}

#[test]
fn another_number_may_be_the_reference() {
    let Scaling { sizes, reference, .. } = scaling(&three(), Kind::Strong, Some(8)).unwrap();
    assert_eq!((reference, sizes[2].speedup), (8, 1.0));
    close(Some(sizes[0].speedup), 0.4);
    close(Some(sizes[0].efficiency), 1.6);
    close(sizes[0].computation_scaling, 1.25);
    assert_eq!(
        refusal(&three(), Some(3)),
        "--reference 3: no report is of 3 ranks; there are 2, 4, 8"
    );
}

proptest! {
    /// What POP's model says of any runs.
    #[test]
    fn efficiencies_are_products(
        runs in prop::collection::vec((1.0_f64..2.0, prop::collection::vec(0.01_f64..1.0, 1..9)), 2..6),
        is_weak in any::<bool>(),
    ) {
        let kind = if is_weak { Kind::Weak } else { Kind::Strong };
        let reports: Vec<Value> = runs.iter().map(|(seconds, useful)| report(*seconds, useful)).collect();
        let Ok(scaling) = scaling(&reports, kind, None) else { return Ok(()) };
        let base = scaling.sizes[0].parallel_efficiency.unwrap();
        for size in &scaling.sizes {
            let [global, parallel, balance, communication, computation] = [
                size.global_efficiency, size.parallel_efficiency, size.load_balance, size.communication_efficiency,
                size.computation_scaling,
            ].map(Option::unwrap);
            // These hold to the last digit.
            prop_assert_eq!(parallel, balance * communication);
            prop_assert_eq!(global, parallel * computation);
            prop_assert!((0.0..=1.0 + 1e-9).contains(&balance));
            // Speedup knows nothing of useful time.
            prop_assert!((size.efficiency - global / base).abs() < 1e-9 * size.efficiency);
            prop_assert!((size.speedup - size.efficiency * size.speedup_ideal).abs() < 1e-9 * size.speedup);
        }
    }
}

/// Runs on a number of ranks, which all compute for a second less than the run takes.
fn runs(ranks: usize, seconds: &[f64]) -> Vec<Value> {
    seconds.iter().map(|seconds| report(*seconds, &vec![seconds - 1.0; ranks])).collect()
}

#[test]
fn the_run_of_median_time_is_told_with_the_spread() {
    let reports = [runs(1, &[9.0, 8.0, 12.0]), runs(2, &[5.0, 7.0, 6.0, 4.0])].concat();
    let Scaling { sizes, .. } = strong(&reports);
    let [one, two] = &sizes[..] else { panic!("{sizes:?}") };
    assert_eq!((one.time, one.time_least, one.time_most), (9.0, 8.0, 12.0));
    assert_eq!((one.file.as_str(), &one.seconds[..]), ("0.json", &[9.0, 8.0, 12.0][..]));
    // The faster one of the two in the middle.
    assert_eq!((two.time, two.time_least, two.time_most), (5.0, 4.0, 7.0));
    close(two.load_balance, 1.0);
    close(two.communication_efficiency, 0.8);
}

#[test]
fn steps_within_noise_are_told_of() {
    let reports = [
        runs(1, &[20.0, 20.1, 19.9]),
        runs(2, &[11.0, 11.1, 10.9]),
        // 2 % less in the median, while runs vary by ten times that.
        runs(4, &[10.8, 9.7, 12.1]),
        runs(8, &[10.9, 9.5, 12.4]),
    ];
    let scaling = strong(&reports.concat());
    let noise: Vec<_> =
        scaling.sizes.iter().filter_map(|size| size.step.as_ref()).map(|step| step.noise).collect();
    assert_eq!(noise, [Certainty::Beyond, Certainty::Within, Certainty::Within]);
    let pays = scaling.pays.as_ref().unwrap();
    assert_eq!((pays.until, pays.noise_is_known), (2, true));
    assert_eq!(
        pays.sentence,
        "beyond 2 ranks, adding ranks did not pay: no greater number was faster; on 4 ranks, the best of them, the program ran \
         1.02 times as fast, which is within noise; more than 8 ranks were not measured"
    );
    let said = show::sentences(&scaling);
    assert_eq!(
        said[1],
        "within noise: from 2 to 4 ranks, from 4 to 8 ranks (Student's t-test of the runs, as in comparisons)"
    );
}

#[test]
fn it_is_said_which_steps_have_one_run_each() {
    let reports = [runs(1, &[20.0, 20.1, 19.9]), runs(2, &[11.0]), runs(4, &[6.0])];
    let said = show::sentences(&strong(&reports.concat()));
    assert_eq!(said[1..], ["one run each, so noise is unknown: from 2 to 4 ranks"]);
}

/// Of 301 call sites, one grows from 5 % of the run to 30 %, and no other one takes 1 % of it: these are no tests.
#[test]
fn many_small_sites_do_not_hide_a_large_one() {
    let of = |ranks: usize, large: f64, noise: f64| {
        let mut of = report(10.0 + noise, &vec![5.0; ranks]);
        let mut sites: Vec<_> = (100..400).map(|line| ("MPI_Send", line, 0.01)).collect();
        sites.push(("MPI_Bcast", 10, (large + noise) * ranks as f64));
        with_sites(&mut of, &sites);
        of
    };
    let reports = [of(2, 0.5, 0.0), of(2, 0.5, 0.1), of(4, 3.0, 0.0), of(4, 3.0, 0.1)];
    let scaling = strong(&reports);
    let (shown, _) = show::grown(scaling.sites.as_deref().unwrap(), 0);
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].name, "MPI_Bcast, solver.c:10 step");
}

#[test]
fn single_runs_do_not_say_what_is_noise() {
    let pays = |times: &[(usize, f64)], kind| {
        let reports: Vec<_> =
            times.iter().flat_map(|(ranks, time)| runs(*ranks, &[*time])).collect();
        scaling(&reports, kind, None).unwrap().pays.unwrap().sentence
    };
    let unknown = "(single runs do not say how much of that is noise)";
    assert_eq!(
        pays(&[(1, 16.0), (2, 9.0), (4, 6.0)], Kind::Strong),
        format!(
            "adding ranks paid up to 4 ranks, the most that were measured: from 2 to 4, the program ran 1.50 times as fast, 75 % of \
             what ideal scaling gives {unknown}; more than 4 ranks were not measured"
        )
    );
    // Slower on 4 and on 8 ranks.
    assert_eq!(
        pays(&[(1, 16.0), (2, 9.0), (4, 10.0), (8, 12.0)], Kind::Strong),
        format!(
            "beyond 2 ranks, adding ranks did not pay: no greater number was faster; on 4 ranks, the best of them, the program ran \
             0.90 times as fast {unknown}; more than 8 ranks were not measured"
        )
    );
    // From the first number on.
    assert_eq!(
        pays(&[(1, 2.0), (2, 8.0)], Kind::Strong),
        format!(
            "beyond 1 rank, adding ranks did not pay: no greater number was faster; on 2 ranks, the best of them, the program ran 0.25 \
             times as fast {unknown}; more than 2 ranks were not measured"
        )
    );
    // What is slower on 4 ranks may be faster on 8.
    let again = pays(&[(1, 16.0), (2, 9.0), (4, 10.0), (8, 8.0)], Kind::Strong);
    assert!(again.starts_with("adding ranks paid up to 8 ranks, "), "{again}");
    // With twice the work, 4 ranks take more than twice as long as 2.
    let weak = pays(&[(1, 10.0), (2, 11.0), (4, 24.0)], Kind::Weak);
    assert!(
        weak.starts_with("beyond 2 ranks, adding ranks did not pay: no greater number did more work in the same time; on 4 ranks, "),
        "{weak}"
    );
    assert!(weak.contains("did 0.92 times as much work in the same time"), "{weak}");
}

/// Serial code of 2 s, and 16 s of code that all ranks share. By hand: 2 of 18 s on one rank, 2 of 4 s on eight.
fn serial(ranks: usize, noise: f64) -> Value {
    let shared = 16.0 / ranks as f64;
    let mut useful = vec![shared; ranks];
    useful[0] += 2.0;
    let seconds = shared + 2.0 + noise;
    let mut of = report(seconds, &useful);
    let waiting = 2.0 * (ranks - 1) as f64;
    with_sites(
        &mut of,
        &[
            ("MPI_Bcast", 10, waiting),
            ("MPI_Barrier", 20, 0.001),
            ("MPI_Init", 5, 7.0 * ranks as f64),
        ],
    );
    // Behind line 20, rank 0 works alone until line 10.
    with_segments(&mut of, &[(2, 1, 2.0), (1, 2, shared)]);
    of
}

#[test]
fn what_grows_is_named_with_its_lines() {
    let scaling = strong(&[serial(1, 0.0), serial(8, 0.0), serial(2, 0.0)]);
    let segments = scaling.segments.as_ref().unwrap();
    assert_eq!(
        segments[0].name,
        "between MPI_Bcast at solver.c:20 (step) and MPI_Barrier at solver.c:10 (step)"
    );
    close(Some(segments[0].shares[0]), 2.0 / 18.0);
    close(Some(segments[0].shares[1]), 2.0 / 10.0);
    close(Some(segments[0].shares[2]), 0.5);
    close(Some(segments[0].growth), 0.5 - 2.0 / 18.0);
    assert_eq!(segments[0].seconds, [2.0; 3]);
    // What is shared takes less and less of the run.
    let last = segments.last().unwrap();
    close(Some(last.growth), 0.5 - 16.0 / 18.0);
    // Seven ranks wait 2 of 4 s: 14 of 32 s.
    let sites = scaling.sites.as_ref().unwrap();
    assert_eq!(sites[0].name, "MPI_Bcast, solver.c:10 step");
    close(Some(sites[0].growth), 14.0 / 32.0);
    // Start is before the active time.
    assert_eq!(sites.len(), 2, "{sites:?}");
    let mut out = Vec::new();
    show::text(&mut out, &scaling, 5).unwrap();
    let text = String::from_utf8(out).unwrap();
    let line = "   11.1 %    50.0 %  between MPI_Bcast at solver.c:20 (step) and MPI_Barrier at solver.c:10 (step)";
    assert!(text.lines().any(|said| said == line), "{text}");
    assert!(!text.contains("solver.c:10 (step) and MPI_Barrier at solver.c:20"), "{text}");
}

#[test]
fn growth_within_noise_is_not_said() {
    let quiet = [serial(1, 0.0), serial(1, 0.01), serial(8, 0.0), serial(8, 0.01)];
    let said = |reports: &[Value]| {
        let scaling = strong(reports);
        let (shown, _) = show::grown(scaling.segments.as_deref().unwrap(), 0);
        shown.len()
    };
    assert_eq!(said(&quiet), 1);
    let noisy = [serial(1, 0.0), serial(1, 400.0), serial(8, 0.0), serial(8, 400.0)];
    assert_eq!(said(&noisy), 0);
}

#[test]
fn what_cannot_be_put_together_is_refused() {
    let [two, four] = [report(10.0, &[9.0, 7.0]), report(6.0, &[5.0; 4])];
    let changed = |of: &Value, change: &dyn Fn(&mut Value)| {
        let mut of = of.clone();
        change(&mut of);
        of
    };
    let refused = |of: Value| refusal(&[two.clone(), of], None);
    let begins = |said: String, with: &str| assert!(said.starts_with(with), "{said}");
    begins(
        refusal(std::slice::from_ref(&two), None),
        "all reports are of 2 ranks: give reports of two numbers",
    );
    begins(
        refused(changed(&four, &|of| {
            of["complete"] = false.into();
            of["reason"] = "rank 3 did not answer".into();
        })),
        "1.json is not of all ranks (rank 3 did not answer): ",
    );
    begins(
        refused(changed(&four, &|of| of["tool"] = "other".into())),
        "0.json is of mpi-profile, 1.json of other",
    );
    begins(
        refused(changed(&four, &|of| of["active"] = Value::Null)),
        "1.json has no active time, since an earlier version of the tool wrote it, and 0.json has one",
    );
    begins(
        refused(changed(&four, &|of| of["ranks"] = 0.into())),
        "1.json does not say how many ranks",
    );
    for time in [0.0, -1.0, 1e308] {
        let of = changed(&four, &|of| of["active"]["most"] = time.into());
        begins(refused(of), "1.json says that its run took ");
    }
    begins(
        refused(changed(&four, &|of| of["useful"]["most"] = 7e9.into())),
        "1.json contradicts itself: its useful time is 5 s in the mean of its ranks, 7 s at most, and its time 6 s",
    );
    let of = |line: u64, function: &str, mut report: Value| {
        with_sites(&mut report, &[("MPI_Bcast", line, 1.0)]);
        report["sites"][0][0]["frames"][0]["function"] = function.into();
        report
    };
    begins(
        refusal(&[of(3, "step", two.clone()), of(3, "other", four.clone())], None),
        "0.json and 1.json have no call site in common, so they are not of the same program",
    );
    // Lines may move, and builds may be others: that is told.
    let mut moved = of(9, "step", four.clone());
    moved["sites"][0][0]["build_id"] = "cd".into();
    let Scaling { notes, sites, .. } = strong(&[of(3, "step", two.clone()), moved]);
    assert_eq!(sites.unwrap().len(), 1);
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("solver is another build in 1.json than in 0.json")),
        "{notes:?}"
    );
}

#[test]
fn the_same_file_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [one, copy] = ["one.json", "copy.json"].map(|name| folder.path().join(name));
    for path in [&one, &copy] {
        std::fs::write(path, report(10.0, &[9.0]).to_string()).unwrap();
    }
    for paths in [[one.clone(), one.clone()], [one.clone(), copy.clone()]] {
        let said = format!("{:#}", Input::read(&paths).unwrap_err());
        assert!(said.ends_with(" are the same report: give each run once"), "{said}");
    }
    // A page, or JSON with source lines, is the same run.
    let mut with_more = report(10.0, &[9.0]);
    with_more["sites"] = json!([place("step", 3)]);
    std::fs::write(&copy, with_more.to_string()).unwrap();
    let said = format!("{:#}", Input::read(&[one.clone(), copy.clone()]).unwrap_err());
    assert!(said.ends_with(" are the same report: give each run once"), "{said}");
    // Cut off, and no JSON.
    for text in ["", "{\"schema\": \"mpi-tool-rep", "{\"ranks\": NaN}"] {
        std::fs::write(&copy, text).unwrap();
        let said = format!("{:#}", Input::read(&[one.clone(), copy.clone()]).unwrap_err());
        assert!(said.contains("copy.json is no report in JSON"), "{said}");
    }
}

#[test]
fn what_is_not_known_is_said_to_be() {
    let mut old = three();
    for report in &mut old {
        report["active"] = Value::Null;
        report["useful"] = Value::Null;
    }
    let scaling = strong(&old);
    assert_eq!(scaling.time, Clock::Wall);
    let size = &scaling.sizes[1];
    assert_eq!(
        (size.parallel_efficiency, size.global_efficiency, size.computation_scaling),
        (None, None, None)
    );
    close(Some(size.speedup), 10.0 / 6.0);
    assert!(scaling.segments.is_none());
    let notes = &scaling.notes;
    let told = notes.iter().find(|note| note.contains("has no useful time of its ranks")).unwrap();
    assert!(
        told.starts_with("0.json ") && told.ends_with("; the same holds of 2 more reports"),
        "{notes:?}"
    );
    assert!(notes.iter().any(|note| note.contains("has no segments")), "{notes:?}");
    let mut out = Vec::new();
    show::text(&mut out, &scaling, 5).unwrap();
    assert!(String::from_utf8(out).unwrap().contains(" unknown "));
}

#[test]
fn machines_that_differ_are_told_of() {
    let mut reports = three();
    reports[0]["hosts"] =
        ["a", "b"].map(|name| json!({"name": name, "ranks": 4, "useful": spread(&[1.0])})).into();
    reports[0]["preempted"] =
        json!({"sum": 900, "least": 0, "least_rank": 0, "most": 400, "most_rank": 5});
    reports[1]["preempted"] =
        json!({"sum": 900, "least": 0, "least_rank": 0, "most": 400, "most_rank": 1});
    reports[0]["wall"] = spread(&[6.0; 8]);
    let notes = strong(&reports).notes;
    let has_of = |notes: &[String], text: &str| {
        assert!(notes.iter().any(|note| note.contains(text)), "{text}: {notes:?}");
    };
    let has = |text: &str| has_of(&notes, text);
    has("on different numbers of hosts, from 1 (1.json) to 2 (0.json)");
    // 400 times in 6 s and in 10 s.
    has(
        "in 0.json, processors are shared: rank 5 lost its own, or gave it up while it waited, 67 times a second (more processes than \
         cores?); what that costs is in these numbers; the same holds of 1 more report",
    );
    has("took 0.000 s on 2 ranks and 2.000 s on 8 ranks");
    reports[1]["version"] = "2".into();
    let by_others = "by different versions of mpi-profile: 1.json by 2, 2.json by 1";
    has_of(&strong(&reports).notes, by_others);
    reports[0]["hosts"] = json!([{"name": "other", "ranks": 8, "useful": spread(&[1.0])}]);
    let notes = strong(&reports).notes;
    assert!(notes.iter().any(|note| note.contains("not all on the same hosts")), "{notes:?}");
}

#[test]
fn the_other_kind_of_scaling_is_suspected() {
    let same_of_each = [report(5.0, &[4.0; 2]), report(5.0, &[4.0; 4])];
    let same_of_all = [report(5.0, &[4.0; 2]), report(3.0, &[2.0; 4])];
    let is_suspected = |reports: &[Value], kind| {
        let notes = scaling(reports, kind, None).unwrap().notes;
        notes.iter().any(|note| note.contains("--weak"))
    };
    assert!(is_suspected(&same_of_each, Kind::Strong));
    assert!(!is_suspected(&same_of_each, Kind::Weak));
    assert!(is_suspected(&same_of_all, Kind::Weak));
    assert!(!is_suspected(&same_of_all, Kind::Strong));
}

/// TALP's three forms. By hand: 10 and 6 s, with 16 s of useful time.
fn talp_files() -> [[Value; 2]; 3] {
    let new = |ranks: u64, seconds: f64, parts: [f64; 3]| {
        json!({"dlbVersion": "3.6.0", "timestamp": "2025-01-01T00:00:00+0000",
        "resources": {"numCpus": ranks, "numNodes": 1, "numMpiRanks": ranks},
        "Application": {
            "loop": {"elapsedTime": 1, "usefulTime": 1},
            "Global": {"elapsedTime": (seconds * 1e9) as u64, "usefulTime": 16_000_000_000_u64, "parallelEfficiency": parts[0],
                "mpiParallelEfficiency": parts[0], "mpiLoadBalance": parts[1], "mpiCommunicationEfficiency": parts[2]},
        }})
    };
    let raw = |ranks: u64, seconds: f64, parts: [f64; 3]| {
        json!({
            "popMetrics": [{"name": "MPI Execution", "elapsedTime": (seconds * 1e9) as u64, "averageIPC": 0.0,
                "parallelEfficiency": parts[0], "communicationEfficiency": parts[2], "loadBalance": parts[1]}],
            "popRaw": [{"name": "MPI Execution", "numCpus": ranks, "numNodes": 1, "numRanks": ranks,
                "usefulCpuTotal": 16_000_000_000_u64}],
        })
    };
    let middle = |ranks: u64, seconds: f64, parts: [f64; 3]| {
        let mut file = new(ranks, seconds, parts);
        file["dlbVersion"] = "3.5".into();
        file["popMetrics"] = file["Application"].take();
        file
    };
    let both = |of: &dyn Fn(u64, f64, [f64; 3]) -> Value| {
        [of(2, 10.0, [0.8, 0.89, 0.9]), of(4, 6.0, [0.67, 0.8, 0.83])]
    };
    [both(&new), both(&middle), both(&raw)]
}

#[test]
fn files_of_talp_are_read() {
    for files in talp_files() {
        let scaling = strong(&files);
        assert_eq!((scaling.tool.as_str(), scaling.time), ("TALP", Clock::Elapsed));
        let four = &scaling.sizes[1];
        close(Some(four.speedup), 10.0 / 6.0);
        assert_eq!((four.load_balance, four.communication_efficiency), (Some(0.8), Some(0.83)));
        assert_eq!((four.parallel_efficiency, four.computation_scaling), (Some(0.67), Some(1.0)));
        assert!(scaling.sites.is_none() && scaling.segments.is_none());
        assert!(scaling.notes.iter().any(|note| note.contains("TALP's files have no call sites")));
    }
}

#[test]
fn what_talp_does_not_say_is_unknown() {
    let [[two, mut four], _, [raw, mut without]] = talp_files();
    let global = &mut four["Application"]["Global"];
    global["usefulTime"] = Value::Null;
    global["mpiLoadBalance"] = (-1.0).into();
    global["mpiCommunicationEfficiency"] = 7.0.into();
    four["resources"]["numCpus"] = 16.into();
    let scaling = strong(&[two.clone(), four.clone()]);
    let size = &scaling.sizes[1];
    assert_eq!((size.load_balance, size.communication_efficiency), (None, None));
    assert_eq!((size.computation_scaling, size.global_efficiency), (None, None));
    assert_eq!(size.parallel_efficiency, Some(0.67));
    assert!(scaling.notes.iter().any(|note| note.starts_with("1.json is of more CPUs than ranks")));
    without["popRaw"] = Value::Null;
    assert!(
        refusal(&[raw, without], None)
            .starts_with("1.json does not say how many MPI ranks it is of")
    );
    let refused = |file: Value| refusal(&[two.clone(), file], None);
    four["Application"]["Global"]["elapsedTime"] = Value::Null;
    assert_eq!(refused(four.clone()), "1.json has no elapsedTime in its region Global");
    four["Application"] = json!({"one": {}, "other": {}});
    assert!(
        refused(four.clone())
            .starts_with("1.json has 2 regions of TALP, but none of the whole program")
    );
    four["Application"] = json!({});
    assert!(refused(four).starts_with("1.json is a file of TALP without a region"));
    assert!(
        refused(report(3.0, &[1.0; 4])).starts_with("0.json is of TALP, 1.json of mpi-profile")
    );
}

/// All that is made of it.
fn written(scaling: &Scaling) -> [String; 4] {
    let mut made = [const { Vec::new() }; 4];
    show::text(&mut made[0], scaling, 0).unwrap();
    show::json(&mut made[1], scaling).unwrap();
    show::csv(&mut made[2], scaling).unwrap();
    page::write(&mut made[3], scaling, 0).unwrap();
    made.map(|made| String::from_utf8(made).unwrap())
}

/// Makes all that can be made of a hostile report, or of a file of TALP, and of another one on more ranks. Says whether that is
/// anything, or all was refused.
pub(in super::super) fn try_hostile(value: &Value, larger: &Value) -> bool {
    let made = [Kind::Strong, Kind::Weak].map(|kind| {
        let Ok(scaling) = scaling(&[value.clone(), larger.clone()], kind, None) else {
            return false;
        };
        let [text, json, csv, page] = written(&scaling);
        for made in [text, csv] {
            assert!(!made.contains("NaN") && !made.contains("inf "), "{made}");
        }
        assert!(serde_json::from_str::<Value>(&json).is_ok());
        assert_eq!(page.matches("<script").count(), 2);
        assert!(!page.contains("NaN"));
        true
    });
    made == [true; 2]
}

proptest! {
    #[test]
    fn hostile_files_of_talp_break_nothing(
        form in 0_usize..3,
        number in prop_oneof![Just(1e308), Just(-1e308), Just(0.0), Just(1e-320), any::<f64>().prop_filter("JSON", |number| number.is_finite())],
        field in 0_usize..9,
    ) {
        let mut file = talp_files()[form][0].clone();
        let of = match form {
            0 => &mut file["Application"]["Global"],
            1 => &mut file["popMetrics"]["Global"],
            _ => &mut file["popMetrics"][0],
        };
        let fields = ["elapsedTime", "usefulTime", "parallelEfficiency", "mpiLoadBalance", "loadBalance", "numMpiRanks", "numCpus",
            "mpiCommunicationEfficiency", "communicationEfficiency"];
        of[fields[field]] = number.into();
        let [_, larger] = talp_files()[0].clone();
        try_hostile(&file, &larger);
        // On as many ranks as a number can be.
        file["resources"]["numMpiRanks"] = u64::MAX.into();
        try_hostile(&file, &larger);
    }
}

#[test]
fn times_beyond_all_numbers_are_refused() {
    let mut huge = serial(8, 0.0);
    huge["segments"]["rows"] = (0..2)
        .map(|_| {
            let mut row = huge["segments"]["rows"][0].clone();
            row["busiest"] = 1.7e308.into();
            row
        })
        .collect();
    let said = refusal(&[serial(1, 0.0), huge], None);
    assert!(
        said.ends_with("has no time that is a number: a report is not as a report should be"),
        "{said}"
    );
}

#[test]
fn pages_and_tables_have_all_numbers() {
    let scaling = strong(&[serial(1, 0.0), serial(2, 0.0), serial(8, 0.0)]);
    let [_, json, csv, page] = written(&scaling);
    let rows: Vec<csv::StringRecord> =
        csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!([&rows[2][0], &rows[2][4], &rows[2][7], &rows[2][8]], ["8", "4", "4.5", "8"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["sizes"][2]["speedup"], 4.5);
    // Nothing outside of the page.
    assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
    // Speedup 1, 1.8 and 4.5 on an axis of powers of two from 1 to 8; both curves begin in the corner, and the ideal one ends in
    // the other.
    for at in ["cx=\"60\" cy=\"250\"", "cx=\"620\" cy=\"10\""] {
        assert!(page.contains(at), "{page}");
    }
    for said in [
        "measured, 8 ranks: 4.50",
        "ideal, 8 ranks: 8.00",
        "load balance, 8 ranks: 56.2 %",
        "between MPI_Bcast at solver.c:20",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    // It is not in the package, as the documentation is not.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas/mpi-tool-scaling-1.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("scaling:/1", schema).unwrap();
    let index = compiler.compile("scaling:/1", &mut schemas).unwrap();
    for files in [strong(&talp_files()[2]), scaling] {
        schemas.validate(&json!(files), index).unwrap();
    }
}
