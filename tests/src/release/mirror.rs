//! A part of Debian's own archive, as its mirrors have it: signed lists and the packages that a bundle for Debian 12 takes. Fetched by apt's own
//! program, which knows the machine's proxy, and laid out by address, as a server has it.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use kok_tasks::catalog::{ArchiveSource, Catalog, Item, PackagesItem};
use kok_tasks::debian::{Deb, Release, closure};

use super::error::{ReleaseError, Result};
use super::paths::cache_root;

/// The distribution of the lab's hosts.
pub const DISTRIBUTION: &str = "debian-12";

const HELPER: &str = "/usr/lib/apt/apt-helper";

/// The lists of security updates hold for a week.
const KEPT: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// The packages that were asked for.
const WANTED: &str = "wanted";

/// The folder of what has been fetched within the last days, which lies at `HOST/PATH` below it.
///
/// # Errors
/// When it can't be fetched.
pub fn ensure() -> Result<PathBuf> {
    let (folder, item) = (cache_root()?.join("debian"), item()?);
    // One that was made for a shorter list lacks what came to it.
    let wanted = item.packages.join("\n");
    let has_all = fs::read_to_string(folder.join(WANTED)).is_ok_and(|had| had == wanted);
    if has_all && fs::metadata(&folder).and_then(|about| about.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age < KEPT)) {
        return Ok(folder);
    }
    let partial = folder.with_extension("partial");
    for old in [&partial, &folder] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(ReleaseError::io("remove", old))?;
        }
    }
    fetch(&partial, &item)?;
    let list = partial.join(WANTED);
    fs::write(&list, wanted).map_err(ReleaseError::io("write", &list))?;
    fs::rename(&partial, &folder).map_err(ReleaseError::io("rename", &partial))?;
    Ok(folder)
}

fn failed(what: &str, message: &str) -> ReleaseError {
    ReleaseError::HostProgram { program: what.to_owned(), message: message.to_owned() }
}

fn item() -> Result<PackagesItem> {
    let architecture = if env::consts::ARCH == "aarch64" { "arm64" } else { "amd64" };
    let wrong = |error: &dyn std::fmt::Display| failed("the catalog", &error.to_string());
    let catalog = Catalog::built_in().map_err(|error| wrong(&error))?;
    let items = catalog.packages(&[DISTRIBUTION.to_owned()], &BTreeSet::from([architecture.to_owned()])).map_err(|error| wrong(&error))?;
    items.into_iter().find_map(|item| if let Item::Packages(item) = item { Some(item) } else { None }).ok_or_else(|| wrong(&"it has none"))
}

fn fetch(folder: &Path, item: &PackagesItem) -> Result<()> {
    let (mut debs, sources) = (Vec::new(), sources());
    for archive in &item.archives {
        for suite in &archive.suites {
            let from = sources.iter().find(|(_, name)| name == suite).map_or(archive.address.as_str(), |(address, _)| address);
            debs.extend(lists(folder, (archive, suite, from), &item.architecture)?);
        }
    }
    let wanted = closure(&debs, &item.packages).map_err(|error| failed("Debian's archive", &error.to_string()))?;
    let files: Vec<(String, PathBuf, String)> = wanted
        .iter()
        .filter_map(|deb| {
            let archive = item.archives.iter().find(|archive| deb.path.starts_with(&format!("{}/pool/", archive.folder())))?;
            let from = sources.iter().find(|(_, name)| archive.suites.contains(name)).map_or(&archive.address, |(address, _)| address);
            Some((deb.path.replacen(archive.folder(), from, 1), folder.join(&deb.path), deb.sha256.clone()))
        })
        .collect();
    download(&files)
}

/// The lists of a suite, and what they say of packages.
fn lists(folder: &Path, (archive, suite, from): (&ArchiveSource, &str, &str), architecture: &str) -> Result<Vec<Deb>> {
    let below = folder.join(archive.folder()).join("dists").join(suite);
    let signed = below.join("InRelease");
    download(&[(format!("{from}/dists/{suite}/InRelease"), signed.clone(), String::new())])?;
    let text = fs::read_to_string(&signed).map_err(ReleaseError::io("read", &signed))?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs().cast_signed());
    let release = Release::parse(&text, suite, now).map_err(|error| failed(&format!("{suite}/InRelease"), &error.to_string()))?;
    let mut debs = Vec::new();
    for component in &archive.components {
        let (path, address, sha256, _) =
            release.list(component, architecture).map_err(|error| failed(&format!("{suite}/InRelease"), &error.to_string()))?;
        let list = below.join(&path);
        download(&[(format!("{from}/dists/{suite}/{address}"), list.clone(), sha256.to_owned())])?;
        let text = run(Command::new(HELPER).arg("cat-file").arg(&list))?;
        debs.extend(String::from_utf8_lossy(&text).split("\n\n").filter_map(Deb::parse).map(|deb| deb.below(archive.folder())));
        let named = below.join(&address);
        fs::create_dir_all(named.parent().unwrap_or(&below)).map_err(ReleaseError::io("make the folder of", &named))?;
        fs::rename(&list, &named).map_err(ReleaseError::io("rename", &list))?;
    }
    Ok(debs)
}

/// Addresses that this machine itself takes Debian's suites from.
fn sources() -> Vec<(String, String)> {
    let format = "$(REPO_URI)|$(CODENAME)|$(ORIGIN)";
    let output = Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let source = |line: &str| {
        let [address, suite, "Debian"] = line.split('|').collect::<Vec<_>>()[..] else { return None };
        Some((address.trim_end_matches('/').to_owned(), suite.to_owned()))
    };
    text.lines().filter_map(source).collect()
}

/// Fetches files by their addresses, with their digests where they are known.
fn download(files: &[(String, PathBuf, String)]) -> Result<()> {
    let mut command = Command::new(HELPER);
    command.args(["-o", "Acquire::Retries=3", "-o", "APT::Sandbox::User=root", "download-file"]);
    for (address, path, sha256) in files {
        let parent = path.parent().unwrap_or(path);
        fs::create_dir_all(parent).map_err(ReleaseError::io("make the folder", parent))?;
        let digest = if sha256.is_empty() { String::new() } else { format!("SHA256:{sha256}") };
        command.arg(address).arg(path).arg(digest);
    }
    run(&mut command).map(|_| ())
}

fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.env("LC_ALL", "C").output().map_err(|error| failed(HELPER, &error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let what = "fetch a part of Debian's archive".to_owned();
    let (status, output) = (output.status.to_string(), String::from_utf8_lossy(&output.stderr).into_owned());
    Err(ReleaseError::Command { what, status, output })
}
