//! The book: the pages of `docs`, the README and the sources that they link to, as pages for a browser.

mod check;
mod look;
mod pictures;
mod stage;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::environment;
use crate::step::{installed_crate, run, step};

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
        let mdbook =
            installed_crate("mdbook", MDBOOK, &["--no-default-features", "--features=search"])?;
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
