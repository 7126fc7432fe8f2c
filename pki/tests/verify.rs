//! What `verify_leaf` finds, one defect at a time, and that reading never fails otherwise than with an error.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use kok_pki::{
    Authority, AuthorityKind, ControlPlane, Defect, KubeconfigUser, Leaf, PkiError, Policy, PrivateKey, San, SecretText, TrustAnchor,
    TrustBundle, inspect_certificate, issue, matches_key, signed_by, trust_one, verify_kubeconfig, verify_leaf,
};
use proptest::prelude::*;
use support::{Repeating, content, host, make, now};
use time::Duration;

#[test]
fn programs_trust_one_authority_that_has_not_ended() {
    let (authorities, files) = make(1, &Policy::default());
    let (others, _) = make(2, &Policy::default());
    let own = authorities.get(AuthorityKind::Kubernetes);
    let (pem, facts) = (own.certificate_pem(), own.facts());
    let said = |text: &str, at| TrustAnchor::from_pem(text, at).map(|anchor| anchor.pem()).map_err(|error| error.to_string());
    // What stands around it, and how its lines are broken, is none of its own.
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let broken =
        format!("Issuer: CN=x\n-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\nbehind\n", body.replace("MII", "MI\nI"));
    let as_stored = said(&broken, now()).unwrap();
    assert_eq!(as_stored.trim(), pem.trim().replace("\r\n", "\n"));
    assert!(as_stored.lines().all(|line| line.len() <= 64));
    assert_eq!(said(pem, facts.not_before - Duration::days(9)), Ok(as_stored), "it is put in place before it is needed");
    let key = own.key_pem().unwrap().expose();
    for (text, at, why) in [
        ("", now(), "no complete PEM block"),
        (key, now(), "a private key"),
        (&format!("{pem}{key}"), now(), "a private key"),
        (&format!("{pem}{}", others.get(AuthorityKind::Etcd).certificate_pem()), now(), "there are 2 of them"),
        (content(&files, "pki/apiserver.crt"), now(), "CA:TRUE"),
        (pem, facts.not_after + Duration::seconds(1), "it has expired"),
        (&pem.replace("MII", "MIA"), now(), "cannot read the certificate"),
    ] {
        let said = said(text, at).unwrap_err();
        assert!(said.contains(why) && !said.contains(key.lines().nth(1).unwrap()), "{why}: {said}");
    }
}

fn defects(ca: &str, leaf: &str, kind: Leaf, host: &ControlPlane, at: time::OffsetDateTime) -> Vec<Defect> {
    verify_leaf(ca, leaf, &kind.profile(host), at).err().unwrap_or_default()
}

#[test]
fn each_defect_is_found() {
    let (authorities, files) = make(1, &Policy::default());
    let (others, _) = make(2, &Policy::default());
    let ca = authorities.get(AuthorityKind::Kubernetes).certificate_pem();
    let leaf = content(&files, "pki/apiserver.crt");
    let facts = inspect_certificate(leaf).unwrap();
    let check = |kind, host: &ControlPlane, at| defects(ca, leaf, kind, host, at);

    assert_eq!(check(Leaf::ApiServer, &host(), now()), []);
    // The same name, another key: only the signature tells them apart.
    let impostor = others.get(AuthorityKind::Kubernetes).certificate_pem();
    assert!(!signed_by(impostor, leaf).unwrap());
    assert_eq!(defects(impostor, leaf, Leaf::ApiServer, &host(), now()), [Defect::WrongAuthority { issuer: facts.issuer.clone() }]);
    // A leaf is no authority, even for what it is itself.
    assert!(!signed_by(leaf, leaf).unwrap());
    let second = Duration::seconds(1);
    assert_eq!(check(Leaf::ApiServer, &host(), facts.not_before - second), [Defect::NotYetValid(facts.not_before)]);
    assert_eq!(check(Leaf::ApiServer, &host(), facts.not_before), []);
    assert_eq!(check(Leaf::ApiServer, &host(), facts.not_after), []);
    assert_eq!(check(Leaf::ApiServer, &host(), facts.not_after + second), [Defect::Expired(facts.not_after)]);
    let moved = ControlPlane { advertise_address: "10.0.0.99".parse().unwrap(), ..host() };
    assert_eq!(check(Leaf::ApiServer, &moved, now()), [Defect::MissingName(San::parse("10.0.0.99"))]);
    let fewer = ControlPlane { extra_sans: Vec::new(), ..host() };
    assert_eq!(check(Leaf::ApiServer, &fewer, now()), [], "further names are no defect");
    let wrong_use = check(Leaf::ApiServerKubeletClient, &host(), now());
    assert!(matches!(wrong_use.as_slice(), [Defect::Subject { .. }, Defect::NoClientAuth]));
    let on_itself = defects(ca, ca, Leaf::ApiServer, &host(), now());
    assert!(on_itself.contains(&Defect::IsAuthority));
    assert!(matches!(defects(ca, "", Leaf::ApiServer, &host(), now()).as_slice(), [Defect::Unreadable(_)]));
}

/// With a clock that is far off, or an authority that has ended, there is nothing to make: a certificate that nobody accepts would replace one
/// that works.
#[test]
fn no_certificate_is_made_that_is_never_valid() {
    let policy = Policy::default();
    let (authorities, _) = make(1, &policy);
    let authority = authorities.get(AuthorityKind::Kubernetes);
    let of = inspect_certificate(authority.certificate_pem()).unwrap();
    let profile = Leaf::ApiServer.profile(&host());
    let at = |now| issue(&profile, authority, &policy, now, &mut Repeating::new(3));
    let second = Duration::seconds(1);
    for now in [of.not_before - Duration::days(400), of.not_before - policy.leaf_validity, of.not_after, of.not_after + second] {
        assert!(matches!(at(now), Err(PkiError::NoValidity { .. })), "{now}");
    }
    for now in [of.not_before - policy.leaf_validity + second, of.not_before, of.not_after - second] {
        let made = inspect_certificate(&at(now).ok().unwrap().certificate_pem).unwrap();
        assert!(made.not_before < made.not_after && now < made.not_after, "{now}");
    }
    let backwards = Policy { authority_validity: Duration::ZERO, ..policy };
    let made = kok_pki::Authorities::generate(&backwards, now(), &mut Repeating::new(3));
    assert!(matches!(made, Err(PkiError::NoValidity { .. })));
}

#[test]
fn one_flipped_bit_breaks_the_signature() {
    let (authorities, files) = make(1, &Policy::default());
    let ca = authorities.get(AuthorityKind::Kubernetes).certificate_pem();
    let leaf = content(&files, "pki/apiserver.crt");
    let mut der = inspect_certificate(leaf).unwrap().der().to_vec();
    let place = der.windows(3).position(|bytes| bytes == b"cp1").unwrap();
    der[place] ^= 1;
    let forged = pem_of(&der);
    assert!(!signed_by(ca, &forged).unwrap());
}

fn pem_of(der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

#[test]
fn names_that_cannot_stand_in_a_certificate_are_refused() {
    let (authorities, _) = make(1, &Policy::default());
    let try_name = |change: fn(&mut ControlPlane)| {
        let mut host = host();
        change(&mut host);
        let profile = Leaf::EtcdServer.profile(&host);
        let authority = authorities.get(AuthorityKind::Etcd);
        let result = issue(&profile, authority, &Policy::default(), now(), &mut Repeating::new(1));
        result.map(|_| ()).map_err(|error| error.to_string())
    };
    let refusals = [
        (try_name(|host| host.node_name = String::new()), "the common name `` cannot stand in a certificate: it is empty"),
        (
            try_name(|host| host.node_name = "a\nb".into()),
            "the common name `a\\nb` cannot stand in a certificate: it has control characters",
        ),
        (try_name(|host| host.node_name = "cp 1".into()), "the name `cp 1` cannot stand in a certificate: it is no DNS name"),
    ];
    for (result, expected) in refusals {
        let message = result.unwrap_err();
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn the_longest_host_name_fits() {
    let (authorities, _) = make(1, &Policy::default());
    let host = ControlPlane { node_name: "x".repeat(63), ..host() };
    let profile = kok_pki::KubeconfigUser::Kubelet.profile(&host);
    let authority = authorities.get(AuthorityKind::Kubernetes);
    let issued = issue(&profile, authority, &Policy::default(), now(), &mut Repeating::new(1)).unwrap();
    assert_eq!(verify_leaf(authority.certificate_pem(), &issued.certificate_pem, &profile, now()), Ok(()));
}

#[test]
fn a_wrong_key_is_told_apart() {
    let (_, files) = make(1, &Policy::default());
    let certificate = content(&files, "pki/apiserver.crt");
    let key = |path| SecretText::new(content(&files, path).to_owned());
    assert!(matches_key(certificate, &key("pki/apiserver.key")).unwrap());
    assert!(!matches_key(certificate, &key("pki/sa.key")).unwrap());
    let broken = PrivateKey::from_pem(SecretText::new("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".into()));
    assert!(matches!(broken.err(), Some(PkiError::PrivateKey)));
}

proptest! {
    #[test]
    fn reading_any_text_ends_with_an_answer(text in "\\PC*") {
        let _ = inspect_certificate(&text);
        let _ = PrivateKey::from_pem(SecretText::new(text));
    }

    #[test]
    fn reading_a_damaged_certificate_ends_with_an_answer(place in 0_usize..2000, value: u8, cut in 0_usize..2000) {
        let (_, files) = make(1, &Policy::default());
        let leaf = content(&files, "pki/apiserver.crt");
        let mut der = inspect_certificate(leaf).unwrap().der().to_vec();
        let place = place % der.len();
        let same = der[place] == value;
        der[place] = value;
        let ca = content(&files, "pki/ca.crt");
        let verdict = verify_leaf(ca, &pem_of(&der), &Leaf::ApiServer.profile(&host()), now());
        prop_assert!(same || verdict.is_err(), "byte {place} can be changed unnoticed");
        let mut text = leaf.as_bytes().to_vec();
        // Without its last newline the file is still whole.
        text.truncate(cut % (text.len() - 1));
        prop_assert!(inspect_certificate(&String::from_utf8(text).unwrap()).is_err());
    }
}
#[test]
fn no_byte_outside_of_the_signed_part_can_be_changed_unnoticed() {
    let (_, files) = make(1, &Policy::default());
    let der = inspect_certificate(content(&files, "pki/apiserver.crt")).unwrap().der().to_vec();
    let (ca, profile) = (content(&files, "pki/ca.crt"), Leaf::ApiServer.profile(&host()));
    // The algorithm and the signature stand in the last 90 bytes, the outer header in the first 4; the rest is signed.
    for place in (0..4).chain(der.len() - 90..der.len()) {
        for value in 0..=u8::MAX {
            let mut damaged = der.clone();
            damaged[place] = value;
            let same = der[place] == value;
            assert!(same || verify_leaf(ca, &pem_of(&damaged), &profile, now()).is_err(), "byte {place} can be {value}");
        }
    }
}

/// While an authority is changed for another, both stand in `ca.crt`, and what either has signed works.
#[test]
fn one_of_several_authorities_is_enough() {
    let [(old, old_files), (new, new_files), (foreign, foreign_files)] = [1, 2, 3].map(|seed| make(seed, &Policy::default()));
    let ca = |of: &kok_pki::Authorities| of.get(AuthorityKind::Kubernetes).certificate_pem().to_owned();
    let both = format!("# the old one\n{}\n# the new one\n{}", ca(&old), ca(&new));
    for files in [&old_files, &new_files] {
        let leaf = content(files, "pki/apiserver.crt");
        assert!(signed_by(&both, leaf).unwrap());
        assert_eq!(defects(&both, leaf, Leaf::ApiServer, &host(), now()), []);
    }
    let leaf = content(&foreign_files, "pki/apiserver.crt");
    assert!(!signed_by(&both, leaf).unwrap());
    assert!(matches!(defects(&both, leaf, Leaf::ApiServer, &host(), now()).as_slice(), [Defect::WrongAuthority { .. }]));

    let bundle = TrustBundle::from_pem(&both).unwrap();
    let facts = |of: &kok_pki::Authorities| inspect_certificate(&ca(of)).unwrap();
    assert_eq!(bundle.certificates(), [facts(&old), facts(&new)]);
    assert!(bundle.has(&facts(&new)) && !bundle.has(&facts(&foreign)));
    assert_eq!(bundle.fingerprints(), [facts(&old).fingerprint(), facts(&new).fingerprint()]);
    let signer = bundle.signer_of(&inspect_certificate(content(&new_files, "pki/apiserver.crt")).unwrap());
    assert_eq!(signer, Some(&facts(&new)));
    assert!(trust_one(&both, &ca(&old)) && trust_one(&ca(&new), &both) && !trust_one(&both, &ca(&foreign)));
    assert!(trust_one("no certificate", " no certificate\n") && !trust_one("no certificate", &both));
    // A block that is cut off is no certificate less, but a file that is not whole.
    for broken in [String::new(), both.replace("-----END", "-----EN"), format!("{both}-----BEGIN CERTIFICATE-----\nAAAA\n")] {
        assert!(TrustBundle::from_pem(&broken).is_err(), "{broken}");
    }
}

/// Of the authorities of a file that one signs whose key is there.
#[test]
fn the_key_says_which_authority_signs() {
    let [(old, _), (new, _)] = [1, 2].map(|seed| make(seed, &Policy::default()));
    let [old, new] = [&old, &new].map(|of| of.get(AuthorityKind::Kubernetes));
    let both = format!("{}{}", old.certificate_pem(), new.certificate_pem());
    for (signer, other) in [(old, new), (new, old)] {
        let authority = Authority::from_pem(both.clone(), signer.key_pem().cloned()).ok().unwrap();
        assert_eq!((authority.facts(), authority.certificate_pem()), (signer.facts(), both.as_str()));
        assert_eq!(TrustBundle::from_pem(&both).unwrap().signer_with(signer.key_pem().unwrap()).unwrap(), signer.facts());
        let profile = Leaf::ApiServer.profile(&host());
        let issued = issue(&profile, &authority, &Policy::default(), now(), &mut Repeating::new(9)).ok().unwrap().certificate_pem;
        assert!(signed_by(signer.certificate_pem(), &issued).unwrap() && !signed_by(other.certificate_pem(), &issued).unwrap());
        let alone = Authority::from_pem(other.certificate_pem().to_owned(), signer.key_pem().cloned());
        assert!(matches!(alone, Err(PkiError::KeyMismatch(_))));
    }
    assert_eq!(Authority::from_pem(both, None).ok().unwrap().facts(), old.facts());
}

/// A kubeconfig of before the change trusts the old one, and still leads to the cluster.
#[test]
fn kubeconfigs_trust_one_of_several() {
    let [(old, files), (new, _), (foreign, _)] = [1, 2, 3].map(|seed| make(seed, &Policy::default()));
    let ca = |of: &kok_pki::Authorities| of.get(AuthorityKind::Kubernetes).certificate_pem().to_owned();
    let text = SecretText::new(content(&files, "admin.conf").to_owned());
    let profile = KubeconfigUser::Admin.profile(&host());
    let server = kok_pki::inspect_kubeconfig(&text).ok().unwrap().server;
    let check = |authorities: &str| verify_kubeconfig(&text, authorities, &profile, &server, now()).err().unwrap_or_default();
    assert_eq!(check(&format!("{}{}", ca(&new), ca(&old))), []);
    let defects = check(&format!("{}{}", ca(&new), ca(&foreign)));
    assert!(matches!(defects.as_slice(), [Defect::TrustsAnother, Defect::WrongAuthority { .. }]), "{defects:?}");
}
