//! The application's objects: which handles it has got, from where, and which of them it has freed.
//!
//! Only what has been seen is judged: a handle that came another way counts as valid.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use mpi_tool_layer::mpi_sys::{
    MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op,
    MPI_Request, MPI_Session, MPI_Win, c_int, pmpi,
};
use mpi_tool_layer::{FunctionId, ParameterKind, PredefinedDatatype, Site, Word};
use rustc_hash::FxHashMap;

use crate::extensions;
use crate::findings::{Class, report};
use crate::layouts::Layout;
use crate::operations;
use crate::order;
use crate::types::{self, Family, TypeInfo};

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Communicator,
    Group,
    Datatype,
    Operation,
    Window,
    File,
    Info,
    Errhandler,
    Keyval,
    Session,
}

impl Kind {
    /// The kind of a parameter that is a handle.
    pub(crate) fn of(kind: ParameterKind) -> Option<Self> {
        Some(match kind {
            ParameterKind::Communicator => Self::Communicator,
            ParameterKind::Group => Self::Group,
            ParameterKind::Datatype => Self::Datatype,
            ParameterKind::Operation => Self::Operation,
            ParameterKind::Window => Self::Window,
            ParameterKind::File => Self::File,
            ParameterKind::Info => Self::Info,
            ParameterKind::Errhandler => Self::Errhandler,
            ParameterKind::Keyval => Self::Keyval,
            ParameterKind::Session => Self::Session,
            _ => return None,
        })
    }

    /// May an application free it after `MPI_Finalize` (MPI-4.0, 11.4.1)? Sessions, which are no part of the world, and their error
    /// handlers and info objects, too.
    fn may_outlive_mpi(self) -> bool {
        matches!(self, Self::Info | Self::Errhandler | Self::Session)
    }

    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Communicator => "communicator",
            Self::Group => "group",
            Self::Datatype => "datatype",
            Self::Operation => "operation",
            Self::Window => "window",
            Self::File => "file",
            Self::Info => "info object",
            Self::Errhandler => "error handler",
            Self::Keyval => "keyval",
            Self::Session => "session",
        }
    }

    /// The null handle's name.
    pub(crate) fn null_name(self) -> &'static str {
        match self {
            Self::Communicator => "MPI_COMM_NULL",
            Self::Group => "MPI_GROUP_NULL",
            Self::Datatype => "MPI_DATATYPE_NULL",
            Self::Operation => "MPI_OP_NULL",
            Self::Window => "MPI_WIN_NULL",
            Self::File => "MPI_FILE_NULL",
            Self::Info => "MPI_INFO_NULL",
            Self::Errhandler => "MPI_ERRHANDLER_NULL",
            Self::Keyval => "MPI_KEYVAL_INVALID",
            Self::Session => "MPI_SESSION_NULL",
        }
    }

    /// The null handle.
    pub(crate) fn null(self) -> u64 {
        match self {
            Self::Communicator => pmpi::MPI_COMM_NULL.to_word(),
            Self::Group => pmpi::MPI_GROUP_NULL.to_word(),
            Self::Datatype => pmpi::MPI_DATATYPE_NULL.to_word(),
            Self::Operation => pmpi::MPI_OP_NULL.to_word(),
            Self::Window => pmpi::MPI_WIN_NULL.to_word(),
            Self::File => pmpi::MPI_FILE_NULL.to_word(),
            Self::Info => pmpi::MPI_INFO_NULL.to_word(),
            Self::Errhandler => pmpi::MPI_ERRHANDLER_NULL.to_word(),
            Self::Keyval => pmpi::MPI_KEYVAL_INVALID.to_word(),
            Self::Session => pmpi::MPI_SESSION_NULL.to_word(),
        }
    }

    /// Is it one of those that are always there?
    pub(crate) fn is_predefined(self, handle: u64) -> bool {
        match self {
            Self::Communicator => {
                handle == pmpi::MPI_COMM_WORLD.to_word() || handle == pmpi::MPI_COMM_SELF.to_word()
            }
            Self::Group => handle == pmpi::MPI_GROUP_EMPTY.to_word(),
            Self::Datatype => {
                PredefinedDatatype::of_handle(MPI_Datatype::from_word(handle)).is_some()
            }
            Self::Operation => operations::number(handle) != 0,
            Self::Info => handle == pmpi::MPI_INFO_ENV.to_word(),
            Self::Errhandler => {
                [pmpi::MPI_ERRORS_ARE_FATAL, pmpi::MPI_ERRORS_RETURN, pmpi::MPI_ERRORS_ABORT]
                    .iter()
                    .any(|known| handle == known.to_word())
            }
            _ => false,
        }
    }

    /// Reads a handle of this kind.
    ///
    /// # Safety
    /// The address is that of a handle of this kind.
    pub(crate) unsafe fn read(self, address: u64) -> u64 {
        // SAFETY: the caller promises what is read; each kind has its type.
        unsafe {
            match self {
                Self::Communicator => (*<*const MPI_Comm>::from_word(address)).to_word(),
                Self::Group => (*<*const MPI_Group>::from_word(address)).to_word(),
                Self::Datatype => (*<*const MPI_Datatype>::from_word(address)).to_word(),
                Self::Operation => (*<*const MPI_Op>::from_word(address)).to_word(),
                Self::Window => (*<*const MPI_Win>::from_word(address)).to_word(),
                Self::File => (*<*const MPI_File>::from_word(address)).to_word(),
                Self::Info => (*<*const MPI_Info>::from_word(address)).to_word(),
                Self::Errhandler => (*<*const MPI_Errhandler>::from_word(address)).to_word(),
                Self::Keyval => (*<*const c_int>::from_word(address)).to_word(),
                Self::Session => (*<*const MPI_Session>::from_word(address)).to_word(),
            }
        }
    }
}

const _: () = assert!(size_of::<MPI_Request>() == size_of::<MPI_Message>());

/// What is known of a handle.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    /// How often it was given to the application and not freed.
    references: u32,
    /// Where it came from, or where it was freed.
    pub(crate) site: Site,
    pub(crate) function: FunctionId,
    /// The application must free it.
    is_owned: bool,
    /// Of a datatype.
    pub(crate) datatype: Option<Arc<TypeInfo>>,
    /// Where its data lie.
    layout: Option<Arc<Layout>>,
    /// Of a communicator: the call that makes it is not complete.
    pub(crate) is_pending: bool,
    /// Of a keyval: an attribute has had it.
    is_used: bool,
    /// The number of processes of a window or a communicator, 0 if that is not known; of a file, how it may be used.
    pub(crate) size: u32,
}

impl Object {
    /// Has the application freed it?
    pub(crate) fn is_freed(&self) -> bool {
        self.references == 0
    }

    /// Was the handle given to the application once, and not freed since?
    pub(crate) fn is_only_one(&self) -> bool {
        self.references == 1
    }
}

static OBJECTS: Mutex<Option<FxHashMap<(Kind, u64), Object>>> = Mutex::new(None);

/// How many objects are kept at most: freed ones are forgotten beyond.
const MOST: usize = 1 << 16;

/// How often objects have come, gone or changed.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// A number that is another one when anything may be another object, or none, or committed.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// Something else that calls depend on has changed.
pub(crate) fn changed() {
    GENERATION.fetch_add(1, Relaxed);
}

/// Changes something.
fn change(action: impl FnOnce(&mut FxHashMap<(Kind, u64), Object>)) {
    with_all(action);
    GENERATION.fetch_add(1, Relaxed);
}

fn with_all<R>(action: impl FnOnce(&mut FxHashMap<(Kind, u64), Object>) -> R) -> R {
    let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    action(objects.get_or_insert_default())
}

/// Asks what is known of a handle, without a copy.
pub(crate) fn with<R>(kind: Kind, handle: u64, action: impl FnOnce(&Object) -> R) -> Option<R> {
    with_all(|objects| objects.get(&(kind, handle)).map(action))
}

/// What is known of a handle.
pub(crate) fn get(kind: Kind, handle: u64) -> Option<Object> {
    if kind.is_predefined(handle) {
        return None;
    }
    with_all(|objects| objects.get(&(kind, handle)).cloned())
}

/// The same of what the application has not freed, as far as that is known.
pub(crate) fn there(kind: Kind, handle: u64) -> Option<Object> {
    get(kind, handle).filter(|object| !object.is_freed())
}

/// May MPI be asked about a handle? If it is predefined, or MPI has made it and the application has not freed it.
pub(crate) fn is_there(kind: Kind, handle: u64) -> bool {
    kind.is_predefined(handle) || with(kind, handle, |object| !object.is_freed()) == Some(true)
}

/// The application has got a handle.
pub(crate) fn made(kind: Kind, handle: u64, function: FunctionId, site: Site, size: u32) {
    use FunctionId::{
        MPI_Comm_get_errhandler, MPI_Comm_get_parent, MPI_Errhandler_get, MPI_File_get_errhandler,
        MPI_Session_get_errhandler, MPI_Type_create_f90_complex, MPI_Type_create_f90_integer,
        MPI_Type_create_f90_real, MPI_Type_match_size, MPI_Win_get_errhandler,
    };
    if handle == kind.null() || kind.is_predefined(handle) {
        return;
    }
    let is_owned = !matches!(
        function,
        MPI_Comm_get_parent
            | MPI_Comm_get_errhandler
            | MPI_Errhandler_get
            | MPI_File_get_errhandler
            | MPI_Session_get_errhandler
            | MPI_Win_get_errhandler
            | MPI_Type_match_size
            | MPI_Type_create_f90_real
            | MPI_Type_create_f90_complex
            | MPI_Type_create_f90_integer
    );
    change(|objects| {
        if objects.len() >= MOST {
            objects.retain(|_, object| object.references > 0);
        }
        let object = objects.entry((kind, handle)).or_insert(Object {
            references: 0,
            site,
            function,
            is_owned,
            datatype: None,
            layout: None,
            is_pending: false,
            is_used: false,
            size,
        });
        if object.references == 0 {
            object.datatype = None;
            object.layout = None;
            object.is_used = false;
            object.is_pending = false;
            object.is_owned = is_owned;
            object.site = site;
            object.function = function;
            object.size = size;
        }
        object.references += 1;
    });
}

/// The call that makes a communicator is not complete, or is.
pub(crate) fn set_pending(comm: u64, is_pending: bool) {
    change(|objects| {
        if let Some(object) = objects.get_mut(&(Kind::Communicator, comm)) {
            object.is_pending = is_pending;
        }
    });
}

/// Nobody knows whether calls that make communicators are complete.
pub(crate) fn none_pending() {
    change(|objects| objects.values_mut().for_each(|object| object.is_pending = false));
}

/// An attribute has a keyval from now on.
pub(crate) fn used(keyval: u64) {
    with_all(|objects| {
        if let Some(object) = objects.get_mut(&(Kind::Keyval, keyval)) {
            object.is_used = true;
        }
    });
}

/// May an attribute have a keyval, which then lives on until the attribute is deleted (MPI-4.0, 7.7.2)?
pub(crate) fn is_in_use(keyval: u64) -> bool {
    with(Kind::Keyval, keyval, |object| object.is_used) == Some(true)
}

/// The application has got a handle once more that it had before, which it may free once more.
pub(crate) fn made_again(kind: Kind, handle: u64) {
    change(|objects| {
        if let Some(object) = objects.get_mut(&(kind, handle)) {
            object.is_owned &= object.references > 0;
            object.references += 1;
        }
    });
}

/// What a new datatype is.
pub(crate) fn set_datatype(handle: u64, info: TypeInfo, layout: Option<Layout>) {
    change(|objects| {
        if let Some(object) = objects.get_mut(&(Kind::Datatype, handle)) {
            object.datatype = Some(Arc::new(info));
            object.layout = layout.map(Arc::new);
        }
    });
}

/// Where the data of a datatype lie, if that is known.
pub(crate) fn layout(handle: u64) -> Option<Layout> {
    if let Some(info) = types::predefined(MPI_Datatype::from_word(handle)) {
        // The parts of some pairs have a gap between them.
        let is_known = !info.signature.is_any && (info.is_dense || info.family != Family::Pair);
        return is_known.then(|| Layout::bytes(info.size));
    }
    with(Kind::Datatype, handle, |object| {
        object.layout.as_deref().filter(|_| !object.is_freed()).cloned()
    })?
}

/// The application has committed a datatype.
pub(crate) fn committed(handle: u64) {
    change(|objects| {
        if let Some(object) = objects.get_mut(&(Kind::Datatype, handle))
            && let Some(info) = &object.datatype
        {
            object.datatype = Some(Arc::new(TypeInfo { is_committed: true, ..**info }));
        }
    });
}

/// The application has freed a handle.
pub(crate) fn freed(kind: Kind, handle: u64, function: FunctionId, site: Site) {
    change(|objects| {
        if let Some(object) = objects.get_mut(&(kind, handle)) {
            object.references = object.references.saturating_sub(1);
            if object.references == 0 && !object.is_owned {
                // Nobody has seen who has made it, and who may have it still: as MPI's bindings for C++ have error handlers that
                // are there all the time.
                objects.remove(&(kind, handle));
            } else if object.references == 0 {
                object.site = site;
                object.function = function;
            }
        }
    });
}

/// The world is over: what was not freed is a leak, unless it may be freed later. Where a session is still there, and what
/// belongs to it, the process's end decides.
pub(crate) fn report_leaks() {
    if !order::has_sessions() && !IS_TOLD.swap(true, Relaxed) {
        report_left(|kind| !kind.may_outlive_mpi());
    }
}

/// Is there something that may be freed until the process ends?
pub(crate) fn are_left() -> bool {
    let has_sessions = order::has_sessions();
    with_all(|objects| {
        objects.iter().any(|((kind, _), object)| {
            object.references > 0 && object.is_owned && (has_sessions || kind.may_outlive_mpi())
        })
    })
}

/// The process ends, and nothing of the program runs any more.
pub(crate) fn report_leaks_at_end() {
    let is_told = IS_TOLD.swap(true, Relaxed);
    report_left(|kind| kind.may_outlive_mpi() || !is_told);
}

/// What cannot be freed after `MPI_Finalize` has been told.
static IS_TOLD: AtomicBool = AtomicBool::new(false);
/// `MPI_Finalize` runs functions of the application, which may free something.
static HAS_CALLBACKS: AtomicBool = AtomicBool::new(false);

/// An attribute of `MPI_COMM_SELF` is set.
pub(crate) fn note_callback() {
    HAS_CALLBACKS.store(true, Relaxed);
}

/// May `MPI_Finalize` call the application?
pub(crate) fn has_callbacks() -> bool {
    HAS_CALLBACKS.load(Relaxed)
}

/// The same before `MPI_Finalize`, where it is sure that what is left will never be freed.
pub(crate) fn report_leaks_early() {
    if !HAS_CALLBACKS.load(Relaxed) {
        report_leaks();
    }
}

/// Tells of what is left of some kinds.
fn report_left(is_one: impl Fn(Kind) -> bool) {
    let left: Vec<_> = with_all(|objects| {
        let left = objects
            .iter()
            .filter(|(_, object)| object.references > 0 && object.is_owned)
            .filter(|((kind, _), _)| is_one(*kind))
            .map(|((kind, _), object)| (*kind, object.function, object.site));
        left.collect()
    });
    // Who calls MPI past this tool may have freed them.
    if !left.is_empty() && extensions::may_be_past() {
        return;
    }
    for (kind, function, site) in left {
        let name = kind.name();
        let message =
            format!("the {name} that {function} has made here was never freed ({})", advice(kind));
        report(Class::Leak, function, site, name, &message, None);
    }
}

/// What frees an object.
fn advice(kind: Kind) -> &'static str {
    match kind {
        Kind::Communicator => "MPI_Comm_free",
        Kind::Group => "MPI_Group_free",
        Kind::Datatype => "MPI_Type_free",
        Kind::Operation => "MPI_Op_free",
        Kind::Window => "MPI_Win_free",
        Kind::File => "MPI_File_close",
        Kind::Info => "MPI_Info_free",
        Kind::Errhandler => "MPI_Errhandler_free",
        Kind::Keyval => "MPI_Comm_free_keyval and its like",
        Kind::Session => "MPI_Session_finalize",
    }
}
