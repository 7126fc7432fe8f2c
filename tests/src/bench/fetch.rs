//! `kokctl bundle create` beside `curl --parallel`, which fetches the same bytes of the same server and does nothing else with them.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;

use super::measure::{Cost, measure_by};
use super::report::{Beside, Fetch};
use super::{BenchOptions, median, text};
use crate::lab::DEFAULT_KUBERNETES_VERSION;
use crate::upstream::Isolated;

/// As many as kokctl fetches at once.
const AT_ONCE: usize = 8;

const OUT: &str = "fetched";

/// Both in turn, each into an empty folder.
pub(super) fn run(options: &BenchOptions) -> Result<Fetch, Box<dyn Error>> {
    let server = Isolated::start(&options.upstream, &options.bundle, &[])?;
    fs::write(server.file("cluster.yaml"), cluster())?;
    let kokctl = || fetch(&server, text(&options.kokctl)?, &CREATE);
    // What it asks for is what curl asks for.
    kokctl()?;
    let (requests, bytes) = (asked(&server)?, size(&server)?);
    fs::write(server.file("curl.conf"), curl(&requests)?)?;
    let in_turn = || -> Result<(Vec<Cost>, Vec<Cost>), Box<dyn Error>> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..options.runs.max(1) {
            ours.push(kokctl()?);
            theirs.push(fetch(&server, "curl", &["--config", "curl.conf"])?);
        }
        Ok((ours, theirs))
    };
    let unlimited = in_turn()?;
    limit(&server)?;
    let limited = in_turn()?;
    Ok(Fetch { bytes, requests: requests.len(), memory: Beside::from_costs(&unlimited), link: Beside::from_costs(&limited) })
}

impl Beside {
    fn from_costs((ours, theirs): &(Vec<Cost>, Vec<Cost>)) -> Self {
        let milliseconds = |costs: &[Cost]| median(costs.iter().map(|cost| cost.milliseconds).collect());
        let (milliseconds, curl_milliseconds) = (milliseconds(ours), milliseconds(theirs));
        #[allow(clippy::cast_precision_loss, reason = "kilobytes of one program")]
        let peak_megabytes = ours.iter().map(|cost| cost.peak_kilobytes).max().unwrap_or_default() as f64 / 1e3;
        Self { milliseconds, curl_milliseconds, ratio: milliseconds / curl_milliseconds, peak_megabytes }
    }
}

/// The server is at the end of a line of 1 Gbit/s from now on, which is as fast as upstream is anywhere. Before it was as far away as memory is: there every
/// digest costs time, and curl makes none.
fn limit(server: &Isolated) -> Result<(), Box<dyn Error>> {
    let line = ["qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1gbit", "burst", "1mb", "latency", "100ms"];
    let status = server.command("tc").args(line).status()?;
    if status.success() { Ok(()) } else { Err("the line can't be made slower".into()) }
}

const CREATE: [&str; 10] = ["bundle", "create", "--for", "cluster.yaml", "--catalog", "catalog.json", "--ca", "ca.crt", "--output", OUT];

/// One release, for a cluster with several control planes: whatever the bundle was built of.
fn cluster() -> String {
    let hosts: String =
        (1..=3).map(|host| format!("    - {{name: cp{host}, address: 10.0.0.1{host}, roles: [control-plane]}}\n")).collect();
    format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: bench}}\nspec:\n  \
         kubernetesVersion: {DEFAULT_KUBERNETES_VERSION}\n  hosts:\n{hosts}    - {{name: worker1, address: 10.0.0.14, roles: [worker]}}\n"
    )
}

fn fetch(server: &Isolated, program: &str, arguments: &[&str]) -> Result<Cost, Box<dyn Error>> {
    if server.file(OUT).exists() {
        fs::remove_dir_all(server.file(OUT))?;
    }
    measure_by(server.command("bash"), server.folder(), program, arguments)
}

/// Addresses of all that was asked for from its first byte.
fn asked(server: &Isolated) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let log = fs::read_to_string(server.file("log"))?;
    let address = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["GET", host, path, "0", _] => Some(format!("https://{host}{path}")),
        _ => None,
    };
    Ok(log.lines().filter_map(address).collect())
}

fn size(server: &Isolated) -> Result<u64, Box<dyn Error>> {
    let bundle = crate::upstream::index_of(&server.file(OUT))?;
    Ok(bundle.files.iter().map(|file| file.size).chain(bundle.images.iter().map(|image| image.size)).sum())
}

fn curl(requests: &BTreeSet<String>) -> Result<String, std::fmt::Error> {
    let mut text =
        format!("parallel\nparallel-immediate\nparallel-max = {AT_ONCE}\nfail\nsilent\nshow-error\ncreate-dirs\ncacert = \"ca.crt\"\n");
    for (number, address) in requests.iter().enumerate() {
        writeln!(text, "url = \"{address}\"\noutput = \"{OUT}/{number}\"")?;
    }
    Ok(text)
}
