//! Operators without a controller: retries, panics, leases, shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kube::Api;
use kube::runtime::wait::await_condition;
use outrigger_api::cluster::Cluster;
use outrigger_api::condition::ConditionStatus;
use outrigger_sdk::harness::Harness;
use outrigger_sdk::{Delegation, Error, Operator, Retry};
use tokio::sync::{Notify, oneshot};

const STEP: &str = "EnsureCilium";
const TIMEOUT: Duration = Duration::from_mins(1);

fn quick(attempts: u32) -> Retry {
    Retry {
        attempts,
        initial_delay: Duration::from_millis(1),
        max_delay: Duration::from_millis(2),
    }
}

fn operator(harness: &Harness) -> Operator {
    Operator::new(harness.client(), "my-operator").retry(quick(3))
}

#[tokio::test]
async fn a_handler_that_fails_is_called_again_and_then_reported() -> anyhow::Result<()> {
    let harness = Harness::start().await?;
    let calls = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&calls);
    let failing = operator(&harness).on(STEP, move |step: Delegation| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Err::<(), _>(format!("no network at attempt {}", step.attempt)) }
    });
    let condition = harness.report_of(failing, STEP).await?;
    assert_eq!(condition.status, ConditionStatus::False);
    assert_eq!(condition.message, "no network at attempt 3");
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    Ok(())
}

#[tokio::test]
async fn a_handler_may_succeed_after_failures_and_panics() -> anyhow::Result<()> {
    let harness = Harness::start().await?;
    let moody = operator(&harness).on(STEP, async |step: Delegation| match step.attempt {
        1 => Err("not yet"),
        2 => panic!("a bug"),
        _ => Ok(()),
    });
    let condition = harness.report_of(moody, STEP).await?;
    assert_eq!(condition.status, ConditionStatus::True, "{condition:?}");
    let api: Api<Cluster> = Api::all(harness.client());
    let status = api.get("harness").await?.status.unwrap_or_default();
    assert_eq!(status.delegations, [], "the lease is released");
    Ok(())
}

#[tokio::test]
async fn steps_of_other_operators_are_left_alone() -> anyhow::Result<()> {
    let harness = Harness::start().await?;
    let (sender, called) = oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let operator = operator(&harness).on(STEP, move |step: Delegation| {
        let sender = sender.lock().unwrap().take().unwrap();
        async move { sender.send(step.cluster_name()) }
    });
    harness.delegate("foreign", STEP, "somebody-else").await?;
    harness.delegate("own", STEP, "my-operator").await?;
    tokio::select! {
        ended = operator.run(std::future::pending()) => ended?,
        cluster = called => assert_eq!(cluster?, "own"),
    }
    Ok(())
}

/// A handler that counts its calls and waits until it is released.
fn waiting(
    calls: &Arc<AtomicU32>,
    begun: &Arc<Notify>,
    release: &Arc<Notify>,
) -> impl Fn(Delegation) -> futures::future::BoxFuture<'static, Result<(), String>> + Send + Sync + 'static
{
    let (calls, begun, release) = (Arc::clone(calls), Arc::clone(begun), Arc::clone(release));
    move |_| {
        let (calls, begun, release) =
            (Arc::clone(&calls), Arc::clone(&begun), Arc::clone(&release));
        Box::pin(async move {
            calls.fetch_add(1, Ordering::SeqCst);
            begun.notify_one();
            release.notified().await;
            Ok(())
        })
    }
}

#[tokio::test]
async fn of_two_replicas_one_does_the_step_and_the_other_takes_over_at_shutdown()
-> anyhow::Result<()> {
    let harness = Harness::start().await?;
    let (calls, begun, release) = (Arc::default(), Arc::default(), Arc::default());
    let replica = || {
        let long = operator(&harness).lease(Duration::from_hours(1));
        long.on(STEP, waiting(&calls, &begun, &release))
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let first = tokio::spawn(replica().run(async { drop(stopped.await) }));
    harness.delegate("a", STEP, "my-operator").await?;
    tokio::time::timeout(TIMEOUT, begun.notified()).await?;
    let second = tokio::spawn(replica().run(std::future::pending()));
    // The first one works on it. When it shuts down, the second one need not wait for the lease to expire.
    let _ = stop.send(());
    tokio::time::timeout(TIMEOUT, first).await???;
    tokio::time::timeout(TIMEOUT, begun.notified()).await?;
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    release.notify_one();
    assert_eq!(
        harness.reported("a", STEP).await?.status,
        ConditionStatus::True
    );
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    second.abort();
    Ok(())
}

#[tokio::test]
async fn a_replica_that_dies_is_replaced_when_its_lease_expires() -> anyhow::Result<()> {
    let harness = Harness::start().await?;
    let (calls, begun, release) = (Arc::default(), Arc::default(), Arc::default());
    let replica = || {
        let short = operator(&harness).lease(Duration::from_secs(1));
        short.on(STEP, waiting(&calls, &begun, &release))
    };
    let first = tokio::spawn(replica().run(std::future::pending()));
    harness.delegate("a", STEP, "my-operator").await?;
    tokio::time::timeout(TIMEOUT, begun.notified()).await?;
    first.abort();
    let second = tokio::spawn(replica().run(std::future::pending()));
    tokio::time::timeout(TIMEOUT, begun.notified()).await?;
    release.notify_one();
    assert_eq!(
        harness.reported("a", STEP).await?.status,
        ConditionStatus::True
    );
    second.abort();
    Ok(())
}

#[tokio::test]
async fn a_lease_is_renewed_while_the_handler_works() -> anyhow::Result<()> {
    let harness = Harness::start().await?;
    let (calls, begun, release) = (Arc::default(), Arc::default(), Arc::default());
    let operator = operator(&harness).lease(Duration::from_secs(1));
    let operator = operator.on(STEP, waiting(&calls, &begun, &release));
    let running = tokio::spawn(operator.run(std::future::pending()));
    harness.delegate("a", STEP, "my-operator").await?;
    tokio::time::timeout(TIMEOUT, begun.notified()).await?;
    let api: Api<Cluster> = Api::all(harness.client());
    let expires = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status
            .delegations
            .first()
            .map(|lease| lease.expires.clone())
    };
    let first = expires(&api.get("a").await?);
    let is_renewed = |cluster: Option<&Cluster>| cluster.is_some_and(|it| expires(it) > first);
    let renewed = await_condition(api.clone(), "a", is_renewed);
    tokio::time::timeout(TIMEOUT, renewed).await??;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    running.abort();
    Ok(())
}

#[tokio::test]
async fn a_handler_for_an_unknown_step_is_refused_with_a_suggestion() -> anyhow::Result<()> {
    let harness = Harness::start().await?;
    let run = async |step: &str| {
        let operator = operator(&harness).on(step, async |_: Delegation| Ok::<_, String>(()));
        operator.run(std::future::pending()).await.unwrap_err()
    };
    let error = run("EnsureCillium").await;
    assert_eq!(
        error.to_string(),
        "step EnsureCillium does not exist: did you mean EnsureCilium?"
    );
    assert!(matches!(
        run("EnsureCopyFiles").await,
        Error::NotDelegable(_)
    ));
    Ok(())
}
