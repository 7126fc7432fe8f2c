//! That fields and rows belong together.

use super::{
    API_ENDPOINT, BACKUP, BACKUP_KEEP, BACKUP_S3, BACKUP_TO, CERTIFICATES, CONTAINER_RUNTIME, ETCD, HOST_RESOURCES, KUBE_RESERVED,
    NODE_LOCAL_DNS, SYSTEM_RESERVED,
};
use crate::variables::variable;

#[test]
fn every_field_that_is_a_variable_has_its_row() {
    for part in [
        API_ENDPOINT,
        BACKUP,
        BACKUP_KEEP,
        BACKUP_S3,
        BACKUP_TO,
        CERTIFICATES,
        CONTAINER_RUNTIME,
        ETCD,
        HOST_RESOURCES,
        KUBE_RESERVED,
        NODE_LOCAL_DNS,
        SYSTEM_RESERVED,
    ] {
        for leaf in part.leaves {
            assert!(part.form.fields.contains(&leaf.name), "{}", leaf.name);
            assert!(variable(leaf.variable).is_some_and(|row| row.name == leaf.variable && !row.is_moot()), "{}", leaf.variable);
        }
    }
    for part in [BACKUP_KEEP, BACKUP_S3, CERTIFICATES, ETCD, CONTAINER_RUNTIME, KUBE_RESERVED, NODE_LOCAL_DNS, SYSTEM_RESERVED] {
        assert_eq!(part.form.fields.len(), part.leaves.len());
    }
}
