//! The secrets of a run: made or read before the first host is changed, and given out by name.

mod cluster_keys;
mod confidential;
mod encryption_key;
mod escrow;
mod keepers;
mod signed;
mod signer;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kok_crds::model::{Cluster, Concealed};
use kok_pki::{AuthorityKind, KubeconfigUser, Material, PkiError, SecretText};
use kok_tasks::digest::sha256;
use kok_tasks::plan::Plan;
use kok_tasks::script::Part;
use kok_tasks::secret_name::SecretName;
use kok_tasks::{documents, identity, issued};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use self::confidential::Confidential;
use self::escrow::Escrowed;
use self::signer::Signer;
use super::link::Links;
use crate::failure::{Failure, Kind};

pub use self::cluster_keys::cluster_keys;
pub use self::keepers::Keepers;
pub use self::token::Token;

/// What a run has made that is to sign, or what it knows better than the hosts.
#[derive(Clone, Copy)]
pub enum MadeSigner<'a> {
    /// The key of service accounts.
    TokenKey(&'a SecretText),
    /// An authority.
    Authority {
        /// Which.
        kind: AuthorityKind,
        /// All certificates that are trusted, in PEM.
        trusted: &'a str,
        /// Its key; nothing, if its keeper has it.
        key: Option<&'a SecretText>,
    },
}

/// Secrets by name. Without `Debug`, so that none is printed by accident.
pub struct Secrets {
    by_name: BTreeMap<SecretName, Zeroizing<String>>,
    made: usize,
    kept_in: Option<PathBuf>,
    /// What the user has encrypted.
    encrypted: Concealed,
    /// Collected when the first text is redacted; nothing is added after that.
    confidential: OnceLock<Confidential>,
}

impl Secrets {
    /// No secrets, for plans that name none.
    #[must_use]
    pub fn none() -> Self {
        Self { by_name: BTreeMap::new(), made: 0, kept_in: None, encrypted: Concealed::default(), confidential: OnceLock::new() }
    }

    /// What the plan brings along itself, for plans that name nothing else.
    #[must_use]
    pub fn given(cluster: &Cluster, plan: &Plan) -> Self {
        let mut secrets = Self { encrypted: cluster.concealed.clone(), ..Self::none() };
        secrets.take(plan);
        secrets
    }

    /// Takes over what stands in files that the user declares.
    fn take(&mut self, plan: &Plan) {
        let given = plan.steps().flat_map(|step| step.given());
        let given: Vec<_> = given.collect();
        // Of what a script has, any word may be printed, however short or plain.
        let of_hooks = given.iter().filter(|(name, _)| matches!(name, SecretName::HookVariable { .. })).map(|(_, text)| text.expose());
        self.encrypted.also(of_hooks);
        self.by_name.extend(given.into_iter().map(|(name, text)| (name.clone(), Zeroizing::new(text.expose().to_owned()))));
    }

    /// Makes or reads every secret that the plan names. The authorities are those of their keepers; what none keeps is made, for the cluster is
    /// new. Where the user has an escrow, what is made is in there when this returns, and what an earlier run has left there is not made again.
    ///
    /// # Errors
    /// [`Failure`] if an authority that is needed can't be read, or isn't one, or can't be kept.
    pub async fn prepare(
        cluster: &Cluster,
        plan: &Plan,
        keepers: Keepers<'_>,
        (token, made): (&Token, Option<MadeSigner<'_>>),
        links: &Links,
        now_seconds: i64,
        home: Option<&Path>,
    ) -> Result<Self, Failure> {
        let signing = if let Some(MadeSigner::TokenKey(key)) = made { Some(key) } else { None };
        let mut names = named(plan);
        let mut secrets = Self::given(cluster, plan);
        names.retain(|name| !secrets.by_name.contains_key(name));
        let mut escrow = Escrowed::read(cluster, home)?;
        let signs: Vec<SecretName> = names.extract_if(.., |name| matches!(name, SecretName::TokenKey { .. })).collect();
        secrets.encryption(cluster, &mut names, &mut escrow, links).await?;
        // Where nothing is to be done, and nothing to be kept, no key leaves a host.
        if !plan.is_empty() || escrow.lacks_what_hosts_have(keepers) {
            escrow.compare(keepers, links).await?;
        }
        secrets.issued(cluster, &mut names);
        let owed = escrow.is_owed(keepers);
        if names.is_empty() && !owed {
            escrow.may_end()?;
            return secrets.token_keys(signs, signing, &mut escrow, links).await.map(|()| secrets);
        }
        let now = OffsetDateTime::from_unix_timestamp(now_seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let authorities = Signer::find(cluster, plan, (&names, owed), (keepers, &escrow), links, now).await?;
        let authorities = if let Some(MadeSigner::Authority { kind, trusted, key }) = made {
            secrets.made += usize::from(key.is_some());
            authorities.with(kind, trusted, key)?
        } else {
            authorities
        };
        secrets.kept_in = match &authorities {
            Signer::Keys(authorities) => escrow.keep(authorities, keepers)?,
            Signer::Certificate(_) => escrow.may_end().map(|()| None)?,
        };
        for name in names {
            let value = secrets.make(cluster, &authorities, token, now, &name)?;
            secrets.by_name.insert(name, value);
        }
        secrets.token_keys(signs, signing, &mut escrow, links).await.map(|()| secrets)
    }

    /// The key of service accounts that is to sign: `signing`, which this run has made, or that of a control plane. The escrow has it before any host gets it.
    async fn token_keys(
        &mut self,
        names: Vec<SecretName>,
        signing: Option<&SecretText>,
        escrow: &mut Escrowed<'_>,
        links: &Links,
    ) -> Result<(), Failure> {
        for name in names {
            let SecretName::TokenKey { keeper, key: wanted } = &name else { continue };
            let key = match (keeper, signing) {
                (Some(keeper), _) => keepers::signing_key(keeper, links).await?,
                (None, Some(made)) => {
                    self.made += 1;
                    made.clone()
                }
                (None, None) => return Err(Failure::new(Kind::Internal, format!("{name} was not made"))),
            };
            keepers::is_key(&key, wanted, keeper.as_deref())?;
            self.kept_in = escrow.signs_with(&key)?.or(self.kept_in.take());
            self.by_name.insert(name, Zeroizing::new(key.expose().to_owned()));
        }
        Ok(())
    }

    /// What somebody else has issued is given out as it is, and so are the certificates of authorities whose keys he keeps. These names are taken
    /// out of `names`.
    fn issued(&mut self, cluster: &Cluster, names: &mut BTreeSet<SecretName>) {
        names.retain(|name| {
            let file = match name {
                SecretName::ControlPlaneFile { host, path } => issued::file(cluster, host, path),
                SecretName::SuperAdminKubeconfig { host } => {
                    issued::file(cluster, host, Material::Kubeconfig(KubeconfigUser::SuperAdmin).path())
                }
                _ => None,
            };
            let is_issued = file.is_some();
            self.by_name.extend(file.map(|text| (name.clone(), Zeroizing::new(text))));
            !is_issued
        });
    }

    /// How many were made.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made
    }

    /// The file on this machine in which keys were put that were not there before.
    #[must_use]
    pub fn kept_in(&self) -> Option<&Path> {
        self.kept_in.as_deref()
    }

    /// What stands for a name.
    #[must_use]
    pub(super) fn get(&self, name: &SecretName) -> Option<&str> {
        self.by_name.get(name).map(|value| value.as_str())
    }

    /// The sha256 of what stands for a name. Nobody gets it but who gets the secret too: of one with few possible values it would tell the value.
    #[must_use]
    pub(super) fn digest(&self, name: &SecretName) -> Option<String> {
        self.get(name).map(|value| sha256(value.as_bytes()))
    }

    /// `text` without any secret that stands in it, for everything that leaves the program: kubeadm and kubectl print what they like.
    #[must_use]
    pub(super) fn redact(&self, text: &str) -> String {
        let confidential =
            self.confidential.get_or_init(|| Confidential::from_documents(self.by_name.values().map(|value| value.as_str())));
        confidential.redact(&self.encrypted.hide(text))
    }

    fn make(
        &mut self,
        cluster: &Cluster,
        signer: &Signer,
        token: &Token,
        now: OffsetDateTime,
        name: &SecretName,
    ) -> Result<Zeroizing<String>, Failure> {
        let host = |name: &str| cluster.host(name).ok_or_else(|| Failure::new(Kind::Internal, format!("there is no host {name}")));
        let defect = |error: kok_tasks::templates::TemplateError| Failure::new(Kind::Internal, error.to_string());
        let text = match name {
            SecretName::ControlPlaneFile { host: name, path } => return self.file(cluster, host(name)?, path, signer.keys()?, now),
            SecretName::KubeletFile { host: name, path } => return self.kubelet(cluster, host(name)?, path, signer.keys()?, now),
            SecretName::SuperAdminKubeconfig { host: name } => return self.super_admin(cluster, host(name)?, signer.keys()?, now),
            SecretName::BootstrapTokenConfiguration { host: name } => {
                documents::bootstrap_token_configuration(cluster, host(name)?, &token.text()).map_err(defect)?
            }
            SecretName::JoinConfiguration { host: name } => {
                documents::join_configuration(cluster, host(name)?, &token.text()).map_err(defect)?
            }
            SecretName::TokenKey { .. }
            | SecretName::EncryptionConfiguration { .. }
            | SecretName::HostFile { .. }
            | SecretName::HookVariable { .. } => {
                return Err(Failure::new(Kind::Internal, format!("{name} was not read")));
            }
            SecretName::DiscoveryKubeconfig => {
                let Some(first) = cluster.control_planes().next() else { return Ok(Zeroizing::default()) };
                let server = identity::control_plane(cluster, first).cluster_server();
                kok_pki::discovery_kubeconfig(&cluster.name, &server, signer.certificate())
            }
        };
        Ok(Zeroizing::new(text))
    }
}

fn made_badly(error: PkiError) -> Failure {
    let failure = Failure::new(Kind::Internal, "the certificates could not be made").because(error.to_string());
    match error {
        PkiError::NoValidity { .. } => failure.hint(
            "set this machine's clock if it is wrong; if it is right, the authority that signs has ended and has to be renewed first",
        ),
        _ => failure,
    }
}

/// Every name that stands in a script of the plan.
fn named(plan: &Plan) -> BTreeSet<SecretName> {
    let mut names = BTreeSet::new();
    for (step, change) in plan.changes() {
        let act = step.act(change);
        let Some(script) = act.script() else { continue };
        names.extend(script.parts().iter().filter_map(|part| match part {
            Part::Secret(name) => Some(name.clone()),
            Part::Text(_) | Part::Digest(_) => None,
        }));
    }
    names
}

#[cfg(test)]
impl Secrets {
    /// These texts, by name.
    pub(super) fn from_texts<const N: usize>(texts: [(SecretName, &str); N]) -> Self {
        let by_name = texts.into_iter().map(|(name, text)| (name, Zeroizing::new(text.to_owned()))).collect();
        Self { by_name, made: N, ..Self::none() }
    }
}

#[cfg(test)]
mod tests;
