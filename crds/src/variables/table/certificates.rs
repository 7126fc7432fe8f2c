//! Variables of certificates.

use crate::variables::read::{authorities, certificates, load_balancing};
use crate::variables::row::{Variable, flag, number, text, value, word};

pub(super) static ROWS: &[Variable] = &[
    word("cert_management", "script", "script", "Who makes certificates.").only(
        &["script"],
        "kokctl makes all certificates itself",
        "leave it out",
    ),
    flag(
        "auto_renew_certificates",
        "true",
        "Renews certificates before they end: by every `apply`, when less than a third of their time is left.",
    )
    .only(
        &["true", "false"],
        "every `apply` renews what ends soon, whoever asks for it; there is no timer on hosts",
        "leave it out; `kokctl certs status` says when certificates end, and `kokctl certs renew` renews them and nothing else",
    ),
    value("auto_renew_certificates_*", "none", "none", "When that is.").moot("it is done by every `apply`, and by no timer"),
    word("certificates_renew_before", "time", "a third of their time", "How long before its end a certificate is made anew, as `1440h`.")
        .reads(certificates::renew_before),
    word(
        "kube_asymmetric_encryption_algorithm",
        "ECDSA-P256, ECDSA-P384, RSA-2048, RSA-3072 or RSA-4096",
        "ECDSA-P256",
        "The kind of the keys that are made; those that are there stay.",
    )
    .reads(certificates::key_algorithm),
    value(
        "supplementary_addresses_in_ssl_keys",
        "list of names and addresses",
        "[]",
        "Further names and addresses of the API server in its certificate.",
    )
    .reads(|d, f, s| load_balancing::certificate_names(d, f, &mut s.api_endpoint.certificate_names)),
    word("kube_cert_validity_period", "time", "8760h", "How long certificates are valid that are made; not longer than authorities.")
        .reads(certificates::validity),
    word("kube_ca_cert_validity_period", "time", "87600h", "How long authorities are valid that are made.")
        .reads(certificates::authority_validity),
    value(
        "certificate_authorities",
        "map of kubernetes, etcd and frontProxy to maps of certificate and key",
        "none",
        "Authorities of your own: paths, as seen from the folder of the file, or PEM. Those that are not named are made. The key may be \
missing with issued_certificates.",
    )
    .reads(authorities::read)
    .hidden(),
    flag("super_admin_kubeconfig", "false", "Whether control planes keep super-admin.conf, whose owner no rule of the cluster can stop.")
        .reads(certificates::super_admin_kubeconfig),
    text(
        "issued_certificates",
        "none",
        "A folder of the machine that kokctl runs on, as seen from the folder of the file, with what authorities without their keys have \
signed: HOST/pki/apiserver.crt, HOST/kubelet.conf and so on.",
    )
    .reads(certificates::issued),
    text(
        "certificate_escrow",
        "none",
        "A file of the machine that kokctl runs on, as seen from the folder of the file, that keeps all keys that can't be replaced.",
    )
    .reads(certificates::escrow),
    number(
        "certificates_duration",
        "none",
        "How many days etcd's certificates are valid; here as long as kube_cert_validity_period says of all.",
    ),
    number("certificates_key_size", "none", "How long etcd's keys are; here as kube_asymmetric_encryption_algorithm says of all."),
    flag("kubeadm_upgrade_auto_cert_renewal", "true", "Renews certificates at an upgrade.")
        .moot("every run makes certificates anew that have ended"),
    flag("kube_external_ca_mode", "false", "Certificates are made by somebody else.")
        .needed("kokctl would make certificates itself, unless it gets those that somebody else has made")
        .instead(
            "leave it out, and give the certificate of the authority without its key as certificate_authorities, and the folder with what \
it has signed as issued_certificates",
        ),
    text("force_certificate_regeneration", "false", "Makes certificates again."),
];
