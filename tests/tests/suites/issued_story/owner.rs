//! Somebody who keeps the keys of all authorities, and signs with OpenSSL what kokctl says has to be signed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};

/// As a cluster's file calls them.
const AUTHORITIES: [&str; 3] = ["kubernetes", "etcd", "frontProxy"];

/// What kokctl can't go on without when it says how something has to be: `error: issued/HOST/PATH is missing` and the like.
const MOST_ROUNDS: usize = 3;

/// A certificate that is asked for.
struct Request<'a> {
    /// Below the folder of the cluster's file.
    path: &'a str,
    authority: &'a str,
    hint: &'a str,
}

/// Keeps the keys where kokctl does not look.
pub struct Owner<'a> {
    kokctl: &'a Kokctl<'a>,
}

impl<'a> Owner<'a> {
    /// Makes the authorities, and gives the cluster their certificates.
    pub fn new(kokctl: &'a Kokctl<'a>) -> Self {
        let owner = Self { kokctl };
        fs::create_dir(owner.safe()).unwrap();
        for name in AUTHORITIES {
            let (key, certificate) = (owner.safe().join(format!("{name}.key")), kokctl.folder().join(format!("{name}.crt")));
            let mut request = Command::new("openssl");
            request.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650"]);
            request.args(["-subj", &format!("/O=Owner/CN={name}"), "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout"]);
            done(request.arg(key).arg("-out").arg(certificate));
        }
        let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
        let authority = |name| format!("      {name}: {{certificate: {name}.crt}}\n");
        let field = format!("  certificates:\n    issued: issued\n    authorities:\n{}", AUTHORITIES.map(authority).concat());
        kokctl.write_manifest(&manifest.replacen("\nspec:\n", &format!("\nspec:\n{field}"), 1));
        owner
    }

    fn safe(&self) -> PathBuf {
        self.kokctl.folder().join("safe")
    }

    /// The issued file of a host.
    pub fn file(&self, host: &str, path: &str) -> PathBuf {
        self.kokctl.folder().join("issued").join(host).join(path)
    }

    /// Signs whatever `validate` misses until it misses nothing. Says how many that were.
    pub fn sign_what_is_missing(&self) -> usize {
        let mut signed = 0;
        for _ in 0..MOST_ROUNDS {
            let said = self.kokctl.verb("validate", &[]);
            if said.code == 0 {
                return signed;
            }
            for request in requests(&said) {
                self.sign(&request);
                signed += 1;
            }
        }
        panic!("{:?}", self.kokctl.verb("validate", &[]));
    }

    /// Issues another one in place of each of these files of a host.
    pub fn sign_again(&self, host: &str, paths: &[&str]) -> usize {
        for path in paths {
            let path = self.file(host, path);
            fs::remove_file(&path).unwrap();
            let _ = fs::remove_file(path.with_extension("key"));
        }
        self.sign_what_is_missing()
    }

    fn sign(&self, request: &Request<'_>) {
        let wanted = request.hint.strip_prefix("have a certificate of a ").unwrap();
        let (usages, wanted) = wanted.split_once(" signed with the subject ").unwrap();
        let (wanted, server) = match wanted.split_once(", in a kubeconfig that points to ") {
            Some((wanted, server)) => (wanted, server.split_once(", ").map(|(url, _)| url)),
            None => (wanted, None),
        };
        let (subject, names) = wanted.split_once(", for the names ").unwrap_or((wanted, ""));
        let path = self.kokctl.folder().join(request.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let (certificate, key) = match server {
            None => (path.clone(), path.with_extension("key")),
            Some(_) => (self.safe().join("leaf.crt"), self.safe().join("leaf.key")),
        };
        self.leaf(request.authority, &subject.replace(", ", "/"), (usages, names), (&certificate, &key));
        if let Some(server) = server {
            let authority = self.kokctl.folder().join(format!("{}.crt", request.authority));
            let [authority, certificate, key] = [&authority, &certificate, &key].map(|path| base64(path));
            write_secret(&path, &kubeconfig(server, &authority, &certificate, &key));
        }
    }

    fn leaf(&self, authority: &str, subject: &str, (usages, names): (&str, &str), (certificate, key): (&Path, &Path)) {
        let (request, extensions) = (self.safe().join("leaf.csr"), self.safe().join("leaf.ext"));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        done(openssl.args(["-subj", &format!("/{subject}")]).arg("-keyout").arg(key).arg("-out").arg(&request));
        let usages: Vec<String> = usages.split(" and ").map(|usage| format!("{usage}Auth")).collect();
        let mut text = format!("keyUsage=critical,digitalSignature\nextendedKeyUsage={}\n", usages.join(","));
        let is_address = |name: &str| name.parse::<std::net::IpAddr>().is_ok();
        let names: Vec<String> = names
            .split(", ")
            .filter(|name| !name.is_empty())
            .map(|name| format!("{}:{name}", if is_address(name) { "IP" } else { "DNS" }))
            .collect();
        if !names.is_empty() {
            text.push_str(&format!("subjectAltName={}\n", names.join(",")));
        }
        fs::write(&extensions, text).unwrap();
        let mut sign = Command::new("openssl");
        sign.args(["x509", "-req", "-days", "365", "-CAcreateserial", "-in"]).arg(request).arg("-extfile").arg(extensions);
        sign.arg("-CA").arg(self.kokctl.folder().join(format!("{authority}.crt")));
        done(sign.arg("-CAkey").arg(self.safe().join(format!("{authority}.key"))).arg("-out").arg(certificate));
    }
}

/// What messages ask for, by their lines.
fn requests(said: &KokctlOutput) -> Vec<Request<'_>> {
    let lines: Vec<&str> = said.stdout.lines().chain(said.stderr.lines()).collect();
    let mut requests = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(path) = line.strip_prefix("error: ").and_then(|line| line.strip_suffix(" is missing")) else { continue };
        let below = |beginning: &str| lines[index..].iter().find_map(|line| line.trim_start().strip_prefix(beginning)).unwrap();
        let authority = below("because: ").split('`').nth(1).unwrap();
        requests.push(Request { path, authority, hint: below("hint: ") });
    }
    assert!(!requests.is_empty(), "{said:?}");
    requests
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn base64(path: &Path) -> String {
    let output = Command::new("openssl").args(["base64", "-A", "-in"]).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn kubeconfig(server: &str, authority: &str, certificate: &str, key: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "owner",
        "clusters": [{"name": "lab", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": "owner", "user": {"client-certificate-data": certificate, "client-key-data": key}}],
        "contexts": [{"name": "owner", "context": {"cluster": "lab", "user": "owner"}}],
    })
    .to_string()
}

fn write_secret(path: &Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
