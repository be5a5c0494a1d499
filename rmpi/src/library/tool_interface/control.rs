//! Control variables.

use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::ptr;

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::sys::{self, MPI_Comm, MPI_Datatype, MPI_T_enum, c_int};
use super::values::{Form, Text, items, other_binding, unknown_type};
use super::{Binding, ToolInterface, ToolValue, VariableScope, Verbosity};

/// A setting of the MPI library, by its number.
#[derive(Debug, Clone)]
pub struct ControlVariable<'t> {
    index: c_int,
    name: String,
    description: String,
    verbosity: Verbosity,
    binding: Binding,
    scope: VariableScope,
    form: Option<Form>,
    enumeration: MPI_T_enum,
    // The interface stays initialized; and this stays on its thread.
    _interface: PhantomData<(&'t (), *const ())>,
}

/// C's number of a variable, if there are so many. Not every MPI looks: MPICH 5.0.2 crashes if there are none.
pub(super) fn number(index: usize, count: usize) -> RmpiResult<c_int> {
    c_int::try_from(index)
        .ok()
        .filter(|_| index < count)
        .ok_or(Error::refused(ErrorClass::T_INVALID_INDEX, "there are not so many variables"))
}

impl ToolInterface<'_> {
    /// How many control variables there are; it may grow. C: `MPI_T_cvar_get_num`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// println!("{} settings", tools.num_control_variables()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_cvar_get_num)]
    pub fn num_control_variables(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_T_cvar_get_num asks for an initialized interface, which `self` is, and writes one int.
        let count: c_int = output(0, |count| unsafe { mpi.call(count) })?;
        Ok(count.unsigned_abs() as usize)
    }

    /// The control variable of a number. C: `MPI_T_cvar_get_info`, after `MPI_T_cvar_get_num`. Local.
    ///
    /// # Errors
    /// [`T_INVALID_INDEX`](ErrorClass::T_INVALID_INDEX) if MPI has no variable of that number, or has removed it.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// println!("{}", tools.control_variable(0)?.name());
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_cvar_get_info)]
    pub fn control_variable(&self, index: usize) -> RmpiResult<ControlVariable<'_>> {
        let index = number(index, self.num_control_variables()?)?;
        let (mut name, mut description) = (Text::new(), Text::new());
        let (name_pointer, description_pointer) = (name.pointer(), description.pointer());
        let (mut verbosity, mut binding, mut scope): (c_int, c_int, c_int) = (0, 0, 0);
        let mut datatype: MPI_Datatype = sys::MPI_DATATYPE_NULL;
        let mut enumeration: MPI_T_enum = sys::MPI_T_ENUM_NULL;
        // SAFETY: MPI_T_cvar_get_info asks for an initialized interface, which `self` is, and for room for two texts as long
        // as it is told; it writes ints and handles. A number that no variable has, MPI refuses.
        check(unsafe {
            mpi.call(
                index,
                name_pointer,
                &mut name.length,
                &mut verbosity,
                &mut datatype,
                &mut enumeration,
                description_pointer,
                &mut description.length,
                &mut binding,
                &mut scope,
            )
        })?;
        Ok(ControlVariable {
            index,
            name: name.into_string(),
            description: description.into_string(),
            verbosity: Verbosity::from_raw(verbosity),
            binding: Binding::from_raw(binding),
            scope: VariableScope::from_raw(scope),
            form: Form::of(datatype),
            enumeration,
            _interface: PhantomData,
        })
    }

    /// The control variable of a name. C: `MPI_T_cvar_get_index`, and `MPI_T_cvar_get_info`. Local.
    ///
    /// # Errors
    /// [`T_INVALID_NAME`](ErrorClass::T_INVALID_NAME) if MPI has no variable of that name.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// let eager = tools.find_control_variable(c"btl_sm_eager_limit")?;
    /// println!("{:?}", eager.read()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_cvar_get_index)]
    pub fn find_control_variable(&self, name: &CStr) -> RmpiResult<ControlVariable<'_>> {
        // SAFETY: MPI_T_cvar_get_index asks for an initialized interface, which `self` is, and for a text that ends with a
        // zero; it writes one int.
        let index: c_int = output(0, |index| unsafe { mpi.call(name.as_ptr(), index) })?;
        self.control_variable(index.unsigned_abs() as usize)
    }

    /// All control variables. C: `MPI_T_cvar_get_num`, and `MPI_T_cvar_get_info` for each. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn control_variables(
        &self,
    ) -> RmpiResult<impl Iterator<Item = RmpiResult<ControlVariable<'_>>>> {
        let count = self.num_control_variables()?;
        Ok((0..count).map(|index| self.control_variable(index)))
    }
}

impl ControlVariable<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// For whom it is.
    pub const fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Of what object it is.
    pub const fn binding(&self) -> Binding {
        self.binding
    }

    /// When it may change.
    pub const fn scope(&self) -> VariableScope {
        self.scope
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

    /// Its value, if it is of no object. C: `MPI_T_cvar_read`, between `MPI_T_cvar_handle_alloc` and
    /// `MPI_T_cvar_handle_free`. Local.
    ///
    /// # Errors
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if it is one of an object, or of an unknown type; what
    /// MPI says.
    ///
    /// ```no_run
    /// # fn example(tools: &rmpi::ToolInterface<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", tools.control_variable(0)?.read()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_cvar_read)]
    pub fn read(&self) -> RmpiResult<ToolValue> {
        if self.binding != Binding::NoObject {
            return Err(other_binding());
        }
        // SAFETY: `read_with` asks for the object that the variable is bound to; this variable is bound to no object.
        unsafe { self.read_from(mpi, ptr::null_mut()) }
    }

    /// Its value for a communicator, if it is one of communicators. C: as [`read`](Self::read). Local.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// ```no_run
    /// # fn example(variable: &rmpi::ControlVariable<'_>, world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// if variable.binding() == rmpi::Binding::Communicator {
    ///     println!("{:?}", variable.read_of(world)?);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_cvar_read)]
    pub fn read_of(&self, communicator: &Communicator<'_>) -> RmpiResult<ToolValue> {
        if self.binding != Binding::Communicator {
            return Err(other_binding());
        }
        let mut raw: MPI_Comm = communicator.as_raw();
        // SAFETY: `read_with` asks for the address of a communicator's handle, as the variable is bound to one.
        unsafe { self.read_from(mpi, ptr::from_mut(&mut raw).cast()) }
    }

    /// # Safety
    /// `object` is the address of a handle of what the variable is bound to.
    unsafe fn read_from(
        &self,
        mpi: impl crate::call::MPI_T_cvar_read,
        object: *mut c_void,
    ) -> RmpiResult<ToolValue> {
        let form = self.form.ok_or_else(unknown_type)?;
        let (mut handle, mut count) = (sys::MPI_T_CVAR_HANDLE_NULL, 0);
        // SAFETY: MPI_T_cvar_handle_alloc asks for an initialized interface, which is borrowed, on its thread; for a
        // variable's number, and for the object, as the caller promises. It writes a handle and an int.
        check(unsafe {
            sys::MPI_T_cvar_handle_alloc(self.index, object, &mut handle, &mut count)
        })?;
        // SAFETY: MPI_T_cvar_read asks for a handle, which was just made, and for room for `count` elements of the
        // variable's datatype, which `read` gives.
        let value = form.read(count, |pointer| unsafe { mpi.call(handle, pointer) });
        // SAFETY: MPI_T_cvar_handle_free asks for a handle, once.
        let freed = check(unsafe { sys::MPI_T_cvar_handle_free(&mut handle) });
        let value = value?;
        freed.map(|()| value)
    }
}
