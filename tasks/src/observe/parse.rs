//! Reading the answer of a probe.

use std::collections::{BTreeMap, BTreeSet};
use std::str;

use thiserror::Error;

use super::look::Looks;
use super::script::{Nonce, sysctl_file};
use super::state::{Kind, Metadata, ModuleState, Observations, PathState};

/// An answer that isn't what the probe's script prints.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the host's answer has an unreadable `{section}`: {excerpt:?}")]
pub struct ParseError {
    /// The section of the answer, or the fact.
    pub section: String,
    /// The beginning of what stood there.
    pub excerpt: String,
}

impl ParseError {
    pub(crate) fn new(section: &str, found: &str) -> Self {
        // Enough to recognise it, too little to flood a terminal.
        Self { section: section.to_owned(), excerpt: found.chars().take(80).collect() }
    }
}

/// A named part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'a> {
    /// What follows the nonce on the section's first line, up to the first blank.
    pub name: &'a str,
    /// What follows the name.
    pub argument: &'a str,
    /// Everything up to the next section.
    pub body: &'a [u8],
}

/// Cuts an answer into its sections. What stands before the first one is dropped; it is noise of a login.
#[must_use]
pub fn sections<'a>(nonce: &Nonce, answer: &'a [u8]) -> Vec<Section<'a>> {
    let mark = format!("\n{} ", nonce.as_str());
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(found) = answer.get(from..).and_then(|rest| find(rest, mark.as_bytes())) {
        starts.push(from + found);
        from += found + mark.len();
    }
    let ends = starts.iter().skip(1).copied().chain([answer.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| {
            let text = answer.get(start + mark.len()..end)?;
            let line_end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
            let (line, body) = text.split_at_checked(line_end)?;
            let (name, argument) = str::from_utf8(line).ok()?.split_once(' ').unwrap_or((str::from_utf8(line).ok()?, ""));
            Some(Section { name, argument, body: body.get(1..).unwrap_or_default() })
        })
        .collect()
}

/// The first position of `mark`, which begins with a newline: to look for that byte alone is a tenth of the work.
fn find(text: &[u8], mark: &[u8]) -> Option<usize> {
    let newlines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    newlines.map(|(position, _)| position).find(|position| text.get(*position..).is_some_and(|rest| rest.starts_with(mark)))
}

/// Reads the answer to the probe of `looks`.
///
/// # Errors
/// [`ParseError`] if a section is missing, is of the wrong shape, or the answer stops before its end.
pub fn parse(nonce: &Nonce, looks: &Looks, answer: &[u8]) -> Result<Observations, ParseError> {
    let sections = sections(nonce, answer);
    let body = |name: &str| text_of(&sections, name);
    body("end")?;
    let mut seen = Observations::default();
    read_clock(body("clock")?, &mut seen)?;
    if !looks.paths.is_empty() {
        read_paths(body("paths")?, looks, &mut seen)?;
    }
    if !looks.files.is_empty() {
        read_sums("sums", body("sums")?, &mut seen)?;
    }
    if !looks.large.is_empty() {
        read_sums("large", body("large")?, &mut seen)?;
    }
    // A host may not fill our memory with what nobody asked for.
    let is_asked = |path: &str| looks.contents.contains(path) || looks.files.contains_key(path);
    for section in sections.iter().filter(|section| section.name == "content" && is_asked(section.argument)) {
        seen.contents.insert(section.argument.to_owned(), section.body.to_vec());
    }
    seen.contents.extend(super::contents::read(&sections, &looks.contents)?);
    let kubeconfigs = super::kubeconfig::lines(&sections, &looks.kubeconfigs)?;
    seen.kubeconfigs = super::kubeconfig::read(&kubeconfigs);
    seen.kubeconfig_authorities = super::kubeconfig::authorities(&sections, &looks.kubeconfig_authorities);
    seen.kubeconfig_servers = super::kubeconfig::servers(&kubeconfigs);
    seen.certificates = super::kubeconfig::certificates(&sections, &looks.certificates);
    if looks.programs {
        seen.programs = Some(super::programs::read(body("programs")?, body("clock")?, seen.clock_nanoseconds)?);
    }
    if !looks.units.is_empty() {
        seen.units = super::units::read(section_of(&sections, "units")?, looks)?;
    }
    if !looks.sysctls.is_empty() {
        let text = body("sysctls")?;
        let read: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(':')).collect();
        let value = |name: &String| read.get(sysctl_file(name).as_str()).map(|value| value.trim().to_owned());
        seen.sysctls = looks.sysctls.iter().map(|name| (name.clone(), value(name))).collect();
    }
    if !looks.modules.is_empty() {
        let text = body("modules")?;
        seen.modules = looks.modules.iter().map(|name| (name.clone(), ModuleState::read(text, name))).collect();
    }
    read_host(&sections, looks, &mut seen)?;
    read_programs(&sections, looks, &mut seen)?;
    Ok(seen)
}

/// What programs of the host say: containerd, chronyd and the API server.
fn read_programs(sections: &[Section<'_>], looks: &Looks, seen: &mut Observations) -> Result<(), ParseError> {
    let body = |name: &str| text_of(sections, name);
    if looks.images {
        seen.images = Some(super::images::read(body("images")?)?);
    }
    if looks.versions {
        seen.versions = Some(super::versions::read(sections)?);
    }
    if looks.time {
        seen.time = Some(super::time::read(body("time")?, body("time-sources").unwrap_or_default()));
    }
    if looks.etcd {
        seen.etcd = Some(super::etcd::read(sections)?);
    }
    if looks.etcd_data {
        seen.etcd_data = Some(super::etcd_data::read(sections)?);
    }
    seen.etcd_endpoints = super::etcd_urls::read_endpoints(sections, &looks.etcd_endpoints)?;
    seen.etcd_peers = super::etcd_urls::read_peers(sections, &looks.etcd_peers)?;
    if looks.asks_api_server() {
        seen.api_server = Some(super::api_server::read(sections)?);
    }
    if looks.kubernetes {
        seen.kubernetes = Some(super::kubernetes::read(sections)?);
    }
    if looks.node_annotations {
        seen.node_annotations = Some(super::annotations::read(text_of(sections, "kube-annotations")?));
    }
    if looks.deprecated {
        seen.deprecated_apis = Some(super::deprecated::read(text_of(sections, "kube-deprecated")?));
    }
    if looks.webhooks {
        seen.webhooks = Some(super::webhooks::read(sections)?);
    }
    if looks.encryption_keys {
        seen.encryption_keys = Some(super::encryption::read_keys(sections)?);
    }
    if looks.encryption_read {
        seen.encryption_read = Some(super::encryption::read_read(sections)?);
    }
    if looks.token_secrets {
        seen.token_secrets = Some(super::token_secrets::read(sections)?);
    }
    if looks.cluster_trust {
        seen.cluster_trust = Some(super::cluster_trust::read(sections)?);
    }
    if !looks.older_pods.is_empty() {
        seen.older_pods = Some(super::older_pods::read(sections)?);
    }
    if looks.encrypted_values {
        seen.encrypted_values = Some(super::encryption::read_values(sections)?);
    }
    if looks.load_balancers {
        seen.load_balancers = Some(super::kubernetes::read_load_balancers(sections)?);
    }
    if !looks.workload.is_empty() {
        seen.workload = Some(super::workload::read(sections, &looks.workload)?);
    }
    seen.api_endpoints = super::api_server::read_endpoints(sections, &looks.api_endpoints)?;
    if !looks.addon_objects.is_empty() {
        seen.addon_objects = super::addons::read(sections, &looks.addon_objects)?;
    }
    if looks.last_words {
        seen.last_words = Some(super::last_words::read(sections));
    }
    if looks.warnings {
        seen.warnings = Some(body("kube-warnings")?.trim().to_owned());
    }
    if looks.network_check.is_some() {
        body("network-check-pods")?;
        seen.network_check = Some(super::network_check::read(sections));
    }
    Ok(())
}

fn read_host(sections: &[Section<'_>], looks: &Looks, seen: &mut Observations) -> Result<(), ParseError> {
    let body = |name: &str| text_of(sections, name);
    if !looks.commands.is_empty() {
        let there: BTreeSet<&str> = body("commands")?.lines().collect();
        seen.commands = looks.commands.iter().map(|name| (name.clone(), there.contains(name.as_str()))).collect();
    }
    seen.pieces = super::pieces::read(sections, &looks.pieces)?;
    for path in &looks.blocks {
        seen.blocks.insert(path.clone(), String::from_utf8_lossy(body_of(sections, "block", path)?).into_owned());
    }
    for pattern in &looks.patterns {
        let text = str::from_utf8(body_of(sections, "matching", pattern)?).map_err(|_| ParseError::new("matching", "not UTF-8"))?;
        let paths = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        seen.matching.insert(pattern.clone(), paths);
    }
    if looks.swap {
        seen.swap = Some(super::swap::read(body("swap")?, body("swap-fstab")?, body("swap-units")?));
    }
    if looks.firewall {
        let text = body("firewall")?;
        seen.firewall = Some(super::firewall::read(text).ok_or_else(|| ParseError::new("firewall", text))?);
    }
    seen.pod_network = looks.pod_network.as_ref().map(|_| body("pod-network").map(super::pod_network::read)).transpose()?;
    seen.neighbours = super::neighbour::read(sections, looks.neighbours.iter().copied())?;
    if looks.ipv6 {
        let state = super::ipv6::read(body("ipv6")?);
        // So that a step that sets one of them knows it without another look.
        seen.sysctls.extend(state.accept_ra.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        seen.ipv6 = Some(state);
    }
    Ok(())
}

/// The body of the section of that name and argument.
pub(super) fn body_of<'a>(sections: &[Section<'a>], name: &str, argument: &str) -> Result<&'a [u8], ParseError> {
    let section = sections.iter().find(|section| section.name == name && section.argument == argument);
    section.map(|section| section.body).ok_or_else(|| ParseError::new(&format!("{name} {argument}"), "missing"))
}

pub(crate) fn text_of<'a>(sections: &[Section<'a>], name: &str) -> Result<&'a str, ParseError> {
    str::from_utf8(section_of(sections, name)?.body).map_err(|_| ParseError::new(name, "not UTF-8"))
}

fn section_of<'a, 'b>(sections: &'b [Section<'a>], name: &str) -> Result<&'b Section<'a>, ParseError> {
    sections.iter().find(|section| section.name == name).ok_or_else(|| ParseError::new(name, "missing"))
}

fn read_clock(text: &str, seen: &mut Observations) -> Result<(), ParseError> {
    let wrong = || ParseError::new("clock", text);
    let mut lines = text.lines();
    // 64 bits of nanoseconds last until the year 2262; no host can make us count beyond.
    seen.clock_nanoseconds = lines.next().and_then(|line| line.parse::<i64>().ok()).ok_or_else(wrong)?.into();
    let uptime = lines.next().and_then(|line| line.split(' ').next()).ok_or_else(wrong)?;
    let (seconds, hundredths) = uptime.split_once('.').ok_or_else(wrong)?;
    let seconds: u64 = seconds.parse().map_err(|_| wrong())?;
    let hundredths: u64 = hundredths.parse().map_err(|_| wrong())?;
    let since_boot = seconds.saturating_mul(1_000_000).saturating_add(hundredths.saturating_mul(10_000));
    seen.monotonic_microseconds = lines.next().and_then(read_timer_list).unwrap_or(since_boot);
    Ok(())
}

/// `now at 5555260000000 nsecs`, in microseconds.
fn read_timer_list(line: &str) -> Option<u64> {
    let nanoseconds: u64 = line.strip_prefix("now at ")?.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1_000)
}

fn read_paths(text: &str, looks: &Looks, seen: &mut Observations) -> Result<(), ParseError> {
    seen.paths = looks.paths.iter().map(|path| (path.clone(), PathState::Missing)).collect();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (metadata, path) = read_path(line).ok_or_else(|| ParseError::new("paths", line))?;
        if let Some(entry) = seen.paths.get_mut(path) {
            *entry = PathState::Present(metadata);
        }
    }
    Ok(())
}

fn read_path(line: &str) -> Option<(Metadata, &str)> {
    let mut fields = line.splitn(4, ' ');
    let raw = u32::from_str_radix(fields.next()?, 16).ok()?;
    let user = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // The path may have anything in it; what stands behind it has not.
    let mut fields = fields.next()?.rsplitn(5, '|').skip(1);
    let changed_nanoseconds = read_seconds(fields.next()?)?;
    let size = fields.nth(1)?.parse().ok()?;
    // The S_IFMT bits of stat(2).
    let kind = match raw & 0o170_000 {
        0o100_000 => Kind::File,
        0o040_000 => Kind::Directory,
        0o120_000 => Kind::Symlink,
        _ => Kind::Other,
    };
    Some((Metadata { kind, mode: raw & 0o7777, user, group, size, changed_nanoseconds, sha256: None }, fields.next()?))
}

/// Seconds with or without a fraction (coreutils other than GNU's may print none), as nanoseconds.
fn read_seconds(text: &str) -> Option<i128> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let fraction: i128 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(seconds.parse::<i64>().ok()? as i128 * 1_000_000_000 + fraction)
}

fn read_sums(section: &str, text: &str, seen: &mut Observations) -> Result<(), ParseError> {
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (sum, path) = line.split_once("  ").ok_or_else(|| ParseError::new(section, line))?;
        if sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ParseError::new(section, line));
        }
        if let Some(PathState::Present(metadata)) = seen.paths.get_mut(path) {
            metadata.sha256 = Some(sum.to_owned());
        }
    }
    Ok(())
}
