//! `kokctl facts`

use clap::Args;
use kok_tasks::facts::HostFacts;
use serde::Serialize;

use super::common::print_json;
use super::files::{ExtraVars, NamedFiles};
use super::limit::LimitArgument;
use super::process;
use super::table::{size, table};
use crate::engine::{self, KnownHost};
use crate::failure::Failure;
use crate::state::Controller;
use crate::ui::line;

/// What every path of the cluster's data is below of.
const DATA: &str = "/var/lib";

/// Show what hosts are: system, kernel, processors, memory, room on disk, clock; with --json all that kokctl knows of them
///
/// It is what every verb asks for before it plans; nothing is changed. Hosts need not be part of a cluster yet.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: NamedFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Print everything that is known as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    hosts: &'a [KnownHost],
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.files.all().without_manifests(&arguments.extra)?;
    let hosts = arguments.limit.hosts_or_all(&input, &cluster)?;
    // Nobody is held back by who asks, and nothing is kept of it.
    let context = process::context(Controller::nobody());
    let (known, failures) = engine::facts(&context, &cluster, &hosts).await?;
    if arguments.json {
        print_json(&Document { hosts: &known })?;
    } else if !known.is_empty() {
        table(&HEADINGS, &known.iter().map(row).collect::<Vec<_>>()).iter().for_each(|text| line(text));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

const HEADINGS: [&str; 9] = ["HOST", "ADDRESS", "SYSTEM", "ARCH", "KERNEL", "CPUS", "MEMORY", "ROOM", "CLOCK"];

fn row(known: &KnownHost) -> [String; 9] {
    let facts = &known.facts;
    [
        known.host.clone(),
        known.address.clone(),
        format!("{} {}", facts.os_id, facts.os_version).trim_end().to_owned(),
        facts.architecture.clone(),
        facts.kernel.clone(),
        facts.processors.to_string(),
        format!("{} of {}", size(facts.available_bytes), size(facts.memory_bytes)),
        room(facts),
        known.clock_ahead_seconds.map_or_else(|| "?".to_owned(), clock),
    ]
}

/// What is free where the cluster's data are.
fn room(facts: &HostFacts) -> String {
    facts.storage.get(DATA).map_or_else(|| "?".to_owned(), |below| format!("{} of {}", size(below.free_bytes), size(below.total_bytes)))
}

fn clock(ahead: i64) -> String {
    match ahead {
        0 => "right".to_owned(),
        1.. => format!("{ahead} s ahead"),
        _ => format!("{} s behind", ahead.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use std::collections::BTreeMap;

    use kok_tasks::facts::Storage;

    use super::*;

    fn known() -> KnownHost {
        let below = Storage { mount: "/".to_owned(), free_bytes: 30 << 30, total_bytes: 64 << 30, ..Storage::default() };
        let facts = HostFacts {
            os_version: "12".to_owned(),
            kernel: "6.1.0".to_owned(),
            processors: 4,
            memory_bytes: 8 << 30,
            available_bytes: 7_500 << 20,
            boot_id: Some("b-1".to_owned()),
            storage: BTreeMap::from([(DATA.to_owned(), below)]),
            ..HostFacts::expected()
        };
        let (host, address) = ("cp1".to_owned(), "10.0.0.1".to_owned());
        KnownHost { host, address, family: Some("Debian"), clock_ahead_seconds: Some(-3), facts }
    }

    #[test]
    fn the_most_used_stand_in_the_table() {
        let expected = ["cp1", "10.0.0.1", "debian 12", "amd64", "6.1.0", "4", "7.3 GiB of 8.0 GiB", "30.0 GiB of 64.0 GiB", "3 s behind"];
        assert_eq!(row(&known()), expected);
        assert_eq!([clock(0), clock(61)], ["right", "61 s ahead"]);
        let unseen = KnownHost { clock_ahead_seconds: None, facts: HostFacts::default(), ..known() };
        assert_eq!(row(&unseen).last().map(String::as_str), Some("?"));
    }

    #[test]
    fn a_program_gets_all_of_it_with_its_types() {
        let known = known();
        let whole = serde_json::to_value(Document { hosts: std::slice::from_ref(&known) }).unwrap();
        let host = &whole["hosts"][0];
        assert_eq!((&host["host"], &host["family"], &host["bootId"]), (&"cp1".into(), &"Debian".into(), &"b-1".into()));
        assert_eq!(
            (&host["processors"], &host["memoryBytes"], &host["clockAheadSeconds"]),
            (&4.into(), &(8u64 << 30).into(), &(-3).into())
        );
        assert_eq!((&host["storage"][DATA]["freeBytes"], &host["selinux"]), (&(30u64 << 30).into(), &"disabled".into()));
        assert!(host["commands"].as_array().unwrap().contains(&"systemctl".into()) && host["systemd"] == false);
    }
}
