//! Fields of how certificates are made.

use super::{Part, ValueKind, leaf};
use crate::decode::Form;

/// How certificates are made.
pub(crate) const CERTIFICATES: Part = Part {
    form: Form {
        what: "the field `certificates`",
        fields: &[
            "keyAlgorithm",
            "validity",
            "authorityValidity",
            "renewBefore",
            "authorities",
            "issued",
            "superAdminKubeconfig",
            "escrow",
        ],
        refused: &[
            ("encryptionAlgorithm", "write it as `keyAlgorithm`"),
            ("certificateValidityPeriod", "write it as `validity`"),
            ("caCertificateValidityPeriod", "write it as `authorityValidity`"),
            ("ca", "write it as `authorities`"),
        ],
    },
    leaves: &[
        leaf(
            "keyAlgorithm",
            "kube_asymmetric_encryption_algorithm",
            ValueKind::Word(&["ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"]),
            "The kind of the keys that are made.",
        ),
        leaf("validity", "kube_cert_validity_period", ValueKind::Text, "How long certificates are valid that are made, as `8760h`."),
        leaf(
            "authorityValidity",
            "kube_ca_cert_validity_period",
            ValueKind::Text,
            "How long authorities are valid that are made, as `87600h`.",
        ),
        leaf(
            "renewBefore",
            "certificates_renew_before",
            ValueKind::Text,
            "How long before its end a certificate is made anew, as `1440h`; so far a third of its time.",
        ),
        leaf(
            "authorities",
            "certificate_authorities",
            ValueKind::Map,
            "Authorities of your own: `kubernetes`, `etcd`, `frontProxy`, each with `certificate` and `key`; without the key, all that it signs \
             has to be in `issued`.",
        ),
        leaf(
            "issued",
            "issued_certificates",
            ValueKind::Text,
            "A folder on your side with certificates that authorities without their keys have signed.",
        ),
        leaf("escrow", "certificate_escrow", ValueKind::Text, "A file on your side that keeps the keys of all authorities; so far none."),
        leaf(
            "superAdminKubeconfig",
            "super_admin_kubeconfig",
            ValueKind::Flag,
            "Whether control planes keep super-admin.conf; so far false.",
        ),
    ],
    inner: &[],
};
