//! Keeps what each rank is doing in a mapped file, where `mpi-tool hang` finds it while the rank runs and after it was
//! killed: function, call site, peers, communicator, requests.
//!
//! * `state.rs`: what calls write, with plain stores.
//! * `fast.rs`: the fast path. `requests.rs`: requests and locks of windows. `places.rs`: call sites. `groups.rs`:
//!   communicators, windows and files.
//! * `callbacks.rs`: functions of the application's. `run.rs`: the file, and the folder that it is in.
//! * `epochs.rs`: epochs of windows. `meetings.rs`: calls that some processes make together. `partitions.rs`: messages in
//!   parts. `guard.rs`: what tells that no rank moves any more, for those who ask for it.
//!
//! The file is the process's: where the tool is at several levels of a stack, the first one that a call comes to
//! writes.

mod callbacks;
mod epochs;
mod fast;
mod groups;
mod guard;
mod meetings;
mod partitions;
mod places;
mod requests;
mod run;
mod state;

use core::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

use mpi_facts::watch::{UNKNOWN, has_no_number, kind, slot};
use mpi_facts::{NONE, Shape};
use mpi_tool_layer::mpi_sys::{MPI_Comm, MPI_File, MPI_Request, MPI_Session, MPI_Win, c_int, pmpi};
use mpi_tool_layer::{
    Accepted, AnyCall, Call, CallResult, Caller, Clock, Communicators, Compiled, Direction,
    FunctionId, InOut, MpiInterceptionLayer, NotesMessages, ParameterKind, Setting, SettingDefault,
    Settings, Site, Tool, TrackedComm, Word, install_qmpi_layer, next,
};

use groups::Group;
use requests::{NewRequest, is_exclusive, note_lock};
use state::{MEMORY, Slot, file};

struct Watch {
    communicators: Communicators,
    /// How many places a call site has.
    depth: AtomicUsize,
    /// After how many seconds without a call of any rank that is told; 0 for never.
    after: AtomicU64,
}

/// What calls note down: [`SITES`], [`BARE`], or something else, as a number.
static WAY: AtomicU8 = AtomicU8::new(0);
/// Sites, and time by the cycle counter.
const SITES: u8 = 1;
/// No sites, and time by the cycle counter.
const BARE: u8 = 2;

/// How exported functions of messages note them, until it is known whether one thread alone calls MPI.
fn way_of_messages(depth: usize) -> u8 {
    match WAY.load(Relaxed) {
        _ if depth == 0 => Watch::BARE,
        SITES => Watch::WITH_CALLER,
        // Time is by another clock.
        _ => 0,
    }
}

/// Is it this?
#[inline(always)]
fn is_way<const WHICH: u8>() -> bool {
    mpi_tool_layer::__return_is_byte! { WAY, WHICH }
}

/// Does the function start MPI?
#[inline(always)]
const fn is_start(function: FunctionId) -> bool {
    use FunctionId::{MPI_Init, MPI_Init_thread, MPI_Session_init};
    matches!(function, MPI_Init | MPI_Init_thread | MPI_Session_init)
}

/// Do all processes of the call's communicator call the function in the same order?
#[inline(always)]
fn is_collective<'c>(call: impl Call<'c>) -> bool {
    mpi_facts::is_collective(call.function(), call.class(), call.makes_communicator())
}

/// What is kept of a call until it is over.
#[derive(Clone, Copy)]
struct Entered {
    slot: &'static Slot,
    number: u64,
    /// Is this the only thread that calls MPI?
    is_alone: bool,
}

impl Watch {
    #[inline(always)]
    fn depth(&self) -> usize {
        self.depth.load(Relaxed)
    }

    /// A call begins: what all calls have.
    #[inline(always)]
    fn begin(slot: &'static Slot) {
        slot.count();
        if is_way::<SITES>() {
            places::note(slot);
            slot.note_cycles();
        } else if is_way::<BARE>() {
            slot.note_cycles();
        } else {
            places::note_by_other_clock(slot);
        }
    }

    /// Passes on a call that is not one of communication: its handle, if it has one, is in `field`.
    #[inline(always)]
    fn plain<R>(
        &self,
        function: FunctionId,
        field: usize,
        handle: u64,
        next_f: impl FnOnce() -> R,
    ) -> R {
        let Some(slot) = Slot::enter() else { return next_f() };
        Self::begin(slot);
        slot.set(field, handle);
        let is_object = field == slot::OBJECT;
        slot.set(
            slot::NUMBER,
            if is_object { number_on_object(handle, function, slot) } else { 0 },
        );
        slot.set_inside(function);
        let result = next_f();
        slot.leave();
        result
    }

    /// A call begins: what its arguments say.
    #[inline(always)]
    fn enter<'c>(&self, slot: &'static Slot, call: impl Call<'c>) -> Entered {
        let function = call.function();
        Self::begin(slot);
        let mut number = 0;
        if is_collective(call) {
            number = self.next_on(self.communicators.of(call), function, slot);
        }
        Self::note_arguments(slot, call);
        let object = call.window().map(|window| window.raw().to_word());
        if let Some(object) = object.or_else(|| call.file().map(|file| file.raw().to_word())) {
            slot.set(slot::OBJECT, object);
            number = number_on_object(object, function, slot);
            if function == FunctionId::MPI_Win_lock {
                slot.set(slot::TAG, is_exclusive(call).into());
            }
        }
        if !has_no_number(call.class()) {
            slot.set(slot::NUMBER, number);
        }
        Self::note_requests(slot, call);
        if epochs::is_about_epochs(function) {
            epochs::begin(call.erase(), &self.communicators);
        }
        if meetings::is_meeting(function) {
            meetings::begin(call.erase(), &self.communicators, slot);
        }
        if partitions::is_about_them(function) {
            partitions::ready(call.erase());
        }
        slot.set_inside(function);
        Entered { slot, number, is_alone: false }
    }

    /// The requests of a call that begins.
    #[inline(always)]
    fn note_requests<'c>(slot: &'static Slot, call: impl Call<'c>) {
        if call.completes_requests() || call.starts_requests() {
            let requests = call.requests();
            slot.set(slot::REQUESTS, requests.len() as u64);
            for (request, at) in requests.iter().zip(slot::HANDLES..slot::LENGTH) {
                slot.set(at, request.to_word());
            }
        }
    }

    /// Communicator, peers and tag of a call that begins.
    #[inline(always)]
    fn note_arguments<'c>(slot: &'static Slot, call: impl Call<'c>) {
        if let Some(comm) = call.communicator() {
            slot.set_handle(slot::COMM, comm.raw());
        }
        if call.is_started() || call.is_persistent() {
            return;
        }
        if let Some(peer) = call.destination().or_else(|| call.root()) {
            slot.set_int(slot::PEER, peer.raw());
        }
        if let Some(source) = call.source() {
            slot.set_int(slot::SOURCE, source.raw());
        }
        if let Some(tag) = call.tag() {
            slot.set_int(slot::TAG, tag.raw());
        }
        let tags = call.shape().tags;
        if tags.1 != tags.0
            && let Some(tag) = call.get::<c_int>(tags.1)
        {
            slot.set_int(slot::RECEIVED_TAG, tag);
        }
    }

    /// The number of a collective operation on its communicator; 0 if nobody counts there.
    #[inline(always)]
    fn next_on(&self, comm: TrackedComm, function: FunctionId, slot: &Slot) -> u64 {
        let Some((group, file)) = Group::of(comm).zip(file()) else { return 0 };
        group.remember(file);
        group.next(file, function as u64, slot.get(slot::SITE))
    }

    /// The requests that a call has completed, which is over.
    #[inline(always)]
    fn end_requests<'c>(call: impl Call<'c>, result: CallResult<'c>) {
        if !call.completes_requests() {
            return;
        }
        let requests = call.requests();
        let end = |request: MPI_Request| {
            if request != pmpi::MPI_REQUEST_NULL {
                MEMORY.end_request(request.to_word());
            }
        };
        if call.function() == FunctionId::MPI_Waitall && result.is_ok() {
            requests.iter().for_each(|request| end(*request));
        } else {
            call.finished(|position, _| end(requests[position]));
        }
    }

    /// A call is over: what it has made, started, completed, locked.
    #[inline(always)]
    fn after<'c>(&self, call: impl Call<'c>, entered: Entered, result: CallResult<'c>) {
        Self::end_requests(call, result);
        if meetings::is_meeting(call.function()) {
            meetings::end(entered.slot, result.is_err());
        }
        let Ok(accepted) = result else {
            if epochs::is_about_epochs(call.function()) {
                epochs::fail();
            }
            self.note_failure(entered.slot);
            return;
        };
        if call.starts_requests()
            && let Some(file) = file()
        {
            for request in call.requests() {
                file.start_request(request.to_word());
            }
        }
        if call.is_started() || call.is_persistent() {
            keep_request(call, entered, accepted);
        }
        if call.window().is_some() {
            note_lock(call, entered.slot);
            if epochs::is_about_epochs(call.function()) {
                epochs::end(call.erase(), &self.communicators, accepted);
            }
        }
        self.note_made(call, accepted);
    }

    /// Communicators, windows and files that a call has made, and names.
    #[inline(always)]
    fn note_made<'c>(&self, call: impl Call<'c>, accepted: Accepted<'c>) {
        let function = call.function();
        self.communicators.made(call, accepted);
        if let Some(comm) = Communicators::new_handle(call, accepted) {
            self.keep_comm(comm);
        }
        if function == FunctionId::MPI_Comm_set_name {
            let comm = self.communicators.of(call);
            if let (Some(group), Some(file), Some(known)) = (Group::of(comm), file(), comm.known())
            {
                group.set_name(file, known.name);
            }
        }
        if is_collective(call) && !call.makes_communicator() {
            self.note_object(call.erase(), accepted);
        }
        callbacks::note(call);
    }

    /// A call has returned an error: if it was a collective operation, that is counted. By what is in the slot, so that no call
    /// has to keep its arguments for this.
    #[cold]
    #[inline(never)]
    fn note_failure(&self, slot: &Slot) {
        let index = (slot.get(slot::FUNCTION) & !slot::OUTSIDE) as usize;
        let Some((function, file)) = FunctionId::from_index(index).zip(file()) else { return };
        let is_counted = !has_no_number(function.class()) && !meetings::is_meeting(function);
        if !is_counted || slot.get(slot::NUMBER) == 0 {
            return;
        }
        let shape = Shape::looked_up(function);
        let group = if shape.window == NONE && shape.file == NONE {
            Group::of(self.communicators.of_handle(MPI_Comm::from_word(slot.get(slot::COMM))))
        } else {
            Group::of_object(slot.get(slot::OBJECT))
        };
        if let Some(group) = group {
            group.fail(file);
        }
    }

    /// A communicator is there from now on.
    #[cold]
    #[inline(never)]
    fn keep_comm(&self, comm: MPI_Comm) {
        let tracked = self.communicators.of_handle(comm);
        match self.communicators.members(comm) {
            Some(groups) => groups::add_comm(tracked, comm.to_word(), groups),
            None => groups::no_room(tracked == TrackedComm::OTHERS),
        }
    }

    /// A window or a file may have been made.
    #[inline(always)]
    fn note_object<'c>(&self, call: AnyCall<'c>, accepted: Accepted<'c>) {
        use FunctionId::{
            MPI_File_open, MPI_Win_allocate, MPI_Win_allocate_shared, MPI_Win_create,
            MPI_Win_create_dynamic,
        };
        match call.function() {
            MPI_Win_create
            | MPI_Win_allocate
            | MPI_Win_allocate_shared
            | MPI_Win_create_dynamic => {
                self.keep_object(call, accepted, ParameterKind::Window, kind::WINDOW);
            }
            MPI_File_open => self.keep_object(call, accepted, ParameterKind::File, kind::FILE),
            _ => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_object<'c>(&self, call: AnyCall<'c>, _: Accepted<'c>, of: ParameterKind, kind: u64) {
        let new =
            call.arguments().find(|(what, _)| what.kind == of && what.direction == Direction::Out);
        let (Some((_, address)), Some(parent)) = (new, Group::of(self.communicators.of(call)))
        else {
            return;
        };
        // SAFETY: the address must be that of a handle that MPI has written: it is the argument of the parameter by
        // which the function returns what it makes, and MPI has accepted the call, which has not returned.
        let handle = unsafe {
            match of {
                ParameterKind::Window => (*<*const MPI_Win>::from_word(address)).to_word(),
                _ => (*<*const MPI_File>::from_word(address)).to_word(),
            }
        };
        groups::add_object(kind, handle, parent);
    }

    /// MPI has started.
    #[cold]
    #[inline(never)]
    fn started(&self) {
        run::started();
        // A session may have been opened before.
        if mpi_tool_layer::world_position().is_some() && groups::is_first_world() {
            for comm in [pmpi::MPI_COMM_WORLD, pmpi::MPI_COMM_SELF] {
                self.keep_comm(comm);
            }
        }
    }
}

/// The same on a window or a file.
#[inline(never)]
fn number_on_object(object: u64, function: FunctionId, slot: &Slot) -> u64 {
    if !mpi_facts::is_collective_on_object(function) {
        return 0;
    }
    let Some((group, file)) = Group::of_object(object).zip(file()) else { return 0 };
    group.next(file, function as u64, slot.get(slot::SITE))
}

/// A request is there from now on.
#[inline(always)]
fn keep_request<'c>(call: impl Call<'c>, entered: Entered, accepted: Accepted<'c>) {
    let Some(request) = call.new_request(accepted) else { return };
    if request == pmpi::MPI_REQUEST_NULL {
        return;
    }
    let peer = call.destination().or_else(|| call.source()).or_else(|| call.root());
    let new = NewRequest {
        handle: request.to_word(),
        function: call.function() as u64,
        is_persistent: call.is_persistent(),
        peer: peer.map_or(UNKNOWN, |peer| peer.raw().to_word()),
        tag: call.tag().map_or(UNKNOWN, |tag| tag.raw().to_word()),
        comm: call.communicator().map_or(0, |comm| comm.raw().to_word()),
        site: entered.slot.get(slot::SITE),
        number: partitions::number_of(call).unwrap_or(entered.number),
    };
    MEMORY.add_request(new, entered.is_alone);
}

impl MpiInterceptionLayer for Watch {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::HotFunctionsShared;

    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let function = call.function();
        if is_start(function) {
            let depth = self.depth();
            // SAFETY: one thread alone must call MPI, and be in no call that is noted: MPI has not started yet.
            unsafe { run::begin(depth, way_of_messages(depth), self.after.load(Relaxed)) };
            if function == FunctionId::MPI_Session_init {
                Slot::end_alone();
            }
        }
        if function == FunctionId::MPI_Group_free {
            self.communicators.group_freed(call);
        }
        let Some(slot) = Slot::enter() else {
            let result = next_f();
            if result.is_ok() && is_start(function) {
                self.started();
            }
            if let Ok(accepted) = result {
                self.note_made(call, accepted);
            }
            return result;
        };
        let entered = self.enter(slot, call);
        let result = next_f();
        slot.leave();
        if result.is_ok() && is_start(function) {
            self.started();
        }
        if result.is_ok() && function == FunctionId::MPI_Finalize {
            run::finished();
        }
        self.after(call, entered, result);
        if result.is_ok() && function == FunctionId::MPI_Session_init {
            run::session_started(self.communicators.session_position());
        }
        result
    }

    fn request_free<'c>(
        &self,
        next_f: impl next::MPI_Request_free<'c>,
        request: InOut<'c, MPI_Request>,
    ) -> CallResult<'c> {
        let handle = request.get();
        if let Some((handle, file)) = handle.zip(file()) {
            file.free_request(handle.to_word());
        }
        self.plain(FunctionId::MPI_Request_free, slot::REQUESTS, 0, || next_f(request))
    }

    fn comm_free<'c>(
        &self,
        next_f: impl next::MPI_Comm_free<'c>,
        comm: InOut<'c, MPI_Comm>,
    ) -> CallResult<'c> {
        let handle = comm.get().map_or(0, Word::to_word);
        let next_f = || self.communicators.ending(comm.get(), || next_f(comm));
        let result = self.plain(FunctionId::MPI_Comm_free, slot::COMM, handle, next_f);
        if result.is_ok() {
            groups::end_comm(handle);
        }
        result
    }

    fn comm_disconnect<'c>(
        &self,
        next_f: impl next::MPI_Comm_disconnect<'c>,
        comm: InOut<'c, MPI_Comm>,
    ) -> CallResult<'c> {
        let handle = comm.get().map_or(0, Word::to_word);
        let next_f = || self.communicators.ending(comm.get(), || next_f(comm));
        let result = self.plain(FunctionId::MPI_Comm_disconnect, slot::COMM, handle, next_f);
        if result.is_ok() {
            groups::end_comm(handle);
        }
        result
    }

    fn session_finalize<'c>(
        &self,
        next_f: impl next::MPI_Session_finalize<'c>,
        session: InOut<'c, MPI_Session>,
    ) -> CallResult<'c> {
        let next_f = || self.communicators.session_finalize(next_f, session);
        let result = self.plain(FunctionId::MPI_Session_finalize, slot::REQUESTS, 0, next_f);
        if result.is_ok() && !self.communicators.has_sessions() {
            run::sessions_finished();
        }
        result
    }

    fn win_free<'c>(
        &self,
        next_f: impl next::MPI_Win_free<'c>,
        win: InOut<'c, MPI_Win>,
    ) -> CallResult<'c> {
        let handle = win.get().map_or(0, Word::to_word);
        let result = self.plain(FunctionId::MPI_Win_free, slot::OBJECT, handle, || next_f(win));
        if result.is_ok() {
            groups::end_object(kind::WINDOW, handle);
            epochs::forget(handle);
        }
        result
    }

    fn file_close<'c>(
        &self,
        next_f: impl next::MPI_File_close<'c>,
        fh: InOut<'c, MPI_File>,
    ) -> CallResult<'c> {
        let handle = fh.get().map_or(0, Word::to_word);
        let result = self.plain(FunctionId::MPI_File_close, slot::OBJECT, handle, || next_f(fh));
        if result.is_ok() {
            groups::end_object(kind::FILE, handle);
        }
        result
    }
}

impl Tool for Watch {
    const NEW: Self = Self {
        communicators: Communicators::with_sessions(),
        depth: AtomicUsize::new(0),
        after: AtomicU64::new(0),
    };

    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "DEPTH",
            default: SettingDefault::Number(4),
            help: "how many places a call site has: the call's, and its callers'; 0 for none, at most 8",
        },
        Setting {
            name: "AFTER",
            default: SettingDefault::Number(0),
            help: "once no rank has made a call for so many seconds, tell who waits for whom; 0 for never",
        },
    ];

    fn configure(&self, settings: &Settings) {
        let depth = usize::try_from(settings.number("DEPTH")).unwrap_or(Site::DEEPEST);
        let depth = depth.min(Site::DEEPEST);
        places::set_depth(depth);
        Site::follow_python();
        self.depth.store(depth, Relaxed);
        let way = if depth == 0 { BARE } else { SITES };
        WAY.store(if Clock::counts_cycles() { way } else { 0 }, Relaxed);
        Caller::skip_caller_capture(depth == 0);
        self.after.store(settings.number("AFTER"), Relaxed);
    }
}

install_qmpi_layer!(
    Watch,
    name = "mpi-watch",
    optional_call_sites,
    notes = state::MEMORY,
    fast_path = fast::Fast
);
