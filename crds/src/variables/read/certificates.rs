//! Variables of certificates.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::values::scalar;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::Given;
use crate::model::{EscrowFile, IssuedFolder, KeyAlgorithm, Settings};
use crate::syntax::duration::duration;
use crate::words::quote;

const HOUR: u64 = 3600;
/// A shorter one would end before somebody has looked at the cluster twice.
const LEAST: u64 = 24 * HOUR;
/// A hundred years. Dates of certificates have four digits for the year.
const MOST: u64 = 876_000 * HOUR;

pub(crate) fn key_algorithm(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let words = KeyAlgorithm::ALL.map(|algorithm| (algorithm.as_str(), algorithm));
    let certificates = &mut settings.certificates;
    certificates.key_algorithm = decoder.choice(field, &words).unwrap_or(certificates.key_algorithm);
}

pub(crate) fn validity(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if let Some(period) = period(decoder, field, LEAST..=MOST) {
        settings.certificates.validity = period;
    }
}

pub(crate) fn authority_validity(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if let Some(period) = period(decoder, field, LEAST..=MOST) {
        settings.certificates.authority_validity = period;
    }
}

pub(crate) fn renew_before(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if let Some(period) = period(decoder, field, 1..=MOST) {
        settings.certificates.renew_before = Some(period);
    }
}

pub(crate) fn super_admin_kubeconfig(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if let Some(stays) = decoder.boolean(field) {
        settings.certificates.super_admin_kubeconfig = stays;
    }
}

pub(crate) fn escrow(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    let because = if text.trim().is_empty() {
        "it is empty"
    } else if text.contains(char::is_control) || text.ends_with('/') {
        "a path of a file is one line, and its last part is a name"
    } else {
        settings.certificates.escrow =
            Some(EscrowFile { path: text.to_owned(), origin: field.position().clone(), kept: None, is_lent: false });
        return;
    };
    let problem = Problem::new(format!("`{}` is no path of a file", field.name())).at(field.position()).because(because);
    decoder.report(
        problem.hint("write a path as seen from the folder of this file, such as `berlin.escrow`; or leave it out: nothing is kept then"),
    );
}

pub(crate) fn issued(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    if !text.trim().is_empty() && !text.contains(char::is_control) {
        settings.certificates.issued = Some(IssuedFolder { path: text.to_owned(), origin: field.position().clone(), files: None });
        return;
    }
    let problem = Problem::new(format!("`{}` is no path of a folder", field.name())).at(field.position());
    decoder.report(
        problem.because("a path is one line, and not empty").hint("write a path as seen from the folder of this file, such as `issued`"),
    );
}

/// How long a certificate is valid.
fn period(decoder: &mut Decoder, field: &Field<'_>, range: RangeInclusive<u64>) -> Option<Duration> {
    let text = scalar(decoder, field)?;
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    let problem = match seconds(&text) {
        Some(seconds) if range.contains(&seconds) => return Some(Duration::from_secs(seconds)),
        Some(0) if *range.start() == 1 => problem.because("what is renewed at its end has ended"),
        Some(seconds) if seconds < LEAST => problem.because("a certificate is valid for 24 hours at least"),
        Some(_) => problem.because("a certificate is valid for 100 years (`876000h`) at most"),
        None => problem.because("it is a time like `8760h`, of hours, minutes and seconds (`h`, `m`, `s`)"),
    };
    let least = if *range.start() == 1 { "1s" } else { "24h" };
    decoder.report(problem.hint(format!("write a time from `{least}` to `876000h`, or leave it out")));
    None
}

/// Whole seconds of a time as Go writes it.
fn seconds(text: &str) -> Option<u64> {
    duration(text).filter(|time| time.subsec_nanos() == 0).map(|time| time.as_secs())
}

/// One that is renewed earlier than it is made to last would be renewed by every run.
fn check_renewal(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let certificates = &settings.certificates;
    let Some(before) = certificates.renew_before.filter(|before| *before >= certificates.validity) else { return };
    let of_variable = given.iter().find(|given| given.name == "certificates_renew_before").map(|given| given.position.clone());
    let place = of_variable.or_else(|| decoder.position("spec.certificates.renewBefore").cloned());
    let (before, validity) = (before.as_secs().div_ceil(HOUR), certificates.validity.as_secs() / HOUR);
    let problem = Problem::new("certificates would be made anew by every run")
        .because(format!("they are to be made anew {before} hours before their end, and are valid for {validity} hours"))
        .hint("lower `certificates_renew_before`, or leave it out: then they are renewed when a third of their time is left");
    decoder.report(match place {
        Some(place) => problem.at(&place),
        None => problem,
    });
}

/// A certificate that is valid while its authority isn't only looks valid.
pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    check_renewal(decoder, given, settings);
    let certificates = &settings.certificates;
    if certificates.validity <= certificates.authority_validity {
        return;
    }
    let hours = |period: Duration| period.as_secs() / HOUR;
    let (leaf, authority) = (hours(certificates.validity), hours(certificates.authority_validity));
    let names = ["kube_cert_validity_period", "kube_ca_cert_validity_period"];
    let paths = ["spec.certificates.validity", "spec.certificates.authorityValidity"];
    let of_variable = names.iter().find_map(|name| given.iter().find(|given| given.name == *name)).map(|given| given.position.clone());
    let place = of_variable.or_else(|| paths.iter().find_map(|path| decoder.position(path)).cloned());
    let problem = Problem::new("certificates would be valid longer than the authorities that sign them")
        .because(format!("they would have {leaf} hours, and authorities {authority}"))
        .hint("lower `kube_cert_validity_period`, or raise `kube_ca_cert_validity_period`");
    decoder.report(match place {
        Some(place) => problem.at(&place),
        None => problem,
    });
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn periods_are_whole_seconds() {
        assert_eq!(seconds("8760h"), Some(8760 * 3600));
        assert_eq!(seconds("1h30m10s"), Some(5410));
        assert_eq!(seconds("8760h0m0s"), Some(8760 * 3600));
        assert_eq!(seconds("0"), Some(0));
        assert_eq!(seconds("1.5h"), Some(5400));
        for bad in ["", "-1h", "100ms", "365d", "8760", "99999999999999999999h", "9999999999999999h"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
