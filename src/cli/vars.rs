//! `kokctl vars`

use clap::{Args, ValueEnum};
use kok_crds::{Effect, SUBJECTS, Variable, nearest, variable, variables};
use serde::Serialize;

use super::common::print_json;
use crate::ui::{Failure, Kind, line};

/// Show the variables that are known: what they do, their defaults, and what becomes of them here
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only this variable, with all that is known of it
    name: Option<String>,
    /// Only those of which this becomes
    #[arg(long, value_enum, conflicts_with = "name")]
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

impl From<Choice> for Effect {
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
    if let Some(name) = &arguments.name {
        let row = variable(name).ok_or_else(|| vec![unknown(name)])?;
        return if arguments.json { print_json(&Row::new(row)) } else { one(row) };
    }
    let wanted = |row: &&Variable| arguments.effect.is_none_or(|effect| row.effect() == effect.into());
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
