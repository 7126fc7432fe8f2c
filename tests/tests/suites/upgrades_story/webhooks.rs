//! Webhooks that nobody answers for.

use kok_tests::lab::Lab;

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;

/// One of a service that is not there refuses every pod: nothing is begun. One with a selector is told, and one for objects of its own is not in the way.
pub fn in_the_way_are_found(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let webhook = |(group, resource): (&str, &str), selector: &str| {
        let rules =
            format!(r#"[{{"apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["{resource}"]}}]"#);
        let service = r#"{"service": {"namespace": "default", "name": "gone"}, "caBundle": ""}"#;
        format!(
            r#"{{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {{"name": "gone"}},
            "webhooks": [{{"name": "gone.example.com", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "rules": {rules}, "clientConfig": {service}, "namespaceSelector": {selector}}}]}}"#
        )
    };
    let checked = |rule: (&str, &str), selector: &str, more: &[&str]| {
        kubectl(lab, &format!("apply -f - <<'END'\n{}\nEND", webhook(rule, selector)));
        let said = kokctl.verb("upgrade", &[&["--check", "--bundle", bundle], more].concat());
        (said.code, format!("{}{}", said.stdout, said.stderr).contains("nobody answers for it"))
    };
    assert_eq!(checked(("cert.example.com", "*/*"), "{}", &[]), (0, false));
    assert_eq!(checked(("", "pods"), r#"{"matchLabels": {"of": "somebody"}}"#, &[]), (0, true));
    assert_eq!(checked(("", "pods"), "{}", &[]), (3, true));
    assert_eq!(checked(("", "pods"), "{}", &["--ignore", "webhooks"]).0, 0);
    let said = kokctl.verb("upgrade", &["--yes", "--bundle", bundle]);
    assert!(said.code == 3 && said.stderr.contains("default/gone has no endpoint that is ready"), "{said:?}");
    kubectl(lab, "delete validatingwebhookconfiguration gone");
}
