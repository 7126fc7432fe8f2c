//! A lab whose program was killed in the middle can be taken down whole.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::lab_support::{Traces, wait_for};

/// An `up` may have to build the root first.
const UP_SECONDS: u64 = 1200;

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Starts `lab up` and kills it as soon as `path` is there in the lab's folder.
fn kill_up_at(name: &str, traces: &Traces, path: &str) {
    let mut up: Child = lab(&["up", "--name", name, "--hosts", "2"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let path = traces.folder().join(path);
    wait_for(&format!("{} is there", path.display()), UP_SECONDS, || {
        assert!(up.try_wait().unwrap().is_none(), "lab up ended before {}", path.display());
        Path::exists(&path)
    });
    up.kill().unwrap();
    up.wait().unwrap();
    assert_ne!(traces.find(), Vec::<String>::new());
}

#[test]
fn up_that_was_killed_leaves_nothing_after_down() {
    let name = format!("killed-{}", std::process::id());
    let traces = Traces::of_lab(&name, None);
    for moment in ["lab.json", "network.log", "hosts/cp1/upper", "hosts/worker1/console.log", "known_hosts"] {
        kill_up_at(&name, &traces, moment);
        let down = lab(&["down", "--name", &name]).output().unwrap();
        assert!(down.status.success(), "killed at {moment}: {}", String::from_utf8_lossy(&down.stderr));
        assert_eq!(traces.find(), Vec::<String>::new(), "killed at {moment}");
    }
}

#[test]
fn up_after_an_up_that_was_killed_begins_anew() {
    let name = format!("again-{}", std::process::id());
    let traces = Traces::of_lab(&name, None);
    kill_up_at(&name, &traces, "known_hosts");
    let up = lab(&["up", "--name", &name, "--hosts", "1"]).output().unwrap();
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    let twice = lab(&["up", "--name", &name, "--hosts", "1"]).output().unwrap();
    assert!(!twice.status.success());
    assert!(String::from_utf8_lossy(&twice.stderr).contains("is already up"), "{twice:?}");
    let host = lab(&["ssh", "--name", &name, "cp1", "hostname"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&host.stdout), "cp1\n");
    assert!(lab(&["down", "--name", &name]).status().unwrap().success());
    assert_eq!(traces.find(), Vec::<String>::new());
}

#[test]
fn faults_whose_program_was_killed_leave_nothing_after_down() {
    let name = format!("faults-{}", std::process::id());
    let traces = Traces::of_lab(&name, None);
    assert!(lab(&["up", "--name", &name, "--hosts", "1", "--light"]).status().unwrap().success());
    let mut lag = lab(&["lag", "--name", &name, "cp1", "20"]).spawn().unwrap();
    wait_for("the proxy's cgroup is there", 30, || traces.find().iter().any(|trace| trace.contains("@lag-cp1")) || ended(&mut lag));
    lag.kill().unwrap();
    lag.wait().unwrap();
    assert!(lab(&["pause", "--name", &name, "cp1"]).status().unwrap().success());
    let paused = lab(&["ps"]).output().unwrap();
    assert!(String::from_utf8_lossy(&paused.stdout).contains("paused"), "{paused:?}");
    assert!(lab(&["down", "--name", &name]).status().unwrap().success());
    assert_eq!(traces.find(), Vec::<String>::new());
}

/// The moment in which what stands for a lab's network is in its cgroup, and has the namespace of the machine still: here one that is made for the test, as are
/// its processes, so that nobody else could be ended by it.
const BEFORE_ITS_NETWORK: &str = r#"
sleep 600 & member=$!
sleep 600 & bystander=$!
hierarchies=$(awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/self/mounts)
for hierarchy in $hierarchies; do
  folder=$hierarchy/kok-lab/$name/@network
  mkdir -p "$folder"
  for file in cpuset.cpus cpuset.mems; do
    for part in kok-lab "kok-lab/$name" "kok-lab/$name/@network"; do
      [ ! -e "$hierarchy/$part/$file" ] || cat "$hierarchy/$file" >"$hierarchy/$part/$file"
    done
  done
  echo "$member" >"$folder/cgroup.procs"
done
"$lab" down --name "$name" || exit 1
kill -0 "$bystander" || exit 2
wait "$member"
[ $? = 137 ] || exit 3
"#;

#[test]
fn down_before_there_was_a_network_ends_nobody_else() {
    let name = format!("early-{}", std::process::id());
    let mut command = Command::new("unshare");
    command.args(["--net", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", BEFORE_ITS_NETWORK]);
    let output = command.env("name", &name).env("lab", env!("CARGO_BIN_EXE_lab")).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(Traces::of_lab(&name, None).find(), Vec::<String>::new());
}

fn ended(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}
