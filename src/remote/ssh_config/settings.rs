//! What the values that count mean: settings that are honoured, settings that are refused, and the rest for the debug log.
use super::SshConfigFault;
use super::expand::{self, Scope};
use super::lookup::{Value, Values};
use crate::remote::target::{AddressFamily, AgentChoice, Configured, DEFAULT_PORT, HostKeyChecking, Origin};
use std::path::PathBuf;
use std::time::Duration;

/// What an ssh_config says about one host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SshSettings {
    pub(crate) host_name: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) user: Option<String>,
    pub(crate) checking: Option<HostKeyChecking>,
    /// The bastions in their order from here; none of them for `ProxyJump none`.
    pub(crate) jumps: Option<Vec<Jump>>,
    pub(crate) configured: Configured,
}

/// One of the servers that `ProxyJump` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Jump {
    pub(crate) host: String,
    pub(crate) user: Option<String>,
    pub(crate) port: Option<u16>,
}

/// What the cluster's file says itself: ssh_config is not asked about that, so it can't be refused for it either.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Overruled {
    pub(crate) way: bool,
    pub(crate) login: bool,
    pub(crate) host_key: bool,
    pub(crate) checking: bool,
}

/// A keyword that is refused, the values with which it changes nothing, whether the cluster's file overrules it, and what to do.
struct Refusal(&'static str, &'static [&'static str], fn(Overruled) -> bool, &'static str);

const REFUSALS: &[Refusal] = &[
    Refusal("proxycommand", &["none"], |file| file.way, "use ProxyJump for this host, or `bastion` in the cluster file"),
    Refusal("proxyusefdpass", &["no"], |file| file.way, "use ProxyJump for this host, or `bastion` in the cluster file"),
    Refusal("certificatefile", &["none"], |file| file.login, "name a plain key in privateKeyFile in the cluster file"),
    Refusal("pkcs11provider", &["none"], |file| file.login, "load the token into an SSH agent: ssh-add -s PROVIDER"),
    Refusal("securitykeyprovider", &["internal"], |file| file.login, "load the key into an SSH agent"),
    Refusal("pubkeyauthentication", &["yes", "unbound", "host-bound"], |file| file.login, "set password in the cluster file"),
    Refusal("canonicalizehostname", &["no"], |_| false, "write the address as it is, and CanonicalizeHostname no for this host"),
    Refusal("bindaddress", &["none"], |_| false, "leave it out for this host: the routes choose the address to connect from"),
    Refusal("bindinterface", &["none"], |_| false, "leave it out for this host: the routes choose the interface"),
    Refusal("refuseconnection", &[], |_| false, "take the line out for this host if it may be connected to"),
    Refusal("knownhostscommand", &["none"], |file| file.host_key, "write the keys to a known_hosts file"),
    Refusal("revokedhostkeys", &["none"], |_| false, "mark the keys @revoked in known_hosts"),
];

/// Keywords that [`settings`] reads itself.
const HONOURED: [&str; 16] = [
    "addressfamily",
    "connecttimeout",
    "globalknownhostsfile",
    "hostkeyalias",
    "hostname",
    "identitiesonly",
    "identityagent",
    "identityfile",
    "port",
    "preferredauthentications",
    "proxyjump",
    "stricthostkeychecking",
    "user",
    "userknownhostsfile",
    "host",
    "match",
];

pub(super) fn settings(values: &Values, scope: Scope<'_>, overruled: Overruled) -> Result<SshSettings, SshConfigFault> {
    refuse(values, overruled)?;
    for (keyword, found) in values.iter().filter(|(keyword, _)| !HONOURED.contains(&keyword.as_str())) {
        let place = found.first().map(|value| value.place.to_string()).unwrap_or_default();
        tracing::debug!(host = scope.name, keyword, place, "ssh_config: this line has no effect here");
    }
    let host_name = read(values, "hostname", |text| expand::host_name(text, scope.name))?;
    let port = read(values, "port", |text| text.parse().ok().filter(|port| *port > 0).ok_or("it is no port".to_owned()))?;
    let user =
        read(values, "user", |text| if text.contains('%') { Err("tokens are not supported".to_owned()) } else { Ok(text.to_owned()) })?;
    let checking = if overruled.checking || overruled.host_key { None } else { checking(values)? };
    let jumps = if overruled.way { None } else { read(values, "proxyjump", jumps)? };
    let host = host_name.clone().unwrap_or_else(|| scope.name.to_owned());
    let login = scope.user.or(user.as_deref()).unwrap_or(scope.local_user).to_owned();
    let path = |text: &str| expand::path(text, scope, &host, port.unwrap_or(DEFAULT_PORT), &login);
    let configured = configured(values, scope, &path)?;
    let place = |keyword: &str| values.get(keyword).and_then(|values| Some(values.first()?.place.clone()));
    let origin = Origin { address: place("hostname"), port: place("port"), user: place("user") };
    Ok(SshSettings { host_name, port, user, checking, jumps, configured: Configured { origin, ..configured } })
}

fn refuse(values: &Values, overruled: Overruled) -> Result<(), SshConfigFault> {
    for Refusal(keyword, harmless, is_overruled, hint) in REFUSALS {
        let Some(value) = values.get(*keyword).and_then(|values| values.first()) else { continue };
        let is_harmless = value.arguments.first().is_some_and(|text| harmless.contains(&text.to_ascii_lowercase().as_str()));
        if !is_harmless && !is_overruled(overruled) {
            return Err(SshConfigFault::Refused { keyword: (*keyword).to_owned(), place: value.place.clone(), hint });
        }
    }
    let Some(value) = values.get("preferredauthentications").and_then(|values| values.first()) else { return Ok(()) };
    let ours = ["publickey", "password", "keyboard-interactive"];
    if overruled.login || value.arguments.iter().flat_map(|text| text.split(',')).any(|method| ours.contains(&method)) {
        return Ok(());
    }
    let hint = "kokctl logs in by public key or password only: allow one of them for this host";
    Err(SshConfigFault::Refused { keyword: "preferredauthentications".to_owned(), place: value.place.clone(), hint })
}

fn checking(values: &Values) -> Result<Option<HostKeyChecking>, SshConfigFault> {
    let Some(value) = values.get("stricthostkeychecking").and_then(|values| values.first()) else { return Ok(None) };
    match value.arguments.first().map(|text| text.to_ascii_lowercase()).as_deref() {
        Some("yes" | "ask") => Ok(Some(HostKeyChecking::Strict)),
        Some("accept-new") => Ok(Some(HostKeyChecking::AcceptNew)),
        _ => Err(SshConfigFault::Refused {
            keyword: "StrictHostKeyChecking no".to_owned(),
            place: value.place.clone(),
            hint: "host keys are verified always: add them with `kokctl known-hosts scan`, or write accept-new",
        }),
    }
}

fn configured(values: &Values, scope: Scope<'_>, path: &dyn Fn(&str) -> Result<PathBuf, String>) -> Result<Configured, SshConfigFault> {
    let paths = |keyword: &str| match values.get(keyword) {
        None => Ok(None),
        Some(found) => {
            let mut paths = Vec::new();
            for value in found {
                let wanted = value.arguments.iter().filter(|text| !text.eq_ignore_ascii_case("none"));
                let read: Result<Vec<_>, _> = wanted.map(|text| path(text)).collect();
                paths.extend(read.map_err(|reason| wrong(keyword, value, reason))?);
            }
            Ok(Some(paths))
        }
    };
    let agent = read(values, "identityagent", |text| match text {
        "none" => Ok(AgentChoice::None),
        "SSH_AUTH_SOCK" => Ok(AgentChoice::Usual),
        variable if variable.starts_with('$') && !variable.starts_with("${") => {
            let name = variable.trim_start_matches('$');
            scope.variables.get(name).map(|path| AgentChoice::Socket(path.into())).ok_or_else(|| format!("the variable {name} is not set"))
        }
        text => path(text).map(AgentChoice::Socket),
    })?;
    let family = read(values, "addressfamily", |text| match text {
        "any" => Ok(AddressFamily::Any),
        "inet" => Ok(AddressFamily::V4),
        "inet6" => Ok(AddressFamily::V6),
        _ => Err("it is any, inet or inet6".to_owned()),
    })?;
    Ok(Configured {
        identity_files: paths("identityfile")?.unwrap_or_default(),
        identities_only: read(values, "identitiesonly", yes_or_no)?.unwrap_or_default(),
        agent: agent.unwrap_or_default(),
        user_known_hosts_files: paths("userknownhostsfile")?,
        global_known_hosts_files: paths("globalknownhostsfile")?,
        host_key_alias: read(values, "hostkeyalias", |text| Ok(text.to_owned()))?,
        connect_timeout: read(values, "connecttimeout", timeout)?.flatten(),
        address_family: family.unwrap_or_default(),
        origin: Origin::default(),
    })
}

fn read<T>(values: &Values, keyword: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, SshConfigFault> {
    let Some(value) = values.get(keyword).and_then(|values| values.first()) else { return Ok(None) };
    match value.arguments.as_slice() {
        [text] => parse(text).map(Some).map_err(|reason| wrong(keyword, value, reason)),
        _ => Err(wrong(keyword, value, "it has one value".to_owned())),
    }
}

fn wrong(keyword: &str, value: &Value, reason: String) -> SshConfigFault {
    SshConfigFault::Wrong { keyword: keyword.to_owned(), place: value.place.clone(), reason }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err("it is yes or no".to_owned()),
    }
}

/// Seconds, or a sequence such as `1m30s`; nothing for `none` and 0.
fn timeout(text: &str) -> Result<Option<Duration>, String> {
    /// Longer than anybody waits for a connection.
    const LONGEST: u64 = 3600;
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let wrong = || "it is a time such as 10 or 1m30s".to_owned();
    let (mut total, mut number) = (0_u64, String::new());
    for character in text.chars().chain(text.ends_with(|c: char| c.is_ascii_digit()).then_some('s')) {
        let unit = match character.to_ascii_lowercase() {
            digit if digit.is_ascii_digit() => {
                number.push(digit);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3600,
            _ => return Err(wrong()),
        };
        let count: u64 = std::mem::take(&mut number).parse().map_err(|_| wrong())?;
        total = total.saturating_add(count.saturating_mul(unit));
    }
    if text.is_empty() { Err(wrong()) } else { Ok(Some(total.min(LONGEST)).filter(|total| *total > 0).map(Duration::from_secs)) }
}

/// `[user@]host[:port]` or `ssh://…`, several with commas between them; `none` for no way but the direct one.
fn jumps(text: &str) -> Result<Vec<Jump>, String> {
    if text.eq_ignore_ascii_case("none") { Ok(Vec::new()) } else { text.split(',').map(jump).collect() }
}

fn jump(text: &str) -> Result<Jump, String> {
    let wrong = || format!("{} is not [user@]host[:port]", crate::remote::text::printable(text.as_bytes()));
    let rest = text.trim();
    let rest = rest.strip_prefix("ssh://").map_or(rest, |uri| uri.trim_end_matches('/'));
    let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user.to_owned()), rest));
    let (host, port) = match rest.strip_prefix('[') {
        Some(bracketed) => {
            let (host, after) = bracketed.split_once(']').ok_or_else(wrong)?;
            (host, after.strip_prefix(':'))
        }
        None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map(|port| port.parse().map_err(|_| wrong())).transpose()?;
    let is_name = |text: &str| !text.is_empty() && !text.starts_with('-') && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if is_name(host) && user.as_deref().is_none_or(is_name) { Ok(Jump { host: host.to_owned(), user, port }) } else { Err(wrong()) }
}
