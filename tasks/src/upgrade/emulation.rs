//! An upgrade that can be taken back: control planes get the new version and go on to work as the one before (KEP-4330, "Compatibility Versions"), store
//! nothing that this one could not read, and have it back on a word. etcd, kubelets and what the cluster says of itself stay as they are until another word
//! ends that.

use kok_crds::listed;
use kok_crds::model::Cluster;
use semver::Version;

use super::running::{EMULATED_VERSION, has_own_emulation};
use super::{Hop, Refused, Running, path};
use crate::bundle::Bundle;

/// What is asked of an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Turn {
    /// All of it.
    #[default]
    Whole,
    /// Control planes alone get the version, and work as the one before.
    Emulate,
    /// They work as what they are, and all else follows.
    Finish,
    /// They get the version back that they work as.
    TakeBack,
    /// What goes with no version of Kubernetes: containerd, runc, plugins, load balancers and the network. Kubernetes and etcd stay as they are.
    Components,
}

fn not(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Refused {
    Refused::Not { what: what.into(), because: because.into(), hint: hint.into() }
}

/// The way from what runs to `to`, as it is asked for; back it leads to what the cluster says of itself, which is the version of before.
///
/// # Errors
/// [`Refused`] where there is none.
pub fn hops(turn: Turn, cluster: &Cluster, running: &Running, to: &Version, bundle: &Bundle) -> Result<Vec<Hop>, Refused> {
    match turn {
        Turn::Whole | Turn::Components if !running.emulated.is_empty() => Err(begun(running)),
        Turn::Whole => path(running, to, bundle),
        Turn::Emulate => emulate(cluster, running, to, bundle),
        Turn::Finish => finish(running, to, bundle),
        Turn::TakeBack => take_back(running, bundle),
        Turn::Components => Ok(Vec::new()),
    }
}

/// The version that all of it leads to.
#[must_use]
pub fn leads_to(turn: Turn, running: &Running, to: &Version) -> Version {
    let stays = match turn {
        Turn::TakeBack => running.shared.as_ref(),
        Turn::Components => running.planes.values().min(),
        Turn::Whole | Turn::Emulate | Turn::Finish => None,
    };
    stays.unwrap_or(to).clone()
}

fn names(running: &Running) -> String {
    listed(running.emulated.keys().map(String::as_str))
}

/// What was begun is ended first, by one word or the other.
fn begun(running: &Running) -> Refused {
    let (major, minor) = running.emulated.values().next().copied().unwrap_or_default();
    not(
        "an upgrade waits for a word",
        format!("{} have the new version and work as {major}.{minor}, so that it can be taken back", names(running)),
        "`kokctl upgrade --finish` goes on to the end, from where there is no way back; `kokctl upgrade --take-back` leads back",
    )
}

fn emulate(cluster: &Cluster, running: &Running, to: &Version, bundle: &Bundle) -> Result<Vec<Hop>, Refused> {
    let (Some(shared), Some(oldest)) = (&running.shared, running.planes.values().min()) else { return Err(Refused::Nothing) };
    let minor = (shared.major, shared.minor);
    if has_own_emulation(cluster) {
        let because = format!("the file sets the option `{EMULATED_VERSION}` of API servers itself");
        return Err(not(
            "this upgrade can't be one that can be taken back",
            because,
            "take the option out of the file; or upgrade without --emulate",
        ));
    }
    if to.major != shared.major || to.minor != shared.minor + 1 {
        let because =
            format!("the cluster says {shared} of itself, and a program works as one minor version before its own, not as another patch");
        let hint = "leave --emulate out, for patches; of several minor versions go to the last but one first, with --to";
        return Err(not(format!("{to} can't work as {}.{}", minor.0, minor.1), because, hint));
    }
    let strange = running.planes.iter().find(|(host, is)| match running.emulated.get(*host) {
        // One that was cut off runs still what it had.
        Some(as_minor) => (*is != to && *is != shared) || *as_minor != minor,
        None => *is != shared,
    });
    if let Some((host, is)) = strange {
        let because = format!("{host} runs {is}, and all others are to have {shared}, or {to} that works as it");
        return Err(not("this upgrade can't be one that can be taken back", because, "`kokctl upgrade` goes on without --emulate"));
    }
    if let Some(refused) = alpha(cluster) {
        return Err(refused);
    }
    let lacks = |version: &Version| bundle.release(&version.to_string()).is_err();
    let missing: Vec<String> =
        [oldest, to].into_iter().filter(|version| lacks(version)).map(|version| format!("Kubernetes {version}")).collect();
    if !missing.is_empty() {
        return Err(Refused::Lacks(missing));
    }
    if running.planes.iter().all(|(host, is)| is == to && running.emulated.contains_key(host)) {
        return Ok(Vec::new());
    }
    Ok(vec![Hop::Kubernetes { to: to.clone(), etcd: None, kubelets: false, emulates: Some(minor) }])
}

/// An API server that works as another version serves no alpha version of an API (KEP-4330).
fn alpha(cluster: &Cluster) -> Option<Refused> {
    let configured = cluster.settings.components.api_server.options.get("runtime-config")?.to_string();
    configured.contains("alpha").then(|| {
        let because = format!("API servers serve alpha versions of APIs by their option `runtime-config` ({configured}), which none does that works as another version");
        not("this upgrade can't be one that can be taken back", because, "leave --emulate out; or alpha versions")
    })
}

fn finish(running: &Running, to: &Version, bundle: &Bundle) -> Result<Vec<Hop>, Refused> {
    let newest = running.planes.values().max().ok_or(Refused::Nothing)?;
    if !running.emulated.is_empty() && newest != to && Some(newest) != running.shared.as_ref() {
        let because = format!("{} have {newest}, and {to} is asked for", names(running));
        return Err(not(
            "the upgrade that was begun is another one",
            because,
            format!("write kubernetesVersion: {newest}, or --to {newest}"),
        ));
    }
    path(running, to, bundle)
}

fn take_back(running: &Running, bundle: &Bundle) -> Result<Vec<Hop>, Refused> {
    let Some(shared) = &running.shared else {
        let because = "no API server answers that would say it, and neither another control plane nor a kubelet has that minor version";
        return Err(not("nobody knows what it would be taken back to", because, "have one API server answer, and say the same again"));
    };
    let itself: Vec<&str> = running
        .planes
        .iter()
        .filter(|(host, is)| *is != shared && !running.emulated.contains_key(*host))
        .map(|(host, _)| host.as_str())
        .collect();
    if !itself.is_empty() {
        let because =
            format!("{} run a newer version than {shared} as what it is, and may have stored what that can't read", listed(itself));
        return Err(not("this upgrade can't be taken back any more", because, "go on with it: `kokctl upgrade --finish`"));
    }
    if running.emulated.is_empty() {
        return Ok(Vec::new());
    }
    if running.emulated.values().any(|minor| *minor != (shared.major, shared.minor)) {
        let because = format!("the cluster says {shared} of itself, and control planes work as another minor version");
        return Err(not(
            "nobody knows what it would be taken back to",
            because,
            "`kokctl status` shows what runs; go on with `kokctl upgrade --finish`",
        ));
    }
    if bundle.release(&shared.to_string()).is_err() {
        return Err(Refused::Lacks(vec![format!("Kubernetes {shared}")]));
    }
    Ok(vec![Hop::Kubernetes { to: shared.clone(), etcd: None, kubelets: false, emulates: None }])
}
