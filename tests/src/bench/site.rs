//! Hosts of a lab with kokctl beside them: what every bench of whole clusters works with.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use kok_tasks::bundle::INDEX;
use serde_json::Value;
use tempfile::TempDir;

use super::text;
use crate::lab::{Host, Lab, LabSpec};

/// Three control planes and two workers: what clusters are that are measured as a whole.
pub(super) const HOSTS: usize = 5;
/// The first of all hosts.
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

/// Hosts of the lab with a manifest. Dropping it takes the lab down.
pub(super) struct Site {
    pub(super) lab: Lab,
    pub(super) bundle: PathBuf,
    folder: TempDir,
    kokctl: PathBuf,
}

impl Site {
    /// Boots so many bare hosts; their manifest has all of them, and asks for this version of Kubernetes.
    pub(super) fn up(
        options: &ClusterOptions,
        hosts: usize,
        version: &str,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, Box<dyn Error>> {
        let spec = LabSpec::new(&options.lab, hosts).control_planes(CONTROL_PLANES);
        let lab = Lab::up_with_progress(spec, progress)?;
        let ClusterOptions { kokctl, bundle, .. } = options;
        let site = Self { lab, bundle: bundle.clone(), folder: TempDir::new()?, kokctl: kokctl.clone() };
        site.write_manifest(version)?;
        Ok(site)
    }

    /// From now on the manifest has all hosts, and asks for this version.
    pub(super) fn write_manifest(&self, version: &str) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(self.manifest(), self.lab.inventory(version)?)?)
    }

    /// The same with these of the lab's hosts, and no others.
    pub(super) fn write_manifest_of(&self, names: &[&str], version: &str) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(self.manifest(), only(&self.lab.inventory(version)?, names))?)
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.path("cluster.yaml")
    }

    /// The bundle's index, as it stands there.
    pub(super) fn index(&self) -> Result<String, Box<dyn Error>> {
        Ok(fs::read_to_string(self.bundle.join(INDEX))?)
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
        let manifest = self.manifest();
        let arguments = [verb, "-f", text(&manifest)?, "--bundle", text(&self.bundle)?];
        self.kokctl(&[&arguments, more].concat())
    }

    /// `kokctl apply` to its end. Returns how many milliseconds that took.
    pub(super) fn applied(&self, more: &[&str]) -> Result<f64, Box<dyn Error>> {
        let began = Instant::now();
        self.succeeds(self.verb("apply", more)?)?;
        Ok(milliseconds(began))
    }

    /// A verb of kokctl to its end; it has to succeed. Each of its events is taken when it comes; what it complains of is in the file `err`.
    pub(super) fn follow(
        &self,
        verb: &str,
        more: &[&str],
        mut take: impl FnMut(&Value) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let mut command = self.verb(verb, &[&["--json"], more].concat())?;
        let mut kokctl = command.stdout(Stdio::piped()).stderr(self.file("err")?).spawn()?;
        for line in BufReader::new(kokctl.stdout.take().ok_or("no output")?).lines() {
            take(&serde_json::from_str(&line?)?)?;
        }
        if kokctl.wait()?.success() { Ok(()) } else { Err(self.failed(&command).into()) }
    }

    /// Runs one of its commands to its end; it has to succeed.
    pub(super) fn succeeds(&self, mut command: Command) -> Result<(), Box<dyn Error>> {
        let status = command.stdout(Stdio::null()).stderr(self.file("err")?).status()?;
        if status.success() { Ok(()) } else { Err(self.failed(&command).into()) }
    }

    /// What a command has complained of whose standard error is the file `err`.
    pub(super) fn failed(&self, command: &Command) -> String {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        format!("{}: {}", words.join(" "), fs::read_to_string(self.path("err")).unwrap_or_default())
    }

    /// Runs a script of kubeadm's way in the lab's network, with the configuration of SSH before its arguments. Returns what it printed.
    pub(super) fn classic(&self, script: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let path = self.path("classic.sh");
        fs::write(&path, script)?;
        let mut command = self.lab.command("sh")?;
        command.arg(path).arg(self.lab.ssh_config_path()).args(arguments);
        let output = command.stdin(Stdio::null()).stderr(self.file("err")?).output()?;
        if output.status.success() { Ok(String::from_utf8_lossy(&output.stdout).into_owned()) } else { Err(self.failed(&command).into()) }
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
        let hosts = self.lab.hosts().count();
        let line = format!("until [ \"$({count})\" -eq {hosts} ]; do sleep 0.2; done");
        let seconds = READY_SECONDS.to_string();
        let said = self.first()?.ssh(&["timeout", &seconds, "sh", "-c", &line])?;
        if said.success() { Ok(()) } else { Err(format!("the nodes are not as they should be: {}", said.stderr).into()) }
    }
}

/// A manifest of the lab with these of its hosts: each has a line of its own.
fn only(manifest: &str, names: &[&str]) -> String {
    let is_kept = |line: &&str| match line.strip_prefix("    - {name: ") {
        Some(host) => host.split_once(',').is_some_and(|(name, _)| names.contains(&name)),
        None => true,
    };
    manifest.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

/// What was left to be written must not be written in the time that is measured.
pub(super) fn settle() -> Result<(), Box<dyn Error>> {
    Command::new("sync").status()?;
    Ok(())
}

/// Names of hosts as one word of a script.
pub(super) fn names(hosts: &[Host]) -> String {
    hosts.iter().map(Host::name).collect::<Vec<_>>().join(" ")
}

pub(super) fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_manifest_has_the_hosts_that_are_wanted() {
        let whole = "  hosts:\n    - {name: cp1, address: a}\n    - {name: cp10, address: b}\n    - {name: w, address: c}\n  network:\n";
        let some = "  hosts:\n    - {name: cp1, address: a}\n    - {name: w, address: c}\n  network:\n";
        assert_eq!(super::only(whole, &["cp1", "w"]), some);
    }
}
