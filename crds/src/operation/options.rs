//! The options of `ansible-playbook`, and what each does here.

use super::{Arguments, ExtraVars, Placed, extra_vars, unused};
use crate::decode::Decoder;
use crate::shell::{At, Letter, text};
use crate::words::quote;
use crate::{Position, Problem, Source};

/// Kubespray's largest installations have a few thousand hosts.
const MOST_FORKS: u32 = 10_000;

/// An option.
pub(super) struct CommandOption {
    /// All its names, the short ones first.
    pub(super) names: &'static [&'static str],
    pub(super) meaning: Meaning,
}

/// What an option does here.
pub(super) enum Meaning {
    /// It stands alone, and is heard, but asks for what is not done, or is done anyway, for this reason.
    Flag(fn(&mut Arguments), Option<&'static str>),
    /// It takes a value.
    Value(fn(&mut Arguments, &OptionValue<'_>, &mut Decoder)),
    /// It does nothing here, for this reason.
    Nothing {
        /// Whether it takes a value.
        value: bool,
        /// Why.
        because: &'static str,
    },
    /// It would do something that can't be done.
    Refused {
        /// Whether it takes a value.
        value: bool,
        /// What to do instead.
        instead: &'static str,
    },
}

impl Meaning {
    pub(super) fn takes_value(&self) -> bool {
        match self {
            Self::Flag(..) => false,
            Self::Value(_) => true,
            Self::Nothing { value, .. } | Self::Refused { value, .. } => *value,
        }
    }
}

/// The value of an option.
pub(super) struct OptionValue<'a> {
    /// The option as it was written.
    pub(super) option: &'a str,
    pub(super) letters: &'a [Letter],
    /// Where it begins, in the text.
    pub(super) begin: At,
    pub(super) source: &'a Source,
}

impl OptionValue<'_> {
    pub(super) fn position(&self) -> Position {
        self.at(self.begin)
    }

    pub(super) fn at(&self, (line, column): At) -> Position {
        self.source.position(line, column)
    }

    fn placed(&self) -> Placed {
        Placed { text: text(self.letters), position: self.position() }
    }

    fn problem(&self) -> Problem {
        Problem::new(format!("`{}` cannot be {}", self.option, quote(&text(self.letters)))).at(&self.position())
    }

    /// The value unless it is empty, which is a problem: Ansible would take no notice of the option.
    fn filled(&self, decoder: &mut Decoder) -> Option<Placed> {
        let placed = self.placed();
        if !placed.text.trim().is_empty() {
            return Some(placed);
        }
        decoder.report(
            Problem::new(format!("`{}` is empty", self.option))
                .at(&placed.position)
                .because("it chooses what is done")
                .hint("write what is meant, or leave the option out"),
        );
        None
    }

    /// The words between the commas.
    fn words(&self, decoder: &mut Decoder) -> Vec<Placed> {
        if self.filled(decoder).is_none() {
            return Vec::new();
        }
        let parts = self.letters.split(|letter| letter.character == ',');
        let placed = parts.filter_map(|part| {
            let first = part.iter().find(|letter| !letter.character.is_whitespace())?;
            Some(Placed { text: text(part).trim().to_owned(), position: self.at(first.place) })
        });
        placed.collect()
    }
}

const NO_TERMINAL: &str = "nobody can be asked: put the password into the inventory, or name a key in `sshAuthRef`";
const NO_VAULT: &str = "leave it out, and give the password to kokctl itself: `--vault-password-file FILE` or `--vault-id LABEL@FILE`";
const LOOK: &str = "`kokctl plan` prints what would be done";
const SSH_ARGUMENTS: &str = "set it as `ansible_ssh_common_args` among the variables";

const fn flag(names: &'static [&'static str], set: fn(&mut Arguments), because: Option<&'static str>) -> CommandOption {
    CommandOption { names, meaning: Meaning::Flag(set, because) }
}

const fn value(names: &'static [&'static str], read: fn(&mut Arguments, &OptionValue<'_>, &mut Decoder)) -> CommandOption {
    CommandOption { names, meaning: Meaning::Value(read) }
}

const fn nothing(names: &'static [&'static str], value: bool, because: &'static str) -> CommandOption {
    CommandOption { names, meaning: Meaning::Nothing { value, because } }
}

const fn refused(names: &'static [&'static str], value: bool, instead: &'static str) -> CommandOption {
    CommandOption { names, meaning: Meaning::Refused { value, instead } }
}

/// Every option of ansible-playbook 2.18.
pub(super) static OPTIONS: &[CommandOption] = &[
    flag(&["-C", "--check"], |arguments| arguments.check = true, None),
    flag(&["-D", "--diff"], |arguments| arguments.diff = true, Some("`kokctl plan` shows the differences of files anyway")),
    flag(
        &["-v", "--verbose"],
        |arguments| arguments.verbosity = arguments.verbosity.saturating_add(1),
        Some("how much is logged is said on the command line, as `kokctl -v`"),
    ),
    flag(&["-b", "--become"], |_| {}, Some("kokctl becomes root by itself where the login is not root")),
    value(&["-e", "--extra-vars"], |arguments, given, decoder| {
        let vars: Vec<ExtraVars> = extra_vars::read(given, decoder);
        arguments.extra_vars.extend(vars);
    }),
    value(&["-l", "--limit"], |arguments, given, decoder| arguments.limit = given.filled(decoder)),
    value(&["-t", "--tags"], |arguments, given, decoder| arguments.tags.extend(given.words(decoder))),
    value(&["--skip-tags"], |arguments, given, decoder| arguments.skip_tags.extend(given.words(decoder))),
    value(&["-f", "--forks"], forks),
    value(&["-u", "--user"], |arguments, given, decoder| arguments.user = given.filled(decoder)),
    value(&["--private-key", "--key-file"], |arguments, given, decoder| arguments.private_key_file = given.filled(decoder)),
    value(&["--become-user"], |_, given, decoder| only(given, &["root"], "all that is done needs root", decoder)),
    value(&["--become-method"], |_, given, decoder| only(given, &["sudo"], "this version becomes root by sudo", decoder)),
    value(&["-c", "--connection"], |_, given, decoder| {
        only(given, &["ssh", "smart", "paramiko", "paramiko_ssh"], "this version reaches hosts by SSH", decoder);
    }),
    nothing(&["-T", "--timeout"], true, "kokctl has its own limits for connections, and says when one is met"),
    nothing(&["--flush-cache"], false, "kokctl keeps no facts: every run looks anew"),
    nothing(&["--force-handlers"], false, "what a change calls for is a step of its own here, and never left out"),
    refused(&["-i", "--inventory", "--inventory-file"], true, "the inventory is the one that `hostsConfRef` of the Cluster names"),
    refused(&["-k", "--ask-pass"], false, NO_TERMINAL),
    refused(&["-K", "--ask-become-pass"], false, NO_TERMINAL),
    refused(&["-J", "--ask-vault-password", "--ask-vault-pass"], false, NO_VAULT),
    refused(&["--vault-id"], true, NO_VAULT),
    refused(&["--vault-password-file", "--vault-pass-file"], true, NO_VAULT),
    refused(&["--connection-password-file", "--conn-pass-file"], true, NO_TERMINAL),
    refused(&["--become-password-file", "--become-pass-file"], true, NO_TERMINAL),
    refused(&["--ssh-common-args"], true, SSH_ARGUMENTS),
    refused(&["--ssh-extra-args"], true, SSH_ARGUMENTS),
    refused(&["--sftp-extra-args"], true, "leave it out: kokctl uses no sftp"),
    refused(&["--scp-extra-args"], true, "leave it out: kokctl uses no scp"),
    refused(&["--list-hosts"], false, LOOK),
    refused(&["--list-tasks"], false, LOOK),
    refused(&["--list-tags"], false, "`kokctl vars` and the manual list what can be chosen"),
    refused(&["--syntax-check"], false, "`kokctl validate` reads everything and does nothing"),
    refused(&["--step"], false, "nobody can be asked: `kokctl plan` prints the steps beforehand"),
    refused(&["--start-at-task"], true, "leave it out: a run goes on by itself where the last one ended"),
    refused(&["-M", "--module-path"], true, "leave it out: kokctl has no modules"),
    refused(&["-h", "--help"], false, "leave it out"),
    refused(&["--version"], false, "leave it out"),
];

fn forks(arguments: &mut Arguments, given: &OptionValue<'_>, decoder: &mut Decoder) {
    match text(given.letters).trim().parse::<u32>() {
        Ok(forks) if (1..=MOST_FORKS).contains(&forks) => {
            arguments.forks = Some(forks);
            decoder.note(unused(&format!("`{}`", given.option), "kokctl itself finds out how much can be done at once", &given.position()));
        }
        _ => decoder.report(
            given
                .problem()
                .because(format!("it is a whole number from 1 to {MOST_FORKS}"))
                .hint("leave it out: kokctl itself finds out how much can be done at once"),
        ),
    }
}

fn only(given: &OptionValue<'_>, words: &[&str], because: &str, decoder: &mut Decoder) {
    if !words.contains(&text(given.letters).as_str()) {
        decoder.report(given.problem().because(because).hint("leave the option out"));
    }
}

impl CommandOption {
    /// Does what the option does here.
    pub(super) fn apply(&self, given: &OptionValue<'_>, arguments: &mut Arguments, decoder: &mut Decoder) {
        match &self.meaning {
            Meaning::Flag(set, because) => {
                let before = arguments.verbosity;
                set(arguments);
                // `-vvv` is one option for whoever writes it.
                let is_said = before > 0 && arguments.verbosity > before;
                because
                    .iter()
                    .filter(|_| !is_said)
                    .for_each(|because| decoder.note(unused(&format!("`{}`", given.option), because, &given.position())));
            }
            Meaning::Value(read) => read(arguments, given, decoder),
            Meaning::Nothing { because, .. } => decoder.note(unused(&format!("`{}`", given.option), because, &given.position())),
            Meaning::Refused { instead, .. } => {
                let problem = Problem::new(format!("`{}` cannot be done here", given.option)).at(&given.position());
                decoder.report(problem.hint(*instead));
            }
        }
    }
}

/// The option of that name; a long one may be cut short as long as it is the only one that begins so.
pub(super) fn find(name: &str) -> Result<&'static CommandOption, Vec<&'static str>> {
    if let Some(option) = OPTIONS.iter().find(|option| option.names.contains(&name)) {
        return Ok(option);
    }
    let is_long = name.len() > 2 && name.starts_with("--");
    let begins = |option: &&CommandOption| is_long && option.names.iter().any(|known| known.starts_with(name));
    let matches: Vec<&CommandOption> = OPTIONS.iter().filter(begins).collect();
    match matches.as_slice() {
        [only] => Ok(only),
        several => Err(several.iter().filter_map(|option| option.names.iter().copied().find(|known| known.starts_with(name))).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{OPTIONS, find};

    #[test]
    fn names_are_unique_and_found() {
        let names: Vec<&str> = OPTIONS.iter().flat_map(|option| option.names).copied().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| find(name).is_ok_and(|option| option.names.contains(name))));
    }

    #[test]
    fn long_names_may_be_cut_short() {
        assert!(find("--lim").is_ok_and(|option| option.names.contains(&"--limit")));
        assert_eq!(find("--ss").err(), Some(vec!["--ssh-common-args", "--ssh-extra-args"]));
        assert_eq!(find("--nothing").err(), Some(vec![]));
        assert!(find("--").is_err() && find("-").is_err() && find("").is_err());
    }
}
