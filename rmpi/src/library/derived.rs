use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use smallvec::SmallVec;
use tool_macros::wraps;

use super::buffer::{TypeDynamicBufferMut, TypeDynamicBufferRef};
use super::context::{self, Runtime};
use super::datatype::{self, DatatypeRef, sealed};
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::layout::{Layout, Plan, negative};
use super::sys::{self, MPI_Count, MPI_Datatype, c_int};
use crate::call::Array;
use crate::{MpiDatatype, SendDatatype};

/// What a datatype can be made of: a [`DatatypeRef`], a [`Datatype`], an [`UncommittedDatatype`].
pub trait AnyDatatype: sealed::AnyDatatype {}

impl AnyDatatype for DatatypeRef<'_> {}
impl sealed::AnyDatatype for DatatypeRef<'_> {
    fn raw(&self) -> MPI_Datatype {
        (*self).into_raw()
    }

    fn layout(&self) -> RmpiResult<Layout> {
        self.known_layout()
    }
}

/// A datatype that was made as the program runs (MPI-5.0, 5.1), ready to communicate; freed when it
/// is dropped.
///
/// The functions that make one are here, and give an [`UncommittedDatatype`].
///
/// ```no_run
/// use rmpi::{Datatype, DatatypeRef, TypeDynamicBufferRef};
/// # fn example(context: &rmpi::RmpiContext, to: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// // Every other number of four.
/// let halves = Datatype::vector(context, 2, 1, 2, &DatatypeRef::of::<f64>(context)?)?.commit()?;
/// let numbers = [1.0_f64, 2.0, 3.0, 4.0];
/// to.send(TypeDynamicBufferRef::of_slice(&numbers, 1, halves.as_ref())?, rmpi::Tag::new(0))
/// # }
/// ```
#[derive(Debug)]
pub struct Datatype<'ctx>(Owned<'ctx>);

/// A datatype that others can be made of, and that can communicate once it is
/// [committed](Self::commit) (MPI-5.0, 5.1.9); freed when it is dropped.
#[derive(Debug)]
#[must_use = "it is for making other datatypes, or to commit"]
pub struct UncommittedDatatype<'ctx>(Owned<'ctx>);

/// A datatype, which its drop frees.
#[derive(Debug)]
struct Owned<'ctx> {
    raw: MPI_Datatype,
    /// Not one of MPI's own.
    owned: bool,
    /// Where its data lies, if rmpi made it.
    layout: Option<Layout>,
    // It stays on its thread, as all that calls MPI.
    _context: PhantomData<(&'ctx (), *const ())>,
}

impl Owned<'_> {
    const fn new(raw: MPI_Datatype) -> Self {
        Self { raw, owned: true, layout: None, _context: PhantomData }
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        if self.owned && self.raw != sys::MPI_DATATYPE_NULL {
            // SAFETY: `MPI_Type_free` asks for a datatype that is not predefined, and is freed once: `owned`
            // says so, and `free` and `into_raw` forget it. Operations that use it go on. `free` tells errors.
            unsafe { sys::MPI_Type_free(&mut self.raw) };
        }
    }
}

/// What both kinds have.
macro_rules! owned {
    ($($name:ident)*) => {$(
        impl AnyDatatype for $name<'_> {}
        impl sealed::AnyDatatype for $name<'_> {
            fn raw(&self) -> MPI_Datatype {
                self.0.raw
            }

            fn layout(&self) -> RmpiResult<Layout> {
                self.0.layout.map_or_else(|| Layout::ask(self.0.raw), Ok)
            }
        }

        impl $name<'_> {
            datatype::queries!();

            /// Names the datatype, for debuggers and tools. C: `MPI_Type_set_name`. Local.
            ///
            /// # Errors
            /// What MPI says.
            ///
            /// ```no_run
            #[doc = concat!("# fn example(columns: &rmpi::", stringify!($name), "<'_>) -> rmpi::RmpiResult {")]
            /// columns.set_name(c"columns")?;
            /// assert_eq!(columns.get_name()?, "columns");
            /// # Ok(()) }
            /// ```
            #[wraps(MPI_Type_set_name)]
            pub fn set_name(&self, name: &CStr) -> RmpiResult {
                // SAFETY: `MPI_Type_set_name` asks for a datatype, which `self` keeps, and a text that ends
                // with a zero, which it copies.
                check(unsafe { mpi.call(self.0.raw, name.as_ptr()) })
            }

            /// Frees the datatype, as its drop does, and says what went wrong. C: `MPI_Type_free`.
            /// Local. What was made of it, and operations that use it, go on.
            ///
            /// # Errors
            /// What MPI says.
            ///
            /// ```no_run
            #[doc = concat!("# fn example(columns: rmpi::", stringify!($name), "<'_>) -> rmpi::RmpiResult {")]
            /// columns.free()?;
            /// # Ok(()) }
            /// ```
            #[wraps(MPI_Type_free)]
            pub fn free(self) -> RmpiResult {
                let mut this = ManuallyDrop::new(self);
                if !this.0.owned {
                    return Ok(());
                }
                // SAFETY: `MPI_Type_free` asks for a datatype that is not predefined, and is freed once:
                // `owned` says so, and `this` is not dropped.
                check(unsafe { mpi.call(&mut this.0.raw) })
            }

            /// C's handle, which nobody frees any more.
            pub fn into_raw(self) -> MPI_Datatype {
                ManuallyDrop::new(self).0.raw
            }

            /// C's handle, which stays this one's.
            pub const fn as_raw(&self) -> MPI_Datatype {
                self.0.raw
            }
        }
    )*};
}
owned! { Datatype UncommittedDatatype }

impl<'ctx> UncommittedDatatype<'ctx> {
    /// The datatype of a handle, which is freed with it.
    ///
    /// # Safety
    /// It is a datatype that is not predefined, and nobody else frees it. MPI runs for `'ctx`, and this thread
    /// may call it.
    pub const unsafe fn from_raw(raw: MPI_Datatype) -> Self {
        Self(Owned::new(raw))
    }

    /// Makes the datatype ready to communicate. C: `MPI_Type_commit`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let three = Datatype::contiguous(context, 3, &DatatypeRef::of::<f64>(context)?)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_commit)]
    pub fn commit(mut self) -> RmpiResult<Datatype<'ctx>> {
        // SAFETY: `MPI_Type_commit` asks for a datatype, which `self` keeps, and may write another handle of it
        // there.
        check(unsafe { mpi.call(&mut self.0.raw) })?;
        Ok(Datatype(self.0))
    }
}

impl<'ctx> Datatype<'ctx> {
    /// The datatype of a handle, which is freed with it.
    ///
    /// # Safety
    /// It is a committed datatype that is not predefined, and nobody else frees it. MPI runs for `'ctx`, and this
    /// thread may call it.
    pub const unsafe fn from_raw(raw: MPI_Datatype) -> Self {
        Self(Owned::new(raw))
    }

    /// A datatype that MPI gives, which may be one of its own and is not freed then.
    ///
    /// # Safety
    /// As [`from_raw`](Self::from_raw), but that it may be predefined.
    pub(super) unsafe fn from_given(raw: MPI_Datatype) -> Self {
        let mut given = Owned::new(raw);
        // SAFETY: `MPI_Type_get_envelope` asks for a datatype, which the caller promises, and writes four ints.
        let combiner = output((0, 0, 0, 0), |(integers, addresses, types, combiner)| unsafe {
            sys::MPI_Type_get_envelope(raw, integers, addresses, types, combiner)
        });
        // An error: it was made of large counts, so it is not MPI's.
        given.owned = combiner.map_or(true, |(_, _, _, combiner)| {
            ![Combiner::NAMED, Combiner::F90_REAL, Combiner::F90_COMPLEX, Combiner::F90_INTEGER]
                .contains(&Combiner(combiner))
        });
        Self(given)
    }

    /// The datatype, for buffers and views.
    pub const fn as_ref(&self) -> DatatypeRef<'_> {
        // SAFETY: `of_layout` asks for a committed datatype that is not freed while the reference lives, and
        // its layout. `commit` has committed it, or it came so; the reference borrows `self`; and `made` has
        // computed the layout, where it is known.
        unsafe { DatatypeRef::of_layout(self.0.raw, self.0.layout) }
    }
}

type Wide = SmallVec<[MPI_Count; 8]>;

/// Arrays of counts and displacements: as `int`s if all fit, and the numbers beside them too.
struct Numbers<const N: usize> {
    narrow: Option<[SmallVec<[c_int; 8]>; N]>,
    wide: [Wide; N],
}

impl<const N: usize> Numbers<N> {
    fn new(wide: [Wide; N], beside: &[MPI_Count]) -> Self {
        let fits = |value: &MPI_Count| c_int::try_from(*value).is_ok();
        let narrow = (wide.iter().all(|values| values.iter().all(fits)) && beside.iter().all(fits))
            .then(|| {
                wide.each_ref().map(|values| values.iter().map(|value| *value as c_int).collect())
            });
        Self { narrow, wide }
    }

    fn array(&self, index: usize) -> Array {
        match &self.narrow {
            Some(narrow) => Array::Int(narrow[index].as_ptr()),
            None => Array::Wide(self.wide[index].as_ptr()),
        }
    }
}

fn wide(values: &[usize]) -> RmpiResult<Wide> {
    values.iter().map(|value| count_of(*value)).collect()
}

fn count_of(value: usize) -> RmpiResult<MPI_Count> {
    MPI_Count::try_from(value).map_err(|_| Error::refused(ErrorClass::COUNT, "too large a number"))
}

fn same_length(lengths: &[usize]) -> RmpiResult<MPI_Count> {
    if lengths.iter().any(|length| *length != lengths[0]) {
        return Err(Error::refused(ErrorClass::ARG, "the arrays differ in length"));
    }
    count_of(lengths[0])
}

/// Blocks as C has them, without those in which there is nothing, and what they will be.
struct Blocks {
    count: MPI_Count,
    lengths: Wide,
    displacements: Wide,
    plan: Plan,
}

/// Blocks of a length each, at displacements in units of so many bytes.
fn blocks(
    old: &Layout,
    blocks: impl Iterator<Item = (MPI_Count, isize)>,
    unit: i128,
) -> RmpiResult<Blocks> {
    let (mut lengths, mut displacements, mut plan) = (Wide::new(), Wide::new(), Plan::default());
    for (length, displacement) in blocks.filter(|(length, _)| Plan::counts(old, *length)) {
        plan.block(old, (displacement as i128).saturating_mul(unit), length);
        lengths.push(length);
        displacements.push(displacement as MPI_Count);
    }
    plan.check()?;
    Ok(Blocks { count: count_of(lengths.len())?, lengths, displacements, plan })
}

impl<'ctx> Datatype<'ctx> {
    /// `count` elements one after the other. C: `MPI_Type_contiguous`. Local.
    ///
    /// # Errors
    /// What MPI says; [`COUNT`](ErrorClass::COUNT) if the datatype would be larger than 2<sup>60</sup>
    /// bytes, as with all that follow.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let three = Datatype::contiguous(context, 3, &DatatypeRef::of::<f64>(context)?)?;
    /// assert_eq!(three.get_extent()?, (0, 24));
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_contiguous in Self)]
    pub fn contiguous(
        runtime: &'ctx impl Runtime,
        count: usize,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let count = count_of(count)?;
        let (layout, mut plan) = (old.layout()?, Plan::default());
        plan.block(&layout, 0, count);
        plan.check()?;
        let count = if Plan::counts(&layout, count) { count } else { 0 };
        // SAFETY: `MPI_Type_contiguous` asks for a datatype: `old`, which is borrowed, is one. It writes
        // another one.
        made(plan, |new| unsafe { mpi.call(count, old.raw(), new) })
    }

    /// `count` blocks of `blocklength` elements; from the start of one to that of the next are
    /// `stride` elements. C: `MPI_Type_vector`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // A column of a matrix of 10 rows and 20 columns.
    /// let column = Datatype::vector(context, 10, 1, 20, &DatatypeRef::of::<f64>(context)?)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_vector in Self)]
    pub fn vector(
        runtime: &'ctx impl Runtime,
        count: usize,
        blocklength: usize,
        stride: isize,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let layout = old.layout()?;
        let stride = stride as MPI_Count;
        let bytes = i128::from(layout.extent).saturating_mul(stride.into());
        let (count, blocklength, plan) = vector_of(&layout, count, blocklength, bytes)?;
        // SAFETY: `MPI_Type_vector` asks for a datatype: `old`, which is borrowed, is one. It writes another
        // one.
        made(plan, |new| unsafe { mpi.call(count, blocklength, stride, old.raw(), new) })
    }

    /// As [`vector`](Self::vector), with the stride in bytes. C: `MPI_Type_create_hvector`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let every_other = Datatype::hvector(context, 10, 1, 16, &DatatypeRef::of::<f64>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_hvector in Self)]
    pub fn hvector(
        runtime: &'ctx impl Runtime,
        count: usize,
        blocklength: usize,
        stride: isize,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let (count, blocklength, plan) =
            vector_of(&old.layout()?, count, blocklength, stride as i128)?;
        // SAFETY: `MPI_Type_create_hvector` asks for a datatype: `old`, which is borrowed, is one. It writes
        // another one.
        made(plan, |new| unsafe {
            mpi.call(count, blocklength, stride as MPI_Count, old.raw(), new)
        })
    }

    /// Blocks of several lengths at displacements, in elements. C: `MPI_Type_indexed`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous), and [`ARG`](ErrorClass::ARG) if the arrays differ in length.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // The upper triangle of a matrix of 3 rows and columns.
    /// let numbers = DatatypeRef::of::<f64>(context)?;
    /// let triangle = Datatype::indexed(context, &[3, 2, 1], &[0, 4, 8], &numbers)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_indexed in Self)]
    pub fn indexed(
        runtime: &'ctx impl Runtime,
        blocklengths: &[usize],
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        same_length(&[blocklengths.len(), displacements.len()])?;
        let (layout, lengths) = (old.layout()?, wide(blocklengths)?);
        let all = lengths.into_iter().zip(displacements.iter().copied());
        let Blocks { count, lengths, displacements, plan } =
            blocks(&layout, all, layout.extent.into())?;
        let numbers = Numbers::new([lengths, displacements], &[count]);
        // SAFETY: `MPI_Type_indexed` reads `count` lengths and displacements, of which `blocks` made as many,
        // and `numbers` lives on; and asks for a datatype: `old`, which is borrowed, is one.
        made(plan, |new| unsafe {
            mpi.call(count, numbers.array(0), numbers.array(1), old.raw(), new)
        })
    }

    /// Blocks of one length at displacements, in elements. C: `MPI_Type_create_indexed_block`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let chosen = Datatype::indexed_block(context, 1, &[2, 3, 5, 7], &DatatypeRef::of::<u8>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_indexed_block in Self)]
    pub fn indexed_block(
        runtime: &'ctx impl Runtime,
        blocklength: usize,
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let (layout, length) = (old.layout()?, count_of(blocklength)?);
        let all = displacements.iter().map(|at| (length, *at));
        let Blocks { count, displacements, plan, .. } = blocks(&layout, all, layout.extent.into())?;
        let numbers = Numbers::new([displacements], &[count, length]);
        // SAFETY: `MPI_Type_create_indexed_block` reads `count` displacements, of which `blocks` made as many,
        // and `numbers` lives on; and asks for a datatype: `old`, which is borrowed, is one.
        made(plan, |new| unsafe { mpi.call(count, length, numbers.array(0), old.raw(), new) })
    }

    /// Blocks of several lengths at displacements, in bytes. C: `MPI_Type_create_hindexed`. Local.
    ///
    /// # Errors
    /// As [`indexed`](Self::indexed).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let pieces = Datatype::hindexed(context, &[1, 2], &[0, 24], &DatatypeRef::of::<f64>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_hindexed in Self)]
    pub fn hindexed(
        runtime: &'ctx impl Runtime,
        blocklengths: &[usize],
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        same_length(&[blocklengths.len(), displacements.len()])?;
        let all = wide(blocklengths)?.into_iter().zip(displacements.iter().copied());
        let Blocks { count, lengths, displacements, plan } = blocks(&old.layout()?, all, 1)?;
        let lengths = Numbers::new([lengths], &[count]);
        // SAFETY: `MPI_Type_create_hindexed` reads `count` lengths and displacements, of which `blocks` made as
        // many, and both live on; and asks for a datatype: `old`, which is borrowed, is one.
        made(plan, |new| unsafe {
            mpi.call(count, lengths.array(0), displacements.as_ptr(), old.raw(), new)
        })
    }

    /// Blocks of one length at displacements, in bytes. C: `MPI_Type_create_hindexed_block`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let pieces = Datatype::hindexed_block(context, 1, &[0, 24], &DatatypeRef::of::<f64>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_hindexed_block in Self)]
    pub fn hindexed_block(
        runtime: &'ctx impl Runtime,
        blocklength: usize,
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let length = count_of(blocklength)?;
        let all = displacements.iter().map(|at| (length, *at));
        let Blocks { count, displacements, plan, .. } = blocks(&old.layout()?, all, 1)?;
        // SAFETY: `MPI_Type_create_hindexed_block` reads `count` displacements, of which `blocks` made as many,
        // and which live on; and asks for a datatype: `old`, which is borrowed, is one.
        made(plan, |new| unsafe { mpi.call(count, length, displacements.as_ptr(), old.raw(), new) })
    }

    /// Blocks of several datatypes at displacements, in bytes. C: `MPI_Type_create_struct`. Local.
    ///
    /// A Rust struct has its datatype by the derive of [`MpiDatatype`].
    ///
    /// # Errors
    /// As [`indexed`](Self::indexed), and [`ARG`](ErrorClass::ARG) if one of several datatypes has bounds, but no
    /// data, which the standard allows: Open MPI writes elements of the whole elsewhere than it says. To have
    /// these bounds, [resize](Self::resized) the whole.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let (number, byte) = (DatatypeRef::of::<f64>(context)?, DatatypeRef::of::<u8>(context)?);
    /// let record = Datatype::create_struct(context, &[3, 1], &[0, 24], &[&number, &byte])?;
    /// assert_eq!(record.size()?, 25);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_struct in Self)]
    pub fn create_struct(
        runtime: &'ctx impl Runtime,
        blocklengths: &[usize],
        displacements: &[isize],
        types: &[&dyn AnyDatatype],
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        same_length(&[blocklengths.len(), displacements.len(), types.len()])?;
        let (mut lengths, mut at, mut plan) = (Wide::new(), Wide::new(), Plan::default());
        let (mut raw_types, mut bounds_only) = (SmallVec::<[MPI_Datatype; 8]>::new(), false);
        let all = wide(blocklengths)?.into_iter().zip(displacements).zip(types);
        for ((length, displacement), old) in all {
            let layout = old.layout()?;
            // As with `blocks`.
            if Plan::counts(&layout, length) {
                bounds_only |= layout.size == 0;
                plan.block(&layout, *displacement as i128, length);
                lengths.push(length);
                at.push(*displacement as MPI_Count);
                raw_types.push(old.raw());
            }
        }
        plan.check()?;
        if bounds_only && plan.has_data() {
            // Open MPI places elements of such a type elsewhere than it says.
            return Err(Error::refused(
                ErrorClass::ARG,
                "a datatype with bounds and without data cannot be beside others: resize the whole",
            ));
        }
        let (count, displacements, types) = (count_of(lengths.len())?, at, raw_types);
        let lengths = Numbers::new([lengths], &[count]);
        // SAFETY: `MPI_Type_create_struct` reads `count` lengths, displacements and datatypes: the loop made as
        // many of each, which live on. The datatypes are those that `types` borrows.
        made(plan, |new| unsafe {
            mpi.call(count, lengths.array(0), displacements.as_ptr(), types.as_ptr(), new)
        })
    }

    /// The same data with another lower bound and extent, in bytes. C: `MPI_Type_create_resized`.
    /// Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous), and [`ARG`](ErrorClass::ARG) if the extent is negative, which the
    /// standard allows: MPICH writes such elements elsewhere than it says.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // Columns that begin one number after the other.
    /// let column = Datatype::vector(context, 10, 1, 20, &DatatypeRef::of::<f64>(context)?)?;
    /// let columns = Datatype::resized(context, &column, 0, 8)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_resized in Self)]
    pub fn resized(
        runtime: &'ctx impl Runtime,
        old: &impl AnyDatatype,
        lower_bound: isize,
        extent: isize,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        if extent < 0 {
            return Err(negative());
        }
        let (lower_bound, extent) = (lower_bound as MPI_Count, extent as MPI_Count);
        let mut layout = old.layout()?;
        (layout.lower, layout.extent) = (lower_bound, extent);
        let plan = Plan::same(&layout);
        plan.check()?;
        // SAFETY: `MPI_Type_create_resized` asks for a datatype: `old`, which is borrowed, is one. It writes
        // another one.
        made(plan, |new| unsafe { mpi.call(old.raw(), lower_bound, extent, new) })
    }

    /// A part of an array of several dimensions: `subsizes` elements of `sizes`, from `starts` on.
    /// C: `MPI_Type_create_subarray`. Local.
    ///
    /// # Errors
    /// As [`indexed`](Self::indexed), and [`ARG`](ErrorClass::ARG) if the part is empty or not within.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, Order};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // A matrix of 10 rows and 20 columns without its border.
    /// let old = DatatypeRef::of::<f64>(context)?;
    /// let inner = Datatype::subarray(context, &[10, 20], &[8, 18], &[1, 1], Order::C, &old)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_subarray in Self)]
    pub fn subarray(
        runtime: &'ctx impl Runtime,
        sizes: &[usize],
        subsizes: &[usize],
        starts: &[usize],
        order: Order,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let dimensions = same_length(&[sizes.len(), subsizes.len(), starts.len()])?;
        let (sizes, subsizes, starts) = (wide(sizes)?, wide(subsizes)?, wide(starts)?);
        for ((size, subsize), start) in sizes.iter().zip(&subsizes).zip(&starts) {
            if *subsize < 1 || start.checked_add(*subsize).is_none_or(|end| end > *size) {
                return Err(Error::refused(ErrorClass::ARG, "empty, or not a part of the array"));
            }
        }
        let parts = subsizes.iter().zip(&starts);
        let parts = parts.map(|(subsize, start)| (*start, *start + *subsize - 1, *subsize));
        let (dimensions, plan) = array(dimensions, &sizes, parts, order, &old.layout()?)?;
        let numbers = Numbers::new([sizes, subsizes, starts], &[]);
        // SAFETY: `MPI_Type_create_subarray` reads three arrays of `dimensions` numbers: `same_length` has seen
        // to it that they have as many, and `numbers` lives on. It asks for a datatype: `old`, which is
        // borrowed, is one.
        made(plan, |new| unsafe {
            mpi.call(
                dimensions,
                numbers.array(0),
                numbers.array(1),
                numbers.array(2),
                order.into_raw(),
                old.raw(),
                new,
            )
        })
    }

    /// The part of process `rank` of `size` of an array that is distributed over all of them.
    /// C: `MPI_Type_create_darray`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if the processes of the dimensions are not `size` in all, or the blocks
    /// do not cover the array; else as [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, Dimension, Distribution, Order};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // The rows in turn, on two processes; all of a row on one.
    /// let rows = Dimension { size: 100, distribution: Distribution::Cyclic(None), processes: 2 };
    /// let columns = Dimension { size: 50, distribution: Distribution::None, processes: 1 };
    /// let old = DatatypeRef::of::<f64>(context)?;
    /// let mine = Datatype::darray(context, 2, 0, &[rows, columns], Order::C, &old)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_darray in Self)]
    pub fn darray(
        runtime: &'ctx impl Runtime,
        size: usize,
        rank: usize,
        dimensions: &[Dimension],
        order: Order,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        type Ints = SmallVec<[c_int; 8]>;
        let _ = runtime;
        let refused = |_| Error::refused(ErrorClass::ARG, "not a number of processes or elements");
        let sizes = dimensions.iter().map(|it| count_of(it.size)).collect::<RmpiResult<Wide>>()?;
        let (mut distributions, mut arguments) = (Ints::new(), Ints::new());
        let mut processes = Ints::new();
        let mut product = 1_i128;
        for dimension in dimensions {
            dimension.check()?;
            let (distribution, argument) = dimension.distribution.into_raw();
            distributions.push(distribution);
            arguments.push(argument.map_or(Ok(sys::MPI_DISTRIBUTE_DFLT_DARG), |argument| {
                c_int::try_from(argument).map_err(refused)
            })?);
            processes.push(c_int::try_from(dimension.processes).map_err(refused)?);
            product = product.saturating_mul(dimension.processes as i128);
        }
        if product != size as i128 || rank >= size {
            return Err(Error::refused(ErrorClass::ARG, "not the processes of the dimensions"));
        }
        let (size, rank) = (c_int::try_from(size).map_err(refused)?, rank as c_int);
        let mut parts = SmallVec::<[_; 8]>::new();
        // The last dimension's process changes first, whatever the order of the elements (MPI-5.0, 5.1.4).
        let mut processes_before = rank as usize;
        for dimension in dimensions.iter().rev() {
            parts.push(dimension.part(processes_before % dimension.processes));
            processes_before /= dimension.processes;
        }
        parts.reverse();
        let count = count_of(dimensions.len())?;
        let (dimensions, plan) = array(count, &sizes, parts.into_iter(), order, &old.layout()?)?;
        let sizes = Numbers::new([sizes], &[]);
        // SAFETY: `MPI_Type_create_darray` reads four arrays of `dimensions` numbers: the loops made one for
        // each dimension, and they live on. It asks for a datatype: `old`, which is borrowed, is one.
        made(plan, |new| unsafe {
            mpi.call(
                size,
                rank,
                dimensions,
                sizes.array(0),
                distributions.as_ptr(),
                arguments.as_ptr(),
                processes.as_ptr(),
                order.into_raw(),
                old.raw(),
                new,
            )
        })
    }

    /// The same datatype once more, with what is cached on it. C: `MPI_Type_dup`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext, column: rmpi::Datatype<'_>) -> rmpi::RmpiResult {
    /// let copy = rmpi::Datatype::dup(context, &column)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_dup in Self)]
    pub fn dup(
        runtime: &'ctx impl Runtime,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        // SAFETY: `MPI_Type_dup` asks for a datatype: `old`, which is borrowed, is one. It writes another one.
        made(Plan::same(&old.layout()?), |new| unsafe { mpi.call(old.raw(), new) })
    }
}

/// The datatype that MPI makes, as it was planned.
fn made<'ctx>(
    plan: Plan,
    call: impl FnOnce(&mut MPI_Datatype) -> c_int,
) -> RmpiResult<UncommittedDatatype<'ctx>> {
    // Freed by its drop, where it is not as it should be.
    let mut new = Owned::new(output(sys::MPI_DATATYPE_NULL, call)?);
    new.layout = Some(plan.made(new.raw)?);
    Ok(UncommittedDatatype(new))
}

/// The counts of a vector whose blocks begin every so many bytes, and what it will be.
fn vector_of(
    old: &Layout,
    count: usize,
    blocklength: usize,
    stride: i128,
) -> RmpiResult<(MPI_Count, MPI_Count, Plan)> {
    let (count, blocklength) = (count_of(count)?, count_of(blocklength)?);
    let mut plan = Plan::default();
    plan.blocks(old, count, stride, blocklength);
    plan.check()?;
    let count = if Plan::counts(old, blocklength) { count } else { 0 };
    Ok((count, blocklength, plan))
}

/// How many dimensions an array has, and what a part of it will be: in each dimension the first and the last
/// of its elements, and how many there are.
fn array(
    dimensions: MPI_Count,
    sizes: &[MPI_Count],
    parts: impl Iterator<Item = (MPI_Count, MPI_Count, MPI_Count)>,
    order: Order,
    old: &Layout,
) -> RmpiResult<(c_int, Plan)> {
    let wide = |number: MPI_Count| i128::from(number);
    let mut parts: SmallVec<[_; 8]> =
        parts.map(|(first, last, count)| (wide(first), wide(last), wide(count))).collect();
    let elements = parts.iter().fold(1_i128, |all, part| all.saturating_mul(part.2));
    // How many elements lie between one and the next, in each dimension.
    let mut stride = 1_i128;
    let mut set_stride = |index: usize| {
        parts[index].2 = stride;
        stride = stride.saturating_mul(wide(sizes[index]).max(1));
    };
    match order {
        Order::C => (0..sizes.len()).rev().for_each(&mut set_stride),
        Order::Fortran => (0..sizes.len()).for_each(&mut set_stride),
    }
    let mut plan = Plan::default();
    plan.elements_of_array(old, &parts, elements, stride);
    plan.check()?;
    let dimensions = c_int::try_from(dimensions)
        .map_err(|_| Error::refused(ErrorClass::DIMS, "too many dimensions"))?;
    Ok((dimensions, plan))
}

/// Which index of an array of several dimensions changes from an element to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last (`MPI_ORDER_C`).
    C,
    /// The first (`MPI_ORDER_FORTRAN`).
    Fortran,
}

impl Order {
    /// C's number.
    pub const fn into_raw(self) -> c_int {
        match self {
            Self::C => sys::MPI_ORDER_C,
            Self::Fortran => sys::MPI_ORDER_FORTRAN,
        }
    }
}

/// How a dimension of an array is distributed (MPI-5.0, 5.1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// Not (`MPI_DISTRIBUTE_NONE`): its one process has all.
    None,
    /// In one block a process (`MPI_DISTRIBUTE_BLOCK`), of this many elements, or as many as it takes.
    Block(Option<usize>),
    /// In turn (`MPI_DISTRIBUTE_CYCLIC`), so many elements at a time, or one.
    Cyclic(Option<usize>),
}

impl Distribution {
    /// C's number, and the argument if it is not the default.
    const fn into_raw(self) -> (c_int, Option<usize>) {
        match self {
            Self::None => (sys::MPI_DISTRIBUTE_NONE, None),
            Self::Block(size) => (sys::MPI_DISTRIBUTE_BLOCK, size),
            Self::Cyclic(size) => (sys::MPI_DISTRIBUTE_CYCLIC, size),
        }
    }
}

/// A dimension of a [distributed array](Datatype::darray).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// How many elements there are, on all processes.
    pub size: usize,
    /// Who has which.
    pub distribution: Distribution,
    /// Over how many processes.
    pub processes: usize,
}

impl Dimension {
    /// The first and the last element of a process, and how many it has. After [`check`](Self::check).
    fn part(&self, process: usize) -> (MPI_Count, MPI_Count, MPI_Count) {
        let block = match self.distribution {
            Distribution::None => self.size,
            Distribution::Block(None) => self.size.div_ceil(self.processes),
            Distribution::Cyclic(None) => 1,
            Distribution::Block(Some(block)) | Distribution::Cyclic(Some(block)) => block,
        };
        // All of a round of blocks, one a process. Too great a one has all elements in its first.
        let round = block.saturating_mul(self.processes);
        let first = block.saturating_mul(process);
        if first >= self.size {
            return (0, 0, 0);
        }
        let rounds = (self.size - 1 - first) / round;
        let last_block = first + rounds * round;
        let in_last = block.min(self.size - last_block);
        let count = rounds * block + in_last;
        (first as MPI_Count, (last_block + in_last - 1) as MPI_Count, count as MPI_Count)
    }

    fn check(&self) -> RmpiResult {
        let right = match self.distribution {
            Distribution::None => self.processes == 1,
            Distribution::Block(Some(block)) => {
                block > 0 && block.checked_mul(self.processes).is_some_and(|all| all >= self.size)
            }
            Distribution::Cyclic(Some(block)) => block > 0,
            Distribution::Block(None) | Distribution::Cyclic(None) => true,
        };
        if !right || self.size == 0 || self.processes == 0 {
            return Err(Error::refused(ErrorClass::ARG, "not a distribution of that dimension"));
        }
        Ok(())
    }
}

/// By which function a datatype was made (MPI-5.0, 5.1.13).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Combiner(c_int);

macro_rules! combiners {
    ($($name:ident = $constant:ident,)*) => {
        impl Combiner {
            $(
                #[doc = concat!("`", stringify!($constant), "`")]
                pub const $name: Self = Self(sys::$constant);
            )*

            /// The combiner of this number.
            pub const fn from_raw(raw: c_int) -> Self {
                Self(raw)
            }

            /// C's number.
            pub const fn into_raw(self) -> c_int {
                self.0
            }
        }

        impl core::fmt::Debug for Combiner {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.0 {
                    $(sys::$constant => f.write_str(stringify!($constant)),)*
                    other => write!(f, "combiner {other}"),
                }
            }
        }
    };
}

combiners! {
    NAMED = MPI_COMBINER_NAMED,
    DUP = MPI_COMBINER_DUP,
    CONTIGUOUS = MPI_COMBINER_CONTIGUOUS,
    VECTOR = MPI_COMBINER_VECTOR,
    HVECTOR = MPI_COMBINER_HVECTOR,
    INDEXED = MPI_COMBINER_INDEXED,
    HINDEXED = MPI_COMBINER_HINDEXED,
    INDEXED_BLOCK = MPI_COMBINER_INDEXED_BLOCK,
    HINDEXED_BLOCK = MPI_COMBINER_HINDEXED_BLOCK,
    STRUCT = MPI_COMBINER_STRUCT,
    SUBARRAY = MPI_COMBINER_SUBARRAY,
    DARRAY = MPI_COMBINER_DARRAY,
    F90_REAL = MPI_COMBINER_F90_REAL,
    F90_COMPLEX = MPI_COMBINER_F90_COMPLEX,
    F90_INTEGER = MPI_COMBINER_F90_INTEGER,
    RESIZED = MPI_COMBINER_RESIZED,
}

pub(super) fn no_padding<T: SendDatatype>() -> RmpiResult {
    if T::TYPE_MAP.size() != size_of::<T>() {
        return Err(Error::refused(
            ErrorClass::TYPE,
            "the type has padding, which a datatype might name",
        ));
    }
    Ok(())
}

impl<'b> TypeDynamicBufferRef<'b> {
    /// A slice's memory as `count` elements of a datatype, such as every other of its numbers.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if so many elements do not lie within;
    /// [`TYPE`](ErrorClass::TYPE) if `T` has padding.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, TypeDynamicBufferRef};
    /// # fn example(context: &rmpi::RmpiContext, to: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let old = DatatypeRef::of::<i32>(context)?;
    /// let every_other = Datatype::vector(context, 5, 1, 2, &old)?.commit()?;
    /// let numbers = [7_i32; 10];
    /// let buffer = TypeDynamicBufferRef::of_slice(&numbers, 1, every_other.as_ref())?;
    /// to.send(buffer, rmpi::Tag::new(0))
    /// # }
    /// ```
    pub fn of_slice<T: SendDatatype>(
        slice: &'b [T],
        count: usize,
        datatype: DatatypeRef<'b>,
    ) -> RmpiResult<Self> {
        no_padding::<T>()?;
        // SAFETY: `from_raw_parts` asks for so many initialised bytes to which nobody writes while the slice
        // lives: they are those of `slice`, which `'b` borrows. `no_padding` says that all of them are data,
        // which is initialised.
        let bytes =
            unsafe { core::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) };
        Self::from_bytes(bytes, count, datatype)
    }
}

impl<'b> TypeDynamicBufferMut<'b> {
    /// A slice's memory as `count` elements of a datatype, such as every other of its numbers.
    ///
    /// # Errors
    /// As [`TypeDynamicBufferRef::of_slice`].
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, TypeDynamicBufferMut};
    /// # fn example(context: &rmpi::RmpiContext, from: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let old = DatatypeRef::of::<i32>(context)?;
    /// let every_other = Datatype::vector(context, 5, 1, 2, &old)?.commit()?;
    /// let mut numbers = [7_i32; 10];
    /// let buffer = TypeDynamicBufferMut::of_slice(&mut numbers, 1, every_other.as_ref())?;
    /// from.recv(buffer, rmpi::Tag::new(0))
    /// # }
    /// ```
    pub fn of_slice<T: MpiDatatype>(
        slice: &'b mut [T],
        count: usize,
        datatype: DatatypeRef<'b>,
    ) -> RmpiResult<Self> {
        no_padding::<T>()?;
        // SAFETY: `from_raw_parts_mut` asks for so many initialised bytes that nobody else uses while the slice
        // lives: they are those of `slice`, which `'b` borrows mutably. `no_padding` says that all of them are
        // data, which is initialised, and which may become any bytes, as `T` is an `MpiDatatype`.
        let bytes = unsafe {
            core::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), size_of_val(slice))
        };
        Self::from_bytes(bytes, count, datatype)
    }
}
