//! The crates that are for crates.io: whether each has what crates.io wants, and whether it compiles from its
//! package alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::environment;
use crate::step::{cargo, output, run, step};

/// Check that the crates for crates.io compile from their packages alone
///
/// Makes the packages, and compiles each of them against the packages of the others, in the order of their
/// dependencies. Then makes a tool with the packaged mpi-tool, which uses the packages, runs the examples of the
/// documentation, and builds the documentation for each ABI, as docs.rs does. Uploads nothing.
#[derive(Args)]
pub(crate) struct Package {
    /// Only make and compile the packages
    #[arg(long)]
    quick: bool,
}

impl Package {
    pub(crate) fn run(&self) -> Result<()> {
        let packages = published()?;
        step("Manifests", lint)?;
        step("Packages", || {
            let mut package = in_root();
            package.args(["package", "--quiet", "--allow-dirty"]).env("MPI_ABI", "mpich");
            run(package.args(packages.iter().map(|package| format!("--package={}", package.name))))
        })?;
        if self.quick {
            return Ok(());
        }
        let unpacked = workspace_of(&packages)?;
        let cargo = |arguments: &[&str]| {
            let mut cargo = cargo();
            cargo.args(arguments).args(["--quiet", "--workspace"]).current_dir(&unpacked);
            cargo.arg("--target-dir").arg(unpacked.join("target"));
            cargo
        };
        step("A tool of an author who has the packages alone", || {
            first_tool(&packages, &unpacked)
        })?;
        // A program that calls MPI is linked to one.
        let mpi = environment::mpich()?;
        step("Examples of the documentation", || {
            run(cargo(&["test", "--doc", "--all-features"]).envs(mpi.variables()))
        })?;
        for abi in ["mpich", "openmpi", "standard"] {
            step(&format!("Documentation, {abi}"), || {
                let mut doc = cargo(&["doc", "--no-deps", "--all-features"]);
                doc.env("DOCS_RS", "1").env("MPI_ABI", abi).env_remove("MPICC");
                run(doc.env("RUSTDOCFLAGS", "--deny warnings --cfg docsrs"))
            })?;
        }
        Ok(())
    }
}

/// Check that the workspace compiles with the oldest Rust that it declares
///
/// Installs that toolchain by rustup if it is missing. The version is `rust-version` in `Cargo.toml`.
#[derive(Args)]
pub(crate) struct Msrv {}

impl Msrv {
    pub(crate) fn run(&self) -> Result<()> {
        let version = declared_rust()?;
        let rustup = |arguments: &[&str]| {
            let mut rustup = Command::new("rustup");
            rustup.args(arguments).current_dir(environment::root());
            rustup
        };
        let toolchains = output(&mut rustup(&["toolchain", "list"]))
            .context("rustup installs and runs other versions of Rust")?;
        if !toolchains.lines().any(|line| line.starts_with(&format!("{version}-"))) {
            step(&format!("Installing Rust {version}"), || {
                run(&mut rustup(&["toolchain", "install", &version, "--profile", "minimal"]))
            })?;
        }
        step(&format!("Checking with Rust {version}"), || {
            let mut check = rustup(&["run", &version, "cargo", "check", "--locked", "--workspace"]);
            check.args(["--all-targets", "--target-dir", "target/msrv"]);
            // Of the toolchain that runs us, which the other one would take for its own.
            for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
                check.env_remove(variable);
            }
            run(check.envs(environment::mpich()?.variables()))
        })
    }
}

/// A crate that is for crates.io.
struct Published {
    name: String,
    version: String,
    folder: PathBuf,
    /// What `cargo metadata` says.
    manifest: Value,
}

/// All of them: those whose manifests do not say `publish = false`.
fn published() -> Result<Vec<Published>> {
    let packages = metadata()?;
    let published = packages.into_iter().filter(|manifest| manifest["publish"].is_null());
    published
        .map(|manifest| {
            let text = |key: &str| manifest[key].as_str().map(str::to_owned).context("metadata");
            let file = PathBuf::from(text("manifest_path")?);
            Ok(Published {
                name: text("name")?,
                version: text("version")?,
                folder: file.parent().context("a manifest is in a folder")?.into(),
                manifest,
            })
        })
        .collect()
}

fn in_root() -> Command {
    let mut cargo = cargo();
    cargo.current_dir(environment::root());
    cargo
}

fn metadata() -> Result<Vec<Value>> {
    let said = output(in_root().args(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: Value = serde_json::from_str(&said)?;
    metadata["packages"].as_array().cloned().context("cargo metadata names the packages")
}

/// The oldest Rust that the crates declare.
fn declared_rust() -> Result<String> {
    let packages = metadata()?;
    let mut versions: Vec<_> =
        packages.iter().filter_map(|package| package["rust_version"].as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    match versions[..] {
        [version] => Ok(version.into()),
        _ => bail!("the packages declare several versions of Rust: {}", versions.join(", ")),
    }
}

/// Makes one workspace of the unpacked packages, in which each uses the others.
fn workspace_of(packages: &[Published]) -> Result<PathBuf> {
    let root = environment::root();
    let folder = root.join("target/package");
    let unpacked: BTreeMap<_, _> = packages
        .iter()
        .map(|package| (&package.name, format!("{}-{}", package.name, package.version)))
        .collect();
    let members: Vec<_> = unpacked.values().collect();
    let mut manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n");
    manifest.push_str("\n[patch.crates-io]\n");
    for (name, folder) in &unpacked {
        manifest.push_str(&format!("{name} = {{ path = {folder:?} }}\n"));
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    // The versions of the other crates are those that are used here.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(folder)
}

/// Makes a tool with the `mpi-tool` of the unpacked packages, and checks that it compiles with them.
fn first_tool(packages: &[Published], unpacked: &Path) -> Result<()> {
    let project = unpacked.join("first-tool");
    if project.exists() {
        fs::remove_dir_all(&project)?;
    }
    let target = unpacked.join("target");
    let mut new = cargo();
    new.args(["run", "--quiet", "--package", "mpi-tool", "--target-dir"]).arg(&target);
    run(new.args(["--", "new", "first-tool"]).current_dir(unpacked))?;
    let manifest = fs::read_to_string(project.join("Cargo.toml"))?;
    if !manifest.contains("mpi-tool-layer = { version = ") {
        bail!(
            "the packaged mpi-tool makes a tool that does not depend on the package:\n{manifest}"
        );
    }
    fs::copy(unpacked.join("Cargo.lock"), project.join("Cargo.lock"))?;
    let mut check = cargo();
    check.args(["check", "--quiet", "--target-dir"]).arg(&target).current_dir(&project);
    for Published { name, version, .. } in packages {
        let folder = unpacked.join(format!("{name}-{version}"));
        check.arg("--config").arg(format!("patch.crates-io.{name}.path = {folder:?}"));
    }
    run(check.env("MPI_ABI", "mpich"))
}

/// Refuses a crate for crates.io that lacks something, and one that uses files which are not in its package.
pub(crate) fn lint() -> Result<()> {
    let mut faults = Vec::new();
    for package in published()? {
        let found = missing(&package.manifest, &|file| package.folder.join(file).is_file());
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", package.name)));
        for source in sources(&package.folder.join("src"))? {
            let path = source.strip_prefix(&package.folder)?;
            for file in outside(path, &fs::read_to_string(&source)?) {
                faults.push(format!(
                    "{}: {}: includes {file}, which is not in the package",
                    package.name,
                    path.display()
                ));
            }
        }
    }
    if !faults.is_empty() {
        bail!(
            "not ready for crates.io (or to be marked with publish = false):\n  {}",
            faults.join("\n  ")
        );
    }
    Ok(())
}

/// What a crate for crates.io lacks; `has` says whether a file is in its folder.
fn missing(manifest: &Value, has: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut missing = Vec::new();
    for key in ["description", "license", "readme", "documentation", "rust_version"] {
        if manifest[key].as_str().is_none_or(str::is_empty) {
            missing.push(format!("its manifest has no {}", key.replace('_', "-")));
        }
    }
    for key in ["keywords", "categories"] {
        let count = manifest[key].as_array().map_or(0, Vec::len);
        // More than five are refused by crates.io.
        if !(1..=5).contains(&count) {
            missing.push(format!("its manifest has {count} {key}, not one to five"));
        }
    }
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        if !has(file) {
            missing.push(format!("there is no {file} in its folder"));
        }
    }
    for dependency in manifest["dependencies"].as_array().into_iter().flatten() {
        // Those for tests are left out of a package if they have no version.
        if dependency["kind"] != "dev" && dependency["req"] == "*" {
            missing.push(format!("{} has no version", dependency["name"]));
        }
    }
    missing
}

/// The sources in a folder, at any depth.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The files that a source includes and that are not below its crate's folder.
fn outside<'s>(source: &Path, text: &'s str) -> Vec<&'s str> {
    let mut found = Vec::new();
    for opening in ["include_str!(\"", "include!(\"", "include_bytes!(\"", "#[path = \""] {
        for (start, _) in text.match_indices(opening) {
            let Some((file, _)) = text[start + opening.len()..].split_once('"') else { continue };
            let mut depth = source.components().count() as i64 - 1;
            let leaves = Path::new(file).components().any(|component| {
                depth += if component == Component::ParentDir { -1 } else { 1 };
                depth < 0
            });
            if leaves || Path::new(file).is_absolute() {
                found.push(file);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crate_without_a_readme_is_refused() {
        let mut manifest = json!({
            "description": "Safe MPI", "license": "MIT", "readme": "README.md",
            "documentation": "https://docs.rs/rmpi", "rust_version": "1.88",
            "keywords": ["mpi"], "categories": ["science"],
            "dependencies": [
                { "name": "libc", "req": "^0.2", "kind": null },
                { "name": "rmpi", "req": "*", "kind": "dev" },
            ],
        });
        assert_eq!(missing(&manifest, &|_| true), [""; 0]);
        let faults = missing(&manifest, &|file| file != "README.md");
        assert_eq!(faults, ["there is no README.md in its folder"]);
        manifest["description"] = Value::Null;
        manifest["keywords"] = json!(["a", "b", "c", "d", "e", "f"]);
        manifest["dependencies"][0]["req"] = json!("*");
        assert_eq!(missing(&manifest, &|_| true).len(), 3);
    }

    #[test]
    fn files_of_other_folders_are_refused() {
        let text = "include_str!(\"../README.md\") include_str!(\"../../README.md\")";
        assert_eq!(outside(Path::new("src/lib.rs"), text), ["../../README.md"]);
        assert_eq!(outside(Path::new("src/high/mod.rs"), text), [""; 0]);
        assert_eq!(outside(Path::new("src/lib.rs"), "#[path = \"library/mod.rs\"]"), [""; 0]);
        assert_eq!(outside(Path::new("src/lib.rs"), "include!(\"/etc/x\")"), ["/etc/x"]);
    }
}
