//! Variables of clouds.

use crate::variables::row::{Variable, text, value, word};

const CLOUD: &str = "nodes would be without what the cloud's controller does";
const UNREAD: &str = "it is read with external_cloud_provider only";

pub(super) static ROWS: &[Variable] = &[
    word("cloud_provider", "empty or external", "none", "Whether a cloud's controller finishes nodes.").needed(CLOUD),
    word("external_cloud_provider", "name of a cloud", "none", "Which cloud that is.").needed(CLOUD),
    text("external_openstack_*", "none", "A setting of OpenStack.").moot(UNREAD).hidden(),
    text("external_vsphere_*", "none", "A setting of vSphere.").moot(UNREAD).hidden(),
    text("external_hcloud_*", "none", "A setting of Hetzner's cloud.").moot(UNREAD).hidden(),
    text("external_oci_*", "none", "A setting of Oracle's cloud.").moot(UNREAD).hidden(),
    text("external_huaweicloud_*", "none", "A setting of Huawei's cloud.").moot(UNREAD).hidden(),
    text("external_*", "none", "A setting of a cloud.").moot(UNREAD).hidden(),
    value("cinder_csi_enabled", "boolean", "false", "Storage of OpenStack."),
    value("cinder_*", "none", "none", "A setting of that storage.").moot("it is read with cinder_csi_enabled only").hidden(),
    value("aws_ebs_csi_enabled", "boolean", "false", "Storage of AWS."),
    value("aws_ebs_csi_*", "none", "none", "A setting of that storage.").moot("it is read with aws_ebs_csi_enabled only"),
    value("azure_csi_enabled", "boolean", "false", "Storage of Azure."),
    value("azure_*", "none", "none", "A setting of Azure.").moot(UNREAD).hidden(),
    value("gcp_pd_csi_enabled", "boolean", "false", "Storage of Google's cloud."),
    value("gcp_pd_csi_*", "none", "none", "A setting of that storage.").moot("it is read with gcp_pd_csi_enabled only"),
    value("vsphere_csi_enabled", "boolean", "false", "Storage of vSphere."),
    value("vsphere_*", "none", "none", "A setting of that storage.").moot("it is read with vsphere_csi_enabled only").hidden(),
    value("upcloud_csi_enabled", "boolean", "false", "Storage of UpCloud."),
    value("openstack_lbaas_enabled", "boolean", "false", "Load balancers of OpenStack.").moot(UNREAD),
    value("openstack_*", "none", "none", "A setting of OpenStack.").moot(UNREAD).hidden(),
    value("persistent_volumes_*", "none", "none", "A setting of a cloud's storage.").moot(UNREAD),
];
