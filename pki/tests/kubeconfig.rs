//! Kubeconfigs as a YAML parser sees them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use base64::Engine as _;
use kok_pki::{
    AuthorityKind, ControlPlane, Credentials, Defect, Endpoint, KubeconfigUser, Material, Policy, SecretText, discovery_kubeconfig,
    inspect_kubeconfig, kubeconfig, verify_kubeconfig,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{content, host, make, now};

fn parse(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn encoded(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn the_kubeconfigs_of_a_control_plane_point_where_kubeadm_points_them() {
    let (_, files) = make(1, &Policy::default());
    let ca = encoded(content(&files, "pki/ca.crt"));
    for (file, user, server) in [
        ("admin.conf", "kubernetes-admin", "https://api.demo.example:8443"),
        ("super-admin.conf", "kubernetes-super-admin", "https://api.demo.example:8443"),
        ("kubelet.conf", "system:node:cp1", "https://10.0.0.11:6443"),
        ("controller-manager.conf", "system:kube-controller-manager", "https://10.0.0.11:6443"),
        ("scheduler.conf", "system:kube-scheduler", "https://10.0.0.11:6443"),
    ] {
        let config = parse(content(&files, file));
        assert_eq!(config["apiVersion"], "v1");
        assert_eq!(config["kind"], "Config");
        assert_eq!(config["current-context"], format!("{user}@kubernetes"));
        assert_eq!(config["contexts"], json!([{"name": format!("{user}@kubernetes"), "context": {"cluster": "kubernetes", "user": user}}]));
        assert_eq!(config["clusters"], json!([{"name": "kubernetes", "cluster": {"certificate-authority-data": ca, "server": server}}]));
        assert_eq!(config["users"][0]["name"], user);
        let credentials = config["users"][0]["user"].as_object().unwrap();
        let fields: Vec<_> = credentials.keys().map(String::as_str).collect();
        assert_eq!(fields, ["client-certificate-data", "client-key-data"]);
    }
}

#[test]
fn addresses_of_ipv6_stand_in_brackets() {
    let mut host = ControlPlane { advertise_address: "2001:db8::11".parse().unwrap(), endpoint: None, ..host() };
    assert_eq!(host.local_server(), "https://[2001:db8::11]:6443");
    assert_eq!(host.cluster_server(), "https://[2001:db8::11]:6443");
    host.endpoint = Some(Endpoint { host: "2001:db8::1".into(), port: 443 });
    assert_eq!(host.cluster_server(), "https://[2001:db8::1]:443");
}

#[test]
fn the_discovery_kubeconfig_holds_no_credentials() {
    let text = discovery_kubeconfig("kubernetes", "https://10.0.0.11:6443", "CA");
    assert_eq!(
        text,
        "apiVersion: v1\nkind: Config\nclusters:\n- name: \"kubernetes\"\n  cluster:\n    certificate-authority-data: \"Q0E=\"\n\
         \x20   server: \"https://10.0.0.11:6443\"\ncontexts:\n- name: \"anonymous@kubernetes\"\n  context:\n    cluster: \"kubernetes\"\n\
         \x20   user: \"anonymous\"\ncurrent-context: \"anonymous@kubernetes\"\npreferences: {}\nusers:\n- name: \"anonymous\"\n  user: {}\n"
    );
    assert_eq!(parse(&text)["users"][0]["user"], json!({}));
}

#[test]
fn a_kubeconfig_that_was_found_is_checked() {
    let (authorities, files) = make(1, &Policy::default());
    let (_, others) = make(2, &Policy::default());
    let ca = authorities.get(AuthorityKind::Kubernetes).certificate_pem();
    let check = |text: &str, user: KubeconfigUser, host: &ControlPlane, at| {
        let (expected, server) = (user.profile(host), user.server(host));
        verify_kubeconfig(&SecretText::new(text.to_owned()), ca, &expected, &server, at).err().unwrap_or_default()
    };
    for user in KubeconfigUser::ALL {
        let text = content(&files, Material::Kubeconfig(user).path());
        assert_eq!(check(text, user, &host(), now()), []);
    }
    let admin = content(&files, "admin.conf");
    let facts = inspect_kubeconfig(&SecretText::new(admin.to_owned())).unwrap();
    assert_eq!((facts.user.as_str(), facts.ca_pem.as_deref()), ("kubernetes-admin", Some(ca)));
    let moved = ControlPlane { endpoint: None, ..host() };
    let server = Defect::Server { expected: "https://10.0.0.11:6443".into(), found: "https://api.demo.example:8443".into() };
    assert_eq!(check(admin, KubeconfigUser::Admin, &moved, now()), [server]);
    let later = now() + time::Duration::days(366);
    assert!(matches!(check(admin, KubeconfigUser::Admin, &host(), later).as_slice(), [Defect::Expired(_)]));
    assert!(matches!(check(admin, KubeconfigUser::SuperAdmin, &host(), now()).as_slice(), [Defect::Subject { .. }]));
    let foreign = check(content(&others, "admin.conf"), KubeconfigUser::Admin, &host(), now());
    assert!(matches!(foreign.as_slice(), [Defect::TrustsAnother, Defect::WrongAuthority { .. }]));
    let key = content(&others, "pki/sa.key");
    let mixed = kubeconfig(
        "kubernetes",
        "https://api.demo.example:8443",
        ca,
        &Credentials {
            user: "kubernetes-admin",
            certificate_pem: facts.certificate_pem.as_deref().unwrap(),
            key_pem: &SecretText::new(key.to_owned()),
        },
    );
    assert_eq!(check(mixed.expose(), KubeconfigUser::Admin, &host(), now()), [Defect::ForeignKey]);
    let discovery = discovery_kubeconfig("kubernetes", "https://api.demo.example:8443", ca);
    assert_eq!(check(&discovery, KubeconfigUser::Admin, &host(), now()), [Defect::NoCredentials]);
}

#[test]
fn errors_about_a_kubeconfig_never_quote_it() {
    let (_, files) = make(1, &Policy::default());
    let admin = content(&files, "admin.conf");
    let data = admin.lines().find_map(|line| line.trim().strip_prefix("client-key-data: ")).unwrap().trim_matches('"');
    for broken in [
        admin.replace("client-key-data: ", "client-key-data: [").replace("kind:", "kind"),
        admin.replace(data, &format!("!{data}")),
        admin.replace(data, &format!("{data}\"\n      - \"{data}")),
        admin.replace("clusters:", "others:"),
        admin.replace("current-context:", "current:"),
        admin[..admin.len() - 3].to_owned(),
        String::new(),
    ] {
        let error = inspect_kubeconfig(&SecretText::new(broken)).err().unwrap().to_string();
        assert!(error.starts_with("cannot read the kubeconfig: ") && error.len() < 100, "{error}");
        assert!(!error.contains(&data[..8]), "{error}");
    }
}

proptest! {
    #[test]
    fn reading_any_kubeconfig_ends_with_an_answer(text in any::<String>(), place in 0_usize..4000, piece in "[a-z{}:\\[\\]&* \n-]{0,9}") {
        let _ = inspect_kubeconfig(&SecretText::new(text));
        let (_, files) = make(1, &Policy::default());
        let mut text = content(&files, "admin.conf").to_owned();
        text.insert_str(place % text.len(), &piece);
        let _ = inspect_kubeconfig(&SecretText::new(text));
    }

    #[test]
    fn no_name_changes_the_structure(cluster in any::<String>(), server in any::<String>(), user in any::<String>(), ca in any::<String>()) {
        let key = SecretText::new("key".into());
        let text = kubeconfig(&cluster, &server, &ca, &Credentials { user: &user, certificate_pem: "certificate", key_pem: &key });
        let context = format!("{user}@{cluster}");
        prop_assert_eq!(parse(text.expose()), json!({
            "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": context,
            "clusters": [{"name": cluster, "cluster": {"certificate-authority-data": encoded(&ca), "server": server}}],
            "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
            "users": [{"name": user, "user": {"client-certificate-data": encoded("certificate"), "client-key-data": encoded("key")}}],
        }));
    }
}
