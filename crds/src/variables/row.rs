//! One row of the table, and the short constructors by which a row is one to three lines.

use super::effect::VariableEffect;
use crate::decode::{Decoder, Field};
use crate::model::Settings;

/// Takes the value of a variable over into the settings.
pub(crate) type Reader = fn(&mut Decoder, &Field<'_>, &mut Settings);

/// A variable that switches others on, and whether it does.
pub(crate) type Switch = (&'static str, fn(&Settings) -> bool);

/// A variable that people set, by the name that Kubespray, kubean or Ansible gives it, or that is our own.
pub struct Variable {
    /// Name of the variable. One that ends with `*` stands for all names that begin so and have no row of their own.
    pub name: &'static str,
    /// What its value looks like.
    pub kind: &'static str,
    /// What holds here when nobody sets it.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    pub(crate) shape: Shape,
    pub(crate) rule: Rule,
    /// Values that ask for nothing, besides the default and those that are empty.
    pub(crate) idle: &'static [&'static str],
    /// Values that Kubespray has where nobody sets the variable, and that don't hold here. People write them out with its samples, so that
    /// they are listed and stop nothing.
    pub(crate) usual: &'static [&'static str],
    /// What to do about a value that is not done yet.
    pub(crate) way_out: &'static str,
    /// Whether no message may repeat the value.
    pub(crate) secret: bool,
    /// The variable that has to be switched on for this one to count, and whether it is.
    pub(crate) beside: Option<Switch>,
    /// What is to be known, beyond a line of the table, of a value that is not done yet, or done by other means.
    pub(crate) note: Option<Remark>,
}

/// What happens instead of what was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Remark {
    pub(crate) message: &'static str,
    pub(crate) because: &'static str,
    pub(crate) hint: &'static str,
}

/// What YAML has to make of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `true` or `false`, in all spellings of YAML 1.1.
    Flag,
    /// A whole number.
    Number,
    /// Text, also where YAML takes it for something else.
    Text,
    /// Anything else.
    Other,
}

/// What becomes of a variable.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// It is a setting under `spec.vars`.
    Setting(Reader),
    /// It is this field of the Cluster.
    Field(&'static str),
    /// It decides how an inventory is read, in these words.
    Reading(&'static str),
    /// These values say what kokctl does anyway; others are refused.
    Only { accepted: &'static [&'static str], because: &'static str, hint: &'static str },
    /// It means nothing here.
    Moot(&'static str),
    /// It can only say what follows from the rest of the file; whoever reads that compares it, and refuses anything else.
    Follows(&'static str),
    /// Nobody may set it.
    Refused { because: &'static str, hint: &'static str },
    /// It is not done yet; a cluster without it works as well.
    Later,
    /// It is not done yet, and the cluster would be another one without it.
    Needed(&'static str),
}

impl Variable {
    /// What becomes of the variable.
    #[must_use]
    pub fn effect(&self) -> VariableEffect {
        match self.rule {
            Rule::Setting(_) | Rule::Field(_) | Rule::Reading(_) => VariableEffect::Honoured,
            Rule::Only { .. } | Rule::Follows(_) => VariableEffect::Anyway,
            Rule::Moot(_) => VariableEffect::NoMeaning,
            Rule::Later => VariableEffect::NotYet,
            Rule::Needed(_) | Rule::Refused { .. } => VariableEffect::Refused,
        }
    }

    /// Where and why, in words that continue the effect.
    #[must_use]
    pub fn details(&self) -> String {
        match self.rule {
            Rule::Setting(_) => match self.beside {
                Some((switch, _)) => format!("a setting under `spec.vars`, which is read with `{switch}` only"),
                None => "a setting under `spec.vars`".to_owned(),
            },
            Rule::Field(field) => format!("the field `{field}`"),
            Rule::Only { accepted, because, hint } => {
                let words: Vec<String> = accepted.iter().map(|word| format!("`{word}`")).collect();
                format!("only {}, because {because}; {hint}", words.join(" or "))
            }
            Rule::Reading(how) => how.to_owned(),
            Rule::Moot(because) | Rule::Follows(because) => because.to_owned(),
            Rule::Refused { because, hint } => format!("{because}; {hint}"),
            Rule::Later => match self.note {
                Some(note) => format!("it has no effect yet: {}", note.because),
                None => "it has no effect yet".to_owned(),
            },
            Rule::Needed(because) => {
                let usual: Vec<String> = self.usual.iter().map(|value| format!("`{value}`")).collect();
                let but =
                    if usual.is_empty() { String::new() } else { format!("; {}, as with Kubespray, is only listed", usual.join(" or ")) };
                format!("an error, because {because}{but}; {}", self.way_out)
            }
        }
    }

    /// The field of a Cluster that the variable is, if it is one.
    #[must_use]
    pub fn field(&self) -> Option<&'static str> {
        match self.rule {
            Rule::Field(field) => Some(field),
            _ => None,
        }
    }

    /// The variable that has to be switched on for this one to count, if it needs one.
    #[must_use]
    pub fn needs_switch(&self) -> Option<&'static str> {
        self.beside.map(|(switch, _)| switch)
    }

    /// Whether no message repeats its value.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Whether a setting is as if nobody had set it, if it is empty.
    pub(crate) fn is_unset_by_default(&self) -> bool {
        matches!(self.rule, Rule::Setting(_)) && matches!(self.default, "unset" | "none")
    }

    /// Whether its value decides nothing here.
    pub(crate) fn is_moot(&self) -> bool {
        matches!(self.rule, Rule::Moot(_) | Rule::Follows(_))
    }

    /// Why a value of it that is not done yet does nothing, in words that can't be read as if it were done.
    pub(crate) fn undone(&self) -> String {
        format!("it has no effect yet; it is for this: {}", self.about)
    }

    /// Whether the row stands for all names that begin as it does.
    #[must_use]
    pub fn is_family(&self) -> bool {
        self.name.ends_with('*')
    }

    const fn new(name: &'static str, kind: &'static str, shape: Shape, default: &'static str, about: &'static str) -> Self {
        Self {
            name,
            kind,
            default,
            about,
            shape,
            rule: Rule::Later,
            idle: &[],
            usual: &[],
            way_out: "leave it out if the cluster may be without it",
            secret: false,
            beside: None,
            note: None,
        }
    }

    /// Becomes a setting.
    pub(crate) const fn reads(mut self, reader: Reader) -> Self {
        self.rule = Rule::Setting(reader);
        self
    }

    /// Counts only while another variable is switched on.
    pub(crate) const fn beside(mut self, switch: &'static str, is_on: fn(&Settings) -> bool) -> Self {
        self.beside = Some((switch, is_on));
        self
    }

    /// Becomes a field of the Cluster.
    pub(crate) const fn field_of(mut self, field: &'static str) -> Self {
        self.rule = Rule::Field(field);
        self
    }

    /// Decides how an inventory is read.
    pub(crate) const fn decides(mut self, how: &'static str) -> Self {
        self.rule = Rule::Reading(how);
        self
    }

    /// Is what kokctl does anyway, or refused.
    pub(crate) const fn only(mut self, accepted: &'static [&'static str], because: &'static str, hint: &'static str) -> Self {
        self.rule = Rule::Only { accepted, because, hint };
        self
    }

    /// Means nothing here.
    pub(crate) const fn moot(mut self, because: &'static str) -> Self {
        self.rule = Rule::Moot(because);
        self
    }

    /// Says what follows from the rest of the file, and is refused where it says something else.
    pub(crate) const fn follows(mut self, because: &'static str) -> Self {
        self.rule = Rule::Follows(because);
        self
    }

    /// A value that is not done yet, or done by other means, is worth a note.
    pub(crate) const fn noting(mut self, note: Remark) -> Self {
        self.note = Some(note);
        self
    }

    /// May not be set.
    pub(crate) const fn refused(mut self, because: &'static str, hint: &'static str) -> Self {
        self.rule = Rule::Refused { because, hint };
        self
    }

    /// Is not done yet, which would make another cluster.
    pub(crate) const fn needed(mut self, because: &'static str) -> Self {
        self.rule = Rule::Needed(because);
        self
    }

    /// These values ask for nothing either.
    pub(crate) const fn or(mut self, idle: &'static [&'static str]) -> Self {
        self.idle = idle;
        self
    }

    /// What to do as long as it is not done.
    pub(crate) const fn instead(mut self, way_out: &'static str) -> Self {
        self.way_out = way_out;
        self
    }

    /// These values are Kubespray's own, and not what holds here.
    pub(crate) const fn usually(mut self, usual: &'static [&'static str]) -> Self {
        self.usual = usual;
        self
    }

    /// No message repeats its value.
    pub(crate) const fn hidden(mut self) -> Self {
        self.secret = true;
        self
    }
}

/// `true` or `false`. Without a rule, a row is of what is not done yet, and `kokctl validate` lists it.
pub(crate) const fn flag(name: &'static str, default: &'static str, about: &'static str) -> Variable {
    Variable::new(name, "boolean", Shape::Flag, default, about)
}

/// A whole number.
pub(crate) const fn number(name: &'static str, default: &'static str, about: &'static str) -> Variable {
    Variable::new(name, "whole number", Shape::Number, default, about)
}

/// Text.
pub(crate) const fn text(name: &'static str, default: &'static str, about: &'static str) -> Variable {
    Variable::new(name, "text", Shape::Text, default, about)
}

/// Text of some kind.
pub(crate) const fn word(name: &'static str, kind: &'static str, default: &'static str, about: &'static str) -> Variable {
    Variable::new(name, kind, Shape::Text, default, about)
}

/// A list, a map, or what may have several forms.
pub(crate) const fn value(name: &'static str, kind: &'static str, default: &'static str, about: &'static str) -> Variable {
    Variable::new(name, kind, Shape::Other, default, about)
}
