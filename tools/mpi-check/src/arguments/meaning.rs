//! What the values of arguments mean: datatypes, ranks and tags.

use mpi_tool_layer::mpi_sys::{
    self, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_Datatype, MPI_PROC_NULL, MPI_ROOT, c_int, pmpi,
};
use mpi_tool_layer::{ParameterKind, Word as _};

use crate::objects::{self, Kind};
use crate::types::{self, TypeInfo};

/// What is known of a datatype.
pub(crate) fn datatype(handle: u64) -> Option<TypeInfo> {
    if let Some(info) = types::predefined(MPI_Datatype::from_word(handle)) {
        return Some(*info);
    }
    objects::with(Kind::Datatype, handle, |object| {
        object.datatype.as_deref().filter(|_| !object.is_freed()).copied()
    })?
}

/// A datatype in words.
pub(super) fn datatype_name(handle: u64) -> String {
    use mpi_tool_layer::PredefinedDatatype;
    if handle == Kind::Datatype.null() {
        return "MPI_DATATYPE_NULL".into();
    }
    match PredefinedDatatype::of_handle(MPI_Datatype::from_word(handle)) {
        Some(known) => known.name().into(),
        None => "a derived datatype".into(),
    }
}

/// A rank or a tag, by its name if it has one.
pub(super) fn special(kind: ParameterKind, number: i64) -> String {
    let is = |constant: c_int| number == i64::from(constant);
    if kind == ParameterKind::Tag {
        return if is(MPI_ANY_TAG) { "MPI_ANY_TAG".into() } else { number.to_string() };
    }
    if is(MPI_PROC_NULL) {
        "MPI_PROC_NULL".into()
    } else if is(MPI_ANY_SOURCE) {
        "MPI_ANY_SOURCE".into()
    } else if is(MPI_ROOT) {
        "MPI_ROOT".into()
    } else {
        number.to_string()
    }
}

/// The greatest tag.
pub(super) fn tag_bound() -> i64 {
    use core::sync::atomic::{AtomicI64, Ordering::Relaxed};
    static BOUND: AtomicI64 = AtomicI64::new(-1);
    let known = BOUND.load(Relaxed);
    if known >= 0 {
        return known;
    }
    if mpi_tool_layer::world_position().is_none() {
        return i64::from(c_int::MAX);
    }
    let mut value: *mut c_int = core::ptr::null_mut();
    let mut is_set = 0;
    // SAFETY: `MPI_Comm_get_attr` wants a valid communicator, which the world is while it has a position, and writes the
    // address of an `int` for this attribute, and a flag.
    let bound = unsafe {
        pmpi::MPI_Comm_get_attr(
            pmpi::MPI_COMM_WORLD,
            mpi_sys::MPI_TAG_UB,
            (&raw mut value).cast(),
            &mut is_set,
        );
        if is_set != 0 && !value.is_null() { i64::from(*value) } else { i64::from(c_int::MAX) }
    };
    BOUND.store(bound, Relaxed);
    bound
}
