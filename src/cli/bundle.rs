//! `kokctl bundle`

mod add;
mod create;
mod export;
mod import;
mod list;
mod prune;
mod push;
mod verify;

use std::path::Path;

use clap::{Args, Subcommand};
use russh::keys::PrivateKey;
use semver::Version;

use crate::artifacts::signature::read_key;
use crate::failure::Failure;
use crate::ui::{ask_hidden, is_terminal};

/// Make bundles of upstream's files and images, look into them and check them
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Add(add::Arguments),
    Create(create::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    List(list::Arguments),
    Prune(prune::Arguments),
    Push(push::Arguments),
    Verify(verify::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::Add(arguments) => add::run(arguments).await,
        Verb::Create(arguments) => create::run(arguments).await,
        Verb::Export(arguments) => export::run(arguments),
        Verb::Import(arguments) => import::run(arguments),
        Verb::List(arguments) => list::run(arguments),
        Verb::Prune(arguments) => prune::run(arguments),
        Verb::Push(arguments) => push::run(arguments).await,
        Verb::Verify(arguments) => verify::run(arguments),
    }
}

/// The key of `--sign`, with its passphrase asked at the terminal if it has one.
fn signing_key(path: &Path) -> Result<PrivateKey, Failure> {
    read_key(path, || {
        if !is_terminal() {
            return Err("it has a passphrase, and there is no terminal to ask at".to_owned());
        }
        ask_hidden(&format!("passphrase of {}: ", path.display())).map_err(|error| error.to_string())
    })
}

fn release(text: &str) -> Result<Version, String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    Version::parse(bare).map_err(|_| "it is a release, such as 1.37.1".to_owned())
}
