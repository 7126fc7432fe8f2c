//! Variables that Kubespray has for itself.

use crate::variables::row::{Variable, text, value};

const COMPUTED: &str = "Kubespray computes it itself for its own use";

pub(super) static ROWS: &[Variable] = &[
    text("first_kube_control_plane", "computed", "The first control plane.").moot(COMPUTED),
    text("first_kube_control_plane_address", "computed", "Its address.").moot(COMPUTED),
    text("kube_major_version", "computed", "The version of Kubernetes without its patch number.").moot(COMPUTED),
    text("kube_major_next_version", "computed", "The one after that.").moot(COMPUTED),
    text("kube_next", "computed", "The one after that.").moot(COMPUTED),
    text("kube_version_min_required", "computed", "The oldest version that Kubespray installs.").moot(COMPUTED),
    value("etcd_supported_versions", "map", "computed", "Which etcd belongs to which Kubernetes.").moot("the bundle has it"),
    value("coredns_supported_versions", "map", "computed", "Which CoreDNS belongs to which Kubernetes.").moot("the bundle has it"),
    text("kubectl", "computed", "How Kubespray calls kubectl.").moot(COMPUTED),
    text("kubectl_apply_stdin", "computed", "How Kubespray calls kubectl.").moot(COMPUTED),
    text("server_side_apply", "computed", "How Kubespray calls kubectl.").moot(COMPUTED),
    text("k8s_namespace", "kube-system", "Where Kubespray writes objects.").moot(COMPUTED),
    value("cert_files", "map", "computed", "Certificates that Kubespray copies.").moot(COMPUTED),
    value("coredns_manifests", "list", "computed", "Manifests that Kubespray writes.").moot(COMPUTED),
    text("coredns_server*", "computed", "Addresses of CoreDNS.").moot(COMPUTED),
    value("dns_servers", "list of addresses", "computed", "Addresses of CoreDNS.").moot(COMPUTED),
    value("nameserverentries", "list", "computed", "Name servers that Kubespray writes.").moot(COMPUTED),
    value("configured_nameservers", "list", "computed", "Name servers that Kubespray finds.").moot(COMPUTED),
    value("dhclient_supersede", "map", "computed", "What Kubespray tells dhclient.").moot(COMPUTED),
    value("redhat_os_family_extensions", "list", "computed", "Distributions that are like RHEL.").moot(COMPUTED),
    value("supported_os_distributions", "list", "computed", "Distributions that Kubespray knows.")
        .moot("kokctl warns of distributions that it does not know, and goes on"),
    value("_host_*", "none", "computed", "A table of Kubespray's.").moot(COMPUTED),
    value("_kubectl_*", "none", "computed", "A table of Kubespray's.").moot(COMPUTED),
    value("_nameserverentries", "none", "computed", "A table of Kubespray's.").moot(COMPUTED),
    value("main_ips", "list of addresses", "computed", "All addresses of the host.")
        .moot("Kubespray computes it itself and reads it from nobody"),
    value("main_access_ips", "list of addresses", "computed", "All addresses of the host.")
        .moot("Kubespray computes it itself and reads it from nobody"),
];
