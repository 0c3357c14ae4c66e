//! API priority and fairness: flow schemas assign requests to priority levels, each of which has its share of the requests
//! that are executed at the same time. So no client can take all of them, and in a level no flow can.
//!
//! As on the real server, except that a request always takes one seat and that levels do not lend seats to each other.

mod flow_schema;
mod objects;
mod priority_level;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use http::{HeaderMap, HeaderName, HeaderValue};
use outrigger_builtin::fields::as_text;
use serde_json::Value;

pub(crate) use objects::{GROUP, is_mandatory, objects};
pub(crate) use priority_level::{LevelMetrics, Seat};

use crate::auth::{Attributes, UserInfo};
use flow_schema::FlowSchema;
use priority_level::{Limit, PriorityLevel};

/// `--max-requests-inflight` plus `--max-mutating-requests-inflight` of the real server.
const TOTAL_SEATS: u64 = 600;

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// The priority levels and flow schemas in force.
#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    current: RwLock<Arc<Configuration>>,
}

#[derive(Debug, Default)]
struct Configuration {
    /// In the order of their precedence.
    schemas: Vec<FlowSchema>,
    levels: BTreeMap<String, Arc<PriorityLevel>>,
}

/// What a request was assigned to.
#[derive(Debug)]
pub(crate) struct Flow {
    schema: HeaderValue,
    level: Arc<PriorityLevel>,
    /// Requests of the same flow share its seats and its queue.
    key: String,
}

impl FlowControl {
    /// Puts the stored objects in force. Requests that are executed or queued stay so.
    pub(crate) fn configure(&self, schemas: &[Value], levels: &[Value]) {
        let old = self.current();
        let total: u64 = levels.iter().map(priority_level::shares).sum();
        let mut next = Configuration::default();
        for object in levels {
            let name = as_text(&object["metadata"]["name"]);
            let limit = Limit::of(object, TOTAL_SEATS, total);
            let known = old.levels.get(name);
            let known = known.filter(|level| level.uid == header(&object["metadata"]["uid"]));
            let level = match known {
                Some(level) => Arc::clone(level),
                None => Arc::new(PriorityLevel::new(header(&object["metadata"]["uid"]))),
            };
            level.set_limit(limit);
            next.levels.insert(name.to_owned(), level);
        }
        next.schemas = schemas.iter().map(FlowSchema::parse).collect();
        next.schemas.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(next);
    }

    /// The flow of a request; none only if a mandatory object was deleted just now.
    pub(crate) fn classify(&self, user: &UserInfo, attributes: &Attributes<'_>) -> Option<Flow> {
        let current = self.current();
        current.schemas.iter().find_map(|schema| {
            let level = current.levels.get(&schema.level)?;
            schema.matches(user, attributes).then(|| Flow {
                schema: schema.uid.clone(),
                level: Arc::clone(level),
                key: schema.flow_key(user, attributes),
            })
        })
    }

    /// The metrics of all levels, by name.
    pub(crate) fn metrics(&self) -> Vec<(String, LevelMetrics)> {
        let current = self.current();
        let levels = current.levels.iter();
        levels
            .map(|(name, level)| (name.clone(), level.metrics()))
            .collect()
    }

    fn current(&self) -> Arc<Configuration> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Flow {
    /// Waits for a seat; none if the level has too many requests.
    pub(crate) async fn begin(&self) -> Option<Seat> {
        self.level.begin(&self.key).await
    }

    /// Tells the client what its request was assigned to.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        headers.insert(FLOW_SCHEMA_UID, self.schema.clone());
        headers.insert(PRIORITY_LEVEL_UID, self.level.uid.clone());
    }
}

fn header(value: &Value) -> HeaderValue {
    HeaderValue::from_str(as_text(value)).unwrap_or_else(|_| HeaderValue::from_static(""))
}
