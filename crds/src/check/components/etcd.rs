//! Options of etcd that go together (`Validate` of etcd's `embed/config.go`).

use serde_json::{Value as Json, json};

use super::{Judge, WrittenSetting, text};
use crate::Problem;
use crate::model::Settings;
use crate::words::quote;

const HEARTBEAT: &str = "heartbeat-interval";
const ELECTION: &str = "election-timeout";

/// In milliseconds (`maxElectionMs`).
const LONGEST_ELECTION: u64 = 50_000;

pub(super) fn etcd(judge: &mut Judge<'_>, settings: &Settings) {
    let options = &settings.components.etcd;
    let setting_of = |name: &'static str| options.get(name).map(|value| WrittenSetting { name, value, likely: &["etcd"] });
    let time = |name: &'static str, usual: u64| setting_of(name).map_or(Some(usual), |setting| setting.value.as_u64());
    if let (Some(heartbeat), Some(election)) = (time(HEARTBEAT, 100), time(ELECTION, 1000)) {
        elections(judge, (heartbeat, setting_of(HEARTBEAT)), (election, setting_of(ELECTION)));
    }
    let is_newest = setting_of("tls-min-version").is_some_and(|setting| setting.text() == "TLS1.3");
    if let Some(ciphers) = setting_of("cipher-suites").filter(|_| is_newest) {
        let problem = Problem::new("etcd cannot be told ciphers where it is to have TLS 1.3 at least");
        judge.report(
            ciphers,
            problem.because("those of TLS 1.3 can't be chosen, and etcd does not start with both").hint("leave one of the two out"),
        );
    }
    let words: [(&'static str, &[&str]); 3] = [
        ("auto-compaction-mode", &["periodic", "revision"]),
        ("tls-min-version", &["", "TLS1.2", "TLS1.3"]),
        ("tls-max-version", &["", "TLS1.2", "TLS1.3"]),
    ];
    for (name, words) in words {
        if let Some(setting) = setting_of(name).filter(|setting| !words.contains(&setting.text().as_str())) {
            let problem = Problem::new(format!("{} cannot be {}", quote(name), quote(&text(setting.value))));
            let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
            judge.report(
                setting,
                problem.because(format!("it is one of {}, and etcd does not start otherwise", words.join(", "))).hint("write one of them"),
            );
        }
    }
}

fn elections(
    judge: &mut Judge<'_>,
    (heartbeat, of_heartbeat): (u64, Option<WrittenSetting<'_>>),
    (election, of_election): (u64, Option<WrittenSetting<'_>>),
) {
    let nothing: Json = json!(null);
    let nobody = WrittenSetting { name: "", value: &nothing, likely: &[] };
    let problem = |message: String| Problem::new(message);
    let (setting, problem) = if heartbeat == 0 {
        (
            of_heartbeat,
            problem("members of etcd cannot hear from their leader every 0 ms".to_owned()).because("etcd does not start with that"),
        )
    } else if heartbeat.saturating_mul(5) > election {
        let message = format!("etcd elects another leader after {election} ms, and hears from the one it has every {heartbeat} ms");
        let because = "etcd does not start unless the first is five times the second at least; without a word they are 1000 and 100";
        (of_election.or(of_heartbeat), problem(message).because(because))
    } else if election > LONGEST_ELECTION {
        let message = format!("etcd cannot wait {election} ms before it elects another leader");
        (of_election, problem(message).because(format!("it does not start with more than {LONGEST_ELECTION}")))
    } else {
        return;
    };
    let hint =
        format!("write `etcd_election_timeout: {}`, or a shorter etcd_heartbeat_interval", heartbeat.clamp(100, 5000).saturating_mul(10));
    judge.report(setting.unwrap_or(nobody), problem.hint(hint));
}
