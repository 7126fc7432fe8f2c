//! The lab's own cgroups: one folder per host, and one for the network's process, in every hierarchy of the machine.
//!
//! They keep the hosts apart, for each host's systemd, kubelet and containerd take the tree they see for their own. And they are
//! the only list of the lab's processes that a killed program leaves behind complete.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::LabError;
use super::process::{self, ProcessId};

/// Folder of all labs in each hierarchy.
const TOP: &str = "kok-lab";
/// Member of a lab that is not a host: no host can have this name.
pub(crate) const NETWORK: &str = "@network";
/// Killing a whole host takes well below a second; this is for a machine under load.
const KILL_DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);
/// A process stops when it next leaves the kernel; one that waits for a slow disk takes as long as that.
const FREEZE_DEADLINE: Duration = Duration::from_secs(30);
/// Files by which cgroups of either version stop their processes.
const V1_STATE: &str = "freezer.state";
const V2_STATE: &str = "cgroup.freeze";
/// Files by which cgroups of either version have no more than so many microseconds of processors in each [`PERIOD`], which is the kernel's own.
const V1_QUOTA: &str = "cpu.cfs_quota_us";
const V2_QUOTA: &str = "cpu.max";
const PERIOD: u32 = 100_000;

/// Whether the machine gives its controllers out by cgroup v2 alone.
pub(crate) fn unified_only() -> Result<bool, LabError> {
    Ok(hierarchies()?.iter().all(|hierarchy| hierarchy.unified))
}

#[derive(Debug)]
struct Hierarchy {
    mount: PathBuf,
    unified: bool,
}

fn hierarchies() -> Result<Vec<Hierarchy>, LabError> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(LabError::io("read /proc/self/mounts"))?;
    let found: Vec<Hierarchy> = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (mount, kind) = (fields.nth(1)?, fields.next()?);
            let unified = kind == "cgroup2";
            (unified || kind == "cgroup").then(|| Hierarchy { mount: PathBuf::from(mount), unified })
        })
        .collect();
    if found.is_empty() {
        return Err(LabError::Missing(vec!["no cgroup hierarchy is mounted: mount cgroup2 at /sys/fs/cgroup".to_owned()]));
    }
    Ok(found)
}

/// Makes the folder of `member` of lab `lab` in every hierarchy and returns the paths.
pub(crate) fn create(lab: &str, member: &str) -> Result<Vec<PathBuf>, LabError> {
    hierarchies()?
        .into_iter()
        .map(|hierarchy| {
            let mut path = hierarchy.mount.clone();
            for part in [TOP, lab, member] {
                let parent = path.clone();
                path.push(part);
                create_one(&parent, &path, hierarchy.unified && part == member)?;
            }
            Ok(path)
        })
        .collect()
}

fn create_one(parent: &Path, path: &Path, leaf_of_unified: bool) -> Result<(), LabError> {
    let what = || format!("make the cgroup {}", path.display());
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(LabError::io(what())(error)),
        _ => {}
    }
    // A v1 cpuset takes no process before it has processors and memory nodes.
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if !parent.join("cgroup.controllers").exists() && parent.join(file).exists() {
            let value = fs::read(parent.join(file)).map_err(LabError::io(what()))?;
            fs::write(path.join(file), value).map_err(LabError::io(what()))?;
        }
    }
    let controllers = path.join("cgroup.controllers");
    if !leaf_of_unified && controllers.exists() {
        let names = fs::read_to_string(&controllers).map_err(LabError::io(what()))?;
        let enable: Vec<String> = names.split_whitespace().map(|name| format!("+{name}")).collect();
        fs::write(path.join("cgroup.subtree_control"), enable.join(" ")).map_err(LabError::io(what()))?;
    }
    Ok(())
}

/// The names of all labs that have a cgroup in any hierarchy.
pub(crate) fn labs() -> Result<BTreeSet<String>, LabError> {
    let mut names = BTreeSet::new();
    for hierarchy in hierarchies()? {
        names.extend(children(&hierarchy.mount.join(TOP)).into_iter().filter_map(|path| file_name(&path)));
    }
    Ok(names)
}

/// Processes in the member's cgroups, also in those it has made below them; with "" for the member those of the whole lab.
pub(crate) fn processes(lab: &str, member: &str) -> Result<BTreeSet<i32>, LabError> {
    let mut pids = BTreeSet::new();
    for hierarchy in hierarchies()? {
        collect(&hierarchy.mount.join(TOP).join(lab).join(member), &mut pids);
    }
    Ok(pids)
}

/// Whether the lab's cgroup, or that of one `member` of it, is there in any hierarchy.
pub(crate) fn exists(lab: &str, member: Option<&str>) -> Result<bool, LabError> {
    Ok(hierarchies()?.iter().any(|hierarchy| below(&hierarchy.mount, lab, member).exists()))
}

/// Stops the member's processes where they are, or lets them go on, and waits until that is so. They can't tell.
pub(crate) fn freeze(lab: &str, member: &str, frozen: bool) -> Result<(), LabError> {
    let folder = freezer(lab, member)?.ok_or_else(|| LabError::NotRunning(lab.to_owned()))?;
    let (file, value) = match (folder.join(V1_STATE).exists(), frozen) {
        (true, true) => (V1_STATE, "FROZEN"),
        (true, false) => (V1_STATE, "THAWED"),
        (false, true) => (V2_STATE, "1"),
        (false, false) => (V2_STATE, "0"),
    };
    let path = folder.join(file);
    fs::write(&path, value).map_err(LabError::io(format!("write {value} to {}", path.display())))?;
    let deadline = Instant::now() + FREEZE_DEADLINE;
    while is_frozen(lab, member)? != frozen {
        if Instant::now() > deadline {
            return Err(LabError::Deadline { what: format!("{member} is {value}"), after: FREEZE_DEADLINE });
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Lets the member's processes together have so many thousandths of a processor, whatever others leave; or as much as there is.
pub(crate) fn limit_processor(lab: &str, member: &str, thousandths: Option<u32>) -> Result<(), LabError> {
    let folders: Vec<PathBuf> = hierarchies()?.iter().map(|hierarchy| below(&hierarchy.mount, lab, Some(member))).collect();
    let quota = thousandths.map(|thousandths| PERIOD / 1000 * thousandths);
    let files = [
        (V1_QUOTA, quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string())),
        (V2_QUOTA, format!("{} {PERIOD}", quota.map_or_else(|| "max".to_owned(), |quota| quota.to_string()))),
    ];
    for (file, value) in files {
        if let Some(path) = folders.iter().map(|folder| folder.join(file)).find(|path| path.exists()) {
            return fs::write(&path, &value).map_err(LabError::io(format!("write {value} to {}", path.display())));
        }
    }
    Err(LabError::NotRunning(lab.to_owned()))
}

/// Whether all of the member's processes are stopped by [`freeze`].
pub(crate) fn is_frozen(lab: &str, member: &str) -> Result<bool, LabError> {
    let Some(folder) = freezer(lab, member)? else { return Ok(false) };
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    Ok(text(V1_STATE).trim() == "FROZEN" || text("cgroup.events").lines().any(|line| line == "frozen 1"))
}

/// The member's cgroup in the hierarchy that stops processes: that of the controller, else the unified one.
fn freezer(lab: &str, member: &str) -> Result<Option<PathBuf>, LabError> {
    let folders: Vec<PathBuf> = hierarchies()?.iter().map(|hierarchy| below(&hierarchy.mount, lab, Some(member))).collect();
    let having = |file: &str| folders.iter().find(|folder| folder.join(file).exists()).cloned();
    Ok(having(V1_STATE).or_else(|| having(V2_STATE)))
}

/// Kills every process of the lab, or of one `member` of it, removes the cgroups, also those that the host has made, and waits
/// until the processes have ended, and their mounts with them.
///
/// A process that joins meanwhile is killed as well; so afterwards nothing is left, whatever was under way.
pub(crate) fn destroy(lab: &str, member: Option<&str>) -> Result<(), LabError> {
    let hierarchies = hierarchies()?;
    let mark = member.map_or_else(|| format!("/{TOP}/{lab}/"), |member| format!("/{TOP}/{lab}/{member}"));
    let deadline = Instant::now() + KILL_DEADLINE;
    let mut victims = BTreeSet::new();
    loop {
        let mut present = BTreeSet::new();
        let mut gone = true;
        for hierarchy in &hierarchies {
            let folder = below(&hierarchy.mount, lab, member);
            collect(&folder, &mut present);
            thaw(&folder);
            gone &= remove(&folder);
        }
        victims.extend(present.iter().filter_map(|pid| ProcessId::from_pid(*pid)));
        for pid in present {
            process::kill(pid, || is_member(pid, &mark));
        }
        victims.retain(|victim| victim.is_alive());
        if gone && victims.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let what = format!("{} of lab {lab} ended (left: {victims:?})", member.unwrap_or("every process"));
            return Err(LabError::Deadline { what, after: KILL_DEADLINE });
        }
        thread::sleep(POLL);
    }
}

/// Removes the folder that all labs share where no lab is left. The caller holds the machine's lock.
pub(crate) fn remove_top() -> Result<(), LabError> {
    for hierarchy in hierarchies()? {
        // It is not empty while another lab is up.
        let _ = fs::remove_dir(hierarchy.mount.join(TOP));
    }
    Ok(())
}

fn below(mount: &Path, lab: &str, member: Option<&str>) -> PathBuf {
    let lab = mount.join(TOP).join(lab);
    member.map_or_else(|| lab.clone(), |member| lab.join(member))
}

/// A process that is stopped by a cgroup of version 1 does not even die.
fn thaw(folder: &Path) {
    let state = folder.join(V1_STATE);
    if state.exists() {
        // Where that fails nothing is stopped any more, or the deadline of the caller says what is left.
        let _ = fs::write(state, "THAWED");
    }
    // runc stops the processes of a container while it changes the container's limits, and may have been killed in the middle.
    children(folder).iter().for_each(|child| thaw(child));
}

fn is_member(pid: i32, mark: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|paths| is_below(&paths, mark))
}

/// Whether a path of proc_pid_cgroup(5), whose lines are `number:controllers:/path`, is `mark` or below it.
fn is_below(paths: &str, mark: &str) -> bool {
    let mark = mark.trim_end_matches('/');
    paths.lines().filter_map(|line| line.splitn(3, ':').nth(2)?.strip_prefix(mark)).any(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn collect(folder: &Path, pids: &mut BTreeSet<i32>) {
    if let Ok(text) = fs::read_to_string(folder.join("cgroup.procs")) {
        pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
    }
    for child in children(folder) {
        collect(&child, pids);
    }
}

/// Removes the cgroup with all below it, deepest first, and says whether it is gone.
fn remove(folder: &Path) -> bool {
    for child in children(folder) {
        remove(&child);
    }
    matches!(fs::remove_dir(folder), Err(error) if error.kind() == io::ErrorKind::NotFound) || !folder.exists()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_ends_at_the_name() {
        let paths = "4:memory:/kok-lab/a/cp1/system.slice\n0::/";
        assert!(is_below(paths, "/kok-lab/a/cp1"));
        assert!(is_below(paths, "/kok-lab/a/"));
        assert!(!is_below(paths, "/kok-lab/a/cp"));
        assert!(!is_below(paths, "/kok-lab/b/"));
        assert!(!is_below("1:cpu:/user/kok-lab/a/cp1", "/kok-lab/a/"));
    }
}
