//! The two kinds of calls, with the function in the type or in the value, and what ties their values
//! to one call.

use core::marker::PhantomData;

use mpi_sys::MPI_Request;

use super::{Call, Completion, Pattern, Returns, Shape};
use crate::FunctionId;

/// Makes what belongs to one call unusable in another: the compiler neither shortens nor stretches
/// the lifetime, as `'c` stands both where a function takes it and where it returns it. Whoever
/// makes values of a call (`around`, a layer's method) does so for a function that is generic in
/// `'c`, so that two calls never have the same.
pub(crate) type Brand<'c> = PhantomData<fn(&'c ()) -> &'c ()>;

/// What is borrowed for as long as a layer's `around` runs.
///
/// # Safety
/// It is there until `around` has returned, and nobody writes to it meanwhile but through cells.
#[inline(always)]
unsafe fn for_a_call<'c, T: ?Sized>(borrowed: &T) -> &'c T {
    // SAFETY: it must outlive `'c` and not be written to. It comes from a valid reference; the caller promises that
    // it is there until `around` returns, and `around` can keep nothing of `'c`.
    unsafe { &*core::ptr::from_ref(borrowed) }
}

/// A call whose function is known when the program is compiled: `FUNCTION` is the number of a
/// [`FunctionId`]. The shape is a constant of the type. As a field it would be a value that the
/// compiler carries through all branches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownCall<'c, const FUNCTION: usize> {
    wide: bool,
    words: &'c [u64],
    before: &'c [MPI_Request],
    returned: Option<&'c Returns>,
    brand: Brand<'c>,
}

impl<'c, const FUNCTION: usize> KnownCall<'c, FUNCTION> {
    pub(crate) const ID: FunctionId = match FunctionId::from_index(FUNCTION) {
        Some(function) => function,
        None => panic!("no function has this number"),
    };
    /// Where what is among the arguments of this function.
    const SHAPE: Shape = Shape::of(Self::ID);

    /// A call for a layer's `around`, which is generic in `'c`: it can keep nothing of that
    /// lifetime. `wide` says whether arrays of counts have `MPI_Count`s, `before` are the requests
    /// before the call, and `returned` is where the layer's next function leaves what it returns.
    ///
    /// # Safety
    /// The slices and the place are there until `around` has returned, and nobody writes to the
    /// slices; `words` has a word for each parameter of the function, made of the argument's own
    /// type. `returned` gets nothing but what the next function returns for this call.
    #[inline(always)]
    pub(crate) unsafe fn branded(
        wide: bool,
        words: &[u64],
        before: &[MPI_Request],
        returned: Option<&Returns>,
    ) -> Self {
        // SAFETY: what is referred to must be there as long as `around` runs, which the caller promises.
        let (words, before, returned) = unsafe {
            (for_a_call(words), for_a_call(before), returned.map(|place| for_a_call(place)))
        };
        Self { wide, words, before, returned, brand: PhantomData }
    }
}

impl<'c, const FUNCTION: usize> Call<'c> for KnownCall<'c, FUNCTION> {
    const KNOWN_SHAPE: Option<Shape> = Some(Self::SHAPE);
    const KNOWN_FUNCTION: Option<FunctionId> = Some(Self::ID);

    #[inline(always)]
    fn function(self) -> FunctionId {
        Self::ID
    }
    #[inline(always)]
    fn shape(self) -> Shape {
        Self::SHAPE
    }
    #[inline(always)]
    fn words(self) -> &'c [u64] {
        self.words
    }
    #[inline(always)]
    fn is_wide(self) -> bool {
        self.wide
    }
    #[inline(always)]
    fn requests(self) -> &'c [MPI_Request] {
        self.before
    }
    #[inline(always)]
    fn returned(self) -> Option<&'c Returns> {
        self.returned
    }
}

/// Can a call of this type complete requests? Asked as a constant, before the call itself is: what a known function does not
/// do is not compiled for it then.
pub(crate) const fn may_complete<'c, C: Call<'c>>() -> bool {
    match C::KNOWN_SHAPE {
        Some(shape) => !matches!(shape.completion, Completion::None),
        None => true,
    }
}

/// Can a call of this type be of one of these functions? Asked as a constant, as above.
#[doc(hidden)]
pub const fn may_be_one_of<'c, C: Call<'c>>(functions: &[bool; FunctionId::COUNT]) -> bool {
    match C::KNOWN_FUNCTION {
        Some(function) => functions[function as usize],
        None => true,
    }
}

/// Can a call of this type have a pattern? To be asked as a constant, too.
pub(crate) const fn may_be<'c, C: Call<'c>>(pattern: Pattern) -> bool {
    match C::KNOWN_SHAPE {
        Some(shape) => shape.pattern as u8 == pattern as u8,
        None => true,
    }
}

/// A call of any function: what [`Call::erase`] makes. Its function is a value, so it can go
/// through code that is compiled once, and through `dyn` functions; each question costs a look at
/// the function's entry in a table.
#[derive(Debug, Clone, Copy)]
pub struct AnyCall<'c> {
    pub(super) function: FunctionId,
    pub(super) wide: bool,
    pub(super) words: &'c [u64],
    pub(super) before: &'c [MPI_Request],
    pub(super) returned: Option<&'c Returns>,
    pub(super) brand: Brand<'c>,
}

impl<'c> Call<'c> for AnyCall<'c> {
    const KNOWN_SHAPE: Option<Shape> = None;
    const KNOWN_FUNCTION: Option<FunctionId> = None;

    #[inline(always)]
    fn erase(self) -> Self {
        self
    }

    #[inline]
    fn function(self) -> FunctionId {
        self.function
    }
    #[inline]
    fn shape(self) -> Shape {
        *Shape::looked_up(self.function)
    }
    #[inline]
    fn words(self) -> &'c [u64] {
        self.words
    }
    #[inline]
    fn is_wide(self) -> bool {
        self.wide
    }
    #[inline]
    fn requests(self) -> &'c [MPI_Request] {
        self.before
    }
    #[inline]
    fn returned(self) -> Option<&'c Returns> {
        self.returned
    }
}

impl<'c> AnyCall<'c> {
    /// As [`KnownCall::branded`].
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(crate) unsafe fn branded(
        function: FunctionId,
        wide: bool,
        words: &[u64],
        before: &[MPI_Request],
        returned: Option<&Returns>,
    ) -> Self {
        // SAFETY: what is referred to must be there as long as `around` runs, which the caller promises.
        let (words, before, returned) = unsafe {
            (for_a_call(words), for_a_call(before), returned.map(|place| for_a_call(place)))
        };
        Self { function, wide, words, before, returned, brand: PhantomData }
    }
}
