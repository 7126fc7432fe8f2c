//! Variables of etcd.

use crate::variables::row::{Variable, flag, number, text, value, word};

const KUBEADM: &str = "the API server is told by kubeadm where etcd is";

pub(super) static ROWS: &[Variable] = &[
    word("etcd_deployment_type", "kubeadm", "kubeadm", "How etcd runs.").only(
        &["kubeadm"],
        "this version runs etcd as a pod beside each API server, which Kubespray calls `kubeadm`",
        "write `kubeadm` for a new cluster; a running cluster whose etcd runs otherwise can't be taken over yet",
    ),
    flag("etcd_kubeadm_enabled", "true", "An old way to say `etcd_deployment_type: kubeadm`.")
        .refused("Kubespray has removed it", "write `etcd_deployment_type: kubeadm`, or leave both out"),
    text("etcd_member_name", "the host's name", "The name of the etcd member.")
        .moot("an etcd member has the name of its host here, as with kubeadm"),
    text("etcd_address", "the host's address", "Where the member listens.").moot("it is the host's address"),
    text("etcd_access_address", "the host's address", "Where others reach the member.").moot("it is the host's address"),
    text("etcd_events_access_address", "none", "Where others reach the member of a second etcd.")
        .moot("there is no second etcd for events"),
    word("etcd_data_dir", "path", "/var/lib/etcd", "Where etcd keeps its data.").only(
        &["/var/lib/etcd"],
        "this version keeps them there",
        "mount the faster disk at /var/lib/etcd",
    ),
    text("etcd_version", "that of the bundle", "Which etcd.").moot("the bundle has it"),
    text("etcd_config_dir", "none", "Where etcd's configuration lies.").moot("it is in the manifest of its pod"),
    text("etcd_cert_dir", "/etc/kubernetes/pki/etcd", "Where etcd's certificates lie.").moot("they are where kubeadm has them"),
    value("etcd_cert_alt_names", "list of names", "localhost and the host's name", "Further names in etcd's certificates."),
    value("etcd_cert_alt_ips", "list of addresses", "the host's and the loopback's", "Further addresses in etcd's certificates."),
    number("etcd_quota_backend_bytes", "2147483648", "How large etcd's data may become."),
    number("etcd_snapshot_count", "etcd's own, 10000", "After how many changes etcd writes a snapshot.").or(&["10000"]),
    number("etcd_heartbeat_interval", "100", "How often the leader makes itself heard, in milliseconds."),
    number("etcd_election_timeout", "1000", "After how long without it another is elected, in milliseconds."),
    number("etcd_compaction_retention", "0: the API server compacts every 5 minutes", "How many hours of history etcd keeps.").or(&["0"]),
    word("etcd_metrics", "basic or extensive", "basic", "Which numbers etcd tells about itself."),
    text("etcd_listen_metrics_urls", "http://127.0.0.1:2381", "Where etcd tells them."),
    number("etcd_backup_retention_count", "none", "How many backups are kept.").moot("kokctl makes no backups yet"),
    value("etcd_extra_vars", "map", "{}", "Further settings of etcd."),
    number("etcd_retries", "none", "How often Ansible looks whether etcd answers.").moot("kokctl waits for it with a limit of its own"),
    flag("etcd_events_cluster_enabled", "false", "A second etcd for events.").needed("events would be in the one etcd"),
    flag("etcd_events_cluster_setup", "false", "Sets up a second etcd for events.").needed("events would be in the one etcd"),
    flag("etcd_cluster_setup", "true", "Whether etcd is set up.").moot("kokctl finds out what is there"),
    flag("force_etcd_cert_refresh", "false", "Distributes etcd's certificates again.")
        .moot("kokctl replaces certificates where they are wrong"),
    flag("etcd_secure_client", "true", "Whether clients need certificates.").only(
        &["true"],
        "etcd holds all secrets of the cluster",
        "leave it out",
    ),
    flag("etcd_peer_client_auth", "true", "Whether members need certificates.").only(
        &["true"],
        "etcd holds all secrets of the cluster",
        "leave it out",
    ),
    text("etcd_tls_cipher_suites", "etcd's own", "Which ciphers etcd uses.").needed("weaker ciphers than asked for would be accepted"),
    text("etcd_memory_limit", "none", "How much memory etcd may use."),
    text("kube_etcd_*", "kubeadm's own", "Where the API server finds what it needs for etcd.").moot(KUBEADM),
];
