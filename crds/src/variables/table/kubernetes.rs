//! Variables of Kubernetes as a whole.

use crate::variables::read::kubeadm;
use crate::variables::row::{Variable, flag, number, text, value, word};

const OWN_PATHS: (&str, &str) = ("kokctl has its files at places of its own", "leave it out");
const ROOT: &str = "all files belong to root here, and only root reads keys";

pub(super) static ROWS: &[Variable] = &[
    word("kube_version", "version with its patch number", "1.37.1", "The version of Kubernetes, with or without a leading v.")
        .field_of("spec.kubernetesVersion"),
    value(
        "kubeadm_ignore_preflight_errors",
        "list of names of checks",
        "[]",
        "Checks of kubeadm before it begins whose failure is only a warning.",
    )
    .reads(kubeadm::kubeadm_ignore_preflight_errors),
    flag("ignore_assert_errors", "false", "Goes on although an assumption of Kubespray does not hold.").only(
        &["true", "false"],
        "it makes a notice of an even number of etcd members, and of nothing else: what kokctl refuses, it cannot do",
        "leave it out",
    ),
    text("bin_dir", "/usr/local/bin", "Where the programs of Kubernetes lie.").only(&["/usr/local/bin"], OWN_PATHS.0, OWN_PATHS.1),
    text("kube_config_dir", "/etc/kubernetes", "Where the configuration of Kubernetes lies.").only(
        &["/etc/kubernetes"],
        OWN_PATHS.0,
        OWN_PATHS.1,
    ),
    text("kube_cert_dir", "/etc/kubernetes/pki", "Where the certificates of Kubernetes lie.")
        .moot("kokctl has them where kubeadm has them, in /etc/kubernetes/pki"),
    text("kube_manifest_dir", "/etc/kubernetes/manifests", "Where the manifests of static pods lie.")
        .moot("kokctl has them where kubeadm has them"),
    text("kube_script_dir", "none", "Where Kubespray has scripts.").moot("kokctl leaves no scripts on hosts"),
    text("kube_token_dir", "none", "Where Kubespray has tokens.").moot("kokctl leaves no tokens on hosts"),
    text("credentials_dir", "none", "Where Kubespray keeps generated passwords.").moot("kokctl keeps no passwords"),
    text("default_kubelet_config_dir", "none", "Where Kubespray once had the kubelet's configuration.")
        .moot("no Kubernetes of today reads it"),
    text("kube_owner", "root", "Who owns the files of Kubernetes.").moot(ROOT),
    text("kube_cert_group", "root", "Which group owns the certificates.").moot(ROOT),
    number("kube_log_level", "0", "How much the components of Kubernetes log."),
    value("kube_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of all components.")
        .needed("other features make another Kubernetes"),
    value("kubeadm_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of kubeadm.")
        .needed("other features make another cluster"),
    value("kubeadm_patches", "list of target, type and patch", "[]", "Changes of what kubeadm writes.")
        .needed("kubeadm's manifests would not be those that are asked for"),
    text("kubeadm_patches_dir", "none", "Where Kubespray puts kubeadm's patches.").moot("kokctl has no patches"),
    flag("kubeadm_enabled", "true", "Whether kubeadm makes the cluster.").moot("no Kubespray of today reads it; kubeadm always does"),
    word("kubeadm_init_timeout", "time", "without a limit of its own", "How long the first control plane may take.")
        .moot("kokctl waits for what has to become ready, each step with a limit of its own"),
    flag("kubeadm_config_validate_enabled", "true", "Whether kubeadm's configuration is checked before it is used.").moot("it always is"),
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
    flag("kubectl_localhost", "false", "Copies kubectl to the machine that runs the installer.").moot("the bundle has it"),
    text("artifacts_dir", "none", "Where those copies lie.").moot("kokctl copies nothing to the machine that it runs on"),
    flag("volume_cross_zone_attachment", "false", "Whether volumes of other zones may be attached."),
    flag("persistent_volumes_enabled", "false", "Makes storage classes of a cloud."),
    flag("deploy_netchecker", "false", "A check of the network that Kubespray once had.")
        .moot("Kubespray has removed it; kokctl checks the network itself at the end of each run"),
    flag("win_nodes_enabled", "false", "Whether nodes with Windows may join."),
];
