//! The scripts that replace an authority, with programs that answer in the place of kubeadm and kubectl.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_pki::AuthorityKind;
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::digest::sha256;
use kok_tasks::observe::{Look, Looks, Nonce, Observations, parse, probe_script};
use kok_tasks::operations::{Component, KubeletTrust, Operation, PublishTrust, SigningCertificate, StaticPods};
use kok_tasks::script::PRELUDE;

use crate::support::shell::{Folder, SHELLS, inner_of, run};

const MANIFEST: &str = "manifests/kube-controller-manager.yaml";
const OLD: &str = "-----BEGIN CERTIFICATE-----\nT0xE\n-----END CERTIFICATE-----\n";
const NEW: &str = "-----BEGIN CERTIFICATE-----\nTkVX\n-----END CERTIFICATE-----\n";

/// A host with nothing but these folders.
fn host() -> Folder {
    let folder = Folder::new();
    for path in ["bin", "kubernetes/manifests", "kubernetes/pki", "state/made/control-plane.files"] {
        fs::create_dir_all(folder.path(path)).unwrap();
    }
    folder
}

fn there(folder: &Folder, text: &str) -> String {
    let text = text.replace("/usr/local/bin/", &folder.text("bin/")).replace("/etc/kubernetes", &folder.text("kubernetes"));
    text.replace("/var/lib/kokctl", &folder.text("state"))
}

fn put(folder: &Folder, path: &str, text: &str) {
    fs::write(folder.path(path), there(folder, text)).unwrap();
}

fn is(folder: &Folder, path: &str) -> String {
    fs::read_to_string(folder.path(path)).unwrap()
}

fn acts(folder: &Folder, operation: &Operation, shell: &[&str]) {
    let act = operation.act(&Change::new(ChangeKind::Write, "a test"));
    let text = there(folder, &inner_of(act.script().unwrap().parts()));
    let output = run(shell, &[], &format!("PATH={}:$PATH\n{PRELUDE}set -eu\n{text}", folder.text("bin")));
    assert!(output.status.success(), "{shell:?}: {output:?}");
}

fn looked(folder: &Folder, look: Look, shell: &[&str]) -> Observations {
    let (nonce, looks) = (Nonce::new([3; 16]), [look].into_iter().collect::<Looks>());
    let output = run(shell, &[], &there(folder, &probe_script(&nonce, &looks, None)));
    parse(&nonce, &looks, &output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn manifest(certificate: &str) -> String {
    format!(
        "  - command:\n    - kube-controller-manager\n    - --client-ca-file=/etc/kubernetes/pki/ca.crt\n    - --cluster-signing-cert-file=/etc/kubernetes/pki/{certificate}\n    - --cluster-signing-key-file=/etc/kubernetes/pki/ca.key\n    - --root-ca-file=/etc/kubernetes/pki/ca.crt\n"
    )
}

/// What a record says of the manifest that is there.
fn recorded(folder: &Folder) -> String {
    let path = folder.text(&format!("kubernetes/{MANIFEST}"));
    format!("abc  configuration\n{}  {path}\n", sha256(is(folder, &format!("kubernetes/{MANIFEST}")).as_bytes()))
}

#[test]
fn the_manifest_names_the_certificate_that_signs_and_its_record_knows() {
    let path = format!("kubernetes/{MANIFEST}");
    for shell in SHELLS {
        let folder = host();
        put(&folder, &path, &manifest("ca.crt"));
        fs::set_permissions(folder.path(&path), fs::Permissions::from_mode(0o600)).unwrap();
        put(&folder, "state/made/control-plane", &recorded(&folder));
        acts(&folder, &Operation::SigningCertificate(SigningCertificate { apart: true }), shell);
        assert_eq!(is(&folder, &path), there(&folder, &manifest("ca-signing.crt")), "{shell:?}");
        assert_eq!(fs::metadata(folder.path(&path)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(is(&folder, "state/made/control-plane"), recorded(&folder));
        assert_eq!(is(&folder, "state/made/control-plane.files/kube-controller-manager.yaml"), is(&folder, &path));
        assert_eq!(fs::read_dir(folder.path("kubernetes/manifests")).unwrap().count(), 1, "the kubelet would start whatever lies there");
        acts(&folder, &Operation::SigningCertificate(SigningCertificate { apart: false }), shell);
        assert_eq!(is(&folder, &path), there(&folder, &manifest("ca.crt")));
        assert_eq!(is(&folder, "state/made/control-plane"), recorded(&folder));
        // What somebody has changed by hand stays told.
        put(&folder, "state/made/control-plane", "abc  configuration\nother  somewhere\n");
        acts(&folder, &Operation::SigningCertificate(SigningCertificate { apart: true }), shell);
        assert_eq!(is(&folder, "state/made/control-plane"), "abc  configuration\nother  somewhere\n");
    }
}

/// As an upgrade does it, or a changed option, while two authorities are trusted.
#[test]
fn a_manifest_that_is_made_anew_meanwhile_names_it_too() {
    let kubeadm = "#!/bin/sh\nfor name in kube-apiserver kube-scheduler; do echo \"$name\" >FOLDERkubernetes/manifests/$name.yaml; done\n\
                   cat FOLDERmade >FOLDERkubernetes/manifests/kube-controller-manager.yaml\n";
    let pods = StaticPods {
        component: Component::ControlPlane,
        configuration: "/etc/kubernetes/kokctl/bootstrap.yaml".to_owned(),
        of_member: None,
        source: "abc".to_owned(),
        source_alone: None,
    };
    for (shell, apart) in SHELLS.into_iter().flat_map(|shell| [(shell, false), (shell, true)]) {
        let folder = host();
        folder.program("bin/kubeadm", &kubeadm.replace("FOLDER", &folder.text("")));
        put(&folder, "made", &manifest("ca.crt"));
        if apart {
            put(&folder, "kubernetes/pki/ca-signing.crt", OLD);
        }
        acts(&folder, &Operation::StaticPods(pods.clone()), shell);
        let names = if apart { "ca-signing.crt" } else { "ca.crt" };
        assert_eq!(is(&folder, &format!("kubernetes/{MANIFEST}")), there(&folder, &manifest(names)), "{shell:?}");
        let record = is(&folder, "state/made/control-plane");
        assert!(recorded(&folder).lines().all(|line| record.lines().any(|known| known == line)), "{shell:?}: {record}");
        assert_eq!(fs::read_dir(folder.path("kubernetes/manifests")).unwrap().count(), 3);
    }
}

#[test]
fn a_kubelet_gets_other_authorities_and_keeps_the_rest() {
    let both = format!("{NEW}# kokctl: has signed before\n{OLD}");
    let conf = |authorities: &str| {
        let data = STANDARD.encode(authorities);
        format!(
            "clusters:\n- cluster:\n    certificate-authority-data: {data}\n    server: https://lb:6443\nusers:\n- user: {{client-key: /k}}\n"
        )
    };
    for shell in SHELLS {
        let folder = host();
        put(&folder, "kubernetes/kubelet.conf", &conf(OLD));
        put(&folder, "state/made/kubelet-finalized", &format!("{}\n", sha256(is(&folder, "kubernetes/kubelet.conf").as_bytes())));
        let trust = Operation::KubeletTrust(KubeletTrust { authorities: both.clone() });
        acts(&folder, &trust, shell);
        assert_eq!(is(&folder, "kubernetes/kubelet.conf"), conf(&both), "{shell:?}");
        assert_eq!(is(&folder, "state/made/kubelet-finalized").trim(), sha256(conf(&both).as_bytes()));
        let path = folder.text("kubernetes/kubelet.conf");
        let seen = looked(&folder, Look::KubeconfigAuthorities(path.clone()), shell);
        assert_eq!(seen.kubeconfig_authorities.get(&path), Some(&Some(both.clone())), "{shell:?}");
        put(&folder, "state/made/kubelet-finalized", "of another one\n");
        acts(&folder, &trust, shell);
        assert_eq!(is(&folder, "state/made/kubelet-finalized"), "of another one\n");
    }
}

/// kubectl as far as it goes: what its templates make of objects.
const KUBECTL: &str = r#"#!/bin/sh
case "$*" in
*readyz*) echo ok;;
*'get configmap cluster-info'*'"joining '*) [ ! -e FOLDERjoining ] || { printf 'joining '; cat FOLDERjoining; };;
*'get configmap cluster-info'*) cat FOLDERjoining;;
*'get configmap extension-apiserver-authentication'*) printf 'clients "old\\n"\nfront-proxy "proxy\\n"\n';;
*'get configmaps'*) cat FOLDERroots; [ ! -e FOLDERfails ];;
*'get pods'*) cat FOLDERpods; [ ! -e FOLDERfails ];;
*patch*) for last; do :; done; printf '%s\n' "$last" >>FOLDERpatched;;
esac
"#;

fn with_kubectl() -> Folder {
    let folder = host();
    folder.program("bin/kubectl", &KUBECTL.replace("FOLDER", &folder.text("")));
    put(&folder, "kubernetes/admin.conf", "kubeconfig");
    put(&folder, "kubernetes/manifests/kube-apiserver.yaml", "    - --secure-port=6443\n");
    folder
}

fn joining(authorities: &str) -> String {
    format!(
        "\"clusters:\\n- cluster:\\n    certificate-authority-data: {}\\n    server: \\\"https://a:6443\\\"\\n\"\n",
        STANDARD.encode(authorities)
    )
}

#[test]
fn what_the_cluster_tells_others_is_read_once_for_all_namespaces_that_have_the_same() {
    for shell in SHELLS {
        let folder = with_kubectl();
        put(&folder, "joining", &joining(OLD));
        put(&folder, "roots", "\"old\\n\" web\n\"new\\n\" shop\n\"old\\n\" default\n");
        let trust = looked(&folder, Look::ClusterTrust, shell).cluster_trust.unwrap().unwrap();
        assert_eq!(
            (trust.joining.as_deref(), trust.clients.as_deref(), trust.front_proxy.as_deref()),
            (Some(OLD), Some("old\n"), Some("proxy\n"))
        );
        let pods: Vec<&str> = trust.pods.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(pods, ["new\n", "old\n"], "{shell:?}");
        // A cluster to which nobody has joined yet.
        fs::remove_file(folder.path("joining")).unwrap();
        assert_eq!(looked(&folder, Look::ClusterTrust, shell).cluster_trust.unwrap().unwrap().joining, None, "{shell:?}");
        // A list that was cut off is not all of it.
        put(&folder, "fails", "");
        let cut = looked(&folder, Look::ClusterTrust, shell).cluster_trust.unwrap().unwrap();
        assert!(cut.pods.iter().any(|(_, text)| text.is_empty()), "{shell:?}: {cut:?}");
    }
}

#[test]
fn what_it_tells_is_changed_where_it_is_another_one() {
    let both = format!("{NEW}{OLD}");
    let publish = |authorities: &str, alone| {
        Operation::PublishTrust(PublishTrust { kind: AuthorityKind::Kubernetes, authorities: authorities.to_owned(), alone })
    };
    for shell in SHELLS {
        let folder = with_kubectl();
        put(&folder, "joining", &joining(OLD));
        acts(&folder, &publish(&both, false), shell);
        let patched: serde_json::Value = serde_json::from_str(is(&folder, "patched").trim().strip_prefix("--patch=").unwrap()).unwrap();
        let kubeconfig = patched["data"]["kubeconfig"].as_str().unwrap();
        assert!(
            kubeconfig.contains(&STANDARD.encode(&both)) && kubeconfig.contains("server: \"https://a:6443\""),
            "{shell:?}: {kubeconfig}"
        );
        fs::remove_file(folder.path("patched")).unwrap();
        put(&folder, "joining", &joining(&both));
        acts(&folder, &publish(&both, false), shell);
        assert!(!folder.path("patched").exists(), "{shell:?}: nothing is to be changed");
        acts(&folder, &publish(NEW, true), shell);
        let patched = is(&folder, "patched");
        assert_eq!(patched.lines().count(), 2, "{shell:?}: {patched}");
        assert!(patched.lines().nth(1).unwrap().contains("client-ca-file") && !patched.contains("T0xE"), "{shell:?}: {patched}");
    }
}

#[test]
fn pods_are_as_old_as_their_file() {
    for shell in SHELLS {
        let folder = with_kubectl();
        put(&folder, "kubernetes/pki/ca.crt", OLD);
        put(&folder, "pods", "2100-01-01T00:00:00Z web/young\n2001-01-01T00:00:00Z web/old\n2000-01-01T00:00:00Z kube-system/older\n");
        let path = folder.text("kubernetes/pki/ca.crt");
        let found = looked(&folder, Look::OlderPods(path.clone()), shell).older_pods.unwrap().unwrap();
        assert_eq!(found.before(0), ["kube-system/older", "web/old"], "{shell:?}");
        put(&folder, "fails", "");
        assert!(looked(&folder, Look::OlderPods(path), shell).older_pods.unwrap().is_err(), "{shell:?}");
    }
}
