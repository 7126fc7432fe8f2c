//! Whether a backup can be restored on the hosts that a cluster has.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_pki::AuthorityKind;
use semver::Version;

use super::manifest::Manifest;
use crate::plan::Refusal;

/// The part of a file or host that tells who it trusts, and what reads its data.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Trusts {
    /// Fingerprints of the certificates of authorities.
    pub authorities: Vec<(AuthorityKind, String)>,
    /// Fingerprints of the keys that etcd's content is encrypted with, each with its name.
    pub encryption: BTreeSet<String>,
    /// Names of the KMS plugins that it is encrypted by, whose keys nobody here knows.
    pub plugins: BTreeSet<String>,
}

/// The versions that run on a host, as far as its manifests say them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runs {
    /// Of the API server.
    pub kubernetes: Option<Version>,
    /// Of etcd.
    pub etcd: Option<Version>,
}

/// The version of an image: `registry.k8s.io/etcd:3.6.8-0` has a number of the packing behind it.
#[must_use]
pub fn image_version(manifest: &str) -> Option<Version> {
    let image = manifest.lines().find_map(|line| line.trim().trim_start_matches("- ").strip_prefix("image:"))?;
    let tag = image.trim().trim_matches('"').split('@').next()?.rsplit_once(':')?.1;
    let tag = tag.strip_prefix('v').unwrap_or(tag);
    Version::parse(tag)
        .ok()
        .map(|version| if version.major == 1 { version } else { Version::new(version.major, version.minor, version.patch) })
}

/// What of the cluster's file keeps a backup from being restored in it.
#[must_use]
pub fn fits_file(manifest: &Manifest, cluster: &Cluster) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if manifest.cluster != cluster.name {
        let refusal = Refusal::new(format!("the backup is of the cluster `{}`", manifest.cluster.escape_debug()));
        let refusal = refusal.because(format!("the file is that of `{}`", cluster.name));
        refusals.push(refusal.hint("take a backup of this cluster, or the file of that one"));
    }
    refusals.extend(older(manifest, &cluster.kubernetes_version, "the file says"));
    refusals.extend(other_of_several(manifest, cluster));
    refusals
}

/// What the cluster says of itself is the backup's then, and control planes join in that version alone, while the first one has another.
fn other_of_several(manifest: &Manifest, cluster: &Cluster) -> Option<Refusal> {
    let of_backup = Version::parse(&manifest.versions.kubernetes).ok().filter(|version| *version < cluster.kubernetes_version)?;
    cluster.is_highly_available().then(|| {
        Refusal::new("the backup is of an earlier version of Kubernetes")
            .because(format!(
                "it was made of {of_backup}, the file says {}, and the other control planes could not join",
                cluster.kubernetes_version
            ))
            .hint(
                "take a backup that was made since the upgrade; with one control plane an earlier one can be restored, and upgraded again",
            )
    })
}

/// What of the cluster's file keeps a backup from being restored onto hosts that are new: their etcd comes with the version of the file, and has to read it.
#[must_use]
pub fn fits_new_hosts(manifest: &Manifest, cluster: &Cluster) -> Option<Refusal> {
    let of_backup = Version::parse(&manifest.versions.kubernetes).ok()?;
    let version = &cluster.kubernetes_version;
    ((version.major, version.minor) != (of_backup.major, of_backup.minor)).then(|| {
        Refusal::new("the backup is of another minor version of Kubernetes")
            .because(format!("it was made of {of_backup}, and new hosts would get {version}, with the etcd that belongs to it"))
            .hint(format!("write `kubernetesVersion: {of_backup}` for now, and upgrade by `kokctl upgrade` afterwards"))
    })
}

/// What of the cluster's file keeps a backup from being restored onto hosts that are new, where KMS plugins of these names have encrypted what it holds.
#[must_use]
pub fn fits_plugins(plugins: &BTreeSet<String>, has_keys: bool, cluster: &Cluster) -> Option<Refusal> {
    let encryption = &cluster.settings.security.encryption;
    if let Some(plugin) = encryption.kms.as_ref().filter(|_| encryption.enabled && has_keys) {
        let refusal = Refusal::new("the backup is encrypted by a key, too, and new hosts would have none");
        let refusal = refusal.because(format!(
            "the file says that the KMS plugin {} encrypts, and the backup was made before all was written anew by that",
            plugin.name
        ));
        return Some(refusal.hint(
            "write the `algorithm` of then in the place of `kms`, and lead the cluster to the plugin afterwards: `kokctl secrets change-encryption`; one that \
             needs key and plugin, for it was made in between, can only be restored where both are",
        ));
    }
    let own = encryption.kms.as_ref().filter(|_| encryption.enabled).map(|plugin| plugin.name.as_str());
    lacks_plugin(plugins, own.as_slice(), "the file names none of that name as `encryption.kms`")
}

fn lacks_plugin(wanted: &BTreeSet<String>, has: &[&str], because: &str) -> Option<Refusal> {
    let missing = wanted.iter().find(|name| !has.contains(&name.as_str()))?;
    let refusal = Refusal::new(format!("the backup can be read through the KMS plugin {missing} alone")).because(because);
    let hint = "have such a plugin with the keys of then listen on the control planes, and write it under `encryption`; or take a backup that needs none";
    Some(refusal.hint(hint))
}

fn older(manifest: &Manifest, version: &Version, who: &str) -> Option<Refusal> {
    let of_backup = Version::parse(&manifest.versions.kubernetes).ok()?;
    (*version < of_backup && (version.major, version.minor) != (of_backup.major, of_backup.minor)).then(|| {
        Refusal::new("the backup is of a later version of Kubernetes")
            .because(format!(
                "it was made of {of_backup}, and {who} {version}: an older API server may not be able to read what a later one has stored"
            ))
            .hint("take an older backup; or upgrade the cluster first, by `kokctl upgrade`")
    })
}

/// What of a host keeps a backup from being restored on it.
#[must_use]
pub fn fits_host(manifest: &Manifest, wanted: &Trusts, host: &str, (has, runs): (&Trusts, &Runs)) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let other = |what: &str, file: &str| {
        let refusal = Refusal::new(format!("the backup has another {what} than the host"));
        let refusal = refusal.because(format!("{file} there is not the one that is in the backup, or is missing"));
        refusal.hint(
            "take a backup that was made since the keys of the cluster were replaced; or restore it onto other hosts, with --new-hosts",
        )
    };
    for (kind, fingerprint) in &wanted.authorities {
        if !has.authorities.iter().any(|(known, is)| known == kind && is == fingerprint) {
            let (name, file) = match kind {
                AuthorityKind::Kubernetes => ("authority of Kubernetes", "pki/ca.crt"),
                AuthorityKind::Etcd => ("authority of etcd", "pki/etcd/ca.crt"),
                AuthorityKind::FrontProxy => ("authority of the front proxy", "pki/front-proxy-ca.crt"),
            };
            refusals.push(other(name, &format!("/etc/kubernetes/{file}")));
        }
    }
    // Another key of service accounts is no matter of the data: pods get tokens of whichever signs by then.
    // What was written with any of them may be in the snapshot still; a newer one beside them does not matter.
    if !wanted.encryption.is_subset(&has.encryption) {
        refusals.push(other("key to encrypt with", crate::snapshot::ENCRYPTION));
    }
    refusals.extend(lacks_plugin(
        &wanted.plugins,
        &has.plugins.iter().map(String::as_str).collect::<Vec<_>>(),
        "the host's API server has none of that name",
    ));
    refusals.extend(runs.kubernetes.as_ref().and_then(|version| older(manifest, version, "the host runs")));
    refusals.extend(runs.etcd.as_ref().and_then(|is| other_etcd(manifest, is)));
    refusals.into_iter().map(|refusal| refusal.at(format!("host {host}"))).collect()
}

/// What keeps a backup from being restored where a member of this version runs; nothing where that is none.
#[must_use]
pub fn fits_member(manifest: &Manifest, host: &str, version: &str) -> Option<Refusal> {
    Some(other_etcd(manifest, &Version::parse(version).ok()?)?.at(format!("host {host}")))
}

/// Of another minor version nobody promises that it reads the data (etcd, "Downgrading", "Upgrading").
fn other_etcd(manifest: &Manifest, is: &Version) -> Option<Refusal> {
    let of_backup = Version::parse(&manifest.versions.etcd).ok()?;
    ((of_backup.major, of_backup.minor) != (is.major, is.minor)).then(|| {
        Refusal::new("the backup is of another minor version of etcd")
            .because(format!("it was made of {of_backup}, and the host runs {is}"))
            .hint("take a backup that was made since the cluster was upgraded")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::BackupVersions;
    use super::*;

    fn manifest(kubernetes: &str, etcd: &str) -> Manifest {
        let versions = BackupVersions { kokctl: "0.1.0".to_owned(), kubernetes: kubernetes.to_owned(), etcd: etcd.to_owned() };
        Manifest::new("demo", 0, versions, ("cp1", None), Vec::new())
    }

    fn trusts(letter: &str) -> Trusts {
        let authorities = AuthorityKind::ALL.map(|kind| (kind, letter.to_owned())).to_vec();
        Trusts { authorities, encryption: [letter.to_owned()].into(), plugins: BTreeSet::new() }
    }

    fn runs(kubernetes: &str, etcd: &str) -> Runs {
        Runs { kubernetes: Version::parse(kubernetes).ok(), etcd: Version::parse(etcd).ok() }
    }

    fn refused(manifest: &Manifest, wanted: &Trusts, has: &Trusts, runs: &Runs) -> Vec<String> {
        let refusals = fits_host(manifest, wanted, "cp1", (has, runs));
        assert!(refusals.iter().all(|refusal| refusal.hint.is_some() && refusal.at.as_deref() == Some("host cp1")));
        refusals.into_iter().map(|refusal| refusal.what).collect()
    }

    #[test]
    fn the_same_keys_and_versions_fit() {
        let (is, runs) = (manifest("1.37.1", "3.6.8"), runs("1.37.1", "3.6.8"));
        assert_eq!(refused(&is, &trusts("a"), &trusts("a"), &runs), [""; 0]);
        // What was never encrypted is read by whoever encrypts by now.
        assert_eq!(refused(&is, &Trusts { encryption: BTreeSet::new(), ..trusts("a") }, &trusts("a"), &runs), [""; 0]);
        assert_eq!(refused(&is, &trusts("a"), &trusts("a"), &Runs::default()), [""; 0], "what is not known is no other version");
    }

    #[test]
    fn each_other_key_is_named() {
        let (is, runs) = (manifest("1.37.1", "3.6.8"), runs("1.37.1", "3.6.8"));
        assert_eq!(refused(&is, &trusts("a"), &trusts("b"), &runs).len(), 4);
        assert_eq!(refused(&is, &trusts("a"), &Trusts::default(), &runs).len(), 4);
        let lost = Trusts { encryption: BTreeSet::new(), ..trusts("a") };
        assert_eq!(refused(&is, &trusts("a"), &lost, &runs), ["the backup has another key to encrypt with than the host"]);
    }

    #[test]
    fn versions_that_may_not_read_it_are_refused() {
        let of =
            |kubernetes: &str, etcd: &str| refused(&manifest("1.36.3", "3.6.8"), &trusts("a"), &trusts("a"), &runs(kubernetes, etcd)).len();
        assert_eq!(
            [of("1.36.1", "3.6.1"), of("1.37.0", "3.6.8"), of("1.35.9", "3.6.8"), of("1.36.3", "3.7.0"), of("1.36.3", "3.5.30")],
            [0, 0, 1, 1, 1]
        );
    }

    #[test]
    fn several_control_planes_join_in_the_version_of_the_backup_alone() {
        let of = |version: &str, planes: u8| {
            let hosts: String = (1..=planes)
                .map(|number| format!("  - {{name: cp{number}, address: 10.0.0.1{number}, roles: [control-plane]}}\n"))
                .collect();
            let text = format!(
                "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  kubernetesVersion: {version}\n  hosts:\n{hosts}"
            );
            fits_file(&manifest("1.36.3", "3.6.8"), &kok_crds::read_cluster("f", &text).unwrap()).len()
        };
        assert_eq!([of("1.36.3", 3), of("1.36.4", 1), of("1.37.1", 1), of("1.36.4", 3), of("1.35.9", 1)], [0, 0, 0, 1, 1]);
    }

    #[test]
    fn new_hosts_get_the_version_of_the_backup() {
        let of = |version: &str| {
            let text = format!(
                "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  kubernetesVersion: {version}\n  \
                 hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n"
            );
            fits_new_hosts(&manifest("1.36.3", "3.6.8"), &kok_crds::read_cluster("f", &text).unwrap())
        };
        assert!(of("1.36.1").is_none());
        assert!(of("1.37.1").and_then(|refusal| refusal.hint).is_some_and(|hint| hint.contains("kubernetesVersion: 1.36.3")));
    }

    #[test]
    fn the_version_of_an_image_is_its_tag() {
        let of = |line: &str| image_version(&format!("spec:\n  containers:\n  - image: {line}\n")).map(|version| version.to_string());
        assert_eq!(of("registry.k8s.io/etcd:3.6.8-0").as_deref(), Some("3.6.8"));
        assert_eq!(of("registry.k8s.io/kube-apiserver:v1.37.1").as_deref(), Some("1.37.1"));
        assert_eq!(of("127.0.0.1:5000/kube-apiserver:v1.38.0-rc.1@sha256:00").as_deref(), Some("1.38.0-rc.1"));
        assert_eq!(of("registry.k8s.io/etcd"), None);
        assert_eq!(image_version(""), None);
    }

    #[test]
    fn what_a_plugin_has_encrypted_needs_one_of_its_name() {
        let (is, runs) = (manifest("1.37.1", "3.7.0"), Runs::default());
        let with = |names: &[&str]| Trusts { plugins: names.iter().map(|name| (*name).to_owned()).collect(), ..trusts("a") };
        let fits = |backup: &[&str], host: &[&str]| fits_host(&is, &with(backup), "cp1", (&with(host), &runs)).is_empty();
        assert!(fits(&[], &[]) && fits(&[], &["vault"]) && fits(&["vault"], &["other", "vault"]));
        assert!(!fits(&["vault"], &[]) && !fits(&["vault"], &["other"]));
        let of = |encryption: &str, has_keys: bool| {
            let text = format!(
                "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  kubernetesVersion: 1.37.1\n  \
                 hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n  encryption: {{{encryption}}}\n"
            );
            fits_plugins(&["vault".to_owned()].into(), has_keys, &kok_crds::read_cluster("f", &text).unwrap()).is_none()
        };
        assert!(of("enabled: true, kms: {name: vault, endpoint: 'unix:///run/kms/v.sock'}", false));
        assert!(!of("enabled: true, kms: {name: vault, endpoint: 'unix:///run/kms/v.sock'}", true));
        assert!(!of("enabled: false, kms: {name: vault, endpoint: 'unix:///run/kms/v.sock'}", false) && !of("enabled: true", false));
    }

    /// While the key is replaced both have two; afterwards hosts lack the one that an earlier backup needs.
    #[test]
    fn hosts_need_every_key_of_the_backup_and_may_have_more() {
        let (is, runs) = (manifest("1.37.1", "3.7.0"), Runs::default());
        let with = |keys: &[&str]| Trusts { encryption: keys.iter().map(|key| (*key).to_owned()).collect(), ..trusts("a") };
        let fits = |backup: &[&str], host: &[&str]| fits_host(&is, &with(backup), "cp1", (&with(host), &runs)).is_empty();
        assert!(fits(&["old"], &["old", "new"]) && fits(&["old", "new"], &["new", "old"]) && fits(&["new"], &["new"]));
        assert!(!fits(&["old"], &["new"]) && !fits(&["old", "new"], &["new"]) && !fits(&["old", "new"], &["old"]));
    }
}
