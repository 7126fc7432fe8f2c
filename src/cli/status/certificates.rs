//! What is said of certificates that end.

use kok_crds::{count, counted};

use crate::clock::{DAY, day};
use crate::engine::{Certificate, Renewal};
use crate::failure::{Failure, Kind};

fn day_of(certificate: &Certificate) -> String {
    certificate.end.map(day).unwrap_or_default()
}

fn first<'a>(certificates: impl Iterator<Item = &'a Certificate>) -> Option<&'a Certificate> {
    certificates.filter(|certificate| certificate.end.is_some()).min_by_key(|certificate| certificate.end)
}

/// The first end of all, in one line.
pub(super) fn line(certificates: &[Certificate]) -> Option<String> {
    let first = first(certificates.iter())?;
    let (day, end) = (day_of(first), first.end?);
    let others = certificates.iter().filter(|certificate| certificate.end.is_some() && day_of(certificate) == day).count() - 1;
    let others = if others == 0 { String::new() } else { format!(", and {} that day", counted(others, "other", "others")) };
    let away = match (end - first.now) / DAY {
        _ if first.has_ended() => return Some(format!("certificates: the first ended on {day}: {} of {}{others}", first.name, first.host)),
        0 => "within a day".to_owned(),
        days => format!("in {}", count(usize::try_from(days).unwrap_or_default(), "day")),
    };
    Some(format!("certificates: the first end on {day} ({away}): {} of {}{others}", first.name, first.host))
}

/// The day of the first end on one host.
pub(super) fn first_of(certificates: &[Certificate], host: &str) -> Option<String> {
    first(certificates.iter().filter(|certificate| certificate.host == host)).map(day_of)
}

/// A warning for each host and each way to be late.
pub(super) fn warnings(certificates: &[Certificate]) -> Vec<Failure> {
    let of_host = |host: &[Certificate]| {
        let some = |which: fn(&Certificate) -> bool| host.iter().filter(|it| which(it)).collect::<Vec<_>>();
        let ended = some(Certificate::has_ended);
        let soon = some(|it| it.ends_soon() && !it.has_ended());
        let unreadable = some(|it| it.problem.is_some());
        [
            warning(&ended, counted(ended.len(), "certificate has ended", "certificates have ended")),
            warning(&soon, format!("{} within 30 days", counted(soon.len(), "certificate ends", "certificates end"))),
            warning(&unreadable, counted(unreadable.len(), "certificate can't be read", "certificates can't be read")),
        ]
    };
    certificates.chunk_by(|one, other| one.host == other.host).flat_map(of_host).flatten().collect()
}

fn warning(which: &[&Certificate], what: String) -> Option<Failure> {
    let host = &which.first()?.host;
    let text = |it: &&Certificate| match &it.problem {
        Some(problem) => format!("{}: {problem}", it.path),
        None => format!("{} until {}", it.name, day_of(it)),
    };
    let failure = Failure::new(Kind::Host, what).of_host(host).at(format!("host {host}: /etc/kubernetes/pki"));
    Some(failure.because(which.iter().map(text).collect::<Vec<_>>().join(", ")).hint(hint(which)))
}

/// What is done about them. On one host some may be ours, some somebody else's, and some no renewal's at all.
fn hint(which: &[&Certificate]) -> String {
    let authority = which.iter().any(|it| it.authority).then(|| {
        "an authority is replaced by hand, before its end: Kubernetes' documentation has it as \"Manual Rotation of CA Certificates\""
            .to_owned()
    });
    let leaves = |renewal| which.iter().find(|it| !it.authority && it.renewal == renewal);
    let ours = leaves(Renewal::Kokctl).map(|_| "`kokctl certs renew FILE` makes them anew, and has what runs read them".to_owned());
    let issued = leaves(Renewal::Issued)
        .map(|_| "have others issued, put them into the folder `certificates.issued` with their keys, and `kokctl apply`".to_owned());
    [authority, issued, ours].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
