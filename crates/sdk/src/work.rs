//! Does one delegated step: takes the lease, calls the handler, renews the lease, and reports the result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use serde_json::Value;
use tokio::sync::Notify;

use crate::lease::{self, Claim};
use crate::object::{Object, report, waiting};
use crate::operator::Handler;
use crate::{Delegation, Operator};

/// The delay after a request that failed.
const REQUEST_DELAY: Duration = Duration::from_secs(1);

pub(crate) struct Work<K: Object> {
    pub(crate) operator: Arc<Operator>,
    pub(crate) api: Api<K>,
    pub(crate) name: String,
    pub(crate) step: &'static str,
    pub(crate) handler: Handler,
    /// Notified when the object changes.
    pub(crate) changed: Arc<Notify>,
}

/// What to do about a step now.
enum Next<K> {
    Do(Box<K>),
    WaitUntil(Timestamp),
    Nothing,
}

impl<K: Object> Work<K> {
    /// Returns when the step is reported, or does not wait for an operator any more.
    pub(crate) async fn run(self) {
        loop {
            match self.acquire().await {
                Ok(Next::Do(object)) => {
                    let result = tokio::select! {
                        result = self.attempts(&object) => result,
                        () = self.renew() => continue,
                    };
                    return self.report(&result).await;
                }
                Ok(Next::WaitUntil(time)) => {
                    let delay = Duration::try_from(time.duration_since(Timestamp::now()));
                    tokio::select! {
                        () = tokio::time::sleep(delay.unwrap_or_default()) => {}
                        () = self.changed.notified() => {}
                    }
                }
                Ok(Next::Nothing) => return,
                Err(error) => self.wait_after(&error).await,
            }
        }
    }

    async fn wait_after(&self, error: &kube::Error) {
        // A conflict is how the loser of a race learns of it.
        if !is_conflict(error) {
            let (object, step) = (&self.name, self.step);
            tracing::warn!(object, step, error = %error, "request is repeated");
            tokio::time::sleep(REQUEST_DELAY).await;
        }
    }

    async fn acquire(&self) -> Result<Next<K>, kube::Error> {
        let Some(object) = self.api.get_opt(&self.name).await? else {
            return Ok(Next::Nothing);
        };
        let now = Timestamp::now();
        let (holder, duration) = (&self.operator.holder, self.operator.lease);
        match lease::claim(&object, self.step, holder, now) {
            Claim::NotDelegated => Ok(Next::Nothing),
            Claim::Held(until) => Ok(Next::WaitUntil(until)),
            Claim::Free => {
                let taken = lease::take(&object, self.step, holder, duration, now);
                let object = write(&self.api, &self.name, &taken).await?;
                Ok(Next::Do(Box::new(object)))
            }
        }
    }

    /// Renews the lease; returns when it is lost.
    async fn renew(&self) {
        let mut ticks = tokio::time::interval(self.operator.lease / 3);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            match self.acquire().await {
                Ok(Next::Do(_)) => {}
                Ok(Next::WaitUntil(_) | Next::Nothing) => return,
                // The lease lasts for two more tries.
                Err(error) => self.wait_after(&error).await,
            }
        }
    }

    /// Calls the handler until it succeeds, or failed too often.
    async fn attempts(&self, object: &K) -> Result<(), String> {
        let retry = self.operator.retry;
        let mut delay = retry.initial_delay;
        let mut attempt = 1;
        loop {
            let result = match self.delegation(object, attempt).await {
                Ok(delegation) => self.call(delegation).await,
                Err(error) => Err(error.to_string()),
            };
            let Err(message) = result else { return Ok(()) };
            let (object, step) = (&self.name, self.step);
            tracing::warn!(object, step, attempt, message, "step failed");
            if attempt >= retry.attempts {
                return Err(message);
            }
            tokio::time::sleep(delay.min(retry.max_delay)).await;
            delay = delay.saturating_mul(2);
            attempt += 1;
        }
    }

    /// A handler that panics has failed.
    async fn call(&self, delegation: Delegation) -> Result<(), String> {
        let call = AssertUnwindSafe(async { (self.handler)(delegation).await });
        let result = call.catch_unwind().await;
        result.unwrap_or_else(|_| Err("the handler panicked".to_owned()))
    }

    async fn delegation(&self, object: &K, attempt: u32) -> Result<Delegation, kube::Error> {
        let client = self.operator.client.clone();
        let clusters: Api<Cluster> = Api::all(client.clone());
        let cluster = clusters.get(object.cluster()).await?;
        let is_machine = K::kind(&()) == <Machine as kube::Resource>::kind(&());
        let machine = if is_machine {
            Some(machine(&client, &self.name).await?)
        } else {
            None
        };
        let task = waiting(object, self.step);
        Ok(Delegation {
            step: self.step,
            cluster,
            machine,
            attempt,
            deadline: task.and_then(|task| task.deadline.clone()),
            client,
        })
    }

    /// Reports the result, unless the step does not wait for it any more.
    async fn report(&self, result: &Result<(), String>) {
        loop {
            let reported = async {
                let object = self.api.get_opt(&self.name).await?;
                let Some(object) = object.filter(|it| waiting(it, self.step).is_some()) else {
                    return Ok(());
                };
                // Times of conditions have seconds.
                let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default();
                let patch = report(&object, self.step, result, &now.to_string());
                write(&self.api, &self.name, &patch).await.map(drop)
            };
            match reported.await {
                Ok(()) => return,
                Err(error) => self.wait_after(&error).await,
            }
        }
    }
}

async fn machine(client: &Client, name: &str) -> Result<Machine, kube::Error> {
    let api: Api<Machine> = Api::all(client.clone());
    api.get(name).await
}

/// Lets another replica take the lease of a step.
pub(crate) async fn release<K: Object>(operator: Arc<Operator>, name: String, step: &'static str) {
    let api: Api<K> = Api::all(operator.client.clone());
    for _ in 0..10 {
        let Ok(Some(object)) = api.get_opt(&name).await else {
            return;
        };
        let Some(patch) = lease::release(&object, step, &operator.holder) else {
            return;
        };
        match write(&api, &name, &patch).await {
            Err(error) if is_conflict(&error) => {}
            _ => return,
        }
    }
}

async fn write<K: Object>(api: &Api<K>, name: &str, patch: &Value) -> Result<K, kube::Error> {
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}
