//! Builds everything for an old glibc and for all ABIs, and has it packed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::MakeWheel;
use super::debian::Package;
use super::pack::{self, Wheel};
use super::stage::Stage;
use super::tarball::Tarball;
use crate::environment;
use crate::step::{cargo, output, run, step};
use crate::tools::{UNIVERSAL, shipped_packages};

/// The ABIs that tools are built for.
const ABIS: [&str; 3] = ["mpich", "openmpi", "standard"];

/// What the programs run on, for Rust, zig and pip. auditwheel checks it.
pub(super) const TARGET: &str = "x86_64-unknown-linux-gnu";
const GLIBC: &str = "2.17";
const PLATFORM: &str = "manylinux_2_17_x86_64";

/// `mpi-tool` is 27 % smaller with these, compressed, and is a program that people wait for only where it reads large files.
const SMALL_PROGRAM: [(&str, &str); 3] = [("OPT_LEVEL", "s"), ("LTO", "fat"), ("PANIC", "abort")];

/// More is not expected of three builds of each tool: something came in that does not belong there.
const LARGEST: u64 = 27_000_000;

pub(super) fn wheel(MakeWheel { debian, maintainer }: &MakeWheel) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let toolchain = Toolchain::get()?;
    let tree = step("Staging", || staged(&toolchain))?;
    let python = environment::root().join("python");
    let package = python.join("mpi_tool");
    let tarball = Tarball { version, python: &package };
    let wheel = Wheel { version, platform: PLATFORM, python };
    let file = folder().join(wheel.file_name());
    step("Packing", || wheel.write(&tree, &file))?;
    step("Checking the wheel", || check(&toolchain, &file))?;
    let other = folder().join(tarball.name() + ".tar.gz");
    step("Packing the tarball", || tarball.write(&tree, &other))?;
    println!("{}\n{}", file.display(), other.display());
    if *debian {
        let package = Package { version, python: &package, maintainer };
        println!("{}", package.write(&tree, &folder())?.display());
    }
    Ok(())
}

fn folder() -> PathBuf {
    environment::root().join("target/wheel")
}

/// Builds everything, and puts it where it is below a prefix.
fn staged(toolchain: &Toolchain) -> Result<Stage> {
    let mut stage = Stage::default();
    let tools = shipped_packages()?;
    for (index, abi) in ABIS.into_iter().enumerate() {
        // A universal build has no ABI: one is enough.
        let universal = (index == 0).then_some(UNIVERSAL);
        let packages: Vec<_> = tools.iter().map(String::as_str).chain(universal).collect();
        let built =
            step(&format!("Building the tools for the {abi} ABI, {} of 3", index + 1), || {
                toolchain.build(abi, abi, &packages, &[])
            })?;
        stage.tools(abi, &tools, &built)?;
        if universal.is_some() {
            stage.universal(&tools, &built)?;
        }
    }
    let built = step("Building mpi-tool", || {
        toolchain.build("program", "mpich", &["mpi-tool"], &SMALL_PROGRAM)
    })?;
    stage.program(&built.join("mpi-tool"))?;
    let example = environment::root().join("mpi-tool/src/example/example.c");
    stage.example(&example, &toolchain.compile(&example)?)?;
    stage.header(&environment::root().join("qmpi-shim/include/qmpi.h"))?;
    stage.reject(&private_paths())?;
    stage.reject_symbols()?;
    Ok(stage)
}

/// Paths of this machine, which nobody else is to see: they also make two builds differ.
fn private_paths() -> Vec<String> {
    let root = environment::root();
    [root, cargo_home()].iter().map(|path| path.display().to_string()).collect()
}

fn cargo_home() -> PathBuf {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    own.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo")
    })
}

/// What builds for an old glibc: zig's linker and C compiler, and what checks the wheel.
struct Toolchain {
    prefix: PathBuf,
    packages: PathBuf,
}

impl Toolchain {
    fn get() -> Result<Self> {
        let prefix = environment::wheel_tools()?;
        let packages = environment::site_packages(&prefix)?;
        Ok(Self { prefix, packages })
    }

    fn python(&self) -> Command {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", &self.packages);
        python
    }

    /// Builds packages for an ABI in a folder of a name, with some settings of Cargo's release profile, and returns the folder
    /// of what was built.
    fn build(
        &self,
        name: &str,
        abi: &str,
        packages: &[&str],
        profile: &[(&str, &str)],
    ) -> Result<PathBuf> {
        let target = folder().join("build").join(name);
        let mut build = Command::new(self.prefix.join("bin/cargo-zigbuild"));
        build.current_dir(environment::root());
        build.args(["zigbuild", "--locked", "--release", "--quiet"]);
        build.arg(format!("--target={TARGET}.{GLIBC}")).arg("--target-dir").arg(&target);
        build.args(packages.iter().map(|package| format!("--package={package}")));
        build.env("CARGO", cargo().get_program()).env("PYTHONPATH", &self.packages);
        // No MPI of this machine is asked for its version, which would be in the tools.
        build.env("MPI_ABI", abi).env("MPICC", "none").env("MPI_TOOL_PACKAGED", "1");
        build.env("CARGO_PROFILE_RELEASE_DEBUG", "0").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        build.env("CARGO_INCREMENTAL", "0");
        build.envs(
            profile.iter().map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)),
        );
        build.env("CARGO_ENCODED_RUSTFLAGS", flags().join("\x1f"));
        build.env("CFLAGS", format!("-g0 -ffile-prefix-map={}=.", cargo_home().display()));
        run(&mut build)
            .context("the wheel's programs are built with zig (xtask/environments/wheel.txt)")?;
        Ok(target.join(TARGET).join("release"))
    }

    /// Compiles the example, for machines without a compiler. It is stripped: zig's own parts would name its folder.
    fn compile(&self, source: &Path) -> Result<PathBuf> {
        let program = folder().join("build/example");
        let (source_folder, name) =
            (source.parent().context("a folder")?, source.file_name().context("a name")?);
        let mut compiler = self.python();
        compiler.args(["-m", "ziglang", "cc", "-target"]).arg(format!("x86_64-linux-gnu.{GLIBC}"));
        compiler.args([
            "-O1",
            "-g0",
            "-s",
            "-fno-omit-frame-pointer",
            "-mcpu=x86_64",
            "-Wall",
            "-Werror",
        ]);
        compiler.arg("-o").arg(&program).arg(name).arg("-ldl").current_dir(source_folder);
        step("Compiling the example", || run(&mut compiler))?;
        Ok(program)
    }
}

/// The compiler's flags that leave no path of this machine in what it makes, and no symbols: cargo overlooks its setting
/// for packages that have a profile of their own (`.cargo/config.toml`), and the last flag counts.
fn flags() -> [String; 4] {
    let map = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    [
        map(&cargo_home().join("registry/src"), ""),
        map(&environment::root(), "/mpi-tool"),
        "-Cstrip=symbols".to_owned(),
        // Without a second table of all exported names, which zig adds for systems older than glibc 2.5.
        "-Clink-arg=-Wl,--hash-style=gnu".to_owned(),
    ]
}

/// Asks auditwheel on what the wheel runs.
fn check(toolchain: &Toolchain, file: &Path) -> Result<()> {
    let size = file.metadata()?.len();
    if size > LARGEST {
        bail!("{}: {} bytes; at most {LARGEST} are wanted", file.display(), size);
    }
    let said = output(toolchain.python().args(["-m", "auditwheel", "show"]).arg(file))?;
    // Its lines are broken anywhere.
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = format!("is consistent with the following platform tag: \"{PLATFORM}\"");
    if !words.contains(&wanted) {
        bail!("auditwheel finds that the wheel does not run on all of {PLATFORM}:\n{said}");
    }
    let hash = pack::sha256(&fs::read(file)?);
    eprintln!("    {:.1} MB, {PLATFORM} (auditwheel), SHA-256 {hash}", size as f64 / 1e6);
    Ok(())
}
