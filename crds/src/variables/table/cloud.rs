//! Variables of clouds.

use crate::variables::row::{Variable, flag, number, text, value, word};

const CLOUD: &str = "nodes would be without what the cloud's controller does";
const STORAGE: &str = "pods that ask for such storage could not start";
const VOLUMES: &str = "it is read with persistent_volumes_enabled only";
const UNREAD: &str = "it is read with external_cloud_provider only";

// What to do as long as it is not done.
const DRIVER: &str = "leave it out, and install the driver of that storage into the cluster yourself";
const CONTROLLER: &str = "leave it out; volumes need a driver, and services of type LoadBalancer something like MetalLB, both \
installed into the cluster yourself";

pub(super) static ROWS: &[Variable] = &[
    word("cloud_provider", "empty or external", "none", "Whether a cloud's controller finishes nodes.").needed(CLOUD).instead(CONTROLLER),
    word("external_cloud_provider", "name of a cloud", "none", "Which cloud that is.").needed(CLOUD).instead(CONTROLLER),
    text("external_openstack_*", "none", "A setting of OpenStack.").moot(UNREAD).hidden(),
    text("external_vsphere_*", "none", "A setting of vSphere.").moot(UNREAD).hidden(),
    text("external_hcloud_*", "none", "A setting of Hetzner's cloud.").moot(UNREAD).hidden(),
    text("external_oci_*", "none", "A setting of Oracle's cloud.").moot(UNREAD).hidden(),
    text("external_huaweicloud_*", "none", "A setting of Huawei's cloud.").moot(UNREAD).hidden(),
    text("external_*", "none", "A setting of a cloud.").moot(UNREAD).hidden(),
    flag("cinder_csi_enabled", "false", "Storage of OpenStack.").needed(STORAGE).instead(DRIVER),
    value("cinder_*", "none", "none", "A setting of that storage.").moot("it is read with cinder_csi_enabled only").hidden(),
    flag("aws_ebs_csi_enabled", "false", "Storage of AWS.").needed(STORAGE).instead(DRIVER),
    value("aws_ebs_csi_*", "none", "none", "A setting of that storage.").moot("it is read with aws_ebs_csi_enabled only"),
    flag("azure_csi_enabled", "false", "Storage of Azure.").needed(STORAGE).instead(DRIVER),
    value("azure_*", "none", "none", "A setting of Azure.").moot(UNREAD).hidden(),
    flag("gcp_pd_csi_enabled", "false", "Storage of Google's cloud.").needed(STORAGE).instead(DRIVER),
    value("gcp_pd_csi_*", "none", "none", "A setting of that storage.").moot("it is read with gcp_pd_csi_enabled only"),
    flag("vsphere_csi_enabled", "false", "Storage of vSphere.").needed(STORAGE).instead(DRIVER),
    value("vsphere_*", "none", "none", "A setting of that storage.").moot("it is read with vsphere_csi_enabled only").hidden(),
    flag("upcloud_csi_enabled", "false", "Storage of UpCloud.").needed(STORAGE).instead(DRIVER),
    value("upcloud_*", "none", "none", "A setting of that storage.").moot("it is read with upcloud_csi_enabled only").hidden(),
    value("oci_*", "none", "none", "A setting of Oracle's cloud, by its old name.").moot(UNREAD).hidden(),
    value("aws_*", "none", "none", "A setting of AWS, from before clouds had controllers of their own.").moot(UNREAD),
    number("node_volume_attach_limit", "none", "How many volumes of OpenStack a node may have.")
        .moot("it is read with cinder_csi_enabled only"),
    text("gce_node_tags", "none", "Tags of nodes in Google's cloud.").moot(UNREAD),
    value("aws_ebs_availability_zones", "list", "none", "Where that storage is.").moot(VOLUMES),
    value("gcp_pd_*", "none", "none", "A setting of Google's storage.").moot(VOLUMES),
    flag("restrict_az_provisioning", "false", "Whether it is there only.").moot(VOLUMES),
    text("storage_account_type", "none", "Which storage of Azure that is.").moot(VOLUMES),
    flag("expand_persistent_volumes", "false", "Whether volumes may grow.").moot(VOLUMES),
    text("csi_endpoint", "none", "Where the driver of vSphere listens.").moot("it is read with vsphere_csi_enabled only"),
    value("openstack_lbaas_enabled", "boolean", "false", "Load balancers of OpenStack.").moot(UNREAD),
    value("openstack_*", "none", "none", "A setting of OpenStack.").moot(UNREAD).hidden(),
    value("persistent_volumes_*", "none", "none", "A setting of a cloud's storage.").moot(UNREAD),
];
