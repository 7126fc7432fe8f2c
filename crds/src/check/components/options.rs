//! Options of programs: whether they exist, and take such a value.

use super::{Judge, WrittenSetting, all_options, values};
use crate::Problem;
use crate::check::known::{Known, Program};
use crate::model::Settings;
use crate::words::{quote, with_nearest};

/// Options that take some words only: what they are is in the text of their help, and nowhere a program could read it. Those of the kubelet stand
/// in [`super::kubelet`], with its fields.
const WORDS: [(Program, &str, &[&str]); 6] = [
    (Program::ApiServer, "audit-log-format", &["json", "legacy"]),
    (Program::ApiServer, "audit-log-mode", &["batch", "blocking", "blocking-strict"]),
    (Program::ApiServer, "audit-webhook-mode", &["batch", "blocking", "blocking-strict"]),
    (Program::ApiServer, "tls-min-version", TLS),
    (Program::ControllerManager, "tls-min-version", TLS),
    (Program::Scheduler, "tls-min-version", TLS),
];

/// Without a word it is the default.
const TLS: &[&str] = &["", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];

pub(super) fn options(judge: &mut Judge<'_>, known: &Known, settings: &Settings) {
    for (program, options) in all_options(settings) {
        for (name, value) in options {
            let setting = WrittenSetting::new(program, name, value);
            if let Some(problem) = wrong(known, program, setting) {
                judge.report(setting, problem);
            }
        }
    }
}

fn wrong(known: &Known, program: Program, setting: WrittenSetting<'_>) -> Option<Problem> {
    let (name, text) = (setting.name, setting.text());
    let Some(kind) = known.options(program).get(name) else { return Some(unknown(known, program, name)) };
    let problem = || Problem::new(format!("the option `{name}` of {} cannot be {}", program.words(), quote(&text)));
    if let Some(rule) = values::of_option(kind, &text) {
        return Some(
            problem().because(format!("{rule}, and {} does not start with anything else", program.words())).hint("write such a value"),
        );
    }
    let (_, _, words) =
        WORDS.iter().find(|(owner, option, words)| *owner == program && *option == name && !words.contains(&text.as_str()))?;
    let problem = problem().because(format!("it is one of {}", words.join(", ")));
    Some(with_nearest(problem, &text, words, "write one of them"))
}

fn unknown(known: &Known, program: Program, name: &str) -> Problem {
    let problem = Problem::new(format!("{} of {} has no option {}", program.words(), known.version(), quote(name)));
    let problem = problem.because("it does not start with an option that it does not know");
    let names: Vec<&str> = known.options(program).keys().copied().collect();
    let hint = "leave it out; one that Kubernetes has removed did something in former versions only";
    with_nearest(problem, name, &names, hint)
}
