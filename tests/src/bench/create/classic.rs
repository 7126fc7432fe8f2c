//! By kubeadm: what is written beforehand, and the script.

use std::error::Error;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Instant;

use super::report::CreatedByKubeadm;
use super::{Prepared, READY, flannel};
use crate::bench::parts;
use crate::bench::site::{CONTROL_PLANES, Site, milliseconds, names};
use crate::lab::Host;

const SCRIPT: &str = include_str!("classic.sh");
/// kokctl's configuration of a cluster for kubeadm, on each control plane.
const CONFIGURATION: &str = "/etc/kubernetes/kokctl/cluster.yaml";
const LAST: &str = "nodes Ready";

pub(super) fn run(prepared: Prepared, progress: &(dyn Fn(&str) + Sync)) -> Result<CreatedByKubeadm, Box<dyn Error>> {
    let site = &prepared.site;
    write_files(site)?;
    let (planes, workers) = site.roles();
    let (first, others) = planes.split_first().ok_or("no control plane")?;
    let began = Instant::now();
    let marks = site.classic(SCRIPT, &[first.name(), &names(others), &names(&workers)])?;
    site.wait_for_nodes(READY)?;
    let milliseconds = milliseconds(began);
    progress(&format!("kubeadm: {:.1} s until all nodes were Ready", milliseconds / 1e3));
    let parts = parts::marked(&marks, milliseconds, LAST);
    let preparation_milliseconds = prepared.milliseconds;
    prepared.site.lab.down()?;
    Ok(CreatedByKubeadm { milliseconds, preparation_milliseconds, parts })
}

/// What a person would have written before the first command, and the name of the API: in the classic order it has to lead to the first
/// control plane (or to a load balancer that somebody made) before any other one is there.
fn write_files(site: &Site) -> Result<(), Box<dyn Error>> {
    let first = site.first()?;
    let init = plain(&first.ssh(&["cat", CONFIGURATION])?.stdout).ok_or("kokctl's configuration for kubeadm looks different now")?;
    let endpoint = value(&init, "controlPlaneEndpoint: ")?.trim_matches('"');
    let name = name_of(endpoint);
    write(&first, "/root/init.yaml", &init)?;
    write(&first, "/root/flannel.yaml", &flannel::manifest(&site.index()?, value(&init, "podSubnet: ")?.trim_matches('"'), endpoint)?)?;
    let ignored = value(&init, "ignorePreflightErrors: ")?;
    for (number, host) in site.lab.hosts().enumerate() {
        leads_to(&host, name, &first)?;
        if number > 0 {
            write(&host, "/root/join.yaml", &join(&host, endpoint, ignored, number < CONTROL_PLANES))?;
        }
    }
    Ok(())
}

fn name_of(endpoint: &str) -> &str {
    endpoint.rsplit_once(':').map_or(endpoint, |(name, _)| name)
}

/// The name of the API in the configuration that kokctl has written for kubeadm on this control plane.
pub(in crate::bench) fn api_name(first: &Host) -> Result<String, Box<dyn Error>> {
    let configuration = first.ssh(&["cat", CONFIGURATION])?.stdout;
    Ok(name_of(value(&configuration, "controlPlaneEndpoint: ")?.trim_matches('"')).to_owned())
}

/// On this host the name of the API leads to that control plane from now on, and to no other.
pub(in crate::bench) fn leads_to(host: &Host, name: &str, plane: &Host) -> Result<(), Box<dyn Error>> {
    let line = format!("sed -i '/ {name}$/d' /etc/hosts && echo '{} {name}' >>/etc/hosts", plane.address());
    let said = host.ssh(&["sh", "-c", &line])?;
    if said.success() { Ok(()) } else { Err(format!("{}: {}", host.name(), said.stderr).into()) }
}

pub(in crate::bench) fn write(host: &Host, path: &str, content: &str) -> Result<(), Box<dyn Error>> {
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
}
