#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::collections::BTreeMap;

use semver::Version;

use super::{Hop, Refused, path};
use crate::bundle::{Bundle, BundleImage, FORMAT, KubernetesRelease};
use crate::upgrade::Running;

/// Releases with the etcd of each, as upstream's kubeadm has them.
const RELEASES: [(&str, &str); 8] = [
    ("1.33.4", "3.5.21"),
    ("1.34.2", "3.6.4"),
    ("1.34.6", "3.6.4"),
    ("1.35.8", "3.6.6"),
    ("1.36.0", "3.6.8"),
    ("1.36.3", "3.6.8"),
    ("1.37.0", "3.7.0"),
    ("1.37.1", "3.7.0"),
];

fn bundle(releases: &[(&str, &str)], more: &[&str]) -> Bundle {
    let reference = |etcd: &str| format!("registry.k8s.io/etcd:{etcd}-0");
    let release = |(version, etcd): &(&str, &str)| KubernetesRelease {
        version: (*version).to_owned(),
        images: [("etcd".to_owned(), reference(etcd))].into(),
    };
    let image = |etcd: &str| BundleImage {
        name: "etcd".to_owned(),
        version: format!("{etcd}-0"),
        architecture: "amd64".to_owned(),
        path: format!("images/{etcd}"),
        size: 1,
        sha256: "0".repeat(64),
        reference: reference(etcd),
        manifest_digest: format!("sha256:{}", "0".repeat(64)),
        lacks: Vec::new(),
    };
    let mut images: Vec<BundleImage> = releases.iter().map(|(_, etcd)| *etcd).chain(more.iter().copied()).map(image).collect();
    images.dedup();
    Bundle { format: FORMAT, kubernetes: releases.iter().map(release).collect(), files: Vec::new(), images, packages: Vec::new() }
}

fn v(text: &str) -> Version {
    text.parse().unwrap()
}

fn host_versions(hosts: &str, versions: &[&str]) -> BTreeMap<String, Version> {
    versions.iter().enumerate().map(|(index, version)| (format!("{hosts}{index}"), v(version))).collect()
}

fn running(planes: &[&str], kubelets: &[&str], etcd: &[&str], shared: &str) -> Running {
    Running {
        planes: host_versions("cp", planes),
        kubelets: host_versions("n", kubelets),
        etcd: host_versions("cp", etcd),
        shared: Some(v(shared)),
        ..Running::default()
    }
}

fn one(version: &str, etcd: &str) -> Running {
    running(&[version], &[version, version], &[etcd], version)
}

fn hop_texts(hops: &[Hop]) -> Vec<String> {
    let hop = |hop: &Hop| match hop {
        Hop::Etcd(version) => format!("etcd {version}"),
        Hop::Kubernetes { to, etcd, kubelets, .. } => {
            let etcd = etcd.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{to} with {etcd}{}", if *kubelets { ", kubelets" } else { "" })
        }
    };
    hops.iter().map(hop).collect()
}

#[test]
fn etcd_gets_a_patch_first_from_which_it_may_meet_the_next_minor_version() {
    let bundle = bundle(&RELEASES, &["3.6.9", "3.6.14"]);
    let hops = path(&one("1.36.3", "3.6.8"), &v("1.37.1"), &bundle).unwrap();
    assert_eq!(hop_texts(&hops), ["etcd 3.6.14", "1.37.1 with 3.7.0, kubelets"]);
    let hops = path(&one("1.36.3", "3.6.11"), &v("1.37.1"), &bundle).unwrap();
    assert_eq!(hop_texts(&hops), ["1.37.1 with 3.7.0, kubelets"], "it is one already");
    let without = self::bundle(&RELEASES, &["3.6.9"]);
    let refused = path(&one("1.36.3", "3.6.8"), &v("1.37.1"), &without).unwrap_err();
    assert_eq!(refused, Refused::Lacks(vec!["etcd 3.6 from 3.6.11 on".to_owned()]));
    // One member that is behind is enough.
    let mixed = running(&["1.36.3"; 3], &["1.36.3"], &["3.6.14", "3.6.8", "3.6.14"], "1.36.3");
    assert_eq!(hop_texts(&path(&mixed, &v("1.37.1"), &bundle).unwrap()), ["etcd 3.6.14", "1.37.1 with 3.7.0, kubelets"]);
}

#[test]
fn control_planes_go_minor_by_minor_and_kubelets_once() {
    let bundle = bundle(&RELEASES, &["3.6.14"]);
    let hops = path(&one("1.34.2", "3.6.4"), &v("1.37.1"), &bundle).unwrap();
    assert_eq!(hop_texts(&hops), ["1.35.8 with 3.6.6", "1.36.3 with 3.6.8", "etcd 3.6.14", "1.37.1 with 3.7.0, kubelets"]);
    let behind = running(&["1.36.3"], &["1.33.4", "1.36.3"], &["3.6.14"], "1.36.3");
    let hops = path(&behind, &v("1.37.1"), &bundle).unwrap();
    assert_eq!(hop_texts(&hops), ["1.36.3 with 3.6.14, kubelets", "1.37.1 with 3.7.0, kubelets"], "1.33 may not be beside 1.37");
}

#[test]
fn a_patch_of_etcd_that_is_newer_than_the_releases_stays() {
    let bundle = bundle(&RELEASES, &["3.6.14"]);
    let hops = path(&one("1.36.0", "3.6.14"), &v("1.36.3"), &bundle).unwrap();
    assert_eq!(hop_texts(&hops), ["1.36.3 with 3.6.14, kubelets"]);
}

#[test]
fn whoever_was_cut_off_goes_on_and_whoever_is_there_has_nothing_to_do() {
    let bundle = bundle(&RELEASES, &["3.6.14"]);
    let half = running(&["1.37.1", "1.36.3", "1.36.3"], &["1.36.3"], &["3.7.0", "3.6.14", "3.6.14"], "1.36.3");
    assert_eq!(hop_texts(&path(&half, &v("1.37.1"), &bundle).unwrap()), ["1.37.1 with 3.7.0, kubelets"]);
    let late = running(&["1.37.1"; 3], &["1.37.1", "1.36.3"], &["3.7.0"; 3], "1.37.1");
    assert_eq!(hop_texts(&path(&late, &v("1.37.1"), &bundle).unwrap()), ["1.37.1 with 3.7.0, kubelets"]);
    assert!(path(&one("1.37.1", "3.7.0"), &v("1.37.1"), &bundle).unwrap().is_empty());
    let unsaid = Running { shared: Some(v("1.36.3")), ..one("1.37.1", "3.7.0") };
    assert_eq!(path(&unsaid, &v("1.37.1"), &bundle).unwrap().len(), 1, "the cluster does not say so of itself");
}

#[test]
fn there_is_no_way_back_nor_through_what_may_not_be() {
    let bundle = bundle(&RELEASES, &["3.6.14"]);
    let refused = |running: &Running, to: &str| path(running, &v(to), &bundle).unwrap_err();
    assert!(matches!(refused(&one("1.37.1", "3.7.0"), "1.36.3"), Refused::Older { .. }));
    assert!(matches!(refused(&one("1.37.1", "3.7.0"), "1.37.0"), Refused::Older { .. }));
    let apart = running(&["1.37.1", "1.35.8"], &["1.35.8"], &["3.7.0"], "1.35.8");
    assert!(matches!(refused(&apart, "1.37.1"), Refused::Skew(_)));
    let newer = running(&["1.36.3"], &["1.37.1"], &["3.6.8"], "1.36.3");
    assert!(matches!(refused(&newer, "1.37.1"), Refused::Skew(_)));
    assert_eq!(refused(&Running::default(), "1.37.1"), Refused::Nothing);
    let few = self::bundle(&[("1.35.8", "3.6.6"), ("1.37.1", "3.7.0")], &["3.6.14"]);
    let lacks = path(&one("1.35.8", "3.6.6"), &v("1.37.1"), &few).unwrap_err();
    assert_eq!(lacks, Refused::Lacks(vec!["Kubernetes 1.36".to_owned()]));
    let lacks = path(&one("1.36.3", "3.6.14"), &v("1.37.1"), &few).unwrap_err();
    assert_eq!(lacks, Refused::Lacks(vec!["Kubernetes 1.36.3".to_owned()]), "what runs may have to be put back");
}

/// Every pair, with kubelets as far behind as they may be: at no point of the way anything runs side by side that may not.
#[test]
fn no_way_leads_through_a_forbidden_skew() {
    let bundle = bundle(&RELEASES, &["3.5.26", "3.6.14"]);
    let all: Vec<Version> = RELEASES.iter().map(|(version, _)| v(version)).collect();
    let mut ways = 0;
    for from in &all {
        for kubelet in all.iter().filter(|kubelet| *kubelet <= from && from.minor - kubelet.minor <= 3) {
            ways += all.iter().filter(|to| is_fine(&bundle, (from, kubelet), to)).count();
        }
    }
    assert!(ways > 60, "{ways}");
}

fn etcd_of(version: &Version) -> Version {
    v(RELEASES.iter().find(|(it, _)| v(it) == *version).unwrap().1)
}

/// Goes the way, if there is one: whether there is.
fn is_fine(bundle: &Bundle, (from, kubelet): (&Version, &Version), to: &Version) -> bool {
    let text = |version: &Version| version.to_string();
    let start = running(&[&text(from)], &[&text(kubelet)], &[&text(&etcd_of(from))], &text(from));
    let hops = match path(&start, to, bundle) {
        Ok(hops) => hops,
        Err(Refused::Older { .. }) if to < from => return false,
        Err(refused) => panic!("{from} with {kubelet} to {to}: {refused:?}"),
    };
    let (mut plane, mut kubelets, mut etcd) = (from.clone(), kubelet.clone(), etcd_of(from));
    for hop in &hops {
        match hop {
            Hop::Etcd(version) => etcd = goes(&etcd, version),
            Hop::Kubernetes { to: next, etcd: brings, kubelets: follow, .. } => {
                assert!(next.minor - plane.minor <= 1 && *next >= plane, "{from} to {to}: {hops:?}");
                assert!(next.minor - kubelets.minor <= 3, "{from} with {kubelet} to {to}: {hops:?}");
                etcd = goes(&etcd, brings.as_ref().unwrap());
                plane = next.clone();
                kubelets = if *follow { next.clone() } else { kubelets };
            }
        }
    }
    assert_eq!((&plane, &kubelets), (to, to), "{hops:?}");
    let moves = hops.iter().filter(|hop| matches!(hop, Hop::Kubernetes { kubelets: true, .. })).count();
    assert!(moves <= 2, "{from} with {kubelet} to {to} drains {moves} times: {hops:?}");
    true
}

/// etcd's own rules, told another way than the path has them.
fn goes(is: &Version, next: &Version) -> Version {
    assert!(next >= is && next.minor - is.minor <= 1, "{is} to {next}");
    if next.minor == 7 && is.minor == 6 {
        assert!(is.patch >= 11, "{is} to {next}");
    }
    if next.minor == 6 && is.minor == 5 {
        assert!(is.patch >= 26, "{is} to {next}");
    }
    next.clone()
}
