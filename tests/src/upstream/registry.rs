//! The registry of the distribution project beside the server that stands for upstream: it answers under the names of upstream's registries, and
//! under one of its own.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};

use super::tokens::ISSUER;
use super::{AUTH_HOST, Isolated, index_of};
use crate::release::paths::default_cache;

/// Its own name.
pub const REGISTRY: &str = "registry.lan";
/// Beside the server's own address, in the same network namespace.
const ADDRESS: &str = "127.0.0.2";
/// The names of its certificate.
const NAMES: [&str; 4] = [REGISTRY, "registry.k8s.io", "ghcr.io", "index.docker.io"];
/// `user:password`; the registry reads bcrypt alone.
const HTPASSWD: &str = "user:$2y$05$kokctlkokctlkokctlkokOp9NVVD6cyEHM/sXKHWYhHqV18Tbti6u\n";
/// It listens within a second; the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(30);

/// How one says who one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// With name and password in each request.
    Basic,
    /// With a token of the server's, which wants to be started with `--login` and `--jwks jwks.json`.
    Tokens,
}

/// A registry that runs; it ends with this. What it holds stays in the folder `registry`, its CA is `registry.crt`, its log `registry.log`.
pub struct Registry(Child);

impl Drop for Registry {
    fn drop(&mut self) {
        // One that has ended needs no end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The registry's program, built from its sources where that has not been done.
///
/// # Errors
/// If it can't be built.
pub fn program(release: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let tools = default_cache()?.join("tools");
    let status = Command::new(release).args(["build", "--only", "distribution", "--output"]).arg(&tools).stdout(io::stderr()).status()?;
    let index = index_of(&tools)?;
    let file = index.files.iter().find(|file| file.name == "registry").filter(|_| status.success());
    Ok(tools.join(&file.ok_or("the registry was not built")?.path))
}

impl Registry {
    /// Starts it in the server's network.
    ///
    /// # Errors
    /// If it does not listen.
    pub fn start(program: &Path, server: &Isolated, access: Access, is_read_only: bool) -> Result<Self, Box<dyn Error>> {
        server.registries_at(ADDRESS, REGISTRY)?;
        if !server.file("registry.crt").exists() {
            certify(server)?;
        }
        fs::write(server.file("htpasswd"), HTPASSWD)?;
        fs::write(server.file("registry.yaml"), configuration(server, access, is_read_only).to_string())?;
        let log = File::create(server.file("registry.log"))?;
        let mut command = server.command(program);
        command
            .arg("serve")
            .arg(server.file("registry.yaml"))
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        let mut child = command.spawn()?;
        let began = Instant::now();
        while !fs::read_to_string(server.file("registry.log"))?.contains("listening on") {
            if began.elapsed() > DEADLINE || child.try_wait()?.is_some() {
                let said = fs::read_to_string(server.file("registry.log"))?;
                drop(Self(child));
                return Err(format!("the registry does not listen: {said}").into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self(child))
    }
}

/// What it reads is YAML, of which JSON is a part.
fn configuration(server: &Isolated, access: Access, is_read_only: bool) -> Value {
    let auth = match access {
        Access::Basic => json!({"htpasswd": {"realm": "lab", "path": server.file("htpasswd")}}),
        Access::Tokens => json!({"token": {
            "realm": format!("https://{AUTH_HOST}/token"), "service": REGISTRY, "issuer": ISSUER, "jwks": server.file("jwks.json"),
        }}),
    };
    json!({
        "version": 0.1,
        "log": {"level": "info"},
        "storage": {
            "filesystem": {"rootdirectory": server.file("registry")},
            "maintenance": {"readonly": {"enabled": is_read_only}},
        },
        "auth": auth,
        "http": {
            "addr": format!("{ADDRESS}:443"),
            "secret": "of the lab",
            "tls": {"certificate": server.file("registry.pem"), "key": server.file("registry.key")},
        },
    })
}

/// A certificate for all of its names, by a CA of its own.
fn certify(server: &Isolated) -> Result<(), Box<dyn Error>> {
    let (authority, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "registry of the lab");
    fs::write(server.file("registry.crt"), params.self_signed(&authority)?.pem())?;
    let leaf = CertificateParams::new(NAMES.map(str::to_owned))?.signed_by(&key, &Issuer::new(params, authority))?;
    fs::write(server.file("registry.pem"), leaf.pem())?;
    Ok(fs::write(server.file("registry.key"), key.serialize_pem())?)
}
