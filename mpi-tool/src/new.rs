//! `mpi-tool new`: a tool project that compiles and works.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::cli::New;
use crate::out::outln;
use crate::tools::source_tree;

/// The example of docs/writing-a-tool.md, which the framework's tests run.
const EXAMPLE: &str = include_str!("../templates/mpi_time.rs");
const MANIFEST: &str = include_str!("../templates/manifest.toml");
const README: &str = include_str!("../templates/README.md");

impl New {
    pub(crate) fn run(&self) -> Result<()> {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        check_name(name)?;
        if self.path.exists() {
            bail!("{} exists already; nothing was written", self.path.display());
        }
        let dependency = self.dependency()?;
        let type_name = camel_case(name);
        let source = EXAMPLE
            .replace(
                "install_pmpi_layer!(MpiTime, name = \"mpi-time\")",
                "install_qmpi_layer!(MpiTime)",
            )
            .replace("install_pmpi_layer", "install_qmpi_layer")
            .replace("MpiTime", &type_name);
        let fill = |text: &str| {
            text.replace("{name}", name)
                .replace("{library}", &name.replace('-', "_"))
                .replace("{dependency}", &dependency)
        };
        for (file, text) in [
            ("Cargo.toml", fill(MANIFEST)),
            ("src/lib.rs", source),
            ("README.md", fill(README)),
            (".gitignore", "/target\n".into()),
        ] {
            let path = self.path.join(file);
            let written = fs::create_dir_all(path.parent().unwrap_or(&path))
                .and_then(|()| fs::write(&path, text));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        outln!(
            "Made {0}. Next:\n  cd {0}\n  mpi-tool build\n  mpi-tool run --tool {name} -- mpiexec -n 2 ./app",
            self.path.display()
        );
        Ok(())
    }

    /// `path = "…"` or `git = "…"`, or where there is no source tree `version = "…"`.
    fn dependency(&self) -> Result<String> {
        if let Some(url) = self.framework.as_deref().filter(|place| place.contains("://")) {
            return Ok(format!("git = {url:?}"));
        }
        let Some(tree) = self.framework.as_deref().map(Into::into).or_else(source_tree) else {
            // The packages of one version of the framework have the same number.
            return Ok(format!("version = {:?}", env!("CARGO_PKG_VERSION")));
        };
        let layer = tree.join("mpi-tool-layer");
        if !layer.join("Cargo.toml").is_file() {
            bail!(
                "{} is not the framework's source tree (it has no mpi-tool-layer); --framework says \
                 where that is, a path or a git URL",
                tree.display()
            );
        }
        let layer = fs::canonicalize(&layer).with_context(|| layer.display().to_string())?;
        Ok(format!("path = {:?}", layer.display().to_string()))
    }
}

/// Cargo's rules, and those of Rust for names.
fn check_name(name: &str) -> Result<()> {
    let right = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !right {
        bail!(
            "`{name}` cannot be a tool's name: a name begins with a letter and contains only letters, digits, - and _"
        );
    }
    Ok(())
}

/// `my-profiler` → `MyProfiler`
fn camel_case(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().map_or(String::new(), |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    };
    name.split(['-', '_']).map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_types() {
        assert_eq!(camel_case("my-profiler"), "MyProfiler");
        assert_eq!(camel_case("a_b2"), "AB2");
        assert!(check_name("my-profiler").is_ok());
        for wrong in ["", "2fast", "a b", "../x/é", "-x"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
