//! The package for Debian and Ubuntu (Debian policy manual).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};
use tempfile::TempDir;

use super::Result;
use super::licences;
use super::tree::Tree;

/// Whom the package names.
const MAINTAINER: &str = "kokctl <kokctl@users.noreply.github.com>";

/// Where a file of the archive goes; what has no place here is not in the package.
fn place(path: &str) -> Option<String> {
    Some(match path {
        "kokctl" => "usr/bin/kokctl".to_owned(),
        "LICENSE" => "usr/share/doc/kokctl/copyright".to_owned(),
        licences::NAME => format!("usr/share/doc/kokctl/{}", licences::NAME),
        "completions/bash/kokctl" => "usr/share/bash-completion/completions/kokctl".to_owned(),
        "completions/zsh/_kokctl" => "usr/share/zsh/vendor-completions/_kokctl".to_owned(),
        "completions/fish/kokctl.fish" => "usr/share/fish/vendor_completions.d/kokctl.fish".to_owned(),
        page => format!("usr/share/{}.gz", page.strip_prefix("man/").map(|page| format!("man/{page}"))?),
    })
}

/// Writes it by dpkg-deb, which takes the times from `SOURCE_DATE_EPOCH` and gives everything to root.
pub(super) fn write(tree: &Tree, version: &str, architecture: &str, epoch: u64, to: &Path) -> Result<()> {
    let root = TempDir::new()?;
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755))?;
    let mut bytes = 0;
    for (path, source, mode) in tree.files() {
        let Some(place) = place(path) else { continue };
        bytes += put(source, &root.path().join(place), mode)?;
    }
    let control = format!(
        "Package: kokctl\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\nInstalled-Size: {}\nSection: admin\n\
         Priority: optional\nRecommends: openssh-client\nDescription: Kubernetes on your own Linux hosts, over SSH\n \
         kokctl turns hosts that it reaches over SSH into a Kubernetes cluster by a plan\n that it shows before it acts. Hosts need no agent and no Python.\n",
        bytes.div_ceil(1024)
    );
    fs::create_dir(root.path().join("DEBIAN"))?;
    fs::write(root.path().join("DEBIAN/control"), control)?;
    let mut command = Command::new("dpkg-deb");
    command.args(["--root-owner-group", "-Zxz", "--build"]).arg(root.path()).arg(to).env("SOURCE_DATE_EPOCH", epoch.to_string());
    let output = command.output()?;
    if output.status.success() { Ok(()) } else { Err(format!("dpkg-deb: {}", String::from_utf8_lossy(&output.stderr)).into()) }
}

/// Puts a file there, compressed where its name says so, and returns its size.
fn put(source: &Path, to: &PathBuf, mode: u32) -> Result<u64> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    if to.extension().is_some_and(|extension| extension == "gz") {
        let mut gzip = GzBuilder::new().mtime(0).write(fs::File::create(to)?, Compression::best());
        std::io::copy(&mut fs::File::open(source)?, &mut gzip)?;
        gzip.finish()?;
    } else {
        fs::copy(source, to)?;
    }
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(fs::metadata(to)?.len())
}
