//! Disturbs the order of things, as far as the standard leaves it open: calls are delayed, and a receive from anybody
//! takes another message that is there, too. What depends on the order shows. The same seed makes the same choices.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::Duration;

use mpi_tool_layer::mpi_sys::{
    MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_Comm, MPI_Count, MPI_Datatype, MPI_STATUS_IGNORE, MPI_SUCCESS,
    MPI_Status, MPI_THREAD_MULTIPLE, c_int, c_void, pmpi,
};
use mpi_tool_layer::{
    Call, CommunicatorLayer, Compiled, FunctionClass, LayerChain, NextFunctions,
    RawMpiInterceptionLayer, Returned, Setting, SettingDefault, Settings, Tool, UnsafeBox,
    install_qmpi_layer, launched_rank, world_position,
};

struct Perturb {
    seed: AtomicU64,
    /// The longest delay, in microseconds.
    delay: AtomicU64,
    /// How many choices this process has made.
    choices: AtomicU64,
}

/// How many sources are asked for a message at most.
const ASKED: u32 = 64;
/// The greatest tag that each MPI has: greater ones may be wrong, and are left to the application's own call.
const TAGS: c_int = 32_767;

impl Perturb {
    /// The next number of this process's own sequence: the finalizer of SplitMix64.
    fn choose(&self) -> u64 {
        let number = self.choices.fetch_add(1, Relaxed);
        let rank = world_position().map(|(rank, _)| rank).or_else(launched_rank).unwrap_or(0);
        let mix = |word: u64| {
            let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ word >> 31
        };
        mix(mix(mix(self.seed.load(Relaxed)) ^ u64::from(rank)) ^ number)
    }

    fn delay(&self) {
        let most = self.delay.load(Relaxed);
        let choice = self.choose();
        // Half of the calls go on at once: what one rank does late must meet what others do early.
        if most > 0 && choice & 1 == 1 {
            thread::sleep(Duration::from_micros((choice >> 1) % most + 1));
        }
    }

    /// Whose message a receive from anybody is to take: one that is there, if there is any.
    fn source(
        &self,
        table: &dyn NextFunctions,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) -> c_int {
        let choice = self.choose();
        let is_tag = tag == MPI_ANY_TAG || (0..=TAGS).contains(&tag);
        if source != MPI_ANY_SOURCE || !is_tag || !is_one_thread() {
            return source;
        }
        let Some((own, other)) = CommunicatorLayer::communicators().members(comm) else {
            return source;
        };
        let size = other.unwrap_or(own).size();
        if size == 0 {
            return source;
        }
        let first = (choice % u64::from(size)) as u32;
        for step in 0..size.min(ASKED) {
            let asked = ((first + step) % size) as c_int;
            let mut is_there = 0;
            // SAFETY: a probe wants a communicator, which the kit knows, one of its ranks, a tag, and an address for a flag.
            let result =
                unsafe { table.iprobe(asked, tag, comm, &mut is_there, MPI_STATUS_IGNORE) };
            if result == MPI_SUCCESS && is_there != 0 {
                // No other thread takes it away in between.
                return asked;
            }
        }
        source
    }
}

/// Does one thread call MPI at a time, so that what a probe has found is there for the receive?
fn is_one_thread() -> bool {
    static LEVEL: AtomicU64 = AtomicU64::new(u64::MAX);
    let known = LEVEL.load(Acquire);
    if known != u64::MAX {
        return known < MPI_THREAD_MULTIPLE as u64;
    }
    if world_position().is_none() {
        return false;
    }
    let mut level = MPI_THREAD_MULTIPLE;
    // SAFETY: `MPI_Query_thread` may be called from `MPI_Init` to `MPI_Finalize`, which the position shows, and writes one
    // `int`.
    unsafe { pmpi::MPI_Query_thread(&mut level) };
    LEVEL.store(level as u64, Release);
    level < MPI_THREAD_MULTIPLE
}

macro_rules! receives {
    ($($name:ident ($count:ty);)*) => {
        $(
            fn $name<F>(
                &self,
                next_f: UnsafeBox<'_, F>,
                buf: *mut c_void,
                count: $count,
                datatype: MPI_Datatype,
                source: c_int,
                tag: c_int,
                comm: MPI_Comm,
                status: *mut MPI_Status,
            ) -> c_int
            where
                F: FnOnce(
                    *mut c_void, $count, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Status,
                ) -> c_int,
            {
                self.delay();
                let source = self.source(next_f.table(), source, tag, comm);
                // SAFETY: the application's own call, from anybody or from somebody whose message is there.
                unsafe { next_f.unwrap()(buf, count, datatype, source, tag, comm, status) }
            }
        )*
    };
}

// SAFETY: a layer must do what the standard says of each function. Any call may take long. A receive from anybody may take
// the first message of any source that is there.
unsafe impl RawMpiInterceptionLayer for Perturb {
    const COMPILED: Compiled = Compiled::Once;

    receives! {
        recv (c_int);
        recv_c (MPI_Count);
    }

    fn around_call<'c, F, R>(&self, call: impl Call<'c>, next: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
        R: Returned,
    {
        use FunctionClass::{Collective, Neighborhood, PointToPoint};
        if matches!(call.class(), PointToPoint | Collective | Neighborhood) {
            self.delay();
        }
        // SAFETY: the application's own call.
        unsafe { next.unwrap()() }
    }
}

impl Tool for Perturb {
    const NEW: Self =
        Self { seed: AtomicU64::new(0), delay: AtomicU64::new(0), choices: AtomicU64::new(0) };

    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "SEED",
            default: SettingDefault::Number(1),
            help: "makes other choices; the same one makes the same",
        },
        Setting {
            name: "DELAY",
            default: SettingDefault::Number(100),
            help: "how many microseconds a call is delayed at most; 0: no call is",
        },
    ];

    fn configure(&self, settings: &Settings) {
        self.seed.store(settings.number("SEED"), Relaxed);
        // A second, so that a wrong number does not look like a hang.
        self.delay.store(settings.number("DELAY").min(1_000_000), Relaxed);
    }
}

type Both = LayerChain<CommunicatorLayer, Perturb>;
install_qmpi_layer!(Both, name = "mpi-perturb");
