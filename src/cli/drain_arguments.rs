//! How pods leave nodes, on the command line.

use std::time::Duration;

use clap::Args;
use kok_crds::model::{Cluster, Serial};
use kok_tasks::drain::DrainSettings;

/// How pods leave.
#[derive(Debug, Args)]
pub(super) struct DrainOptions {
    /// How many seconds a pod has to end; by default what the file says, or what it asks for itself
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u32>,
    /// After so many seconds a drain is given up, and the node takes pods again; by default what the file says, or 360
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Delete pods that a PodDisruptionBudget protects, and don't wait for it
    #[arg(long)]
    force_budget: bool,
    /// Let pods go that no controller makes again
    #[arg(long)]
    delete_unmanaged: bool,
}

/// How many hosts at a time.
#[derive(Debug, Default, Args)]
pub(super) struct SerialOption {
    /// How many workers may be away at a time, as a number or as a share of all, one at least; by default what the file says, or 20%. Control planes
    /// go one after the other
    #[arg(long, value_name = "N|N%")]
    serial: Option<Serial>,
}

impl SerialOption {
    /// Takes it over into the cluster: what the command line says wins, over what pools say too.
    pub(super) fn tell(&self, cluster: &mut Cluster) {
        if let Some(serial) = self.serial {
            cluster.settings.serial = serial;
            cluster.pools.iter_mut().for_each(|pool| pool.serial = None);
        }
    }
}

/// What of pods may be lost, where their host stays.
#[derive(Debug, Args)]
pub(super) struct EmptyDirOption {
    /// Let pods go whose emptyDir is lost with them
    #[arg(long)]
    pub(super) delete_emptydir: bool,
}

impl DrainOptions {
    /// What the file says, and the command line, which wins over it.
    pub(super) fn settings(&self, cluster: &Cluster, delete_empty_dir: bool) -> DrainSettings {
        let of_file = DrainSettings::from_drains(&cluster.settings.drains);
        DrainSettings {
            grace_seconds: self.grace.or(of_file.grace_seconds),
            timeout: self.timeout.map_or(of_file.timeout, Duration::from_secs),
            force_budget: self.force_budget || of_file.force_budget,
            delete_empty_dir,
            delete_unmanaged: self.delete_unmanaged,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use clap::Parser;
    use kok_crds::{File, Role, read_input};

    use super::{Cluster, DrainOptions, Duration, SerialOption};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        drain: DrainOptions,
        #[command(flatten)]
        serial: SerialOption,
    }

    fn cluster(vars: &str) -> Cluster {
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: c}}\nspec: {{kubernetesVersion: 1.37.1, network: {{plugin: none}}, \
             hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}], vars: {{{vars}}}}}\n"
        );
        read_input(&[File { name: "c.yaml".to_owned(), text, role: Role::Main { cluster: None } }]).cluster.unwrap()
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let mut cluster = cluster("serial: 30%, drain_timeout: 10m, drain_grace_period: 45");
        let line = |words: &[&str]| Line::try_parse_from([&["x"], words].concat()).unwrap();
        let (plain, said) = (line(&[]), line(&["--serial", "2", "--timeout", "60", "--grace", "5", "--force-budget"]));
        let of = |line: &Line, cluster: &Cluster| {
            let settings = line.drain.settings(cluster, false);
            (settings.timeout, settings.grace_seconds, settings.force_budget)
        };
        assert_eq!(of(&plain, &cluster), (Duration::from_secs(600), Some(45), false));
        assert_eq!(of(&said, &cluster), (Duration::from_secs(60), Some(5), true));
        plain.serial.tell(&mut cluster);
        assert_eq!(cluster.settings.serial.to_string(), "30%");
        said.serial.tell(&mut cluster);
        assert_eq!(cluster.settings.serial.to_string(), "2");
        assert!(Line::try_parse_from(["x", "--serial", "none"]).is_err());
    }
}
