//! `bench-grow`: how long hosts take that join a cluster which is there. `make bench-grow` builds everything for it and runs it.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use kok_tests::bench::ClusterOptions;
use kok_tests::bench::grow::run;

/// Compare kokctl with `kubeadm join` by hand: a worker, three workers at once, and one control plane that becomes three, on hosts of the lab.
#[derive(Parser)]
#[command(name = "bench-grow", version)]
struct Cli {
    /// Runs of each of which the median counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Name of the lab whose hosts are booted.
    #[arg(long, default_value = "bench-grow")]
    lab: String,
    /// The program kokctl, built for release.
    #[arg(long)]
    kokctl: PathBuf,
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
