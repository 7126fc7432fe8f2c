//! Variables that say how much may be away at a time, and how pods leave nodes.

use std::time::Duration;

use super::values::{TIME, integer, scalar};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{Serial, Settings};
use crate::syntax::duration::duration;
use crate::words::quote;

pub(crate) fn serial(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = scalar(decoder, field) else { return };
    match text.parse::<Serial>() {
        Ok(serial) => settings.serial = serial,
        Err(rule) => decoder.report(wrong(field, &text).because(rule).hint("write one of the two, or leave it out")),
    }
}

pub(crate) fn drain_grace_period(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let seconds = integer(decoder, field, 0..=i64::from(u32::MAX)).and_then(|seconds| u32::try_from(seconds).ok());
    settings.drains.grace_seconds = seconds.or(settings.drains.grace_seconds);
}

/// A time, which is some: a drain that may take none is given up before it begins.
pub(crate) fn drain_timeout(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = scalar(decoder, field) else { return };
    match duration(&text).filter(|time| *time >= Duration::from_secs(1)) {
        Some(time) => settings.drains.timeout = Some(time),
        None => decoder.report(wrong(field, &text).because(TIME).hint("write a second or more, or leave it out")),
    }
}

pub(crate) fn drain_fallback_enabled(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.drains.force_budget = decoder.boolean(field).unwrap_or(settings.drains.force_budget);
}

/// Kubespray's `cluster.yml -e upgrade_cluster_setup=true`.
pub(crate) fn upgrade_cluster_setup(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.drains.off |= decoder.boolean(field) == Some(true);
}

pub(crate) fn drain_nodes(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.drains.off |= decoder.boolean(field) == Some(false);
}

fn wrong(field: &Field<'_>, text: &str) -> Problem {
    Problem::new(format!("`{}` cannot be {}", field.name(), quote(text))).at(field.position())
}
