use kok_crds::model::EncryptionAlgorithm;

use super::*;

const SECRETBOX: EncryptionAlgorithm = EncryptionAlgorithm::Secretbox;

fn key(name: &str) -> Provider {
    Provider::Key { algorithm: SECRETBOX, name: name.to_owned() }
}

fn entry(resources: &[&str], providers: &[Provider]) -> Entry {
    Entry { resources: resources.iter().map(|name| (*name).to_owned()).collect(), providers: providers.to_vec() }
}

fn target(resources: &[&str], name: Option<&str>) -> LayoutTarget {
    LayoutTarget {
        resources: resources.iter().map(|name| (*name).to_owned()).collect(),
        writer: name.map(|name| Provider::Key { algorithm: SECRETBOX, name: name.to_owned() }),
    }
}

#[test]
fn a_name_of_resources_means_those_of_its_group() {
    for (pattern, resource, means) in [
        ("secrets", "secrets", true),
        ("secrets", "secrets.example.org", false),
        ("*.*", "secrets", true),
        ("*.*", "*.apps", true),
        ("*.apps", "deployments.apps", true),
        ("*.apps", "secrets", false),
        ("*.", "secrets", true),
        ("*.", "deployments.apps", false),
        ("*.apps", "*.*", false),
    ] {
        assert_eq!(covers(pattern, resource), means, "{pattern} {resource}");
    }
}

/// The first entry counts that names a resource, so what means less stands before what means more.
#[test]
fn what_means_more_comes_later() {
    let has = Layout::new(vec![entry(&["*.*"], &[key("a"), Provider::Identity])]);
    let to = target(&["secrets"], Some("b"));
    let read = has.after(&to, KeyStage::Read);
    let first = read.after(&to, KeyStage::First);
    assert_eq!(
        first.entries(),
        [entry(&["secrets"], &[key("b"), key("a"), Provider::Identity]), entry(&["*.*"], &[Provider::Identity, key("a")])]
    );
    assert_eq!(first.after(&to, KeyStage::Alone).entries(), [entry(&["secrets"], &[key("b"), Provider::Identity])]);
}

#[test]
fn what_was_never_encrypted_is_written_so_until_all_can_read_the_key() {
    let to = target(&["secrets"], Some("a"));
    let laid = Layout::default().after(&to, KeyStage::Laid);
    assert_eq!(laid.entries(), [entry(&["secrets"], &[Provider::Identity, key("a")])]);
    assert_eq!(laid.after(&to, KeyStage::Read), laid);
    assert_eq!(laid.after(&to, KeyStage::First).entries(), [entry(&["secrets"], &[key("a"), Provider::Identity])]);
    // And back.
    let none = target(&[], None);
    let first = laid.after(&to, KeyStage::First).after(&none, KeyStage::First);
    assert_eq!(first, laid);
    assert_eq!(first.after(&none, KeyStage::Alone).entries(), [entry(&["secrets"], &[Provider::Identity])]);
    assert!(!first.is_steady() && Layout::default().is_steady());
}
