//! Arrays that must be there, and what is in them: datatypes, edges of graphs.

use mpi_tool_layer::mpi_sys::{MPI_Datatype, MPI_IN_PLACE, c_int};
use mpi_tool_layer::{
    Call as _, Direction, FunctionClass, FunctionId, Parameter, ParameterKind, Word as _,
};

use super::handles::datatype_fault;
use super::{Checked, Other};

/// How many elements of a list are looked at.
const MOST: u64 = 1 << 16;

impl Checked<'_> {
    /// Must there be an array at a null pointer: one with a length that is not 0, or with an element for each process of which one
    /// is looked at?
    pub(super) fn needs_array(&self, position: usize, parameter: &'static Parameter) -> bool {
        use ParameterKind::{
            Datatype, Displacement, Status, String, String2darray, StringArray, Weight, XferNumElem,
        };
        // Some of these have constants that are null pointers: MPI_ARGV_NULL, MPI_ARGVS_NULL, MPI_STATUSES_IGNORE.
        if parameter.direction == Direction::Out
            || matches!(parameter.kind, String | StringArray | String2darray | Status | Weight)
        {
            return false;
        }
        if let Some(length) = parameter.length() {
            let mut arguments = self.call.arguments();
            let length = arguments.find(|(other, _)| other.name() == length);
            return length
                .is_some_and(|(of, length)| !super::is_address(of) && length as c_int > 0);
        }
        let is_for_each = self.shape.class == FunctionClass::Collective
            && matches!(parameter.kind, XferNumElem | Displacement | Datatype)
            && self.comm.as_ref().is_some_and(|comm| !comm.is_inter);
        if !is_for_each || !self.is_significant(position) {
            return false;
        }
        let (sent, received) = (self.shape.sent, self.shape.received);
        let at = position as u8;
        // Which of both a displacement belongs to, which `is_significant` does not know.
        let is_of_sent = received.buffer < sent.buffer || at < received.buffer;
        let data = if is_of_sent { sent } else { received };
        if self.word(data.buffer) == Some(MPI_IN_PLACE.to_word()) {
            return false;
        }
        parameter.kind == XferNumElem || self.has_count(data.count)
    }

    /// Is one of the counts for each process not 0?
    fn has_count(&self, counts: u8) -> bool {
        let Some(counts) = self.word(counts).filter(|address| *address != 0) else { return false };
        let size = self.comm.as_ref().map_or(0, |comm| comm.size as usize);
        (0..size).any(|index| self.count_at(counts, index) > 0)
    }

    /// The datatypes that a struct has.
    pub(super) fn check_part_types(&mut self) {
        let words = self.call.words();
        let (count, lengths, types) = (words[0], words[1], words[3]);
        if lengths == 0 || types == 0 || count > MOST {
            return;
        }
        let name = self.name_of(3);
        for index in (0..count as usize).filter(|index| self.count_at(lengths, *index) > 0) {
            // SAFETY: the array must have the element: the application says that it has so many, and MPI, which the call goes to
            // next, reads them all.
            let handle = unsafe { *<*const MPI_Datatype>::from_word(types).add(index) }.to_word();
            if let Some((fault, freed)) = datatype_fault(handle) {
                let message = format!("{name}[{index}] {fault}");
                self.wrong(name, &message, freed.map(|site| Other::new("freed at", site)));
                return;
            }
        }
    }

    /// Functions that are defined for communicators of two groups only (MPI-4.0, 7.6.1 and 7.6.2).
    pub(super) fn check_two_groups(&mut self) {
        if self.comm.as_ref().is_some_and(|comm| !comm.is_inter) {
            let message = format!("{} is for inter-communicators only", self.function);
            self.wrong("comm", &message, None);
        }
    }

    /// A graph that all processes give: its edges lead to its nodes (MPI-4.0, 8.5.3).
    pub(super) fn check_graph(&mut self) {
        let nodes = i64::from(self.call.words()[1] as c_int);
        if nodes < 0 {
            return self.negative("nnodes", nodes);
        }
        if let Some(comm) = self.comm.as_ref().filter(|comm| !comm.is_inter)
            && nodes > i64::from(comm.size)
        {
            let message = format!(
                "the graph has {nodes} nodes, but {} has {} processes",
                comm.describe(),
                comm.size
            );
            return self.wrong("nnodes", &message, None);
        }
        let ends = self.list(2, nodes as u64);
        let mut before = 0;
        for (index, end) in ends.iter().enumerate() {
            if *end < before {
                let message = match index {
                    0 => format!("index[0] is {end}, and must not be negative"),
                    _ => format!(
                        "index[{index}] is {end}, and must not be less than {before}, the one before"
                    ),
                };
                return self.wrong("index", &message, None);
            }
            before = *end;
        }
        let Ok(edges) = u64::try_from(before) else { return };
        if edges > 0 && self.call.words()[3] == 0 {
            return self.wrong("edges", "edges is a null pointer", None);
        }
        let edges = self.list(3, edges);
        let wrong = edges.iter().enumerate().find(|(_, edge)| !(0..nodes).contains(*edge));
        if let Some((index, edge)) = wrong {
            let message = format!("edges[{index}] is {edge}, but the graph has {nodes} nodes");
            self.wrong("edges", &message, None);
        }
    }

    /// A graph of which each process gives some edges, between processes (MPI-4.0, 8.5.4).
    pub(super) fn check_dist_graph(&mut self) {
        let Some(size) =
            self.comm.as_ref().filter(|comm| !comm.is_inter).map(|comm| i64::from(comm.size))
        else {
            return;
        };
        let words = self.call.words();
        let number = |at: usize| i64::from(words[at] as c_int);
        let lists: [(usize, i64); 2] = if self.function == FunctionId::MPI_Dist_graph_create {
            if number(1) < 0 {
                return;
            }
            let degrees = self.list(3, number(1) as u64);
            if let Some((index, degree)) = degrees.iter().enumerate().find(|(_, one)| **one < 0) {
                let message = format!("degrees[{index}] is {degree}, and must not be negative");
                return self.wrong("degrees", &message, None);
            }
            [(2, number(1)), (4, degrees.iter().sum())]
        } else {
            for (at, name) in [(1, "indegree"), (4, "outdegree")] {
                if number(at) < 0 {
                    return self.negative(name, number(at));
                }
            }
            [(2, number(1)), (5, number(4))]
        };
        for (at, length) in lists {
            let ranks = self.list(at, length as u64);
            let name = self.name_of(at);
            let wrong = ranks.iter().enumerate().find(|(_, rank)| !(0..size).contains(*rank));
            if let Some((index, rank)) = wrong {
                let message = format!("{name}[{index}] is {rank}, but there are {size} processes");
                return self.wrong(name, &message, None);
            }
        }
    }
}
