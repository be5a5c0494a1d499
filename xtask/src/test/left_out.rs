//! What a run leaves out on an MPI, and why.

use super::{Test, USUAL, is_first};
use crate::environment::{self, Mpi};

impl Test {
    /// What is left out on an MPI, in words.
    pub(super) fn left_out_on(&self, mpi: &Mpi) -> Vec<String> {
        let mut reasons = Vec::new();
        let name = &mpi.name;
        if let Some(reason) = self.no_benchmarks(mpi) {
            reasons.push(format!("{name}: Intel MPI Benchmarks, {reason}"));
        }
        if let Some(reason) = self.no_mpi4py(mpi) {
            reasons.push(format!("{name}: mpi4py and its suite, {reason}"));
        } else if !self.long && !self.is_quick() {
            reasons.push(format!(
                "{name}: mpi4py's suite on four ranks, what takes long of it, each tool alone \
                 (--long; mpi-tool-layer/tests/mpi4py.rs has a list)"
            ));
        }
        if self.packages(mpi).is_some() {
            reasons.push(format!(
                "{name}: the command-line program, the benchmarks, actors and global arrays, examples in \
                 documentation, and what must not compile (--long)"
            ));
        }
        if self.saves_time_on(mpi) {
            reasons.push(format!(
                "{name}: {} of {} wrong programs for mpi-check, three quarters of the minute of random \
                 datatypes, {}, and {} (--all, --long)",
                self.check_every(mpi) - 1,
                self.check_every(mpi),
                MANY_RANKS.1,
                STANDING.1
            ));
        }
        if self.more && self.no_mpi4py(mpi).is_none() {
            reasons.push(format!("{name}: mpi4py's suite on one rank (--all)"));
        }
        if self.is_quick() {
            reasons.push(format!(
                "{name}: what takes longest: {}; five of six wrong programs for mpi-check; the packages {}; \
                 and what runs under Debian's MPI, and with AddressSanitizer (--all)",
                self.slow(mpi).map(|(_, what)| what).collect::<Vec<_>>().join(", "),
                SLOW_PACKAGES.join(", ")
            ));
        }
        for (_, test, reason) in self.tests_left_out(mpi) {
            reasons.push(format!("{name}: {test}, {reason}"));
        }
        reasons
    }

    /// Why mpi4py, and its own tests, do not run with tools.
    pub(super) fn no_mpi4py(&self, mpi: &Mpi) -> Option<&'static str> {
        match mpi.name.as_str() {
            "mpich-5.0.2-abi" => Some("whose wheel is for the ABIs of MPICH and of Open MPI"),
            "mpich-debian" => {
                Some("which spawns processes, what this MPI fails to do, and knows it by no name")
            }
            // Four of the sixty minutes.
            name if self.more && name.starts_with("openmpi") => {
                Some("which --more runs on MPICH only (--all)")
            }
            _ => None,
        }
    }

    /// What is left out on an MPI, since it takes long: parts of tests' names, and what they are.
    pub(super) fn slow(&self, mpi: &Mpi) -> impl Iterator<Item = (&'static str, &'static str)> {
        let quick = self.is_quick();
        let compiler = quick || self.packages(mpi).is_some();
        let chosen = |yes, tests: &'static [_]| if yes { tests } else { &[] };
        let stands = !quick && self.saves_time_on(mpi);
        let of_choice = chosen(quick, &SLOW).iter().chain(chosen(stands, &[MANY_RANKS, STANDING]));
        chosen(compiler, &COMPILER_TESTS).iter().chain(of_choice).copied()
    }

    /// The packages that are tested on an MPI, where it is not all: what differs from one ABI and one
    /// version to another.
    pub(super) fn packages(&self, mpi: &Mpi) -> Option<[&'static str; 4]> {
        (!is_first(mpi) && !self.long).then_some([
            "rmpi-sys",
            "rmpi",
            "mpi-tool-layer",
            "qmpi-shim",
        ])
    }

    /// Is there a sample only of what runs on other MPIs as a whole, so that `--more` takes less than an hour?
    pub(super) fn saves_time_on(&self, mpi: &Mpi) -> bool {
        self.more && !self.long && mpi.name != USUAL[0]
    }

    /// Of how many wrong programs for mpi-check is one run?
    pub(super) fn check_every(&self, mpi: &Mpi) -> usize {
        match is_first(mpi) {
            true if self.is_quick() || self.saves_time_on(mpi) => 6,
            false if self.saves_time_on(mpi) => 12,
            _ => 1,
        }
    }

    /// Tests that do not run on an MPI: the suite that has each, its name, and why.
    pub(super) fn tests_left_out(
        &self,
        mpi: &Mpi,
    ) -> Vec<(&'static str, &'static str, &'static str)> {
        let mut tests = tests_left_out(mpi);
        if tests.is_empty() && self.more && !self.long {
            tests.push(("examples", VALGRIND_TEST, "which takes minutes (--mpi mpich-debian)"));
        }
        tests
    }

    /// Why the Intel MPI Benchmarks do not run.
    pub(super) fn no_benchmarks(&self, mpi: &Mpi) -> Option<&'static str> {
        match mpi.abi() {
            "mpich" if is_first(mpi) || self.long => None,
            "mpich" => Some("which take a minute (--long)"),
            _ => Some("binaries of MPICH's ABI"),
        }
    }
}

/// What asks the compiler more than the MPI: parts of tests' names (documentation's examples are named by files), and
/// what they are.
pub(super) const COMPILER_TESTS: [(&str, &str); 2] =
    [("src/", "examples in documentation"), ("promises", "what must not compile")];

/// Tests that want a browser, which a machine may be without.
pub(super) const BROWSER_TESTS: &str = "pages::";

pub(super) const FORTRAN_TESTS: &str = "gfortran_";

/// No MPI takes part.
pub(super) const MANY_RANKS: (&str, &str) = ("many_ranks_are_judged", "hangs of 65,536 ranks");

pub(super) const STANDING: (&str, &str) = ("standing::", "programs that stand still for a while");

/// What takes longest, and asks of a second MPI little that the first one was not asked: these come last, since there may be no
/// time for them. No test program but [`LATE_PROGRAMS`] has tests of these names.
pub(super) const LATE_TESTS: [&str; 17] = [
    "_two_hosts",
    "a_killed_program_leaves",
    "book::every_command",
    "calls_that_come_again",
    "doctor::",
    "faults::",
    "guard::",
    "index_gather",
    "innocent::",
    "kernels_in_c_are_right",
    "launchers::",
    "permute_matrix",
    "projects::",
    "random_permutation",
    "stuck::",
    "triangle_counting",
    "triangular_solve",
];

/// The test programs that have them.
pub(super) const LATE_PROGRAMS: [&str; 4] = ["tool", "kernels", "actors", "pgas"];

/// What a quick run leaves out beside these.
pub(super) const SLOW: [(&str, &str); 13] = [
    ("another_abi", "tools of another ABI"),
    ("every_command_of_the_pages", "the command lines of the pages"),
    ("guard::", "runs that are watched for hangs"),
    ("innocent::", "ranks that look as if they hung"),
    MANY_RANKS,
    ("faults::", "most faults that make ranks hang"),
    ("doctor::", "mpi-tool doctor"),
    ("hosts::", "several hosts"),
    (MPI4PY_TESTS, "mpi4py and its suite"),
    (IMB_TEST, "the Intel MPI Benchmarks"),
    ("projects::", "projects that cargo builds"),
    STANDING,
    ("random_types_for_a_minute", "a minute of random datatypes"),
];

/// Packages that a quick run leaves out.
pub(super) const SLOW_PACKAGES: [&str; 4] = ["bench-harness", "rmpi-actors", "rmpi-pgas", "xtask"];

/// Of `mpi-tool`.
pub(super) const HOSTS_TESTS: [&str; 4] = ["--skip", "hosts::", "--skip", "mounts::"];

/// Tests that look at processes with a debugger.
pub(super) const DEBUGGER_TESTS: &str = "faults::gdb_";

/// Tests that look at system calls.
pub(super) const TRACER_TESTS: &str = "loops::strace_";

pub(super) const PROGRAMS_TESTS: &str = "debian_";

/// Of these, what does not run under MPICH.
pub(super) const OPENMPI_TESTS: &str = "_of_openmpi";

pub(super) const IMB_TEST: &str = "intel_mpi_benchmarks";

pub(super) const VALGRIND_TEST: &str = "valgrind_finds_nothing";

/// Of mpi4py's suite, those on two ranks have what these have.
pub(super) const ONE_RANK_TESTS: &str = "mpi4py_suite_on_one_rank";

pub(super) const LONG_TESTS: &str = "mpi4py_suite_on_four_ranks";

pub(super) const MPI4PY_TESTS: &str = "mpi4py_";

/// Tests that do not run on an MPI: the suite that has each, its name, and why.
pub(crate) fn tests_left_out(mpi: &Mpi) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut tests = Vec::new();
    if mpi.name != "mpich-debian" {
        tests.push(("examples", VALGRIND_TEST, "valgrind finds something in this MPI itself"));
    } else if environment::find_program("valgrind").is_none() {
        tests.push(("examples", VALGRIND_TEST, "valgrind is not installed"));
    }
    tests
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::LATE_TESTS;
    use crate::environment::root;
    use crate::step::output;

    /// Otherwise tests of the same names were left out, and would not come later.
    #[test]
    fn late_tests_of_a_module_are_those_of_one_program() {
        let mut git = std::process::Command::new("git");
        let files = output(git.current_dir(root()).args(["ls-files", "*.rs"])).unwrap();
        let its = Path::new("mpi-tool/tests/tool");
        for module in LATE_TESTS.iter().filter_map(|test| test.strip_suffix("::")) {
            let file = format!("{module}.rs");
            let all = files.lines().map(Path::new).filter(|path| path.ends_with(&file));
            let (own, others): (Vec<_>, Vec<_>) = all.partition(|path| path.starts_with(its));
            assert_eq!(own.len(), 1, "{module}");
            for path in others {
                let source = fs::read_to_string(root().join(path)).unwrap();
                assert!(!source.contains("#[test]"), "{}: {module}", path.display());
            }
        }
    }
}
