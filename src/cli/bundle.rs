//! `kokctl bundle`

mod create;
mod export;
mod import;
mod list;
mod verify;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Make bundles of upstream's files and images, look into them and check them
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Create(create::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    List(list::Arguments),
    Verify(verify::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::Create(arguments) => create::run(arguments).await,
        Verb::Export(arguments) => export::run(arguments),
        Verb::Import(arguments) => import::run(arguments),
        Verb::List(arguments) => list::run(arguments),
        Verb::Verify(arguments) => verify::run(arguments),
    }
}
