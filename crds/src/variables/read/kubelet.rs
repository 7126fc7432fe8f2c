//! Variables of the kubelet.

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::Settings;
use crate::words::{quote, with_nearest};

/// Signals of the kubelet's `evictionHard` (KubeletConfiguration v1beta1).
const EVICTION_SIGNALS: [&str; 8] = [
    "containerfs.available",
    "containerfs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "pid.available",
];

pub(crate) fn eviction_hard(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    for entry in decoder.entries(field, "`eviction_hard`").unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if !EVICTION_SIGNALS.contains(&entry.key.as_str()) {
            let problem = Problem::new(format!("{} is no eviction signal of the kubelet", quote(&entry.key))).at(&entry.key_position);
            decoder.report(with_nearest(
                problem.because(format!("it knows {}", EVICTION_SIGNALS.join(", "))),
                &entry.key,
                &EVICTION_SIGNALS,
            ));
            continue;
        }
        let Some(text) = decoder.text(&item) else { continue };
        if is_threshold(text) {
            settings.eviction_hard.insert(entry.key.clone(), text.to_owned());
        } else {
            let problem = Problem::new(format!("{} is no threshold", quote(text))).at(&entry.node.position);
            decoder.report(problem.because("it is an amount like `500Mi`, or a share like `10%`"));
        }
    }
}

/// A whole number with `%` (below 100), with a binary or decimal suffix of Kubernetes' quantities, or with none.
fn is_threshold(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let Ok(number) = number.parse::<u64>() else { return false };
    match suffix {
        "%" => number < 100,
        _ => ["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&suffix),
    }
}
