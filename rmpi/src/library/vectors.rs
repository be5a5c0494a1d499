//! Vectors of unknown length in collective operations: one call moves the lengths, the next one the elements.

use std::alloc::{Layout, alloc_zeroed};

use super::blocks::{split_blocks, split_blocks_ref};
use super::buffer::TypedBuffer;
use super::communicator::Communicator;
use super::error::{Error, ErrorClass, RmpiResult};
use super::process::Process;
use crate::MpiDatatype;

/// What a process sends in place of a length if its arguments are wrong: nobody waits for its elements then.
const REFUSED: u64 = u64::MAX;

fn no_memory() -> Error {
    Error::refused(ErrorClass::NO_MEM, "no memory for what the other processes send")
}

fn one_block_each() -> Error {
    Error::refused(
        ErrorClass::COUNT,
        "a block is needed for each process of the communicator, and nothing may be left over",
    )
}

fn not_own_length() -> Error {
    Error::refused(ErrorClass::OTHER, "MPI told another length of this process than its own")
}

/// A vector of this length, all of whose bytes are 0: MPI writes to it what others send, which may be less than they
/// have said.
pub(super) fn zeroed<T: MpiDatatype>(length: usize) -> RmpiResult<Vec<T>> {
    const {
        assert!(T::TYPE_MAP.size() > 0, "elements without data cannot be received by their number");
    }
    if length == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<T>(length).map_err(|_| no_memory())?;
    // SAFETY: `alloc_zeroed` asks for a layout that is not of size 0: there is an element, and it has data.
    let pointer = unsafe { alloc_zeroed(layout) };
    if pointer.is_null() {
        return Err(no_memory());
    }
    // SAFETY: `from_raw_parts` asks for memory that the global allocator has given with the layout of an array of so
    // many values, and for as many values in it: any bytes are a `MpiDatatype`, and these are 0.
    Ok(unsafe { Vec::from_raw_parts(pointer.cast(), length, length) })
}

/// Lengths that other processes have told.
fn lengths(told: &[u64]) -> RmpiResult<Vec<usize>> {
    if told.contains(&REFUSED) {
        return Err(refused());
    }
    told.iter().map(|length| usize::try_from(*length).map_err(|_| no_memory())).collect()
}

fn refused() -> Error {
    Error::refused(
        ErrorClass::COUNT,
        "another process gave arguments that do not fit the communicator, and got an error",
    )
}

/// Their sum.
fn sum(lengths: &[usize]) -> Option<usize> {
    lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length))
}

/// Room for elements of these lengths, one block after the other.
fn room<T: MpiDatatype>(lengths: &[usize]) -> RmpiResult<Vec<T>> {
    zeroed(sum(lengths).ok_or_else(no_memory)?)
}

/// Vectors of these lengths, of what lies one after the other.
fn split<T: MpiDatatype>(all: &[T], lengths: &[usize]) -> RmpiResult<Vec<Vec<T>>> {
    let blocks = split_blocks_ref(all, lengths).ok_or_else(one_block_each)?;
    Ok(blocks.into_iter().map(<[T]>::to_vec).collect())
}

/// Blocks one after the other, and their lengths.
fn joined<S: TypedBuffer>(blocks: &[S]) -> RmpiResult<(Vec<S::Element>, Vec<usize>)> {
    let lengths: Vec<usize> = blocks.iter().map(|block| block.as_elements().1).collect();
    let mut all = Vec::new();
    all.try_reserve_exact(sum(&lengths).ok_or_else(no_memory)?).map_err(|_| no_memory())?;
    for block in blocks {
        let (pointer, length) = block.as_elements();
        // SAFETY: `from_raw_parts` asks for so many values, aligned and not null, which nobody writes to while the
        // slice lives. A `TypedBuffer` promises them, as long as the block, which is borrowed, exists.
        all.extend_from_slice(unsafe { core::slice::from_raw_parts(pointer, length) });
    }
    Ok((all, lengths))
}

impl Communicator<'_> {
    /// Collects the elements of all processes, of any number each, at all of them, in the order of the ranks.
    /// C: `MPI_Allgather` of the lengths (one `MPI_UINT64_T` each), and `MPI_Allgatherv`. Collective, blocks.
    ///
    /// # Errors
    /// [`NO_MEM`](ErrorClass::NO_MEM) if there is no memory for all elements: if a process has less than the others, they
    /// wait for it; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mine = vec![world.rank()?; world.rank()?];
    /// let all = world.allgatherv_vec(&mine)?;
    /// // On three processes: 1, 2, 2.
    /// # Ok(()) }
    /// ```
    ///
    /// Elements without data have no block that MPI could find:
    ///
    /// ```compile_fail,E0080
    /// # fn main() -> rmpi::RmpiResult {
    /// # let context = rmpi::init()?;
    /// let nothing = context.world().allgatherv_vec(&[[0.0; 0]; 3])?;
    /// # Ok(()) }
    /// ```
    pub fn allgatherv_vec<T: MpiDatatype>(&self, mine: &[T]) -> RmpiResult<Vec<T>> {
        self.allgatherv_vec_counts(mine).map(|(all, _)| all)
    }

    /// As [`allgatherv_vec`](Self::allgatherv_vec), and how many elements each process has given, by rank.
    ///
    /// # Errors
    /// As [`allgatherv_vec`](Self::allgatherv_vec).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let (all, counts) = world.allgatherv_vec_counts(&[1.5, 2.5])?;
    /// let blocks = rmpi::split_blocks_ref(&all, &counts).expect("the counts are those of all");
    /// println!("{:?} from rank 0", blocks[0]);
    /// # Ok(()) }
    /// ```
    pub fn allgatherv_vec_counts<T: MpiDatatype>(
        &self,
        mine: &[T],
    ) -> RmpiResult<(Vec<T>, Vec<usize>)> {
        let mut told = vec![0; self.known_size()?];
        self.allgather(&(mine.len() as u64), &mut told)?;
        let counts = lengths(&told)?;
        if counts.get(self.known_rank()?) != Some(&mine.len()) {
            return Err(not_own_length());
        }
        let mut all = room(&counts)?;
        let mut blocks = split_blocks(&mut all, &counts).ok_or_else(one_block_each)?;
        self.allgatherv(mine, &mut blocks)?;
        Ok((all, counts))
    }

    /// Sends a block of any length to each process, and receives one of each, in the order of the ranks.
    /// C: `MPI_Alltoall` of the lengths (one `MPI_UINT64_T` each), and `MPI_Alltoallv`. Collective, blocks.
    ///
    /// The blocks are copied into one buffer, and out of one: [`alltoallv_flat`](Self::alltoallv_flat) is without the copies.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if a process does not give as many blocks as there are processes, at all of them;
    /// [`NO_MEM`](ErrorClass::NO_MEM) if there is no memory for what comes, and
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if it is more than this MPI counts: then the others may wait, and
    /// the communicator must not be used any more; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>, numbers: &[u64]) -> rmpi::RmpiResult {
    /// let size = world.size()?;
    /// let mut buckets = vec![Vec::new(); size];
    /// for number in numbers {
    ///     buckets[*number as usize % size].push(*number);
    /// }
    /// let mine: Vec<u64> = world.alltoallv_vec(&buckets)?.concat();
    /// # Ok(()) }
    /// ```
    pub fn alltoallv_vec<S>(&self, blocks: &[S]) -> RmpiResult<Vec<Vec<S::Element>>>
    where
        S: TypedBuffer<Element: MpiDatatype>,
    {
        let (send, counts) = joined(blocks).inspect_err(|_| {
            // The others are told that nothing comes; what they get as an error is theirs.
            let _ = self.alltoallv_flat::<S::Element>(&[], &[]);
        })?;
        let (all, counts) = self.alltoallv_flat(&send, &counts)?;
        split(&all, &counts)
    }

    /// Sends parts of a slice to the processes, `counts[rank]` elements to each, one part after the other, and receives
    /// what they send, in the order of the ranks, with how many elements each has sent.
    /// C: `MPI_Alltoall` of the counts (one `MPI_UINT64_T` each), and `MPI_Alltoallv`. Collective, blocks.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if a process does not give a count for each, or other counts than the slice has
    /// elements, at all of them; [`NO_MEM`](ErrorClass::NO_MEM) if there is no memory for what comes, and
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if it is more than this MPI counts: then the others may wait, and
    /// the communicator must not be used any more; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// // One element to rank 0, two to rank 1, and so on.
    /// let counts: Vec<usize> = (1..=world.size()?).collect();
    /// let send = vec![0.5; counts.iter().sum()];
    /// let (received, counts) = world.alltoallv_flat(&send, &counts)?;
    /// # Ok(()) }
    /// ```
    pub fn alltoallv_flat<T: MpiDatatype>(
        &self,
        send: &[T],
        counts: &[usize],
    ) -> RmpiResult<(Vec<T>, Vec<usize>)> {
        let size = self.known_size()?;
        let fits = counts.len() == size && sum(counts) == Some(send.len());
        let blocks = if fits { split_blocks_ref(send, counts) } else { None };
        let told: Vec<u64> = match &blocks {
            Some(blocks) => blocks.iter().map(|block| block.len() as u64).collect(),
            None => vec![REFUSED; size],
        };
        let mut received = vec![0; size];
        self.alltoall(&told, &mut received)?;
        let blocks = blocks.ok_or_else(one_block_each)?;
        let counts = lengths(&received)?;
        let mut all = room(&counts)?;
        let mut parts = split_blocks(&mut all, &counts).ok_or_else(one_block_each)?;
        self.alltoallv(&blocks, &mut parts)?;
        Ok((all, counts))
    }
}

impl Process<'_> {
    /// Is it this process?
    pub(super) fn is_this(&self) -> RmpiResult<bool> {
        self.communicator.intra()?;
        Ok(Some(self.communicator.known_rank()?) == self.rank())
    }

    /// Collects the elements of all processes, of any number each, at the root, in the order of the ranks; `None` at the
    /// others. C: `MPI_Gather` of the lengths (one `MPI_UINT64_T` each), and `MPI_Gatherv`. Collective, blocks.
    ///
    /// # Errors
    /// [`NO_MEM`](ErrorClass::NO_MEM) if the root has no memory for all elements, while the others may wait;
    /// [`ROOT`](ErrorClass::ROOT) or [`RANK`](ErrorClass::RANK) if there is no such process; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mine = vec![0.5; world.rank()?];
    /// if let Some(all) = world.process(0).gatherv_vec(&mine)? {
    ///     println!("{} elements", all.len());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn gatherv_vec<T: MpiDatatype>(&self, mine: &[T]) -> RmpiResult<Option<Vec<T>>> {
        Ok(self.gatherv_vec_counts(mine)?.map(|(all, _)| all))
    }

    /// As [`gatherv_vec`](Self::gatherv_vec), and how many elements each process has given, by rank.
    ///
    /// # Errors
    /// As [`gatherv_vec`](Self::gatherv_vec).
    ///
    /// ```no_run
    /// # fn example(root: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// if let Some((all, counts)) = root.gatherv_vec_counts(&[1.5, 2.5])? {
    ///     let blocks = rmpi::split_blocks_ref(&all, &counts).expect("the counts are those of all");
    ///     println!("{:?} from rank 0", blocks[0]);
    /// }
    /// # Ok(()) }
    /// ```
    #[allow(clippy::type_complexity, reason = "elements and counts, at one process")]
    pub fn gatherv_vec_counts<T: MpiDatatype>(
        &self,
        mine: &[T],
    ) -> RmpiResult<Option<(Vec<T>, Vec<usize>)>> {
        const {
            assert!(
                T::TYPE_MAP.size() > 0,
                "elements without data cannot be received by their number"
            );
        }
        self.root()?;
        let length = mine.len() as u64;
        if !self.is_this()? {
            self.gather(&length)?;
            self.gatherv(mine)?;
            return Ok(None);
        }
        let mut told = vec![0; self.communicator.known_size()?];
        self.gather_root(&length, &mut told)?;
        let counts = lengths(&told)?;
        if counts.get(self.communicator.known_rank()?) != Some(&mine.len()) {
            return Err(not_own_length());
        }
        let mut all = room(&counts)?;
        let mut blocks = split_blocks(&mut all, &counts).ok_or_else(one_block_each)?;
        self.gatherv_root(mine, &mut blocks)?;
        Ok(Some((all, counts)))
    }

    /// Sends a vector of the root's to each process, of any length each; the others give `None`, and what they give is
    /// not used. C: `MPI_Scatter` of the lengths (one `MPI_UINT64_T` each), and `MPI_Scatterv`. Collective, blocks.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the root does not give a vector for each process, at all of them;
    /// [`NO_MEM`](ErrorClass::NO_MEM) if there is no memory for what comes, while the others may wait;
    /// [`ROOT`](ErrorClass::ROOT) or [`RANK`](ErrorClass::RANK) if there is no such process; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let size = world.size()?;
    /// let blocks: Option<Vec<_>> =
    ///     (world.rank()? == 0).then(|| (0..size).map(|rank| vec![0.5; rank]).collect());
    /// let mine = world.process(0).scatterv_vec(blocks.as_deref())?;
    /// # Ok(()) }
    /// ```
    pub fn scatterv_vec<T: MpiDatatype>(&self, blocks: Option<&[Vec<T>]>) -> RmpiResult<Vec<T>> {
        self.root()?;
        if !self.is_this()? {
            return self.scattered();
        }
        let joined = blocks.map(joined).transpose();
        let (send, counts) = match &joined {
            Ok(Some((send, counts))) => (&send[..], &counts[..]),
            _ => (&[][..], &[][..]),
        };
        // Before the error, of which the others have to know.
        let mine = self.scatter_flat(send, counts);
        if let Err(error) = joined { Err(error) } else { mine }
    }

    /// Sends parts of a slice of the root's to the processes, `counts[rank]` elements to each, one part after the other;
    /// the others give `None`, and what they give is not used.
    /// C: `MPI_Scatter` of the counts (one `MPI_UINT64_T` each), and `MPI_Scatterv`. Collective, blocks.
    ///
    /// # Errors
    /// As [`scatterv_vec`](Self::scatterv_vec); [`COUNT`](ErrorClass::COUNT) also if the counts are others than the slice
    /// has elements.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let counts: Vec<usize> = (1..=world.size()?).collect();
    /// let all = vec![0.5; counts.iter().sum()];
    /// let mine = world.process(0).scatterv_flat(Some((&all, &counts)))?;
    /// assert_eq!(mine.len(), world.rank()? + 1);
    /// # Ok(()) }
    /// ```
    pub fn scatterv_flat<T: MpiDatatype>(
        &self,
        parts: Option<(&[T], &[usize])>,
    ) -> RmpiResult<Vec<T>> {
        self.root()?;
        if !self.is_this()? {
            return self.scattered();
        }
        let (send, counts) = parts.unwrap_or_default();
        self.scatter_flat(send, counts)
    }

    /// What the root scatters, at the root.
    fn scatter_flat<T: MpiDatatype>(&self, send: &[T], counts: &[usize]) -> RmpiResult<Vec<T>> {
        let size = self.communicator.known_size()?;
        let fits = counts.len() == size && sum(counts) == Some(send.len());
        let blocks = if fits { split_blocks_ref(send, counts) } else { None };
        let told: Vec<u64> = match &blocks {
            Some(blocks) => blocks.iter().map(|block| block.len() as u64).collect(),
            None => vec![REFUSED; size],
        };
        let mut length = 0;
        self.scatter_root(&told, &mut length)?;
        let blocks = blocks.ok_or_else(one_block_each)?;
        let mut mine = room(&lengths(&[length])?)?;
        self.scatterv_root(&blocks, &mut mine)?;
        Ok(mine)
    }

    /// What the root scatters, at another process.
    fn scattered<T: MpiDatatype>(&self) -> RmpiResult<Vec<T>> {
        let mut length = 0;
        self.scatter(&mut length)?;
        let mut mine = room(&lengths(&[length])?)?;
        self.scatterv(&mut mine)?;
        Ok(mine)
    }

    /// Sends the root's vector to all processes, where it takes the place of theirs, whatever their lengths are.
    /// C: `MPI_Bcast` of the length (one `MPI_UINT64_T`), and `MPI_Bcast`. Collective, blocks.
    ///
    /// # Errors
    /// [`NO_MEM`](ErrorClass::NO_MEM) if there is no memory for what comes, while the others may wait;
    /// [`ROOT`](ErrorClass::ROOT) or [`RANK`](ErrorClass::RANK) if there is no such process; what MPI says. The vector is as
    /// before then.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = if world.rank()? == 0 { vec![1.5, 2.5] } else { Vec::new() };
    /// world.process(0).bcast_vec(&mut numbers)?;
    /// assert_eq!(numbers, [1.5, 2.5]);
    /// # Ok(()) }
    /// ```
    pub fn bcast_vec<T: MpiDatatype>(&self, vector: &mut Vec<T>) -> RmpiResult {
        self.root()?;
        let is_root = self.is_this()?;
        let mut length = vector.len() as u64;
        self.bcast(&mut length)?;
        if is_root {
            return self.bcast(vector);
        }
        let mut received = room(&lengths(&[length])?)?;
        self.bcast(&mut received)?;
        *vector = received;
        Ok(())
    }
}
