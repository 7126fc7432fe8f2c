//! `kokctl certs`

mod renew;
mod rotate;
mod status;
mod text;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// See when certificates end and whether what runs has them, make them anew, and replace what signs
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Renew(renew::Arguments),
    Rotate(rotate::Arguments),
    Status(status::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::Renew(arguments) => renew::run(arguments).await,
        Verb::Rotate(arguments) => rotate::run(arguments).await,
        Verb::Status(arguments) => status::run(arguments).await,
    }
}
