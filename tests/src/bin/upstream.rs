//! `upstream`: a bundle, served as upstream would. `tests/src/upstream/` says how.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kok_tests::upstream::{FaultPlace, UpstreamOptions, catalog_of, index_of, serve};

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
        /// A folder of further files, each at HOST/PATH below it.
        #[arg(long, value_name = "FOLDER")]
        files: Option<PathBuf>,
        /// Where to listen.
        #[arg(long, default_value = "127.0.0.1:443")]
        listen: SocketAddr,
        /// Where to write the certificate of the CA.
        #[arg(long)]
        ca: PathBuf,
        /// What goes wrong, and where: runc.amd64=cut:1000, /blobs/=redirect:HOST; besides wrong, status:CODE, longer:BYTES, slow:BYTES.
        #[arg(long, value_name = "PART=FAULT")]
        fault: Vec<FaultPlace>,
        /// A file with USER:PASSWORD in Base64: registries want tokens, which only this user gets.
        #[arg(long, value_name = "FILE")]
        login: Option<PathBuf>,
        /// Where to write the keys with which tokens are signed, for another registry that trusts them.
        #[arg(long, value_name = "FILE")]
        jwks: Option<PathBuf>,
        /// A name whose certificate has expired.
        #[arg(long, value_name = "NAME")]
        expired: Vec<String>,
        /// Where each request is noted.
        #[arg(long, value_name = "FILE")]
        log: Option<PathBuf>,
    },
    /// Print the catalog of a bundle.
    Catalog {
        /// Its folder.
        #[arg(long)]
        bundle: PathBuf,
    },
}

fn run() -> Result<(), Box<dyn Error>> {
    match Cli::parse().verb {
        Verb::Serve { bundle, files, listen, ca, fault, login, jwks, expired, log } => {
            let login = login.map(fs::read_to_string).transpose()?.map(|text| text.trim().to_owned());
            let ready = || {
                let _ = writeln!(io::stdout(), "ready");
            };
            Ok(serve(UpstreamOptions { bundle, files, listen, ca, faults: fault, login, jwks, expired, log }, ready)?)
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
