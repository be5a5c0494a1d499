//! Why a process cannot be looked at, and what to do.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::hang::find::user;

/// One sentence. `error` is what the kernel has said.
pub(super) fn why_not(pid: u32, error: &str) -> String {
    let facts = Facts {
        own: user().unwrap_or(0),
        owner: fs::metadata(format!("/proc/{pid}")).ok().map(|process| process.uid()),
        runs_as: status(&pid.to_string(), "Uid:")
            .and_then(|users| users.split('\t').next()?.parse().ok()),
        tracer: status(&pid.to_string(), "TracerPid:")
            .and_then(|tracer| tracer.parse().ok())
            .filter(|tracer: &u32| *tracer != 0),
        scope: fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
            .ok()
            .and_then(|scope| scope.trim().parse().ok()),
    };
    format!("process {pid} cannot be looked at ({error}): {}", facts.advice(pid))
}

/// What decides who may look at a process.
struct Facts {
    own: u32,
    /// Whom the kernel's files of the process belong to.
    owner: Option<u32>,
    runs_as: Option<u32>,
    tracer: Option<u32>,
    scope: Option<u32>,
}

impl Facts {
    fn advice(&self, pid: u32) -> String {
        let Self { own, owner, runs_as, tracer, scope } = *self;
        if let Some(tracer) = tracer {
            return format!(
                "process {tracer}, such as a debugger, holds it: end that, or ask it for the stack"
            );
        }
        if let Some(user) = runs_as.filter(|user| *user != own && own != 0) {
            return format!("it runs as user {user}: run this command as that user, or as root");
        }
        if own != 0 && owner == Some(0) {
            return "it is setuid, has capabilities, or has told the kernel that nobody may look at it: run this command as root".into();
        }
        match scope {
            Some(1 | 2) if own != 0 => format!(
                "this kernel lets root only look at processes that run (kernel.yama.ptrace_scope is {}): run this command as \
                 root, or set it to 0 (sysctl kernel.yama.ptrace_scope=0)",
                scope.unwrap_or(1)
            ),
            Some(3) => "this kernel lets nobody look at processes until it starts anew (kernel.yama.ptrace_scope is 3)".into(),
            _ => format!(
                "if this is a container, run this command outside of it, or start the container with --cap-add=SYS_PTRACE; if process \
                 {pid} is in another one, run it as root"
            ),
        }
    }
}

/// A line of what the kernel says of a process.
pub(super) fn status(process: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::Facts;

    #[test]
    fn each_reason_says_what_to_do() {
        let facts = |owner, runs_as, tracer, scope| Facts {
            own: 1000,
            owner: Some(owner),
            runs_as: Some(runs_as),
            tracer,
            scope,
        };
        for (facts, said) in [
            (facts(1000, 1000, Some(7), Some(1)), "process 7,"),
            (facts(1001, 1001, None, Some(1)), "as that user, or as root"),
            (facts(0, 1000, None, Some(0)), "setuid"),
            (facts(1000, 1000, None, Some(1)), "sysctl kernel.yama.ptrace_scope=0"),
            (facts(1000, 1000, None, Some(2)), "sysctl kernel.yama.ptrace_scope=0"),
            (facts(1000, 1000, None, Some(3)), "nobody"),
            (facts(1000, 1000, None, None), "--cap-add=SYS_PTRACE"),
        ] {
            let advice = facts.advice(9);
            assert!(advice.contains(said), "{advice}");
        }
    }
}
