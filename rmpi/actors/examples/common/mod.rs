//! What the kernels share: options, random numbers, and the report.

#![allow(dead_code, reason = "each program uses some of it")]

use std::time::Instant;

use rmpi::{Communicator, MpiDatatype, MpiOp, RmpiResult, split_blocks, split_blocks_ref};

/// The options of all kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Updates, requests or darts of each process.
    pub(crate) updates: usize,
    /// Elements of each process's part of the table.
    pub(crate) table: usize,
    /// Messages that travel together.
    pub(crate) buffer: usize,
}

const USAGE: &str = "\
  --updates N  how many updates each process makes
  --table N    how many elements of the table each process has
  --buffer N   how many messages to one process travel together (1024)
  --form NAME  which form of the kernel, where there are several: array, am or plain";

impl Options {
    /// Reads the command line; ends the process if it is wrong.
    pub(crate) fn read(updates: usize, table: usize) -> Self {
        Self::read_with_form(updates, table, &[]).0
    }

    /// Also reads which form of a kernel runs: the first, if the command line does not say.
    pub(crate) fn read_with_form(
        updates: usize,
        table: usize,
        forms: &[&'static str],
    ) -> (Self, &'static str) {
        let mut options = Self { updates, table, buffer: 1024 };
        let mut form = forms.first().copied().unwrap_or_default();
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = match name.as_str() {
                "--updates" => &mut options.updates,
                "--table" => &mut options.table,
                "--buffer" => &mut options.buffer,
                "--form" => {
                    let name = arguments.next();
                    form = forms
                        .iter()
                        .find(|form| name.as_deref() == Some(form))
                        .unwrap_or_else(|| refuse(&format!("--form must be one of {forms:?}")));
                    continue;
                }
                "--help" | "-h" => {
                    println!("{USAGE}");
                    std::process::exit(0);
                }
                _ => refuse(&format!("unknown option {name}")),
            };
            let text =
                arguments.next().unwrap_or_else(|| refuse(&format!("{name} needs a number")));
            *value = match text.parse() {
                Ok(number) if number > 0 => number,
                _ => refuse(&format!("{name} must be a number of at least 1, and is {text}")),
            };
        }
        (options, form)
    }
}

fn refuse(problem: &str) -> ! {
    eprintln!("{problem}\n{USAGE}");
    std::process::exit(2)
}

/// Random numbers, by Marsaglia's xorshift64*; another sequence for each seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: usize) -> Self {
        let mut random = Self((seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| {
            random.next();
        });
        random
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below a bound.
    #[inline]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// Of elements of a table with so many on each process: the processes, and the places there.
pub(crate) fn split(elements: &[usize], table: usize) -> (Vec<u32>, Vec<u32>) {
    elements.iter().map(|at| ((at / table) as u32, (at % table) as u32)).unzip()
}

/// The sum over all processes.
pub(crate) fn sum(world: &Communicator<'_>, mine: u64) -> RmpiResult<u64> {
    let mut sum = 0;
    world.allreduce(&mine, &mut sum, MpiOp::SUM)?;
    Ok(sum)
}

/// Begins to measure when all processes are here.
pub(crate) fn start(world: &Communicator<'_>) -> RmpiResult<Instant> {
    world.barrier()?;
    Ok(Instant::now())
}

/// Prints the rate over all processes, and whether all of them found their results right.
pub(crate) fn report(
    world: &Communicator<'_>,
    kernel: &str,
    operations: u64,
    began: Instant,
    verify: impl FnOnce() -> RmpiResult<bool>,
) -> RmpiResult {
    world.barrier()?;
    let seconds = began.elapsed().as_secs_f64();
    let wrong = u64::from(!verify()?);
    let (operations, wrong) = (sum(world, operations)?, sum(world, wrong)?);
    if world.rank()? == 0 {
        let rate = operations as f64 / seconds / 1e6;
        println!("{kernel}: {operations} operations on {} ranks", world.size()?);
        let digits = if rate < 10.0 { 6 } else { 2 };
        println!("million a second: {rate:.digits$}");
        println!("{kernel}: {}", if wrong == 0 { "right" } else { "WRONG" });
    }
    if wrong > 0 {
        world.abort(1);
    }
    Ok(())
}

/// Items for each process, and how many for each, one process after the other: what plain MPI takes.
pub(crate) struct Sorted<T> {
    pub(crate) items: Vec<T>,
    pub(crate) lengths: Vec<usize>,
}

impl<T: MpiDatatype + Default> Sorted<T> {
    /// Sorts items by their processes. Also returns where each of them is.
    pub(crate) fn new(
        size: usize,
        items: impl Iterator<Item = (usize, T)> + Clone,
    ) -> (Self, Vec<usize>) {
        let mut lengths = vec![0; size];
        items.clone().for_each(|(process, _)| lengths[process] += 1);
        let starts = lengths.iter().scan(0, |start, length| {
            *start += length;
            Some(*start - length)
        });
        let mut next: Vec<usize> = starts.collect();
        let mut sorted = vec![T::default(); lengths.iter().sum()];
        let places = items.map(|(process, item)| {
            let place = next[process];
            next[process] += 1;
            sorted[place] = item;
            place
        });
        let places = places.collect();
        (Self { items: sorted, lengths }, places)
    }

    /// Sends each process its items, and returns what has come, by the process that it comes from. C:
    /// `MPI_Alltoall` for the lengths, and `MPI_Alltoallv`.
    pub(crate) fn exchange(&self, world: &Communicator<'_>) -> RmpiResult<Self> {
        let mut lengths = vec![0; self.lengths.len()];
        world.alltoall(&self.lengths, &mut lengths)?;
        let mut items = vec![T::default(); lengths.iter().sum()];
        let send = split_blocks_ref(&self.items, &self.lengths).expect("they are as long");
        let mut receive = split_blocks(&mut items, &lengths).expect("they are as long");
        world.alltoallv(&send, &mut receive)?;
        Ok(Self { items, lengths })
    }
}

/// Another number for each number.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    let number = (number ^ number >> 27).wrapping_mul(0x81da_def4_bc2d_d44d);
    number ^ number >> 33
}

/// A permutation that is computed: multiplication by a number without a common divisor, and an addition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    length: u64,
    factor: u64,
    first: u64,
}

impl Shuffle {
    pub(crate) fn new(length: u64, seed: u64) -> Self {
        let divides = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a > 1
        };
        let mut factor = (mix(seed) % length.max(1)) | 1;
        while divides(factor, length) {
            factor += 2;
        }
        Self { length, factor, first: mix(seed + 1) % length.max(1) }
    }

    pub(crate) fn at(&self, number: u64) -> u64 {
        let product = u128::from(number) * u128::from(self.factor) + u128::from(self.first);
        (product % u128::from(self.length)) as u64
    }
}
