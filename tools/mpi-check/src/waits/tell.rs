//! What is found of a standstill, in words.

use std::fmt::Write as _;

use mpi_check_engine::{CallSite, Need, Picture, Standstill, State, Wait, Whom};
use mpi_facts::{Completion, Shape};
use mpi_tool_layer::FunctionId;

use crate::collectives;
use crate::findings::{Class, Other, Place, ranks_text, report_while};
use crate::messages;
use crate::names;
use crate::places::{self, Mark};

fn mark_of(site: CallSite) -> Mark {
    Mark { module: site.module, offset: site.offset }
}

/// A call and its place, behind the call that waits for it: ` (MPI_Irecv at a.c:7 main)`.
fn behind(function: FunctionId, waiting: FunctionId, mark: Mark) -> String {
    if function == waiting {
        return String::new();
    }
    let place = places::of_mark(mark);
    let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
    format!(" ({function}{at})")
}

/// Does a function wait for what others have started?
fn completes_requests(function: FunctionId) -> bool {
    !matches!(Shape::of(function).completion, Completion::None)
}

/// Puts a standstill into words. A rank of which a sentence of its own is told is not described in the others' sentences.
struct Teller<'a> {
    picture: &'a Picture,
    told: &'a [Wait],
}

impl Teller<'_> {
    /// Where a rank is, in words, if nothing else is said of it.
    fn whereabouts(&self, rank: u32) -> String {
        let is_told = self.told.iter().any(|wait| wait.rank == rank);
        let Some(of) = self.picture.ranks.get(rank as usize).filter(|_| !is_told) else {
            return String::new();
        };
        match of.state {
            State::Over => ", which is in MPI_Finalize".into(),
            State::Blocked => {
                let name =
                    FunctionId::from_index(of.function as usize).map_or("MPI", |it| it.name());
                let place = places::of_mark(mark_of(of.site));
                let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
                format!(", which is in {name}{at}")
            }
            _ => String::new(),
        }
    }

    /// What a rank waits for in a collective operation.
    fn collective(&self, wait: &Wait, waiting: FunctionId, [identity, number]: [u64; 2]) -> String {
        let on = names::on(identity);
        let under_way =
            collectives::under_way(identity, number).filter(|_| !self.picture.is_of_all);
        let Some(of) = under_way else {
            return format!("{on} waits for other ranks, which have not come to it");
        };
        let mark = if of.first.0 == wait.rank { of.first.1 } else { Mark::default() };
        // Ranks that call different functions in one operation were told before: this one has called its own.
        let called = if completes_requests(waiting) { of.function } else { waiting };
        let behind = behind(called, waiting, mark);
        match &wait.whom {
            Whom::Ranks(missing) if !missing.is_empty() => {
                let first = missing[0];
                let at = self.whereabouts(first);
                let at = at.replacen(", which", &format!("; rank {first}"), 1);
                let has = if missing.len() == 1 { "has" } else { "have" };
                let missing = ranks_text(missing);
                format!("{behind}{on} waits for {missing}, which {has} not come to it{at}")
            }
            _ => format!("{behind}{on} waits for other ranks, which have not come to it"),
        }
    }

    /// What a rank waits for, in words.
    fn sentence(&self, wait: &Wait) -> (FunctionId, Mark, String) {
        let rank = wait.rank;
        let of = &self.picture.ranks[rank as usize];
        let mark = mark_of(of.site);
        let function = FunctionId::from_index(of.function as usize).unwrap_or(FunctionId::MPI_Wait);
        let place = places::of_mark(mark);
        let mut text = match wait.is_polling {
            true => format!("rank {rank} polling with {function}"),
            false => format!("rank {rank} in {function}"),
        };
        if !place.is_empty() {
            let _ = write!(text, " at {place}");
        }
        let (needed, there) = (wait.messages, wait.messages_there);
        if there > 0 && there < needed && !wait.is_any {
            let is = if there == 1 { "is" } else { "are" };
            let _ = write!(text, " waits for {needed} messages, of which {there} {is} there");
        }
        let at = |rank: u32| self.whereabouts(rank);
        let is_of_all = self.picture.is_of_all;
        let _ = match wait.need {
            Some(Need::Message(wanted)) => {
                let tag = wanted.tag.map_or_else(String::new, |tag| format!(" with tag {tag}"));
                let on = names::on(wanted.identity);
                let posted = messages::posted_by(rank, wanted).filter(|_| !is_of_all);
                let behind =
                    posted.map_or_else(String::new, |(by, mark)| behind(by, function, mark));
                let from = match wanted.source {
                    Some(source) => format!("rank {source}{}", at(source)),
                    None => "anybody".into(),
                };
                let near = match is_of_all {
                    true => String::new(),
                    false => messages::nearly(rank, wanted),
                };
                let waits = if there > 0 && there < needed { ", among them" } else { " waits for" };
                write!(text, "{behind}{waits} a message{tag}{on} from {from}{near}")
            }
            Some(Need::Receiver { key, target }) => {
                let sent = messages::sent_as(key).filter(|_| !is_of_all);
                let (behind, what) = sent.map_or_else(Default::default, |sent| {
                    let what = format!(
                        " with tag {}{}",
                        sent.channel.tag,
                        names::on(sent.channel.identity)
                    );
                    (behind(sent.function, function, sent.mark), what)
                });
                write!(
                    text,
                    "{behind} waits for rank {target} to receive its message{what}{}",
                    at(target)
                )
            }
            Some(
                Need::Collective { identity, number, .. } | Need::Attendance { identity, number },
            ) => {
                let what = self.collective(wait, function, [identity, number]);
                write!(text, "{what}")
            }
            Some(Need::OtherGroup { .. }) => {
                write!(text, " waits for the other group to call it, too")
            }
            Some(Need::Post { rank, .. }) => {
                write!(text, " waits for rank {rank} to post its window{}", at(rank))
            }
            Some(Need::Completion { rank, .. }) => {
                write!(text, " waits for rank {rank} to complete its epoch{}", at(rank))
            }
            Some(Need::Entered { rank: other, identity, number }) => {
                let on = names::on(identity);
                let at = at(other);
                match names::persistent(identity) {
                    Some((by, mark)) => {
                        let behind = behind(by, function, mark);
                        write!(text, "{behind}{on} waits for rank {other} to start it, too{at}")
                    }
                    None if !completes_requests(function) => {
                        write!(text, "{on} waits for rank {other} to call it, too{at}")
                    }
                    None => {
                        let of = collectives::under_way(identity, number).filter(|_| !is_of_all);
                        let (behind, what) = of.map_or_else(Default::default, |of| {
                            let is_own = of.first.0 == rank;
                            let mark = if is_own { of.first.1 } else { Mark::default() };
                            (behind(of.function, function, mark), format!(" {}", of.function))
                        });
                        write!(text, "{behind}{on} waits for rank {other} to call{what}, too{at}")
                    }
                }
            }
            Some(Need::Unlocked(_)) => match &wait.whom {
                Whom::Ranks(holders) if !holders.is_empty() => {
                    let holder = holders[0];
                    write!(text, " waits for the lock that rank {holder} has{}", at(holder))
                }
                _ => Ok(()),
            },
            Some(Need::Unready) => {
                write!(text, " waits for partitions that are not ready (MPI_Pready)")
            }
            Some(Need::Nothing) | None => Ok(()),
        };
        (function, mark, text)
    }
}

/// Tells which ranks can never go on; with `standing`, that they cannot as long as they [stand so](super::standing). `number`: how many
/// were told before.
pub(super) fn tell(picture: &Picture, found: &Standstill, standing: u64, number: usize) {
    let told = &found.waits[..found.waits.len().min(8)];
    let teller = Teller { picture, told };
    let sentences: Vec<_> = told.iter().map(|wait| teller.sentence(wait)).collect();
    let mut text = String::from(match found.waits[..] {
        _ if found.has_polling() => "nobody goes on unless one of these ranks stops polling: ",
        [_] => "this rank waits for ever: ",
        _ => "these ranks wait for ever: ",
    });
    for (number, (_, _, sentence)) in sentences.iter().enumerate() {
        let comma = if number == 0 { "" } else { "; " };
        let _ = write!(text, "{comma}{sentence}");
    }
    if found.waits.len() > sentences.len() {
        let _ = write!(text, "; and {} more", found.waits.len() - sentences.len());
    }
    let (function, mark, _) = sentences[0];
    let place = places::of_mark(mark);
    let other = sentences.get(1).map(|(_, mark, _)| Other::at("the next one is at", *mark));
    let ranks: Vec<u32> = found.ranks().collect();
    let place = Place::Text(&place);
    let what = format!("deadlock {number}");
    report_while(standing, Class::Deadlock, function, place, &what, &text, other, &ranks);
}
