//! Shows where MPI time goes: calls, time and bytes by function and call site.

mod row;

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mpi_tool_layer::mpi_sys::{MPI_Datatype, MPI_File, MPI_Request};
use mpi_tool_layer::{
    AnyTable, Call, CallResult, Caller, Clock, Compiled, Flow, FunctionId, InOut,
    MpiInterceptionLayer, Nesting, PredefinedDatatype, Setting, SettingDefault, Settings, Site,
    Table, Tally, Tool, Traffic, install_qmpi_layer, next,
};

use row::{MEASURES, ROWS, Row};

struct Profile {
    calls: Table<Row, { MEASURES.len() }>,
    traffic: Traffic<Row>,
    /// How many places a call site has.
    depth: AtomicUsize,
}

/// A call on its way: the data that it moves itself are its own row's, and are added with its time.
struct Now<'a> {
    profile: &'a Profile,
    row: Cell<Row>,
    sent: Cell<u64>,
    received: Cell<u64>,
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
}

impl Profile {
    #[cold]
    fn moved_before(&self, row: Row, flow: Flow, bytes: u64) {
        let some = (bytes > 0).then_some(bytes);
        let values = if flow == Flow::Received { [None, None, some] } else { [None, some, None] };
        self.calls.add(row, 0, values);
    }

    #[inline(always)]
    fn row(&self, function: FunctionId, caller: Caller) -> Row {
        Row { function, site: caller.site(self.depth.load(Relaxed)) }
    }

    /// Passes on a call that moves no data, and adds its time to its row. The row is looked up after the call, when
    /// the call's arguments need not be kept any more.
    #[inline(always)]
    fn timed<R>(&self, function: FunctionId, next_f: impl FnOnce() -> R) -> R {
        let caller = Caller::of_this_call();
        let nesting = Nesting::enter();
        let start = Clock::now();
        let result = next_f();
        let time = Clock::now().wrapping_sub(start);
        // The time of a call inside of another one is a part of that one's.
        let time = nesting.is_outermost().then_some(time);
        drop(nesting);
        self.calls.add(self.row(function, caller), 1, [time, None, None]);
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

    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let function = call.function();
        // In these calls the report is made, or the process ends: they count before, and have no time.
        if is_end(function) {
            let row = self.row(function, Caller::of_this_call());
            self.calls.add(row, 1, [None; MEASURES.len()]);
            return next_f();
        }
        if Traffic::<Row>::moves_nothing(call) {
            return self.timed(function, next_f);
        }
        let caller = Caller::of_this_call();
        let now = Now {
            profile: self,
            row: Cell::new(Row { function, site: Site::UNKNOWN }),
            sent: Cell::new(0),
            received: Cell::new(0),
        };
        let nesting = Nesting::enter();
        let time = Cell::new(0);
        let timed = {
            let (time, row) = (&time, &now.row);
            move || {
                let start = Clock::now();
                let result = next_f();
                time.set(Clock::now().wrapping_sub(start));
                row.set(self.row(function, caller));
                result
            }
        };
        let result = self.traffic.around(&now, || now.row.get(), call, timed);
        let time = nesting.is_outermost().then_some(time.get());
        drop(nesting);
        let [sent, received] = [now.sent, now.received].map(|bytes| {
            let bytes = bytes.get();
            (bytes > 0).then_some(bytes)
        });
        self.calls.add(now.row.get(), 1, [time, sent, received]);
        result
    }

    #[inline(always)]
    fn around_untyped<R>(&self, function: FunctionId, next_f: impl FnOnce() -> R) -> R {
        self.timed(function, next_f)
    }

    fn request_free<'c>(
        &self,
        next_f: impl next::MPI_Request_free<'c>,
        request: InOut<'c, MPI_Request>,
    ) -> CallResult<'c> {
        self.timed(FunctionId::MPI_Request_free, || self.traffic.request_free(next_f, request))
    }

    fn type_free<'c>(
        &self,
        next_f: impl next::MPI_Type_free<'c>,
        datatype: InOut<'c, MPI_Datatype>,
    ) -> CallResult<'c> {
        self.timed(FunctionId::MPI_Type_free, || self.traffic.type_free(next_f, datatype))
    }

    fn file_close<'c>(
        &self,
        next_f: impl next::MPI_File_close<'c>,
        fh: InOut<'c, MPI_File>,
    ) -> CallResult<'c> {
        self.timed(FunctionId::MPI_File_close, || self.traffic.file_close(next_f, fh))
    }
}

impl Tool for Profile {
    const NEW: Self = Self {
        calls: Table::new("calls", MEASURES, ROWS),
        traffic: Traffic::new(),
        depth: AtomicUsize::new(0),
    };

    const SETTINGS: &'static [Setting] = &[Setting {
        name: "DEPTH",
        default: SettingDefault::Number(4),
        help: "how many places a call site has: the call's, and its callers'; 0 for none, at most 8",
    }];

    fn configure(&self, settings: &Settings) {
        let depth = usize::try_from(settings.number("DEPTH")).unwrap_or(Site::DEEPEST);
        self.depth.store(depth.min(Site::DEEPEST), Relaxed);
    }

    fn table(&self) -> Option<&AnyTable> {
        Some(self.calls.any())
    }
}

install_qmpi_layer!(Profile, name = "mpi-profile", call_sites);
