//! Making a host's disk.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::Path;

use super::folder::LabFolder;
use super::record::HostRecord;
use super::{LabError, address, keys};

/// What a light host boots to.
pub(crate) const LIGHT_TARGET: &str = "lab-light.target";

/// Makes the host's disk: an empty overlay but for what is this host's own.
pub(crate) fn make_disk(folder: &LabFolder, record: &HostRecord, root: &Path) -> Result<(), LabError> {
    let (host, upper) = (folder.host(&record.name), folder.upper(&record.name));
    for part in ["work", "data/containerd", "data/kubelet", "data/etcd", "upper/etc/systemd/network", "upper"] {
        keys::make_folder(&host.join(part), 0o755)?;
    }
    for (part, mode) in [("etc", 0o755), ("etc/systemd", 0o755), ("home", 0o755), ("root", 0o700)] {
        keys::make_folder(&upper.join(part), mode)?;
    }
    symlink(root, host.join("root")).map_err(LabError::io(format!("link the root of host {}", record.name)))?;
    let own = [
        ("etc/hostname", format!("{}\n", record.name)),
        ("etc/machine-id", machine_id()?),
        // As Debian's installer writes it.
        ("etc/hosts", format!("127.0.0.1\tlocalhost\n127.0.1.1\t{}\n::1\tlocalhost ip6-localhost ip6-loopback\n", record.name)),
        // Nobody answers there, and says so at once. Without any server CoreDNS would not start on this host.
        ("etc/resolv.conf", format!("nameserver {}\n", address::CONTROLLER)),
        ("etc/systemd/network/10-lab.network", network_unit("host0", &record.address(), way_out(record)) + &of_ipv6(record)),
    ];
    for (path, text) in own {
        keys::write(&upper.join(path), &text, 0o644)?;
    }
    if record.is_bastion {
        let inner = network_unit("host1", &record.inner_address(), "");
        keys::write(&upper.join("etc/systemd/network/20-inner.network"), &inner, 0o644)?;
    }
    if record.light {
        make_light(record, &upper)?;
    }
    keys::make_host(folder, &record.name)?;
    keys::USERS.iter().try_for_each(|user| give_home_to(user, root, &upper))
}

/// A light host has its address from a program that ends, and no networkd, whose socket would start it when a link changes.
fn make_light(record: &HostRecord, upper: &Path) -> Result<(), LabError> {
    let inner = if record.is_bastion { record.inner_address() } else { String::new() };
    let text = format!("ADDRESS={}\nGATEWAY={}\nINNER={inner}\nPREFIX={}\n", record.address(), gateway(record), address::PREFIX);
    keys::make_folder(&upper.join("etc/default"), 0o755)?;
    keys::write(&upper.join("etc/default/lab-address"), &text, 0o644)?;
    keys::make_folder(&upper.join("etc/systemd/system"), 0o755)?;
    if let Some(address) = record.address_ipv6() {
        let folder = upper.join("etc/systemd/system/lab-address.service.d");
        keys::make_folder(&folder, 0o755)?;
        let text = format!("[Service]\nExecStart=ip address add {address}/{} dev host0 nodad\n", address::PREFIX_IPV6);
        keys::write(&folder.join("ipv6.conf"), &text, 0o644)?;
    }
    let unit = upper.join("etc/systemd/system/systemd-networkd.service");
    symlink("/dev/null", &unit).map_err(LabError::io(format!("mask {}", unit.display())))
}

/// An upper folder hides the owner and mode of the one below, so the home of a user gets those that it has in the root.
fn give_home_to(user: &str, root: &Path, upper: &Path) -> Result<(), LabError> {
    let what = || format!("give {user} its home");
    let original = fs::metadata(root.join("home").join(user)).map_err(LabError::io(what()))?;
    let home = upper.join("home").join(user);
    fs::set_permissions(&home, original.permissions()).map_err(LabError::io(what()))?;
    for path in [&home, &home.join(".ssh"), &home.join(".ssh/authorized_keys")] {
        chown(path, Some(original.uid()), Some(original.gid())).map_err(LabError::io(what()))?;
    }
    Ok(())
}

fn machine_id() -> Result<String, LabError> {
    let path = "/proc/sys/kernel/random/uuid";
    let uuid = fs::read_to_string(path).map_err(LabError::io(format!("read {path}")))?;
    Ok(uuid.replace('-', ""))
}

/// Nobody else in the lab can have the address, and to look whether somebody has takes a second.
fn of_ipv6(record: &HostRecord) -> String {
    let unit = |address| format!("\n[Address]\nAddress={address}/{}\nDuplicateAddressDetection=none\n", address::PREFIX_IPV6);
    record.address_ipv6().map(unit).unwrap_or_default()
}

/// Who says of everything beyond the lab that it can't be reached; hosts behind a bastion have nobody.
fn gateway(record: &HostRecord) -> &'static str {
    if record.depth == 0 { address::CONTROLLER } else { "" }
}

/// A default route, as every machine has: programs look at it for the machine's own address. It leads to the controller, which
/// says of everything that it can't be reached; behind a bastion the host says so itself.
fn way_out(record: &HostRecord) -> &'static str {
    if record.depth == 0 { "Gateway=10.20.0.1\n" } else { "\n[Route]\nDestination=0.0.0.0/0\nType=unreachable\n" }
}

fn network_unit(link: &str, address: &str, way_out: &str) -> String {
    let prefix = address::PREFIX;
    format!("[Match]\nName={link}\n\n[Network]\nAddress={address}/{prefix}\nLinkLocalAddressing=ipv6\nIPv6AcceptRA=no\nDHCP=no\n{way_out}")
}
