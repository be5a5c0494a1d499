use core::any::Any;
use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmpi_macros::wraps;

use super::communicator::Communicator;
use super::error::{RmpiResult, check, output};
use super::runtime::Runtime;
use super::sys::{self, MPI_Comm};

/// A key for values of a type that communicators keep (MPI-5.0, 7.7), freed when it is dropped; the
/// values stay until their communicator ends.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// use rmpi::{AttributeCopy, Keyval};
/// use std::sync::Arc;
/// let key = Keyval::<Vec<f64>>::new(world, AttributeCopy::Share)?;
/// let mine = world.dup()?;
/// mine.set_attr(&key, Arc::new(vec![1.0; 3]))?;
/// assert_eq!(mine.dup()?.get_attr(&key)?.as_deref(), Some(&vec![1.0; 3]));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Keyval<'ctx, T> {
    /// A key, and valid as long as this value: who makes one promises it, and only `drop` and `free` end it.
    raw: c_int,
    _context: PhantomData<&'ctx ()>,
    _value: PhantomData<fn(T) -> T>,
    _thread: PhantomData<*const ()>,
}

/// What a communicator's duplicate gets of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeCopy {
    /// The same value.
    Share,
    /// None.
    Never,
}

type Value = Arc<dyn Any + Send + Sync>;

/// The values, by what MPI keeps in their place. MPI's callbacks may come while another thread reads
/// the same attribute, so what MPI has is no pointer.
struct Values {
    last: usize,
    values: BTreeMap<usize, Value>,
}

static VALUES: Mutex<Values> = Mutex::new(Values { last: 0, values: BTreeMap::new() });

impl Values {
    fn with<R>(f: impl FnOnce(&mut Self) -> R) -> R {
        f(&mut VALUES.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn insert(&mut self, value: Value) -> usize {
        self.last += 1;
        self.values.insert(self.last, value);
        self.last
    }
}

/// MPI duplicates a communicator. A panic in here, out of memory, ends the process.
///
/// # Safety
/// The last two arguments point to an attribute and to an int, and may be written to.
unsafe extern "C" fn copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    number: *mut c_void,
    new: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let copied = Values::with(|values| {
        let value = values.values.get(&number.addr()).cloned()?;
        Some(values.insert(value))
    });
    // SAFETY: MPI calls a copy function with the address of an attribute, which is a pointer, and with
    // that of an int, both valid for writing during the call.
    unsafe {
        if let Some(number) = copied {
            *new.cast::<*mut c_void>() = ptr::without_provenance_mut(number);
        }
        *flag = copied.is_some().into();
    }
    sys::MPI_SUCCESS
}

/// MPI deletes an attribute. A value whose drop panics ends the process.
///
/// # Safety
/// Nothing is asked of the caller, since no argument is followed: the function's type is MPI's.
unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, number: *mut c_void, _: *mut c_void) -> c_int {
    // The value's own drop may use attributes: not under the lock.
    drop(Values::with(|values| values.values.remove(&number.addr())));
    sys::MPI_SUCCESS
}

impl<T> Drop for Keyval<'_, T> {
    fn drop(&mut self) {
        // SAFETY: MPI_Comm_free_keyval requires a key, freed once: `free` and `into_raw` do not come
        // here. MPI keeps the callbacks as long as there are attributes. `free` tells errors.
        unsafe { sys::MPI_Comm_free_keyval(&mut self.raw) };
    }
}

impl<'ctx, T: Send + Sync + 'static> Keyval<'ctx, T> {
    /// A new key. C: `MPI_Comm_create_keyval`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let key = rmpi::Keyval::<String>::new(context, rmpi::AttributeCopy::Never)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_create_keyval in Self)]
    pub fn new<R: Runtime>(runtime: &'ctx R, policy: AttributeCopy) -> RmpiResult<Self> {
        let _ = runtime;
        // MPI's null copy function is null in some ABIs, which is no function to give from here.
        let copy: sys::MPI_Comm_copy_attr_function = match policy {
            AttributeCopy::Share => Some(copy),
            AttributeCopy::Never => Some(copy_nothing),
        };
        // SAFETY: MPI_Comm_create_keyval requires functions that can be called as long as there are
        // attributes of the key: they are functions of this program. The extra state, null, is not used
        // by them. MPI runs, since `runtime` does.
        let raw = output(sys::MPI_KEYVAL_INVALID, |keyval| unsafe {
            mpi.call(copy, Some(delete), keyval, ptr::null_mut())
        })?;
        // SAFETY: `from_raw` requires a key that nobody else frees, made for values of this type: MPI
        // has just made it, `Keyval<T>` is its only user, and `runtime` shows that MPI runs for `'ctx`.
        Ok(unsafe { Self::from_raw(raw) })
    }

    /// The key of a handle, which is freed with it.
    ///
    /// # Safety
    /// It was made by [`new`](Self::new) for the same type, nobody else frees it, and MPI runs for `'ctx` and may be
    /// called by this thread.
    pub const unsafe fn from_raw(raw: c_int) -> Self {
        Self { raw, _context: PhantomData, _value: PhantomData, _thread: PhantomData }
    }

    /// C's handle, which nobody frees any more.
    pub fn into_raw(self) -> c_int {
        ManuallyDrop::new(self).raw
    }

    /// C's handle, which the key keeps.
    pub const fn as_raw(&self) -> c_int {
        self.raw
    }

    /// Frees the key, as its drop does, and says what went wrong. C: `MPI_Comm_free_keyval`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(key: rmpi::Keyval<'_, String>) -> rmpi::RmpiResult {
    /// key.free()
    /// # }
    /// ```
    #[wraps(MPI_Comm_free_keyval)]
    pub fn free(self) -> RmpiResult {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: MPI_Comm_free_keyval requires a key, freed once: `this` is not dropped.
        check(unsafe { mpi.call(&mut this.raw) })
    }
}

/// MPI duplicates a communicator, whose duplicate does not get the attribute.
///
/// # Safety
/// The last argument points to an int, and may be written to.
pub(super) unsafe extern "C" fn copy_nothing(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI calls a copy function with the address of an int for the flag, valid for writing
    // during the call.
    unsafe { *flag = 0 };
    sys::MPI_SUCCESS
}

impl Communicator<'_> {
    /// Keeps a value with the communicator, in place of the one that the key had.
    /// C: `MPI_Comm_set_attr`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>, key: &rmpi::Keyval<'_, String>) -> rmpi::RmpiResult {
    /// world.set_attr(key, "solver".to_owned().into())?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_set_attr)]
    pub fn set_attr<T: Send + Sync + 'static>(
        &self,
        key: &Keyval<'_, T>,
        value: Arc<T>,
    ) -> RmpiResult {
        let number = Values::with(|values| values.insert(value));
        // SAFETY: MPI_Comm_set_attr requires a communicator and a key, which `self` and `key` hold. The
        // value is a number, which MPI keeps and does not follow.
        let result =
            check(unsafe { mpi.call(self.as_raw(), key.raw, ptr::without_provenance_mut(number)) });
        if result.is_err() {
            drop(Values::with(|values| values.values.remove(&number)));
        }
        result
    }

    /// The key's value, if the communicator has one. C: `MPI_Comm_get_attr`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>, key: &rmpi::Keyval<'_, String>) -> rmpi::RmpiResult {
    /// println!("{:?}", world.get_attr(key)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_get_attr)]
    pub fn get_attr<T: Send + Sync + 'static>(
        &self,
        key: &Keyval<'_, T>,
    ) -> RmpiResult<Option<Arc<T>>> {
        let initial: (*mut c_void, c_int) = (ptr::null_mut(), 0);
        // SAFETY: MPI_Comm_get_attr requires a communicator and a key, which `self` and `key` hold, and
        // writes a pointer and an int: the third argument points to a pointer, the fourth to an int.
        let (number, flag) = output(initial, |(number, flag)| unsafe {
            mpi.call(self.as_raw(), key.raw, ptr::from_mut(number).cast(), flag)
        })?;
        if flag == 0 {
            return Ok(None);
        }
        let value = Values::with(|values| values.values.get(&number.addr()).cloned());
        Ok(value.and_then(|value| value.downcast().ok()))
    }

    /// Deletes the key's value. C: `MPI_Comm_delete_attr`. Local.
    ///
    /// # Errors
    /// What MPI says, if there is none.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>, key: &rmpi::Keyval<'_, String>) -> rmpi::RmpiResult {
    /// world.delete_attr(key)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_delete_attr)]
    pub fn delete_attr<T: Send + Sync + 'static>(&self, key: &Keyval<'_, T>) -> RmpiResult {
        // SAFETY: MPI_Comm_delete_attr requires a communicator and a key, which `self` and `key` hold.
        check(unsafe { mpi.call(self.as_raw(), key.raw) })
    }
}

macro_rules! predefined {
    ($($(#[$doc:meta])* $name:ident = $constant:ident, $result:ty, $convert:expr;)*) => {
        impl Communicator<'_> {$(
            $(#[$doc])*
            #[doc = concat!("C: `MPI_Comm_get_attr` of `", stringify!($constant), "`. Local.")]
            /// As a rule, only the world has it, or what was duplicated from it.
            ///
            /// # Errors
            /// What MPI says.
            ///
            /// ```no_run
            /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
            #[doc = concat!("println!(\"{:?}\", world.", stringify!($name), "()?);")]
            /// # Ok(()) }
            /// ```
            #[wraps(MPI_Comm_get_attr)]
            pub fn $name(&self) -> RmpiResult<Option<$result>> {
                let initial: (*const c_int, c_int) = (ptr::null(), 0);
                // SAFETY: MPI_Comm_get_attr requires a communicator, which `self` holds, and a key,
                // here a predefined one, and writes a pointer and an int: the third argument points to
                // a pointer, the fourth to an int.
                let (value, flag) = output(initial, |(value, flag)| unsafe {
                    mpi.call(self.as_raw(), sys::$constant, ptr::from_mut(value).cast(), flag)
                })?;
                if flag == 0 || value.is_null() {
                    return Ok(None);
                }
                // SAFETY: MPI gives the address of an int for a predefined attribute, which is not
                // null, as was asked above, and which is there as long as the communicator.
                let value: c_int = unsafe { *value };
                let convert: fn(c_int) -> Option<$result> = $convert;
                Ok(convert(value))
            }
        )*}
    };
}

predefined! {
    /// The greatest tag.
    tag_ub = MPI_TAG_UB, u32, |value| value.try_into().ok();
    /// How many processes there may be in all, if MPI knows.
    universe_size = MPI_UNIVERSE_SIZE, usize, |value| value.try_into().ok();
    /// Which of the commands that were started together this program is, from 0.
    appnum = MPI_APPNUM, usize, |value| value.try_into().ok();
    /// Do the clocks of [`wtime`](super::RmpiContext::wtime) agree on all processes?
    wtime_is_global = MPI_WTIME_IS_GLOBAL, bool, |value| Some(value != 0);
    /// Which processes can read and write files.
    io = MPI_IO, IoProcess, |value| Some(IoProcess::from_raw(value));
}

/// Which process can read and write files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoProcess {
    /// All. (`MPI_ANY_SOURCE`)
    Any,
    /// None. (`MPI_PROC_NULL`)
    None,
    /// The process of this rank, perhaps this one, perhaps among others.
    Rank(usize),
}

impl IoProcess {
    /// What C's number says.
    pub fn from_raw(raw: c_int) -> Self {
        if raw == sys::MPI_ANY_SOURCE {
            return Self::Any;
        }
        usize::try_from(raw).map_or(Self::None, Self::Rank)
    }
}
