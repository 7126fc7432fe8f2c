//! That the files say more than what is done, in one line: `validate` says all of it.

use kok_crds::{Input, Outcome};

/// How much there is to know of files that are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli) struct Noted {
    /// Variables that are set and do nothing, because that is not done yet or nobody knows them.
    pub(in crate::cli) idle: usize,
    /// Those that mean nothing here, which is as it should be.
    meaningless: usize,
    /// What else there is to know.
    pub(in crate::cli) notices: usize,
}

impl Noted {
    pub(in crate::cli) fn from_input(input: &Input) -> Self {
        let count = |outcomes: &[Outcome]| input.variables.iter().filter(|given| outcomes.contains(&given.outcome)).count();
        Self { idle: count(&[Outcome::NotYet, Outcome::Unknown]), meaningless: count(&[Outcome::NoMeaning]), notices: input.notices.len() }
    }

    /// How many lines of the files do nothing.
    pub(in crate::cli) fn without_effect(self) -> usize {
        self.idle + self.meaningless
    }

    /// The line; none if there is nothing to know. `files` are the options that name the files.
    pub(in crate::cli) fn line(self, files: &str) -> Option<String> {
        let counted = |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
        let mut parts = Vec::new();
        if self.idle > 0 {
            parts.push(counted(self.idle, "variable is not honoured", "variables are not honoured"));
        }
        if self.meaningless > 0 {
            parts.push(counted(self.meaningless, "means nothing here", "mean nothing here"));
        }
        if self.notices > 0 {
            parts.push(counted(self.notices, "notice", "notices"));
        }
        let all = if self.meaningless > 0 { " --all" } else { "" };
        (!parts.is_empty()).then(|| format!("note: {}; `kokctl validate {files}{all}` says which and why", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::Noted;

    #[test]
    fn what_there_is_to_know_is_counted() {
        let line = |idle, meaningless, notices| Noted { idle, meaningless, notices }.line("-f c.yaml");
        assert_eq!(line(0, 0, 0), None);
        let expected =
            "note: 2 variables are not honoured, 1 means nothing here, 3 notices; `kokctl validate -f c.yaml --all` says which and why";
        assert_eq!(line(2, 1, 3).as_deref(), Some(expected));
        assert_eq!(line(0, 0, 1).as_deref(), Some("note: 1 notice; `kokctl validate -f c.yaml` says which and why"));
    }
}
