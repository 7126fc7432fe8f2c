//! Whether components would start with what they are told, and take notice of it: asked of tables of what Kubernetes knows ([`Known`]), and of
//! the rules by which its programs judge their own settings.

mod etcd;
mod fields;
mod gates;
mod kubelet;
mod labels;
mod leaders;
mod managers;
mod numbers;
mod options;
mod patches;
mod plugins;
mod ports;
mod tls;
mod values;

use semver::Version;
use serde_json::Value as Json;

use super::known::{Known, Program};
use crate::decode::Decoder;
use crate::model::{Component, Settings, Values};
use crate::read::ReadHost;
use crate::{Position, Problem};

/// Reports what is wrong, each at the place that says it.
struct Judge<'a> {
    decoder: &'a mut Decoder,
    spec: &'a Position,
    reported: Vec<Problem>,
}

/// Something that a component is told: an option, a field of its configuration, a feature gate.
#[derive(Debug, Clone, Copy)]
struct WrittenSetting<'a> {
    name: &'a str,
    value: &'a Json,
    /// Parts of the paths that say it, the likeliest first.
    likely: &'a [&'a str],
}

impl<'a> WrittenSetting<'a> {
    fn new(program: Program, name: &'a str, value: &'a Json) -> Self {
        Self { name, value, likely: program.likely() }
    }

    /// The value as text.
    fn text(self) -> String {
        text(self.value)
    }
}

/// A value as a command line has it.
fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Judge<'_> {
    /// Reports a problem with something that is told; of hosts that are alike once.
    fn report(&mut self, setting: WrittenSetting<'_>, problem: Problem) {
        let position_there = self.decoder.position_of(setting.name, setting.value, setting.likely);
        // What nobody says else a patch says.
        let position = position_there.cloned().unwrap_or_else(|| self.written(&["spec.vars.kubeadm_patches"]));
        self.report_at(&position, problem);
    }

    fn report_at(&mut self, position: &Position, problem: Problem) {
        let problem = problem.at(position);
        if !self.reported.contains(&problem) {
            self.reported.push(problem.clone());
            self.decoder.report(problem);
        }
    }

    /// Where the first of these paths stands.
    fn written(&self, paths: &[&str]) -> Position {
        paths.iter().find_map(|path| self.decoder.position(path)).unwrap_or(self.spec).clone()
    }
}

/// Checks what all components are told.
pub(crate) fn components(decoder: &mut Decoder, settings: &Settings, hosts: &[ReadHost<'_>], version: Option<&Version>, spec: &Position) {
    let judge = &mut Judge { decoder, spec, reported: Vec::new() };
    let known = version.and_then(Known::for_version);
    if let Some(known) = known {
        gates::gates(judge, known, settings);
        options::options(judge, known, settings);
        fields::fields(judge, known, settings);
        patches::patches(judge, known, &settings.components.patches);
        plugins::plugins(judge, known, settings);
        tls::ciphers(judge, known, settings);
    }
    numbers::numbers(judge, settings);
    leaders::leaders(judge, settings);
    etcd::etcd(judge, settings);
    kubelet::kubelets(judge, known, settings, hosts);
    labels::labels(judge, hosts);
}

/// The components that are programs with options, each with what it is told.
fn servers(settings: &Settings) -> [(Program, &Component); 3] {
    let components = &settings.components;
    [
        (Program::ApiServer, &components.api_server),
        (Program::ControllerManager, &components.controller_manager),
        (Program::Scheduler, &components.scheduler),
    ]
}

/// Options of programs, also of kubelets, of which hosts have their own.
fn all_options(settings: &Settings) -> impl Iterator<Item = (Program, &Values)> {
    let of_servers = servers(settings).into_iter().map(|(program, component)| (program, &component.options));
    of_servers.chain(settings.components.kubelets().map(|kubelet| (Program::Kubelet, &kubelet.options)))
}
