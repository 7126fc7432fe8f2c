//! How long a cluster of three control planes and two workers takes on prepared hosts: by kokctl, and in the classic order by kubeadm.
//!
//! The clock runs from the first command until `kubectl get nodes` shows all nodes Ready. Every run has hosts of its own, prepared in the
//! same way by kokctl; how long that took is told beside it.

mod classic;
pub mod flannel;
mod kokctl;
mod report;

use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use super::text;
use crate::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};
pub use report::CreateReport;
use report::{Link, Round};

/// All that hosts need before they are a cluster and that is none of what makes them one.
const PREPARATION: &str = "host,packages,names,swap,selinux,firewall,trust,proxy,time-sync,container-runtime,mirrors,images,kubelet,\
                           kubeadm-configuration";
const HOSTS: usize = 5;
const CONTROL_PLANES: usize = 3;
/// Longer than that the nodes of a cluster whose hosts have all joined don't take on any machine that is of use.
const READY_SECONDS: u32 = 300;

/// What to measure, and with what.
#[derive(Debug)]
pub struct CreateOptions {
    /// Runs of each of which the median counts.
    pub runs: usize,
    /// Name of the lab.
    pub lab: String,
    /// The program kokctl.
    pub kokctl: PathBuf,
    /// The bundle.
    pub bundle: PathBuf,
}

/// Prepared hosts with a manifest.
struct Prepared {
    lab: Lab,
    folder: TempDir,
    kokctl: PathBuf,
    bundle: PathBuf,
    milliseconds: f64,
    /// What the preparation waited for.
    critical_path: Vec<Link>,
}

/// Makes clusters, each on hosts that are booted and prepared for it, and measures.
///
/// # Errors
/// When a program fails that is measured, or the lab does.
pub fn run(options: &CreateOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<CreateReport, Box<dyn Error>> {
    let mut rounds = Vec::new();
    for number in 0..options.runs {
        let by_kokctl = || kokctl::run(Prepared::new(options, progress)?, progress);
        let by_kubeadm = || classic::run(Prepared::new(options, progress)?, progress);
        progress(&format!("round {} of {}", number + 1, options.runs));
        // Each comes first in turn: what else the machine does meets both alike.
        let round = if number % 2 == 0 {
            let kokctl = by_kokctl()?;
            Round { kokctl, classic: by_kubeadm()? }
        } else {
            let classic = by_kubeadm()?;
            Round { kokctl: by_kokctl()?, classic }
        };
        rounds.push(round);
    }
    Ok(CreateReport::new(rounds))
}

impl Prepared {
    fn new(options: &CreateOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<Self, Box<dyn Error>> {
        let spec = LabSpec::new(&options.lab, HOSTS).control_planes(CONTROL_PLANES);
        let lab = Lab::up_with_progress(spec, progress)?;
        let CreateOptions { kokctl, bundle, .. } = options;
        let mut prepared = Self {
            lab,
            folder: TempDir::new()?,
            kokctl: kokctl.clone(),
            bundle: bundle.clone(),
            milliseconds: 0.0,
            critical_path: Vec::new(),
        };
        fs::write(prepared.path("cluster.yaml"), prepared.lab.inventory(DEFAULT_KUBERNETES_VERSION)?)?;
        let began = Instant::now();
        let output = prepared.apply(&["--only", PREPARATION])?.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            return Err(format!("preparation: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        prepared.milliseconds = milliseconds(began);
        prepared.critical_path = kokctl::critical_path(&prepared, "latest")?;
        progress(&format!("prepared {HOSTS} bare hosts in {:.1} s", prepared.milliseconds / 1e3));
        // What the images left to be written must not be written in the time that is measured.
        Command::new("sync").status()?;
        Ok(prepared)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `kokctl` in the lab's network, with a state folder of its own.
    fn kokctl(&self, arguments: &[&str]) -> Result<Command, Box<dyn Error>> {
        let mut command = self.lab.command(&self.kokctl)?;
        command.args(arguments).stdin(Stdio::null()).env("XDG_STATE_HOME", self.path("state"));
        // What the user's own shell has set must not decide.
        command.env_remove("SSH_AUTH_SOCK").env_remove("KOKCTL_LOG").env_remove("KOKCTL_BUNDLE");
        Ok(command)
    }

    fn apply(&self, more: &[&str]) -> Result<Command, Box<dyn Error>> {
        let manifest = self.path("cluster.yaml");
        let arguments = ["apply", "-f", text(&manifest)?, "--bundle", text(&self.bundle)?];
        self.kokctl(&[&arguments, more].concat())
    }

    fn first(&self) -> Result<Host, Box<dyn Error>> {
        self.lab.hosts().next().ok_or_else(|| "no host".into())
    }

    /// Waits until `kubectl get nodes` shows all of them Ready.
    fn wait_until_ready(&self) -> Result<(), Box<dyn Error>> {
        let count = "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers | awk '$2 ~ /^Ready/' | wc -l";
        let line = format!("until [ \"$({count})\" -eq {HOSTS} ]; do sleep 0.2; done");
        let seconds = READY_SECONDS.to_string();
        let said = self.first()?.ssh(&["timeout", &seconds, "sh", "-c", &line])?;
        if said.success() { Ok(()) } else { Err(format!("the nodes are not Ready: {}", said.stderr).into()) }
    }

    /// A file of this run, for what a program writes that is not read while it runs.
    fn file(&self, name: &str) -> Result<File, Box<dyn Error>> {
        Ok(File::create(self.path(name))?)
    }
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
