//! Files that take a compiler to make: made once for all tests, and kept for the next run.
//!
//! Each test is a process of its own, so what one test compiles the next one finds in a folder that `cargo xtask test`
//! names. A file's place there is a hash of all that it is made from, so a file that is there is never out of date.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::path::{Path, PathBuf};

use crate::settings::setting;

/// The file `name`, which `make` makes in the folder that it is given, together with whatever else it writes there. It
/// is made again when the MPI, the `recipe`, or a file in one of the `sources`, files or folders, is another one.
///
/// # Panics
/// If a source cannot be read, or `make` makes no such file.
pub fn kept(
    name: &str,
    recipe: &impl Hash,
    sources: &[&Path],
    make: impl FnOnce(&Path),
) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    recipe.hash(&mut hasher);
    for source in sources {
        hash_content(source, &mut hasher);
    }
    let folder = setting("TEST_PROGRAMS").join(setting("MPI_NAME"));
    let own = folder.join(format!("{name}-{:016x}", hasher.finish()));
    let file = own.join(name);
    if file.exists() {
        return file;
    }
    fs::create_dir_all(&folder).unwrap();
    // Two tests may make it at the same time: the folder of the first one to be ready stays.
    let new = tempfile::tempdir_in(&folder).unwrap();
    make(new.path());
    assert!(new.path().join(name).exists(), "{name} was not made");
    if fs::rename(new.path(), &own).is_ok() {
        // It is no longer there, under that name.
        let _ = new.keep();
    }
    assert!(file.exists(), "{} is not there", file.display());
    file
}

/// All files in a folder, not in its folders, or one file.
fn hash_content(path: &Path, hasher: &mut DefaultHasher) {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
    }
    for file in files.iter().filter(|file| !file.is_dir()) {
        let content = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file, content).hash(hasher);
    }
}
