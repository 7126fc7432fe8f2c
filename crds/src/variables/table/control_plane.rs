//! Variables of the control plane.

use crate::variables::row::{Variable, flag, number, text, value, word};

const PKI: &str = "it is where kubeadm has it";
const WAITS: &str = "kokctl waits for what has to become ready, each step with a limit of its own";
const ADDRESS: &str = "it is the host's address; another one is an error";
const ENDPOINT: &str = "kokctl works it out from the hosts; an address that is no control plane's, nor the node itself, is an error";

// What to do as long as it is not done.
const EXTRA: &str = "leave it out if it may run as kubeadm sets it up; else wait for a version that does it";
const VOLUMES: &str = "leave it out, together with the options that need it";
const SCHEDULER: &str = "leave it out, and run a scheduler of your own beside the cluster's for these pods";

pub(super) static ROWS: &[Variable] = &[
    number("kube_apiserver_port", "6443", "The port of the API server.").only(&["6443"], "this version has it there", "leave it out"),
    word("kube_apiserver_bind_address", "address", "::", "Where the API server listens.").only(
        &["::", "0.0.0.0"],
        "this version lets it listen at all addresses of the host",
        "leave it out, and close the others by the host's firewall",
    ),
    text("kube_apiserver_address", "the host's address", "The address that the API server tells others.").moot(ADDRESS),
    text("kube_apiserver_access_address", "the host's address", "The address at which others reach the API server.").moot(ADDRESS),
    value("kube_apiserver_endpoint", "URL", "the control plane's address", "Where nodes reach the API server.").moot(ENDPOINT),
    value("kube_apiserver_global_endpoint", "URL", "the control plane's address", "Where others reach the API server.").moot(ENDPOINT),
    word("kube_apiserver_node_port_range", "range of ports", "30000-32767", "The ports of services of type NodePort.")
        .needed("services could not have the ports that are asked for")
        .instead("leave it out, and give services ports from 30000 to 32767"),
    word("event_ttl_duration", "time", "1h0m0s", "How long events are kept.").or(&["1h", "60m"]),
    word("kube_apiserver_request_timeout", "time", "1m0s", "How long a request may take.").or(&["1m", "60s"]),
    flag("kube_apiserver_service_account_lookup", "true", "Whether tokens of deleted service accounts are refused.").only(
        &["true"],
        "else a deleted account could go on",
        "leave it out",
    ),
    number("kube_apiserver_pod_eviction_not_ready_timeout_seconds", "300", "After how many seconds pods leave a node that is not ready."),
    number("kube_apiserver_pod_eviction_unreachable_timeout_seconds", "300", "After how many seconds pods leave a node that is away."),
    value("kube_kubeadm_apiserver_extra_args", "map", "{}", "Further options of the API server.")
        .needed("the API server would behave otherwise than asked for")
        .instead(EXTRA),
    value("kube_kubeadm_controller_extra_args", "map", "{}", "Further options of the controller manager.")
        .needed("the controller manager would behave otherwise than asked for")
        .instead(EXTRA),
    value("kube_kubeadm_scheduler_extra_args", "map", "{}", "Further options of the scheduler.")
        .needed("the scheduler would behave otherwise than asked for")
        .instead(EXTRA),
    value("apiserver_extra_volumes", "map", "{}", "Further folders of the API server.")
        .needed("the API server would lack what its further options need")
        .instead(VOLUMES),
    value("controller_manager_extra_volumes", "map", "{}", "Further folders of the controller manager.")
        .needed("the controller manager would lack what its further options need")
        .instead(VOLUMES),
    value("scheduler_extra_volumes", "map", "{}", "Further folders of the scheduler.")
        .needed("the scheduler would lack what its further options need")
        .instead(VOLUMES),
    word("kube_controller_node_monitor_grace_period", "time", "50s", "After how long without a sign a node counts as away."),
    word("kube_controller_node_monitor_period", "time", "5s", "How often the controller manager looks at nodes."),
    number("kube_controller_terminated_pod_gc_threshold", "12500", "How many ended pods are kept."),
    word("kube_controller_manager_bind_address", "address", "127.0.0.1", "Where the controller manager tells numbers about itself.")
        .or(&["::1"]),
    word("kube_scheduler_bind_address", "address", "127.0.0.1", "Where the scheduler tells numbers about itself.").or(&["::1"]),
    value("kube_scheduler_config_extra_opts", "map", "{}", "Further configuration of the scheduler.")
        .needed("pods would be placed otherwise than asked for")
        .instead(SCHEDULER),
    value("kube_scheduler_profiles", "list", "[]", "Profiles of the scheduler.")
        .needed("pods would be placed otherwise than asked for")
        .instead(SCHEDULER),
    flag("kube_profiling", "true", "Whether components tell where they spend their time, to those who may ask.")
        .usually(&["false"])
        .needed("components would tell more than they are to tell")
        .instead("leave it out: who asks needs a right to it"),
    flag("kube_api_aggregator_routing", "false", "Whether requests to further API servers go to their pods directly.")
        .needed("they would go by the addresses of services")
        .instead("leave it out: they get there by the address of their service as well"),
    value("kube_api_runtime_config", "list of name=true or name=false", "[]", "Which APIs are switched on or off.")
        .needed("other APIs would be there than are asked for")
        .instead("leave it out, and use the APIs that are on by default: `kubectl api-versions` lists them"),
    word("kube_apiserver_storage_backend", "etcd3", "etcd3", "Where the API server keeps everything.").only(
        &["etcd3"],
        "there is no other",
        "leave it out",
    ),
    word("kube_apiserver_etcd_compaction_interval", "time", "5m0s", "How often the API server tidies up etcd.").or(&["5m"]),
    flag("kube_apiserver_tracing", "false", "Tells a collector of OpenTelemetry what the API server does."),
    text("kube_apiserver_tracing_*", "none", "Which collector that is, and how much it is told.")
        .moot("it is read with kube_apiserver_tracing only"),
    text("kube_apiserver_client_cert", "/etc/kubernetes/pki/ca.crt", "Where the authority of clients lies.").moot(PKI),
    text("kube_apiserver_client_key", "/etc/kubernetes/pki/ca.key", "Where the key of that authority lies.").moot(PKI),
    word(
        "kubelet_preferred_address_types",
        "names with commas",
        "InternalIP,ExternalIP,Hostname",
        "At which address the API server asks a kubelet.",
    ),
    flag("kube_controller_manager_allocate_node_cidrs", "true", "Whether nodes get shares of the pods' range.").only(
        &["true"],
        "flannel needs them",
        "leave it out",
    ),
    word("kube_controller_manager_leader_elect_lease_duration", "time", "15s", "How long a leader of several controller managers counts."),
    word("kube_controller_manager_leader_elect_renew_deadline", "time", "10s", "How long it may take for making itself heard."),
    word("kube_scheduler_leader_elect_lease_duration", "time", "15s", "How long a leader of several schedulers counts."),
    word("kube_scheduler_leader_elect_renew_deadline", "time", "10s", "How long it may take for making itself heard."),
    value("kube_scheduler_leader_elect_extra_opts", "map", "{}", "More about that leader."),
    value("kube_scheduler_client_conn_extra_opts", "map", "{}", "How the scheduler speaks to the API server."),
    value("kube_scheduler_extenders", "list", "[]", "Servers that the scheduler asks.")
        .needed("pods would be placed otherwise than asked for")
        .instead(SCHEDULER),
    number("control_plane_health_retries", "none", "How often Ansible looks whether the control plane is well.").moot(WAITS),
    number("control_plane_node_become_ready_tries", "none", "How often Ansible looks whether the node is ready.").moot(WAITS),
];
