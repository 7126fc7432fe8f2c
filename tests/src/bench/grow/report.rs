//! The figures, as a table and as JSON, and what they have to be.

use std::fmt;

use serde::Serialize;

use crate::bench::parts::{Part, head, median_of, row, rows};
use crate::bench::sshd::Count;

/// kokctl may take so much of the time of `kubeadm join` for a worker: it does the same and looks afterwards whether it is done.
const MOST_WORKER: f64 = 1.3;
/// Three workers at once may take so much of the time of one.
const MOST_THREE: f64 = 1.5;
/// Two more control planes may take kokctl so much of kubeadm's time for them: it gives the API a name meanwhile.
const MOST_PLANES: f64 = 1.5;
/// A host that is there is connected to and probed so often while another one joins.
const MOST_PROBES: usize = 1;

/// Everything that was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrowReport {
    one_worker: Beside,
    three_workers: Beside,
    three_workers_apart: Beside,
    control_planes: Beside,
    /// The most of any other host while one worker was added.
    most_probes: usize,
    most_logins: usize,
    workers: Vec<WorkersRound>,
    planes: Vec<PlanesRound>,
}

/// Two medians.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Beside {
    milliseconds: f64,
    other_milliseconds: f64,
    ratio: f64,
    most: f64,
}

/// Workers that join, each way once.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkersRound {
    pub(super) one: OneWorker,
    pub(super) by_hand_milliseconds: f64,
    pub(super) three: GrownByKokctl,
    /// One, and three at once, where each has a share of a processor of its own.
    pub(super) alone: GrownByKokctl,
    pub(super) three_apart: GrownByKokctl,
}

/// One worker that joins by kokctl.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OneWorker {
    #[serde(flatten)]
    pub(super) kokctl: GrownByKokctl,
    /// What sshd counted on the hosts that were there, in the whole of the run.
    pub(super) others: Count,
}

/// One control plane that becomes three, each way once.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanesRound {
    pub(super) kokctl: GrownByKokctl,
    /// A part for each host.
    pub(super) by_hand: Vec<Part>,
}

/// A run of kokctl.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GrownByKokctl {
    /// From the end of the preparation of the last host until all were Ready.
    pub(super) milliseconds: f64,
    /// From the command until then.
    pub(super) ready_milliseconds: f64,
    /// From the command until `apply` ended, after its check of the network.
    pub(super) end_milliseconds: f64,
    /// How often it connected to and probed another host, the most of any, by its own words.
    pub(super) probes: usize,
}

impl GrowReport {
    pub(super) fn new(workers: Vec<WorkersRound>, planes: Vec<PlanesRound>) -> Self {
        let one = median_of(&workers, |round| round.one.kokctl.milliseconds);
        Self {
            one_worker: Beside::new(one, median_of(&workers, |round| round.by_hand_milliseconds), MOST_WORKER),
            three_workers: Beside::new(median_of(&workers, |round| round.three.milliseconds), one, MOST_THREE),
            three_workers_apart: Beside::new(
                median_of(&workers, |round| round.three_apart.milliseconds),
                median_of(&workers, |round| round.alone.milliseconds),
                MOST_THREE,
            ),
            control_planes: Beside::new(
                median_of(&planes, |round| round.kokctl.milliseconds),
                median_of(&planes, PlanesRound::by_hand_milliseconds),
                MOST_PLANES,
            ),
            most_probes: workers.iter().map(|round| round.one.kokctl.probes).max().unwrap_or_default(),
            most_logins: workers.iter().map(|round| round.one.others.logins).max().unwrap_or_default(),
            workers,
            planes,
        }
    }

    fn ratios(&self) -> [(&'static str, &Beside); 4] {
        [
            ("one worker, kokctl to kubeadm", &self.one_worker),
            ("three workers to one, kokctl", &self.three_workers),
            ("the same, each with half a processor of its own", &self.three_workers_apart),
            ("1 → 3 control planes, kokctl to kubeadm", &self.control_planes),
        ]
    }

    /// What is not as it has to be, a sentence each.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        let ratios = self.ratios().into_iter().filter(|(_, beside)| beside.ratio.is_nan() || beside.ratio > beside.most);
        let mut missed: Vec<String> =
            ratios.map(|(what, beside)| format!("{what}: the ratio is {:.2}, at most {}", beside.ratio, beside.most)).collect();
        for (what, count) in [("is probed", self.most_probes), ("is logged in to", self.most_logins)] {
            if count > MOST_PROBES {
                missed.push(format!("while one worker joins, another host {what} {count} times, at most {MOST_PROBES}"));
            }
        }
        missed
    }
}

impl Beside {
    fn new(milliseconds: f64, other_milliseconds: f64, most: f64) -> Self {
        Self { milliseconds, other_milliseconds, ratio: milliseconds / other_milliseconds, most }
    }
}

impl PlanesRound {
    /// One after the other; what a person does between them is not counted.
    fn by_hand_milliseconds(&self) -> f64 {
        self.by_hand.iter().map(|part| part.milliseconds).sum()
    }
}

/// Lines of the other times of runs of kokctl.
fn rows_beside<T>(f: &mut fmt::Formatter<'_>, what: &str, rounds: &[T], of: impl Fn(&T) -> &GrownByKokctl) -> fmt::Result {
    row(f, &format!("{what}, from the command to Ready"), rounds, |round| of(round).ready_milliseconds)?;
    row(f, &format!("{what}, to the end of apply"), rounds, |round| of(round).end_milliseconds)
}

impl fmt::Display for GrowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(f, "from prepared hosts to Ready", self.workers.len())?;
        row(f, "one worker, kokctl apply", &self.workers, |round| round.one.kokctl.milliseconds)?;
        row(f, "one worker, kubeadm join", &self.workers, |round| round.by_hand_milliseconds)?;
        row(f, "three workers at once, kokctl apply", &self.workers, |round| round.three.milliseconds)?;
        row(f, "one worker with half a processor, kokctl apply", &self.workers, |round| round.alone.milliseconds)?;
        row(f, "three workers, each with half a processor, kokctl apply", &self.workers, |round| round.three_apart.milliseconds)?;
        row(f, "1 → 3 control planes, kokctl apply", &self.planes, |round| round.kokctl.milliseconds)?;
        row(f, "1 → 3 control planes, kubeadm join", &self.planes, PlanesRound::by_hand_milliseconds)?;
        rows(f, &self.planes, |round| &round.by_hand)?;
        let mut ratios = self.ratios().into_iter();
        ratios.try_for_each(|(what, beside)| writeln!(f, "{what}: ratio of the medians {:.2}, at most {}", beside.ratio, beside.most))?;
        let commands = self.workers.iter().map(|round| round.one.others.commands).max().unwrap_or_default();
        let (probes, logins) = (self.most_probes, self.most_logins);
        writeln!(f, "while one worker joins, each other host has at most {probes} probes, {logins} logins, {commands} commands")?;
        writeln!(f, "\nbeside that")?;
        rows_beside(f, "one worker", &self.workers, |round| &round.one.kokctl)?;
        rows_beside(f, "three workers", &self.workers, |round| &round.three)?;
        rows_beside(f, "control planes", &self.planes, |round| &round.kokctl)?;
        self.missed().iter().try_for_each(|missed| writeln!(f, "MISSED: {missed}"))
    }
}

impl fmt::Display for WorkersRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = [&self.one.kokctl, &self.three, &self.alone, &self.three_apart];
        let [one, three, alone, apart] = runs.map(|run| run.milliseconds / 1e3);
        let by_hand = self.by_hand_milliseconds / 1e3;
        write!(f, "one worker {one:.1} s, by hand {by_hand:.1} s, three workers {three:.1} s; ")?;
        write!(f, "with half a processor each {alone:.1} s and {apart:.1} s; other hosts: {:?}", self.one.others)
    }
}

impl fmt::Display for PlanesRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kokctl, by_hand) = (self.kokctl.milliseconds / 1e3, self.by_hand_milliseconds() / 1e3);
        write!(f, "two control planes {kokctl:.1} s, by hand {by_hand:.1} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(milliseconds: f64, probes: usize) -> GrownByKokctl {
        GrownByKokctl { milliseconds, ready_milliseconds: milliseconds, end_milliseconds: milliseconds, probes }
    }

    fn workers(one: f64, by_hand_milliseconds: f64, three: f64, probes: usize) -> WorkersRound {
        let others = Count { logins: probes, commands: 3 };
        let (alone, three_apart) = (run(one, 1), run(three, 1));
        WorkersRound { one: OneWorker { kokctl: run(one, probes), others }, by_hand_milliseconds, three: run(three, 1), alone, three_apart }
    }

    fn planes(kokctl: f64, each: f64) -> PlanesRound {
        let part = |host: &str| Part { what: host.to_owned(), milliseconds: each };
        PlanesRound { kokctl: run(kokctl, 1), by_hand: vec![part("cp2"), part("cp3")] }
    }

    #[test]
    fn medians_are_compared() {
        let workers = vec![workers(13.0, 10.0, 19.0, 1), workers(99.0, 1.0, 1.0, 1), workers(1.0, 99.0, 99.0, 1)];
        let report = GrowReport::new(workers, vec![planes(60.0, 20.0)]);
        assert_eq!(report.one_worker.ratio, 1.3);
        assert_eq!((report.three_workers.milliseconds, report.three_workers.other_milliseconds), (19.0, 13.0));
        assert_eq!((report.control_planes.other_milliseconds, report.control_planes.ratio), (40.0, 1.5));
        assert_eq!(report.missed(), Vec::<String>::new());
        assert!(report.to_string().contains("at most 1 probes, 1 logins, 3 commands"), "{report}");
    }

    #[test]
    fn every_limit_can_be_missed() {
        let report = GrowReport::new(vec![workers(14.0, 10.0, 22.0, 2)], vec![planes(61.0, 20.0)]);
        assert_eq!(report.missed().len(), 6, "{report}");
        assert_eq!(GrowReport::new(Vec::new(), Vec::new()).missed().len(), 4, "no figures are no success");
    }
}
