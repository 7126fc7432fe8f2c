//! Feature gates: whether they exist, can be as they are said, and have what they need.

use std::collections::BTreeMap;

use super::{Judge, WrittenSetting};
use crate::Problem;
use crate::check::known::{Gate, Known, Program};
use crate::model::Settings;
use crate::words::{quote, with_nearest};

pub(super) fn gates(judge: &mut Judge<'_>, known: &Known, settings: &Settings) {
    let gates = &settings.components.feature_gates;
    let own = [
        (Program::ApiServer, &gates.api_server),
        (Program::ControllerManager, &gates.controller_manager),
        (Program::Scheduler, &gates.scheduler),
        (Program::Kubelet, &gates.kubelet),
        (Program::KubeProxy, &gates.kube_proxy),
    ];
    // A kube-proxy that is left out reads nothing.
    let own = own.into_iter().filter(|(program, _)| *program != Program::KubeProxy || !settings.kube_proxy_remove);
    let own: Vec<_> = own.collect();
    let with_those_of_all: Vec<Program> = own.iter().filter(|(_, own)| own.is_empty()).map(|(program, _)| *program).collect();
    gates_of(judge, known, (&with_those_of_all, &["spec.vars.kube_feature_gates"]), &gates.all);
    for (program, own) in own.into_iter().chain([(Program::Kubeadm, &gates.kubeadm)]) {
        gates_of(judge, known, (&[program], program.likely()), own);
    }
}

/// The gates that some programs are told alike.
fn gates_of(judge: &mut Judge<'_>, known: &Known, (programs, likely): (&[Program], &[&str]), gates: &BTreeMap<String, bool>) {
    for (name, value) in gates {
        let problem = unknown(known, programs, name).or_else(|| otherwise(known, programs, (name, *value)));
        if let Some(problem) = problem {
            judge.report(WrittenSetting { name, value: &(*value).into(), likely }, problem);
        }
    }
    for program in programs.iter().filter(|_| !gates.is_empty()) {
        for (name, other) in lacking(known, *program, gates) {
            let blamed = if gates.contains_key(name) { name } else { other };
            let Some(value) = gates.get(blamed) else { continue };
            let problem = Problem::new(format!("the feature gate {} needs {}", quote(name), quote(other)));
            let problem = problem.because(format!("{} does not start with the one on and the other off", program.words()));
            let problem = problem.hint(format!("write `{other}=true` too, or `{name}=false`"));
            judge.report(WrittenSetting { name: blamed, value: &(*value).into(), likely }, problem);
            break;
        }
    }
}

fn unknown(known: &Known, programs: &[Program], name: &str) -> Option<Problem> {
    let strangers: Vec<Program> = programs.iter().copied().filter(|program| known.gate(*program, name).is_none()).collect();
    let first = strangers.first()?;
    let owner = if strangers.len() > 1 && strangers.len() == programs.len() { String::new() } else { format!("{} in ", words(&strangers)) };
    let problem = Problem::new(format!("{} is no feature gate of {owner}{}", quote(name), known.version()));
    let problem = problem.because(
        "a component does not start with a gate that it does not know; one whose feature is finished is removed some versions later",
    );
    let names: Vec<&str> = known.gates(*first).map(|(name, _)| name).collect();
    Some(with_nearest(problem, name, &names, "leave it out"))
}

fn words(programs: &[Program]) -> String {
    programs.iter().map(|program| program.words()).collect::<Vec<_>>().join(" and ")
}

fn otherwise(known: &Known, programs: &[Program], (name, value): (&str, bool)) -> Option<Problem> {
    let gate = programs.iter().find_map(|program| known.gate(*program, name))?;
    let problem = Problem::new(format!("the feature gate {} cannot be {value}", quote(name)));
    if gate.is_locked && gate.default != value {
        let because = format!("{} has it locked to {}, and no component starts otherwise", known.version(), gate.default);
        return Some(problem.because(because).hint("leave it out"));
    }
    let because = format!("its feature is not there yet in {}, and no component starts with it", known.version());
    (gate.stage == "pre-alpha").then(|| problem.because(because).hint("leave it out"))
}

/// Gates that are on without one that they need, each with that.
fn lacking(known: &Known, program: Program, own: &BTreeMap<String, bool>) -> Vec<(&'static str, &'static str)> {
    let is_on = |name: &str| known.gate(program, name).is_some_and(|gate| is_on(name, gate, own));
    let on = known.gates(program).filter(|(name, gate)| gate.needs().next().is_some() && is_on(name));
    on.filter_map(|(name, gate)| gate.needs().find(|other| !is_on(other)).map(|other| (name, other))).collect()
}

/// As `featureEnabled` of Kubernetes: what is said, and where nothing is said what all of a stage are, or the default.
fn is_on(name: &str, gate: Gate, own: &BTreeMap<String, bool>) -> bool {
    let of_stage = match gate.stage {
        "alpha" => own.get("AllAlpha"),
        "beta" => own.get("AllBeta"),
        _ => None,
    };
    own.get(name).or(of_stage).copied().unwrap_or(gate.default)
}

/// Whether a gate is on in kubelets, which are told their own gates, or else those of all; nothing if there is no such gate.
pub(super) fn is_kubelets_on(known: &Known, settings: &Settings, name: &str) -> Option<bool> {
    let gates = &settings.components.feature_gates;
    let own = if gates.kubelet.is_empty() { &gates.all } else { &gates.kubelet };
    known.gate(Program::Kubelet, name).map(|gate| is_on(name, gate, own))
}
