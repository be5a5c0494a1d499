//! What looks at a rank say: what each of its threads does, and where. This is what `--json` and `--dump` write.

use std::time::Duration;

use mpi_facts::{FunctionId, NONE, Shape, Timing};
use mpi_tool_python::{is_installed, is_of_library};
use serde::{Deserialize, Serialize};

use super::find::Process;
use super::image::Role;
use super::look::{Thread, Unseen};
use super::refused::why_not;
use super::unwind::{Frame as Function, Python, Way};
use crate::hang::process::{host, started};
use crate::report::symbols::{Frame, Symbols};
use crate::words::base;

/// All jobs that were looked at.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) schema: String,
    pub(super) jobs: Vec<Job>,
}

pub(super) const SCHEMA: &str = "mpi-tool-attach/1";

/// The ranks of a world that were looked at.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// What its launcher calls it, on all hosts.
    pub(super) name: String,
    pub(super) program: String,
    pub(super) mpi: String,
    /// How many ranks there are, if the launcher says so.
    pub(super) size: Option<u32>,
    /// How often they were looked at, and for how long from the first look to the last one.
    pub(super) looks: u32,
    pub(super) seconds: f64,
    /// When the first look was, and the last one, in seconds after the beginning of 1970; of several hosts, by the clock of each.
    #[serde(default)]
    pub(super) begun: Option<f64>,
    #[serde(default)]
    pub(super) ended: Option<f64>,
    pub(super) ranks: Vec<Rank>,
}

/// A rank.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Rank {
    pub(super) rank: Option<u32>,
    pub(super) host: String,
    pub(super) pid: u32,
    /// The first thread's first, then those that are in MPI or in the program.
    pub(super) threads: Vec<Doing>,
    /// For how long it was stopped by each look, at most, in microseconds.
    pub(super) stopped: Vec<u64>,
    /// Why it was not looked at.
    pub(super) problem: Option<String>,
}

/// What a thread does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Doing {
    pub(super) thread: u32,
    pub(super) what: What,
    /// What holds it.
    pub(super) held: Option<Held>,
    /// The function of MPI that it is in, or the one of another library.
    pub(super) function: Option<String>,
    pub(super) in_mpi: bool,
    /// Is it one that may last until other ranks come?
    pub(super) may_last: bool,
    /// Who has called the function, the innermost first.
    pub(super) site: Vec<Spot>,
    /// What MPI has called of the program.
    pub(super) inside: Vec<Spot>,
    /// Is the site known to its end?
    pub(super) whole: bool,
    /// Why the site names functions of Python's interpreter, and not those of Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) python: Option<String>,
}

/// What a thread has done from the first look to the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum What {
    /// It has not run, and so is in the same call of MPI.
    Stands,
    /// It is in the same call, or in another one of the same function at the same place.
    Stays,
    /// It is in MPI at one of the looks at least, and elsewhere at another one.
    Moves,
    /// It has used a processor outside of MPI.
    Computes,
    /// It sleeps at each look, outside of MPI, at the same place.
    Sleeps,
    /// It has run a little, outside of MPI, or sleeps elsewhere.
    Outside,
    /// It was seen once only, or its way cannot be told.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Held {
    Signal,
    Debugger,
}

/// A function of the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Spot {
    pub(super) function: Option<String>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) text: String,
}

impl Spot {
    fn of(frame: &Frame) -> Self {
        let (file, line) = frame.line.clone().unzip();
        Self { function: frame.function.clone(), file, line, text: frame.short() }
    }

    fn of_python(frame: &mpi_tool_python::Frame) -> Self {
        let function = Some(frame.function.clone());
        let line = frame.line.map(|line| (frame.file.clone(), line));
        Self::of(&Frame { function, line, place: base(&frame.file).to_owned() })
    }
}

/// Where a thread has had so much of a processor from the first look to the last one, it computes: a tenth.
const SHARE: u32 = 10;

/// What each look at a process has found, in their order.
pub(super) type Looks = Vec<Option<Result<Vec<Thread>, Unseen>>>;

/// What several looks at a process say, of which the last one came so long after the first one.
pub(super) fn rank(
    process: &Process,
    looks: Looks,
    lasted: Duration,
    symbols: &mut Symbols,
) -> Rank {
    let mut rank = Rank {
        rank: process.rank,
        host: host(),
        pid: process.pid,
        threads: Vec::new(),
        stopped: Vec::new(),
        problem: None,
    };
    let mut seen = Vec::new();
    for look in looks {
        match look {
            Some(Ok(threads)) => seen.push(threads),
            Some(Err(unseen)) => rank.problem = Some(why(process, &unseen)),
            None => rank.problem = Some(ENDED.into()),
        }
    }
    for look in &seen {
        let stopped: Duration = look.iter().map(|thread| thread.stopped).sum();
        rank.stopped.push(u64::try_from(stopped.as_micros()).unwrap_or(u64::MAX));
    }
    let Some((last, earlier)) = seen.split_last().filter(|_| rank.problem.is_none()) else {
        return rank;
    };
    for thread in last {
        let before: Vec<_> = earlier
            .iter()
            .filter_map(|look| look.iter().find(|other| other.id == thread.id))
            .collect();
        let is_first = thread.id == process.pid;
        if is_first || concerns(thread, process) || before.iter().any(|it| concerns(it, process)) {
            match &thread.way {
                Ok(way) => {
                    // One that was not there at each look has just begun.
                    let before = Some(before).filter(|before| before.len() == earlier.len());
                    rank.threads.push(doing(thread, way, before.as_deref(), lasted, symbols));
                }
                Err(unseen) if is_first => rank.problem = Some(why(process, unseen)),
                Err(_) => {}
            }
        }
    }
    rank
}

const ENDED: &str = "its process has ended meanwhile";

/// Why a process was not seen.
fn why(process: &Process, unseen: &Unseen) -> String {
    match unseen {
        // What ends takes its files with it.
        _ if started(process.pid) != Some(process.started) => ENDED.into(),
        Unseen::Refused(error) => why_not(process.pid, error),
        Unseen::Undisturbed => "it is in a system call that must not be disturbed".into(),
        Unseen::Signals => "a signal came to it each time it was to be looked at".into(),
        Unseen::Foreign => {
            "its program is not for x86-64 with addresses of 64 bits, which is all that this command can follow".into()
        }
        Unseen::Late => "it did not stop to be looked at within two seconds".into(),
    }
}

/// Is a thread in MPI, or in the program's own file? Others are libraries' helpers.
fn concerns(thread: &Thread, process: &Process) -> bool {
    thread.way.as_ref().is_ok_and(|way| {
        way.call().is_some() || way.frames.iter().any(|frame| frame.image.path == process.program)
    })
}

/// A call of MPI.
struct Call {
    /// Where it is on the way.
    at: usize,
    function: Option<FunctionId>,
    name: String,
}

impl Way {
    /// The outermost function of MPI: where the program has called it. Tools that were preloaded come before MPI, and MPI's own
    /// calls behind it.
    fn call(&self) -> Option<Call> {
        let named = |(at, frame): (usize, &Function)| Some((at, frame.function_of_mpi()?));
        let all = || self.frames.iter().enumerate().rev();
        let named = all().find_map(named);
        // A function may have gone on to another one without a place to come back to, as compilers make it of a call at
        // its end. MPI's own threads have no program around them.
        let last = all().find(|(_, frame)| matches!(frame.role(), Role::Mpi | Role::Tool));
        let at = last.map(|(at, _)| at).filter(|at| {
            self.frames[at + 1..]
                .iter()
                .any(|frame| frame.role() == Role::Program && !frame.image.is_start(frame.address))
        });
        let (at, function) = match (named, at) {
            (Some((named, function)), Some(at)) => (named.max(at), Some(function)),
            (Some((named, function)), None) => (named, Some(function)),
            (None, at) => (at?, None),
        };
        let frame = &self.frames[at];
        let name = function.map(|function| function.name().to_owned());
        let name = name.or_else(|| frame.image.name(frame.address).map(plain));
        Some(Call { at, function, name: name.unwrap_or_else(|| "MPI".into()) })
    }

    fn is_same_place(&self, other: &Self) -> bool {
        places(&self.frames) == places(&other.frames)
    }

    /// The same call, as far as places can tell: function, callers, and the stack's end there. Of a way that is cut, the callers that are known count;
    /// `None` if no caller is known.
    fn is_same_call(&self, other: &Self) -> Option<bool> {
        let is_cut = !self.is_whole || !other.is_whole;
        let (Some(own), Some(its)) = (self.call(), other.call()) else {
            // What is further out may be MPI.
            return if is_cut { None } else { Some(false) };
        };
        let (mine, others) =
            (places(&self.frames[own.at + 1..]), places(&other.frames[its.at + 1..]));
        let common = mine.len().min(others.len());
        // A whole way is not shorter than one that has lost its end.
        let is_shorter = |whole: &Self, one: usize, two: usize| whole.is_whole && one < two;
        if is_shorter(self, mine.len(), others.len()) || is_shorter(other, others.len(), mine.len())
        {
            return Some(false);
        }
        match is_cut {
            true if common == 0 => None,
            _ => Some(own.name == its.name && mine[..common] == others[..common]),
        }
    }
}

/// What tells functions from those of another moment.
fn places(frames: &[Function]) -> Vec<(u64, u64, &Python)> {
    frames.iter().map(Function::at).collect()
}

fn doing(
    thread: &Thread,
    way: &Way,
    before: Option<&[&Thread]>,
    lasted: Duration,
    symbols: &mut Symbols,
) -> Doing {
    let ways = before.and_then(|before| {
        before.iter().map(|before| before.way.as_ref().ok()).collect::<Option<Vec<_>>>()
    });
    let first = before.and_then(|before| before.first());
    let ran = first.map_or(0, |first| thread.time.saturating_sub(first.time));
    let sleeps = is_asleep(thread) && before.is_some_and(|it| it.iter().all(|it| is_asleep(it)));
    let has_not_run = sleeps && first.is_some_and(|it| it.turns > 0 && it.turns == thread.turns);
    let computes = Duration::from_nanos(ran) * SHARE >= lasted;
    let call = way.call();
    let what = match ways {
        // What is further out may be MPI.
        _ if call.is_none() && !way.is_whole => What::Unknown,
        None => What::Unknown,
        Some(ways) if call.is_some() => {
            let same: Vec<_> = ways.iter().map(|before| before.is_same_call(way)).collect();
            if same.contains(&Some(false)) {
                What::Moves
            } else if has_not_run {
                What::Stands
            } else if same.contains(&None) {
                What::Unknown
            } else {
                What::Stays
            }
        }
        Some(ways) if ways.iter().any(|before| before.call().is_some()) => What::Moves,
        // It may have been in MPI further out.
        Some(ways) if ways.iter().any(|before| !before.is_whole) => What::Unknown,
        Some(ways) if sleeps && ways.iter().all(|it| it.is_same_place(way)) => What::Sleeps,
        Some(_) if computes => What::Computes,
        Some(_) => What::Outside,
    };
    let held = match thread.state {
        'T' => Some(Held::Signal),
        't' => Some(Held::Debugger),
        _ => None,
    };
    let mut doing = Doing {
        thread: thread.id,
        what,
        held,
        function: None,
        in_mpi: false,
        may_last: false,
        site: Vec::new(),
        inside: Vec::new(),
        whole: way.is_whole,
        python: way.python.map(|unknown| unknown.to_string()),
    };
    // Not what starts `main` and threads.
    let end = way.frames.iter().rposition(|frame| !frame.image.is_start(frame.address));
    let frames = &way.frames[..end.map_or(0, |end| end + 1)];
    if let Some(Call { at, name, function }) = call {
        doing.function = Some(name);
        doing.in_mpi = true;
        doing.may_last = function.is_none_or(may_last);
        doing.site = spots(frames.get(at + 1..).unwrap_or_default(), symbols);
        doing.inside = inside(frames, at, symbols);
        return doing;
    }
    let own = frames.iter().position(|frame| has_line(frame, symbols)).unwrap_or_else(|| {
        // Without lines, it is the program's file, or what is at hand.
        let last = frames.last().map(|frame| &frame.image.path);
        frames.iter().position(|frame| Some(&frame.image.path) == last).unwrap_or(0)
    });
    // Of Python, what it has called of C, and not how.
    let is_hidden = |frame: &&Function| frame.python != Python::Hidden;
    if let Some(called) = frames.get(..own).and_then(|inner| inner.iter().rfind(is_hidden)) {
        doing.function = called.image.name(called.address).map(plain);
    }
    doing.site = spots(frames.get(own..).unwrap_or_default(), symbols);
    if doing.site.is_empty() {
        // It has called nothing yet, or does not any more.
        let innermost = way.frames.first();
        doing.function = innermost.and_then(|frame| frame.image.name(frame.address)).map(plain);
    }
    doing
}

/// `read` of `read@@GLIBC_2.2.5`
fn plain(name: &str) -> String {
    name.split('@').next().unwrap_or(name).to_owned()
}

fn is_asleep(thread: &Thread) -> bool {
    matches!(thread.state, 'S' | 'D' | 'T' | 't')
}

fn has_line(frame: &Function, symbols: &mut Symbols) -> bool {
    match frame.python {
        Python::Other => {}
        Python::Hidden => return false,
        Python::Runs(_) => return true,
    }
    frame.role() == Role::Program
        && frame.image.path.starts_with('/')
        && symbols.of(&frame.place()).iter().any(|frame| frame.line.is_some())
}

fn spots(frames: &[Function], symbols: &mut Symbols) -> Vec<Spot> {
    if frames.iter().all(|frame| frame.python == Python::Other) {
        let places: Vec<_> = frames.iter().map(Function::place).collect();
        return symbols.of_site(&places).iter().map(Spot::of).collect();
    }
    let mut spots = Vec::new();
    // From the first one of the application's on, if there is one.
    let mut own = None;
    for frame in frames {
        let (is_library, more): (Vec<bool>, Vec<Spot>) = match &frame.python {
            Python::Other => {
                let is_library = is_installed(&frame.image.path);
                symbols.of(&frame.place()).iter().map(|it| (is_library, Spot::of(it))).unzip()
            }
            Python::Hidden => continue,
            Python::Runs(functions) => {
                functions.iter().map(|it| (is_of_library(&it.file), Spot::of_python(it))).unzip()
            }
        };
        let first = is_library.iter().position(|is_library| !is_library);
        own = own.or(first.map(|first| spots.len() + first));
        spots.extend(more);
    }
    spots.split_off(own.unwrap_or(0))
}

/// What MPI has called of the program: functions further in that are of the file that has called MPI.
fn inside(frames: &[Function], call: usize, symbols: &mut Symbols) -> Vec<Spot> {
    let Some(caller) = frames.get(call + 1) else { return Vec::new() };
    let path = &caller.image.path;
    if frames[call].image.path == *path {
        // MPI is a part of the program.
        return Vec::new();
    }
    let own: Vec<_> =
        frames[..call].iter().filter(|frame| frame.image.path == *path).cloned().collect();
    spots(&own, symbols)
}

impl Doing {
    /// Is it in a call that may last as long as other ranks do not come?
    pub(super) fn may_wait(&self) -> bool {
        self.may_last
            && self.held.is_none()
            && self.inside.is_empty()
            && matches!(self.what, What::Stands | What::Stays)
    }
}

/// May a call of a function last until other ranks come? What only asks does not, nor do functions of one rank.
fn may_last(function: FunctionId) -> bool {
    use mpi_facts::FunctionClass as Class;
    let is_of_several = || match function.class() {
        Class::Communicator | Class::Topology | Class::OneSided | Class::Process => true,
        // Of files, those of all ranks that have opened one: others read and write alone.
        Class::Io => ["_all", "_ordered", "open", "close", "set_", "sync", "preallocate"]
            .iter()
            .any(|part| function.method_name().contains(part)),
        _ => false,
    };
    let shape = Shape::looked_up(function);
    Shape::may_wait(function)
        || matches!(shape.timing, Timing::Blocking) && shape.flag == NONE && is_of_several()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Way;
    use crate::hang::attach::image::{Image, Role};
    use crate::hang::attach::unwind::{End, Frame, Python};

    /// `MPI_Recv`, called by functions of the program at some addresses, and where `main` is started.
    fn way(callers: &[u64], is_whole: bool) -> Way {
        let mpi = Arc::new(Image::made_up("libmpi.so", Role::Mpi, &[(0x10, "MPI_Recv")]));
        let program = Arc::new(Image::made_up("solver", Role::Program, &[(0x100, "solve")]));
        let frame = |image: &Arc<Image>, address, stack| Frame {
            image: image.clone(),
            address,
            stack,
            python: Python::Other,
        };
        let mut frames = vec![frame(&mpi, 0x18, 0x1000)];
        let callers = callers.iter().zip(1_u64..);
        frames.extend(callers.map(|(address, at)| frame(&program, *address, 0x1000 + at * 0x40)));
        Way { frames, is_whole, end: End::Known, python: None }
    }

    #[test]
    fn a_way_that_is_cut_is_compared_as_far_as_it_goes() {
        let whole = way(&[0x110, 0x120, 0x130], true);
        assert_eq!(whole.is_same_call(&way(&[0x110, 0x120, 0x130], true)), Some(true));
        assert_eq!(whole.is_same_call(&way(&[0x110, 0x120, 0x138], true)), Some(false));
        let cut = way(&[0x110, 0x120], false);
        assert_eq!([whole.is_same_call(&cut), cut.is_same_call(&whole)], [Some(true); 2]);
        let elsewhere = way(&[0x118, 0x120], false);
        assert_eq!(
            [whole.is_same_call(&elsewhere), elsewhere.is_same_call(&whole)],
            [Some(false); 2]
        );
        // Nothing can be said of a way without callers. One with more than a whole way is another one.
        assert_eq!(whole.is_same_call(&way(&[], false)), None);
        let more = way(&[0x110, 0x120, 0x130, 0x140], false);
        assert_eq!([whole.is_same_call(&more), more.is_same_call(&whole)], [Some(false); 2]);
    }
}
