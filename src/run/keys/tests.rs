#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;
use crate::remote::tests::harness::keygen;

fn cluster(text: &str) -> Cluster {
    let head = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.37.1\n";
    kok_crds::read_cluster("c.yaml", &format!("{head}{text}")).unwrap_or_else(|problems| panic!("{problems:?}"))
}

struct Keys(tempfile::TempDir);

impl Keys {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn make(&self, name: &str, mode: u32) {
        keygen(&self.path(name), &["-t", "ed25519"]);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn wrong(&self, text: &str, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let text = text.replace("KEYS", &self.0.path().display().to_string());
        let failures = wrong_keys(&cluster(&text), Some(self.0.path()), wanted);
        assert!(failures.iter().all(|failure| failure.kind == Kind::Input && failure.hint.is_some()), "{failures:?}");
        failures.into_iter().map(|failure| (failure.at.unwrap(), failure.what)).collect()
    }
}

const HOSTS: &str = "  ssh: {privateKeyFile: KEYS/all}
  hosts:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.12, roles: [worker]}
  - name: w2
    address: 10.0.0.13
    roles: [worker]
    ssh: {privateKeyFile: ~/own, bastion: {address: gate, privateKeyFile: KEYS/gate}}
";

#[test]
fn every_key_that_is_wrong_is_named_once_with_its_line() {
    let keys = Keys::new();
    keys.make("own", 0o644);
    fs::write(keys.path("gate"), "no key\n").unwrap();
    fs::set_permissions(keys.path("gate"), fs::Permissions::from_mode(0o600)).unwrap();
    let told = keys.wrong(HOSTS, |_| true);
    let [all, own, gate] = told.as_slice() else { panic!("{told:?}") };
    assert!(all.0.starts_with("c.yaml:6:") && all.1.ends_with("/all can't be read"), "{all:?}");
    assert!(own.0.starts_with("c.yaml:13:") && own.1.contains("open to others (mode 0644)"), "{own:?}");
    assert!(gate.0.starts_with("c.yaml:13:") && gate.1.ends_with("/gate is not a private key"), "{gate:?}");
}

#[test]
fn keys_that_are_right_or_of_nobody_who_is_wanted_are_not_spoken_of() {
    let keys = Keys::new();
    keys.make("all", 0o600);
    assert_eq!(keys.wrong(HOSTS, |host| host != "w2"), Vec::new());
    let told = keys.wrong(HOSTS, |host| host == "w2");
    assert!(told.len() == 2 && told.iter().all(|(at, _)| at.starts_with("c.yaml:13:")), "the place is that of the whole file: {told:?}");
}

/// Whether somebody will know the passphrase, nobody can tell here: it is no mistake, and no news for whoever has an agent.
#[test]
fn an_encrypted_key_is_noted_and_nobody_is_asked() {
    let keys = Keys::new();
    keygen(&keys.path("all"), &["-t", "ed25519", "-N", "sesame"]);
    let hosts = HOSTS.replace("~/own", "KEYS/all").replace("KEYS/gate", "KEYS/all").replace("KEYS", &keys.0.path().display().to_string());
    let (problems, notices) = judged_keys(&cluster(&hosts), &Surroundings::default());
    assert_eq!(problems, []);
    let noted: Vec<_> = notices.iter().map(|notice| notice.position.as_ref().unwrap().line).collect();
    assert_eq!(noted, [6, 13, 13], "each place once");
    assert!(notices.iter().all(|notice| notice.message.ends_with("is encrypted") && notice.hint.is_some()), "{notices:?}");
}
