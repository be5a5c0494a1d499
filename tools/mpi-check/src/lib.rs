//! Says what is wrong with an MPI program: arguments that the standard forbids, objects that are never freed, requests
//! that are never completed, collective operations and messages that do not match, deadlocks. The calls themselves go
//! on to MPI as they are.
//!
//! * `arguments.rs`, `operations.rs`, `order.rs`, `threads.rs`: what a call says for itself, before MPI sees it.
//! * `objects.rs`, `made.rs`, `types.rs`, `made_types.rs`, `comms.rs`, `neighbors.rs`, `requests.rs`,
//!   `split.rs`: what is known of the application's objects.
//! * `epochs.rs`, `exposures.rs`, `accesses.rs`, `knowledge.rs`, `layouts.rs`: one-sided communication.
//!   `areas.rs`, `memory.rs`: the application's buffers, and what is in them.
//! * `sanitizer.rs`: loads and stores of the program itself, in one that was compiled with ThreadSanitizer.
//! * `collectives.rs`, `at_once.rs`, `groups.rs`, `remotes.rs`, `messages.rs`, `waits.rs`, `blocking.rs`: what ranks do together, by
//!   `shared.rs`, memory that the ranks of a host have in common; `hosts/`: the same with ranks of other hosts.
//! * `names.rs`: what communicators are called. `functions.rs`, `noted.rs`: what is known of a function, and what follows from its calls. `unseen.rs`: calls that the
//!   tool does not see. `findings.rs`, `suppress.rs`, `places.rs`, `wrappers.rs`: what is said.

mod accesses;
mod areas;
mod arguments;
mod at_once;
mod blocking;
mod collectives;
mod comms;
mod epochs;
mod exposures;
mod extensions;
mod findings;
mod freeing;
mod functions;
mod groups;
mod hosts;
mod knowledge;
mod layouts;
mod made;
mod made_types;
mod memory;
mod messages;
mod names;
mod neighbors;
mod noted;
mod objects;
mod operations;
mod order;
mod places;
mod process;
mod remotes;
mod requests;
mod sanitizer;
mod shared;
mod split;
mod suppress;
mod threads;
mod together;
mod types;
mod unseen;
mod waits;
mod wrappers;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mpi_facts::{NONE, Timing, only_tells};
use mpi_tool_layer::mpi_sys::{
    MPI_Comm, MPI_ERR_IN_STATUS, MPI_THREAD_FUNNELED, MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED,
    pmpi,
};
use mpi_tool_layer::options;
use mpi_tool_layer::run::named_folder;
use mpi_tool_layer::{
    Accepted, AnyCall, Call, CallResult, Caller, Communicators, Compiled, FunctionClass,
    FunctionId, MpiInterceptionLayer, Setting, SettingDefault, Settings, Site, Tool, Word,
    install_qmpi_layer, is_forked_child, rank_among_strangers, world_position,
};

use arguments::Checked;
use comms::CommRef;
use objects::Kind;
use process::{FAILS, IS_FIRST, begin, finish};
use shared::shared;

struct Check {
    communicators: Communicators,
    /// The exit status of a program with findings is not 0.
    fails: AtomicBool,
    /// It looks for deadlocks.
    watches: AtomicBool,
}

/// What is kept of a call until MPI has returned. It stays where it is made, as it is large.
struct Entered<'c> {
    checked: Checked<'c>,
    buffers: requests::Buffers,
    /// Handles that the call frees.
    freed: Option<(Kind, u64)>,
    send: Option<messages::Send>,
    receive: Option<messages::Receive>,
    /// Of a collective operation.
    need: waits::Need,
    /// The collective operation's number on its communicator.
    number: u64,
    /// Of the window that the call makes.
    window: u64,
    /// Nothing can come from others by the call.
    is_silent: bool,
    /// The requests that the call may complete.
    ids: requests::Ids,
}

impl Check {
    fn comm_of(&self, call: AnyCall<'_>) -> Option<CommRef> {
        let comm = call.communicator()?.raw();
        if comms::predefined(comm).is_none()
            && objects::with(Kind::Communicator, comm.to_word(), objects::Object::is_freed)
                == Some(true)
        {
            return None;
        }
        comms::get(&self.communicators, comm)
    }

    /// Before a call is passed on.
    #[inline(always)]
    fn enter<'c>(&self, call: AnyCall<'c>, entered: &mut Entered<'c>) {
        let Entered { checked, send, receive, .. } = entered;
        let site = checked.site;
        checked.check_unless_known();
        let freed = checked.facts.frees.and_then(|kind| freeing::handle_of(call, kind));
        if let Some((kind, handle)) = freed {
            freeing::check(kind, handle, checked.function, site);
            if kind == Kind::Group {
                groups::GROUPS.freed(call);
            }
            entered.freed = freed;
        }
        if checked.function == FunctionId::MPI_Request_free
            && let Some(handle) = requests::first(call)
        {
            requests::freeing(handle, site);
        }
        let window = freed.filter(|(kind, _)| *kind == Kind::Window).map(|(_, handle)| handle);
        if window.is_some() || checked.shape.window != NONE {
            entered.is_silent = !epochs::entering(checked, window);
        }
        if call.starts_requests() {
            requests::starting(call.requests(), checked.function, site);
            for (handle, mut send) in requests::sends_of(call.requests()) {
                messages::sending(&mut send);
                requests::set_need(handle, waits::of_send(&send));
            }
            requests::starting_collectives(call.requests());
        }
        if checked.shape.class == FunctionClass::Partitioned {
            requests::naming(checked);
        }
        if checked.shape.class == FunctionClass::Io {
            split::entering(checked, freed);
        }
        if checked.shape.destination != NONE {
            *send = messages::send_of(checked);
        }
        if checked.shape.source != NONE {
            *receive = messages::receive_of(checked);
        }
        if matches!(
            checked.function,
            FunctionId::MPI_Mrecv
                | FunctionId::MPI_Mrecv_c
                | FunctionId::MPI_Imrecv
                | FunctionId::MPI_Imrecv_c
        ) {
            messages::receive_matched(checked);
        }
        if checked.shape.timing != Timing::Persistent {
            // A call that does both sends first, as far as anybody can tell.
            send.iter_mut().for_each(messages::sending);
            receive.iter_mut().for_each(messages::posting);
        }
        entered.buffers = requests::check_buffers(checked);
        if sanitizer::is_on() {
            sanitizer::blocking(checked);
        }
        let mut number = 0;
        if let Some(comm) = &checked.comm
            && collectives::is_ordered(checked)
        {
            number = collectives::enter(checked, comm);
        }
        if number != 0 {
            entered.need = waits::of_collective(checked, number);
            if epochs::makes_window(checked.function) {
                entered.window = epochs::making(checked, number);
            }
        }
        entered.number = number;
        let mut fence = None;
        if let Some(object) = together::of(checked, entered.freed) {
            number = collectives::enter(checked, &object);
            entered.need = together::need(checked, &object, number);
            // What a file gives may have been written after all had come.
            if checked.function == FunctionId::MPI_Win_fence {
                fence = Some((object.identity, number));
            }
        }
        if knowledge::is_asked() {
            epochs::call_begins(checked, entered.number, fence);
        }
        if checked.function == FunctionId::MPI_Comm_disconnect
            && let Some(comm) = Communicators::handle_of(call)
            && let Some(comm) = comms::get(&self.communicators, comm)
        {
            entered.need = together::disconnecting(checked, &comm);
        }
        if checked.facts.is_of_group {
            let needs = groups::entering(checked, &self.communicators);
            waits::enter(checked, &needs, false);
        }
        blocking::enter(call, checked, number, entered.need, send.as_ref(), receive.as_ref());
        if call.completes_requests() {
            entered.ids = requests::ids_of(call.requests());
            requests::check_all_gone(call.requests(), &entered.ids, checked.function, checked.site);
        }
        if checked.facts.is_noted {
            if checked.function == FunctionId::MPI_Cancel {
                requests::cancelling(requests::first(call), checked.site);
            } else if call.communicator().map(|comm| comm.raw()) == Some(pmpi::MPI_COMM_SELF) {
                objects::note_callback();
            }
        }
    }

    /// MPI has returned.
    #[inline(always)]
    fn leave<'c>(&self, call: AnyCall<'c>, entered: &mut Entered<'c>, result: CallResult<'c>) {
        waits::leave(entered.checked.function);
        let Entered {
            checked,
            buffers,
            freed,
            send,
            receive,
            need,
            number,
            window: made,
            is_silent,
            ids,
        } = entered;
        if knowledge::is_asked() {
            epochs::call_is_over(checked, *is_silent);
        }
        let (function, site) = (checked.function, checked.site);
        if function == FunctionId::MPI_Parrived
            && sanitizer::is_on()
            && result.is_ok_and(|accepted| call.has_flag_set(accepted))
        {
            requests::arrived(checked);
        }
        if messages::has_threads() {
            at_once::left(function, site);
        }
        if call.completes_requests() {
            let requests = call.requests();
            call.finished(|position, status| {
                if requests[position] != pmpi::MPI_REQUEST_NULL
                    && let Some(request) =
                        requests::completed(requests[position], ids[position], function, site)
                    && let Some(receive) = request.receive
                {
                    messages::received(&receive, status);
                }
            });
        }
        let Ok(accepted) = result else {
            receive.iter().for_each(messages::failed);
            if let Some(comm) = checked.comm.as_ref().filter(|_| *number != 0) {
                collectives::failed(checked, comm, *number);
            }
            if let Some(object) = together::of(checked, *freed) {
                collectives::failed(checked, &object, object.last());
            }
            // Else statuses tell.
            if call.completes_requests()
                && result.is_err_and(|error| error.class() != MPI_ERR_IN_STATUS)
            {
                requests::not_told(call.requests(), ids);
            }
            if call.starts_requests() {
                requests::not_started(call.requests());
            }
            if call.completes_requests() || checked.shape.new_request != NONE {
                requests::refused();
            }
            return;
        };
        if matches!(function, FunctionId::MPI_Mprobe | FunctionId::MPI_Improbe)
            && let Some(status) = call.status(accepted)
        {
            messages::matched(checked, status);
        }
        if checked.shape.timing == Timing::Blocking
            && let Some(receive) = receive
        {
            messages::received(receive, call.status(accepted));
        }
        let window = freed.filter(|(kind, _)| *kind == Kind::Window).map(|(_, handle)| handle);
        if window.is_some() || checked.shape.window != NONE {
            epochs::left(checked, window, call.has_flag_set(accepted));
        }
        if checked.shape.class == FunctionClass::Io {
            split::left(checked, *freed);
        }
        if let Some((kind, handle)) = *freed {
            objects::freed(kind, handle, function, site);
            together::forget(kind, handle);
            if kind == Kind::Communicator {
                comms::forget(MPI_Comm::from_word(handle));
            }
        }
        if call.starts_requests() {
            for request in call.requests() {
                if let Some((receive, _)) = requests::started(*request, site)
                    && let Some(mut receive) = receive
                {
                    messages::posting(&mut receive);
                    requests::set_need(*request, waits::of_receive(&receive));
                    requests::set_receive(*request, Some(receive));
                }
            }
        }
        if matches!(checked.shape.timing, Timing::Started | Timing::Persistent)
            && let Some(request) = call.new_request(accepted)
            && request != pmpi::MPI_REQUEST_NULL
        {
            let need = match (&*send, &*receive) {
                _ if checked.shape.timing == Timing::Persistent => waits::Need::Nothing,
                (Some(send), None) => waits::of_send(send),
                // What it sends may be gone, whoever receives it: only what it receives is known to be needed.
                (_, Some(receive)) => waits::of_receive(receive),
                _ => *need,
            };
            let buffers = core::mem::take(buffers);
            requests::made(checked, request, buffers, receive.take(), send.take(), need);
            if checked.shape.timing == Timing::Persistent
                && *number != 0
                && shared().is_whole()
                && let Some(comm) = &checked.comm
            {
                let operation = comm.object_identity(*number);
                names::note_persistent(operation, comm, function, site);
                let givers = waits::givers(checked, *number);
                requests::set_givers(request, operation, comm.size, givers);
            }
        }
        if checked.facts.makes {
            made::note(call, checked, accepted, *number, *made);
            groups::GROUPS.made(call, accepted);
            if checked.facts.is_of_group {
                groups::left(checked);
            }
            self.follow(call, checked, accepted);
        }
        if checked.facts.is_followed {
            noted::note(call, checked, accepted);
        }
        if matches!(
            function,
            FunctionId::MPI_Win_allocate_shared
                | FunctionId::MPI_Win_allocate_shared_c
                | FunctionId::MPI_Win_shared_query
                | FunctionId::MPI_Win_shared_query_c
        ) {
            accesses::note_shared_memory();
        }
    }

    /// A call has made something: the ranks of a new communicator may be on several hosts.
    fn follow<'c>(&self, call: AnyCall<'c>, checked: &Checked<'c>, accepted: Accepted<'c>) {
        if checked.shape.timing == Timing::Blocking
            && checked.comm.as_ref().is_some_and(|parent| parent.shadow.get().is_some())
            && let Some(handle) = Communicators::new_handle(call, accepted)
        {
            let made = comms::get(&self.communicators, handle);
            // SAFETY: the communicator must be valid, and not be the application's yet: MPI has just made it in this call, which
            // has not returned. All its processes must come here: they are in the same call, and have this tool, since the parent
            // has a shadow.
            unsafe { hosts::follow(handle, made.as_deref()) };
        }
    }

    /// MPI has started.
    fn started(&self) {
        static IS_DONE: AtomicBool = AtomicBool::new(false);
        if let Some((rank, size)) = world_position()
            // A session may begin later.
            && !IS_DONE.swap(true, Relaxed)
        {
            findings::set_rank(rank);
            // Of many worlds of one process, which know nothing of each other, one says that nothing was found.
            if let Some(place) = rank_among_strangers("mpi-check", size) {
                shared::leave();
                if place > 0 {
                    findings::say_only_what_is_found();
                }
            }
            shared().size.store(size, Relaxed);
            shared().has_first.fetch_or(rank == 0, Relaxed);
            let mut level = 0;
            // SAFETY: `MPI_Query_thread` may be called from `MPI_Init` to `MPI_Finalize`, which the position shows, and
            // writes one `int`.
            unsafe { pmpi::MPI_Query_thread(&mut level) };
            if level <= MPI_THREAD_FUNNELED {
                order::only_this_thread();
            } else if level == MPI_THREAD_SERIALIZED {
                order::one_thread_at_a_time();
            }
            if level == MPI_THREAD_MULTIPLE {
                shared().has_threads.store(true, Relaxed);
                messages::set_has_threads();
                knowledge::set_has_threads();
            }
            let mut are_all_here = false;
            if size > 1
                && let Some(world) = comms::get(&self.communicators, pmpi::MPI_COMM_WORLD)
            {
                // SAFETY: the world must be active and of this size: its position was asked above. No other thread may use it, and
                // all must come here: all are in `MPI_Init`, which has not returned.
                are_all_here = unsafe { hosts::begin(size, &world, level == MPI_THREAD_MULTIPLE) };
            }
            shared::hide(are_all_here);
            let watches = self.watches.load(Relaxed);
            let has_threads = level > MPI_THREAD_FUNNELED;
            if watches && hosts::is_on() && named_folder().is_none() {
                shared().reached(shared::limit::DEADLOCKS);
            }
            waits::started(watches, has_threads, IS_FIRST.load(Relaxed));
        }
    }
}

/// Does the function start MPI?
fn is_start(function: FunctionId) -> bool {
    use FunctionId::{MPI_Init, MPI_Init_thread, MPI_Session_init};
    matches!(function, MPI_Init | MPI_Init_thread | MPI_Session_init)
}

impl Check {
    /// A call that starts MPI; any if a sanitizer watches the program, which is not to look at what is done here; and any of a forked
    /// child, whose calls are no rank's and are not checked.
    #[cold]
    #[inline(never)]
    fn around_carefully<'c>(
        &self,
        call: AnyCall<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if is_forked_child() {
            return next_f();
        }
        let mut quiet = sanitizer::Quiet::begin();
        let Some(site) = Caller::of_this_call().application_site(wrappers::depth()) else {
            return next_f();
        };
        if is_start(call.function()) {
            begin();
            // The sanitizer is looked for just now.
            quiet = quiet.or_else(sanitizer::Quiet::begin);
        }
        if !only_tells(call.function()) {
            quiet.iter_mut().for_each(sanitizer::Quiet::is_of_call);
        }
        self.check(call, site, next_f)
    }

    #[inline(never)]
    fn check<'c>(
        &self,
        call: AnyCall<'c>,
        site: Site,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let function = call.function();
        let runs = order::check(function, site);
        if runs && only_tells(function) {
            self.check_question(call, site);
            let result = next_f();
            // A call before may have been left by a jump.
            waits::leave(function);
            threads::left(function);
            return result;
        }
        if !runs {
            return self.check_outside(call, site, next_f);
        }
        let mut entered = Entered {
            checked: Checked::new(call, site, self.comm_of(call)),
            buffers: [None, None],
            freed: None,
            send: None,
            receive: None,
            need: waits::Need::Nothing,
            number: 0,
            window: 0,
            is_silent: false,
            ids: requests::Ids::new(),
        };
        self.enter(call, &mut entered);
        let is_end = function == FunctionId::MPI_Finalize;
        // Callbacks of `MPI_Finalize` may still receive.
        let is_last = is_end && !objects::has_callbacks();
        if is_last {
            findings::finalizing();
        }
        let result = self.communicators.around(call, next_f);
        if is_end && !is_last {
            findings::finalizing();
        }
        self.leave(call, &mut entered, result);
        // MPI is over then, whatever it returns.
        if result.is_ok() || is_end {
            order::accepted(function);
            if is_start(function) {
                self.started();
            }
            if is_end {
                sanitizer::end_all();
                waits::stop();
                objects::report_leaks();
                // A session may still have some.
                if !order::has_sessions() {
                    requests::report_left();
                    split::report_left();
                }
                messages::report_taken();
                if !objects::are_left() {
                    finish();
                }
            }
        }
        threads::left(function);
        result
    }

    /// Passes on a call while MPI does not run: it starts MPI, or makes or frees what is there without it.
    #[cold]
    fn check_outside<'c>(
        &self,
        call: AnyCall<'c>,
        site: Site,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let checked = Checked::new(call, site, None);
        let function = checked.function;
        let is_free = checked.facts.is_free;
        let freed = checked.facts.frees.filter(|_| is_free);
        let freed = freed.and_then(|kind| freeing::handle_of(call, kind));
        let result = next_f();
        let accepted = result?;
        order::accepted(function);
        if is_start(function) {
            self.started();
        }
        if checked.facts.makes && is_free {
            made::note(call, &checked, accepted, 0, 0);
        }
        if let Some((kind, handle)) = freed {
            objects::freed(kind, handle, function, site);
        }
        result
    }

    /// Looks at a call that only tells something: at its arguments, and nothing else.
    fn check_question(&self, call: AnyCall<'_>, site: Site) {
        let mut checked = Checked::new(call, site, None);
        if !checked.is_known() {
            checked.comm = self.comm_of(call);
            checked.check_and_remember();
        }
    }
}

impl MpiInterceptionLayer for Check {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::Once;

    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if process::asks_first() || is_start(call.function()) {
            return self.around_carefully(call.erase(), next_f);
        }
        // What MPI's library does with what it has made itself is no affair of the program's.
        let Some(site) = Caller::of_this_call().application_site(wrappers::depth()) else {
            return next_f();
        };
        self.check(call.erase(), site, next_f)
    }
}

impl Tool for Check {
    const ENDS: Option<fn(&Self, &'static str)> = Some(|_, how| process::ends(how));

    const NEW: Self = Self {
        communicators: Communicators::new(),
        fails: AtomicBool::new(false),
        watches: AtomicBool::new(true),
    };

    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "FAIL",
            default: SettingDefault::Number(0),
            help: "1: the exit status of a program with findings is not 0",
        },
        Setting {
            name: "DEADLOCK",
            default: SettingDefault::Number(1),
            help: "0: no thread looks for deadlocks",
        },
        Setting {
            name: "HOSTS",
            default: SettingDefault::Number(1),
            help: "0: nothing is exchanged between hosts, and what their ranks do together is not compared",
        },
        Setting {
            name: "RACES",
            default: SettingDefault::Number(0),
            help: "1: tells of receives from anybody that might have got another message",
        },
        Setting {
            name: "SUPPRESS",
            default: SettingDefault::Text(""),
            help: "a file with findings that are not wanted: lines of CLASS [FUNCTION [SITE]], with * for anything",
        },
    ];

    fn configure(&self, settings: &Settings) {
        let fails = settings.number("FAIL") != 0;
        self.fails.store(fails, Relaxed);
        FAILS.store(fails, Relaxed);
        self.watches.store(settings.number("DEADLOCK") != 0, Relaxed);
        hosts::set_is_wanted(
            settings.number("HOSTS") != 0 && options::may_communicate("mpi-check"),
        );
        messages::tell_races(settings.number("RACES") != 0);
        suppress::set_file(settings.text("SUPPRESS"));
        // All calls of a program in Python come from the interpreter, whose lines nobody has written.
        Site::follow_python();
    }
}

install_qmpi_layer!(Check, name = "mpi-check", call_sites);
