//! What several verbs share: reading the cluster's file, finding the bundle, the arguments for both.

use std::env;
use std::path::PathBuf;

use clap::Args;
use kok_crds::model::Cluster;
use kok_tasks::plan::{Choice, Selection};

use crate::artifacts::{BUNDLE_VARIABLE, BundleFolder};
use crate::ui::{Failure, Kind, line};

/// Where the artifacts come from.
#[derive(Debug, Args)]
pub(super) struct BundleArgument {
    /// The folder of the bundle to install from; by default what KOKCTL_BUNDLE names
    #[arg(long, value_name = "FOLDER")]
    bundle: Option<PathBuf>,
}

impl BundleArgument {
    pub(super) fn open(&self) -> Result<BundleFolder, Vec<Failure>> {
        let path = self.bundle.clone().or_else(|| env::var_os(BUNDLE_VARIABLE).map(PathBuf::from));
        let path = path.ok_or_else(|| {
            vec![
                Failure::new(Kind::Input, "it is not known where to install from")
                    .at("the command line")
                    .because(format!("there is neither --bundle nor {BUNDLE_VARIABLE}"))
                    .hint("give the folder of a bundle with --bundle; in a checkout of kokctl, `make bundle` builds one"),
            ]
        })?;
        BundleFolder::open(&path).map_err(|failure| vec![failure])
    }
}

/// Which part of the plan is meant.
#[derive(Debug, Args)]
pub(super) struct PartArguments {
    /// Only these tasks, with commas between them; refused if they need others that are still to be done
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    only: Vec<String>,
    /// All tasks but these
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    skip: Vec<String>,
    /// Only these hosts: names with `*` and `?`, with commas between them; `!` before a name leaves it out
    #[arg(long, short, value_name = "HOST", value_delimiter = ',')]
    limit: Vec<String>,
}

impl PartArguments {
    /// As it was written; `None` for the whole.
    pub(super) fn text(&self) -> Option<String> {
        let options = [("--only", &self.only), ("--skip", &self.skip), ("--limit", &self.limit)];
        let given = options.iter().filter(|(_, words)| !words.is_empty()).map(|(name, words)| format!("{name} {}", words.join(",")));
        let given: Vec<String> = given.collect();
        (!given.is_empty()).then(|| given.join(" "))
    }

    pub(super) fn select(&self, cluster: &Cluster) -> Result<Selection, Vec<Failure>> {
        let choice = Choice { only: &self.only, skip: &self.skip, limit: &self.limit };
        Selection::new(choice, cluster)
            .map_err(|refusals| refusals.into_iter().map(|refusal| Failure::refusal(Kind::Input, refusal)).collect())
    }
}

/// Prints what a program reads.
pub(super) fn print_json(document: &impl serde::Serialize) -> Result<(), Vec<Failure>> {
    let text = serde_json::to_string_pretty(document).map_err(|error| vec![Failure::new(Kind::Internal, error.to_string())])?;
    line(&text);
    Ok(())
}

/// How many hosts may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaxFail {
    /// So many.
    Count(usize),
    /// So many of a hundred.
    Percent(usize),
}

impl MaxFail {
    /// Of this many hosts; a percentage is rounded down.
    pub(super) fn of(self, hosts: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => hosts * percent / 100,
        }
    }
}

impl std::str::FromStr for MaxFail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse::<usize>().map_err(|_| "it is a number of hosts, such as 2, or a percentage, such as 10%".to_owned());
        match text.strip_suffix('%') {
            Some(percent) => match number(percent)? {
                percent if percent <= 100 => Ok(Self::Percent(percent)),
                _ => Err("a percentage is at the most 100%".to_owned()),
            },
            None => number(text).map(Self::Count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MaxFail;

    #[test]
    fn a_number_or_a_percentage_of_hosts_may_fail() {
        let of = |text: &str, hosts| text.parse::<MaxFail>().map(|most| most.of(hosts)).ok();
        assert_eq!([of("2", 50), of("10%", 50), of("10%", 9), of("100%", 3), of("0", 3)], [Some(2), Some(5), Some(0), Some(3), Some(0)]);
        for wrong in ["", "%", "-1", "101%", "two", "1.5"] {
            assert_eq!(of(wrong, 10), None, "{wrong}");
        }
    }
}
