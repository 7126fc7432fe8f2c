//! The `kokctl` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    kokctl::cli::main()
}
