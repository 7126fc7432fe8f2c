//! By kubeadm: what is written beforehand, and the script.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Instant;

use super::report::{ByKubeadm, Part};
use super::{CONTROL_PLANES, Prepared, flannel, milliseconds};
use crate::lab::Host;

const SCRIPT: &str = include_str!("classic.sh");
/// kokctl's configuration of a cluster for kubeadm, on each control plane.
const CONFIGURATION: &str = "/etc/kubernetes/kokctl/cluster.yaml";
const LAST: &str = "nodes Ready";

pub(super) fn run(prepared: Prepared, progress: &(dyn Fn(&str) + Sync)) -> Result<ByKubeadm, Box<dyn Error>> {
    let hosts: Vec<Host> = prepared.lab.hosts().collect();
    write_files(&prepared, &hosts)?;
    fs::write(prepared.path("classic.sh"), SCRIPT)?;
    let names: Vec<&str> = hosts.iter().map(Host::name).collect();
    let (planes, workers) = names.split_at_checked(CONTROL_PLANES).ok_or("too few hosts")?;
    let (first, others) = planes.split_first().ok_or("no control plane")?;
    let mut command = prepared.lab.command("sh")?;
    command.arg(prepared.path("classic.sh")).arg(prepared.lab.ssh_config_path()).args([*first, &others.join(" "), &workers.join(" ")]);
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).stderr(prepared.file("err")?).output()?;
    if !output.status.success() {
        return Err(format!("kubeadm: {}", fs::read_to_string(prepared.path("err"))?).into());
    }
    prepared.wait_until_ready()?;
    let milliseconds = milliseconds(began);
    progress(&format!("kubeadm: {:.1} s until all nodes were Ready", milliseconds / 1e3));
    let parts = parts(&String::from_utf8_lossy(&output.stdout), milliseconds);
    let preparation_milliseconds = prepared.milliseconds;
    prepared.lab.down()?;
    Ok(ByKubeadm { milliseconds, preparation_milliseconds, parts })
}

/// The script's marks as parts, with what came after them as the last.
fn parts(marks: &str, total: f64) -> Vec<Part> {
    let marks: Vec<(&str, f64)> = marks
        .lines()
        .filter_map(|line| line.strip_prefix("mark ")?.split_once(' '))
        .filter_map(|(name, at)| Some((name, at.parse().ok()?)))
        .collect();
    let pairs = marks.iter().zip(marks.iter().skip(1));
    let mut parts: Vec<Part> = pairs.map(|((_, from), (name, to))| Part { what: (*name).to_owned(), milliseconds: to - from }).collect();
    let spent: f64 = parts.iter().map(|part| part.milliseconds).sum();
    parts.push(Part { what: LAST.to_owned(), milliseconds: total - spent });
    parts
}

/// What a person would have written before the first command, and the name of the API: in the classic order it has to lead to the first
/// control plane (or to a load balancer that somebody made) before any other one is there.
fn write_files(prepared: &Prepared, hosts: &[Host]) -> Result<(), Box<dyn Error>> {
    let first = prepared.first()?;
    let init = plain(&first.ssh(&["cat", CONFIGURATION])?.stdout).ok_or("kokctl's configuration for kubeadm looks different now")?;
    let endpoint = value(&init, "controlPlaneEndpoint: ")?.trim_matches('"');
    let name = endpoint.rsplit_once(':').map_or(endpoint, |(name, _)| name);
    write(&first, "/root/init.yaml", &init)?;
    let images = fs::read_to_string(prepared.bundle.join(kok_tasks::bundle::INDEX))?;
    write(&first, "/root/flannel.yaml", &flannel::manifest(&images, value(&init, "podSubnet: ")?.trim_matches('"'), endpoint)?)?;
    let ignored = value(&init, "ignorePreflightErrors: ")?;
    for (number, host) in hosts.iter().enumerate() {
        let line = format!("sed -i '/ {name}$/d' /etc/hosts && echo '{} {name}' >>/etc/hosts", first.address());
        let said = host.ssh(&["sh", "-c", &line])?;
        if !said.success() {
            return Err(format!("{}: {}", host.name(), said.stderr).into());
        }
        if number > 0 {
            write(host, "/root/join.yaml", &join(host, endpoint, ignored, number < CONTROL_PLANES))?;
        }
    }
    Ok(())
}

fn write(host: &Host, path: &str, content: &str) -> Result<(), Box<dyn Error>> {
    let mut ssh = host.ssh_command("root", format!("umask 077 && cat >{path}"))?.stdin(Stdio::piped()).spawn()?;
    ssh.stdin.take().ok_or("no input")?.write_all(content.as_bytes())?;
    if ssh.wait()?.success() { Ok(()) } else { Err(format!("{}: {path} could not be written", host.name()).into()) }
}

/// The same without what kokctl says of etcd: kubeadm's first member founds a cluster, and it knows itself that the others join it.
fn plain(configuration: &str) -> Option<String> {
    let (before, rest) = configuration.split_once("\netcd:\n")?;
    let (etcd, after) = rest.split_once("\n---\n")?;
    etcd.contains("initial-cluster-state").then(|| format!("{before}\netcd:\n  local:\n    dataDir: /var/lib/etcd\n---\n{after}"))
}

fn value<'a>(configuration: &'a str, key: &str) -> Result<&'a str, Box<dyn Error>> {
    let found = configuration.lines().find_map(|line| line.trim_start().strip_prefix(key));
    found.ok_or_else(|| format!("kokctl's configuration for kubeadm has no {key}").into())
}

/// The configuration of a host that joins; the script puts what `init` said where the capitals are.
fn join(host: &Host, endpoint: &str, ignored: &str, is_control_plane: bool) -> String {
    let address = host.address();
    let control_plane = if is_control_plane {
        format!("controlPlane:\n  certificateKey: \"@KEY@\"\n  localAPIEndpoint:\n    advertiseAddress: {address}\n")
    } else {
        String::new()
    };
    format!(
        "apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: {endpoint}
    token: \"@TOKEN@\"
    caCertHashes: [\"@HASH@\"]
{control_plane}nodeRegistration:
  name: {name}
  criSocket: unix:///run/containerd/containerd.sock
  imagePullPolicy: Never
  ignorePreflightErrors: {ignored}
  kubeletExtraArgs:
  - name: node-ip
    value: {address}
",
        name = host.name(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nothing_of_etcd_is_taken_over() {
        let text = "a: 1\netcd:\n  local:\n    extraArgs:\n    - name: initial-cluster-state\n      value: existing\n---\nb: 2\n";
        assert_eq!(plain(text).unwrap(), "a: 1\netcd:\n  local:\n    dataDir: /var/lib/etcd\n---\nb: 2\n");
        assert_eq!(plain("a: 1\netcd:\n  local: {}\n---\n"), None);
        assert_eq!(value("x:\n  podSubnet: \"10.0.0.0/8\"\n", "podSubnet: ").unwrap(), "\"10.0.0.0/8\"");
        assert!(value("x: 1\n", "podSubnet: ").is_err());
    }

    #[test]
    fn parts_are_the_whole() {
        let parts = parts("mark start 1000\nmark init 5000\nmark cp2 7500\n", 8000.0);
        let parts: Vec<(&str, f64)> = parts.iter().map(|part| (part.what.as_str(), part.milliseconds)).collect();
        assert_eq!(parts, [("init", 4000.0), ("cp2", 2500.0), (LAST, 1500.0)]);
    }
}
