//! Arguments that the standard forbids, looked at before MPI sees them: by the kinds of the parameters, so that one code
//! checks all functions.
//!
//! What is not significant in this process is not looked at, and what cannot be known counts as right.

mod arrays;
mod attributes;
mod buffers;
mod handles;
mod infos;
mod known;
mod lists;
mod meaning;
mod packed;

use core::cell::Cell;

use mpi_facts::{Data, NONE, Pattern, Position, Shape};
use mpi_tool_layer::mpi_sys::{
    MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_IN_PLACE, MPI_PROC_NULL, MPI_ROOT, MPI_STATUS_IGNORE,
    MPI_UNDEFINED, c_int, pmpi,
};
use mpi_tool_layer::{
    AnyCall, Call as _, Direction, FunctionClass, FunctionId, Parameter, ParameterKind, Site, Word,
};

use crate::comms::CommRef;
use crate::findings::{Class, Other, report};
use crate::functions::{Facts, facts};
use crate::objects::{self, Kind};
use crate::operations;
use crate::types::TypeInfo;
pub(crate) use attributes::other_kind;
pub(crate) use handles::{is_freed, is_garbage};
pub(crate) use meaning::datatype;
pub(crate) use packed::attached;

use meaning::{datatype_name, special, tag_bound};

/// A call whose arguments are looked at.
pub(crate) struct Checked<'c> {
    pub(crate) call: AnyCall<'c>,
    pub(crate) function: FunctionId,
    pub(crate) shape: &'static Shape,
    pub(crate) site: Site,
    pub(crate) facts: &'static Facts,
    pub(crate) comm: Option<CommRef>,
    /// No fault was found that would make other checks misleading.
    pub(crate) is_sound: bool,
    /// The last datatype that was asked about: most calls have one, and several checks ask.
    datatype: Cell<Option<(u64, Option<TypeInfo>)>>,
}

/// Is the parameter an address or an array?
fn is_address(parameter: &Parameter) -> bool {
    parameter.rust_type().starts_with('*')
}

impl<'c> Checked<'c> {
    pub(crate) fn new(call: AnyCall<'c>, site: Site, comm: Option<CommRef>) -> Self {
        let function = call.function();
        Self {
            call,
            function,
            shape: Shape::looked_up(function),
            site,
            facts: facts(function),
            comm,
            is_sound: true,
            datatype: Cell::new(None),
        }
    }

    pub(crate) fn word(&self, position: Position) -> Option<u64> {
        (position != NONE).then(|| self.call.words()[usize::from(position)])
    }

    pub(crate) fn int(&self, position: Position) -> Option<i64> {
        self.word(position).map(|word| word as i64)
    }

    fn name_of(&self, position: usize) -> &'static str {
        self.function.parameters()[position].name()
    }

    /// Reports an argument.
    fn wrong(&mut self, what: &str, message: &str, other: Option<Other<'_>>) {
        self.is_sound = false;
        self.tell(what, message, other);
    }

    /// The same of what hides nothing: the call is still compared with those of other ranks, which may show why it is wrong.
    fn tell(&self, what: &str, message: &str, other: Option<Other<'_>>) {
        let message = format!("{message}, in {}", self.describe());
        report(Class::InvalidArgument, self.function, self.site, what, &message, other);
    }

    /// The call with its arguments in words: those that are numbers or have names.
    pub(crate) fn describe(&self) -> String {
        let mut parts = Vec::new();
        for (parameter, word) in self.call.arguments() {
            if is_address(parameter) && parameter.kind != ParameterKind::Buffer {
                continue;
            }
            let value = match parameter.kind {
                ParameterKind::Buffer if word == MPI_IN_PLACE.to_word() => "MPI_IN_PLACE".into(),
                ParameterKind::Buffer if word == 0 => "NULL".into(),
                ParameterKind::Rank | ParameterKind::Tag => special(parameter.kind, word as i64),
                ParameterKind::Datatype => datatype_name(word),
                ParameterKind::Operation => operations::name(word).into(),
                ParameterKind::Communicator => match &self.comm {
                    _ if word == Kind::Communicator.null() => "MPI_COMM_NULL".into(),
                    Some(comm) if !comm.name.is_empty() => comm.name.clone(),
                    _ => continue,
                },
                ParameterKind::XferNumElem
                | ParameterKind::DtypeNumElem
                | ParameterKind::ArrayLength
                | ParameterKind::NumDims
                | ParameterKind::Dimension
                | ParameterKind::Color => (word as i64).to_string(),
                _ => continue,
            };
            parts.push(format!("{}={value}", parameter.name()));
        }
        format!("{}({})", self.function, parts.join(", "))
    }

    /// Looks at all arguments.
    pub(crate) fn check(&mut self) {
        for position in 0..self.function.parameters().len() {
            let parameter = &self.function.parameters()[position];
            let word = self.call.words()[position];
            if parameter.root_only && !self.is_root() || self.is_ignored(position as Position) {
                continue;
            }
            if is_address(parameter) {
                self.check_address(position, parameter, word);
            } else {
                self.check_value(position, parameter, word);
            }
        }
        if self.shape.pattern != Pattern::Nothing {
            self.check_data();
        }
        operations::check(self);
        self.check_lists();
    }

    /// Reports a wrong operation.
    pub(crate) fn wrong_operation(&mut self, message: &str) {
        self.wrong("op", message, None);
    }

    /// Is this process the call's root? `true` where there is none.
    pub(crate) fn is_root(&self) -> bool {
        let Some(root) = self.int(self.shape.root) else { return true };
        match &self.comm {
            Some(comm) if comm.is_inter => root == i64::from(MPI_ROOT),
            Some(comm) => root == i64::from(comm.rank),
            None => false,
        }
    }

    /// Is this between two groups, or may it be, since nothing is known of the communicator?
    fn may_be_inter(&self) -> bool {
        let is_collective = self.shape.class == FunctionClass::Collective;
        self.comm.as_ref().map_or(is_collective, |comm| comm.is_inter)
    }

    fn check_value(&mut self, position: usize, parameter: &'static Parameter, word: u64) {
        let number = word as i64;
        match parameter.kind {
            ParameterKind::Rank => self.check_rank(position, number),
            ParameterKind::Tag => self.check_tag(position, number),
            ParameterKind::XferNumElem if number < 0 && self.is_significant(position) => {
                self.negative(parameter.name(), number);
            }
            ParameterKind::DtypeNumElem
                if number < 0
                    && matches!(
                        parameter.name(),
                        "count" | "blocklength" | "incount" | "outcount"
                    ) =>
            {
                self.negative(parameter.name(), number);
            }
            ParameterKind::ArrayLength | ParameterKind::NumDims if number < 0 => {
                self.negative(parameter.name(), number);
            }
            ParameterKind::WindowSize if number < 0 => self.negative(parameter.name(), number),
            ParameterKind::Partition if number < 0 && parameter.name() == "partitions" => {
                self.negative(parameter.name(), number);
            }
            ParameterKind::RmaDisplacement if parameter.name() == "disp_unit" && number <= 0 => {
                let message = format!("disp_unit is {number}, and must be positive");
                self.wrong(parameter.name(), &message, None);
            }
            ParameterKind::Color
                if number < 0
                    && number != i64::from(MPI_UNDEFINED)
                    && self.function == FunctionId::MPI_Comm_split =>
            {
                let message = format!(
                    "color is {number}, and must not be negative (but may be MPI_UNDEFINED)"
                );
                self.wrong(parameter.name(), &message, None);
            }
            kind => {
                if let Some(kind) = Kind::of(kind) {
                    self.check_handle(position, kind, word);
                }
            }
        }
    }

    fn negative(&mut self, name: &str, number: i64) {
        let message = format!("{name} is {number}, and must not be negative");
        self.wrong(name, &message, None);
    }

    /// Does MPI take no notice of the data at the origin, since the operation is `MPI_NO_OP` (MPI-4.0, 12.3.4)?
    fn only_fetches(&self) -> bool {
        self.shape.class == FunctionClass::OneSided
            && self.word(self.shape.operation) == Some(pmpi::MPI_NO_OP.to_word())
    }

    /// Is the argument one that MPI takes no notice of?
    fn is_ignored(&self, position: Position) -> bool {
        let (sent, received) = (&self.shape.sent, &self.shape.received);
        [sent.buffer, sent.count, sent.datatype].contains(&position)
            && position != received.datatype
            && self.only_fetches()
    }

    /// Is an argument that describes data significant in this process?
    fn is_significant(&self, position: usize) -> bool {
        let of = |data: &Data| {
            [data.buffer, data.count, data.datatype].contains(&(position as Position))
        };
        if self.may_be_inter() && self.shape.root != NONE {
            return false;
        }
        let in_place = MPI_IN_PLACE.to_word();
        let data = if of(&self.shape.sent) {
            &self.shape.sent
        } else if of(&self.shape.received) {
            &self.shape.received
        } else {
            return true;
        };
        // The buffer itself is looked at by `check_data`.
        !(matches!(self.shape.class, FunctionClass::Collective)
            && self.word(data.buffer) == Some(in_place)
            && data.buffer != position as Position)
    }

    /// Is the count 0 that belongs to a datatype, or is it not for a peer?
    fn has_no_data(&self, position: usize) -> bool {
        for data in [&self.shape.sent, &self.shape.received] {
            if usize::from(data.datatype) == position && !data.array_of_counts {
                return self.int(data.count) == Some(0) || self.is_for_nobody();
            }
        }
        self.function.parameters()[..position].iter().zip(self.call.words()).any(
            |(parameter, word)| {
                matches!(parameter.kind, ParameterKind::DtypeNumElem)
                    && *word == 0
                    && !is_address(parameter)
            },
        )
    }

    /// Does the message go to or come from `MPI_PROC_NULL`?
    pub(crate) fn is_for_nobody(&self) -> bool {
        let null = i64::from(MPI_PROC_NULL);
        [self.shape.destination, self.shape.source, self.shape.target]
            .into_iter()
            .filter_map(|position| self.int(position))
            .any(|rank| rank == null)
    }

    fn check_rank(&mut self, position: usize, number: i64) {
        use FunctionId::{MPI_Cart_coords, MPI_Graph_neighbors, MPI_Graph_neighbors_count};
        let Some(comm) = &self.comm else {
            self.check_target(position, number);
            return;
        };
        let at = position as Position;
        let size = i64::from(comm.peer_count());
        let is_rank = number >= 0 && number < size;
        let name = self.name_of(position);
        let shape = self.shape;
        let allowed = if at == shape.root {
            match comm.is_inter {
                true => {
                    is_rank || number == i64::from(MPI_ROOT) || number == i64::from(MPI_PROC_NULL)
                }
                false => is_rank,
            }
        } else if at == shape.destination {
            is_rank || number == i64::from(MPI_PROC_NULL)
        } else if at == shape.source {
            is_rank
                || number == i64::from(MPI_PROC_NULL)
                || number == i64::from(MPI_ANY_SOURCE)
                    && self.function != FunctionId::MPI_Precv_init
        } else if matches!(
            self.function,
            MPI_Cart_coords | MPI_Graph_neighbors | MPI_Graph_neighbors_count
        ) || name == "local_leader"
        {
            is_rank
        } else {
            return;
        };
        if allowed {
            return;
        }
        let what = match at {
            at if at == shape.root => "the root",
            at if at == shape.destination => "the destination",
            at if at == shape.source => "the source",
            _ => name,
        };
        let shown = special(ParameterKind::Rank, number);
        let message = match number < 0 {
            true => format!("{what} is {shown}, which is no rank that is allowed here"),
            false => {
                format!("{what} is rank {shown}, but {} has {size} processes", comm.describe())
            }
        };
        self.wrong(name, &message, None);
    }

    /// The target of one-sided communication.
    fn check_target(&mut self, position: usize, number: i64) {
        if self.function.class() != FunctionClass::OneSided {
            return;
        }
        let Some(window) = self.word(self.shape.window) else { return };
        let size = objects::there(Kind::Window, window).map_or(0, |object| i64::from(object.size));
        if size == 0 || number >= 0 && number < size || number == i64::from(MPI_PROC_NULL) {
            return;
        }
        let shown = special(ParameterKind::Rank, number);
        let message = format!("the target is rank {shown}, but the window has {size} processes");
        self.wrong(self.name_of(position), &message, None);
    }

    fn check_tag(&mut self, position: usize, number: i64) {
        // A status may be made that says nothing of a message.
        if self.is_for_nobody() || self.shape.class == FunctionClass::Status {
            return;
        }
        let at = position as Position;
        let receives = at == self.shape.tags.1
            && self.shape.source != NONE
            && (self.shape.destination == NONE || self.shape.tags.0 != self.shape.tags.1);
        if receives
            && number == i64::from(MPI_ANY_TAG)
            && self.function != FunctionId::MPI_Precv_init
        {
            return;
        }
        let most = tag_bound();
        if (0..=most).contains(&number) {
            return;
        }
        let message = if number > most {
            format!("the tag is {number}, and the greatest one is {most} (MPI_TAG_UB)")
        } else {
            format!("the tag is {}, and must not be negative", special(ParameterKind::Tag, number))
        };
        self.wrong(self.name_of(position), &message, None);
    }

    fn check_address(&mut self, position: usize, parameter: &'static Parameter, word: u64) {
        let is_result = parameter.direction == Direction::Out;
        match parameter.kind {
            // What is made is put there.
            kind if word == 0
                && (is_result && Kind::of(kind).is_some() || kind == ParameterKind::Request)
                && parameter.length().is_none() =>
            {
                let message = format!("{} is a null pointer", parameter.name());
                self.wrong(parameter.name(), &message, None);
            }
            ParameterKind::Buffer if word == 0 && parameter.name() == "base" => {
                let mut parameters = self.function.parameters().iter();
                let size = parameters.position(|other| other.kind == ParameterKind::WindowSize);
                let size = size.map_or(0, |size| self.call.words()[size] as i64);
                if size > 0 {
                    let message =
                        format!("base is a null pointer, but the window has {size} bytes");
                    self.wrong(parameter.name(), &message, None);
                }
            }
            _ if word == 0 && self.needs_array(position, parameter) => {
                let message = format!("{} is a null pointer", parameter.name());
                self.wrong(parameter.name(), &message, None);
            }
            _ if word == 0 && is_result && self.needs_result(parameter) => {
                let message = format!("{} is a null pointer", parameter.name());
                self.wrong(parameter.name(), &message, None);
            }
            ParameterKind::XferNumElem
                if word != 0 && !is_result && self.is_significant(position) =>
            {
                self.check_counts(position, parameter, word);
            }
            ParameterKind::Dimension if word != 0 && parameter.direction != Direction::Out => {
                self.check_dimensions(parameter, word);
            }
            _ => {}
        }
    }

    /// Must there be room for a result, a single one that MPI writes whatever the other arguments are?
    fn needs_result(&self, parameter: &'static Parameter) -> bool {
        if parameter.length().is_some() || self.shape.class == FunctionClass::ToolInterface {
            return false;
        }
        match (parameter.kind, parameter.name()) {
            (ParameterKind::Logical, _)
            | (ParameterKind::Rank, "rank" | "rank_source" | "rank_dest")
            | (ParameterKind::CommSize, "size")
            | (ParameterKind::Index, "index" | "indx")
            | (ParameterKind::ArrayLength, "outcount")
            | (ParameterKind::XferNumElem, "count") => true,
            (ParameterKind::Status, "status") => MPI_STATUS_IGNORE.to_word() != 0,
            _ => false,
        }
    }

    /// Counts of a collective operation, one for each process.
    fn check_counts(&mut self, position: usize, parameter: &'static Parameter, word: u64) {
        let Some(comm) = &self.comm else { return };
        if comm.is_inter || self.shape.class != FunctionClass::Collective {
            return;
        }
        let _ = position;
        for index in 0..comm.size as usize {
            let count = self.count_at(word, index);
            if count < 0 {
                let message =
                    format!("{}[{index}] is {count}, and must not be negative", parameter.name());
                self.wrong(parameter.name(), &message, None);
                return;
            }
        }
    }

    /// An element of an array of counts of a collective operation.
    pub(crate) fn count_at(&self, address: u64, index: usize) -> i64 {
        // SAFETY: the array must have the element: the standard asks for as many as the communicator has processes, and
        // MPI, which the call goes to next, reads them all.
        unsafe {
            if self.call.is_wide() {
                *<*const i64>::from_word(address).add(index)
            } else {
                i64::from(*<*const c_int>::from_word(address).add(index))
            }
        }
    }

    fn check_dimensions(&mut self, parameter: &'static Parameter, word: u64) {
        use FunctionId::{MPI_Cart_create, MPI_Cart_map, MPI_Dims_create};
        if !matches!(self.function, MPI_Cart_create | MPI_Cart_map | MPI_Dims_create) {
            return;
        }
        let parameters = self.function.parameters();
        let Some(count) = parameters.iter().position(|p| p.kind == ParameterKind::NumDims) else {
            return;
        };
        let count = self.call.words()[count] as i64;
        if !(0..=64).contains(&count) {
            return;
        }
        let mut product: i64 = 1;
        for index in 0..count as usize {
            // SAFETY: the array must have the element: it has `ndims` of them, which MPI reads next.
            let dimension = i64::from(unsafe { *<*const c_int>::from_word(word).add(index) });
            if dimension < 0 {
                let message = format!(
                    "{}[{index}] is {dimension}, and must not be negative",
                    parameter.name()
                );
                self.wrong(parameter.name(), &message, None);
                return;
            }
            product = product.saturating_mul(dimension);
        }
        if self.function != MPI_Dims_create
            && let Some(comm) = &self.comm
            && product > i64::from(comm.size)
        {
            let message = format!(
                "the grid has {product} places, but {} has {} processes",
                comm.describe(),
                comm.size
            );
            self.wrong(parameter.name(), &message, None);
        }
    }

    /// What is known of a datatype argument, if the handle is good.
    pub(crate) fn datatype(&self, position: Position) -> Option<TypeInfo> {
        let handle = self.word(position)?;
        if let Some((known, info)) = self.datatype.get()
            && known == handle
        {
            return info;
        }
        let info = datatype(handle);
        self.datatype.set(Some((handle, info)));
        info
    }
}
