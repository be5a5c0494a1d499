//! Performance variables, and sessions of them.

use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::ptr;

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::sys::{
    self, MPI_Comm, MPI_Datatype, MPI_T_enum, MPI_T_pvar_handle, MPI_T_pvar_session, c_int,
};
use super::control::number;
use super::values::{Form, Text, items, other_binding, unknown_type};
use super::{Binding, PerformanceClass, ToolInterface, ToolValue, Verbosity};

/// Something that the MPI library counts or measures, by its number.
#[derive(Debug, Clone)]
pub struct PerformanceVariable<'t> {
    index: c_int,
    name: String,
    description: String,
    verbosity: Verbosity,
    class: PerformanceClass,
    binding: Binding,
    readonly: bool,
    continuous: bool,
    form: Option<Form>,
    enumeration: MPI_T_enum,
    // The interface stays initialized; and this stays on its thread.
    _interface: PhantomData<(&'t (), *const ())>,
}

/// Several performance variables that are started and read beside those of others.
///
/// ```no_run
/// # fn example(tools: &rmpi::ToolInterface<'_>, world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// use rmpi::Binding;
/// let session = tools.performance_session()?;
/// for variable in tools.performance_variables()? {
///     let variable = variable?;
///     let handle = match variable.binding() {
///         Binding::NoObject => session.handle(&variable)?,
///         Binding::Communicator => session.handle_of(&variable, world)?,
///         _ => continue,
///     };
///     if !variable.is_continuous() {
///         handle.start()?;
///     }
///     world.barrier()?;
///     println!("{}: {:?}", variable.name(), handle.read()?);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PerformanceSession<'t> {
    raw: MPI_T_pvar_session,
    // The interface stays initialized; and this stays on its thread.
    _interface: PhantomData<(&'t (), *const ())>,
}

/// A performance variable in a session.
#[derive(Debug)]
pub struct PerformanceHandle<'s> {
    session: MPI_T_pvar_session,
    raw: MPI_T_pvar_handle,
    count: c_int,
    form: Form,
    // The session and the object live; and this stays on its thread.
    _session: PhantomData<(&'s (), *const ())>,
}

impl ToolInterface<'_> {
    /// How many performance variables there are; it may grow. C: `MPI_T_pvar_get_num`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// println!("{} counters", tools.num_performance_variables()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_pvar_get_num)]
    pub fn num_performance_variables(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_T_pvar_get_num asks for an initialized interface, which `self` is, and writes one int.
        let count: c_int = output(0, |count| unsafe { mpi.call(count) })?;
        Ok(count.unsigned_abs() as usize)
    }

    /// The performance variable of a number. C: `MPI_T_pvar_get_info`, after `MPI_T_pvar_get_num`. Local.
    ///
    /// # Errors
    /// [`T_INVALID_INDEX`](ErrorClass::T_INVALID_INDEX) if MPI has no variable of that number, or has removed it.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// println!("{}", tools.performance_variable(0)?.name());
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_pvar_get_info)]
    pub fn performance_variable(&self, index: usize) -> RmpiResult<PerformanceVariable<'_>> {
        let index = number(index, self.num_performance_variables()?)?;
        let (mut name, mut description) = (Text::new(), Text::new());
        let (name_pointer, description_pointer) = (name.pointer(), description.pointer());
        let (mut verbosity, mut class, mut binding): (c_int, c_int, c_int) = (0, 0, 0);
        let (mut readonly, mut continuous, mut atomic): (c_int, c_int, c_int) = (0, 0, 0);
        let mut datatype: MPI_Datatype = sys::MPI_DATATYPE_NULL;
        let mut enumeration: MPI_T_enum = sys::MPI_T_ENUM_NULL;
        // SAFETY: MPI_T_pvar_get_info asks for an initialized interface, which `self` is, and for room for two texts as long
        // as it is told; it writes ints and handles. A number that no variable has, MPI refuses.
        check(unsafe {
            mpi.call(
                index,
                name_pointer,
                &mut name.length,
                &mut verbosity,
                &mut class,
                &mut datatype,
                &mut enumeration,
                description_pointer,
                &mut description.length,
                &mut binding,
                &mut readonly,
                &mut continuous,
                &mut atomic,
            )
        })?;
        Ok(PerformanceVariable {
            index,
            name: name.into_string(),
            description: description.into_string(),
            verbosity: Verbosity::from_raw(verbosity),
            class: PerformanceClass::from_raw(class),
            binding: Binding::from_raw(binding),
            readonly: readonly != 0,
            continuous: continuous != 0,
            form: Form::of(datatype),
            enumeration,
            _interface: PhantomData,
        })
    }

    /// The performance variable of a name and a class. C: `MPI_T_pvar_get_index`, and `MPI_T_pvar_get_info`. Local.
    ///
    /// # Errors
    /// [`T_INVALID_NAME`](ErrorClass::T_INVALID_NAME) if MPI has no variable of that name.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// let class = rmpi::PerformanceClass::Level;
    /// let waiting = tools.find_performance_variable(c"unexpected_recvq_length", class)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_pvar_get_index)]
    pub fn find_performance_variable(
        &self,
        name: &CStr,
        class: PerformanceClass,
    ) -> RmpiResult<PerformanceVariable<'_>> {
        if let PerformanceClass::Other(_) = class {
            return Err(Error::refused(ErrorClass::T_INVALID_NAME, "there is no such class"));
        }
        // SAFETY: MPI_T_pvar_get_index asks for a class that there is, as was looked at above, an initialized interface, which `self` is, and for a text that ends with a
        // zero; it writes one int.
        let index: c_int =
            output(0, |index| unsafe { mpi.call(name.as_ptr(), class.into_raw(), index) })?;
        self.performance_variable(index.unsigned_abs() as usize)
    }

    /// All performance variables. C: `MPI_T_pvar_get_num`, and `MPI_T_pvar_get_info` for each. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn performance_variables(
        &self,
    ) -> RmpiResult<impl Iterator<Item = RmpiResult<PerformanceVariable<'_>>>> {
        let count = self.num_performance_variables()?;
        Ok((0..count).map(|index| self.performance_variable(index)))
    }

    /// A session. C: `MPI_T_pvar_session_create`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// let session = tools.performance_session()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_pvar_session_create)]
    pub fn performance_session(&self) -> RmpiResult<PerformanceSession<'_>> {
        // SAFETY: MPI_T_pvar_session_create asks for an initialized interface, which `self` is, and writes a handle.
        let raw = output(sys::MPI_T_PVAR_SESSION_NULL, |new| unsafe { mpi.call(new) })?;
        Ok(PerformanceSession { raw, _interface: PhantomData })
    }
}

impl PerformanceVariable<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it tells, in words.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// For whom it is.
    pub const fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// What it tells.
    pub const fn class(&self) -> PerformanceClass {
        self.class
    }

    /// Of what object it is.
    pub const fn binding(&self) -> Binding {
        self.binding
    }

    /// Can it not be reset?
    pub const fn is_readonly(&self) -> bool {
        self.readonly
    }

    /// Does it always count, so that it cannot be started and stopped?
    pub const fn is_continuous(&self) -> bool {
        self.continuous
    }

    /// What its values are called, if it is an enumeration. C: `MPI_T_enum_get_info`, and `MPI_T_enum_get_item` for each.
    /// Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn items(&self) -> RmpiResult<Vec<(i32, String)>> {
        // SAFETY: `items` asks for null or an enumeration, which MPI told of this variable, and for an interface, which is
        // borrowed, on its thread.
        unsafe { items(self.enumeration) }
    }
}

impl PerformanceSession<'_> {
    /// A variable that is of no object, in this session. C: `MPI_T_pvar_handle_alloc`. Local.
    ///
    /// # Errors
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if it is one of an object, or of an unknown type; what
    /// MPI says.
    ///
    /// ```no_run
    /// # fn example(session: &rmpi::PerformanceSession<'_>, variable: &rmpi::PerformanceVariable<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", session.handle(variable)?.read()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_pvar_handle_alloc)]
    pub fn handle(&self, variable: &PerformanceVariable<'_>) -> RmpiResult<PerformanceHandle<'_>> {
        if variable.binding != Binding::NoObject {
            return Err(other_binding());
        }
        // SAFETY: `of` asks for the object that the variable is bound to; this variable is bound to no object.
        unsafe { self.of(mpi, variable, ptr::null_mut()) }
    }

    /// A variable that is one of communicators, for a communicator, in this session. C: `MPI_T_pvar_handle_alloc`. Local.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    ///
    /// ```no_run
    /// # fn example(
    /// #     session: &rmpi::PerformanceSession<'_>, variable: &rmpi::PerformanceVariable<'_>, world: &rmpi::Communicator<'_>,
    /// # ) -> rmpi::RmpiResult {
    /// println!("{:?}", session.handle_of(variable, world)?.read()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_pvar_handle_alloc)]
    pub fn handle_of<'s>(
        &'s self,
        variable: &PerformanceVariable<'_>,
        communicator: &'s Communicator<'_>,
    ) -> RmpiResult<PerformanceHandle<'s>> {
        if variable.binding != Binding::Communicator {
            return Err(other_binding());
        }
        let mut raw: MPI_Comm = communicator.as_raw();
        // SAFETY: `of` asks for the address of a communicator's handle, as the variable is bound to one, which lives as
        // long as what is made.
        unsafe { self.of(mpi, variable, ptr::from_mut(&mut raw).cast()) }
    }

    /// # Safety
    /// `object` is the address of a handle of what the variable is bound to, which lives for `'s`.
    unsafe fn of<'s>(
        &'s self,
        mpi: impl crate::call::MPI_T_pvar_handle_alloc,
        variable: &PerformanceVariable<'_>,
        object: *mut c_void,
    ) -> RmpiResult<PerformanceHandle<'s>> {
        let form = variable.form.ok_or_else(unknown_type)?;
        if mpi_sys::ABI == mpi_sys::Abi::OpenMpi && variable.name.starts_with("mtl_psm2_") {
            return Err(Error::refused(
                ErrorClass::UNSUPPORTED_OPERATION,
                "Open MPI crashes when a variable of a network that is not used is asked for: that of PSM2",
            ));
        }
        let (mut raw, mut count) = (sys::MPI_T_PVAR_HANDLE_NULL, 0);
        // SAFETY: MPI_T_pvar_handle_alloc asks for a session, which `self` is, on its thread; for a variable's number, and
        // for the object, as the caller promises. It writes a handle and an int.
        check(unsafe { mpi.call(self.raw, variable.index, object, &mut raw, &mut count) })?;
        Ok(PerformanceHandle { session: self.raw, raw, count, form, _session: PhantomData })
    }
}

impl Drop for PerformanceSession<'_> {
    fn drop(&mut self) {
        // SAFETY: MPI_T_pvar_session_free asks for a session, once; its handles borrow `self`.
        unsafe { sys::MPI_T_pvar_session_free(&mut self.raw) };
    }
}

/// Functions of a session and a handle.
macro_rules! simple {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $error:literal;)*) => {
        impl PerformanceHandle<'_> {$(
            $(#[$doc])*
            #[doc = concat!("C: `", stringify!($function), "`. Local.")]
            ///
            /// # Errors
            #[doc = $error]
            ///
            /// ```no_run
            /// # fn example(handle: &rmpi::PerformanceHandle<'_>) -> rmpi::RmpiResult {
            #[doc = concat!("handle.", stringify!($name), "()")]
            /// # }
            /// ```
            #[wraps($function)]
            pub fn $name(&self) -> RmpiResult {
                // SAFETY: the function asks for a session and a handle of it, which `self` has, on its thread.
                check(unsafe { mpi.call(self.session, self.raw) })
            }
        )*}
    };
}

simple! {
    /// Lets it count.
    start = MPI_T_pvar_start, "[`T_PVAR_NO_STARTSTOP`](ErrorClass::T_PVAR_NO_STARTSTOP) if it always does; what MPI says.";
    /// Lets it count no more.
    stop = MPI_T_pvar_stop, "[`T_PVAR_NO_STARTSTOP`](ErrorClass::T_PVAR_NO_STARTSTOP) if it always does; what MPI says.";
    /// Sets it to where it began.
    reset = MPI_T_pvar_reset, "[`T_PVAR_NO_WRITE`](ErrorClass::T_PVAR_NO_WRITE) if that cannot be done; what MPI says.";
}

impl PerformanceHandle<'_> {
    /// Its value. C: `MPI_T_pvar_read`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(handle: &rmpi::PerformanceHandle<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", handle.read()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_pvar_read)]
    pub fn read(&self) -> RmpiResult<ToolValue> {
        // SAFETY: MPI_T_pvar_read asks for a session and a handle of it, which `self` has, on its thread, and for room for
        // `count` elements of the variable's datatype, which `read` gives.
        self.form.read(self.count, |pointer| unsafe { mpi.call(self.session, self.raw, pointer) })
    }
}

impl Drop for PerformanceHandle<'_> {
    fn drop(&mut self) {
        // SAFETY: MPI_T_pvar_handle_free asks for a session and a handle of it, once.
        unsafe { sys::MPI_T_pvar_handle_free(self.session, &mut self.raw) };
    }
}
