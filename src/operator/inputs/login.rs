//! How hosts are logged in to: by what objects hold, and never by what the operator's own machine has.

use std::path::Path;

use kok_crds::Secret;
use kok_crds::model::{Cluster, Ssh, Via};

use super::ObjectFiles;
use crate::failure::{Failure, Kind};

/// Where kube-on-kube's and kubean's Jobs had the private key of `sshAuthRef`: many inventories name it.
const KEY_OF_THE_JOB: &str = "/auth/ssh-privatekey";

/// Has every login use the keys that objects hold, and the host keys of this file.
///
/// # Errors
/// [`Failure`] for a private key that no object holds.
pub(super) fn prepare(cluster: &mut Cluster, key: Option<&[u8]>, files: &ObjectFiles, known_hosts: &Path) -> Result<(), Failure> {
    let given = Given { key, files, known_hosts };
    let all = cluster.hosts.iter_mut().chain(&mut cluster.leaving);
    for host in all {
        let name = host.name.clone();
        given.of_login(&mut host.ssh, &name)?;
    }
    Ok(())
}

/// What logins may use.
struct Given<'a> {
    key: Option<&'a [u8]>,
    files: &'a ObjectFiles,
    known_hosts: &'a Path,
}

impl Given<'_> {
    fn of_login(&self, ssh: &mut Ssh, host: &str) -> Result<(), Failure> {
        if let Some(path) = ssh.private_key_file.take() {
            let of_job = self.key.filter(|_| path == KEY_OF_THE_JOB);
            let bytes = self.files.get(&path).or(of_job).ok_or_else(|| no_such_key(host, &path))?;
            ssh.private_key = Some(Secret::new(bytes));
        }
        ssh.known_hosts_file = Some(self.known_hosts.display().to_string());
        // What is new is asked about before the run, and what is asked about is all that is trusted.
        ssh.host_key_checking = None;
        match &mut ssh.via {
            Some(Via::Bastion(bastion)) => {
                let address = bastion.address.clone();
                self.of_login(&mut bastion.ssh, &address)
            }
            Some(Via::Direct) | None => Ok(()),
        }
    }
}

fn no_such_key(host: &str, path: &str) -> Failure {
    let failure = Failure::new(Kind::Input, format!("the private key for {host} is in no object")).at(format!("host {host}"));
    failure
        .because(format!("{path} would be a file of the machine that the operator runs on"))
        .hint("name the Secret with the key as `sshAuthRef`; or put it into that of `spec.operator.secretFilesRef`, and name its key")
}
