//! Reading a kubeconfig that was found, and checking it against what it should say.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::verify::{Defect, verify_leaf};
use crate::{PkiError, Profile, SecretText, TrustBundle, matches_key};

/// What the current context of a kubeconfig says. It has no `Debug`, since it holds a key.
pub struct KubeconfigFacts {
    /// URL of the API server.
    pub server: String,
    /// Name of the user's entry.
    pub user: String,
    /// Certificates of the authorities to trust, in PEM, if they are embedded.
    pub ca_pem: Option<String>,
    /// The client's certificate in PEM, if it is embedded.
    pub certificate_pem: Option<String>,
    /// The client's private key in PEM, if it is embedded.
    pub key_pem: Option<SecretText>,
}

#[derive(Deserialize)]
struct Config {
    clusters: Vec<NamedCluster>,
    contexts: Vec<NamedContext>,
    #[serde(default)]
    users: Vec<NamedUser>,
    #[serde(rename = "current-context")]
    current_context: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
struct Cluster {
    server: String,
    #[serde(rename = "certificate-authority-data")]
    ca: Option<String>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: User,
}

#[derive(Deserialize, Default)]
struct User {
    #[serde(rename = "client-certificate-data")]
    certificate: Option<String>,
    #[serde(rename = "client-key-data")]
    key: Option<Zeroizing<String>>,
}

/// Reads a kubeconfig. Fields that we don't use are left alone.
///
/// # Errors
/// [`PkiError::Kubeconfig`]; its text never quotes the kubeconfig.
pub fn inspect_kubeconfig(text: &SecretText) -> Result<KubeconfigFacts, PkiError> {
    let unreadable = |reason: &str| PkiError::Kubeconfig(reason.to_owned());
    let options = serde_saphyr::options! { with_snippet: false, emit_comments: false };
    let config: Config = serde_saphyr::from_str_with_options(text.expose(), options).map_err(|error| {
        let line = error.location().map_or(0, |location| location.line());
        PkiError::Kubeconfig(format!("line {line} is not as in a kubeconfig"))
    })?;
    let context = config.contexts.into_iter().find(|context| context.name == config.current_context);
    let Context { cluster, user } = context.ok_or_else(|| unreadable("its current context is missing"))?.context;
    let cluster = config.clusters.into_iter().find(|candidate| candidate.name == cluster);
    let cluster = cluster.ok_or_else(|| unreadable("the cluster of its current context is missing"))?.cluster;
    let credentials = config.users.into_iter().find(|candidate| candidate.name == user);
    let credentials = credentials.ok_or_else(|| unreadable("the user of its current context is missing"))?.user;
    let public = |data: Option<String>, what: &str| data.map(|data| decoded(&data, what)).transpose();
    Ok(KubeconfigFacts {
        server: cluster.server,
        user,
        ca_pem: public(cluster.ca, "certificate-authority-data")?.map(|text| text.to_string()),
        certificate_pem: public(credentials.certificate, "client-certificate-data")?.map(|text| text.to_string()),
        key_pem: match credentials.key {
            Some(data) => Some(SecretText::from_zeroizing(decoded(&data, "client-key-data")?)),
            None => None,
        },
    })
}

/// Checks that a kubeconfig logs in as `expected` says, at `server`, trusting one of the authorities of `ca_pem`, at `now`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn verify_kubeconfig(
    text: &SecretText,
    ca_pem: &str,
    expected: &Profile,
    server: &str,
    now: OffsetDateTime,
) -> Result<(), Vec<Defect>> {
    let unreadable = |error: PkiError| vec![Defect::Unreadable(error.to_string())];
    let found = inspect_kubeconfig(text).map_err(unreadable)?;
    let mut defects = Vec::new();
    if found.server != server {
        defects.push(Defect::Server { expected: server.to_owned(), found: found.server });
    }
    let trusted = found.ca_pem.as_deref().map(TrustBundle::from_pem).transpose().map_err(unreadable)?;
    let authorities = TrustBundle::from_pem(ca_pem).map_err(unreadable)?;
    if trusted.is_none_or(|trusted| !trusted.shares_one_with(&authorities)) {
        defects.push(Defect::TrustsAnother);
    }
    let (Some(certificate), Some(key)) = (&found.certificate_pem, &found.key_pem) else {
        defects.push(Defect::NoCredentials);
        return Err(defects);
    };
    if !matches_key(certificate, key).map_err(unreadable)? {
        defects.push(Defect::ForeignKey);
    }
    if let Err(found) = verify_leaf(ca_pem, certificate, expected, now) {
        defects.extend(found);
    }
    if defects.is_empty() { Ok(()) } else { Err(defects) }
}

/// Text out of base64.
pub(crate) fn decoded(data: &str, what: &str) -> Result<Zeroizing<String>, PkiError> {
    let unreadable = || PkiError::Kubeconfig(format!("its {what} is no text in base64"));
    let bytes = Zeroizing::new(STANDARD.decode(data.trim()).map_err(|_| unreadable())?);
    let text = std::str::from_utf8(&bytes).map_err(|_| unreadable())?;
    Ok(Zeroizing::new(text.to_owned()))
}
