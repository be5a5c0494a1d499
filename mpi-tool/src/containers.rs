//! Programs that start another one in a container: where that one stands in the command line, and which files it sees.

use std::env;
use std::path::{Path, PathBuf};

use crate::inspect::Inspection;
use crate::words::base;

/// A command line that starts a program in a container.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Container<'a> {
    /// What starts it, without its folder.
    pub(crate) by: &'a str,
    /// The place of the program that runs in it; none if the image says which one that is.
    pub(crate) program: Option<usize>,
    /// Its programs are an image's: a name without a folder means none of this machine.
    pub(crate) has_image: bool,
    /// Folders of this machine that it sees under the same name.
    shown: Vec<PathBuf>,
}

/// How the options of such a program are written.
struct Runtime {
    names: &'static [&'static str],
    /// Words behind which a container's options follow, and whether the command line names its program then. Without any, the
    /// options follow at once.
    subcommands: &'static [(&'static str, bool)],
    /// Options in front of such a word that take a value.
    common: &'static [&'static str],
    /// Options without a value; all others take one, unless it is joined by `=`.
    switches: &'static [&'static str],
    /// The image is a word of its own, behind the options.
    has_image_word: bool,
    /// Options that show a folder, as `FROM` or `FROM:TO`.
    binds: &'static [&'static str],
    /// The home folder, `/tmp` and the working folder are shown unless an option forbids it.
    shows_own: bool,
}

const RUNTIMES: [Runtime; 4] = [
    Runtime {
        names: &["apptainer", "singularity"],
        subcommands: &[("exec", true), ("run", false), ("shell", false), ("test", false)],
        common: &["-c", "--config"],
        switches: &[
            "-e",
            "-c",
            "-n",
            "--oom-kill-disable",
            "-C",
            "-i",
            "-p",
            "-u",
            "-f",
            "-w",
            "--cleanenv",
            "--contain",
            "--containall",
            "--ipc",
            "--pid",
            "--userns",
            "--fakeroot",
            "--writable",
            "--writable-tmpfs",
            "--nv",
            "--nvccli",
            "--rocm",
            "--net",
            "--uts",
            "--no-home",
            "--no-init",
            "--no-umask",
            "--no-eval",
            "--no-privs",
            "--keep-privs",
            "--allow-setuid",
            "--compat",
            "--disable-cache",
            "--no-https",
            "--docker-login",
            "--passphrase",
            "--sparse",
            "--vm",
            "--vm-err",
            "--no-tmp-sandbox",
            "--sharens",
            "--unsquash",
            "--underlay",
            "--run-on-exit",
            "--no-pid",
            "--ignore-subuid",
            "--ignore-fakeroot-command",
            "--ignore-userns",
            "--intel-hpu",
        ],
        has_image_word: true,
        binds: &["-B", "--bind"],
        shows_own: true,
    },
    Runtime {
        names: &["podman", "docker", "nerdctl", "podman-hpc"],
        subcommands: &[("run", true)],
        common: &[
            "-H",
            "-c",
            "-l",
            "--config",
            "--context",
            "--host",
            "--log-level",
            "--root",
            "--runroot",
            "--storage-driver",
            "--storage-opt",
            "--url",
            "--connection",
            "--namespace",
            "--runtime",
            "--cgroup-manager",
            "--tmpdir",
        ],
        switches: &[
            "-i",
            "-t",
            "-d",
            "-P",
            "-q",
            "--detach",
            "--disable-content-trust",
            "--env-host",
            "--http-proxy",
            "--init",
            "--interactive",
            "--no-healthcheck",
            "--no-hosts",
            "--no-hostname",
            "--oom-kill-disable",
            "--passwd",
            "--privileged",
            "--publish-all",
            "--quiet",
            "--read-only",
            "--read-only-tmpfs",
            "--replace",
            "--rm",
            "--rmi",
            "--rootfs",
            "--sig-proxy",
            "--tls-verify",
            "--tty",
            "--mpi",
            "--gpu",
            "--cuda-mpi",
            "--glibc",
        ],
        has_image_word: true,
        binds: &["-v", "--volume"],
        shows_own: false,
    },
    Runtime {
        names: &["ch-run"],
        subcommands: &[],
        common: &[],
        switches: &[
            "-j",
            "-W",
            "-w",
            "-v",
            "-t",
            "-q",
            "--join",
            "--write",
            "--write-fake",
            "--verbose",
            "--no-home",
            "--home",
            "--no-passwd",
            "--private-tmp",
            "--seccomp",
            "--unsafe",
            "--cdi",
            "--abort-fatal",
            "--set-env",
            "--unset-env",
            "--env-no-expand",
        ],
        has_image_word: true,
        binds: &["-b", "--bind"],
        shows_own: true,
    },
    Runtime {
        names: &["shifter"],
        subcommands: &[],
        common: &[],
        switches: &["-v", "-h", "--verbose", "--help", "--clearenv"],
        // An option says which one.
        has_image_word: false,
        binds: &["-V", "--volume"],
        shows_own: true,
    },
];

/// How many words an option of bubblewrap takes.
fn words_of_bubblewrap(option: &str) -> usize {
    const NONE: [&str; 8] = [
        "--new-session",
        "--die-with-parent",
        "--as-pid-1",
        "--clearenv",
        "--disable-userns",
        "--assert-userns-disabled",
        "--share-net",
        "--level-prefix",
    ];
    const TWO: [&str; 14] = [
        "--setenv",
        "--bind",
        "--bind-try",
        "--dev-bind",
        "--dev-bind-try",
        "--ro-bind",
        "--ro-bind-try",
        "--bind-fd",
        "--ro-bind-fd",
        "--file",
        "--bind-data",
        "--ro-bind-data",
        "--symlink",
        "--chmod",
    ];
    match option {
        "--overlay" => 3,
        _ if option.starts_with("--unshare-") || NONE.contains(&option) => 0,
        _ if TWO.contains(&option) => 2,
        _ => 1,
    }
}

impl<'a> Container<'a> {
    /// Is a word the name of a program that starts containers?
    pub(crate) fn is_runtime(word: &str) -> bool {
        let name = base(word);
        name == "bwrap" || RUNTIMES.iter().any(|runtime| runtime.names.contains(&name))
    }

    /// Reads a command line that is to be started in a folder, if its first word starts containers.
    pub(crate) fn read(words: &'a [String], folder: &Path) -> Option<Self> {
        let by = base(words.first()?);
        if by == "bwrap" {
            return Some(Self::of_bubblewrap(words));
        }
        let runtime = RUNTIMES.iter().find(|runtime| runtime.names.contains(&by))?;
        let mut at = 1;
        let mut is_named = true;
        if !runtime.subcommands.is_empty() {
            while words.get(at)?.starts_with('-') {
                at += 1 + usize::from(runtime.common.contains(&&*words[at]));
            }
            (_, is_named) = *runtime.subcommands.iter().find(|(word, _)| *word == words[at])?;
            at += 1;
        }
        let mut shown = Vec::new();
        let mut has_own = runtime.shows_own;
        let mut has_image = false;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            at += 1;
            if word == "--" {
                break;
            }
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (&**word, None),
            };
            has_own &= !["--contain", "--containall", "-c", "-C", "--no-home"].contains(&name);
            has_image |= name == "--image" || name.starts_with("-i");
            // What it starts is then something else, to which the words behind the image are arguments.
            is_named &= name != "--entrypoint";
            // Several switches in one word, or a value behind its letter.
            let is_whole = name.len() > 2 && !name.starts_with("--");
            let attached = if is_whole && joined.is_none() { name.get(2..) } else { joined };
            let next = words.get(at).map(String::as_str);
            let value = attached.or(next).unwrap_or_default();
            if runtime.binds.contains(&name)
                || is_whole && name.get(..2).is_some_and(|short| runtime.binds.contains(&short))
            {
                shown.extend(value.split(',').filter_map(shown_by));
            }
            at += usize::from(attached.is_none() && !runtime.switches.contains(&name));
        }
        if runtime.has_image_word {
            at += 1;
            at += usize::from(words.get(at).is_some_and(|word| word == "--"));
        } else if !has_image {
            // A program of the user's that has this name.
            return None;
        }
        if has_own {
            shown.extend(env::var_os("HOME").map(PathBuf::from));
            shown.extend([PathBuf::from("/tmp"), folder.to_path_buf()]);
            let more = [
                "APPTAINER_BIND",
                "APPTAINER_BINDPATH",
                "SINGULARITY_BIND",
                "SINGULARITY_BINDPATH",
            ];
            let more: Vec<String> = more.iter().filter_map(|name| env::var(name).ok()).collect();
            shown.extend(more.iter().flat_map(|binds| binds.split(',')).filter_map(shown_by));
        }
        let program = Some(at).filter(|&at| is_named && at < words.len());
        Some(Self { by, program, has_image: true, shown })
    }

    fn of_bubblewrap(words: &'a [String]) -> Self {
        let mut shown = Vec::new();
        let mut at = 1;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            at += 1;
            if word == "--" {
                break;
            }
            if let (true, [from, to, ..]) = (word.contains("bind"), &words[at.min(words.len())..])
                && from == to
            {
                shown.push(PathBuf::from(from));
            }
            at += words_of_bubblewrap(word);
        }
        let program = Some(at).filter(|&at| at < words.len());
        Self { by: "bwrap", program, has_image: false, shown }
    }

    /// Is what was found here under the program's name perhaps another file than the one in the container?
    pub(crate) fn hides(&self, program: &Inspection) -> bool {
        let is_named_by_path = program.program.contains('/');
        match &program.path {
            None => true,
            Some(path) => self.has_image && !(is_named_by_path && self.shows(path)),
        }
    }

    /// Does the program in the container see a file of this machine, as far as the command line says?
    pub(crate) fn shows(&self, file: &Path) -> bool {
        self.shown.iter().any(|folder| file.starts_with(folder))
    }
}

/// The folder that `FROM:TO:OPTIONS` shows under its own name.
fn shown_by(bind: &str) -> Option<PathBuf> {
    let mut parts = bind.split(':');
    let from = parts.next().filter(|from| !from.is_empty())?;
    parts.next().is_none_or(|to| to == from).then(|| from.into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Container;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(Into::into).collect()
    }

    #[test]
    fn the_program_stands_behind_options_and_image() {
        for before in [
            "apptainer exec image.sif",
            "/opt/bin/apptainer -d -c file exec -e --nv -B /a:/b,/c --env A=b --home=/x image.sif",
            "singularity exec --bind /sh docker://image",
            "podman run --rm -it -v /a:/a -e sh image",
            "docker --context x run --network host --privileged image",
            "docker run -v$PWD:$PWD -w/work -u1000 -itd image",
            "apptainer exec -B/a -eC image",
            "ch-run -b /a --set-env=x -w image --",
            "shifter --image=x --volume=/a:/a",
            "shifter --image x -V /a:/b",
            "bwrap --ro-bind /bin/sh /bin/sh --dev /dev --unshare-pid --setenv A sh --chdir /tmp",
            "bwrap --overlay-src /a --overlay /b /c /d --die-with-parent --",
        ] {
            let words = words(&format!("{before} ./app -n 3"));
            let at = Container::read(&words, Path::new("/w")).unwrap().program.unwrap();
            assert_eq!(words[at..].join(" "), "./app -n 3", "{before}");
        }
    }

    #[test]
    fn an_image_may_name_its_program_itself() {
        for line in [
            "apptainer run image.sif x",
            "singularity shell image.sif",
            "podman run image",
            "podman run --entrypoint /opt/app image x",
            "bwrap",
        ] {
            let words = words(line);
            assert_eq!(Container::read(&words, Path::new("/w")).unwrap().program, None, "{line}");
        }
        for line in [
            "apptainer build image.sif file",
            "docker ps",
            "apptainer",
            "env exec a b",
            "./shifter input.dat",
            "shifter",
        ] {
            assert_eq!(Container::read(&words(line), Path::new("/w")), None, "{line}");
        }
    }

    #[test]
    fn only_what_is_bound_under_its_name_is_shown() {
        for (line, is_shown) in [
            ("apptainer exec image ./app", false),
            ("apptainer exec -B /opt image ./app", true),
            ("apptainer exec -B/opt image ./app", true),
            ("docker run -v/opt:/opt image ./app", true),
            ("apptainer exec --bind=/x,/opt/tools:/opt/tools:ro image ./app", true),
            ("apptainer exec --bind /opt:/mnt image ./app", false),
            ("docker run -v /opt:/opt image ./app", true),
            ("docker run image ./app", false),
            ("bwrap --bind / / ./app", true),
            ("bwrap --ro-bind /usr /usr --bind /opt /x ./app", false),
        ] {
            let words = words(line);
            let container = Container::read(&words, Path::new("/w")).unwrap();
            assert_eq!(container.shows(Path::new("/opt/tools/libx.so")), is_shown, "{line}");
        }
        let words = words("apptainer exec image ./app");
        let container = Container::read(&words, Path::new("/w/here")).unwrap();
        assert!(container.shows(Path::new("/w/here/libx.so")));
    }
}
