//! Split operations on files: what `MPI_File_write_all_begin` and its like begin must be ended by the function that belongs to
//! it, before any other operation of all processes on the file (MPI-4.0, 14.4.5).

use std::sync::{Mutex, PoisonError};

use mpi_facts::Pattern;
use mpi_tool_layer::{Call as _, FunctionId, Site, Word as _};
use rustc_hash::FxHashMap;

use crate::areas::Area;
use crate::arguments::Checked;
use crate::findings::{Class, Other, report};
use crate::objects::{self, Kind};
use crate::requests;
use crate::sanitizer::{self, Ticket};

/// An operation that was begun.
struct Split {
    function: FunctionId,
    site: Site,
    /// MPI has not refused it.
    is_accepted: bool,
    /// What is written, and what was there.
    written: Option<(Area, Option<u64>)>,
    /// The operation, as a sanitizer knows it.
    ticket: Ticket,
}

static SPLIT: Mutex<Option<FxHashMap<u64, Split>>> = Mutex::new(None);

fn with<R>(action: impl FnOnce(&mut FxHashMap<u64, Split>) -> R) -> R {
    action(SPLIT.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// What a function's name has before `_begin` or `_end`.
fn begun(function: FunctionId) -> Option<&'static str> {
    let name = function.name();
    name.strip_suffix("_c").unwrap_or(name).strip_suffix("_begin")
}

fn ended(function: FunctionId) -> Option<&'static str> {
    function.name().strip_suffix("_end")
}

fn file(checked: &Checked<'_>, freed: Option<(Kind, u64)>) -> Option<u64> {
    let freed = freed.filter(|(kind, _)| *kind == Kind::File).map(|(_, handle)| handle);
    freed.or_else(|| Some(checked.call.file()?.raw().to_word()))
}

/// A call of a file is about to be passed on.
pub(crate) fn entering(checked: &Checked<'_>, freed: Option<(Kind, u64)>) {
    let Some(file) = file(checked, freed) else { return };
    let (function, site) = (checked.function, checked.site);
    let wrong = |what: &str, message: &str, begun: Option<Site>| {
        let other = begun.map(|site| Other::new("begun at", site));
        report(Class::RequestLifecycle, function, site, what, message, other);
    };
    if let Some(name) = ended(function) {
        let before = with(|files| files.remove(&file));
        let Some(before) = before else {
            if objects::get(Kind::File, file).is_some_and(|file| !file.is_freed()) {
                wrong("no begin", &format!("{function} without {name}_begin"), None);
            }
            return;
        };
        sanitizer::end(before.ticket);
        if begun(before.function) != Some(name) {
            let message =
                format!("{function} ends {}, which it does not belong to", before.function);
            wrong("other end", &message, Some(before.site));
        } else if !sanitizer::has_told(before.site)
            && before.written.is_some_and(|(area, sum)| area.is_changed(sum))
        {
            let message = format!(
                "the buffer that {} writes was changed before the operation was complete, as {function} says here",
                before.function
            );
            let other = Other::new("begun at", before.site);
            report(Class::BufferInUse, function, site, "changed", &message, Some(other));
        }
        return;
    }
    if is_for_all(checked) {
        let before = with(|files| {
            let before = files.get(&file).filter(|before| before.is_accepted)?;
            Some((before.function, before.site))
        });
        if let Some((before, begun)) = before {
            let message = format!(
                "{function} before {} has ended what {before} has begun",
                before.name().trim_end_matches("_c").replace("_begin", "_end")
            );
            wrong("not ended", &message, Some(begun));
        }
    }
    if begun(function).is_some() {
        let area = Area::of_data(checked, &checked.shape.sent).filter(|_| checked.is_sound);
        let written = area.filter(|_| checked.shape.pattern == Pattern::Write).map(|area| {
            let sum = area.checksum();
            (area, sum)
        });
        let areas = requests::areas_of(checked);
        let areas = areas.iter().map(|(area, writes)| (area, *writes));
        let ticket = sanitizer::begin(function, site, areas);
        let split = Split { function, site, is_accepted: false, written, ticket };
        let before = with(|files| files.insert(file, split));
        before.into_iter().for_each(|before| sanitizer::end(before.ticket));
    } else if function == FunctionId::MPI_File_close {
        let before = with(|files| files.remove(&file));
        before.into_iter().for_each(|before| sanitizer::end(before.ticket));
    }
}

/// Is it a call that must not come between a beginning and its end?
fn is_for_all(checked: &Checked<'_>) -> bool {
    use FunctionId::{MPI_File_close, MPI_File_set_size, MPI_File_set_view, MPI_File_sync};
    let is_transfer = matches!(checked.shape.pattern, Pattern::Read | Pattern::Write);
    checked.facts.is_on_object && is_transfer
        || matches!(
            checked.function,
            MPI_File_close | MPI_File_set_size | MPI_File_set_view | MPI_File_sync
        )
}

/// MPI has accepted the call.
pub(crate) fn left(checked: &Checked<'_>, freed: Option<(Kind, u64)>) {
    if begun(checked.function).is_some()
        && let Some(file) = file(checked, freed)
    {
        with(|files| files.get_mut(&file).into_iter().for_each(|split| split.is_accepted = true));
    }
}

/// MPI is over: what was never ended.
pub(crate) fn report_left() {
    for split in with(core::mem::take).into_values().filter(|split| split.is_accepted) {
        let function = split.function;
        let end = function.name().trim_end_matches("_c").replace("_begin", "_end");
        let message = format!("what {function} has begun here was never ended ({end})");
        report(Class::RequestLifecycle, function, split.site, "left", &message, None);
    }
}
