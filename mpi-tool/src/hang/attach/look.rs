//! A look at a process: where each of its threads is at a moment.
//!
//! A thread that sleeps is not touched: the kernel says where it is, and its memory can be read. It has not run meanwhile if it was not given a
//! processor. A thread that runs is stopped for as long as copying its stack takes. So is one that sleeps if its way cannot
//! be told without all of its registers; but only in one of the few system calls for which a stop changes nothing.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::time::Duration;

use mpi_tool_python::{Interpreter, Unknown};
use object::elf::{ELFCLASS64, ELFMAG, EM_X86_64, FileClass, Machine};

use super::image::Images;
use super::maps::{self, Mapping};
use super::memory::Memory;
use super::processor::is_untouched_by_stop;
use super::python;
use super::trace::{self, Failure, May, Registers};
use super::unwind::{Copied, End, Loaded, Way};
use crate::hang::process::{effort, started, state, threads};

/// So much of a stack is copied, at most: a rank is stopped meanwhile.
const MOST: u64 = 1 << 20;
/// What a function without calls may have behind the stack's end.
const RED_ZONE: u64 = 128;

/// A thread at a moment.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: u32,
    /// Of `/proc/PID/stat`.
    pub(super) state: char,
    /// How often it was given a processor, and for how long, in nanoseconds.
    pub(super) turns: u64,
    pub(super) time: u64,
    pub(super) way: Result<Way, Unseen>,
    /// For how long it was stopped, at most.
    pub(super) stopped: Duration,
}

/// Why something was not seen.
#[derive(Debug)]
pub(super) enum Unseen {
    /// The kernel has not allowed it, in its words.
    Refused(String),
    /// It could not be seen without disturbing it.
    Undisturbed,
    /// It did not stop in time.
    Late,
    /// Signals have come to it each time it was stopped.
    Signals,
    /// Its program is for another kind of processor, or has addresses of 32 bits.
    Foreign,
}

impl Unseen {
    fn refused(error: &io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

/// All threads of a process, its first one first. `None` if it is not there any more.
pub(super) fn process(
    pid: u32,
    begun: u64,
    images: &mut Images,
) -> Option<Result<Vec<Thread>, Unseen>> {
    if started(pid) != Some(begun) {
        return None;
    }
    match is_x86_64(pid) {
        Ok(true) => {}
        Ok(false) => return Some(Err(Unseen::Foreign)),
        Err(error) => return Some(Err(Unseen::refused(&error))),
    }
    let maps = match fs::read_to_string(format!("/proc/{pid}/maps")) {
        Ok(text) => maps::parse(&text),
        Err(error) => return Some(Err(Unseen::refused(&error))),
    };
    let memory = match Memory::of(pid) {
        Ok(memory) => memory,
        Err(error) => return Some(Err(Unseen::refused(&error))),
    };
    let loaded = Loaded::new(pid, &maps, &memory, images);
    let python = loaded.interpreter(&memory);
    let target = Target { pid, begun, maps, memory, loaded, python };
    let mut ids = threads(pid);
    ids.sort_by_key(|id| (*id != pid, *id));
    Some(Ok(ids.into_iter().filter_map(|id| target.look(id)).collect()))
}

/// Is a process's program for this kind of processor? Registers and stack of others are not understood.
fn is_x86_64(pid: u32) -> io::Result<bool> {
    let mut head = [0; 20];
    File::open(format!("/proc/{pid}/exe"))?.read_exact(&mut head)?;
    Ok(is_head_of_x86_64(&head))
}

/// The class is the fifth byte, the machine the two behind the first 18.
fn is_head_of_x86_64(head: &[u8; 20]) -> bool {
    let machine = Machine(u16::from_le_bytes([head[18], head[19]]));
    head.starts_with(&ELFMAG) && FileClass(head[4]) == ELFCLASS64 && machine == EM_X86_64
}

/// How often a thread is asked for that sleeps now and has run meanwhile.
const TRIES: usize = 3;

struct Target {
    pid: u32,
    begun: u64,
    maps: Vec<Mapping>,
    memory: Memory,
    loaded: Loaded,
    python: Option<Result<Interpreter, Unknown>>,
}

impl Target {
    /// `None` if the thread is not there any more.
    fn look(&self, id: u32) -> Option<Thread> {
        let folder = format!("/proc/{}/task/{id}", self.pid);
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        let state = state(&stat).filter(|state| !matches!(state, 'Z' | 'X' | 'x'))?;
        let effort = effort(self.pid, id)?;
        let thread = |way, stopped| {
            Some(Thread { id, state, turns: effort.turns, time: effort.time, way, stopped })
        };
        let asleep = self.asleep(id).map(|(copied, call)| (self.loaded.way(&copied), call));
        let may_stop = asleep
            .as_ref()
            .is_none_or(|(way, call)| way.end == End::NeedsFrame && call.may_be_stopped_in(state));
        let asleep = asleep.map(|(way, _)| way);
        // Nor is one that a debugger has stopped.
        if state == 't' || !may_stop {
            return thread(asleep.ok_or(Unseen::Undisturbed), Duration::ZERO);
        }
        match trace::stopped(id, || self.may_stop(id), |registers| self.copy(id, registers)) {
            Ok((copied, stopped)) => thread(Ok(self.loaded.way(&copied)), stopped),
            Err(Failure::Gone) => None,
            Err(Failure::Busy) => {
                // It sleeps now.
                let again = || Some(self.loaded.way(&self.asleep(id)?.0));
                thread(asleep.or_else(again).ok_or(Unseen::Undisturbed), Duration::ZERO)
            }
            Err(Failure::Late) => thread(asleep.ok_or(Unseen::Late), Duration::ZERO),
            Err(Failure::Signal) => thread(asleep.ok_or(Unseen::Signals), Duration::ZERO),
            Err(Failure::Refused(error)) => {
                thread(asleep.ok_or_else(|| Unseen::refused(&error)), Duration::ZERO)
            }
        }
    }

    /// May a thread that was seized be stopped? It may have come to another call just now, or its number may be another's.
    fn may_stop(&self, id: u32) -> May {
        let folder = format!("/proc/{}/task/{id}", self.pid);
        let read = |name| fs::read_to_string(format!("{folder}/{name}"));
        let (Ok(call), Ok(stat)) = (read("syscall"), read("stat")) else { return May::Gone };
        if started(self.pid) != Some(self.begun) {
            return May::Gone;
        }
        let may_be = match Call::read(&call) {
            None => call.trim() == "running",
            Some(call) => state(&stat).is_some_and(|state| call.may_be_stopped_in(state)),
        };
        if may_be { May::Stop } else { May::Not }
    }

    fn copy(&self, id: u32, registers: Registers) -> Copied {
        let begin = registers.stack.saturating_sub(RED_ZONE);
        // The first stack may have grown since: its end is the same.
        let mut parts = self.maps.iter();
        let end = parts.find(|part| part.addresses.end > registers.stack);
        let length = end.map_or(0, |part| part.addresses.end - begin).min(MOST);
        let stack = self.memory.read(begin, length);
        let python = self.python.map(|python| python::stack(&python?, &self.memory, id));
        Copied { registers, begin, stack, python }
    }

    /// A thread that does not run, without stopping it; `None` if it runs, or has run meanwhile.
    fn asleep(&self, id: u32) -> Option<(Copied, Call)> {
        let turns = || effort(self.pid, id).map(|effort| effort.turns).filter(|turns| *turns > 0);
        (0..TRIES).find_map(|_| {
            let begin = turns()?;
            let call = Call::of(self.pid, id)?;
            let copied = self.copy(id, call.registers);
            let is_the_same =
                turns() == Some(begin) && Call::of(self.pid, id).as_ref() == Some(&call);
            is_the_same.then_some((copied, call))
        })
    }
}

/// The system call that a thread is in, or where else it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    /// `None` of a thread that stands outside of one.
    number: Option<i64>,
    registers: Registers,
}

impl Call {
    fn of(pid: u32, thread: u32) -> Option<Self> {
        Self::read(&fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?)
    }

    /// `202 0x7f 0x0 … 0x7ffd 0x7f00`, or `-1 0x7ffd 0x7f00`; `None` of `running`.
    fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let number = words.first()?.parse::<i64>().ok()?;
        let value = |at: usize| u64::from_str_radix(words.get(at)?.strip_prefix("0x")?, 16).ok();
        let [stack, instruction] = [2, 1].map(|back| words.len().checked_sub(back).and_then(value));
        let registers = Registers { instruction: instruction?, stack: stack?, frame: None };
        let number = (number >= 0).then_some(number);
        Some(Self { number, registers })
    }

    /// Does a stop change nothing for a thread that sleeps in it?
    fn may_be_stopped_in(&self, state: char) -> bool {
        // What a signal has stopped outside of a call is in none that could be disturbed.
        self.number.map_or(state == 'T', is_untouched_by_stop)
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Registers, is_head_of_x86_64};

    #[test]
    fn system_calls_are_understood() {
        let call = Call::read("0 0x3 0x7ffd10 0x1 0x0 0x0 0x0 0x7ffd00 0x7f0012\n").unwrap();
        let registers = Registers { instruction: 0x7f0012, stack: 0x7ffd00, frame: None };
        assert_eq!(call, Call { number: Some(0), registers });
        let other = Call::read("-1 0x7ffd00 0x7f0012\n").unwrap();
        assert_eq!((other.number, other.registers), (None, registers));
        assert_eq!(Call::read("running\n"), None);
        assert_eq!(Call::read(""), None);
    }

    /// The numbers are those of x86-64's table of calls.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_thread_that_sleeps_elsewhere_is_left_alone() {
        let may = |number, state| {
            let call = Call::read(&format!("{number} 0x0 0x0 0x0 0x0 0x0 0x0 0x10 0x20")).unwrap();
            call.may_be_stopped_in(state)
        };
        assert!(may(202, 'S') && may(7, 'S') && !may(1, 'S') && !may(232, 'S'));
        assert!(may(-1, 'T') && !may(-1, 'D'));
    }

    /// The ELF specification: byte 4 is 2 for 64 bits, byte 18 is 62 for x86-64, 3 for i386, 183 for AArch64.
    #[test]
    fn programs_for_other_processors_are_known() {
        let head = |class, machine| {
            let mut head = *b"\x7fELF\0\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\0\0";
            (head[4], head[18]) = (class, machine);
            is_head_of_x86_64(&head)
        };
        assert!(head(2, 62));
        assert!(!head(1, 62) && !head(1, 3) && !head(2, 183));
        assert!(!is_head_of_x86_64(b"#!/bin/sh\n#########\n"[..20].try_into().unwrap()));
    }
}
