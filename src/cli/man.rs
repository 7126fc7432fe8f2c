//! `kokctl man`

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};

use crate::failure::{Failure, Kind};

/// Write a man page for each verb into a folder
///
/// Packages have them: `man kokctl`, `man kokctl-apply`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder; it is made if need be
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments, command: Command) -> Result<(), Vec<Failure>> {
    let folder = &arguments.folder;
    write(folder, command).map_err(|error| {
        let failure = Failure::new(Kind::Input, "the man pages can't be written").at(folder.display().to_string());
        vec![failure.because(error.to_string()).hint("name a folder that can be written to")]
    })
}

/// What is hidden has no page.
fn write(folder: &Path, command: Command) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::CommandFactory as _;

    use super::write;
    use crate::cli::Cli;

    #[test]
    fn every_verb_has_a_page_but_those_that_are_hidden() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), Cli::command()).unwrap();
        let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        for verb in Cli::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = verb.get_name();
            assert!(page(&format!("kokctl-{name}.1")).contains(".SH NAME"), "{name}");
            assert!(page("kokctl.1").contains(&format!("kokctl\\-{}", name.replace('-', "\\-"))), "{name}");
        }
        assert!(!folder.path().join("kokctl-man.1").exists());
        assert!(page("kokctl-bundle-create.1").contains("output"));
    }
}
