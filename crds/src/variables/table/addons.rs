//! Variables of addons.

use crate::variables::row::{Variable, flag, text, value};

const OFF: &str = "it belongs to an addon that this version does not install";

pub(super) static ROWS: &[Variable] = &[
    flag("metrics_server_enabled", "false", "Installs metrics-server."),
    flag("helm_enabled", "false", "Installs helm on control planes."),
    flag("local_path_provisioner_enabled", "false", "Installs a storage class of folders of nodes."),
    flag("local_volume_provisioner_enabled", "false", "Installs a storage class of disks of nodes."),
    flag("registry_enabled", "false", "Installs a registry in the cluster."),
    flag("cert_manager_enabled", "false", "Installs cert-manager."),
    flag("node_feature_discovery_enabled", "false", "Installs node-feature-discovery."),
    flag("metallb_enabled", "false", "Installs MetalLB."),
    flag("metallb_speaker_enabled", "false", "Installs MetalLB's speaker.").moot(OFF),
    value("metallb_config", "map", "none", "What MetalLB gives addresses from.").moot(OFF),
    flag("argocd_enabled", "false", "Installs Argo CD."),
    text("argocd_admin_password", "none", "The password of Argo CD's administrator.").moot(OFF).hidden(),
    flag("gateway_api_enabled", "false", "Installs the kinds of the Gateway API."),
    flag("prometheus_operator_crds_enabled", "false", "Installs the kinds of the Prometheus operator."),
    flag("csi_snapshot_controller_enabled", "false", "Installs the controller of snapshots."),
    flag("scheduler_plugins_enabled", "false", "Installs further plugins of the scheduler."),
    flag("ingress_nginx_enabled", "false", "Installs an ingress that Kubespray has removed.")
        .needed("nothing would answer for objects of kind Ingress")
        .instead("leave it out, and install an ingress or a gateway into the cluster with its own chart"),
    flag("dashboard_enabled", "false", "Installs a dashboard that Kubespray has removed.")
        .needed("there would be no dashboard")
        .instead("leave it out, and install a dashboard into the cluster with its own chart"),
    flag("krew_enabled", "false", "Installs krew, which Kubespray has removed.").moot("Kubespray has removed it"),
    text("krew_root_dir", "none", "Where krew is.").moot("Kubespray has removed it"),
    flag("ingress_alb_enabled", "false", "Installs an ingress of AWS."),
    text("ingress_publish_status_address", "none", "A setting of an ingress that Kubespray has removed.").moot(OFF),
    value("metrics_server_*", "none", "none", "A setting of metrics-server.").moot(OFF),
    value("helm_*", "none", "none", "A setting of helm.").moot(OFF),
    value("local_path_provisioner_*", "none", "none", "A setting of that storage class.").moot(OFF),
    value("local_volume_provisioner_*", "none", "none", "A setting of that storage class.").moot(OFF),
    value("registry_*", "none", "none", "A setting of that registry.").moot(OFF),
    value("cert_manager_*", "none", "none", "A setting of cert-manager.").moot(OFF),
    value("node_feature_discovery_*", "none", "none", "A setting of node-feature-discovery.").moot(OFF),
    value("metallb_*", "none", "none", "A setting of MetalLB.").moot(OFF),
    value("argocd_*", "none", "none", "A setting of Argo CD.").moot(OFF).hidden(),
    value("gateway_api_*", "none", "none", "A setting of the Gateway API.").moot(OFF),
    value("ingress_nginx_*", "none", "none", "A setting of an ingress that Kubespray has removed.").moot(OFF),
    value("alb_ingress_*", "none", "none", "A setting of an ingress of AWS.").moot(OFF),
    value("snapshot_controller_*", "none", "none", "A setting of the controller of snapshots.").moot(OFF),
    value("scheduler_plugins_*", "none", "none", "A setting of further plugins of the scheduler.").moot(OFF),
    value("dashboard_*", "none", "none", "A setting of the dashboard.").moot(OFF),
    value("storage_classes", "list", "[]", "Storage classes.").moot("it is read with persistent_volumes_enabled only"),
    text("prometheus_operator_crds_version", "none", "Which kinds those are.").moot(OFF),
    value("snapshot_classes", "list", "none", "Classes of snapshots.").moot("it is read with cinder_csi_enabled only"),
];
