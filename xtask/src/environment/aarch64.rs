//! What builds for aarch64 on a machine of another processor, and runs there: Debian's Rust with the standard libraries of both
//! processors, a C compiler, an emulator, and MPIs. All of it is below `target/aarch64`, without root.
//!
//! Rust is Debian's (`rustc-web`, which its browsers are compiled with), because it has the standard library of each
//! processor as a package. Of the C compiler and the emulator, what is installed is taken.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::debian::{apt, missing, unpack, unpack_all};
use super::{Mpi, find_program, pinned, pip, root};
use crate::step::{run, step};

/// As Rust calls the machine.
pub(crate) const TARGET: &str = "aarch64-unknown-linux-gnu";

const GCC: &str = "aarch64-linux-gnu-gcc";
const QEMU: &str = "qemu-aarch64-static";

/// The MPIs for it, by what people say and by the names of the same ones for this processor.
pub(crate) const MPIS: [(&str, &str); 2] =
    [("mpich", "mpich-5.0.2"), ("openmpi", "openmpi-5.0.11")];

/// Programs that build for aarch64 and run what was built.
pub(crate) struct Cross {
    /// Each of these has its libraries by itself, so that no variable must be set for it.
    pub(crate) rustc: PathBuf,
    pub(crate) cargo: PathBuf,
    pub(crate) gcc: PathBuf,
    /// Starts a program of aarch64, which finds its libraries in the folders of the variable [`LIBRARIES`].
    pub(crate) runner: PathBuf,
}

/// The variable by which a program gets its `LD_LIBRARY_PATH` from the runner: programs of this processor would take that for
/// themselves.
pub(crate) const LIBRARIES: &str = "AARCH64_LIBRARIES";

/// Where all of it is.
pub(crate) fn folder() -> PathBuf {
    root().join("target/aarch64")
}

/// Fetches what is not there yet.
///
/// # Errors
/// Why it cannot be had, for people.
pub(crate) fn cross() -> Result<Cross> {
    ensure!(
        cfg!(target_arch = "x86_64"),
        "what is fetched for aarch64 are programs of x86-64: on another machine, build for aarch64 there"
    );
    let rust = rust()?;
    let (gcc, system) = gcc()?;
    let qemu = qemu()?;
    let bin = folder().join("bin");
    fs::create_dir_all(&bin)?;
    let rust = rust.join("usr");
    let own_libraries = format!("{0}/lib/x86_64-linux-gnu:{0}/lib/llvm", rust.display());
    let with_libraries = |program: &str, options: &str| {
        format!(
            "export LD_LIBRARY_PATH='{own_libraries}'\"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"\n\
             exec '{}/bin/{program}'{options} \"$@\"\n",
            rust.display()
        )
    };
    let sysroot = format!(" --sysroot='{}'", rust.display());
    let compiler = match &system {
        None => format!("exec '{}' \"$@\"\n", gcc.display()),
        Some(system) => format!(
            "export LD_LIBRARY_PATH='{0}/usr/lib/x86_64-linux-gnu'\nexec '{1}' --sysroot='{0}' \"$@\"\n",
            system.display(),
            gcc.display()
        ),
    };
    let system = system.unwrap_or_else(|| "/".into()).join("usr/aarch64-linux-gnu");
    let runner = bin.join("run");
    starter(&runner, &[("EMULATOR", &qemu), ("SYSTEM", &system)])?;
    Ok(Cross {
        rustc: script(&bin.join("rustc"), &with_libraries("rustc", &sysroot))?,
        cargo: script(&bin.join("cargo"), &with_libraries("cargo", ""))?,
        gcc: script(&bin.join(GCC), &compiler)?,
        runner,
    })
}

impl Cross {
    /// The environment in which cargo builds for aarch64 and runs what it has built.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.display().to_string();
        vec![
            ("CARGO", path(&self.cargo)),
            ("RUSTC", path(&self.rustc)),
            ("CARGO_BUILD_TARGET", TARGET.into()),
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", path(&self.gcc)),
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", path(&self.runner)),
            ("CC_aarch64_unknown_linux_gnu", path(&self.gcc)),
        ]
    }
}

/// An MPI whose libraries are for aarch64. Its launcher is of this processor.
pub(crate) struct CrossMpi {
    /// The same one for this processor.
    native: Mpi,
    /// The folders of its libraries and of what they need.
    pub(crate) libraries: String,
    /// Compiles a program in C.
    pub(crate) mpicc: PathBuf,
    /// Starts ranks below the emulator. `LD_PRELOAD` and `LD_LIBRARY_PATH` are theirs.
    pub(crate) mpiexec: PathBuf,
}

impl CrossMpi {
    pub(crate) fn name(&self) -> &str {
        &self.native.name
    }

    pub(crate) fn abi(&self) -> &'static str {
        self.native.abi()
    }

    /// Where cargo puts what is built for its ABI.
    pub(crate) fn builds(&self) -> PathBuf {
        folder().join("build").join(self.name())
    }

    /// As [`Mpi::variables`] of the other processor.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = self.native.variables();
        variables.retain(|(name, _)| !["MPICC", "MPIEXEC", "LD_LIBRARY_PATH"].contains(name));
        variables.extend([
            ("MPICC", self.mpicc.display().to_string()),
            ("MPIEXEC", self.mpiexec.display().to_string()),
            ("LD_LIBRARY_PATH", self.libraries.clone()),
        ]);
        // The emulator has no system call by which a process reads another one's memory, which both MPIs would take for long
        // messages.
        if self.abi() == "openmpi" {
            variables.push(("OMPI_MCA_smsc", "^cma".into()));
            // What the server, which is of the other processor, would share with its clients as memory.
            variables.push(("PMIX_MCA_gds", "hash".into()));
        } else {
            variables.push(("MPIR_CVAR_CH4_CMA_ENABLE", "0".into()));
        }
        variables
    }
}

impl Cross {
    /// The MPI of one of the names in [`MPIS`].
    pub(crate) fn mpi(&self, name: &str) -> Result<CrossMpi> {
        let found = MPIS.iter().find(|(short, whole)| [short, whole].contains(&&name));
        let Some((_, name)) = found else {
            let all = MPIS.map(|mpi| mpi.0).join(", ");
            bail!("there is no MPI of the name {name} for aarch64: {all}")
        };
        let native = super::named(name)?;
        let prefix = wheel(&format!("{name}-aarch64"))?;
        let lib = prefix.join("lib");
        let mut libraries = lib.display().to_string();
        if native.abi() == "openmpi" {
            // Where libraries are differs from one version of Debian to another.
            let zlib = zlib()?;
            for folder in ["lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"] {
                libraries += &format!(":{}", zlib.join(folder).display());
            }
        }
        let bin = folder().join("bin");
        // What MPI's library itself needs is found when it runs.
        let compiler = format!(
            "exec '{}' -I '{}' \"$@\" -L '{}' -lmpi -Wl,--allow-shlib-undefined\n",
            self.gcc.display(),
            prefix.join("include").display(),
            lib.display()
        );
        let mpicc = script(&bin.join(format!("mpicc-{name}")), &compiler)?;
        let mpiexec = bin.join(format!("mpiexec-{name}"));
        let launcher = [
            ("LAUNCHER", native.mpiexec.as_path()),
            ("RUNNER", &self.runner),
            ("LIBRARIES", Path::new(&libraries)),
        ];
        starter(&mpiexec, &launcher)?;
        Ok(CrossMpi { native, libraries, mpicc, mpiexec })
    }
}

/// What Open MPI's wheel leaves to the machine.
fn zlib() -> Result<PathBuf> {
    let packages = ["zlib1g"];
    debian("zlib", &packages, |prefix| {
        foreign(prefix, |apt| run(apt().arg("download").args(packages)))
    })
}

/// The files of a wheel that is for another machine, which pip does not install: it fetches them.
fn wheel(name: &str) -> Result<PathBuf> {
    pinned(name, &folder().join(name), |prefix, requirements| {
        let wheels = prefix.join("wheel");
        run(pip()?
            .args(["download", "--no-deps", "--only-binary=:all:", "--require-hashes"])
            .args(["--platform=manylinux_2_28_aarch64", "--progress-bar=off", "--quiet"])
            .arg("--dest")
            .arg(&wheels)
            .arg("--requirement")
            .arg(requirements))?;
        for entry in fs::read_dir(&wheels)? {
            let mut unzip = Command::new("python3");
            unzip.args(["-m", "zipfile", "-e"]).arg(entry?.path()).arg(&wheels);
            run(&mut unzip)?;
        }
        for entry in fs::read_dir(&wheels)? {
            let data = entry?.path().join("data");
            if data.is_dir() {
                for part in fs::read_dir(data)? {
                    let part = part?;
                    fs::rename(part.path(), prefix.join(part.file_name()))?;
                }
            }
        }
        // Python's module forgets which files are programs.
        for program in fs::read_dir(prefix.join("bin"))? {
            fs::set_permissions(program?.path(), fs::Permissions::from_mode(0o755))?;
        }
        Ok(fs::remove_dir_all(wheels)?)
    })
}

/// Debian's Rust, with the standard libraries of both processors: where it is unpacked.
fn rust() -> Result<PathBuf> {
    debian("rust", &RUST, |prefix| {
        let mut standard = Vec::new();
        foreign(prefix, |apt| {
            standard = missing(&mut apt(), &["libstd-rust-web-dev"])?;
            standard.retain(|name| name.starts_with("libstd-rust-web"));
            run(apt().arg("download").args(&standard))
        })?;
        let debs = prefix.join("debs");
        fs::create_dir_all(debs.join("lists/partial"))?;
        run(apt(&debs).arg("update"))?;
        // Also where it is installed: one folder has all of it.
        let mut own = missing(&mut apt(&debs), &RUST)?;
        own.extend(standard);
        own.extend(RUST.map(str::to_owned));
        own.sort();
        own.dedup();
        run(apt(&debs).arg("download").args(&own))?;
        unpack_all(&debs, prefix)?;
        // Where its LLVM is depends on the version.
        let lib = prefix.join("usr/lib");
        let llvm = fs::read_dir(&lib)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.join("lib").is_dir() && path.to_string_lossy().contains("llvm-"));
        if let Some(llvm) = llvm {
            std::os::unix::fs::symlink(llvm.join("lib"), lib.join("llvm"))?;
        }
        let own = lib.join("rustlib").join(TARGET);
        ensure!(own.is_dir(), "Debian's packages of Rust have no {}", own.display());
        Ok(())
    })
}

/// Unpacks what `download` fetches by apt-get as if this machine were of the other processor, with nothing installed.
fn foreign(prefix: &Path, download: impl FnOnce(&dyn Fn() -> Command) -> Result<()>) -> Result<()> {
    let debs = prefix.join("debs");
    fs::create_dir_all(debs.join("lists/partial"))?;
    let apt = || {
        let mut apt = apt(&debs);
        apt.args(["-oAPT::Architecture=arm64", "-oAPT::Architectures=arm64"]);
        apt.arg("-oDir::State::status=/dev/null");
        apt
    };
    run(apt().arg("update"))?;
    download(&apt)?;
    unpack_all(&debs, prefix)?;
    // The lists are of the other processor.
    Ok(fs::remove_dir_all(debs)?)
}

const RUST: [&str; 3] = ["rustc-web", "cargo-web", "libstd-rust-web-dev"];

/// The C compiler, and where it is unpacked if it is not installed.
fn gcc() -> Result<(PathBuf, Option<PathBuf>)> {
    if let Some(gcc) = find_program(GCC) {
        ensure!(
            Path::new("/usr/aarch64-linux-gnu/include/stdio.h").is_file(),
            "{GCC} is installed without a C library (Debian: libc6-dev-arm64-cross)"
        );
        return Ok((gcc, None));
    }
    let packages = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"];
    let prefix = debian("gcc", &packages, |prefix| unpack(prefix, &packages))?;
    Ok((prefix.join("usr/bin").join(GCC), Some(prefix)))
}

/// The emulator.
fn qemu() -> Result<PathBuf> {
    if let Some(qemu) = find_program(QEMU) {
        return Ok(qemu);
    }
    let packages = ["qemu-user-static"];
    let prefix = debian("qemu", &packages, |prefix| {
        unpack(prefix, &packages)?;
        // Those of other processors take a third of a gigabyte.
        for emulator in fs::read_dir(prefix.join("usr/bin"))? {
            let emulator = emulator?;
            if emulator.file_name() != QEMU {
                fs::remove_file(emulator.path())?;
            }
        }
        Ok(())
    })?;
    Ok(prefix.join("usr/bin").join(QEMU))
}

/// Has packages of Debian unpacked into a folder, unless they are there.
fn debian(
    name: &str,
    packages: &[&str],
    unpack: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let prefix = folder().join(name);
    let stamp = prefix.join("complete");
    let wanted = packages.join(" ");
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(prefix);
    }
    if find_program("apt-get").is_none() || find_program("dpkg-deb").is_none() {
        bail!("no apt-get to fetch Debian's {wanted} with");
    }
    step(&format!("Unpacking Debian's {wanted} into {}", prefix.display()), || {
        if prefix.exists() {
            fs::remove_dir_all(&prefix)?;
        }
        fs::create_dir_all(&prefix)?;
        unpack(&prefix)?;
        let _ = fs::remove_dir_all(prefix.join("debs"));
        fs::write(&stamp, &wanted)?;
        Ok(())
    })?;
    Ok(prefix)
}

/// Writes a script, unless it is there: cargo builds all anew with a compiler that has another time.
fn script(file: &Path, text: &str) -> Result<PathBuf> {
    let text = format!("#!/bin/sh\n{text}");
    if !fs::read_to_string(file).is_ok_and(|there| there == text) {
        fs::write(file, text).with_context(|| file.display().to_string())?;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755))?;
    }
    Ok(file.to_owned())
}

/// Compiles what starts programs of aarch64 (`aarch64.c`), unless it is there.
fn starter(file: &Path, definitions: &[(&str, &Path)]) -> Result<()> {
    let source = root().join("xtask/src/environment/aarch64.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-static", "-o"]).arg(file).arg(&source);
    for (name, value) in definitions {
        compiler.arg(format!("-D{name}=\"{}\"", value.display()));
    }
    let wanted = format!("{compiler:?}\n{}", fs::read_to_string(&source)?);
    let stamp = file.with_extension("stamp");
    if !file.is_file() || !fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        run(&mut compiler)?;
        fs::write(&stamp, wanted)?;
    }
    Ok(())
}
