//! The image of `kokctl operator`: the program and the authorities that this machine trusts, and nothing else; no shell.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::elf::is_dynamic;
use super::error::{ReleaseError, Result};
use super::host;
use super::oci::{ImageSpec, write_image};

/// Where the program is in the image.
const PROGRAM: &str = "kokctl";

/// Nobody in particular; deploy/manifests says the same.
const USER: &str = "65532:65532";

/// Where Go's and Rust's readers of authorities look first.
const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";

/// What a release may take unpacked, in bytes: it is loaded on every node that may run it.
const LARGEST: u64 = 45_000_000;

/// What goes into the image.
#[derive(Debug, Clone, Copy)]
pub struct ImageOptions<'a> {
    /// The program.
    pub program: &'a Path,
    /// Whether the program is one of a developer, which comes stripped and with its libraries, of whatever size.
    pub with_libraries: bool,
    /// A file with the certificates of authorities, as Debian's `ca-certificates` makes it.
    pub authorities: &'a Path,
    /// Full reference with tag.
    pub reference: &'a str,
    /// Architecture as Go spells it.
    pub architecture: &'a str,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Digest of the manifest.
    pub digest: String,
    /// Bytes of all files in it.
    pub unpacked: u64,
}

/// Writes the image as an OCI archive. The same files give the same bytes.
///
/// # Errors
/// When the program asks for a loader and its libraries are not wanted; when a release is too large; when a file can't be read or written.
pub fn write(options: &ImageOptions<'_>, to: &Path) -> Result<Made> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let work = tempfile::tempdir_in(folder).map_err(ReleaseError::io("make a folder in", folder))?;
    let files = files(options, work.path())?;
    let unpacked = size(&files)?;
    if !options.with_libraries && unpacked > LARGEST {
        return Err(refused(options, format!("{unpacked} bytes are more than the {LARGEST} that an image may have: see what has grown")));
    }
    let entrypoint = [format!("/{PROGRAM}")];
    let (reference, architecture) = (options.reference, options.architecture);
    let spec = ImageSpec { reference, architecture, files, user: Some(USER), entrypoint: &entrypoint, stop_signal: None };
    let whole = work.path().join("image.tar");
    let digest = write_image(&spec, work.path(), &whole)?;
    // Whoever reads it finds all of it or nothing.
    fs::rename(&whole, to).map_err(ReleaseError::io("write", to))?;
    Ok(Made { digest, unpacked })
}

fn files(options: &ImageOptions<'_>, work: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let program = options.program;
    let file = File::open(program).map_err(ReleaseError::io("open", program))?;
    let dynamic = is_dynamic(file).map_err(ReleaseError::io("read", program))?;
    let mut files = BTreeMap::from([(AUTHORITIES.to_owned(), options.authorities.to_owned())]);
    if dynamic && !options.with_libraries {
        let message = "it asks for a loader and libraries, which the image has not. `make dist` makes one that needs none; for a test, add --with-libraries";
        return Err(refused(options, message.to_owned()));
    }
    if !options.with_libraries {
        files.insert(PROGRAM.to_owned(), program.to_owned());
        return Ok(files);
    }
    let stripped = work.join(PROGRAM);
    strip(program, &stripped)?;
    let libraries = if dynamic { host::libraries(&[program.to_owned()])? } else { Vec::new() };
    files.extend(libraries.into_iter().map(|path| (path.display().to_string().trim_start_matches('/').to_owned(), path)));
    files.insert(PROGRAM.to_owned(), stripped);
    Ok(files)
}

fn refused(options: &ImageOptions<'_>, message: String) -> ReleaseError {
    ReleaseError::HostProgram { program: options.program.display().to_string(), message }
}

/// A program of a developer is mostly names and lines of source.
fn strip(from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("strip");
    let output = command.env("LC_ALL", "C").arg("-o").arg(to).arg(from).output().map_err(ReleaseError::io("run strip for", from))?;
    if output.status.success() {
        return Ok(());
    }
    let what = format!("strip of {}", from.display());
    Err(ReleaseError::Command { what, status: output.status.to_string(), output: String::from_utf8_lossy(&output.stderr).into_owned() })
}

fn size(files: &BTreeMap<String, PathBuf>) -> Result<u64> {
    let of = |path: &PathBuf| fs::metadata(path).map(|metadata| metadata.len()).map_err(ReleaseError::io("read", path));
    files.values().map(of).sum()
}
