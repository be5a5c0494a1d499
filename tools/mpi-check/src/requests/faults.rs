//! Requests that are used wrongly: after their end, or by calls that they are not for.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use mpi_tool_layer::mpi_sys::{MPI_Request, pmpi};
use mpi_tool_layer::{AnyCall, Call as _, FunctionClass, FunctionId, ParameterKind, Site, Word};

use super::{Request, with};
use crate::extensions;
use crate::findings::{Class, Other, report};
use crate::shared::{limit, shared};

/// How many handles of requests that are gone are remembered.
const GONE: usize = 256;

/// A handle in each place that its number leads to.
static HANDLES: [AtomicU64; GONE] = [const { AtomicU64::new(0) }; GONE];

/// MPI has refused a call of requests: nobody knows whether it has made or completed one.
static IS_UNSURE: AtomicBool = AtomicBool::new(false);

fn place(handle: u64) -> &'static AtomicU64 {
    &HANDLES[(handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % GONE]
}

/// A request is gone: until MPI makes another one with its handle, nothing may be done with it.
#[inline]
pub(super) fn gone(handle: u64) {
    place(handle).store(handle, Relaxed);
}

/// MPI has made a request with a handle.
#[inline]
pub(super) fn is_back(handle: u64) {
    let place = place(handle);
    if place.load(Relaxed) == handle {
        place.store(0, Relaxed);
    }
}

/// MPI has refused a call that makes or completes requests.
pub(crate) fn refused() {
    IS_UNSURE.store(true, Relaxed);
}

/// Tells of a handle that was a request's, and is none any more.
pub(super) fn check_gone(handle: MPI_Request, function: FunctionId, site: Site) {
    let key = handle.to_word();
    let is_sure = handle != pmpi::MPI_REQUEST_NULL
        && place(key).load(Relaxed) == key
        && !IS_UNSURE.load(Relaxed)
        && !crate::messages::has_threads()
        && !shared().has_reached(limit::UNSEEN | limit::UNSEEN_OTHERS);
    if !is_sure || with(|requests| requests.contains_key(&key)) || extensions::are_unseen() {
        return;
    }
    let message =
        format!("{function} of a request that was completed or freed before: its handle is a copy");
    report(Class::RequestLifecycle, function, site, "gone", &message, None);
}

/// The same of those of a call, with the numbers of the requests that they are: 0 of one that is not known.
#[inline]
pub(crate) fn check_all_gone(
    handles: &[MPI_Request],
    ids: &[u64],
    function: FunctionId,
    site: Site,
) {
    for (handle, _) in handles.iter().zip(ids).filter(|(_, id)| **id == 0) {
        check_gone(*handle, function, site);
    }
}

/// The request whose address a call has.
pub(crate) fn first(call: AnyCall<'_>) -> Option<MPI_Request> {
    let (_, address) =
        call.arguments().find(|(parameter, _)| parameter.kind == ParameterKind::Request)?;
    // SAFETY: the address must be that of a request, unless it is null: MPI, which the call goes to next, reads it.
    unsafe { <*const MPI_Request>::from_word(address).as_ref() }.copied()
}

/// One request must not be started twice by one call.
pub(super) fn check_twice(handles: &[MPI_Request], function: FunctionId, site: Site) {
    let mut words: Vec<u64> = handles.iter().map(|handle| handle.to_word()).collect();
    words.sort_unstable();
    let null = pmpi::MPI_REQUEST_NULL.to_word();
    if words.windows(2).any(|pair| pair[0] == pair[1] && pair[0] != null) {
        let message = format!("{function} of one request twice");
        report(Class::RequestLifecycle, function, site, "twice", &message, None);
    }
}

impl Request {
    /// Only operations of messages that are under way may be cancelled, and no partitioned ones (MPI-4.0, 3.8.4, 4.2 and 6.13).
    fn check_may_be_cancelled(&self, site: Site) {
        let function = FunctionId::MPI_Cancel;
        let class = mpi_facts::Shape::looked_up(self.function).class;
        let is_of_all = matches!(class, FunctionClass::Collective | FunctionClass::Neighborhood);
        let message = if self.partitions.is_some() {
            format!(
                "{function} of a request of {}: partitioned messages cannot be cancelled",
                self.function
            )
        } else if self.is_persistent && is_of_all {
            format!("{function} of a request of {}, which must be completed", self.function)
        } else if self.is_persistent && !self.is_active && !IS_UNSURE.load(Relaxed) {
            format!("{function} of a request of {} that is not active", self.function)
        } else {
            return self.check_must_end(function, site);
        };
        let other = Other::new("made at", self.site);
        report(Class::RequestLifecycle, function, site, "cancel", &message, Some(other));
    }

    /// Requests that must not be cancelled or freed: those of nonblocking collective operations, and those of one-sided
    /// operations (MPI-4.0, 6.12 and 12.3.5).
    pub(super) fn check_must_end(&self, function: FunctionId, site: Site) {
        let class = mpi_facts::Shape::looked_up(self.function).class;
        let must_end = matches!(
            class,
            FunctionClass::Collective | FunctionClass::Neighborhood | FunctionClass::OneSided
        );
        if self.is_persistent || !must_end {
            return;
        }
        let message =
            format!("{function} of a request of {}, which must be completed", self.function);
        let other = Other::new("started at", self.started);
        report(Class::RequestLifecycle, function, site, "must end", &message, Some(other));
    }
}

/// The application cancels a request.
pub(super) fn check_cancelled(handle: MPI_Request, site: Site) {
    // Which of several it is, nobody knows.
    let request = with(|requests| match &requests.get(&handle.to_word())?[..] {
        [request] => Some(request.clone()),
        _ => None,
    });
    match request {
        Some(request) => request.check_may_be_cancelled(site),
        None => check_gone(handle, FunctionId::MPI_Cancel, site),
    }
}
