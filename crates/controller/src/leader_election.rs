//! Leader election by a Lease: of several controllers only the holder works, as long as it renews the Lease.
//!
//! Timestamps of other nodes are not compared with the local clock: a lease has expired when it has not changed for its
//! duration, measured locally.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

/// How long a shutdown waits for the release of the lease.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(300);

#[derive(Debug, Clone)]
pub struct Options {
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Identifies this process; must be unique.
    pub identity: String,
    /// How long a leader that does not renew the lease remains the leader.
    pub lease_duration: Duration,
    /// How often the leader renews, and the others try to acquire.
    pub retry_period: Duration,
}

impl Options {
    pub fn new(namespace: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: "outrigger-controller".to_owned(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// The last observed version of the lease, and when it was first observed.
#[derive(Debug, Clone, Default)]
struct LeaseObservation {
    resource_version: Option<String>,
    since: Option<Instant>,
}

impl LeaseObservation {
    fn update(&mut self, lease: Option<&Lease>, now: Instant) {
        let version = lease.and_then(|lease| lease.metadata.resource_version.clone());
        if self.since.is_none() || version != self.resource_version {
            self.resource_version = version;
            self.since = Some(now);
        }
    }
}

/// Whether the lease is ours, free, or expired.
fn can_acquire(
    lease: Option<&Lease>,
    observation: &LeaseObservation,
    identity: &str,
    now: Instant,
) -> bool {
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
    let Some(holder) = holder.filter(|holder| !holder.is_empty() && *holder != identity) else {
        return true;
    };
    let seconds = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .unwrap_or(15);
    let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let is_expired = observation
        .since
        .is_some_and(|since| now.duration_since(since) > duration);
    if is_expired {
        tracing::info!(holder, "lease expired");
    }
    is_expired
}

#[derive(Debug)]
pub(crate) struct LeaderElector {
    api: Api<Lease>,
    options: Options,
    observation: LeaseObservation,
    now: fn() -> Timestamp,
}

impl LeaderElector {
    pub(crate) fn new(client: Client, options: Options, now: fn() -> Timestamp) -> Self {
        Self {
            api: Api::namespaced(client, &options.namespace),
            options,
            observation: LeaseObservation::default(),
            now,
        }
    }

    /// Returns when this process has become the leader.
    pub(crate) async fn acquire(&mut self) {
        loop {
            match self.try_acquire_or_renew().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::info!(%error, "failed to acquire lease"),
            }
            tokio::time::sleep(self.options.retry_period).await;
        }
    }

    /// Renews the lease. Returns when another process leads, or the lease could not be renewed in time.
    pub(crate) async fn renew(&mut self) {
        let mut renewed_at = Instant::now();
        loop {
            tokio::time::sleep(self.options.retry_period).await;
            match self.try_acquire_or_renew().await {
                Ok(true) => renewed_at = Instant::now(),
                Ok(false) => return,
                Err(error) => tracing::info!(%error, "failed to renew lease"),
            }
            // Others may acquire it after `lease_duration`; stop before that.
            if renewed_at.elapsed() + self.options.retry_period > self.options.lease_duration {
                return;
            }
        }
    }

    /// Gives up the lease, so that another process can acquire it at once. Does not wait for a server that is gone.
    pub(crate) async fn release(&self) {
        let released = tokio::time::timeout(RELEASE_TIMEOUT, self.clear_holder()).await;
        if released.is_err() {
            tracing::info!("failed to release lease in time");
        }
    }

    async fn clear_holder(&self) {
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
            tracing::debug!(%error, "failed to release lease");
        }
    }

    /// Returns whether this process is the leader now.
    async fn try_acquire_or_renew(&mut self) -> Result<bool, kube::Error> {
        let lease = self.api.get_opt(&self.options.name).await?;
        let now = Instant::now();
        self.observation.update(lease.as_ref(), now);
        let identity = &self.options.identity;
        if !can_acquire(lease.as_ref(), &self.observation, identity, now) {
            return Ok(false);
        }
        let parameters = PostParams::default();
        let result = match lease {
            None => {
                let new = Lease {
                    metadata: ObjectMeta {
                        name: Some(self.options.name.clone()),
                        ..ObjectMeta::default()
                    },
                    spec: None,
                };
                let lease = held(new, &self.options, (self.now)());
                self.api.create(&parameters, &lease).await
            }
            Some(lease) => {
                let lease = held(lease, &self.options, (self.now)());
                self.api
                    .replace(&self.options.name, &parameters, &lease)
                    .await
            }
        };
        match result {
            Ok(lease) => {
                self.observation.update(Some(&lease), now);
                Ok(true)
            }
            // Another process was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The lease with a process as its holder, renewed now.
fn held(mut lease: Lease, options: &Options, now: Timestamp) -> Lease {
    let now = MicroTime(now);
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if spec.holder_identity.as_deref() != Some(&options.identity) {
        spec.acquire_time = Some(now.clone());
        // A larger number would be invalid, and nobody could become the leader.
        let transitions = spec.lease_transitions.unwrap_or(0).max(0);
        spec.lease_transitions = Some(transitions.saturating_add(1));
    }
    spec.holder_identity = Some(options.identity.clone());
    let seconds = options.lease_duration.as_secs().max(1);
    spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
    spec.renew_time = Some(now);
    lease
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
    fn a_lease_can_be_acquired_if_it_is_ours_free_or_expired() {
        let start = Instant::now();
        let mut observation = LeaseObservation::default();
        for lease in [None, Some(lease(Some("me"))), Some(lease(None))] {
            assert!(can_acquire(lease.as_ref(), &observation, "me", start));
        }
        let other = lease(Some("other"));
        observation.update(Some(&other), start);
        assert!(!can_acquire(Some(&other), &observation, "me", start));
        let later = start + Duration::from_secs(11);
        assert!(can_acquire(Some(&other), &observation, "me", later));
        let mut renewed = other;
        renewed.metadata.resource_version = Some("2".to_owned());
        observation.update(Some(&renewed), later);
        assert!(!can_acquire(Some(&renewed), &observation, "me", later));
    }

    #[test]
    fn a_lease_with_numbers_at_their_limits_can_be_acquired_and_expires() {
        let options = Options {
            lease_duration: Duration::MAX,
            ..Options::new("default", "me")
        };
        let limits = [(i32::MIN, 1), (-1, 1), (0, 1), (i32::MAX, i32::MAX)];
        for (transitions, expected) in limits {
            let mut other = lease(Some("other"));
            let spec = other.spec.as_mut().unwrap();
            spec.lease_transitions = Some(transitions);
            spec.lease_duration_seconds = Some(i32::MIN);
            let mut observation = LeaseObservation::default();
            let start = Instant::now();
            observation.update(Some(&other), start);
            let later = start + Duration::from_millis(1);
            assert!(can_acquire(Some(&other), &observation, "me", later));
            let spec = held(other, &options, Timestamp::MAX).spec.unwrap();
            assert_eq!(spec.lease_transitions, Some(expected));
            assert_eq!(spec.lease_duration_seconds, Some(i32::MAX));
        }
    }
}
