//! `mpi-tool top`: what it says of a program that waits for known times, on paper and on a terminal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Outcome, compile_with, mpi_tool, setting, text};
use crate::hang::{Job, signal};

const SOURCE: &str = include_str!("../c/live.c");

fn line(of: &str) -> u64 {
    let found: Vec<_> =
        (1..).zip(SOURCE.lines()).filter(|(_, line)| line.contains(of)).map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1, "{of}");
    found[0]
}

/// The program on so many ranks, once all of them send a token around.
pub(crate) fn started(ranks: u32, arguments: &[&str]) -> Job {
    let program = compile_with(setting("MPICC"), "live", "live", &["-g"]);
    let mut job = Job::of(&program, ranks, arguments, true);
    job.until("all ranks have a token", |answer| {
        let ranks_are: Vec<_> = answer["ranks"].as_array().into_iter().flatten().collect();
        ranks_are.len() == ranks as usize
            && ranks_are.iter().all(|rank| {
                ["MPI_Comm_size", "MPI_Send", "MPI_Recv"]
                    .iter()
                    .any(|name| rank["function"] == *name)
            })
    });
    job
}

fn top(job: &Job, options: &[&str]) -> Outcome {
    let run = job.run_folder();
    mpi_tool(run.parent().unwrap(), &[&["top", text(&run)], options].concat())
}

/// Rank 0 works for a tenth of a second in each step, and all others wait for it meanwhile, by way of each other.
#[test]
fn who_is_waited_for_is_named_at_its_line() {
    let job = started(4, &[]);
    let outcome = top(&job, &["--once", "--json", "--window", "4s"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let world = &answer["worlds"][0];
    assert_eq!((&answer["schema"], &world["size"]), (&"mpi-tool-top/1".into(), &4.into()));
    assert!(answer["looks"].as_u64().unwrap() >= 5, "{answer:#}");
    let cause = &world["causes"][0];
    assert_eq!((&cause["rank"], &cause["waiting"]), (&0.into(), &Value::from(vec![1, 2, 3])));
    let place = &cause["doing"]["site"][0];
    assert_eq!(
        (&cause["doing"]["state"], &place["line"]),
        (&"outside of MPI".into(), &line("WORKS BEHIND").into()),
        "{answer:#}"
    );
    // A step takes a tenth of a second, and little more.
    assert!(cause["share"].as_f64().unwrap() > 0.7, "{answer:#}");
    for rank in 1..4 {
        let rank = &world["ranks"][rank];
        assert!(rank["in_mpi"].as_f64().unwrap() > 0.8, "{answer:#}");
        assert_eq!(rank["mostly"]["site"][0]["line"], line("WAITS"), "{answer:#}");
        assert_eq!(rank["stands"], false);
    }
    assert!(world["ranks"][0]["in_mpi"].as_f64().unwrap() < 0.2, "{answer:#}");
    let calls = world["ranks"][0]["calls_per_second"].as_f64().unwrap();
    // Two calls in each step, of which there are at most ten a second.
    assert!(calls > 2.0 && calls <= 21.0, "{answer:#}");

    let outcome = top(&job, &["--once", "--window", "1s"]);
    let said: Vec<_> = outcome.stdout.lines().collect();
    let place = format!("after MPI_Comm_size at live.c:{} main", line("WORKS BEHIND"));
    assert!(
        said[1].starts_with("ranks 1-3 wait ")
            && said[1].contains(" for rank 0, which is outside of MPI ")
            && said[1].ends_with(&place),
        "{outcome:?}"
    );
    // So does `mpi-tool hang`, which sees that all go on.
    let run = job.run_folder();
    let outcome = mpi_tool(run.parent().unwrap(), &["hang", text(&run)]);
    assert!(outcome.stdout.contains(&place), "{outcome:?}");
    assert!(outcome.stdout.contains("\nranks 1-3 wait "), "{outcome:?}");
}

/// Shares of looks are those of the time: within two of a hundred after ten seconds, as the program has measured them, though its steps
/// are as regular as the looks could be. The best of three on a machine that may be busy.
#[test]
fn shares_are_those_of_the_time() {
    let program = compile_with(setting("MPICC"), "shares", "shares", &["-g"]);
    let difference = || {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("share");
        let mut job = Job::of(&program, 2, &["130", text(&file)], true);
        job.until("both ranks are in their steps", |answer| {
            let ranks = answer["ranks"].as_array().into_iter().flatten();
            ranks.filter(|rank| rank["calls"].as_u64() > Some(6)).count() == 2
        });
        let said = top(&job, &["--once", "--json", "--window", "10s"]);
        let said: Value = serde_json::from_str(&said.stdout).unwrap();
        let share = said["worlds"][0]["ranks"][1]["in_mpi"].as_f64().unwrap();
        let begin = Instant::now();
        let truth = loop {
            let written = fs::read_to_string(&file).unwrap_or_default();
            if written.ends_with('\n') {
                break written.trim().parse::<f64>().unwrap();
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "the program does not end");
            sleep(Duration::from_millis(50));
        };
        assert!(truth > 0.5 && truth < 0.9, "{truth}");
        println!("sampled {share}, measured {truth}");
        (share - truth).abs()
    };
    let best = (0..3).map(|_| difference()).find(|difference| *difference <= 0.02);
    assert!(best.is_some());
}

/// `mpi-tool hang --watch` says it, too, up to the run's end.
#[test]
fn who_is_waited_for_is_named_again_and_again() {
    let job = started(3, &["60"]);
    let run = job.run_folder();
    let outcome = mpi_tool(run.parent().unwrap(), &["hang", "--watch", text(&run)]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let place = format!(
        " for rank 0, which is outside of MPI after MPI_Comm_size at live.c:{} main",
        line("WORKS BEHIND")
    );
    let said = outcome
        .stdout
        .lines()
        .filter(|said| said.starts_with("ranks 1-2 wait ") && said.ends_with(&place));
    assert!(said.count() >= 2, "{outcome:?}");
}

#[test]
fn figures_are_kept_in_a_file() {
    let job = started(2, &[]);
    let outcome = top(&job, &["--once", "--window", "500ms", "--openmetrics", "mpi.prom"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    let text = fs::read_to_string(job.run_folder().parent().unwrap().join("mpi.prom")).unwrap();
    let figures = parsed(&text);
    let ranks = figures.keys().filter(|series| series.starts_with("mpi_rank_calls_total{")).count();
    assert_eq!(ranks, 2, "{text}");
    let outcome = top(&job, &["--once", "--window", "500ms", "--openmetrics", "no/mpi.prom"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("no/mpi.prom: cannot be written"), "{outcome:?}");
}

/// `mpi-tool top --openmetrics PORT`, ended when the value is dropped.
struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Served {
    fn of(job: &Job) -> Self {
        let run = job.run_folder();
        let file = run.with_file_name("token");
        let mut child = Command::new(env!("CARGO_BIN_EXE_mpi-tool"))
            .args([
                "top",
                text(&run),
                "--openmetrics",
                "0",
                "--every",
                "100ms",
                "--token",
                text(&file),
            ])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let port =
            said.split_once("http://127.0.0.1:").and_then(|(_, rest)| rest.split_once("/metrics"));
        let port = port.unwrap_or_else(|| panic!("{said}")).0.parse().unwrap();
        assert!(said.ends_with(&format!("with the token in {}\n", text(&file))), "{said}");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        let token = fs::read_to_string(&file).unwrap().trim().to_owned();
        // Who reads what is said learns no token by that.
        assert!(token.len() >= 32 && !said.contains(&token), "{said}");
        Self { child, port, token }
    }

    /// What is answered to bytes, up to the end of the connection.
    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str, token: &str) -> String {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").as_bytes())
    }

    /// The figures that are answered to who has the token.
    fn figures(&self) -> BTreeMap<String, f64> {
        let token = format!("Authorization: Bearer {}\r\n", self.token);
        let answer = self.get("/metrics", &token);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let kind =
            "\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
        assert!(head.contains(kind), "{answer}");
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{answer}");
        parsed(body)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads figures as the specification of OpenMetrics 1.0 says: families that are not mixed, each with a type, names that fit it,
/// labels with their quotes, no sample twice, and an end. By Prometheus' own parser, too, where Python has it.
fn parsed(figures: &str) -> BTreeMap<String, f64> {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || "_:".contains(first))
            && letters.all(|letter| letter.is_ascii_alphanumeric() || "_:".contains(letter))
    };
    let Some(body) = figures.strip_suffix("# EOF\n") else { panic!("no end: {figures}") };
    let (mut samples, mut types) = (BTreeMap::new(), BTreeMap::new());
    let mut family = String::new();
    for line in body.lines() {
        assert_ne!(line, "# EOF", "{figures}");
        if let Some(described) = line.strip_prefix("# ") {
            let (what, rest) = described.split_once(' ').expect(line);
            let (name, rest) = rest.split_once(' ').expect(line);
            assert!(is_name(name), "{line}");
            match what {
                "TYPE" => {
                    assert!(["gauge", "counter"].contains(&rest), "{line}");
                    assert_eq!(types.insert(name.to_owned(), rest.to_owned()), None, "{line}");
                    family = name.to_owned();
                }
                "HELP" => assert_eq!(name, family, "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect(line);
        let (name, labels) = series.split_once('{').expect(line);
        let expected = match &*types[&family] {
            "counter" => format!("{family}_total"),
            _ => family.clone(),
        };
        assert_eq!(name, expected, "{line}");
        let mut labels = labels.strip_suffix('}').expect(line);
        let mut names = Vec::new();
        while !labels.is_empty() {
            let (name, rest) = labels.split_once("=\"").expect(line);
            assert!(is_name(name) && !names.contains(&name), "{line}");
            names.push(name);
            // The quote that ends a value has an even number of backslashes in front of it.
            let end = rest.match_indices('"').map(|(at, _)| at).find(|at| {
                let before = rest[..*at].bytes().rev().take_while(|byte| *byte == b'\\');
                before.count() % 2 == 0
            });
            labels = &rest[end.expect(line) + 1..];
            labels = if labels.is_empty() { labels } else { labels.strip_prefix(',').expect(line) };
        }
        let value: f64 = value.parse().expect(line);
        assert_eq!(samples.insert(series.to_owned(), value), None, "{line}");
    }
    let parser = "import sys; from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n\
                  print(sum(len(family.samples) for family in parse(sys.stdin.read())))";
    let has_parser = Command::new("python3")
        .args(["-c", "import prometheus_client"])
        .stderr(Stdio::null())
        .status();
    if has_parser.is_ok_and(|status| status.success()) {
        let mut python = Command::new("python3");
        let mut python = python
            .args(["-c", parser])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        python.stdin.take().unwrap().write_all(figures.as_bytes()).unwrap();
        let output = python.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            samples.len().to_string(),
            "{figures}"
        );
    }
    samples
}

fn calls(figures: &BTreeMap<String, f64>) -> f64 {
    let all = figures.iter().filter(|(series, _)| series.starts_with("mpi_rank_calls_total{"));
    all.map(|(_, value)| value).sum()
}

#[test]
fn figures_are_served_to_who_has_the_token() {
    let job = started(2, &[]);
    let served = Served::of(&job);
    let begin = Instant::now();
    while calls(&served.figures()) == 0.0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no figures come");
        sleep(Duration::from_millis(50));
    }
    for (path, token, status) in [
        ("/metrics", "", "401 Unauthorized"),
        ("/metrics", "Authorization: Bearer 0123456789abcdef\r\n", "401 Unauthorized"),
        ("/", "", "401 Unauthorized"),
        ("/", &*format!("Authorization: Bearer {}\r\n", served.token), "404 Not Found"),
    ] {
        let answer = served.get(path, token);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        assert!(!answer.contains("mpi_rank") && !answer.contains(&served.token), "{answer}");
    }
    // The kernel knows one socket that listens at this port: that of 127.0.0.1.
    let sockets =
        ["tcp", "tcp6"].map(|of| fs::read_to_string(format!("/proc/net/{of}")).unwrap_or_default());
    let port = format!(":{:04X}", served.port);
    let listens = sockets.iter().flat_map(|all| all.lines()).filter_map(|line| {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        (words[1].ends_with(&port) && words[3] == "0A").then(|| words[1].to_owned())
    });
    assert_eq!(listens.collect::<Vec<_>>(), [format!("0100007F{port}")]);
    // Nobody else can have the port.
    let port = served.port.to_string();
    let outcome = top(&job, &["--openmetrics", &port, "--token", "token"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(
        outcome.stderr.contains(&format!("port {port} of 127.0.0.1 cannot be served")),
        "{outcome:?}"
    );
}

/// Whoever sends too much, or says nothing, is answered that, and others have their figures meanwhile.
#[test]
fn who_asks_slowly_keeps_nobody_waiting() {
    let job = started(2, &[]);
    let served = Served::of(&job);
    let mut silent: Vec<_> =
        (0..8).map(|_| TcpStream::connect(("127.0.0.1", served.port)).unwrap()).collect();
    for stream in &mut silent {
        stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    }
    let begin = Instant::now();
    let answer = served.get("/metrics", "");
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    // One after the other, they would take 16 s.
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    let first = calls(&served.figures());
    let long = served
        .send(format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000)).as_bytes());
    assert!(long.starts_with("HTTP/1.1 431 "), "{long}");
    let wrong = served.send(b"\x16\x03\x01\x00\xff\r\n\r\n");
    assert!(wrong.starts_with("HTTP/1.1 400 "), "{wrong}");
    for mut stream in silent {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    // More at a time than are answered: the others are turned away, and then all is as before.
    let many: Vec<_> = (0..40).map(|_| TcpStream::connect(("127.0.0.1", served.port))).collect();
    drop(many);
    let begin = Instant::now();
    let is_answered = || {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).ok()?;
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 401 ").then_some(())
    };
    while is_answered().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nobody is answered any more");
        sleep(Duration::from_millis(50));
    }
    while calls(&served.figures()) <= first {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing moves any more");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_cannot_be_served_is_told() {
    let job = started(2, &[]);
    let open = job.run_folder().with_file_name("open");
    fs::write(&open, "0123456789abcdef").unwrap();
    for (options, said) in [
        (&["--openmetrics", "0", "--once"][..], "--once prints and ends"),
        (&["--openmetrics", "70000"], "no port has this number"),
        (&["--openmetrics", "mpi.prom", "--token", "token"], "--token is for --openmetrics PORT"),
        (&["--openmetrics", "0", "--token", text(&open)], "other users may read the token"),
        (&["--filter", "7-3"], "7-3: ranks are written as 3 or 0-7,12"),
    ] {
        let outcome = top(&job, options);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(said), "{outcome:?}");
    }
}

/// The samples of a run are a profile, whose shares are those of the time: rank 0 works all the time, and others wait for it.
#[test]
fn samples_are_a_profile() {
    let job = started(4, &["80"]);
    let folder = job.run_folder().parent().unwrap().to_owned();
    // Eight seconds, up to the run's end.
    let outcome = top(&job, &["--record", "samples.json"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    let text = fs::read_to_string(folder.join("samples.json")).unwrap();
    let samples = test_support::schema::report(&text);
    assert!(samples["looks"].as_u64().unwrap() >= 20, "{samples:#}");
    let world = &samples["worlds"][0];
    assert!(world["program"].as_str().unwrap().ends_with("/live"), "{samples:#}");
    let number = |rank: usize, of: &str| world["ranks"][rank][of].as_f64().unwrap();
    for rank in 0..4 {
        let share = number(rank, "in_mpi") / number(rank, "looks");
        assert!(if rank == 0 { share < 0.2 } else { share > 0.8 }, "{samples:#}");
        let of_places: u64 = world["places"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|place| place["ranks"].as_array().unwrap())
            .filter(|of| of[0] == rank)
            .map(|of| of[1].as_u64().unwrap())
            .sum();
        assert_eq!(of_places as f64, number(rank, "looks"), "{samples:#}");
        let calls = &world["ranks"][rank]["calls"];
        let made = calls[1].as_u64().unwrap() - calls[0].as_u64().unwrap();
        // Two or three in each of at most 80 steps.
        assert!(made > 20 && made <= 240, "{samples:#}");
    }
    assert_eq!(world["ranks"][3]["waits"][0][0], 0);
    let said = mpi_tool(&folder, &["report", "samples.json"]);
    assert_eq!((said.status, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.stdout.starts_with("# samples.json: samples of mpi-tool top, "), "{said:?}");
    assert!(said.stdout.contains("of all looks, by ranks 1-3\n"), "{said:?}");
    let row = said
        .stdout
        .lines()
        .find(|row| row.ends_with(&format!("in MPI_Recv at live.c:{} main", line("WAITS"))));
    assert!(row.is_some_and(|row| row.split_ascii_whitespace().nth(2) == Some("3")), "{said:?}");
    let said = mpi_tool(&folder, &["report", "samples.json", "samples.json"]);
    assert_eq!(said.status, Some(2));
    assert!(said.stderr.contains("prints them, alone"), "{said:?}");
    let outcome = top(&job, &["--record", "no/samples.json"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
}

/// Who is ended in between has kept what was seen.
#[test]
fn samples_are_kept_when_a_signal_comes() {
    let job = started(2, &[]);
    let run = job.run_folder();
    let file = run.with_file_name("samples.json");
    for name in ["TERM", "INT"] {
        let mut command = Command::new("env");
        // A shell's `&` has programs ignore it.
        command.arg("--default-signal=TERM,INT").arg(env!("CARGO_BIN_EXE_mpi-tool"));
        command.args(["top", text(&run), "--record", text(&file)]).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        sleep(Duration::from_secs(2));
        signal(name, child.id().into());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
        let samples = test_support::schema::report(&fs::read_to_string(&file).unwrap());
        assert!(samples["looks"].as_u64().unwrap() > 1, "{name}: {samples:#}");
        fs::remove_file(&file).unwrap();
    }
}

/// A terminal of thirty lines: keys do what they say, the end of the run is seen, and q ends.
#[test]
fn a_terminal_is_drawn_on() {
    let job = started(2, &["60"]);
    let run = job.run_folder();
    let program = env!("CARGO_BIN_EXE_mpi-tool");
    let command = format!("stty rows 30 cols 120; '{program}' top '{}' --every 200ms", text(&run));
    let mut terminal = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs (util-linux)");
    let mut keys = terminal.stdin.take().unwrap();
    for key in [&b"s"[..], b"?", b"?", b"p", b"p"] {
        sleep(Duration::from_millis(700));
        keys.write_all(key).unwrap();
    }
    // Sixty steps are six seconds and a little more.
    sleep(Duration::from_secs(9));
    keys.write_all(b"q").unwrap();
    let output = terminal.wait_with_output().unwrap();
    let drawn = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{drawn}");
    for words in ["sorted by what is worst", "scroll", "paused", "the run is over"] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
    // The screen that was there before is there again.
    assert!(drawn.contains("\u{1b}[?1049h") && drawn.contains("\u{1b}[?1049l"), "{drawn}");
}
