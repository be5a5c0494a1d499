//! Which ranks of a world are not seen. What is said of those that are seen is never said of all.
//!
//! A rank without a file has finalized MPI, and has said so in another file; or nobody knows what it does: it has not started
//! MPI yet, or its file is where this process does not look, as on another host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use mpi_facts::FunctionId;
use mpi_facts::watch::{kind, may_be_one_world};
use rustix::fs::statfs;

use super::file::{Group, Snapshot};
use super::find::Run;
use super::process::host;
use super::text::list;

/// Which ranks of a world are seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// How many ranks the world has, as far as MPI or the launcher has said it.
    pub(super) size: Option<u32>,
    /// Those that have a file which shows what they do now.
    ranks: BTreeSet<u32>,
    /// Those that have finalized MPI.
    pub(super) finalized: BTreeSet<u32>,
    /// Those whose files show what they do late.
    late: BTreeSet<u32>,
    /// Has one of them come out of `MPI_Init`? All others have begun theirs then, as a rule.
    pub(super) is_ready: bool,
    /// The hosts of those that have files.
    hosts: BTreeSet<String>,
    /// Are its ranks on several hosts, as the launcher says it?
    has_several_hosts: bool,
    /// There was no room for all files.
    has_no_room: bool,
    /// So many processes of another world are in a communicator with a rank of this one, or are about to be.
    far: u64,
}

/// What is to be known of a run for that, beside its state files.
pub(super) struct Circumstances {
    /// By the names of worlds.
    finalized: BTreeMap<String, BTreeSet<u32>>,
    has_no_room: bool,
    /// What other hosts write is seen late.
    is_late: bool,
}

impl Circumstances {
    pub(super) fn of(run: &Run) -> Self {
        let mut finalized: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for file in &run.left {
            let text = fs::read(file).unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines() {
                if let Some((rank, world)) = line.split_once(' ')
                    && let Ok(rank) = rank.parse()
                {
                    finalized.entry(world.to_owned()).or_default().insert(rank);
                }
            }
        }
        let is_late = is_late(&run.folder);
        Self { finalized, has_no_room: run.no_room.is_some(), is_late }
    }
}

/// Does the file system show late what another host stores in a mapped file? Network file systems that keep no more than what
/// is written to be read by others after a while do so.
fn is_late(folder: &Path) -> bool {
    /// NFS, SMB (three), AFS, and whatever is behind FUSE, as `statfs` numbers them.
    const LATE: [u32; 6] = [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x5346_414F, 0x6573_5546];
    statfs(folder).is_ok_and(|found| LATE.contains(&(found.f_type as u32)))
}

/// The worlds of a run: for each, where its processes are among the snapshots.
pub(super) fn by_world(snapshots: &[Snapshot]) -> Vec<Vec<usize>> {
    let mut worlds: Vec<(Vec<usize>, BTreeSet<u32>)> = Vec::new();
    for (at, snapshot) in snapshots.iter().enumerate() {
        let rank = snapshot.rank.unwrap_or(u32::MAX);
        let fits = |(members, ranks): &&mut (Vec<usize>, BTreeSet<u32>)| {
            let other = &snapshots[members[0]];
            // A name that only one host knows the world by is compared with that of a process there.
            let mut beside = members.iter().map(|member| &snapshots[*member]);
            let beside = beside.rfind(|member| member.host == snapshot.host).unwrap_or(other);
            !ranks.contains(&rank)
                && may_be_one_world(
                    (&beside.world, &beside.host),
                    (&snapshot.world, &snapshot.host),
                )
                && (other.size == snapshot.size || snapshot.size.is_none() || other.size.is_none())
        };
        match worlds.iter_mut().find(fits) {
            Some((members, ranks)) => {
                members.push(at);
                ranks.insert(rank);
            }
            None => worlds.push((vec![at], BTreeSet::from([rank]))),
        }
    }
    worlds.into_iter().map(|(members, _)| members).collect()
}

impl Seen {
    /// Of the processes of one world.
    pub(super) fn of<'a>(
        members: impl Iterator<Item = &'a Snapshot> + Clone,
        run: &Circumstances,
    ) -> Self {
        let mut seen = Self { has_no_room: run.has_no_room, ..Self::default() };
        let here = host();
        for snapshot in members.clone() {
            seen.is_ready |= snapshot.size.is_some();
            seen.has_several_hosts |= snapshot.hosts > 1;
            seen.hosts.insert(snapshot.host.clone());
            seen.far = seen.far.max(far(snapshot));
            let Some(rank) = snapshot.rank else { continue };
            if run.is_late && snapshot.host != here {
                seen.late.insert(rank);
            } else {
                seen.ranks.insert(rank);
            }
        }
        // The name is cut off at its beginning where it is long.
        let is_it =
            |name: &str, world: &str| name == world || world.len() > 80 && name.ends_with(world);
        let worlds: BTreeSet<&str> =
            members.clone().map(|snapshot| snapshot.world.as_str()).collect();
        for (name, ranks) in &run.finalized {
            if worlds.iter().any(|world| is_it(name, world)) {
                seen.finalized.extend(ranks);
            }
        }
        seen.finalized.retain(|rank| !seen.ranks.contains(rank) && !seen.late.contains(rank));
        let size = members.clone().filter_map(|snapshot| snapshot.size).max();
        let launched = || members.clone().filter_map(|snapshot| snapshot.launched).max();
        let known = [&seen.ranks, &seen.late, &seen.finalized];
        let last = known.iter().filter_map(|ranks| ranks.last()).max().map_or(0, |rank| rank + 1);
        seen.size = size.or_else(launched).map(|size| size.max(last));
        seen
    }

    /// The ranks of which nobody knows what they do now.
    pub(super) fn unseen(&self) -> Vec<u32> {
        let is_unseen = |rank: &u32| !self.ranks.contains(rank) && !self.finalized.contains(rank);
        (0..self.size.unwrap_or(0)).filter(is_unseen).collect()
    }

    /// Is it known of all ranks what they do?
    fn has_all_ranks(&self) -> bool {
        self.size.is_some_and(|size| self.ranks.len() + self.finalized.len() >= size as usize)
    }

    /// Why ranks are not seen, in words that follow `rank 3 of 4 is not seen`, and what to do about it.
    pub(super) fn why(&self) -> String {
        let here: Vec<&str> = self.hosts.iter().map(String::as_str).take(4).collect();
        let more = if self.hosts.len() > here.len() { ", …" } else { "" };
        let here = format!("{}{more}", here.join(", "));
        const ADVICE: &str = "set MPI_TOOL_RUN to a folder that all ranks and this command see";
        if self.has_no_room {
            "there was no room for all files in the run folder: set MPI_TOOL_RUN to another one"
                .into()
        } else if !self.late.is_empty() {
            "the run folder is on a file system that shows late what other hosts write: set MPI_TOOL_RUN to a folder on a \
             parallel file system"
                .into()
        } else if self.has_several_hosts {
            format!(
                "the ranks are on several hosts, and the run folder has files of {here} only: {ADVICE}"
            )
        } else {
            format!(
                "MPI has not started there, or the file is in another folder, as on another host or in a container with a \
                 file system of its own: {ADVICE}"
            )
        }
    }

    /// `rank 3 of 4 is not seen: …`; `None` if all ranks of this world are.
    pub(super) fn sentence(&self) -> Option<String> {
        let unseen = self.unseen();
        let which = match (&unseen[..], self.size) {
            (_, None) => return Some(format!("not all ranks may be seen: {}", self.why())),
            ([], _) => return None,
            ([rank], Some(size)) => format!("rank {rank} of {size} is not seen"),
            (ranks, Some(size)) => format!("ranks {} of {size} are not seen", list(ranks)),
        };
        Some(format!("{which}: {}", self.why()))
    }

    /// `ranks 0-2 of 4`
    pub(super) fn which(&self) -> String {
        let ranks: Vec<u32> = self.ranks.iter().copied().collect();
        let many = if ranks.len() == 1 { "" } else { "s" };
        let of = self.size.map_or_else(String::new, |size| format!(" of {size}"));
        format!("rank{many} {}{of}", list(&ranks))
    }
}

/// What keeps the ranks that are seen from being all that there are; `None` if they are.
pub(super) fn missing(worlds: &[&Seen]) -> Option<String> {
    if let Some(sentence) = worlds.iter().find_map(|seen| seen.sentence()) {
        return Some(sentence);
    }
    // Those that a world has spawned or met must be another world that is seen.
    let is_there = |(at, seen): (usize, &&Seen)| {
        let others = worlds.iter().enumerate().filter(|(other, _)| *other != at);
        let sizes = others.filter(|(_, other)| other.has_all_ranks()).map(|(_, other)| other.size);
        seen.far == 0 || sizes.flatten().any(|size| u64::from(size) >= seen.far)
    };
    let are_there = worlds.iter().enumerate().all(is_there);
    (!are_there).then(|| {
        "processes of another world, which these ranks have spawned or met, are not seen: they have not started MPI, or \
         have no mpi-watch, or their files are in another folder"
            .into()
    })
}

/// How many processes of another world a process has to do with.
fn far(snapshot: &Snapshot) -> u64 {
    use FunctionId::{MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join, MPI_Comm_spawn};
    let is_coming = |function| {
        matches!(
            function,
            MPI_Comm_accept
                | MPI_Comm_connect
                | MPI_Comm_join
                | MPI_Comm_spawn
                | FunctionId::MPI_Comm_spawn_multiple
        )
    };
    let coming = snapshot.threads.iter().any(|it| it.is_inside && is_coming(it.function));
    let is_comm = |group: &&Group| group.kind == kind::COMMUNICATOR;
    let of_group = |group: &Group| {
        let own = group.own.as_ref().filter(|members| !members.are_in_world());
        let own = own.map_or(0, |members| members.size() - members.iter().count());
        let other = match &group.other {
            Some(members) => (members.size() - members.iter().count()) as u64,
            None => group.sizes[1],
        };
        own as u64 + other
    };
    let met = snapshot.groups.iter().filter(is_comm).map(of_group).max().unwrap_or(0);
    met.max(coming.into())
}
