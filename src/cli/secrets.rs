//! `kokctl secrets`

mod change_encryption;
mod rotate_key;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Change how Secrets are encrypted in etcd, and with which key
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    RotateKey(rotate_key::Arguments),
    ChangeEncryption(change_encryption::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::RotateKey(arguments) => rotate_key::run(arguments).await,
        Verb::ChangeEncryption(arguments) => change_encryption::run(arguments).await,
    }
}
