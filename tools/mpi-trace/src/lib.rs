//! Writes every MPI call of each rank to a file, with its time and the messages that it moves: `mpi-tool trace` makes
//! time lines of them.
//!
//! * `recorder.rs`: a thread's calls, as records (`mpi_facts::trace`). `repeats.rs`: those that come again and again.
//!   `names.rs`: the numbers of functions and
//!   communicators in them.
//! * `arrivals.rs`: what arrives for such calls in later ones, also again and again.
//! * `fast.rs`: the fast path, of calls that come again and of those that wait for all their requests.
//! * `probes.rs`: which message a probe has found.
//! * `sites.rs`: where calls come from, if the user wants to know it.
//! * `filter.rs`: which calls are recorded, if not all.
//! * `store.rs`: the file, and the chunks of it that threads write to. `run.rs`: where the file is, and what its header
//!   says of the process.

mod arrivals;
mod circumstances;
mod fast;
mod filter;
mod names;
mod probes;
mod recorder;
mod repeats;
mod run;
mod sites;
mod store;

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mpi_facts::trace::{Fields, Moved, Partner, SHORT, Way, is_synchronous};
use mpi_tool_layer::mpi_sys::{MPI_Request, MPI_Status, c_int, pmpi};
use mpi_tool_layer::{
    Accepted, Call, CallResult, Clock, Communicators, Compiled, Exchange, Flow, FunctionId,
    MpiInterceptionLayer, Peer, PredefinedDatatype, Setting, SettingDefault, Settings, Site, Tally,
    Tool, Traffic, install_qmpi_layer,
};

use arrivals::Started;
use probes::Probes;
use recorder::{Record, Recorder};
use repeats::{Found, Learned, Repeat};

struct Trace {
    traffic: Traffic<Started>,
    communicators: Communicators,
    probes: Probes,
    /// Why nothing is recorded: [`circumstances::PAUSED`], [`circumstances::LEFT_OUT`]. 0 as a rule.
    off: AtomicU64,
}

/// Writes down the data of a call on its way.
struct Data<'a> {
    trace: &'a Trace,
    /// `None` while tracing is switched off: what earlier calls have started is not told of then.
    recorder: Option<&'a Recorder>,
    /// The requests that the call was given, if it completes any.
    requests: &'a [MPI_Request],
    /// The tag that the call names for what it receives, if it receives anything.
    named_tag: Option<c_int>,
    /// What the call moves, if it may repeat later.
    learned: Option<&'a Learned>,
}

impl<'a> Data<'a> {
    #[inline(always)]
    fn of<'c: 'a>(
        trace: &'a Trace,
        recorder: Option<&'a Recorder>,
        call: impl Call<'c>,
        learned: Option<&'a Learned>,
    ) -> Self {
        let named_tag = call.get(call.shape().tags.1);
        Self { trace, recorder, requests: call.requests(), named_tag, learned }
    }
}

impl Tally<Started> for Data<'_> {
    #[inline(always)]
    fn moved(&self, _: Started, _: Flow, _: PredefinedDatatype, _: u64) {}

    #[inline(always)]
    fn communicators(&self) -> Option<&Communicators> {
        Some(&self.trace.communicators)
    }

    /// A send waits for its receive if it is not short, as a rule, and always if it is synchronous.
    fn follows(&self, function: FunctionId, bytes: impl FnOnce() -> u64) -> bool {
        self.recorder.is_some() && (is_synchronous(function) || bytes() >= SHORT)
    }

    fn sent(&self, started: Started) {
        if let Some(recorder) = self.recorder
            && started != Started::UNTRACED
        {
            let requests = self.requests.iter();
            let count = requests.filter(|request| **request != pmpi::MPI_REQUEST_NULL).count();
            recorder.ends(started.parts(), count as u64);
        }
    }

    fn restarted(&self, prepared: Started) {
        if let Some(recorder) = self.recorder
            && prepared != Started::UNTRACED
        {
            recorder.starts(prepared.parts());
        }
    }

    #[inline(always)]
    fn knows(&self, started: Started, bytes: u64, status: &MPI_Status) -> bool {
        self.recorder.is_some_and(|recorder| recorder.arrives_again(started, bytes, status))
    }

    fn exchanged(&self, started: Started, exchange: Exchange) {
        let Some(recorder) = self.recorder else { return };
        if started == Started::UNTRACED {
            return;
        }
        let Exchange { flow, peer, bytes, message_tag } = exchange;
        let way = match flow {
            Flow::Sent => Way::Sent,
            Flow::Received => Way::Received,
            Flow::Reduced => Way::Reduced,
        };
        let peer = match peer.world_rank() {
            Some(rank) => Partner::At(i64::from(rank) - i64::from(run::rank())),
            None if peer == Peer::NONE => Partner::Nobody,
            None if peer == Peer::OUTSIDE => Partner::Outside,
            None => Partner::Unknown,
        };
        let of = (!started.is_next_of(recorder)).then(|| started.parts());
        // The call's own record has the tag that it has named.
        let is_named = of.is_none() && message_tag == self.named_tag;
        let tag = message_tag.filter(|_| !is_named).map(i64::from);
        let moved = Moved { way, of, peer, tag, bytes };
        recorder.moved(&moved);
        if let Some(learned) = self.learned {
            learned.add(moved);
        }
        if of.is_some() {
            recorder.arrives(started, moved);
        }
    }
}

/// Does the function start MPI?
#[inline(always)]
const fn is_start(function: FunctionId) -> bool {
    use FunctionId::{MPI_Init, MPI_Init_thread, MPI_Session_init};
    matches!(function, MPI_Init | MPI_Init_thread | MPI_Session_init)
}

#[inline(always)]
const fn is_end(function: FunctionId) -> bool {
    use FunctionId::{MPI_Abort, MPI_Finalize, MPI_Session_finalize};
    matches!(function, MPI_Finalize | MPI_Session_finalize | MPI_Abort)
}

/// What a call's record says of its arguments, in the order of [`Fields`].
#[inline(always)]
fn fields<'c>(communicators: &Communicators, call: impl Call<'c>) -> Record {
    let shape = call.shape();
    let has = Fields::of_shape(&shape);
    let mut record = Record::zeros(has);
    let int = |position| call.get::<c_int>(position).unwrap_or(0);
    if has.communicator {
        record.communicator = names::of_communicator(communicators.of(call));
    }
    if has.tag {
        record.tag = int(shape.tags.0);
    }
    if has.received_tag {
        record.received_tag = int(shape.tags.1);
    }
    if has.source {
        record.source = int(shape.source);
    }
    if has.destination {
        let position =
            if shape.destination == mpi_facts::NONE { shape.target } else { shape.destination };
        record.destination = int(position);
    }
    if has.root {
        record.root = int(shape.root);
    }
    record
}

impl Trace {
    /// Nothing is recorded from now on.
    fn switch_off(&self, why: u64) {
        self.off.fetch_or(why, Relaxed);
        circumstances::begin(why);
    }

    /// This thread's recorder, unless tracing is switched off or there is no file.
    #[inline(always)]
    fn recorder(&self, function: FunctionId) -> Option<&'static Recorder> {
        if self.off.load(Relaxed) != 0 || filter::leaves_out(function) {
            return None;
        }
        Recorder::of_this_thread()
    }

    /// Passes on a call that repeats another one.
    #[inline(always)]
    fn repeated<'c>(
        &self,
        recorder: &Recorder,
        repeat: &Repeat,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let first = repeat.first();
        let begin = Clock::cycles();
        let result = next_f();
        let end = Clock::cycles();
        let is_recorded = result.is_ok_and(|accepted| {
            // In a signal handler, the place may have become another call's meanwhile.
            repeat.first() == first
                && repeat.has_ended_so(call, accepted)
                && self.record_repeat(recorder, repeat, call, accepted, [begin, end])
        });
        if !is_recorded {
            self.ended_otherwise(recorder, call.erase(), begin, end, result);
        }
        result
    }

    /// Records such a call, and keeps what is to be kept of the message that it starts. No, and nothing is done, if that takes
    /// more than a few instructions.
    #[inline(always)]
    fn record_repeat<'c>(
        &self,
        recorder: &Recorder,
        repeat: &Repeat,
        call: impl Call<'c>,
        accepted: Accepted<'c>,
        [begin, end]: [u64; 2],
    ) -> bool {
        if !repeats::starts_message(call) {
            return recorder.repeat(repeat.first(), begin, end);
        }
        let Some(kept) = repeat.kept() else { return false };
        let started = Started::again(recorder, repeat);
        if !recorder.repeat(repeat.first(), begin, end) {
            return false;
        }
        if let Some(kept) = &*kept
            && let Some(request) = call.new_request(accepted)
        {
            let data = Data::of(self, Some(recorder), call, None);
            repeat.arrival.begin(started);
            self.traffic.keep(&data, started, kept, request);
        }
        true
    }

    /// Records a call that began as another one: it has received something else, or has failed, or there is no room. Of functions
    /// for which that is rare, the call is given [erased](Call::erase), so that this is compiled once for all of them.
    #[cold]
    #[inline(never)]
    fn ended_otherwise<'c>(
        &self,
        recorder: &Recorder,
        call: impl Call<'c>,
        begin: u64,
        end: u64,
        result: CallResult<'c>,
    ) {
        let data = Data::of(self, Some(recorder), call, None);
        let result = self.traffic.around(&data, || Started::made_by(recorder), call, || result);
        let fields = fields(&self.communicators, call);
        recorder.call(call.function(), begin, end, result.is_err(), &fields);
    }

    /// Passes on a call that moves no data and has one argument at most that a record tells of, a communicator.
    #[inline(always)]
    fn plain<R>(
        &self,
        function: FunctionId,
        fields: Record,
        has_failed: impl FnOnce(&R) -> bool,
        next_f: impl FnOnce() -> R,
    ) -> R {
        let Some(recorder) = self.recorder(function) else { return next_f() };
        let fields = Record { site: sites::of_this_call(), ..fields };
        let begin = Clock::now();
        let result = next_f();
        let end = Clock::now();
        recorder.call(function, begin, end, has_failed(&result), &fields);
        result
    }
}

impl MpiInterceptionLayer for Trace {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::HotFunctionsShared;
    const SEES_UNTYPED: bool = true;

    fn profiling_level(&self, level: c_int) {
        match level {
            0 => {
                run::paused();
                self.switch_off(circumstances::PAUSED);
            }
            1 => {
                let paused = circumstances::PAUSED;
                if self.off.fetch_and(!paused, Relaxed) & paused != 0 {
                    run::resumed();
                }
                circumstances::end(paused);
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let function = call.function();
        let recorder = self.recorder(function);
        let site = recorder.map_or(0, |_| sites::of_this_call());
        let mut learned = None;
        if let Some(recorder) = recorder
            && repeats::may_repeat(call)
        {
            match recorder.repeats.find(call) {
                Found::Repeats(repeat) => return self.repeated(recorder, repeat, call, next_f),
                Found::MayBe(place) => learned = Some(Learned::at(place)),
                Found::No => {}
            }
        }
        if is_start(function) {
            // Also if the function itself is not recorded: the file knows its rank from here.
            run::begin();
        }
        if is_end(function) {
            run::ends();
        }
        if Communicators::ends_one(call) {
            circumstances::lose_handles();
        }
        let (begin, end) = (Cell::new(0), Cell::new(0));
        let timed = {
            let (begin, end) = (&begin, &end);
            move || {
                begin.set(Clock::now());
                let result = next_f();
                end.set(Clock::now());
                result
            }
        };
        let data = Data::of(self, recorder, call, learned.as_ref());
        let started = || recorder.map_or(Started::UNTRACED, Started::made_by);
        let taken = self.probes.taken(call);
        let passed_on = || self.traffic.around(&data, started, call, timed);
        let result = self.communicators.around(call, passed_on);
        self.probes.done(recorder, &self.communicators, call, result, taken);
        if result.is_ok() && function == FunctionId::MPI_Comm_set_name {
            names::renamed(self.communicators.of(call));
        }
        if result.is_ok() && is_start(function) && !run::started() {
            self.switch_off(circumstances::LEFT_OUT);
        }
        if let Some(recorder) = recorder {
            let fields = Record { site, ..fields(&self.communicators, call) };
            recorder.call(function, begin.get(), end.get(), result.is_err(), &fields);
            if let (Some(learned), Ok(accepted)) = (&learned, result) {
                let keeps = self.traffic.keeps(&data, call.erase(), accepted);
                recorder.learn(learned, call.erase(), accepted, &fields, keeps);
            }
        }
        if result.is_ok() && function == FunctionId::MPI_Finalize {
            run::ended();
        }
        result
    }

    #[inline(always)]
    fn around_untyped<R>(&self, function: FunctionId, next_f: impl FnOnce() -> R) -> R {
        self.plain(function, Record::none(function), |_| false, next_f)
    }
}

impl Tool for Trace {
    const NEW: Self = Self {
        traffic: Traffic::new(),
        communicators: Communicators::new(),
        probes: Probes::new(),
        off: AtomicU64::new(0),
    };

    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "RING",
            default: SettingDefault::Number(0),
            help: "keep only the last calls of each process, in so many megabytes of its file; 0 keeps all",
        },
        Setting {
            name: "FUNCTIONS",
            default: SettingDefault::Text(""),
            help: "record only calls of these functions and classes, such as MPI_Send,MPI_Wait*,collective",
        },
        Setting {
            name: "RANKS",
            default: SettingDefault::Text(""),
            help: "record only these ranks, such as 0,4-7",
        },
        Setting {
            name: "DEPTH",
            default: SettingDefault::Number(0),
            help: "record where each call comes from, with so many places: the call's, and its callers'; 0 for none, at most 8",
        },
        Setting {
            name: "LEAST",
            default: SettingDefault::Number(0),
            help: "leave out calls that move no data and take less than so many microseconds, such as MPI_Test",
        },
    ];

    fn configure(&self, settings: &Settings) {
        recorder::set_ring(settings.number("RING"));
        let least = settings.number("LEAST");
        filter::configure(settings.text("FUNCTIONS"), settings.text("RANKS"), least);
        let chooses_calls = filter::kinds() & !mpi_facts::trace::filter::RANKS != 0;
        if chooses_calls {
            circumstances::begin(circumstances::FILTERED);
        }
        let depth = usize::try_from(settings.number("DEPTH")).unwrap_or(Site::DEEPEST);
        sites::set_depth(depth.min(Site::DEEPEST));
        if depth > 0 {
            Site::follow_python();
        }
        if depth > 0 {
            circumstances::begin(circumstances::SITES);
        }
        if Clock::counts_cycles() {
            circumstances::end(circumstances::UNREADY);
        }
    }
}

install_qmpi_layer!(Trace, name = "mpi-trace", optional_call_sites, fast_path = fast::Fast);
