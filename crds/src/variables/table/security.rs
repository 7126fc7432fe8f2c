//! Variables of the security of the API.

use crate::variables::read::{control_plane, kms, pods, security, values};
use crate::variables::row::{Variable, flag, number, text, value, word};

const HEALTH: &str = "the kubelet asks as a stranger whether the API server is well, and kills one that does not answer";
const LOGIN: &str = "nobody could log in that way";

// What to do as long as it is not done.
const LOGINS: &str = "leave it out, and log in by the certificate of `kokctl kubeconfig`, or by tokens of service accounts";

pub(super) static ROWS: &[Variable] = &[
    flag("kubernetes_audit", "false", "Records who asked the API server for what.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.audit)),
    flag("kubernetes_audit_webhook", "false", "Sends those records elsewhere.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.audit_webhook)),
    value(
        "audit_policy_custom_rules",
        "rules of an audit policy, or their text",
        "kokctl's own",
        "What is recorded, instead of what kokctl records.",
    )
    .reads(security::audit_rules)
    .beside("kubernetes_audit", |s| s.security.audit.enabled || s.security.audit_webhook.enabled),
    text("audit_log_path", "/var/log/audit/kube-apiserver-audit.log", "The file in the API server's container; `-` is its own log.")
        .reads(security::audit_log_path)
        .beside("kubernetes_audit", |s| s.security.audit.enabled),
    number("audit_log_maxage", "30", "How many days old files are kept.")
        .reads(|d, f, s| values::count(d, f, &mut s.security.audit.values, "audit-log-maxage"))
        .beside("kubernetes_audit", |s| s.security.audit.enabled),
    number("audit_log_maxbackups", "10", "How many old files are kept.")
        .reads(|d, f, s| values::count(d, f, &mut s.security.audit.values, "audit-log-maxbackup"))
        .beside("kubernetes_audit", |s| s.security.audit.enabled),
    number("audit_log_maxsize", "100", "How many megabytes a file may have.")
        .reads(|d, f, s| values::count(d, f, &mut s.security.audit.values, "audit-log-maxsize"))
        .beside("kubernetes_audit", |s| s.security.audit.enabled),
    word(
        "audit_log_hostpath",
        "path",
        "/var/log/kubernetes/audit",
        "The folder of the host that has the files; `kokctl reset` removes this one only.",
    )
    .reads(security::audit_log_folder)
    .beside("kubernetes_audit", |s| s.security.audit.enabled),
    text("audit_webhook_server_url", "none", "The server that gets the records.")
        .reads(|d, f, s| security::server(d, f, &mut s.security.audit_webhook.values, "url"))
        .beside("kubernetes_audit_webhook", |s| s.security.audit_webhook.enabled),
    value(
        "audit_webhook_server_extra_args",
        "map",
        "{}",
        "More about that server, as in a kubeconfig: `insecure-skip-tls-verify` or `certificate-authority-data`.",
    )
    .reads(|d, f, s| values::map(d, f, &mut s.security.audit_webhook.values, "cluster"))
    .beside("kubernetes_audit_webhook", |s| s.security.audit_webhook.enabled),
    word("audit_webhook_mode", "batch, blocking or blocking-strict", "batch", "Whether a request waits for that server.")
        .reads(|d, f, s| {
            values::word(d, f, &mut s.security.audit_webhook.values, "audit-webhook-mode", &["batch", "blocking", "blocking-strict"])
        })
        .beside("kubernetes_audit_webhook", |s| s.security.audit_webhook.enabled),
    number("audit_webhook_batch_max_size", "400", "How many records it gets at once.")
        .reads(|d, f, s| values::count(d, f, &mut s.security.audit_webhook.values, "audit-webhook-batch-max-size"))
        .beside("kubernetes_audit_webhook", |s| s.security.audit_webhook.enabled),
    word("audit_webhook_batch_max_wait", "time", "30s", "How long records wait for others.")
        .reads(|d, f, s| values::time(d, f, &mut s.security.audit_webhook.values, "audit-webhook-batch-max-wait"))
        .beside("kubernetes_audit_webhook", |s| s.security.audit_webhook.enabled),
    value("audit_*", "none", "none", "A place in the API server's container.").moot("kokctl has its files where the API server finds them"),
    flag("kube_encrypt_secret_data", "false", "Encrypts secrets in etcd.")
        .reads(|d, f, s| s.security.encryption.enabled = d.boolean(f).unwrap_or(false)),
    value("kube_encryption_resources", "list of resources", "[secrets]", "What is encrypted in etcd.")
        .reads(security::encryption_resources)
        .beside("kube_encrypt_secret_data", |s| s.security.encryption.enabled),
    word("kube_encryption_algorithm", "secretbox, aesgcm or aescbc", "secretbox", "How it is encrypted.")
        .reads(security::encryption_algorithm)
        .beside("kube_encrypt_secret_data", |s| s.security.encryption.enabled),
    text(
        "kube_encryption_kms_endpoint",
        "none",
        "The socket of a KMS plugin (v2) on each control plane, as `unix:///run/kms/plugin.sock`: it encrypts instead of a key of the cluster's own.",
    )
        .reads(kms::endpoint)
        .beside("kube_encrypt_secret_data", |s| s.security.encryption.enabled),
    text("kube_encryption_kms_name", "kms", "The plugin's name, which stands before all that it has encrypted.")
        .reads(kms::name)
        .beside("kube_encrypt_secret_data", |s| s.security.encryption.enabled),
    word("kube_encryption_kms_timeout", "time", "3s", "How long API servers wait for an answer of the plugin.")
        .reads(kms::timeout)
        .beside("kube_encrypt_secret_data", |s| s.security.encryption.enabled),
    text(
        "kube_encrypt_token",
        "none",
        "The key to encrypt with; kokctl makes one itself, once: control planes keep it, an escrow where there is one, and what reset fetches.",
    )
    .hidden(),
    value(
        "authorization_modes",
        "list of Node, RBAC, Webhook, AlwaysAllow and AlwaysDeny",
        "[Node, RBAC]",
        "Who decides what a user may do; `Webhook` goes with kube_webhook_authorization.",
    )
        .reads(control_plane::authorization_modes),
    flag(
        "remove_anonymous_access",
        "false",
        "Takes from strangers what kubeadm lets them read: the address and the authority of the cluster. `kubeadm join` by hand needs a \
discovery file then. It is shown for the moments in which hosts join. Where it was taken away, `false` gives it back when the next host joins.",
    )
    .reads(security::remove_anonymous_access),
    flag("kube_api_anonymous_auth", "true", "Whether strangers may ask the API server for the little that is for all.").only(
        &["true"],
        HEALTH,
        "leave it out; what strangers may ask can be narrowed by `kube_apiserver_authentication_config_anonymous`",
    ),
    value(
        "kube_apiserver_enable_admission_plugins",
        "list of names",
        "[NodeRestriction]",
        "Further checks of what is written to the API server.",
    )
    .reads(control_plane::admission_plugins),
    value("kube_apiserver_disable_admission_plugins", "list of names", "[]", "Checks that are left out.")
        .reads(control_plane::disabled_plugins),
    flag("kube_apiserver_admission_control_config_file", "false", "Configuration of those checks.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.admission)),
    value("kube_apiserver_admission_event_rate_limits", "map of names to limits", "{}", "How many events who may write; kube_apiserver_enable_admission_plugins has to name `EventRateLimit` too.")
        .reads(security::event_limits)
        .beside("kube_apiserver_admission_control_config_file", |s| s.security.admission.enabled),
    text(
        "kube_apiserver_admission_plugins_podnodeselector_default_node_selector",
        "\"\"",
        "Which nodes pods get where their namespace says nothing; kube_apiserver_enable_admission_plugins has to name `PodNodeSelector` too.",
    )
    .reads(|d, f, s| values::text(d, f, &mut s.security.admission.values, "PodNodeSelector"))
    .beside("kube_apiserver_admission_control_config_file", |s| s.security.admission.enabled),
    value("kube_apiserver_admission_*", "none", "none", "Which checks have a configuration.").moot("those that are configured have one"),
    flag("kube_pod_security_use_default", "false", "A standard that pods have to keep where no namespace says otherwise.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.pod_security)),
    word("kube_pod_security_default_enforce", "privileged, baseline or restricted", "baseline", "What pods have to keep.")
        .reads(|d, f, s| security::pod_standard(d, f, s, "enforce"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    word("kube_pod_security_default_enforce_version", "latest or a release", "latest", "Of which release.")
        .reads(|d, f, s| security::pod_standard_version(d, f, s, "enforce-version"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    word("kube_pod_security_default_audit", "privileged, baseline or restricted", "restricted", "What the audit log notes.")
        .reads(|d, f, s| security::pod_standard(d, f, s, "audit"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    word("kube_pod_security_default_audit_version", "latest or a release", "latest", "Of which release.")
        .reads(|d, f, s| security::pod_standard_version(d, f, s, "audit-version"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    word("kube_pod_security_default_warn", "privileged, baseline or restricted", "restricted", "What users are warned of.")
        .reads(|d, f, s| security::pod_standard(d, f, s, "warn"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    word("kube_pod_security_default_warn_version", "latest or a release", "latest", "Of which release.")
        .reads(|d, f, s| security::pod_standard_version(d, f, s, "warn-version"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    value("kube_pod_security_exemptions_usernames", "list of names", "[]", "Users whose pods need not.")
        .reads(|d, f, s| values::list(d, f, &mut s.security.pod_security.values, "usernames"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    value("kube_pod_security_exemptions_runtime_class_names", "list of names", "[]", "Runtime classes whose pods need not.")
        .reads(|d, f, s| values::list(d, f, &mut s.security.pod_security.values, "runtimeClasses"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    value("kube_pod_security_exemptions_namespaces", "list of names", "[kube-system]", "Namespaces whose pods need not.")
        .reads(|d, f, s| values::list(d, f, &mut s.security.pod_security.values, "namespaces"))
        .beside("kube_pod_security_use_default", |s| s.security.pod_security.enabled),
    flag("podsecuritypolicy_enabled", "false", "Policies of pods that Kubernetes has removed.")
        .refused("Kubernetes has had no PodSecurityPolicy since 1.25", "label namespaces for Pod Security Admission instead"),
    flag("kube_oidc_auth", "false", "Logins by OpenID Connect.").reads(|d, f, s| values::switch(d, f, &mut s.security.oidc)),
    text("kube_oidc_url", "none", "The server of those logins.")
        .reads(|d, f, s| security::server(d, f, &mut s.security.oidc.values, "oidc-issuer-url"))
        .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    text("kube_oidc_client_id", "none", "The name of the cluster there.")
        .reads(|d, f, s| values::text(d, f, &mut s.security.oidc.values, "oidc-client-id"))
        .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    text("kube_oidc_username_claim", "none", "Where a user's name stands.")
        .reads(|d, f, s| values::text(d, f, &mut s.security.oidc.values, "oidc-username-claim"))
        .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    text("kube_oidc_username_prefix", "none", "What stands before a user's name.")
        .reads(|d, f, s| values::text(d, f, &mut s.security.oidc.values, "oidc-username-prefix"))
        .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    text("kube_oidc_groups_claim", "none", "Where a user's groups stand.")
        .reads(|d, f, s| values::text(d, f, &mut s.security.oidc.values, "oidc-groups-claim"))
        .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    text("kube_oidc_groups_prefix", "none", "What stands before a group's name.")
        .reads(|d, f, s| values::text(d, f, &mut s.security.oidc.values, "oidc-groups-prefix"))
        .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    text("kube_oidc_ca_cert", "none", "The authority of that server, as PEM or as base64 of that.")
        .reads(|d, f, s| security::authority(d, f, &mut s.security.oidc.values, "authority"))
        .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    word(
        "kube_oidc_ca_file",
        "path",
        "none",
        "A file of the control planes with that authority; with kube_oidc_ca_cert kokctl has one of its own.",
    )
    .reads(|d, f, s| pods::path_of(d, f, &mut s.security.oidc.values, "oidc-ca-file"))
    .beside("kube_oidc_auth", |s| s.security.oidc.enabled),
    flag("kube_apiserver_use_authentication_config_file", "false", "Logins and strangers by a configuration of the user's own.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.authentication)),
    word("kube_apiserver_authentication_config_api_version", "word", "v1", "The form of that configuration.")
        .reads(|d, f, s| values::word(d, f, &mut s.security.authentication.values, "apiVersion", &["v1", "v1beta1", "v1alpha1"]))
        .beside("kube_apiserver_use_authentication_config_file", |s| s.security.authentication.enabled),
    value("kube_apiserver_authentication_config_jwt", "list", "[]", "Who signs tokens that log somebody in.")
        .reads(|d, f, s| values::items(d, f, &mut s.security.authentication.values, "jwt"))
        .beside("kube_apiserver_use_authentication_config_file", |s| s.security.authentication.enabled),
    value("kube_apiserver_authentication_config_anonymous", "map", "{}", "What strangers may ask.")
        .reads(security::strangers)
        .beside("kube_apiserver_use_authentication_config_file", |s| s.security.authentication.enabled),
    flag("kube_apiserver_use_authorization_config_file", "false", "Who decides what a user may do, by a configuration of the user's own.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.authorization)),
    word("kube_apiserver_authorization_config_api_version", "word", "v1", "The form of that configuration.")
        .reads(|d, f, s| values::word(d, f, &mut s.security.authorization.values, "apiVersion", &["v1", "v1beta1", "v1alpha1"]))
        .beside("kube_apiserver_use_authorization_config_file", |s| s.security.authorization.enabled),
    value("kube_apiserver_authorization_config_authorizers", "list", "[]", "Who is asked, in this order.")
        .reads(security::authorizers)
        .beside("kube_apiserver_use_authorization_config_file", |s| s.security.authorization.enabled),
    flag("rbac_enabled", "true", "Whether roles decide what a user may do.").only(
        &["true"],
        "nothing else would decide it",
        "leave it out",
    ),
    value("kube_resource_quota_limited_resources", "list", "[]", "What is scarce without a quota (ResourceQuota).")
        .reads(|d, f, s| values::items(d, f, &mut s.security.admission.values, "ResourceQuota"))
        .beside("kube_apiserver_admission_control_config_file", |s| s.security.admission.enabled),
    text("secrets_encryption_query", "none", "Where Kubespray finds the key again.").moot("kokctl finds it where it wrote it"),
    flag("kube_webhook_token_auth", "false", "Logins that another server decides.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.token_webhook)),
    text("kube_webhook_token_auth_url", "none", "That server.")
        .reads(|d, f, s| security::server(d, f, &mut s.security.token_webhook.values, "url"))
        .beside("kube_webhook_token_auth", |s| s.security.token_webhook.enabled),
    flag("kube_webhook_token_auth_url_skip_tls_verify", "false", "Whether its certificate is not checked.")
        .reads(|d, f, s| values::flag(d, f, &mut s.security.token_webhook.values, "skip-verify"))
        .beside("kube_webhook_token_auth", |s| s.security.token_webhook.enabled),
    text("kube_webhook_token_auth_ca_data", "none", "Its authority, as base64 of PEM.")
        .reads(|d, f, s| security::authority(d, f, &mut s.security.token_webhook.values, "authority"))
        .beside("kube_webhook_token_auth", |s| s.security.token_webhook.enabled),
    flag("kube_webhook_authorization", "false", "Asks another server what a user may do.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.authorization_webhook)),
    text("kube_webhook_authorization_url", "none", "That server; authorization_modes has to name `Webhook` too.")
        .reads(|d, f, s| security::server(d, f, &mut s.security.authorization_webhook.values, "url"))
        .beside("kube_webhook_authorization", |s| s.security.authorization_webhook.enabled),
    flag("kube_webhook_authorization_url_skip_tls_verify", "false", "Whether its certificate is not checked.")
        .reads(|d, f, s| values::flag(d, f, &mut s.security.authorization_webhook.values, "skip-verify"))
        .beside("kube_webhook_authorization", |s| s.security.authorization_webhook.enabled),
    flag("kube_token_auth", "false", "Logins by a file of tokens.").needed(LOGIN).instead(LOGINS),
    flag("kube_basic_auth", "false", "Logins by a file of passwords.")
        .refused("Kubernetes has had no such logins since 1.19", "leave it out"),
    word("tls_min_version", "word", "that of Kubernetes, VersionTLS12", "The oldest version of TLS that is accepted.")
        .reads(control_plane::tls_version),
    value("tls_cipher_suites", "list of names", "those of Kubernetes", "Which ciphers are accepted.").reads(control_plane::tls_ciphers),
];
