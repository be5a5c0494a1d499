//! Reports of runs that nobody has run.

use serde_json::{Value, json};

/// Numbers that look like chance, and are the same each time.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// From 0 to 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About a normal distribution of standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Number of each rank, as reports have it.
fn spread(values: &[(u64, u64)]) -> Value {
    let sum: u64 = values.iter().map(|(_, value)| value).sum();
    let least = values.iter().min_by_key(|(_, value)| value).unwrap();
    let most = values.iter().max_by_key(|(_, value)| value).unwrap();
    json!({"sum": sum, "mean": sum as f64 / values.len() as f64, "least": least.1, "least_rank": least.0,
        "most": most.1, "most_rank": most.0})
}

/// A run: how many ranks and call sites there are, and what differs from run to run.
pub(crate) struct Simulated {
    pub(crate) ranks: u64,
    pub(crate) sites: usize,
    pub(crate) seed: u64,
    /// The standard deviation of a site's time, as a part of it.
    pub(crate) noise: f64,
    /// A site that takes longer by a part.
    pub(crate) slower: Option<(usize, f64)>,
    /// Code between two calls that takes longer by a part: its position in `segments`.
    pub(crate) longer: Option<(usize, f64)>,
    /// By how many lines all calls have moved.
    pub(crate) moved: u64,
}

const FUNCTIONS: [&str; 6] =
    ["MPI_Allreduce", "MPI_Bcast", "MPI_Send", "MPI_Recv", "MPI_Waitall", "MPI_File_write_at"];

impl Simulated {
    pub(crate) fn of(ranks: u64) -> Self {
        Self { ranks, sites: 40, seed: 1, noise: 0.01, slower: None, longer: None, moved: 0 }
    }

    /// What the tool took of each rank: a thousandth of 10 s, and a nanosecond more of the last rank.
    fn overhead(&self) -> Vec<u64> {
        (1..=self.ranks).map(|rank| 10_000_000 + rank / self.ranks).collect()
    }

    /// How often each rank lost its processor: twice a second in 10 s, and the others more seldom.
    fn preempted(&self) -> Vec<u64> {
        (0..self.ranks).map(|rank| 20 - rank % 20).collect()
    }

    /// Its report: a square grid of ranks on up to four hosts.
    pub(crate) fn report(&self) -> Value {
        let mut chance = Chance::new(self.seed);
        let mut inside = vec![0; self.ranks as usize];
        let rows: Vec<Value> =
            (0..self.sites).map(|site| self.row(site, &mut inside, &mut chance)).collect();
        let wall = inside.iter().map(|_| 10_000_000_000 + (1e6 * chance.next()) as u64);
        let wall: Vec<u64> = wall.collect();
        let segments = self.segment_times(&wall, &inside, &mut chance);
        // What takes longer than the others' part of the run comes on top of it.
        let of_rank = |rank: usize| segments.iter().map(|times| times[rank]).sum::<u64>();
        let all = wall.iter().zip(&inside).enumerate();
        let wall: Vec<u64> =
            all.map(|(rank, (wall, inside))| *wall.max(&(of_rank(rank) + inside))).collect();
        let numbered =
            |values: &[u64]| -> Vec<(u64, u64)> { (0..).zip(values.iter().copied()).collect() };
        let useful: Vec<u64> =
            wall.iter().zip(&inside).map(|(wall, inside)| wall - inside).collect();
        let shares = wall.iter().zip(&inside).map(|(wall, inside)| *inside as f64 / *wall as f64);
        let shares: Vec<f64> = shares.collect();
        let extreme = |is_most: bool| {
            let compare = |one: &(usize, &f64), other: &(usize, &f64)| one.1.total_cmp(other.1);
            let all = shares.iter().enumerate();
            if is_most { all.max_by(compare).unwrap() } else { all.min_by(compare).unwrap() }
        };
        let (least, most) = (extreme(false), extreme(true));
        let mean = useful.iter().sum::<u64>() as f64 / self.ranks as f64;
        let (busiest, longest) =
            (*useful.iter().max().unwrap() as f64, *wall.iter().max().unwrap() as f64);
        let hosts = self.ranks.min(4);
        let hosts: Vec<Value> = (0..hosts).map(|host| {
            let ranks: Vec<u64> = (0..self.ranks).filter(|rank| rank * hosts / self.ranks == host).collect();
            let of = |values: &[u64]| -> Vec<u64> { ranks.iter().map(|rank| values[*rank as usize]).collect() };
            let useful: Vec<_> = ranks.iter().copied().zip(of(&useful)).collect();
            json!({"name": format!("node{host}"), "ranks": ranks.len(), "useful": spread(&useful),
                "by_rank": {"rank": ranks, "wall": of(&wall), "inside": of(&inside)}})
        }).collect();
        let sites: Vec<Value> = (0..self.sites).map(|site| json!([
            {"file": "/opt/app/solver", "build_id": "ab", "offset": 4096 + 64 * site, "frames": [
                {"function": format!("f{site}"), "file": format!("/opt/app/part{}.c", site % 5), "line": 10 + site as u64 + self.moved}]},
            {"file": "/opt/app/solver", "build_id": "ab", "offset": 99 + site, "frames": [
                {"function": "main", "file": "/opt/app/main.c", "line": 100 + site as u64 + self.moved}]},
        ])).collect();
        json!({
            "schema": "mpi-tool-report/2", "tool": "mpi-profile", "version": "0.1.0", "complete": true,
            "ranks": self.ranks, "wall": spread(&numbered(&wall)), "inside": spread(&numbered(&inside)),
            "share": {"least": least.1, "least_rank": least.0, "most": most.1, "most_rank": most.0},
            "useful": spread(&numbered(&useful)), "overhead": spread(&numbered(&self.overhead())),
            "preempted": spread(&numbered(&self.preempted())),
            "efficiency": {"parallel": mean / longest, "load_balance": mean / busiest, "communication": busiest / longest},
            "hosts": hosts, "lost": 0, "events": "calls",
            "keys": [{"name": "function", "type": "function"}, {"name": "site", "type": "site"},
                {"name": "communicator", "type": "communicator"}, {"name": "size", "type": "size"}],
            "measures": [{"name": "time", "unit": "nanoseconds"}, {"name": "wait", "unit": "nanoseconds"},
                {"name": "sent", "unit": "bytes"}],
            "sites": sites,
            "communicators": [{"identity": "0000000000000001", "name": "MPI_COMM_WORLD", "size": self.ranks, "remote_size": null}],
            "rows": rows, "timeline": self.timeline(), "matrix": self.matrix(),
            "segments": self.segments(&segments, &useful),
        })
    }

    /// How long each rank computes from each call site to the next one: nine tenths of its time outside of MPI, in parts from
    /// one to five.
    fn segment_times(&self, wall: &[u64], inside: &[u64], chance: &mut Chance) -> Vec<Vec<u64>> {
        let part = |segment: usize| (segment % 5 + 1) as f64;
        let sum: f64 = (1..self.sites).map(|segment| part(segment - 1)).sum();
        let times = (1..self.sites).map(|segment| {
            let factor = match self.longer {
                Some((longer, by)) if longer == segment - 1 => 1.0 + by,
                _ => 1.0,
            };
            let own = 0.9 * part(segment - 1) / sum * factor * (1.0 + self.noise * chance.normal());
            let of_rank = |(wall, inside): (&u64, &u64)| ((wall - inside) as f64 * own) as u64;
            wall.iter().zip(inside).map(of_rank).collect()
        });
        times.collect()
    }

    fn segments(&self, times: &[Vec<u64>], useful: &[u64]) -> Value {
        let busiest = (0..useful.len()).rev().max_by_key(|rank| useful[*rank]).unwrap();
        let rows = times.iter().enumerate().map(|(segment, times)| {
            let numbered: Vec<(u64, u64)> = (0..).zip(times.iter().copied()).collect();
            json!({
                "before": FUNCTIONS[segment % FUNCTIONS.len()], "before_site": segment + 1,
                "after": FUNCTIONS[(segment + 1) % FUNCTIONS.len()], "after_site": segment + 2, "phase": null,
                "ranks": self.ranks, "time": spread(&numbered), "busiest": times[busiest],
            })
        });
        let mut rows: Vec<Value> = rows.collect();
        // Of those that cost most, reports have the times of all ranks.
        let cost =
            |row: &Value| row["busiest"].as_f64().unwrap() - row["time"]["mean"].as_f64().unwrap();
        let mut worst: Vec<usize> = (0..rows.len()).collect();
        worst.sort_by(|one, other| cost(&rows[*other]).total_cmp(&cost(&rows[*one])));
        for segment in worst.into_iter().take(8) {
            rows[segment]["by_rank"] = json!(times[segment]);
        }
        let rest = |rank: usize| useful[rank] - times.iter().map(|times| times[rank]).sum::<u64>();
        let sum: u64 = (0..useful.len()).map(rest).sum();
        json!({"rank": busiest, "rows": rows, "elsewhere": {"sum": sum, "busiest": rest(busiest)}})
    }

    /// A call site, of which each rank calls the function 100 times.
    fn row(&self, site: usize, inside: &mut [u64], chance: &mut Chance) -> Value {
        let calls = 100 * self.ranks;
        let factor = match self.slower {
            Some((slower, part)) if slower == site => 1.0 + part,
            _ => 1.0,
        };
        let own = (1.0 + self.noise * chance.normal()) * factor * (1.0 + site as f64 / 10.0) * 1e9
            / self.sites as f64;
        let times: Vec<(u64, u64)> = (0..self.ranks)
            .map(|rank| (rank, (own * (1.0 + rank as f64 / self.ranks as f64)) as u64))
            .collect();
        times.iter().for_each(|(rank, time)| inside[*rank as usize] += time);
        let measured = |values: &[(u64, u64)]| {
            let sum: u64 = values.iter().map(|(_, value)| value).sum();
            let most = values.iter().max_by_key(|(_, value)| value).unwrap();
            json!({"count": calls, "sum": sum, "mean": sum as f64 / calls as f64, "least": 1000, "least_rank": 0,
                "most": most.1 / 50, "most_rank": most.0, "variation": 0.05, "by_rank": spread(values)})
        };
        let waits: Vec<_> = times.iter().map(|(rank, time)| (*rank, time / 3)).collect();
        let bytes: Vec<_> = times.iter().map(|(rank, _)| (*rank, 80_000)).collect();
        json!({"function": FUNCTIONS[site % FUNCTIONS.len()], "site": site + 1, "communicator": 1,
            "size": 1_u64 << (site % 20), "calls": calls, "ranks": self.ranks, "time": measured(&times),
            "wait": if site.is_multiple_of(3) { measured(&waits) } else { Value::Null }, "sent": measured(&bytes)})
    }

    /// Rows of up to four neighbours, with 150 stretches each; the last rows end before the others.
    fn timeline(&self) -> Value {
        let together = self.ranks.div_ceil(256);
        let rows = (0..self.ranks).step_by(together as usize).map(|rank| {
            let length = if rank + together >= self.ranks { 120 } else { 150 };
            let share = |bin: u64| (rank * 7 + bin * 13) % 1001;
            let permille: Vec<u64> = (0..length).map(share).collect();
            json!({"rank": rank, "ranks": together.min(self.ranks - rank), "width": 80_000_000, "permille": permille})
        });
        rows.collect()
    }

    /// Each rank sends to those to the right and below.
    fn matrix(&self) -> Value {
        let side = self.ranks.isqrt();
        let entry = |flow: &str, peer: i64, ranks: Value| {
            json!({
                "function": if flow == "sent" { "MPI_Isend" } else { "MPI_Irecv" }, "flow": flow, "peer": peer,
                "messages": 100, "bytes": 80_000 * peer.abs(), "ranks": ranks,
            })
        };
        if side < 2 {
            return json!([
                entry("sent", 1, json!([[0, 1, 0, 1]])),
                entry("received", -1, json!([[1, 1, 0, 1]]))
            ]);
        }
        let below = side as i64;
        json!([
            entry("sent", 1, json!([[0, side - 1, side, side]])),
            entry("received", -1, json!([[1, side - 1, side, side]])),
            entry("sent", below, json!([[0, side * (side - 1), 0, 1]])),
            entry("received", -below, json!([[side, side * (side - 1), 0, 1]])),
        ])
    }
}
