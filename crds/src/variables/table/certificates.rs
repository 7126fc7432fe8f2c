//! Variables of certificates.

use crate::variables::read::load_balancing;
use crate::variables::row::{Variable, flag, number, text, value, word};

const KEY: &str = "kokctl makes keys of one kind: ECDSA-P256";

pub(super) static ROWS: &[Variable] = &[
    word("cert_management", "script", "script", "Who makes certificates.").only(
        &["script"],
        "kokctl makes all certificates itself",
        "leave it out",
    ),
    flag("auto_renew_certificates", "false", "Renews the control plane's certificates by a timer.")
        .needed("they would end after a year, unless somebody renews them")
        .instead(
            "leave it out, and within a year type `kubeadm certs renew all` on the control planes and restart \
their static pods",
        ),
    value("auto_renew_certificates_*", "none", "none", "When that is.").moot("it is read with auto_renew_certificates only"),
    word("kube_asymmetric_encryption_algorithm", "ECDSA-P256", "ECDSA-P256", "The kind of keys."),
    value(
        "supplementary_addresses_in_ssl_keys",
        "list of names and addresses",
        "[]",
        "Further names and addresses of the API server in its certificate.",
    )
    .reads(load_balancing::certificate_names),
    word("kube_cert_validity_period", "time", "8760h", "How long certificates are valid.").or(&["8760h0m0s"]),
    word("kube_ca_cert_validity_period", "time", "87600h", "How long authorities are valid.").or(&["87600h0m0s"]),
    number("certificates_duration", "none", "How many days etcd's certificates are valid.")
        .moot("they are valid as long as the others, a year"),
    number("certificates_key_size", "none", "How long etcd's keys are.").moot(KEY),
    flag("kubeadm_upgrade_auto_cert_renewal", "true", "Renews certificates at an upgrade.").moot("this version upgrades no cluster"),
    flag("kube_external_ca_mode", "false", "Certificates are made by somebody else.")
        .needed("kokctl would make an authority of its own")
        .instead("leave it out, and let kokctl make the authorities"),
    text("force_certificate_regeneration", "false", "Makes certificates again."),
];
