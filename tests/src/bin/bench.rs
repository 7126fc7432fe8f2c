//! `bench`: what kokctl costs. `make bench` builds everything for it and runs it.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use kok_tests::bench::{BenchOptions, run};

/// Compare kokctl with a client that does the least that can be done, on light hosts of the lab.
#[derive(Parser)]
#[command(name = "bench", version)]
struct Cli {
    /// Numbers of hosts.
    #[arg(long, value_delimiter = ',', default_value = "1,20,50")]
    hosts: Vec<usize>,
    /// Runs of which the median counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// The round trip over a distance.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 50)]
    lag: u64,
    /// The program kokctl, built for release.
    #[arg(long)]
    kokctl: PathBuf,
    /// The example `floor`, built for release.
    #[arg(long)]
    floor: PathBuf,
    /// The program upstream.
    #[arg(long)]
    upstream: PathBuf,
    #[arg(long)]
    bundle: PathBuf,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Cli { hosts, runs, lag, kokctl, floor, upstream, bundle, json } = Cli::parse();
    let options = BenchOptions { hosts, runs, lag: Duration::from_millis(lag), kokctl, floor, upstream, bundle };
    let report = run(&options, &|line| {
        let _ = writeln!(io::stderr(), "{line}");
    })?;
    let text = if json { serde_json::to_string_pretty(&report)? + "\n" } else { report.to_string() };
    io::stdout().write_all(text.as_bytes())?;
    Ok(if report.missed().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
