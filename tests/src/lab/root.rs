//! The Debian root that all hosts boot from: built once per recipe, kept in the cache.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use aws_lc_rs::digest::{Context, SHA256};

use super::command::tail;
use super::{Image, LabError, OPSPW_PASSWORD, StageReport, keys, lock, paths};

const BUILD: &str = include_str!("../../lab/root/build.sh");

/// Laid over the finished root: path, mode, text.
const FILES: [(&str, u32, &str); 10] = [
    ("etc/default/chrony", 0o644, include_str!("../../lab/root/files/etc/default/chrony")),
    ("etc/sudoers.d/ops", 0o440, include_str!("../../lab/root/files/etc/sudoers.d/ops")),
    ("etc/systemd/journald.conf.d/lab.conf", 0o644, include_str!("../../lab/root/files/etc/systemd/journald.conf.d/lab.conf")),
    ("etc/systemd/networkd.conf.d/lab.conf", 0o644, include_str!("../../lab/root/files/etc/systemd/networkd.conf.d/lab.conf")),
    (
        "etc/systemd/system/chrony.service.d/lab.conf",
        0o644,
        include_str!("../../lab/root/files/etc/systemd/system/chrony.service.d/lab.conf"),
    ),
    ("etc/systemd/system/lab-cgroups.service", 0o644, include_str!("../../lab/root/files/etc/systemd/system/lab-cgroups.service")),
    ("etc/sudoers.d/opspw", 0o440, include_str!("../../lab/root/files/etc/sudoers.d/opspw")),
    ("etc/systemd/system/lab-address.service", 0o644, include_str!("../../lab/root/files/etc/systemd/system/lab-address.service")),
    ("etc/systemd/system/lab-light.target", 0o644, include_str!("../../lab/root/files/etc/systemd/system/lab-light.target")),
    ("usr/local/sbin/lab-cgroups", 0o755, include_str!("../../lab/root/files/usr/local/sbin/lab-cgroups")),
];

/// The root of this image for the present recipe, built now if the cache does not have it. A second builder waits for the first.
pub(crate) fn ensure(image: Image, progress: StageReport<'_>) -> Result<PathBuf, LabError> {
    let cache = paths::cache()?;
    let root = cache.join(format!("root-{}", recipe_hash(image)));
    if root.is_dir() {
        return Ok(root);
    }
    let _lock = lock::lock_folder(&cache, &|| progress("another program is building the hosts' root: waiting for it"))?;
    if root.is_dir() {
        return Ok(root);
    }
    remove_partial(&cache)?;
    progress(&format!("building the hosts' root from {} (once; about a minute)", image.title()));
    let start = Instant::now();
    build(image, &cache, &root)?;
    progress(&format!("the hosts' root is built ({:.1} s)", start.elapsed().as_secs_f64()));
    Ok(root)
}

/// Everything that the root depends on; the packages are those of the archive on the day of the build.
fn recipe_hash(image: Image) -> String {
    let mut context = Context::new(&SHA256);
    context.update(env::consts::ARCH.as_bytes());
    context.update(image.suite().as_bytes());
    context.update(OPSPW_PASSWORD.as_bytes());
    context.update(BUILD.as_bytes());
    for (path, mode, text) in FILES {
        context.update(format!("\n{path} {mode:o} {}\n", text.len()).as_bytes());
        context.update(text.as_bytes());
    }
    hex::encode(context.finish().as_ref()).chars().take(12).collect()
}

/// What builds that were killed have left. The builders themselves died with their programs, and with them their mounts.
fn remove_partial(cache: &Path) -> Result<(), LabError> {
    let what = || format!("clean up {}", cache.display());
    for entry in fs::read_dir(cache).map_err(LabError::io(what()))? {
        let path = entry.map_err(LabError::io(what()))?.path();
        if path.extension().is_some_and(|extension| extension == "partial") {
            fs::remove_dir_all(&path).map_err(LabError::io(what()))?;
        }
    }
    Ok(())
}

fn build(image: Image, cache: &Path, root: &Path) -> Result<(), LabError> {
    let work = root.with_extension("partial");
    let files = work.join("files");
    for (path, mode, text) in FILES {
        let path = files.join(path);
        keys::make_folder(path.parent().unwrap_or(&files), 0o755)?;
        keys::write(&path, text, mode)?;
    }
    let script = work.join("build.sh");
    keys::write(&script, BUILD, 0o755)?;
    let log = root.with_extension("log");
    let output = File::create(&log).map_err(LabError::io(format!("make {}", log.display())))?;
    let errors = output.try_clone().map_err(LabError::io(format!("make {}", log.display())))?;
    // setpriv: the build dies with this program. unshare: all of its processes and mounts die with it.
    let status = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"])
        .arg("sh")
        .arg(&script)
        .arg(image.suite())
        .arg(OPSPW_PASSWORD)
        .arg(work.join("root"))
        .arg(&files)
        .args(mirror())
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(LabError::io("start setpriv"))?;
    if !status.success() {
        let text = fs::read(&log).unwrap_or_default();
        return Err(LabError::Root { status, log, tail: tail(&String::from_utf8_lossy(&text), 15) });
    }
    fs::rename(work.join("root"), root).map_err(LabError::io(format!("move the finished root to {}", root.display())))?;
    remove_partial(cache)
}

/// The archive that this machine itself takes Debian 12 from, if it is such a machine; else debootstrap knows one. An archive of
/// Debian has all its releases.
fn mirror() -> Option<String> {
    let format = "$(REPO_URI)|$(CODENAME)|$(ORIGIN)|$(COMPONENT)";
    let output = Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().find_map(|line| {
        let mut fields = line.split('|');
        let (address, rest) = (fields.next()?, fields.collect::<Vec<_>>());
        (rest == ["bookworm", "Debian", "main"]).then(|| address.to_owned())
    })
}
