//! Waits for a condition of an object with a watch.

use serde_json::Value;

use super::{Client, Error, ResourcePath, WatchEvent};

impl Client {
    /// Waits until the object satisfies a condition; an object that does not exist is `None`. Fails if the server ends
    /// the watch. The caller sets the deadline.
    pub async fn await_condition(
        &self,
        path: &ResourcePath,
        is_met: impl Fn(Option<&Value>) -> bool,
    ) -> Result<(), Error> {
        let all = ResourcePath {
            name: String::new(),
            ..path.clone()
        };
        let has_name = |object: &Value| object["metadata"]["name"] == path.name;
        let (objects, revision) = self.list(&all, "").await?;
        if is_met(objects.iter().find(|object| has_name(object))) {
            return Ok(());
        }
        let mut watch = self.watch(&all, &revision).await?;
        while let Some(change) = watch.next().await? {
            let (object, exists) = match change {
                WatchEvent::Applied(object) => (object, true),
                WatchEvent::Deleted(object) => (object, false),
                WatchEvent::Bookmark(_) => continue,
            };
            if has_name(&object) && is_met(exists.then_some(&object)) {
                return Ok(());
            }
        }
        Err(Error::Service("the watch ended".to_owned()))
    }
}
