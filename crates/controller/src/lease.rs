//! Who leads when several controllers run? The holder of a Lease, as long as it renews it.
//!
//! [`judge`] is pure. Times of other machines are not compared with ours: a lease has run out when we saw no change of it
//! for as long as it lasts.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

/// How leadership is held.
#[derive(Debug, Clone)]
pub struct Options {
    pub namespace: String,
    pub name: String,
    /// Who we are, different for each process.
    pub identity: String,
    /// How long a leader that says nothing stays the leader.
    pub lasts: Duration,
    /// How often a leader renews, and others look.
    pub every: Duration,
}

impl Options {
    pub fn new(namespace: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: "outrigger-controller".to_owned(),
            identity: identity.into(),
            lasts: Duration::from_secs(15),
            every: Duration::from_secs(2),
        }
    }
}

/// What to do about a lease.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It is ours, or nobody's.
    Take,
    /// Somebody else leads.
    Leave,
}

/// When a state of the lease was seen first.
#[derive(Debug, Clone, Default)]
struct Sighting {
    version: Option<String>,
    since: Option<Instant>,
}

impl Sighting {
    fn see(&mut self, lease: Option<&Lease>, now: Instant) {
        let version = lease.and_then(|lease| lease.metadata.resource_version.clone());
        if self.since.is_none() || version != self.version {
            self.version = version;
            self.since = Some(now);
        }
    }
}

fn judge(lease: Option<&Lease>, seen: &Sighting, identity: &str, now: Instant) -> Verdict {
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
    let Some(holder) = holder.filter(|holder| !holder.is_empty() && *holder != identity) else {
        return Verdict::Take;
    };
    let seconds = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .unwrap_or(15);
    let lasts = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    match seen.since {
        Some(since) if now.duration_since(since) > lasts => {
            tracing::info!(holder, "the lease ran out");
            Verdict::Take
        }
        _ => Verdict::Leave,
    }
}

/// Our hold on the lease.
#[derive(Debug)]
pub(crate) struct Hold {
    api: Api<Lease>,
    options: Options,
    seen: Sighting,
    now: fn() -> Timestamp,
}

impl Hold {
    pub(crate) fn new(client: Client, options: Options, now: fn() -> Timestamp) -> Self {
        Self {
            api: Api::namespaced(client, &options.namespace),
            options,
            seen: Sighting::default(),
            now,
        }
    }

    /// Waits until we lead.
    pub(crate) async fn acquire(&mut self) {
        loop {
            match self.try_take().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::info!(%error, "the lease cannot be had"),
            }
            tokio::time::sleep(self.options.every).await;
        }
    }

    /// Renews until somebody else leads, or the server was away for too long.
    pub(crate) async fn keep(&mut self) {
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(self.options.every).await;
            match self.try_take().await {
                Ok(true) => renewed = Instant::now(),
                Ok(false) => return,
                Err(error) => tracing::info!(%error, "the lease was not renewed"),
            }
            // Others take over after `lasts`; we are to be out by then.
            if renewed.elapsed() + self.options.every > self.options.lasts {
                return;
            }
        }
    }

    /// Lets others take over at once.
    pub(crate) async fn release(&self) {
        let Ok(Some(mut lease)) = self.api.get_opt(&self.options.name).await else {
            return;
        };
        let Some(spec) = lease.spec.as_mut() else {
            return;
        };
        if spec.holder_identity.as_deref() != Some(&self.options.identity) {
            return;
        }
        spec.holder_identity = None;
        spec.lease_duration_seconds = Some(1);
        let result = self
            .api
            .replace(&self.options.name, &PostParams::default(), &lease)
            .await;
        if let Err(error) = result {
            tracing::debug!(%error, "the lease was not given back");
        }
    }

    async fn try_take(&mut self) -> Result<bool, kube::Error> {
        let lease = self.api.get_opt(&self.options.name).await?;
        let now = Instant::now();
        self.seen.see(lease.as_ref(), now);
        if judge(lease.as_ref(), &self.seen, &self.options.identity, now) == Verdict::Leave {
            return Ok(false);
        }
        let parameters = PostParams::default();
        let result = match lease {
            None => {
                let lease = self.renewed(Lease {
                    metadata: ObjectMeta {
                        name: Some(self.options.name.clone()),
                        ..ObjectMeta::default()
                    },
                    spec: None,
                });
                self.api.create(&parameters, &lease).await
            }
            Some(lease) => {
                let lease = self.renewed(lease);
                self.api
                    .replace(&self.options.name, &parameters, &lease)
                    .await
            }
        };
        match result {
            Ok(lease) => {
                self.seen.see(Some(&lease), now);
                Ok(true)
            }
            // Somebody was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn renewed(&self, mut lease: Lease) -> Lease {
        let now = MicroTime((self.now)());
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        if spec.holder_identity.as_deref() != Some(&self.options.identity) {
            spec.acquire_time = Some(now.clone());
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1);
        }
        spec.holder_identity = Some(self.options.identity.clone());
        let seconds = self.options.lasts.as_secs().max(1);
        spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
        spec.renew_time = Some(now);
        lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: Option<&str>) -> Lease {
        Lease {
            metadata: ObjectMeta {
                resource_version: Some("1".to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: holder.map(str::to_owned),
                lease_duration_seconds: Some(10),
                ..LeaseSpec::default()
            }),
        }
    }

    #[test]
    fn a_lease_is_taken_if_it_is_ours_or_nobodys_or_has_not_changed_for_long() {
        let start = Instant::now();
        let mut seen = Sighting::default();
        assert_eq!(judge(None, &seen, "me", start), Verdict::Take);
        assert_eq!(
            judge(Some(&lease(Some("me"))), &seen, "me", start),
            Verdict::Take
        );
        assert_eq!(judge(Some(&lease(None)), &seen, "me", start), Verdict::Take);
        let other = lease(Some("other"));
        seen.see(Some(&other), start);
        assert_eq!(judge(Some(&other), &seen, "me", start), Verdict::Leave);
        let later = start + Duration::from_secs(11);
        assert_eq!(judge(Some(&other), &seen, "me", later), Verdict::Take);
        let mut renewed = other;
        renewed.metadata.resource_version = Some("2".to_owned());
        seen.see(Some(&renewed), later);
        assert_eq!(judge(Some(&renewed), &seen, "me", later), Verdict::Leave);
    }
}
