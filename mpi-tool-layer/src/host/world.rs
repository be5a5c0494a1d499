//! `MPI_COMM_WORLD` as a tool uses it: below all tools, and only while it is there.
//!
//! The framework communicates in one place only, the application's call of `MPI_Finalize`. All ranks come there, and none
//! of them can be waiting for another one's message: what is pending then is the application's error. (mpi-check also does
//! so in calls in which all ranks take part, with limits for all waiting.) Each question first makes sure of what it needs:
//!
//! 1. There is an MPI, and it has the ABI that the tool was built for ([`wrong_abi`]). Else the handles of the tool
//!    mean nothing to it.
//! 2. Its predefined handles are known. Open MPI's are addresses, which a tool that was loaded before MPI lacks.
//! 3. The world is initialized and not finalized ([`is_active`]). With sessions alone there is none.
//!
//! Whoever communicates shows by an [`ActiveWorld`] that all this was asked.
//!
//! Merging then takes four collective operations: all ranks [agree](ActiveWorld::agree) that they have the same tool with as
//! many counters, and three reductions make sums, least and greatest values at rank 0. Errors return meanwhile
//! ([`ErrorsReturn`]), and the application's error handler is put back.

use core::ffi::{CStr, c_int};
use core::marker::PhantomData;

use std::sync::OnceLock;

use mpi_sys::{ABI, Abi, pmpi};

use crate::FunctionId;
use crate::host::linker::{Scope, clear_message, find, open_again};
use crate::host::objects::{each_object, path_of};
use crate::host::report::Row;

/// The ABI of the MPI in this process, if it is not the one that the tool was built for. Handles
/// and constants would mean something else there.
pub fn wrong_abi() -> Option<Abi> {
    abi().filter(|actual| *actual != ABI)
}

/// The ABI of the MPI in this process, if there is one. Once there is, it stays.
pub fn abi() -> Option<Abi> {
    static FOUND: OnceLock<Abi> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Some(*found);
    }
    let found = find_abi()?;
    Some(*FOUND.get_or_init(|| found))
}

fn find_abi() -> Option<Abi> {
    const OPENMPI: &CStr = c"ompi_mpi_comm_world";
    let init = pmpi::address(FunctionId::MPI_Init as usize)?;
    let file = path_of(init.addr().get())?;
    // Most often nobody has it, which is seen sooner than the dynamic linker is asked.
    let mut may_be_openmpi = false;
    each_object(|object| may_be_openmpi |= object.may_export(OPENMPI));
    let is_openmpi = may_be_openmpi && {
        // The library may be loaded such that only its own handle finds its symbols.
        let scope = open_again(&file, 0).map_or(Scope::Default, Scope::Library);
        !find(scope, OPENMPI).is_null()
    };
    clear_message();
    let by_name = || Abi::of_library(file.to_str().ok()?.rsplit('/').next()?);
    Some(if is_openmpi {
        Abi::OpenMpi
    } else {
        by_name().filter(|abi| *abi != Abi::OpenMpi).unwrap_or(Abi::Mpich)
    })
}

/// Why a tool can do nothing with the world of this process, where it can not.
pub(crate) fn out_of_reach() -> Option<&'static str> {
    if wrong_abi().is_some() {
        Some("the tool was built for another ABI")
    } else if !has_handles() {
        Some("MPI was loaded after the tool")
    } else {
        None
    }
}

/// Has this process a world that is initialized and not finalized?
pub(crate) fn is_active() -> bool {
    let both = [FunctionId::MPI_Initialized, FunctionId::MPI_Finalized];
    if !both.iter().all(|function| pmpi::available(*function as usize)) {
        return false;
    }
    let (mut initialized, mut finalized) = (0, 0);
    // SAFETY: MPI_Initialized and MPI_Finalized may be called at any time and by any thread, and write one
    // `int` each. Both are there, as was checked.
    let results =
        unsafe { [pmpi::MPI_Initialized(&mut initialized), pmpi::MPI_Finalized(&mut finalized)] };
    results == [pmpi::MPI_SUCCESS; 2] && initialized != 0 && finalized == 0
}

/// The thread level that the world was started with, as long as it is there.
pub(crate) fn thread_level() -> Option<c_int> {
    let mut level = mpi_sys::MPI_THREAD_MULTIPLE;
    // SAFETY: MPI_Query_thread writes one `int`, and any thread may call it from MPI_Init to MPI_Finalize,
    // which `is_active` tells. All MPIs have it since MPI-2.
    let code = is_active().then(|| unsafe { pmpi::MPI_Query_thread(&mut level) })?;
    (code == pmpi::MPI_SUCCESS).then_some(level)
}

/// Was this world spawned by another one?
pub(crate) fn is_spawned() -> bool {
    if out_of_reach().is_some()
        || !is_active()
        || !pmpi::available(FunctionId::MPI_Comm_get_parent as usize)
    {
        return false;
    }
    let mut parent = pmpi::MPI_COMM_NULL;
    // SAFETY: MPI_Comm_get_parent writes one handle. It needs a world between MPI_Init and MPI_Finalize, and
    // one of this ABI: both were checked above, and that the function is there.
    let result = unsafe { pmpi::MPI_Comm_get_parent(&mut parent) };
    result == pmpi::MPI_SUCCESS && parent != pmpi::MPI_COMM_NULL
}

/// Are the predefined handles known? Open MPI's are addresses, which the dynamic linker has left
/// empty where the library came later.
pub(crate) fn has_handles() -> bool {
    ABI != Abi::OpenMpi || pmpi::MPI_COMM_WORLD as usize != 0
}

/// The world of this process: it is active, and its handles are those of the tool's ABI. A value of this type is used in the
/// call of the application's in which it was made, and not kept: the application ends its world only when no thread of it is in
/// a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActiveWorld(PhantomData<*const ()>);

impl ActiveWorld {
    /// The world, if there is one now: not before `MPI_Init`, nor after `MPI_Finalize`.
    pub(crate) fn now() -> Option<Self> {
        (out_of_reach().is_none() && is_active()).then_some(Self(PhantomData))
    }

    /// Rank and size.
    pub(crate) fn position(self) -> Option<(u32, u32)> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI_Comm_rank and MPI_Comm_size write one `int` each, and want a valid communicator, which
        // MPI_COMM_WORLD is while the world is active.
        let results = unsafe {
            [
                pmpi::MPI_Comm_rank(pmpi::MPI_COMM_WORLD, &mut rank),
                pmpi::MPI_Comm_size(pmpi::MPI_COMM_WORLD, &mut ranks),
            ]
        };
        if results != [pmpi::MPI_SUCCESS; 2] {
            return None;
        }
        Some((rank.try_into().ok()?, ranks.try_into().ok()?))
    }

    /// Has each rank the same fingerprint: a hash and its complement? An error, on all ranks, if not.
    pub(crate) fn agree(self, fingerprint: &[u64; 2]) -> Result<(), c_int> {
        let mut lowest = [0_u64; 2];
        // SAFETY: MPI_Allreduce reads and writes two elements of 64 bits: both arrays have two `u64`, and do not
        // overlap. It wants a valid communicator, which the world is while it is active.
        check(unsafe {
            pmpi::MPI_Allreduce(
                fingerprint.as_ptr().cast(),
                lowest.as_mut_ptr().cast(),
                2,
                pmpi::MPI_UINT64_T,
                pmpi::MPI_MIN,
                pmpi::MPI_COMM_WORLD,
            )
        })?;
        // The least of the hashes and of their complements are a hash and its complement only if
        // all ranks have the same one.
        if lowest[0] == !lowest[1] { Ok(()) } else { Err(pmpi::MPI_ERR_OTHER) }
    }

    /// The values of all ranks, put together at rank 0; zeros elsewhere. All ranks have [agreed](Self::agree) on their number.
    fn reduce(self, values: &[u64], op: pmpi::MPI_Op) -> Result<Vec<u64>, c_int> {
        let count = c_int::try_from(values.len()).map_err(|_| pmpi::MPI_ERR_COUNT)?;
        let mut result = vec![0_u64; values.len()];
        // SAFETY: MPI_Reduce reads `count` elements of 64 bits and, at the root, writes as many: both buffers
        // have that length and do not overlap. It wants a valid communicator, which the world is while it is active.
        check(unsafe {
            pmpi::MPI_Reduce(
                values.as_ptr().cast(),
                result.as_mut_ptr().cast(),
                count,
                pmpi::MPI_UINT64_T,
                op,
                0,
                pmpi::MPI_COMM_WORLD,
            )
        })?;
        Ok(result)
    }
}

/// Rank and size of `MPI_COMM_WORLD`. Before `MPI_Init` and after `MPI_Finalize` there is no world, and this is `None`.
pub fn position() -> Option<(u32, u32)> {
    ActiveWorld::now()?.position()
}

/// The rows at rank 0, nothing elsewhere. `fingerprint` must be the same on all ranks.
pub(crate) fn merge(fingerprint: &[u64; 2], values: &[u64]) -> Result<Option<Vec<Row>>, c_int> {
    let world = ActiveWorld::now().ok_or(pmpi::MPI_ERR_COMM)?;
    let _errors = ErrorsReturn::on(world)?;
    world.agree(fingerprint)?;
    let total = world.reduce(values, pmpi::MPI_SUM)?;
    let min = world.reduce(values, pmpi::MPI_MIN)?;
    let max = world.reduce(values, pmpi::MPI_MAX)?;
    let (rank, _) = world.position().ok_or(pmpi::MPI_ERR_COMM)?;
    Ok((rank == 0).then(|| {
        let rows = total.into_iter().zip(min).zip(max);
        rows.map(|((total, min), max)| Row { total, min, max }).collect()
    }))
}

pub(crate) fn check(code: c_int) -> Result<(), c_int> {
    if code == pmpi::MPI_SUCCESS { Ok(()) } else { Err(code) }
}

/// Errors on the world and on `MPI_COMM_SELF` return, as long as this lives: a tool's failed reduction is no reason to
/// end the application. Errors of calls without a communicator are those of `MPI_COMM_SELF`.
pub(crate) struct ErrorsReturn {
    theirs: [(pmpi::MPI_Comm, pmpi::MPI_Errhandler); 2],
    _world: ActiveWorld,
}

impl ErrorsReturn {
    pub(crate) fn on(world: ActiveWorld) -> Result<Self, c_int> {
        let of = |comm| -> Result<_, c_int> {
            let mut theirs = pmpi::MPI_ERRHANDLER_NULL;
            // SAFETY: both functions want a valid communicator, which the two predefined ones are while the world is active,
            // and a place for a handle or a valid handle: `theirs` is one, and MPI_ERRORS_RETURN is predefined.
            unsafe {
                check(pmpi::MPI_Comm_get_errhandler(comm, &mut theirs))?;
                check(pmpi::MPI_Comm_set_errhandler(comm, pmpi::MPI_ERRORS_RETURN))?;
            }
            Ok((comm, theirs))
        };
        let theirs = [of(pmpi::MPI_COMM_WORLD)?, of(pmpi::MPI_COMM_SELF)?];
        Ok(Self { theirs, _world: world })
    }
}

impl Drop for ErrorsReturn {
    fn drop(&mut self) {
        for (comm, theirs) in &mut self.theirs {
            // SAFETY: the functions want a valid communicator and a valid handle. The predefined ones are there: the world is
            // active as long as there is an `ActiveWorld`. MPI has given the handle to `on`, with a reference of its own, which
            // is freed here and nowhere else.
            unsafe {
                pmpi::MPI_Comm_set_errhandler(*comm, *theirs);
                pmpi::MPI_Errhandler_free(theirs);
            }
        }
    }
}
