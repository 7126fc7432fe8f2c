//! What programs are started with: anybody on a host can read that.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between two looks at all processes. Those that are with secrets, such as kubeadm and kubectl, live longer.
const PAUSE: Duration = Duration::from_millis(100);

/// Watches every process of labs, kokctl and those of the hosts, until it is dropped. One that is shorter than [`PAUSE`] may be missed.
pub struct Arguments {
    seen: Arc<Mutex<BTreeSet<Vec<u8>>>>,
    ends: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Arguments {
    pub fn watch() -> Self {
        let (seen, ends) = (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(AtomicBool::new(false)));
        let (into, until) = (Arc::clone(&seen), Arc::clone(&ends));
        let watcher = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                look(&mut into.lock().unwrap());
                thread::sleep(PAUSE);
            }
        });
        Self { seen, ends, watcher: Some(watcher) }
    }

    /// Every command line so far, one per line.
    pub fn so_far(&self) -> String {
        let text = |line: &Vec<u8>| String::from_utf8_lossy(line).replace(['\0', '\n'], " ") + "\n";
        let all: String = self.seen.lock().unwrap().iter().map(text).collect();
        for program in ["kokctl apply", "kubeadm init", "kubectl"] {
            assert!(all.contains(program), "nobody saw {program} among {} command lines", all.lines().count());
        }
        all
    }
}

impl Drop for Arguments {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

/// Adds what processes of labs are started with now. Whose process one is costs more to find out than what it was started with, and most were seen before.
fn look(seen: &mut BTreeSet<Vec<u8>>) {
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    // What runs in the machine's own network is none of the lab's.
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    for process in processes {
        // A process may end while it is looked at.
        let Ok(line) = fs::read(process.path().join("cmdline")) else { continue };
        let is_of_lab = || fs::read_link(process.path().join("ns/net")).is_ok_and(|network| network != own);
        if !line.is_empty() && !seen.contains(&line) && is_of_lab() {
            seen.insert(line);
        }
    }
}
