//! What is sent to a host to run a user's script, in real shells.

use std::fs;
use std::time::Duration;

use kok_crds::model::{HookPlace, OnFailure, Text};
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::resources::{Act, Debt, Hook, Resource};

use crate::support::shell::{Folder, SHELLS, run, script_of};

fn hook(script: &str) -> Hook {
    Hook {
        name: "own".to_owned(),
        at: HookPlace::AfterPreparation,
        about: vec!["w1".to_owned()],
        cluster: "demo".to_owned(),
        script: Text::new(script),
        creates: None,
        unless: None,
        timeout: Duration::from_secs(20),
        environment: Vec::new(),
        secrets: Vec::new(),
        on_failure: OnFailure::Stop,
        occasion: "ever".to_owned(),
        owed: None,
    }
}

fn act(hook: &Hook) -> Act {
    Resource::Hook(hook.clone()).act(&Change::new(ChangeKind::Run, ""))
}

/// Whether it ended well, and what it said, on a host that is a folder.
fn ran(folder: &Folder, hook: &Hook, shell: &[&str]) -> (bool, String) {
    for path in ["run/kokctl", "var/lib/kokctl", "var/tmp"] {
        fs::create_dir_all(folder.path(path)).unwrap();
    }
    let there = |text: String| {
        ["/run/kokctl", "/var/lib/kokctl", "/var/tmp", "/srv/"].iter().fold(text, |text, path| text.replace(path, &folder.text(&path[1..])))
    };
    let output = run(shell, &[], &there(script_of(&act(hook))));
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn record(folder: &Folder) -> std::path::PathBuf {
    folder.path("var/lib/kokctl/hooks/own")
}

#[test]
fn it_runs_in_a_shell_of_its_own() {
    for shell in SHELLS {
        let folder = Folder::new();
        fs::create_dir_all(folder.path("kept")).unwrap();
        // Names of whatever the script around it has.
        let names = ["said", "status", "folder", "temporary", "failed", "TMPDIR", "HOME"];
        let environment = names.iter().map(|name| ((*name).to_owned(), folder.text("kept"))).collect();
        let own = Hook { environment, ..hook("echo \"$KOKCTL_HOOK of $KOKCTL_HOST in $KOKCTL_CLUSTER: $said\"; cat") };
        let (is_good, said) = ran(&folder, &own, shell);
        assert!(is_good, "{shell:?}: {said}");
        assert_eq!(said, format!("afterPreparation of w1 in demo: {}\n", folder.text("kept")), "{shell:?}");
        assert!(folder.path("kept").is_dir() && record(&folder).is_file());
        assert_eq!(fs::read_dir(folder.path("var/tmp")).unwrap().count() + fs::read_dir(folder.path("run/kokctl")).unwrap().count(), 0);
    }
}

#[test]
fn what_fails_is_told_and_written_down_only_where_it_stops_nothing() {
    for shell in SHELLS {
        let folder = Folder::new();
        let (is_good, said) = ran(&folder, &hook("echo no room; exit 7"), shell);
        assert!(!is_good && said == "no room\nkokctl: it ended with the code 7\n", "{shell:?}: {said}");
        assert!(!record(&folder).exists());
        let late = Hook { timeout: Duration::from_secs(1), ..hook("sleep 60") };
        let (is_good, said) = ran(&folder, &late, shell);
        assert!(!is_good && said == "kokctl: it took longer than 1s\n", "{shell:?}: {said}");
        let goes = Hook { on_failure: OnFailure::Go, ..hook("exit 7") };
        let (is_good, said) = ran(&folder, &goes, shell);
        assert!(is_good && said.ends_with("the run goes on all the same (onFailure: Go)\n"), "{shell:?}: {said}");
        assert!(record(&folder).exists());
    }
}

#[test]
fn a_guard_is_asked_before_and_afterwards() {
    for shell in SHELLS {
        let folder = Folder::new();
        let of = |script: &str, on_failure| Hook { creates: Some("/srv/x".to_owned()), on_failure, ..hook(script) };
        let (is_good, said) = ran(&folder, &of("echo ran", OnFailure::Stop), shell);
        assert!(
            !is_good && said.contains("ran\nkokctl: it ended well, and is still to do: ") && said.contains("x does not exist"),
            "{said}"
        );
        let (is_good, _) = ran(&folder, &of("echo ran", OnFailure::Go), shell);
        assert!(is_good && record(&folder).exists(), "it was tried");
        let (is_good, said) = ran(&folder, &of(&format!("mkdir -p {0} && touch {0}x", folder.text("srv/")), OnFailure::Go), shell);
        assert!(is_good && !record(&folder).exists(), "{said}");
        let (is_good, said) = ran(&folder, &of("echo ran", OnFailure::Stop), shell);
        assert!(is_good && said.is_empty(), "{shell:?}: {said}");
        let unless = Hook { unless: Some("exit 0".to_owned()), ..hook("echo ran") };
        assert_eq!(ran(&folder, &unless, shell), (true, String::new()));
    }
}

#[test]
fn a_debt_is_paid_once() {
    for shell in SHELLS {
        let folder = Folder::new();
        let debt = Debt::of_upgrade("own", vec!["w1".to_owned()], "1.37.1");
        let path = folder.path(debt.path().trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "1.37.1\n").unwrap();
        let owing = |script| Hook { owed: Some(Box::new(debt.clone())), at: HookPlace::AfterUpgrade, ..hook(script) };
        assert!(!ran(&folder, &owing("exit 1"), shell).0 && fs::read_to_string(&path).unwrap() == "1.37.1\n");
        assert!(ran(&folder, &owing("true"), shell).0 && !record(&folder).exists());
        assert_eq!(fs::read_to_string(&path).unwrap(), "1.37.1 paid\n");
    }
}
