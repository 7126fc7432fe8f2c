//! The figures, as a table and as JSON, and what they have to be.

use std::fmt;

use serde::Serialize;

/// A converged `apply` may take so much longer than the floor of the same run.
const MOST_RATIO: f64 = 1.3;
/// Processor time of the controller for each host, from so many hosts on: below that its start weighs too much.
const MOST_PROCESSOR: f64 = 2.0;
const MANY: usize = 20;
/// Memory of the controller at up to fifty hosts.
const MOST_MEGABYTES: f64 = 60.0;
/// `bundle create` may take so much longer than `curl --parallel` takes for the same bytes.
const MOST_FETCH_RATIO: f64 = 1.2;
/// Memory of `bundle create`.
const MOST_FETCH_MEGABYTES: f64 = 100.0;
/// Round trips beyond those of the floor, which are handshake, login, channel and one for the script. Half a one is what clocks and
/// schedulers may make of none.
const MORE_ROUND_TRIPS: f64 = 0.5;

/// Everything that was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub(super) fetch: Fetch,
    pub(super) first: First,
    pub(super) converged: Vec<Converged>,
    pub(super) distant: Distant,
}

/// `bundle create` of a release, beside curl.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fetch {
    pub(super) bytes: u64,
    pub(super) requests: usize,
    /// Of a server in this machine's memory.
    pub(super) memory: Beside,
    /// Of one behind a line of 1 Gbit/s.
    pub(super) link: Beside,
}

/// kokctl's time beside curl's.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Beside {
    pub(super) milliseconds: f64,
    pub(super) curl_milliseconds: f64,
    pub(super) ratio: f64,
    pub(super) peak_megabytes: f64,
}

/// A run on bare hosts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct First {
    pub(super) hosts: usize,
    pub(super) milliseconds: f64,
    pub(super) shares: Vec<Share>,
}

/// A part of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Share {
    pub(super) what: String,
    pub(super) milliseconds: f64,
}

/// Runs with nothing to do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Converged {
    pub(super) hosts: usize,
    pub(super) milliseconds: f64,
    pub(super) floor_milliseconds: f64,
    pub(super) ratio: f64,
    pub(super) processor_milliseconds_per_host: f64,
    pub(super) floor_processor_milliseconds_per_host: f64,
    pub(super) peak_megabytes: f64,
    pub(super) floor_peak_megabytes: f64,
    pub(super) logins_per_host: usize,
    pub(super) commands_per_host: usize,
}

/// Runs with nothing to do on a host far away.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Distant {
    pub(super) lag_milliseconds: f64,
    pub(super) milliseconds: f64,
    pub(super) floor_milliseconds: f64,
    pub(super) round_trips: f64,
    pub(super) floor_round_trips: f64,
}

impl Report {
    /// What is not as it has to be, a sentence each.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        let mut missed: Vec<String> = self.converged.iter().flat_map(Converged::missed).collect();
        missed.extend(self.fetch.missed());
        let more = self.distant.round_trips - self.distant.floor_round_trips;
        if more > MORE_ROUND_TRIPS {
            missed.push(format!("{more:.1} round trips more than the floor, at most {MORE_ROUND_TRIPS}"));
        }
        missed
    }
}

impl Fetch {
    fn missed(&self) -> Option<String> {
        let (ratio, peak) = (self.link.ratio.max(self.memory.ratio), self.link.peak_megabytes.max(self.memory.peak_megabytes));
        let is_good = ratio <= MOST_FETCH_RATIO && peak <= MOST_FETCH_MEGABYTES;
        (!is_good).then(|| {
            format!("bundle create takes {ratio:.2} times as long as curl, and {peak:.0} MB; at most {MOST_FETCH_RATIO}, and {MOST_FETCH_MEGABYTES}")
        })
    }
}

impl Converged {
    fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        let mut check = |what: &str, is: f64, most: f64| {
            if is > most {
                missed.push(format!("{} hosts: {what} is {is:.2}, at most {most}", self.hosts));
            }
        };
        check("the ratio to the floor", self.ratio, MOST_RATIO);
        if self.hosts >= MANY {
            check("processor time per host in ms", self.processor_milliseconds_per_host, MOST_PROCESSOR);
        }
        check("memory in MB", self.peak_megabytes, MOST_MEGABYTES);
        if (self.logins_per_host, self.commands_per_host) != (1, 1) {
            missed.push(format!(
                "{} hosts: {} logins and {} commands for a host, not one of each",
                self.hosts, self.logins_per_host, self.commands_per_host
            ));
        }
        missed
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fetch = &self.fetch;
        #[allow(clippy::cast_precision_loss, reason = "megabytes of a bundle")]
        let megabytes = fetch.bytes as f64 / 1e6;
        writeln!(f, "bundle create, {megabytes:.0} MB in {} requests", fetch.requests)?;
        for (at, beside) in [("in memory", &fetch.memory), ("at 1 Gbit/s", &fetch.link)] {
            let (seconds, of_curl) = (beside.milliseconds / 1e3, beside.curl_milliseconds / 1e3);
            let (ratio, peak) = (beside.ratio, beside.peak_megabytes);
            writeln!(f, "  a server {at:<12} kokctl {seconds:.2} s, curl --parallel {of_curl:.2} s, ratio {ratio:.2}, peak {peak:.0} MB")?;
        }
        writeln!(f)?;
        writeln!(f, "converged apply       kokctl     floor   ratio   CPU/host   (floor)      peak   (floor)   logins  commands")?;
        for row in &self.converged {
            writeln!(
                f,
                "{:>8} hosts   {:>8.0} ms {:>6.0} ms {:>7.2} {:>7.2} ms {:>6.2} ms {:>6.1} MB {:>6.1} MB {:>8} {:>9}",
                row.hosts,
                row.milliseconds,
                row.floor_milliseconds,
                row.ratio,
                row.processor_milliseconds_per_host,
                row.floor_processor_milliseconds_per_host,
                row.peak_megabytes,
                row.floor_peak_megabytes,
                row.logins_per_host,
                row.commands_per_host
            )?;
        }
        let far = &self.distant;
        writeln!(
            f,
            "at {:.0} ms, 1 host  {:>7.0} ms {:>6.0} ms   round trips: kokctl {:.1}, floor {:.1}",
            far.lag_milliseconds, far.milliseconds, far.floor_milliseconds, far.round_trips, far.floor_round_trips
        )?;
        writeln!(f, "\nfirst run, {} hosts: {:.1} s", self.first.hosts, self.first.milliseconds / 1e3)?;
        for share in &self.first.shares {
            writeln!(f, "{:>9.2} s  {}", share.milliseconds / 1e3, share.what)?;
        }
        self.missed().iter().try_for_each(|missed| writeln!(f, "MISSED: {missed}"))
    }
}
