//! A plan of bare hosts, an `apply` that is killed at a random moment, and the `apply` that follows it.

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{BufReader, Read as _};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use kok_tests::lab::Lab;

use crate::cluster_support::kokctl::{Kokctl, wait_for_event};
use crate::cluster_support::snapshot::{assert_same, fingerprint};
use crate::cluster_support::{bare, hosts, kept, secrets};

/// Repeats the moment of an earlier failure, as that test printed it.
const MOMENT: &str = "KOK_TEST_KILL_AT";
/// The same of the run that is killed and taken down.
const RESET_MOMENT: &str = "KOK_TEST_RESET_AT";
/// A step may begin or wait for this long after the one that was counted.
const LATEST_MILLISECONDS: u64 = 2_000;

/// When a run is killed: by its progress and not by the clock, so that slow and fast machines are killed alike.
#[derive(Clone, Copy)]
struct Moment {
    /// Out of a hundred changes of the plan, so many are done.
    percent: usize,
    /// So long after that.
    milliseconds: u64,
}

impl Moment {
    /// Up to where the workers join; later there is little left to be interrupted.
    fn random() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self { percent: usize::try_from(random % 91).unwrap(), milliseconds: (random >> 32) % LATEST_MILLISECONDS }
    }

    /// Up to where the run would have ended.
    fn while_it_is_founded() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self { percent: usize::try_from(15 + random % 70).unwrap(), milliseconds: (random >> 32) % LATEST_MILLISECONDS }
    }

    fn parse(text: &str) -> Self {
        let (percent, milliseconds) = text.split_once('+').expect("PERCENT+MILLISECONDS");
        Self { percent: percent.parse().unwrap(), milliseconds: milliseconds.parse().unwrap() }
    }
}

pub fn plan_changes_nothing(lab: &Lab, kokctl: &Kokctl<'_>) {
    bare::assert_bare(lab);
    let before = fingerprint(lab);
    let plan = kokctl.converge("plan");
    for host in ["cp1:", "worker1:", "worker2:"] {
        assert!(plan.lines().any(|line| line == host), "{host} in {plan}");
    }
    for wanted in [
        "  file /etc/containerd/config.toml: create",
        "    because it does not exist",
        "      +++ /etc/containerd/config.toml (desired)",
        "  node: join",
        "  static pods of control-plane: write",
    ] {
        assert!(plan.lines().any(|line| line == wanted), "{wanted:?} in {plan}");
    }
    let last = plan.lines().last().unwrap();
    assert!(last.ends_with(" steps would change something"), "{last}");
    assert_same(&before, &fingerprint(lab), "plan must not change anything");
}

pub fn apply_survives_sigkill(lab: &Lab, kokctl: &Kokctl<'_>) {
    let moment = env::var(MOMENT).map_or_else(|_| Moment::random(), |text| Moment::parse(&text));
    println!("apply is killed at {MOMENT}={}+{} (percent of its changes, milliseconds)", moment.percent, moment.milliseconds);
    kill_apply(kokctl, moment);
    let said = kokctl.converge("apply");
    let expected = format!("cluster {} is ready: {} hosts, ", lab.name(), hosts(lab).len());
    assert!(said.starts_with(&expected), "{said}");
    let next = format!("next: kokctl kubeconfig -f {} --merge && kubectl get nodes", kokctl.manifest().display());
    assert_eq!(said.lines().last(), Some(next.as_str()), "{said}");
}

/// By another user's kokctl, so to say, which has journals of its own; what it leaves is told by none of the later ones.
pub fn what_is_half_made_is_reset(lab: &Lab) {
    let kokctl = Kokctl::new(lab);
    let moment = env::var(RESET_MOMENT).map_or_else(|_| Moment::while_it_is_founded(), |text| Moment::parse(&text));
    println!("apply is killed before a reset at {RESET_MOMENT}={}+{}", moment.percent, moment.milliseconds);
    kill_apply(&kokctl, moment);
    let material = secrets::what_is_there(lab);
    let said = kokctl.verb("reset", &["--yes"]);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    println!("{}", said.stderr.lines().filter(|line| line.contains("snapshot")).collect::<Vec<_>>().join("\n"));
    // A snapshot that was taken is whole; where none was, it is said why.
    let kept = kept::snapshots(&kokctl, lab.name());
    assert!(kept.len() == 1 || said.stderr.contains("no snapshot of etcd: "), "{said:?}");
    kept.iter().for_each(|path| kept::is_a_snapshot(path));
    println!("{} lines of keys were there", material.len());
    secrets::kokctl_did_not_say(&material, &kokctl);
}

fn kill_apply(kokctl: &Kokctl<'_>, moment: Moment) {
    let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle());
    let arguments = ["apply", "--json", "-f", manifest.to_str().unwrap(), "--bundle", bundle.to_str().unwrap()];
    let mut apply = kokctl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(apply.stdout.take().unwrap());
    let mut said = String::new();
    let plan = wait_for_event(&mut events, "plan-made", &mut said);
    is_refused_meanwhile(kokctl);
    let changes = usize::try_from(plan["changes"].as_u64().unwrap()).unwrap();
    for _ in 0..changes * moment.percent / 100 {
        wait_for_event(&mut events, "step-done", &mut said);
    }
    let rest = thread::spawn(move || {
        let mut text = Vec::new();
        events.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    thread::sleep(Duration::from_millis(moment.milliseconds));
    apply.kill().unwrap();
    let status = apply.wait().unwrap();
    said.push_str(&rest.join().unwrap().unwrap());
    assert_eq!(status.code(), None, "apply was to be killed in the middle, but it had ended: {said}");
    kokctl.note(&said);
}

/// Two runs at once would undo each other's work.
fn is_refused_meanwhile(kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.starts_with("error: another kokctl is at work on the cluster "), "{said:?}");
    assert!(said.stderr.contains("because: process "), "{said:?}");
}
