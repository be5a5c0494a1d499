//! Arguments of single functions: lists of ranks and sizes, access modes, buffers that must be there.

use mpi_facts::Pattern;
use mpi_tool_layer::mpi_sys::{
    MPI_Comm, MPI_DISPLACEMENT_CURRENT, MPI_Datatype, MPI_Group, MPI_IN_PLACE, MPI_MODE_CREATE,
    MPI_MODE_EXCL, MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_SEQUENTIAL, MPI_MODE_WRONLY,
    MPI_Offset, MPI_PROC_NULL, MPI_SUCCESS, c_int, pmpi,
};
use mpi_tool_layer::{Call as _, FunctionClass, FunctionId, Word as _};

use super::handles::datatype_fault;
use super::{Checked, datatype};
use crate::findings::Other;
use crate::neighbors;
use crate::objects::{self, Kind};
use crate::operations;
use crate::types::Family;

/// How many elements of a list are looked at.
const MOST: u64 = 1 << 16;

impl Checked<'_> {
    /// What single functions ask of their arguments, if nothing else is wrong.
    pub(super) fn check_lists(&mut self) {
        use FunctionId::*;
        if !self.is_sound {
            return;
        }
        self.check_one_group();
        match self.function {
            MPI_Group_incl | MPI_Group_excl | MPI_Group_translate_ranks => self.check_group_ranks(),
            MPI_Group_range_incl | MPI_Group_range_excl => self.check_group_ranges(),
            MPI_Type_create_subarray => self.check_subarray(),
            MPI_File_open => self.check_mode(),
            MPI_Cart_coords | MPI_Cart_get | MPI_Cart_rank | MPI_Cart_shift | MPI_Cart_sub
            | MPI_Cartdim_get => self.check_grid(),
            MPI_Dims_create => self.check_division(),
            MPI_Buffer_attach | MPI_Buffer_attach_c => self.check_attach(),
            MPI_Bsend | MPI_Bsend_c | MPI_Ibsend | MPI_Ibsend_c => self.check_attached(),
            MPI_Pack | MPI_Pack_c | MPI_Unpack | MPI_Unpack_c => self.check_packed(),
            MPI_File_set_view => {
                let [etype, filetype] = [2, 3].map(|at| self.call.words()[at]);
                self.check_committed(etype, "etype");
                self.check_committed(filetype, "filetype");
                let place = self.call.words()[1] as MPI_Offset;
                if place < 0 && place != MPI_DISPLACEMENT_CURRENT {
                    self.wrong("disp", &format!("disp is {place}, and must not be negative"), None);
                }
            }
            MPI_Type_indexed
            | MPI_Type_indexed_c
            | MPI_Type_create_hindexed
            | MPI_Type_create_hindexed_c
            | MPI_Type_hindexed => self.check_block_lengths(),
            MPI_Type_create_struct | MPI_Type_create_struct_c | MPI_Type_struct => {
                self.check_block_lengths();
                if self.is_sound {
                    self.check_part_types();
                }
            }
            MPI_Graph_create | MPI_Graph_map => self.check_graph(),
            MPI_Dist_graph_create | MPI_Dist_graph_create_adjacent => self.check_dist_graph(),
            MPI_Intercomm_merge | MPI_Comm_remote_size | MPI_Comm_remote_group => {
                self.check_two_groups();
            }
            _ => {}
        }
        match self.shape.pattern {
            Pattern::Accumulate | Pattern::GetAccumulate => self.check_accumulation(),
            _ if self.shape.received.array_of_datatypes => self.check_datatypes(),
            _ => {}
        }
        match self.shape.class {
            FunctionClass::Neighborhood => self.check_topology(),
            FunctionClass::Attribute => self.check_attribute(),
            FunctionClass::Info => self.check_info(),
            FunctionClass::Io => self.check_access(),
            _ => {}
        }
    }

    /// A list of `int`s.
    pub(super) fn list(&self, position: usize, length: u64) -> Vec<i64> {
        let address = self.call.words()[position];
        if address == 0 || length > MOST {
            return Vec::new();
        }
        let array = <*const c_int>::from_word(address);
        // SAFETY: the array must have the elements: the application says that it has so many, and MPI, which the call goes to
        // next, reads them all.
        (0..length as usize).map(|index| i64::from(unsafe { *array.add(index) })).collect()
    }

    /// How many processes the call's first group has; `None` if nobody may ask.
    fn group_size(&self) -> Option<i64> {
        let group = self.call.words()[0];
        if !objects::is_there(Kind::Group, group) {
            return None;
        }
        let mut size = 0;
        // SAFETY: the function wants a valid group, and writes one `int`. This one is predefined, or MPI has made it, and the
        // application has not freed it.
        let code = unsafe { pmpi::MPI_Group_size(MPI_Group::from_word(group), &mut size) };
        (code == MPI_SUCCESS).then(|| i64::from(size))
    }

    /// The ranks of a group: such as the group has, and each one once if they make a group.
    fn check_group_ranks(&mut self) {
        let Some(size) = self.group_size() else { return };
        let makes_group = self.function != FunctionId::MPI_Group_translate_ranks;
        let is_allowed = |rank: &i64| {
            (0..size).contains(rank) || !makes_group && *rank == i64::from(MPI_PROC_NULL)
        };
        let ranks = self.list(2, self.call.words()[1]);
        let name = self.name_of(2);
        if let Some(rank) = ranks.iter().find(|rank| !is_allowed(rank)) {
            let message = format!("{name} has rank {rank}, but the group has {size} processes");
            self.wrong(name, &message, None);
        } else if makes_group {
            self.check_once(ranks, name);
        }
    }

    fn check_once(&mut self, mut ranks: Vec<i64>, name: &str) {
        ranks.sort_unstable();
        if let Some(twice) = ranks.windows(2).find(|pair| pair[0] == pair[1]) {
            self.wrong(name, &format!("{name} has rank {} twice", twice[0]), None);
        }
    }

    /// The same of ranks that are given as the first one, the last one and the distance (MPI-4.0, 7.3.2).
    fn check_group_ranges(&mut self) {
        let Some(size) = self.group_size() else { return };
        let ranges = self.list(2, self.call.words()[1].saturating_mul(3));
        let mut ranks = Vec::new();
        for range in ranges.chunks_exact(3) {
            let (first, last, distance) = (range[0], range[1], range[2]);
            if distance == 0 {
                self.wrong("ranges", "the distance in ranges is 0", None);
                return;
            }
            // One that leads away from the last rank names nobody, or is refused.
            let steps = (last - first) / distance;
            if (last - first) % distance != 0 && (last < first) != (distance < 0) || steps < 0 {
                continue;
            }
            let end = first + steps * distance;
            if let Some(rank) = [first, end].into_iter().find(|rank| !(0..size).contains(rank)) {
                let message = format!("ranges has rank {rank}, but the group has {size} processes");
                self.wrong("ranges", &message, None);
                return;
            }
            ranks.extend((0..=steps).map(|step| first + step * distance));
            // No group has more.
            if ranks.len() as i64 > 2 * size {
                break;
            }
        }
        self.check_once(ranks, "ranges");
    }

    /// Lengths of a datatype's blocks.
    fn check_block_lengths(&mut self) {
        let [count, lengths] = [self.call.words()[0], self.call.words()[1]];
        if lengths == 0 || count > MOST {
            return;
        }
        let lengths = (0..count as usize).map(|index| self.count_at(lengths, index));
        let wrong = lengths.enumerate().find(|(_, length)| *length < 0);
        if let Some((index, length)) = wrong {
            let name = self.name_of(1);
            let message = format!("{name}[{index}] is {length}, and must not be negative");
            self.wrong(name, &message, None);
        }
    }

    /// A part of an array must be in it.
    fn check_subarray(&mut self) {
        let length = self.call.words()[0];
        let [sizes, parts, starts] = [1, 2, 3].map(|position| self.list(position, length));
        for (at, ((size, part), start)) in sizes.iter().zip(&parts).zip(&starts).enumerate() {
            if *start < 0 || *part < 1 || *part > *size || start + part > *size {
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

    /// A file that is opened for writing only must not be read, and the other way round (MPI-4.0, 14.2.1).
    fn check_access(&mut self) {
        let reads = self.shape.pattern == Pattern::Read;
        if !reads && self.shape.pattern != Pattern::Write {
            return;
        }
        let file =
            self.call.file().and_then(|file| objects::there(Kind::File, file.raw().to_word()));
        // Such a file has a shared pointer only (MPI-4.0, 14.4).
        let name = self.function.name();
        if let Some(file) = &file
            && file.size & MPI_MODE_SEQUENTIAL as u32 != 0
            && !name.contains("_shared")
            && !name.contains("_ordered")
        {
            let message = "the file was opened with MPI_MODE_SEQUENTIAL, which allows the shared file pointer only";
            self.wrong("fh", message, Some(Other::new("opened at", file.site)));
            return;
        }
        let forbids = if reads { MPI_MODE_WRONLY } else { MPI_MODE_RDONLY };
        let Some(file) = file.filter(|file| file.size & forbids as u32 != 0) else { return };
        let message = if reads {
            "the file was opened for writing only (MPI_MODE_WRONLY)"
        } else {
            "the file was opened for reading only (MPI_MODE_RDONLY)"
        };
        self.wrong("fh", message, Some(Other::new("opened at", file.site)));
    }

    /// The dimensions that are given must divide the number of processes (MPI-4.0, 8.5.2).
    fn check_division(&mut self) {
        let (nodes, count) = (self.call.words()[0] as i64, self.call.words()[1]);
        let given: Vec<i64> = self.list(2, count).into_iter().filter(|one| *one > 0).collect();
        let product = given.iter().try_fold(1_i64, |product, one| product.checked_mul(*one));
        if nodes > 0 && product.is_none_or(|product| nodes % product != 0) {
            let message = format!("the product of dims that are not 0 does not divide {nodes}");
            self.wrong("dims", &message, None);
        }
    }

    fn check_grid(&mut self) {
        let Some(comm) = self.call.communicator().filter(|_| self.comm.is_some()) else { return };
        // SAFETY: the communicator must be valid: it is known, which it is as long as it is not freed.
        if unsafe { neighbors::has_grid(comm.raw()) } == Some(false) {
            self.wrong("comm", "the communicator has no grid (MPI_Cart_create)", None);
            return;
        }
        match self.function {
            // SAFETY: the communicator must be valid, as above: it is known.
            FunctionId::MPI_Cart_rank => unsafe { self.check_coordinates(comm.raw()) },
            FunctionId::MPI_Cart_shift => {
                let dimension = self.call.words()[1] as c_int;
                // SAFETY: the communicator must be valid, as above: it is known.
                let count = unsafe { neighbors::grid(comm.raw()) }.map(|grid| grid.len());
                if let Some(count) = count
                    && usize::try_from(dimension).is_ok_and(|at| at >= count)
                {
                    let message = format!("direction is {dimension}, but the grid has {count}");
                    self.wrong("direction", &message, None);
                }
            }
            _ => {}
        }
    }

    /// Coordinates must be in the grid where it is not periodic (MPI-4.0, 8.5.5).
    ///
    /// # Safety
    ///
    /// The communicator must be valid.
    unsafe fn check_coordinates(&mut self, comm: MPI_Comm) {
        // SAFETY: the caller promises the same.
        let Some(grid) = (unsafe { neighbors::grid(comm) }) else { return };
        let coordinates = self.list(1, grid.len() as u64);
        for (at, (coordinate, (length, is_periodic))) in coordinates.iter().zip(&grid).enumerate() {
            if !is_periodic && !(0..i64::from(*length)).contains(coordinate) {
                let message = format!(
                    "coords[{at}] is {coordinate}, but the grid has {length} places there and is not periodic"
                );
                self.wrong("coords", &message, None);
                return;
            }
        }
    }

    /// Functions that are not defined for communicators of two groups (MPI-4.0, 6.2.3 and 12.2.1).
    fn check_one_group(&mut self) {
        use FunctionId::*;
        let is_for_one = self.facts.is_scan
            || matches!(
                self.function,
                MPI_Cart_create
                    | MPI_Graph_create
                    | MPI_Dist_graph_create
                    | MPI_Dist_graph_create_adjacent
                    | MPI_Win_create
                    | MPI_Win_allocate
                    | MPI_Win_allocate_shared
                    | MPI_Win_create_dynamic
                    | MPI_File_open
            );
        if is_for_one && self.comm.as_ref().is_some_and(|comm| comm.is_inter) {
            let message = format!("{} is not for an inter-communicator", self.function);
            self.wrong("comm", &message, None);
        }
    }

    fn check_topology(&mut self) {
        let Some(comm) = &self.comm else { return };
        let Some(handle) = self.call.communicator() else { return };
        // SAFETY: the communicator must be valid: it is known, which it is as long as it is not freed.
        if comm.neighbors(self).is_none() && unsafe { neighbors::has_none(handle.raw()) } {
            self.wrong("comm", "the communicator has no topology", None);
        }
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
                if let Some((fault, freed)) = datatype_fault(handle) {
                    let other = freed.map(|site| Other::new("freed at", site));
                    self.wrong(name, &format!("{name}[{index}] {fault}"), other);
                    return;
                }
                if datatype(handle).is_some_and(|info| !info.is_committed) {
                    let message = format!("{name}[{index}] was not committed (MPI_Type_commit)");
                    let made = objects::there(Kind::Datatype, handle);
                    let other = made.map(|object| Other::new("made at", object.site));
                    self.wrong(name, &message, other);
                    return;
                }
            }
        }
    }
}
