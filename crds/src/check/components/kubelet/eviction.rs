//! Thresholds at which a kubelet evicts pods.

use super::super::{Judge, values};
use super::{Kubelet, Name, is_threshold, nearest_or, texts};
use crate::Problem;
use crate::syntax::duration::duration;
use crate::syntax::eviction::SIGNALS;
use crate::words::quote;

const SOFT: Name = ("evictionSoft", "");
const GRACE: Name = ("evictionSoftGracePeriod", "");
const RECLAIM: Name = ("evictionMinimumReclaim", "");

/// What a value of a signal has to be.
#[derive(Clone, Copy)]
struct Rule {
    is_right: fn(&str) -> bool,
    words: &'static str,
}

pub(super) fn check(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let fields = &kubelet.settings.fields;
    let (soft, grace) = (texts(fields, SOFT.0), texts(fields, GRACE.0));
    // The kubelet takes no notice of these two, nor asks for a time.
    let counts = |share: &str| !matches!(share, "0%" | "100%");
    let without = soft.iter().filter(|(signal, value)| counts(value) && !grace.iter().any(|(other, _)| signal == other));
    for (signal, _) in without {
        let problem = Problem::new(format!("the soft threshold of {} has no grace period", quote(signal)));
        let problem = problem.because("the kubelet does not start with such a threshold and without the time that pods have then");
        kubelet.blame(judge, &[SOFT], problem.hint(format!("write `eviction_soft_grace_period: {{{signal}: 1m30s}}` too")));
    }
    let thresholds = Rule { is_right: is_threshold, words: "it is an amount like `1Gi`, or a share like `10%`" };
    let times = Rule { is_right: |text| duration(text).is_some(), words: "it is a time like `1m30s`" };
    // Nothing at the least is no threshold, and a usual value.
    let amounts = Rule {
        is_right: |text| (is_threshold(text) && text != "0%") || values::amount(text) == Some(0.0),
        words: "it is an amount like `1Gi`, or a share like `10%` that is not nothing",
    };
    let reclaim = texts(fields, RECLAIM.0);
    for (name, entries, Rule { is_right, words: rule }) in [(SOFT, &soft, thresholds), (GRACE, &grace, times), (RECLAIM, &reclaim, amounts)]
    {
        for (signal, value) in entries {
            if !SIGNALS.contains(signal) {
                let problem = Problem::new(format!("{} is no eviction signal of the kubelet", quote(signal)));
                let problem = problem.because(format!("it knows {}, and does not start with others", SIGNALS.join(", ")));
                kubelet.blame(judge, &[name], nearest_or(problem, signal, &SIGNALS, "write one of them"));
            } else if !is_right(value) {
                let problem = Problem::new(format!("{} of `{}` cannot be {}", quote(signal), name.0, quote(value)));
                kubelet.blame(
                    judge,
                    &[name],
                    problem.because(format!("{rule}, and the kubelet does not start otherwise")).hint("write such a value"),
                );
            }
        }
    }
}
