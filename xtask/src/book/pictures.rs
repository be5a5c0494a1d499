//! The pictures of the book: what the tools and `mpi-tool` make of the programs that the chapters show.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::environment::{self, Mpi};
use crate::step::{output, run};
use crate::surroundings::own_home;
use crate::test::neutral_build;
use crate::tools::build_tools;

/// Their files.
pub(super) const NAMES: [&str; 4] = ["profile.html", "changes.html", "timeline.html", "hang.svg"];

/// Makes all pictures in a folder, in seconds once the tools are built.
pub(super) fn make(folder: &Path) -> Result<()> {
    let mpi = environment::mpich()?;
    let tools = build_tools(&mpi)?;
    neutral_build(&mpi)?;
    super::remove(folder)?;
    fs::create_dir_all(folder)?;
    // The programs have their names in the pictures, without the folder.
    let work = folder.with_file_name("book-programs");
    super::remove(&work)?;
    fs::create_dir_all(&work)?;
    let home = own_home()?;
    let machine = Machine { mpi, tools, work, home };
    machine.compile("docs/first-profile.md", "heat.c", "before", &[])?;
    machine.compile("docs/first-profile.md", "heat.c", "after", &["-DEQUAL"])?;
    machine.compile("docs/hangs.md", "stuck.c", "stuck", &[])?;
    for program in ["before", "after"] {
        let report = format!("{program}.json");
        let options = ["--tool", "mpi-profile", "--format", "json", "--output", &report];
        machine.run_four(&options, program, &[("MPI_TOOL_MPI_PROFILE_PEER", "1")])?;
    }
    let made = |name: &str| folder.join(name).display().to_string();
    machine.mpi_tool(&["report", "before.json", "-o", &made("profile.html")])?;
    machine.mpi_tool(&["report", "before.json", "after.json", "-o", &made("changes.html")])?;
    machine.run_four(&["--tool", "mpi-trace"], "before", &[("MPI_TOOL_RUN", "trace")])?;
    machine.mpi_tool(&["trace", "trace", "--html", "-o", &made("timeline.html")])?;
    machine.draw_hang(&made("hang.svg"))?;
    for name in NAMES {
        ensure!(folder.join(name).metadata()?.len() > 1000, "{name} is no picture");
    }
    fs::remove_dir_all(&machine.work)?;
    Ok(())
}

struct Machine {
    mpi: Mpi,
    tools: PathBuf,
    work: PathBuf,
    home: Vec<(&'static str, PathBuf)>,
}

impl Machine {
    /// Compiles a program that a chapter shows.
    fn compile(&self, page: &str, file: &str, program: &str, flags: &[&str]) -> Result<()> {
        let text = fs::read_to_string(environment::root().join(page)).context(page.to_owned())?;
        let start = format!("<!-- file {file} -->\n```c\n");
        let source = text
            .split_once(&start)
            .and_then(|(_, rest)| rest.split_once("```\n"))
            .with_context(|| format!("{page} has no {file}"))?
            .0;
        fs::write(self.work.join(file), source)?;
        let mut compiler = Command::new(&self.mpi.mpicc);
        compiler.args(["-O2", "-g", "-o", program, file]).args(flags).current_dir(&self.work);
        run(compiler.envs(self.mpi.variables()))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(environment::root().join("target/debug/mpi-tool"));
        command.args(arguments).current_dir(&self.work).envs(self.mpi.variables());
        command.envs(self.home.iter().cloned()).env("MPI_TOOL_PATH", &self.tools);
        command
    }

    fn mpi_tool(&self, arguments: &[&str]) -> Result<()> {
        output(&mut self.command(arguments)).map(drop)
    }

    /// `mpi-tool run OPTIONS -- mpiexec -n 4 ./PROGRAM`
    fn run_four(&self, options: &[&str], program: &str, settings: &[(&str, &str)]) -> Result<()> {
        let mut command = self.command(&["run"]);
        command.args(options).arg("--").arg(&self.mpi.mpiexec).args(["-n", "4"]);
        output(command.arg(format!("./{program}")).envs(settings.iter().copied())).map(drop)
    }

    /// Has `mpi-tool hang` draw a program that hangs, which is ended then.
    fn draw_hang(&self, file: &str) -> Result<()> {
        let folder = self.work.join("watch");
        let mut command =
            self.command(&["run", "--tool", "mpi-watch", "--hang-after", "2s", "--kill"]);
        command.arg("--").arg(&self.mpi.mpiexec).args(["-n", "4", "./stuck"]);
        let outcome = command.env("MPI_TOOL_RUN", &folder).output()?;
        ensure!(!outcome.status.success(), "the program that hangs has come to an end");
        // Its state files are there until they are removed.
        self.mpi_tool(&["hang", &folder.display().to_string(), "--svg", file])
    }
}
