//! Variables of Kubernetes as a whole.

use crate::variables::read::{component, control_plane, kubeadm, pods};
use crate::variables::row::{Variable, flag, number, text, value, word};

const OWN_PATHS: (&str, &str) = ("kokctl has its files at places of its own", "leave it out");
const PHASES: &str = "kubeadm would do what it is to leave out";
const WAITS: &str = "kokctl waits for what has to become ready, each step with a limit of its own";

// What to do as long as it is not done.
const ALL_PHASES: &str = "leave it out, and take what kubeadm installs";

pub(super) static ROWS: &[Variable] = &[
    word("kube_version", "version with its patch number", "1.37.1", "The version of Kubernetes, with or without a leading v.")
        .field_of("spec.kubernetesVersion"),
    value(
        "kubeadm_ignore_preflight_errors",
        "list of names of checks",
        "[]",
        "Checks of kubeadm before it begins whose failure is only a warning; `all` for all of them.",
    )
    .reads(kubeadm::kubeadm_ignore_preflight_errors),
    flag("ignore_assert_errors", "false", "Goes on although an assumption of Kubespray does not hold.")
        .decides("an even number of etcd members is a notice and no error, and nothing else changes: what kokctl refuses, it cannot do"),
    text("bin_dir", "/usr/local/bin", "Where the programs of Kubernetes lie.").only(&["/usr/local/bin"], OWN_PATHS.0, OWN_PATHS.1),
    text("kube_config_dir", "/etc/kubernetes", "Where the configuration of Kubernetes lies.").only(
        &["/etc/kubernetes"],
        OWN_PATHS.0,
        OWN_PATHS.1,
    ),
    text("kube_cert_dir", "/etc/kubernetes/pki", "Where the certificates of Kubernetes lie; with kokctl always there."),
    text("kube_manifest_dir", "/etc/kubernetes/manifests", "Where the manifests of static pods lie; with kokctl always there."),
    text("kube_script_dir", "none", "Where Kubespray has scripts.").moot("kokctl leaves no scripts on hosts"),
    text("kube_token_dir", "none", "Where Kubespray has tokens.").moot("kokctl leaves no tokens on hosts"),
    text("credentials_dir", "none", "Where Kubespray keeps generated passwords.").moot("kokctl keeps no passwords"),
    text("default_kubelet_config_dir", "none", "Where Kubespray once had the kubelet's configuration.")
        .moot("no Kubernetes of today reads it"),
    text("kube_owner", "root", "Who owns the files of Kubernetes."),
    text("kube_cert_group", "root", "Which group owns the certificates."),
    number("kube_log_level", "0", "How much the components of Kubernetes log.").reads(control_plane::log_level),
    value("kube_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of all components.")
        .reads(|d, f, s| component::gates(d, f, &mut s.components.feature_gates.all)),
    value("kube_apiserver_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of the API server.")
        .reads(|d, f, s| component::gates(d, f, &mut s.components.feature_gates.api_server)),
    value("kube_controller_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of the controller manager.")
        .reads(|d, f, s| component::gates(d, f, &mut s.components.feature_gates.controller_manager)),
    value("kube_scheduler_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of the scheduler.")
        .reads(|d, f, s| component::gates(d, f, &mut s.components.feature_gates.scheduler)),
    value("kube_proxy_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of kube-proxy.")
        .reads(|d, f, s| component::gates(d, f, &mut s.components.feature_gates.kube_proxy)),
    value("kubeadm_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of kubeadm.")
        .reads(|d, f, s| component::gates(d, f, &mut s.components.feature_gates.kubeadm)),
    value("kubeadm_patches", "list of target, type and patch", "[]", "Changes of what kubeadm writes.").reads(pods::patches),
    text("kubeadm_patches_dir", "none", "Where Kubespray puts kubeadm's patches.").moot("kokctl has them below /etc/kubernetes/kokctl"),
    flag("kubeadm_enabled", "true", "Whether kubeadm makes the cluster.").moot("no Kubespray of today reads it; kubeadm always does"),
    word("kubeadm_init_timeout", "time", "without a limit of its own", "How long the first control plane may take.").moot(WAITS),
    flag("kubeadm_config_validate_enabled", "true", "Whether kubeadm's configuration is checked before it is used.")
        .moot("it always is: by `kubeadm config validate`, before a host becomes a control plane"),
    value("kubeadm_init_phases_skip*", "list of phases", "[]", "What kubeadm leaves out on the first control plane.")
        // As a list, and as the text that Kubespray's own template becomes.
        .or(&["[addon/coredns]", "['addon/coredns']", r#"["addon/coredns"]"#])
        .needed(PHASES)
        .instead(ALL_PHASES),
    value("kubeadm_join_phases_skip*", "list of phases", "[]", "What kubeadm leaves out on the others.").needed(PHASES).instead(ALL_PHASES),
    value("kubeadm_upgrade_node_phases_skip*", "list of phases", "[]", "What kubeadm leaves out at upgrades.")
        .moot("an upgrade runs phases of `kubeadm init`, and none of `kubeadm upgrade`"),
    word("kubeadm_join_timeout", "time", "without a limit of its own", "How long joining may take.").moot(WAITS),
    word("discovery_timeout", "time", "without a limit of its own", "How long a node looks for the cluster.").moot(WAITS),
    flag("kubeadm_refresh_token", "true", "Whether each run makes a token of its own.")
        .moot("kokctl makes one for each run, which lives minutes"),
    flag("kubeadm_use_file_discovery", "true", "Whether nodes learn the cluster's authority from a file.").moot("they always do, over SSH"),
    flag("kubeadm_scale_down_coredns_enabled", "none", "Whether Kubespray stops kubeadm's own CoreDNS.").moot("it is the one that is used"),
    flag("kubeadm_image_pull_serial", "none", "Whether kubeadm fetches images one after the other.").moot("kubeadm fetches none here"),
    value("kubeadm_images", "map", "none", "Images that kubeadm wants.").moot("the bundle has them"),
    text("kubeadm_token", "made for each run", "The token by which nodes join.")
        .moot("kokctl makes one for each run, which lives minutes")
        .hidden(),
    text("kubeadm_certificate_key", "none", "The key by which control planes hand certificates to each other.")
        .moot("certificates go to each control plane over SSH, and never through the cluster")
        .hidden(),
    flag("kubeconfig_localhost", "false", "Copies the administrator's kubeconfig to the machine that runs the installer.")
        .moot("`kokctl kubeconfig` prints it at any time"),
    text("kubeconfig_localhost_ansible_host", "false", "Which address that kubeconfig has.")
        .moot("`kokctl kubeconfig` prints it at any time"),
    text("kubectl_alias", "none", "A short name of kubectl in the shells of control planes."),
    flag("kubectl_localhost", "false", "Copies kubectl to the machine that runs the installer.").moot("the bundle has it"),
    text("artifacts_dir", "none", "Where those copies lie.").moot("kokctl copies nothing to the machine that it runs on"),
    flag("volume_cross_zone_attachment", "false", "Whether volumes of other zones may be attached."),
    flag("persistent_volumes_enabled", "false", "Makes storage classes of a cloud.")
        .needed("pods that ask for such storage could not start")
        .instead("leave it out, and write storage classes for the driver that you install into the cluster"),
    flag("deploy_netchecker", "false", "A check of the network that Kubespray once had.")
        .moot("Kubespray has removed it; kokctl checks the network itself at the end of each run"),
    flag("win_nodes_enabled", "false", "Whether nodes with Windows may join.")
        .needed("they could not")
        .instead("leave it out, and give the cluster hosts with Linux only"),
    text("kubernetes_user_manifests_path", "none", "Where Kubespray puts manifests for nodes with Windows.")
        .moot("it is read with win_nodes_enabled only"),
    text("kube_cert_compat_dir", "/etc/kubernetes/pki", "Where kubeadm looks for certificates.").moot("kokctl has them there"),
    value("ssl_ca_dirs", "list of paths", "found out", "Where the host has authorities that the API server trusts.")
        .moot("kubeadm finds them itself"),
];
