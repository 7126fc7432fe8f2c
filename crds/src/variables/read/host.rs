//! Variables that say how hosts are prepared.

use crate::Problem;
use crate::decode::{Decoder, Field, Form};
use crate::model::{FirewallPolicy, SelinuxState, Settings};
use crate::tree::Value;
use crate::words::quote;

const SYSCTL: Form = Form { what: "an entry of `additional_sysctl`", fields: &["name", "value"], refused: &[] };

/// Parameters that Kubernetes needs and no user can set otherwise.
const FIXED: [(&str, &str); 1] = [("net.ipv4.ip_forward", "1")];

pub(crate) fn additional_sysctl(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    for item in decoder.list(field, "it is a list of kernel parameters, each with `name` and `value`").unwrap_or_default() {
        let Some((name, value)) = sysctl(decoder, &item) else { continue };
        let problem = match FIXED.iter().find(|(fixed, wanted)| *fixed == name && *wanted != value) {
            Some((_, wanted)) => Problem::new(format!("{} cannot be {}", quote(&name), quote(&value)))
                .because(format!("Kubernetes needs it to be {wanted}"))
                .hint("leave the entry out"),
            None if settings.host.additional_sysctl.contains_key(&name) => {
                Problem::new(format!("the kernel parameter {} stands twice", quote(&name))).hint("keep one of the two")
            }
            None => {
                settings.host.additional_sysctl.insert(name, value);
                continue;
            }
        };
        decoder.report(problem.at(item.position()));
    }
}

fn sysctl(decoder: &mut Decoder, item: &Field<'_>) -> Option<(String, String)> {
    let fields = decoder.fields(item, &SYSCTL)?;
    let name = decoder.required(&fields, "name").and_then(|field| {
        let text = decoder.text(&field)?;
        let allowed = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if text.contains('.') && text.split('.').all(allowed) {
            return Some(text.to_owned());
        }
        let problem = Problem::new(format!("{} is no name of a kernel parameter", quote(text))).at(field.position());
        decoder.report(
            problem
                .because("it has words of letters, digits, `_` and `-` with dots between, as `kernel.pid_max`")
                .hint("write it as `sysctl -a` prints it"),
        );
        None
    });
    let value = decoder.required(&fields, "value").and_then(|field| {
        // A number is as good as text here: the kernel gets its digits. In YAML 1.1 `04` is 4, and Ansible passes that on.
        let number;
        let text = match &field.node.value {
            Value::Integer(value) => {
                number = value.to_string();
                number.as_str()
            }
            _ => decoder.text(&field)?,
        };
        decoder.place(&field);
        if !text.trim().is_empty() && !text.chars().any(char::is_control) {
            return Some(text.trim().to_owned());
        }
        let problem = Problem::new(format!("{} is no value of a kernel parameter", quote(text))).at(field.position());
        decoder.report(problem.because("it is one line that is not empty").hint("write the value as `sysctl` prints it"));
        None
    });
    Some((name?, value?))
}

pub(crate) fn additional_kernel_modules(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    for (text, item) in decoder.texts(field, "it is a list of names of kernel modules") {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        // The kernel makes no difference between the two, and lists modules with `_`.
        let name = text.replace('-', "_");
        let problem = if text.is_empty() || text.starts_with('-') || !text.chars().all(allowed) {
            let problem = Problem::new(format!("{} is no name of a kernel module", quote(text)));
            problem.because("it has letters, digits, `_` and `-`").hint("write it as `lsmod` prints it")
        } else if settings.host.additional_kernel_modules.contains(&name) {
            Problem::new(format!("the kernel module {} stands twice", quote(text)))
                .because("the kernel makes no difference between `-` and `_` there")
                .hint("keep one of the two")
        } else {
            settings.host.additional_kernel_modules.push(name);
            continue;
        };
        decoder.report(problem.at(item.position()));
    }
}

pub(crate) fn proxy(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    url(decoder, field, "proxy")
}

/// A URL of a server, which goes into configuration files in quotes.
pub(crate) fn url(decoder: &mut Decoder, field: &Field<'_>, what: &str) -> Option<String> {
    let text = decoder.text(field)?;
    let problem = Problem::new(format!("{} is no URL of a {what}", quote(text))).at(field.position());
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '/' | '[' | ']' | '~');
    let problem = match rest {
        // Not repeated: it may hold a password.
        Some(rest) if rest.contains('@') => Problem::new(format!("the URL of a {what} has a user or a password"))
            .at(field.position())
            .because("it would stand readable in files, plans and journals")
            .hint(format!("use a {what} that knows the hosts by their addresses")),
        Some(rest) if !rest.is_empty() && !rest.starts_with(['/', ':']) && rest.chars().all(allowed) => return Some(text.to_owned()),
        Some(_) => problem
            .because("behind `//` stand a name or an address, perhaps a port and a path")
            .hint("write it like `http://proxy.example.org:3128`"),
        None => problem.because("it begins with `http://` or `https://`").hint("write one of the two before it"),
    };
    decoder.report(problem);
    None
}

/// Names, addresses and ranges with commas between, as in the variable NO_PROXY.
pub(crate) fn without_proxy(decoder: &mut Decoder, field: &Field<'_>) -> Option<Vec<String>> {
    let text = decoder.text(field)?;
    let entries: Vec<String> = text.split(',').map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect();
    let Some(wrong) = entries.iter().find(|entry| !is_reached(entry)) else {
        return Some(entries);
    };
    decoder.report(unreachable(wrong).at(field.position()));
    None
}

/// The same as a list.
pub(crate) fn without_proxy_list(decoder: &mut Decoder, field: &Field<'_>) -> Vec<String> {
    let texts = decoder.texts(field, "it is a list of names, addresses and ranges");
    let mut entries = Vec::new();
    for (text, item) in texts.into_iter().map(|(text, item)| (text.trim(), item)).filter(|(text, _)| !text.is_empty()) {
        if is_reached(text) {
            entries.push(text.to_owned());
        } else {
            decoder.report(unreachable(text).at(item.position()));
        }
    }
    entries
}

fn is_reached(entry: &str) -> bool {
    entry.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '/' | '*' | '[' | ']'))
}

fn unreachable(entry: &str) -> Problem {
    let problem = Problem::new(format!("{} is nothing that could be reached without a proxy", quote(entry)));
    problem.because("an entry is a DNS name, an address or a range of addresses").hint("write such entries with commas between them")
}

pub(crate) fn firewall(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let policies = [FirewallPolicy::Refuse, FirewallPolicy::Open, FirewallPolicy::Ignore].map(|policy| (policy.as_str(), policy));
    settings.host.firewall = decoder.choice(field, &policies).unwrap_or(settings.host.firewall);
}

pub(crate) fn preinstall_selinux_state(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if decoder.text(field) == Some("enforcing") {
        let problem = Problem::new("`preinstall_selinux_state` cannot be `enforcing`").at(field.position());
        decoder.report(
            problem
                .because("this version brings no policy for containers, so SELinux would forbid what they do")
                .hint("write `permissive`; or use hosts without SELinux"),
        );
        return;
    }
    let states = [SelinuxState::Permissive, SelinuxState::Disabled].map(|state| (state.as_str(), state));
    settings.host.preinstall_selinux_state = decoder.choice(field, &states);
}

pub(crate) fn trusted_certificates(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    for entry in decoder.entries(field, "`trusted_certificates`").unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if let Some(reason) = crate::syntax::name::dns_label(&entry.key) {
            let problem = Problem::new(format!("{} is no name of a certificate: {reason}", quote(&entry.key)));
            decoder.report(
                problem.at(&entry.key_position).because("it becomes part of the name of a file").hint("write a name like `company-ca`"),
            );
        }
        if let Some(text) = pem(decoder, &item) {
            settings.host.trusted_certificates.insert(entry.key.clone(), text);
        }
    }
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// One certificate as PEM, without what may stand around it, its last line ended.
pub(crate) fn pem(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let text = decoder.text(field)?;
    let inner = text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\n' | '\r');
    if let Some(inner) = inner.filter(|inner| inner.trim().len() > 100 && inner.chars().all(digit)) {
        let lines: Vec<&str> = inner.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        return Some(format!("{BEGIN}\n{}\n{END}\n", lines.join("\n")));
    }
    let secret = text.contains("PRIVATE KEY");
    let problem = Problem::new("that is no certificate").at(field.position());
    decoder.report(if secret {
        problem
            .because("it is a private key, and must not be given away")
            .hint("write the certificate, and take the key as known to others")
    } else {
        problem
            .because(format!("a certificate in PEM is `{BEGIN}`, lines of base64 and `{END}`"))
            .hint("write it as a block of text with `|`; give each certificate a name of its own")
    });
    None
}
