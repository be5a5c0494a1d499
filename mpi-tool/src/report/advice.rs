//! What limits a run, in sentences, each with the numbers that it rests on. What the numbers do not support is not said.

use super::symbols::Frame;
use super::{Extremes, Table, segments};

/// Less than this part of the run is not worth a sentence.
const WORTH_SAYING: f64 = 0.05;

/// If a rank loses its processor more often in a second than this, the processors are not the ranks' own.
pub(super) const SHARED: f64 = 25.0;

/// Which rank lost its processor to another process most often, and how often in a second; nothing if the tool does not tell. A
/// rank that waits in MPI and yields (`sched_yield`) counts here as well, if another process wants the processor.
pub(super) fn preemptions(table: &Table) -> Option<(u64, f64)> {
    let preempted = table.preempted.as_ref().filter(|_| table.wall.most > 0.0)?;
    Some((preempted.most_rank, preempted.most / (table.wall.most / 1e9)))
}

/// What limits the run; nothing if little does, or if the report is not of several ranks.
pub(super) fn advice(table: &Table, frames: &[Vec<Frame>]) -> Vec<String> {
    let (Some(useful), Some(ranks), true) = (&table.useful, table.ranks, table.complete) else {
        return Vec::new();
    };
    let Extremes { sum, most, least, most_rank: busiest, .. } = *useful;
    let (wall, mean) = (table.wall.most, sum / ranks as f64);
    let active = table.active().most;
    // A rank has no useful time if it is not known, since several of its threads are in MPI at once.
    if ranks < 2 || least <= 0.0 || wall <= 0.0 {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    let mut say = |lost: f64, sentence: &dyn Fn(String) -> String| {
        let is_said = lost / wall >= WORTH_SAYING;
        if is_said {
            sentences.push(sentence(format!(
                "{:.3} s ({:.1} % of the run)",
                lost / 1e9,
                lost / wall * 100.0
            )));
        }
        is_said
    };
    let is_unequal = say(most - mean, &|lost| {
        format!(
            "load imbalance costs up to {lost}: rank {busiest} computes {:.3} s, the average rank {:.3} s",
            most / 1e9,
            mean / 1e9
        )
    });
    say(active - most, &|lost| {
        format!(
            "communication costs {lost}: even rank {busiest}, the busiest, does not compute for so long"
        )
    });
    say(wall - active, &|lost| {
        format!(
            "start-up and shutdown take {lost}: before MPI_Init has returned, and after MPI_Finalize was called"
        )
    });
    if is_unequal {
        sentences.splice(1..1, segments::sentences(table, frames));
    }
    if let Some((rank, rate)) = preemptions(table).filter(|(_, rate)| *rate >= SHARED) {
        sentences.push(format!(
            "processors are shared: rank {rank} lost its own, or gave it up while it waited, {rate:.0} times a second (more processes \
             than cores?)"
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A run of four ranks and 10 s, with so many seconds of useful time.
    fn table(useful: [f64; 4]) -> Table {
        let most = useful.into_iter().fold(0.0, f64::max);
        let least = useful.into_iter().fold(f64::MAX, f64::min);
        let rank = |value: f64| useful.iter().position(|useful| *useful == value);
        let extremes = |sum: f64, least: f64, most: f64| {
            json!({"sum": sum * 1e9, "least": least * 1e9, "least_rank": rank(least).unwrap_or(0),
                "most": most * 1e9, "most_rank": rank(most).unwrap_or(0)})
        };
        serde_json::from_value(json!({
            "tool": "t", "version": "1", "complete": true, "ranks": 4,
            "wall": extremes(40.0, 10.0, 10.0), "inside": extremes(1.0, 0.0, 1.0),
            "share": extremes(1.0, 0.0, 1.0), "lost": 0, "events": "calls",
            "useful": extremes(useful.iter().sum(), least, most),
            "measures": [], "sites": [], "rows": [],
        }))
        .unwrap()
    }

    fn advice_for(useful: [f64; 4]) -> Vec<String> {
        advice(&table(useful), &[])
    }

    /// By hand: 9, 5, 5 and 5 of 10 s are 6 in the mean. With equal work the run would need 3 s less, and 1 s is MPI's
    /// even where most work is.
    #[test]
    fn each_sentence_has_its_numbers() {
        assert_eq!(
            advice_for([5.0, 9.0, 5.0, 5.0]),
            [
                "load imbalance costs up to 3.000 s (30.0 % of the run): rank 1 computes 9.000 s, the average rank \
                 6.000 s",
                "communication costs 1.000 s (10.0 % of the run): even rank 1, the busiest, \
                 does not compute for so long",
            ]
        );
    }

    #[test]
    fn what_costs_little_is_not_said() {
        assert_eq!(advice_for([9.6, 9.6, 9.6, 9.6]), [""; 0]);
        assert_eq!(advice_for([9.7, 9.6, 9.7, 9.3]), [""; 0]);
        assert_eq!(advice_for([0.0; 4]), [""; 0]);
    }

    /// In 10 s.
    #[test]
    fn shared_processors_are_told_of() {
        let mut table = table([9.6; 4]);
        for (times, sentences) in [(249.0, 0), (3000.0, 1)] {
            let (least, least_rank, most_rank) = (0.0, 1, 2);
            table.preempted =
                Some(Extremes { sum: times, least, least_rank, most: times, most_rank });
            assert_eq!(advice(&table, &[]).len(), sentences);
        }
        assert!(
            advice(&table, &[])[0]
                .contains("rank 2 lost its own, or gave it up while it waited, 300 times a second")
        );
    }
}
