//! Units of systemd, asked for by one command.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::look::Looks;
use super::parse::ParseError;
use super::script::quoted;
use super::state::UnitState;
use super::versions::SERVICES;

/// The units in the order in which systemd is asked for them: first those whose main processes the look at versions needs.
fn asked(looks: &Looks) -> Vec<String> {
    let services: BTreeSet<String> = SERVICES.into_iter().filter(|_| looks.versions).map(str::to_owned).collect();
    let others = looks.units.difference(&services).cloned();
    SERVICES.into_iter().filter(|_| looks.versions).map(str::to_owned).chain(others).collect()
}

/// One `systemctl show` for all. The answer is in `$units` afterwards.
pub(super) fn push(script: &mut String, looks: &Looks) {
    let asked = asked(looks);
    if !asked.is_empty() {
        let main = if looks.versions { " -p MainPID" } else { "" };
        // Writing to a String can't fail.
        let _ = writeln!(
            script,
            "units=$(systemctl show -p Id -p LoadState -p ActiveState -p UnitFileState -p NeedDaemonReload -p ExecMainStartTimestampMonotonic -p NRestarts{main} -- {} 2>/dev/null)\n\
             mark units\nprintf '%s\\n' \"$units\"",
            quoted(&asked)
        );
    }
}

/// `systemctl show` prints one block for each unit in the order in which it was asked; `Id` may be another name of the same unit.
pub(super) fn read(text: &str, looks: &Looks) -> Result<BTreeMap<String, UnitState>, ParseError> {
    let (asked, blocks) = (asked(looks), text.split("\n\n").filter(|block| block.contains("Id=")).collect::<Vec<_>>());
    if blocks.len() != asked.len() {
        return Err(ParseError::new("units", text));
    }
    let all = asked.into_iter().zip(blocks).filter(|(unit, _)| looks.units.contains(unit));
    Ok(all.map(|(unit, block)| (unit, read_unit(block))).collect())
}

fn read_unit(block: &str) -> UnitState {
    let properties: BTreeMap<&str, &str> = block.lines().filter_map(|line| line.split_once('=')).collect();
    let property = |name: &str| properties.get(name).copied().unwrap_or_default().to_owned();
    UnitState {
        load: property("LoadState"),
        active: property("ActiveState"),
        file: property("UnitFileState"),
        needs_reload: property("NeedDaemonReload") == "yes",
        started_microseconds: property("ExecMainStartTimestampMonotonic").parse().unwrap_or(0),
        restarts: property("NRestarts").parse().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "these are tests")]

    use super::super::look::Look;
    use super::*;

    #[test]
    fn what_versions_are_asked_of_comes_first_and_is_no_answer_to_another_question() {
        let looks: Looks =
            [Look::Unit("chrony.service".to_owned()), Look::Unit("kubelet.service".to_owned()), Look::Versions].into_iter().collect();
        let mut script = String::new();
        push(&mut script, &looks);
        assert!(script.contains("-- 'kubelet.service' 'containerd.service' 'etcd.service' 'chrony.service' "), "{script}");
        let block = |unit: &str, state: &str| format!("MainPID=0\nId={unit}.service\nActiveState={state}\n");
        let text = [block("kubelet", "active"), block("containerd", "a"), block("etcd", "b"), block("chronyd", "failed")].join("\n");
        let seen = read(&text, &looks).unwrap_or_default();
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["chrony.service", "kubelet.service"]);
        assert_eq!((seen["chrony.service"].active.as_str(), seen["kubelet.service"].active.as_str()), ("failed", "active"));
        assert!(read(&[block("kubelet", "active"), block("chronyd", "failed")].join("\n"), &looks).is_err(), "some are missing");
    }
}
