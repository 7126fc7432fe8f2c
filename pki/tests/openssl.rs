//! The set in the eyes of OpenSSL, which shares no code with what made it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use kok_pki::{Authority, KeyAlgorithm, Policy, SecretText, inspect_certificate};
use support::{make, now};

fn openssl(directory: &Path, arguments: &[&str]) -> Output {
    Command::new("openssl")
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("these tests need the program openssl (Debian package openssl)")
}

fn stdout(directory: &Path, arguments: &[&str]) -> String {
    let output = openssl(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn written(policy: &Policy) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("pki/etcd")).unwrap();
    for file in make(3, policy).1 {
        fs::write(directory.path().join(file.path()), file.content.expose()).unwrap();
    }
    directory
}

#[rustfmt::skip]
const LEAVES: &[(&str, &str, &[&str])] = &[
    ("pki/apiserver", "pki/ca", &["sslserver"]),
    ("pki/apiserver-kubelet-client", "pki/ca", &["sslclient"]),
    ("pki/front-proxy-client", "pki/front-proxy-ca", &["sslclient"]),
    ("pki/apiserver-etcd-client", "pki/etcd/ca", &["sslclient"]),
    ("pki/etcd/server", "pki/etcd/ca", &["sslserver", "sslclient"]),
    ("pki/etcd/peer", "pki/etcd/ca", &["sslserver", "sslclient"]),
    ("pki/etcd/healthcheck-client", "pki/etcd/ca", &["sslclient"]),
];

fn verify(directory: &Path, ca: &str, leaf: &str, options: &[&str]) -> bool {
    let at = now().unix_timestamp().to_string();
    let (ca, leaf) = (format!("{ca}.crt"), format!("{leaf}.crt"));
    let mut arguments = vec!["verify", "-x509_strict", "-attime", &at, "-CAfile", &ca];
    arguments.extend(options);
    arguments.push(&leaf);
    openssl(directory, &arguments).status.success()
}

fn check_set(policy: &Policy) {
    let directory = written(policy);
    let directory = directory.path();
    for (leaf, ca, purposes) in LEAVES {
        for purpose in ["sslserver", "sslclient"] {
            let accepted = verify(directory, ca, leaf, &["-purpose", purpose]);
            assert_eq!(accepted, purposes.contains(&purpose), "{leaf} as {purpose}");
        }
        let foreign = if *ca == "pki/ca" { "pki/etcd/ca" } else { "pki/ca" };
        assert!(!verify(directory, foreign, leaf, &[]), "{leaf} is not signed by {foreign}");
        let of_key = stdout(directory, &["pkey", "-in", &format!("{leaf}.key"), "-pubout"]);
        let of_certificate = stdout(directory, &["x509", "-in", &format!("{leaf}.crt"), "-noout", "-pubkey"]);
        assert_eq!(of_key, of_certificate);
    }
    for name in ["localhost", "kubernetes.default.svc.cluster.local", "cp1", "api.demo.example"] {
        assert!(verify(directory, "pki/ca", "pki/apiserver", &["-verify_hostname", name]), "{name}");
    }
    for address in ["10.233.0.1", "10.0.0.11", "127.0.0.1"] {
        assert!(verify(directory, "pki/ca", "pki/apiserver", &["-verify_ip", address]), "{address}");
    }
    assert!(verify(directory, "pki/etcd/ca", "pki/etcd/peer", &["-verify_ip", "::1"]));
    assert!(!verify(directory, "pki/ca", "pki/apiserver", &["-verify_ip", "10.0.0.12"]));
    let public = stdout(directory, &["pkey", "-in", "pki/sa.key", "-pubout"]);
    assert_eq!(public, fs::read_to_string(directory.join("pki/sa.pub")).unwrap());
}

#[test]
fn openssl_accepts_every_leaf_for_its_purpose_only() {
    check_set(&Policy::default());
    for algorithm in [KeyAlgorithm::EcdsaP384, KeyAlgorithm::Rsa2048] {
        check_set(&Policy { algorithm, ..Policy::default() });
    }
}

#[test]
fn keys_are_of_the_kind_that_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = [
        (KeyAlgorithm::EcdsaP256, "256 bit"),
        (KeyAlgorithm::EcdsaP384, "384 bit"),
        (KeyAlgorithm::Rsa2048, "2048 bit"),
        (KeyAlgorithm::Rsa3072, "3072 bit"),
        (KeyAlgorithm::Rsa4096, "4096 bit"),
    ];
    assert_eq!(kinds.map(|(algorithm, _)| algorithm), KeyAlgorithm::ALL);
    for (algorithm, bits) in kinds {
        let key = kok_pki::PrivateKey::generate(algorithm, &mut support::Repeating::new(1)).unwrap();
        fs::write(directory.path().join("a.key"), key.pem().expose()).unwrap();
        let said = stdout(directory.path(), &["pkey", "-in", "a.key", "-noout", "-text"]);
        assert!(said.lines().next().unwrap().contains(bits), "{algorithm:?}: {said}");
    }
}

#[test]
fn fingerprints_and_serials_agree() {
    let directory = written(&Policy::default());
    let pem = fs::read_to_string(directory.path().join("pki/ca.crt")).unwrap();
    let facts = inspect_certificate(&pem).unwrap();
    let print = stdout(directory.path(), &["x509", "-in", "pki/ca.crt", "-noout", "-fingerprint", "-sha256", "-serial"]);
    let print = print.replace(':', "").to_lowercase();
    assert!(print.contains(&facts.sha256), "{print}");
    assert!(print.contains(&facts.serial), "{print}");
    fs::write(directory.path().join("der"), "").unwrap();
    stdout(directory.path(), &["x509", "-in", "pki/ca.crt", "-noout", "-pubkey", "-out", "public.pem"]);
    stdout(directory.path(), &["pkey", "-pubin", "-in", "public.pem", "-outform", "DER", "-out", "public.der"]);
    let digest = stdout(directory.path(), &["dgst", "-sha256", "-r", "public.der"]);
    assert_eq!(inspect_certificate(&pem).unwrap().fingerprint(), format!("sha256:{}", digest.split(' ').next().unwrap()));
}

/// Authorities that OpenSSL made, in the forms of key files that are found on hosts.
#[test]
fn authorities_made_elsewhere_are_taken_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let extensions = ["-addext", "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"];
    let forms: [(&str, &[&str]); 4] = [
        ("EC PRIVATE KEY", &["ecparam", "-name", "prime256v1", "-genkey", "-out", "ca.key"]),
        ("EC PRIVATE KEY", &["ecparam", "-name", "secp384r1", "-genkey", "-noout", "-out", "ca.key"]),
        ("RSA PRIVATE KEY", &["genrsa", "-traditional", "-out", "ca.key", "2048"]),
        ("PRIVATE KEY", &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072", "-out", "ca.key"]),
    ];
    for (label, make_key) in forms {
        stdout(directory, make_key);
        let mut request = vec!["req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=kubernetes", "-days", "3650", "-out", "ca.crt"];
        request.extend(extensions);
        stdout(directory, &request);
        let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
        assert!(read("ca.key").contains(&format!("-----BEGIN {label}-----")));
        let authority = Authority::from_pem(read("ca.crt"), Some(SecretText::new(read("ca.key")))).unwrap();
        assert_eq!(authority.key_pem().unwrap().expose(), read("ca.key"), "byte for byte");
        let profile = kok_pki::Leaf::ApiServer.profile(&support::host());
        let mut randomness = support::Repeating::new(5);
        let today = time::OffsetDateTime::now_utc();
        let issued = kok_pki::issue(&profile, &authority, &Policy::default(), today, &mut randomness).unwrap();
        assert_eq!(kok_pki::verify_leaf(&read("ca.crt"), &issued.certificate_pem, &profile, today), Ok(()));
        fs::write(directory.join("leaf.crt"), &issued.certificate_pem).unwrap();
        stdout(directory, &["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", "ca.crt", "leaf.crt"]);
    }
}

#[test]
fn what_is_no_authority_or_not_its_key_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    stdout(directory, &["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "a.key"]);
    stdout(directory, &["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "b.key"]);
    let certificate = |extension: &str| {
        stdout(
            directory,
            &["req", "-x509", "-new", "-key", "a.key", "-subj", "/CN=x", "-days", "9", "-out", "a.crt", "-addext", extension],
        );
        fs::read_to_string(directory.join("a.crt")).unwrap()
    };
    let load = |pem: &str, key: &str| {
        let key = SecretText::new(fs::read_to_string(directory.join(key)).unwrap());
        Authority::from_pem(pem.to_owned(), Some(key)).map(|_| ()).map_err(|error| error.to_string())
    };
    let sign = certificate("keyUsage=critical,keyCertSign");
    assert_eq!(load(&sign, "a.key"), Ok(()));
    assert_eq!(load(&sign, "b.key").unwrap_err(), "the certificate of CN=x and the private key don't belong together");
    let no_sign = certificate("keyUsage=critical,digitalSignature");
    assert_eq!(load(&no_sign, "a.key").unwrap_err(), "the certificate of CN=x cannot sign others: its key usage lacks keyCertSign");
    stdout(
        directory,
        &[
            "req",
            "-x509",
            "-new",
            "-key",
            "a.key",
            "-subj",
            "/CN=x",
            "-days",
            "9",
            "-out",
            "a.crt",
            "-config",
            "/dev/null",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ],
    );
    let leaf = fs::read_to_string(directory.join("a.crt")).unwrap();
    assert_eq!(load(&leaf, "a.key").unwrap_err(), "the certificate of CN=x cannot sign others: its basic constraints don't say CA:TRUE");
}
