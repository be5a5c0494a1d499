//! What could not be looked at, in words.

use crate::shared::{Shared, limit};

/// What the checker could not see.
pub(super) fn limits(shared: &Shared) -> Vec<&'static str> {
    let all = [
        (
            limit::FINDINGS,
            "there were more kinds of findings than 256; the others are not reported",
        ),
        (
            limit::COLLECTIVES,
            "so many collective operations were under way at once that not all were compared",
        ),
        (limit::MESSAGES, "so many messages were under way at once that not all were compared"),
        (
            limit::HOSTS,
            "the ranks have no memory in common, as on several hosts or in containers, and could not tell each other what they \
             do: collective operations, messages, one-sided operations and deadlocks were not compared between ranks \
             (mpi-watch tells of deadlocks there)",
        ),
        (
            limit::SHADOWS,
            "collective operations were not compared on some communicators with processes on several hosts",
        ),
        (
            limit::ONE_SIDED,
            "the ranks are on several hosts: one-sided operations were not compared between processes",
        ),
        (
            limit::DEADLOCKS,
            "deadlocks were only looked for among the ranks of each host (mpi-watch tells of others)",
        ),
        (
            limit::ORDER,
            "messages were not compared any more: a send was cancelled, or several threads have sent or received on one \
             channel",
        ),
        (
            limit::ACCESSES,
            "so many one-sided operations were under way at once that not all were compared between processes",
        ),
        (
            limit::EXPOSURES,
            "windows were posted for so many pairs of processes, or for groups that are not known, as after those of sessions, that \
             deadlocks by MPI_Win_post were not looked for",
        ),
        (
            limit::UNSEEN,
            "the program calls MPI past this tool, by a function of its own that has the name of MPI's, or by PMPI_: messages \
             were not compared",
        ),
        (
            limit::UNSEEN_OTHERS,
            "the program calls MPI past this tool, by a function of its own that has the name of MPI's, or by PMPI_: only \
             arguments were looked at",
        ),
        (
            limit::SANITIZER,
            "ThreadSanitizer does not tell this tool what it reports, as where it is part of the program (clang), is preloaded before \
             the tool, or tells the program itself: loads and stores of buffers that MPI uses are printed by the sanitizer, not \
             reported here",
        ),
        (
            limit::SANITIZER_LOST,
            "ThreadSanitizer has reported so much between two calls that not all of it is among the findings: it has printed it",
        ),
        (
            limit::SANITIZER_ORDER,
            "loads and stores of buffers that MPI uses were not looked at: ThreadSanitizer does not see how the program's library \
             for threads (OpenMP, TBB) orders them",
        ),
        (limit::RANKS, "ranks beyond 1023 are not compared with others"),
    ];
    all.into_iter().filter(|(bit, _)| shared.has_reached(*bit)).map(|(_, text)| text).collect()
}
