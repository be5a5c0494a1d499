//! Open MPI's launcher gives its environment to the ranks of its own host only. A tool that some
//! ranks have and others lack would wait for these when the reports are merged.
//!
//! A preloaded tool is loaded into the launcher, too. There it extends the list of variables that
//! the launcher forwards, unless the user has said on the command line what to forward. In all
//! other processes nothing happens.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::{env, fs};

/// Names what the launcher shall give to the ranks of all hosts, where that is not said: variables,
/// separated by `;`, which may have a value of their own (`NAME=value`). What the user has put
/// there stays.
const LIST: &str = "OMPI_MCA_mca_base_env_list";

/// In Open MPI's launcher (`prterun` of version 5, `orterun` before), before it looks: has it give
/// the ranks of all hosts what is preloaded, and the tools' settings. Elsewhere it returns at once.
///
/// # Safety
/// If the process is Open MPI's launcher, it has one thread: nobody else reads or changes the
/// environment meanwhile.
pub unsafe fn to_all_hosts() {
    let program = fs::read_link("/proc/self/exe").unwrap_or_default();
    let is_prterun = program.file_name() == Some(OsStr::new("prterun"));
    if !is_prterun && program.file_name() != Some(OsStr::new("orterun")) {
        return;
    }
    let Ok(line) = fs::read("/proc/self/cmdline") else { return };
    let is_said = line.split(|byte| *byte == 0).any(|word| {
        let has = |part: &[u8]| word.windows(part.len()).any(|window| window == part);
        // Open MPI 4 refuses both.
        has(b"LD_PRELOAD") || has(b"mca_base_env_list") || !is_prterun && word == b"-x"
    });
    if is_said {
        return;
    }
    let own = env::var_os(LIST).unwrap_or_default();
    let mut list = own.clone();
    for (name, _) in env::vars_os() {
        let is_ours =
            name == "LD_PRELOAD" || name == "TOOLS" || name.as_bytes().starts_with(b"MPI_TOOL_");
        let is_listed = || {
            own.as_bytes().split(|byte| *byte == b';').any(|entry| {
                entry == name.as_bytes()
                    || entry
                        .strip_prefix(name.as_bytes())
                        .is_some_and(|rest| rest.starts_with(b"="))
            })
        };
        if is_ours && !is_listed() {
            if !list.is_empty() {
                list.push(";");
            }
            list.push(&name);
        }
    }
    if list != own {
        // SAFETY: nobody may use the environment meanwhile: the process is the launcher here, which
        // has one thread, as the caller promises.
        unsafe { env::set_var(LIST, list) };
    }
}
