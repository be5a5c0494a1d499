//! A Debian package of what is staged, made by cargo-deb from a manifest of its own.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::stage::{File, Stage};
use crate::environment;
use crate::step::{cargo, installed_crate, output, run, step};

/// What distinguishes a package.
pub(super) struct Package<'a> {
    pub(super) version: &'a str,
    /// The folder of the Python package.
    pub(super) python: &'a Path,
    /// `NAME <ADDRESS>`.
    pub(super) maintainer: &'a str,
}

const CARGO_DEB: &str = "3.8.0";

impl Package<'_> {
    /// The package's file in a folder. The folder `debian` in it is made anew.
    pub(super) fn write(&self, stage: &Stage, to: &Path) -> Result<PathBuf> {
        let folder = to.join("debian");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        // The last change is the date of all files, so that the same sources make the same package.
        let said = output(Command::new("git").current_dir(environment::root()).args([
            "log",
            "-1",
            "--format=%ct%n%cD",
        ]))?;
        let (seconds, date) = said.trim_end().split_once('\n').context("git told no date")?;
        self.lay_out(stage, &folder, date)?;
        let program =
            installed_crate("cargo-deb", CARGO_DEB, &["--no-default-features", "--features=lzma"])?;
        let file = to.join(format!("mpi-tool_{}-1_amd64.deb", self.version));
        step("Packing the Debian package", || {
            run(Command::new(program)
                .args(["--no-build", "--no-strip", "--quiet", "--offline"])
                .args(["--target", super::make::TARGET])
                .arg("--manifest-path")
                .arg(folder.join("Cargo.toml"))
                .arg("--output")
                .arg(&file)
                .env("CARGO", cargo().get_program())
                .env("SOURCE_DATE_EPOCH", seconds))
        })?;
        Ok(file)
    }

    /// Writes all files into the folder, with the manifest that says where they belong.
    fn lay_out(&self, stage: &Stage, folder: &Path, date: &str) -> Result<()> {
        let mut assets = String::new();
        let mut add = |place: &str, File { contents, is_program }: &File| -> Result<()> {
            let file = folder.join("files").join(place);
            fs::create_dir_all(file.parent().context("a folder")?)?;
            fs::write(&file, contents).with_context(|| file.display().to_string())?;
            // Debian's shared objects are not programs.
            let mode = if *is_program && !place.ends_with(".so") { 0o755 } else { 0o644 };
            fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
            let target = in_debian(place);
            writeln!(assets, "    [\"files/{place}\", \"{target}\", \"{mode:o}\"],")?;
            Ok(())
        };
        for (place, file) in &stage.files {
            add(place, file)?;
        }
        for entry in fs::read_dir(self.python)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "py") {
                let name = path.file_name().context("a name")?.to_string_lossy();
                let file = File { contents: fs::read(&path)?, is_program: false };
                add(&format!("lib/python3/dist-packages/mpi_tool/{name}"), &file)?;
            }
        }
        let root = environment::root();
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            fs::copy(root.join(license), folder.join(license))?;
        }
        fs::write(
            folder.join("copyright"),
            COPYRIGHT.to_owned() + &quoted(&root.join("LICENSE-MIT"))?,
        )?;
        fs::write(folder.join("changelog"), self.changelog(date))?;
        fs::write(folder.join("lib.rs"), "")?;
        fs::write(folder.join("Cargo.toml"), self.manifest(&assets))?;
        Ok(())
    }

    /// A package of its own for Cargo: it contains no code, and is no member of the workspace.
    fn manifest(&self, assets: &str) -> String {
        format!(
            r#"[package]
name = "mpi-tool"
version = "{version}"
edition = "2024"
description = "shows what MPI programs do: profiles, traces, hangs, mistakes"
license = "MIT OR Apache-2.0"

[lib]
path = "lib.rs"

[workspace]

[package.metadata.deb]
maintainer = "{maintainer}"
license-file = ["copyright", "0"]
changelog = "changelog"
section = "utils"
priority = "optional"
depends = "libc6 (>= 2.17)"
recommends = "python3"
suggests = "mpi-default-bin"
extended-description = """\
Tools that show what an MPI program does: where its time goes, which rank
hangs, what is wrong with it. The program may be written in C, C++, Fortran
or Python, and is not recompiled. All tools work under MPICH and what has
its ABI, under Open MPI, and under the ABI of MPI-5."""
assets = [
{assets}]
"#,
            version = self.version,
            maintainer = self.maintainer,
        )
    }

    fn changelog(&self, date: &str) -> String {
        format!(
            "mpi-tool ({}-1) unstable; urgency=medium\n\n  * This package has the files of the wheel.\n\n \
             -- {}  {date}\n",
            self.version, self.maintainer
        )
    }
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mpi-tool

Files: *
Copyright: 2026 The authors of mpi-tool
License: Apache-2.0 or Expat

License: Apache-2.0
 On Debian systems, the license is in /usr/share/common-licenses/Apache-2.0.

License: Expat
";

/// A file's text as a field of a copyright file: with a space before each line, and a point for an empty one.
fn quoted(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let line = |line: &str| format!(" {}\n", if line.trim().is_empty() { "." } else { line });
    Ok(text.lines().map(line).collect())
}

/// Where Debian wants a file that is at `place` below a prefix.
fn in_debian(place: &str) -> String {
    match place.strip_prefix("share/zsh/site-functions/") {
        Some(name) => format!("usr/share/zsh/vendor-completions/{name}"),
        None => format!("usr/{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_where_debian_wants_it() {
        let mut stage = Stage::default();
        stage.add("bin/mpi-tool", b"program".to_vec(), true);
        stage.add("lib/mpi-tools/mpich/libcall_counter.so", b"tool".to_vec(), true);
        stage.add("share/zsh/site-functions/_mpi-tool", b"words".to_vec(), false);
        let python = environment::root().join("python/mpi_tool");
        let package =
            Package { version: "0.1.0", python: &python, maintainer: "A B <a@example.org>" };
        let folder = tempfile::tempdir().unwrap();
        package.lay_out(&stage, folder.path(), "Tue, 24 Nov 2026 03:24:19 +0000").unwrap();
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let deb = &manifest["package"]["metadata"]["deb"];
        assert_eq!(deb["maintainer"].as_str(), Some("A B <a@example.org>"));
        let assets: Vec<Vec<&str>> = deb["assets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|asset| {
                asset.as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect()
            })
            .collect();
        for [target, mode] in [
            ["usr/bin/mpi-tool", "755"],
            ["usr/lib/mpi-tools/mpich/libcall_counter.so", "644"],
            ["usr/lib/python3/dist-packages/mpi_tool/__init__.py", "644"],
            ["usr/share/zsh/vendor-completions/_mpi-tool", "644"],
        ] {
            let asset = assets.iter().find(|asset| asset[1] == target).unwrap();
            assert_eq!(asset[2], mode);
            assert!(folder.path().join(asset[0]).is_file(), "{}", asset[0]);
        }
        let changelog = fs::read_to_string(folder.path().join("changelog")).unwrap();
        assert!(changelog.ends_with(" -- A B <a@example.org>  Tue, 24 Nov 2026 03:24:19 +0000\n"));
        let copyright = fs::read_to_string(folder.path().join("copyright")).unwrap();
        assert!(copyright.contains("\n .\n"), "{copyright}");
    }
}
