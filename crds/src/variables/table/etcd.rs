//! Variables of etcd.

use crate::variables::read::{component, etcd, load_balancing, values};
use crate::variables::row::{Variable, flag, number, text, value, word};

const ADDRESS: &str = "it is the host's address; another one is an error";
const ONE: &str = "there is no second etcd for events";
const BESIDE: &str = "it runs on the hosts that have the role, each API server knows where, and other places are an error";
const ROOT: &str = "a pod runs as root, a unit as the user etcd, and only root reads the files of keys";
const KUBEADM: &str = "the API server is told by kubeadm where etcd is";

const DOCKER: &str = "it is read where etcd is a container of Docker's only, with Kubespray as well";

const EVENTS: &str = "leave it out: the one etcd takes events too";

pub(super) static ROWS: &[Variable] = &[
    word(
        "etcd_deployment_type",
        "kubeadm or host",
        "host where other hosts than the control planes have etcd, else kubeadm",
        "How etcd runs: as a pod beside each API server, or as a unit of systemd on the hosts that have the role.",
    )
    .reads(etcd::deployment_type),
    flag("etcd_kubeadm_enabled", "true", "An old way to say `etcd_deployment_type: kubeadm`.")
        .refused("Kubespray has removed it", "write `etcd_deployment_type: kubeadm`, or leave both out"),
    text("etcd_member_name", "the host's name", "The name of the etcd member.")
        .moot("an etcd member has the name of its host here, as with kubeadm"),
    text("etcd_address", "the host's address", "Where the member listens.").follows(ADDRESS),
    text("etcd_access_address", "the host's address", "Where others reach the member.").follows(ADDRESS),
    text("etcd_events_access_address", "none", "Where others reach the member of a second etcd.").moot(ONE),
    text("etcd_events_access_addresses", "none", "Where others reach the members of a second etcd.").moot(ONE),
    value("etcd_events_*", "none", "none", "A setting of a second etcd.").moot(ONE),
    value("etcd_hosts", "list of hosts", "those that have the role", "Which hosts have etcd.").follows(BESIDE),
    text("etcd_access_addresses", "the host's own", "Where the API server reaches etcd.").follows(BESIDE),
    text("etcd_client_url", "https://, the host's address and 2379", "Where clients reach the member.").follows(ADDRESS),
    text("etcd_peer_url", "https://, the host's address and 2380", "Where other members reach the member.").follows(ADDRESS),
    text("etcd_peer_addresses", "those of the members", "Where members reach each other.").follows(BESIDE),
    number(
        "etcd_metrics_port",
        "2381",
        "The port at which etcd tells numbers about itself; here at the loopback address, unless etcd_listen_metrics_urls says otherwise.",
    ),
    value("etcd_metrics_service_labels", "map", "none", "Labels of a Service by which monitoring finds these numbers."),
    text("etcd_metrics_addresses", "those of the members", "Where etcd tells numbers about itself.")
        .moot("Kubespray works it out itself for its own use"),
    word("etcd_data_dir", "path", "/var/lib/etcd", "Where etcd keeps its data.").only(
        &["/var/lib/etcd"],
        "this version keeps them there",
        "mount the faster disk at /var/lib/etcd",
    ),
    text("etcd_version", "that of the bundle", "Which etcd."),
    text("etcd_config_dir", "/etc/etcd", "Where the configuration of etcd's unit lies.").moot("a pod has it in its manifest"),
    text("etcd_cert_dir", "/etc/kubernetes/pki/etcd", "Where etcd's certificates lie; with kokctl always there."),
    value("etcd_cert_alt_names", "list of names", "localhost and the host's name", "Further names in etcd's certificates.")
        .reads(|d, f, s| load_balancing::certificate_names(d, f, &mut s.certificates.etcd_names)),
    value("etcd_cert_alt_ips", "list of addresses", "the host's and the loopback's", "Further addresses in etcd's certificates.")
        .reads(|d, f, s| load_balancing::certificate_names(d, f, &mut s.certificates.etcd_names)),
    number("etcd_quota_backend_bytes", "2147483648", "How large etcd's data may become.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.etcd, "quota-backend-bytes")),
    number("etcd_max_request_bytes", "1572864", "How large one write to etcd may be.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.etcd, "max-request-bytes")),
    number("etcd_max_snapshots", "5", "How many snapshots etcd keeps for itself.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.etcd, "max-snapshots")),
    number("etcd_max_wals", "5", "How many files of its journal etcd keeps.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.etcd, "max-wals")),
    word("etcd_log_level", "word", "info", "How much etcd logs.")
        .reads(|d, f, s| values::word(d, f, &mut s.components.etcd, "log-level", &["debug", "info", "warn", "error", "panic", "fatal"])),
    number("etcd_blkio_weight", "none", "How much of the disk's time etcd has.").moot(DOCKER),
    flag("etcd_experimental_initial_corrupt_check", "true", "Whether etcd looks at its data before it begins."),
    word("etcd_experimental_watch_progress_notify_interval", "time", "5s", "How often etcd tells watchers how far it is."),
    flag("etcd_experimental_enable_distributed_tracing", "false", "Tells a collector of OpenTelemetry what etcd does."),
    value("etcd_experimental_distributed_tracing_*", "none", "none", "Which collector that is, and how much it is told.")
        .moot("it is read with etcd_experimental_enable_distributed_tracing only"),
    text("etcd_owner", "root", "Who owns etcd's files.").moot(ROOT),
    text("etcd_cert_group", "root", "Which group owns etcd's certificates.").moot(ROOT),
    text("etcd_script_dir", "none", "Where Kubespray has scripts.").moot("kokctl leaves no scripts on hosts"),
    value("etcd_node_cert_hosts", "list of hosts", "none", "Which hosts get certificates of etcd.")
        .moot("those get one that need one: the members"),
    number("etcd_snapshot_count", "etcd's own, 10000", "After how many changes etcd writes a snapshot.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.etcd, "snapshot-count")),
    number("etcd_heartbeat_interval", "100", "How often the leader makes itself heard, in milliseconds.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.etcd, "heartbeat-interval")),
    number("etcd_election_timeout", "1000", "After how long without it another is elected, in milliseconds.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.etcd, "election-timeout")),
    number("etcd_compaction_retention", "0: the API server compacts every 5 minutes", "How many hours of history etcd keeps.")
        .reads(|d, f, s| values::text(d, f, &mut s.components.etcd, "auto-compaction-retention")),
    word("etcd_metrics", "basic or extensive", "basic", "Which numbers etcd tells about itself.")
        .reads(|d, f, s| values::word(d, f, &mut s.components.etcd, "metrics", &["basic", "extensive"])),
    text("etcd_listen_metrics_urls", "http://127.0.0.1:2381", "Where etcd tells them.")
        .reads(|d, f, s| values::text(d, f, &mut s.components.etcd, "listen-metrics-urls")),
    value("etcd_extra_vars", "map", "{}", "Further settings of etcd.").reads(component::etcd),
    number("etcd_retries", "none", "How often Ansible looks whether etcd answers.").moot("kokctl waits for it with a limit of its own"),
    flag("etcd_events_cluster_enabled", "false", "A second etcd for events.").needed("events would be in the one etcd").instead(EVENTS),
    flag("etcd_events_cluster_setup", "false", "Sets up a second etcd for events.")
        .needed("events would be in the one etcd")
        .instead(EVENTS),
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
    text("etcd_tls_cipher_suites", "etcd's own", "Which ciphers etcd uses.")
        .reads(|d, f, s| values::joined(d, f, &mut s.components.etcd, "cipher-suites")),
    text("etcd_memory_limit", "none", "How much memory etcd may use.").moot(DOCKER),
    text("etcd_cpu_limit", "none", "How much of a processor etcd gets at least.").moot(DOCKER),
    text("kube_etcd_*", "kubeadm's own", "Where the API server finds what it needs for etcd.").moot(KUBEADM),
];
