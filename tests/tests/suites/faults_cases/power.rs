//! A host goes down and comes up again while a run is at work.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host};

use super::shell::manifest_for;
use super::{HOSTS, Run, Story};
use crate::cluster_support::up;

/// Without a word, and with what was not on the disk lost.
pub fn cut_in_the_middle() {
    goes_down(None, |host| {
        host.power_off().unwrap();
        host.power_on().unwrap();
    });
}

/// In order, as somebody who patches machines does it.
pub fn rebooted_in_the_middle() {
    goes_down(None, |host| host.reboot().unwrap());
}

/// While systemd takes a host down and brings it up, sshd answers and lets in nobody but root (pam_nologin).
pub fn rebooted_under_a_login_with_sudo() {
    goes_down(Some("user: ops"), |host| host.reboot().unwrap());
}

/// One host while it is changed, twice at other places of its plan. A step that was under way may have failed; `apply` again finds out.
fn goes_down(login: Option<&str>, fault: impl Fn(&Host)) {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    if let Some(login) = login {
        story.kokctl.write_manifest(&manifest_for(&lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap(), login));
    }
    for count in [2, 1] {
        let mut run = story.apply();
        // One step that fails because its host goes down may have been the last that there was to do.
        if !begins(&mut run, count) {
            let ended = run.end();
            assert!(count == 1 && ended.code == Some(0), "{ended:?}");
            println!("once was enough: there was nothing left to do");
            break;
        }
        fault(&story.host("worker1"));
        let ended = run.end();
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
        assert!(!ended.errors.contains("refused"), "a host that restarts is not given up: {}", ended.errors);
        if ended.code == Some(0) {
            break;
        }
    }
    story.succeeds();
    story.assert_ended_well();
}

/// Waits until so many steps have begun on the host; they may have been fewer.
fn begins(run: &mut Run<'_>, count: usize) -> bool {
    let mut begun = 0;
    while begun < count {
        let Some(event) = run.wait_for("step-started") else { return false };
        begun += usize::from(event["host"] == "worker1");
    }
    true
}
