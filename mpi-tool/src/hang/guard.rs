//! Watches a run while it runs, and says once that no rank moves any more.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mpi_facts::watch::GUARD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::find::Run;
use super::reading::{Beginning, Glance, Reading};
use super::{hook, process, text};
use crate::cli::Guard;
use crate::out::say;
use crate::report::symbols::Symbols;

/// How often the state files are read.
const PERIOD: Duration = Duration::from_millis(250);
/// So long before it is time to tell, the ranks are looked at for the first time: what stands still is known in time then.
const AHEAD: Duration = Duration::from_secs(1);

/// Ranks may come to MPI so much later than others without anything being said of that.
const LATE: Duration = Duration::from_secs(3);
/// And so much later than the launcher.
const LATEST: Duration = Duration::from_secs(10);

/// Since when no rank has made a call.
struct Standing {
    since: Instant,
    /// How many calls each rank has made.
    calls: Vec<(PathBuf, u64)>,
    /// What it looked like at a moment after that.
    begun: Option<Beginning>,
    /// This was told of the ranks that are seen.
    is_told: bool,
}

impl Standing {
    fn of(calls: Vec<(PathBuf, u64)>) -> Self {
        Self { since: Instant::now(), calls, begun: None, is_told: false }
    }
}

/// What is said once of ranks that are not seen.
struct Unseen<'a> {
    guard: &'a Guard,
    begin: Instant,
    /// A rank is seen, or was.
    has_seen: bool,
    /// Since when some of the ranks are not seen, though MPI has started on others.
    since: Option<Instant>,
    is_said: bool,
    is_part_told: bool,
}

impl<'a> Unseen<'a> {
    fn new(guard: &'a Guard) -> Self {
        let begin = Instant::now();
        Self { guard, begin, has_seen: false, since: None, is_said: false, is_part_told: false }
    }

    /// Says that ranks are not seen, if that is so for a while: others may be a bit late.
    fn look(&mut self, glance: &Glance) {
        self.has_seen |= !glance.calls.is_empty();
        if self.is_said {
            return;
        }
        if !self.has_seen {
            let after = self.guard.after.max(LATEST.as_secs());
            if self.begin.elapsed().as_secs() >= after {
                self.is_said = true;
                say(format_args!(
                    "mpi-tool: no rank is seen {after} s after the start: none has come to MPI_Init yet, or their files are \
                     in another folder, as on another host or in a container with a file system of its own: set \
                     MPI_TOOL_RUN to a folder that all ranks and this command see\n"
                ));
            }
            return;
        }
        let mut sentences = glance.worlds.iter().filter(|world| world.is_ready);
        let Some(sentence) = sentences.find_map(|world| world.sentence()) else {
            self.since = None;
            return;
        };
        if self.since.get_or_insert_with(Instant::now).elapsed() >= LATE {
            self.is_said = true;
            let nothing = self.guard.nothing_is_ended();
            say(format_args!(
                "mpi-tool: {sentence}; as long as that is so, no hang of all ranks is reported{nothing}\n"
            ));
        }
    }

    /// Is it told for the first time that the ranks which are seen stand still? Then all is said.
    fn is_first_of_part(&mut self) -> bool {
        self.is_said = true;
        !std::mem::replace(&mut self.is_part_told, true)
    }
}

/// Which ranks are seen: `ranks 0-2 of 4`.
fn which(reading: &Reading) -> String {
    const MOST: usize = 4;
    let worlds = reading.worlds.iter().take(MOST).map(|world| world.seen.which());
    let more = if reading.worlds.len() > MOST { ", …" } else { "" };
    worlds.collect::<Vec<_>>().join(", ") + more
}

impl Guard {
    /// Watches until the process has ended.
    pub(crate) fn run(&self) -> Result<()> {
        // The first ranks of several worlds may each have started one.
        let folder = File::open(&self.folder).ok();
        let is_first = folder
            .as_ref()
            .is_none_or(|folder| flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_first {
            self.watch(|| {});
        }
        Ok(())
    }

    /// Watches until the process has ended. If no rank makes a call for long, that is told, once, and `told` called. What ranks
    /// do that are not seen is not known: as long as there may be some, that is said instead, and `told` is not called.
    pub(crate) fn watch(&self, told: impl FnOnce()) {
        let mut told = Some(told);
        let mut standing: Option<Standing> = None;
        let mut unseen = Unseen::new(self);
        let after = Duration::from_secs(self.after);
        let process = Watched::of(self.process);
        loop {
            let left = standing.as_ref().map(|since| after.saturating_sub(since.since.elapsed()));
            let pause = left.filter(|left| told.is_some() && !left.is_zero()).unwrap_or(PERIOD);
            if !process.as_ref().is_some_and(|process| process.is_there_after(pause.min(PERIOD))) {
                break;
            }
            let Ok(run) = Run::in_folder(&self.folder) else { continue };
            let glance = Glance::at(&run);
            unseen.look(&glance);
            let Some(since) = standing.as_mut().filter(|since| since.calls == glance.calls) else {
                let calls = glance.calls;
                standing = (!calls.is_empty()).then(|| Standing::of(calls));
                continue;
            };
            // What was told of a part may be told of all when the others have come or gone.
            if told.is_none() || since.is_told && glance.missing().is_some() {
                continue;
            }
            if since.since.elapsed() < after {
                // What has stood still from here on is known when it is time to tell.
                if since.begun.is_none() && since.since.elapsed() + AHEAD >= after {
                    since.begun = Beginning::of(&run).ok();
                }
                continue;
            }
            let begun = since.begun.take().map_or_else(|| Beginning::of(&run), Ok);
            let Ok(reading) = begun.and_then(|begun| begun.settled(&run)) else { continue };
            // Ranks may have come or gone meanwhile.
            let Ok(run) = Run::in_folder(&self.folder) else { continue };
            let glance = Glance::at(&run);
            if glance.calls != since.calls {
                // It goes on.
                standing = None;
                continue;
            }
            let mut symbols = Symbols::default();
            let after = self.after;
            if let Some(missing) = reading.missing().or_else(|| glance.missing()) {
                since.is_told = true;
                if unseen.is_first_of_part() {
                    let text = text::of(&reading, &mut symbols, 20);
                    let seen = which(&reading);
                    let nothing = self.nothing_is_ended();
                    // As a rule the text says it.
                    let why = if text.contains(&missing) {
                        String::new()
                    } else {
                        format!(": {missing}")
                    };
                    say(format_args!(
                        "mpi-tool: no rank that is seen ({seen}) has made an MPI call for {after} s, but others may \
                         work{nothing}{why}\n{text}"
                    ));
                }
                continue;
            }
            let text = text::of(&reading, &mut symbols, 20);
            let text = format!("mpi-tool: no rank has made an MPI call for {after} s\n{text}");
            say(format_args!("{text}"));
            if let Some(command) = &self.on_hang {
                hook::run(command, &text, &self.folder);
            }
            if let Some(told) = told.take() {
                told();
            }
        }
        let _ = fs::remove_file(self.mark());
        if self.remove {
            // Ranks that have finalized have removed their files; others' stay for `mpi-tool hang`.
            let _ = fs::remove_dir(&self.folder);
        }
    }

    fn nothing_is_ended(&self) -> &'static str {
        if self.kills { ", and nothing is ended (--kill)" } else { "" }
    }

    /// The file by which rank 0 knows that it is seen.
    fn mark(&self) -> PathBuf {
        self.folder.join(format!("{GUARD}{}", self.name.as_deref().unwrap_or_default()))
    }

    /// Makes the mark, in the folder that the user has named, which need not be there. `false` if that cannot be: ranks say
    /// then what is wrong with the folder.
    pub(crate) fn set_mark(&self) -> bool {
        fs::create_dir_all(&self.folder).and_then(|()| fs::write(self.mark(), "")).is_ok()
    }

    /// A new run folder for a run of this process.
    pub(crate) fn new_folder() -> Result<PathBuf> {
        let mut last = None;
        for root in Run::roots()? {
            let folder = root.join(format!("run-{}", std::process::id()));
            let mut builder = DirBuilder::new();
            match builder.mode(0o700).recursive(true).create(&folder) {
                Ok(()) => return Ok(folder),
                Err(error) => last = Some(format!("{}: {error}", folder.display())),
            }
        }
        bail!("there is no folder for state files: {}", last.unwrap_or_default());
    }
}

/// A process whose end is waited for. It need not be a child.
struct Watched {
    pid: u32,
    started: u64,
    /// Not there where the kernel is older than 5.3.
    descriptor: Option<OwnedFd>,
}

impl Watched {
    /// `None` if it is not there.
    fn of(pid: u32) -> Option<Self> {
        let started = process::started(pid)?;
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        Some(Self { pid, started, descriptor: pidfd_open(number, PidfdFlags::empty()).ok() })
    }

    /// Waits for a time, or until the process has ended.
    fn is_there_after(&self, time: Duration) -> bool {
        if let Some(descriptor) = &self.descriptor
            && let Ok(time) = Timespec::try_from(time)
        {
            let mut ends = [PollFd::new(descriptor, PollFlags::IN)];
            // A signal may cut the wait short, which does no harm.
            let _ = poll(&mut ends, Some(&time));
        } else {
            sleep(time);
        }
        process::started(self.pid) == Some(self.started)
    }
}
