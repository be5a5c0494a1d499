//! What a tool's file says of itself, to programs that look at it before anything loads it: an ELF
//! note (section `.note.mpi-tool`, owner `mpi-tool`, type 1) whose text has a line `key=value` each
//! for `name`, `version`, `description`, `abi`, `mpi` (what it was built against) and `roles`
//! (`preload`, `level`, `host`, `universal`). `mpi-tool list` shows it. And where the builds of a tool lie.

use std::path::{Path, PathBuf};

use crate::Abi;

/// The section that the note is in.
pub const SECTION: &str = ".note.mpi-tool";

/// The owner of the note.
pub const OWNER: &str = "mpi-tool";

const KIND: u32 = 1;

/// With one NUL at its end; the others are padding, to a multiple of four.
const PADDED_OWNER: [u8; 12] = *b"mpi-tool\0\0\0\0";

/// A note as it is in the file.
#[repr(C, align(4))]
pub struct Note<const LENGTH: usize> {
    owner_size: u32,
    text_size: u32,
    kind: u32,
    owner: [u8; PADDED_OWNER.len()],
    text: [u8; LENGTH],
}

impl<const LENGTH: usize> Note<LENGTH> {
    /// A note of the pieces' text, whose [`length`] is `LENGTH`.
    pub const fn new(pieces: &[&str]) -> Self {
        let mut text = [0; LENGTH];
        let (mut piece, mut end) = (0, 0);
        while piece < pieces.len() {
            let bytes = pieces[piece].as_bytes();
            let mut index = 0;
            while index < bytes.len() {
                text[end] = bytes[index];
                end += 1;
                index += 1;
            }
            piece += 1;
        }
        Self {
            owner_size: OWNER.len() as u32 + 1,
            text_size: LENGTH as u32,
            kind: KIND,
            owner: PADDED_OWNER,
            text,
        }
    }
}

/// How long the pieces are.
pub const fn length(pieces: &[&str]) -> usize {
    let (mut piece, mut length) = (0, 0);
    while piece < pieces.len() {
        length += pieces[piece].len();
        piece += 1;
    }
    length
}

/// What a note's text says of a key.
pub fn value<'n>(note: &'n str, key: &str) -> Option<&'n str> {
    note.lines()
        .find_map(|line| line.split_once('=').filter(|pair| pair.0 == key))
        .map(|pair| pair.1)
}

/// Where the build for an ABI lies that belongs to a universal build: `folder/ABI/file` beside `folder/file`.
pub fn build_beside(universal: &Path, abi: Abi) -> Option<PathBuf> {
    Some(universal.parent()?.join(abi.name()).join(universal.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        const PIECES: &[&str] = &["name=a tool", "\nabi=", "mpich", "\nroles=preload level\n"];
        const NOTE: Note<{ length(PIECES) }> = Note::new(PIECES);
        assert_eq!((NOTE.owner_size, NOTE.text_size, NOTE.kind), (9, 42, 1));
        let text = core::str::from_utf8(&NOTE.text).unwrap();
        assert_eq!(value(text, "name"), Some("a tool"));
        assert_eq!(value(text, "roles"), Some("preload level"));
        assert_eq!(value(text, "version"), None);
    }

    #[test]
    fn builds_lie_in_a_folder_of_their_abi() {
        let build = build_beside(Path::new("tools/libx.so"), Abi::OpenMpi);
        assert_eq!(build, Some("tools/openmpi/libx.so".into()));
        assert_eq!(build_beside(Path::new("/"), Abi::Mpich), None);
    }
}
