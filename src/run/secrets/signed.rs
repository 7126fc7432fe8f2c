//! What the authorities of a run sign: certificates with their keys, and kubeconfigs.

use kok_crds::model::{Cluster, Host};
use kok_pki::{Authorities, KubeconfigUser, Policy};
use kok_tasks::identity;
use kok_tasks::in_use::{KUBELET_CLIENT, KUBELET_SERVING, KUBELET_SERVING_KEY};
use kok_tasks::secret_name::SecretName;
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

use super::{Secrets, made_badly};
use crate::failure::{Failure, Kind};
use crate::randomness::SystemRandomness;

/// The step that needs it comes after the images of a control plane are loaded, which takes as long as the network does.
const SUPER_ADMIN_VALIDITY: Duration = Duration::days(1);

impl Secrets {
    /// A kubeconfig for one step of this run: nobody can take back what it may do, so it ends soon.
    pub(super) fn super_admin(
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
    pub(super) fn kubelet(
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
            // Reserved at once: a growing string would leave a copy of the key behind.
            let key = issued.key.pem().expose();
            let mut both = Zeroizing::new(String::with_capacity(issued.certificate_pem.len() + key.len()));
            both.push_str(&issued.certificate_pem);
            both.push_str(key);
            return Ok(both);
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
    pub(super) fn file(
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
