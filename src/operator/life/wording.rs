//! What is said of a run that failed, in words that an operation has.

use kok_crds::operation::Verb;

use crate::failure::{Failure, Kind};
use crate::run::Outcome;

/// What the command line's options are in the `extraArgs` of an operation that recovers or restores.
const OPTIONS: [(&str, &str); 7] = [
    ("--lost", "`-e node=HOST`"),
    ("--from", "`-e etcd_snapshot=FILE`"),
    ("--identity", "`-e identity=KEY`"),
    ("--passphrase-file", "not to be had"),
    ("--new-hosts", "`-e new_hosts=yes`"),
    ("--continue", "another operation of the same action"),
    ("--undo", "not to be had: cancel the operation, and run `kokctl recover --undo` with a file of the cluster"),
];

/// The failure as one of an operation: options that its hint names are said in the operation's words.
pub(super) fn in_operation(failure: Failure, verb: Verb) -> Failure {
    if !matches!(verb, Verb::Recover | Verb::Restore) {
        return failure;
    }
    let text = format!("{} {}", failure.at.as_deref().unwrap_or_default(), failure.hint.as_deref().unwrap_or_default());
    let named = OPTIONS
        .iter()
        .filter(|(option, _)| text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-').any(|word| word == *option));
    let words: Vec<String> = named.map(|(option, is)| format!("{option} is {is}")).collect();
    if words.is_empty() {
        return failure;
    }
    let hint = failure.hint.iter().cloned().chain([format!("in an operation {}", words.join(", "))]).collect::<Vec<_>>().join("; ");
    failure.hint(hint)
}

/// What is said of a run that ended in the middle.
pub(super) fn of_outcome(outcome: &Outcome, verb: Verb) -> Vec<Failure> {
    let hint = match verb {
        // Another one of the same action would begin from the backup or the snapshot once more, where the new etcd works by now.
        Verb::Recover | Verb::Restore => {
            "mend the cause. Where the API answers, an operation with `cluster.yml` does the rest; where it does not, another one of this action goes on"
        }
        _ => "mend the cause, and make another operation: it goes on where this one stopped",
    };
    let failed = outcome.failed.iter().map(|step| {
        let what = if step.unknown { "it is not known whether it was done" } else { "failed" };
        let failure = Failure::new(Kind::Incomplete, format!("{}: {what}", step.title)).at(step.step.to_string());
        failure.because(step.error.clone()).hint(hint)
    });
    let failed: Vec<Failure> = failed.collect();
    if !failed.is_empty() {
        return failed;
    }
    let what = if outcome.taken_over { "another run has taken over the hosts" } else { "the run was stopped" };
    vec![Failure { because: outcome.stopped.clone(), ..Failure::new(Kind::Incomplete, what).hint(hint) }]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn options_of_the_command_line_are_said_in_the_words_of_an_operation() {
        let hint = |at: &str, hint: &str, verb: Verb| in_operation(Failure::new(Kind::Host, "it").at(at).hint(hint), verb).hint.unwrap();
        let lost = hint("host cp1", "give it up with --lost cp1, and add --undo", Verb::Recover);
        assert!(
            lost.starts_with(
                "give it up with --lost cp1, and add --undo; in an operation --lost is `-e node=HOST`, --undo is not to be had"
            )
        );
        assert!(hint("--lost", "name another one", Verb::Restore).ends_with("; in an operation --lost is `-e node=HOST`"));
        assert!(hint("x", "name the file (--identity FILE)", Verb::Restore).ends_with("--identity is `-e identity=KEY`"));
        assert_eq!(hint("x", "it is --lostness", Verb::Restore), "it is --lostness");
        assert_eq!(hint("x", "give it up with --lost cp1", Verb::Apply), "give it up with --lost cp1");
    }
}
