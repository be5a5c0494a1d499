//! Datatypes that were made, and how they end.

use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use rmpi_macros::wraps;

use super::super::combiner::Combiner;
use super::super::datatype::{self, DatatypeRef, sealed};
use super::super::error::{RmpiResult, check, output};
use super::super::layout::{Layout, Plan};
use super::super::runtime::{self, Runtime};

use super::super::sys::{self, MPI_Count, MPI_Datatype, c_int};

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
                // SAFETY: it wants a datatype, which this keeps, and that MPI may be called, which its maker showed or was
                // promised.
                self.0.layout.map_or_else(|| unsafe { Layout::ask(self.0.raw) }, Ok)
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
    pub(in super::super) unsafe fn from_given(raw: MPI_Datatype) -> Self {
        let mut given = Owned::new(raw);
        // SAFETY: `MPI_Type_get_envelope` asks for a datatype, which the caller promises, and writes four ints.
        let combiner = output((0, 0, 0, 0), |(integers, addresses, types, combiner)| unsafe {
            sys::MPI_Type_get_envelope(raw, integers, addresses, types, combiner)
        });
        // An error: it was made of large counts, so it is not MPI's.
        given.owned = combiner.map_or(true, |(_, _, _, combiner)| {
            ![Combiner::NAMED, Combiner::F90_REAL, Combiner::F90_COMPLEX, Combiner::F90_INTEGER]
                .contains(&Combiner::from_raw(combiner))
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

/// A datatype that can communicate, which no [`UncommittedDatatype`] is: for what the compiler says of one.
#[diagnostic::on_unimplemented(
    message = "the datatype is not committed, and nothing can be sent or received with it",
    label = "commit it first",
    note = "what makes a datatype gives an `UncommittedDatatype`, of which others can be made: `.commit()?` makes a \
            `Datatype` of it, whose `as_ref()` buffers and views take"
)]
pub trait Committed: committed::Committed {}

mod committed {
    use super::DatatypeRef;

    pub trait Committed {
        fn datatype(&self) -> DatatypeRef<'_>;
    }
}

impl UncommittedDatatype<'_> {
    /// Never there: a datatype is for buffers and views when it is [committed](Self::commit), and has
    /// [`Datatype::as_ref`] then.
    #[doc(hidden)]
    pub fn as_ref(&self) -> DatatypeRef<'_>
    where
        Self: Committed,
    {
        committed::Committed::datatype(self)
    }
}

impl<'ctx> Datatype<'ctx> {
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
        unsafe { made(Plan::same(&old.layout()?), |new| mpi.call(old.raw(), new)) }
    }
}

/// The datatype that MPI makes, as it was planned.
///
/// # Safety
/// If `call` returns success, it has written a new datatype, for the caller alone, and MPI may be called here and now.
pub(super) unsafe fn made<'ctx>(
    plan: Plan,
    call: impl FnOnce(&mut MPI_Datatype) -> c_int,
) -> RmpiResult<UncommittedDatatype<'ctx>> {
    // Freed by its drop, where it is not as it should be.
    let mut new = Owned::new(output(sys::MPI_DATATYPE_NULL, call)?);
    // SAFETY: it wants a datatype, and that MPI may be called: the caller promises both.
    new.layout = Some(unsafe { plan.made(new.raw)? });
    Ok(UncommittedDatatype(new))
}
