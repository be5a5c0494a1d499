//! What of this process's MPI for Fortran is needed to convert calls.
//!
//! Fortran's constants that stand for something, such as `MPI_IN_PLACE` and `MPI_STATUS_IGNORE`, are variables, and a call
//! passes their addresses. Each MPI has them under names of its own, in its library or in a module of `mpi_f08`. They are
//! looked up once, when a process first calls from Fortran. If they cannot be found, calls go to MPI as they came, past
//! the layers.

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{
    AtomicI32,
    Ordering::{Acquire, Release},
};
use std::ffi::CString;
use std::sync::OnceLock;

use mpi_sys::{ABI, Abi};

use super::plan::Plan;
use crate::FunctionId;
use crate::host::linker::{Scope, clear_message, find};
use crate::host::neighbours::complete_pmpi;

/// The addresses that stand for something, as Fortran has them; 0 where it has none.
#[derive(Clone, Copy, Default)]
pub(super) struct Sentinels {
    /// `MPI_BOTTOM`
    pub(super) bottom: usize,
    /// `MPI_IN_PLACE`
    pub(super) in_place: usize,
    /// `MPI_STATUS_IGNORE`
    pub(super) status_ignore: usize,
    /// `MPI_STATUSES_IGNORE`
    pub(super) statuses_ignore: usize,
    /// `MPI_ERRCODES_IGNORE`
    pub(super) error_codes_ignore: usize,
    /// `MPI_ARGV_NULL`
    pub(super) argv_null: usize,
    /// `MPI_ARGVS_NULL`
    pub(super) argvs_null: usize,
    /// `MPI_UNWEIGHTED`
    pub(super) unweighted: usize,
    /// `MPI_WEIGHTS_EMPTY`
    pub(super) weights_empty: usize,
}

/// What conversion needs to know of the process.
pub(super) struct Fortran {
    pub(super) plans: Vec<Plan>,
    pub(super) mpif: Sentinels,
    pub(super) f08: Sentinels,
    /// The weights that C has for these.
    pub(super) c_unweighted: usize,
    pub(super) c_weights_empty: usize,
}

/// The address of a symbol of this name, wherever in the process; 0 if there is none.
pub(super) fn symbol(name: &CStr) -> usize {
    find(Scope::Default, name).addr()
}

/// What a symbol's pointer points to.
pub(super) fn pointer(name: &CStr) -> usize {
    let address = find(Scope::Default, name).cast::<usize>();
    // SAFETY: the address is null or that of MPI's variable of this name, which is an aligned pointer. MPICH has set
    // those that are not constant in `initialize_mpich`, before they are asked for.
    unsafe { address.as_ref() }.map_or(0, |pointer| *pointer)
}

impl Fortran {
    /// `None` if this process's MPI is of another ABI, or its Fortran library out of reach.
    pub(super) fn new() -> Option<Self> {
        // This may come before the tool's constructor.
        complete_pmpi();
        let plans = || FunctionId::all().map(Plan::new).collect();
        match ABI {
            Abi::OpenMpi => {
                let of = |what: &str| {
                    let all = [
                        format!("mpi_fortran_{what}_"),
                        format!("mpi_fortran_{what}"),
                        format!("mpi_fortran_{what}__"),
                        format!("MPI_FORTRAN_{}", what.to_uppercase()),
                    ];
                    let all = all.into_iter().filter_map(|name| CString::new(name).ok());
                    all.map(|name| symbol(&name)).find(|address| *address != 0).unwrap_or(0)
                };
                let sentinels = Sentinels {
                    bottom: of("bottom"),
                    in_place: of("in_place"),
                    status_ignore: of("status_ignore"),
                    statuses_ignore: of("statuses_ignore"),
                    error_codes_ignore: of("errcodes_ignore"),
                    argv_null: of("argv_null"),
                    argvs_null: of("argvs_null"),
                    unweighted: of("unweighted"),
                    weights_empty: of("weights_empty"),
                };
                // `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` of its mpi.h.
                (sentinels.bottom != 0).then(|| Self {
                    plans: plans(),
                    mpif: sentinels,
                    f08: sentinels,
                    c_unweighted: 2,
                    c_weights_empty: 3,
                })
            }
            Abi::Mpich => {
                initialize_mpich();
                let module = |what: &str| {
                    let name = format!("__mpi_f08_link_constants_MOD_mpi_{what}");
                    CString::new(name).map_or(0, |name| symbol(&name))
                };
                let f08 = Sentinels {
                    bottom: symbol(c"MPIR_F08_MPI_BOTTOM"),
                    in_place: symbol(c"MPIR_F08_MPI_IN_PLACE"),
                    status_ignore: symbol(c"MPIR_F08_MPI_STATUS_IGNORE_OBJ"),
                    statuses_ignore: symbol(c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ"),
                    error_codes_ignore: module("errcodes_ignore"),
                    argv_null: module("argv_null"),
                    argvs_null: module("argvs_null"),
                    unweighted: module("unweighted"),
                    weights_empty: module("weights_empty"),
                };
                let mpif = Sentinels {
                    bottom: pointer(c"MPIR_F_MPI_BOTTOM"),
                    status_ignore: pointer(c"MPI_F_STATUS_IGNORE"),
                    statuses_ignore: pointer(c"MPI_F_STATUSES_IGNORE"),
                    ..Sentinels::default()
                };
                (mpif.status_ignore != 0 && f08.argv_null != 0).then(|| Self {
                    plans: plans(),
                    mpif,
                    f08,
                    c_unweighted: pointer(c"MPI_UNWEIGHTED"),
                    c_weights_empty: pointer(c"MPI_WEIGHTS_EMPTY"),
                })
            }
            Abi::Standard => None,
        }
    }

    pub(super) fn get() -> Option<&'static Self> {
        static FORTRAN: OnceLock<Option<Fortran>> = OnceLock::new();
        FORTRAN
            .get_or_init(|| {
                let fortran = Fortran::new();
                clear_message();
                fortran
            })
            .as_ref()
    }
}

/// Has MPICH find its constants, as its own functions do at the first call of Fortran.
pub(super) fn initialize_mpich() {
    let needed = find(Scope::Default, c"MPIR_F_NeedInit").cast::<c_int>();
    let initialize = find(Scope::Default, c"mpirinitf_");
    if needed.is_null() || initialize.is_null() {
        return;
    }
    // SAFETY: MPICH's flag of this name, an aligned `int` that stays, and its function, which takes nothing. Other tools
    // and MPICH itself look at the flag in other threads: what it says is read and written by atomic operations, and
    // who does the same twice sets the same constants.
    unsafe {
        let needed = AtomicI32::from_ptr(needed);
        if needed.load(Acquire) != 0 {
            transmute::<*mut c_void, extern "C" fn()>(initialize)();
            needed.store(0, Release);
        }
    }
}
