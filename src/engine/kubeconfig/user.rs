//! A kubeconfig of a user, whose certificate the cluster signs.

use std::time::Duration;

use kok_crds::model::Cluster;
use kok_pki::{
    CertificateFacts, Credentials, KeyAlgorithm, SecretText, client_request, inspect_certificate, inspect_kubeconfig, kubeconfig,
    matches_key,
};
use kok_tasks::user_certificate::{NOT_SIGNED, script};

use super::{Administrator, Server, fetch_any, server};
use crate::engine::context::Context;
use crate::failure::{Failure, Kind};
use crate::randomness::{SystemRandomness, random_bytes};
use crate::remote::{ExitStatus, Script};
use crate::run::Link;

/// The signer is waited for half a minute; the rest is for an API server that is slow.
const DEADLINE: Duration = Duration::from_secs(120);

/// Who gets a kubeconfig.
#[derive(Debug, Clone, Copy)]
pub struct UserRequest<'a> {
    /// Their name, as rules of access name them.
    pub user: &'a str,
    /// The group that they are in.
    pub group: Option<&'a str>,
    /// For how long they may log in with it. The cluster may give them less.
    pub validity: Duration,
}

/// Has the cluster sign a certificate for a user, by its API and with the rights of its administrator, and makes a kubeconfig of it. The key is made here,
/// and goes nowhere. `made_by` is how its user makes the cluster. Also says until when it is valid, in seconds since 1970.
///
/// # Errors
/// A [`Failure`] for each control plane that can't be asked; or that nobody has signed.
pub async fn user_kubeconfig(
    context: &Context,
    cluster: &Cluster,
    made_by: &str,
    request: &UserRequest<'_>,
) -> Result<(Administrator, i64), Vec<Failure>> {
    let (host, link, admin) = fetch_any(context, cluster.clone(), made_by).await?;
    let unreadable = |error: String| {
        vec![Failure::new(Kind::Host, "the administrator's kubeconfig can't be read").at(format!("host {host}")).because(error)]
    };
    let admin = inspect_kubeconfig(&admin).map_err(|error| unreadable(error.to_string()))?;
    let ca = admin.ca_pem.ok_or_else(|| unreadable("it has no authority inside".to_owned()))?;
    let wrong = |error: kok_pki::PkiError| {
        vec![Failure::new(Kind::Input, "no certificate can be asked for").because(error.to_string()).hint("name another user or group")]
    };
    let made = client_request(request.user, request.group, KeyAlgorithm::default(), &mut SystemRandomness).map_err(wrong)?;
    let certificate = signed(&link, &made.request_pem, request.validity).await.map_err(|failure| vec![failure])?;
    let facts = judged(&certificate, made.key.pem()).map_err(|because| vec![not_ours(because).at(link.place())])?;
    let credentials = Credentials { user: request.user, certificate_pem: &certificate, key_pem: made.key.pem() };
    let servers = Server::all(cluster);
    let answering = server::first_answering(&servers).await;
    let kubeconfig = kubeconfig(&cluster.name, &admin.server, &ca, &credentials);
    Ok((Administrator { host, kubeconfig, servers, answering }, facts.not_after.unix_timestamp()))
}

/// The certificate, in PEM.
async fn signed(link: &Link, request_pem: &str, validity: Duration) -> Result<String, Failure> {
    let name = format!("kokctl-user-{}", hex::encode(random_bytes::<4>()?));
    let script = Script::new(script(&name, request_pem, validity));
    let output = link.scripts().await?.run(script, DEADLINE).await.map_err(|error| Failure::from(error).at(link.place()))?;
    if output.is_success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let because = output.reason();
    let failure = match output.status {
        ExitStatus::Exited(NOT_SIGNED) => Failure::new(Kind::Host, "the request was approved, and nobody has signed it")
            .hint("the controller manager signs, if it runs and has the authority's key: where that is kept elsewhere, have the certificate signed there"),
        _ => Failure::new(Kind::Host, "the cluster did not take the request for a certificate")
            .hint("`kokctl status` says whether its API answers"),
    };
    let failure = failure.at(link.place());
    Err(match because {
        Some(because) => failure.because(because),
        None => failure,
    })
}

/// What a host says is believed only if it is of the key that was made here.
fn judged(certificate: &str, key: &SecretText) -> Result<CertificateFacts, String> {
    match matches_key(certificate, key) {
        Ok(true) => inspect_certificate(certificate).map_err(|error| error.to_string()),
        Ok(false) => Err("it is of another key".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn not_ours(because: String) -> Failure {
    Failure::new(Kind::Host, "what the cluster has signed is not what was asked for")
        .because(because)
        .hint("look who answers as its API server")
}
