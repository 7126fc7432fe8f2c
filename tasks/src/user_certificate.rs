//! Certificates of users, by the API's own way: a request, an approval, and a signer in the cluster (Kubernetes, "Certificate Signing Requests").

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::operations::KUBECTL;
use crate::shell::quote;

/// Kubernetes signs for no shorter time.
pub const LEAST_VALIDITY: Duration = Duration::from_secs(600);

/// The signer answers within a second; one that is started anew within some.
const TRIES: u32 = 150;

/// The exit status where the request was approved, and nobody has signed it.
pub const NOT_SIGNED: u32 = 75;

/// The script for a control plane that has a request for a client's certificate signed, and prints the certificate in PEM. `name` is that of the object, which is
/// taken away again.
#[must_use]
pub fn script(name: &str, request_pem: &str, validity: Duration) -> String {
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": STANDARD.encode(request_pem),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "expirationSeconds": validity.as_secs(),
            "usages": ["client auth"],
        },
    });
    format!(
        "{KUBECTL}name={name}\n\
         printf '%s' {object} | kube create -f - >/dev/null || exit 1\n\
         trap 'kube delete certificatesigningrequest \"$name\" --ignore-not-found >/dev/null' EXIT\n\
         kube certificate approve \"$name\" >/dev/null || exit 1\n\
         tries=0\n\
         until certificate=$(kube get certificatesigningrequest \"$name\" -o 'jsonpath={{.status.certificate}}') && [ -n \"$certificate\" ]; do\n\
         \x20 tries=$((tries + 1))\n\
         \x20 if [ \"$tries\" -ge {TRIES} ]; then\n\
         \x20   kube get certificatesigningrequest \"$name\" -o 'jsonpath={{.status.conditions[*].message}}' >&2\n\
         \x20   exit {NOT_SIGNED}\n\
         \x20 fi\n\
         \x20 sleep 0.2\n\
         done\n\
         printf '%s' \"$certificate\" | base64 -d\n",
        name = quote(name),
        object = quote(&object.to_string()),
    )
}

/// Why nobody gets a certificate with this name, or with this group, if so.
#[must_use]
pub fn refused(user: &str, group: Option<&str>) -> Option<&'static str> {
    match (user, group) {
        (_, Some("system:masters")) => Some("nothing can take rights from that group, so the API server has no certificate signed for it"),
        (user, _) if user.starts_with("system:") => Some("names that begin with `system:` are those of Kubernetes' own programs"),
        (_, Some(group)) if group.starts_with("system:") => Some("groups that begin with `system:` are those of Kubernetes' own programs"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::fs;
    use std::process::Command;

    use super::*;

    /// A kubectl that keeps what it was asked, and has signed after the second question.
    const KUBECTL_OF_TESTS: &str = r#"#!/bin/sh
shift 3
case $1 in
  create) cat >"$FOLDER/object";;
  certificate) echo "$*" >>"$FOLDER/asked";;
  get) [ -z "$SIGNED" ] && exit 0
    if [ -e "$FOLDER/second" ]; then printf 'c2lnbmVk'; fi; : >"$FOLDER/second";;
  delete) echo "$*" >>"$FOLDER/asked";;
esac
"#;

    #[test]
    fn a_request_is_made_approved_waited_for_and_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("kubectl");
        // By a process of its own: one that another test starts meanwhile can't hold it open, so that it could not be run.
        let writes = ["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh", program.to_str().unwrap(), KUBECTL_OF_TESTS];
        assert!(Command::new("sh").args(writes).status().unwrap().success());
        let text = script("kokctl-user-1", "PEM", Duration::from_secs(3600)).replace("/usr/local/bin/kubectl", program.to_str().unwrap());
        let run = |signed: &str| {
            let _ = fs::remove_file(folder.path().join("asked"));
            // Tries of no length: a second of them is enough for a test.
            let text = text.replace("sleep 0.2", ":");
            Command::new("sh").args(["-c", &text]).env("FOLDER", folder.path()).env("SIGNED", signed).output().unwrap()
        };
        let output = run("yes");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stdout, b"signed");
        let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
        assert_eq!(asked, "certificate approve kokctl-user-1\ndelete certificatesigningrequest kokctl-user-1 --ignore-not-found\n");
        let object: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.path().join("object")).unwrap()).unwrap();
        assert_eq!(object.pointer("/spec/expirationSeconds"), Some(&3600.into()));
        assert_eq!(object.pointer("/spec/request"), Some(&"UEVN".into()));
        let output = run("");
        assert_eq!((output.status.code(), output.stdout.is_empty()), (i32::try_from(NOT_SIGNED).ok(), true));
        assert!(fs::read_to_string(folder.path().join("asked")).unwrap().contains("delete"), "it is taken away in any case");
    }

    #[test]
    fn names_of_kubernetes_own_are_refused() {
        assert_eq!([refused("jane", None), refused("jane", Some("dev"))], [None; 2]);
        for (user, group) in [("jane", "system:masters"), ("jane", "system:nodes"), ("system:admin", "dev")] {
            assert!(refused(user, Some(group)).is_some(), "{user} {group}");
        }
    }
}
