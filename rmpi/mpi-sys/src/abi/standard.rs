//! The `standard` ABI: MPI-5.0, chapter 20 (`libmpi_abi.so.1`).
//!
//! Handles are pointers that are never followed; predefined ones are small numbers.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr;

use super::{callback_types, opaque};

pub type MPI_Aint = isize;
pub type MPI_Count = i64;
pub type MPI_Fint = c_int;
pub type MPI_Offset = i64;

opaque! {
    MPI_Comm = MPI_ABI_Comm;
    MPI_Datatype = MPI_ABI_Datatype;
    MPI_Errhandler = MPI_ABI_Errhandler;
    MPI_File = MPI_ABI_File;
    MPI_Group = MPI_ABI_Group;
    MPI_Info = MPI_ABI_Info;
    MPI_Message = MPI_ABI_Message;
    MPI_Op = MPI_ABI_Op;
    MPI_Request = MPI_ABI_Request;
    MPI_Session = MPI_ABI_Session;
    MPI_Win = MPI_ABI_Win;
    MPI_T_enum = MPI_T_enum_t;
    MPI_T_cvar_handle = MPI_T_cvar_handle_t;
    MPI_T_pvar_handle = MPI_T_pvar_handle_t;
    MPI_T_pvar_session = MPI_T_pvar_session_t;
    MPI_T_event_registration = MPI_T_event_registration_t;
    MPI_T_event_instance = MPI_T_event_instance_t;
}

/// What a receive or a completion tells (MPI-5.0, 3.2.5).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_Status {
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
    pub MPI_internal: [c_int; 5],
}

impl MPI_Status {
    /// How many bytes have been received, and whether the operation was cancelled: where the ABI says
    /// in which fields that is. This one does not.
    pub fn received(&self) -> Option<(u64, bool)> {
        None
    }
}

/// The status of the `mpi_f08` bindings, as C sees it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_F08_status {
    pub MPI_SOURCE: MPI_Fint,
    pub MPI_TAG: MPI_Fint,
    pub MPI_ERROR: MPI_Fint,
    pub MPI_internal: [MPI_Fint; 5],
}

callback_types! {}

pub const MPI_ABI_VERSION: c_int = 1;
pub const MPI_ABI_SUBVERSION: c_int = 0;
pub const MPI_OP_NULL: MPI_Op = ptr::without_provenance_mut(0x20);
pub const MPI_SUM: MPI_Op = ptr::without_provenance_mut(0x21);
pub const MPI_MIN: MPI_Op = ptr::without_provenance_mut(0x22);
pub const MPI_MAX: MPI_Op = ptr::without_provenance_mut(0x23);
pub const MPI_PROD: MPI_Op = ptr::without_provenance_mut(0x24);
pub const MPI_BAND: MPI_Op = ptr::without_provenance_mut(0x28);
pub const MPI_BOR: MPI_Op = ptr::without_provenance_mut(0x29);
pub const MPI_BXOR: MPI_Op = ptr::without_provenance_mut(0x2a);
pub const MPI_LAND: MPI_Op = ptr::without_provenance_mut(0x30);
pub const MPI_LOR: MPI_Op = ptr::without_provenance_mut(0x31);
pub const MPI_LXOR: MPI_Op = ptr::without_provenance_mut(0x32);
pub const MPI_MINLOC: MPI_Op = ptr::without_provenance_mut(0x38);
pub const MPI_MAXLOC: MPI_Op = ptr::without_provenance_mut(0x39);
pub const MPI_REPLACE: MPI_Op = ptr::without_provenance_mut(0x3c);
pub const MPI_NO_OP: MPI_Op = ptr::without_provenance_mut(0x3d);
pub const MPI_COMM_NULL: MPI_Comm = ptr::without_provenance_mut(0x100);
pub const MPI_COMM_WORLD: MPI_Comm = ptr::without_provenance_mut(0x101);
pub const MPI_COMM_SELF: MPI_Comm = ptr::without_provenance_mut(0x102);
pub const MPI_GROUP_NULL: MPI_Group = ptr::without_provenance_mut(0x108);
pub const MPI_GROUP_EMPTY: MPI_Group = ptr::without_provenance_mut(0x109);
pub const MPI_WIN_NULL: MPI_Win = ptr::without_provenance_mut(0x110);
pub const MPI_FILE_NULL: MPI_File = ptr::without_provenance_mut(0x118);
pub const MPI_SESSION_NULL: MPI_Session = ptr::without_provenance_mut(0x120);
pub const MPI_MESSAGE_NULL: MPI_Message = ptr::without_provenance_mut(0x128);
pub const MPI_MESSAGE_NO_PROC: MPI_Message = ptr::without_provenance_mut(0x129);
pub const MPI_INFO_NULL: MPI_Info = ptr::without_provenance_mut(0x130);
pub const MPI_INFO_ENV: MPI_Info = ptr::without_provenance_mut(0x131);
pub const MPI_ERRHANDLER_NULL: MPI_Errhandler = ptr::without_provenance_mut(0x140);
pub const MPI_ERRORS_ARE_FATAL: MPI_Errhandler = ptr::without_provenance_mut(0x141);
pub const MPI_ERRORS_ABORT: MPI_Errhandler = ptr::without_provenance_mut(0x142);
pub const MPI_ERRORS_RETURN: MPI_Errhandler = ptr::without_provenance_mut(0x143);
pub const MPI_REQUEST_NULL: MPI_Request = ptr::without_provenance_mut(0x180);
pub const MPI_DATATYPE_NULL: MPI_Datatype = ptr::without_provenance_mut(0x200);
pub const MPI_AINT: MPI_Datatype = ptr::without_provenance_mut(0x201);
pub const MPI_COUNT: MPI_Datatype = ptr::without_provenance_mut(0x202);
pub const MPI_OFFSET: MPI_Datatype = ptr::without_provenance_mut(0x203);
pub const MPI_PACKED: MPI_Datatype = ptr::without_provenance_mut(0x207);
pub const MPI_SHORT: MPI_Datatype = ptr::without_provenance_mut(0x208);
pub const MPI_INT: MPI_Datatype = ptr::without_provenance_mut(0x209);
pub const MPI_LONG: MPI_Datatype = ptr::without_provenance_mut(0x20a);
pub const MPI_LONG_LONG: MPI_Datatype = ptr::without_provenance_mut(0x20b);
pub const MPI_LONG_LONG_INT: MPI_Datatype = ptr::without_provenance_mut(0x20b);
pub const MPI_UNSIGNED_SHORT: MPI_Datatype = ptr::without_provenance_mut(0x20c);
pub const MPI_UNSIGNED: MPI_Datatype = ptr::without_provenance_mut(0x20d);
pub const MPI_UNSIGNED_LONG: MPI_Datatype = ptr::without_provenance_mut(0x20e);
pub const MPI_UNSIGNED_LONG_LONG: MPI_Datatype = ptr::without_provenance_mut(0x20f);
pub const MPI_FLOAT: MPI_Datatype = ptr::without_provenance_mut(0x210);
pub const MPI_C_FLOAT_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x212);
pub const MPI_C_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x212);
pub const MPI_CXX_FLOAT_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x213);
pub const MPI_DOUBLE: MPI_Datatype = ptr::without_provenance_mut(0x214);
pub const MPI_C_DOUBLE_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x216);
pub const MPI_CXX_DOUBLE_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x217);
pub const MPI_LOGICAL: MPI_Datatype = ptr::without_provenance_mut(0x218);
pub const MPI_INTEGER: MPI_Datatype = ptr::without_provenance_mut(0x219);
pub const MPI_REAL: MPI_Datatype = ptr::without_provenance_mut(0x21a);
pub const MPI_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x21b);
pub const MPI_DOUBLE_PRECISION: MPI_Datatype = ptr::without_provenance_mut(0x21c);
pub const MPI_DOUBLE_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x21d);
pub const MPI_CHARACTER: MPI_Datatype = ptr::without_provenance_mut(0x21e);
pub const MPI_LONG_DOUBLE: MPI_Datatype = ptr::without_provenance_mut(0x220);
pub const MPI_C_LONG_DOUBLE_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x224);
pub const MPI_CXX_LONG_DOUBLE_COMPLEX: MPI_Datatype = ptr::without_provenance_mut(0x225);
pub const MPI_FLOAT_INT: MPI_Datatype = ptr::without_provenance_mut(0x228);
pub const MPI_DOUBLE_INT: MPI_Datatype = ptr::without_provenance_mut(0x229);
pub const MPI_LONG_INT: MPI_Datatype = ptr::without_provenance_mut(0x22a);
pub const MPI_2INT: MPI_Datatype = ptr::without_provenance_mut(0x22b);
pub const MPI_SHORT_INT: MPI_Datatype = ptr::without_provenance_mut(0x22c);
pub const MPI_LONG_DOUBLE_INT: MPI_Datatype = ptr::without_provenance_mut(0x22d);
pub const MPI_2REAL: MPI_Datatype = ptr::without_provenance_mut(0x230);
pub const MPI_2DOUBLE_PRECISION: MPI_Datatype = ptr::without_provenance_mut(0x231);
pub const MPI_2INTEGER: MPI_Datatype = ptr::without_provenance_mut(0x232);
pub const MPI_C_BOOL: MPI_Datatype = ptr::without_provenance_mut(0x238);
pub const MPI_CXX_BOOL: MPI_Datatype = ptr::without_provenance_mut(0x239);
pub const MPI_WCHAR: MPI_Datatype = ptr::without_provenance_mut(0x23c);
pub const MPI_INT8_T: MPI_Datatype = ptr::without_provenance_mut(0x240);
pub const MPI_UINT8_T: MPI_Datatype = ptr::without_provenance_mut(0x241);
pub const MPI_CHAR: MPI_Datatype = ptr::without_provenance_mut(0x243);
pub const MPI_SIGNED_CHAR: MPI_Datatype = ptr::without_provenance_mut(0x244);
pub const MPI_UNSIGNED_CHAR: MPI_Datatype = ptr::without_provenance_mut(0x245);
pub const MPI_BYTE: MPI_Datatype = ptr::without_provenance_mut(0x247);
pub const MPI_INT16_T: MPI_Datatype = ptr::without_provenance_mut(0x248);
pub const MPI_UINT16_T: MPI_Datatype = ptr::without_provenance_mut(0x249);
pub const MPI_INT32_T: MPI_Datatype = ptr::without_provenance_mut(0x250);
pub const MPI_UINT32_T: MPI_Datatype = ptr::without_provenance_mut(0x251);
pub const MPI_INT64_T: MPI_Datatype = ptr::without_provenance_mut(0x258);
pub const MPI_UINT64_T: MPI_Datatype = ptr::without_provenance_mut(0x259);
pub const MPI_LOGICAL1: MPI_Datatype = ptr::without_provenance_mut(0x2c0);
pub const MPI_INTEGER1: MPI_Datatype = ptr::without_provenance_mut(0x2c1);
pub const MPI_LOGICAL2: MPI_Datatype = ptr::without_provenance_mut(0x2c8);
pub const MPI_INTEGER2: MPI_Datatype = ptr::without_provenance_mut(0x2c9);
pub const MPI_REAL2: MPI_Datatype = ptr::without_provenance_mut(0x2ca);
pub const MPI_LOGICAL4: MPI_Datatype = ptr::without_provenance_mut(0x2d0);
pub const MPI_INTEGER4: MPI_Datatype = ptr::without_provenance_mut(0x2d1);
pub const MPI_REAL4: MPI_Datatype = ptr::without_provenance_mut(0x2d2);
pub const MPI_COMPLEX4: MPI_Datatype = ptr::without_provenance_mut(0x2d3);
pub const MPI_LOGICAL8: MPI_Datatype = ptr::without_provenance_mut(0x2d8);
pub const MPI_INTEGER8: MPI_Datatype = ptr::without_provenance_mut(0x2d9);
pub const MPI_REAL8: MPI_Datatype = ptr::without_provenance_mut(0x2da);
pub const MPI_COMPLEX8: MPI_Datatype = ptr::without_provenance_mut(0x2db);
pub const MPI_LOGICAL16: MPI_Datatype = ptr::without_provenance_mut(0x2e0);
pub const MPI_INTEGER16: MPI_Datatype = ptr::without_provenance_mut(0x2e1);
pub const MPI_REAL16: MPI_Datatype = ptr::without_provenance_mut(0x2e2);
pub const MPI_COMPLEX16: MPI_Datatype = ptr::without_provenance_mut(0x2e3);
pub const MPI_COMPLEX32: MPI_Datatype = ptr::without_provenance_mut(0x2eb);
pub const MPI_F_STATUS_SIZE: c_int = 8;
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
pub const MPI_ERR_PENDING: c_int = 18;
pub const MPI_ERR_IN_STATUS: c_int = 19;
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
pub const MPI_ERR_RMA_ATTACH: c_int = 46;
pub const MPI_ERR_RMA_CONFLICT: c_int = 47;
pub const MPI_ERR_RMA_RANGE: c_int = 48;
pub const MPI_ERR_RMA_SHARED: c_int = 49;
pub const MPI_ERR_RMA_SYNC: c_int = 50;
pub const MPI_ERR_SERVICE: c_int = 51;
pub const MPI_ERR_SIZE: c_int = 52;
pub const MPI_ERR_SPAWN: c_int = 53;
pub const MPI_ERR_UNSUPPORTED_DATAREP: c_int = 54;
pub const MPI_ERR_UNSUPPORTED_OPERATION: c_int = 55;
pub const MPI_ERR_WIN: c_int = 56;
pub const MPI_ERR_RMA_FLAVOR: c_int = 57;
pub const MPI_ERR_PROC_ABORTED: c_int = 58;
pub const MPI_ERR_VALUE_TOO_LARGE: c_int = 59;
pub const MPI_ERR_SESSION: c_int = 60;
pub const MPI_ERR_ERRHANDLER: c_int = 61;
pub const MPI_ERR_ABI: c_int = 62;
pub const MPI_T_ERR_CANNOT_INIT: c_int = 1001;
pub const MPI_T_ERR_NOT_ACCESSIBLE: c_int = 1002;
pub const MPI_T_ERR_NOT_INITIALIZED: c_int = 1003;
pub const MPI_T_ERR_NOT_SUPPORTED: c_int = 1004;
pub const MPI_T_ERR_MEMORY: c_int = 1005;
pub const MPI_T_ERR_INVALID: c_int = 1006;
pub const MPI_T_ERR_INVALID_INDEX: c_int = 1007;
pub const MPI_T_ERR_INVALID_ITEM: c_int = 1008;
pub const MPI_T_ERR_INVALID_SESSION: c_int = 1009;
pub const MPI_T_ERR_INVALID_HANDLE: c_int = 1010;
pub const MPI_T_ERR_INVALID_NAME: c_int = 1011;
pub const MPI_T_ERR_OUT_OF_HANDLES: c_int = 1012;
pub const MPI_T_ERR_OUT_OF_SESSIONS: c_int = 1013;
pub const MPI_T_ERR_CVAR_SET_NOT_NOW: c_int = 1014;
pub const MPI_T_ERR_CVAR_SET_NEVER: c_int = 1015;
pub const MPI_T_ERR_PVAR_NO_WRITE: c_int = 1016;
pub const MPI_T_ERR_PVAR_NO_STARTSTOP: c_int = 1017;
pub const MPI_T_ERR_PVAR_NO_ATOMIC: c_int = 1018;
pub const MPI_ERR_LASTCODE: c_int = 16383;
pub const MPI_BOTTOM: *mut c_void = ptr::null_mut();
pub const MPI_IN_PLACE: *mut c_void = ptr::without_provenance_mut(1);
pub const MPI_BUFFER_AUTOMATIC: *mut c_void = ptr::without_provenance_mut(2);
pub const MPI_ARGV_NULL: *mut *mut c_char = ptr::null_mut();
pub const MPI_ARGVS_NULL: *mut *mut *mut c_char = ptr::null_mut();
pub const MPI_ERRCODES_IGNORE: *mut c_int = ptr::null_mut();
pub const MPI_STATUS_IGNORE: *mut MPI_Status = ptr::null_mut();
pub const MPI_STATUSES_IGNORE: *mut MPI_Status = ptr::null_mut();
pub const MPI_UNWEIGHTED: *mut c_int = ptr::without_provenance_mut(10);
pub const MPI_WEIGHTS_EMPTY: *mut c_int = ptr::without_provenance_mut(11);
pub const MPI_MAX_DATAREP_STRING: c_int = 128;
pub const MPI_MAX_ERROR_STRING: c_int = 512;
pub const MPI_MAX_INFO_KEY: c_int = 256;
pub const MPI_MAX_INFO_VAL: c_int = 1024;
pub const MPI_MAX_LIBRARY_VERSION_STRING: c_int = 8192;
pub const MPI_MAX_OBJECT_NAME: c_int = 128;
pub const MPI_MAX_PORT_NAME: c_int = 1024;
pub const MPI_MAX_PROCESSOR_NAME: c_int = 256;
pub const MPI_MAX_STRINGTAG_LEN: c_int = 1024;
pub const MPI_MAX_PSET_NAME_LEN: c_int = 1024;
pub const MPI_BSEND_OVERHEAD: c_int = 512;
pub const MPI_MODE_APPEND: c_int = 1;
pub const MPI_MODE_CREATE: c_int = 2;
pub const MPI_MODE_DELETE_ON_CLOSE: c_int = 4;
pub const MPI_MODE_EXCL: c_int = 8;
pub const MPI_MODE_RDONLY: c_int = 16;
pub const MPI_MODE_RDWR: c_int = 32;
pub const MPI_MODE_SEQUENTIAL: c_int = 64;
pub const MPI_MODE_UNIQUE_OPEN: c_int = 128;
pub const MPI_MODE_WRONLY: c_int = 256;
pub const MPI_MODE_NOCHECK: c_int = 1024;
pub const MPI_MODE_NOPRECEDE: c_int = 2048;
pub const MPI_MODE_NOPUT: c_int = 4096;
pub const MPI_MODE_NOSTORE: c_int = 8192;
pub const MPI_MODE_NOSUCCEED: c_int = 16384;
pub const MPI_ANY_SOURCE: c_int = -1;
pub const MPI_ANY_TAG: c_int = -2;
pub const MPI_PROC_NULL: c_int = -3;
pub const MPI_ROOT: c_int = -4;
pub const MPI_UNDEFINED: c_int = -32766;
pub const MPI_THREAD_SINGLE: c_int = 0;
pub const MPI_THREAD_FUNNELED: c_int = 1024;
pub const MPI_THREAD_SERIALIZED: c_int = 2048;
pub const MPI_THREAD_MULTIPLE: c_int = 4096;
pub const MPI_ORDER_C: c_int = 12;
pub const MPI_ORDER_FORTRAN: c_int = 15;
pub const MPI_DISTRIBUTE_NONE: c_int = 16;
pub const MPI_DISTRIBUTE_BLOCK: c_int = 17;
pub const MPI_DISTRIBUTE_CYCLIC: c_int = 18;
pub const MPI_DISTRIBUTE_DFLT_DARG: c_int = 19;
pub const MPI_COMBINER_NAMED: c_int = 101;
pub const MPI_COMBINER_DUP: c_int = 102;
pub const MPI_COMBINER_CONTIGUOUS: c_int = 103;
pub const MPI_COMBINER_VECTOR: c_int = 104;
pub const MPI_COMBINER_HVECTOR: c_int = 105;
pub const MPI_COMBINER_INDEXED: c_int = 106;
pub const MPI_COMBINER_HINDEXED: c_int = 107;
pub const MPI_COMBINER_INDEXED_BLOCK: c_int = 108;
pub const MPI_COMBINER_HINDEXED_BLOCK: c_int = 109;
pub const MPI_COMBINER_STRUCT: c_int = 110;
pub const MPI_COMBINER_SUBARRAY: c_int = 111;
pub const MPI_COMBINER_DARRAY: c_int = 112;
pub const MPI_COMBINER_F90_REAL: c_int = 113;
pub const MPI_COMBINER_F90_COMPLEX: c_int = 114;
pub const MPI_COMBINER_F90_INTEGER: c_int = 115;
pub const MPI_COMBINER_RESIZED: c_int = 116;
pub const MPI_COMBINER_VALUE_INDEX: c_int = 117;
pub const MPI_TYPECLASS_INTEGER: c_int = 192;
pub const MPI_TYPECLASS_REAL: c_int = 193;
pub const MPI_TYPECLASS_COMPLEX: c_int = 194;
pub const MPI_IDENT: c_int = 201;
pub const MPI_CONGRUENT: c_int = 202;
pub const MPI_SIMILAR: c_int = 203;
pub const MPI_UNEQUAL: c_int = 204;
pub const MPI_CART: c_int = 211;
pub const MPI_GRAPH: c_int = 212;
pub const MPI_DIST_GRAPH: c_int = 213;
pub const MPI_COMM_TYPE_SHARED: c_int = 221;
pub const MPI_COMM_TYPE_HW_UNGUIDED: c_int = 222;
pub const MPI_COMM_TYPE_HW_GUIDED: c_int = 223;
pub const MPI_COMM_TYPE_RESOURCE_GUIDED: c_int = 224;
pub const MPI_LOCK_EXCLUSIVE: c_int = 301;
pub const MPI_LOCK_SHARED: c_int = 302;
pub const MPI_WIN_FLAVOR_CREATE: c_int = 311;
pub const MPI_WIN_FLAVOR_ALLOCATE: c_int = 312;
pub const MPI_WIN_FLAVOR_DYNAMIC: c_int = 313;
pub const MPI_WIN_FLAVOR_SHARED: c_int = 314;
pub const MPI_WIN_UNIFIED: c_int = 321;
pub const MPI_WIN_SEPARATE: c_int = 322;
pub const MPI_SEEK_CUR: c_int = 401;
pub const MPI_SEEK_END: c_int = 402;
pub const MPI_SEEK_SET: c_int = 403;
pub const MPI_DISPLACEMENT_CURRENT: MPI_Offset = -1;
pub const MPI_KEYVAL_INVALID: c_int = 0;
pub const MPI_TAG_UB: c_int = 501;
pub const MPI_IO: c_int = 502;
pub const MPI_HOST: c_int = 503;
pub const MPI_WTIME_IS_GLOBAL: c_int = 504;
pub const MPI_APPNUM: c_int = 505;
pub const MPI_LASTUSEDCODE: c_int = 506;
pub const MPI_UNIVERSE_SIZE: c_int = 507;
pub const MPI_WIN_BASE: c_int = 601;
pub const MPI_WIN_DISP_UNIT: c_int = 602;
pub const MPI_WIN_SIZE: c_int = 603;
pub const MPI_WIN_CREATE_FLAVOR: c_int = 604;
pub const MPI_WIN_MODEL: c_int = 605;
pub const MPI_T_ENUM_NULL: MPI_T_enum = ptr::null_mut();
pub const MPI_T_CVAR_HANDLE_NULL: MPI_T_cvar_handle = ptr::null_mut();
pub const MPI_T_PVAR_SESSION_NULL: MPI_T_pvar_session = ptr::null_mut();
pub const MPI_T_PVAR_HANDLE_NULL: MPI_T_pvar_handle = ptr::null_mut();
pub const MPI_T_PVAR_ALL_HANDLES: MPI_T_pvar_handle = ptr::without_provenance_mut(0x1);
pub const MPI_T_CB_REQUIRE_NONE: MPI_T_cb_safety = 0;
pub const MPI_T_CB_REQUIRE_MPI_RESTRICTED: MPI_T_cb_safety = 3;
pub const MPI_T_CB_REQUIRE_THREAD_SAFE: MPI_T_cb_safety = 15;
pub const MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE: MPI_T_cb_safety = 63;
pub const MPI_T_SOURCE_ORDERED: MPI_T_source_order = 1;
pub const MPI_T_SOURCE_UNORDERED: MPI_T_source_order = 2;
pub const MPI_T_VERBOSITY_USER_BASIC: c_int = 9;
pub const MPI_T_VERBOSITY_USER_DETAIL: c_int = 10;
pub const MPI_T_VERBOSITY_USER_ALL: c_int = 12;
pub const MPI_T_VERBOSITY_TUNER_BASIC: c_int = 17;
pub const MPI_T_VERBOSITY_TUNER_DETAIL: c_int = 18;
pub const MPI_T_VERBOSITY_TUNER_ALL: c_int = 20;
pub const MPI_T_VERBOSITY_MPIDEV_BASIC: c_int = 33;
pub const MPI_T_VERBOSITY_MPIDEV_DETAIL: c_int = 34;
pub const MPI_T_VERBOSITY_MPIDEV_ALL: c_int = 36;
pub const MPI_T_BIND_NO_OBJECT: c_int = 1;
pub const MPI_T_BIND_MPI_COMM: c_int = 2;
pub const MPI_T_BIND_MPI_DATATYPE: c_int = 3;
pub const MPI_T_BIND_MPI_ERRHANDLER: c_int = 4;
pub const MPI_T_BIND_MPI_FILE: c_int = 5;
pub const MPI_T_BIND_MPI_GROUP: c_int = 6;
pub const MPI_T_BIND_MPI_OP: c_int = 7;
pub const MPI_T_BIND_MPI_REQUEST: c_int = 8;
pub const MPI_T_BIND_MPI_WIN: c_int = 9;
pub const MPI_T_BIND_MPI_MESSAGE: c_int = 10;
pub const MPI_T_BIND_MPI_INFO: c_int = 11;
pub const MPI_T_BIND_MPI_SESSION: c_int = 12;
pub const MPI_T_SCOPE_CONSTANT: c_int = 1;
pub const MPI_T_SCOPE_READONLY: c_int = 2;
pub const MPI_T_SCOPE_LOCAL: c_int = 3;
pub const MPI_T_SCOPE_GROUP: c_int = 4;
pub const MPI_T_SCOPE_GROUP_EQ: c_int = 5;
pub const MPI_T_SCOPE_ALL: c_int = 6;
pub const MPI_T_SCOPE_ALL_EQ: c_int = 7;
pub const MPI_T_PVAR_CLASS_STATE: c_int = 1;
pub const MPI_T_PVAR_CLASS_LEVEL: c_int = 2;
pub const MPI_T_PVAR_CLASS_SIZE: c_int = 3;
pub const MPI_T_PVAR_CLASS_PERCENTAGE: c_int = 4;
pub const MPI_T_PVAR_CLASS_HIGHWATERMARK: c_int = 5;
pub const MPI_T_PVAR_CLASS_LOWWATERMARK: c_int = 6;
pub const MPI_T_PVAR_CLASS_COUNTER: c_int = 7;
pub const MPI_T_PVAR_CLASS_AGGREGATE: c_int = 8;
pub const MPI_T_PVAR_CLASS_TIMER: c_int = 9;
pub const MPI_T_PVAR_CLASS_GENERIC: c_int = 10;

/// Nothing: all predefined handles of this ABI are numbers.
pub mod handles {}

#[allow(unused_macros, reason = "used where this ABI is the crate's")]
macro_rules! address_handles {
    ($callback:ident $($context:tt)*) => { $callback! { [$($context)*] } };
}
#[allow(unused_imports, reason = "as above")]
pub(crate) use address_handles;
