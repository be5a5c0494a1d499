//! Partitions of requests: those that are ready (`MPI_Pready`), and such as there are not.

use mpi_facts::NONE;
use mpi_tool_layer::mpi_sys::c_int;
use mpi_tool_layer::{Call as _, FunctionId, Site, Word as _};

use smallvec::SmallVec;

use super::with;
use crate::areas::Area;
use crate::arguments::Checked;
use crate::findings::{Class, Other, report};
use crate::memory::checksum;
use crate::sanitizer;

/// The partitions of a request.
#[derive(Debug, Clone)]
pub(super) struct Partitions {
    count: u64,
    is_sent: bool,
    /// Which are ready, since the request was started: a bit for each.
    ready: Vec<u64>,
    count_ready: u64,
    /// Where the first one begins, and how many bytes each has; `None` if that is not known.
    place: Option<(u64, u64)>,
    /// Where some became ready, since the request was started: the first places.
    named: SmallVec<[Site; 2]>,
    /// What is received, all of it.
    received: Option<Area>,
    /// What was in those that are ready: where it begins, and a checksum.
    sums: Vec<(u64, u64)>,
}

/// How many partitions of one call are looked at.
const MOST: u64 = 1 << 16;
/// Of how many it is kept what was in them.
const MOST_SUMS: usize = 256;

impl Partitions {
    /// Those of a request that a call makes.
    pub(super) fn of(checked: &Checked<'_>) -> Option<Box<Self>> {
        let (sent, received) = (checked.shape.sent, checked.shape.received);
        let is_sent = sent.partitions != NONE;
        let position = if is_sent { sent.partitions } else { received.partitions };
        let count = u64::try_from(checked.int(position)?).ok()?;
        let place = || {
            let base = checked.word(sent.buffer).filter(|base| *base != 0)?;
            let info = checked.datatype(sent.datatype).filter(|info| info.is_dense)?;
            let (begin, end) = info.range(base, u64::try_from(checked.int(sent.count)?).ok()?)?;
            Some((begin, end - begin))
        };
        let place = if is_sent && checked.is_sound { place() } else { None };
        let whole = || {
            let each = u64::try_from(checked.int(received.count)?).ok()?;
            let buffer = checked.word(received.buffer)?;
            Area::of(checked, buffer, each.checked_mul(count)?, received.datatype)
        };
        let is_for_us = !is_sent && checked.is_sound && !checked.is_for_nobody();
        let received = if is_for_us { whole() } else { None };
        let (ready, sums) = (Vec::new(), Vec::new());
        Some(Box::new(Self {
            count,
            is_sent,
            ready,
            count_ready: 0,
            place,
            named: SmallVec::new(),
            received,
            sums,
        }))
    }

    /// What is received from the start on.
    pub(super) fn received(&self) -> Option<Area> {
        self.received.clone()
    }

    /// Has a sanitizer told of a store to one that was ready?
    pub(super) fn is_told(&self) -> bool {
        self.named.iter().any(|site| sanitizer::has_told(*site))
    }

    fn note_place(&mut self, site: Site) {
        const MOST: usize = 16;
        if self.named.len() < MOST && !self.named.contains(&site) {
            self.named.push(site);
        }
    }

    /// One that is sent, if it is known where it is.
    fn sent(&self, partition: u64) -> Option<Area> {
        let (base, bytes) = self.place?;
        let begin = base.checked_add(partition.checked_mul(bytes)?)?;
        Some(Area::whole(begin, begin.checked_add(bytes)?))
    }

    /// Must more of them be ready before the request can be complete?
    pub(super) fn wait_for_more(&self) -> bool {
        self.is_sent && self.count_ready < self.count
    }

    /// Is something else in one that is ready than was there?
    pub(super) fn are_changed(&self) -> bool {
        let Some((_, bytes)) = self.place else { return false };
        let is_other = |(begin, before): &(u64, u64)| {
            checksum(*begin, begin + bytes).is_some_and(|now| now != *before)
        };
        self.sums.iter().any(is_other)
    }

    /// The request is started.
    pub(super) fn start(&mut self) {
        self.ready.clear();
        self.sums.clear();
        self.named.clear();
        self.count_ready = 0;
    }

    /// Is the partition ready already? It is from now on.
    fn set_ready(&mut self, partition: u64) -> bool {
        let (at, bit) = (partition as usize / 64, 1 << (partition % 64));
        if self.ready.len() <= at {
            self.ready.resize(at + 1, 0);
        }
        let was = self.ready[at] & bit != 0;
        self.ready[at] |= bit;
        if !was {
            self.count_ready += 1;
            if let Some((base, bytes)) = self.place
                && self.sums.len() < MOST_SUMS
                && let Some(begin) = partition.checked_mul(bytes).map(|offset| base + offset)
                && let Some(sum) = checksum(begin, begin + bytes)
            {
                self.sums.push((begin, sum));
            }
        }
        was
    }
}

/// The partitions that a call names; `None` if it is about something else.
fn named(checked: &Checked<'_>) -> Option<Vec<i64>> {
    use FunctionId::{MPI_Parrived, MPI_Pready, MPI_Pready_list, MPI_Pready_range};
    let words = checked.call.words();
    let number = |word: u64| word as i64;
    Some(match checked.function {
        MPI_Pready => vec![number(words[0])],
        MPI_Parrived => vec![number(words[1])],
        MPI_Pready_range => {
            let (low, high) = (number(words[0]), number(words[1]));
            (low..=high.min(low.saturating_add(MOST as i64))).collect()
        }
        MPI_Pready_list if words[0] <= MOST && words[1] != 0 => {
            let array = <*const c_int>::from_word(words[1]);
            // SAFETY: the array must have the elements: the application says that it has so many, and MPI, which the call goes
            // to next, reads them all.
            (0..words[0] as usize).map(|index| i64::from(unsafe { *array.add(index) })).collect()
        }
        _ => return None,
    })
}

/// A call that names partitions is about to be passed on.
pub(crate) fn naming(checked: &Checked<'_>) {
    let Some(partitions) = named(checked) else { return };
    let function = checked.function;
    let is_arrival = function == FunctionId::MPI_Parrived;
    let words = checked.call.words();
    let handle = if is_arrival { words[0] } else { words[words.len() - 1] };
    let mut areas: Vec<Area> = Vec::new();
    let found = with(|requests| {
        // Which of several requests with one handle it is, nobody knows.
        let [request] = &mut requests.get_mut(&handle)?[..] else { return None };
        let (made_by, is_active, place) = (request.function, request.is_active, request.site);
        let turned = || {
            let [low, high] = [0, 1].map(|at: usize| words[at] as i64);
            // A range of none ends one before its beginning.
            let is_range = function == FunctionId::MPI_Pready_range;
            (is_range && low > high.saturating_add(1)).then_some(Fault::Turned(low, high))
        };
        let fault = match request.partitions.as_deref_mut() {
            None => Some(Fault::Kind),
            Some(of) if of.is_sent == is_arrival => Some(Fault::Kind),
            Some(_) if !is_active && !is_arrival => Some(Fault::Inactive),
            Some(_) if turned().is_some() => turned(),
            Some(of) => partitions.iter().find_map(|partition| {
                let number = u64::try_from(*partition).ok().filter(|number| *number < of.count);
                let Some(number) = number else { return Some(Fault::Range(*partition, of.count)) };
                if !is_arrival && sanitizer::is_on() {
                    areas.extend(of.sent(number));
                }
                (!is_arrival && of.set_ready(number)).then_some(Fault::Twice(number))
            }),
        };
        // From now on, MPI may read what is ready.
        if !areas.is_empty() {
            request.partitions.iter_mut().for_each(|of| of.note_place(checked.site));
            for area in &areas {
                request.ticket = sanitizer::add(request.ticket, made_by, checked.site, area);
            }
        }
        Some((fault?, made_by, place))
    });
    if let Some((fault, made_by, place)) = found {
        fault.tell(function, checked.site, made_by, place);
    }
}

/// `MPI_Parrived` has said that a partition has arrived. It is the application's from now on, and with it all of the buffer, as far
/// as a sanitizer is told.
pub(crate) fn arrived(checked: &Checked<'_>) {
    let handle = checked.call.words()[0];
    let ticket = with(|requests| match &requests.get(&handle)?[..] {
        [request] => Some(request.ticket),
        _ => None,
    });
    ticket.into_iter().for_each(sanitizer::end);
}

/// What is wrong with a call that names partitions.
enum Fault {
    /// The request is none of those that the function is for.
    Kind,
    Inactive,
    Range(i64, u64),
    /// The first and the last one of a range.
    Turned(i64, i64),
    Twice(u64),
}

impl Fault {
    fn tell(&self, function: FunctionId, site: Site, made_by: FunctionId, place: Site) {
        let (class, what, message) = match self {
            Self::Kind => (
                Class::RequestLifecycle,
                "kind",
                format!("{function} of a request of {made_by}, which it is not for"),
            ),
            Self::Inactive => (
                Class::RequestLifecycle,
                "inactive",
                format!("{function} of a request of {made_by} that is not active: start it first"),
            ),
            Self::Range(partition, count) => (
                Class::InvalidArgument,
                "partition",
                format!("the partition is {partition}, but the request has {count}"),
            ),
            Self::Turned(low, high) => (
                Class::InvalidArgument,
                "partition",
                format!("partition_low is {low}, but partition_high is {high}"),
            ),
            Self::Twice(partition) => (
                Class::RequestLifecycle,
                "twice",
                format!("{function} of partition {partition}, which is ready already"),
            ),
        };
        report(class, function, site, what, &message, Some(Other::new("made at", place)));
    }
}
