//! `kokctl vars`

use clap::{Args, ValueEnum};
use kok_crds::{SUBJECTS, Variable, VariableEffect, nearest, variable, variables};
use serde::Serialize;

use super::common::print_json;
use crate::failure::{Failure, Kind};
use crate::ui::line;

/// Show the variables that are known: what they do, their defaults, and what becomes of them here
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only this variable, with all that is known of it; or all whose names are like that, with `*` and `?`
    name: Option<String>,
    /// Only those of which this becomes
    #[arg(long, value_enum)]
    effect: Option<Choice>,
    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

/// The effects as words of the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Choice {
    Honoured,
    Anyway,
    NoMeaning,
    NotYet,
    Refused,
}

impl From<Choice> for VariableEffect {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Honoured => Self::Honoured,
            Choice::Anyway => Self::Anyway,
            Choice::NoMeaning => Self::NoMeaning,
            Choice::NotYet => Self::NotYet,
            Choice::Refused => Self::Refused,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: &'static str,
    value: &'static str,
    default: &'static str,
    about: &'static str,
    effect: &'static str,
    details: String,
}

impl Row {
    fn new(variable: &Variable) -> Self {
        let Variable { name, kind, default, about, .. } = variable;
        Self { name, value: kind, default, about, effect: variable.effect().as_str(), details: variable.details() }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let pattern = arguments.name.as_deref().filter(|name| name.contains(['*', '?']) || arguments.effect.is_some());
    if let Some(name) = arguments.name.as_deref().filter(|_| pattern.is_none()) {
        let row = variable(name).ok_or_else(|| vec![unknown(name)])?;
        return if arguments.json { print_json(&Row::new(row)) } else { one(row) };
    }
    let is_like = |row: &Variable| pattern.is_none_or(|pattern| matches(pattern.as_bytes(), row.name.as_bytes()));
    let wanted = |row: &&Variable| is_like(row) && arguments.effect.is_none_or(|effect| row.effect() == effect.into());
    if let Some(pattern) = pattern.filter(|_| !variables().any(|row| wanted(&row))) {
        return Err(vec![none_like(pattern, arguments.effect.is_some())]);
    }
    if arguments.json {
        return print_json(&variables().filter(wanted).map(Row::new).collect::<Vec<_>>());
    }
    for subject in SUBJECTS {
        let rows: Vec<&Variable> = subject.rows.iter().filter(wanted).collect();
        if !rows.is_empty() {
            line(&format!("{}:", subject.title));
            rows.iter().for_each(|row| line(&format!("  {:<44} {:<11} {}", row.name, row.effect().as_str(), row.about)));
        }
    }
    Ok(())
}

/// Whether a name is like a pattern, in which `*` stands for any letters and `?` for one.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // Of several `*` only the last one has to be tried again with more letters, for what comes before it has been found.
    let (mut at, mut resume) = ((pattern, name), None);
    loop {
        at = match at {
            ([b'*', rest @ ..], name) => {
                resume = Some((rest, name));
                (rest, name)
            }
            ([b'?', rest @ ..], [_, behind @ ..]) => (rest, behind),
            ([letter, rest @ ..], [own, behind @ ..]) if letter == own => (rest, behind),
            ([], []) => return true,
            _ => match resume {
                Some((rest, [_, behind @ ..])) => {
                    resume = Some((rest, behind));
                    (rest, behind)
                }
                _ => return false,
            },
        };
    }
}

fn none_like(pattern: &str, with_effect: bool) -> Failure {
    let failure = Failure::new(Kind::Input, format!("no variable is like {pattern}")).at("the command line");
    match with_effect {
        true => failure.because("none of that name has that effect").hint("leave --effect out"),
        false => failure.because("`*` stands for any letters and `?` for one").hint("`kokctl vars` lists all"),
    }
}

fn one(row: &Variable) -> Result<(), Vec<Failure>> {
    line(&format!("{}: {}", row.name, row.about));
    for (label, text) in [("value", row.kind), ("default", row.default), ("effect", row.effect().as_str()), ("", &row.details())] {
        line(&format!("  {label:<8} {text}"));
    }
    Ok(())
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = variables().map(|row| row.name).collect();
    let failure = Failure::new(Kind::Input, format!("there is no variable {name}"));
    let failure = failure.because("neither kube-on-kube, kubean, Kubespray nor kokctl has one of that name, as far as is known here");
    match nearest(name, &names) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint("`kokctl vars` lists all"),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_choose_names() {
        let like = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        for pattern in ["*", "kube_*", "*_mode", "k*e", "kube_pro?y_mode", "*proxy*", "kube_proxy_mode", "**", "*e*e"] {
            assert!(like(pattern, "kube_proxy_mode"), "{pattern}");
        }
        for pattern in ["", "?", "kube", "kube_*x", "x*", "kube_proxy_mode?", "*mod", "*z*", "*e*e*e"] {
            assert!(!like(pattern, "kube_proxy_mode"), "{pattern}");
        }
        let (many, long) = ("*a".repeat(40) + "b", "a".repeat(4000));
        assert!(!like(&many, &long), "and this ends");
    }
}
