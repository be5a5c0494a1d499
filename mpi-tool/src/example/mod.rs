//! The example program: what `mpi-tool demo` shows, and by which `mpi-tool doctor` tries an MPI.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::limited::{self, Outcome};
use crate::mpi::Mpi;
use crate::tools;
use crate::words::{in_path, is_executable};

const SOURCE: &str = include_str!("example.c");

/// Its file in a folder of tools. No other program there has this name.
const NAME: &str = "mpi-tool-example";

/// The example, which runs under every MPI.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) program: PathBuf,
    /// By what it was compiled; nothing if it came with `mpi-tool`.
    pub(crate) compiler: Option<PathBuf>,
    /// It is removed with this.
    _folder: Option<TempDir>,
}

/// How long a compiler may take.
const PATIENCE: Duration = Duration::from_secs(120);

impl Example {
    /// One that is compiled here, so that reports name its lines; where there is no compiler, the one that was
    /// installed with the tools.
    ///
    /// # Errors
    /// There is none, and no C compiler.
    pub(crate) fn get() -> Result<Self> {
        let named = env::var("CC").ok();
        let names = named.as_deref().into_iter().chain(["cc", "gcc", "clang", "mpicc"]);
        let compilers = names.filter(|name| !name.contains(' ')).filter_map(in_path);
        let mut reason = "there is no C compiler (cc, gcc or clang) in PATH".to_owned();
        for compiler in compilers {
            match Self::compile(&compiler) {
                Ok(example) => return Ok(example),
                Err(error) => reason = format!("{error:#}"),
            }
        }
        let installed = tools::folders().into_iter().map(|folder| folder.join(NAME));
        if let Some(program) = installed
            .filter_map(|path| fs::canonicalize(path).ok())
            .find(|path| is_executable(path))
        {
            return Ok(Self { program, compiler: None, _folder: None });
        }
        bail!(
            "there is no example program: none was installed with mpi-tool, and it cannot be compiled: {reason}"
        )
    }

    fn compile(compiler: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("example.c"), SOURCE)?;
        let mut command = Command::new(compiler);
        command.args([
            "-O1",
            "-g",
            "-fno-omit-frame-pointer",
            "-o",
            "example",
            "example.c",
            "-ldl",
            "-lm",
        ]);
        command.current_dir(folder.path()).stdin(std::process::Stdio::null());
        let outcome =
            limited::run(&mut command, PATIENCE).with_context(|| compiler.display().to_string())?;
        if !outcome.is_success() {
            let first = outcome.stderr.lines().next().unwrap_or("it does not end, or says nothing");
            bail!("{}: {first}", compiler.display());
        }
        let program = fs::canonicalize(folder.path())?.join("example");
        Ok(Self { program, compiler: Some(compiler.into()), _folder: Some(folder) })
    }

    /// Runs it under an MPI.
    ///
    /// # Errors
    /// The launcher cannot be started, or the MPI cannot be preloaded.
    pub(crate) fn run(&self, with: &Start<'_>, limit: Duration) -> Result<Outcome> {
        let mut command = Command::new(with.launcher);
        command.args(with.options).args(["-n", &with.ranks.to_string(), "/usr/bin/env"]);
        let mut preload: Vec<_> = with.tool.into_iter().collect();
        let library = with.mpi.path.as_deref().context("the MPI library has no path")?;
        // It looks for its own libraries from the folder of the name that it is loaded by.
        let library = fs::canonicalize(library)?;
        preload.push(&library);
        let links = tempfile::tempdir()?;
        let preload = preload.iter().enumerate();
        let preload = preload
            .map(|(number, path)| preloadable(path, &links.path().join(number.to_string())))
            .collect::<Result<Vec<_>>>()?;
        command.arg(format!("LD_PRELOAD={}", preload.join(":")));
        command.args(with.variables.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(&self.program).args([with.mpi.abi.name(), &with.steps.to_string()]);
        for (name, value) in needed() {
            if env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        // Of a job that we may be in, or of what is tested otherwise.
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("MPI_TOOL_") || name.starts_with("QMPI_") || name == "LD_PRELOAD" {
                command.env_remove(&*name);
            }
        }
        // An end of the input ends MPICH's launcher by SIGPIPE if its ranks are gone.
        let (input, _never_ends) = std::io::pipe()?;
        let outcome = limited::run(command.stdin(input), limit);
        outcome.with_context(|| with.launcher.display().to_string())
    }
}

/// A file's path as `LD_PRELOAD` can have it: a space or a colon would end it. The link is to the folder, from which a library
/// looks for others.
fn preloadable(file: &Path, link: &Path) -> Result<String> {
    let bad = |path: &Path| path.display().to_string().contains([' ', ':']);
    if !bad(file) {
        return Ok(file.display().to_string());
    }
    let (folder, name) = file.parent().zip(file.file_name()).context("a file is in a folder")?;
    symlink(folder, link).with_context(|| link.display().to_string())?;
    let other = link.join(name);
    if bad(&other) {
        bail!("{} has a space or a colon in its path, so it cannot be preloaded", file.display());
    }
    Ok(other.display().to_string())
}

/// How the example is started.
pub(crate) struct Start<'a> {
    pub(crate) launcher: &'a Path,
    /// Of the launcher.
    pub(crate) options: &'a [&'a str],
    pub(crate) mpi: &'a Mpi,
    pub(crate) ranks: u32,
    pub(crate) steps: u32,
    pub(crate) tool: Option<&'a Path>,
    /// Of the tool.
    pub(crate) variables: &'a [(&'a str, String)],
}

/// What Open MPI's launcher wants to be told before it starts several ranks on one core, or anything for root.
fn needed() -> Vec<(&'static str, &'static str)> {
    let mut variables = vec![
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ];
    if is_root() {
        variables
            .extend([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    }
    variables
}

pub(crate) fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() == 0)
}
