//! `kokctl etcd`

mod alarm;
mod defrag;
mod status;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// See how etcd's members are, free what their files hold for nothing, and have one that ran out of room take writes again
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Alarm(alarm::Arguments),
    Defrag(defrag::Arguments),
    Status(status::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::Alarm(arguments) => alarm::run(arguments).await,
        Verb::Defrag(arguments) => defrag::run(arguments).await,
        Verb::Status(arguments) => status::run(arguments).await,
    }
}
