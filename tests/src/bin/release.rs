//! Builds, lists and verifies the bundle that kokctl installs from. See `tests/release/README.md`.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use kok_tests::release::build::{BuildOptions, Summary, build, native_architecture};
use kok_tests::release::operator_image;
use kok_tests::release::progress::{Progress, clock};
use kok_tests::release::source::discover;
use kok_tests::release::verify::verify;
use kok_tests::release::{error::ReleaseError, paths};

/// Builds the bundle that kokctl installs from, out of published source modules.
#[derive(Parser)]
#[command(name = "release", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build what has changed and put the bundle together; prints the bundle's folder
    Build {
        /// Folder of the bundle [default: `bundle` in the cache]
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
        /// A component or group that is built on request, such as calico or older-release; may be given again
        #[arg(long, value_name = "COMPONENT")]
        with: Vec<String>,
        /// As --with, but only if all of it has been built before
        #[arg(long, value_name = "COMPONENT")]
        with_built: Vec<String>,
        /// Nothing but this component, such as distribution, which tests alone need; give --output too
        #[arg(long, value_name = "COMPONENT", requires = "output", conflicts_with_all = ["with", "with_built"])]
        only: Option<String>,
        /// Folder of built components [default: ${XDG_CACHE_HOME:-$HOME/.cache}/kok/release]
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// Folder of the components' descriptions [default: tests/release of the source tree]
        #[arg(long, value_name = "DIR")]
        recipes: Option<PathBuf>,
    },
    /// List the components and what each yields
    List {
        /// Folder of the components' descriptions [default: tests/release of the source tree]
        #[arg(long, value_name = "DIR")]
        recipes: Option<PathBuf>,
    },
    /// Make the image of `kokctl operator`, as an OCI archive; prints the digest of its manifest
    OperatorImage(OperatorImage),
    /// Read a whole bundle and compare every digest
    Verify {
        /// Folder of the bundle
        #[arg(value_name = "DIR")]
        bundle: PathBuf,
    },
}

#[derive(Args)]
struct OperatorImage {
    /// The program, static as `make dist` makes it
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
    /// Take a program of a developer: strip it, and add the libraries that it is loaded with
    #[arg(long)]
    with_libraries: bool,
    /// Certificates of the authorities that the operator trusts on the internet
    #[arg(long, value_name = "FILE", default_value = "/etc/ssl/certs/ca-certificates.crt")]
    authorities: PathBuf,
    /// What the image is called
    #[arg(long, value_name = "NAME:TAG", default_value = concat!("ghcr.io/kokctl/kokctl-operator:", env!("CARGO_PKG_VERSION")))]
    reference: String,
    /// The archive
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            let mut text = format!("release: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                text.push_str(&format!(": {cause}"));
                source = cause.source();
            }
            // Nobody is left to be told when standard error is gone.
            let _ = writeln!(io::stderr(), "{text}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Build { output, with, with_built, only, cache, recipes } => {
            let cache = cache.map_or_else(paths::default_cache, Ok)?;
            let output = output.unwrap_or_else(|| paths::default_output(&cache));
            let options = BuildOptions {
                recipes: absolute(&recipes.unwrap_or_else(paths::default_recipes))?,
                with: with.into_iter().collect(),
                with_built: with_built.into_iter().collect(),
                only,
                cache: absolute(&cache)?,
                build_cache: paths::build_cache()?,
                output: absolute(&output)?,
            };
            run_build(&options)
        }
        Command::List { recipes } => list(&recipes.unwrap_or_else(paths::default_recipes)),
        Command::OperatorImage(arguments) => operator_image(&arguments),
        Command::Verify { bundle } => run_verify(&bundle),
    }
}

/// Go runs in other folders, so nothing may depend on the current one.
fn absolute(path: &Path) -> Result<PathBuf, ReleaseError> {
    std::path::absolute(path).map_err(ReleaseError::io("find", path))
}

fn run_build(options: &BuildOptions) -> Result<ExitCode, Box<dyn Error>> {
    let mut progress = Progress::new();
    let summary = build(options, &mut progress)?;
    let Summary { built, components, changed, bundle } = &summary;
    let size: u64 = bundle.files.iter().map(|file| file.size).chain(bundle.images.iter().map(|image| image.size)).sum();
    let mut stderr = io::stderr();
    writeln!(
        stderr,
        "{} {} of {components} components built, {} files and {} images, {} MB, bundle {}",
        clock(progress.elapsed()),
        built.len(),
        bundle.files.len(),
        bundle.images.len(),
        size / 1_000_000,
        if *changed { "written" } else { "unchanged" },
    )?;
    writeln!(io::stdout(), "{}", options.output.display())?;
    Ok(ExitCode::SUCCESS)
}

fn list(recipes: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let mut stdout = io::stdout();
    for component in discover(recipes, native_architecture())? {
        writeln!(stdout, "{}{}", component.label(), if component.recipe.on_request { " (on request)" } else { "" })?;
        for file in &component.recipe.files {
            writeln!(stdout, "  file   {:<24} {}", file.name, file.path)?;
        }
        for image in &component.recipe.images {
            writeln!(stdout, "  image  {:<24} {}", image.name, image.reference)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn operator_image(arguments: &OperatorImage) -> Result<ExitCode, Box<dyn Error>> {
    let options = operator_image::ImageOptions {
        program: &arguments.program,
        with_libraries: arguments.with_libraries,
        authorities: &arguments.authorities,
        reference: &arguments.reference,
        architecture: native_architecture(),
    };
    let made = operator_image::write(&options, &arguments.output)?;
    writeln!(io::stderr(), "{}: {} MB unpacked", arguments.reference, made.unpacked.div_ceil(1_000_000))?;
    writeln!(io::stdout(), "{}", made.digest)?;
    Ok(ExitCode::SUCCESS)
}

fn run_verify(folder: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let (bundle, problems) = verify(folder)?;
    let mut stdout = io::stdout();
    for problem in &problems {
        writeln!(stdout, "{problem}")?;
    }
    if problems.is_empty() {
        writeln!(
            stdout,
            "{}: {} files and {} images, all as {} says",
            folder.display(),
            bundle.files.len(),
            bundle.images.len(),
            kok_tasks::bundle::INDEX
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(stdout, "{}: {} problems", folder.display(), problems.len())?;
    Ok(ExitCode::FAILURE)
}
