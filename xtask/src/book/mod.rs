//! The book: the pages of `docs`, the README and the sources that they link to, as pages for a browser.

mod check;
mod look;
mod pictures;
mod stage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::environment;
use crate::step::{cargo, output, run, step};

/// Make the book in target/book, and check its links
///
/// The book is the folder docs as pages for a browser, which open from disk: target/book/index.html. Fails if a link or
/// an anchor leads nowhere, or if a page would ask for anything outside of the book.
#[derive(Args)]
pub(crate) struct Book {
    /// Make the pictures anew, by the programs that they show, under MPICH; without this, the book has those that were
    /// made before, if any
    #[arg(long)]
    pictures: bool,
    /// Open each page in Chromium, narrow and wide: none asks for anything outside of the book, writes an error or is
    /// broader than its window, and the search finds pages
    #[arg(long)]
    look: bool,
    /// With --look: also write a picture of the window for each page to target/book-look
    #[arg(long, requires = "look")]
    shots: bool,
}

impl Book {
    pub(crate) fn run(self) -> Result<()> {
        let target = environment::root().join("target");
        let pictures = target.join("book-pictures");
        if self.pictures {
            step("Making the pictures", || pictures::make(&pictures))?;
        }
        let mdbook = mdbook()?;
        let book = target.join("book");
        step("Making the book", || {
            let staged = target.join("book-source");
            stage::stage(&environment::root(), &pictures, &staged)?;
            for folder in [&book, &staged.join("book")] {
                remove(folder)?;
            }
            run(Command::new(mdbook).arg("build").arg(&staged).arg("--dest-dir").arg(&book))
        })?;
        let pages = step("Checking the book", || check::check(&book))?;
        if self.look {
            let shots = self.shots.then(|| target.join("book-look"));
            step("Looking at the book", || look::look(&book, &pages, shots.as_deref()))?;
        }
        println!("{}: {} pages", book.join("index.html").display(), pages.len());
        Ok(())
    }
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

const MDBOOK: &str = "0.5.4";

/// mdBook, which is compiled once: without optimization and without its web server, which takes a minute less.
fn mdbook() -> Result<PathBuf> {
    let folder = environment::root().join("target/mdbook");
    let program = folder.join("bin/mdbook");
    let version = || output(Command::new(&program).arg("--version")).unwrap_or_default();
    let wanted = format!("mdbook v{MDBOOK}");
    if version().trim() != wanted {
        step(&format!("Installing mdBook {MDBOOK} into {}", folder.display()), || {
            run(cargo()
                .args(["install", "--quiet", "--locked", "--debug", "--force", "mdbook"])
                .args(["--version", MDBOOK, "--no-default-features", "--features", "search"])
                .arg("--root")
                .arg(&folder)
                .arg("--target-dir")
                .arg(folder.join("build"))
                // What is only needed for a debugger takes time and a gigabyte.
                .env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
            remove(&folder.join("build"))
        })?;
        let found = version();
        ensure!(found.trim() == wanted, "{} is {}", program.display(), found.trim());
    }
    Ok(program)
}
