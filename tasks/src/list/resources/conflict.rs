//! What a user declares and kokctl does itself.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;

use super::NAME;
use crate::plan::{Action, Refusal, Step};
use crate::resources::{Archive, Resource, Touch, Unpacked};

/// A path, a unit or a parameter has one writer: refuses whatever a user declares that steps of kokctl's own write too, and what two entries have of one
/// path because of an archive.
pub(crate) fn with_ours<'a>(cluster: &Cluster, steps: impl Iterator<Item = &'a Step> + Clone) -> Vec<Refusal> {
    if cluster.resources.entries.is_empty() {
        return Vec::new();
    }
    let mut ours: BTreeMap<&str, Vec<(&Step, String, Touch)>> = BTreeMap::new();
    for step in steps.clone().filter(|step| step.task != NAME) {
        let of_host = ours.entry(&step.host).or_default();
        of_host.extend(written(step).into_iter().map(|(what, touch)| (step, what, touch)));
    }
    let mut refusals = with_archives(cluster, steps.clone());
    for step in steps.filter(|step| step.task == NAME) {
        for (what, touch) in written(step) {
            let others = ours.get(step.host.as_str()).into_iter().flatten();
            let meets = |other: &&(&Step, String, Touch)| meet((&what, touch), (&other.1, other.2));
            if let Some((other, path, _)) = others.filter(|other| other.0.host == step.host).find(meets) {
                let refusal = refusal(cluster, step, (other, path));
                // What is declared for all hosts is refused once.
                if !refusals.iter().any(|known| (&known.what, &known.at) == (&refusal.what, &refusal.at)) {
                    refusals.push(refusal);
                }
            }
        }
    }
    refusals
}

/// What is in an archive is known to nobody who reads the file: refuses two archives, or an archive and another entry, that write one path, or each run would
/// undo what the other has done.
pub(crate) fn with_archives<'a>(cluster: &Cluster, steps: impl Iterator<Item = &'a Step> + Clone) -> Vec<Refusal> {
    let is_tree = |step: &Step| matches!(&step.action, Action::Resource(Resource::Archive(Archive { unpacked: Unpacked::Tree(_), .. })));
    let declared = || steps.clone().filter(|step| step.task == NAME);
    if !declared().any(is_tree) {
        return Vec::new();
    }
    let mut first: BTreeMap<(&str, String), &Step> = BTreeMap::new();
    let mut refusals: Vec<Refusal> = Vec::new();
    for step in declared() {
        for (what, _) in written(step).into_iter().filter(|(what, touch)| what.starts_with('/') && *touch == Touch::Whole) {
            let Some(other) = first.insert((step.host.as_str(), what.clone()), step) else { continue };
            if !(is_tree(step) || is_tree(other)) {
                continue;
            }
            let refusal = Refusal::new(format!("two entries write {}", what.escape_debug())).at(origin_of(cluster, step));
            let because = format!("{} has it, and so has {} ({})", step.title(), other.title(), origin_of(cluster, other));
            let refusal = refusal.because(because).hint("leave it out of one of them, or unpack one of them elsewhere");
            if !refusals.iter().any(|known| (&known.at, &known.because) == (&refusal.at, &refusal.because)) {
                refusals.push(refusal);
            }
        }
    }
    refusals
}

/// Where the entry stands that a step is of.
fn origin_of(cluster: &Cluster, step: &Step) -> String {
    let name = step.id.name();
    let entry = cluster.resources.of_host(step.id.host()).find(|entry| entry.name == name || format!("{}/file", entry.name) == name);
    entry.map(|entry| entry.origin.to_string()).unwrap_or_default()
}

/// What a step writes: paths, and what else it has to itself.
fn written(step: &Step) -> Vec<(String, Touch)> {
    let others = step.writes().into_iter().filter(|what| !what.starts_with('/'));
    let others = others.filter(|what| !what.starts_with("line of ") && !what.starts_with("block ")).map(|what| (what, Touch::Whole));
    let paths = match &step.action {
        Action::Resource(resource) => resource.touches(),
        Action::Operation(operation) => {
            operation.writes().into_iter().filter(|what| what.starts_with('/')).map(|what| (what, Touch::Whole)).collect()
        }
    };
    paths.into_iter().chain(others).collect()
}

fn meet((what, touch): (&str, Touch), (other, its): (&str, Touch)) -> bool {
    let is_below = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    match (touch, its) {
        (Touch::Part, Touch::Part) => false,
        (Touch::Tree, _) if is_below(other, what) => true,
        _ => what == other,
    }
}

fn refusal(cluster: &Cluster, step: &Step, (other, path): (&Step, &str)) -> Refusal {
    let origin = origin_of(cluster, step);
    let title = if path.starts_with('/') { "kokctl writes it itself" } else { "kokctl sees to it itself" };
    Refusal::new(format!("`{}` can't be declared: {title}", path.escape_debug()))
        .at(origin)
        .because(format!("the step {} writes it ({})", other.id, other.title()))
        .hint("leave the entry out; docs/variables.md and docs/cluster.md say by which fields kokctl writes it otherwise")
}
