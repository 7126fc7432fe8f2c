//! What is kept of a cluster is what is read again, or nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use kok_pki::{Authorities, AuthorityKind, Escrow, KeyAlgorithm, PkiError, Policy, SecretText, escrow};
use proptest::prelude::*;
use serde_json::Value;
use support::{Repeating, make, now};

fn same(one: &Authorities, other: &Authorities) -> bool {
    let pems = |it: &Authorities| {
        let of = |kind| (it.get(kind).certificate_pem().to_owned(), it.get(kind).key_pem().unwrap().expose().to_owned());
        (AuthorityKind::ALL.map(of), it.service_account().pem().expose().to_owned())
    };
    pems(one) == pems(other)
}

fn read(text: &str) -> Result<Escrow, PkiError> {
    Escrow::parse(&SecretText::new(text.to_owned()))
}

proptest! {
    #[test]
    fn what_is_kept_is_read_again(seed: u64, cluster in "\\PC{1,40}|[\\n\"\\\\:#0-9]{1,8}", keys in proptest::collection::vec(("kokctl(-[0-9]{10})?", "[A-Za-z0-9+/]{43}="), 0..4)) {
        let (authorities, _) = make(seed, &Policy::default());
        let named: Vec<(&str, &str)> = keys.iter().map(|(name, key)| (name.as_str(), key.as_str())).collect();
        let text = escrow(&cluster, &authorities, &named);
        let again = Escrow::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(again.cluster(), cluster.as_str());
        let read: Vec<(&str, &str)> = again.encryption_keys().iter().map(|it| (it.name.as_str(), it.secret.expose())).collect();
        prop_assert_eq!(&read, &named);
        prop_assert!(same(again.authorities(), &authorities));
        let once_more = escrow(&cluster, again.authorities(), &named);
        prop_assert!(once_more.expose() == text.expose(), "the same keys make another text");
    }

    /// A disk that was full leaves no authority that would be taken for the whole set.
    #[test]
    fn a_part_of_it_is_nothing(seed: u64, part in 0.0..1.0_f64) {
        let (authorities, _) = make(seed, &Policy::default());
        let text = escrow("berlin", &authorities, &[("kokctl", "a2V5")]);
        let text = text.expose().trim_end();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let length = (text.len() as f64 * part) as usize;
        prop_assert!(read(&text[..length]).is_err(), "{length} of {} bytes are enough", text.len());
    }

    #[test]
    fn whatever_is_no_such_text_is_refused_without_being_quoted(text in "\\PC{0,200}", word in "[a-z]{20}") {
        let Err(error) = read(&format!("{text}\n{word}: 1\n")) else { panic!("it was read") };
        prop_assert!(!error.to_string().contains(&word));
    }
}

#[test]
fn a_key_of_another_authority_is_found() {
    let (one, other) = (make(1, &Policy::default()).0, make(2, &Policy::default()).0);
    let text = escrow("berlin", &one, &[]).expose().to_owned();
    for kind in AuthorityKind::ALL {
        let quoted = |it: &Authorities| it.get(kind).key_pem().unwrap().expose().replace('\n', "\\n");
        let mixed = text.replace(&quoted(&one), &quoted(&other));
        assert_ne!(mixed, text);
        assert!(matches!(read(&mixed), Err(PkiError::KeyMismatch(_))), "{kind:?}");
    }
    let newer = text.replace("kokctl-escrow-1", "kokctl-escrow-2");
    assert!(matches!(read(&newer), Err(PkiError::Escrow(because)) if because.contains("kokctl-escrow-1")));
}

/// Whoever has no kokctl takes the authorities out as a Cluster has them.
#[test]
fn every_reader_of_yaml_reads_it() {
    let policy = Policy { algorithm: KeyAlgorithm::Rsa2048, ..Policy::default() };
    let authorities = Authorities::generate(&policy, now(), &mut Repeating::new(7)).unwrap();
    let text: Value = serde_saphyr::from_str(escrow("berlin", &authorities, &[]).expose()).unwrap();
    let names: Vec<_> = text["authorities"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["kubernetes", "etcd", "frontProxy"].into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    );
    assert_eq!(text["authorities"]["etcd"]["key"], authorities.get(AuthorityKind::Etcd).key_pem().unwrap().expose());
    assert_eq!(text["authorities"]["etcd"]["certificate"], authorities.get(AuthorityKind::Etcd).certificate_pem());
    assert!(text.get("encryptionKey").is_none());
}

/// A text from before keys could be replaced says no name, and is written as it was.
#[test]
fn a_key_without_a_name_is_the_first_one() {
    let authorities = make(1, &Policy::default()).0;
    let text = escrow("berlin", &authorities, &[("kokctl", "a2V5")]);
    assert!(text.expose().contains("\nencryptionKey: \"a2V5\"\n") && !text.expose().contains("encryptionKeys"));
    let two = escrow("berlin", &authorities, &[("kokctl-7", "bmV1"), ("kokctl", "a2V5")]);
    assert!(two.expose().contains("\nencryptionKeys:\n- name: \"kokctl-7\"\n  key: \"bmV1\"\n- name: \"kokctl\"\n"), "as YAML has lists");
    let read = read(two.expose()).unwrap_or_else(|error| panic!("{error}"));
    let keys: Vec<(&str, &str)> = read.encryption_keys().iter().map(|it| (it.name.as_str(), it.secret.expose())).collect();
    assert_eq!(keys, [("kokctl-7", "bmV1"), ("kokctl", "a2V5")]);
}
