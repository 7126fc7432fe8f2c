//! What is said of certificates.

use kok_crds::counted;

use crate::clock::day;
use crate::engine::{EndUrgency, HeldCertificate, InUse};
use crate::failure::{Failure, Kind, printable};

const HEAD: [&str; 6] = ["HOST", "CERTIFICATE", "ENDS", "LEFT", "SIGNED BY", "RUNNING PROCESS HAS IT"];

/// A table, with a row for each certificate.
pub(super) fn lines(certificates: &[HeldCertificate]) -> Vec<String> {
    let rows: Vec<[String; 6]> = [HEAD.map(str::to_owned)].into_iter().chain(certificates.iter().map(row)).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let padded = |row: &[String; 6]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        // What hosts say may hold terminal escapes.
        printable(cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(padded).collect()
}

fn row(certificate: &HeldCertificate) -> [String; 6] {
    let running = match (certificate.running.has, &certificate.running.because) {
        (InUse::None, _) => "-".to_owned(),
        (InUse::Yes, Some(how)) => format!("yes ({how})"),
        (has, Some(why)) => format!("{}: {why}", has.as_str()),
        (has, None) => has.as_str().to_owned(),
    };
    [
        certificate.host.clone(),
        certificate.name.to_owned(),
        certificate.end.map_or_else(|| "unreadable".to_owned(), day),
        certificate.days_left.map_or_else(|| "-".to_owned(), |days| format!("{days}d")),
        certificate.signed_by.clone(),
        running,
    ]
}

/// What is to be planned for.
pub(super) fn warnings(certificates: &[HeldCertificate]) -> Vec<Failure> {
    warning_about(certificates, EndUrgency::Warning, |count| counted(count, "certificate ends soon", "certificates end soon"))
        .into_iter()
        .collect()
}

/// What has to be done now.
pub(super) fn alarms(certificates: &[HeldCertificate]) -> Vec<Failure> {
    let ended = warning_about(certificates, EndUrgency::Ended, |count| counted(count, "certificate has ended", "certificates have ended"));
    let alarm = |count| counted(count, "certificate is about to end", "certificates are about to end");
    ended.into_iter().chain(warning_about(certificates, EndUrgency::Alarm, alarm)).chain(behind(certificates)).collect()
}

fn warning_about(certificates: &[HeldCertificate], urgency: EndUrgency, what: impl Fn(usize) -> String) -> Option<Failure> {
    let which: Vec<&HeldCertificate> = certificates.iter().filter(|certificate| certificate.urgency == urgency).collect();
    let until = |it: &&HeldCertificate| match (&it.problem, it.end) {
        (Some(problem), _) => format!("{} of {} can't be read: {problem}", it.name, it.host),
        (None, end) => format!("{} of {} until {}", it.name, it.host, end.map(day).unwrap_or_default()),
    };
    let because = which.iter().map(until).collect::<Vec<_>>().join(", ");
    (!which.is_empty()).then(|| Failure::new(Kind::Host, what(which.len())).because(because).hint(hint(&which)))
}

fn hint(which: &[&HeldCertificate]) -> String {
    let authority = which.iter().any(|it| it.authority).then_some(
        "an authority is replaced by hand, before its end: Kubernetes' documentation has it as \"Manual Rotation of CA Certificates\"",
    );
    // What has ended lets nobody in any more, kubelets among them, whose own no renewal touches.
    let is_for_apply = |it: &&&HeldCertificate| it.urgency == EndUrgency::Ended || it.name == "kubelet.conf";
    let leaf = which.iter().filter(|it| !it.authority);
    let leaves = leaf.clone().next().map(|_| match leaf.clone().find(is_for_apply) {
        Some(_) => "`kokctl apply FILE` makes them anew, what kubelets have of their own too",
        None => "`kokctl certs renew FILE` makes them anew",
    });
    leaves.into_iter().chain(authority).collect::<Vec<_>>().join("; ")
}

/// A new file that nobody has read.
fn behind(certificates: &[HeldCertificate]) -> Option<Failure> {
    let which: Vec<&HeldCertificate> = certificates.iter().filter(|it| it.running.has == InUse::No).collect();
    let why = |it: &&HeldCertificate| format!("{} of {}: {}", it.name, it.host, it.running.because.clone().unwrap_or_default());
    let because = which.iter().map(why).collect::<Vec<_>>().join("; ");
    let what = counted(which.len(), "certificate is not what runs", "certificates are not what runs");
    (!which.is_empty())
        .then(|| Failure::new(Kind::Host, what).because(because).hint("`kokctl certs renew FILE` starts anew what has not read its file"))
}

#[cfg(test)]
mod tests;
