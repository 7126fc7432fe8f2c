//! `kokctl certs rotate`

mod authority;
mod service_account;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Replace what signs for the cluster, with nothing down
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Ca(authority::Arguments),
    ServiceAccount(service_account::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.what {
        What::Ca(arguments) => authority::run(arguments).await,
        What::ServiceAccount(arguments) => service_account::run(arguments).await,
    }
}
