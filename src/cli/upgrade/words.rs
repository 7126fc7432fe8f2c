//! What is said of an upgrade: its way, its stages, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::Cluster;
use kok_crds::{count, listed};
use kok_tasks::upgrade::{Found, Hop, Pause, Stage, StageName, Turn, left};

use super::super::reset;
use crate::engine::{Upgraded, Way};
use crate::failure::{Failure, Kind};

/// Which way it goes: versions, stages with what each disturbs, and what was found.
pub(super) fn way_words(cluster: &Cluster, way: &Way, (turn, pause): (Turn, Option<Pause>)) -> Vec<String> {
    let to = &way.to;
    let mut words: Vec<String> = way.found.iter().map(|found| found_words(found, way.blocking().is_empty())).collect();
    if way.stages.is_empty() {
        let left = left(&way.running, to);
        words.push(match pause {
            Some(_) if !left.is_empty() => {
                format!("nothing to do before the pause; {}", left_words(&left, "`kokctl upgrade` without --pause-after"))
            }
            _ if turn == Turn::Components => format!("nothing to do: what is meant of {} has the components of the bundle", cluster.name),
            _ if turn == Turn::Emulate => format!("nothing to do: {}", emulated_words(cluster, way)),
            _ if turn == Turn::TakeBack => {
                format!("nothing to do: no control plane of {} works as another version than its own", cluster.name)
            }
            _ => format!("nothing to do: what is meant of {} has Kubernetes {to}", cluster.name),
        });
        return words;
    }
    words.push(match turn {
        Turn::Components => format!("{}: components of the bundle; Kubernetes stays {to}", cluster.name),
        Turn::TakeBack => format!("{}: control planes back to Kubernetes {to}, as which they work", cluster.name),
        _ if way.hops.is_empty() => format!("{}: hosts have Kubernetes {to}", cluster.name),
        _ => format!("{}: {}", cluster.name, way.hops.iter().map(hop_words).collect::<Vec<_>>().join(", then ")),
    });
    let numbered = way.stages.iter().enumerate();
    words.extend(
        numbered.map(|(index, stage)| format!("stage {} {:<15} {}", index + 1, stage.name.to_string(), stage_words(cluster, stage))),
    );
    words
}

/// What blocks and does not stop it is waited for.
fn found_words(found: &Found, is_awaited: bool) -> String {
    let failure = Failure::refusal(Kind::Host, found.refusal.clone());
    let what = match found.blocks {
        true if is_awaited => "waited for",
        true => "in the way",
        false => "to know",
    };
    format!("{what} ({}): {}", found.name, failure.one_line())
}

fn hop_words(hop: &Hop) -> String {
    match hop {
        Hop::Etcd(version) => format!("etcd {version}"),
        Hop::Kubernetes { to, emulates: Some((major, minor)), .. } => {
            format!("control planes {to} that work as {major}.{minor}, which can be taken back; etcd and kubelets stay")
        }
        Hop::Kubernetes { to, etcd: Some(etcd), .. } => format!("Kubernetes {to} with etcd {etcd}"),
        Hop::Kubernetes { to, .. } => format!("Kubernetes {to}"),
    }
}

fn stage_words(cluster: &Cluster, stage: &Stage) -> String {
    let hosts = listed(stage.hosts.iter().map(String::as_str));
    let several = cluster.is_highly_available();
    match stage.name {
        StageName::Components => format!("{hosts}: one after the other where something works; containers go on"),
        StageName::Etcd if cluster.has_etcd_units() => format!("{hosts} in turn: one member of etcd is away for some seconds"),
        StageName::Etcd | StageName::First | StageName::ControlPlanes if several => format!("{hosts} in turn: {ONE_AWAY}"),
        StageName::Etcd | StageName::First | StageName::ControlPlanes => format!("{hosts}: {ALL_AWAY}"),
        StageName::Configuration => "kube-proxy and CoreDNS by rollout".to_owned(),
        StageName::Kubelets => kubelet_words(cluster, stage, &hosts),
        StageName::Rest => format!("{hosts}: waits for API servers, and lets pods come again, as a run that was cut off has left it"),
    }
}

/// What the turn of a control plane costs.
const ONE_AWAY: &str = "one control plane is away for some 15 s, and others answer";
const ALL_AWAY: &str = "the API is away for some 15 s";

fn kubelet_words(cluster: &Cluster, stage: &Stage, hosts: &str) -> String {
    let drained = stage.cluster.underway.as_ref().map_or(0, |underway| underway.drained.len());
    let workers = cluster.nodes().filter(|host| !host.roles.control_plane && stage.hosts.contains(&host.name)).count();
    let at_once = match workers {
        0 | 1 => String::new(),
        workers => format!(", {} at a time of the workers", stage.cluster.settings.serial.count_of(workers)),
    };
    let minutes = cluster.settings.drains.timeout.unwrap_or(kok_tasks::drain::DrainSettings::TIMEOUT).as_secs().div_ceil(60);
    let wave = stage.cluster.wave();
    let pool = wave.and_then(|wave| wave.pool.as_ref()).map(|pool| format!("pool {pool}: ")).unwrap_or_default();
    let soak = wave.map(|wave| wave.soak.as_secs()).filter(|seconds| *seconds > 0);
    let soak = soak.map(|seconds| format!(", and looked at for {seconds} s before the next")).unwrap_or_default();
    // A kubelet of another version starts what runs beside it anew.
    let away = match stage.hosts.len() - workers {
        0 => String::new(),
        _ if cluster.is_highly_available() => format!("; {ONE_AWAY}"),
        _ => format!("; {ALL_AWAY}"),
    };
    match drained {
        0 => format!("{pool}{hosts}{at_once}: started anew, and pods stay{soak}{away}"),
        _ => format!("{pool}{hosts}{at_once}: drained, which may wait {minutes} min a node{soak}{away}"),
    }
}

/// What is left to do, and the word that goes on with it.
fn left_words(left: &BTreeMap<&'static str, BTreeSet<String>>, word: &str) -> String {
    let left: Vec<String> = left.iter().map(|(what, hosts)| format!("{what} of {}", listed(hosts.iter().map(String::as_str)))).collect();
    format!("left: {}; {word} goes on", left.join(", "))
}

/// What goes on with it.
pub(super) const fn word(turn: Turn) -> &'static str {
    match turn {
        Turn::Components => "upgrade --part components",
        Turn::Whole => "upgrade",
        Turn::Emulate => "upgrade --emulate",
        Turn::Finish => "upgrade --finish",
        Turn::TakeBack => "upgrade --take-back",
    }
}

/// What there is now, and the two words of which one is to follow.
fn emulated_words(cluster: &Cluster, way: &Way) -> String {
    let works_as = way.running.shared.as_ref().map(|shared| format!("{}.{}", shared.major, shared.minor)).unwrap_or_default();
    let name = &cluster.name;
    format!(
        "control planes of {name} have Kubernetes {} and work as {works_as}; try it, then `kokctl upgrade --finish`, or `kokctl upgrade --take-back`",
        way.to
    )
}

pub(super) fn end_words(cluster: &Cluster, (way, turn): (&Way, Turn), upgraded: &Upgraded, seconds: f64) -> Vec<String> {
    let done = upgraded.outcome.as_ref().map_or(0, |outcome| outcome.done);
    let (name, to) = (&cluster.name, &way.to);
    let mut words = Vec::new();
    if turn == Turn::Components {
        words.push(format!("{name} has the components of the bundle: {}, {seconds:.1} s", count(done, "change")));
        words.extend(upgraded.kept.iter().flat_map(reset::snapshot_words));
        return words;
    }
    let is_part = |left: &BTreeMap<&'static str, BTreeSet<String>>| left.contains_key("control planes");
    if turn == Turn::Emulate && !is_part(&upgraded.left) {
        words.push(format!("{}: {}, {seconds:.1} s", emulated_words(cluster, way), count(done, "change")));
    } else if turn == Turn::TakeBack && !is_part(&upgraded.left) {
        words.push(format!("control planes of {name} have Kubernetes {to} again: {}, {seconds:.1} s", count(done, "change")));
    } else if upgraded.left.is_empty() {
        words.push(format!("{name} has Kubernetes {to}: {}, {seconds:.1} s", count(done, "change")));
    } else {
        words.push(format!(
            "{name}: a part of the way to Kubernetes {to} is done, {}, {seconds:.1} s; the cluster works as it is",
            count(done, "change")
        ));
        words.push(left_words(&upgraded.left, &format!("`kokctl {}`", word(turn))));
    }
    if *to != cluster.kubernetes_version {
        words.push(format!("write kubernetesVersion: {to} into the file, which says {}", cluster.kubernetes_version));
    }
    words.extend(upgraded.kept.iter().flat_map(reset::snapshot_words));
    words
}
