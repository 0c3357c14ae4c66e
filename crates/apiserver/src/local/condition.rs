//! Waiting for an object, by a watch.

use serde_json::Value;

use super::{Change, Error, Local, Place};

impl Local {
    /// Waits until the object satisfies a condition; an object that does not exist is `None`. Fails if the server ends
    /// the watch. The caller sets the deadline.
    pub async fn await_condition(
        &self,
        place: &Place,
        is_met: impl Fn(Option<&Value>) -> bool,
    ) -> Result<(), Error> {
        let all = Place {
            name: String::new(),
            ..place.clone()
        };
        let has_name = |object: &Value| object["metadata"]["name"] == place.name;
        let (objects, revision) = self.list(&all, "").await?;
        if is_met(objects.iter().find(|object| has_name(object))) {
            return Ok(());
        }
        let mut watch = self.watch(&all, &revision).await?;
        while let Some(change) = watch.next().await? {
            let (object, exists) = match change {
                Change::Applied(object) => (object, true),
                Change::Deleted(object) => (object, false),
                Change::Bookmark(_) => continue,
            };
            if has_name(&object) && is_met(exists.then_some(&object)) {
                return Ok(());
            }
        }
        Err(Error::Service("the watch ended".to_owned()))
    }
}
