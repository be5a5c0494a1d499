//! One-sided operations with requests: they are complete with these, or with the call that completes all of their window.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mpi_facts::{Pattern, Timing};
use mpi_tool_layer::mpi_sys::pmpi;
use mpi_tool_layer::{Call as _, FunctionClass, FunctionId, Site, Word as _};

use super::{Buffer, Buffers, with};
use crate::areas::Area;
use crate::arguments::Checked;

/// The place at its target that an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Remote {
    window: u64,
    target: i64,
    is_get: bool,
    /// Where the call is.
    site: u32,
    displacement: u64,
    /// The target's count and datatype.
    described: (u64, u64),
}

impl Remote {
    /// Of a one-sided operation; `None` of any other call.
    pub(super) fn of(checked: &Checked<'_>) -> Option<Self> {
        let shape = checked.shape;
        if shape.class != FunctionClass::OneSided {
            return None;
        }
        let (mut displacement, mut described) = (0, (1, 0));
        for (parameter, word) in checked.call.arguments() {
            match parameter.name() {
                "target_disp" => displacement = word,
                "target_count" => described.0 = word,
                "target_datatype" => described.1 = word,
                _ => {}
            }
        }
        Some(Self {
            window: checked.call.window()?.raw().to_word(),
            target: checked.int(shape.target)?,
            is_get: shape.pattern == Pattern::Get,
            site: checked.site.number(),
            displacement,
            described,
        })
    }

    /// Do both get the same, or by the same line, as programs do that measure how long that takes?
    pub(super) fn gets_again(&self, other: &Self) -> bool {
        let is_same = Self { site: other.site, ..*self } == *other;
        self.is_get && other.is_get && (is_same || self.site == other.site)
    }
}

/// There may be operations with buffers that are not the application's.
static ARE_THERE: AtomicBool = AtomicBool::new(false);

/// One is about to be kept.
pub(super) fn begun() {
    ARE_THERE.store(true, Relaxed);
}

/// What a one-sided operation reads here, and what it writes. Results of fetches with a request are not looked at: programs
/// that need none of them give one place for all.
pub(super) fn one_sided_buffers(checked: &Checked<'_>) -> Buffers {
    let shape = checked.shape;
    let no_op = pmpi::MPI_NO_OP.to_word();
    let is_used = checked.is_sound && !checked.is_for_nobody();
    let reads = is_used && checked.word(shape.operation) != Some(no_op);
    let writes = is_used && (shape.timing == Timing::Epoch || shape.pattern == Pattern::Get);
    let one = |data, is_received| Some(Buffer::new(Area::of_data(checked, data)?, is_received));
    let sent = if reads { one(&shape.sent, false) } else { None };
    [sent, if writes { one(&shape.received, true) } else { None }]
}

/// A call is about to be passed on that completes all operations of this process on a window, with one target or with all:
/// their buffers are the application's from now on, whether or not their requests are complete (MPI-4.0, 12.5.4).
pub(crate) fn flushed(window: u64, target: Option<i64>, function: FunctionId, site: Site) {
    if !ARE_THERE.load(Relaxed) {
        return;
    }
    let mut complete = Vec::new();
    with(|requests| {
        let mut are_left = false;
        for request in requests.values_mut().flatten() {
            let Some(remote) = request.remote else { continue };
            if remote.window == window && target.is_none_or(|target| target == remote.target) {
                complete.push(request.clone());
                request.let_go();
            }
            are_left |= request.buffers.iter().any(Option::is_some);
        }
        ARE_THERE.store(are_left, Relaxed);
    });
    for request in complete {
        request.check_unchanged(function, site);
    }
}
