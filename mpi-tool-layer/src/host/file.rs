//! Report files: complete when they have their name, and never written by two processes.
//!
//! A report takes the place of one from an earlier run. It never takes the place of what another process
//! of the same run has written: processes that MPI does not know of each other (singletons, which a
//! program becomes under the launcher of another MPI) may be told to write the same file.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::ffi::CString;

use crate::host::output::{Sink, errno};

/// A file that a report goes to. All names are made beforehand, since a report may be written in a
/// signal handler.
pub(crate) struct ReportFile {
    path: CString,
    /// Until the report is complete: no other process of any host has this name.
    part: CString,
    /// Where it goes if another process was faster.
    spare: CString,
    /// Device and inode of the report that this process has written before.
    own: [AtomicU64; 2],
    /// When the process started, in nanoseconds of `CLOCK_BOOTTIME`.
    started: i64,
}

impl ReportFile {
    /// A file of a path. Nothing if a path cannot be made of it.
    pub(crate) fn new(path: &CStr, host: &str) -> Option<Self> {
        // SAFETY: `getpid` takes nothing and always succeeds.
        let process = unsafe { libc::getpid() };
        let extended =
            |with: String| CString::new([path.to_bytes(), with.as_bytes()].concat()).ok();
        Some(Self {
            path: path.to_owned(),
            part: extended(format!(".{host}.{process}.part"))?,
            spare: extended(format!(".{host}.{process}"))?,
            own: [const { AtomicU64::new(0) }; 2],
            started: process_start(),
        })
    }

    /// The path that was asked for.
    pub(crate) fn path(&self) -> &CStr {
        &self.path
    }

    /// Writes a report, and returns the path that it has got, or an `errno`.
    pub(crate) fn write(&self, mut fill: impl FnMut(&mut Sink)) -> Result<&CStr, c_int> {
        let there = look(&self.path);
        match there.as_ref().map(|there| there.st_mode & libc::S_IFMT) {
            Ok(libc::S_IFDIR) => return Err(libc::EISDIR),
            Ok(libc::S_IFREG) | Err(_) => {}
            // A device, a pipe, a link: what it stands for shall get the report.
            Ok(_) => return self.write_to(&self.path, &mut fill).map(|()| &*self.path),
        }
        if let Err(error) = self.write_to(&self.part, &mut fill) {
            // Nobody may make files here, perhaps, and the report's own is there.
            let full = [libc::ENOSPC, libc::EDQUOT, libc::EIO].contains(&error);
            if there.is_ok() && !full || error == libc::ENAMETOOLONG {
                return self.write_to(&self.path, &mut fill).map(|()| &*self.path);
            }
            remove(&self.part);
            return Err(error);
        }
        let placed = self.place();
        if placed.is_err() {
            remove(&self.part);
        }
        placed
    }

    /// Removes the report that this process has written, if it is there still.
    pub(crate) fn remove_own(&self) {
        let own = self.own.each_ref().map(|word| word.swap(0, Relaxed));
        if own != [0; 2] && look(&self.path).is_ok_and(|there| [there.st_dev, there.st_ino] == own)
        {
            remove(&self.path);
        }
    }

    fn write_to(&self, path: &CStr, fill: &mut dyn FnMut(&mut Sink)) -> Result<(), c_int> {
        let mut sink = Sink::create(path)?;
        fill(&mut sink);
        sink.finish()
    }

    /// Gives the complete report its name.
    fn place(&self) -> Result<&CStr, c_int> {
        let mine = look(&self.part)?;
        // A few times, since what is there may vanish meanwhile.
        for _ in 0..4 {
            // SAFETY: `link` reads two C strings, which both fields are. It makes a link only if nothing has
            // the name.
            if unsafe { libc::link(self.part.as_ptr(), self.path.as_ptr()) } == 0 {
                remove(&self.part);
                return Ok(self.took(&mine));
            }
            match errno() {
                libc::EEXIST => {}
                error @ (libc::ENOENT | libc::ENOSPC | libc::EDQUOT | libc::EIO) => {
                    return Err(error);
                }
                // A file system without links.
                _ if look(&self.path).is_err() => {
                    rename(&self.part, &self.path)?;
                    return Ok(self.took(&mine));
                }
                _ => {}
            }
            let Ok(there) = look(&self.path) else { continue };
            if !self.may_replace(&there, &mine) {
                rename(&self.part, &self.spare)?;
                return Ok(&self.spare);
            }
            if !exchange(&self.part, &self.path) {
                rename(&self.part, &self.path)?;
                return Ok(self.took(&mine));
            }
            match look(&self.part) {
                Ok(old) if (old.st_dev, old.st_ino) == (there.st_dev, there.st_ino) => {
                    remove(&self.part);
                }
                // Another process was faster by less than it takes to look: its report stays, too.
                _ => rename(&self.part, &self.spare)?,
            }
            return Ok(self.took(&mine));
        }
        Err(libc::EEXIST)
    }

    /// Is the file this process's own, or from before its start?
    ///
    /// Times of files are the file server's, whose clock may differ from this host's: the new report's
    /// own time tells what the server's clock says now.
    fn may_replace(&self, there: &libc::stat, mine: &libc::stat) -> bool {
        let own = [there.st_dev, there.st_ino];
        if self.own.each_ref().map(|word| word.load(Relaxed)) == own {
            return true;
        }
        let nanoseconds = |file: &libc::stat| file.st_mtime * SECOND + file.st_mtime_nsec;
        let age = clock() - self.started;
        nanoseconds(there) < nanoseconds(mine) - age
    }

    fn took(&self, mine: &libc::stat) -> &CStr {
        self.own[0].store(mine.st_dev, Relaxed);
        self.own[1].store(mine.st_ino, Relaxed);
        &self.path
    }
}

const SECOND: i64 = 1_000_000_000;

fn look(path: &CStr) -> Result<libc::stat, c_int> {
    // SAFETY: `lstat` reads a C string, which `path` is, and writes one `stat`: a local, of plain data, for
    // which zeros are a value.
    unsafe {
        let mut file: libc::stat = core::mem::zeroed();
        if libc::lstat(path.as_ptr(), &mut file) == 0 { Ok(file) } else { Err(errno()) }
    }
}

fn remove(path: &CStr) {
    // SAFETY: `unlink` reads a C string, which `path` is.
    unsafe { libc::unlink(path.as_ptr()) };
}

fn rename(from: &CStr, to: &CStr) -> Result<(), c_int> {
    // SAFETY: `rename` reads two C strings, which both arguments are.
    match unsafe { libc::rename(from.as_ptr(), to.as_ptr()) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// Has two files swap their names, where the file system can do that.
fn exchange(one: &CStr, other: &CStr) -> bool {
    let [one, other] = [one, other].map(CStr::as_ptr);
    // SAFETY: `syscall` wants arguments of the system call's number and types: `renameat2` takes a descriptor
    // and a C string twice, and flags. The strings live as long as the arguments of this function.
    unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one,
            libc::AT_FDCWD,
            other,
            libc::RENAME_EXCHANGE,
        ) == 0
    }
}

fn clock() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `clock_gettime` writes one `timespec`, which `now` is.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) };
    now.tv_sec * SECOND + now.tv_nsec
}

/// When this process started, as `clock` tells times: at the end of the tick in which it did, so that
/// what another process wrote just before is from before.
fn process_start() -> i64 {
    // SAFETY: `sysconf` takes any number and touches no memory of the caller's.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let tick = SECOND / ticks.clamp(1, SECOND);
    let started = std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| {
        let (started, _) = mpi_facts::watch::started_and_parent(&stat)?;
        i64::try_from(started).ok()
    });
    // Without /proc: now, so that more is from before, and nothing of an earlier run is kept.
    started.map_or_else(clock, |ticks| (ticks + 1) * tick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Write as _;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    fn file(path: &Path, host: &str) -> ReportFile {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        ReportFile::new(&path, host).unwrap()
    }

    fn write<'a>(file: &'a ReportFile, text: &str) -> Result<&'a CStr, c_int> {
        file.write(|sink| sink.write_str(text).unwrap())
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_report_replaces_its_own_process_s_and_that_of_an_earlier_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        fs::write(&path, "of yesterday").unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(24 * 3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(yesterday).unwrap();
        let report = file(&path, "here");
        for text in ["first", "second"] {
            assert_eq!(write(&report, text), Ok(report.path()));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["report"]);
    }

    #[test]
    fn only_ones_own_report_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let report = file(&path, "here");
        report.remove_own();
        write(&report, "early").unwrap();
        report.remove_own();
        assert_eq!(names(folder.path()), [""; 0]);
        write(&report, "early").unwrap();
        fs::rename(&path, folder.path().join("kept")).unwrap();
        fs::write(&path, "another one's").unwrap();
        report.remove_own();
        assert_eq!(names(folder.path()), ["kept", "report"]);
    }

    /// Waits until what is written now counts as written after this process's start, which may be all but now: a test can
    /// be all that a process runs. Files are dated by a clock that stands for up to a tick of the kernel, of at most a
    /// hundredth of a second.
    fn its_start_is_over() {
        while super::clock() <= super::process_start() + super::SECOND / 100 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// As two singletons that were told the same path: the hosts' names stand for two processes.
    #[test]
    fn no_process_writes_over_another_one_s_report() {
        its_start_is_over();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let processes = ["a", "b", "c"].map(|host| file(&path, host));
        for process in &processes {
            // Both names, since it may report more than once.
            write(process, "early").unwrap();
            write(process, process.part.to_str().unwrap()).unwrap();
        }
        let id = std::process::id();
        assert_eq!(
            names(folder.path()),
            ["report".into(), format!("report.b.{id}"), format!("report.c.{id}")]
        );
        let texts = names(folder.path())
            .into_iter()
            .map(|name| fs::read_to_string(folder.path().join(name)));
        for (text, process) in texts.zip(&processes) {
            assert_eq!(text.unwrap(), process.part.to_str().unwrap());
        }
    }

    #[test]
    fn reports_written_at_the_same_moment_are_all_there() {
        its_start_is_over();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        fs::write(&path, "old").unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(24 * 3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(yesterday).unwrap();
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (path, barrier) = (&path, &barrier);
                scope.spawn(move || {
                    let report = file(path, &format!("host{number}"));
                    barrier.wait();
                    write(&report, &number.to_string()).unwrap();
                });
            }
        });
        let mut texts: Vec<_> = names(folder.path())
            .into_iter()
            .map(|name| fs::read_to_string(folder.path().join(name)).unwrap())
            .collect();
        texts.sort_unstable();
        assert_eq!(texts, (0..8).map(|number| number.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/such/report");
        assert_eq!(write(&file(&missing, "here"), "x"), Err(libc::ENOENT));
        assert_eq!(write(&file(folder.path(), "here"), "x"), Err(libc::EISDIR));
        assert_eq!(write(&file(Path::new("/dev/full"), "here"), "x"), Err(libc::ENOSPC));
        assert_eq!(names(folder.path()), [""; 0]);
    }
}
