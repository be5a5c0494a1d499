use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{self, NonNull};

use smallvec::SmallVec;

use super::buffer::{BufferMut, BufferRef, RawBuffer, TypedBuffer};
use super::error::{Error, ErrorClass, RmpiResult};
use super::sys::{self, MPI_Count, MPI_Datatype, c_int};
use crate::SendDatatype;
use crate::call::Array;

/// Splits a slice into parts of these lengths, as blocks to receive into; `None` if they are longer
/// than the slice. What remains is in no block.
///
/// ```
/// let mut all = [1, 2, 3, 4, 5, 6];
/// let blocks = rmpi::split_blocks(&mut all, &[3, 0, 2]).expect("5 of 6");
/// assert_eq!(blocks, [&[1, 2, 3][..], &[], &[4, 5]]);
/// assert!(rmpi::split_blocks(&mut all, &[3, 4]).is_none());
/// ```
pub fn split_blocks<'b, T>(mut slice: &'b mut [T], lengths: &[usize]) -> Option<Vec<&'b mut [T]>> {
    let mut blocks = Vec::with_capacity(lengths.len());
    for length in lengths {
        let block;
        (block, slice) = slice.split_at_mut_checked(*length)?;
        blocks.push(block);
    }
    Some(blocks)
}

/// Splits a slice into parts of these lengths, as blocks to send; `None` if they are longer than the
/// slice.
///
/// ```
/// let blocks = rmpi::split_blocks_ref(&[1, 2, 3], &[2, 1]).expect("3 of 3");
/// assert_eq!(blocks, [&[1, 2][..], &[3]]);
/// ```
pub fn split_blocks_ref<'b, T>(mut slice: &'b [T], lengths: &[usize]) -> Option<Vec<&'b [T]>> {
    let mut blocks = Vec::with_capacity(lengths.len());
    for length in lengths {
        let block;
        (block, slice) = slice.split_at_checked(*length)?;
        blocks.push(block);
    }
    Some(blocks)
}

/// What stands for a buffer without bytes, one for sending and one for receiving. Rust's own pointer to no
/// bytes is 1, which is `MPI_IN_PLACE` in two ABIs, and may be any other, as that of the third one.
static EMPTY: [u64; 2] = [0; 2];

/// Has a buffer no elements, or the address that means something else to MPI? No bytes lie there, but elements of
/// size 0 may.
#[inline]
fn is_empty(raw: &RawBuffer) -> bool {
    raw.count == 0 || raw.pointer == sys::MPI_IN_PLACE
}

/// A buffer that MPI reads, in a function that knows `MPI_IN_PLACE`.
#[inline]
pub(super) fn sent<B: BufferRef>(buffer: &B) -> RmpiResult<RawBuffer> {
    let mut raw = buffer.as_raw()?;
    if is_empty(&raw) {
        raw.pointer = ptr::from_ref(&EMPTY[0]).cast_mut().cast();
    }
    Ok(raw)
}

/// A buffer that MPI writes to, in a function that knows `MPI_IN_PLACE`.
#[inline]
pub(super) fn received<B: BufferMut>(buffer: &mut B) -> RmpiResult<RawBuffer> {
    let mut raw = buffer.as_raw_mut()?;
    if is_empty(&raw) {
        // Nothing is written.
        raw.pointer = ptr::from_ref(&EMPTY[1]).cast_mut().cast();
    }
    Ok(raw)
}

/// A part of a buffer for each of `size` processes: its count.
#[inline]
pub(super) fn per_rank(buffer: &RawBuffer, size: usize) -> RmpiResult<MPI_Count> {
    let size = size as MPI_Count;
    // An empty communicator has no buffer to divide.
    if size == 0 || buffer.count % size != 0 {
        return Err(Error::refused(
            ErrorClass::COUNT,
            "the buffer's length is no multiple of the number of processes",
        ));
    }
    Ok(buffer.count / size)
}

/// Counts, or displacements, one a block.
type Counts = SmallVec<[MPI_Count; 16]>;
/// All counts, then all displacements.
enum Numbers {
    Int(SmallVec<[c_int; 32]>),
    Wide(SmallVec<[MPI_Count; 32]>),
}

/// Blocks as C has them: a base, and a count and a displacement each.
pub(super) struct Layout {
    base: *mut c_void,
    blocks: usize,
    numbers: Numbers,
    /// Of each block.
    types: SmallVec<[MPI_Datatype; 16]>,
}

impl Layout {
    /// Blocks of a static type, of `size` processes; displacements count elements.
    pub(super) fn sent<S: TypedBuffer>(blocks: &[S], size: usize) -> RmpiResult<Self> {
        let unit = S::Element::TYPE_MAP.flat().0.extent();
        Self::new(blocks.iter().map(sent), size, unit)
    }

    /// Blocks to receive into.
    pub(super) fn received<R: TypedBuffer + BufferMut>(
        blocks: &mut [R],
        size: usize,
    ) -> RmpiResult<Self> {
        let unit = R::Element::TYPE_MAP.flat().0.extent();
        Self::new(blocks.iter_mut().map(received), size, unit)
    }

    /// Blocks of a datatype each; displacements count bytes.
    pub(super) fn sent_w<S: BufferRef>(blocks: &[S], size: usize) -> RmpiResult<Self> {
        Self::new(blocks.iter().map(sent), size, 1)
    }

    /// Blocks of a datatype each to receive into.
    pub(super) fn received_w<R: BufferMut>(blocks: &mut [R], size: usize) -> RmpiResult<Self> {
        Self::new(blocks.iter_mut().map(received), size, 1)
    }

    /// No blocks: what MPI does not look at.
    pub(super) fn none() -> Self {
        Self {
            base: ptr::null_mut(),
            blocks: 0,
            numbers: Numbers::Int(SmallVec::new()),
            types: SmallVec::new(),
        }
    }

    fn new(
        blocks: impl Iterator<Item = RmpiResult<RawBuffer>>,
        size: usize,
        unit: usize,
    ) -> RmpiResult<Self> {
        let mut counts = Counts::new();
        let mut addresses: SmallVec<[usize; 16]> = SmallVec::new();
        let mut types = SmallVec::new();
        let mut lowest: Option<*mut c_void> = None;
        for block in blocks {
            let block = block?;
            counts.push(block.count);
            types.push(block.datatype);
            // C reaches all blocks from the lowest one's address. They may be of different
            // allocations: so the provenance of all is exposed, and the base is made of an address.
            let address = block.pointer.expose_provenance();
            addresses.push(address);
            if block.count != 0 && lowest.is_none_or(|lowest| address < lowest.addr()) {
                lowest = Some(block.pointer);
            }
        }
        if counts.len() != size {
            return Err(Error::refused(
                ErrorClass::COUNT,
                "as many blocks are needed as the communicator has processes",
            ));
        }
        let base = lowest.map_or(ptr::from_ref(&EMPTY).addr(), |lowest| lowest.addr());
        let mut displacements = Counts::new();
        for (count, address) in counts.iter().zip(&addresses) {
            if *count == 0 {
                displacements.push(0);
                continue;
            }
            let distance = address - base;
            if unit == 0 || !distance.is_multiple_of(unit) {
                return Err(apart());
            }
            displacements.push(MPI_Count::try_from(distance / unit).map_err(|_| apart())?);
        }
        let all = counts.iter().chain(&displacements);
        let narrow = all.clone().map(|number| c_int::try_from(*number));
        let numbers = match narrow.collect::<Result<_, _>>() {
            Ok(numbers) => Numbers::Int(numbers),
            Err(_) => Numbers::Wide(all.copied().collect()),
        };
        let base = match lowest {
            Some(_) => ptr::with_exposed_provenance_mut(base),
            None => ptr::from_ref(&EMPTY).cast_mut().cast(),
        };
        Ok(Self { base, blocks: size, numbers, types })
    }

    fn is_wide(&self) -> bool {
        matches!(self.numbers, Numbers::Wide(_))
    }

    fn widen(&mut self) {
        if let Numbers::Int(numbers) = &self.numbers {
            let numbers = numbers.iter().map(|number| (*number).into()).collect();
            self.numbers = Numbers::Wide(numbers);
        }
    }

    /// As C takes it, together with this count.
    pub(super) fn with_count(mut self, count: MPI_Count) -> Self {
        if c_int::try_from(count).is_err() {
            self.widen();
        }
        self
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn base(&self) -> *mut c_void {
        self.base
    }

    pub(super) fn counts(&self) -> Array {
        match &self.numbers {
            Numbers::Int(numbers) => Array::Int(numbers.as_ptr()),
            Numbers::Wide(numbers) => Array::Wide(numbers.as_ptr()),
        }
    }

    pub(super) fn displacements(&self) -> Array {
        match &self.numbers {
            Numbers::Int(numbers) => Array::Int(numbers[self.blocks..].as_ptr()),
            Numbers::Wide(numbers) => Array::Wide(numbers[self.blocks..].as_ptr()),
        }
    }

    /// The datatype of all blocks, where there is one.
    pub(super) fn datatype(&self) -> MPI_Datatype {
        self.types.first().copied().unwrap_or(sys::MPI_BYTE)
    }

    pub(super) fn types(&self) -> *const MPI_Datatype {
        self.types.as_ptr()
    }
}

fn apart() -> Error {
    Error::refused(ErrorClass::ARG, "blocks have to lie whole elements apart: split one buffer")
}

/// The layouts of what is sent and what is received, in one width.
pub(super) struct Layouts {
    pub(super) send: Layout,
    pub(super) receive: Layout,
}

impl Layouts {
    pub(super) fn new(mut send: Layout, mut receive: Layout) -> Self {
        if send.is_wide() || receive.is_wide() {
            send.widen();
            receive.widen();
        }
        Self { send, receive }
    }
}

/// Counts of elements, one a process.
pub(super) struct ReceiveCounts(Numbers);

impl ReceiveCounts {
    pub(super) fn new(counts: &[MPI_Count]) -> Self {
        let narrow = counts.iter().map(|number| c_int::try_from(*number));
        Self(match narrow.collect::<Result<_, _>>() {
            Ok(numbers) => Numbers::Int(numbers),
            Err(_) => Numbers::Wide(counts.iter().copied().collect()),
        })
    }

    pub(super) fn array(&self) -> Array {
        match &self.0 {
            Numbers::Int(numbers) => Array::Int(numbers.as_ptr()),
            Numbers::Wide(numbers) => Array::Wide(numbers.as_ptr()),
        }
    }
}

/// What MPI reads until an operation is complete, at a place of its own.
pub(super) struct Kept<K: ?Sized>(NonNull<K>);

impl<K> Kept<K> {
    pub(super) fn new(kept: K) -> Self {
        Self(NonNull::from(Box::leak(Box::new(kept))))
    }
}

impl<K> Deref for Kept<K> {
    type Target = K;
    fn deref(&self) -> &K {
        // SAFETY: `as_ref` asks for a value that lives as long as the reference: it is in a box that was
        // leaked, which only the drop takes back.
        unsafe { self.0.as_ref() }
    }
}

impl<K: ?Sized> Drop for Kept<K> {
    fn drop(&mut self) {
        // SAFETY: `from_raw` asks for the pointer of a box that nobody else takes back: `new` has leaked one,
        // `keep` moves its pointer on, and the drop comes once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Anything that is kept.
trait Keep {}
impl<K> Keep for K {}

/// The buffers of a non-blocking or persistent operation with a count per process, with these counts,
/// which MPI reads until it is complete.
pub struct WithCounts<B> {
    /// What the operation was begun with.
    pub buffers: B,
    pub(super) arrays: Arrays,
}

/// The counts and displacements of an operation, at a place of their own.
pub(super) struct Arrays(Option<Kept<dyn Keep>>);

impl<B> WithCounts<B> {
    pub(super) fn new(buffers: B) -> Self {
        Self { buffers, arrays: Arrays(None) }
    }
}

impl Arrays {
    /// Keeps what MPI will read.
    pub(super) fn keep<K: 'static>(&mut self, arrays: K) -> &K {
        let kept = ManuallyDrop::new(Kept::new(arrays)).0;
        self.0 = Some(Kept(kept));
        // SAFETY: `as_ref` asks for a value that lives as long as the reference, which borrows `self`: it is in
        // a box that stays until `self` is dropped, or keeps something else.
        unsafe { kept.as_ref() }
    }
}

impl<B: core::fmt::Debug> core::fmt::Debug for WithCounts<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WithCounts").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}

/// Elements for each of so many, of which all get the same; 0 for nobody.
pub(super) fn share(elements: sys::MPI_Count, shares: usize) -> RmpiResult<sys::MPI_Count> {
    let shares = shares as sys::MPI_Count;
    if shares == 0 {
        return Ok(0);
    }
    if elements % shares != 0 {
        return Err(Error::refused(
            ErrorClass::COUNT,
            "the buffer's length is no multiple of the number of processes",
        ));
    }
    Ok(elements / shares)
}
