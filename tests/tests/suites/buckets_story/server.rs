//! A real server that speaks S3.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kok_tests::lab::Lab;
use kok_tests::release::paths::default_cache;
use serde_json::Value;

use crate::cluster_support::kokctl::program;
use crate::lab_support::wait_for;

/// The key of the bucket, made for this test, and used for nothing else.
pub const ACCESS: &str = "c4n4ryaccess";
pub const SECRET: &str = "c4n4ry-of-the-bucket-5d0a";
pub const BUCKET: &str = "backups";

/// The server, in the lab's network, with a folder for what it stores.
pub struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    /// With so many megabytes of room, if that is said.
    pub fn start(lab: &Lab, beside: &Path, port: u16, megabytes: Option<u32>) -> Self {
        let folder = beside.join(format!("s3-{port}"));
        fs::create_dir(&folder).unwrap();
        certificate(beside);
        let serve = format!(
            "{}cd {} && exec {} --access {ACCESS} --secret {SECRET} --port 127.0.0.1:{port} --cert {} --key {} --quiet posix {}",
            megabytes.map(|size| format!("mount -t tmpfs -o size={size}m tmpfs {} && ", folder.display())).unwrap_or_default(),
            beside.display(),
            versitygw().display(),
            beside.join("server.crt").display(),
            beside.join("server.key").display(),
            folder.display()
        );
        let serve = format!("mkdir -p {}/{BUCKET}; {serve}", folder.display());
        let serve = if megabytes.is_some() {
            serve.replacen(" && cd", &format!(" && mkdir {}/{BUCKET} && cd", folder.display()), 1)
        } else {
            serve
        };
        let mut command = lab.command("setpriv").unwrap();
        command.args(["--pdeathsig", "KILL", "unshare", "--mount", "sh", "-c", &serve]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("the server of the bucket answers", 30, || {
            let address = format!("https://127.0.0.1:{port}/");
            lab.command("curl").unwrap().args(["--silent", "--insecure", "--output", "/dev/null", &address]).status().unwrap().success()
        });
        Self { child, folder }
    }

    /// What it stores of a backup.
    pub fn object(&self, address: &str) -> PathBuf {
        self.folder.join(address.strip_prefix("s3://").unwrap())
    }

    pub fn objects(&self) -> Vec<String> {
        let folder = self.folder.join(BUCKET).join("clusters/demo");
        let mut names: Vec<String> = fs::read_dir(folder).map_or_else(
            |_| Vec::new(),
            |entries| {
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).filter(|name| !name.starts_with('.')).collect()
            },
        );
        names.sort();
        names
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn versitygw() -> PathBuf {
    let to = default_cache().unwrap().join("tool-versitygw");
    let release = program().with_file_name("release");
    let output = Command::new(release).args(["build", "--only", "versitygw", "--output"]).arg(&to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let index: Value = serde_json::from_str(&fs::read_to_string(to.join("bundle.json")).unwrap()).unwrap();
    to.join(index["files"][0]["path"].as_str().unwrap())
}

/// A certificate for the address of the server, and the CA that has signed it.
fn certificate(folder: &Path) {
    if folder.join("server.crt").exists() {
        return;
    }
    let request = |more: &[&str]| {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(folder).args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
        let output = openssl.args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    request(&["-subj", "/CN=CA of the bucket", "-keyout", "ca.key", "-out", "ca.crt"]);
    let leaf = ["-subj", "/CN=s3", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"];
    request(&[&leaf[..], &["-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", "server.key", "-out", "server.crt"]].concat());
}
