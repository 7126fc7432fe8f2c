//! What can go wrong while a bundle is built, said so that the reader knows what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Result of this module's functions.
pub type Result<T> = std::result::Result<T, ReleaseError>;

/// Why no bundle came out.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// A verb: `read`, `write`, `create` …
        action: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A component's description can't be used.
    #[error("{}: {message}", path.display())]
    Recipe {
        /// The file that says it.
        path: PathBuf,
        /// What is wrong, with line and column where they are known.
        message: String,
    },
    /// A component was asked for that does not exist.
    #[error("there is no component {name} that could be built beside the others; on request there is: {known}")]
    UnknownComponent {
        /// What was asked for.
        name: String,
        /// Names of those that are built on request, separated by commas.
        known: String,
    },
    /// There is no `go` on this machine.
    #[error(
        "Go was found neither on PATH nor in /usr/local/go/bin. The release is built from Go modules and needs Go {required} or \
         newer: install it from https://go.dev/dl/ and put its bin folder on PATH"
    )]
    GoMissing {
        /// The lowest version that will do.
        required: String,
    },
    /// The Go that was found is too old.
    #[error(
        "{needed_by} needs Go {required} or newer, but {} is {found}. Install a newer one from https://go.dev/dl/ and put its bin \
         folder first on PATH", program.display()
    )]
    GoTooOld {
        /// The component, with its version.
        needed_by: String,
        /// The lowest version that will do.
        required: String,
        /// The program that was asked.
        program: PathBuf,
        /// What it said.
        found: String,
    },
    /// Debian packages are missing.
    #[error("{needed_by} needs Debian packages that are not installed: {missing}. Run: apt-get install {missing}")]
    Packages {
        /// The components, with their versions.
        needed_by: String,
        /// Package names, separated by spaces.
        missing: String,
    },
    /// A program of this machine that has to go into an image is not usable.
    #[error("{program}: {message}")]
    HostProgram {
        /// Its name or path.
        program: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// Another program failed.
    #[error("{what} failed ({status}):\n{output}")]
    Command {
        /// What it should have done.
        what: String,
        /// How it ended.
        status: String,
        /// The end of what it wrote.
        output: String,
    },
    /// A binary needs libraries that neither hosts nor images have.
    #[error("{what} is linked dynamically, but must run without libraries: set `cgo: false`, or add what its static link needs")]
    Dynamic {
        /// Component and binary.
        what: String,
    },
    /// A cached component isn't what its manifest says.
    #[error("the cached file {} is damaged: its sha256 is {found}, its manifest says {expected}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the manifest says.
        expected: String,
        /// What was read.
        found: String,
    },
    /// The output folder holds something else than a bundle.
    #[error(
        "{} is not a bundle and not empty: it holds {entry:?}. Choose another folder with --output, or empty this one",
        path.display()
    )]
    ForeignOutput {
        /// The folder.
        path: PathBuf,
        /// One of the entries that don't belong into a bundle.
        entry: String,
    },
    /// The components don't make a bundle, or an index isn't one.
    #[error(transparent)]
    Bundle(#[from] kok_tasks::bundle::BundleError),
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("neither XDG_CACHE_HOME nor HOME is an absolute path: name the cache folder with --cache")]
    NoCache,
}

impl ReleaseError {
    /// For `map_err`: an [`ReleaseError::Io`] about this path.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}
