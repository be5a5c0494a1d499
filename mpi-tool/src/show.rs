//! `mpi-tool inspect`: what was found, for people and for programs.

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::cli::Inspect;
use crate::inspect::{Inspection, Interception, Kind, is_of_thread_sanitizer};
use crate::out::outln;
use crate::words::base;

impl Inspect {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let inspection = Inspection::of(&self.program, &env::current_dir()?);
        if self.json {
            outln!("{:#}", serde_json::to_value(&inspection)?);
        } else if inspection.kind == Kind::Missing {
            bail!("{}: {}", inspection.program, inspection.reason);
        } else {
            show(&inspection);
        }
        Ok(ExitCode::from(match (inspection.kind, inspection.interception) {
            (Kind::Missing, _) => 2,
            (_, Interception::Yes) => 0,
            (_, Interception::No) => 1,
            (_, Interception::Unknown) => 3,
        }))
    }
}

fn show(inspection: &Inspection) {
    let line = |key: &str, value: &str| outln!("{:<14}{value}", format!("{key}:"));
    let path = inspection.path.as_ref().map(|path| path.display().to_string());
    line("program", &path.unwrap_or_else(|| inspection.program.clone()));
    line("kind", kind(inspection.kind));
    match &inspection.mpi {
        Some(mpi) => {
            line("MPI", &format!("{}, {} ABI", mpi.title(), mpi.abi.name()));
            let path = mpi.path.as_ref().map(|path| path.display().to_string());
            line("library", &path.unwrap_or_else(|| format!("{} (not found)", mpi.soname)));
        }
        None if inspection.loads_mpi_late => line("MPI", "perhaps loaded by dlopen"),
        None => line("MPI", "none found"),
    }
    if !inspection.bindings.is_empty() {
        let names: Vec<_> = inspection.bindings.iter().map(|binding| binding.name()).collect();
        line("bindings", &names.join(", "));
    }
    for other in &inspection.other_mpis {
        line(
            "another MPI",
            &format!("{}, {} ABI ({})", other.title(), other.abi.name(), other.soname),
        );
    }
    for sanitizer in &inspection.sanitizers {
        let is_of_threads = is_of_thread_sanitizer(base(&sanitizer.display().to_string()));
        let what = match is_of_threads {
            true => "which tells mpi-check of loads and stores",
            false => "which is preloaded before tools",
        };
        line("sanitizer", &format!("{}, {what}", sanitizer.display()));
    }
    if inspection.setuid {
        line("setuid", "yes");
    }
    if !inspection.missing_libraries.is_empty() {
        line("not found", &inspection.missing_libraries.join(", "));
    }
    let answer = match inspection.interception {
        Interception::Yes => "yes",
        Interception::No => "no",
        Interception::Unknown => "it depends",
    };
    line("interception", &format!("{answer}: {}", inspection.reason));
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Dynamic => "dynamically linked",
        Kind::Static => "statically linked",
        Kind::Bits32 => "for 32-bit processors",
        Kind::OtherProcessor => "for another processor",
        Kind::Python => "Python",
        Kind::Script => "a script",
        Kind::NoProgram => "not a program",
        Kind::Missing => "missing",
    }
}
