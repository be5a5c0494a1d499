//! What levels of TUM's QMPI are entered by, and what they find: entries, cells of their tables, and
//! TUM's structures.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use std::os::unix::ffi::OsStrExt as _;

use mpi_tool_layer::qmpi::{Cell, DynamicLib, TUM_FUNCTIONS, Vector};
use mpi_tool_layer::{FunctionId, NextTable, mpi_sys};

use crate::code::Region;
use crate::tools::{Level, Tool};
use crate::tum;

/// A function of MPI's prototype that enters a foreign tool.
pub(crate) fn foreign_entry(
    region: &mut Region,
    function: FunctionId,
    tool: *const c_void,
    level: c_int,
    v: *const Vector,
) -> *const c_void {
    match function {
        FunctionId::MPI_Wtime | FunctionId::MPI_Wtick => {
            region.with_three(tum::enter_clock as *const c_void, level, v.cast(), tool)
        }
        FunctionId::MPI_Pcontrol => {
            // SAFETY: the transmute wants the function's own prototype, which TUM's header declares: the tool's
            // `MPI_Pcontrol` takes level and stack behind the first argument.
            let tool = unsafe {
                core::mem::transmute::<
                    *const c_void,
                    unsafe extern "C" fn(c_int, c_int, *const c_void) -> c_int,
                >(tool)
            };
            let place = Box::leak(Box::new(tum::PcontrolPlace { tool, level, v: v.cast() }));
            region.in_r11(tum::enter_pcontrol as *const c_void, ptr::from_ref(place).cast())
        }
        _ => region.append(tool, function.parameters().len(), level, v.cast()),
    }
}

/// A cell with a function that takes a level and `v`; level 0 is what is below all levels.
pub(crate) fn table_cell(
    region: &mut Region,
    function: FunctionId,
    entry: *const c_void,
    level: c_int,
) -> Cell {
    let func_ptr = region.table_entry(entry, |region| match function {
        FunctionId::MPI_Wtime | FunctionId::MPI_Wtick => {
            region.exec_clock(tum::execute_clock as *const c_void, entry, level)
        }
        _ => region.shift(function.parameters().len(), Some((entry, level))),
    });
    Cell { func_ptr, level, is_last: c_int::from(level == 0) }
}

/// The functions of which a foreign level may lose something that the next ones shall get.
pub(crate) fn is_special(function: FunctionId) -> bool {
    use FunctionId::{MPI_Pcontrol, MPI_Wtick, MPI_Wtime};
    [MPI_Pcontrol, MPI_Wtick, MPI_Wtime].contains(&function)
}

/// What foreign levels' tables have for a function of MPI's prototype, which does not mind further
/// arguments.
pub(crate) fn in_table(
    region: &mut Region,
    function: FunctionId,
    next: *const c_void,
) -> *const c_void {
    match function {
        FunctionId::MPI_Pcontrol => region.in_r11(tum::next_pcontrol as *const c_void, next),
        _ if is_special(function) => region.with_first(tum::next_clock as *const c_void, next),
        _ => next,
    }
}

/// TUM's structures for the library and its levels. They live as long as the process.
pub(crate) fn structures(levels: &[Level]) -> *mut Vector {
    let total = levels.len() + 1;
    let mut all: Vec<DynamicLib> = (0..total)
        .map(|_| DynamicLib {
            path: [0; 100],
            handle: ptr::null_mut(),
            interceptions: [c"NULL".as_ptr(); TUM_FUNCTIONS],
            table: [Cell { func_ptr: ptr::null(), level: 0, is_last: 0 }; TUM_FUNCTIONS],
            context: ptr::null_mut(),
        })
        .collect();
    for (item, level) in all[1..].iter_mut().zip(levels) {
        let path = level.wanted.path.as_os_str().as_bytes();
        let shown = path.len().min(item.path.len() - 1);
        item.path[..shown].copy_from_slice(&path[..shown]);
        item.handle = level.library.as_ptr();
        if let Tool::Foreign(_, names) = &level.tool {
            item.interceptions.copy_from_slice(&**names);
        }
    }
    let items: Vec<*mut DynamicLib> =
        all.leak().iter_mut().map(|item| item as *mut DynamicLib).collect();
    let total = items.len() as c_int;
    let items = items.leak().as_mut_ptr();
    Box::into_raw(Box::new(Vector { items, capacity: total, total }))
}

/// # Safety
/// `v` is what [`structures`] made, and has more than `level` levels, the library's own among them.
pub(crate) unsafe fn structure(v: *mut Vector, level: usize) -> *mut DynamicLib {
    // SAFETY: the caller promises these structures and one of their levels: `items` has a pointer for each.
    unsafe { *(*v).items.add(level) }
}

/// What tools with a look-up of their own find below all levels.
pub(crate) fn tum_tables(bottom: &NextTable) {
    for (id, function) in tum::functions() {
        let below = match function {
            FunctionId::MPI_Pcontrol => tum::pcontrol_below as *const c_void,
            FunctionId::MPI_Wtime => tum::wtime_below as *const c_void,
            FunctionId::MPI_Wtick => tum::wtick_below as *const c_void,
            _ => bottom.entry(function),
        };
        tum::QMPI_Array[id].store(below.cast_mut(), Relaxed);
        let known = mpi_sys::pmpi::address(function as usize);
        let known = known.map_or(below.cast_mut(), ptr::NonNull::as_ptr);
        tum::PMPI_Array[id].store(known, Relaxed);
    }
}
