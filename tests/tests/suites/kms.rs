//! A KMS plugin encrypts what etcd holds: a cluster of three control planes that encrypts by a key is led to the plugin and back, by runs that are killed, and
//! nobody who reads or writes meanwhile is refused.

use std::fs;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

use crate::backup::{OWN, own_key};
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{control_planes, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{ok, snapshot};
use crate::encryption::{CANARY, changed, stored, under_load};
use crate::kms_story::befalls::{is_backed_up, it_stands_still_on_one, the_plugin_has_another_key, unwrapped};
use crate::kms_story::plugin::{self, KEYS, NAME, SOCKET};
use crate::kms_story::seen::{are_read_by_all, is_by_key, is_by_plugin, ready};

#[test]
fn a_plugin_encrypts_what_etcd_holds() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    fs::create_dir(kokctl.folder().join("backups")).unwrap();
    own_key(&kokctl);
    asks_for(&lab, &kokctl, BY_KEY);
    kokctl.converge("apply");
    stored(&lab.host("cp1").unwrap());
    let first = is_by_key(&lab);
    clock.lap("a cluster that encrypts by a key");
    asks_for(&lab, &kokctl, &by_plugin());
    is_refused_without_the_plugin(&lab, &kokctl);
    clock.lap("what is refused");
    let of_plugin = plugin::is_put_there(&lab);
    under_load(&lab, || changed(&kokctl, 1..=12));
    clock.lap("by the plugin");
    is_by_plugin(&lab, KEYS[0]);
    are_read_by_all(&lab);
    kokctl.has_nothing_to_do();
    is_fine(&kokctl);
    let newer = the_plugin_has_another_key(&lab, &kokctl);
    clock.lap("by another key of the plugin");
    is_backed_up(&lab, &kokctl);
    clock.lap("a backup");
    it_stands_still_on_one(&lab);
    clock.lap("a plugin that stands still");
    asks_for(&lab, &kokctl, BY_KEY);
    is_not_applied(&kokctl, &format!("encrypts with the KMS plugin {NAME}, the file asks for secretbox"));
    under_load(&lab, || changed(&kokctl, 1..=12));
    clock.lap("by a key again");
    let last = is_by_key(&lab);
    assert_ne!(first, last);
    goes_on_without_the_plugin(&lab, &kokctl);
    clock.lap("without the plugin");
    for secret in [CANARY, &first, &last, &of_plugin, &newer] {
        assert!(!secret.is_empty() && !kokctl.transcript().contains(secret) && !kokctl.journals().contains(secret));
    }
}

/// By a variable, which stands last of all in the lab's manifest; the plugin by the field that says the same.
const BY_KEY: &str = "    kube_encrypt_secret_data: true";

fn by_plugin() -> String {
    format!("  encryption: {{enabled: true, kms: {{name: {NAME}, endpoint: 'unix://{SOCKET}', timeout: 3s}}}}")
}

/// And for backups, always.
fn asks_for(lab: &Lab, kokctl: &Kokctl<'_>, how: &str) {
    let backup = format!("  backup: {{to: {{folder: backups}}, recipients: [{}]}}", OWN.1);
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&format!("{}\n{how}\n{backup}\n", manifest.trim_end()));
}

/// It names the hosts without a plugin, and neither verb changes anything.
fn is_refused_without_the_plugin(lab: &Lab, kokctl: &Kokctl<'_>) {
    // Pods that are on their way out still take their links with them.
    kubectl(lab, "wait --for=delete namespace/kokctl-network-check --timeout=120s");
    let before = snapshot::fingerprint(lab);
    let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle());
    let options = ["--yes", "--bundle", bundle.to_str().unwrap(), "-f", manifest.to_str().unwrap()];
    let said = kokctl.run(&[&["secrets", "change-encryption"], &options[..]].concat());
    let words = unwrapped(&said.stderr);
    assert!(said.code != 0 && words.contains(&format!("the KMS plugin {NAME} does not listen")), "{said:?}");
    for host in control_planes(lab) {
        assert!(words.contains(&format!("{} ({})", host.name(), host.address())), "{said:?}");
    }
    is_not_applied(kokctl, &format!("encrypts with secretbox, the file asks for the KMS plugin {NAME}"));
    snapshot::assert_same(&before, &snapshot::fingerprint(lab), "what is refused changes nothing");
    is_by_key(lab);
}

fn is_not_applied(kokctl: &Kokctl<'_>, words: &str) {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code != 0 && unwrapped(&said.stderr).contains(words), "{said:?}");
}

/// Everybody answers, and nothing is under way.
fn is_fine(kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("status", &[]);
    assert!(said.code == 0 && !said.stderr.contains("change-encryption") && !said.stderr.contains("rotate-key"), "{said:?}");
}

/// Nobody needs it any more.
fn goes_on_without_the_plugin(lab: &Lab, kokctl: &Kokctl<'_>) {
    for host in control_planes(lab) {
        plugin::stop(&host);
        ok(&host, "systemctl disable --quiet kms-plugin");
    }
    are_read_by_all(lab);
    for host in control_planes(lab) {
        assert_eq!(ready(&host), "ok", "{}", host.name());
    }
    kokctl.has_nothing_to_do();
    is_fine(kokctl);
}
