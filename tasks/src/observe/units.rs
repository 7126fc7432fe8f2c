//! Units of systemd, asked for by one command.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::look::Looks;
use super::parse::{ParseError, Section};
use super::script::quoted;
use super::state::UnitState;
use super::versions::SERVICES;

/// The units in the order in which systemd is asked for them: those that always are, of which first those whose main processes the look at versions needs; and
/// those that it is only asked for where they may be there.
fn asked(looks: &Looks) -> (Vec<String>, Vec<String>) {
    let services: BTreeSet<String> = SERVICES.into_iter().filter(|_| looks.versions).map(str::to_owned).collect();
    let (others, always): (Vec<String>, Vec<String>) = looks.units.difference(&services).cloned().partition(|unit| may_be_left_out(unit));
    (SERVICES.into_iter().filter(|_| looks.versions).map(str::to_owned).chain(always).collect(), others)
}

/// Where systemd finds a file of a unit, by systemd.unit(5), and where it would be at work without one (cgroup v2 and v1).
const PLACES: &str = "/etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system /lib/systemd/system \
/etc/systemd/system.control /run/systemd/system.control /run/systemd/transient /etc/systemd/system.attached /run/systemd/system.attached \
/run/systemd/generator.early /run/systemd/generator /run/systemd/generator.late \
/sys/fs/cgroup/system.slice /sys/fs/cgroup/systemd/system.slice";

/// Most services that are asked for are those of other tools, which few hosts have. systemd looks for each of them anew, and takes three quarters of the
/// time for what is not there; the shell finds that by itself. What has no such file (instances, mounts) is asked for always, and so is what is ours.
fn may_be_left_out(unit: &str) -> bool {
    unit.ends_with(".service") && !unit.contains('@') && !SERVICES.contains(&unit)
}

const PROPERTIES: &str =
    "-p Id -p LoadState -p ActiveState -p UnitFileState -p NeedDaemonReload -p ExecMainStartTimestampMonotonic -p NRestarts";

/// One `systemctl show` for all that may be there. The answer is in `$units` afterwards, and the others stand beside the section's name.
pub(super) fn push(script: &mut String, looks: &Looks) {
    let (always, others) = asked(looks);
    if always.is_empty() && others.is_empty() {
        return;
    }
    let main = if looks.versions { " -p MainPID" } else { "" };
    let (always, others) = (quoted(&always), quoted(&others));
    // Writing to a String can't fail.
    let _ = write!(
        script,
        r#"places='{PLACES}'
is_there() {{ for place in $places; do if [ -e "$place/$1" ] || [ -L "$place/$1" ]; then return; fi; done; false; }}
ask_for_units() {{
  absent= units=
  set -- {always}
  for unit in {others}; do if is_there "$unit"; then set -- "$@" "$unit"; else absent="$absent $unit"; fi; done
  [ $# = 0 ] || units=$(systemctl show {PROPERTIES}{main} -- "$@" 2>/dev/null)
}}
ask_for_units
mark "units$absent"
printf '%s\n' "$units"
"#
    );
}

/// `systemctl show` prints one block for each unit in the order in which it was asked; `Id` may be another name of the same unit.
pub(super) fn read(section: &Section<'_>, looks: &Looks) -> Result<BTreeMap<String, UnitState>, ParseError> {
    let text = str::from_utf8(section.body).map_err(|_| ParseError::new("units", "not UTF-8"))?;
    let absent: BTreeSet<&str> = section.argument.split(' ').collect();
    let (always, others) = asked(looks);
    let (absent, there): (Vec<String>, Vec<String>) = others.into_iter().partition(|unit| absent.contains(unit.as_str()));
    let blocks: Vec<&str> = text.split("\n\n").filter(|block| block.contains("Id=")).collect();
    if blocks.len() != always.len() + there.len() {
        return Err(ParseError::new("units", text));
    }
    let shown = always.into_iter().chain(there).zip(blocks).map(|(unit, block)| (unit, read_unit(block)));
    let not_found = absent.into_iter().map(|unit| (unit, UnitState::not_found()));
    Ok(shown.chain(not_found).filter(|(unit, _)| looks.units.contains(unit)).collect())
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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use std::process::Command;

    use super::super::look::Look;
    use super::super::parse::sections;
    use super::super::script::Nonce;
    use super::*;

    fn looks_at(units: &[&str], others: &[Look]) -> Looks {
        units.iter().map(|unit| Look::Unit((*unit).to_owned())).chain(others.iter().cloned()).collect()
    }

    fn block(unit: &str, state: &str) -> String {
        format!("MainPID=0\nId={unit}.service\nActiveState={state}\n")
    }

    fn section<'a>(argument: &'a str, text: &'a str) -> Section<'a> {
        Section { name: "units", argument, body: text.as_bytes() }
    }

    #[test]
    fn what_versions_are_asked_of_comes_first_and_is_no_answer_to_another_question() {
        let looks = looks_at(&["chrony.service", "kubelet.service"], &[Look::Versions]);
        let text = [block("kubelet", "active"), block("containerd", "a"), block("etcd", "b"), block("chronyd", "failed")].join("\n");
        let seen = read(&section("", &text), &looks).unwrap_or_default();
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["chrony.service", "kubelet.service"]);
        assert_eq!((seen["chrony.service"].active.as_str(), seen["kubelet.service"].active.as_str()), ("failed", "active"));
        assert!(
            read(&section("", &[block("kubelet", "active"), block("chronyd", "failed")].join("\n")), &looks).is_err(),
            "some are missing"
        );
        assert!(
            read(&section("chrony.service kubelet.service", &block("containerd", "a")), &looks).is_err(),
            "what is ours can't be left out"
        );
        let text = [block("kubelet", "active"), block("containerd", "a"), block("etcd", "b")].join("\n");
        let seen = read(&section("chrony.service", &text), &looks).unwrap_or_default();
        assert_eq!(seen["chrony.service"], UnitState::not_found());
    }

    /// Runs what a host runs, with a `systemctl` that tells what it was asked, and with folders of a test for systemd's.
    fn asked_on_a_host(looks: &Looks, files: &[&str]) -> (String, BTreeMap<String, UnitState>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        for file in files {
            let path = folder.path().join(file.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Where it leads to is not there: it is a unit all the same, if a broken one.
            std::os::unix::fs::symlink("nowhere", path).unwrap();
        }
        let mut script = crate::observe::section_marker(&Nonce::new([7; 16]));
        script.push_str("systemctl() { shift; while [ \"$1\" = -p ]; do shift 2; done; shift; for unit; do printf 'Id=%s\\nLoadState=loaded\\n\\n' \"$unit\"; done; }\n");
        push(&mut script, looks);
        let places = PLACES.split(' ').map(|place| format!("{root}{place}")).collect::<Vec<_>>().join(" ");
        let script = script.replace(PLACES, &places);
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let sections = sections(&Nonce::new([7; 16]), &output.stdout);
        let units = String::from_utf8(sections[0].body.to_vec()).unwrap();
        let ids = units.lines().filter_map(|line| line.strip_prefix("Id=")).collect::<Vec<_>>().join(" ");
        (ids, read(&sections[0], looks).unwrap())
    }

    #[test]
    fn systemd_is_not_asked_for_services_that_have_neither_a_file_nor_processes() {
        let looks = looks_at(&["a.service", "b.service", "c.service", "getty@tty1.service", "srv.mount"], &[Look::Versions]);
        let (asked, seen) = asked_on_a_host(&looks, &["/run/systemd/generator.late/b.service", "/sys/fs/cgroup/system.slice/c.service"]);
        assert_eq!(asked, "kubelet.service containerd.service etcd.service getty@tty1.service srv.mount b.service c.service");
        let loads: Vec<&str> = seen.values().map(|unit| unit.load.as_str()).collect();
        assert_eq!(loads, ["not-found", "loaded", "loaded", "loaded", "loaded"]);
    }

    /// `systemctl show` without a name would tell of systemd itself.
    #[test]
    fn systemd_is_asked_nothing_where_none_of_them_is_there() {
        let (asked, seen) = asked_on_a_host(&looks_at(&["a.service", "b.service"], &[]), &[]);
        assert_eq!((asked.as_str(), seen.len()), ("", 2));
    }
}
