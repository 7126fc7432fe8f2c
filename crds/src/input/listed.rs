//! The cluster of machines that Vagrant lists.

use super::described::{Extra, of_machines};
use super::{Input, Role, Text, beside, described_twice, extra, naming, of_objects};
use crate::machines::Machines;
use crate::vault::Vault;

/// Machines that Vagrant lists, with a manifest or as an inventory.
pub(super) fn of_list(
    list: &Text<'_>,
    (manifests, inventories): (&[&Text<'_>], &[&Text<'_>]),
    texts: &[Text<'_>],
    vault: &dyn Vault,
) -> Input {
    if let Some(other) = inventories.first() {
        let wrong = other.source.closed().unwrap_or_else(|| described_twice(&other.file.name, "Vagrant lists machines too"));
        return Input::wrong(vec![wrong]);
    }
    let Role::Machines { cluster } = &list.file.role else { return Input::default() };
    let noted = texts.iter().filter_map(|text| match &text.file.role {
        Role::Machine { name } => Some((name.as_str(), &text.source)),
        _ => None,
    });
    let (machines, wrong) = Machines::read(&list.source, &noted.collect::<Vec<_>>());
    if !wrong.is_empty() {
        return Input::wrong(wrong);
    }
    if !manifests.is_empty() {
        return of_objects(manifests, texts, vault, Some(&machines));
    }
    let (mut notices, mut problems) = (Vec::new(), Vec::new());
    let name = naming::cluster_name(cluster.as_deref(), &machines.start, &mut notices);
    let extra = extra::of_command_line(texts, &mut problems);
    let extra = Extra { incomplete: !problems.is_empty(), vars: extra };
    let mut input = of_machines((&machines, &beside(texts)), (&name, &machines.start), extra, vault);
    input.notices.extend(notices);
    input.problems.extend(problems);
    input
}
