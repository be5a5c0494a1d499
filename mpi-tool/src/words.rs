//! Words of a command line: which of them is a program.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Programs that start the program which their arguments name.
const WRAPPERS: [&str; 23] = [
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

/// Where the program stands that a wrapper starts (`timeout 60 ./app`, `env A=b ./app`): the first
/// word behind it that is a program. `None` if the first word is no wrapper.
pub(crate) fn behind_wrapper(words: &[String], folder: &Path) -> Option<usize> {
    let name = base(words.first()?);
    if !WRAPPERS.contains(&name) {
        return None;
    }
    // perf record, perf stat
    let first = if name == "perf" { 2 } else { 1 };
    (first..words.len()).find(|&at| {
        let word = &words[at];
        !word.contains('=') && (is_launcher(word) || is_program(word, folder))
    })
}

/// The application itself, behind all wrappers: the place of its first word.
pub(crate) fn behind_wrappers(words: &[String], folder: &Path) -> usize {
    let mut at = 0;
    while let Some(further) = behind_wrapper(&words[at..], folder) {
        at += further;
    }
    at
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
