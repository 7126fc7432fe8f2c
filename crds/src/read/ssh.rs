//! How to log in: the cluster's defaults, and what a host says differently.

use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::model::Ssh;
use crate::syntax::name;
use crate::words::quote;

/// OpenSSH's port.
const DEFAULT_PORT: u16 = 22;

/// Length of a SHA-256 digest in base64 without padding.
const FINGERPRINT_DIGITS: usize = 43;

const DEFAULTS: Form = Form {
    what: "the ssh of a cluster",
    fields: &["user", "port", "privateKeyFile", "knownHostsFile"],
    refused: &[
        ("hostKey", "a host key belongs to one host: write it under that host's `ssh`"),
        ("password", "logins are by key only: name the key's file in `privateKeyFile`"),
    ],
};

const OF_HOST: Form = Form {
    what: "the ssh of a host",
    fields: &["user", "port", "privateKeyFile", "knownHostsFile", "hostKey"],
    refused: &[("password", "logins are by key only: name the key's file in `privateKeyFile`")],
};

/// A login with its port.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) ssh: Ssh,
    pub(super) port: u16,
}

/// The logins of hosts that say nothing themselves.
pub(super) fn read_defaults(decoder: &mut Decoder, field: Option<Field<'_>>) -> Login {
    let builtin =
        Login { ssh: Ssh { user: "root".into(), private_key_file: None, known_hosts_file: None, host_key: None }, port: DEFAULT_PORT };
    match field.and_then(|field| decoder.fields(&field, &DEFAULTS)) {
        Some(fields) => read(decoder, &fields, &builtin),
        None => builtin,
    }
}

/// The login of one host.
pub(super) fn read_host(decoder: &mut Decoder, field: Option<Field<'_>>, defaults: &Login) -> Login {
    match field.and_then(|field| decoder.fields(&field, &OF_HOST)) {
        Some(fields) => read(decoder, &fields, defaults),
        None => defaults.clone(),
    }
}

fn read(decoder: &mut Decoder, fields: &Fields<'_>, defaults: &Login) -> Login {
    let mut login = defaults.clone();
    if let Some(user) = checked(decoder, fields.get("user"), name::user) {
        login.ssh.user = user;
    }
    if let Some(port) = fields.get("port").and_then(|field| read_port(decoder, &field)) {
        login.port = port;
    }
    if let Some(path) = checked(decoder, fields.get("privateKeyFile"), name::path) {
        login.ssh.private_key_file = Some(path);
    }
    if let Some(path) = checked(decoder, fields.get("knownHostsFile"), name::path) {
        login.ssh.known_hosts_file = Some(path);
    }
    login.ssh.host_key = fields.get("hostKey").and_then(|field| read_fingerprint(decoder, &field));
    login
}

pub(super) fn read_port(decoder: &mut Decoder, field: &Field<'_>) -> Option<u16> {
    decoder.integer(field, 1..=65535).and_then(|port| u16::try_from(port).ok())
}

fn checked(decoder: &mut Decoder, field: Option<Field<'_>>, check: fn(&str) -> Option<&'static str>) -> Option<String> {
    let field = field?;
    let text = decoder.text(&field)?;
    let Some(reason) = check(text) else {
        return Some(text.to_owned());
    };
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text)));
    decoder.report(problem.at(field.position()).because(reason));
    None
}

fn read_fingerprint(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let text = decoder.text(field)?;
    let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let digits = text.strip_prefix("SHA256:").unwrap_or_default();
    if digits.len() == FINGERPRINT_DIGITS && digits.chars().all(is_digit) {
        return Some(text.to_owned());
    }
    decoder.report(
        Problem::new(format!("{} is no fingerprint of a host key", quote(text)))
            .at(field.position())
            .because("it is `SHA256:` and 43 digits of base64, as OpenSSH prints it")
            .hint("on the host, `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints it"),
    );
    None
}
