use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rmpi_macros::wraps;

use super::combiner::Combiner;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::layout::Layout;
use super::runtime::{self, Runtime};
use super::sys::{self, MPI_Count, MPI_Datatype, c_int};
use crate::{Predefined, SendDatatype, TypeMap};

/// What can be asked of any datatype.
macro_rules! queries {
    () => {
        /// Bytes of data in an element. C: `MPI_Type_size_x`. Local.
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
        /// assert_eq!(rmpi::DatatypeRef::of::<f64>(world)?.size()?, 8);
        /// # Ok(()) }
        /// ```
        #[wraps(MPI_Type_size_x)]
        pub fn size(&self) -> RmpiResult<MPI_Count> {
            // SAFETY: MPI_Type_size_x requires a datatype, which `raw` gives and `self` keeps, and
            // writes one number to `size`.
            output(0, |size| unsafe { mpi.call(sealed::AnyDatatype::raw(self), size) })
        }

        /// Lower bound and extent, in bytes. C: `MPI_Type_get_extent_x`. Local.
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
        /// assert_eq!(rmpi::DatatypeRef::of::<rmpi::DoubleInt>(world)?.get_extent()?, (0, 16));
        /// # Ok(()) }
        /// ```
        #[wraps(MPI_Type_get_extent_x)]
        pub fn get_extent(&self) -> RmpiResult<(MPI_Count, MPI_Count)> {
            // SAFETY: MPI_Type_get_extent_x requires a datatype, which `raw` gives and `self` keeps,
            // and writes a number to each of its other arguments.
            output((0, 0), |(lower, extent)| unsafe {
                mpi.call(sealed::AnyDatatype::raw(self), lower, extent)
            })
        }

        /// Lower bound and extent of the data alone, in bytes. C: `MPI_Type_get_true_extent_x`. Local.
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
        /// assert_eq!(rmpi::DatatypeRef::of::<rmpi::DoubleInt>(world)?.get_true_extent()?, (0, 12));
        /// # Ok(()) }
        /// ```
        #[wraps(MPI_Type_get_true_extent_x)]
        pub fn get_true_extent(&self) -> RmpiResult<(MPI_Count, MPI_Count)> {
            // SAFETY: MPI_Type_get_true_extent_x requires a datatype, which `raw` gives and `self`
            // keeps, and writes a number to each of its other arguments.
            output((0, 0), |(lower, extent)| unsafe {
                mpi.call(sealed::AnyDatatype::raw(self), lower, extent)
            })
        }

        /// The datatype's name. C: `MPI_Type_get_name`. Local.
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
        /// assert_eq!(rmpi::DatatypeRef::of::<f64>(world)?.get_name()?, "MPI_DOUBLE");
        /// # Ok(()) }
        /// ```
        #[wraps(MPI_Type_get_name)]
        pub fn get_name(&self) -> RmpiResult<String> {
            runtime::text(sys::MPI_MAX_OBJECT_NAME, |text, length| {
                // SAFETY: MPI_Type_get_name requires a datatype, which `raw` gives and `self` keeps,
                // and room for MPI_MAX_OBJECT_NAME bytes, which `runtime::text` gives.
                unsafe { mpi.call(sealed::AnyDatatype::raw(self), text, length) }
            })
        }

        /// By which function it was made. C: `MPI_Type_get_envelope`. Local.
        ///
        /// # Errors
        /// What MPI says, as of a datatype of counts that do not fit an `int`.
        ///
        /// ```no_run
        /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
        /// assert_eq!(rmpi::DatatypeRef::of::<f64>(world)?.combiner()?, rmpi::Combiner::NAMED);
        /// # Ok(()) }
        /// ```
        #[wraps(MPI_Type_get_envelope)]
        pub fn combiner(&self) -> RmpiResult<Combiner> {
            let raw = sealed::AnyDatatype::raw(self);
            // SAFETY: MPI_Type_get_envelope requires a datatype, which `raw` gives and `self` keeps,
            // and writes an int to each of its other arguments.
            let envelope = output((0, 0, 0, 0), |(integers, addresses, types, combiner)| unsafe {
                mpi.call(raw, integers, addresses, types, combiner)
            })?;
            Ok(Combiner::from_raw(envelope.3))
        }
    };
}
pub(super) use queries;

pub(super) mod sealed {
    use super::{Layout, MPI_Datatype, RmpiResult};

    pub trait AnyDatatype {
        fn raw(&self) -> MPI_Datatype;
        fn layout(&self) -> RmpiResult<Layout>;
    }
}

/// A datatype that somebody else keeps (MPI-5.0, chapter 5).
#[derive(Debug, Clone, Copy)]
pub struct DatatypeRef<'d> {
    /// A datatype: a predefined one, one of `MADE`, or what who called `from_raw` promised.
    raw: MPI_Datatype,
    /// Where its data lies, if rmpi made it.
    layout: Option<Layout>,
    // Its owner lives, and MPI is asked about it on its thread.
    _owner: PhantomData<(&'d (), *const ())>,
}

impl<'d> DatatypeRef<'d> {
    /// The datatype of a Rust type.
    ///
    /// # Errors
    /// If MPI cannot make it.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(rmpi::DatatypeRef::of::<[f64; 3]>(world)?.size()?, 24);
    /// # Ok(()) }
    /// ```
    pub fn of<T: SendDatatype>(runtime: &'d impl Runtime) -> RmpiResult<Self> {
        let _ = runtime;
        let raw = match T::TYPE_MAP {
            TypeMap::Predefined(predefined) => predefined_handle(*predefined),
            derived => match cached(derived) {
                Some(raw) => raw,
                // SAFETY: MPI may be called here and now: `runtime` shows it.
                None => unsafe { make_cached(derived)? },
            },
        };
        Ok(Self { raw, layout: Some(Layout::of_map(T::TYPE_MAP)?), _owner: PhantomData })
    }

    /// The datatype of the elements of a Rust type.
    pub(super) fn of_elements<T: SendDatatype>(runtime: &'d impl Runtime) -> RmpiResult<Self> {
        let _ = runtime;
        let element = ElementOf::<T>::get()?;
        let layout = Layout::of_map(ElementOf::<T>::FLAT.0)?;
        Ok(Self { raw: element.datatype, layout: Some(layout), _owner: PhantomData })
    }

    /// The datatype of this handle. What lies where in it, MPI is asked: rmpi knows it of datatypes that it
    /// made.
    ///
    /// # Safety
    /// It is a datatype, committed where it is used to communicate, that is not freed in `'d`, for which MPI runs
    /// and may be called by this thread.
    pub const unsafe fn from_raw(raw: MPI_Datatype) -> Self {
        Self { raw, layout: None, _owner: PhantomData }
    }

    /// As [`from_raw`](Self::from_raw), of a datatype whose layout is known.
    ///
    /// # Safety
    /// As for [`from_raw`](Self::from_raw), and the layout, if there is one, is that of the datatype.
    pub(super) const unsafe fn of_layout(raw: MPI_Datatype, layout: Option<Layout>) -> Self {
        Self { raw, layout, _owner: PhantomData }
    }

    pub(super) fn known_layout(&self) -> RmpiResult<Layout> {
        // SAFETY: `ask` requires a datatype, which was promised to `from_raw` or `of_layout`, and so that MPI may be called.
        self.layout.map_or_else(|| unsafe { Layout::ask(self.raw) }, Ok)
    }

    /// C's handle.
    pub const fn into_raw(self) -> MPI_Datatype {
        self.raw
    }

    queries!();
}

/// The handle of a datatype that a Rust type has.
#[inline]
pub(super) fn handle(map: &'static TypeMap) -> RmpiResult<MPI_Datatype> {
    match map {
        TypeMap::Predefined(predefined) => Ok(predefined_handle(*predefined)),
        _ => derived_handle(map),
    }
}

macro_rules! predefined_handles {
    ($($(#[$attribute:meta])* $variant:ident $ty:ty = $constant:ident;)*) => {
        #[inline]
        fn predefined_handle(predefined: Predefined) -> MPI_Datatype {
            match predefined {
                $(Predefined::$variant => sys::$constant,)*
            }
        }
    };
}
crate::typemap::predefined! { predefined_handles }

/// Have two datatypes the same values, laid out the same: `MPI_INT`, `MPI_INT32_T` and Fortran's
/// `MPI_INTEGER`, for example?
pub(super) fn same_values(one: MPI_Datatype, other: MPI_Datatype) -> bool {
    const _: () =
        assert!(size_of::<core::ffi::c_long>() == 8 && size_of::<core::ffi::c_int>() == 4);
    let bytes = [sys::MPI_BYTE, sys::MPI_CHAR, sys::MPI_CHARACTER, sys::MPI_PACKED];
    let kin: [&[MPI_Datatype]; 14] = [
        &[&bytes[..], &[sys::MPI_UINT8_T, sys::MPI_UNSIGNED_CHAR]].concat(),
        &[&bytes[..], &[sys::MPI_INT8_T, sys::MPI_SIGNED_CHAR, sys::MPI_INTEGER1]].concat(),
        &[sys::MPI_INT16_T, sys::MPI_SHORT, sys::MPI_INTEGER2],
        &[sys::MPI_UINT16_T, sys::MPI_UNSIGNED_SHORT],
        &[sys::MPI_INT32_T, sys::MPI_INT, sys::MPI_INTEGER, sys::MPI_INTEGER4],
        &[sys::MPI_UINT32_T, sys::MPI_UNSIGNED],
        &[
            sys::MPI_INT64_T,
            sys::MPI_LONG,
            sys::MPI_LONG_LONG_INT,
            sys::MPI_INTEGER8,
            sys::MPI_AINT,
            sys::MPI_COUNT,
            sys::MPI_OFFSET,
        ],
        &[sys::MPI_UINT64_T, sys::MPI_UNSIGNED_LONG, sys::MPI_UNSIGNED_LONG_LONG],
        &[sys::MPI_FLOAT, sys::MPI_REAL, sys::MPI_REAL4],
        &[sys::MPI_DOUBLE, sys::MPI_DOUBLE_PRECISION, sys::MPI_REAL8],
        &[sys::MPI_C_FLOAT_COMPLEX, sys::MPI_COMPLEX, sys::MPI_COMPLEX8],
        &[sys::MPI_C_DOUBLE_COMPLEX, sys::MPI_DOUBLE_COMPLEX, sys::MPI_COMPLEX16],
        &[sys::MPI_2INT, sys::MPI_2INTEGER],
        &[sys::MPI_C_BOOL, sys::MPI_CXX_BOOL],
    ];
    one == other
        || (other != sys::MPI_DATATYPE_NULL
            && kin.iter().any(|kin| kin.contains(&one) && kin.contains(&other)))
}

/// Where committed datatypes are found, by the address of the type's map.
///
/// The same map may have several addresses, of which each gets an entry.
static CACHE: [(AtomicPtr<TypeMap>, AtomicUsize); 512] =
    [const { (AtomicPtr::new(core::ptr::null_mut()), AtomicUsize::new(0)) }; 512];
const PROBES: usize = 8;

/// All datatypes that were made, each once.
static MADE: Mutex<Vec<(&'static TypeMap, usize)>> = Mutex::new(Vec::new());

fn entries(
    map: &'static TypeMap,
) -> impl Iterator<Item = &'static (AtomicPtr<TypeMap>, AtomicUsize)> {
    let start = (core::ptr::from_ref(map).addr() / align_of::<TypeMap>()).wrapping_mul(0x9e37_79b9);
    (0..PROBES).map(move |i| &CACHE[(start >> 7).wrapping_add(i) % CACHE.len()])
}

fn derived_handle(map: &'static TypeMap) -> RmpiResult<MPI_Datatype> {
    if let Some(raw) = cached(map) {
        return Ok(raw);
    }
    // A buffer's datatype can be asked for without showing that MPI may be called here.
    let _calling = runtime::callable()?;
    if crate::running::may_have_moved() {
        return Err(Error::refused(
            ErrorClass::TYPE,
            "at MPI_THREAD_SERIALIZED, make a struct's datatype by DatatypeRef::of before its first use",
        ));
    }
    // SAFETY: MPI may be called here and now: `callable` has said so, and `_calling` keeps it so.
    unsafe { make_cached(map) }
}

#[inline]
fn cached(map: &'static TypeMap) -> Option<MPI_Datatype> {
    let address = core::ptr::from_ref(map).cast_mut();
    for (key, value) in entries(map) {
        if key.load(Ordering::Acquire) == address {
            return Some(value.load(Ordering::Relaxed) as MPI_Datatype);
        }
    }
    None
}

/// Finds the datatype of a map among those that were made, or makes it.
///
/// # Safety
/// MPI may be called here and now.
#[cold]
unsafe fn make_cached(map: &'static TypeMap) -> RmpiResult<MPI_Datatype> {
    let address = core::ptr::from_ref(map).cast_mut();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller promises the same.
    let raw = unsafe { find_or_make(&mut made, map)? };
    if let Some((key, value)) = entries(map).find(|(key, _)| key.load(Ordering::Relaxed).is_null())
    {
        value.store(raw as usize, Ordering::Relaxed);
        key.store(address, Ordering::Release);
    }
    Ok(raw)
}

/// # Safety
/// MPI may be called here and now.
unsafe fn find_or_make(
    made: &mut Vec<(&'static TypeMap, usize)>,
    map: &'static TypeMap,
) -> RmpiResult<MPI_Datatype> {
    if let TypeMap::Predefined(predefined) = map {
        return Ok(predefined_handle(*predefined));
    }
    if let Some((_, raw)) = made.iter().find(|(known, _)| *known == map) {
        return Ok(*raw as MPI_Datatype);
    }
    // SAFETY: the caller promises the same.
    let mut raw = unsafe { make(made, map)? };
    // SAFETY: MPI_Type_commit requires a datatype: `make` has just made it. MPI may be called, as the caller
    // promises.
    check(unsafe { sys::MPI_Type_commit(&mut raw) })?;
    if made.is_empty() {
        crate::running::free_at_the_end(free_all);
        if crate::running::is_assumed() {
            // SAFETY: the caller promises the same.
            unsafe { free_at_finalize() };
        }
    }
    made.push((map, raw as usize));
    Ok(raw)
}

/// # Safety
/// MPI may be called here and now.
unsafe fn make(
    made: &mut Vec<(&'static TypeMap, usize)>,
    map: &'static TypeMap,
) -> RmpiResult<MPI_Datatype> {
    let null = sys::MPI_DATATYPE_NULL;
    let (element, length) = map.flat();
    let TypeMap::Struct { fields, size } = element else {
        // SAFETY: both want that MPI may be called, as the caller promises; `find_or_make` gives a datatype.
        return unsafe { contiguous(length, find_or_make(made, element)?) };
    };
    if !core::ptr::eq(element, map) {
        // SAFETY: both want that MPI may be called, as the caller promises; `find_or_make` gives a datatype.
        return unsafe { contiguous(length, find_or_make(made, element)?) };
    }
    let mut lengths = Vec::new();
    let mut offsets = Vec::new();
    let mut types = Vec::new();
    for field in *fields {
        let (element, length) = field.map.flat();
        lengths.push(length as MPI_Count);
        offsets.push(field.offset as MPI_Count);
        // SAFETY: the caller promises the same.
        types.push(unsafe { find_or_make(made, element)? });
    }
    let narrow = |values: &[MPI_Count]| -> Option<Vec<c_int>> {
        values.iter().map(|value| (*value).try_into().ok()).collect()
    };
    let mut fields = output(null, |new| match narrow(&lengths) {
        // SAFETY: MPI_Type_create_struct reads as many lengths, offsets and datatypes as `count` says:
        // the three arrays have one for each field. MPI_Count and MPI_Aint look the same, and
        // `find_or_make` gives valid datatypes.
        Some(lengths) => unsafe {
            let count = lengths.len() as c_int;
            let offsets = offsets.as_ptr().cast();
            sys::MPI_Type_create_struct(count, lengths.as_ptr(), offsets, types.as_ptr(), new)
        },
        // SAFETY: MPI_Type_create_struct_c reads as many lengths, offsets and datatypes as `count` says: the three
        // arrays have one for each field, of MPI_Counts, as this function takes them.
        None => unsafe {
            let (count, lengths) = (lengths.len() as MPI_Count, lengths.as_ptr());
            sys::MPI_Type_create_struct_c(count, lengths, offsets.as_ptr(), types.as_ptr(), new)
        },
    })?;
    // SAFETY: MPI_Type_create_resized requires a datatype, which was just made, and writes one handle
    // to `new`.
    let resized = output(null, |new| unsafe {
        sys::MPI_Type_create_resized(fields, 0, *size as sys::MPI_Aint, new)
    });
    // SAFETY: MPI_Type_free requires a datatype, freed once: it was made above, nobody else has it, and
    // MPI keeps what the resized one needs of it.
    let freed = check(unsafe { sys::MPI_Type_free(&mut fields) });
    if let (Err(error), Ok(mut resized)) = (freed, resized) {
        // SAFETY: MPI_Type_free requires a datatype that nobody uses: `resized` was made above, and nobody gets it.
        unsafe { sys::MPI_Type_free(&mut resized) };
        return Err(error);
    }
    resized
}

/// # Safety
/// `element` is a datatype, and MPI may be called here and now.
unsafe fn contiguous(length: usize, element: MPI_Datatype) -> RmpiResult<MPI_Datatype> {
    output(sys::MPI_DATATYPE_NULL, |new| match c_int::try_from(length) {
        // SAFETY: MPI_Type_contiguous requires a datatype, as the caller promises, and a length that is not
        // negative, which was a `usize`; it writes one handle to `new`.
        Ok(length) => unsafe { sys::MPI_Type_contiguous(length, element, new) },
        // SAFETY: MPI_Type_contiguous_c requires a datatype, as the caller promises; a length that is too large for
        // an MPI_Count becomes negative, which MPI refuses; it writes one handle to `new`.
        Err(_) => unsafe { sys::MPI_Type_contiguous_c(length as MPI_Count, element, new) },
    })
}

/// The datatype of a Rust type's elements: what its arrays are made of.
pub(super) struct ElementOf<T> {
    pub(super) datatype: MPI_Datatype,
    /// How many there are in a `T`.
    pub(super) per_value: usize,
    _type: PhantomData<T>,
}

impl<T: SendDatatype> ElementOf<T> {
    /// The type map of the elements, and how many there are.
    pub(super) const FLAT: (&'static crate::TypeMap, usize) = T::TYPE_MAP.flat();

    #[inline]
    pub(super) fn get() -> RmpiResult<Self> {
        Ok(Self { datatype: handle(Self::FLAT.0)?, per_value: Self::FLAT.1, _type: PhantomData })
    }
}

/// Where somebody else runs MPI, nobody here is told of its end, but by an attribute of `MPI_COMM_SELF`: MPI deletes these
/// before all else when it is finalized (MPI-5.0, 11.2.4), and can be called meanwhile. Without it, the datatypes go with MPI.
///
/// # Safety
/// MPI may be called here and now.
unsafe fn free_at_finalize() {
    let mut key = sys::MPI_KEYVAL_INVALID;
    // SAFETY: MPI_Comm_create_keyval requires functions that can be called as long as there are attributes of the key: they
    // are functions of this program. The other two require a key, which was made here and is freed once, and a communicator,
    // which is there as MPI runs: it may be called, as the caller promises.
    unsafe {
        let made = sys::MPI_Comm_create_keyval(
            Some(super::attribute::copy_nothing),
            Some(finalizes),
            &mut key,
            core::ptr::null_mut(),
        );
        if made == sys::MPI_SUCCESS {
            sys::MPI_Comm_set_attr(sys::MPI_COMM_SELF, key, core::ptr::null_mut());
            // MPI keeps what the attribute needs of it.
            sys::MPI_Comm_free_keyval(&mut key);
        }
    }
}

/// MPI is being finalized.
unsafe extern "C" fn finalizes(
    _: sys::MPI_Comm,
    _: c_int,
    _: *mut core::ffi::c_void,
    _: *mut core::ffi::c_void,
) -> c_int {
    free_all();
    sys::MPI_SUCCESS
}

/// Frees the datatypes of Rust types: MPI is about to end.
fn free_all() {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    for (key, _) in &CACHE {
        key.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
    for (_, raw) in made.drain(..) {
        let mut raw = raw as MPI_Datatype;
        // SAFETY: one of ours, freed once, since the table forgets it.
        unsafe { sys::MPI_Type_free(&mut raw) };
    }
}
