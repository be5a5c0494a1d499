//! A clock for tools: the processor's cycle counter where the kernel itself trusts it, else the
//! kernel's monotonic clock. Never `MPI_Wtime`, which is a call of MPI.

use crate::call::CallResult;
use crate::{arch, aside};
use core::sync::atomic::{
    AtomicU8, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Monotonic time of this process, in *ticks*: cheap to read, and made nanoseconds of when a report
/// is written.
///
/// Where `/sys/devices/system/clocksource/clocksource0/current_clocksource` says `tsc` (x86-64) or `arch_sys_counter` (aarch64), a
/// tick is one of the processor's cycle counter: the kernel has found then that it runs at one rate on all
/// processors and does not stop. The rate is measured against `CLOCK_MONOTONIC`, over all the time
/// since the first reading. Elsewhere a tick is a nanosecond of `CLOCK_MONOTONIC`, which
/// `clock_gettime` reads without a system call.
///
/// ```
/// use mpi_tool_layer::Clock;
///
/// let start = Clock::now();
/// let sum: u64 = (0..1000).sum();
/// let ticks = Clock::now() - start;
/// println!("{sum}, after {} ns", Clock::nanoseconds(ticks));
/// ```
#[derive(Debug)]
pub struct Clock;

/// How ticks are read: [`UNKNOWN`], [`CYCLES`] or [`MONOTONIC`].
static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const CYCLES: u8 = 1;
const MONOTONIC: u8 = 2;

/// Ticks and nanoseconds of one moment, the first reading's.
static FIRST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The rate is measured over at least so many nanoseconds: two readings of `CLOCK_MONOTONIC` that are
/// 50 ns apart from their ticks make an error of 0.005 % then.
const SHORTEST: u64 = 1_000_000;

/// The same for the rate that stays: it differs by 0.0005 % from the right one, and a clock that the network sets by ten
/// times as much.
const SHORTEST_THAT_STAYS: u64 = 10_000_000;

/// The rate by which all ticks are made nanoseconds, as the bits of its number; 0 before the first time.
static RATE: AtomicU64 = AtomicU64::new(0);

impl Clock {
    /// The time, in ticks. Five instructions where it is the cycle counter; for any thread, and for
    /// signal handlers but for the process's first reading, which reads a file.
    #[inline(always)]
    pub fn now() -> u64 {
        if counts_cycles() { arch::cycles() } else { aside!(now_slowly) }
    }

    /// Is a tick one of the processor's cycle counter? Then [`cycles`](Self::cycles) tells what [`now`](Self::now) does.
    pub fn counts_cycles() -> bool {
        if KIND.load(Acquire) == UNKNOWN {
            start();
        }
        KIND.load(Acquire) == CYCLES
    }

    /// What [`now`](Self::now) is where [`counts_cycles`](Self::counts_cycles) says so, without asking: for who has kept the
    /// answer. Elsewhere it is a number that means nothing.
    #[inline(always)]
    pub fn cycles() -> u64 {
        arch::cycles()
    }

    /// The same before a call of a function with three arguments and more: where reading the counter changes registers of
    /// arguments, in fewer instructions than the compiler would take to put them back.
    #[inline(always)]
    pub fn cycles_before_call() -> u64 {
        arch::cycles_before_call()
    }

    /// The same after a call, and the call's result, which may be in a register that reading the counter changes.
    #[inline(always)]
    pub fn cycles_after_call(result: CallResult<'_>) -> (u64, CallResult<'_>) {
        arch::cycles_after_call(result)
    }

    /// The halves of [`cycles`](Self::cycles), the lower one first, as some processors have them: to make one number of them
    /// takes instructions.
    #[inline(always)]
    pub fn cycles_in_halves() -> [u32; 2] {
        arch::cycles_in_halves()
    }

    /// The process's first reading of the clock, in ticks: a tool's is that when it was loaded.
    pub fn start() -> u64 {
        Self::counts_cycles();
        FIRST[0].load(Relaxed)
    }

    /// A moment, as [`now`](Self::now) tells it, in seconds since [`start`](Self::start).
    pub fn seconds_since_start(moment: u64) -> f64 {
        Self::nanoseconds(moment.saturating_sub(Self::start())) as f64 / 1e9
    }

    /// How many nanoseconds so many ticks are: always as many, and never less for more ticks. For signal handlers, too.
    /// Asked within the first ten milliseconds, it waits until these are over, as the rate is not known well enough before.
    pub fn nanoseconds(ticks: u64) -> u64 {
        let mut rate = f64::from_bits(RATE.load(Relaxed));
        if rate == 0.0 {
            let measured = Self::measured_over(SHORTEST_THAT_STAYS);
            // Of several threads the first one says it.
            rate = match RATE.compare_exchange(0, measured.to_bits(), Relaxed, Relaxed) {
                Ok(_) => measured,
                Err(known) => f64::from_bits(known),
            };
        }
        if rate == 1.0 { ticks } else { (ticks as f64 * rate) as u64 }
    }

    /// How many ticks so many nanoseconds are, as well as it is known by now. For signal handlers, too. Asked within the
    /// first millisecond, it waits until that is over.
    pub fn ticks(nanoseconds: u64) -> u64 {
        (nanoseconds as f64 / Self::nanoseconds_per_tick()) as u64
    }

    /// The length of a tick, as well as it is known by now.
    pub fn nanoseconds_per_tick() -> f64 {
        Self::measured_over(SHORTEST)
    }

    /// The length of a tick, measured over all the time since the first reading: at least over so many nanoseconds.
    fn measured_over(shortest: u64) -> f64 {
        if KIND.load(Acquire) == UNKNOWN {
            start();
        }
        if KIND.load(Acquire) != CYCLES {
            return 1.0;
        }
        let [first_tick, first] = [&FIRST[0], &FIRST[1]].map(|word| word.load(Relaxed));
        loop {
            let (ticks, now) = pair(CYCLES);
            let passed = now.saturating_sub(first);
            if passed >= shortest {
                return passed as f64 / ticks.saturating_sub(first_tick).max(1) as f64;
            }
            core::hint::spin_loop();
        }
    }
}

/// Is the cycle counter read?
#[inline(always)]
fn counts_cycles() -> bool {
    crate::__return_is_byte! { KIND, CYCLES }
}

/// Reads the other clock, or finds out which one to read.
extern "C" fn now_slowly() -> u64 {
    if KIND.load(Acquire) == UNKNOWN {
        start();
    }
    read(KIND.load(Acquire))
}

/// Finds out which clock to read. Threads that do so at once find the same.
fn start() {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let is_trusted =
        std::fs::read(SOURCE).is_ok_and(|source| source.trim_ascii() == arch::CLOCK_SOURCE);
    let kind = if is_trusted { CYCLES } else { MONOTONIC };
    let (ticks, now) = pair(kind);
    // Only one thread's moment counts; 0 is no time of a machine that runs.
    if FIRST[1].compare_exchange(0, now, Relaxed, Relaxed).is_ok() {
        FIRST[0].store(ticks, Relaxed);
        KIND.store(kind, Release);
    } else {
        while KIND.load(Acquire) == UNKNOWN {
            core::hint::spin_loop();
        }
    }
}

/// Ticks and nanoseconds of one moment: of several tries the one that took least, as a thread may be
/// interrupted between its two readings.
fn pair(kind: u8) -> (u64, u64) {
    let tries = (0..5).map(|_| {
        let before = read(kind);
        let now = monotonic();
        let after = read(kind);
        let took = after.saturating_sub(before);
        (took, before + took / 2, now)
    });
    let best = tries.min_by_key(|(took, ..)| *took);
    best.map_or((0, 0), |(_, ticks, now)| (ticks, now))
}

fn read(kind: u8) -> u64 {
    if kind == CYCLES { arch::cycles() } else { monotonic() }
}

fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `clock_gettime` writes one `timespec`, which `time` is, and may be called anywhere.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// The known answer is the kernel's: `Instant` reads `CLOCK_MONOTONIC`. The outer readings are
    /// around the inner ones, so the clock can say no more than they, and little less.
    #[test]
    fn time_is_the_kernels() {
        Clock::now();
        let outer = Instant::now();
        let start = Clock::now();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        let least = inner.elapsed().as_nanos() as f64;
        let ticks = Clock::now() - start;
        let most = outer.elapsed().as_nanos() as f64;
        let measured = Clock::nanoseconds(ticks) as f64;
        assert!(measured >= least * 0.9995, "{measured} is less than {least}");
        assert!(measured <= most * 1.0005, "{measured} is more than {most}");
    }

    #[test]
    fn time_does_not_run_backwards_in_a_thread() {
        let mut last = Clock::now();
        for _ in 0..10_000 {
            let now = Clock::now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn what_was_a_time_stays_that_time() {
        let start = Clock::now();
        let first = Clock::nanoseconds(start);
        let mut last = first;
        for _ in 0..10_000 {
            assert_eq!(Clock::nanoseconds(start), first);
            let now = Clock::nanoseconds(Clock::now());
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn both_clocks_agree() {
        for kind in [CYCLES, MONOTONIC] {
            let (before, (_, between), after) = (monotonic(), pair(kind), monotonic());
            assert!((before..=after).contains(&between));
        }
    }
}
