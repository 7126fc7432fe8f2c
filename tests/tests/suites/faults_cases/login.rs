//! Users who become root by a password.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, OPSPW_PASSWORD};

use super::shell::{assert_plans, manifest_for};
use crate::bad_input_cases::{HOST, Refusals};
use crate::cluster_support::kokctl::Kokctl;

pub fn sudo_without_its_password(refusals: &Refusals<'_>) {
    let manifest = manifest_for(&refusals.manifest, "user: opspw");
    let said = refusals.refuses_worker(&manifest, HOST);
    assert!(said.what.contains("sudo") && said.what.contains("opspw"), "{said:?}");
    assert!(said.hint.contains("sudoPassword"), "who has a password is told where it goes: {said:?}");
}

pub fn sudo_with_a_wrong_password(refusals: &Refusals<'_>) {
    let manifest = manifest_for(&refusals.manifest, "user: opspw, sudoPassword: wrong-one");
    let said = refusals.refuses_worker(&manifest, HOST);
    assert!(said.what.contains("password") && said.what.contains("opspw"), "{said:?}");
    assert!(!format!("{said:?}").contains("wrong-one"), "a password is in no message: {said:?}");
}

/// As YAML wants to have it, with the quotes that are in it.
fn password() -> String {
    serde_json::Value::from(OPSPW_PASSWORD).to_string()
}

pub fn sudo_with_its_password(lab: &Lab, kokctl: &Kokctl<'_>, plan: &str) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&manifest_for(&manifest, &format!("user: opspw, sudoPassword: {}", password())));
    assert_plans(kokctl, plan);
    assert!(!kokctl.transcript().contains(OPSPW_PASSWORD), "a password is never said");
}

/// A cluster's file with one password for all, and hosts where sudo does not ask, or nobody has to become root.
pub fn password_that_is_not_needed(lab: &Lab, kokctl: &Kokctl<'_>, plan: &str) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    for user in ["ops", "root"] {
        kokctl.write_manifest(&manifest_for(&manifest, &format!("user: {user}, sudoPassword: not-needed")));
        assert_plans(kokctl, plan);
    }
}
