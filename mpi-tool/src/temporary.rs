//! Temporary files of a run, which its ranks are told by their paths.

use std::env;
use std::path::PathBuf;

use tempfile::Builder;

/// Makes such files, and folders of them.
pub(crate) fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix("mpi-tool-");
    builder
}

/// Where they are: an absolute path, as ranks may work in other folders.
pub(crate) fn root() -> Option<PathBuf> {
    Some(env::current_dir().ok()?.join(env::temp_dir()))
}
