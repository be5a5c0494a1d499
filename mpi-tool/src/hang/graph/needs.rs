//! Whom a call needs to go on: by messages, requests, collective operations and windows.

use super::{
    Collective, Condition, Doing, Edge, Epochs, MOST, Members, Message, Need, Needs, Operation,
    Reason, State, What, Who, World,
};

/// Is one message the other side of another one, which a rank sends or receives?
fn fits(from: u32, message: &Message, other: &Message) -> bool {
    other.is_sent != message.is_sent && other.with.may_be(from) && message.is_alike(other)
}

impl World<'_> {
    /// Is a rank in its own code, though it lives, or stopped wherever it is? It does not go on then with what others have
    /// asked of its MPI.
    pub(super) fn is_outside(&self, rank: u32) -> bool {
        self.states.get(&rank).is_some_and(|state| match state.condition {
            Condition::Still => state.calls.is_empty(),
            Condition::Stopped => true,
            _ => false,
        })
    }

    /// Does a rank wait in MPI for other ranks? Then its MPI goes on with everything that it has been asked for.
    fn is_waiting(&self, rank: u32) -> bool {
        self.states.get(&rank).is_some_and(|state| {
            state.condition == Condition::Still
                && !state.calls.is_empty()
                && !state.calls.iter().any(|call| {
                    matches!(call.what, What::Nothing | What::World(_) | What::Outside(_))
                })
        })
    }

    /// How many messages a rank is on the way of sending that fit what another one receives, or the other way round. If
    /// there are some, nobody waits in vain.
    fn matches(&self, from: u32, message: &Message, with: u32) -> usize {
        let Some(state) = self.states.get(&with) else { return 0 };
        // A call to oneself is its own other side in `MPI_Sendrecv` only.
        state.messages().filter(|other| other.is_ready && fits(from, message, other)).count()
    }

    /// Has a rank begun to send what another one receives, of which not all parts are ready?
    fn is_unready(&self, from: u32, message: &Message, with: u32) -> bool {
        let Some(state) = self.states.get(&with) else { return false };
        state.messages().any(|other| !other.is_ready && fits(from, message, other))
    }

    /// Is one of several requests surely complete by now, if nobody has moved for a while? The other side waits in MPI,
    /// and has as many messages for it as there are requests that could get them.
    fn is_surely_complete(&self, from: u32, operation: &Operation) -> bool {
        let Some(message) = operation.message() else { return false };
        let with = match &message.with {
            Who::Nobody => return true,
            Who::Rank(with) => *with,
            Who::AnyOf(_) | Who::Unknown => return false,
        };
        let rivals = |other: &&Message| {
            other.with.may_be(with) && other.is_sent == message.is_sent && message.is_alike(other)
        };
        let pending = self.states.get(&from).map_or(&[][..], |state| &state.pending);
        self.is_waiting(with)
            && self.matches(from, message, with) >= pending.iter().filter(rivals).count()
    }

    fn need_of_message(&self, from: u32, message: &Message) -> Need {
        let reason = if message.is_sent { Reason::Receive } else { Reason::Send };
        let edge = |to, is_choice| Edge { from, to, reason, is_choice };
        match &message.with {
            Who::Nobody | Who::Unknown => Need::Nothing,
            // Another thread of this process may make the rest ready.
            _ if !message.is_ready => Need::Nothing,
            Who::Rank(to) if self.matches(from, message, *to) > 0 => {
                if !self.is_outside(*to) {
                    return Need::Nothing;
                }
                let reason = Reason::Progress;
                let edges = vec![Edge { from, to: *to, reason, is_choice: false }];
                Need::Ranks { edges, any: false }
            }
            Who::Rank(to) if self.is_unready(from, message, *to) => {
                let edges = vec![Edge { from, to: *to, reason: Reason::Ready, is_choice: false }];
                Need::Ranks { edges, any: false }
            }
            Who::Rank(to) => Need::Ranks { edges: vec![edge(*to, false)], any: false },
            Who::AnyOf(ranks) => {
                let comes = |to: &u32| ranks.contains(*to) && self.matches(from, message, *to) > 0;
                if self.senders_to(from).any(|to| comes(&to)) {
                    return Need::Nothing;
                }
                let others = ranks.iter().filter(|to| *to != from);
                let edges: Vec<_> = others.take(MOST).map(|to| edge(to, true)).collect();
                if edges.is_empty() {
                    Need::Nothing
                } else if edges.len() < MOST {
                    Need::Ranks { edges, any: true }
                } else {
                    Need::OneOf { edges, all: ranks.clone() }
                }
            }
        }
    }

    fn need_of_collective(&self, from: u32, collective: &Collective) -> Need {
        let standing = self.standing(collective);
        if standing.is_unknown {
            return Need::Nothing;
        }
        let edges = |ranks: &[(u32, Reason)], is_choice| -> Vec<Edge> {
            let others = ranks.iter().filter(|(to, _)| *to != from);
            others.map(|(to, reason)| Edge { from, to: *to, reason: *reason, is_choice }).collect()
        };
        let (edges, any) = match collective.needs {
            _ if standing.has_turned => (edges(&standing.first, false), false),
            _ if standing.missing.is_empty() => {
                (standing.some.as_ref().map_or_else(Vec::new, |some| edges(some, true)), true)
            }
            Needs::All => (edges(&standing.first, false), false),
            Needs::Root(root) if standing.missing.contains_key(&root) => {
                (edges(&[(root, standing.missing[&root])], false), false)
            }
            Needs::Root(_) | Needs::Some => {
                (standing.some.as_ref().map_or_else(Vec::new, |some| edges(some, true)), true)
            }
        };
        if edges.is_empty() { Need::Nothing } else { Need::Ranks { edges, any } }
    }

    /// Whom `MPI_Intercomm_create` needs: all of the own group, and, by way of its leader, the other group's leader.
    fn need_of_two_groups(
        &self,
        from: u32,
        group: &Collective,
        leaders: Option<&Collective>,
        leader: Option<u32>,
    ) -> Need {
        let mut all = Vec::new();
        for collective in [Some(group), leaders].into_iter().flatten() {
            if let Need::Ranks { edges, any: false } = self.need_of_collective(from, collective) {
                all.extend(edges);
            }
        }
        // A leader that has gone on has found the other one.
        let is_in_it = |call: &super::Doing| match &call.what {
            What::Between { group: theirs, .. } => {
                theirs.on == group.on && theirs.number == group.number
            }
            _ => false,
        };
        let leads = |to: &u32| {
            *to != from && self.states.get(to).is_some_and(|state| state.calls.iter().any(is_in_it))
        };
        if let Some(to) = leader.filter(leads) {
            all.push(Edge { from, to, reason: Reason::Lead, is_choice: false });
        }
        if all.is_empty() { Need::Nothing } else { Need::Ranks { edges: all, any: false } }
    }

    fn need(&self, from: u32, what: &What) -> Need {
        match what {
            What::Nothing | What::World(_) | What::Outside(_) => Need::Nothing,
            What::Messages(messages) => {
                // The first one that is not under way: the others may have moved.
                let needs = messages.iter().map(|message| self.need_of_message(from, message));
                self.any_of(needs.collect())
            }
            What::Requests { is_known: false, .. } => Need::Nothing,
            What::Requests { of, is_all, .. } => {
                // Which of them are complete is not known. Where all are waited for, those that surely are do not matter.
                let is_open = |operation: &&Operation| {
                    !(*is_all && of.len() > 1 && self.is_surely_complete(from, operation))
                };
                let needs = of.iter().filter(is_open).map(|operation| match operation {
                    Operation::Message(message) => self.need_of_message(from, message),
                    Operation::Collective(collective) => self.need_of_collective(from, collective),
                });
                self.any_of(needs.collect())
            }
            What::Collective(collective) => self.need_of_collective(from, collective),
            What::Between { group, leaders, leader } => {
                self.need_of_two_groups(from, group, leaders.as_ref(), *leader)
            }
            What::Lock { window, target, targets, is_exclusive } => {
                self.need_of_lock(from, *window, *target, targets, *is_exclusive)
            }
            What::Epoch { window, is_target } => self.need_of_epoch(from, *window, *is_target),
            What::Start => {
                let edge = |to| Edge { from, to, reason: Reason::Start, is_choice: false };
                let edges: Vec<_> = self.unstarted().iter().copied().map(edge).collect();
                if edges.is_empty() { Need::Nothing } else { Need::Ranks { edges, any: false } }
            }
            What::Finalize => {
                let edge = |to| Edge { from, to, reason: Reason::Finalize, is_choice: false };
                let edges: Vec<_> = self.unfinished().iter().copied().map(edge).collect();
                if edges.is_empty() { Need::Nothing } else { Need::Ranks { edges, any: false } }
            }
        }
    }

    /// Whom a call on a window needs that waits for a lock, or for the end of what it does at its targets.
    ///
    /// A rank that holds a lock that does not go with this one must unlock it, unless it is in such a call itself: it may
    /// have asked for the lock only, since MPIs get locks when they need them. And a target that is in its own code may
    /// have to call MPI before anything happens there. Which of these it is, nobody knows.
    fn need_of_lock(
        &self,
        from: u32,
        window: u64,
        target: Option<u32>,
        targets: &Members,
        is_exclusive: bool,
    ) -> Need {
        let in_the_way = self.in_the_way(window, target, is_exclusive);
        let edge = |to, reason| Edge { from, to, reason, is_choice: false };
        let holders = in_the_way.few.iter().filter(|to| **to != from);
        let mut edges: Vec<_> = holders.map(|to| edge(*to, Reason::Unlock)).collect();
        let outside = match target {
            Some(target) => self.is_outside(target).then_some(target).into_iter().collect(),
            None => self.targets_outside(window, targets),
        };
        let outside = outside.iter().filter(|to| **to != from).take(MOST);
        edges.extend(outside.map(|to| edge(*to, Reason::Progress)));
        edges.sort_by_key(|edge| edge.to);
        edges.dedup_by_key(|edge| edge.to);
        if edges.is_empty() {
            return Need::Nothing;
        }
        let any = edges.len() > 1;
        edges.iter_mut().for_each(|edge| edge.is_choice = any);
        match &in_the_way.all {
            Some(all) => Need::OneOf { edges, all: all.clone() },
            None => Need::Ranks { edges, any },
        }
    }

    /// Whom `MPI_Win_start` and `MPI_Win_complete` need: those that have not opened their windows so often. And whom
    /// `MPI_Win_wait` needs: those that have not been ready so often. Both sides count from the window's beginning.
    fn need_of_epoch(&self, from: u32, window: u64, is_target: bool) -> Need {
        let Some(ours) = self.states.get(&from).and_then(|state| state.epochs.as_ref()) else {
            return Need::Nothing;
        };
        let mut edges = Vec::new();
        for ((_, to), epochs) in ours.range((window, 0)..=(window, u32::MAX)) {
            let is_open = if is_target {
                epochs.posted > epochs.waited
            } else {
                epochs.started > epochs.completed
            };
            if !is_open {
                continue;
            }
            let theirs = match self.states.get(to) {
                None => Epochs::default(),
                Some(State { progress, epochs: Some(theirs), .. })
                    if progress.contains_key(&window) =>
                {
                    theirs.get(&(window, from)).copied().unwrap_or_default()
                }
                Some(_) => return Need::Nothing,
            };
            let (is_there, reason) = if is_target {
                (theirs.completed >= epochs.posted, Reason::Complete)
            } else {
                (theirs.posted >= epochs.started, Reason::Post)
            };
            if !is_there && *to != from {
                edges.push(Edge { from, to: *to, reason, is_choice: false });
            }
        }
        if edges.is_empty() { Need::Nothing } else { Need::Ranks { edges, any: false } }
    }

    /// Several things of which some may have happened, and nobody knows which: if one of them needs nobody, nothing is
    /// said of the others.
    fn any_of(&self, needs: Vec<Need>) -> Need {
        if needs.len() == 1 {
            return needs.into_iter().next().unwrap_or(Need::Nothing);
        }
        let mut all = Vec::new();
        let mut others = None;
        for need in needs {
            match need {
                Need::Nothing => return Need::Nothing,
                Need::Ranks { edges, .. } => all.extend(edges),
                // One that can go on is enough, and there may be one that is not among these.
                Need::OneOf { edges, all: many } => {
                    all.extend(edges);
                    others = Some(many);
                }
            }
        }
        if all.is_empty() {
            return Need::Nothing;
        }
        // Whichever of them it is, it is of this one rank.
        let is_choice = others.is_some() || all.iter().any(|edge| edge.to != all[0].to);
        all.iter_mut().for_each(|edge| edge.is_choice |= is_choice);
        // A message that is to be received may have come, and what is sent is often on its way though nobody has received it
        // yet. So what others surely have not done comes first, and a receive before a send.
        all.sort_by_key(|edge| match edge.reason {
            Reason::Receive => 2,
            Reason::Send => 1,
            _ => 0,
        });
        match others {
            Some(others) => Need::OneOf { edges: all, all: others },
            None => Need::Ranks { edges: all, any: true },
        }
    }

    /// Which of a rank's calls waits for the other rank; `None` if there is only one.
    pub(super) fn call_of(&self, edge: &Edge) -> Option<usize> {
        let calls = self.states.get(&edge.from).map(|state| &state.calls)?;
        let waits = |call: &Doing| match self.need(edge.from, &call.what) {
            Need::Nothing => false,
            Need::Ranks { edges, .. } | Need::OneOf { edges, .. } => {
                edges.iter().any(|other| (other.to, other.reason) == (edge.to, edge.reason))
            }
        };
        (calls.len() > 1).then(|| calls.iter().position(waits))?
    }

    /// Whom a rank needs, by all its threads: one that can go on is enough.
    pub(super) fn needs(&self, rank: u32, state: &State) -> Need {
        if state.condition != Condition::Still || state.calls.is_empty() {
            return Need::Nothing;
        }
        self.any_of(state.calls.iter().map(|call| self.need(rank, &call.what)).collect())
    }
}
