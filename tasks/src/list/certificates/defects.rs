//! Why a certificate or a kubeconfig that is there has to be made anew.

use kok_crds::Secret;
use kok_pki::{Defect, KubeconfigUser, Leaf, Material, Profile};
use time::{Duration, OffsetDateTime};

use super::files::absolute;
use crate::digest::sha256;
use crate::identity;
use crate::issued::is_kept_elsewhere;
use crate::observe::{Observations, PathState};
use crate::operations::kubelets_own_has_ended;
use crate::plan::{HostView, Refusal};
use crate::preconditions;
use crate::renewal::ends_soon;

/// Why a leaf has to be made anew, if it has to. Key and certificate belong together: if one is missing, both are made.
pub(super) fn defect(view: &HostView<'_>, seen: &Observations, leaf: Leaf) -> Result<Option<String>, Refusal> {
    let profile = leaf.profile(&identity::control_plane(view.cluster(), view.host));
    let text = |material: Material| seen.contents.get(&absolute(material)).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let key = absolute(Material::LeafKey(leaf));
    if !matches!(seen.paths.get(&key), Some(PathState::Present(_))) {
        return Ok(Some(format!("{key} is missing")));
    }
    let Some(certificate) = text(Material::LeafCertificate(leaf)) else {
        return Ok(Some(format!("{} is missing", absolute(Material::LeafCertificate(leaf)))));
    };
    if issued(view, Material::LeafCertificate(leaf)).is_some_and(|issued| issued.expose() != certificate.as_bytes()) {
        return Ok(Some(ANOTHER_ISSUED.to_owned()));
    }
    Ok(first_defect(view, seen, &certificate, &profile))
}

/// The first thing that keeps a certificate from its work.
pub(in crate::list) fn first_defect(view: &HostView<'_>, seen: &Observations, certificate: &str, profile: &Profile) -> Option<String> {
    let authority = seen.contents.get(&absolute(Material::AuthorityCertificate(profile.authority)));
    let authority = authority.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    // A host that has lost its own gets the one that is kept.
    let kept = || preconditions::kept_certificate(view.cluster(), profile.authority);
    let authority = authority.or_else(kept).unwrap_or_default();
    let now = OffsetDateTime::from_unix_timestamp(view.inputs.now_seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let mut defects = kok_pki::verify_leaf(&authority, certificate, profile, now).err().unwrap_or_default();
    // By the clock of the host, which is the one that judges it there: one that only this machine calls early does its work.
    let offset = Duration::seconds(view.seen.clock_offset_seconds(&view.host.name).unwrap_or_default());
    let by_host = now.saturating_add(offset);
    defects.retain(|defect| !matches!(defect, Defect::NotYetValid(from) if *from <= by_host));
    let soon = || ends_soon(view.cluster(), &authority, certificate, now).filter(|_| !is_kept_elsewhere(view.cluster(), profile.authority));
    defects.first().map(ToString::to_string).or_else(soon)
}

/// Why what stands in a place of the user's is replaced.
const ANOTHER_ISSUED: &str = "another one was issued";

/// What was issued for the host, of what has to be.
fn issued<'a>(view: &HostView<'a>, material: Material) -> Option<&'a Secret> {
    view.cluster().settings.certificates.issued.as_ref()?.file(&view.host.name, material.path())
}

/// Why a kubeconfig has to be made anew, if it has to. One whose certificate stands in a file of its own is the kubelet's, which renews it.
pub(super) fn wrong_kubeconfig(view: &HostView<'_>, seen: &Observations, material: Material) -> Option<String> {
    let path = absolute(material);
    if let Some(issued) = issued(view, material) {
        let found = seen.paths.get(&path).and_then(PathState::present)?;
        return (found.sha256 != Some(sha256(issued.expose()))).then(|| ANOTHER_ISSUED.to_owned());
    }
    let Material::Kubeconfig(user) = material else { return None };
    if let (KubeconfigUser::Kubelet, Some(None), Some(end)) = (user, seen.kubeconfigs.get(&path), kubelets_own_has_ended(seen)) {
        return Some(format!("the certificate that it names ended at {end}"));
    }
    // A control plane's own programs ask the API server beside them; administrators take the way that leads to any.
    let leads = seen.kubeconfig_servers.get(&path).filter(|_| matches!(user, KubeconfigUser::Admin | KubeconfigUser::SuperAdmin));
    if let Some(is) = leads.filter(|is| **is != identity::endpoint_url(view.cluster())) {
        return Some(format!("it leads to {is}"));
    }
    let certificate = seen.kubeconfigs.get(&path)?.as_ref()?;
    let because = first_defect(view, seen, certificate, &user.profile(&identity::control_plane(view.cluster(), view.host)))?;
    Some(format!("of the certificate inside: {because}"))
}
