use kok_tasks::validity::Validity;

use super::*;

/// 2026-11-22T00:00:00Z
const NOW: i64 = 1_795_305_600;

fn until(host: &str, name: &'static str, end: i64) -> Certificate {
    Certificate::from_validity(host, Validity { name, path: format!("/{name}"), is_authority: name == "ca", end: Ok(end) }, NOW)
}

fn line_and_warnings(certificates: &[Certificate]) -> (String, Vec<String>) {
    (line(certificates).unwrap_or_default(), warnings(certificates).iter().map(Failure::as_warning).collect())
}

#[test]
fn the_first_end_is_said_with_its_certificate() {
    let year = NOW + 364 * DAY + 7;
    let found = [until("cp1", "apiserver", year), until("cp1", "ca", NOW + 3650 * DAY), until("cp2", "apiserver", year + 3 * DAY)];
    assert_eq!(
        line_and_warnings(&found),
        ("certificates: the first end on 2027-11-21 (in 364 days): apiserver of cp1".to_owned(), Vec::new())
    );
    assert_eq!(first_of(&found, "cp2").as_deref(), Some("2027-11-24"));
    let found = [until("cp1", "apiserver", year), until("cp1", "etcd/peer", year + 9), until("cp2", "apiserver", year)];
    assert_eq!(
        line_and_warnings(&found).0,
        "certificates: the first end on 2027-11-21 (in 364 days): apiserver of cp1, and 2 others that day"
    );
    assert_eq!((line(&[]), first_of(&found, "cp3")), (None, None));
}

#[test]
fn what_ends_soon_or_has_ended_is_warned_of() {
    for (left, expected, line) in [
        (30 * DAY, "", "(in 30 days)"),
        (30 * DAY - 1, "warning: 1 certificate ends within 30 days", "(in 29 days)"),
        (DAY, "warning: 1 certificate ends within 30 days", "(in 1 day)"),
        (0, "warning: 1 certificate ends within 30 days", "(within a day)"),
        (-1, "warning: 1 certificate has ended", "the first ended on 2026-11-21: apiserver of cp1"),
    ] {
        let (first, warnings) = line_and_warnings(&[until("cp1", "apiserver", NOW + left), until("cp1", "ca", NOW + 3650 * DAY)]);
        assert!(first.contains(line), "{left}: {first}");
        assert_eq!(warnings.iter().filter_map(|text| text.lines().next()).collect::<String>(), expected, "{left}");
    }
    let (_, warnings) =
        line_and_warnings(&[until("cp1", "apiserver", NOW - DAY), until("cp1", "etcd/peer", NOW - DAY), until("cp2", "ca", NOW + DAY)]);
    let expected = "warning: 2 certificates have ended\n     at: host cp1: /etc/kubernetes/pki\n\
                    because: apiserver until 2026-11-21, etcd/peer until 2026-11-21\n   hint: `kokctl certs renew FILE` makes them anew";
    assert!(warnings.first().is_some_and(|text| text.starts_with(expected)), "{warnings:?}");
    assert!(warnings.get(1).is_some_and(|text| text.contains("an authority is replaced by hand")), "{warnings:?}");
}

#[test]
fn one_that_cannot_be_read_is_said() {
    let broken = Validity { name: "apiserver", path: "/a.crt".into(), is_authority: false, end: Err("it is cut off".into()) };
    let found = [Certificate::from_validity("cp1", broken, NOW), until("cp1", "ca", NOW + 3650 * DAY)];
    let (first, warnings) = line_and_warnings(&found);
    assert!(first.contains("ca of cp1"), "{first}");
    assert!(
        warnings.iter().any(|text| text.contains("1 certificate can't be read") && text.contains("/a.crt: it is cut off")),
        "{warnings:?}"
    );
    let json = serde_json::to_value(&found).unwrap_or_default();
    let field = |index: usize, name: &str| json.get(index).and_then(|one| one.get(name)).cloned().unwrap_or_default();
    assert_eq!((field(0, "problem"), field(0, "daysLeft")), ("it is cut off".into(), serde_json::Value::Null));
    assert_eq!((field(1, "daysLeft"), field(1, "notAfter")), (3650.into(), "2036-11-19T00:00:00Z".into()));
}

/// One word renews all of ours, those of etcd among them.
#[test]
fn what_is_done_is_said_for_each_sort() {
    let authority = Certificate { authority: true, ..until("cp1", "etcd/ca", NOW + DAY) };
    let found = [until("cp1", "apiserver", NOW + DAY), until("cp1", "apiserver-etcd-client", NOW + DAY), authority];
    let hint = warnings(&found).remove(0).hint.unwrap_or_default();
    assert_eq!(
        hint,
        "an authority is replaced by hand, before its end: Kubernetes' documentation has it as \"Manual Rotation of CA Certificates\"; \
         `kokctl certs renew FILE` makes them anew, and has what runs read them"
    );
}

/// kokctl has no key of their authority.
#[test]
fn what_was_issued_elsewhere_is_issued_there_again() {
    let issued = Certificate { renewal: Renewal::Issued, ..until("cp1", "apiserver", NOW + DAY) };
    let hint = warnings(&[issued]).remove(0).hint.unwrap_or_default();
    assert!(hint.contains("certificates.issued") && !hint.contains("certs renew"), "{hint}");
}
