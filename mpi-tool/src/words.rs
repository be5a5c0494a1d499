//! Words of a command line: which of them is a program.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::containers::Container;
use crate::launcher;

/// Programs that start the program which their arguments name.
const WRAPPERS: [&str; 24] = [
    "catchsegv",
    "chrt",
    "env",
    "gdb",
    "hwloc-bind",
    "ionice",
    "ltrace",
    "nice",
    "nohup",
    "numactl",
    "perf",
    "prlimit",
    "setarch",
    "setsid",
    "stdbuf",
    "strace",
    "taskset",
    "time",
    "timeout",
    "unshare",
    "unbuffer",
    "valgrind",
    "xterm",
    "xvfb-run",
];

const LAUNCHERS: [&str; 10] =
    ["aprun", "ibrun", "jsrun", "mpiexec", "mpirun", "orterun", "prterun", "prun", "srun", "yhrun"];

/// Is a word the name of a program that starts others on ranks?
pub(crate) fn is_launcher(word: &str) -> bool {
    // mpiexec.hydra, mpirun.openmpi, mpiexec-mpich-mp
    let name = base(word);
    LAUNCHERS.iter().any(|launcher| {
        name.strip_prefix(launcher)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    })
}

/// The name of a program without its folder.
pub(crate) fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The file that a word means as a program, as `execvp` and launchers find it: in `PATH`, where it
/// has no slash, else from the working folder.
pub(crate) fn program(word: &str, folder: &Path) -> Option<PathBuf> {
    if word.contains('/') {
        let word = word.strip_prefix("./").unwrap_or(word);
        return Some(folder.join(word)).filter(|path| path.is_file());
    }
    in_path(word).or_else(|| Some(folder.join(word)).filter(|path| is_executable(path)))
}

/// A program in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Might a word be the program to start?
pub(crate) fn is_program(word: &str, folder: &Path) -> bool {
    !word.starts_with('-')
        && !word.is_empty()
        && program(word, folder).is_some_and(|path| is_executable(&path))
}

/// Programs that put a command, or a file of commands, into a queue.
const QUEUES: [&str; 4] = ["bsub", "msub", "qsub", "sbatch"];

/// Does a program start nothing by itself, as a batch system does so later?
pub(crate) fn is_queue(word: &str) -> bool {
    QUEUES.contains(&base(word))
}

/// Where the program stands that a wrapper starts (`timeout 60 ./app`, `env A=b ./app`): the first
/// word behind it that is a program. `None` if the first word is no wrapper.
pub(crate) fn behind_wrapper(words: &[String], folder: &Path) -> Option<usize> {
    let name = base(words.first()?);
    if name == "salloc" {
        return launcher::behind_allocation(words, folder);
    }
    if let Some(container) = Container::read(words, folder) {
        return container.program;
    }
    if !WRAPPERS.contains(&name) {
        return None;
    }
    if name == "env" {
        return behind_options_of_env(words);
    }
    // perf record, perf stat
    let first = if name == "perf" { 2 } else { 1 };
    (first..words.len()).find(|&at| {
        let word = &words[at];
        let is_started = is_launcher(word) || Container::is_runtime(word);
        !word.contains('=') && (is_started || is_program(word, folder))
    })
}

/// Where the program stands behind `env`: behind its options and variables, whether it is on this machine or not.
fn behind_options_of_env(words: &[String]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        match word.as_str() {
            "--" => break,
            "-u" | "-C" | "--unset" | "--chdir" => at += 1,
            // Its value is a command line.
            _ if word.starts_with("-S") || word.starts_with("--split-string") => return None,
            _ => {}
        }
    }
    (at..words.len()).find(|&at| !words[at].contains('='))
}

/// The application itself, behind all wrappers: the place of its first word.
pub(crate) fn behind_wrappers(words: &[String], folder: &Path) -> usize {
    let mut at = 0;
    while let Some(further) = behind_wrapper(&words[at..], folder) {
        at += further;
    }
    at
}

/// The innermost container that wrappers start, with the place of the program that runs in it.
pub(crate) fn container<'a>(words: &'a [String], folder: &Path) -> Option<(usize, Container<'a>)> {
    let mut at = 0;
    let mut innermost = None;
    while let Some(further) = behind_wrapper(&words[at..], folder) {
        let container = Container::read(&words[at..], folder);
        at += further;
        innermost = container.map(|container| (at, container)).or(innermost);
    }
    innermost
}

/// The place of the first word behind leading `env`s, which might take the tools away.
pub(crate) fn behind_env(words: &[String], folder: &Path) -> usize {
    let mut at = 0;
    while base(&words[at]) == "env" {
        match behind_wrapper(&words[at..], folder) {
            Some(further) => at += further,
            None => break,
        }
    }
    at
}

/// What words preload by themselves: `env LD_PRELOAD=x`, `-x LD_PRELOAD=x`, `-genv LD_PRELOAD x`,
/// `--export=ALL,LD_PRELOAD=x`.
pub(crate) fn preloads(words: &[String]) -> Vec<String> {
    const NAME: &str = "LD_PRELOAD";
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_env = |option: &String| ["env", "genv"].contains(&option.trim_start_matches('-'));
        if word == NAME && at > 0 && is_env(&words[at - 1]) {
            found.extend(words.get(at + 1).cloned());
        }
        let parts = word.split(',').map(|part| part.strip_prefix("--export=").unwrap_or(part));
        let values = parts.filter_map(|part| part.strip_prefix(NAME)?.strip_prefix('='));
        found.extend(values.map(Into::into));
    }
    found.retain(|value| !value.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::preloads;

    #[test]
    fn what_is_preloaded_already() {
        for line in [
            "env A=b LD_PRELOAD=x.so",
            "mpiexec -n 2 -x LD_PRELOAD=x.so",
            "mpiexec -genv LD_PRELOAD x.so -n 2",
            "srun --export=ALL,LD_PRELOAD=x.so",
            "srun --export LD_PRELOAD=x.so,PATH",
        ] {
            let words: Vec<String> = line.split(' ').map(Into::into).collect();
            assert_eq!(preloads(&words), ["x.so"], "{line}");
        }
        let words = ["mpirun", "-x", "LD_PRELOAD", "-n", "2", "LD_PRELOADED=1"].map(Into::into);
        assert_eq!(preloads(&words), [""; 0]);
    }
}
