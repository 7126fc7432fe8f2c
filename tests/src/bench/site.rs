//! Three control planes and two workers with kokctl beside them: what every bench of whole clusters begins with.

use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use super::text;
use crate::lab::{Host, Lab, LabSpec};

/// All hosts.
pub(super) const HOSTS: usize = 5;
/// The first of them.
pub(super) const CONTROL_PLANES: usize = 3;
/// Longer than that the nodes of a cluster whose hosts have all joined don't take on any machine that is of use.
const READY_SECONDS: u32 = 300;

/// What to measure, and with what.
#[derive(Debug)]
pub struct ClusterOptions {
    /// Runs of each of which the median counts.
    pub runs: usize,
    /// Name of the lab.
    pub lab: String,
    /// The program kokctl.
    pub kokctl: PathBuf,
    /// The bundle.
    pub bundle: PathBuf,
}

/// Hosts of the lab with a manifest.
pub(super) struct Site {
    pub(super) lab: Lab,
    pub(super) bundle: PathBuf,
    folder: TempDir,
    kokctl: PathBuf,
}

impl Site {
    /// Boots bare hosts; their manifest asks for this version of Kubernetes.
    pub(super) fn up(options: &ClusterOptions, version: &str, progress: &(dyn Fn(&str) + Sync)) -> Result<Self, Box<dyn Error>> {
        let spec = LabSpec::new(&options.lab, HOSTS).control_planes(CONTROL_PLANES);
        let lab = Lab::up_with_progress(spec, progress)?;
        let ClusterOptions { kokctl, bundle, .. } = options;
        let site = Self { lab, bundle: bundle.clone(), folder: TempDir::new()?, kokctl: kokctl.clone() };
        site.write_manifest(version)?;
        Ok(site)
    }

    /// From now on the manifest asks for this version.
    pub(super) fn write_manifest(&self, version: &str) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(self.path("cluster.yaml"), self.lab.inventory(version)?)?)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of this run, for what a program writes that is not read while it runs.
    pub(super) fn file(&self, name: &str) -> Result<File, Box<dyn Error>> {
        Ok(File::create(self.path(name))?)
    }

    /// `kokctl` in the lab's network, with a state folder of its own.
    pub(super) fn kokctl(&self, arguments: &[&str]) -> Result<Command, Box<dyn Error>> {
        let mut command = self.lab.command(&self.kokctl)?;
        command.args(arguments).stdin(Stdio::null()).env("XDG_STATE_HOME", self.path("state"));
        // What the user's own shell has set must not decide.
        command.env_remove("SSH_AUTH_SOCK").env_remove("KOKCTL_LOG").env_remove("KOKCTL_BUNDLE");
        Ok(command)
    }

    /// A verb of kokctl with the manifest and the bundle.
    pub(super) fn verb(&self, verb: &str, more: &[&str]) -> Result<Command, Box<dyn Error>> {
        let manifest = self.path("cluster.yaml");
        let arguments = [verb, "-f", text(&manifest)?, "--bundle", text(&self.bundle)?];
        self.kokctl(&[&arguments, more].concat())
    }

    /// `kokctl apply` to its end. Returns how many milliseconds that took.
    pub(super) fn applied(&self, more: &[&str]) -> Result<f64, Box<dyn Error>> {
        let began = Instant::now();
        let output = self.verb("apply", more)?.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            return Err(format!("preparation: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(milliseconds(began))
    }

    /// Runs a script of kubeadm's way in the lab's network, with the configuration of SSH before its arguments. Returns what it printed.
    pub(super) fn classic(&self, script: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let path = self.path("classic.sh");
        fs::write(&path, script)?;
        let mut command = self.lab.command("sh")?;
        command.arg(path).arg(self.lab.ssh_config_path()).args(arguments);
        let output = command.stdin(Stdio::null()).stderr(self.file("err")?).output()?;
        if !output.status.success() {
            return Err(format!("kubeadm: {}", fs::read_to_string(self.path("err"))?).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(super) fn first(&self) -> Result<Host, Box<dyn Error>> {
        self.lab.hosts().next().ok_or_else(|| "no host".into())
    }

    /// The control planes, and the workers.
    pub(super) fn roles(&self) -> (Vec<Host>, Vec<Host>) {
        let mut planes: Vec<Host> = self.lab.hosts().collect();
        let workers = planes.split_off(CONTROL_PLANES.min(planes.len()));
        (planes, workers)
    }

    /// Waits until `kubectl get nodes` shows all of them so that awk finds this true of their lines.
    pub(super) fn wait_for_nodes(&self, condition: &str) -> Result<(), Box<dyn Error>> {
        let count = format!("kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers | awk '{condition}' | wc -l");
        let line = format!("until [ \"$({count})\" -eq {HOSTS} ]; do sleep 0.2; done");
        let seconds = READY_SECONDS.to_string();
        let said = self.first()?.ssh(&["timeout", &seconds, "sh", "-c", &line])?;
        if said.success() { Ok(()) } else { Err(format!("the nodes are not as they should be: {}", said.stderr).into()) }
    }
}

/// Names of hosts as one word of a script.
pub(super) fn names(hosts: &[Host]) -> String {
    hosts.iter().map(Host::name).collect::<Vec<_>>().join(" ")
}

pub(super) fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
