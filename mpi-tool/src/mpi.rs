//! MPI libraries: which one a file is, and of which ABI.

use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;
use mpi_facts::Abi;
use serde::{Serialize, Serializer};

use crate::elf::{Elf, texts};
use crate::family::Family;

/// An ABI as machines read it: by its name.
fn abi_name<S: Serializer>(abi: &Abi, serializer: S) -> Result<S::Ok, S::Error> {
    abi.name().serialize(serializer)
}

/// An MPI library.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Mpi {
    /// Whose: `MPICH`, `Intel MPI`, `Open MPI`, or what the ABI says.
    pub(crate) implementation: String,
    /// By the library's own strings.
    pub(crate) version: Option<String>,
    #[serde(serialize_with = "abi_name")]
    pub(crate) abi: Abi,
    /// The name that the program knows it by.
    pub(crate) soname: String,
    /// Where it is; nothing if it was not found on this machine.
    pub(crate) path: Option<PathBuf>,
}

impl Mpi {
    /// The MPI library that a name stands for, which was found or not.
    pub(crate) fn new(soname: &str, path: Option<&Path>) -> Option<Self> {
        let abi = Abi::of_library(soname)?;
        let data = path.and_then(|path| fs::read(path).ok()).unwrap_or_default();
        let has = |text: &str| memmem::find(&data, text.as_bytes()).is_some();
        let (implementation, version) = if abi == Abi::OpenMpi {
            ("Open MPI", own_version(&data))
        } else if has("Intel(R) MPI Library") {
            ("Intel MPI", texts(&data).find_map(intel_version))
        } else if has("MVAPICH2") {
            ("MVAPICH", None)
        } else if has("CRAY MPICH") {
            ("Cray MPICH", None)
        } else if has("MPICH") {
            ("MPICH", own_version(&data))
        } else if abi == Abi::Mpich {
            ("MPICH or a relative", None)
        } else {
            ("MPI with the standard ABI", None)
        };
        Some(Self {
            implementation: implementation.into(),
            version,
            abi,
            soname: soname.into(),
            path: path.map(Into::into),
        })
    }

    /// `MPICH 5.0.2`
    pub(crate) fn title(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.implementation),
            None => self.implementation.clone(),
        }
    }

    /// The family of MPIs whose launchers it understands, where the library's own texts say what it is: a
    /// library of another name may stand for it, and serve another launcher.
    pub(crate) fn family(&self) -> Option<Family> {
        match self.implementation.as_str() {
            "MPICH" | "Intel MPI" | "MVAPICH" | "Cray MPICH" => Some(Family::Mpich),
            "Open MPI" if self.version.is_some() => Some(Family::OpenMpi),
            _ => None,
        }
    }

    /// The MPI library of a shared object's own file.
    pub(crate) fn in_file(path: &Path) -> Option<Self> {
        let library = Elf::read(path).ok()??;
        let name = path.file_name()?.to_str()?;
        Self::new(library.soname.as_deref().unwrap_or(name), Some(path))
    }
}

/// MPICH and Open MPI have their version as a text of its own, among all other texts: `4.0.2`,
/// `5.0.0rc1`. Their relatives' and parts' begin with 0, or have two numbers.
fn own_version(data: &[u8]) -> Option<String> {
    texts(data).find(|text| is_version(text)).map(Into::into)
}

fn is_version(text: &str) -> bool {
    let mut parts = text.splitn(3, '.');
    let mut part = || parts.next().unwrap_or("");
    let (major, minor, patch) = (part(), part(), part());
    let is_number = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    is_number(major)
        && !major.starts_with('0')
        && is_number(minor)
        && (1..=6).contains(&patch.len())
        && patch.starts_with(|first: char| first.is_ascii_digit())
        && patch.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Intel's, too: `2021.19.0`.
fn intel_version(text: &str) -> Option<String> {
    let year = text.strip_prefix("20")?.split('.').next()?;
    let is_version = year.len() == 2
        && text.contains('.')
        && text.split('.').all(|part| {
            (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        });
    is_version.then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::{intel_version, is_version};

    #[test]
    fn versions_stand_alone() {
        for version in ["5.0.2", "4.1.8", "5.0.0rc1", "3.4.3"] {
            assert!(is_version(version), "{version}");
        }
        // Of hwloc and UCX, of other things.
        for other in ["0.13.99", "5.0", "v5.0.2", "1.2.3.4.", "127.0.0.1", "5.0.2 ", "10.", ".1.2"]
        {
            assert!(!is_version(other), "{other}");
        }
        assert_eq!(intel_version("2021.19.0").as_deref(), Some("2021.19.0"));
        for other in ["2021", "2021.x", "20210.1", "Intel 2021.19.0", "21.1.0"] {
            assert_eq!(intel_version(other), None, "{other}");
        }
    }
}
