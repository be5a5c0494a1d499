//! What a tool adds to one call: instructions by callgrind, which are exact, and time in paired,
//! interleaved runs against a C tool that does the same.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;

use crate::compile::compile;
use crate::outcome::{Troubles, cell, collected, finish, succeeded};
use crate::sample::{Random, estimate, off_the_line};

#[derive(Args)]
pub(crate) struct Overhead {
    /// The MPI's C compiler
    #[arg(long, env = "MPICC")]
    mpicc: PathBuf,
    /// The folder with the built tools
    #[arg(long, env = "MPI_TOOLS")]
    tools: PathBuf,
    /// The folder with the C programs
    #[arg(long)]
    sources: PathBuf,
    /// Paired runs of each comparison in time
    #[arg(long, default_value_t = 25)]
    runs: usize,
    /// Levels of the stacks whose instructions shall be those of a straight line over the first three
    #[arg(long, value_delimiter = ',', default_values_t = [5, 10, 50, 100, 300])]
    levels: Vec<usize>,
    /// Only instructions
    #[arg(long)]
    no_time: bool,
    /// Write the figures here, as JSON
    #[arg(long)]
    output: Option<PathBuf>,
}

const FUNCTIONS: [&str; 4] = ["MPI_Comm_rank", "MPI_Wtime", "MPI_Send", "MPI_Sendrecv"];

/// Calls that move data, for the counters of data: a message to itself by `MPI_Irecv`, `MPI_Send` and
/// `MPI_Wait`, the same by `MPI_Sendrecv`, and collective operations of one process.
const DATA: [&str; 4] = ["message", "exchange", "MPI_Bcast", "MPI_Allreduce"];

/// One line of the result.
#[derive(Serialize)]
struct Instructions {
    tools: String,
    function: &'static str,
    added: f64,
    at_most: Option<f64>,
}

#[derive(Serialize)]
struct Time {
    what: String,
    threads: usize,
    /// Time of ours by time of the C counter, in the same pair.
    ratio: f64,
    low: f64,
    high: f64,
}

/// Levels of a QMPI stack, all of one kind.
#[derive(Serialize)]
struct Stack {
    kind: &'static str,
    levels: usize,
    /// Instructions added to `MPI_Comm_rank`.
    added: f64,
}

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    mpi: String,
    instructions: Vec<Instructions>,
    time: Vec<Time>,
    stacks: Vec<Stack>,
}

type Variables = [(&'static str, String)];

/// How many levels the stacks have, for what the first and each further one costs; more are asked for.
const LEVELS: [usize; 3] = [0, 1, 2];
/// And where their time is measured.
const DEPTHS: [usize; 2] = [50, 300];
/// At most so many instructions for an empty stack, and for each kind of level. What TUM's library
/// needs for a level with a tool of the same code is 100, and 146 for the first one.
const EMPTY_STACK: f64 = 3.0;
const KINDS: [(&str, Option<f64>); 4] = [
    ("empty-raw: does nothing", Some(0.0)),
    ("empty-raw, kept (QMPI_KEEP=1)", Some(3.0)),
    ("call-counter", None),
    ("C, for TUM's QMPI", Some(50.0)),
];

/// A tool that measures or records.
struct Recorder {
    name: &'static str,
    library: &'static str,
    /// The variable that leaves out call sites where it is 0, as it is then.
    variable: Option<&'static str>,
    /// How many instructions it may add to `MPI_Send` to nobody.
    at_most: Option<f64>,
}

const fn recorder(
    name: &'static str,
    library: &'static str,
    variable: Option<&'static str>,
    at_most: Option<f64>,
) -> Recorder {
    Recorder { name, library, variable, at_most }
}

const RECORDERS: [Recorder; 6] = [
    recorder("mpi-profile", "mpi_profile", None, Some(150.0)),
    recorder(
        "mpi-profile, no call sites",
        "mpi_profile",
        Some("MPI_TOOL_MPI_PROFILE_DEPTH"),
        Some(90.0),
    ),
    recorder("mpi-watch", "mpi_watch", None, Some(60.0)),
    recorder("mpi-watch, no call sites", "mpi_watch", Some("MPI_TOOL_MPI_WATCH_DEPTH"), Some(12.0)),
    recorder("mpi-trace", "mpi_trace", None, Some(60.0)),
    recorder("mpi-check", "mpi_check", None, None),
];
/// They do something every few milliseconds, or after some thousand calls, which adds up to so much to a call.
const NOW_AND_THEN: f64 = 0.5;

/// How exact a number of instructions is: what a single event in ten thousand calls makes.
const RESOLUTION: f64 = 0.01;

fn exceeds(instructions: f64, at_most: f64) -> bool {
    instructions > at_most + RESOLUTION
}

struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Overhead {
    pub(crate) fn run(self) -> Result<()> {
        let bench = self.build()?;
        let ours = |name: &str| self.tools.join(format!("lib{name}.so"));
        let c = |name: &str| bench.folder.path().join(format!("lib{name}.so"));
        // The same file is loaded once: a second level is a copy.
        let second = bench.folder.path().join("libempty_raw_2.so");
        std::fs::copy(ours("empty_raw"), &second)?;

        let stacks: [(&str, Vec<PathBuf>, Option<f64>); 7] = [
            ("C, empty", vec![c("empty")], None),
            ("empty-raw", vec![ours("empty_raw")], Some(2.0)),
            ("empty-high", vec![ours("empty_high")], Some(2.0)),
            ("empty-raw behind empty-raw", vec![ours("empty_raw"), second], Some(4.0)),
            ("C, counter", vec![c("counter")], None),
            ("call-counter", vec![ours("call_counter")], Some(8.0)),
            (
                "call-counter behind empty-raw",
                vec![ours("empty_raw"), ours("call_counter")],
                Some(10.0),
            ),
        ];
        let mut figures = Figures {
            schema: "mpi-tool-overhead/1",
            mpi: self.mpicc.display().to_string(),
            instructions: Vec::new(),
            time: Vec::new(),
            stacks: Vec::new(),
        };
        println!("Instructions added to a call (callgrind)\n");
        println!("| tools | {} | at most |", FUNCTIONS.join(" | "));
        println!("|---|{}---|", "---|".repeat(FUNCTIONS.len()));
        let mut troubles = Troubles::default();
        let none = FUNCTIONS.map(|function| {
            troubles.note(&format!("{function} without tools"), bench.instructions(function, &[]))
        });
        for (name, tools, at_most) in &stacks {
            let limits = FUNCTIONS.map(|_| *at_most);
            let columns = FUNCTIONS.into_iter().zip(none).zip(limits);
            let cells = bench.row(name, tools, &[], columns, 0.0, &mut figures, &mut troubles);
            let limit = at_most.map(|limit| limit.to_string()).unwrap_or_default();
            println!("| {name} | {} | {limit} |", cells.join(" | "));
        }

        bench.data(
            &ours("bandwidth_counter"),
            &c("bandwidth_counter"),
            &mut figures,
            &mut troubles,
        );
        self.recorders(&bench, &mut figures, &mut troubles);
        self.stacks(&bench, &mut figures, &mut troubles);

        if !self.no_time {
            println!("\nTime of MPI_Comm_rank, call-counter by C counter, {} pairs\n", self.runs);
            println!("| threads | median ratio | 95 % interval |\n|---|---|---|");
            for threads in [1, 8] {
                let pairs = self.pairs(&bench, &ours("call_counter"), &c("counter"), threads);
                let what = format!("call-counter by C counter, {threads} threads");
                let Some(time) = troubles.note(&what, pairs) else { continue };
                println!("| {threads} | {:.3} | {:.3} to {:.3} |", time.ratio, time.low, time.high);
                if time.low > 1.0 {
                    let slower = format!("call-counter is slower than C on {threads} threads");
                    troubles.missed.push(slower);
                }
                figures.time.push(time);
            }
            self.depth(&bench, &mut figures, &mut troubles);
        }
        finish(&figures, self.output.as_deref(), &troubles)
    }

    fn build(&self) -> Result<Bench> {
        let folder = tempfile::tempdir()?;
        let compile = |source: &str, output: &str, flags: &[&str]| -> Result<PathBuf> {
            let output = folder.path().join(output);
            let flags = [&["-O2", "-pthread"], flags].concat();
            compile(&self.mpicc, &self.sources.join(source), &output, &flags)?;
            Ok(output)
        };
        let program = compile("calls.c", "calls", &[])?;
        for tool in ["empty", "counter", "bandwidth_counter"] {
            compile(&format!("{tool}.c"), &format!("lib{tool}.so"), &["-shared", "-fPIC"])?;
        }
        let header = format!("-I{}", self.sources.join("../../qmpi-shim/include").display());
        compile("qmpi_tool.c", "libqmpi_tool.so", &["-shared", "-fPIC", &header])?;
        for levels in DEPTHS {
            let define = format!("-DLEVELS={levels}");
            compile("jumps.c", &format!("libjumps{levels}.so"), &["-shared", "-fPIC", &define])?;
        }
        Ok(Bench { folder, program })
    }

    /// The variables that make a stack of a kind.
    fn stack(&self, bench: &Bench, kind: usize, levels: usize) -> Vec<(&'static str, String)> {
        let tool = match kind {
            0 | 1 => self.tools.join("libempty_raw.so"),
            2 => self.tools.join("libcall_counter.so"),
            _ => bench.folder.path().join("libqmpi_tool.so"),
        };
        let mut variables = Vec::new();
        if levels > 0 {
            variables.push(("TOOLS", vec![tool.display().to_string(); levels].join(":")));
        }
        if kind == 1 {
            variables.push(("QMPI_KEEP", "1".into()));
        }
        variables
    }

    /// Instructions of the tools that measure and record.
    fn recorders(&self, bench: &Bench, figures: &mut Figures, troubles: &mut Troubles) {
        println!("\nInstructions that measuring and recording adds\n");
        println!("| tools | MPI_Send | {} | at most, MPI_Send |", DATA.join(" | "));
        println!("|---|---|{}---|", "---|".repeat(DATA.len()));
        let functions: Vec<&'static str> = ["MPI_Send"].into_iter().chain(DATA).collect();
        let none: Vec<Option<f64>> = functions
            .iter()
            .map(|function| {
                let what = format!("{function} without tools");
                troubles.note(&what, bench.instructions(function, &[]))
            })
            .collect();
        for Recorder { name, library, variable, at_most } in RECORDERS {
            let tool = [self.tools.join(format!("lib{library}.so"))];
            // Their files go where the programs are, and end with these.
            let mut variables =
                vec![("MPI_TOOL_RUN", bench.folder.path().join("run").display().to_string())];
            variables.extend(variable.map(|depth| (depth, "0".to_owned())));
            let limit_of = |function| at_most.filter(|_| function == "MPI_Send");
            let columns = functions.iter().zip(&none);
            let columns = columns.map(|(function, none)| ((*function, *none), limit_of(*function)));
            let cells =
                bench.row(name, &tool, &variables, columns, NOW_AND_THEN, figures, troubles);
            let limit = at_most.map(|limit| limit.to_string()).unwrap_or_default();
            println!("| {name} | {} | {limit} |", cells.join(" | "));
        }
    }

    /// Instructions of stacks: a straight line over their levels.
    fn stacks(&self, bench: &Bench, figures: &mut Figures, troubles: &mut Troubles) {
        let all: Vec<usize> = LEVELS.iter().chain(&self.levels).copied().collect();
        println!("\nInstructions that a QMPI stack adds to MPI_Comm_rank, by its levels\n");
        println!(
            "| levels | {} | each further | at most |",
            all.iter().map(usize::to_string).collect::<Vec<_>>().join(" | ")
        );
        println!("|---|{}---|---|", "---|".repeat(all.len()));
        let function = FUNCTIONS[0];
        let none = bench.instructions(function, &[]);
        let Some(none) = troubles.note("stacks, without tools", none) else { return };
        let shim = [self.tools.join("libqmpi.so")];
        for (index, (kind, at_most)) in KINDS.into_iter().enumerate() {
            let added: Vec<Option<f64>> = all
                .iter()
                .map(|&levels| {
                    let variables = self.stack(bench, index, levels);
                    let with = bench.instructions_with(function, &shim, &variables);
                    Some(troubles.note(&format!("{kind}, {levels} levels"), with)? - none)
                })
                .collect();
            for (&levels, added) in all.iter().zip(&added) {
                figures.stacks.extend(added.map(|added| Stack { kind, levels, added }));
            }
            if let Some(added) = added[0].filter(|added| exceeds(*added, EMPTY_STACK)) {
                troubles.missed.push(format!("an empty stack: {added} instructions"));
            }
            // What the second level adds, every further one does.
            let each = added[1].zip(added[2]).map(|(first, second)| second - first);
            if let Some(each) = each.filter(|each| at_most.is_some_and(|most| exceeds(*each, most)))
            {
                troubles.missed.push(format!("{kind}: {each} instructions a level"));
            }
            let measured = all.iter().zip(&added).skip(1);
            let points: Vec<(f64, f64)> =
                measured.filter_map(|(levels, added)| Some((*levels as f64, (*added)?))).collect();
            if each.is_some() {
                for (levels, added, line) in off_the_line(&points, RESOLUTION) {
                    troubles.missed.push(format!(
                        "{kind}: no straight line at {levels} levels: {added:.2} instructions, where the \
                         first levels say {line:.2}"
                    ));
                }
            }
            let cells: Vec<_> = added.iter().map(|added| cell(*added, 0)).collect();
            let limit = at_most.map(|limit| limit.to_string()).unwrap_or_default();
            println!("| {kind} | {} | {} | {limit} |", cells.join(" | "), cell(each, 0));
        }
    }

    /// Time of deep stacks, against one table of jumps.
    fn depth(&self, bench: &Bench, figures: &mut Figures, troubles: &mut Troubles) {
        let runs = self.runs;
        println!(
            "\nTime that levels add, by the time that as many jumps of one table add, {runs} pairs\n"
        );
        println!("| levels | median ratio | 95 % interval | ns added a level |\n|---|---|---|---|");
        for levels in DEPTHS {
            let what = format!("{levels} levels by {levels} jumps");
            let measured = self.depth_of(bench, levels);
            let Some((ratios, each)) = troubles.note(&what, measured) else { continue };
            let ratio = estimate(&ratios);
            let (low, high) = (ratio.low, ratio.high);
            let each = estimate(&each).median;
            println!("| {levels} | {:.2} | {low:.2} to {high:.2} | {each:.2} |", ratio.median);
            figures.time.push(Time { what, threads: 1, ratio: ratio.median, low, high });
        }
    }

    /// For each pair of runs: time by the jumps' time, and nanoseconds a level.
    fn depth_of(&self, bench: &Bench, levels: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let jumps = [bench.folder.path().join(format!("libjumps{levels}.so"))];
        let shim = [self.tools.join("libqmpi.so")];
        let variables = self.stack(bench, 1, levels);
        let calls = 40_000_000 / levels as u64;
        let mut random = Random::new();
        let (mut ratios, mut each) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            let mut order = [0, 1, 2];
            random.shuffle(&mut order);
            let mut times = [0.0; 3];
            for which in order {
                times[which] = match which {
                    0 => bench.nanoseconds_with(&[], &[], calls, 1)?,
                    1 => bench.nanoseconds_with(&jumps, &[], calls, 1)?,
                    _ => bench.nanoseconds_with(&shim, &variables, calls, 1)?,
                };
            }
            ratios.push((times[2] - times[0]) / (times[1] - times[0]));
            each.push((times[2] - times[0]) / levels as f64);
        }
        Ok((ratios, each))
    }

    /// Runs both, in random order, as often as asked.
    fn pairs(&self, bench: &Bench, ours: &Path, theirs: &Path, threads: usize) -> Result<Time> {
        let calls = if threads == 1 { 20_000_000 } else { 2_000_000 };
        let mut random = Random::new();
        let mut ratios = Vec::new();
        for run in 0..self.runs {
            if std::io::stderr().is_terminal() {
                eprint!("\r  {threads} threads, pair {} of {} ", run + 1, self.runs);
            }
            let mut order = [0, 1];
            random.shuffle(&mut order);
            let mut times = [0.0; 2];
            for which in order {
                times[which] = bench.nanoseconds([ours, theirs][which], calls, threads)?;
            }
            ratios.push(times[0] / times[1]);
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{:40}\r", "");
        }
        let ratio = estimate(&ratios);
        Ok(Time {
            what: "call-counter by C counter".into(),
            threads,
            ratio: ratio.median,
            low: ratio.low,
            high: ratio.high,
        })
    }
}

impl Bench {
    /// What tools add to some functions, each with its instructions without tools and with how many the tools may add, and
    /// `more` on top: the cells of a row.
    fn row(
        &self,
        name: &str,
        tools: &[PathBuf],
        variables: &Variables,
        columns: impl Iterator<Item = ((&'static str, Option<f64>), Option<f64>)>,
        more: f64,
        figures: &mut Figures,
        troubles: &mut Troubles,
    ) -> Vec<String> {
        let mut cells = Vec::new();
        for ((function, none), at_most) in columns {
            // Without the one there is no use for the other.
            let added = none.and_then(|none| {
                let with = self.instructions_with(function, tools, variables);
                Some(troubles.note(&format!("{name} on {function}"), with)? - none)
            });
            cells.push(cell(added, 2));
            let Some(added) = added else { continue };
            if at_most.is_some_and(|at_most| exceeds(added, at_most + more)) {
                troubles.missed.push(format!("{name}: {added} instructions on {function}"));
            }
            let tools = name.to_owned();
            figures.instructions.push(Instructions { tools, function, added, at_most });
        }
        cells
    }

    /// What the bandwidth counter adds, and one in C.
    fn data(&self, ours: &Path, theirs: &Path, figures: &mut Figures, troubles: &mut Troubles) {
        println!("\nInstructions that counting data adds\n");
        println!("| calls | C, bandwidth counter | bandwidth-counter |\n|---|---|---|");
        for function in DATA {
            let none = self.instructions(function, &[]);
            let none = troubles.note(&format!("{function} without tools"), none);
            let [c, rust] = [("C, bandwidth counter", theirs), ("bandwidth-counter", ours)].map(
                |(name, tool)| {
                    let with = none.map(|_| self.instructions(function, &[tool.to_owned()]))?;
                    Some(troubles.note(&format!("{name} on {function}"), with)? - none?)
                },
            );
            println!("| {function} | {} | {} |", cell(c, 2), cell(rust, 2));
            if let Some((c, rust)) = c.zip(rust).filter(|(c, rust)| exceeds(*rust, *c)) {
                let more = format!("bandwidth-counter: {rust} instructions on {function}, C {c}");
                troubles.missed.push(more);
            }
            for (tools, added, at_most) in
                [("C, bandwidth counter", c, None), ("bandwidth-counter", rust, c)]
            {
                let row = |added| Instructions { tools: tools.into(), function, added, at_most };
                figures.instructions.extend(added.map(row));
            }
        }
    }

    /// Instructions of one call, between the caller's call and its return: the difference of two
    /// runs, so that what happens once does not matter.
    fn instructions(&self, function: &'static str, tools: &[PathBuf]) -> Result<f64> {
        self.instructions_with(function, tools, &[])
    }

    fn instructions_with(
        &self,
        function: &'static str,
        tools: &[PathBuf],
        variables: &Variables,
    ) -> Result<f64> {
        const CALLS: u32 = 10_000;
        // Both at once: instructions are the same however busy the machine is.
        let [less, more] = std::thread::scope(|scope| {
            let count =
                |calls| scope.spawn(move || self.collected(function, tools, variables, calls));
            [count(CALLS), count(2 * CALLS)].map(|run| run.join().expect("no panics"))
        });
        Ok((more? - less?) / f64::from(CALLS))
    }

    fn collected(
        &self,
        function: &str,
        tools: &[PathBuf],
        variables: &Variables,
        calls: u32,
    ) -> Result<f64> {
        let measured = format!("measured_{}", function.trim_start_matches("MPI_").to_lowercase());
        collected(
            self.program(tools, &["valgrind"])
                .envs(variables.iter().cloned())
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .arg(format!("--toggle-collect={measured}"))
                .arg(&self.program)
                .args([function, &calls.to_string()]),
        )
    }

    fn nanoseconds(&self, tool: &Path, calls: u64, threads: usize) -> Result<f64> {
        self.nanoseconds_with(&[tool.to_owned()], &[], calls, threads)
    }

    fn nanoseconds_with(
        &self,
        tools: &[PathBuf],
        variables: &Variables,
        calls: u64,
        threads: usize,
    ) -> Result<f64> {
        let program = self.program.to_str().context("a path that is not UTF-8")?;
        let mut command = self.program(tools, &[program]);
        command.envs(variables.iter().cloned()).args([
            "MPI_Comm_rank",
            &calls.to_string(),
            &threads.to_string(),
        ]);
        let output = command.output()?;
        succeeded(&command, &output)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let time = said.trim().parse().with_context(|| {
            format!("{program}: no time:\n{}", String::from_utf8_lossy(&output.stderr))
        })?;
        if time <= 0.0 {
            bail!("{program}: {time} nanoseconds");
        }
        Ok(time)
    }

    fn program(&self, tools: &[PathBuf], words: &[&str]) -> Command {
        let tools: Vec<_> = tools.iter().map(|tool| tool.display().to_string()).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("LD_PRELOAD", tools.join(" ")).env("MPI_TOOL_OUTPUT", "none");
        command
    }
}
