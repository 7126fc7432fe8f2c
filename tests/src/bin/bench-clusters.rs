//! `bench-clusters`: how long whole clusters take, by kokctl and by kubeadm. `make bench-create`, `bench-upgrade` and `bench-grow` build everything for it and
//! run it.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use kok_tests::bench::{ClusterOptions, create, grow, upgrade};
use serde::Serialize;

/// Compare kokctl with kubeadm on hosts of the lab.
#[derive(Parser)]
#[command(name = "bench-clusters", version)]
enum Cli {
    /// Three control planes and two workers become a cluster, on prepared hosts, beside the classic order
    Create(Options),
    /// A cluster of three control planes and two workers gets the next minor version, beside kubeadm by hand, host after host
    Upgrade(Options),
    /// A worker, three workers at once, and two more control planes join, beside `kubeadm join` by hand
    Grow(Options),
}

#[derive(Args)]
struct Options {
    /// Runs of each of which the median counts [default: 3, and 1 of an upgrade].
    #[arg(long)]
    runs: Option<usize>,
    /// Name of the lab whose hosts are booted.
    #[arg(long, default_value = "bench")]
    lab: String,
    /// The program kokctl, built for release.
    #[arg(long)]
    kokctl: PathBuf,
    /// The bundle; with the older release for an upgrade.
    #[arg(long)]
    bundle: PathBuf,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

impl Options {
    fn measure<R: Display + Serialize>(
        self,
        runs: usize,
        run: impl FnOnce(&ClusterOptions, &(dyn Fn(&str) + Sync)) -> Result<R, Box<dyn Error>>,
        missed: impl FnOnce(&R) -> Vec<String>,
    ) -> Result<ExitCode, Box<dyn Error>> {
        let Self { runs: asked, lab, kokctl, bundle, json } = self;
        let options = ClusterOptions { runs: asked.unwrap_or(runs), lab, kokctl, bundle };
        let report = run(&options, &|line| {
            let _ = writeln!(io::stderr(), "{line}");
        })?;
        let text = if json { serde_json::to_string_pretty(&report)? + "\n" } else { report.to_string() };
        io::stdout().write_all(text.as_bytes())?;
        Ok(if missed(&report).is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    match Cli::parse() {
        Cli::Create(options) => options.measure(3, create::run, create::CreateReport::missed),
        // Two foundings and two upgrades of five hosts each: one takes as long as three of the others.
        Cli::Upgrade(options) => options.measure(1, upgrade::run, upgrade::UpgradeReport::missed),
        Cli::Grow(options) => options.measure(3, grow::run, grow::GrowReport::missed),
    }
}
