//! Orders of ranks as launchers read them.
//!
//! Open MPI has rank files. MPICH's launcher takes a list of the hosts' numbers, from 0, one for each rank (`-rankmap`, from
//! MPICH 4.3 on); Cray's MPICH reads which ranks it is to start one after the other; Slurm takes the host of each rank.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// Writes a rank file for Open MPI to a path, and those for the others beside it: `PATH.mpich`,
/// `PATH.cray` and `PATH.slurm`.
pub(super) fn write(path: &Path, hosts: &[String], order: &[usize]) -> Result<Vec<String>> {
    // Anything else would be a word of its own to a launcher.
    let is_name =
        |letter: char| letter.is_ascii_alphanumeric() || ['.', '-', '_', ':'].contains(&letter);
    if let Some(name) = hosts.iter().find(|name| name.is_empty() || !name.chars().all(is_name)) {
        bail!("no launcher understands a host of the name {name:?}");
    }
    let (mut openmpi, mut slurm) = (String::new(), String::new());
    let mut used = vec![0_u64; hosts.len()];
    for (rank, host) in order.iter().enumerate() {
        let name = &hosts[*host];
        let _ = writeln!(openmpi, "rank {rank}={name} slot={}", used[*host]);
        let _ = writeln!(slurm, "{name}");
        used[*host] += 1;
    }
    let list = |numbers: &[usize]| -> String {
        let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        numbers.join(",") + "\n"
    };
    let mut by_host: Vec<usize> = (0..order.len()).collect();
    by_host.sort_by_key(|rank| order[*rank]);
    let (mpich, cray) = (list(order), list(&by_host));
    let beside = |extension: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(extension);
        name.into_string().unwrap_or_else(|name| name.to_string_lossy().into_owned())
    };
    let files = [beside(""), beside(".mpich"), beside(".cray"), beside(".slurm")];
    for (file, text) in files.iter().zip([openmpi, mpich, cray, slurm]) {
        fs::write(file, text).with_context(|| file.clone())?;
    }
    Ok(files.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks 0 and 3 on one host, 1 and 2 on the other: by hand, from the launchers' manuals.
    #[test]
    fn each_launcher_gets_its_own_words() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = ["a".to_owned(), "b-1".to_owned()];
        let files = write(&folder.path().join("order"), &hosts, &[0, 1, 1, 0]).unwrap();
        let texts: Vec<String> =
            files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        assert_eq!(
            texts,
            [
                "rank 0=a slot=0\nrank 1=b-1 slot=0\nrank 2=b-1 slot=1\nrank 3=a slot=1\n",
                "0,1,1,0\n",
                "0,3,1,2\n",
                "a\nb-1\nb-1\na\n",
            ]
        );
        for name in ["", "a b", "a\nrank 0=c", "$(x)"] {
            assert!(write(&folder.path().join("no"), &[name.to_owned()], &[0]).is_err());
        }
    }
}
