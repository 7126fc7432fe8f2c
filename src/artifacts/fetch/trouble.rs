//! What can go wrong while something is fetched, and whether another try may help.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use oci_client::errors::{OciDistributionError, OciEnvelope, OciErrorCode};
use reqwest::StatusCode;

use crate::failure::{Cause, Failure, Kind, printable};

/// What has to happen before the same may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::artifacts) enum Remedy {
    /// Time: a server that is busy, a cut connection. It may say for how long.
    Time(Option<Duration>),
    /// A network: nobody answers there. Longer than a moment it does not come back by itself.
    Network,
    /// Upstream does not have it.
    Absent,
    /// A person.
    Person,
}

/// Something that could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::artifacts) struct Trouble {
    what: String,
    at: String,
    because: String,
    hint: String,
    pub(in crate::artifacts) remedy: Remedy,
}

const LATER: &str =
    "run it again: it goes on where it was; if it comes again, look at the network, its proxy, or give a mirror with --mirror";
const AWAY: &str = "look at this machine's network and its proxy (https_proxy), or give a mirror with --mirror; without a network, give a bundle that \
                    was made elsewhere with --bundle";
const LOOK: &str =
    "look whether the version exists and the catalog is right (`kokctl versions`), or give a mirror that has it with --mirror";
const TRUST: &str = "if a proxy or a mirror of yours answers there, give its CA by SSL_CERT_FILE or --ca; else do not go on";
const LOGIN: &str = "log in to the registry (docker login, podman login), so that its credentials stand in config.json or auth.json";
const PUSH_LATER: &str =
    "run it again: what the registry has is not sent again; if it comes again, look at the network, the proxy and the registry";
const PUSH_AWAY: &str = "look at the registry's address and port, this machine's network and its proxy (https_proxy, no_proxy)";
const REFUSED: &str = "look whether the registry is read-only or only passes on what another one has, whether it has room, and who may push there; then run \
                       it again: what it has is not sent again";

impl Trouble {
    fn new(at: &str, remedy: Remedy, because: String, hint: &str) -> Self {
        let because = printable(&because).to_string();
        Self { what: "it can't be fetched".to_owned(), at: at.to_owned(), because, hint: hint.to_owned(), remedy }
    }

    /// Says what could not be fetched.
    pub(super) fn while_fetching(mut self, title: &str) -> Self {
        self.what = format!("{title} can't be fetched");
        self
    }

    /// Why, for people.
    pub(super) fn because(&self) -> &str {
        &self.because
    }

    /// The same where something is sent: other things help then.
    pub(in crate::artifacts) fn of_push(mut self, title: &str) -> Self {
        self.what = format!("{title} can't be pushed");
        let hint = match self.remedy {
            Remedy::Time(_) => PUSH_LATER,
            Remedy::Network => PUSH_AWAY,
            Remedy::Absent | Remedy::Person if [TRUST, LOGIN].contains(&self.hint.as_str()) => return self,
            Remedy::Absent | Remedy::Person => REFUSED,
        };
        hint.clone_into(&mut self.hint);
        self
    }

    pub(in crate::artifacts) fn is_absent(&self) -> bool {
        self.remedy == Remedy::Absent
    }

    pub(super) fn of_request(at: &str, error: &reqwest::Error) -> Self {
        let because = error_chain(error);
        if is_certificate(error) {
            return Self::new(at, Remedy::Person, because, TRUST);
        }
        match error.status() {
            Some(status) => Self::of_status(at, status, None),
            None if error.is_connect() => Self::new(at, Remedy::Network, because, AWAY),
            None if error.is_builder() || error.is_redirect() => Self::new(at, Remedy::Person, because, LOOK),
            None => Self::new(at, Remedy::Time(None), because, LATER),
        }
    }

    /// A status that is no success.
    pub(super) fn of_status(at: &str, status: StatusCode, after: Option<Duration>) -> Self {
        let because = format!("the server answers {status}");
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Self::new(at, Remedy::Absent, because, LOOK),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                Self::new(at, Remedy::Person, because, LOGIN)
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Self::new(at, Remedy::Time(after), because, LATER),
            _ if status.is_server_error() => Self::new(at, Remedy::Time(after), because, LATER),
            _ => Self::new(at, Remedy::Person, because, LOOK),
        }
    }

    /// So long nobody took anything or answered.
    pub(in crate::artifacts) fn of_silence(at: &str, silence: Duration) -> Self {
        Self::new(at, Remedy::Time(None), format!("for {} seconds it took nothing and did not answer", silence.as_secs()), LATER)
    }

    pub(in crate::artifacts) fn of_registry(at: &str, error: &OciDistributionError) -> Self {
        match error {
            OciDistributionError::RequestError(error) => Self::of_request(at, error),
            OciDistributionError::ServerError { code, message, .. } => {
                let status = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                let trouble = Self::of_status(at, status, None);
                let words =
                    serde_json::from_str(message).map(|envelope: OciEnvelope| envelope.errors.into_iter().map(|error| error.message));
                let words: Vec<String> = words.into_iter().flatten().filter(|words| !words.is_empty()).collect();
                let because = [trouble.because.clone()].into_iter().chain(words).collect::<Vec<_>>().join(": ");
                Self { because: printable(&because).to_string(), ..trouble }
            }
            OciDistributionError::ImageManifestNotFoundError(_) => Self::of_status(at, StatusCode::NOT_FOUND, None),
            OciDistributionError::UnauthorizedError { .. } | OciDistributionError::AuthenticationFailure(_) => {
                Self::new(at, Remedy::Person, error.to_string(), LOGIN)
            }
            OciDistributionError::RegistryError { envelope, .. } => Self::of_envelope(at, envelope, error),
            OciDistributionError::IoError(_) => Self::new(at, Remedy::Time(None), error_chain(error), LATER),
            _ => Self::new(at, Remedy::Person, error_chain(error), LOOK),
        }
    }

    fn of_envelope(at: &str, envelope: &OciEnvelope, error: &OciDistributionError) -> Self {
        let has = |wanted: &[OciErrorCode]| envelope.errors.iter().any(|one| wanted.contains(&one.code));
        use OciErrorCode as Code;
        if has(&[Code::ManifestUnknown, Code::NameUnknown, Code::BlobUnknown, Code::NotFound]) {
            return Self::new(at, Remedy::Absent, error.to_string(), LOOK);
        }
        if has(&[Code::Toomanyrequests]) {
            return Self::new(at, Remedy::Time(None), error.to_string(), LATER);
        }
        let hint = if has(&[Code::Denied, Code::Unauthorized]) { LOGIN } else { LOOK };
        Self::new(at, Remedy::Person, error.to_string(), hint)
    }

    /// What came has another digest. Another try may be right only if it went on with what was there before.
    pub(super) fn of_digest(at: &str, expected: &str, found: &str) -> Self {
        let because = format!("its sha256 is {found}, and has to be {expected}");
        let hint = "nothing of it was kept; if a mirror or a proxy answers there, mend that; else do not use what is served";
        Self::new(at, Remedy::Person, because, hint)
    }

    /// What came has another length than was told.
    pub(super) fn of_length(at: &str, expected: u64, found: u64) -> Self {
        let because = format!("{expected} bytes were promised, and {found} came");
        let remedy = if found < expected { Remedy::Time(None) } else { Remedy::Person };
        Self::new(at, remedy, because, if found < expected { LATER } else { "nothing of it was kept; do not use what is served" })
    }

    /// What came is not what it should be.
    pub(super) fn of_content(at: &str, because: impl Into<String>) -> Self {
        Self::new(at, Remedy::Person, because.into(), "nothing of it was kept; do not use what is served, or give a mirror with --mirror")
    }

    /// Upstream publishes no digest of it.
    pub(super) fn of_checksum(at: &str, file: &str) -> Self {
        Self::new(at, Remedy::Person, format!("there is no sha256 of {file} in it"), LOOK)
    }

    pub(in crate::artifacts) fn of_disk(path: &Path, error: &std::io::Error) -> Self {
        Self::new(&path.display().to_string(), Remedy::Person, error.to_string(), "mend that, and run it again: it goes on where it was")
    }

    pub(in crate::artifacts) fn of_program(because: &str) -> Self {
        Self::new("this program", Remedy::Person, because.to_owned(), "run it again; if it comes again, it is a defect of kokctl")
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        let cause = if matches!(trouble.remedy, Remedy::Time(_) | Remedy::Network) { Cause::Passing } else { Cause::Condition };
        Self::new(Kind::Input, trouble.what).at(trouble.at).because(trouble.because).hint(trouble.hint).due(cause)
    }
}

/// All of them, those of one server that does not answer as one.
pub(in crate::artifacts) fn failures(troubles: Vec<Trouble>) -> Vec<Failure> {
    let (away, others): (Vec<_>, Vec<_>) = troubles.into_iter().partition(|trouble| trouble.remedy == Remedy::Network);
    let mut by_server: BTreeMap<String, Vec<Trouble>> = BTreeMap::new();
    for trouble in away {
        by_server.entry(server(&trouble.at).to_owned()).or_default().push(trouble);
    }
    let merged = by_server.into_iter().map(|(server, mut all)| match all.len() {
        1 => all.remove(0),
        several => {
            let done = if all.iter().any(|one| one.what.ends_with("pushed")) { "pushed" } else { "fetched" };
            Trouble { what: format!("{several} files or images of {server} can't be {done}"), at: server, ..all.remove(0) }
        }
    });
    merged.collect::<Vec<_>>().into_iter().chain(others).map(Failure::from).collect()
}

fn server(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// An error with all that it came from.
fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let words = source.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = source.source();
    }
    text
}

/// Whether the server could not show who it is: no other try helps.
fn is_certificate(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
        let tls = error.downcast_ref::<rustls::Error>().or_else(|| inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()));
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented)) {
            return true;
        }
        if let Some(inner) = inner
            && is_certificate(inner)
        {
            return true;
        }
        next = error.source();
    }
    false
}
