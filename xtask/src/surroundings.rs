//! The environment that chores run in: what somebody has set for another purpose is left behind.
//!
//! A machine with MPIs on it has variables that lead programs to one of them, and a job has those of its
//! scheduler: a library path, a compiler, settings of a launcher, the ranks of a job that we are not. Each of
//! them can decide what a test sees. So xtask removes them before it does anything, once for everything that
//! it starts, and sets what it wants itself ([`crate::environment::Mpi::variables`]).

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::environment;
use crate::step::output;

/// Variables whose names begin so.
const FAMILIES: &[&str] = &[
    // MPIs, what they are made of, and what is started beside them.
    "MPI",
    "OMPI_",
    "OPAL_",
    "ORTE_",
    "PRTE_",
    "PMIX",
    "PMI",
    "I_MPI_",
    "HYDRA_",
    "HYDI_",
    "MV2_",
    "MVP_",
    "FI_",
    "UCX_",
    "UCC_",
    "HCOLL_",
    "PSM2_",
    "PSM3_",
    "CRAY_",
    "HWLOC_",
    "ROMIO_",
    "ADIO_",
    // Schedulers.
    "SLURM",
    "SBATCH_",
    "SRUN_",
    "SALLOC_",
    "PBS_",
    "PALS_",
    "ALPS_",
    "LSB_",
    "LSF_",
    "SGE_",
    "PE_",
    "FLUX_",
    "COBALT_",
    "JSM_",
    "OAR_",
    "CONDOR_",
    // Modules, and functions that a shell exports.
    "MODULE",
    "LMOD",
    "__LMOD",
    "__MODULES",
    "_ModuleTable",
    "BASH_FUNC_",
    // The dynamic linker and the C library.
    "LD_",
    "GLIBC_",
    "MALLOC_",
    // Threads.
    "OMP_",
    "GOMP_",
    "KMP_",
    "OPENBLAS_",
    "MKL_",
    "BLIS_",
    "GOTO_",
    // Tools of this project, and how its benchmarks and tests are told things.
    "QMPI",
    "TOOL",
    "BENCH_",
    "HOSTS_",
    "EXPECT_",
    // How programs speak, and where cargo puts what it builds.
    "LC_",
    "CLICOLOR",
    "CARGO_BUILD_",
    "CARGO_PROFILE_",
    "CARGO_TERM_",
    "RUST_TEST_",
    // Python and the checkers of memory.
    "PYTHON",
    "VALGRIND_",
    "ASAN_",
    "LSAN_",
    "UBSAN_",
    "TSAN_",
];

/// Variables of these names.
const NAMES: &[&str] = &[
    // Compilers.
    "CC",
    "CXX",
    "CPP",
    "FC",
    "F77",
    "F90",
    "CFLAGS",
    "CPPFLAGS",
    "CXXFLAGS",
    "FFLAGS",
    "FCFLAGS",
    "LDFLAGS",
    "LIBS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
    "FORTRAN",
    "FORTRAN_LIBRARIES",
    // Modules and schedulers.
    "LOADEDMODULES",
    "_LMFILES_",
    "JOB_ID",
    "NSLOTS",
    // What shells read, and how programs speak.
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "POSIXLY_CORRECT",
    "GREP_OPTIONS",
    "LANG",
    "LANGUAGE",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    // A display makes some MPIs look for graphics cards.
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    // As our tests are told things.
    "IMB",
    "OPENMP",
    "LONG",
    "PROGRAMS",
    "LOGIN",
    "AGENT",
    "CARGO_TARGET_DIR",
    "NOTHING",
    "DOCS_RS",
];

/// How programs speak: English, in an encoding that is everywhere.
const LANGUAGE: (&str, &str) = ("LC_ALL", "C.UTF-8");

fn is_foreign(name: &str) -> bool {
    NAMES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// What is left of an environment, with what we set.
fn chosen(all: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    let mut kept: BTreeMap<OsString, OsString> =
        all.filter(|(name, _)| !name.to_str().is_none_or(is_foreign)).collect();
    kept.insert(LANGUAGE.0.into(), LANGUAGE.1.into());
    // A job's folder may be gone, or be somebody else's.
    kept.retain(|name, value| name != "TMPDIR" || tempfile_in(Path::new(value)));
    kept
}

fn tempfile_in(folder: &Path) -> bool {
    let file = folder.join(format!("xtask-{}", std::process::id()));
    let is_writable = fs::write(&file, "").is_ok();
    let _ = fs::remove_file(file);
    is_writable
}

/// Starts xtask anew without the variables that are not for us, unless there are none.
pub(crate) fn leave_behind() -> Result<()> {
    let mut kept = chosen(env::vars_os());
    if let Some(path) = path_with_python(&kept) {
        kept.insert("PATH".into(), path);
    }
    if kept == env::vars_os().collect() {
        return Ok(());
    }
    let program = env::current_exe().context("xtask does not know its own file")?;
    let error = Command::new(program).args(env::args_os().skip(1)).env_clear().envs(kept).exec();
    Err(error).context("xtask cannot start itself again")
}

/// The search path with the folder of Python itself in front, where what is found is a script that asks the
/// home folder which Python is meant: tests have another home folder.
fn path_with_python(kept: &BTreeMap<OsString, OsString>) -> Option<OsString> {
    let path = kept.get(&OsString::from("PATH"))?;
    let found = environment::find_program("python3")?;
    let mut ask = Command::new(&found);
    ask.env_clear().envs(kept).args(["-c", "import sys; print(sys.executable)"]);
    let real = PathBuf::from(output(&mut ask).ok()?.trim());
    let folder =
        real.parent().filter(|folder| real.is_absolute() && folder.join("python3").is_file())?;
    if found.parent() == Some(folder) {
        return None;
    }
    env::join_paths([folder.to_owned()].into_iter().chain(env::split_paths(path))).ok()
}

/// What tests and measurements have besides: a home folder of ours, in which nothing is set and which can be
/// written to.
pub(crate) fn own_home() -> Result<Vec<(&'static str, PathBuf)>> {
    let home = environment::root().join("target/home");
    fs::create_dir_all(&home).with_context(|| home.display().to_string())?;
    // Cargo and rustup keep what they have in the user's.
    let user = env::home_dir().unwrap_or_default();
    let of_user = |name: &'static str, folder: &str| {
        (name, env::var_os(name).map_or_else(|| user.join(folder), PathBuf::from))
    };
    let own = [of_user("CARGO_HOME", ".cargo"), of_user("RUSTUP_HOME", ".rustup")];
    let mut variables = own.to_vec();
    variables.extend([("XDG_CONFIG_HOME", home.join(".config")), ("HOME", home)]);
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(variables: &[(&str, &str)]) -> Vec<String> {
        let all = variables.iter().map(|(name, value)| (name.into(), value.into()));
        chosen(all).keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_leads_to_an_mpi_is_left_behind() {
        for name in [
            "LD_LIBRARY_PATH",
            "LD_PRELOAD",
            "MPICC",
            "MPIEXEC",
            "MPI_HOME",
            "MPI_ROOT",
            "OMPI_CC",
            "OMPI_MCA_pml",
            "OMPI_COMM_WORLD_RANK",
            "OPAL_PREFIX",
            "PRTE_MCA_plm",
            "PMIX_RANK",
            "PMI_RANK",
            "PMI_FD",
            "I_MPI_ROOT",
            "I_MPI_FABRICS",
            "MPICH_CC",
            "MPIR_CVAR_CH4_NETMOD",
            "HYDRA_HOST_FILE",
            "SLURM_JOB_ID",
            "SLURM_PROCID",
            "PBS_NODEFILE",
            "MODULEPATH",
            "LOADEDMODULES",
            "LMOD_CMD",
            "BASH_FUNC_module%%",
            "MPI_TOOL_OUTPUT",
            "QMPI_STACK",
            "TOOLS",
            "CC",
            "CFLAGS",
            "PYTHONPATH",
            "CARGO_TARGET_DIR",
            "LANG",
            "FI_PROVIDER",
        ] {
            assert_eq!(left(&[(name, "x"), ("PATH", "/bin")]), ["LC_ALL", "PATH"], "{name}");
        }
    }

    #[test]
    fn what_programs_need_stays() {
        for name in [
            "HOME",
            "PATH",
            "USER",
            "TERM",
            "CARGO",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
            "RUSTFLAGS",
            "RUST_BACKTRACE",
            "https_proxy",
            "SSL_CERT_FILE",
            "PIP_INDEX_URL",
            "CI",
            "SHELL",
            "CCACHE_DIR",
        ] {
            assert_eq!(left(&[(name, "x"), ("ENVIRONMENT", "x")]).len(), 3, "{name}");
        }
    }

    #[test]
    fn a_folder_for_files_that_is_not_there_is_none() {
        assert_eq!(left(&[("TMPDIR", "/proc/nowhere")]), ["LC_ALL"]);
        assert_eq!(left(&[("TMPDIR", env::temp_dir().to_str().unwrap())]), ["LC_ALL", "TMPDIR"]);
    }
}
