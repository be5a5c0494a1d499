//! A tarball of what is staged, to be unpacked anywhere, with a file for environment modules.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::stage::{File, Stage};

/// What distinguishes a tarball.
pub(super) struct Tarball<'a> {
    pub(super) version: &'a str,
    /// The folder of the Python package.
    pub(super) python: &'a Path,
}

impl Tarball<'_> {
    /// The folder that the tarball unpacks to.
    pub(super) fn name(&self) -> String {
        format!("mpi-tool-{}-x86_64-linux", self.version)
    }

    pub(super) fn write(&self, stage: &Stage, to: &Path) -> Result<()> {
        fs::write(to, self.bytes(stage)?).with_context(|| to.display().to_string())
    }

    /// The same bytes for the same files: they are sorted, and have no times and no owners.
    fn bytes(&self, stage: &Stage) -> Result<Vec<u8>> {
        let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        let mut archive = Builder::new(gzip);
        let mut add = |place: &str, contents: &[u8], is_program: bool| -> Result<()> {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_size(contents.len() as u64);
            header.set_mode(if is_program { 0o755 } else { 0o644 });
            let path = format!("{}/{place}", self.name());
            archive.append_data(&mut header, path, contents)?;
            Ok(())
        };
        for (place, File { contents, is_program }) in &stage.files {
            add(place, contents, *is_program)?;
        }
        let mut modules: Vec<_> = fs::read_dir(self.python)
            .with_context(|| self.python.display().to_string())?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        modules.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
        modules.sort();
        for path in modules {
            let name = path.file_name().context("a name")?.to_string_lossy();
            add(&format!("lib/python/mpi_tool/{name}"), &fs::read(&path)?, false)?;
        }
        let place = format!("share/modulefiles/mpi-tool/{}", self.version);
        add(&place, self.module().as_bytes(), false)?;
        Ok(archive.into_inner()?.finish()?)
    }

    /// For Environment Modules and Lmod. The folder may be anywhere: four steps up from this file. Where there is no
    /// `MANPATH`, `man` finds the pages beside the folders in `PATH`, and one that is set would hide the system's.
    fn module(&self) -> String {
        format!(
            "#%Module\n\
             set prefix [file normalize $ModulesCurrentModulefile]\n\
             foreach step {{1 2 3 4}} {{ set prefix [file dirname $prefix] }}\n\
             module-whatis \"mpi-tool {}: runs MPI programs with tools that profile, trace and check them\"\n\
             conflict mpi-tool\n\
             prepend-path PATH $prefix/bin\n\
             if {{[info exists env(MANPATH)]}} {{ prepend-path MANPATH $prefix/share/man }}\n\
             prepend-path PYTHONPATH $prefix/lib/python\n\
             prepend-path CPATH $prefix/include\n",
            self.version
        )
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::environment;

    /// `tar` unpacks it, and the module file leads to the programs, wherever that was.
    #[test]
    fn tar_unpacks_it_anywhere() {
        let mut stage = Stage::default();
        stage.add("bin/mpi-tool", b"#!/bin/sh\necho it runs\n".to_vec(), true);
        stage.add("lib/mpi-tools/mpich/libcall_counter.so", vec![7; 5000], true);
        let python = environment::root().join("python/mpi_tool");
        let tarball = Tarball { version: "0.1.0", python: &python };
        assert_eq!(tarball.bytes(&stage).unwrap(), tarball.bytes(&stage).unwrap());

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it.tar.gz");
        tarball.write(&stage, &file).unwrap();
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(&file).arg("-C").arg(folder.path());
        assert!(unpack.status().unwrap().success());
        let prefix = folder.path().join(tarball.name());
        let ran = Command::new(prefix.join("bin/mpi-tool")).output().unwrap();
        assert_eq!(ran.stdout, b"it runs\n");
        assert!(prefix.join("lib/python/mpi_tool/__init__.py").is_file());
        let module = prefix.join("share/modulefiles/mpi-tool/0.1.0");
        let text = fs::read_to_string(&module).unwrap();
        assert!(text.starts_with("#%Module\nset prefix "), "{text}");
        assert!(
            text.contains(
                "\nif {[info exists env(MANPATH)]} { prepend-path MANPATH $prefix/share/man }\n"
            ),
            "{text}"
        );
        assert_eq!(module.ancestors().nth(4), Some(prefix.as_path()));
    }
}
