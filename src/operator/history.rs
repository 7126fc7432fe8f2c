//! How many operations are kept that have ended: what kube-on-kube's and kubean's own ConfigMap says, or else an option.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use tokio::time::timeout;

use super::group::Group;
use super::shared::Shared;
use super::status::ANSWER;

/// The key of the ConfigMap.
const LIMIT: &str = "CLUSTER_OPERATIONS_BACKEND_LIMIT";
/// More are never kept, as there.
const MOST: usize = 200;

/// The limits that ConfigMaps say, of the groups of which that was read.
#[derive(Debug, Clone, Default)]
pub(super) struct History(Arc<Mutex<BTreeMap<Group, Option<usize>>>>);

/// What a ConfigMap says; nothing for what is no number, or none of operations.
fn limit(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|limit| *limit > 0).map(|limit: usize| limit.min(MOST))
}

impl History {
    /// How many are kept of a group, where an option says so many; nothing as long as it is not known what its ConfigMap says.
    pub(super) fn limit_for(&self, group: Group, option: usize) -> Option<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&group).map(|limit| limit.unwrap_or(option))
    }

    fn take(&self, group: Group, limit: Option<usize>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(group, limit);
    }

    /// Reads what the ConfigMaps in the operator's own namespace say now. What can't be read stays as it was.
    pub(super) async fn read(&self, shared: &Shared) {
        let api: Api<ConfigMap> = Api::namespaced(shared.client.clone(), &shared.own);
        for group in &shared.settings.groups {
            let Ok(Ok(found)) = timeout(ANSWER, api.get_opt(&format!("{}-config", group.label()))).await else { continue };
            let kept = found.and_then(|map| limit(map.data?.get(LIMIT)?));
            self.take(*group, kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_operations() {
        assert_eq!(["5", " 7\n", "0", "-1", "many", "1000"].map(limit), [Some(5), Some(7), None, None, None, Some(200)]);
        let history = History::default();
        assert_eq!(history.limit_for(Group::Kubean, 30), None, "nothing is forgotten before that is known");
        history.take(Group::Kubean, None);
        assert_eq!((history.limit_for(Group::Kubean, 30), history.limit_for(Group::KubeOnKube, 30)), (Some(30), None));
        history.take(Group::Kubean, Some(5));
        assert_eq!(history.limit_for(Group::Kubean, 30), Some(5));
    }
}
