//! What tools for TUM's QMPI find: its structures, and the functions of its library that they call.

use core::cell::Cell as LocalCell;
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;

use mpi_tool_layer::FunctionId;
use mpi_tool_layer::install::Registers;
use mpi_tool_layer::qmpi::{Cell, DynamicLib, TUM_FUNCTIONS, Vector};

use crate::code::MARK;

/// A table of functions by TUM's ids.
pub(crate) type Array = [AtomicPtr<c_void>; TUM_FUNCTIONS];

const fn nothing() -> Array {
    [const { AtomicPtr::new(ptr::null_mut()) }; TUM_FUNCTIONS]
}

/// What is below all levels, for tools with their own copy of the look-up.
#[unsafe(no_mangle)]
pub(crate) static QMPI_Array: Array = nothing();

/// MPI's own functions.
#[unsafe(no_mangle)]
pub(crate) static PMPI_Array: Array = nothing();

/// What `exec_func` jumps to, by id.
pub(crate) static EXECUTE: Array = nothing();

/// What the exported `QMPI_X` jump to.
pub(crate) static BELOW: Array = nothing();

/// TUM's ids, with what has them.
pub(crate) fn functions() -> impl Iterator<Item = (usize, FunctionId)> {
    FunctionId::all().filter_map(|function| Some((function.tum_qmpi_id()?.into(), function)))
}

macro_rules! exports {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        $(export! { $tum $c_name })*
    };
}
macro_rules! export {
    (- $c_name:ident) => {};
    ($tum:literal $c_name:ident) => {
        const _: () = {
            /// Below all levels; MPI's arguments, then the level and `v`, which it does not need.
            #[unsafe(export_name = concat!("Q", stringify!($c_name)))]
            #[unsafe(naked)]
            unsafe extern "C" fn below() {
                mpi_tool_layer::__jump_through! { BELOW, $tum * size_of::<usize>() }
            }
        };
    };
}
mpi_tool_layer::mpi_sys::mpi_functions! { [exports] }

/// `int QMPI_Table_query(int id, void **function, cell table[])`: finds the next level that has a
/// function: 0. Where there is none, what is below all levels: 1.
///
/// The tables of our levels have that, too, so there is nothing to decide.
///
/// # Safety
/// `id` is one of TUM's list, `function` a place for an address, and `table` has a cell for each id, as the tables
/// of levels have.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn QMPI_Table_query(
    id: c_int,
    function: *mut *const c_void,
    table: *const Cell,
) -> c_int {
    mpi_tool_layer::__table_query! {}
}

/// The same under its other name.
///
/// # Safety
/// As for [`QMPI_Table_query`].
#[unsafe(no_mangle)]
unsafe extern "C" fn MPI_Table_query(
    id: c_int,
    function: *mut *const c_void,
    table: *const Cell,
) -> c_int {
    // SAFETY: the function wants an id of TUM's list, a place for an address, and a level's table: the caller's
    // own arguments, which MPI_Table_query takes for the same.
    unsafe { QMPI_Table_query(id, function, table) }
}

/// `int exec_func(void *function, int level, int id, vector *v, …)`: calls the function with the
/// arguments of MPI's function `id`, and behind them the level after `level`, and `v`.
///
/// It is variadic, and jumps to code that knows how many arguments there are. So what the function
/// returns is what the caller gets, in whichever register. A function of our tables has an address
/// in front of it where all that is known; for others it looks for the level itself.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn exec_func() {
    mpi_tool_layer::__exec_func! { MARK, EXECUTE }
}

/// The level that comes after one for a function; 0 where there is no such level, or no function of this number.
///
/// # Safety
/// `v` points to TUM's structures: a [`Vector`] with `total` pointers, each to a level that stays.
/// Nobody writes to them meanwhile, but to contexts.
#[unsafe(no_mangle)]
unsafe extern "C" fn QMPI_Get_level(level: c_int, id: c_int, v: *const Vector) -> c_int {
    let Some(id) = usize::try_from(id).ok().filter(|id| *id < TUM_FUNCTIONS) else { return 0 };
    // SAFETY: `vector_get` wants TUM's structures, which a tool passes on as it got them, and gives null or a
    // level that lives as long as the process. Only this cell of it is read, which is not written once there are
    // levels: another thread may set the level's context meanwhile. `id` is below the number of cells.
    unsafe {
        let level = vector_get(v, level);
        if level.is_null() {
            return 0;
        }
        (&raw const (*level).table).cast::<Cell>().add(id).read().level
    }
}

/// Keeps a copy of the tool's data for a level. The copy lives as long as the process: a tool may
/// hold its address.
///
/// # Safety
/// `v` points to TUM's structures: a [`Vector`] with `total` pointers, each to a level that stays.
/// `data` can be read for `size` bytes, and nobody uses the level's context meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn QMPI_Set_context(
    v: *mut Vector,
    level: c_int,
    data: *const c_void,
    size: usize,
) {
    // SAFETY: the writes and the copy need TUM's structures, which a tool passes on as it got them, and `size`
    // bytes of the caller's; the copy is new memory of that size. Who may use a level's context meanwhile is
    // the tool's to see to.
    unsafe {
        let item = vector_get(v, level);
        if item.is_null() {
            return crate::say(format_args!("QMPI_Set_context: there is no level {level}"));
        }
        let copy = libc::malloc(size);
        if !copy.is_null() {
            ptr::copy_nonoverlapping(data.cast::<u8>(), copy.cast(), size);
        }
        (*item).context = copy;
    }
}

/// What [`QMPI_Set_context`] kept; null before.
///
/// # Safety
/// `v` points to TUM's structures: a [`Vector`] with `total` pointers, each to a level that stays.
/// Nobody writes to them meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn QMPI_Get_context(v: *const Vector, level: c_int) -> *mut c_void {
    // SAFETY: `vector_get` wants TUM's structures, which a tool passes on as it got them, and gives null or a
    // level that lives as long as the process. Only this field of it is read.
    unsafe {
        let level = vector_get(v, level);
        if level.is_null() { ptr::null_mut() } else { (*level).context }
    }
}

/// A level, or null.
///
/// # Safety
/// `v` points to TUM's structures: a [`Vector`] with `total` pointers, each to a level that stays.
/// Nobody writes to them meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn vector_get(v: *const Vector, level: c_int) -> *mut DynamicLib {
    // SAFETY: the reads need TUM's structures, which a tool passes on as it got them. `items` has `total`
    // pointers, and the level was checked to be below that.
    unsafe {
        if level < 0 || level >= (*v).total {
            return ptr::null_mut();
        }
        *(*v).items.add(level as usize)
    }
}

/// How many levels there are, the library's own among them.
///
/// # Safety
/// `v` points to TUM's structures. Nobody writes to them meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn vector_total(v: *const Vector) -> c_int {
    // SAFETY: the read needs TUM's structures, which a tool passes on as it got them.
    unsafe { (*v).total }
}

std::thread_local! {
    /// The last clock that a level got from below, as its bits; `NO_CLOCK` before.
    static CLOCK: LocalCell<u64> = const { LocalCell::new(NO_CLOCK) };
    /// The arguments of the `MPI_Pcontrol` that the thread is in.
    static PCONTROL: LocalCell<*const Registers> = const { LocalCell::new(ptr::null()) };
}

/// No number.
const NO_CLOCK: u64 = u64::MAX;

type Clock = unsafe extern "C" fn(level: c_int, v: *const c_void) -> f64;

/// What a tool made of a clock. `exec_func` returns an `int`, so that most tools have lost what is
/// behind the point: where a tool returns just that, it gets back what it was given.
fn whole(returned: f64) -> f64 {
    let given = f64::from_bits(CLOCK.get());
    if !given.is_nan() && returned == f64::from(given as c_int) { given } else { returned }
}

/// `MPI_Wtime` or `MPI_Wtick` of a tool for TUM's QMPI.
///
/// # Safety
/// `tool` is a tool's function of this type, for the level `level` of the stack `v`.
pub(crate) unsafe extern "C" fn enter_clock(level: c_int, v: *const c_void, tool: Clock) -> f64 {
    CLOCK.set(NO_CLOCK);
    // SAFETY: the tool's function takes its level and the stack, which is what its place has and this was
    // called with.
    let returned = unsafe { tool(level, v) };
    whole(returned)
}

/// What a level's table has for a clock: asks the next one, and keeps the answer.
///
/// # Safety
/// `next` may be called with no arguments: the call is the application's, going on.
pub(crate) unsafe extern "C" fn next_clock(next: unsafe extern "C" fn() -> f64) -> f64 {
    // SAFETY: the function is a clock of MPI's prototype, which has no arguments: the code that jumps here has
    // it from the table of the level.
    let given = unsafe { next() };
    CLOCK.set(given.to_bits());
    given
}

/// The same below all levels.
macro_rules! clock_below {
    ($name:ident, $function:ident) => {
        pub(crate) unsafe extern "C" fn $name() -> f64 {
            // SAFETY: the table below has MPI's function of this name, or one that stands for it. It has no
            // arguments, and the call is the application's, going on.
            let given = unsafe { mpi_tool_layer::NextFunctions::$function(&crate::BOTTOM) };
            CLOCK.set(given.to_bits());
            given
        }
    };
}
clock_below!(wtime_below, wtime);
clock_below!(wtick_below, wtick);

/// What `exec_func` jumps to for the clocks. The result is in both registers: as a `double`, and as
/// the `int` that TUM's header declares.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn execute_clock() {
    mpi_tool_layer::__execute_clock! {}
}

/// A level's place for `MPI_Pcontrol`.
#[repr(C)]
pub(crate) struct PcontrolPlace {
    pub(crate) tool: unsafe extern "C" fn(c_int, c_int, *const c_void) -> c_int,
    pub(crate) level: c_int,
    pub(crate) v: *const c_void,
}

/// `MPI_Pcontrol` of a tool for TUM's QMPI, with its place as context: the tool gets the first argument
/// only, and the others are kept for the levels behind it.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter_pcontrol() {
    mpi_tool_layer::__call_with_registers! { pcontrol_level }
}

/// Calls a level's tool, and keeps the arguments of the call for the levels behind it meanwhile.
///
/// # Safety
/// `call` points to what [`enter_pcontrol`] has saved, and `place` to the level's place.
unsafe extern "C" fn pcontrol_level(call: *const Registers, place: *const PcontrolPlace) -> c_int {
    let before = PCONTROL.replace(call);
    // SAFETY: the caller is the function above: `call` is its frame, which is there until this returns, and
    // `place` is static. The tool's function takes the first argument, its level and the stack.
    let result = unsafe {
        let PcontrolPlace { tool, level, v } = *place;
        tool((*call).general[0] as c_int, level, v)
    };
    PCONTROL.set(before);
    result
}

/// What a level's table has for `MPI_Pcontrol`, with the next one, of MPI's prototype, as context.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn next_pcontrol() {
    mpi_tool_layer::__jump_with_second! { pcontrol_goes_on }
}

/// The same below all levels.
///
/// # Safety
/// The call is the application's, going on.
pub(crate) unsafe extern "C" fn pcontrol_below(argument: c_int) -> c_int {
    // SAFETY: `pcontrol_goes_on` wants a function of MPI's prototype, which the table below has, and the
    // argument of the call that goes on.
    unsafe { pcontrol_goes_on(argument, crate::BOTTOM.entry(FunctionId::MPI_Pcontrol)) }
}

/// Gives the next one all the arguments that the application gave, behind the first.
///
/// # Safety
/// `next` is a function of `MPI_Pcontrol`'s prototype, and the call is the application's, going on.
unsafe extern "C" fn pcontrol_goes_on(argument: c_int, next: *const c_void) -> c_int {
    let call = PCONTROL.get();
    // SAFETY: `next` is a function of MPI's prototype. It gets the arguments of the call that the thread is in,
    // whose frame is there while `PCONTROL` has its address; or one argument, where there is no such call.
    unsafe {
        if call.is_null() {
            let next: unsafe extern "C" fn(c_int) -> c_int = core::mem::transmute(next);
            next(argument)
        } else {
            replay(next, argument, call)
        }
    }
}

/// Calls a function as `MPI_Pcontrol` was called, but for the first argument. Nobody knows how many
/// arguments there are on the stack: some of what is there is copied. It is readable: the frames of
/// the application's functions are behind it.
///
/// # Safety
/// `function` is one of `MPI_Pcontrol`'s prototype, and `call` points to what [`enter_pcontrol`] has saved, of a
/// call that has not returned.
#[unsafe(naked)]
unsafe extern "C" fn replay(
    function: *const c_void,
    argument: c_int,
    call: *const Registers,
) -> c_int {
    mpi_tool_layer::__replay! {}
}
