//! Fields of how API servers encrypt what etcd holds.

use super::{Part, ValueKind, leaf};
use crate::decode::Form;

/// How API servers encrypt.
pub(crate) const ENCRYPTION: Part = Part {
    form: Form {
        what: "the field `encryption`",
        fields: &["enabled", "algorithm", "resources", "kms"],
        refused: &[
            ("provider", "write it as `algorithm`, or as `kms: {…}`"),
            ("providers", "write the one that is to encrypt as `algorithm`, or as `kms: {…}`; what is there is written anew"),
            ("key", "leave it out: kokctl makes the key"),
            ("secret", "leave it out: kokctl makes the key"),
        ],
    },
    leaves: &[
        leaf("enabled", "kube_encrypt_secret_data", ValueKind::Flag, "Whether anything is encrypted; so far false."),
        leaf(
            "algorithm",
            "kube_encryption_algorithm",
            ValueKind::Word(&["secretbox", "aesgcm", "aescbc"]),
            "How, by a key of the cluster's own; so far secretbox.",
        ),
        leaf("resources", "kube_encryption_resources", ValueKind::ListOfTexts, "What is encrypted; so far `[secrets]`."),
    ],
    inner: &[("kms", &ENCRYPTION_KMS)],
};

/// A plugin that encrypts instead.
pub(crate) const ENCRYPTION_KMS: Part = Part {
    form: Form {
        what: "the field `kms`",
        fields: &["name", "endpoint", "timeout"],
        refused: &[
            ("apiVersion", "leave it out: it is v2"),
            ("cachesize", "leave it out: v2 has none"),
            ("socket", "write it as `endpoint: unix:///…`"),
        ],
    },
    leaves: &[
        leaf("name", "kube_encryption_kms_name", ValueKind::Text, "Its name, which stands before all that it has encrypted; so far kms."),
        leaf(
            "endpoint",
            "kube_encryption_kms_endpoint",
            ValueKind::Text,
            "Its socket on each control plane, in a folder of its own: `unix:///run/kms/plugin.sock`.",
        ),
        leaf("timeout", "kube_encryption_kms_timeout", ValueKind::Text, "How long API servers wait for its answer; so far 3s."),
    ],
    inner: &[],
};
