//! `upstream`: a bundle, served as upstream would. `tests/src/upstream/` says how.

use std::error::Error;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kok_tests::upstream::{Fault, Options, catalog_of, index_of, serve};

#[derive(Parser)]
#[command(name = "upstream", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve a bundle under every name.
    Serve {
        /// Its folder.
        #[arg(long)]
        bundle: PathBuf,
        /// Where to listen.
        #[arg(long, default_value = "127.0.0.1:443")]
        listen: SocketAddr,
        /// Where to write the certificate of the CA.
        #[arg(long)]
        ca: PathBuf,
        /// A part of an address, and after how many bytes its answer is cut once: runc.amd64=1000.
        #[arg(long, value_name = "PART=BYTES", value_parser = cut)]
        cut: Vec<(String, Fault)>,
        /// A part of an address that is answered with other bytes.
        #[arg(long, value_name = "PART")]
        wrong: Vec<String>,
    },
    /// Print the catalog of a bundle.
    Catalog {
        /// Its folder.
        #[arg(long)]
        bundle: PathBuf,
    },
}

fn cut(text: &str) -> Result<(String, Fault), String> {
    let (part, bytes) = text.split_once('=').ok_or("it is PART=BYTES")?;
    Ok((part.to_owned(), Fault::Cut(bytes.parse().map_err(|_| "it is PART=BYTES")?)))
}

fn run() -> Result<(), Box<dyn Error>> {
    match Cli::parse().verb {
        Verb::Serve { bundle, listen, ca, cut, wrong } => {
            let faults = cut.into_iter().chain(wrong.into_iter().map(|part| (part, Fault::Wrong))).collect();
            let ready = || {
                let _ = writeln!(io::stdout(), "ready");
            };
            Ok(serve(Options { bundle, listen, ca, faults }, ready)?)
        }
        Verb::Catalog { bundle } => {
            let catalog = catalog_of(&index_of(&bundle)?)?;
            Ok(writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&catalog)?)?)
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
