//! Operations of an epoch of this process that is not over, and which of them must not meet.

use mpi_facts::{NONE, Pattern, Timing};
use mpi_tool_layer::mpi_sys::pmpi;
use mpi_tool_layer::{Call as _, FunctionId, ParameterKind, Site, Word};

use crate::accesses::{Action, Basic};
use crate::areas::Area;
use crate::arguments::{self, Checked};
use crate::findings::{Class, report};
use crate::layouts::Layout;
use crate::objects;
use crate::places::Mark;
use crate::sanitizer::{self, Ticket};

/// An operation of an epoch that is not over.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) function: FunctionId,
    pub(super) site: Site,
    pub(super) target: i64,
    pub(super) displacement: i64,
    /// What it does with the target's memory.
    pub(super) action: Action,
    /// [`MPI_NO_OP`], which changes nothing.
    pub(super) is_no_op: bool,
    /// It brings data to this process.
    pub(super) fetches: bool,
    /// The target's memory, from the displacement on; `None` where it is not known.
    pub(super) layout: Option<Layout>,
    /// The datatype and how many, as the call has them.
    pub(super) described: (u64, u64),
    /// The one basic datatype of the target's data.
    pub(super) basic: Option<Basic>,
    /// How many bytes a displacement counts, if it is known.
    pub(super) unit: Option<u32>,
    /// It was started with a request.
    pub(super) has_request: bool,
    /// Memory of this process that MPI reads, and what was in it.
    pub(super) read: Option<(Area, Option<u64>)>,
    /// Memory of this process that MPI writes.
    pub(super) written: Option<Area>,
    /// The operation, as a sanitizer knows it.
    pub(super) ticket: Ticket,
    /// What was there before the call, where it is little.
    pub(super) before: Option<u64>,
    /// What was there when the call had returned, if that was something else: then it has arrived.
    pub(super) arrived: Option<u64>,
    /// The same, if it was what had been there before.
    pub(super) unarrived: Option<u64>,
}

/// Of as many bytes as this, MPI writes none before it has all.
const LITTLE: u64 = 256;

impl Operation {
    /// A sanitizer watches its buffers from now on, until it is over. `there`: what it uses of this process's part of the window.
    pub(super) fn watch(&mut self, there: Option<Area>) {
        let read = self.read.iter().map(|(area, _)| (area, false));
        let written = self.written.iter().map(|area| (area, true));
        there.iter().for_each(sanitizer::uses_own_part);
        let there = there.iter().map(|area| (area, self.changes()));
        self.ticket = sanitizer::begin(self.function, self.site, read.chain(written).chain(there));
    }

    /// Does it change the target's memory?
    fn changes(&self) -> bool {
        self.action != Action::Get && !self.is_no_op
    }

    /// `None` of one that moves nothing, or of which nobody knows what.
    pub(super) fn of(
        checked: &Checked<'_>,
        action: Action,
        target: i64,
        unit: Option<u32>,
    ) -> Option<Self> {
        let mut displacement = None;
        // Fetches of one element have neither a count nor a second datatype.
        let mut described = (0, 1);
        for (parameter, word) in checked.call.arguments() {
            match parameter.name() {
                "target_disp" if parameter.kind == ParameterKind::RmaDisplacement => {
                    displacement = Some(word as i64);
                }
                "target_count" if word == 0 => return None,
                "target_count" => described.1 = word,
                "target_datatype" | "datatype" => described.0 = word,
                _ => {}
            }
        }
        let basic = arguments::datatype(described.0).and_then(|info| {
            let code = info.signature.uniform;
            let size = info.size.checked_div(info.signature.elements)?;
            (code != 0).then_some(Basic { code, size: u16::try_from(size).ok()? })
        });
        let layout = objects::layout(described.0).zip(arguments::datatype(described.0));
        let layout = layout.and_then(|(layout, info)| layout.repeated(described.1, info.extent));
        let shape = checked.shape;
        // With a request, the buffers are the application's again when that is complete. `MPI_NO_OP` reads nothing.
        let has_request = shape.timing == Timing::Started;
        let is_no_op = checked.word(shape.operation) == Some(pmpi::MPI_NO_OP.to_word());
        let reads = !has_request && !is_no_op;
        let read = if reads { Area::of_data(checked, &shape.sent) } else { None };
        let read = read.map(|area| {
            let checksum = area.checksum();
            (area, checksum)
        });
        let is_get = shape.pattern == Pattern::Get;
        let written = Area::of_data(checked, &shape.received).filter(|_| is_get || !has_request);
        let little = written.as_ref().filter(|area| !has_request && area.length() <= LITTLE);
        let before = little.and_then(Area::checksum);
        Some(Self {
            function: checked.function,
            site: checked.site,
            target,
            displacement: displacement?,
            action,
            is_no_op,
            fetches: shape.received.buffer != NONE,
            layout,
            described,
            basic,
            unit,
            has_request,
            read,
            written,
            ticket: Ticket::NONE,
            before,
            arrived: None,
            unarrived: None,
        })
    }

    /// What it does must fit into the target's window, which has so many bytes, and what is given into what is taken.
    pub(super) fn check_target(&self, checked: &Checked<'_>, size: Option<u64>) {
        let (function, target) = (self.function, self.target);
        let wrong = |class: Class, what: &str, message: &str| {
            report(class, function, self.site, what, message, None);
        };
        let start = self.unit.and_then(|unit| self.displacement.checked_mul(unit.into()));
        let place = start.zip(self.layout.as_ref()).and_then(|(start, layout)| {
            let (first, end) = layout.hull()?;
            Some((start.checked_add(first)?, start.checked_add(end)?))
        });
        if let Some(size) = size
            && let Some((first, end)) = place
            && (first < 0 || end as u64 > size)
        {
            let message = format!(
                "{function} needs the bytes from {first} to {} of the window of rank {target}, which has {size} bytes",
                end - 1
            );
            wrong(Class::InvalidArgument, "beyond", &message);
        }
        // A fetch has one description for all of its data.
        let shape = checked.shape;
        let gets = shape.pattern == Pattern::Get
            || shape.pattern == Pattern::GetAccumulate && self.is_no_op;
        let own = if gets { shape.received } else { shape.sent };
        let is_described = own.count != NONE && own.datatype != NONE;
        let own =
            checked.datatype(own.datatype).filter(|_| is_described).zip(checked.int(own.count));
        let (Some((own, count)), Some(there)) = (own, arguments::datatype(self.described.0)) else {
            return;
        };
        let own = own.signature.times(u64::try_from(count).unwrap_or(0));
        let there = there.signature.times(self.described.1);
        let (given, taken) = if gets { (there, own) } else { (own, there) };
        if given.is_any || taken.is_any {
            return;
        }
        let class = match given.may_begin(taken) {
            false => Class::DatatypeMismatch,
            true if given.elements > taken.elements => Class::InvalidArgument,
            true => return,
        };
        let message = format!(
            "{function} at rank {target}: the source has {}, which does not fit the destination, {}",
            given.describe(),
            taken.describe()
        );
        wrong(class, "target", &message);
    }

    /// In which way it conflicts with an earlier operation, in words.
    pub(super) fn conflict(&self, old: &Self) -> Option<&'static str> {
        let [own_read, old_read] = [self, old].map(|it| it.read.as_ref().map(|(area, _)| area));
        let meet = |written: Option<&Area>, read: Option<&Area>| {
            written.zip(read).is_some_and(|(written, read)| written.meets_at_all(read))
        };
        let written = self.written.as_ref();
        // One with a request may have been completed by it before this one began.
        if !old.has_request && self.target == old.target && self.meets(old) {
            let changes = Self::changes;
            match (old.action, self.action) {
                (Action::Put, Action::Get) => {
                    return Some("reads at the target what is changed by");
                }
                (Action::Accumulate, Action::Get) if changes(old) => {
                    return Some("reads at the target what is changed by");
                }
                (Action::Get, Action::Put) => return Some("changes at the target what is read by"),
                (Action::Get, Action::Accumulate) if changes(self) => {
                    return Some("changes at the target what is read by");
                }
                (Action::Put, Action::Accumulate) | (Action::Accumulate, Action::Put) => {
                    return Some("meets at the target, in any order,");
                }
                (Action::Accumulate, Action::Accumulate)
                    if changes(old)
                        && changes(self)
                        && self.basic.zip(old.basic).is_some_and(|(own, theirs)| own != theirs) =>
                {
                    return Some("takes data at the target for another datatype than");
                }
                (Action::Put, Action::Put) if self.puts_other(old) => {
                    return Some("puts other data to the place of");
                }
                _ => {}
            }
        }
        if meet(old.written.as_ref(), own_read) {
            return Some("reads a buffer of this process that is written by");
        }
        if meet(written, old_read) {
            return Some("writes to a buffer of this process that is read by");
        }
        let both_get = (old.action, self.action) == (Action::Get, Action::Get);
        (both_get && meet(old.written.as_ref(), written) && !self.gets_again(old))
            .then_some("gets to a place of this process that is written by")
    }

    /// Do two lines put different data to exactly one place? What meets in part may be equal there.
    fn puts_other(&self, old: &Self) -> bool {
        let is_one_place = self.displacement == old.displacement && self.described == old.described;
        let sums = [self, old].map(|it| it.read.as_ref().and_then(|(_, sum)| *sum));
        let [Some(own), Some(theirs)] = sums else { return false };
        is_one_place && own != theirs && Mark::of(self.site) != Mark::of(old.site)
    }

    /// Do both get to the same place by the same line, as programs do that measure how long that takes?
    fn gets_again(&self, old: &Self) -> bool {
        self.written == old.written && Mark::of(self.site) == Mark::of(old.site)
    }

    /// Have both a byte of the target's memory in common? `false` if nobody knows.
    pub(super) fn meets(&self, old: &Self) -> bool {
        if self.displacement == old.displacement && self.described == old.described {
            return true;
        }
        let distance = match self.displacement.checked_sub(old.displacement) {
            Some(0) => 0,
            Some(distance) => match self.unit.map(|unit| distance.checked_mul(i64::from(unit))) {
                Some(Some(distance)) => distance,
                _ => return false,
            },
            None => return false,
        };
        let (Some(own), Some(theirs)) = (&self.layout, &old.layout) else { return false };
        own.clone().moved(distance).is_some_and(|own| own.meets(theirs))
    }

    /// The operation is complete now: what it reads must be as it was.
    pub(super) fn check_unchanged(&self, by: FunctionId) {
        let Some((area, before)) = &self.read else { return };
        // Who has seen the store has told of it.
        if !sanitizer::has_told(self.site) && area.is_changed(*before) {
            let function = self.function;
            let message = format!(
                "the buffer of {function} was changed before the epoch was over, as {by} says"
            );
            report(Class::RmaConflict, function, self.site, "changed", &message, None);
        }
    }
}
