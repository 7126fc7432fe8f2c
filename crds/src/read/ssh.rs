//! How to log in: the cluster's defaults, and what a host says differently.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::hide::is_private_key;
use crate::model::{Bastion, HostKeyChecking, Ssh, Via};
use crate::syntax::name;
use crate::words::quote;

/// Length of a SHA-256 digest in base64 without padding.
const FINGERPRINT_DIGITS: usize = 43;

/// OpenSSH's port.
const DEFAULT_PORT: u16 = 22;

/// More hops than any network has; each is a login of its own.
const MAX_BASTIONS: usize = 4;

/// The word that stands for no bastion at all.
const NO_BASTION: &str = "none";

/// What others call our fields.
const FOREIGN: [(&str, &str); 5] = [
    ("sudoPass", "write it as `sudoPassword`"),
    ("becomePassword", "write it as `sudoPassword`"),
    ("proxyJump", "write it as `bastion`"),
    ("jumpHost", "write it as `bastion`"),
    ("strictHostKeyChecking", "write it as `hostKeyChecking`, which is `strict` or `accept-new`"),
];

pub(crate) const DEFAULTS: Form = Form {
    what: "the ssh of a cluster",
    fields: &["user", "port", "privateKeyFile", "knownHostsFile", "hostKeyChecking", "password", "sudoPassword", "bastion"],
    refused: &with_foreign([
        ("hostKey", "a host key belongs to one host: write it under that host's `ssh`"),
        ("address", "an address belongs to one host: write it under that host's `ssh`"),
    ]),
};

pub(crate) const OF_HOST: Form = Form {
    what: "the ssh of a host",
    fields: &[
        "address",
        "user",
        "port",
        "privateKeyFile",
        "knownHostsFile",
        "hostKey",
        "hostKeyChecking",
        "password",
        "sudoPassword",
        "bastion",
    ],
    refused: &FOREIGN,
};

const OF_BASTION: Form = Form {
    what: "a bastion",
    fields: &["address", "user", "port", "privateKeyFile", "knownHostsFile", "hostKey", "hostKeyChecking", "password", "bastion"],
    refused: &with_foreign([
        ("sudoPassword", "nothing runs on a bastion, so nobody needs to be root there"),
        ("host", "write it as `address`"),
    ]),
};

const fn with_foreign(own: [(&'static str, &'static str); 2]) -> [(&'static str, &'static str); 7] {
    let [first, second] = own;
    let [a, b, c, d, e] = FOREIGN;
    [first, second, a, b, c, d, e]
}

/// The logins of hosts that say nothing themselves.
pub(crate) fn read_defaults(decoder: &mut Decoder, field: Option<Field<'_>>) -> Ssh {
    read_form(decoder, field, &DEFAULTS, &Ssh::default())
}

/// The login of one host.
pub(super) fn read_host(decoder: &mut Decoder, field: Option<Field<'_>>, defaults: &Ssh) -> Ssh {
    read_form(decoder, field, &OF_HOST, defaults)
}

fn read_form(decoder: &mut Decoder, field: Option<Field<'_>>, form: &Form, defaults: &Ssh) -> Ssh {
    let fields = field.and_then(|field| decoder.fields(&field, form));
    fields.map_or_else(|| defaults.clone(), |fields| read(decoder, &fields, defaults))
}

fn read(decoder: &mut Decoder, fields: &Fields<'_>, defaults: &Ssh) -> Ssh {
    let ssh = read_login(decoder, fields, defaults);
    let via = fields.get("bastion").and_then(|field| read_via(decoder, &field));
    if let Some(field) = fields.get("bastion") {
        check_chain(decoder, &field, via.as_ref());
    }
    Ssh { via: via.or_else(|| defaults.via.clone()), ..ssh }
}

/// All but the way.
fn read_login(decoder: &mut Decoder, fields: &Fields<'_>, defaults: &Ssh) -> Ssh {
    const CHECKING: [(&str, HostKeyChecking); 2] = [("strict", HostKeyChecking::Strict), ("accept-new", HostKeyChecking::AcceptNew)];
    let mut ssh = defaults.clone();
    // Only the form of a host has it; what a bastion calls so is its name in the model.
    if fields.what() == OF_HOST.what {
        ssh.address = checked(decoder, fields.get("address"), server_address);
    }
    ssh.user = checked(decoder, fields.get("user"), name::user).or(ssh.user);
    ssh.port = fields.get("port").and_then(|field| read_port(decoder, &field)).or(ssh.port);
    ssh.private_key_file = checked(decoder, fields.get("privateKeyFile"), name::path).or(ssh.private_key_file);
    ssh.known_hosts_file = checked(decoder, fields.get("knownHostsFile"), name::path).or(ssh.known_hosts_file);
    ssh.host_key = fields.get("hostKey").and_then(|field| read_fingerprint(decoder, &field));
    let checking = fields.get("hostKeyChecking").and_then(|field| decoder.choice(&field, &CHECKING));
    ssh.host_key_checking = checking.or(ssh.host_key_checking);
    ssh.password = fields.get("password").and_then(|field| decoder.secret(&field)).or(ssh.password);
    ssh.sudo_password = fields.get("sudoPassword").and_then(|field| decoder.secret(&field)).or(ssh.sudo_password);
    ssh
}

fn read_via(decoder: &mut Decoder, field: &Field<'_>) -> Option<Via> {
    if field.is_text(NO_BASTION) {
        decoder.place(field);
        return Some(Via::Direct);
    }
    let fields = decoder.fields(field, &OF_BASTION)?;
    let address = decoder.required(&fields, "address");
    let address = checked(decoder, address, server_address);
    // A bastion is another machine with other logins: it inherits nothing from the hosts behind it.
    let ssh = read_login(decoder, &fields, &Ssh::default());
    let via = fields.get("bastion").and_then(|field| read_via(decoder, &field));
    Some(Via::Bastion(Box::new(Bastion { address: address?, ssh: Ssh { via, ..ssh } })))
}

/// What is wrong with the address of an SSH server.
fn server_address(text: &str) -> Option<&'static str> {
    if text.parse::<IpAddr>().is_ok() {
        return None;
    }
    // Also the short names that an ssh_config gives, which are wider than DNS.
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if text.is_empty() {
        Some("it is empty")
    } else if text.len() > 253 {
        Some("it is longer than 253 characters")
    } else if text.starts_with('-') || !text.chars().all(allowed) {
        Some("it is an IP address or a name of letters, digits, `.`, `-` and `_`, without user and port")
    } else {
        None
    }
}

/// Refuses chains that are too long or come by the same server twice.
fn check_chain(decoder: &mut Decoder, field: &Field<'_>, first: Option<&Via>) {
    let mut seen = BTreeSet::new();
    let mut next = first;
    while let Some(Via::Bastion(bastion)) = next {
        let place = (bastion.address.to_ascii_lowercase(), bastion.ssh.port.unwrap_or(DEFAULT_PORT));
        let reason = if seen.len() == MAX_BASTIONS {
            format!("at most {MAX_BASTIONS} bastions are passed one after the other")
        } else if !seen.insert(place) {
            format!("its chain comes by {} twice", quote(&bastion.address))
        } else {
            next = bastion.ssh.via.as_ref();
            continue;
        };
        return decoder.report(
            Problem::new(format!("`{}` leads nowhere", field.name()))
                .at(field.position())
                .because(reason)
                .hint("write the bastions in their order, each once, and the host last"),
        );
    }
}

fn read_port(decoder: &mut Decoder, field: &Field<'_>) -> Option<u16> {
    decoder.integer(field, 1..=65535).and_then(|port| u16::try_from(port).ok())
}

fn checked(decoder: &mut Decoder, field: Option<Field<'_>>, check: fn(&str) -> Option<&'static str>) -> Option<String> {
    let field = field?;
    let text = decoder.text(&field)?;
    if is_private_key(text) {
        decoder.report(
            Problem::new(format!("`{}` is a private key", field.name()))
                .at(field.position())
                .because("here stands the name of its file, for files with keys have to be readable by you only")
                .hint("write the key into a file, `chmod 600` it, and name that file here"),
        );
        return None;
    }
    let Some(reason) = check(text) else {
        return Some(text.to_owned());
    };
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(text)));
    decoder.report(problem.at(field.position()).because(reason).hint("write it so, or leave it out"));
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
