//! Variables of the control plane.

use crate::variables::read::{component, control_plane, fixed, load_balancing, pods, values};
use crate::variables::row::{Variable, flag, number, text, value, word};

const PKI: &str = "it is where kubeadm has it";
const WAITS: &str = "kokctl waits for what has to become ready, each step with a limit of its own";
const ADDRESS: &str = "it is the host's address; another one is an error";
const ENDPOINT: &str = "kokctl works it out from the hosts; an address that is no control plane's, nor the node itself, is an error";

pub(super) static ROWS: &[Variable] = &[
    number("kube_apiserver_port", "6443", "The port of the API server.").reads(load_balancing::server_port),
    word("kube_apiserver_bind_address", "address", "::", "Where the API server listens.").only(
        &["::", "0.0.0.0"],
        "this version lets it listen at all addresses of the host",
        "leave it out, and close the others by the host's firewall",
    ),
    text("kube_apiserver_address", "the host's address", "The address that the API server tells others.").follows(ADDRESS),
    text("kube_apiserver_access_address", "the host's address", "The address at which others reach the API server.").follows(ADDRESS),
    value("kube_apiserver_endpoint", "URL", "the control plane's address", "Where nodes reach the API server.").follows(ENDPOINT),
    value("kube_apiserver_global_endpoint", "URL", "the control plane's address", "Where others reach the API server.").follows(ENDPOINT),
    word("kube_apiserver_node_port_range", "range of ports", "30000-32767", "The ports of services of type NodePort.")
        .reads(|d, f, s| control_plane::port_range(d, f, &mut s.components.api_server.options, "service-node-port-range")),
    word("event_ttl_duration", "time", "1h0m0s", "How long events are kept.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.api_server.options, "event-ttl")),
    word("kube_apiserver_request_timeout", "time", "1m0s", "How long a request may take.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.api_server.options, "request-timeout")),
    flag("kube_apiserver_service_account_lookup", "true", "Whether tokens of deleted service accounts are refused.").only(
        &["true"],
        "else a deleted account could go on",
        "leave it out",
    ),
    number("kube_apiserver_pod_eviction_not_ready_timeout_seconds", "300", "After how many seconds pods leave a node that is not ready.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.api_server.options, "default-not-ready-toleration-seconds")),
    number("kube_apiserver_pod_eviction_unreachable_timeout_seconds", "300", "After how many seconds pods leave a node that is away.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.api_server.options, "default-unreachable-toleration-seconds")),
    value("kube_kubeadm_apiserver_extra_args", "map", "{}", "Further options of the API server.")
        .reads(|d, f, s| component::options(d, f, &mut s.components.api_server.options, fixed::API_SERVER)),
    value("kube_kubeadm_controller_extra_args", "map", "{}", "Further options of the controller manager.")
        .reads(|d, f, s| component::options(d, f, &mut s.components.controller_manager.options, fixed::CONTROLLER_MANAGER)),
    value("kube_kubeadm_scheduler_extra_args", "map", "{}", "Further options of the scheduler.")
        .reads(|d, f, s| component::options(d, f, &mut s.components.scheduler.options, fixed::SCHEDULER)),
    value("apiserver_extra_volumes", "map", "{}", "Further folders of the API server.")
        .reads(|d, f, s| pods::volumes(d, f, &mut s.components.api_server.volumes)),
    value("controller_manager_extra_volumes", "map", "{}", "Further folders of the controller manager.")
        .reads(|d, f, s| pods::volumes(d, f, &mut s.components.controller_manager.volumes)),
    value("scheduler_extra_volumes", "map", "{}", "Further folders of the scheduler.")
        .reads(|d, f, s| pods::volumes(d, f, &mut s.components.scheduler.volumes)),
    word("kube_controller_node_monitor_grace_period", "time", "50s", "After how long without a sign a node counts as away.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.controller_manager.options, "node-monitor-grace-period")),
    word("kube_controller_node_monitor_period", "time", "5s", "How often the controller manager looks at nodes.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.controller_manager.options, "node-monitor-period")),
    number("kube_controller_terminated_pod_gc_threshold", "12500", "How many ended pods are kept.")
        .reads(|d, f, s| values::count(d, f, &mut s.components.controller_manager.options, "terminated-pod-gc-threshold")),
    word("kube_controller_manager_bind_address", "address", "127.0.0.1", "Where the controller manager tells numbers about itself.")
        .reads(|d, f, s| values::address(d, f, &mut s.components.controller_manager.options, "bind-address")),
    word("kube_scheduler_bind_address", "address", "127.0.0.1", "Where the scheduler tells numbers about itself.")
        .reads(|d, f, s| values::address(d, f, &mut s.components.scheduler.options, "bind-address")),
    value("kube_scheduler_config_extra_opts", "map", "{}", "Further configuration of the scheduler.")
        .reads(|d, f, s| values::entries(d, f, &mut s.components.scheduler_configuration, fixed::SCHEDULER_CONFIGURATION)),
    value("kube_scheduler_profiles", "list", "[]", "Profiles of the scheduler.")
        .reads(|d, f, s| values::some_items(d, f, &mut s.components.scheduler_configuration, "profiles")),
    flag("kube_profiling", "true", "Whether components tell where they spend their time, to those who may ask.")
        .reads(control_plane::profiling),
    flag("kube_api_aggregator_routing", "false", "Whether requests to further API servers go to their pods directly.")
        .reads(|d, f, s| values::flag(d, f, &mut s.components.api_server.options, "enable-aggregator-routing")),
    value("kube_api_runtime_config", "list of name=true or name=false", "[]", "Which APIs are switched on or off.")
        .reads(|d, f, s| values::joined(d, f, &mut s.components.api_server.options, "runtime-config")),
    word("kube_apiserver_storage_backend", "etcd3", "etcd3", "Where the API server keeps everything.").only(
        &["etcd3"],
        "there is no other",
        "leave it out",
    ),
    word("kube_apiserver_etcd_compaction_interval", "time", "5m0s", "How often the API server tidies up etcd.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.api_server.options, "etcd-compaction-interval")),
    flag("kube_apiserver_tracing", "false", "Tells a collector of OpenTelemetry what the API server does.")
        .reads(|d, f, s| values::switch(d, f, &mut s.security.tracing)),
    text("kube_apiserver_tracing_endpoint", "none", "Address and port of that collector.")
        .reads(|d, f, s| values::text(d, f, &mut s.security.tracing.values, "endpoint"))
        .beside("kube_apiserver_tracing", |s| s.security.tracing.enabled),
    number("kube_apiserver_tracing_sampling_rate_per_million", "0", "How many of a million requests are told.")
        .reads(|d, f, s| values::number(d, f, &mut s.security.tracing.values, "samplingRatePerMillion", 0..=1_000_000))
        .beside("kube_apiserver_tracing", |s| s.security.tracing.enabled),
    text("kube_apiserver_client_cert", "/etc/kubernetes/pki/ca.crt", "Where the authority of clients lies.").moot(PKI),
    text("kube_apiserver_client_key", "/etc/kubernetes/pki/ca.key", "Where the key of that authority lies.").moot(PKI),
    word(
        "kubelet_preferred_address_types",
        "names with commas",
        "InternalIP,ExternalIP,Hostname",
        "At which address the API server asks a kubelet.",
    )
    .reads(|d, f, s| values::joined(d, f, &mut s.components.api_server.options, "kubelet-preferred-address-types")),
    flag("kube_controller_manager_allocate_node_cidrs", "true", "Whether nodes get shares of the pods' range.")
        .reads(|d, f, s| s.node_shares = d.boolean(f).unwrap_or(s.node_shares)),
    word("kube_controller_manager_leader_elect_lease_duration", "time", "15s", "How long a leader of several controller managers counts.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.controller_manager.options, "leader-elect-lease-duration")),
    word("kube_controller_manager_leader_elect_renew_deadline", "time", "10s", "How long it may take for making itself heard.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.controller_manager.options, "leader-elect-renew-deadline")),
    word("kube_scheduler_leader_elect_lease_duration", "time", "15s", "How long a leader of several schedulers counts.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.scheduler.options, "leader-elect-lease-duration")),
    word("kube_scheduler_leader_elect_renew_deadline", "time", "10s", "How long it may take for making itself heard.")
        .reads(|d, f, s| values::time(d, f, &mut s.components.scheduler.options, "leader-elect-renew-deadline")),
    value("kube_scheduler_leader_elect_extra_opts", "map", "{}", "More about that leader.")
        .reads(|d, f, s| values::within(d, f, &mut s.components.scheduler_configuration, "leaderElection")),
    value("kube_scheduler_client_conn_extra_opts", "map", "{}", "How the scheduler speaks to the API server.")
        .reads(|d, f, s| values::within(d, f, &mut s.components.scheduler_configuration, "clientConnection")),
    value("kube_scheduler_extenders", "list", "[]", "Servers that the scheduler asks.")
        .reads(|d, f, s| values::some_items(d, f, &mut s.components.scheduler_configuration, "extenders")),
    number("control_plane_health_retries", "none", "How often Ansible looks whether the control plane is well.").moot(WAITS),
    number("control_plane_node_become_ready_tries", "none", "How often Ansible looks whether the node is ready.").moot(WAITS),
];
