//! Reading facts out of a probe's answer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;

use super::files::{self, FileLines};
use super::{Extent, HostFacts, Interface, Route, SelinuxMode, storage};
use crate::observe::{Nonce, ParseError, Section, sections, text_of};

/// Reads the facts of a probe that asked for them, to this extent.
///
/// # Errors
/// [`ParseError`] naming the fact that is missing or has the wrong shape.
pub fn parse(nonce: &Nonce, extent: Extent, answer: &[u8]) -> Result<HostFacts, ParseError> {
    let sections = sections(nonce, answer);
    let text = |name: &str| text_of(&sections, name);
    // Comments in a host's own files may be in any encoding; nothing that we read of them is.
    let bytes = sections.iter().find(|section| section.name == "fact-files").map(|section| section.body);
    let lossy = String::from_utf8_lossy(bytes.ok_or_else(|| ParseError::new("fact-files", "missing"))?);
    let facts = of_files(&FileLines::read(&lossy))?;
    let machine = Some(facts.architecture.as_str()).filter(|machine| !machine.is_empty());
    let architecture = architecture(machine.map_or_else(|| text("fact-machine").map(str::trim), Ok)?);
    let facts = match extent {
        Extent::Machine => facts,
        Extent::Node => of_node(&sections, facts)?,
    };
    Ok(HostFacts {
        architecture,
        interfaces: interfaces(text("fact-addresses")?),
        commands: text("fact-commands")?.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
        busy: busy(&sections),
        jobs: jobs(&sections),
        ..facts
    })
}

/// What whoever runs Kubernetes on the host has to know besides.
fn of_node(sections: &[Section<'_>], facts: HostFacts) -> Result<HostFacts, ParseError> {
    let (mounts, listening) = of_kernel(text_of(sections, "fact-kernel")?);
    let mounts = storage::mounts(&mounts);
    let packages = text_of(sections, "fact-packages")?;
    Ok(HostFacts {
        cgroup_v2: mounts.get("/sys/fs/cgroup").is_some_and(|mount| mount.kind == "cgroup2"),
        listening_ports: ports(&listening, |_| true)?,
        ports_at_all_addresses: ports(&listening, |address| address.bytes().all(|digit| digit == b'0'))?,
        storage: storage::storage(text_of(sections, "fact-space")?, &mounts)?,
        installable: packages.lines().filter_map(|line| line.strip_prefix("can ")).map(str::to_owned).collect(),
        without_package_lists: packages.lines().any(|line| line == "no-lists"),
        dpkg_interrupted: packages.lines().any(|line| line == "interrupted"),
        unwritable: storage::unwritable(text_of(sections, "fact-unwritable")?),
        ..facts
    })
}

fn of_files(files: &FileLines<'_>) -> Result<HostFacts, ParseError> {
    let some = |path: &str| Some(files.first(path).to_owned()).filter(|value| !value.is_empty());
    let os_release = assignments(files.lines(files::OS_RELEASE));
    let os = |key: &str| os_release.get(key).cloned().unwrap_or_default();
    files.required(files::HOSTNAME)?;
    files.required(files::KERNEL)?;
    files.required(files::INIT)?;
    let authority = files.lines(files::AUTHORITY).join("\n");
    Ok(HostFacts {
        hostname: files.first(files::HOSTNAME).to_owned(),
        boot_id: some(files::BOOT_ID),
        machine_id: files.first(files::MACHINE_ID).to_owned(),
        product_uuid: some(files::PRODUCT_UUID),
        os_id: os("ID"),
        os_like: os("ID_LIKE").split_ascii_whitespace().map(str::to_owned).collect(),
        os_version: os("VERSION_ID"),
        kernel: files.first(files::KERNEL).to_owned(),
        architecture: files.first(files::MACHINE).to_owned(),
        memory_bytes: memory(files, "MemTotal:")?,
        available_bytes: memory(files, "MemAvailable:")?,
        processors: processors(files)?,
        swaps: swaps(files)?,
        routes: files.lines(files::ROUTES).iter().skip(1).filter_map(|line| route(line)).collect(),
        name_servers: name_servers(files.lines(files::RESOLV_CONF)),
        resolved_servers: name_servers(files.lines(files::RESOLVED)),
        ssh_host_keys: files.matching("/etc/ssh/ssh_host_", "_key.pub").filter_map(public_key).collect(),
        systemd: files.first(files::INIT) == "systemd",
        selinux: match files.first(files::SELINUX) {
            "1" => SelinuxMode::Enforcing,
            "0" => SelinuxMode::Permissive,
            _ => SelinuxMode::Disabled,
        },
        cluster: some(files::CLUSTER),
        recovery: Some(files.lines(files::RECOVERY)).filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")),
        cluster_id: files.lines(files::CLUSTER).get(1).map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()),
        certificate_authority: Some(authority).filter(|text| !text.is_empty()),
        ..HostFacts::default()
    })
}

/// Lines of mounts, whose second word is where, and of sockets that listen.
fn of_kernel(text: &str) -> (Vec<&str>, Vec<&str>) {
    let is_mount = |line: &&str| line.split_ascii_whitespace().nth(1).is_some_and(|place| place.starts_with('/'));
    text.lines().filter(|line| !line.is_empty()).partition(is_mount)
}

/// What a host calls so goes into messages: a unit's name and no more.
fn jobs(sections: &[Section<'_>]) -> Vec<String> {
    let is_unit = |line: &&str| {
        let named = line.starts_with("kokctl-") && line.ends_with(".service");
        named && line.len() < 80 && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
    };
    text_of(sections, "lock").map_or_else(|_| Vec::new(), |body| body.lines().filter(is_unit).map(str::to_owned).collect())
}

fn busy(sections: &[Section<'_>]) -> bool {
    text_of(sections, "lock").is_ok_and(|body| body.contains("busy"))
}

fn number<T: std::str::FromStr>(fact: &str, text: &str) -> Result<T, ParseError> {
    text.parse().map_err(|_| ParseError::new(fact, text))
}

/// `KEY=value` and `KEY="value"` lines.
fn assignments<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, String> {
    let pairs = lines.iter().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key, value.trim().trim_matches(['"', '\'']).to_owned())).collect()
}

fn architecture(machine: &str) -> String {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
    .to_owned()
}

fn memory(files: &FileLines<'_>, key: &str) -> Result<u64, ParseError> {
    let lines = files.required(files::MEMORY)?;
    let line = lines.iter().find(|line| line.starts_with(key)).ok_or_else(|| ParseError::new(files::MEMORY, key))?;
    let kibibytes: u64 = number(files::MEMORY, line.split_ascii_whitespace().nth(1).unwrap_or_default())?;
    Ok(kibibytes.saturating_mul(1024))
}

/// Ranges of processors, as in `0-3,6`.
fn processors(files: &FileLines<'_>) -> Result<u32, ParseError> {
    files.required(files::PROCESSORS)?;
    let text = files.first(files::PROCESSORS);
    let wrong = || ParseError::new(files::PROCESSORS, text);
    let mut count = 0_u32;
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().map_err(|_| wrong())?, last.parse().map_err(|_| wrong())?);
        let length = last.checked_sub(first).and_then(|length| length.checked_add(1)).ok_or_else(wrong)?;
        count = count.saturating_add(length);
    }
    Ok(count)
}

/// /proc/swaps: a heading, then file name, type, size and used KiB. A blank in a name is written as `\040`.
fn swaps(files: &FileLines<'_>) -> Result<BTreeMap<String, u64>, ParseError> {
    let one = |line: &&str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [name, _, _, used, ..] = fields.as_slice() else { return Err(ParseError::new(files::SWAPS, line)) };
        Ok(((*name).to_owned(), number::<u64>(files::SWAPS, used)?.saturating_mul(1024)))
    };
    files.required(files::SWAPS)?.iter().skip(1).map(one).collect()
}

/// A line of /proc/net/route: interface, destination, gateway, flags, …, mask; addresses are hexadecimal with their bytes reversed.
fn route(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [interface, destination, gateway, _, _, _, _, mask, ..] = fields.as_slice() else { return None };
    let address = |hex: &str| Some(Ipv4Addr::from(u32::from_str_radix(hex, 16).ok()?.swap_bytes()));
    let to = Ipv4Net::with_netmask(address(destination)?, address(mask)?).ok()?;
    let via = address(gateway).filter(|gateway| !gateway.is_unspecified());
    (to.prefix_len() > 0).then(|| Route { to: to.trunc(), interface: (*interface).to_owned(), via })
}

fn name_servers(lines: &[&str]) -> Vec<IpAddr> {
    let server = |line: &&str| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        // An IPv6 address may have the interface behind it.
        address.split('%').next()?.parse().ok()
    };
    lines.iter().filter_map(server).collect()
}

/// The type and the key of a public key's line, without its comment.
fn public_key(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?))
}

/// The ports at those addresses, which are in hexadecimal.
fn ports(lines: &[&str], counts: impl Fn(&str) -> bool) -> Result<BTreeSet<u16>, ParseError> {
    let of_line = |line: &str| {
        let (address, port) = line.split_ascii_whitespace().nth(1)?.rsplit_once(':')?;
        Some(counts(address).then_some(u16::from_str_radix(port, 16).ok()?))
    };
    let ports: Vec<_> =
        lines.iter().map(|line| of_line(line).ok_or_else(|| ParseError::new("fact-kernel", line))).collect::<Result<_, _>>()?;
    Ok(ports.into_iter().flatten().collect())
}

/// What `ip addr show` says of addresses that come and go.
const PASSING: [&str; 4] = ["temporary", "deprecated", "tentative", "dadfailed"];

/// `ip addr show`: an interface begins with its number at the start of a line; what it has stands indented.
fn interfaces(text: &str) -> BTreeMap<String, Interface> {
    let mut all: BTreeMap<String, Interface> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            [_, name, ..] if line.starts_with(|c: char| c.is_ascii_digit()) => {
                // The other end of a pair stands behind `@`.
                current = name.trim_end_matches(':').split('@').next().unwrap_or_default().to_owned();
                let mtu = words.iter().skip_while(|word| **word != "mtu").nth(1).and_then(|mtu| mtu.parse().ok());
                all.entry(current.clone()).or_default().mtu = mtu;
            }
            ["link/ether", mac, ..] => {
                if let Some(interface) = all.get_mut(&current) {
                    interface.mac = Some((*mac).to_owned());
                }
            }
            ["inet" | "inet6", address, flags @ ..] => {
                let address = address.split('/').next().and_then(|address| address.parse().ok());
                if let (Some(interface), Some(address)) = (all.get_mut(&current), address) {
                    interface.addresses.insert(address);
                    if flags.iter().any(|flag| PASSING.contains(flag)) {
                        interface.passing.insert(address);
                    }
                }
            }
            _ => {}
        }
    }
    all
}
