//! What people install who have no Rust: `mpi-tool`, all tools for all ABIs, and what belongs to them, as a wheel, as a
//! tarball and as a Debian package.

#[cfg(feature = "wheel")]
mod debian;
#[cfg(feature = "wheel")]
mod make;
#[cfg(feature = "wheel")]
mod pack;
#[cfg(feature = "wheel")]
mod stage;
#[cfg(feature = "wheel")]
mod tarball;

use anyhow::Result;
use clap::Args;

/// Make a wheel and a tarball, for machines without Rust, a compiler or an MPI
///
/// Makes target/wheel/mpi_tool-VERSION-….whl, which pip installs, and target/wheel/mpi-tool-VERSION-….tar.gz, which runs
/// wherever it is unpacked. Both have mpi-tool, the tools for all ABIs, libqmpi.so, man pages,
/// completions and the Python package mpi_tool. It runs with glibc 2.17 and later. Two builds of the same sources have
/// the same hash.
#[derive(Args)]
pub(crate) struct MakeWheel {
    /// Make a Debian package, too, with cargo-deb, which is compiled for it
    #[arg(long)]
    debian: bool,
    /// Who maintains the Debian package: `NAME <ADDRESS>`
    #[arg(long, default_value = "mpi-tool packagers <packagers@example.org>", requires = "debian")]
    maintainer: String,
}

impl MakeWheel {
    /// By an xtask that is compiled with what packs: `cargo xtask` has it compiled without, since that takes long and no
    /// other command needs it.
    #[cfg(not(feature = "wheel"))]
    pub(crate) fn run(&self) -> Result<()> {
        let _ = (self.debian, &self.maintainer);
        let mut again = crate::step::cargo();
        again.args(["run", "--quiet", "--package=xtask", "--features=wheel", "--"]);
        again.args(std::env::args_os().skip(1)).current_dir(crate::environment::root());
        crate::step::run(&mut again)
    }

    #[cfg(feature = "wheel")]
    pub(crate) fn run(&self) -> Result<()> {
        make::wheel(self)
    }
}
