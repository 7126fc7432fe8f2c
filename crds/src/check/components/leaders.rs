//! The times of leaders: a leader that is not heard in time is one no more (`Validate` of Kubernetes' `component-base/config/validation`).

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Judge, WrittenSetting};
use crate::Problem;
use crate::check::known::Program;
use crate::model::{Settings, Values};
use crate::syntax::duration::duration;

/// Lease, deadline and period as options say them, as fields of the scheduler, and what they are without a word.
const TIMES: [(&str, &str, u64); 3] = [
    ("leader-elect-lease-duration", "leaderElection.leaseDuration", 15),
    ("leader-elect-renew-deadline", "leaderElection.renewDeadline", 10),
    ("leader-elect-retry-period", "leaderElection.retryPeriod", 2),
];

/// How much longer than its period a leader may wait (`JitterFactor` of `client-go/tools/leaderelection`).
const JITTER: f64 = 1.2;

pub(super) fn leaders(judge: &mut Judge<'_>, settings: &Settings) {
    let components = &settings.components;
    let none = Values::new();
    let all = [
        (Program::ControllerManager, &components.controller_manager.options, &none),
        (Program::Scheduler, &components.scheduler.options, &components.scheduler_configuration),
    ];
    for (program, options, fields) in all {
        // An option counts more than the file.
        let setting = |(option, field, _): (&'static str, &'static str, u64)| {
            options.get(option).map(|value| (option, value)).or_else(|| Some((field, fields.get(field)?)))
        };
        let time = |name: (&'static str, &'static str, u64)| {
            let setting = setting(name).map(|(_, value)| value.as_str().and_then(duration));
            setting.unwrap_or(Some(Duration::from_secs(name.2)))
        };
        let [lease, deadline, period] = TIMES;
        // What is no time is told as such.
        let (Some(leases), Some(deadlines), Some(periods)) = (time(lease), time(deadline), time(period)) else { continue };
        let wrong = [
            (leases <= deadlines, [deadline, lease], "its lease has to be longer than the time for renewing it"),
            (deadlines <= periods.mul_f64(JITTER), [period, deadline], "the time for renewing it has to be 1.2 of its period at least"),
        ];
        for (_, names, because) in wrong.into_iter().filter(|(is_wrong, ..)| *is_wrong) {
            let nothing: Json = json!(null);
            let (name, value) = names.into_iter().find_map(setting).unwrap_or(("", &nothing));
            let times = format!("{}, {} and {}", seconds(leases), seconds(deadlines), seconds(periods));
            let problem = Problem::new(format!("{} cannot have the times {times} for its leader", program.words()));
            let problem = problem.because(format!("{because}, and it does not start otherwise"));
            let hint = "write lease, deadline and period like 15s, 10s and 2s, which it has without a word";
            judge.report(WrittenSetting::new(program, name, value), problem.hint(hint));
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}
