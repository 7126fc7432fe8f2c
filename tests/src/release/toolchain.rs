//! Finding a Go that will do, and the environment in which nothing of the user's settings reaches the bytes.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{ReleaseError, Result};
use super::host::PROGRAM_FOLDERS;
use super::source::Component;

/// The lowest Go that builds the oldest component here; a component's `go.mod` may ask for a newer one.
const LOWEST_GO: &str = "1.26";

/// Settings of the user that say where modules come from. They can't change bytes, as `go.sum` stands beside each `go.mod`.
const MODULE_SETTINGS: [&str; 10] =
    ["GOPATH", "GOMODCACHE", "GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOVCS", "GOAUTH"];

/// Variables that Go and git need to reach the network and their folders.
const PASSED_ON: [&str; 14] = [
    "HOME",
    "TMPDIR",
    "NETRC",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// `GOENV=off`: what `go env -w` has stored doesn't count. The rest are Go's own defaults, said so that nothing else does.
const FIXED: [(&str, &str); 14] = [
    ("GOENV", "off"),
    ("GOFLAGS", ""),
    ("GOTOOLCHAIN", "local"),
    ("GOWORK", "off"),
    ("GO111MODULE", "on"),
    ("GOEXPERIMENT", ""),
    ("GODEBUG", ""),
    ("GOOS", "linux"),
    ("GOAMD64", "v1"),
    ("GOARM64", "v8.0"),
    ("GOFIPS140", "off"),
    ("CC", "gcc"),
    ("CXX", "g++"),
    ("LC_ALL", "C"),
];

/// A Go toolchain that is new enough.
pub(super) struct Toolchain {
    /// The `go` command.
    pub(super) program: PathBuf,
    /// What it says about itself: `go1.26.8`.
    pub(super) version: String,
    /// Everything that it is to find in its environment but `CGO_ENABLED`.
    pub(super) environment: BTreeMap<String, OsString>,
}

impl Toolchain {
    /// The first `go` in the folders, checked to be new enough for every component.
    pub(super) fn find(folders: &[PathBuf], components: &[Component], build_cache: &Path, architecture: &str) -> Result<Self> {
        let mut programs = folders.iter().map(|folder| folder.join("go"));
        let program = programs.find(|file| file.is_file()).ok_or_else(|| ReleaseError::GoMissing { required: LOWEST_GO.to_owned() })?;
        let settings = ask(&program)?;
        let version = settings.get("GOVERSION").cloned().unwrap_or_default();
        check_version(&program, &version, components)?;
        let environment = environment(&settings, &program, build_cache, architecture);
        Ok(Self { program, version, environment })
    }
}

/// The folders of PATH, and the one in which Go's own archive is installed.
pub(super) fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    folders.push(PathBuf::from("/usr/local/go/bin"));
    folders
}

/// The user's settings, from their environment and from `go env -w`.
fn ask(program: &Path) -> Result<BTreeMap<String, String>> {
    let output = Command::new(program)
        .args(["env", "-json", "GOVERSION"])
        .args(MODULE_SETTINGS)
        // Neither a go.mod around here nor a setting may make another toolchain answer.
        .env("GOTOOLCHAIN", "local")
        .current_dir("/")
        .output()
        .map_err(ReleaseError::io("run", program))?;
    serde_json::from_slice(&output.stdout).map_err(|_| ReleaseError::Command {
        what: format!("{} env", program.display()),
        status: output.status.to_string(),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Names the component that asks for most, so that one update of Go is enough.
fn check_version(program: &Path, found: &str, components: &[Component]) -> Result<()> {
    let newest = components.iter().max_by_key(|component| parse_version(&component.go_version));
    let (needed_by, required) = newest
        .map(|component| (component.label(), component.go_version.clone()))
        .filter(|(_, required)| parse_version(required) > parse_version(LOWEST_GO))
        .unwrap_or_else(|| ("the release".to_owned(), LOWEST_GO.to_owned()));
    if parse_version(found) >= parse_version(&required) {
        return Ok(());
    }
    let (program, found) = (program.to_path_buf(), found.to_owned());
    Err(ReleaseError::GoTooOld { needed_by, required, program, found })
}

/// The numbers of `go1.26.8`, `1.26` or `go1.27rc1`; zeros where there are none.
fn parse_version(text: &str) -> [u32; 3] {
    let text = text.strip_prefix("go").unwrap_or(text);
    let number = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let mut parts = text.split('.').map(number);
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

fn environment(settings: &BTreeMap<String, String>, program: &Path, build_cache: &Path, architecture: &str) -> BTreeMap<String, OsString> {
    let mut environment: BTreeMap<String, OsString> =
        PASSED_ON.iter().filter_map(|name| Some(((*name).to_owned(), env::var_os(name)?))).collect();
    for name in MODULE_SETTINGS {
        if let Some(value) = settings.get(name).filter(|value| !value.is_empty()) {
            environment.insert(name.to_owned(), value.into());
        }
    }
    let mut path = program.parent().map(|folder| folder.as_os_str().to_owned()).unwrap_or_default();
    for folder in PROGRAM_FOLDERS {
        path.push(":");
        path.push(folder);
    }
    environment.insert("PATH".to_owned(), path);
    environment.insert("GOCACHE".to_owned(), build_cache.as_os_str().to_owned());
    environment.insert("GOARCH".to_owned(), architecture.into());
    environment.extend(FIXED.map(|(name, value)| (name.to_owned(), value.into())));
    environment
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(parse_version("go1.26.8") >= parse_version("1.26"));
        assert!(parse_version("go1.26.10") > parse_version("1.26.8"));
        assert!(parse_version("go1.9") < parse_version("1.26"));
        assert!(parse_version("go1.27rc1 X:nodwarf5") > parse_version("1.26.8"));
        assert_eq!(parse_version("devel +abc"), [0, 0, 0]);
    }

    fn find(answer: &str) -> Result<Toolchain> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("go");
        // By a process of its own: one that another test starts meanwhile can't hold it open, so that it could not be run.
        let text = format!("#!/bin/sh\n{answer}\n");
        let writes = ["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh", program.to_str().unwrap(), &text];
        assert!(Command::new("sh").args(writes).status().unwrap().success());
        Toolchain::find(&[folder.path().to_path_buf()], &[], Path::new("/c"), "amd64")
    }

    #[test]
    fn a_missing_or_old_go_says_what_is_needed_and_what_was_found() {
        let missing = Toolchain::find(&[PathBuf::from("/nowhere")], &[], Path::new("/c"), "amd64");
        let text = missing.err().unwrap().to_string();
        assert!(text.contains("needs Go 1.26") && text.contains("go.dev/dl"), "{text}");
        let text = find("echo '{\"GOVERSION\": \"go1.25.9\"}'").err().unwrap().to_string();
        assert!(text.contains("needs Go 1.26") && text.contains("go1.25.9"), "{text}");
        let text = find("echo broken >&2; exit 3").err().unwrap().to_string();
        assert!(text.contains("broken"), "{text}");
    }

    #[test]
    fn settings_of_modules_are_kept_and_all_others_fixed() {
        let found = find("echo '{\"GOVERSION\": \"go1.26.8\", \"GOPROXY\": \"https://mirror\"}'");
        let environment = found.unwrap().environment;
        let value = |name: &str| environment.get(name).and_then(|value| value.to_str());
        assert_eq!(value("GOPROXY"), Some("https://mirror"));
        assert_eq!(value("GOENV"), Some("off"));
        assert_eq!(value("GOFLAGS"), Some(""));
        assert_eq!(value("GOTOOLCHAIN"), Some("local"));
        assert_eq!(value("GOROOT"), None);
    }
}
