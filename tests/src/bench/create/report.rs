//! The figures, as a table and as JSON, and what they have to be.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bench::parts::{Part, head, median_of, row, rows};

/// kokctl may take so much of the classic order's time.
const MOST_RATIO: f64 = 0.65;
/// Steps of the critical path that took less than that are not worth a line.
const SHORTEST_MILLISECONDS: u64 = 100;

/// Everything that was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateReport {
    kokctl_milliseconds: f64,
    classic_milliseconds: f64,
    ratio: f64,
    rounds: Vec<CreateRound>,
}

/// One run of each.
#[derive(Debug, Serialize)]
pub(super) struct CreateRound {
    pub(super) kokctl: CreatedByKokctl,
    pub(super) classic: CreatedByKubeadm,
}

/// A run of kokctl.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreatedByKokctl {
    /// Until all nodes were Ready.
    pub(super) milliseconds: f64,
    /// Until `apply` ended, after its check of the network.
    pub(super) end_milliseconds: f64,
    /// What `apply` takes when nothing is left to do.
    pub(super) again: RepeatedApply,
    /// From bare hosts to prepared ones.
    pub(super) preparation_milliseconds: f64,
    /// What that went to: bulk data are pushed by the steps of `images` and programs.
    pub(super) preparation_path: Vec<Link>,
    pub(super) critical_path: Vec<Link>,
}

/// Medians of `apply` on a cluster that is as it should be, in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct RepeatedApply {
    /// Of everything.
    pub(super) whole: f64,
    /// Of a task that costs little more than the connections.
    pub(super) light: f64,
}

/// A step of the chain that made a run as long as it was, as `kokctl run show --timeline --json` prints it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Link {
    pub(super) step: String,
    began: u64,
    took_milliseconds: u64,
    waited_milliseconds: u64,
    together: usize,
}

/// A run of kubeadm in the classic order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreatedByKubeadm {
    pub(super) milliseconds: f64,
    pub(super) preparation_milliseconds: f64,
    pub(super) parts: Vec<Part>,
}

impl CreateReport {
    pub(super) fn new(rounds: Vec<CreateRound>) -> Self {
        let kokctl_milliseconds = median_of(&rounds, |round| round.kokctl.milliseconds);
        let classic_milliseconds = median_of(&rounds, |round| round.classic.milliseconds);
        Self { kokctl_milliseconds, classic_milliseconds, ratio: kokctl_milliseconds / classic_milliseconds, rounds }
    }

    /// What is not as it has to be, a sentence each.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        // Written so that a ratio which is no number is missed too.
        if self.ratio <= MOST_RATIO { Vec::new() } else { vec![format!("the ratio is {:.2}, at most {MOST_RATIO}", self.ratio)] }
    }

    /// A line of seconds, a column for each round.
    fn row(&self, f: &mut fmt::Formatter<'_>, what: &str, of: impl Fn(&CreateRound) -> f64) -> fmt::Result {
        row(f, what, &self.rounds, of)
    }

    /// The round whose kokctl is the median.
    fn typical(&self) -> Option<&CreateRound> {
        self.rounds.iter().find(|round| round.kokctl.milliseconds.total_cmp(&self.kokctl_milliseconds).is_eq())
    }
}

impl fmt::Display for CreateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(f, "from prepared hosts to 5 Ready", self.rounds.len())?;
        self.row(f, "kokctl apply", |round| round.kokctl.milliseconds)?;
        self.row(f, "kubeadm in the classic order", |round| round.classic.milliseconds)?;
        rows(f, &self.rounds, |round| &round.classic.parts)?;
        writeln!(f, "ratio of the medians {:.2}", self.ratio)?;
        writeln!(f, "\nbeside that")?;
        self.row(f, "kokctl apply to its end", |round| round.kokctl.end_milliseconds)?;
        self.row(f, "kokctl apply, nothing to do", |round| round.kokctl.again.whole)?;
        self.row(f, "the same of a light task", |round| round.kokctl.again.light)?;
        let ratio = |round: &CreateRound| round.kokctl.again.whole / round.kokctl.again.light;
        writeln!(f, "ratio of these two {:.2}", median_of(&self.rounds, ratio))?;
        self.row(f, "preparation of bare hosts (kokctl)", |round| round.kokctl.preparation_milliseconds)?;
        self.row(f, "preparation of bare hosts (kubeadm)", |round| round.classic.preparation_milliseconds)?;
        writeln!(f, "\nthe chain of steps of the median run of kokctl")?;
        let links = self.typical().into_iter().flat_map(|round| &round.kokctl.critical_path);
        links.filter(|link| link.is_worth_a_line()).try_for_each(|link| link.fmt(f))?;
        writeln!(f, "\nand of the preparation of its hosts, with the push of the bundle")?;
        let links = self.typical().into_iter().flat_map(|round| &round.kokctl.preparation_path);
        links.filter(|link| link.is_worth_a_line()).try_for_each(|link| link.fmt(f))?;
        self.missed().iter().try_for_each(|missed| writeln!(f, "MISSED: {missed}"))
    }
}

impl Link {
    fn is_worth_a_line(&self) -> bool {
        self.took_milliseconds.max(self.waited_milliseconds) >= SHORTEST_MILLISECONDS
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |milliseconds: u64| milliseconds as f64 / 1e3;
        write!(f, "{:>9.1} s {:>6.1} s  {}", seconds(self.began), seconds(self.took_milliseconds), self.step)?;
        if self.together > 1 {
            write!(f, " with {} more in one script", self.together - 1)?;
        }
        if self.waited_milliseconds >= SHORTEST_MILLISECONDS {
            write!(f, ", {:.1} s after the one before it", seconds(self.waited_milliseconds))?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(kokctl: f64, classic: f64) -> CreateRound {
        CreateRound {
            kokctl: CreatedByKokctl {
                milliseconds: kokctl,
                end_milliseconds: kokctl,
                again: RepeatedApply { whole: 2.0, light: 1.0 },
                preparation_milliseconds: 0.0,
                preparation_path: Vec::new(),
                critical_path: Vec::new(),
            },
            classic: CreatedByKubeadm {
                milliseconds: classic,
                preparation_milliseconds: 0.0,
                parts: vec![Part { what: "init".to_owned(), milliseconds: classic }],
            },
        }
    }

    #[test]
    fn medians_are_compared() {
        let report = CreateReport::new(vec![round(60.0, 100.0), round(500.0, 101.0), round(50.0, 10.0)]);
        assert_eq!((report.kokctl_milliseconds, report.classic_milliseconds, report.ratio), (60.0, 100.0, 0.6));
        assert!(report.missed().is_empty());
        assert_eq!(CreateReport::new(vec![round(70.0, 100.0)]).missed().len(), 1);
        assert_eq!(CreateReport::new(Vec::new()).missed().len(), 1);
    }
}
