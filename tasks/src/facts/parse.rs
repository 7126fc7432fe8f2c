//! Reading facts out of a probe's answer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::HostFacts;
use crate::observe::{Nonce, ParseError, sections, text_of};

/// The magic number of cgroup v2 that statfs(2) reports, as `stat -f -c %t` prints it.
const CGROUP2_SUPER_MAGIC: &str = "63677270";

/// The state LISTEN in /proc/net/tcp.
const TCP_LISTEN: &str = "0A";

/// Reads the facts of a probe that asked for them.
///
/// # Errors
/// [`ParseError`] naming the fact that is missing or has the wrong shape.
pub fn parse(nonce: &Nonce, answer: &[u8]) -> Result<HostFacts, ParseError> {
    let sections = sections(nonce, answer);
    let text = |name: &str| text_of(&sections, name);
    let line = |name: &str| text(name).map(|body| body.trim().to_owned());
    let some = |name: &str| line(name).map(|value| Some(value).filter(|value| !value.is_empty()));
    let os_release = assignments(text("fact-os-release")?);
    let os = |key: &str| os_release.get(key).cloned().unwrap_or_default();
    Ok(HostFacts {
        hostname: line("fact-hostname")?,
        machine_id: line("fact-machine-id")?,
        product_uuid: some("fact-product-uuid")?,
        os_id: os("ID"),
        os_version: os("VERSION_ID"),
        architecture: architecture(&line("fact-machine")?),
        kernel: line("fact-kernel")?,
        cgroup_v2: line("fact-cgroup")? == CGROUP2_SUPER_MAGIC,
        memory_bytes: memory(text("fact-memory")?)?,
        processors: number("fact-processors", &line("fact-processors")?)?,
        swap: text("fact-swaps")?.lines().count() > 1,
        listening_ports: listening(text("fact-listening")?)?,
        addresses: addresses(text("fact-addresses")?),
        free_bytes: space(text("fact-space")?),
        commands: text("fact-commands")?.lines().map(str::to_owned).collect(),
        systemd: line("fact-init")? == "systemd",
        writable: line("fact-writable")? == "yes",
        cluster_id: some("fact-record")?.and_then(|record| record.lines().nth(1).map(str::to_owned)),
        cluster: some("fact-record")?.map(|record| record.lines().next().unwrap_or_default().to_owned()),
        certificate_authority: some("fact-certificate-authority")?,
        busy: text("lock").is_ok_and(|body| body.contains("busy")),
    })
}

fn number<T: std::str::FromStr>(fact: &str, text: &str) -> Result<T, ParseError> {
    text.parse().map_err(|_| ParseError::new(fact, text))
}

/// `KEY=value` and `KEY="value"` lines.
fn assignments(text: &str) -> BTreeMap<&str, String> {
    text.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key, value.trim_matches(['"', '\'']).to_owned())).collect()
}

fn architecture(machine: &str) -> String {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
    .to_owned()
}

fn memory(text: &str) -> Result<u64, ParseError> {
    let line = text.lines().find(|line| line.starts_with("MemTotal:")).ok_or_else(|| ParseError::new("fact-memory", text))?;
    let kibibytes: u64 = number("fact-memory", line.split_ascii_whitespace().nth(1).unwrap_or_default())?;
    Ok(kibibytes.saturating_mul(1024))
}

fn listening(text: &str) -> Result<BTreeSet<u16>, ParseError> {
    let mut ports = BTreeSet::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(local), Some(state)) = (fields.nth(1), fields.nth(1)) else { continue };
        if state == TCP_LISTEN {
            let port = local.rsplit(':').next().and_then(|hex| u16::from_str_radix(hex, 16).ok());
            ports.insert(port.ok_or_else(|| ParseError::new("fact-listening", line))?);
        }
    }
    Ok(ports)
}

/// `ip -o addr show`: the word behind `inet` or `inet6` is an address with its prefix length.
fn addresses(text: &str) -> BTreeSet<IpAddr> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words
        .windows(2)
        .filter_map(|pair| match pair {
            ["inet" | "inet6", address] => address.split('/').next()?.parse().ok(),
            _ => None,
        })
        .collect()
}

/// `df -P -k`: file system, blocks, used, available, capacity, mount point.
fn space(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [_, _, _, available, _, mount] = fields.as_slice() else { return None };
            Some(((*mount).to_owned(), available.parse::<u64>().ok()?.saturating_mul(1024)))
        })
        .collect()
}
