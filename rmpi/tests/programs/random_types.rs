//! Random datatypes of datatypes: MPI writes nothing outside of the buffer that rmpi let through, and no
//! type ends the process.
//!
//! `RMPI_RANDOM_SECONDS` says for how long (3), `RMPI_RANDOM_SEED` with which type to begin (1);
//! `RMPI_RANDOM_SAY` prints each type before it is used, for what ends the process.

use std::env;
use std::time::{Duration, Instant};

use rmpi::{
    Active, AnyDatatype, Assertion, Communicator, Datatype, DatatypeRef, Dimension, Distribution,
    DoubleInt, ErrorClass, MpiDatatype, Order, RmpiContext, RmpiResult, Tag, TargetLayout,
    TypeDynamicBufferMut, TypeDynamicBufferRef, UncommittedDatatype, Window,
};

/// Padding inside, and behind.
#[derive(Clone, Copy, MpiDatatype)]
#[repr(C, align(16))]
struct Padded {
    a: u8,
    b: u32,
    c: u8,
}

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }

    /// Zero once in eight times.
    fn count(&mut self) -> usize {
        self.below(8) as usize % 4 + usize::from(self.below(8) != 0 && self.below(2) == 0)
    }

    fn displacement(&mut self) -> isize {
        self.below(44) as isize - 8
    }

    fn list<T>(&mut self, length: usize, mut f: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..length).map(|_| f(self)).collect()
    }
}

/// A random type, and how it was made.
fn make<'c>(
    context: &'c RmpiContext,
    random: &mut Random,
    depth: u64,
) -> RmpiResult<(UncommittedDatatype<'c>, String)> {
    if depth == 0 {
        let (old, name) = match random.below(5) {
            0 => (DatatypeRef::of::<u8>(context)?, "u8"),
            1 => (DatatypeRef::of::<f64>(context)?, "f64"),
            2 => (DatatypeRef::of::<i32>(context)?, "i32"),
            3 => (DatatypeRef::of::<Padded>(context)?, "Padded"),
            _ => (DatatypeRef::of::<DoubleInt>(context)?, "DoubleInt"),
        };
        return Ok((Datatype::dup(context, &old)?, name.to_owned()));
    }
    let (old, of) = make(context, random, depth - 1)?;
    let count = random.count();
    Ok(match random.below(12) {
        0 => (Datatype::contiguous(context, count, &old)?, format!("contiguous({count}, {of})")),
        1 => {
            let (length, stride) = (random.count(), random.displacement());
            let new = Datatype::vector(context, count, length, stride, &old)?;
            (new, format!("vector({count}, {length}, {stride}, {of})"))
        }
        2 => {
            let (length, stride) = (random.count(), random.displacement() * 3);
            let new = Datatype::hvector(context, count, length, stride, &old)?;
            (new, format!("hvector({count}, {length}, {stride}, {of})"))
        }
        3 => {
            let lengths = random.list(count, Random::count);
            let places = random.list(count, Random::displacement);
            let new = Datatype::indexed(context, &lengths, &places, &old)?;
            (new, format!("indexed({lengths:?}, {places:?}, {of})"))
        }
        4 => {
            let lengths = random.list(count, Random::count);
            let places = random.list(count, |random| random.displacement() * 5);
            let new = Datatype::hindexed(context, &lengths, &places, &old)?;
            (new, format!("hindexed({lengths:?}, {places:?}, {of})"))
        }
        5 => {
            let (length, places) = (random.count(), random.list(count, Random::displacement));
            let new = Datatype::indexed_block(context, length, &places, &old)?;
            (new, format!("indexed_block({length}, {places:?}, {of})"))
        }
        6 => {
            let (length, places) = (random.count(), random.list(count, Random::displacement));
            let new = Datatype::hindexed_block(context, length, &places, &old)?;
            (new, format!("hindexed_block({length}, {places:?}, {of})"))
        }
        7 | 8 => {
            let (lower, extent) = (random.displacement(), random.below(60) as isize - 4);
            (
                Datatype::resized(context, &old, lower, extent)?,
                format!("resized({of}, {lower}, {extent})"),
            )
        }
        9 => {
            let (other, other_of) = make(context, random, 0)?;
            let lengths = random.list(3, Random::count);
            let places = random.list(3, |random| random.displacement() * 9);
            let types: [&dyn AnyDatatype; 3] = [&old, &other, &old];
            let new = Datatype::create_struct(context, &lengths, &places, &types)?;
            (new, format!("struct({lengths:?}, {places:?}, [{of}, {other_of}, …])"))
        }
        10 => {
            let sizes = random.list(2, |random| 1 + random.below(4) as usize);
            let parts: Vec<_> =
                sizes.iter().map(|size| 1 + random.below(*size as u64) as usize).collect();
            let starts: Vec<_> = (sizes.iter().zip(&parts))
                .map(|(size, part)| random.below((size - part + 1) as u64) as usize)
                .collect();
            let order = if random.below(2) == 0 { Order::C } else { Order::Fortran };
            let new = Datatype::subarray(context, &sizes, &parts, &starts, order, &old)?;
            (new, format!("subarray({sizes:?}, {parts:?}, {starts:?}, {order:?}, {of})"))
        }
        _ => {
            let dimensions = random.list(2, |random| {
                let distribution = match random.below(4) {
                    0 => Distribution::Block(None),
                    1 => Distribution::Cyclic(None),
                    2 => Distribution::Cyclic(Some(1 + random.below(3) as usize)),
                    _ => Distribution::None,
                };
                let processes = match distribution {
                    Distribution::None => 1,
                    _ => 1 + random.below(3) as usize,
                };
                Dimension { size: 1 + random.below(6) as usize, distribution, processes }
            });
            let size = dimensions.iter().map(|dimension| dimension.processes).product();
            let rank = random.below(size as u64) as usize;
            let order = if random.below(2) == 0 { Order::C } else { Order::Fortran };
            let new = Datatype::darray(context, size, rank, &dimensions, order, &old)?;
            (new, format!("darray({size}, {rank}, {dimensions:?}, {order:?}, {of})"))
        }
    })
}

const MARGIN: usize = 4096;

/// Quick, also where the compiler does not optimise.
fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    bytes.chunks(ZEROS.len()).all(|chunk| *chunk == ZEROS[..chunk.len()])
}

/// A type to try.
struct Tried<'t> {
    datatype: &'t Datatype<'t>,
    count: usize,
    /// Bytes from the buffer's start in which all of the elements lie, as MPI has it.
    end: usize,
    size: usize,
}

impl Tried<'_> {
    /// Did `write` write outside of the buffer? Nothing if rmpi refuses the buffer.
    fn outside(
        &self,
        write: impl FnOnce(TypeDynamicBufferMut<'_>) -> RmpiResult,
    ) -> RmpiResult<Option<bool>> {
        let mut memory = vec![0_u8; self.end + 2 * MARGIN];
        let buffer = &mut memory[MARGIN..MARGIN + self.end];
        let Ok(buffer) =
            TypeDynamicBufferMut::from_bytes(buffer, self.count, self.datatype.as_ref())
        else {
            return Ok(None);
        };
        write(buffer)?;
        Ok(Some(!is_zero(&memory[..MARGIN]) || !is_zero(&memory[MARGIN + self.end..])))
    }
}

/// Sends, receives, packs, unpacks and puts with a type.
fn try_type(
    comm: &Communicator<'_>,
    window: &mut Window<'_, u8, Active>,
    tried: &Tried<'_>,
    what: &str,
) -> RmpiResult<bool> {
    let data = vec![0xaa_u8; tried.size * tried.count];
    let unpacked = tried.outside(|buffer| comm.unpack(&data, &mut 0, buffer))?;
    let Some(unpacked) = unpacked else { return Ok(false) };
    assert!(!unpacked, "unpacked outside of the buffer: {what}");
    let received = tried.outside(|buffer| {
        rmpi::scope(|scope| {
            comm.process(0).isend(scope, &data, Tag::new(0))?;
            comm.process(0).recv(buffer, Tag::new(0))
        })
    })?;
    assert_eq!(received, Some(false), "received outside of the buffer: {what}");
    let memory = vec![0x55_u8; tried.end];
    let buffer = TypeDynamicBufferRef::from_bytes(&memory, tried.count, tried.datatype.as_ref())?;
    let (mut packed, mut length) = (vec![0_u8; data.len()], 0);
    comm.pack(buffer, &mut packed, &mut length)?;
    assert_eq!(packed, vec![0x55; data.len()], "read outside of the buffer: {what}");
    if tried.end + MARGIN > window.local().len() {
        return Ok(true);
    }
    // Where the last byte of the window is the last one that may be written.
    let start = window.local().len() - tried.end;
    let layout = TargetLayout::<u8>::of(tried.datatype.as_ref(), tried.count)?;
    window.local_mut().fill(0);
    window.fence(Assertion::NONE, |epoch| {
        epoch.process(0).put(&data, (start, &layout))?;
        let beyond = epoch.process(0).put(&data, (start + 1, &layout));
        assert_eq!(beyond.map_err(|error| error.class()), Err(ErrorClass::RMA_RANGE), "{what}");
        Ok(())
    })?;
    assert!(is_zero(&window.local()[..start]), "put outside of the place: {what}");
    Ok(true)
}

fn setting(name: &str, otherwise: u64) -> u64 {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let (world, comm) = (context.world(), context.comm_self());
    let time = Duration::from_secs(setting("RMPI_RANDOM_SECONDS", 3));
    let first = setting("RMPI_RANDOM_SEED", 1) + world.rank()? as u64 * 1_000_000_000;
    let say = env::var_os("RMPI_RANDOM_SAY").is_some();
    let mut window = Window::<u8, _>::allocate(comm, 1 << 16, None, Active)?;
    let start = Instant::now();
    let (mut used, mut refused, mut seed) = (0_u64, 0_u64, first);
    while start.elapsed() < time {
        seed += 1;
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let depth = random.below(5);
        let Ok((datatype, what)) = make(&context, &mut random, depth) else {
            refused += 1;
            continue;
        };
        let datatype = datatype.commit()?;
        let (_, extent) = datatype.get_extent()?;
        let (lower, length) = datatype.get_true_extent()?;
        let size = usize::try_from(datatype.size()?).unwrap_or(0);
        assert!(extent >= 0, "a negative extent: {what}");
        let count = random.count();
        let what = format!("{count} of {what} (seed {seed})");
        if say {
            eprintln!("{what}");
        }
        let last = (i64::try_from(count).unwrap_or(0) - 1).max(0) * extent;
        let end = if size == 0 || count == 0 { 0 } else { (last + lower + length).max(0) };
        let Ok(end) = usize::try_from(end) else { continue };
        if end > 1 << 20 {
            continue;
        }
        let tried = Tried { datatype: &datatype, count, end, size };
        if try_type(comm, &mut window, &tried, &what)? {
            used += 1;
        } else {
            // Data before the start of the buffer, also where the MPI does not know of it: Open MPI 5.0.11
            // says of vector(2, 1, -1, u8) that its data begins at 0. That rmpi does not refuse too much is
            // for `bounds`.
            refused += 1;
        }
    }
    println!("{used} types used, {refused} refused, seeds {first} to {seed}");
    assert!(used > refused / 8, "too few were let through");
    world.barrier()?;
    if world.rank()? == 0 {
        println!("right on {} ranks", world.size()?);
    }
    Ok(())
}
