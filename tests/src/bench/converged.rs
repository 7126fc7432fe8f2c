//! `apply` where nothing is left to do.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use super::measure::Cost;
use super::report::{Converged, Distant};
use super::sshd::LogPlace;
use super::{Bench, median};

/// Alternately kokctl and the floor, so that what else happens on the machine hits both.
pub(super) fn run(bench: &Bench<'_>, count: usize, script: &Path) -> Result<Converged, Box<dyn Error>> {
    let place = LogPlace::mark(bench.first_hosts(count))?;
    nothing_to_do(bench, count)?;
    let counted = place.count()?;
    let (ours, floors) = alternate(bench, count, script)?;
    let per_host = |cost: &Cost| cost.processor_milliseconds / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let (milliseconds, floor) = (middle(&ours, |cost| cost.milliseconds), middle(&floors, |cost| cost.milliseconds));
    Ok(Converged {
        hosts: count,
        milliseconds,
        floor_milliseconds: floor,
        ratio: milliseconds / floor,
        processor_milliseconds_per_host: middle(&ours, per_host),
        floor_processor_milliseconds_per_host: middle(&floors, per_host),
        peak_megabytes: megabytes(&ours),
        floor_peak_megabytes: megabytes(&floors),
        logins_per_host: counted.logins,
        commands_per_host: counted.commands,
    })
}

/// One host far away: how many round trips both take, by the time that they take longer.
pub(super) fn distant(bench: &Bench<'_>, script: &Path) -> Result<Distant, Box<dyn Error>> {
    let host = bench.first_hosts(1).next().ok_or("no host")?;
    let near = alternate(bench, 1, script)?;
    host.lag(bench.options.lag)?;
    let far = alternate(bench, 1, script)?;
    host.lag(Duration::ZERO)?;
    let milliseconds = |costs: &[Cost]| middle(costs, |cost| cost.milliseconds);
    let lag = bench.options.lag.as_secs_f64() * 1e3;
    Ok(Distant {
        lag_milliseconds: lag,
        milliseconds: milliseconds(&far.0),
        floor_milliseconds: milliseconds(&far.1),
        round_trips: (milliseconds(&far.0) - milliseconds(&near.0)) / lag,
        floor_round_trips: (milliseconds(&far.1) - milliseconds(&near.1)) / lag,
    })
}

fn alternate(bench: &Bench<'_>, count: usize, script: &Path) -> Result<(Vec<Cost>, Vec<Cost>), Box<dyn Error>> {
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..bench.options.runs {
        ours.push(nothing_to_do(bench, count)?);
        floors.push(bench.floor(count, script)?);
    }
    Ok((ours, floors))
}

fn nothing_to_do(bench: &Bench<'_>, count: usize) -> Result<Cost, Box<dyn Error>> {
    let cost = bench.apply(count, false)?;
    let said = bench.output()?;
    if said.starts_with("nothing to do") { Ok(cost) } else { Err(format!("a converged apply said {said:?}").into()) }
}

fn middle(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> f64 {
    median(costs.iter().map(of).collect())
}

/// The largest of all runs: a limit on memory has to hold always.
fn megabytes(costs: &[Cost]) -> f64 {
    let most = costs.iter().map(|cost| cost.peak_kilobytes).max().unwrap_or_default();
    f64::from(u32::try_from(most).unwrap_or(u32::MAX)) / 1024.0
}
