//! The code of an entry, from its beginning to its jump to the next function, to be copied.
//!
//! Levels that share an entry share its jump, which then has as many targets as there are levels, and
//! which no processor predicts. A copy for each level has a jump of its own.

use core::ffi::c_void;
use core::ptr;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

/// Longer code does so much that a jump does not matter.
const MOST: usize = 96;
/// No instruction is longer.
const LONGEST: usize = 15;

/// Code that can be anywhere.
pub(crate) struct Template {
    pub(crate) code: Vec<u8>,
    pub(crate) distances: Vec<Distance>,
}

/// Four bytes of the code, which say how far it is to somewhere outside of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Distance {
    /// Where they are.
    pub(crate) offset: usize,
    /// Where their instruction ends, which is what they count from.
    pub(crate) end: usize,
    pub(crate) target: *const c_void,
}

impl Template {
    /// Of the code of a function from some instruction on, where it lies in memory, with what is behind the
    /// function. `None` where it calls something (copies could not be unwound), goes on elsewhere, is long, or is
    /// cut off.
    pub(crate) fn of(code: &[u8]) -> Option<Self> {
        let mut template = Self { code: Vec::with_capacity(MOST), distances: Vec::new() };
        let mut rest = code;
        while template.code.len() <= MOST {
            let bytes = &rest[..rest.len().min(LONGEST)];
            let at = rest.as_ptr().addr() as u64;
            let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                return None;
            }
            let bytes = &bytes[..instruction.len()];
            match instruction.flow_control() {
                FlowControl::Next if instruction.is_ip_rel_memory_operand() => {
                    let offsets = decoder.get_constant_offsets(&instruction);
                    if offsets.displacement_size() != 4 {
                        return None;
                    }
                    let target = instruction.ip_rel_memory_address();
                    template.push(bytes, Some((offsets.displacement_offset(), target)));
                }
                FlowControl::Next => template.push(bytes, None),
                FlowControl::ConditionalBranch => template.push_branch(&instruction)?,
                FlowControl::IndirectBranch | FlowControl::Return
                    if !instruction.is_ip_rel_memory_operand() =>
                {
                    template.push(bytes, None);
                    return Some(template);
                }
                _ => return None,
            }
            rest = &rest[instruction.len()..];
        }
        None
    }

    fn push(&mut self, bytes: &[u8], distance: Option<(usize, u64)>) {
        let start = self.code.len();
        self.code.extend_from_slice(bytes);
        if let Some((offset, target)) = distance {
            let target = ptr::without_provenance(target as usize);
            self.distances.push(Distance { offset: start + offset, end: self.code.len(), target });
        }
    }

    /// A conditional jump, which leads to the code that is copied here: that does the same.
    fn push_branch(&mut self, instruction: &Instruction) -> Option<()> {
        if !instruction.is_jcc_short_or_near() {
            return None;
        }
        // The long form, whatever it was: 0f 80 to 0f 8f, by the condition, in the same order.
        let jump = [0x0f, 0x80 + instruction.condition_code() as u8 - 1, 0, 0, 0, 0];
        self.push(&jump, Some((2, instruction.near_branch_target())));
        Some(())
    }
}
