//! What tools see of programs in each language, under each MPI: a table, for the terminal and for
//! `docs/visibility.md`.
//!
//! One build of the tools for each ABI serves all its MPIs; of MPICH's there are two, to show that a build
//! for an old one serves a new one, too. Universal builds serve all.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use serde_json::Value;

use crate::environment::{self, Mpi};
use crate::step::{cargo, output, step};
use crate::suites;
use crate::tools::{Builds, build, build_universal, serving_builds, tools_folder};

#[derive(Args)]
pub(crate) struct Matrix {
    /// Only under MPIs whose name has this in it, without writing the page
    #[arg(long)]
    mpi: Option<String>,
    /// Take the tools as they were last built
    #[arg(long)]
    no_build: bool,
    /// Run suites of tests in place of the programs, and write docs/suites.md
    #[arg(long)]
    suites: bool,
}

const RANKS: u64 = 3;

/// What the programs of `tests/visibility` call, on each rank. Those of other people's libraries have calls
/// of these libraries, too.
const CALLS: [(&str, u64); 8] = [
    ("MPI_Allreduce", 1),
    ("MPI_Barrier", 1),
    ("MPI_Bcast", 1),
    ("MPI_Finalize", 1),
    ("MPI_Irecv", 5),
    ("MPI_Isend", 5),
    ("MPI_Sendrecv", 5),
    ("MPI_Wait", 10),
];

/// What else programs call on each rank that are compiled from C or Fortran: nothing but this.
const MORE_CALLS: [(&str, u64); 3] = [("MPI_Comm_rank", 1), ("MPI_Comm_size", 1), ("MPI_Init", 1)];

/// The bytes that the programs move, on all ranks: ten messages of 1000 integers to the next rank, 500
/// doubles from one rank to all others, a sum of ten integers.
const BYTES: [(&str, u64); 5] = [
    ("collective received", 500 * 8 * (RANKS - 1) + 10 * 4 * RANKS),
    ("collective reduced", 10 * 4 * RANKS),
    ("collective sent", 500 * 8),
    ("point-to-point received", 10 * 1000 * 4 * RANKS),
    ("point-to-point sent", 10 * 1000 * 4 * RANKS),
];

type Check = fn(Language, &Counts) -> Result<()>;

/// The tools, and what is asked of them.
const TOOLS: [(&str, Check); 2] =
    [("call-counter", check_calls), ("bandwidth-counter", |_, counts| check_bytes(counts))];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    C,
    Cxx,
    Mpif,
    Module,
    F08,
    Mpi4py,
    Rmpi,
    Rsmpi,
}

impl Language {
    const ALL: [(Language, &str); 8] = [
        (Self::C, "C"),
        (Self::Cxx, "C++"),
        (Self::Mpif, "mpif.h"),
        (Self::Module, "use mpi"),
        (Self::F08, "mpi_f08"),
        (Self::Mpi4py, "mpi4py"),
        (Self::Rmpi, "rmpi"),
        (Self::Rsmpi, "rsmpi"),
    ];

    /// Has the program no calls but its own?
    fn calls_only(self) -> bool {
        !matches!(self, Self::Mpi4py | Self::Rmpi | Self::Rsmpi)
    }
}

/// Built tools.
struct Build {
    /// Of the MPI that they were built for.
    name: String,
    /// Which they serve; `None` if any.
    abi: Option<&'static str>,
}

/// A program that can be run: the command, and the environment.
struct Program {
    command: Vec<PathBuf>,
    variables: Vec<(&'static str, String)>,
}

enum Cell {
    Exact,
    /// There is no such program; the last context of why is for the page.
    None(anyhow::Error),
    Wrong(anyhow::Error),
}

impl Matrix {
    pub(crate) fn run(self) -> Result<()> {
        let mut mpis = Vec::new();
        let mut absent = Vec::new();
        for (_, name, find) in environment::MPIS {
            if self.mpi.as_deref().is_some_and(|part| !name.contains(part)) {
                continue;
            }
            match find() {
                Ok(mpi) => mpis.push(mpi),
                Err(reason) => absent.push(format!("{name}: {reason:#}")),
            }
        }
        if self.suites {
            if !self.no_build {
                serving_builds(&mpis, true)?.iter().try_for_each(Builds::run)?;
            }
            return suites::run(&mpis, &absent, self.mpi.is_none());
        }
        let builds = self.builds(&mpis)?;
        let mut rows = Vec::new();
        for mpi in &mpis {
            let cells = step(&format!("Programs under {}", mpi.name), || {
                Ok(Language::ALL.map(|(language, name)| {
                    let cell = cell(mpi, language, &builds);
                    match &cell {
                        Cell::Exact => eprintln!("      {name}: exact"),
                        Cell::None(reason) => eprintln!("      {name}: {reason:#}"),
                        Cell::Wrong(reason) => eprintln!("      {name}: WRONG: {reason:#}"),
                    }
                    cell
                }))
            })?;
            rows.push((mpi, cells));
        }
        let page = page(&rows, &builds, &absent);
        println!("\n{page}");
        if self.mpi.is_none() {
            fs::write(environment::root().join("docs/visibility.md"), page)?;
        }
        let wrong = |cell: &&Cell| matches!(cell, Cell::Wrong(_));
        let wrong = rows.iter().flat_map(|(_, cells)| cells).filter(wrong).count();
        ensure!(wrong == 0, "{wrong} cells are wrong");
        Ok(())
    }

    /// Builds of the ABIs that are asked for.
    fn builds(&self, mpis: &[Mpi]) -> Result<Vec<Build>> {
        let mut builds = Vec::new();
        for (_, name, find) in environment::MPIS {
            let is_built = ["mpich-5.0.2", "mpich-3.4.3", "openmpi-5.0.11", "mpich-5.0.2-abi"];
            if is_built.contains(&name) {
                let mpi = find()?;
                if mpis.iter().any(|other| other.abi() == mpi.abi()) {
                    if !self.no_build {
                        build(&mpi, &TOOLS.map(|(tool, _)| tool.into()))?;
                    }
                    builds.push(Build { abi: Some(mpi.abi()), name: mpi.name });
                }
            }
        }
        if !self.no_build {
            build_universal()?;
        }
        builds.push(Build { name: "universal".into(), abi: None });
        Ok(builds)
    }
}

/// One program under one MPI, with each build of each tool that serves this MPI.
fn cell(mpi: &Mpi, language: Language, builds: &[Build]) -> Cell {
    let program = match make(mpi, language) {
        Ok(program) => program,
        Err(reason) => return Cell::None(reason),
    };
    let plain = match program.run(mpi, None).context("it does not run without tools, either") {
        Ok((printed, _)) => printed,
        Err(reason) => return Cell::None(reason),
    };
    for build in builds.iter().filter(|build| build.abi.is_none_or(|abi| abi == mpi.abi())) {
        for (name, check) in TOOLS {
            let tool = tools_folder(&build.name).join(format!("lib{}.so", name.replace('-', "_")));
            if !tool.exists() {
                return Cell::Wrong(anyhow!("{} is not built", tool.display()));
            }
            let result = program.run(mpi, Some(&tool)).and_then(|(printed, counts)| {
                ensure!(printed == plain, "it printed {printed:?} and not {plain:?}");
                check(language, &counts)
            });
            if let Err(reason) = result {
                let what = format!("the {name}, build {}", build.name);
                return Cell::Wrong(reason.context(what));
            }
        }
    }
    Cell::Exact
}

/// Totals by class and name, of all reports of a run.
type Counts = BTreeMap<(String, String, String), u64>;

impl Program {
    /// What it printed, and what the tool counted.
    fn run(&self, mpi: &Mpi, tool: Option<&Path>) -> Result<(String, Counts)> {
        let folder = environment::root().join("target/matrix/reports");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let mut command = Command::new("timeout");
        command.arg("120").arg(&mpi.mpiexec).args(["-n", &RANKS.to_string()]);
        command.args(&self.command).envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(tool) = tool {
            command
                .env("LD_PRELOAD", tool)
                .env("MPI_TOOL_FORMAT", "json")
                .env("MPI_TOOL_ALL_RANKS", "1")
                .env("MPI_TOOL_OUTPUT", folder.join("report"));
        }
        let output = command.stdin(Stdio::null()).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", output.status, errors.trim_end());
        let mut counts = Counts::new();
        for report in fs::read_dir(&folder)? {
            let path = report?.path();
            let report: Value = serde_json::from_slice(&fs::read(&path)?)
                .with_context(|| path.display().to_string())?;
            for counter in report["counters"].as_array().context("a report without counters")? {
                let text = |field: &str| counter[field].as_str().unwrap_or_default().to_owned();
                let total = counter["total"].as_u64().context("a counter without total")?;
                *counts.entry((text("class"), text("name"), text("unit"))).or_default() += total;
            }
        }
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), counts))
    }
}

fn check_calls(language: Language, counts: &Counts) -> Result<()> {
    let mut counted = BTreeMap::<&str, u64>::new();
    for ((_, name, _), total) in counts {
        // Large counts and small ones are the same functions, and so are the two ways to begin.
        let name = name.strip_suffix("_c").unwrap_or(name);
        let name = if name == "MPI_Init_thread" { "MPI_Init" } else { name };
        *counted.entry(name).or_default() += total;
    }
    let mut wanted: BTreeMap<_, _> =
        CALLS.into_iter().map(|(name, calls)| (name, calls * RANKS)).collect();
    if language.calls_only() {
        wanted.extend(MORE_CALLS.map(|(name, calls)| (name, calls * RANKS)));
    } else {
        counted.retain(|name, _| wanted.contains_key(name));
    }
    ensure!(counted == wanted, "it counted {counted:?} and not {wanted:?}");
    Ok(())
}

fn check_bytes(counts: &Counts) -> Result<()> {
    let mut counted = BTreeMap::<String, u64>::new();
    for ((class, name, unit), total) in counts {
        if unit == "bytes" {
            let what = name.split(' ').next().unwrap_or_default();
            *counted.entry(format!("{class} {what}")).or_default() += total;
        }
    }
    let wanted: BTreeMap<_, _> =
        BYTES.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    ensure!(counted == wanted, "it counted {counted:?} and not {wanted:?}");
    Ok(())
}

/// Compiles the program in a language for an MPI.
fn make(mpi: &Mpi, language: Language) -> Result<Program> {
    let sources = environment::root().join("system-tests/tests/visibility");
    let folder = environment::root().join("target/matrix").join(&mpi.name);
    fs::create_dir_all(&folder)?;
    let built = folder.join(format!("{language:?}").to_lowercase());
    let mut variables = mpi.variables();
    let cargo_for = |target: &str| {
        let mut cargo = cargo();
        cargo
            .args(["build", "--quiet", "--target-dir"])
            .arg(environment::root().join("target/matrix").join(target))
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .current_dir(environment::root());
        cargo
    };
    match language {
        Language::C => {
            build_by(compiler(mpi).arg("-o").arg(&built).arg(sources.join("ring.c")))?;
        }
        Language::Cxx => {
            let mut cxx = compiler(mpi);
            // Without the C++ bindings that MPI-3.0 removed and that old headers still bring.
            cxx.args(["-DMPICH_SKIP_MPICXX=1", "-DOMPI_SKIP_MPICXX=1", "-o"]).arg(&built);
            build_by(cxx.args(["-x", "c++"]).arg(sources.join("ring.c")).arg("-lstdc++"))?;
        }
        Language::Mpif | Language::Module | Language::F08 => {
            let fortran = environment::fortran_of(mpi)?;
            if language == Language::F08 && mpi.name.starts_with("impi") {
                bail!("Intel's module mpi_f08 is for Intel's compiler");
            }
            let word = |wanted: &str| {
                let found = fortran.iter().find(|(name, _)| *name == wanted);
                found.map_or("", |(_, value)| value).split_whitespace()
            };
            let mut compiler = word("FORTRAN");
            let mut command = Command::new(compiler.next().context("no Fortran compiler")?);
            let dialect = match language {
                Language::F08 => "-DF08",
                Language::Module => "-DMODULE",
                _ => "-DMPIF",
            };
            command
                .envs(fortran.iter().map(|(name, value)| (name, value)))
                .args(compiler)
                .args(["-cpp", "-w", "-fallow-argument-mismatch", dialect, "-I"])
                .arg(sources.with_file_name("fortran"))
                .arg("-o")
                .arg(&built)
                .arg(sources.join("ring.F90"))
                .args(word("FORTRAN_LIBRARIES"));
            build_by(&mut command)?;
            variables.extend(fortran);
        }
        Language::Mpi4py => {
            if mpi.abi() == "standard" {
                bail!("mpi4py's wheel has no build for MPI-5's ABI");
            }
            if mpi.name == "mpich-debian" {
                bail!("mpi4py's wheel loads libmpi.so.12, and Debian's library is libmpich.so.12");
            }
            variables.push(("PYTHONPATH", environment::mpi4py()?.display().to_string()));
            let command = vec!["python3".into(), sources.join("ring.py")];
            return Ok(Program { command, variables });
        }
        Language::Rmpi => {
            build_by(cargo_for("rmpi").args(["--package", "rmpi", "--example", "ring"]))?;
            fs::copy(environment::root().join("target/matrix/rmpi/debug/examples/ring"), &built)?;
        }
        Language::Rsmpi => {
            if mpi.abi() == "standard" {
                bail!("rsmpi does not build with mpicc_abi");
            }
            let packages = environment::site_packages(&environment::checks()?)?;
            // Its build script does not ask again when MPICC changes: a folder for each MPI.
            let target = format!("rsmpi-{}", mpi.name);
            let mut cargo = cargo_for(&target);
            cargo.env("LIBCLANG_PATH", packages.join("clang/native"));
            // The compiler's own headers, which this libclang comes without.
            let headers = output(Command::new("cc").arg("-print-file-name=include"))?;
            cargo.env("BINDGEN_EXTRA_CLANG_ARGS", format!("-isystem {}", headers.trim()));
            build_by(cargo.arg("--manifest-path").arg(sources.join("rsmpi/Cargo.toml")))?;
            let target = environment::root().join("target/matrix").join(target);
            fs::copy(target.join("debug/ring"), &built)?;
        }
    }
    Ok(Program { command: vec![built], variables })
}

fn compiler(mpi: &Mpi) -> Command {
    let mut compiler = Command::new(&mpi.mpicc);
    compiler.args(["-O1", "-w"]).envs(mpi.variables());
    compiler
}

fn build_by(command: &mut Command) -> Result<()> {
    output(command).map(drop).context("it does not build")
}

fn page(rows: &[(&Mpi, [Cell; 8])], builds: &[Build], absent: &[String]) -> String {
    let mut page = String::from(
        "# Who sees what\n\n\
         Made by `cargo xtask matrix`. It runs the program of `system-tests/tests/visibility` in each language, \
         under each MPI, on three ranks, without tools and with them. \"exact\" means that the call counter \
         counts each of the program's calls once, that the bandwidth counter counts each byte once, and that the \
         program prints the same as without tools. Programs in C, C++ and Fortran make no other calls. The other \
         calls of rmpi, mpi4py and rsmpi are not compared.\n\n",
    );
    page.push_str("| MPI |");
    for (_, name) in Language::ALL {
        let _ = write!(page, " {name} |");
    }
    page.push_str(&format!("\n|---|{}\n", "---|".repeat(Language::ALL.len())));
    let mut notes: Vec<String> = Vec::new();
    for (mpi, cells) in rows {
        let _ = write!(page, "| {} |", mpi.name);
        for cell in cells {
            let (word, note) = match cell {
                Cell::Exact => ("exact", None),
                Cell::None(reason) => ("–", Some(reason)),
                Cell::Wrong(reason) => ("WRONG", Some(reason)),
            };
            let note = note.map(|reason| {
                let reason = reason.to_string();
                let known = notes.iter().position(|known| *known == reason);
                known.unwrap_or_else(|| {
                    notes.push(reason);
                    notes.len() - 1
                }) + 1
            });
            let note = note.map(|number| format!(" ({number})")).unwrap_or_default();
            let _ = write!(page, " {word}{note} |");
        }
        page.push('\n');
    }
    page.push('\n');
    for (number, note) in notes.iter().enumerate() {
        let _ = writeln!(page, "{}. {note}", number + 1);
    }
    page.push_str(
        "\nEach build of the tools was tried under every MPI of its ABI, and the universal builds under all MPIs. \
         The builds: ",
    );
    let names: Vec<_> = builds.iter().map(|build| build.name.as_str()).collect();
    let _ = writeln!(page, "{}.", names.join(", "));
    for reason in absent {
        let _ = writeln!(page, "\nNot available: {reason}");
    }
    page
}
