//! The ABIs of MPI libraries, and the names by which programs know the libraries.

use core::ffi::CStr;

/// How handles, constants and statuses look. A tool works under every MPI of its ABI. A new ABI is a breaking change:
/// whoever matches on this must decide what the new one means, and the compiler tells where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Abi {
    /// Integer handles: MPICH, Intel MPI, Cray MPICH, MVAPICH.
    Mpich,
    /// Handles are pointers to objects of the library: Open MPI.
    OpenMpi,
    /// The ABI of MPI-5.0.
    Standard,
}

impl Abi {
    /// All of them.
    pub const ALL: [Abi; 3] = [Abi::Mpich, Abi::OpenMpi, Abi::Standard];

    /// The ABI's name in messages, paths, reports and tools' notes.
    pub const fn name(self) -> &'static str {
        match self {
            Abi::Mpich => "mpich",
            Abi::OpenMpi => "openmpi",
            Abi::Standard => "standard",
        }
    }

    /// The ABI of a [name](Self::name).
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|abi| abi.name() == name)
    }

    /// What the library is called that a program of this ABI loads, by the dynamic linker's rules.
    pub const fn library_names(self) -> &'static [&'static CStr] {
        match self {
            Abi::Mpich => &[c"libmpi.so.12", c"libmpich.so.12"],
            Abi::OpenMpi => &[c"libmpi.so.40"],
            Abi::Standard => &[c"libmpi_abi.so.1"],
        }
    }

    /// The ABI of an MPI library, by the name that programs know it by (`libmpi.so.40`). `None` of a library that is
    /// no MPI, and of one that belongs to an MPI without being its C library.
    pub fn of_library(soname: &str) -> Option<Self> {
        let (stem, version) = soname.split_once(".so")?;
        let version = version.trim_start_matches('.').split('.').next().unwrap_or("");
        match stem {
            "libmpi_abi" => Some(Abi::Standard),
            "libmpich" => Some(Abi::Mpich),
            "libmpi" if version == "12" => Some(Abi::Mpich),
            // Open MPI 1.3 to 5.
            "libmpi" if matches!(version, "0" | "1" | "20" | "40") => Some(Abi::OpenMpi),
            // Cray's, with the compiler's name: libmpi_gnu_123.so.12.
            _ if stem.starts_with("libmpi_") && version == "12" && !is_binding(soname) => {
                Some(Abi::Mpich)
            }
            _ => None,
        }
    }
}

/// Is a library the C library of an MPI, by its name or the name of its file? Also where that name does not tell the
/// ABI: `libmpi.so`.
pub fn is_mpi_library(name: &str) -> bool {
    let stem = name.split_once(".so").map(|(stem, _)| stem);
    matches!(stem, Some("libmpi" | "libmpich" | "libmpi_abi")) || Abi::of_library(name).is_some()
}

/// Is a file one that an MPI's library is made of, beside the library itself? Open MPI loads components (`mca_io_romio321.so`), and
/// an MPICH may have the functions with the profiling interface's names in a library of their own.
pub fn is_mpi_plugin(name: &str) -> bool {
    name.contains(".so") && (name.starts_with("mca_") || name.starts_with("libpmpi."))
}

/// Is a library that of an MPI for Fortran, by its name or the name of its file?
pub fn is_fortran_library(name: &str) -> bool {
    let stem = name.split_once(".so").map(|(stem, _)| stem);
    matches!(stem, Some("libmpifort" | "libmpichfort" | "libmpi_mpifh" | "libmpi_usempif08"))
}

/// Is it one of the libraries that belong to an MPI but are not its C library?
fn is_binding(soname: &str) -> bool {
    const BINDINGS: [&str; 8] = [
        "libmpifort.",
        "libmpichfort.",
        "libmpicxx.",
        "libmpichcxx.",
        "libmpi_cxx.",
        "libmpi_mpifh.",
        "libmpi_usempi",
        "libmpi_abi_",
    ];
    BINDINGS.iter().any(|beginning| soname.starts_with(beginning))
}

/// Does a library belong to an MPI, by its name, so that what it calls is no call of the application?
pub fn is_part_of_mpi(soname: &str) -> bool {
    is_mpi_library(soname) || is_binding(soname)
}

#[cfg(test)]
mod tests {
    use super::{Abi, is_fortran_library, is_mpi_library, is_part_of_mpi};

    /// The names of real libraries: Debian's, wheels', Intel's, Cray's.
    #[test]
    fn libraries_are_known_by_their_names() {
        for (name, abi) in [
            ("libmpi.so.12", Some(Abi::Mpich)),
            ("libmpich.so.12", Some(Abi::Mpich)),
            ("libmpi_gnu_123.so.12", Some(Abi::Mpich)),
            ("libmpi.so.40", Some(Abi::OpenMpi)),
            ("libmpi_abi.so.1", Some(Abi::Standard)),
            ("libmpifort.so.12", None),
            ("libmpi_mpifh.so.40", None),
            ("libm.so.6", None),
            ("libmpiabc.so", None),
        ] {
            assert_eq!(Abi::of_library(name), abi, "{name}");
        }
        assert!(is_mpi_library("libmpi.so") && is_mpi_library("libmpi.so.40.40.7"));
        assert!(!is_mpi_library("libmpifort.so.12") && is_fortran_library("libmpifort.so.12.5.2"));
        assert!(is_part_of_mpi("libmpi.so") && is_part_of_mpi("libmpich.so.12"));
        assert!(is_part_of_mpi("libmpi_usempif08.so.40") && !is_part_of_mpi("libmpifr.so.4"));
    }
}
