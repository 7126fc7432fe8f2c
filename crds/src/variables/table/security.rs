//! Variables of the security of the API.

use crate::variables::row::{Variable, flag, text, value, word};

const OPEN: &str = "the cluster would be less secure than asked for";
const AUDIT: &str = "it is read with kubernetes_audit only";
const OIDC: &str = "it is read with kube_oidc_auth only";
const LOGIN: &str = "nobody could log in that way";

// What to do as long as it is not done.
const UNRECORDED: &str = "leave it out if nobody has to know later who asked for what; else wait for a version that does it";
const SECURE: &str = "leave it out if the defaults of Kubernetes are secure enough; else wait for a version that does it";
const LOGINS: &str = "leave it out, and log in by the certificate of `kokctl kubeconfig`, or by tokens of service accounts";
const ROLES: &str = "leave it out, and say by RBAC what users may do";

pub(super) static ROWS: &[Variable] = &[
    flag("kubernetes_audit", "false", "Records who asked the API server for what.").needed("nothing would be recorded").instead(UNRECORDED),
    flag("kubernetes_audit_webhook", "false", "Sends those records elsewhere.").needed("nothing would be recorded").instead(UNRECORDED),
    value("audit_*", "none", "none", "A setting of those records.").moot(AUDIT),
    flag("kube_encrypt_secret_data", "false", "Encrypts secrets in etcd.")
        .needed("secrets would lie in etcd in plain")
        .instead("leave it out, and have an encrypted disk under /var/lib/etcd"),
    value("kube_encryption_resources", "list of resources", "[secrets]", "What is encrypted in etcd.")
        .moot("it is read with kube_encrypt_secret_data only"),
    word("kube_encryption_algorithm", "word", "none", "How it is encrypted.").moot("it is read with kube_encrypt_secret_data only"),
    text("kube_encrypt_token", "none", "The key to encrypt with.").moot("it is read with kube_encrypt_secret_data only").hidden(),
    value("authorization_modes", "list of words", "[Node, RBAC]", "Who decides what a user may do.")
        .or(&["[RBAC, Node]"])
        .needed(OPEN)
        .instead("leave it out: Node and RBAC decide"),
    flag(
        "remove_anonymous_access",
        "false",
        "Takes from strangers what kubeadm lets them read: the address and the authority of the cluster.",
    )
    .needed(OPEN)
    .instead(
        "leave it out; by hand it is `kubectl -n kube-public delete rolebinding \
kubeadm:bootstrap-signer-clusterinfo`, after each run in which hosts join",
    ),
    flag("kube_api_anonymous_auth", "true", "Whether strangers may ask the API server for the little that is for all.")
        .needed(OPEN)
        .instead(SECURE),
    value(
        "kube_apiserver_enable_admission_plugins",
        "list of names",
        "[NodeRestriction]",
        "Further checks of what is written to the API server.",
    )
    .needed(OPEN)
    .instead(
        "leave it out if those that Kubernetes has switched on will do; what else is to be checked, a \
ValidatingAdmissionPolicy can check",
    ),
    value("kube_apiserver_disable_admission_plugins", "list of names", "[]", "Checks that are left out.")
        .needed("the API server would refuse what it is not to refuse")
        .instead("leave it out, and make objects that these checks let pass"),
    flag("kube_apiserver_admission_control_config_file", "false", "Configuration of those checks.")
        .needed(OPEN)
        .instead("leave it out; a standard for pods can be a label of their namespace, `pod-security.kubernetes.io/enforce`"),
    value("kube_apiserver_admission_*", "none", "none", "Configuration of those checks.")
        .moot("it is read with kube_apiserver_admission_control_config_file only"),
    flag("kube_pod_security_use_default", "false", "A standard that pods have to keep where no namespace says otherwise.")
        .needed(OPEN)
        .instead("leave it out, and give each namespace the label `pod-security.kubernetes.io/enforce`"),
    value("kube_pod_security_*", "none", "none", "Which standard that is.").moot("it is read with kube_pod_security_use_default only"),
    flag("podsecuritypolicy_enabled", "false", "Policies of pods that Kubernetes has removed.")
        .refused("Kubernetes has had no PodSecurityPolicy since 1.25", "label namespaces for Pod Security Admission instead"),
    flag("kube_oidc_auth", "false", "Logins by OpenID Connect.").needed(LOGIN).instead(LOGINS),
    text("kube_oidc_url", "none", "The server of those logins.").moot(OIDC),
    text("kube_oidc_client_id", "none", "The name of the cluster there.").moot(OIDC),
    text("kube_oidc_ca_file", "none", "The authority of that server.").moot(OIDC),
    text("kube_oidc_username_claim", "none", "Where a user's name stands.").moot(OIDC),
    text("kube_oidc_groups_claim", "none", "Where a user's groups stand.").moot(OIDC),
    value("kube_oidc_*", "none", "none", "A setting of those logins.").moot(OIDC),
    flag("kube_apiserver_use_authentication_config_file", "false", "Logins and strangers by a configuration of the user's own.")
        .needed(LOGIN)
        .instead(LOGINS),
    value("kube_apiserver_authentication_config_*", "none", "none", "That configuration.")
        .moot("it is read with kube_apiserver_use_authentication_config_file only"),
    flag("kube_apiserver_use_authorization_config_file", "false", "Who decides what a user may do, by a configuration of the user's own.")
        .needed(OPEN)
        .instead(ROLES),
    value("kube_apiserver_authorization_config_*", "none", "none", "That configuration.")
        .moot("it is read with kube_apiserver_use_authorization_config_file only"),
    flag("rbac_enabled", "true", "Whether roles decide what a user may do.").only(
        &["true"],
        "nothing else would decide it",
        "leave it out",
    ),
    value("kube_resource_quota_limited_resources", "list", "[]", "What is scarce without a quota.")
        .moot("it is read with kube_apiserver_admission_control_config_file only"),
    text("secrets_encryption_query", "none", "Where Kubespray finds the key again.").moot("it is read with kube_encrypt_secret_data only"),
    flag("kube_webhook_token_auth", "false", "Logins that another server decides.").needed(LOGIN).instead(LOGINS),
    value("kube_webhook_token_auth_*", "none", "none", "A setting of those logins.").moot("it is read with kube_webhook_token_auth only"),
    flag("kube_webhook_authorization", "false", "Asks another server what a user may do.").needed(OPEN).instead(ROLES),
    value("kube_webhook_authorization_*", "none", "none", "A setting of that.").moot("it is read with kube_webhook_authorization only"),
    flag("kube_token_auth", "false", "Logins by a file of tokens.").needed(LOGIN).instead(LOGINS),
    flag("kube_basic_auth", "false", "Logins by a file of passwords.")
        .refused("Kubernetes has had no such logins since 1.19", "leave it out"),
    word("tls_min_version", "word", "that of Kubernetes, VersionTLS12", "The oldest version of TLS that is accepted.")
        .or(&["VersionTLS12"])
        .needed(OPEN)
        .instead(SECURE),
    value("tls_cipher_suites", "list of names", "those of Kubernetes", "Which ciphers are accepted.").needed(OPEN).instead(SECURE),
];
