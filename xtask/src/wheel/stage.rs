//! What is installed, by its place below a prefix (`/usr/local`, a virtual environment).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::step::output;

/// A file that is installed.
#[derive(Debug)]
pub(super) struct File {
    pub(super) contents: Vec<u8>,
    pub(super) is_program: bool,
}

/// All files, by their paths below the prefix.
#[derive(Debug, Default)]
pub(super) struct Stage {
    pub(super) files: BTreeMap<String, File>,
}

impl Stage {
    pub(super) fn add(&mut self, place: impl Into<String>, contents: Vec<u8>, is_program: bool) {
        self.files.insert(place.into(), File { contents, is_program });
    }

    fn copy(&mut self, place: impl Into<String>, from: &Path, is_program: bool) -> Result<()> {
        let contents = fs::read(from).with_context(|| from.display().to_string())?;
        self.add(place, contents, is_program);
        Ok(())
    }

    /// The tools' builds for an ABI, where `mpi-tool` and universal builds look for them.
    pub(super) fn tools(&mut self, abi: &str, packages: &[String], built: &Path) -> Result<()> {
        for package in packages {
            let library = library(package);
            self.copy(format!("lib/mpi-tools/{abi}/{library}"), &built.join(&library), true)?;
        }
        Ok(())
    }

    /// The universal build, under the name of each tool.
    pub(super) fn universal(&mut self, packages: &[String], built: &Path) -> Result<()> {
        for package in packages {
            let place = format!("lib/mpi-tools/{}", library(package));
            self.copy(place, &built.join("libuniversal.so"), true)?;
        }
        Ok(())
    }

    /// `mpi-tool`, and what it says of itself.
    pub(super) fn program(&mut self, program: &Path) -> Result<()> {
        self.copy("bin/mpi-tool", program, true)?;
        for (shell, place) in [
            ("bash", "share/bash-completion/completions/mpi-tool"),
            ("zsh", "share/zsh/site-functions/_mpi-tool"),
            ("fish", "share/fish/vendor_completions.d/mpi-tool.fish"),
        ] {
            let script = output(Command::new(program).args(["completions", shell]))?;
            self.add(place, script.into_bytes(), false);
        }
        let pages = program.with_file_name("man");
        if pages.exists() {
            // Of commands that are no more.
            fs::remove_dir_all(&pages)?;
        }
        output(Command::new(program).args(["man", "--output"]).arg(&pages))?;
        for entry in fs::read_dir(&pages)? {
            let page = entry?;
            let name = page.file_name().to_string_lossy().into_owned();
            self.copy(format!("share/man/man1/{name}"), &page.path(), false)?;
        }
        Ok(())
    }

    /// The program of `mpi-tool demo`, and its source, which reports name.
    pub(super) fn example(&mut self, source: &Path, program: &Path) -> Result<()> {
        self.copy("lib/mpi-tools/mpi-tool-example", program, true)?;
        self.copy("lib/mpi-tools/example.c", source, false)
    }

    pub(super) fn header(&mut self, header: &Path) -> Result<()> {
        let name = header.file_name().context("a header has a name")?.to_string_lossy();
        self.copy(format!("include/{name}"), header, false)
    }

    /// Refuses files with one of these texts in them.
    pub(super) fn reject(&self, texts: &[String]) -> Result<()> {
        for (place, file) in &self.files {
            for text in texts {
                if file.contents.windows(text.len()).any(|part| part == text.as_bytes()) {
                    bail!("{place}: has the path {text} of this machine in it");
                }
            }
        }
        Ok(())
    }

    /// Refuses libraries with the names of their own functions in them, which nobody there needs: a fifth of a tool.
    pub(super) fn reject_symbols(&self) -> Result<()> {
        const SECTION: &[u8] = b"\0.symtab\0";
        for (place, file) in self.files.iter().filter(|(place, _)| place.ends_with(".so")) {
            if file.contents.windows(SECTION.len()).any(|part| part == SECTION) {
                bail!("{place}: is not stripped");
            }
        }
        Ok(())
    }
}

/// `libcall_counter.so` of `call-counter`
fn library(package: &str) -> String {
    match package {
        "qmpi-shim" => "libqmpi.so".into(),
        tool => format!("lib{}.so", tool.replace('-', "_")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Stage, library};

    #[test]
    fn tools_lie_where_they_are_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libcall_counter.so", "libqmpi.so", "libuniversal.so"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let packages = ["call-counter", "qmpi-shim"].map(String::from);
        let mut stage = Stage::default();
        stage.tools("openmpi", &packages, folder.path()).unwrap();
        stage.universal(&packages[..1], folder.path()).unwrap();
        let places: Vec<_> = stage.files.keys().map(String::as_str).collect();
        assert_eq!(
            places,
            [
                "lib/mpi-tools/libcall_counter.so",
                "lib/mpi-tools/openmpi/libcall_counter.so",
                "lib/mpi-tools/openmpi/libqmpi.so"
            ]
        );
        let universal = &stage.files["lib/mpi-tools/libcall_counter.so"];
        assert_eq!(universal.contents, b"libuniversal.so");
        assert_eq!(library("mpi-check"), "libmpi_check.so");
    }

    #[test]
    fn libraries_with_symbols_are_refused() {
        let mut stage = Stage::default();
        // The program reads such sections, and so has their name.
        stage.add("bin/mpi-tool", b"\0.symtab\0".to_vec(), true);
        stage.add("lib/mpi-tools/liba.so", b"\0.dynsym\0".to_vec(), true);
        stage.reject_symbols().unwrap();
        stage.add("lib/mpi-tools/mpich/liba.so", b"\0.symtab\0.strtab\0".to_vec(), true);
        let error = stage.reject_symbols().unwrap_err().to_string();
        assert_eq!(error, "lib/mpi-tools/mpich/liba.so: is not stripped");
    }

    #[test]
    fn paths_of_this_machine_are_refused() {
        let mut stage = Stage::default();
        stage.add("bin/a", b"\0/crates/x\0".to_vec(), true);
        let texts = ["/home/somebody".to_owned()];
        stage.reject(&texts).unwrap();
        stage.add("bin/b", b"\0/home/somebody/src\0".to_vec(), true);
        let error = stage.reject(&texts).unwrap_err().to_string();
        assert!(error.starts_with("bin/b: "), "{error}");
    }
}
