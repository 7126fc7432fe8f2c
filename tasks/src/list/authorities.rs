//! An authority that takes the place of another one, on a host: who is trusted, who signs, and what reads that.
//!
//! Files of all hosts at once, for whoever runs has read his; then who reads them, one host after the other. Nothing is signed by the new one before all trust
//! it, and what trusts it alone comes after all show what it has signed.

mod kubelet;
mod reads;

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Host};
use kok_pki::{AuthorityKind, KubeconfigUser, Material};

use super::certificates::absolute;
use super::renew;
use crate::in_use::KUBELET_CLIENT;
use crate::observe::{Look, Looks, PathState};
use crate::operations::{CLIENT_CERTIFICATE, Operation, PublishTrust, SIGNING_CERTIFICATE};
use crate::pem_set::PemSet;
use crate::plan::{AuthorityRotation, AuthorityStage, Draft, HostView, Reason, Refusal, Seen, StepId, StepName};
use crate::preconditions;
use crate::renewal::{Renewal, Successor};
use crate::resources::{File, FileContent, Replace, Resource};
use crate::secret_name::SecretName;

const NAME: &str = "authorities";

/// Step that writes the certificates that are trusted.
const TRUSTED: StepName<'static> = StepName::new(NAME, "trusted");
/// Step after which an API server goes by what is there.
const API_SERVER_READY: StepName<'static> = StepName::new(NAME, "api-server");
/// Step after which a member of etcd does.
const MEMBER_READY: StepName<'static> = StepName::new(NAME, "member");
/// Step after which controller manager and scheduler do.
const CONTROLLERS: StepName<'static> = StepName::new(NAME, "controllers");

/// The certificates of the authority, and its key.
#[must_use]
pub(crate) fn trusted_file(kind: AuthorityKind) -> String {
    absolute(Material::AuthorityCertificate(kind))
}

/// Whether a host has its certificates.
pub(crate) fn trusts(kind: AuthorityKind, host: &Host) -> bool {
    match kind {
        AuthorityKind::Kubernetes => host.roles.control_plane || host.roles.is_node(),
        AuthorityKind::Etcd => host.roles.control_plane || host.roles.etcd,
        AuthorityKind::FrontProxy => host.roles.control_plane,
    }
}

/// Whether a host has its key.
pub(crate) fn signs(kind: AuthorityKind, host: &Host) -> bool {
    if kind == AuthorityKind::Etcd { host.roles.etcd } else { host.roles.control_plane }
}

/// The certificates that a host has.
pub(crate) fn known(kind: AuthorityKind, host: &Host, seen: &Seen) -> PemSet {
    let text = seen.observations(&host.name).contents.get(&trusted_file(kind)).map(|text| String::from_utf8_lossy(text));
    PemSet::parse(&text.unwrap_or_default())
}

/// What the API server of a control plane that comes while the authority is being replaced would show is signed by the new one, and pods that have read the one
/// from before would not know it.
pub(super) fn lets_come(view: &HostView<'_>) -> Result<(), Refusal> {
    let known_on = |host: &Host| known(AuthorityKind::Kubernetes, host, view.seen);
    let is_new = view.host.roles.control_plane && known_on(view.host).signer().is_none();
    let replaced =
        preconditions::keeper(view.cluster(), view.seen).filter(|_| is_new).is_some_and(|keeper| known_on(keeper).is_under_way());
    if !replaced {
        return Ok(());
    }
    Err(Refusal::new(format!("{} can't become a control plane while the certificate authority `kubernetes` is being replaced", view.host.name))
        .because("pods that know the one from before alone would not know its API server")
        .hint(
            "end that first, by `kokctl certs rotate ca kubernetes` and the same with --finish; if it takes the place of one that is gone, by `kokctl remove \
             HOST --dead` before",
        ))
}

/// What is looked at on a host before anything is decided.
pub(crate) fn looks(cluster: &Cluster, kind: AuthorityKind, host: &Host) -> Looks {
    let mut looks = renew::looks(cluster, host);
    if trusts(kind, host) {
        looks.add(Look::Content(trusted_file(kind)));
        // Others ask whether it is there, and here its sum counts.
        looks.add(Look::File { path: trusted_file(kind), expected: None });
    }
    looks.add(Look::Path(absolute(Material::AuthorityKey(kind))));
    if kind == AuthorityKind::Kubernetes {
        looks.add(Look::File { path: SIGNING_CERTIFICATE.to_owned(), expected: None });
        let users = KubeconfigUser::ALL.into_iter().filter(|_| host.roles.control_plane || host.roles.is_node());
        looks.extend(users.map(|user| Look::KubeconfigAuthorities(absolute(Material::Kubeconfig(user)))));
        looks.extend([Look::Certificate(CLIENT_CERTIFICATE.to_owned()), Look::Path(KUBELET_CLIENT.to_owned())]);
    }
    looks
}

/// What all hosts have of it from the stage on in which it signs: the new one first, then whatever one of those knows that have the key, for a run that was killed
/// may have left to some of them what it had made. What stands on others says nothing: whoever has a worker could have all hosts trust an authority of his.
pub(crate) fn trusted_by_all(cluster: &Cluster, rotation: &AuthorityRotation<'_>, seen: &Seen) -> PemSet {
    let hosts = cluster.hosts.iter().filter(|host| signs(rotation.kind, host));
    let all = hosts.fold(PemSet::default(), |all, host| all.joined(&known(rotation.kind, host, seen)));
    let all = all.signing_with(rotation.certificate);
    if rotation.stage == AuthorityStage::Alone { all.alone() } else { all }
}

/// What a host has of it in this stage.
fn wanted(view: &HostView<'_>, rotation: &AuthorityRotation<'_>) -> PemSet {
    match rotation.stage {
        AuthorityStage::Known => known(rotation.kind, view.host, view.seen).with_next(rotation.certificate),
        _ => trusted_by_all(view.cluster(), rotation, view.seen),
    }
}

/// Whether a host has gone through the first stage: it signs with the new one.
fn is_past(view: &HostView<'_>, rotation: &AuthorityRotation<'_>) -> bool {
    let known = known(rotation.kind, view.host, view.seen);
    rotation.stage == AuthorityStage::Known && known.has(rotation.certificate) && !known.is_next(rotation.certificate)
}

/// The steps of a host in a stage.
pub(crate) fn drafts<'a>(view: &HostView<'a>, rotation: &AuthorityRotation<'_>) -> Result<Vec<Draft<'a>>, Refusal> {
    if !trusts(rotation.kind, view.host) || known(rotation.kind, view.host, view.seen).signer().is_none() {
        return Ok(Vec::new());
    }
    let wanted = wanted(view, rotation);
    let mut draft = Draft::new(&view.host.name, NAME);
    let files = files(view, &mut draft, rotation, &wanted);
    reads::plan(view, &mut draft, rotation, &files);
    publish(view, &mut draft, rotation, &wanted)?;
    let mut drafts = vec![draft];
    // At the end all is signed by the new one, and kubeconfigs alone name both.
    let ends = rotation.stage == AuthorityStage::Alone && rotation.kind != AuthorityKind::Kubernetes;
    if rotation.stage != AuthorityStage::Known && !ends {
        drafts.extend(leaves(view, rotation, &wanted, &files)?);
    }
    if rotation.kind == AuthorityKind::Kubernetes {
        drafts.extend(kubelet::draft(view, rotation, &wanted)?);
    }
    Ok(drafts)
}

/// What the authority from before has signed.
fn leaves<'a>(view: &HostView<'a>, rotation: &AuthorityRotation<'_>, wanted: &PemSet, files: &[StepId]) -> Result<Vec<Draft<'a>>, Refusal> {
    let trusted = wanted.text();
    let is_shown = matches!(rotation.stage, AuthorityStage::Shown | AuthorityStage::Alone);
    let successor = Some(Successor { kind: rotation.kind, certificate: rotation.certificate, trusted: &trusted, is_shown });
    let parts = BTreeSet::new();
    let mut drafts = renew::drafts(view, &Renewal { hosts: &[], parts: &parts, all: false, successor })?;
    for draft in &mut drafts {
        for made in draft.ids() {
            files.iter().for_each(|file| draft.needs(&made, file, Reason::Because("who signs is there before what it has signed")));
            if rotation.stage == AuthorityStage::Alone && rotation.kind == AuthorityKind::Kubernetes {
                all_show_it(view, draft, &made);
            }
        }
    }
    Ok(drafts)
}

/// Who trusts the new one alone comes when every API server shows what it has signed.
fn all_show_it(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    for plane in view.cluster().control_planes() {
        draft.needs(step, &API_SERVER_READY.on(&plane.name), Reason::Because("it knows no API server by another authority from then on"));
    }
}

/// Key before certificates: these say who signs.
fn files(view: &HostView<'_>, draft: &mut Draft<'_>, rotation: &AuthorityRotation<'_>, wanted: &PemSet) -> Vec<StepId> {
    let kind = rotation.kind;
    let has = known(kind, view.host, view.seen);
    let mut made = Vec::new();
    if rotation.stage == AuthorityStage::Signs && signs(kind, view.host) && has.signer() != wanted.signer() {
        made.push(draft.add("key", Resource::File(key(view, kind))));
    }
    // The controller manager signs with the key that is there by the certificate that belongs to it.
    let apart = kind == AuthorityKind::Kubernetes && view.host.roles.control_plane && rotation.stage != AuthorityStage::Alone;
    // Where a run was killed behind it, it may be the new one already, with its key.
    let there = matches!(view.observations().paths.get(SIGNING_CERTIFICATE), Some(PathState::Present(_)));
    if apart && !(rotation.stage == AuthorityStage::Known && there) {
        let signer = wanted.signer().unwrap_or_default();
        let file = File::text(SIGNING_CERTIFICATE, signer).mode(Material::AuthorityCertificate(kind).mode());
        made.push(draft.add("signing-certificate", Resource::File(file)));
    }
    let file = File::text(trusted_file(kind), wanted.text()).mode(Material::AuthorityCertificate(kind).mode());
    let trusted = draft.add(TRUSTED, Resource::File(file));
    made.iter().for_each(|before| draft.needs(&trusted, before, Reason::Because("it says which key signs")));
    made.push(trusted);
    made
}

fn key(view: &HostView<'_>, kind: AuthorityKind) -> File {
    let material = Material::AuthorityKey(kind);
    let found = view.observations().paths.get(&absolute(material)).and_then(PathState::present);
    let because = "another authority is to sign".to_owned();
    let replace = found.map(|found| Replace { because, changed_nanoseconds: found.changed_nanoseconds });
    let name = SecretName::ControlPlaneFile { host: view.host.name.clone(), path: material.path().to_owned() };
    File::new(absolute(material), material.mode(), FileContent::Secret { name, replace, without: None })
}

/// What the cluster tells others, once for all of it.
fn publish(view: &HostView<'_>, draft: &mut Draft<'_>, rotation: &AuthorityRotation<'_>, wanted: &PemSet) -> Result<(), Refusal> {
    let alone = rotation.stage == AuthorityStage::Alone;
    let is_told = rotation.kind != AuthorityKind::Etcd && (alone || rotation.stage == AuthorityStage::Known);
    if !is_told || view.speaker()?.name != view.host.name {
        return Ok(());
    }
    let step = PublishTrust { kind: rotation.kind, authorities: wanted.all().collect(), alone };
    let step = draft.add("published", Operation::PublishTrust(step));
    draft.within(reads::STARTED_WITHIN);
    for plane in view.cluster().control_planes() {
        if alone || rotation.kind == AuthorityKind::Kubernetes {
            draft.needs(&step, &API_SERVER_READY.on(&plane.name), Reason::Because("an API server adds what it trusts itself"));
        }
        if rotation.kind == AuthorityKind::Kubernetes {
            draft.needs(&step, &CONTROLLERS.on(&plane.name), Reason::Because("the one that leads tells pods whom it trusts itself"));
        }
        draft.needs(&step, &TRUSTED.on(&plane.name), Reason::Because("all of them trust the same"));
    }
    Ok(())
}
