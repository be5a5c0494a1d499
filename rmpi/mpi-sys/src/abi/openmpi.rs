//! The `openmpi` ABI: Open MPI 4 and 5 (`libmpi.so.40`).
//!
//! Handles are pointers, and the predefined ones are addresses of objects in the library. They are
//! constants in [`handles`](crate::handles), for programs that link MPI; tools, which must load
//! into any process, take them from `mpi_sys::pmpi`, whose references are weak.

use core::ffi::{c_char, c_int, c_long, c_longlong, c_uint, c_void};
use core::ptr;

use super::{callback_types, opaque};

pub type MPI_Aint = c_long;
pub type MPI_Count = c_longlong;
pub type MPI_Fint = c_int;
pub type MPI_Offset = c_longlong;

opaque! {
    MPI_Comm = ompi_communicator_t;
    MPI_Datatype = ompi_datatype_t;
    MPI_Errhandler = ompi_errhandler_t;
    MPI_File = ompi_file_t;
    MPI_Group = ompi_group_t;
    MPI_Info = ompi_info_t;
    MPI_Message = ompi_message_t;
    MPI_Op = ompi_op_t;
    MPI_Request = ompi_request_t;
    MPI_Session = ompi_instance_t;
    MPI_Win = ompi_win_t;
    MPI_T_enum = mca_base_var_enum_t;
    MPI_T_cvar_handle = ompi_mpit_cvar_handle_t;
    MPI_T_pvar_handle = mca_base_pvar_handle_t;
    MPI_T_pvar_session = mca_base_pvar_session_t;
    // Open MPI has no events yet: the types of the standard, for the list's prototypes.
    MPI_T_event_registration = ompi_event_registration_t;
    MPI_T_event_instance = ompi_event_instance_t;
}

/// What a receive or a completion tells (MPI-5.0, 3.2.5).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_Status {
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
    pub _cancelled: c_int,
    pub _ucount: usize,
}

impl MPI_Status {
    /// How many bytes have been received, and whether the operation was cancelled: where the ABI says
    /// in which fields that is.
    pub fn received(&self) -> Option<(u64, bool)> {
        Some((self._ucount as u64, self._cancelled != 0))
    }
}

/// The status of the `mpi_f08` bindings, as C sees it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_F08_status {
    pub MPI_SOURCE: MPI_Fint,
    pub MPI_TAG: MPI_Fint,
    pub MPI_ERROR: MPI_Fint,
    pub internal: [MPI_Fint; 3],
}

callback_types! {}

pub const MPI_F_STATUS_SIZE: c_int = 6;
pub const MPI_F_SOURCE: c_int = 0;
pub const MPI_F_TAG: c_int = 1;
pub const MPI_F_ERROR: c_int = 2;
pub const MPI_SUCCESS: c_int = 0;
pub const MPI_ERR_BUFFER: c_int = 1;
pub const MPI_ERR_COUNT: c_int = 2;
pub const MPI_ERR_TYPE: c_int = 3;
pub const MPI_ERR_TAG: c_int = 4;
pub const MPI_ERR_COMM: c_int = 5;
pub const MPI_ERR_RANK: c_int = 6;
pub const MPI_ERR_REQUEST: c_int = 7;
pub const MPI_ERR_ROOT: c_int = 8;
pub const MPI_ERR_GROUP: c_int = 9;
pub const MPI_ERR_OP: c_int = 10;
pub const MPI_ERR_TOPOLOGY: c_int = 11;
pub const MPI_ERR_DIMS: c_int = 12;
pub const MPI_ERR_ARG: c_int = 13;
pub const MPI_ERR_UNKNOWN: c_int = 14;
pub const MPI_ERR_TRUNCATE: c_int = 15;
pub const MPI_ERR_OTHER: c_int = 16;
pub const MPI_ERR_INTERN: c_int = 17;
pub const MPI_ERR_PENDING: c_int = 19;
pub const MPI_ERR_IN_STATUS: c_int = 18;
pub const MPI_ERR_ACCESS: c_int = 20;
pub const MPI_ERR_AMODE: c_int = 21;
pub const MPI_ERR_ASSERT: c_int = 22;
pub const MPI_ERR_BAD_FILE: c_int = 23;
pub const MPI_ERR_BASE: c_int = 24;
pub const MPI_ERR_CONVERSION: c_int = 25;
pub const MPI_ERR_DISP: c_int = 26;
pub const MPI_ERR_DUP_DATAREP: c_int = 27;
pub const MPI_ERR_FILE_EXISTS: c_int = 28;
pub const MPI_ERR_FILE_IN_USE: c_int = 29;
pub const MPI_ERR_FILE: c_int = 30;
pub const MPI_ERR_INFO_KEY: c_int = 31;
pub const MPI_ERR_INFO_NOKEY: c_int = 32;
pub const MPI_ERR_INFO_VALUE: c_int = 33;
pub const MPI_ERR_INFO: c_int = 34;
pub const MPI_ERR_IO: c_int = 35;
pub const MPI_ERR_KEYVAL: c_int = 36;
pub const MPI_ERR_LOCKTYPE: c_int = 37;
pub const MPI_ERR_NAME: c_int = 38;
pub const MPI_ERR_NO_MEM: c_int = 39;
pub const MPI_ERR_NOT_SAME: c_int = 40;
pub const MPI_ERR_NO_SPACE: c_int = 41;
pub const MPI_ERR_NO_SUCH_FILE: c_int = 42;
pub const MPI_ERR_PORT: c_int = 43;
pub const MPI_ERR_QUOTA: c_int = 44;
pub const MPI_ERR_READ_ONLY: c_int = 45;
pub const MPI_ERR_RMA_ATTACH: c_int = 69;
pub const MPI_ERR_RMA_CONFLICT: c_int = 46;
pub const MPI_ERR_RMA_RANGE: c_int = 68;
pub const MPI_ERR_RMA_SHARED: c_int = 71;
pub const MPI_ERR_RMA_SYNC: c_int = 47;
pub const MPI_ERR_SERVICE: c_int = 48;
pub const MPI_ERR_SIZE: c_int = 49;
pub const MPI_ERR_SPAWN: c_int = 50;
pub const MPI_ERR_UNSUPPORTED_DATAREP: c_int = 51;
pub const MPI_ERR_UNSUPPORTED_OPERATION: c_int = 52;
pub const MPI_ERR_WIN: c_int = 53;
pub const MPI_ERR_RMA_FLAVOR: c_int = 70;
pub const MPI_ERR_PROC_ABORTED: c_int = 74;
pub const MPI_ERR_VALUE_TOO_LARGE: c_int = 79;
pub const MPI_ERR_SESSION: c_int = 78;
pub const MPI_T_ERR_CANNOT_INIT: c_int = 56;
pub const MPI_T_ERR_NOT_INITIALIZED: c_int = 55;
pub const MPI_T_ERR_MEMORY: c_int = 54;
pub const MPI_T_ERR_INVALID: c_int = 72;
pub const MPI_T_ERR_INVALID_INDEX: c_int = 57;
pub const MPI_T_ERR_INVALID_ITEM: c_int = 58;
pub const MPI_T_ERR_INVALID_SESSION: c_int = 62;
pub const MPI_T_ERR_INVALID_HANDLE: c_int = 59;
pub const MPI_T_ERR_INVALID_NAME: c_int = 73;
pub const MPI_T_ERR_OUT_OF_HANDLES: c_int = 60;
pub const MPI_T_ERR_OUT_OF_SESSIONS: c_int = 61;
pub const MPI_T_ERR_CVAR_SET_NOT_NOW: c_int = 63;
pub const MPI_T_ERR_CVAR_SET_NEVER: c_int = 64;
pub const MPI_T_ERR_PVAR_NO_WRITE: c_int = 66;
pub const MPI_T_ERR_PVAR_NO_STARTSTOP: c_int = 65;
pub const MPI_T_ERR_PVAR_NO_ATOMIC: c_int = 67;
pub const MPI_ERR_LASTCODE: c_int = 92;
pub const MPI_BOTTOM: *mut c_void = ptr::null_mut();
pub const MPI_IN_PLACE: *mut c_void = ptr::without_provenance_mut(1);
pub const MPI_ARGV_NULL: *mut *mut c_char = ptr::null_mut();
pub const MPI_ARGVS_NULL: *mut *mut *mut c_char = ptr::null_mut();
pub const MPI_ERRCODES_IGNORE: *mut c_int = ptr::null_mut();
pub const MPI_STATUS_IGNORE: *mut MPI_Status = ptr::null_mut();
pub const MPI_STATUSES_IGNORE: *mut MPI_Status = ptr::null_mut();
pub const MPI_UNWEIGHTED: *mut c_int = ptr::without_provenance_mut(2);
pub const MPI_WEIGHTS_EMPTY: *mut c_int = ptr::without_provenance_mut(3);
pub const MPI_MAX_DATAREP_STRING: c_int = 128;
pub const MPI_MAX_ERROR_STRING: c_int = 256;
pub const MPI_MAX_INFO_KEY: c_int = 36;
pub const MPI_MAX_INFO_VAL: c_int = 256;
pub const MPI_MAX_LIBRARY_VERSION_STRING: c_int = 256;
pub const MPI_MAX_OBJECT_NAME: c_int = 64;
pub const MPI_MAX_PORT_NAME: c_int = 1024;
pub const MPI_MAX_PROCESSOR_NAME: c_int = 256;
pub const MPI_MAX_STRINGTAG_LEN: c_int = 1024;
pub const MPI_MAX_PSET_NAME_LEN: c_int = 512;
pub const MPI_BSEND_OVERHEAD: c_int = 128;
pub const MPI_MODE_APPEND: c_int = 128;
pub const MPI_MODE_CREATE: c_int = 1;
pub const MPI_MODE_DELETE_ON_CLOSE: c_int = 16;
pub const MPI_MODE_EXCL: c_int = 64;
pub const MPI_MODE_RDONLY: c_int = 2;
pub const MPI_MODE_RDWR: c_int = 8;
pub const MPI_MODE_SEQUENTIAL: c_int = 256;
pub const MPI_MODE_UNIQUE_OPEN: c_int = 32;
pub const MPI_MODE_WRONLY: c_int = 4;
pub const MPI_MODE_NOCHECK: c_int = 1;
pub const MPI_MODE_NOPRECEDE: c_int = 2;
pub const MPI_MODE_NOPUT: c_int = 4;
pub const MPI_MODE_NOSTORE: c_int = 8;
pub const MPI_MODE_NOSUCCEED: c_int = 16;
pub const MPI_ANY_SOURCE: c_int = -1;
pub const MPI_ANY_TAG: c_int = -1;
pub const MPI_PROC_NULL: c_int = -2;
pub const MPI_ROOT: c_int = -4;
pub const MPI_UNDEFINED: c_int = -32766;
pub const MPI_THREAD_SINGLE: c_int = 0;
pub const MPI_THREAD_FUNNELED: c_int = 1;
pub const MPI_THREAD_SERIALIZED: c_int = 2;
pub const MPI_THREAD_MULTIPLE: c_int = 3;
pub const MPI_ORDER_C: c_int = 0;
pub const MPI_ORDER_FORTRAN: c_int = 1;
pub const MPI_DISTRIBUTE_NONE: c_int = 2;
pub const MPI_DISTRIBUTE_BLOCK: c_int = 0;
pub const MPI_DISTRIBUTE_CYCLIC: c_int = 1;
pub const MPI_DISTRIBUTE_DFLT_DARG: c_int = -1;
pub const MPI_COMBINER_NAMED: c_int = 0;
pub const MPI_COMBINER_DUP: c_int = 1;
pub const MPI_COMBINER_CONTIGUOUS: c_int = 2;
pub const MPI_COMBINER_VECTOR: c_int = 3;
pub const MPI_COMBINER_HVECTOR: c_int = 5;
pub const MPI_COMBINER_INDEXED: c_int = 6;
pub const MPI_COMBINER_HINDEXED: c_int = 8;
pub const MPI_COMBINER_INDEXED_BLOCK: c_int = 9;
pub const MPI_COMBINER_HINDEXED_BLOCK: c_int = 18;
pub const MPI_COMBINER_STRUCT: c_int = 11;
pub const MPI_COMBINER_SUBARRAY: c_int = 12;
pub const MPI_COMBINER_DARRAY: c_int = 13;
pub const MPI_COMBINER_F90_REAL: c_int = 14;
pub const MPI_COMBINER_F90_COMPLEX: c_int = 15;
pub const MPI_COMBINER_F90_INTEGER: c_int = 16;
pub const MPI_COMBINER_RESIZED: c_int = 17;
pub const MPI_TYPECLASS_INTEGER: c_int = 1;
pub const MPI_TYPECLASS_REAL: c_int = 2;
pub const MPI_TYPECLASS_COMPLEX: c_int = 3;
pub const MPI_IDENT: c_int = 0;
pub const MPI_CONGRUENT: c_int = 1;
pub const MPI_SIMILAR: c_int = 2;
pub const MPI_UNEQUAL: c_int = 3;
pub const MPI_CART: c_int = 1;
pub const MPI_GRAPH: c_int = 2;
pub const MPI_DIST_GRAPH: c_int = 3;
pub const MPI_COMM_TYPE_SHARED: c_int = 0;
pub const MPI_COMM_TYPE_HW_UNGUIDED: c_int = 12;
pub const MPI_COMM_TYPE_HW_GUIDED: c_int = 13;
pub const MPI_LOCK_EXCLUSIVE: c_int = 1;
pub const MPI_LOCK_SHARED: c_int = 2;
pub const MPI_WIN_FLAVOR_CREATE: c_int = 1;
pub const MPI_WIN_FLAVOR_ALLOCATE: c_int = 2;
pub const MPI_WIN_FLAVOR_DYNAMIC: c_int = 3;
pub const MPI_WIN_FLAVOR_SHARED: c_int = 4;
pub const MPI_WIN_UNIFIED: c_int = 0;
pub const MPI_WIN_SEPARATE: c_int = 1;
pub const MPI_SEEK_CUR: c_int = 602;
pub const MPI_SEEK_END: c_int = 604;
pub const MPI_SEEK_SET: c_int = 600;
pub const MPI_DISPLACEMENT_CURRENT: MPI_Offset = -54_278_278;
pub const MPI_KEYVAL_INVALID: c_int = -1;
pub const MPI_TAG_UB: c_int = 0;
pub const MPI_IO: c_int = 2;
pub const MPI_HOST: c_int = 1;
pub const MPI_WTIME_IS_GLOBAL: c_int = 3;
pub const MPI_APPNUM: c_int = 4;
pub const MPI_LASTUSEDCODE: c_int = 5;
pub const MPI_UNIVERSE_SIZE: c_int = 6;
pub const MPI_WIN_BASE: c_int = 7;
pub const MPI_WIN_DISP_UNIT: c_int = 9;
pub const MPI_WIN_SIZE: c_int = 8;
pub const MPI_WIN_CREATE_FLAVOR: c_int = 10;
pub const MPI_WIN_MODEL: c_int = 11;
pub const MPI_T_ENUM_NULL: MPI_T_enum = ptr::null_mut();
pub const MPI_T_CVAR_HANDLE_NULL: MPI_T_cvar_handle = ptr::null_mut();
pub const MPI_T_PVAR_SESSION_NULL: MPI_T_pvar_session = ptr::null_mut();
pub const MPI_T_PVAR_HANDLE_NULL: MPI_T_pvar_handle = ptr::null_mut();
pub const MPI_T_PVAR_ALL_HANDLES: MPI_T_pvar_handle =
    ptr::without_provenance_mut(-1_isize as usize);
pub const MPI_T_VERBOSITY_USER_BASIC: c_int = 0;
pub const MPI_T_VERBOSITY_USER_DETAIL: c_int = 1;
pub const MPI_T_VERBOSITY_USER_ALL: c_int = 2;
pub const MPI_T_VERBOSITY_TUNER_BASIC: c_int = 3;
pub const MPI_T_VERBOSITY_TUNER_DETAIL: c_int = 4;
pub const MPI_T_VERBOSITY_TUNER_ALL: c_int = 5;
pub const MPI_T_VERBOSITY_MPIDEV_BASIC: c_int = 6;
pub const MPI_T_VERBOSITY_MPIDEV_DETAIL: c_int = 7;
pub const MPI_T_VERBOSITY_MPIDEV_ALL: c_int = 8;
pub const MPI_T_BIND_NO_OBJECT: c_int = 0;
pub const MPI_T_BIND_MPI_COMM: c_int = 1;
pub const MPI_T_BIND_MPI_DATATYPE: c_int = 2;
pub const MPI_T_BIND_MPI_ERRHANDLER: c_int = 3;
pub const MPI_T_BIND_MPI_FILE: c_int = 4;
pub const MPI_T_BIND_MPI_GROUP: c_int = 5;
pub const MPI_T_BIND_MPI_OP: c_int = 6;
pub const MPI_T_BIND_MPI_REQUEST: c_int = 7;
pub const MPI_T_BIND_MPI_WIN: c_int = 8;
pub const MPI_T_BIND_MPI_MESSAGE: c_int = 9;
pub const MPI_T_BIND_MPI_INFO: c_int = 10;
pub const MPI_T_SCOPE_CONSTANT: c_int = 0;
pub const MPI_T_SCOPE_READONLY: c_int = 1;
pub const MPI_T_SCOPE_LOCAL: c_int = 2;
pub const MPI_T_SCOPE_GROUP: c_int = 3;
pub const MPI_T_SCOPE_GROUP_EQ: c_int = 4;
pub const MPI_T_SCOPE_ALL: c_int = 5;
pub const MPI_T_SCOPE_ALL_EQ: c_int = 6;
pub const MPI_T_PVAR_CLASS_STATE: c_int = 0;
pub const MPI_T_PVAR_CLASS_LEVEL: c_int = 1;
pub const MPI_T_PVAR_CLASS_SIZE: c_int = 2;
pub const MPI_T_PVAR_CLASS_PERCENTAGE: c_int = 3;
pub const MPI_T_PVAR_CLASS_HIGHWATERMARK: c_int = 4;
pub const MPI_T_PVAR_CLASS_LOWWATERMARK: c_int = 5;
pub const MPI_T_PVAR_CLASS_COUNTER: c_int = 6;
pub const MPI_T_PVAR_CLASS_AGGREGATE: c_int = 7;
pub const MPI_T_PVAR_CLASS_TIMER: c_int = 8;
pub const MPI_T_PVAR_CLASS_GENERIC: c_int = 9;

/// Calls `$callback! { [context] NAME: TYPE = symbol; … }` with the handles that are addresses.
#[allow(unused_macros, reason = "used where this ABI is the crate's")]
macro_rules! address_handles {
    ($callback:ident $($context:tt)*) => { $callback! { [$($context)*]
        MPI_OP_NULL: MPI_Op = ompi_mpi_op_null;
        MPI_SUM: MPI_Op = ompi_mpi_op_sum;
        MPI_MIN: MPI_Op = ompi_mpi_op_min;
        MPI_MAX: MPI_Op = ompi_mpi_op_max;
        MPI_PROD: MPI_Op = ompi_mpi_op_prod;
        MPI_BAND: MPI_Op = ompi_mpi_op_band;
        MPI_BOR: MPI_Op = ompi_mpi_op_bor;
        MPI_BXOR: MPI_Op = ompi_mpi_op_bxor;
        MPI_LAND: MPI_Op = ompi_mpi_op_land;
        MPI_LOR: MPI_Op = ompi_mpi_op_lor;
        MPI_LXOR: MPI_Op = ompi_mpi_op_lxor;
        MPI_MINLOC: MPI_Op = ompi_mpi_op_minloc;
        MPI_MAXLOC: MPI_Op = ompi_mpi_op_maxloc;
        MPI_REPLACE: MPI_Op = ompi_mpi_op_replace;
        MPI_NO_OP: MPI_Op = ompi_mpi_op_no_op;
        MPI_COMM_NULL: MPI_Comm = ompi_mpi_comm_null;
        MPI_COMM_WORLD: MPI_Comm = ompi_mpi_comm_world;
        MPI_COMM_SELF: MPI_Comm = ompi_mpi_comm_self;
        MPI_GROUP_NULL: MPI_Group = ompi_mpi_group_null;
        MPI_GROUP_EMPTY: MPI_Group = ompi_mpi_group_empty;
        MPI_WIN_NULL: MPI_Win = ompi_mpi_win_null;
        MPI_FILE_NULL: MPI_File = ompi_mpi_file_null;
        MPI_SESSION_NULL: MPI_Session = ompi_mpi_instance_null;
        MPI_MESSAGE_NULL: MPI_Message = ompi_message_null;
        MPI_MESSAGE_NO_PROC: MPI_Message = ompi_message_no_proc;
        MPI_INFO_NULL: MPI_Info = ompi_mpi_info_null;
        MPI_INFO_ENV: MPI_Info = ompi_mpi_info_env;
        MPI_ERRHANDLER_NULL: MPI_Errhandler = ompi_mpi_errhandler_null;
        MPI_ERRORS_ARE_FATAL: MPI_Errhandler = ompi_mpi_errors_are_fatal;
        MPI_ERRORS_ABORT: MPI_Errhandler = ompi_mpi_errors_abort;
        MPI_ERRORS_RETURN: MPI_Errhandler = ompi_mpi_errors_return;
        MPI_REQUEST_NULL: MPI_Request = ompi_request_null;
        MPI_DATATYPE_NULL: MPI_Datatype = ompi_mpi_datatype_null;
        MPI_AINT: MPI_Datatype = ompi_mpi_aint;
        MPI_COUNT: MPI_Datatype = ompi_mpi_count;
        MPI_OFFSET: MPI_Datatype = ompi_mpi_offset;
        MPI_PACKED: MPI_Datatype = ompi_mpi_packed;
        MPI_SHORT: MPI_Datatype = ompi_mpi_short;
        MPI_INT: MPI_Datatype = ompi_mpi_int;
        MPI_LONG: MPI_Datatype = ompi_mpi_long;
        MPI_LONG_LONG: MPI_Datatype = ompi_mpi_long_long_int;
        MPI_LONG_LONG_INT: MPI_Datatype = ompi_mpi_long_long_int;
        MPI_UNSIGNED_SHORT: MPI_Datatype = ompi_mpi_unsigned_short;
        MPI_UNSIGNED: MPI_Datatype = ompi_mpi_unsigned;
        MPI_UNSIGNED_LONG: MPI_Datatype = ompi_mpi_unsigned_long;
        MPI_UNSIGNED_LONG_LONG: MPI_Datatype = ompi_mpi_unsigned_long_long;
        MPI_FLOAT: MPI_Datatype = ompi_mpi_float;
        MPI_C_FLOAT_COMPLEX: MPI_Datatype = ompi_mpi_c_float_complex;
        MPI_C_COMPLEX: MPI_Datatype = ompi_mpi_c_float_complex;
        MPI_CXX_FLOAT_COMPLEX: MPI_Datatype = ompi_mpi_cxx_cplex;
        MPI_DOUBLE: MPI_Datatype = ompi_mpi_double;
        MPI_C_DOUBLE_COMPLEX: MPI_Datatype = ompi_mpi_c_double_complex;
        MPI_CXX_DOUBLE_COMPLEX: MPI_Datatype = ompi_mpi_cxx_dblcplex;
        MPI_LOGICAL: MPI_Datatype = ompi_mpi_logical;
        MPI_INTEGER: MPI_Datatype = ompi_mpi_integer;
        MPI_REAL: MPI_Datatype = ompi_mpi_real;
        MPI_COMPLEX: MPI_Datatype = ompi_mpi_cplex;
        MPI_DOUBLE_PRECISION: MPI_Datatype = ompi_mpi_dblprec;
        MPI_DOUBLE_COMPLEX: MPI_Datatype = ompi_mpi_dblcplex;
        MPI_CHARACTER: MPI_Datatype = ompi_mpi_character;
        MPI_LONG_DOUBLE: MPI_Datatype = ompi_mpi_long_double;
        MPI_C_LONG_DOUBLE_COMPLEX: MPI_Datatype = ompi_mpi_c_long_double_complex;
        MPI_CXX_LONG_DOUBLE_COMPLEX: MPI_Datatype = ompi_mpi_cxx_ldblcplex;
        MPI_FLOAT_INT: MPI_Datatype = ompi_mpi_float_int;
        MPI_DOUBLE_INT: MPI_Datatype = ompi_mpi_double_int;
        MPI_LONG_INT: MPI_Datatype = ompi_mpi_long_int;
        MPI_2INT: MPI_Datatype = ompi_mpi_2int;
        MPI_SHORT_INT: MPI_Datatype = ompi_mpi_short_int;
        MPI_LONG_DOUBLE_INT: MPI_Datatype = ompi_mpi_longdbl_int;
        MPI_2REAL: MPI_Datatype = ompi_mpi_2real;
        MPI_2DOUBLE_PRECISION: MPI_Datatype = ompi_mpi_2dblprec;
        MPI_2INTEGER: MPI_Datatype = ompi_mpi_2integer;
        MPI_C_BOOL: MPI_Datatype = ompi_mpi_c_bool;
        MPI_CXX_BOOL: MPI_Datatype = ompi_mpi_cxx_bool;
        MPI_WCHAR: MPI_Datatype = ompi_mpi_wchar;
        MPI_INT8_T: MPI_Datatype = ompi_mpi_int8_t;
        MPI_UINT8_T: MPI_Datatype = ompi_mpi_uint8_t;
        MPI_CHAR: MPI_Datatype = ompi_mpi_char;
        MPI_SIGNED_CHAR: MPI_Datatype = ompi_mpi_signed_char;
        MPI_UNSIGNED_CHAR: MPI_Datatype = ompi_mpi_unsigned_char;
        MPI_BYTE: MPI_Datatype = ompi_mpi_byte;
        MPI_INT16_T: MPI_Datatype = ompi_mpi_int16_t;
        MPI_UINT16_T: MPI_Datatype = ompi_mpi_uint16_t;
        MPI_INT32_T: MPI_Datatype = ompi_mpi_int32_t;
        MPI_UINT32_T: MPI_Datatype = ompi_mpi_uint32_t;
        MPI_INT64_T: MPI_Datatype = ompi_mpi_int64_t;
        MPI_UINT64_T: MPI_Datatype = ompi_mpi_uint64_t;
        MPI_LOGICAL1: MPI_Datatype = ompi_mpi_logical1;
        MPI_INTEGER1: MPI_Datatype = ompi_mpi_integer1;
        MPI_LOGICAL2: MPI_Datatype = ompi_mpi_logical2;
        MPI_INTEGER2: MPI_Datatype = ompi_mpi_integer2;
        MPI_LOGICAL4: MPI_Datatype = ompi_mpi_logical4;
        MPI_INTEGER4: MPI_Datatype = ompi_mpi_integer4;
        MPI_REAL4: MPI_Datatype = ompi_mpi_real4;
        MPI_LOGICAL8: MPI_Datatype = ompi_mpi_logical8;
        MPI_INTEGER8: MPI_Datatype = ompi_mpi_integer8;
        MPI_REAL8: MPI_Datatype = ompi_mpi_real8;
        MPI_COMPLEX8: MPI_Datatype = ompi_mpi_complex8;
        MPI_REAL16: MPI_Datatype = ompi_mpi_real16;
        MPI_COMPLEX16: MPI_Datatype = ompi_mpi_complex16;
        MPI_COMPLEX32: MPI_Datatype = ompi_mpi_complex32;
    } };
}
#[allow(unused_imports, reason = "as above")]
pub(crate) use address_handles;

macro_rules! address_constants {
    ([] $($name:ident: $ty:ty = $symbol:ident;)*) => {
        $(pub const $name: $ty = {
            // Only the address is used, so that the type is none of the library's.
            unsafe extern "C" {
                static $symbol: u8;
            }
            (&raw const $symbol).cast_mut().cast()
        };)*
    };
}
/// The predefined handles, as strong references into the library.
pub mod handles {
    use super::*;
    address_handles! { address_constants }
}
