//! Arguments of single functions: lists of ranks and sizes, access modes, buffers that must be there.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mpi_facts::Pattern;
use mpi_tool_layer::mpi_sys::{
    MPI_Datatype, MPI_Group, MPI_IN_PLACE, MPI_MODE_CREATE, MPI_MODE_EXCL, MPI_MODE_RDONLY,
    MPI_MODE_RDWR, MPI_MODE_SEQUENTIAL, MPI_MODE_WRONLY, MPI_SUCCESS, c_int, pmpi,
};
use mpi_tool_layer::{Call as _, FunctionClass, FunctionId, Word as _};

use super::{Checked, datatype};
use crate::findings::Other;
use crate::neighbors;
use crate::objects::{self, Kind};
use crate::operations;
use crate::types::Family;

/// The application has given MPI a buffer for buffered sends, now or before.
static HAS_BUFFER: AtomicBool = AtomicBool::new(false);

/// How many elements of a list are looked at.
const MOST: u64 = 1 << 16;

impl Checked<'_> {
    /// What single functions ask of their arguments, if nothing else is wrong.
    pub(super) fn check_lists(&mut self) {
        use FunctionId::*;
        if !self.is_sound {
            return;
        }
        match self.function {
            MPI_Group_incl | MPI_Group_excl => self.check_group_ranks(),
            MPI_Type_create_subarray => self.check_subarray(),
            MPI_File_open => self.check_mode(),
            MPI_Cart_coords | MPI_Cart_get | MPI_Cart_rank | MPI_Cart_shift | MPI_Cart_sub
            | MPI_Cartdim_get => self.check_grid(),
            MPI_Buffer_attach
            | MPI_Buffer_attach_c
            | MPI_Comm_attach_buffer
            | MPI_Comm_attach_buffer_c
            | MPI_Session_attach_buffer
            | MPI_Session_attach_buffer_c => HAS_BUFFER.store(true, Relaxed),
            MPI_Bsend | MPI_Bsend_c | MPI_Ibsend | MPI_Ibsend_c => self.check_attached(),
            _ => {}
        }
        match self.shape.pattern {
            Pattern::Accumulate | Pattern::GetAccumulate => self.check_accumulation(),
            _ if self.shape.received.array_of_datatypes => self.check_datatypes(),
            _ => {}
        }
        if self.shape.class == FunctionClass::Neighborhood {
            self.check_topology();
        }
    }

    /// A list of `int`s.
    fn list(&self, position: usize, length: u64) -> Vec<i64> {
        let address = self.call.words()[position];
        if address == 0 || length > MOST {
            return Vec::new();
        }
        let array = <*const c_int>::from_word(address);
        // SAFETY: the array must have the elements: the application says that it has so many, and MPI, which the call goes to
        // next, reads them all.
        (0..length as usize).map(|index| i64::from(unsafe { *array.add(index) })).collect()
    }

    /// The ranks of a group: each one once, and such as the group has.
    fn check_group_ranks(&mut self) {
        let [group, length] = [self.call.words()[0], self.call.words()[1]];
        if !objects::is_there(Kind::Group, group) {
            return;
        }
        let mut size = 0;
        // SAFETY: the function wants a valid group, and writes one `int`. This one is predefined, or MPI has made it, and the
        // application has not freed it.
        let code = unsafe { pmpi::MPI_Group_size(MPI_Group::from_word(group), &mut size) };
        let ranks = self.list(2, length);
        if code != MPI_SUCCESS {
            return;
        }
        if let Some(rank) = ranks.iter().find(|rank| !(0..i64::from(size)).contains(*rank)) {
            let message = format!("ranks has rank {rank}, but the group has {size} processes");
            self.wrong("ranks", &message, None);
            return;
        }
        let mut sorted = ranks;
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            self.wrong("ranks", &format!("ranks has rank {} twice", twice[0]), None);
        }
    }

    /// A part of an array must be in it.
    fn check_subarray(&mut self) {
        let length = self.call.words()[0];
        let [sizes, parts, starts] = [1, 2, 3].map(|position| self.list(position, length));
        for (at, ((size, part), start)) in sizes.iter().zip(&parts).zip(&starts).enumerate() {
            if *start < 0 || *part > *size || start + part > *size {
                let message = format!(
                    "a part of {part} from {start} on is not in an array of {size} (dimension {at})"
                );
                self.wrong("array_of_starts", &message, None);
                return;
            }
        }
    }

    /// How a file may be opened (MPI-4.0, 14.2.1).
    fn check_mode(&mut self) {
        let mode = self.call.words()[2] as c_int;
        let has = |bit: c_int| mode & bit != 0;
        let ways = [MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR];
        let message = if ways.into_iter().filter(|way| has(*way)).count() != 1 {
            "amode must have one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR"
        } else if has(MPI_MODE_RDONLY) && has(MPI_MODE_CREATE | MPI_MODE_EXCL) {
            "MPI_MODE_RDONLY is not allowed with MPI_MODE_CREATE and MPI_MODE_EXCL"
        } else if has(MPI_MODE_RDWR) && has(MPI_MODE_SEQUENTIAL) {
            "MPI_MODE_SEQUENTIAL is not allowed with MPI_MODE_RDWR"
        } else {
            return;
        };
        self.wrong("amode", message, None);
    }

    fn check_grid(&mut self) {
        let Some(comm) = self.call.communicator().filter(|_| self.comm.is_some()) else { return };
        if neighbors::has_grid(comm.raw()) == Some(false) {
            self.wrong("comm", "the communicator has no grid (MPI_Cart_create)", None);
        }
    }

    fn check_topology(&mut self) {
        let Some(comm) = &self.comm else { return };
        let Some(handle) = self.call.communicator() else { return };
        if comm.neighbors(self).is_none() && neighbors::has_none(handle.raw()) {
            self.wrong("comm", "the communicator has no topology", None);
        }
    }

    /// A buffered send needs a buffer.
    fn check_attached(&mut self) {
        let count = self.int(self.shape.sent.count).unwrap_or(0);
        let has_data = self.datatype(self.shape.sent.datatype).is_some_and(|info| info.size > 0);
        if HAS_BUFFER.load(Relaxed) || count <= 0 || !has_data || self.is_for_nobody() {
            return;
        }
        let message = "there is no buffer for buffered sends (MPI_Buffer_attach)";
        self.wrong("buffer", message, None);
    }

    /// Operations at the target are predefined ones, and some are for basic datatypes only (MPI-4.0, 12.3.4).
    fn check_accumulation(&mut self) {
        use FunctionId::{MPI_Compare_and_swap, MPI_Fetch_and_op};
        if let Some(op) = self.word(self.shape.operation)
            && operations::number(op) == 0
        {
            self.wrong_operation("the operation is not a predefined one");
            return;
        }
        if !matches!(self.function, MPI_Fetch_and_op | MPI_Compare_and_swap) {
            return;
        }
        let Some(info) = self.datatype(self.shape.received.datatype) else { return };
        if !info.is_predefined {
            self.wrong("datatype", "the datatype is not a predefined one", None);
        } else if self.function == MPI_Compare_and_swap
            && matches!(info.family, Family::Float | Family::Complex | Family::Pair)
        {
            let message = format!("MPI_Compare_and_swap is not for {}", info.signature.describe());
            self.wrong("datatype", &message, None);
        }
    }

    /// Datatypes of an operation that has one for each process: those of blocks with data must be there, and committed.
    fn check_datatypes(&mut self) {
        let Some(comm) = self.comm.as_ref().filter(|comm| !comm.is_inter) else { return };
        if self.shape.class != FunctionClass::Collective {
            return;
        }
        let size = comm.size as usize;
        for data in [self.shape.sent, self.shape.received] {
            let is_in_place = self.word(data.buffer) == Some(MPI_IN_PLACE.to_word());
            let both = self.word(data.count).zip(self.word(data.datatype));
            let Some((counts, types)) = both.filter(|_| !is_in_place) else { continue };
            if counts == 0 || types == 0 {
                continue;
            }
            let name = self.name_of(usize::from(data.datatype));
            for index in (0..size).filter(|index| self.count_at(counts, *index) > 0) {
                // SAFETY: the array must have the element: the standard asks for as many as the communicator has processes,
                // and MPI, which the call goes to next, reads them all.
                let handle = unsafe { *<*const MPI_Datatype>::from_word(types).add(index) };
                let handle = handle.to_word();
                if handle == Kind::Datatype.null() {
                    self.wrong(name, &format!("{name}[{index}] is MPI_DATATYPE_NULL"), None);
                    return;
                }
                if datatype(handle).is_some_and(|info| !info.is_committed) {
                    let message = format!("{name}[{index}] was not committed (MPI_Type_commit)");
                    let made = objects::get(Kind::Datatype, handle);
                    let other = made.map(|object| Other::new("made at", object.site));
                    self.wrong(name, &message, other);
                    return;
                }
            }
        }
    }
}
