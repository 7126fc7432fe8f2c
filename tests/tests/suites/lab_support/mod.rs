//! What is left on this machine of a lab.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// What identifies a lab on the machine, noted while it is up.
pub struct Traces {
    name: String,
    folder: PathBuf,
    namespace: Option<PathBuf>,
}

impl Traces {
    /// Of the lab with this name; its network is noted where there is one.
    pub fn of_lab(name: &str, namespace: Option<PathBuf>) -> Self {
        let state = std::env::var_os("XDG_STATE_HOME")
            .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".local/state"), PathBuf::from);
        let folder = state.join("kok/lab").join(name);
        Self { name: name.to_owned(), folder, namespace }
    }

    /// The lab's folder.
    pub fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// Everything of the lab that is there now, one line each.
    pub fn find(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.folder.exists() {
            found.push(format!("folder {}", self.folder.display()));
        }
        for line in read("/proc/mounts").lines() {
            let mount = line.split(' ').nth(1).unwrap();
            let kind = line.split(' ').nth(2).unwrap();
            let cgroup = PathBuf::from(mount).join("kok-lab").join(&self.name);
            if kind.starts_with("cgroup") && cgroup.exists() {
                found.push(format!("cgroup {}", cgroup.display()));
                let members = fs::read_dir(&cgroup).map(|entries| entries.flatten().collect()).unwrap_or_else(|_| Vec::new());
                found.extend(
                    members.into_iter().filter(|entry| entry.path().is_dir()).map(|entry| format!("cgroup {}", entry.path().display())),
                );
            }
            if line.contains(self.folder.to_str().unwrap()) {
                found.push(format!("mount {line}"));
            }
        }
        let links = Command::new("ip").args(["-oneline", "link", "show"]).output().unwrap();
        let links = String::from_utf8(links.stdout).unwrap();
        found.extend(links.lines().filter(|line| line.contains(": vb-") || line.contains(": lab0")).map(|line| format!("link {line}")));
        found.extend(self.processes());
        found
    }

    /// By cgroup, by network and by arguments. One that has ended, and whose parent has only to take note, is none.
    fn processes(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let path = entry.path();
            let file =
                |name: &str| fs::read(path.join(name)).map_or_else(|_| String::new(), |text| String::from_utf8_lossy(&text).into_owned());
            if file("stat").rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']) {
                continue;
            }
            let in_network = self.namespace.is_some() && fs::read_link(path.join("ns/net")).ok() == self.namespace;
            if file("cgroup").contains(&format!("/kok-lab/{}/", self.name))
                || in_network
                || file("cmdline").contains(self.folder.to_str().unwrap())
            {
                found.push(format!("process {}: {}", path.display(), file("cmdline").replace('\0', " ")));
            }
        }
        found
    }
}

/// Fails unless `condition` comes true in time. Most look by a login, which costs what it waits for the processor: it pauses for as long as a look took.
pub fn wait_for(what: &str, seconds: u64, mut condition: impl FnMut() -> bool) {
    const LEAST: Duration = Duration::from_millis(5);
    const MOST: Duration = Duration::from_millis(500);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        let began = Instant::now();
        if condition() {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: not within {seconds} s");
        std::thread::sleep(began.elapsed().clamp(LEAST, MOST));
    }
}

/// The text of a file that has to be there.
pub fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
