//! A plan that is shown, and perhaps approved.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kok_tasks::plan::{Difference, PlanDocument};
use kube::Api;

use super::super::object::{APPROVED_PLAN, Condition};
use super::super::outputs::{ObjectEvent, owner};
use super::super::owned::{Put, put, taken};
use super::{End, OperationLife, Phase};

/// How often it is looked whether somebody has approved it.
const LOOK: Duration = Duration::from_secs(3);
/// A Secret has 1 MiB at the most.
const MOST_BYTES: usize = 768 << 10;
/// Differences that are named.
const MOST_DIFFERENCES: usize = 12;

impl OperationLife {
    /// Keeps a plan where people can read it.
    pub(super) async fn show(&mut self, plan: &PlanDocument) -> Result<(), End> {
        let digest = plan.digest().to_owned();
        let text = serde_json::to_string_pretty(plan).unwrap_or_default();
        let name = self.name_of("plan");
        let place = if text.len() > MOST_BYTES { None } else { Some(format!("{}/{name}", self.home)) };
        if place.is_some() {
            // It tells what is in files of hosts, and more people may read ConfigMaps than those.
            let mut secret = Secret { type_: Some("kokctl.io/plan".to_owned()), ..Secret::default() };
            secret.metadata.name = Some(name.clone());
            secret.metadata.owner_references = Some(vec![owner(&self.found.operation, false)]);
            secret.data = Some([("plan.json".to_owned(), ByteString(text.into_bytes()))].into());
            let api: Api<Secret> = Api::namespaced(self.at.shared.client.clone(), &self.home);
            if self.answered(|| async { put(&api, &secret).await }).await? == Put::Taken {
                return Err(End::failed("NameTaken", taken("secret", &self.home, &name)));
            }
        }
        self.writer.change(|status| status.shown = Some((digest, place)));
        Ok(())
    }

    /// Returns the digest of a plan when somebody has approved it. `before` is the one that was shown before this one.
    pub(super) async fn approved(&mut self, plan: &PlanDocument, before: Option<&PlanDocument>) -> Result<String, End> {
        self.show(plan).await?;
        let digest = plan.digest().to_owned();
        let differences = before.map(|before| before.compare(plan)).unwrap_or_default();
        let mut message = format!("`kubectl annotate {} --overwrite {APPROVED_PLAN}={digest}` approves it", self.at.operation_words());
        let reason = if differences.is_empty() { "AwaitingApproval" } else { "PlanChanged" };
        if !differences.is_empty() {
            let named: Vec<String> = differences.iter().take(MOST_DIFFERENCES).map(Difference::to_string).collect();
            message = format!("{message}; it is another plan than before: {}", named.join("; "));
        }
        self.teller.tell(ObjectEvent::normal(reason, message.clone()));
        self.writer.change(|status| {
            status.phase = Phase::AwaitingApproval;
            status.set(Condition { kind: "Approved", is: false, reason, message });
        });
        // Others may be at work meanwhile.
        self.permit = None;
        loop {
            self.pause(LOOK).await?;
            let Ok(Some(objects)) = self.at.objects().await else { continue };
            if objects.operation.metadata.annotations.unwrap_or_default().get(APPROVED_PLAN) == Some(&digest) {
                break;
            }
        }
        self.take_permit().await?;
        self.writer.change(|status| {
            status.phase = Phase::Planning;
            status.set(Condition { kind: "Approved", is: true, reason: "Approved", message: digest.clone() });
        });
        Ok(digest)
    }
}
