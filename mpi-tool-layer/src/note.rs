//! What a tool's file says of itself, to programs that look at it before anything loads it: an ELF
//! note (section `.note.mpi-tool`, owner `mpi-tool`, type 1) whose text has a line `key=value` each
//! for `name`, `version`, `description`, `abi`, `mpi` (what it was built against) and `roles`
//! (`preload`, `level`, `host`, `universal`). `mpi-tool list` shows it.

const OWNER: [u8; 12] = *b"mpi-tool\0\0\0\0";
const KIND: u32 = 1;

/// A note as it is in the file.
#[repr(C, align(4))]
pub struct Note<const LENGTH: usize> {
    owner_size: u32,
    text_size: u32,
    kind: u32,
    owner: [u8; OWNER.len()],
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
            // With one NUL; the others are padding.
            owner_size: 9,
            text_size: LENGTH as u32,
            kind: KIND,
            owner: OWNER,
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

/// Puts the note into a tool: `__note! { NAME }`, for a stack's level `__note! { NAME __qmpi }`, for
/// the library that runs stacks `__note! { NAME host }`, for universal builds `__note! { NAME universal }`.
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($name:ident) => {
        $crate::__note! { $name = "preload" }
    };
    ($name:ident __qmpi) => {
        $crate::__note! { $name = "preload level" }
    };
    ($name:ident host) => {
        $crate::__note! { $name = "host" }
    };
    ($name:ident universal) => {
        $crate::__note! { $name = "universal", "any", "" }
    };
    ($name:ident = $roles:literal) => {
        $crate::__note! {
            $name = $roles, $crate::mpi_sys::Abi::CURRENT.name(), $crate::mpi_sys::BUILT_AGAINST
        }
    };
    ($name:ident = $roles:literal, $abi:expr, $mpi:expr) => {
        const _: () = {
            const PIECES: &[&str] = &[
                "name=",
                $name,
                concat!("\nversion=", env!("CARGO_PKG_VERSION")),
                concat!("\ndescription=", env!("CARGO_PKG_DESCRIPTION")),
                "\nabi=",
                $abi,
                "\nmpi=",
                $mpi,
                concat!("\nroles=", $roles, "\n"),
            ];
            #[used]
            #[unsafe(link_section = ".note.mpi-tool")]
            static NOTE: $crate::note::Note<{ $crate::note::length(PIECES) }> =
                $crate::note::Note::new(PIECES);
        };
    };
}
