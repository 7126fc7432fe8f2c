//! Authorities whose keys somebody else keeps sign nothing, and everything else is made as ever.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use kok_pki::{
    Authorities, Authority, AuthorityKind, Escrow, FoundAuthority, KubeconfigUser, Leaf, Material, PkiError, Policy, control_plane, escrow,
    etcd_host, issue,
};
use support::{Repeating, host, make, now};

/// The authorities of a cluster, without the keys of these.
fn without(kinds: &[AuthorityKind]) -> Authorities {
    let (all, _) = make(1, &Policy::default());
    let mut found = all.found();
    let take = |kind: AuthorityKind, pair: &mut Option<FoundAuthority>| {
        if kinds.contains(&kind) {
            pair.as_mut().unwrap().1 = None;
        }
    };
    take(AuthorityKind::Kubernetes, &mut found.kubernetes);
    take(AuthorityKind::Etcd, &mut found.etcd);
    take(AuthorityKind::FrontProxy, &mut found.front_proxy);
    Authorities::complete(found, &Policy::default(), now(), &mut Repeating::new(2)).unwrap()
}

#[test]
fn what_only_they_could_sign_is_left_out_and_nothing_else() {
    for kind in AuthorityKind::ALL {
        let authorities = without(&[kind]);
        let of = |material: &Material| match material {
            Material::AuthorityKey(of) => *of == kind,
            Material::LeafCertificate(leaf) | Material::LeafKey(leaf) => leaf.profile(&host()).authority == kind,
            Material::Kubeconfig(_) => kind == AuthorityKind::Kubernetes,
            _ => false,
        };
        let made = control_plane(&host(), &authorities, &Policy::default(), now(), &mut Repeating::new(3)).unwrap();
        let paths: Vec<&str> = made.iter().map(kok_pki::MaterialFile::path).collect();
        let mut expected: Vec<&str> = Material::all().into_iter().filter(|material| !of(material)).map(Material::path).collect();
        expected.sort_unstable();
        let mut sorted = paths.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected, "{kind:?}");
    }
    let etcd = etcd_host(&host(), &without(&[AuthorityKind::Etcd]), &Policy::default(), now(), &mut Repeating::new(3)).unwrap();
    assert_eq!(etcd.iter().map(kok_pki::MaterialFile::path).collect::<Vec<_>>(), ["pki/etcd/ca.crt"]);
}

#[test]
fn they_sign_nothing() {
    let authorities = without(&[AuthorityKind::Kubernetes]);
    let authority: &Authority = authorities.get(AuthorityKind::Kubernetes);
    assert!(authority.key_pem().is_none());
    for profile in [Leaf::ApiServer.profile(&host()), KubeconfigUser::Admin.profile(&host())] {
        let refused = issue(&profile, authority, &Policy::default(), now(), &mut Repeating::new(4)).err().unwrap();
        assert!(matches!(refused, PkiError::NoKey(_)), "{refused}");
    }
}

#[test]
fn what_is_kept_says_that_there_is_no_key() {
    let authorities = without(&[AuthorityKind::Etcd]);
    let text = escrow("berlin", &authorities, &[]);
    let again = Escrow::parse(&text).unwrap();
    assert!(again.authorities().get(AuthorityKind::Etcd).key_pem().is_none());
    assert!(again.authorities().get(AuthorityKind::Kubernetes).key_pem().is_some());
    assert_eq!(escrow("berlin", again.authorities(), &[]).expose(), text.expose());
}
