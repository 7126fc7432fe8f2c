//! The figures, as a table and as JSON, and what they have to be.

use std::fmt;

use serde::Serialize;

use super::{NEW, OLD};
use crate::bench::parts::{Part, head, median_of, row, rows};

/// kokctl may take so much of the time of kubeadm by hand.
const MOST_RATIO: f64 = 0.6;

/// Everything that was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeReport {
    /// Without what went to sending programs alone.
    kokctl_milliseconds: f64,
    classic_milliseconds: f64,
    ratio: f64,
    /// The same with all of kokctl's time.
    ratio_with_sending: f64,
    rounds: Vec<UpgradeRound>,
}

/// One run of each.
#[derive(Debug, Serialize)]
pub(super) struct UpgradeRound {
    pub(super) kokctl: UpgradedByKokctl,
    pub(super) classic: UpgradedByKubeadm,
}

/// A run of kokctl.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpgradedByKokctl {
    /// All of it.
    pub(super) milliseconds: f64,
    /// What of it went to sending files, with nothing else at work on any host.
    pub(super) sending_milliseconds: f64,
    /// How many programs it sent, to all hosts together.
    pub(super) programs: usize,
    /// How many images, which its hosts had already.
    pub(super) images: usize,
    pub(super) stages: Vec<Part>,
}

/// A run of kubeadm by hand.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpgradedByKubeadm {
    pub(super) milliseconds: f64,
    pub(super) parts: Vec<Part>,
    /// What it took before to bring the programs to all hosts at once.
    pub(super) programs_milliseconds: f64,
}

impl UpgradedByKokctl {
    fn counted(&self) -> f64 {
        self.milliseconds - self.sending_milliseconds
    }
}

impl UpgradeReport {
    pub(super) fn new(rounds: Vec<UpgradeRound>) -> Self {
        let kokctl_milliseconds = median_of(&rounds, |round| round.kokctl.counted());
        let classic_milliseconds = median_of(&rounds, |round| round.classic.milliseconds);
        let ratio_with_sending = median_of(&rounds, |round| round.kokctl.milliseconds) / classic_milliseconds;
        let ratio = kokctl_milliseconds / classic_milliseconds;
        Self { kokctl_milliseconds, classic_milliseconds, ratio, ratio_with_sending, rounds }
    }

    /// What is not as it has to be, a sentence each.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        // Written so that a ratio which is no number is missed too.
        if self.ratio <= MOST_RATIO { Vec::new() } else { vec![format!("the ratio is {:.2}, at most {MOST_RATIO}", self.ratio)] }
    }

    /// A line of seconds, a column for each round.
    fn row(&self, f: &mut fmt::Formatter<'_>, what: &str, of: impl Fn(&UpgradeRound) -> f64) -> fmt::Result {
        row(f, what, &self.rounds, of)
    }

    /// Lines of parts.
    fn rows(&self, f: &mut fmt::Formatter<'_>, of: impl Fn(&UpgradeRound) -> &[Part]) -> fmt::Result {
        rows(f, &self.rounds, of)
    }
}

impl fmt::Display for UpgradeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(f, &format!("from {OLD} to {NEW}, 5 hosts"), self.rounds.len())?;
        self.row(f, "kokctl upgrade", |round| round.kokctl.counted())?;
        self.row(f, "kubeadm by hand, host after host", |round| round.classic.milliseconds)?;
        self.rows(f, |round| &round.classic.parts)?;
        writeln!(f, "ratio of the medians {:.2}", self.ratio)?;
        writeln!(f, "\ncounted: from the command until all nodes are Ready with {NEW}; images were there before in both clusters.")?;
        writeln!(f, "Of kokctl's time it is without that in which it sent programs and did nothing else, for kubeadm's lay on the hosts")?;
        writeln!(f, "\nbeside that")?;
        self.row(f, "kokctl upgrade, all of it", |round| round.kokctl.milliseconds)?;
        self.rows(f, |round| &round.kokctl.stages)?;
        self.row(f, "  in these, sending and no more", |round| round.kokctl.sending_milliseconds)?;
        writeln!(f, "ratio with all of it {:.2}", self.ratio_with_sending)?;
        self.row(f, "programs for kubeadm, all at once", |round| round.classic.programs_milliseconds)?;
        for (number, UpgradedByKokctl { programs, images, .. }) in (1..).zip(self.rounds.iter().map(|round| &round.kokctl)) {
            writeln!(f, "run {number}: kokctl sent {programs} programs and {images} images")?;
        }
        self.missed().iter().try_for_each(|missed| writeln!(f, "MISSED: {missed}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(kokctl: f64, sending: f64, classic: f64) -> UpgradeRound {
        let part = |milliseconds: f64| vec![Part { what: "cp1 kubeadm".to_owned(), milliseconds }];
        UpgradeRound {
            kokctl: UpgradedByKokctl { milliseconds: kokctl, sending_milliseconds: sending, programs: 13, images: 0, stages: part(kokctl) },
            classic: UpgradedByKubeadm { milliseconds: classic, parts: part(classic), programs_milliseconds: 1.0 },
        }
    }

    #[test]
    fn medians_are_compared_without_sending() {
        let report = UpgradeReport::new(vec![round(70.0, 10.0, 100.0), round(500.0, 0.0, 101.0), round(50.0, 0.0, 10.0)]);
        assert_eq!((report.kokctl_milliseconds, report.classic_milliseconds), (60.0, 100.0));
        assert_eq!((report.ratio, report.ratio_with_sending), (0.6, 0.7));
        assert!(report.missed().is_empty());
        assert_eq!(UpgradeReport::new(vec![round(70.0, 5.0, 100.0)]).missed().len(), 1);
        assert_eq!(UpgradeReport::new(Vec::new()).missed().len(), 1);
        assert!(report.to_string().contains("run 3: kokctl sent 13 programs and 0 images"), "{report}");
    }
}
