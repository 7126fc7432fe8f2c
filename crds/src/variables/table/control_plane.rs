//! Variables of the control plane.

use crate::variables::row::{Variable, flag, number, text, value, word};

pub(super) static ROWS: &[Variable] = &[
    number("kube_apiserver_port", "6443", "The port of the API server.").only(&["6443"], "this version has it there", "leave it out"),
    word("kube_apiserver_bind_address", "address", "all", "Where the API server listens.").moot("it listens at all addresses of the host"),
    text("kube_apiserver_address", "the host's address", "The address that the API server tells others.").moot("it is the host's address"),
    text("kube_apiserver_access_address", "the host's address", "The address at which others reach the API server.")
        .moot("it is the host's address"),
    word("kube_apiserver_node_port_range", "range of ports", "30000-32767", "The ports of services of type NodePort."),
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
        .needed("the API server would behave otherwise than asked for"),
    value("kube_kubeadm_controller_extra_args", "map", "{}", "Further options of the controller manager.")
        .needed("the controller manager would behave otherwise than asked for"),
    value("kube_kubeadm_scheduler_extra_args", "map", "{}", "Further options of the scheduler.")
        .needed("the scheduler would behave otherwise than asked for"),
    value("apiserver_extra_volumes", "list", "[]", "Further folders of the API server."),
    value("controller_manager_extra_volumes", "list", "[]", "Further folders of the controller manager."),
    value("scheduler_extra_volumes", "list", "[]", "Further folders of the scheduler."),
    word("kube_controller_node_monitor_grace_period", "time", "50s", "After how long without a sign a node counts as away."),
    word("kube_controller_node_monitor_period", "time", "5s", "How often the controller manager looks at nodes."),
    number("kube_controller_terminated_pod_gc_threshold", "12500", "How many ended pods are kept."),
    word("kube_controller_manager_bind_address", "address", "127.0.0.1", "Where the controller manager tells numbers about itself.")
        .or(&["::1"]),
    word("kube_scheduler_bind_address", "address", "127.0.0.1", "Where the scheduler tells numbers about itself.").or(&["::1"]),
    value("kube_scheduler_config_extra_opts", "map", "{}", "Further configuration of the scheduler.")
        .needed("pods would be placed otherwise than asked for"),
    value("kube_scheduler_profiles", "list", "[]", "Profiles of the scheduler.").needed("pods would be placed otherwise than asked for"),
    flag("kube_profiling", "true", "Whether components tell where they spend their time, to those who may ask."),
];
