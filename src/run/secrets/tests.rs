#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use super::*;
use crate::randomness::SystemRandomness;
use kok_pki::{Authorities, Policy};
use time::Duration;

fn with(name: SecretName, text: &str) -> Secrets {
    Secrets::from_texts([(name, text)])
}

/// kubeadm's own rule (`BootstrapTokenPattern`): six and sixteen lower-case letters and digits.
#[test]
fn tokens_are_what_kubeadm_takes() {
    let is_part = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let mut tokens = BTreeSet::new();
    for _ in 0..64 {
        let token = Token::generate().unwrap_or_else(|_| panic!("no randomness"));
        let text = token.text();
        let (id, secret) = text.split_once('.').unwrap();
        assert!(id.len() == 6 && secret.len() == 16 && is_part(id) && is_part(secret), "{id}");
        assert!(id.starts_with(kok_tasks::operations::TOKEN_PREFIX) && id == token.id);
        tokens.insert(secret.to_owned());
    }
    assert_eq!(tokens.len(), 64);
}

#[test]
fn no_line_of_a_secret_is_printed() {
    let join = with(
        SecretName::JoinConfiguration { host: "w".into() },
        "discovery:\n  tlsBootstrapToken: \"kokabc.0123456789abcdef\"\nnodeRegistration:\n  name: \"w\"\n",
    );
    assert_eq!(join.redact("invalid token kokabc.0123456789abcdef given"), "invalid token [secret] given");
    let list = with(
        SecretName::BootstrapTokenConfiguration { host: "c".into() },
        "bootstrapTokens:\n- token: \"kokabc.0123456789abcdef\"\n  ttl: \"30m\"\n",
    );
    assert_eq!(list.redact("kokabc.0123456789abcdef"), "[secret]");
    let body = "MHcCAQEEIIr0fPq3vQf4G0y4m2Pq0n8w3l1s6y7u8i9o0p1a2s3d";
    let key = with(
        SecretName::ControlPlaneFile { host: "c".into(), path: "pki/ca.key".into() },
        &format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"),
    );
    assert_eq!(key.redact(&format!("-----BEGIN PRIVATE KEY-----\n{body}\n")), "-----BEGIN PRIVATE KEY-----\n[secret]\n");
    let data =
        with(SecretName::SuperAdminKubeconfig { host: "c".into() }, &format!("users:\n- name: a\n  user:\n    client-key-data: {body}\n"));
    assert_eq!(data.redact(&format!("error in line client-key-data: {body}")), "error in line client-key-data: [secret]");
}

/// What others have issued may have everything on one line.
#[test]
fn no_key_of_a_kubeconfig_is_printed_in_whatever_form_it_is() {
    let body = "MHcCAQEEIIr0fPq3vQf4G0y4m2Pq0n8w3l1s6y7u8i9o0p1a2s3d";
    for text in [
        format!(r#"{{"users":[{{"name":"a","user":{{"client-key-data":"{body}","client-certificate-data":"LS0t"}}}}],"kind":"Config"}}"#),
        format!("users: [{{name: a, user: {{client-key-data: {body}, client-certificate-data: LS0t}}}}]\n"),
        format!("users:\n- name: a\n  user: {{client-key-data: '{body}'}} # theirs\n"),
    ] {
        let issued = with(SecretName::ControlPlaneFile { host: "c".into(), path: "admin.conf".into() }, &text);
        assert_eq!(issued.redact(&format!("illegal base64 data: {body}")), "illegal base64 data: [secret]", "{text}");
        assert_eq!(issued.redact("users of kind Config"), "users of kind Config");
    }
}

#[test]
fn what_is_no_secret_stays_readable() {
    let join = with(SecretName::JoinConfiguration { host: "w".into() }, "nodeRegistration:\n  name: \"w\"\n");
    let words = with(
        SecretName::JoinConfiguration { host: "w".into() },
        "criSocket: \"unix:///run/containerd/containerd.sock\"\nkubeConfigPath: \"/run/kokctl/discovery.conf\"\nkind: ClusterConfiguration\n",
    );
    for said in
        ["unix:///run/containerd/containerd.sock does not answer", "/run/kokctl/discovery.conf is missing", "no ClusterConfiguration"]
    {
        assert_eq!(words.redact(said), said);
    }
    let said = "error execution phase preflight: [ERROR Port-10250]: Port 10250 is in use";
    assert_eq!(join.redact(said), said);
}

/// Whoever has it owns the cluster, and nobody can take that back; a job that dies may leave it in a tmpfs.
#[test]
fn the_kubeconfig_that_one_step_needs_lives_a_day_however_long_others_live() {
    let text = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n  certificates: {validity: 17520h}\n";
    let file = kok_crds::File { name: "cluster.yaml".to_owned(), text: text.to_owned(), role: kok_crds::Role::Main { cluster: None } };
    let cluster = kok_crds::read_input(&[file]).cluster.unwrap();
    let now = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
    let signer = Signer::Keys(Authorities::generate(&Policy::default(), now, &mut SystemRandomness).unwrap().into());
    let token = Token::generate().unwrap_or_else(|_| panic!("no randomness"));
    let lives = |name: SecretName| {
        let text = Secrets::none().make(&cluster, &signer, &token, now, &name).unwrap_or_else(|failure| panic!("{}", failure.what));
        let facts = kok_pki::inspect_kubeconfig(&kok_pki::SecretText::new(text.to_string())).unwrap();
        kok_pki::inspect_certificate(&facts.certificate_pem.unwrap()).unwrap().not_after - now
    };
    assert_eq!(lives(SecretName::SuperAdminKubeconfig { host: "cp1".into() }), Duration::days(1));
    assert_eq!(lives(SecretName::ControlPlaneFile { host: "cp1".into(), path: "admin.conf".into() }), Duration::days(730));
}
