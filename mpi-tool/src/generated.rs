//! What is made of the command line's definition: completion scripts and man pages.

use std::fs;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;

use crate::cli::{Arguments, Completions, Man};
use crate::out::print;

impl Completions {
    pub(crate) fn run(&self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "mpi-tool", &mut script);
        print(&script)
    }
}

impl Man {
    pub(crate) fn run(&self) -> Result<()> {
        let Some(folder) = &self.output else {
            let mut page = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
            return print(&page);
        };
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        clap_mangen::generate_to(Arguments::command(), folder)
            .with_context(|| folder.display().to_string())
    }
}
