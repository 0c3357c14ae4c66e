//! Adds the reasons of pods to the messages of workloads that are not healthy for some time.

use std::time::Duration;

use outrigger_api::plugin::Phase;

use super::Reconcile;
use crate::observed::{PodInspection, object_text};
use crate::pods;
use crate::release_ref::ClusterRef;

/// How long a workload may be unhealthy before its pods are read. Doubles with each reading: nothing reports when the
/// pods of a workload change.
const FIRST_INSPECTION: Duration = Duration::from_secs(2);
const MAX_INTERVAL: Duration = Duration::from_mins(1);
const TIMEOUT: Duration = Duration::from_secs(5);

impl Reconcile {
    pub(super) async fn explain_unhealthy_workloads(&mut self) {
        let unhealthy = &self.observed.objects.unhealthy;
        let inventory = self.observed.status.inventory.iter();
        let workloads: Vec<_> = inventory
            .filter(|entry| pods::is_workload(entry))
            .map(|entry| (text_of(entry), entry.clone()))
            .filter(|(text, _)| unhealthy.iter().any(|object| object.object == *text))
            .collect();
        if workloads.is_empty() || self.observed.unavailable.is_some() {
            self.retry.pods = None;
            return;
        }
        let now = self.observed.now;
        // A Ready plugin remains Ready while it scales, but not if its pods crash.
        let is_ready = self.observed.status.phase == Phase::Ready;
        let delay = if is_ready {
            Duration::ZERO
        } else {
            FIRST_INSPECTION
        };
        let inspection = self.retry.pods.get_or_insert_with(|| PodInspection {
            count: 0,
            next_at: now + delay,
            reasons: Vec::new(),
        });
        if inspection.next_at <= now {
            inspection.count = inspection.count.saturating_add(1);
            let doublings = inspection.count.min(16) - u32::from(is_ready);
            let interval = FIRST_INSPECTION.saturating_mul(1 << doublings);
            inspection.next_at = now + interval.min(MAX_INTERVAL);
            let cluster = ClusterRef::of(&self.observed.plugin);
            let read = async {
                let client = self.ctx.targets.watch_client(&cluster).await?;
                let mut reasons = Vec::new();
                for (text, workload) in &workloads {
                    let reason = pods::reason(&client, workload).await.ok()?;
                    reasons.extend(reason.map(|reason| (text.clone(), reason)));
                }
                Some(reasons)
            };
            // Reasons are an addition: without them the message is that of the workload.
            if let Ok(Some(reasons)) = tokio::time::timeout(TIMEOUT, read).await {
                inspection.reasons = reasons;
            }
        }
        let next_at = inspection.next_at;
        for (text, reason) in &inspection.reasons {
            let mut objects = self.observed.objects.unhealthy.iter_mut();
            if let Some(object) = objects.find(|object| object.object == *text) {
                object.message = format!("{}: {}", object.message, reason.text);
                object.is_crashing = reason.is_crash;
            }
        }
        self.requeue_by(next_at);
    }
}

fn text_of(entry: &outrigger_api::plugin::InventoryEntry) -> String {
    object_text(&entry.kind, entry.namespace.as_deref(), &entry.name)
}
