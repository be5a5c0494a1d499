//! Samples of the same pattern in C and on rmpi, in pairs: for the programs that measure.

#![allow(dead_code, reason = "not every program has all of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rmpi::{Communicator, MpiDatatype, RmpiContext, RmpiResult, Tag};
use serde_json::json;

/// Counts what Rust allocates, where a program takes it for its allocator.
pub(crate) struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: an allocator must give valid memory of the layout that it is asked for, and not unwind: the system's
// does that, and the counter cannot fail.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the system's allocator wants a layout of some size, which the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the system's allocator wants what it gave, with the same layout: `alloc` has it from there,
        // and the caller promises the rest.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The patterns in C.
pub(crate) struct C(*mut libc::c_void);

impl C {
    pub(crate) fn open(path: &str) -> Result<Self, Box<dyn Error>> {
        let path = CString::new(path)?;
        // SAFETY: `dlopen` reads a C string, and runs constructors: the library is one of this crate's in C,
        // which has none.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            Err(format!("{path:?} was not loaded").into())
        } else {
            Ok(Self(handle))
        }
    }

    pub(crate) fn function(&self, name: &str) -> *mut libc::c_void {
        let name = CString::new(name).expect("a name");
        // SAFETY: `dlsym` reads a C string, which `name` is, and wants an opened library: `open` has checked
        // the handle, and nothing closes it.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?} is missing");
        address
    }

    pub(crate) fn one(&self, name: &str) -> extern "C" fn(*mut f64, c_int, c_int) {
        // SAFETY: the transmute wants the function's own prototype: those in C that are asked for by `one` take
        // a pointer and two integers. A pointer to bytes takes one to numbers, too.
        unsafe { std::mem::transmute(self.function(name)) }
    }

    pub(crate) fn two(&self, name: &str) -> extern "C" fn(*const f64, *mut f64, c_int, c_int) {
        // SAFETY: the transmute wants the function's own prototype: those in C that are asked for by `two` take
        // two pointers and two integers.
        unsafe { std::mem::transmute(self.function(name)) }
    }
}

/// Small, and the same on all ranks.
struct Random(u64);

impl Random {
    fn coin(&mut self) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 & 64 != 0
    }
}

pub(crate) struct Measurement<'a> {
    pub(crate) context: &'a RmpiContext,
    samples: usize,
    random: Random,
}

impl<'a> Measurement<'a> {
    pub(crate) fn new(context: &'a RmpiContext, samples: usize) -> Self {
        Self { context, samples, random: Random(0x2545_f491) }
    }

    /// The seconds of each sample of two functions, in pairs, in random order; and how often they allocate.
    pub(crate) fn samples<E: From<rmpi::Error>>(
        &mut self,
        mut one: impl FnMut() -> Result<(), E>,
        mut other: impl FnMut() -> Result<(), E>,
    ) -> Result<([Vec<f64>; 2], u64), E> {
        let world = self.context.world();
        let mut times = [Vec::with_capacity(self.samples), Vec::with_capacity(self.samples)];
        let mut allocations = 0;
        for _ in 0..self.samples {
            let first = usize::from(self.random.coin());
            for which in [first, 1 - first] {
                world.barrier()?;
                let before = ALLOCATIONS.load(Relaxed);
                let start = self.context.wtime();
                if which == 0 {
                    one()?;
                } else {
                    other()?;
                }
                let seconds = self.context.wtime() - start;
                allocations += ALLOCATIONS.load(Relaxed) - before;
                times[which].push(seconds);
            }
        }
        Ok((times, allocations))
    }

    /// A pattern in C and on rmpi; prints seconds a round.
    pub(crate) fn pairs(
        &mut self,
        pattern: &str,
        bytes: usize,
        rounds: c_int,
        mut c: impl FnMut(c_int),
        mut rust: impl FnMut(c_int) -> RmpiResult,
    ) -> RmpiResult {
        c(rounds.min(10));
        rust(rounds.min(10))?;
        let in_c = || -> RmpiResult {
            c(rounds);
            Ok(())
        };
        let (mut times, allocations) = self.samples(in_c, || rust(rounds))?;
        times.iter_mut().flatten().for_each(|seconds| *seconds /= f64::from(rounds));
        if self.context.world().rank()? == 0 {
            println!(
                "{}",
                json!({"pattern": pattern, "bytes": bytes, "c": times[0], "rust": times[1],
                    "allocations": allocations})
            );
        }
        Ok(())
    }
}

/// How many rounds fit so many seconds: all ranks agree.
pub(crate) fn rounds(
    context: &RmpiContext,
    seconds: f64,
    trial: &mut dyn FnMut(c_int) -> RmpiResult,
) -> RmpiResult<c_int> {
    let world = context.world();
    world.barrier()?;
    let start = context.wtime();
    trial(10)?;
    let mut rounds = (seconds / ((context.wtime() - start) / 10.0)).clamp(4.0, 100_000.0);
    world.process(0).bcast(&mut rounds)?;
    Ok(rounds as c_int)
}

/// Messages between ranks 0 and 1, to and fro.
pub(crate) fn ping_pong<T: MpiDatatype>(
    world: &Communicator<'_>,
    buffer: &mut [T],
    rounds: c_int,
) -> RmpiResult {
    const TAG: Tag = Tag::new(0);
    let rank = world.rank()?;
    let other = world.process(1 - rank.min(1));
    for _ in 0..rounds {
        if rank == 0 {
            other.send(&*buffer, TAG)?;
            other.recv(&mut *buffer, TAG)?;
        } else if rank == 1 {
            other.recv(&mut *buffer, TAG)?;
            other.send(&*buffer, TAG)?;
        }
    }
    Ok(())
}
