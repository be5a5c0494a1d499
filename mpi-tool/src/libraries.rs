//! The libraries that a program will be linked to when it starts, found as the dynamic linker finds
//! them.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::elf::{Elf, Machine};

/// A program's libraries.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    /// In the order in which the dynamic linker takes them: breadth first.
    pub(crate) found: Vec<Elf>,
    /// Names that are nowhere.
    pub(crate) missing: Vec<String>,
}

impl Libraries {
    /// Looks for a program's libraries, and theirs, with `LD_LIBRARY_PATH` as it is here.
    pub(crate) fn of(program: &Elf) -> Self {
        Search::new().all(program)
    }
}

struct Search {
    library_path: Vec<PathBuf>,
    cache: Vec<(String, PathBuf)>,
}

impl Search {
    fn new() -> Self {
        let library_path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        Self {
            library_path: env::split_paths(&library_path)
                .map(|folder| if folder.as_os_str().is_empty() { ".".into() } else { folder })
                .collect(),
            cache: fs::read("/etc/ld.so.cache").map(|data| cache(&data)).unwrap_or_default(),
        }
    }

    fn all(&self, program: &Elf) -> Libraries {
        let mut libraries = Libraries::default();
        let mut seen = BTreeSet::new();
        // What asks, and the RPATHs of those that asked for it.
        let mut queue = std::collections::VecDeque::from([(program.clone(), Vec::new())]);
        while let Some((asking, inherited)) = queue.pop_front() {
            let mut rpath = own_folders(&asking, &asking.rpath);
            rpath.extend(inherited);
            for name in &asking.needed {
                if !seen.insert(name.clone()) {
                    continue;
                }
                match self.find(name, &asking, &rpath) {
                    Some(library) => {
                        libraries.found.push(library.clone());
                        queue.push_back((library, rpath.clone()));
                    }
                    None => libraries.missing.push(name.clone()),
                }
            }
        }
        libraries
    }

    fn find(&self, name: &str, asking: &Elf, rpath: &[PathBuf]) -> Option<Elf> {
        if name.contains('/') {
            return fitting(Path::new(name));
        }
        let runpath = own_folders(asking, &asking.runpath);
        // RPATHs count only where there is no RUNPATH.
        let rpath = if runpath.is_empty() { rpath } else { &[] };
        let in_folders =
            |folders: &[PathBuf]| folders.iter().find_map(|folder| fitting(&folder.join(name)));
        let cached = || {
            let mut entries = self.cache.iter().filter(|(known, _)| known == name);
            entries.find_map(|(_, path)| fitting(path))
        };
        let triplet = Machine::OWN.triplet();
        let standard = [
            "/lib64",
            "/usr/lib64",
            &format!("/lib/{triplet}"),
            &format!("/usr/lib/{triplet}"),
            "/lib",
            "/usr/lib",
        ];
        in_folders(rpath)
            .or_else(|| in_folders(&self.library_path))
            .or_else(|| in_folders(&runpath))
            .or_else(cached)
            .or_else(|| in_folders(&standard.map(PathBuf::from)))
    }
}

/// A library that a program of ours can be linked to.
fn fitting(path: &Path) -> Option<Elf> {
    Elf::read(path).ok()?.filter(|library| library.machine == Some(Machine::OWN))
}

/// With what stands for the folder of the object that says so.
fn own_folders(object: &Elf, folders: &[String]) -> Vec<PathBuf> {
    let real = fs::canonicalize(&object.path).unwrap_or_else(|_| object.path.clone());
    let origin = real.parent().unwrap_or(Path::new("/")).display().to_string();
    let expand = |folder: &String| {
        let mut folder = folder.clone();
        let platform = env::consts::ARCH;
        for (name, value) in [("ORIGIN", origin.as_str()), ("LIB", "lib64"), ("PLATFORM", platform)]
        {
            folder =
                folder.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
        }
        PathBuf::from(folder)
    };
    folders.iter().map(expand).collect()
}

/// The names and paths in `/etc/ld.so.cache`, in the format of glibc 2.2 and later.
fn cache(data: &[u8]) -> Vec<(String, PathBuf)> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER: usize = 48;
    const ENTRY: usize = 24;
    // The older format may stand in front of it.
    let Some(start) = data.windows(MAGIC.len()).position(|window| window == MAGIC) else {
        return Vec::new();
    };
    let data = &data[start..];
    let word = |at: usize| {
        let bytes = data.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes) as usize)
    };
    let text = |at: usize| {
        let bytes = data.get(at..)?.split(|byte| *byte == 0).next()?;
        String::from_utf8(bytes.to_vec()).ok()
    };
    let count = word(MAGIC.len()).unwrap_or(0).min(data.len() / ENTRY);
    (0..count)
        .filter_map(|index| {
            let entry = HEADER + index * ENTRY;
            Some((text(word(entry + 4)?)?, PathBuf::from(text(word(entry + 8)?)?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the dynamic linker itself would take, by its own word.
    #[test]
    fn finds_what_the_dynamic_linker_finds() {
        let program = env::current_exe().unwrap();
        let linker = match Machine::OWN {
            Machine::X86_64 => Path::new("/lib64/ld-linux-x86-64.so.2"),
            Machine::Aarch64 => Path::new("/lib/ld-linux-aarch64.so.1"),
        };
        let output =
            std::process::Command::new(linker).arg("--list").arg(&program).output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let listed: BTreeSet<PathBuf> = listed
            .lines()
            .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
            .filter(|path| !path.contains("/ld-linux"))
            .map(|path| fs::canonicalize(path).unwrap())
            .collect();
        assert!(!listed.is_empty());
        let libraries = Libraries::of(&Elf::read(&program).unwrap().unwrap());
        assert_eq!(libraries.missing, Vec::<String>::new());
        let found: BTreeSet<PathBuf> = libraries
            .found
            .iter()
            .map(|library| fs::canonicalize(&library.path).unwrap())
            .filter(|path| !path.display().to_string().contains("/ld-linux"))
            .collect();
        assert_eq!(found, listed);
    }
}
