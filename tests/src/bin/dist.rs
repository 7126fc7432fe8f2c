//! `dist`: what a release of kokctl consists of. `make dist` builds the program for it and runs it.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Parser;
use kok_tests::dist::{DistOptions, pack};

/// Pack a program that is built: archive, Debian package, SBOM, sums.
#[derive(Parser)]
#[command(name = "dist", version)]
struct Cli {
    /// The program kokctl, without a loader.
    #[arg(long)]
    program: PathBuf,
    /// The folder of the sources.
    #[arg(long)]
    sources: PathBuf,
    /// What it was compiled for.
    #[arg(long)]
    target: String,
    /// Its architecture, as Debian spells it.
    #[arg(long)]
    architecture: String,
    /// The time of the sources, in seconds since 1970.
    #[arg(long)]
    epoch: u64,
    /// Where the files go.
    #[arg(long)]
    output: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Cli { program, sources, target, architecture, epoch, output } = Cli::parse();
    for path in pack(&DistOptions { program, sources, output, architecture, target, epoch })? {
        writeln!(io::stdout(), "{}", path.display())?;
    }
    Ok(())
}
