//! Certificates and kubeconfigs that somebody else has issued: read where the cluster's file says they are, and judged before any host is asked.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host, IssuedFolder};
use kok_crds::{Input, Problem, Secret, counted};
use kok_tasks::issued::{self, Files as Found};
use time::OffsetDateTime;

use super::files::{Files, UnreadCause};
use crate::clock::{Clock, SOON, day};
use crate::failure::{Failure, Kind};

/// More than any certificate, key or kubeconfig has.
const MOST_BYTES: u64 = 1 << 20;

/// Reads what has to be issued for all hosts. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input, files: &dyn Files) {
    let Some(cluster) = &mut input.cluster else { return };
    let Some(folder) = &cluster.settings.certificates.issued else { return };
    let (mut problems, mut all) = (Vec::new(), BTreeMap::new());
    for host in &cluster.hosts {
        match read(cluster, host, folder, files) {
            Ok(found) => drop(all.insert(host.name.clone(), found)),
            Err(found) => problems.extend(found),
        }
    }
    for host in &cluster.leaving {
        // Who leaves needs nothing new. Where it is a part of the cluster until another one has joined, what it has must not look as if it were to go:
        // whatever can be read of it counts, although it would be too little for a host that stays.
        let (found, _) = found(cluster, host, folder, files);
        all.extend((!found.is_empty()).then(|| (host.name.clone(), found)));
    }
    if let Some(issued) = &mut cluster.settings.certificates.issued {
        issued.files = Some(all);
    }
    if !problems.is_empty() {
        input.problems.extend(problems);
        input.cluster = None;
    }
}

/// A warning for each host of which something that was issued elsewhere ends within [`SOON`] of `now`, in seconds since 1970: nobody in the cluster
/// renews it, and kokctl has no key to do it.
#[must_use]
pub fn ending(cluster: &Cluster, now: i64) -> Vec<Failure> {
    let Some(folder) = &cluster.settings.certificates.issued else { return Vec::new() };
    let warning = |host: &Host| {
        let soon: Vec<_> = issued::ends(cluster, host).into_iter().filter(|(_, end)| end - now < SOON).collect();
        let (path, end) = soon.iter().min_by_key(|(_, end)| end)?;
        let what = format!("{} of {} within 30 days", counted(soon.len(), "issued file ends", "issued files end"), host.name);
        let failure = Failure::new(Kind::Input, what).of_host(&host.name).at(folder.origin.to_string());
        let failure = failure.because(format!("the first is {}/{}/{path}, on {}", folder.path, host.name, day(*end)));
        Some(failure.hint("have others issued, put them in their places, and apply; without them the host is lost to the cluster"))
    };
    cluster.hosts.iter().filter_map(warning).collect()
}

/// What was issued for one host.
fn read(cluster: &Cluster, host: &Host, folder: &IssuedFolder, files: &dyn Files) -> Result<Found, Vec<Problem>> {
    let (found, mut problems) = found(cluster, host, folder, files);
    if problems.is_empty() {
        let now = OffsetDateTime::from_unix_timestamp(Clock::seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        problems = issued::problems(cluster, host, &found, folder, now);
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// The files of one host that can be read, and what keeps others from that.
fn found(cluster: &Cluster, host: &Host, folder: &IssuedFolder, files: &dyn Files) -> (Found, Vec<Problem>) {
    let (mut found, mut problems) = (Found::new(), Vec::new());
    for name in issued::paths(cluster, host) {
        match read_one(&format!("{}/{}/{name}", folder.path.trim_end_matches('/'), host.name), folder, files) {
            Ok(Some(text)) => drop(found.insert(name.to_owned(), text)),
            // What is missing is said with what it has to be.
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}

/// One file, none where there is none. Everything but a certificate holds a key, which nobody else may read.
fn read_one(path: &str, folder: &IssuedFolder, files: &dyn Files) -> Result<Option<Secret>, Problem> {
    let name = files.name(&folder.origin, path);
    let contents = match files.read(&folder.origin, path, MOST_BYTES) {
        Ok(contents) => contents,
        Err(unread) => {
            return match unread.cause {
                UnreadCause::Missing => Ok(None),
                UnreadCause::NoFile => Err(no_file(&name, folder)),
                UnreadCause::Other => Err(unreadable(&name, folder, unread.because)),
            };
        }
    };
    if let Some(mode) = contents.open_mode.filter(|_| !path.ends_with(".crt")) {
        let problem = Problem::new(format!("{name} is open to others, and holds a key")).at(&folder.origin);
        return Err(problem.because(format!("its mode is {mode:04o}")).hint(format!("chmod 600 {name}")));
    }
    Ok(Some(Secret::new(contents.bytes)))
}

fn no_file(name: &str, folder: &IssuedFolder) -> Problem {
    let problem = Problem::new(format!("{name} is no file")).at(&folder.origin);
    problem.because("a folder, a pipe or a device has nothing that was issued").hint("put the file itself there, or a link to it")
}

fn unreadable(name: &str, folder: &IssuedFolder, because: String) -> Problem {
    Problem::new(format!("{name} can't be read")).at(&folder.origin).because(because).hint("let it be readable")
}
