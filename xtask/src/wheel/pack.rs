//! A wheel of what is staged: a zip file whose bytes depend on its contents only.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::stage::{File, Stage};
use crate::environment;

/// What distinguishes a wheel.
pub(super) struct Wheel<'a> {
    pub(super) version: &'a str,
    /// On what its programs run: `manylinux_2_17_x86_64`.
    pub(super) platform: &'a str,
    /// The project of the Python package.
    pub(super) python: PathBuf,
}

impl Wheel<'_> {
    /// By which pip tells whether it fits.
    pub(super) fn file_name(&self) -> String {
        format!("{}-{}.whl", self.name(), self.tag())
    }

    fn name(&self) -> String {
        format!("mpi_tool-{}", self.version)
    }

    /// Any Python 3: nothing in it is linked to one.
    fn tag(&self) -> String {
        format!("py3-none-{}", self.platform)
    }

    pub(super) fn write(&self, stage: &Stage, to: &Path) -> Result<()> {
        let bytes = self.bytes(stage)?;
        fs::create_dir_all(to.parent().context("a wheel is in a folder")?)?;
        fs::write(to, bytes).with_context(|| to.display().to_string())
    }

    fn bytes(&self, stage: &Stage) -> Result<Vec<u8>> {
        let mut files: BTreeMap<String, (&[u8], bool)> = BTreeMap::new();
        for (place, File { contents, is_program }) in &stage.files {
            files.insert(self.place(place), (contents, *is_program));
        }
        let more = self.package()?;
        files.extend(more.iter().map(|(place, text)| (place.clone(), (text.as_slice(), false))));
        let record = self.record(&files);
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        // Installers read this one last.
        let last = (format!("{}.dist-info/RECORD", self.name()), (record.as_bytes(), false));
        for (place, (contents, is_program)) in files.into_iter().chain([last]) {
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Deflated)
                .compression_level(Some(9))
                .last_modified_time(DateTime::default())
                .unix_permissions(if is_program { 0o755 } else { 0o644 });
            zip.start_file(place, options)?;
            zip.write_all(contents)?;
        }
        Ok(zip.finish()?.into_inner())
    }

    /// Where a wheel has what is installed below the prefix.
    fn place(&self, place: &str) -> String {
        match place.strip_prefix("bin/") {
            Some(program) => format!("{}.data/scripts/{program}", self.name()),
            None => format!("{}.data/data/{place}", self.name()),
        }
    }

    /// The Python package, and what is said of the wheel.
    fn package(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        let package = self.python.join("mpi_tool");
        for entry in fs::read_dir(&package).with_context(|| package.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "py") {
                let name = path.file_name().context("a name")?.to_string_lossy().into_owned();
                files.insert(format!("mpi_tool/{name}"), fs::read(&path)?);
            }
        }
        let mut about = |name: &str, contents: Vec<u8>| {
            files.insert(format!("{}.dist-info/{name}", self.name()), contents);
        };
        about("WHEEL", self.wheel().into_bytes());
        about("METADATA", self.metadata().into_bytes());
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            about(&format!("licenses/{licence}"), fs::read(environment::root().join(licence))?);
        }
        Ok(files)
    }

    fn wheel(&self) -> String {
        format!(
            "Wheel-Version: 1.0\nGenerator: xtask ({})\nRoot-Is-Purelib: false\nTag: {}\n",
            self.version,
            self.tag()
        )
    }

    fn metadata(&self) -> String {
        format!(
            "Metadata-Version: 2.4\n\
             Name: mpi-tool\n\
             Version: {}\n\
             Summary: Runs MPI programs with interception tools: profile, trace, check, find hangs\n\
             License-Expression: MIT OR Apache-2.0\n\
             License-File: LICENSE-APACHE\n\
             License-File: LICENSE-MIT\n\
             Requires-Python: >=3.9\n\
             Provides-Extra: pandas\n\
             Requires-Dist: pandas ; extra == 'pandas'\n\
             Description-Content-Type: text/markdown\n\n\
             `mpi-tool run -- mpiexec -n 4 ./app` tells where the time of an MPI program goes, without recompiling \
             it. `mpi-tool doctor` says what works on this machine, and `mpi-tool demo` shows it. The Python package \
             `mpi_tool` reads the reports.\n",
            self.version
        )
    }

    /// What uninstalls everything: each file with its hash.
    fn record(&self, files: &BTreeMap<String, (&[u8], bool)>) -> String {
        let mut record = String::new();
        for (place, (contents, _)) in files {
            let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(contents));
            record.push_str(&format!("{place},sha256={hash},{}\n", contents.len()));
        }
        record.push_str(&format!("{}.dist-info/RECORD,,\n", self.name()));
        record
    }
}

/// In hexadecimal, as `sha256sum` prints it.
pub(super) fn sha256(contents: &[u8]) -> String {
    Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn wheel() -> Wheel<'static> {
        let python = environment::root().join("python");
        Wheel { version: "0.1.0", platform: "manylinux_2_17_x86_64", python }
    }

    fn stage() -> Stage {
        let mut stage = Stage::default();
        // pip takes the place of what it has not written itself for a program's first line.
        stage.add("bin/mpi-tool", b"#!/bin/sh\necho installed\n".to_vec(), true);
        stage.add("lib/mpi-tools/libcall_counter.so", b"any".to_vec(), true);
        stage.add("lib/mpi-tools/mpich/libcall_counter.so", vec![7; 5000], true);
        stage.add("share/man/man1/mpi-tool.1", b".TH".to_vec(), false);
        stage
    }

    #[test]
    fn two_wheels_are_the_same() {
        assert_eq!(wheel().bytes(&stage()).unwrap(), wheel().bytes(&stage()).unwrap());
        assert_eq!(wheel().file_name(), "mpi_tool-0.1.0-py3-none-manylinux_2_17_x86_64.whl");
    }

    /// Python's own modules read the archive, its record and its metadata, and compute the hashes for themselves.
    #[test]
    fn python_reads_the_wheel() {
        const CHECK: &str = r#"
import base64, csv, email, hashlib, io, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
names = archive.namelist()
about = "mpi_tool-0.1.0.dist-info/"
record = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(about + "RECORD").decode()))}
assert sorted(record) == sorted(names), set(record) ^ set(names)
for name, (digest, size) in record.items():
    if name == about + "RECORD":
        assert (digest, size) == ("", "")
        continue
    data = archive.read(name)
    own = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert (digest, int(size)) == ("sha256=" + own, len(data)), name
wheel = email.message_from_bytes(archive.read(about + "WHEEL"))
assert (wheel["Wheel-Version"], wheel["Root-Is-Purelib"]) == ("1.0", "false")
assert wheel["Tag"] == "py3-none-manylinux_2_17_x86_64"
meta = email.message_from_bytes(archive.read(about + "METADATA"))
assert (meta["Name"], meta["Version"]) == ("mpi-tool", "0.1.0")
for licence in meta.get_all("License-File"):
    assert about + "licenses/" + licence in names
mode = lambda name: archive.getinfo(name).external_attr >> 16 & 0o777
data = "mpi_tool-0.1.0.data/"
assert mode(data + "scripts/mpi-tool") == 0o755
assert mode(data + "data/lib/mpi-tools/mpich/libcall_counter.so") == 0o755
assert mode(data + "data/share/man/man1/mpi-tool.1") == 0o644
assert "mpi_tool/__init__.py" in names
"#;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(wheel().file_name());
        wheel().write(&stage(), &file).unwrap();
        let checked = Command::new("python3").args(["-c", CHECK]).arg(&file).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}
