//! The secrets of a run: made or read before the first host is changed, and given out by name.

mod cluster_keys;
mod confidential;
mod encryption_key;
mod escrow;
mod keepers;
mod signer;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_crds::model::{Cluster, Concealed, Host};
use kok_pki::{Authorities, AuthorityKind, FIRST_ENCRYPTION_KEY, KubeconfigUser, Material, PkiError, Policy, Secret};
use kok_tasks::digest::sha256;
use kok_tasks::in_use::{KUBELET_CLIENT, KUBELET_SERVING, KUBELET_SERVING_KEY};
use kok_tasks::plan::Plan;
use kok_tasks::script::Part;
use kok_tasks::secret_name::SecretName;
use kok_tasks::{documents, identity, issued};
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

use self::confidential::Confidential;
use self::encryption_key::{NamedKeys, read_encryption_keys};
use self::escrow::Escrowed;
use self::signer::Signer;
use super::link::Links;
use crate::failure::{Failure, Kind};
use crate::randomness::{SystemRandomness, random_bytes};

pub use self::cluster_keys::cluster_keys;
pub use self::keepers::Keepers;
pub use self::token::Token;

/// What a run has made that is to sign, or what it knows better than the hosts.
#[derive(Clone, Copy)]
pub enum Made<'a> {
    /// The key of service accounts.
    TokenKey(&'a Secret),
    /// An authority.
    Authority {
        /// Which.
        kind: AuthorityKind,
        /// All certificates that are trusted, in PEM.
        trusted: &'a str,
        /// Its key; nothing, if its keeper has it.
        key: Option<&'a Secret>,
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
        (token, made): (&Token, Option<Made<'_>>),
        links: &Links,
        now_seconds: i64,
        home: Option<&Path>,
    ) -> Result<Self, Failure> {
        let signing = if let Some(Made::TokenKey(key)) = made { Some(key) } else { None };
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
        let authorities = if let Some(Made::Authority { kind, trusted, key }) = made {
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
        signing: Option<&Secret>,
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

    /// Keys to encrypt with are no matter of certificates: they are those that are there, and one that is new. Their names are taken out of `names`.
    async fn encryption(
        &mut self,
        cluster: &Cluster,
        names: &mut BTreeSet<SecretName>,
        escrow: &mut Escrowed<'_>,
        links: &Links,
    ) -> Result<(), Failure> {
        let is_key = |name: &SecretName| matches!(name, SecretName::EncryptionConfiguration { .. });
        let asked: Vec<SecretName> = names.iter().filter(|name| is_key(name)).cloned().collect();
        names.retain(|name| !is_key(name));
        // The same for all hosts that get it.
        let mut made = NamedKeys::default();
        for name in asked {
            let SecretName::EncryptionConfiguration { keeper, keys, new } = &name else { continue };
            let known = match keeper {
                Some(keeper) => read_encryption_keys(keeper, links).await?,
                None => escrow.encryption_keys(),
            };
            let first = keeper.is_none().then(|| FIRST_ENCRYPTION_KEY.to_owned()).filter(|_| known.is_empty());
            let wanted = match (keys.is_empty(), &first) {
                (true, Some(first)) => vec![first.clone()],
                (true, None) => known.names(),
                (false, _) => keys.clone(),
            };
            for new in wanted.iter().filter(|name| new.as_ref().or(first.as_ref()) == Some(name)) {
                self.make_encryption_key(new, &known, &mut made)?;
            }
            let all = known.with(&made);
            let mut chosen = NamedKeys::default();
            for wanted in &wanted {
                chosen.add(wanted, all.get(wanted).ok_or_else(|| lacks_key(keeper.as_deref(), wanted))?);
            }
            let text = documents::encryption_configuration(cluster, &chosen.pairs());
            self.by_name.insert(name.clone(), Zeroizing::new(text.map_err(|error| Failure::new(Kind::Internal, error.to_string()))?));
            escrow.uses(&chosen);
        }
        Ok(())
    }

    /// Makes a key to encrypt with, unless it is known or was made for another host.
    fn make_encryption_key(&mut self, name: &str, known: &NamedKeys, made: &mut NamedKeys) -> Result<(), Failure> {
        if known.get(name).is_none() && made.get(name).is_none() {
            self.made += 1;
            made.add(name, &Zeroizing::new(STANDARD.encode(Zeroizing::new(random_bytes::<KEY_BYTES>()?))));
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
        let confidential = self.confidential.get_or_init(|| Confidential::of(self.by_name.values().map(|value| value.as_str())));
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

    /// A kubeconfig for one step of this run: nobody can take back what it may do, so it ends soon.
    fn super_admin(
        &mut self,
        cluster: &Cluster,
        host: &Host,
        authorities: &Authorities,
        now: OffsetDateTime,
    ) -> Result<Zeroizing<String>, Failure> {
        let policy = Policy { leaf_validity: SUPER_ADMIN_VALIDITY, ..identity::policy(cluster) };
        let identity = identity::control_plane(cluster, host);
        let user = KubeconfigUser::SuperAdmin;
        let file = kok_pki::kubeconfig_file(user, &identity, authorities, &policy, now, &mut SystemRandomness).map_err(made_badly)?;
        self.made += 1;
        Ok(Zeroizing::new(file.content.expose().to_owned()))
    }

    /// What a kubelet shows, and the key of it: both come out of one call.
    fn kubelet(
        &mut self,
        cluster: &Cluster,
        host: &Host,
        path: &str,
        authorities: &Authorities,
        now: OffsetDateTime,
    ) -> Result<Zeroizing<String>, Failure> {
        let name = |path: &str| SecretName::KubeletFile { host: host.name.clone(), path: path.to_owned() };
        if path == KUBELET_CLIENT {
            let profile = KubeconfigUser::Kubelet.profile(&identity::control_plane(cluster, host));
            let authority = authorities.get(profile.authority);
            let issued = kok_pki::issue(&profile, authority, &identity::policy(cluster), now, &mut SystemRandomness).map_err(made_badly)?;
            self.made += 1;
            return Ok(Zeroizing::new(format!("{}{}", issued.certificate_pem, issued.key.pem().expose())));
        }
        if self.get(&name(path)).is_none() {
            let profile = identity::kubelet_server(host);
            let authority = authorities.get(profile.authority);
            let issued = kok_pki::issue(&profile, authority, &identity::policy(cluster), now, &mut SystemRandomness).map_err(made_badly)?;
            self.made += 2;
            self.by_name.insert(name(KUBELET_SERVING), Zeroizing::new(issued.certificate_pem));
            self.by_name.insert(name(KUBELET_SERVING_KEY), Zeroizing::new(issued.key.pem().expose().to_owned()));
        }
        let found = self.get(&name(path)).map(|text| Zeroizing::new(text.to_owned()));
        found.ok_or_else(|| Failure::new(Kind::Internal, format!("{path} is no file of a kubelet")))
    }

    /// One file of a control plane. Key and certificate of a leaf come out of one call, so the set of a host is made once.
    fn file(
        &mut self,
        cluster: &Cluster,
        host: &Host,
        path: &str,
        authorities: &Authorities,
        now: OffsetDateTime,
    ) -> Result<Zeroizing<String>, Failure> {
        let name = |path: &str| SecretName::ControlPlaneFile { host: host.name.clone(), path: path.to_owned() };
        if self.get(&name(path)).is_none() {
            let identity = identity::control_plane(cluster, host);
            let make = if host.roles.control_plane { kok_pki::control_plane } else { kok_pki::etcd_host };
            let files = make(&identity, authorities, &identity::policy(cluster), now, &mut SystemRandomness).map_err(made_badly)?;
            self.made += files.len();
            for file in &files {
                self.by_name.insert(name(file.path()), Zeroizing::new(file.content.expose().to_owned()));
            }
        }
        let found = self.get(&name(path)).map(|text| Zeroizing::new(text.to_owned()));
        found.ok_or_else(|| Failure::new(Kind::Internal, format!("{path} is no file of a control plane")))
    }
}

/// The step that needs it comes after the images of a control plane are loaded, which takes as long as the network does.
const SUPER_ADMIN_VALIDITY: Duration = Duration::days(1);

/// What every provider takes (AES-256, XSalsa20).
const KEY_BYTES: usize = 32;

/// A plan counts on a key that its host has lost since.
fn lacks_key(host: Option<&str>, name: &str) -> Failure {
    let failure = Failure::new(Kind::Host, format!("the key {name} is not on {} any more", host.unwrap_or("any control plane")));
    failure.because("its configuration of encryption was changed meanwhile").hint("repeat the command, which looks again")
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
    pub(super) fn of<const N: usize>(texts: [(SecretName, &str); N]) -> Self {
        let by_name = texts.into_iter().map(|(name, text)| (name, Zeroizing::new(text.to_owned()))).collect();
        Self { by_name, made: N, ..Self::none() }
    }
}

#[cfg(test)]
mod tests;
