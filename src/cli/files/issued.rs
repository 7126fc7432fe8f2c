//! Certificates and kubeconfigs that somebody else has issued: read where the cluster's file says they are, and judged before any host is asked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use kok_crds::model::{Cluster, Host, IssuedFolder};
use kok_crds::{Input, Problem, Secret, counted};
use kok_tasks::issued::{self, Files};
use rustix::fs::{Mode, OFlags, open};
use time::OffsetDateTime;

use crate::cli::process;
use crate::clock::{Clock, SOON, day};
use crate::failure::{Failure, Kind};
use crate::plain_file::bounded;
use crate::remote::mode_if_open;
use crate::state::beside;

/// More than any certificate, key or kubeconfig has.
const MOST_BYTES: u64 = 1 << 20;

/// Reads what has to be issued for all hosts. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input) {
    let Some(cluster) = &mut input.cluster else { return };
    let Some(folder) = &cluster.settings.certificates.issued else { return };
    let (mut problems, mut files) = (Vec::new(), BTreeMap::new());
    for host in &cluster.hosts {
        let path = beside(&folder.origin, &folder.path, process::home().as_deref()).join(&host.name);
        match read(cluster, host, &path, folder) {
            Ok(found) => drop(files.insert(host.name.clone(), found)),
            Err(found) => problems.extend(found),
        }
    }
    if let Some(issued) = &mut cluster.settings.certificates.issued {
        issued.files = Some(files);
    }
    if !problems.is_empty() {
        input.problems.extend(problems);
        input.cluster = None;
    }
}

/// A warning for each host of which something ends within [`SOON`]: nobody in the cluster renews it, and kokctl has no key to
/// do it.
pub(super) fn ending(cluster: &Cluster, now: i64) -> Vec<Failure> {
    let Some(folder) = &cluster.settings.certificates.issued else { return Vec::new() };
    let warning = |host: &Host| {
        let soon: Vec<_> = issued::ends(cluster, host).into_iter().filter(|(_, end)| end - now < SOON).collect();
        let (path, end) = soon.iter().min_by_key(|(_, end)| end)?;
        let what = format!("{} of {} within 30 days", counted(soon.len(), "issued file ends", "issued files end"), host.name);
        let failure = Failure::new(Kind::Input, what).of(&host.name).at(folder.origin.to_string());
        let failure = failure.because(format!("the first is {}/{}/{path}, on {}", folder.path, host.name, day(*end)));
        Some(failure.hint("have others issued, put them in their places, and apply; without them the host is lost to the cluster"))
    };
    cluster.hosts.iter().filter_map(warning).collect()
}

/// What was issued for one host.
fn read(cluster: &Cluster, host: &Host, path: &Path, folder: &IssuedFolder) -> Result<Files, Vec<Problem>> {
    let (mut found, mut problems) = (Files::new(), Vec::new());
    for name in issued::paths(cluster, host) {
        match read_one(&path.join(name), folder) {
            Ok(Some(text)) => drop(found.insert(name.to_owned(), text)),
            // What is missing is said with what it has to be.
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        let now = OffsetDateTime::from_unix_timestamp(Clock::seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        problems = issued::problems(cluster, host, &found, folder, now);
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

fn no_file(path: &Path, folder: &IssuedFolder) -> Problem {
    let problem = Problem::new(format!("{} is no file", path.display())).at(&folder.origin);
    problem.because("a folder, a pipe or a device has nothing that was issued").hint("put the file itself there, or a link to it")
}

/// One file, none where there is none. Everything but a certificate holds a key, which nobody else may read.
fn read_one(path: &Path, folder: &IssuedFolder) -> Result<Option<Secret>, Problem> {
    let unreadable = |because: String| {
        Problem::new(format!("{} can't be read", path.display())).at(&folder.origin).because(because).hint("let it be readable")
    };
    // To open a pipe is to wait for somebody who writes into it.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(no_file(path, folder)),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    }
    // The name may stand for something else by now.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty()).map_err(|error| unreadable(error.to_string()))?);
    let metadata = file.metadata().map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() {
        return Err(no_file(path, folder));
    }
    if let Some(mode) = mode_if_open(&metadata).filter(|_| path.extension().is_none_or(|extension| extension != "crt")) {
        let problem = Problem::new(format!("{} is open to others, and holds a key", path.display())).at(&folder.origin);
        return Err(problem.because(format!("its mode is {mode:04o}")).hint(format!("chmod 600 {}", path.display())));
    }
    bounded(file, MOST_BYTES).map(|text| Some(Secret::new(text))).map_err(unreadable)
}

#[cfg(test)]
mod tests;
