//! What unwinding and call sites need of a loaded object.

use core::ops::Range;

use super::Object;

/// Where an object's tables for unwinding are in memory.
pub(crate) struct UnwindTables {
    /// The index by addresses (`.eh_frame_hdr`).
    pub(crate) index: Range<u64>,
    /// The tables (`.eh_frame`), and what is behind them.
    pub(crate) frames: Range<u64>,
}

impl Object<'_> {
    /// How many objects the dynamic linker has loaded and unloaded so far.
    pub(crate) fn loads(&self) -> [u64; 2] {
        [self.0.dlpi_adds, self.0.dlpi_subs]
    }

    /// What an address in its file begins at in memory.
    pub(crate) fn base(&self) -> u64 {
        self.0.dlpi_addr
    }

    /// The build ID that its linker has given it.
    pub(crate) fn build_id(&self) -> Option<&[u8]> {
        const NT_GNU_BUILD_ID: u32 = 3;
        self.segments(libc::PT_NOTE).find_map(|range| {
            // SAFETY: the bytes must be readable, never written, and stay as long as `self`: they are a part of
            // the loaded object for notes, as its header says, and notes are read-only.
            let mut notes = unsafe {
                core::slice::from_raw_parts(
                    range.start as *const u8,
                    (range.end - range.start) as usize,
                )
            };
            loop {
                let word = |index: usize| {
                    let bytes = notes.get(4 * index..4 * index + 4)?;
                    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
                };
                let (name, length, kind) = (word(0)? as usize, word(1)? as usize, word(2)?);
                let from = 12 + name.next_multiple_of(4);
                let contents = notes.get(from..from + length)?;
                if kind == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
                    return Some(contents);
                }
                notes = notes.get(from + length.next_multiple_of(4)..)?;
            }
        })
    }

    /// The tables by which its stack frames are unwound.
    pub(crate) fn unwind_tables(&self) -> Option<UnwindTables> {
        let index = self.segments(libc::PT_GNU_EH_FRAME).next()?;
        // SAFETY: eight bytes must be readable: the index is a loaded part of the object with a header of as many
        // and more.
        let header = unsafe { *(index.start as *const [u8; 8]) };
        // Version 1; the address of the frames as four bytes with a sign, relative to where it stands, as all
        // linkers write it.
        let [1, 0x1b, _, _, distance @ ..] = header else { return None };
        let at = index.start + 4;
        let start = at.checked_add_signed(i32::from_le_bytes(distance).into())?;
        // Where they end is said nowhere: a part of the object has them, which is readable.
        let end = self.segments(libc::PT_LOAD).find(|range| range.contains(&start))?.end;
        Some(UnwindTables { index, frames: start..end })
    }

    /// Where its parts of a kind are in memory: as much of them as is in the file.
    fn segments(&self, kind: u32) -> impl Iterator<Item = Range<u64>> {
        let base = self.0.dlpi_addr;
        self.headers().iter().filter(move |header| header.p_type == kind).map(move |header| {
            let start = base + header.p_vaddr;
            start..start + header.p_filesz
        })
    }
}
