//! Certificate authorities of a user's own, and certificates as other programs than the one that made them see them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use kok_tests::lab::{Host, Lab};

use super::cluster::kubectl;
use super::kokctl::Kokctl;
use super::ok;

/// What is brought along; the third authority is kokctl's.
const OWN: [(&str, &str); 2] = [("kubernetes", "/etc/kubernetes/pki/ca.crt"), ("etcd", "/etc/kubernetes/pki/etcd/ca.crt")];

/// Leaves of a control plane by authority, with what they are good for.
const OF_CONTROL_PLANE: [(&str, &str, &str); 4] = [
    ("ca", "apiserver", "sslserver"),
    ("ca", "apiserver-kubelet-client", "sslclient"),
    ("etcd/ca", "apiserver-etcd-client", "sslclient"),
    ("front-proxy-ca", "front-proxy-client", "sslclient"),
];

/// Those of a member of etcd.
const OF_ETCD: [(&str, &str, &str); 5] = [
    ("etcd/ca", "etcd/server", "sslserver"),
    ("etcd/ca", "etcd/server", "sslclient"),
    ("etcd/ca", "etcd/peer", "sslserver"),
    ("etcd/ca", "etcd/peer", "sslclient"),
    ("etcd/ca", "etcd/healthcheck-client", "sslclient"),
];

/// OpenSSL takes every certificate of a host for what it is good for.
pub fn verify(host: &Host) {
    let there: Vec<_> = [&OF_CONTROL_PLANE[..], &OF_ETCD[..]].concat();
    let verify = |(authority, leaf, purpose): &(&str, &str, &str)| {
        format!("[ ! -e {leaf}.crt ] || openssl verify -purpose {purpose} -CAfile {authority}.crt {leaf}.crt")
    };
    let said = ok(host, &format!("cd /etc/kubernetes/pki && {}", there.iter().map(verify).collect::<Vec<_>>().join(" && ")));
    let least = if said.contains("apiserver.crt") { OF_CONTROL_PLANE.len() } else { OF_ETCD.len() };
    let good = said.lines().filter(|line| line.ends_with(": OK")).count();
    assert!(good >= least && good == said.lines().count(), "{}: {said}", host.name());
}

/// Lets the cluster have authorities with keys that OpenSSL made, and asks for such keys.
pub fn bring_own(kokctl: &Kokctl<'_>) {
    for (name, _) in OWN {
        make(kokctl, name, name);
    }
    let authority = |(name, _)| format!("      {name}: {{certificate: {name}.crt, key: {name}.key}}\n");
    let field = format!("  certificates:\n    keyAlgorithm: RSA-2048\n    authorities:\n{}", OWN.map(authority).concat());
    let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
    kokctl.write_manifest(&manifest.replacen("\nspec:\n", &format!("\nspec:\n{field}"), 1));
}

fn make(kokctl: &Kokctl<'_>, name: &str, subject: &str) {
    let (certificate, key) = (kokctl.folder().join(format!("{name}.crt")), kokctl.folder().join(format!("{name}.key")));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]);
    openssl.args(["-subj", &format!("/O=Owner/CN={subject} of the owner")]).arg("-out").arg(&certificate).arg("-keyout").arg(&key);
    let made = openssl.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
}

/// They are what hosts have, keys are of the kind that was asked for, and kubeadm is told so.
pub fn are_used(lab: &Lab, kokctl: &Kokctl<'_>) {
    let plane = lab.host("cp1").unwrap();
    for (name, path) in OWN {
        let own = fs::read_to_string(kokctl.folder().join(format!("{name}.crt"))).unwrap();
        assert_eq!(ok(&plane, &format!("cat {path}")), own.trim_end(), "{name}");
    }
    let kind = "openssl x509 -in /etc/kubernetes/pki/apiserver.crt -noout -text | grep -e 'Public-Key:' -e 'Issuer:'";
    let said = ok(&plane, kind);
    assert!(said.contains("(2048 bit)") && said.contains("kubernetes of the owner"), "{said}");
    let uploaded = kubectl(lab, "-n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'");
    assert!(uploaded.contains("encryptionAlgorithm: RSA-2048\n"), "{uploaded}");
    assert!(uploaded.contains("certificateValidityPeriod: 8760h0m0s\n"), "{uploaded}");
    let key = fs::read_to_string(kokctl.folder().join("etcd.key")).unwrap();
    let body = key.lines().nth(3).unwrap();
    assert!(!kokctl.transcript().contains(body) && !kokctl.journals().contains(body), "a key was said");
}

/// Another authority than the one in use is refused before anything is done.
pub fn others_are_refused(kokctl: &Kokctl<'_>) {
    let own = ["etcd.crt", "etcd.key"].map(|name| kokctl.folder().join(name));
    let kept = own.clone().map(|path| fs::read(path).unwrap());
    make(kokctl, "etcd", "another etcd");
    let apply = || kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    let said = apply();
    assert_eq!(said.code, 2, "the escrow knows it before any host is asked: {said:?}");
    assert!(said.stderr.contains("error: the authority `etcd` is not the one that is kept"), "{said:?}");
    let whole = fs::read_to_string(kokctl.manifest()).unwrap();
    kokctl.write_manifest(&whole.lines().filter(|line| !line.contains(" escrow: ")).map(|line| format!("{line}\n")).collect::<String>());
    let said = apply();
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains("error: the cluster has another authority than `etcd` of its file"), "{said:?}");
    kokctl.write_manifest(&whole);
    for (path, bytes) in own.into_iter().zip(kept) {
        fs::write(path, bytes).unwrap();
    }
}
