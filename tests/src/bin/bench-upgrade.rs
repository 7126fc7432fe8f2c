//! `bench-upgrade`: how long a cluster takes to the next minor version. `make bench-upgrade` builds everything for it and runs it.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use kok_tests::bench::ClusterOptions;
use kok_tests::bench::upgrade::run;

/// Compare kokctl with kubeadm by hand, host after host: three control planes and two workers of the lab get the next minor version.
#[derive(Parser)]
#[command(name = "bench-upgrade", version)]
struct Cli {
    /// Runs of each of which the median counts.
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// Name of the lab whose hosts are booted for each run.
    #[arg(long, default_value = "bench-upgrade")]
    lab: String,
    /// The program kokctl, built for release.
    #[arg(long)]
    kokctl: PathBuf,
    /// The bundle, with the older release.
    #[arg(long)]
    bundle: PathBuf,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Cli { runs, lab, kokctl, bundle, json } = Cli::parse();
    let options = ClusterOptions { runs, lab, kokctl, bundle };
    let report = run(&options, &|line| {
        let _ = writeln!(io::stderr(), "{line}");
    })?;
    let text = if json { serde_json::to_string_pretty(&report)? + "\n" } else { report.to_string() };
    io::stdout().write_all(text.as_bytes())?;
    Ok(if report.missed().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
