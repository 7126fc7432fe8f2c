//! Variables of the KMS plugin that API servers encrypt by.

use super::values::scalar;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::Given;
use crate::message::Kind;
use crate::model::{KmsPlugin, Settings};
use crate::syntax::duration::duration;
use crate::words::quote;

const ENDPOINT: &str = "kube_encryption_kms_endpoint";
const NAME: &str = "kube_encryption_kms_name";
const SWITCH: &str = "kube_encrypt_secret_data";

/// Folders that others have their files in, or that a container needs as its image has them: a socket lies in a folder of its own below them.
const SHARED: [&str; 14] =
    ["", "/boot", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var", "/var/lib", "/var/log", "/var/run"];

/// Folders that a plugin has no socket in, nor below them.
const TAKEN: [&str; 16] = [
    "/bin",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/run/containerd",
    "/run/kokctl",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib/containerd",
    "/var/lib/etcd",
    "/var/lib/kokctl",
    "/var/lib/kubelet",
    "/var/run/containerd",
];

/// A plugin of which nothing is said yet but that there is one.
fn plugin(settings: &mut Settings) -> &mut KmsPlugin {
    settings.security.encryption.kms.get_or_insert_with(|| KmsPlugin {
        name: KmsPlugin::NAME.to_owned(),
        socket: String::new(),
        timeout_millis: KmsPlugin::TIMEOUT_MILLIS,
    })
}

pub(crate) fn name(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = scalar(decoder, field) else { return };
    if KmsPlugin::is_name(&text) {
        plugin(settings).name = text;
        return;
    }
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    decoder.report(match KmsPlugin::is_own(&text) {
        true => problem.because("keys of the cluster's own are named so").hint("write another name, as `vault`"),
        false => problem
            .because("it stands before all values that the plugin has encrypted, between colons")
            .hint("write lower-case letters, digits, `-`, `.` and `_`, 63 at the most, as `vault`"),
    });
}

pub(crate) fn endpoint(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = scalar(decoder, field) else { return };
    let problem = || Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    let hint = "write a socket in a folder of the plugin's own, as `unix:///run/kms/plugin.sock`";
    // Filled in all the same, so that nobody is told that it is missing, too.
    text.strip_prefix("unix://").unwrap_or(&text).clone_into(&mut plugin(settings).socket);
    if KmsPlugin::socket_of(&text).is_none() {
        let because = "API servers ask the plugin of their own host, at the path of a socket";
        return decoder.report(problem().because(because).hint(hint));
    }
    let folder = plugin(settings).folder().to_owned();
    let is_within = |taken: &&str| folder.strip_prefix(*taken).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if SHARED.contains(&folder.as_str()) || TAKEN.iter().any(is_within) {
        let because = "the folder of the socket is shown to API servers, and others have their files there, or the container has its own";
        decoder.report(problem().because(because).hint(hint));
    }
}

/// More than any request waits for; and the API server takes none of nothing.
const MOST_MILLIS: u128 = 60_000;

pub(crate) fn timeout(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = scalar(decoder, field) else { return };
    let millis = duration(&text).map(|time| time.as_millis()).filter(|millis| (1..=MOST_MILLIS).contains(millis));
    if let Some(millis) = millis.and_then(|millis| u64::try_from(millis).ok()) {
        plugin(settings).timeout_millis = millis;
        return;
    }
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    decoder
        .report(problem.because("it is a time like `3s` or `500ms`, of a minute at the most").hint("write such a time, or leave it out"));
}

/// Whether a plugin that is spoken of can be found, and whether nothing else is to encrypt.
pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let encryption = &settings.security.encryption;
    let place = |variable: &str| given.iter().find(|given| given.name == variable).map(|given| given.position.clone());
    let spec = decoder.position("spec.encryption").cloned();
    if spec.is_some() && decoder.position("spec.encryption.enabled").is_none() && place(SWITCH).is_none() {
        let problem = Problem { position: spec.clone(), ..Problem::new("it is not said whether etcd's content is encrypted") };
        let problem = problem.because("`encryption` says how, and not that it is").hint("add `enabled: true`; or `enabled: false`");
        decoder.report(problem);
    }
    let Some(plugin) = encryption.kms.as_ref().filter(|_| encryption.enabled) else { return };
    let of_plugin = decoder.position("spec.encryption.kms").cloned();
    if plugin.socket.is_empty() {
        let problem = Problem::new("it is not said where the KMS plugin listens").of_kind(Kind::Needed).of_variable(ENDPOINT);
        let problem = Problem { position: of_plugin.or_else(|| place(NAME)), ..problem };
        let because = format!("the plugin {} encrypts what etcd holds, and API servers have to find it", quote(&plugin.name));
        return decoder.report(problem.because(because).hint("add `endpoint: unix:///run/kms/plugin.sock`, the path of its socket"));
    }
    let algorithm = decoder.position("spec.encryption.algorithm").cloned().or_else(|| place("kube_encryption_algorithm"));
    if algorithm.is_some() {
        let problem =
            Problem { position: algorithm, ..Problem::new("an algorithm and a KMS plugin are said, and one of them can encrypt") };
        let problem = problem.because("a plugin encrypts in its own way, by keys that it alone has");
        decoder.report(problem.hint("leave out `algorithm` (`kube_encryption_algorithm`), or `kms`"));
    }
}
