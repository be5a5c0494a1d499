//! Shows where MPI time goes: calls, time and bytes by function, call site, communicator and size.

mod early;
mod fast;
mod keys;
mod overhead;
mod peers;
mod row;
mod wait;

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mpi_tool_layer::mpi_sys::{MPI_Comm, c_int};
use mpi_tool_layer::{
    AnyCall, AnyTable, Call, CallResult, Caller, Clock, Communicators, Compiled, Exchange, Flow,
    FunctionId, MpiInterceptionLayer, Nesting, OutOfLine, PeerTable, PredefinedDatatype, Setting,
    SettingDefault, Settings, Site, SizeClass, Table, Tally, ThisThread, Tool, TrackedComm,
    Traffic, functions, install_qmpi_layer, may_be_one_of,
};

use early::Early;
use keys::Keys;
use peers::NowWithPeers;
use row::{MEASURES, ROWS, Row, UNMEASURED};
use wait::Start;

struct Profile {
    calls: Table<Row, { MEASURES.len() }>,
    traffic: Traffic<Row>,
    communicators: Communicators,
    peers: PeerTable,
    keys: AtomicU32,
    /// The phase that the application is in; 0 for none.
    phase: AtomicU32,
    early: Early,
}

/// A call as it is known before it is passed on. Where it comes from, and which communicator it has, is looked up after it,
/// when the call's arguments need not be kept any more.
#[derive(Clone, Copy)]
struct Begun {
    function: FunctionId,
    caller: Caller,
    comm: Option<MPI_Comm>,
}

impl Begun {
    #[inline(always)]
    fn now(function: FunctionId, comm: Option<MPI_Comm>) -> Self {
        Self { function, caller: Caller::of_this_call(), comm }
    }

    #[inline(always)]
    fn of<'c>(call: impl Call<'c>) -> Self {
        Self::now(call.function(), call.communicator().map(|comm| comm.raw()))
    }
}

/// A call on its way: the data that it moves itself are its own row's, and are added with its time.
struct Now<'a> {
    profile: &'a Profile,
    row: Cell<Row>,
    sent: Cell<u64>,
    received: Cell<u64>,
    /// Bytes that the call only starts to receive, or prepares to move: as many as there is room for.
    later: Cell<u64>,
}

impl Now<'_> {
    /// The call's row, with the size of its data.
    #[inline(always)]
    fn sized(&self, keys: Keys) -> Row {
        let size = if keys.has(Keys::SIZE) {
            let bytes = [&self.sent, &self.received, &self.later].map(Cell::get);
            SizeClass::of(bytes.into_iter().fold(0, u64::saturating_add))
        } else {
            SizeClass::NONE
        };
        Row { size, ..self.row.get() }
    }
}

impl AsRef<Self> for Now<'_> {
    #[inline(always)]
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Tally<Row> for Now<'_> {
    #[inline(always)]
    fn moved(&self, row: Row, flow: Flow, datatype: PredefinedDatatype, elements: u64) {
        let bytes = elements.wrapping_mul(datatype.size());
        if row != self.row.get() {
            // Of an operation that an earlier call has started.
            self.profile.moved_before(row, flow, bytes);
        } else if flow == Flow::Received {
            self.received.set(self.received.get().wrapping_add(bytes));
        } else {
            self.sent.set(self.sent.get().wrapping_add(bytes));
        }
    }

    /// What moves later counts in the row in which the call does.
    fn kept(&self, _: Row, bytes: u64) -> Row {
        self.later.set(bytes);
        self.sized(self.profile.keys())
    }
}

/// A call while measuring is switched off. What an earlier call has started still counts.
struct Unmeasured<'a>(&'a Profile);

impl Tally<Row> for Unmeasured<'_> {
    fn moved(&self, row: Row, flow: Flow, datatype: PredefinedDatatype, elements: u64) {
        self.0.moved_before(row, flow, elements.wrapping_mul(datatype.size()));
    }

    fn communicators(&self) -> Option<&Communicators> {
        self.0.communicators_of_peers()
    }

    fn exchanged(&self, row: Row, exchange: Exchange) {
        self.0.exchanged(row, exchange);
    }
}

impl Profile {
    /// The application begins a phase, or none with 0.
    fn begin_phase(&self, number: u32) {
        self.phase.store(number, Relaxed);
        self.calls.any().begin_phase(number);
    }

    #[cold]
    fn moved_before(&self, row: Row, flow: Flow, bytes: u64) {
        if row.phase == UNMEASURED {
            return;
        }
        let some = (bytes > 0).then_some(bytes);
        let (sent, received) = if flow == Flow::Received { (None, some) } else { (some, None) };
        let values = [None, sent, received, None];
        self.calls.add(row, 0, values);
    }

    /// The communicators, if peers are told apart.
    fn communicators_of_peers(&self) -> Option<&Communicators> {
        self.keys().has(Keys::PEER).then_some(&self.communicators)
    }

    /// Data have moved to or from a peer, by a call of this row.
    fn exchanged(&self, row: Row, exchange: Exchange) {
        let Exchange { flow, peer, bytes, .. } = exchange;
        if row.phase != UNMEASURED {
            self.peers.add(row.function, peer, flow, bytes);
        }
    }

    #[inline(always)]
    fn keys(&self) -> Keys {
        Keys(self.keys.load(Relaxed))
    }

    /// The row of a call, but for the size of its data, if it takes a few instructions only to find that out.
    #[inline(always)]
    fn known_row(&self, thread: ThisThread, keys: Keys, begun: Begun) -> Option<Row> {
        let site = begun.caller.known_site(thread, keys.depth())?;
        let communicator = match begun.comm {
            Some(comm) if keys.has(Keys::COMMUNICATOR) => self.communicators.known_handle(comm)?,
            _ => TrackedComm::NONE,
        };
        Some(self.row_of(begun.function, site, communicator))
    }

    #[inline(always)]
    fn row_of(&self, function: FunctionId, site: Site, communicator: TrackedComm) -> Row {
        let phase = self.phase.load(Relaxed);
        Row { function, site, communicator, size: SizeClass::NONE, phase }
    }

    /// The same for any call.
    #[inline(always)]
    fn row(&self, begun: Begun) -> Row {
        self.row_slowly(begun.function, begun.caller, begun.comm)
    }

    /// The same. The parts stand alone: if they were together in memory, each call would write them there.
    #[inline(never)]
    fn row_slowly(&self, function: FunctionId, caller: Caller, comm: Option<MPI_Comm>) -> Row {
        let keys = self.keys();
        let communicator = match comm {
            Some(comm) if keys.has(Keys::COMMUNICATOR) => self.communicators.of_handle(comm),
            _ => TrackedComm::NONE,
        };
        self.row_of(function, caller.site(keys.depth()), communicator)
    }

    /// Adds a call that has moved no data to its row: its time, if it has taken any.
    #[inline(always)]
    fn add_plain(&self, begun: Begun, start: u64, end: u64, time: Option<u64>) {
        let (thread, keys) = (ThisThread::get(), self.keys());
        if !is_begin(begun.function)
            && !is_end(begun.function)
            && let Some(row) = self.known_row(thread, keys, begun)
            && let row = (Row { size: keys.no_size(), ..row })
            && self.calls.add_known(thread, row, end, [time, None, None, None])
        {
            return;
        }
        self.add_plain_slowly(begun.function, begun.caller, begun.comm, start, end, time);
    }

    /// The same for any call. Not in each function's own code.
    #[inline(never)]
    fn add_plain_slowly(
        &self,
        function: FunctionId,
        caller: Caller,
        comm: Option<MPI_Comm>,
        start: u64,
        end: u64,
        time: Option<u64>,
    ) {
        let row = self.row_slowly(function, caller, comm);
        let row = Row { size: self.keys().no_size(), ..row };
        self.add(row, start, end, [time, None, None, None]);
    }

    /// Adds any call to its row.
    #[inline(never)]
    fn add(&self, row: Row, start: u64, end: u64, values: [Option<u64>; MEASURES.len()]) {
        let look = || self.early.look(start, end, self.calls.any());
        self.calls.add_call(row, end, values, look);
        if is_begin(row.function) {
            self.calls.begin_segments(row, end);
        } else if is_end(row.function) {
            self.calls.end_segments(row, end);
        }
    }

    /// Passes on a call that moves no data and has no communicator, and adds its time to its row.
    #[inline(always)]
    fn timed<R>(&self, function: FunctionId, next_f: impl FnOnce() -> R) -> R {
        if self.keys().has(Keys::OFF) {
            return next_f();
        }
        self.timed_in(Nesting::enter(), Begun::now(function, None), next_f)
    }

    #[inline(always)]
    fn timed_in<R>(&self, nesting: Nesting, begun: Begun, next_f: impl FnOnce() -> R) -> R {
        let start = Clock::now();
        let result = next_f();
        let end = Clock::now();
        // The time of a call inside of another one is a part of that one's.
        let start = if nesting.is_outermost() { start } else { end };
        let time = nesting.is_outermost().then_some(end.wrapping_sub(start));
        drop(nesting);
        self.add_plain(begun, start, end, time);
        result
    }

    /// Passes on a call that ends a communicator, and adds its time to its row.
    fn timed_end<'c>(
        &self,
        nesting: Nesting,
        begun: Begun,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        // Afterwards, nobody knows the communicator any more.
        let row = Row { size: self.keys().no_size(), ..self.row(begun) };
        let start = Clock::now();
        let result = self.communicators.ending(begun.comm, next_f);
        let end = Clock::now();
        let start = if nesting.is_outermost() { start } else { end };
        let time = nesting.is_outermost().then_some(end.wrapping_sub(start));
        drop(nesting);
        self.add(row, start, end, [time, None, None, None]);
        result
    }

    /// Passes on a call while measuring is switched off: what it makes, starts and completes is followed all the same, and
    /// it waits with the others, who may be measuring.
    fn unmeasured<'c>(
        &self,
        call: AnyCall<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let keys = self.keys();
        if keys.has(Keys::WAIT) {
            self.communicators.await_all(call);
        }
        let row = || Row {
            phase: UNMEASURED,
            ..self.row_of(call.function(), Site::UNKNOWN, TrackedComm::NONE)
        };
        self.communicators
            .around(call, || self.traffic.around(&Unmeasured(self), row, call, next_f))
    }

    /// Passes on a call that may move data, and adds its time and its data to its row. `tally` makes of the call on its
    /// way what is told of the data, and `start` begins to measure its time.
    #[inline(always)]
    fn measured<'a, 'c, T: Tally<Row> + AsRef<Now<'a>>>(
        &'a self,
        nesting: Nesting,
        begun: Begun,
        call: impl Call<'c>,
        tally: impl FnOnce(Now<'a>) -> T,
        start: impl FnOnce() -> Start,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let now = Now {
            profile: self,
            row: Cell::new(self.row_of(begun.function, Site::UNKNOWN, TrackedComm::NONE)),
            sent: Cell::new(0),
            received: Cell::new(0),
            later: Cell::new(0),
        };
        let tally = tally(now);
        let now = tally.as_ref();
        let (from, to, waited) = (Cell::new(0), Cell::new(0), Cell::new(None));
        let is_outermost = nesting.is_outermost();
        let timed = {
            let (from, to, waited, row) = (&from, &to, &waited, &now.row);
            move || {
                let start = start();
                let result = next_f();
                let end = Clock::now();
                // The time of a call inside of another one is a part of that one's.
                from.set(if is_outermost { start.time } else { end });
                to.set(end);
                waited.set(start.waited(end.wrapping_sub(start.time)));
                let known = self.known_row(ThisThread::get(), self.keys(), begun);
                row.set(known.unwrap_or_else(|| self.row(begun)));
                result
            }
        };
        let result = self.traffic.around(&tally, || now.row.get(), call, timed);
        let (from, to) = (from.get(), to.get());
        let time = is_outermost.then_some(to.wrapping_sub(from));
        let waited = waited.get().filter(|_| is_outermost);
        drop(nesting);
        let [sent, received] = [&now.sent, &now.received].map(|bytes| {
            let bytes = bytes.get();
            (bytes > 0).then_some(bytes)
        });
        let keys = self.keys();
        let (row, values) = (now.sized(keys), [time, sent, received, waited]);
        if !self.calls.add_known(ThisThread::get(), row, to, values) {
            self.add(row, from, to, values);
        }
        if let Ok(accepted) = result
            && keys.has(Keys::COMMUNICATOR | Keys::PEER | Keys::WAIT)
        {
            self.communicators.made(call, accepted);
        }
        result
    }

    /// Is more wanted than most users want, or is the call in another one?
    #[inline(always)]
    fn is_unusual(&self) -> bool {
        self.keys().has(Keys::PEER | Keys::WAIT | Keys::OFF) || Nesting::is_inside()
    }

    #[inline(always)]
    fn around_call<'c, C: Call<'c>>(
        &self,
        call: C,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if self.is_unusual() {
            return call.out_of_line(Unusual(self), next_f);
        }
        if const { may_be_one_of::<C>(&ENDS) } && ENDS[call.function() as usize] {
            return self.ended(call.erase(), Nesting::enter_outermost, next_f);
        }
        let begun = Begun::of(call);
        let nesting = Nesting::enter_outermost();
        if fast::moves_nothing(call) {
            return self.timed_in(nesting, begun, next_f);
        }
        self.measured(nesting, begun, call, |now| now, Start::now, next_f)
    }

    /// A call that ends MPI, the process or a communicator. In the former the report is made: they count before, and have no
    /// time.
    #[inline(never)]
    fn ended<'c>(
        &self,
        call: AnyCall<'c>,
        enter: impl FnOnce() -> Nesting,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if Communicators::ends_one(call) {
            let begun = Begun::now(call.function(), Communicators::handle_of(call));
            return self.timed_end(enter(), begun, next_f);
        }
        let now = Clock::now();
        let begun = Begun::of(call);
        let Begun { function, caller, comm } = begun;
        self.add_plain_slowly(function, caller, comm, now, now, None);
        if function != FunctionId::MPI_Abort {
            self.calls.any().set_overhead(self.rehearse(begun));
        }
        next_f()
    }
}

/// Calls of which more is wanted than of most: see [`Profile::is_unusual`].
struct Unusual<'a>(&'a Profile);

impl OutOfLine for Unusual<'_> {
    fn around<'c>(
        self,
        call: AnyCall<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let Self(profile) = self;
        let (begun, keys) = (Begun::of(call), profile.keys());
        if ENDS[call.function() as usize] {
            if !keys.has(Keys::OFF) {
                return profile.ended(call, Nesting::enter, next_f);
            }
            if is_end(begun.function) {
                return next_f();
            }
        }
        let nesting = Nesting::enter();
        if keys.has(Keys::OFF) {
            return profile.unmeasured(call, next_f);
        }
        if fast::moves_nothing(call) {
            return profile.timed_in(nesting, begun, next_f);
        }
        let start = || {
            let waits = call.is_of_all() && keys.has(Keys::WAIT);
            if waits { Start::of(call, &profile.communicators) } else { Start::now() }
        };
        profile.measured(nesting, begun, call, NowWithPeers, start, next_f)
    }
}

/// The functions that end MPI, the process or a communicator.
static ENDS: [bool; FunctionId::COUNT] =
    functions!(|function| is_end(function) || Communicators::is_end(function));

/// Is the time the program's own when such a call has returned?
const fn is_begin(function: FunctionId) -> bool {
    use FunctionId::{MPI_Init, MPI_Init_thread, MPI_Session_init};
    matches!(function, MPI_Init | MPI_Init_thread | MPI_Session_init)
}

#[inline(always)]
const fn is_end(function: FunctionId) -> bool {
    use FunctionId::{MPI_Abort, MPI_Finalize, MPI_Session_finalize};
    matches!(function, MPI_Finalize | MPI_Session_finalize | MPI_Abort)
}

impl MpiInterceptionLayer for Profile {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::HotFunctionsShared;
    const SEES_UNTYPED: bool = true;

    /// 0 switches measuring off and 1 on, other levels begin a phase, and negative ones end it.
    fn profiling_level(&self, level: c_int) {
        let is_named = self.keys().has(Keys::PHASE_NAMES);
        let name = is_named.then(|| Caller::of_this_call().text_beside_level()).flatten();
        match level {
            0 => _ = self.keys.fetch_or(Keys::OFF, Relaxed),
            1 => _ = self.keys.fetch_and(!Keys::OFF, Relaxed),
            ..0 => self.begin_phase(0),
            2.. => {
                self.begin_phase(level.cast_unsigned());
                if let Some(name) = name {
                    self.calls.any().name_phase(level.cast_unsigned(), &name);
                }
            }
        }
    }

    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        self.around_call(call, next_f)
    }

    #[inline(always)]
    fn around_untyped<R>(&self, function: FunctionId, next_f: impl FnOnce() -> R) -> R {
        self.timed(function, next_f)
    }
}

impl Tool for Profile {
    const NEW: Self = Self {
        calls: Table::new("calls", MEASURES, ROWS),
        traffic: Traffic::new(),
        communicators: Communicators::new(),
        peers: PeerTable::new(),
        keys: AtomicU32::new(Keys::OTHER_CLOCK),
        phase: AtomicU32::new(0),
        early: Early::new(),
    };

    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "DEPTH",
            default: SettingDefault::Number(4),
            help: "how many places a call site has: the call's, and its callers'; 0 for none, at most 8",
        },
        Setting {
            name: "COMMUNICATOR",
            default: SettingDefault::Switch(true),
            help: "tell calls on different communicators apart",
        },
        Setting {
            name: "SIZE",
            default: SettingDefault::Switch(false),
            help: "tell calls with data of different sizes apart, by powers of two",
        },
        Setting {
            name: "PEER",
            default: SettingDefault::Switch(false),
            help: "report how much each rank has sent to which, and received from which",
        },
        Setting {
            name: "PHASE_NAMES",
            default: SettingDefault::Switch(false),
            help: "the program gives MPI_Pcontrol a name beside the level of a phase: MPI_Pcontrol(2, \"solver\")",
        },
        Setting {
            name: "WAIT",
            default: SettingDefault::Choice(&["off", "estimate", "sync"]),
            help: "tell waiting for other ranks from the rest: by the quickest call with data of this size, or by a \
                   barrier before each blocking collective operation",
        },
        Setting {
            name: "SEGMENTS",
            default: SettingDefault::Switch(true),
            help: "tell between which calls the rank with most work computes longer than the others",
        },
        Setting {
            name: "INTERVAL",
            default: SettingDefault::Number(0),
            help: "each process writes its report so far to its file, every so many seconds; 0 for never",
        },
    ];

    fn configure(&self, settings: &Settings) {
        let depth = usize::try_from(settings.number("DEPTH")).unwrap_or(Site::DEEPEST);
        let key = |name, key| if settings.is_on(name) { key } else { 0 };
        let keys = key("COMMUNICATOR", Keys::COMMUNICATOR)
            | key("SIZE", Keys::SIZE)
            | key("PEER", Keys::PEER)
            | key("PHASE_NAMES", Keys::PHASE_NAMES);
        let waiting = match settings.text("WAIT") {
            "sync" => Keys::WAIT,
            // `mpi-tool report` compares calls with data of one size.
            "estimate" => Keys::SIZE,
            _ => 0,
        };
        let clock = if Clock::counts_cycles() { 0 } else { Keys::OTHER_CLOCK };
        let none = if settings.is_on("COMMUNICATOR") { 0 } else { Keys::NO_COMMUNICATOR };
        let keys = depth.min(Site::DEEPEST) as u32 | keys | waiting | clock | none;
        self.keys.store(keys, Relaxed);
        if depth > 0 {
            Site::follow_python();
        }
        self.calls.any().tell_segments(settings.is_on("SEGMENTS"));
        self.early.every(settings.number("INTERVAL"));
    }

    fn table(&self) -> Option<&AnyTable> {
        Some(self.calls.any())
    }

    fn peers(&self) -> Option<&PeerTable> {
        self.keys().has(Keys::PEER).then_some(&self.peers)
    }
}

install_qmpi_layer!(Profile, name = "mpi-profile", call_sites, fast_path = fast::Fast);
