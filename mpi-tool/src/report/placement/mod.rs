//! Which host each rank should be on, so that few bytes go from host to host.

mod files;
mod order;

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use mpi_facts::{FunctionClass, FunctionId};
use serde_json::json;

use super::Table;
use super::matrix::{Entry, each_pair_of_ranks};
use super::read::Run;
use super::text::amount;
use crate::cli::{Flow, To};
use order::{Graph, blocks, improved, round_robin};

/// A better order saves at least such a part of what goes between hosts now.
const WORTH: f64 = 0.05;

/// So many ranks are looked at: a better order of more takes too long to find.
const MOST_RANKS: u64 = 1 << 17;

/// What there is, and what could be.
struct Placement {
    hosts: Vec<String>,
    /// The host of each rank, by its number in `hosts`.
    now: Vec<usize>,
    proposed: Vec<usize>,
    /// Bytes between ranks in all, and between hosts in some orders.
    all: u64,
    orders: [(&'static str, u64); 4],
}

/// Writes what goes between hosts now and in other orders, and files for launchers if that is worth it.
pub(super) fn write(out: &mut dyn Write, run: &Run, to: To, file: Option<&Path>) -> Result<()> {
    let placement = Placement::of(run)?;
    let [(_, now), .., (_, proposed)] = placement.orders;
    let is_worth = (proposed as f64) < now as f64 * (1.0 - WORTH);
    let written = match file {
        Some(file) if is_worth => files::write(file, &placement.hosts, &placement.proposed)?,
        _ => Vec::new(),
    };
    match to {
        To::Text => placement.text(out, is_worth, file, &written)?,
        To::Json => {
            let orders: serde_json::Map<_, _> = placement
                .orders
                .iter()
                .map(|(name, bytes)| (name.replace(' ', "_"), json!(bytes)))
                .collect();
            let object = json!({
                "schema": "mpi-tool-placement/1", "ranks": placement.now.len(), "hosts": placement.hosts,
                "bytes": placement.all, "bytes_between_hosts": orders, "worth": is_worth,
                "now": placement.now, "proposed": placement.proposed, "files": written,
            });
            writeln!(out, "{object:#}")?;
        }
        To::Csv => {
            let mut csv = ::csv::Writer::from_writer(out);
            csv.write_record(["rank", "host_now", "host_proposed"])?;
            for (rank, (now, proposed)) in placement.now.iter().zip(&placement.proposed).enumerate()
            {
                csv.write_record([
                    &rank.to_string(),
                    &placement.hosts[*now],
                    &placement.hosts[*proposed],
                ])?;
            }
            csv.flush()?;
        }
        _ => bail!("a placement is printed as text, json or csv"),
    }
    Ok(())
}

impl Placement {
    fn of(run: &Run) -> Result<Self> {
        let Run { name, table, .. } = run;
        let Some(entries) = &table.matrix else {
            bail!(
                "{name} does not say who sends to whom: set MPI_TOOL_MPI_PROFILE_PEER=1 when the program runs"
            );
        };
        let (hosts, now) = hosts(table, name)?;
        let mut graph = Graph::new(now.len());
        for entry in entries.iter().filter(|entry| is_counted(entry)) {
            each_pair_of_ranks(entry, |own, peer, bytes| graph.add(own, peer, bytes))?;
        }
        let graph = graph.finished();
        let proposed = improved(&graph, &now, hosts.len());
        let between = |order: &[usize]| graph.between(order);
        let (blocks, around) = (blocks(&now, hosts.len()), round_robin(&now, hosts.len()));
        let orders = [
            ("now", between(&now)),
            ("in blocks", between(&blocks)),
            ("round robin", between(&around)),
            ("proposed", between(&proposed)),
        ];
        Ok(Self { hosts, proposed, all: graph.all(), orders, now })
    }

    fn text(
        &self,
        out: &mut dyn Write,
        is_worth: bool,
        file: Option<&Path>,
        written: &[String],
    ) -> Result<()> {
        let Self { hosts, now, all, orders, .. } = self;
        let number = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let (ranks, on) = (number(now.len(), "rank"), number(hosts.len(), "host"));
        writeln!(out, "# placement of {ranks} on {on}")?;
        writeln!(out, "ranks send each other {}; of that, between hosts:", amount(*all, "bytes"))?;
        for (name, bytes) in orders {
            let part = *bytes as f64 / (*all).max(1) as f64 * 100.0;
            writeln!(out, "{name:>14} {:>12} {part:>6.1} %", amount(*bytes, "bytes"))?;
        }
        let [(_, before), .., (_, proposed)] = *orders;
        if !is_worth {
            let why = match (hosts.len(), before) {
                (1, _) => "all ranks are on one host".to_owned(),
                (_, 0) => "nothing goes between hosts".to_owned(),
                _ => format!("no order was found that saves {:.0} % of it", WORTH * 100.0),
            };
            writeln!(out, "nothing is to be won: {why}")?;
            return Ok(());
        }
        let saved = (1.0 - proposed as f64 / before as f64) * 100.0;
        writeln!(out, "the proposed order saves {saved:.1} % of what goes between hosts now")?;
        match (file, written) {
            (Some(_), [openmpi, mpich, cray, slurm]) => {
                let count = |host: usize| now.iter().filter(|here| **here == host).count();
                let slots = hosts.iter().enumerate();
                let slots: Vec<_> =
                    slots.map(|(host, name)| format!("{name}:{}", count(host))).collect();
                let slots =
                    if slots.len() <= 16 { slots.join(",") } else { "HOST:RANKS,…".to_owned() };
                writeln!(
                    out,
                    "Open MPI: mpirun --map-by rankfile:file={openmpi} … (version 4: --rankfile {openmpi})"
                )?;
                writeln!(out, "MPICH:    mpiexec -hosts {slots} -rankmap $(cat {mpich}) …")?;
                writeln!(
                    out,
                    "Cray:     cp {cray} MPICH_RANK_ORDER; export MPICH_RANK_REORDER_METHOD=3"
                )?;
                writeln!(out, "Slurm:    SLURM_HOSTFILE={slurm} srun --distribution=arbitrary …")?;
            }
            _ => writeln!(
                out,
                "--placement FILE writes it for Open MPI, MPICH, Cray's MPICH and Slurm"
            )?,
        }
        Ok(())
    }
}

/// Do the entry's bytes count here? Each byte does once: where it is sent, or where it is got from a window.
fn is_counted(entry: &Entry) -> bool {
    let function = entry.function.parse::<FunctionId>();
    let is_one_sided = function.is_ok_and(|function| function.class() == FunctionClass::OneSided);
    entry.flow == Flow::Sent.name() || is_one_sided
}

/// The hosts' names, and on which of them each rank is.
fn hosts(table: &Table, name: &str) -> Result<(Vec<String>, Vec<usize>)> {
    let Some(ranks) = table.ranks.filter(|_| table.complete) else {
        bail!("{name} is not a report of all ranks");
    };
    if ranks > MOST_RANKS {
        bail!("{name} is of {ranks} ranks: orders of at most {MOST_RANKS} are looked for");
    }
    let mut of_rank = vec![None; usize::try_from(ranks)?];
    for (number, host) in table.hosts.iter().enumerate() {
        for rank in host.by_rank.iter().flat_map(|of| &of.rank) {
            let place = usize::try_from(*rank).ok().and_then(|rank| of_rank.get_mut(rank));
            match place {
                Some(place) if place.is_none() => *place = Some(number),
                _ => bail!(
                    "{name} is not as a report should be: rank {rank} is on no host of this world, or on two"
                ),
            }
        }
    }
    let of_rank: Option<Vec<usize>> = of_rank.into_iter().collect();
    let Some(of_rank) = of_rank else {
        bail!(
            "{name} does not say on which host each rank was: have it written by this version of the tool"
        );
    };
    Ok((table.hosts.iter().map(|host| host.name.clone()).collect(), of_rank))
}
