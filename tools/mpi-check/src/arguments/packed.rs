//! Buffers that are packed, and those of buffered sends: what goes into them must fit.

use core::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::OnceLock;

use mpi_tool_layer::mpi_sys::{self, MPI_BSEND_OVERHEAD, c_int};
use mpi_tool_layer::{Call as _, FunctionId, Word};

use super::{Checked, Other};
use crate::objects::{self, Kind};
use crate::unseen;

/// `MPI_BSEND_OVERHEAD` of the MPI that is there: Intel MPI has 88, where MPICH, whose ABI it has, has 96.
fn overhead() -> c_int {
    static OVERHEAD: OnceLock<c_int> = OnceLock::new();
    *OVERHEAD.get_or_init(|| {
        // SAFETY: `dlsym` may look for any name that ends in a NUL, and what it finds is only compared.
        let of_intel =
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"I_MPI_Check_image_status".as_ptr()) };
        if mpi_sys::ABI == mpi_sys::Abi::Mpich && !of_intel.is_null() {
            88
        } else {
            MPI_BSEND_OVERHEAD
        }
    })
}

/// The application has given MPI a buffer for buffered sends, now or before.
static HAS_BUFFER: AtomicBool = AtomicBool::new(false);
/// Where a communicator or a session has had a buffer, nobody knows which one a send has.
static HAS_OTHERS: AtomicBool = AtomicBool::new(false);
/// The size of the process's buffer; -1 if that is not known.
static SIZE: AtomicI64 = AtomicI64::new(NO_SIZE);
/// There is none.
const NO_SIZE: i64 = -2;
const UNKNOWN: i64 = -1;

/// MPI has accepted a call that gives it a buffer, or takes one back.
pub(crate) fn attached(checked: &Checked<'_>) {
    use FunctionId::{
        MPI_Buffer_attach, MPI_Buffer_attach_c, MPI_Buffer_detach, MPI_Buffer_detach_c,
    };
    match checked.function {
        MPI_Buffer_attach | MPI_Buffer_attach_c => {
            let [address, size] = [0, 1].map(|at| checked.call.words()[at]);
            // A number that is no address means a buffer of MPI's own (MPI_BUFFER_AUTOMATIC).
            let is_known = address > 4096 && address < u64::MAX - 4096;
            SIZE.store(if is_known { size as i64 } else { UNKNOWN }, Relaxed);
            HAS_BUFFER.store(true, Relaxed);
        }
        MPI_Buffer_detach | MPI_Buffer_detach_c => SIZE.store(NO_SIZE, Relaxed),
        _ => {
            HAS_OTHERS.store(true, Relaxed);
            HAS_BUFFER.store(true, Relaxed);
        }
    }
    // Sends that were right may be wrong now.
    objects::changed();
}

impl Checked<'_> {
    /// Only one buffer can be there at a time.
    pub(super) fn check_attach(&mut self) {
        if SIZE.load(Relaxed) != NO_SIZE {
            let message = "there is a buffer already: take it back first (MPI_Buffer_detach)";
            self.wrong("buffer", message, None);
        }
    }

    /// A buffered send needs a buffer, and one message must fit into it.
    pub(super) fn check_attached(&mut self) {
        let count = self.int(self.shape.sent.count).unwrap_or(0);
        let size = self.datatype(self.shape.sent.datatype).map_or(0, |info| info.size);
        // The program may give MPI a buffer, and take it back, by calls that are not seen.
        if count <= 0 || size == 0 || self.is_for_nobody() || unseen::hides_all() {
            return;
        }
        if !HAS_BUFFER.load(Relaxed) {
            let message = "there is no buffer for buffered sends (MPI_Buffer_attach)";
            self.wrong("buffer", message, None);
            return;
        }
        let buffer = SIZE.load(Relaxed);
        if buffer == UNKNOWN || HAS_OTHERS.load(Relaxed) {
            return;
        }
        let needed = i64::try_from(size.saturating_mul(count as u64)).unwrap_or(i64::MAX);
        let needed = needed.saturating_add(i64::from(overhead()));
        let message = match buffer {
            NO_SIZE => "the buffer for buffered sends was taken back (MPI_Buffer_detach)".into(),
            buffer if needed > buffer => format!(
                "the message needs {needed} bytes with MPI_BSEND_OVERHEAD, but the buffer has {buffer}"
            ),
            _ => return,
        };
        self.wrong("buffer", &message, None);
    }

    /// A number behind an address, of the width of the call's counts.
    fn number_at(&self, address: u64) -> Option<i64> {
        if address == 0 {
            return None;
        }
        // SAFETY: the address must be that of a number: MPI, which the call goes to next, reads it.
        unsafe {
            Some(match self.call.is_wide() {
                true => *<*const i64>::from_word(address),
                false => i64::from(*<*const c_int>::from_word(address)),
            })
        }
    }

    /// What is packed takes at least its own bytes, from the position on.
    pub(super) fn check_packed(&mut self) {
        use FunctionId::{MPI_Pack, MPI_Pack_c};
        let packs = matches!(self.function, MPI_Pack | MPI_Pack_c);
        // The buffer's size, the place of the position, the count and the datatype.
        let at = if packs { [4, 5, 1, 2] } else { [1, 2, 4, 5] };
        let [size, position, count, datatype] = at.map(|at| self.call.words()[at]);
        let (size, count) = (size as i64, count as i64);
        let Some(position) = self.number_at(position) else { return };
        if count > 0 {
            self.check_committed(datatype, "datatype");
        }
        let (name, what) = if packs { ("outsize", "packed") } else { ("insize", "unpacked") };
        let message = if !(0..=size.max(0)).contains(&position) {
            format!("the position is {position}, but the buffer has {size} bytes")
        } else {
            let Some(info) = super::datatype(datatype) else { return };
            let bytes = i64::try_from(info.size).ok().and_then(|bytes| bytes.checked_mul(count));
            let Some(end) = bytes.and_then(|bytes| bytes.checked_add(position)) else { return };
            if count <= 0 || end <= size {
                return;
            }
            format!("what is {what} ends at byte {end}, but the buffer has {size} bytes")
        };
        self.wrong(name, &message, None);
    }

    /// A datatype must be committed before it is used.
    pub(super) fn check_committed(&mut self, handle: u64, name: &str) {
        if let Some(object) = objects::there(Kind::Datatype, handle)
            && object.datatype.as_ref().is_some_and(|info| !info.is_committed)
        {
            let message = format!("the datatype ({name}) was not committed (MPI_Type_commit)");
            self.wrong(name, &message, Some(Other::new("made at", object.site)));
        }
    }
}
