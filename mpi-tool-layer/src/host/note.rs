//! The macro that puts the note into a tool's file, of which `mpi_facts::note` knows what is in it.

pub use mpi_facts::note::*;

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
            $name = $roles, $crate::mpi_sys::ABI.name(), $crate::mpi_sys::BUILT_AGAINST
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
