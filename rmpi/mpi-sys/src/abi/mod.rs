//! Types and constants, one module an ABI. All of them are always compiled; `build.rs` says which
//! one is the crate's.

// The names are C's, and the standard documents them.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, missing_docs)]

pub mod mpich;
pub mod openmpi;
pub mod standard;

/// `Handle = struct_tag;`: handles that point to what only the library knows.
macro_rules! opaque {
    ($($handle:ident = $tag:ident;)*) => {
        $(
            #[repr(C)]
            #[derive(Debug)]
            pub struct $tag {
                _private: [u8; 0],
            }
            pub type $handle = *mut $tag;
        )*
    };
}
use opaque;

/// The function types of MPI-5.0, annex A.1.3. They differ between ABIs only by the handles.
/// `Option`, since C callers may pass null where the standard has a null function.
#[rustfmt::skip]
macro_rules! callback_types {
    () => {
        pub type MPI_User_function =
            Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype)>;
        pub type MPI_User_function_c =
            Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype)>;
        pub type MPI_Grequest_query_function =
            Option<unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int>;
        pub type MPI_Grequest_free_function =
            Option<unsafe extern "C" fn(*mut c_void) -> c_int>;
        pub type MPI_Grequest_cancel_function =
            Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;
        pub type MPI_Comm_copy_attr_function =
            Option<unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int>;
        pub type MPI_Comm_delete_attr_function =
            Option<unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int>;
        pub type MPI_Type_copy_attr_function =
            Option<unsafe extern "C" fn(MPI_Datatype, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int>;
        pub type MPI_Type_delete_attr_function =
            Option<unsafe extern "C" fn(MPI_Datatype, c_int, *mut c_void, *mut c_void) -> c_int>;
        pub type MPI_Win_copy_attr_function =
            Option<unsafe extern "C" fn(MPI_Win, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int>;
        pub type MPI_Win_delete_attr_function =
            Option<unsafe extern "C" fn(MPI_Win, c_int, *mut c_void, *mut c_void) -> c_int>;
        pub type MPI_Copy_function = MPI_Comm_copy_attr_function;
        pub type MPI_Delete_function = MPI_Comm_delete_attr_function;
        pub type MPI_Comm_errhandler_function =
            Option<unsafe extern "C" fn(*mut MPI_Comm, *mut c_int, ...)>;
        pub type MPI_File_errhandler_function =
            Option<unsafe extern "C" fn(*mut MPI_File, *mut c_int, ...)>;
        pub type MPI_Win_errhandler_function =
            Option<unsafe extern "C" fn(*mut MPI_Win, *mut c_int, ...)>;
        pub type MPI_Session_errhandler_function =
            Option<unsafe extern "C" fn(*mut MPI_Session, *mut c_int, ...)>;
        pub type MPI_Datarep_extent_function =
            Option<unsafe extern "C" fn(MPI_Datatype, *mut MPI_Aint, *mut c_void) -> c_int>;
        pub type MPI_Datarep_conversion_function =
            Option<unsafe extern "C" fn(*mut c_void, MPI_Datatype, c_int, *mut c_void, MPI_Offset, *mut c_void) -> c_int>;
        pub type MPI_Datarep_conversion_function_c =
            Option<unsafe extern "C" fn(*mut c_void, MPI_Datatype, MPI_Count, *mut c_void, MPI_Offset, *mut c_void) -> c_int>;
        pub type MPI_T_cb_safety = c_uint;
        pub type MPI_T_source_order = c_uint;
        pub type MPI_T_event_cb_function =
            Option<unsafe extern "C" fn(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, *mut c_void)>;
        pub type MPI_T_event_free_cb_function =
            Option<unsafe extern "C" fn(MPI_T_event_registration, MPI_T_cb_safety, *mut c_void)>;
        pub type MPI_T_event_dropped_cb_function =
            Option<unsafe extern "C" fn(MPI_Count, MPI_T_event_registration, c_int, MPI_T_cb_safety, *mut c_void)>;
    };
}
use callback_types;
