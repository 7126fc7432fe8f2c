//! BGP, which the image that was built here has no program for.

use kok_tests::lab::Lab;

use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, fingerprint};

pub fn needs_upstreams_image(lab: &Lab, kokctl: &Kokctl<'_>) {
    let before = fingerprint(lab);
    let asked = ["-e", "calico_network_backend=bird", "-e", "kube_proxy_mode=iptables", "--bundle", kokctl.bundle().to_str().unwrap()];
    let said = kokctl.verb("apply", &asked);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:?}");
    assert!(said.stderr.contains("error: the bundle's image of Calico can't speak BGP"), "{said:?}");
    assert_same(&before, &fingerprint(lab), "what is refused must not change anything");
}
