//! What kokctl costs, compared in the same run with a client that does the least that can be done.
//!
//! Hosts and controller share this machine's processors, so seconds are this machine's; ratios are what counts.

mod capture;
mod converged;
pub mod create;
mod fetch;
mod first;
pub mod grow;
mod measure;
mod parts;
mod report;
mod site;
mod sshd;
pub mod upgrade;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};
use measure::{Cost, measure};
pub use report::Report;
pub use site::ClusterOptions;

/// What light hosts can have without being given programs: then it is kokctl that is measured, and not their disks.
const TASKS: &str = "host";

/// What to measure, and with what.
#[derive(Debug)]
pub struct BenchOptions {
    /// Numbers of hosts.
    pub hosts: Vec<usize>,
    /// Runs of which the median counts.
    pub runs: usize,
    /// The round trip of the runs over a distance.
    pub lag: Duration,
    /// The program kokctl.
    pub kokctl: PathBuf,
    /// The program that does the least.
    pub floor: PathBuf,
    /// The program upstream.
    pub upstream: PathBuf,
    /// The bundle.
    pub bundle: PathBuf,
}

/// A lab with a manifest for the first of its hosts.
struct Bench<'a> {
    options: &'a BenchOptions,
    lab: &'a Lab,
    hosts: Vec<Host>,
    manifest: String,
    folder: TempDir,
}

/// Boots light hosts and measures.
///
/// # Errors
/// When a program fails that is measured, or the lab does.
pub fn run(options: &BenchOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<Report, Box<dyn Error>> {
    progress("a bundle from a server that stands for upstream, beside curl");
    let fetch = fetch::run(options)?;
    let most = options.hosts.iter().copied().max().unwrap_or(1);
    progress(&format!("booting {most} light hosts"));
    let lab = Lab::up_with_progress(LabSpec::unique(most).light(), progress)?;
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION)?;
    let bench = Bench { options, lab: &lab, hosts: lab.hosts().collect(), manifest, folder: TempDir::new()? };
    progress("the first run");
    let first = first::run(&bench, most)?;
    let script = capture::probe_script(&bench)?;
    sshd::log_every_command(&bench.hosts)?;
    let mut converged = Vec::new();
    for count in &options.hosts {
        progress(&format!("converged: {count} hosts"));
        converged.push(converged::run(&bench, *count, &script)?);
    }
    progress(&format!("converged over {} ms", options.lag.as_millis()));
    let distant = converged::distant(&bench, &script)?;
    Ok(Report { fetch, first, converged, distant })
}

impl Bench<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Hosts that are measured.
    fn first_hosts(&self, count: usize) -> impl Iterator<Item = &Host> {
        self.hosts.iter().take(count)
    }

    /// `kokctl apply` of the first hosts; what it prints is in the file `out`.
    fn apply(&self, count: usize, json: bool) -> Result<Cost, Box<dyn Error>> {
        let manifest = self.write_manifest(count)?;
        let mut arguments: Vec<&str> = vec!["apply", "--only", TASKS, "-f", text(&manifest)?, "--bundle", text(&self.options.bundle)?];
        if json {
            arguments.push("--json");
        }
        measure(self, text(&self.options.kokctl)?, &arguments)
    }

    /// `script` on the first hosts, by the client that does no more.
    fn floor(&self, count: usize, script: &Path) -> Result<Cost, Box<dyn Error>> {
        let key = self.lab.private_key_path();
        let addresses: Vec<String> = self.first_hosts(count).map(Host::address).collect();
        let arguments: Vec<&str> = [text(script)?, text(&key)?].into_iter().chain(addresses.iter().map(String::as_str)).collect();
        measure(self, text(&self.options.floor)?, &arguments)
    }

    /// The lab's manifest, but for the hosts behind the first `count`.
    fn write_manifest(&self, count: usize) -> Result<PathBuf, Box<dyn Error>> {
        let mut left = count;
        let is_wanted = |line: &&str| {
            let is_host = line.starts_with("    - {name: ");
            let wanted = !is_host || left > 0;
            left -= usize::from(is_host && wanted);
            wanted
        };
        let lines: Vec<&str> = self.manifest.lines().filter(is_wanted).collect();
        let path = self.path("cluster.yaml");
        fs::write(&path, lines.join("\n") + "\n")?;
        Ok(path)
    }

    fn output(&self) -> Result<String, Box<dyn Error>> {
        Ok(fs::read_to_string(self.path("out"))?)
    }
}

fn text(path: &Path) -> Result<&str, Box<dyn Error>> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()).into())
}

/// This machine's, as bundles call it.
fn architecture() -> &'static str {
    if env::consts::ARCH == "aarch64" { "arm64" } else { "amd64" }
}

/// Runs both, ours first in every other round: what else the machine does meets both alike.
fn in_turn<A, B>(
    round: usize,
    ours: impl FnOnce() -> Result<A, Box<dyn Error>>,
    theirs: impl FnOnce() -> Result<B, Box<dyn Error>>,
) -> Result<(A, B), Box<dyn Error>> {
    if round.is_multiple_of(2) {
        let ours = ours()?;
        Ok((ours, theirs()?))
    } else {
        let theirs = theirs()?;
        Ok((ours()?, theirs))
    }
}

/// The one in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_median_is_no_mean() {
        assert_eq!(super::median(vec![9.0, 1.0, 2.0]), 2.0);
    }
}
