//! What runs have left in the default run folders: those that were killed or have ended in the middle.
//!
//! The next run of the same user removes it. Files of ranks that are there are open, by being mapped, and the kernel knows that
//! whichever namespace the ranks are in: it gives no lease on a file that somebody has open for writing.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mpi_facts::watch::{EXTENSION, GUARD, LEFT, NO_ROOM};

/// So many runs of mpi-watch stay, which tell where the ranks were, the newest ones, if they are small.
const MOST: usize = 4;
/// So many bytes may they have, but for the newest one.
const MOST_BYTES: u64 = 2 << 20;

/// A run that is over.
struct Run {
    folder: PathBuf,
    files: Vec<PathBuf>,
    /// Whether the folder has state files of mpi-watch.
    tells: bool,
    bytes: u64,
    changed: SystemTime,
}

impl Run {
    /// `None` if a process may have one of its files, or if there is something else in the folder.
    fn of(folder: PathBuf) -> Option<Self> {
        let changed = fs::symlink_metadata(&folder).ok()?.modified().ok()?;
        let mut run = Self { folder, files: Vec::new(), tells: false, bytes: 0, changed };
        for entry in fs::read_dir(&run.folder).ok()? {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let is_state = name.ends_with(&format!(".{EXTENSION}"));
            let is_ours = is_state
                || name == NO_ROOM
                || name.ends_with(".check")
                || [LEFT, GUARD].iter().any(|begin| name.starts_with(begin));
            if !is_ours || is_open(&path) {
                return None;
            }
            run.tells |= is_state;
            run.bytes += fs::symlink_metadata(&path).ok()?.len();
            run.files.push(path);
        }
        Some(run)
    }

    fn remove(self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        // Somebody may have put something else there.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// May a process have a file open for writing, or mapped so? What cannot be asked may be so.
fn is_open(path: &Path) -> bool {
    /// Which signal a lease's holder gets, as Linux numbers the command.
    const F_SETSIG: libc::c_int = 10;
    let Ok(file) = File::open(path) else { return true };
    // SAFETY: `fcntl` with these commands takes an open descriptor, which the file has, and a number. If somebody opens the
    // file before the lease is given back, a signal tells its holder so: one that does nothing unless it is handled, in place
    // of `SIGIO`, which ends a process.
    let is_free = unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let is_free = libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0;
        libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
        is_free
    };
    !is_free
}

/// Removes what runs that are over have left below a folder. `own` is a run that is about to begin.
pub(super) fn remove(root: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut runs: Vec<Run> = folders.filter(|it| it != own).filter_map(Run::of).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.changed));
    let (mut kept, mut bytes) = (0, 0);
    for run in runs {
        let has_room = kept == 0 || kept < MOST && bytes + run.bytes <= MOST_BYTES;
        if run.tells && has_room {
            kept += 1;
            bytes += run.bytes;
        } else {
            run.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    /// Maps a file, and closes it, as tools do. Gives what ends that.
    fn map(path: &Path) -> impl FnOnce() {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: `mmap` may choose the address, and the file has the length.
        let address = unsafe {
            let fd = file.as_raw_fd();
            libc::mmap(core::ptr::null_mut(), 4096, protection, libc::MAP_SHARED, fd, 0)
        };
        assert_ne!(address, libc::MAP_FAILED);
        // SAFETY: the range is what was mapped above, and nobody has used it.
        move || assert_eq!(unsafe { libc::munmap(address, 4096) }, 0)
    }

    /// Runs in use stay, and so do the newest few that tell something.
    #[test]
    fn what_is_over_goes() {
        let root = tempfile::tempdir_in("/dev/shm").unwrap();
        let make = |run: &str, file: &str| {
            let folder = root.path().join(run);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(file);
            fs::write(&path, [0; 4096]).unwrap();
            sleep(Duration::from_millis(15));
            path
        };
        let used = make("used", "rank0-n1-1.watch");
        let unmap = map(&used);
        make("checked", "n1-slurm-1.0.check");
        for number in 0..6 {
            make(&format!("killed{number}"), "rank0-n1-7.watch");
        }
        make("other", "something");
        make("own", "x.check");
        let left = || {
            let entries = fs::read_dir(root.path()).unwrap();
            let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names.join(" ")
        };
        remove(root.path(), &root.path().join("own"));
        assert_eq!(left(), "killed2 killed3 killed4 killed5 other own used");
        unmap();
        remove(root.path(), &root.path().join("own"));
        assert_eq!(left(), "killed2 killed3 killed4 killed5 other own");
    }
}
