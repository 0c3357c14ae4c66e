//! One writer: creates, replaces and deletes its own objects until the server is gone.

use anyhow::bail;
use serde_json::Value;

use super::ledger::Ledger;
use super::objects;
use crate::client::{Answer, Client};

/// Names of one writer.
const NAMES: usize = 12;

pub(super) async fn run(number: usize, client: Client, ledger: Ledger) -> anyhow::Result<()> {
    loop {
        let name = format!("load-{number}-{}", fastrand::usize(..NAMES));
        let exists = ledger.value(&name).is_some();
        let value = format!("{:016x}", fastrand::u64(..));
        let deletes = exists && fastrand::u8(..) < 50;
        ledger.ask(&name, (!deletes).then(|| value.clone()));
        let answer = match (exists, deletes) {
            (_, true) => objects::delete(&client, &name).await,
            (true, false) => objects::replace(&client, &name, &value).await,
            (false, false) => objects::create(&client, &name, &value).await,
        };
        // No answer: the server was killed, and what it did is not known.
        let Ok(answer) = answer else { return Ok(()) };
        settle(&ledger, &name, deletes, &answer)?;
    }
}

fn settle(ledger: &Ledger, name: &str, deletes: bool, answer: &Answer) -> anyhow::Result<()> {
    if !answer.status.is_success() {
        bail!("{name}: {} {:?}", answer.status, answer.body);
    }
    if deletes {
        return ledger.acknowledge(name, None);
    }
    let object: Value = serde_json::from_slice(&answer.body)?;
    ledger.acknowledge(name, Some(objects::parse(&object)?))
}
