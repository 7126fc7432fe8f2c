//! `kokctl secrets`

mod rotate_key;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Replace the key that Secrets are encrypted with in etcd
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    RotateKey(rotate_key::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::RotateKey(arguments) => rotate_key::run(arguments).await,
    }
}
