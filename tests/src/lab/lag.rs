//! Making the way to a host's sshd longer: its connections are turned to a proxy in the lab's network, one process for each host.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::address::{self, PROXY};
use super::folder::LabFolder;
use super::record::HostRecord;
use super::{LabError, cgroups, network};

/// In the lab's network namespace: connections to port 22 of the hosts in the map go to the port that stands there, but for those of
/// the proxies themselves.
const RULES: &str = "add table ip lab
add map ip lab lagged { type ipv4_addr : inet_service; }
add chain ip lab output { type nat hook output priority -100; }
flush chain ip lab output
";

/// Makes each round trip between the controller and the host's sshd take `round_trip`; connections that are open stay as they are.
pub(crate) fn set(folder: &LabFolder, record: &HostRecord, round_trip: Duration) -> Result<(), LabError> {
    if record.depth > 0 {
        let why = format!("it is behind a bastion, {}: make the way to that one longer", record.behind.as_deref().unwrap_or_default());
        return Err(LabError::Fault { what: format!("making the way to {} longer", record.name), why });
    }
    remove(folder, record)?;
    start_proxy(folder, record, round_trip)?;
    let rule = format!("add rule ip lab output ip saddr != {PROXY} tcp dport 22 redirect to :ip daddr map @lagged\n");
    let element = format!("add element ip lab lagged {{ {} : {} }}\n", record.address(), address::proxy_port(record.number));
    nft(folder, &format!("{RULES}{rule}{element}"))?;
    let path = note(folder, record);
    fs::write(&path, round_trip.as_millis().to_string()).map_err(LabError::io(format!("write {}", path.display())))
}

/// The way is as short as it was. Connections through the proxy end.
pub(crate) fn remove(folder: &LabFolder, record: &HostRecord) -> Result<(), LabError> {
    if round_trip(folder, record).is_some() {
        nft(folder, &format!("delete element ip lab lagged {{ {} }}\n", record.address()))?;
    }
    let path = note(folder, record);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(LabError::io(format!("remove {}", path.display()))(error));
        }
        _ => {}
    }
    cgroups::destroy(folder.name(), Some(&member(record)))
}

/// How long a round trip takes, if that was set.
pub(crate) fn round_trip(folder: &LabFolder, record: &HostRecord) -> Option<Duration> {
    let text = fs::read_to_string(note(folder, record)).ok()?;
    Some(Duration::from_millis(text.trim().parse().ok()?))
}

fn note(folder: &LabFolder, record: &HostRecord) -> PathBuf {
    folder.host(&record.name).join("lag")
}

/// The proxy's cgroups; no host can have this name.
fn member(record: &HostRecord) -> String {
    format!("@lag-{}", record.name)
}

fn start_proxy(folder: &LabFolder, record: &HostRecord, round_trip: Duration) -> Result<(), LabError> {
    let mut command = network::command(folder, program()?)?;
    command.arg("proxy").arg("--listen").arg(format!("127.0.0.1:{}", address::proxy_port(record.number)));
    command.args(["--from", PROXY, "--to", &format!("{}:22", record.address()), "--milliseconds"]);
    command.arg(round_trip.as_millis().to_string()).args(cgroups::create(folder.name(), &member(record))?);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(LabError::io("start the proxy"))?;
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut said).map_err(LabError::io("read from the proxy"))?;
    }
    if said.trim() != "ready" {
        let status = child.wait().map_err(LabError::io("wait for the proxy"))?;
        return Err(LabError::Command { what: "making the way to a host longer".to_owned(), status, output: said });
    }
    // It ends when the lag is removed; somebody has to take note of that, or it stays as a zombie of this process.
    thread::spawn(move || child.wait());
    Ok(())
}

/// The program `lab`, which has the proxy: this one, or as Cargo puts it beside tests.
fn program() -> Result<PathBuf, LabError> {
    let own = env::current_exe().map_err(LabError::io("find this program"))?;
    let beside = own.ancestors().skip(1).take(2).map(|folder| folder.join("lab")).find(|path| path.is_file());
    beside.ok_or_else(|| LabError::Missing(vec!["the program lab is not built: cargo build -p kok-tests --bin lab".to_owned()]))
}

fn nft(folder: &LabFolder, rules: &str) -> Result<(), LabError> {
    let mut command = network::command(folder, "nft")?;
    command.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(LabError::io("start nft"))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(rules.as_bytes()).map_err(LabError::io("write to nft"))?;
    }
    let output = child.wait_with_output().map_err(LabError::io("wait for nft"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LabError::Command { what: "turning connections to the proxy".to_owned(), status: output.status, output: text })
}
