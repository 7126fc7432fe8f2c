//! By hand: `kubeadm join` on a host that kokctl had prepared and let join before, and that a person has freed since. So it has the same programs,
//! containerd, images and unit of the kubelet as one that kokctl lets join. What makes its node Ready is the CNI configuration: kokctl writes it when
//! flannel's daemon runs, and here a pod does, as flannel's own has it.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Instant;

use super::api::Api;
use crate::bench::create::classic::{api_name, leads_to, write};
use crate::bench::create::flannel;
use crate::bench::site::{Site, settle};
use crate::lab::Host;

const SCRIPT: &str = include_str!("by_hand.sh");
/// Nothing of the script takes as long on any machine that is of use; the longest is that kubeadm ends the pods of a control plane.
const DEADLINE_SECONDS: &str = "300";
/// What kubeadm asks of hosts, and those of the lab may not be able to give (`tests/src/lab/inventory.rs`).
const IGNORED: &str = "--ignore-preflight-errors=SystemVerification,NumCPU,Mem";
/// What the host says when `kubeadm join` begins: the login before it is no part of that.
const BEGUN: &str = "begun";

/// What a person has who lets hosts join.
pub(super) struct ByHand<'a> {
    site: &'a Site,
    api: &'a Api<'a>,
    first: Host,
}

impl<'a> ByHand<'a> {
    /// For these hosts.
    pub(super) fn new(site: &'a Site, api: &'a Api<'a>, hosts: &[&str]) -> Result<Self, Box<dyn Error>> {
        let first = site.first()?;
        write(&first, "/root/install-cni.yaml", &flannel::installer(&site.index()?, hosts)?)?;
        does(&first, &["network"])?;
        Ok(Self { site, api, first })
    }

    /// The command by which workers join.
    pub(super) fn ticket(&self) -> Result<String, Box<dyn Error>> {
        does(&self.first, &["ticket"])
    }

    /// The command by which control planes join.
    pub(super) fn plane_ticket(&self) -> Result<String, Box<dyn Error>> {
        does(&self.first, &["plane-ticket"])
    }

    /// Lets a host join that was freed, and says how many milliseconds it took from the start of kubeadm until it was Ready.
    pub(super) fn join(&self, host: &Host, ticket: &str) -> Result<f64, Box<dyn Error>> {
        let (begun, ready) = self.api.watch(std::slice::from_ref(host), || self.kubeadm(host, ticket))?;
        Ok(ready.duration_since(begun).as_secs_f64() * 1e3)
    }

    fn kubeadm(&self, host: &Host, ticket: &str) -> Result<Instant, Box<dyn Error>> {
        let mut command = host.ssh_command("root", format!("echo {BEGUN} && {ticket} {IGNORED}"))?;
        let mut ssh = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.site.file("err")?).spawn()?;
        let mut begun = None;
        for line in BufReader::new(ssh.stdout.take().ok_or("no output")?).lines() {
            if line? == BEGUN {
                begun = Some(Instant::now());
            }
        }
        if !ssh.wait()?.success() {
            return Err(format!("{}: {}", host.name(), self.site.failed(&command)).into());
        }
        begun.ok_or_else(|| format!("{} did not say that kubeadm began", host.name()).into())
    }

    /// Takes a worker out of the cluster and leaves it as it was when it was prepared.
    pub(super) fn free(&self, host: &Host) -> Result<(), Box<dyn Error>> {
        // As of a load balancer that somebody made: what kokctl puts there goes with the host's pods.
        leads_to(host, &api_name(&self.first)?, &self.first)?;
        does(host, &["empty"])?;
        does(&self.first, &["forget", host.name()])?;
        settle()
    }

    /// The same of a control plane. Another one has to be there.
    pub(super) fn free_plane(&self, host: &Host) -> Result<(), Box<dyn Error>> {
        does(&self.first, &["dismiss", host.name()])?;
        self.free(host)
    }
}

/// What the script prints on a host; it has to succeed.
fn does(host: &Host, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let said = host.ssh(&[&["timeout", DEADLINE_SECONDS, "sh", "-c", SCRIPT, "by_hand.sh"], arguments].concat())?;
    if said.success() {
        return Ok(said.stdout.trim().to_owned());
    }
    Err(format!("{}: {}: {}{}", host.name(), arguments.join(" "), said.stdout, said.stderr).into())
}
