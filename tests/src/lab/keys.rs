//! SSH keys: one client key pair per lab, and each host's own host keys.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::LabError;
use super::command::run;
use super::folder::LabFolder;
use super::record::LabRecord;

/// The kinds of host keys that a host has. RSA is left out: making one takes half a second.
const HOST_KEYS: [&str; 2] = ["ed25519", "ecdsa"];

/// Users of every host beside root: `ops` may use sudo without a password, `opspw` with [`super::OPSPW_PASSWORD`].
pub(crate) const USERS: [&str; 2] = ["ops", "opspw"];

/// Makes the client's key pair and OpenSSH's configuration.
pub(crate) fn make_client(folder: &LabFolder, record: &LabRecord) -> Result<(), LabError> {
    generate("ed25519", &folder.private_key(), &format!("lab {}", folder.name()))?;
    write(&folder.ssh_config(), &ssh_config(folder, record), 0o644)
}

/// Makes the host keys into the host's `/etc/ssh` and lets the client's key in as every user.
pub(crate) fn make_host(folder: &LabFolder, host: &str) -> Result<(), LabError> {
    let upper = folder.upper(host);
    let public = folder.private_key().with_extension("pub");
    let public = fs::read_to_string(&public).map_err(LabError::io(format!("read {}", public.display())))?;
    make_folder(&upper.join("etc/ssh"), 0o755)?;
    for kind in HOST_KEYS {
        generate(kind, &upper.join(format!("etc/ssh/ssh_host_{kind}_key")), &format!("root@{host}"))?;
    }
    let homes = USERS.iter().map(|user| format!("home/{user}"));
    for home in homes.chain(["root".to_owned()]) {
        make_folder(&upper.join(&home).join(".ssh"), 0o700)?;
        write(&upper.join(&home).join(".ssh/authorized_keys"), &public, 0o600)?;
    }
    Ok(())
}

/// Writes the known_hosts file from the hosts' public keys.
pub(crate) fn write_known_hosts(folder: &LabFolder, record: &LabRecord) -> Result<(), LabError> {
    let mut text = String::new();
    for host in &record.hosts {
        for kind in HOST_KEYS {
            let path = folder.upper(&host.name).join(format!("etc/ssh/ssh_host_{kind}_key.pub"));
            let key = fs::read_to_string(&path).map_err(LabError::io(format!("read {}", path.display())))?;
            let key: Vec<&str> = key.split_whitespace().take(2).collect();
            text.push_str(&format!("{},{} {}\n", host.address(), host.name, key.join(" ")));
        }
    }
    write(&folder.known_hosts(), &text, 0o644)
}

fn ssh_config(folder: &LabFolder, record: &LabRecord) -> String {
    let mut text = format!("# Works in the network of lab {0} only: lab run --name {0} -- ssh -F THIS_FILE HOST\n", folder.name());
    for host in &record.hosts {
        text.push_str(&format!("Host {}\n    HostName {}\n", host.name, host.address()));
        if let Some(bastion) = &host.behind {
            text.push_str(&format!("    ProxyJump {bastion}\n"));
        }
    }
    // A login by sntrup761, which is what OpenSSH 9 likes best, costs its client a tenth of a second of a processor, and this one a fiftieth: tests log in
    // thousands of times beside hosts that need the processors.
    text.push_str(&format!(
        "Host *\n    User root\n    IdentityFile \"{}\"\n    IdentitiesOnly yes\n    UserKnownHostsFile \"{}\"\n    \
         GlobalKnownHostsFile /dev/null\n    StrictHostKeyChecking yes\n    KexAlgorithms curve25519-sha256\n    ConnectTimeout 5\n    \
         ServerAliveInterval 15\n    LogLevel ERROR\n",
        folder.private_key().display(),
        folder.known_hosts().display()
    ));
    text
}

fn generate(kind: &str, path: &Path, comment: &str) -> Result<(), LabError> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", kind, "-N", "", "-C", comment, "-f"]).arg(path);
    run(&format!("making the {kind} key {}", path.display()), &mut command).map(drop)
}

/// Makes the folder with all above it, and sets its own mode whatever the umask is.
pub(crate) fn make_folder(path: &Path, mode: u32) -> Result<(), LabError> {
    let what = || format!("make the folder {}", path.display());
    fs::create_dir_all(path).map_err(LabError::io(what()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(LabError::io(what()))
}

/// Writes the file and sets its mode whatever the umask is.
pub(crate) fn write(path: &Path, text: &str, mode: u32) -> Result<(), LabError> {
    let what = || format!("write {}", path.display());
    fs::write(path, text).map_err(LabError::io(what()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(LabError::io(what()))
}
