//! Shows where MPI time goes: calls, time and bytes by function, call site, communicator and size.

mod early;
mod peers;
mod row;
mod wait;

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mpi_tool_layer::mpi_sys::{MPI_Comm, MPI_Datatype, MPI_File, MPI_Request, c_int};
use mpi_tool_layer::{
    AnyCall, AnyTable, Call, CallResult, Caller, Clock, Communicators, Compiled, Exchange, Flow,
    FunctionId, InOut, MpiInterceptionLayer, Nesting, PeerTable, PredefinedDatatype, Setting,
    SettingDefault, Settings, Site, SizeClass, Table, Tally, Tool, TrackedComm, Traffic,
    install_qmpi_layer, next,
};

use early::Early;
use peers::NowWithPeers;
use row::{MEASURES, ROWS, Row, UNMEASURED};
use wait::Start;

struct Profile {
    calls: Table<Row, { MEASURES.len() }>,
    traffic: Traffic<Row>,
    communicators: Communicators,
    peers: PeerTable,
    keys: AtomicUsize,
    early: Early,
}

/// What is told apart, as one number, which each call reads once: how many places a call site has, whether
/// communicators, sizes and peers are told apart, and waiting from the rest of the time, whether anything is measured at
/// all, and in which phase.
#[derive(Clone, Copy)]
struct Keys(usize);

impl Keys {
    const COMMUNICATOR: usize = 1 << 8;
    const SIZE: usize = 1 << 9;
    const PEER: usize = 1 << 10;
    /// The ranks wait for each other before a collective operation moves data.
    const WAIT: usize = 1 << 11;
    /// The application has switched measuring off.
    const OFF: usize = 1 << 12;
    /// Where the number of the phase begins that the application is in.
    const PHASE: u32 = 32;

    #[inline(always)]
    const fn depth(self) -> usize {
        self.0 & 0xff
    }

    #[inline(always)]
    const fn has(self, key: usize) -> bool {
        self.0 & key != 0
    }

    /// The phase that the application is in.
    #[inline(always)]
    const fn phase(self) -> u32 {
        (self.0 >> Self::PHASE) as u32
    }

    /// What follows from a level of `MPI_Pcontrol`: 0 switches measuring off and 1 on, other levels begin a phase, and
    /// negative ones end it.
    const fn at_level(self, level: c_int) -> Self {
        let flags = self.0 & ((1 << Self::PHASE) - 1);
        match level {
            0 => Self(self.0 | Self::OFF),
            1 => Self(self.0 & !Self::OFF),
            ..0 => Self(flags),
            2.. => Self(flags | (level as usize) << Self::PHASE),
        }
    }
}

/// A call as it is known before it is passed on. Where it comes from is looked up after it, when the call's arguments need
/// not be kept any more.
#[derive(Clone, Copy)]
struct Begun {
    keys: Keys,
    function: FunctionId,
    communicator: TrackedComm,
    caller: Caller,
}

impl Begun {
    /// The call's row, but for the size of its data.
    #[inline(always)]
    fn row(self) -> Row {
        self.row_at(self.caller.site(self.keys.depth()))
    }

    #[inline(always)]
    const fn row_at(self, site: Site) -> Row {
        let Self { function, communicator, keys, .. } = self;
        Row { function, site, communicator, size: SizeClass::NONE, phase: keys.phase() }
    }

    /// Is the call of no row, since measuring is switched off?
    fn is_unmeasured(self) -> bool {
        self.keys.has(Keys::OFF)
    }

    /// The row of a call that moves no data.
    #[inline(always)]
    fn plain_row(self) -> Row {
        let size = if self.keys.has(Keys::SIZE) { SizeClass::of(0) } else { SizeClass::NONE };
        Row { size, ..self.row() }
    }
}

/// A call on its way: the data that it moves itself are its own row's, and are added with its time.
struct Now<'a> {
    profile: &'a Profile,
    keys: Keys,
    row: Cell<Row>,
    sent: Cell<u64>,
    received: Cell<u64>,
    /// Bytes that the call only starts to receive, or prepares to move: as many as there is room for.
    later: Cell<u64>,
}

impl Now<'_> {
    /// The call's row, with the size of its data.
    #[inline(always)]
    fn sized(&self) -> Row {
        let size = if self.keys.has(Keys::SIZE) {
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
        self.sized()
    }
}

/// A call while measuring is switched off. What an earlier call has started still counts.
struct Unmeasured<'a>(&'a Profile);

impl Tally<Row> for Unmeasured<'_> {
    fn moved(&self, row: Row, flow: Flow, datatype: PredefinedDatatype, elements: u64) {
        self.0.moved_before(row, flow, elements.wrapping_mul(datatype.size()));
    }

    fn communicators(&self) -> Option<&Communicators> {
        self.0.communicators_of_peers(self.0.keys())
    }

    fn exchanged(&self, row: Row, exchange: Exchange) {
        self.0.exchanged(row, exchange);
    }
}

impl Profile {
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
    fn communicators_of_peers(&self, keys: Keys) -> Option<&Communicators> {
        keys.has(Keys::PEER).then_some(&self.communicators)
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

    /// A call that comes in. `communicator` finds its communicator out.
    #[inline(always)]
    fn begin(&self, function: FunctionId, communicator: impl FnOnce() -> TrackedComm) -> Begun {
        let keys = self.keys();
        let by_communicator = keys.has(Keys::COMMUNICATOR);
        let communicator = if by_communicator { communicator() } else { TrackedComm::NONE };
        Begun { keys, function, communicator, caller: Caller::of_this_call() }
    }

    /// A call that ends a communicator.
    #[inline(always)]
    fn begin_on(&self, function: FunctionId, comm: Option<MPI_Comm>) -> Begun {
        let of = |comm| self.communicators.of_handle(comm);
        self.begin(function, || comm.map_or(TrackedComm::NONE, of))
    }

    /// Passes on a call that moves no data, and adds its time to its row.
    #[inline(always)]
    fn timed<R>(&self, begun: Begun, next_f: impl FnOnce() -> R) -> R {
        if begun.is_unmeasured() {
            return next_f();
        }
        self.timed_in(Nesting::enter(), begun, next_f)
    }

    #[inline(always)]
    fn timed_in<R>(&self, nesting: Nesting, begun: Begun, next_f: impl FnOnce() -> R) -> R {
        let start = Clock::now();
        let result = next_f();
        let end = Clock::now();
        // The time of a call inside of another one is a part of that one's.
        let start = if nesting.is_outermost() { start } else { end };
        self.early.look(start, end, self.calls.any());
        let time = nesting.is_outermost().then_some(end.wrapping_sub(start));
        drop(nesting);
        self.calls.add(begun.plain_row(), 1, [time, None, None, None]);
        result
    }

    /// Passes on a call while measuring is switched off: what it makes, starts and completes is followed all the same, and
    /// it waits with the others, who may be measuring.
    fn unmeasured<'c>(
        &self,
        begun: Begun,
        call: AnyCall<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let row = Row { phase: UNMEASURED, ..begun.row_at(Site::UNKNOWN) };
        if begun.keys.has(Keys::WAIT) {
            self.communicators.await_all(call);
        }
        let result = self.traffic.around(&Unmeasured(self), || row, call, next_f);
        if let Ok(accepted) = result {
            self.communicators.made(call, accepted);
        }
        result
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
            keys: begun.keys,
            row: Cell::new(begun.row_at(Site::UNKNOWN)),
            sent: Cell::new(0),
            received: Cell::new(0),
            later: Cell::new(0),
        };
        let tally = tally(now);
        let now = tally.as_ref();
        let (time, waited) = (Cell::new(0), Cell::new(None));
        let is_outermost = nesting.is_outermost();
        let timed = {
            let (time, waited, row) = (&time, &waited, &now.row);
            move || {
                let start = start();
                let result = next_f();
                let end = Clock::now();
                // The time of a call inside of another one is a part of that one's.
                let from = if is_outermost { start.time } else { end };
                self.early.look(from, end, self.calls.any());
                time.set(end.wrapping_sub(start.time));
                waited.set(start.waited(time.get()));
                row.set(begun.row());
                result
            }
        };
        let result = self.traffic.around(&tally, || now.row.get(), call, timed);
        let time = is_outermost.then_some(time.get());
        let waited = waited.get().filter(|_| is_outermost);
        drop(nesting);
        let [sent, received] = [&now.sent, &now.received].map(|bytes| {
            let bytes = bytes.get();
            (bytes > 0).then_some(bytes)
        });
        self.calls.add(now.sized(), 1, [time, sent, received, waited]);
        if let Ok(accepted) = result
            && begun.keys.has(Keys::COMMUNICATOR | Keys::PEER | Keys::WAIT)
        {
            self.communicators.made(call, accepted);
        }
        result
    }
}

#[inline(always)]
const fn is_end(function: FunctionId) -> bool {
    use FunctionId::{MPI_Abort, MPI_Finalize, MPI_Session_finalize};
    matches!(function, MPI_Finalize | MPI_Session_finalize | MPI_Abort)
}

impl MpiInterceptionLayer for Profile {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::ForCommunication;
    const SEES_UNTYPED: bool = true;

    fn profiling_level(&self, level: c_int) {
        let at_level = |keys| Some(Keys(keys).at_level(level).0);
        let _ = self.keys.fetch_update(Relaxed, Relaxed, at_level);
    }

    #[inline(always)]
    fn is_thorough(&self) -> bool {
        self.keys().has(Keys::PEER | Keys::WAIT | Keys::OFF) || Nesting::is_inside()
    }

    /// A call that is in no other one, as most are: others go through `around_thoroughly`.
    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let function = call.function();
        let begun = self.begin(function, || self.communicators.of(call));
        // In these calls the report is made, or the process ends: they count before, and have no time.
        if is_end(function) {
            self.calls.add(begun.plain_row(), 1, [None; MEASURES.len()]);
            return next_f();
        }
        let nesting = Nesting::enter_outermost();
        if Traffic::<Row>::moves_nothing(call) {
            return self.timed_in(nesting, begun, next_f);
        }
        self.measured(nesting, begun, call, |now| now, Start::now, next_f)
    }

    fn around_thoroughly<'c>(
        &self,
        call: AnyCall<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let function = call.function();
        let begun = self.begin(function, || self.communicators.of(call));
        if is_end(function) {
            return if begun.is_unmeasured() { next_f() } else { self.around(call, next_f) };
        }
        let nesting = Nesting::enter();
        if begun.is_unmeasured() {
            return self.unmeasured(begun, call, next_f);
        }
        if Traffic::<Row>::moves_nothing(call) {
            return self.timed_in(nesting, begun, next_f);
        }
        let start = || {
            let waits = call.is_of_all() && begun.keys.has(Keys::WAIT);
            if waits { Start::of(call, &self.communicators) } else { Start::now() }
        };
        self.measured(nesting, begun, call, NowWithPeers, start, next_f)
    }

    #[inline(always)]
    fn around_untyped<R>(&self, function: FunctionId, next_f: impl FnOnce() -> R) -> R {
        self.timed(self.begin(function, || TrackedComm::NONE), next_f)
    }

    fn request_free<'c>(
        &self,
        next_f: impl next::MPI_Request_free<'c>,
        request: InOut<'c, MPI_Request>,
    ) -> CallResult<'c> {
        let begun = self.begin(FunctionId::MPI_Request_free, || TrackedComm::NONE);
        self.timed(begun, || self.traffic.request_free(next_f, request))
    }

    fn type_free<'c>(
        &self,
        next_f: impl next::MPI_Type_free<'c>,
        datatype: InOut<'c, MPI_Datatype>,
    ) -> CallResult<'c> {
        let begun = self.begin(FunctionId::MPI_Type_free, || TrackedComm::NONE);
        self.timed(begun, || self.traffic.type_free(next_f, datatype))
    }

    fn file_close<'c>(
        &self,
        next_f: impl next::MPI_File_close<'c>,
        fh: InOut<'c, MPI_File>,
    ) -> CallResult<'c> {
        let begun = self.begin(FunctionId::MPI_File_close, || TrackedComm::NONE);
        self.timed(begun, || self.traffic.file_close(next_f, fh))
    }

    fn comm_free<'c>(
        &self,
        next_f: impl next::MPI_Comm_free<'c>,
        comm: InOut<'c, MPI_Comm>,
    ) -> CallResult<'c> {
        let begun = self.begin_on(FunctionId::MPI_Comm_free, comm.get());
        self.timed(begun, || self.communicators.comm_free(next_f, comm))
    }

    fn comm_disconnect<'c>(
        &self,
        next_f: impl next::MPI_Comm_disconnect<'c>,
        comm: InOut<'c, MPI_Comm>,
    ) -> CallResult<'c> {
        let begun = self.begin_on(FunctionId::MPI_Comm_disconnect, comm.get());
        self.timed(begun, || self.communicators.comm_disconnect(next_f, comm))
    }
}

impl Tool for Profile {
    const NEW: Self = Self {
        calls: Table::new("calls", MEASURES, ROWS),
        traffic: Traffic::new(),
        communicators: Communicators::new(),
        peers: PeerTable::new(),
        keys: AtomicUsize::new(0),
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
            name: "WAIT",
            default: SettingDefault::Choice(&["off", "estimate", "sync"]),
            help: "tell waiting for other ranks from the rest: by the quickest call with data of this size, or by a \
                   barrier before each blocking collective operation",
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
            | key("PEER", Keys::PEER);
        let waiting = match settings.text("WAIT") {
            "sync" => Keys::WAIT,
            // `mpi-tool report` compares calls with data of one size.
            "estimate" => Keys::SIZE,
            _ => 0,
        };
        self.keys.store(depth.min(Site::DEEPEST) | keys | waiting, Relaxed);
        self.early.every(settings.number("INTERVAL"));
    }

    fn table(&self) -> Option<&AnyTable> {
        Some(self.calls.any())
    }

    fn peers(&self) -> Option<&PeerTable> {
        self.keys().has(Keys::PEER).then_some(&self.peers)
    }
}

install_qmpi_layer!(Profile, name = "mpi-profile", call_sites);
