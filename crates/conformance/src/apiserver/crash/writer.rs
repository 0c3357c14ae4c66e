//! A writer: creates, replaces and deletes its own objects until the server is killed.

use anyhow::bail;
use bytes::Bytes;
use http::Response;
use serde_json::Value;

use super::ledger::Ledger;
use super::objects;
use crate::client::Client;

/// Objects of each writer.
const OBJECTS: usize = 12;

pub(super) async fn run(number: usize, client: Client, ledger: Ledger) -> anyhow::Result<()> {
    loop {
        let name = format!("load-{number}-{}", fastrand::usize(..OBJECTS));
        let exists = ledger.value(&name).is_some();
        let value = format!("{:016x}", fastrand::u64(..));
        let deletes = exists && fastrand::u8(..) < 50;
        ledger.request(&name, (!deletes).then(|| value.clone()));
        let response = match (exists, deletes) {
            (_, true) => objects::delete(&client, &name).await,
            (true, false) => objects::replace(&client, &name, &value).await,
            (false, false) => objects::create(&client, &name, &value).await,
        };
        // Without a response the server was killed, and the change stays pending.
        let Ok(response) = response else {
            return Ok(());
        };
        acknowledge(&ledger, &name, deletes, &response)?;
    }
}

fn acknowledge(
    ledger: &Ledger,
    name: &str,
    deletes: bool,
    response: &Response<Bytes>,
) -> anyhow::Result<()> {
    if !response.status().is_success() {
        bail!("{name}: {} {:?}", response.status(), response.body());
    }
    if deletes {
        return ledger.acknowledge(name, None);
    }
    let object: Value = serde_json::from_slice(response.body())?;
    ledger.acknowledge(name, Some(objects::parse(&object)?))
}
