//! Where the application stands in a launcher's command line.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::words::{base, behind_wrapper, is_launcher, is_program};

/// A command line that starts an application on ranks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The launcher's place; none if the application is started by itself.
    pub(crate) launcher: Option<usize>,
    pub(crate) applications: Vec<Application>,
    /// By which the launcher reads its applications from a file.
    pub(crate) file: Option<ListOfApplications>,
}

/// A file of applications.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListOfApplications {
    pub(crate) option: String,
    path: PathBuf,
    /// Where its applications start.
    folder: PathBuf,
}

/// One of its applications: several, where `:` separates them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Application {
    /// Its words, wrappers such as `numactl` included.
    pub(crate) words: Range<usize>,
    /// The folder that the launcher starts it in.
    pub(crate) folder: PathBuf,
    /// It is to have one rank, as far as the options say (`-n 1`).
    pub(crate) is_one: bool,
}

impl CommandLine {
    /// Reads a command line, which is to be started in a folder.
    pub(crate) fn read(words: &[String], folder: &Path) -> Self {
        let mut at = 0;
        while at < words.len() && !is_launcher(&words[at]) {
            match behind_wrapper(&words[at..], folder) {
                Some(further) => at += further,
                None => {
                    let words = 0..words.len();
                    let application = Application { words, folder: folder.into(), is_one: true };
                    return Self { launcher: None, applications: vec![application], file: None };
                }
            }
        }
        let mut line = Self { launcher: Some(at), applications: Vec::new(), file: None };
        let slurm = matches!(base(&words[at]), "srun" | "yhrun");
        line.sections(words, at + 1, folder, slurm);
        line
    }

    /// Reads what `:` separates.
    fn sections(&mut self, words: &[String], mut start: usize, folder: &Path, slurm: bool) {
        while start < words.len() {
            let end = words[start..].iter().position(|word| word == ":");
            let end = end.map_or(words.len(), |length| start + length);
            self.section(words, start..end, folder, slurm);
            start = end + 1;
        }
    }

    fn section(&mut self, words: &[String], section: Range<usize>, folder: &Path, slurm: bool) {
        let mut folder = folder.to_path_buf();
        let mut is_one = false;
        let mut file = None;
        let mut at = section.start;
        while at < section.end && words[at].starts_with('-') {
            if words[at] == "--" {
                at += 1;
                break;
            }
            let (name, joined) = match words[at].trim_start_matches('-').split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (words[at].trim_start_matches('-'), None),
            };
            let next = words.get(at + 1).filter(|_| at + 1 < section.end);
            if WORKING_FOLDER.contains(&name) || (slurm && matches!(name, "D" | "chdir")) {
                let value = joined.or(next.map(String::as_str));
                folder.push(value.unwrap_or("."));
            }
            if matches!(name, "n" | "np") {
                is_one = joined.or(next.map(String::as_str)) == Some("1");
            }
            if FILES.contains(&name) {
                let path = joined.or(next.map(String::as_str)).unwrap_or_default();
                file = Some((words[at].clone(), path));
            }
            at += 1 + values_of(&words[at..section.end], &folder, slurm);
        }
        if let Some((option, path)) = file {
            // Slurm's file stands where an application would.
            let is_application = option.contains("multi-prog");
            let path =
                words[at..section.end].first().filter(|_| is_application).map_or(path, |word| word);
            let path = folder.join(path);
            self.file = Some(ListOfApplications { option, path, folder: folder.clone() });
            if is_application {
                return;
            }
        }
        if at < section.end {
            self.applications.push(Application { words: at..section.end, folder, is_one });
        }
    }
}

/// How many words behind an option are its values.
fn values_of(words: &[String], folder: &Path, slurm: bool) -> usize {
    let option = words[0].trim_start_matches('-');
    let short = !words[0].starts_with("--");
    // Slurm's -n4 has its value in it, too.
    if option.contains('=') || (slurm && short && option.len() > 1) {
        return 0;
    }
    known(option, slurm, short).unwrap_or_else(|| {
        // One that is not known here has a value, unless a program or an option follows.
        let is_value = |next: &String| !next.starts_with('-') && !is_program(next, folder);
        usize::from(words.get(1).is_some_and(is_value))
    })
}

/// Where the command stands that `salloc` runs, if it names one.
pub(crate) fn behind_allocation(words: &[String], folder: &Path) -> Option<usize> {
    let mut at = 1;
    loop {
        match words.get(at)?.as_str() {
            "--" => {
                at += 1;
                break;
            }
            // The options of the next component of the job follow.
            ":" => at += 1,
            word if word.starts_with('-') => at += 1 + values_of(&words[at..], folder, true),
            _ => break,
        }
    }
    (at < words.len()).then_some(at)
}

impl ListOfApplications {
    /// The applications that it lists, each with the folder that it starts in; none if it cannot be read, or quotes something.
    pub(crate) fn read(&self) -> Vec<(Vec<String>, PathBuf)> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut found = Vec::new();
        for line in lines {
            if line.contains(['"', '\'', '\\', '$']) {
                return Vec::new();
            }
            let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
            if self.option.contains("multi-prog") {
                // The ranks come first.
                found.push((words[1..].to_vec(), self.folder.clone()));
                continue;
            }
            // As behind the launcher's name.
            let mut line = CommandLine { launcher: None, applications: Vec::new(), file: None };
            line.sections(&words, 0, &self.folder, false);
            let applications = line.applications.into_iter();
            found.extend(applications.map(|one| (words[one.words].to_vec(), one.folder)));
        }
        found.retain(|(words, _)| !words.is_empty());
        found
    }
}

const WORKING_FOLDER: [&str; 3] = ["wdir", "wd", "set-cwd-to"];

const FILES: [&str; 4] = ["configfile", "app", "appfile", "multi-prog"];

/// How many words an option takes, where that is known. It matters where a value might be taken for a
/// program (`-host sh`), or what follows an option without a value is a program that is not here.
fn known(name: &str, slurm: bool, short: bool) -> Option<usize> {
    if slurm {
        return known_by_slurm(name, short);
    }
    let values = match name {
        // Hydra's and Open MPI's.
        "env" | "genv" | "mca" | "gmca" | "omca" | "gomca" | "prtemca" | "gprtemca" | "pmixmca"
        | "gpmixmca" => 2,
        "n" | "np" | "c" | "N" | "ppn" | "perhost" | "host" | "hosts" | "H" | "f" | "hostfile"
        | "machinefile" | "default-hostfile" | "wdir" | "wd" | "set-cwd-to" | "path" | "x"
        | "prefix" | "launcher" | "launcher-exec" | "bootstrap" | "bootstrap-exec" | "rmk"
        | "iface" | "genvlist" | "envlist" | "configfile" | "app" | "appfile" | "npernode"
        | "npersocket" | "rankfile" | "rf" | "map-by" | "rank-by" | "bind-to" | "membind"
        | "am" | "tune" | "output" | "output-filename" | "outfile-pattern" | "errfile-pattern"
        | "prepend-pattern" | "timeout" | "stdin" | "personality" | "display" | "xterm"
        | "cpu-set" | "cpu-list" | "dvm" | "dvm-uri" | "report-pid" | "report-uri"
        | "report-bindings-to" | "runtime-options" | "nameserver" | "ompi-server"
        | "gpus-per-proc" | "usize" | "topolib" | "demux" | "profile" | "arch" | "soft"
        | "file" | "with-ft" | "preload-files" | "gtool" | "stream-buffering" => 1,
        "genvall"
        | "genvnone"
        | "envall"
        | "envnone"
        | "envuser"
        | "v"
        | "verbose"
        | "q"
        | "quiet"
        | "V"
        | "version"
        | "h"
        | "help"
        | "l"
        | "prepend-rank"
        | "info"
        | "nolocal"
        | "oversubscribe"
        | "nooversubscribe"
        | "allow-run-as-root"
        | "use-hwthread-cpus"
        | "tag-output"
        | "timestamp-output"
        | "display-map"
        | "display-allocation"
        | "display-devel-map"
        | "report-bindings"
        | "do-not-launch"
        | "do-not-resolve"
        | "bynode"
        | "byslot"
        | "pernode"
        | "debug-daemons"
        | "leave-session-attached"
        | "preload-binary"
        | "index-argv-by-rank"
        | "get-stack-traces"
        | "report-state-on-timeout"
        | "forward-signals"
        | "enable-recovery"
        | "disable-recovery"
        | "continuous"
        | "print-all-exitcodes"
        | "disable-auto-cleanup"
        | "disable-x"
        | "enable-x"
        | "noprefix"
        | "merge-stderr-to-stdout"
        | "merge-stderr-stdout"
        | "skip-launch-node"
        | "localonly"
        | "gdb"
        | "tv"
        | "tva"
        | "check-mpi"
        | "trace"
        | "no-ready-msg" => 0,
        _ => return None,
    };
    Some(values)
}

fn known_by_slurm(name: &str, short: bool) -> Option<usize> {
    if short {
        // All others take one, also where it is not joined.
        return Some(usize::from(!"EHIKOQXZhklsuvV".contains(name)));
    }
    let values = match name {
        "overlap" | "exact" | "exclusive" | "label" | "unbuffered" | "verbose" | "quiet"
        | "pty" | "hold" | "immediate" | "kill-on-bad-exit" | "no-kill" | "overcommit"
        | "oversubscribe" | "disable-status" | "preserve-env" | "contiguous" | "multi-prog"
        | "spread-job" | "use-min-nodes" | "whole" | "no-allocate" | "interactive"
        | "wait-all-nodes" | "compress" | "nice" | "propagate" | "quit-on-interrupt" | "reboot"
        | "resv-ports" | "send-libs" | "help" | "usage" | "version" => 0,
        "ntasks" | "nodes" | "cpus-per-task" | "partition" | "account" | "time" | "nodelist"
        | "exclude" | "job-name" | "output" | "error" | "input" | "mpi" | "export" | "cpu-bind"
        | "mem" | "mem-per-cpu" | "gres" | "gpus" | "constraint" | "qos" | "reservation"
        | "distribution" | "chdir" | "ntasks-per-node" | "ntasks-per-core" | "jobid" | "hint"
        | "mem-bind" | "cpu-freq" | "signal" | "wait" | "threads" | "epilog" | "prolog"
        | "task-prolog" | "task-epilog" | "het-group" | "gpus-per-task" | "gpu-bind"
        | "acctg-freq" | "bb" | "bbf" | "bcast" | "bcast-exclude" | "begin" | "comment"
        | "container" | "dependency" | "deadline" | "delay-boot" | "gres-flags" | "licenses"
        | "clusters" | "mail-type" | "mail-user" | "mcs-label" | "power" | "priority"
        | "profile" | "relative" | "core-spec" | "slurmd-debug" | "switches" | "thread-spec"
        | "time-min" | "wckey" | "cluster-constraint" | "mincpus" | "tmp" | "sockets-per-node"
        | "cores-per-socket" | "threads-per-core" | "ntasks-per-socket" | "cpus-per-gpu"
        | "gpu-freq" | "gpus-per-node" | "gpus-per-socket" | "mem-per-gpu" => 1,
        _ => return None,
    };
    Some(values)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::CommandLine;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(Into::into).collect()
    }

    /// The applications of a command line, as text.
    fn applications(line: &str) -> Vec<String> {
        let words = words(line);
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        fs::write(&app, "").unwrap();
        fs::set_permissions(&app, fs::Permissions::from_mode(0o755)).unwrap();
        let read = CommandLine::read(&words, folder.path());
        read.applications.iter().map(|part| words[part.words.clone()].join(" ")).collect()
    }

    #[test]
    fn an_application_stands_behind_the_options() {
        for launcher in [
            "mpiexec",
            "mpiexec -n 4",
            "mpirun -np 4",
            "/opt/mpi/bin/mpiexec.hydra -f hosts -ppn 2 -n 4",
            "mpiexec -genv A sh -env B=C sh -genvall -n 2",
            "mpiexec -genvlist A,B -bind-to core -l -n 2",
            "mpiexec -launcher ssh -iface lo -prepend-rank",
            "mpirun --host a,b -x PATH -x A=b --mca btl self,sm --bind-to none",
            "mpirun --oversubscribe --allow-run-as-root --map-by slot:PE=2 -n 2",
            "prterun --prtemca rmaps_default_mapping_policy :oversubscribe -N 2",
            "orterun --hostfile hosts --timeout 30",
            "srun -n4 -N 2 --ntasks-per-node=2 -c 1 -l --mpi pmi2 -J env",
            "srun --exclusive --time 10:00 --export ALL -u",
            // Values that are programs' names, too.
            "srun -b now --comment sh --wckey env -r 1 -X",
            // Not known here.
            "mpiexec --new-switch",
            "mpiexec --new-option 17",
            "mpiexec -n 4 --",
            "timeout 60 mpiexec -n 2",
            "env A=b nice -n 19 mpirun -n 2",
            "env -u sh -C /tmp A=b mpirun -n 2",
            "salloc -N1 -C sh : -N2 --time 10:00 srun",
            "salloc -N1 -- srun -n 2",
        ] {
            assert_eq!(
                applications(&format!("{launcher} ./app -n 3 x")),
                ["./app -n 3 x"],
                "{launcher}"
            );
            assert_eq!(
                applications(&format!("{launcher} env A=b ./app")),
                ["env A=b ./app"],
                "{launcher}"
            );
        }
    }

    /// Slurm 22.05's options without a value, in front of a program that is not there.
    #[test]
    fn a_program_that_is_not_here_stands_behind_switches() {
        for switch in
            ["--reboot", "--resv-ports", "--compress", "--nice", "--propagate", "-Z", "-I"]
        {
            assert_eq!(applications(&format!("srun {switch} ./gone x")), ["./gone x"], "{switch}");
        }
    }

    #[test]
    fn several_applications_are_separated_by_colons() {
        assert_eq!(
            applications("mpiexec -genv A b -n 1 ./first x : -n 2 -env C d ./second : ./third"),
            ["./first x", "./second", "./third"]
        );
    }

    #[test]
    fn a_command_without_a_launcher_is_the_application() {
        assert_eq!(applications("./app -n 2 mpiexec"), ["./app -n 2 mpiexec"]);
        assert_eq!(applications("mpiexecute -n 2 ./app"), ["mpiexecute -n 2 ./app"]);
        assert_eq!(applications("timeout 5 sh"), ["timeout 5 sh"]);
    }

    #[test]
    fn applications_in_files_are_not_seen() {
        for (line, option) in [
            ("mpiexec -configfile jobs", "-configfile"),
            ("mpirun --app jobs", "--app"),
            ("srun -n 2 --multi-prog jobs", "--multi-prog"),
        ] {
            let words = words(line);
            let read = CommandLine::read(&words, std::path::Path::new("."));
            assert_eq!(read.file.map(|file| file.option).as_deref(), Some(option), "{line}");
            assert!(read.applications.is_empty(), "{line}");
        }
    }

    #[test]
    fn one_rank_is_told_by_the_options() {
        for (line, is_one) in [
            ("mpiexec -n 1 ./a", true),
            ("mpirun --np 1 ./a", true),
            ("mpiexec -n=1 ./a", true),
            ("mpiexec -n 10 ./a", false),
            ("mpirun ./a -n 1", false),
            ("./a", true),
        ] {
            let read = CommandLine::read(&words(line), std::path::Path::new("."));
            assert_eq!(read.applications[0].is_one, is_one, "{line}");
        }
    }

    #[test]
    fn the_working_folder_is_the_launchers() {
        let line = words("mpiexec -wdir /tmp -n 1 ./a : -n 1 ./b");
        let read = CommandLine::read(&line, std::path::Path::new("/home"));
        let folders: Vec<_> = read.applications.iter().map(|part| part.folder.to_str()).collect();
        assert_eq!(folders, [Some("/tmp"), Some("/home")]);
    }
}
