//! The tokens controller: adds tokens to Secrets of type `kubernetes.io/service-account-token`, and deletes the Secrets of
//! deleted service accounts.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_builtin::fields::as_text;
use outrigger_store::watch::{Event, WatchEnd, Watcher};
use outrigger_store::{Key, Object, Resource, Scope, Store};
use serde_json::{Value, json};

use super::Auth;
use super::service_account::find;
use crate::loopback::{Client, Patch, ResourcePath};
use crate::panics;

const TYPE: &str = "kubernetes.io/service-account-token";
const NAME: &str = "kubernetes.io/service-account.name";
const UID: &str = "kubernetes.io/service-account.uid";
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Runs until the store closes. `certificates` is the CA bundle in PEM.
pub async fn run(client: Client, auth: Auth, certificates: String) {
    let store = auth.store().clone();
    let scopes = ["secrets", "serviceaccounts"].map(|plural| Resource::new("", plural));
    let [Ok(secrets), Ok(accounts)] = scopes else {
        return;
    };
    let [secrets, accounts] = [secrets, accounts].map(|resource| Scope::resource(&resource));
    loop {
        let snapshot = store.snapshot();
        let revision = snapshot.revision();
        let watchers = (
            store.watch(secrets.clone(), revision),
            store.watch(accounts.clone(), revision),
        );
        let (Ok(secrets_watcher), Ok(accounts_watcher)) = watchers else {
            continue;
        };
        let known = snapshot
            .list(&secrets)
            .filter(|secret| may_be_token(secret));
        let mut keeper = TokensController {
            client: &client,
            auth: &auth,
            certificates: &certificates,
            store: &store,
            known: known.map(|secret| secret.key().clone()).collect(),
            has_panicked: AtomicBool::new(false),
        };
        drop(snapshot);
        if keeper.run(secrets_watcher, accounts_watcher).await == WatchEnd::Closed {
            return;
        }
    }
}

struct TokensController<'a> {
    client: &'a Client,
    auth: &'a Auth,
    certificates: &'a str,
    store: &'a Store,
    known: BTreeSet<Key>,
    has_panicked: AtomicBool,
}

impl TokensController<'_> {
    async fn run(&mut self, mut secrets: Watcher, mut accounts: Watcher) -> WatchEnd {
        for key in self.known.clone() {
            self.sync(&key).await;
        }
        loop {
            tokio::select! {
                event = secrets.next() => match event {
                    Ok(event) => self.handle_event(&event).await,
                    Err(end) => return end,
                },
                event = accounts.next() => match event {
                    Ok(event) => self.sync_namespace(event.key()).await,
                    Err(end) => return end,
                },
                () = tokio::time::sleep(RETRY_AFTER), if self.has_panicked.load(Ordering::Relaxed) => {
                    // The caller lists all Secrets again.
                    return WatchEnd::Overflow;
                }
            }
        }
    }

    async fn handle_event(&mut self, event: &Event) {
        if matches!(event, Event::Deleted { .. }) {
            self.known.remove(event.key());
        } else if may_be_token(event.object()) {
            self.known.insert(event.key().clone());
            self.sync(event.key()).await;
        }
    }

    /// Syncs the Secrets in the namespace of a changed service account.
    async fn sync_namespace(&self, account: &Key) {
        for key in self
            .known
            .iter()
            .filter(|key| key.namespace() == account.namespace())
        {
            self.sync(key).await;
        }
    }

    /// A panic does not keep the other Secrets from their tokens.
    async fn sync(&self, key: &Key) {
        if let Err(panic) = panics::catch_async(self.try_sync(key)).await {
            self.has_panicked.store(true, Ordering::Relaxed);
            tracing::error!(%key, %panic, "the sync of a service account token Secret panicked");
        }
    }

    async fn try_sync(&self, key: &Key) {
        let Some(object) = self.store.get(key) else {
            return;
        };
        let Ok(secret) = serde_json::from_slice::<Value>(object.bytes()) else {
            return;
        };
        if secret["type"] != TYPE || object.metadata().deletion_timestamp().is_some() {
            return;
        }
        let path = ResourcePath::all("v1", "secrets")
            .in_namespace(key.namespace())
            .named(key.name());
        let result = match self.decide(key, &secret) {
            SecretAction::None => return,
            SecretAction::Patch(change) => self.client.patch(&path, Patch::Merge, &change).await,
            SecretAction::Delete => {
                let options = json!({"preconditions": {"uid": object.metadata().uid()}});
                self.client.delete(&path, &options).await
            }
        };
        if let Err(error) = result
            && !error.is_not_found()
            && !error.is_conflict()
        {
            tracing::warn!(%key, %error, "failed to sync a service account token Secret");
        }
    }

    fn decide(&self, key: &Key, secret: &Value) -> SecretAction {
        let metadata = &secret["metadata"];
        let name = as_text(&metadata["annotations"][NAME]);
        let annotated_uid = as_text(&metadata["annotations"][UID]);
        let account = find(self.store, "serviceaccounts", key.namespace(), name);
        let Some(account) = account.filter(|account| {
            annotated_uid.is_empty() || account.metadata().uid() == annotated_uid
        }) else {
            return SecretAction::Delete;
        };
        let uid = account.metadata().uid();
        let mut data = json!({});
        let mut is_changed = annotated_uid.is_empty();
        let mut set_missing = |field: &str, value: Option<String>| {
            if let Some(value) = value
                && as_text(&secret["data"][field]).is_empty()
            {
                data[field] = STANDARD.encode(value).into();
                is_changed = true;
            }
        };
        set_missing("namespace", Some(key.namespace().to_owned()));
        set_missing(
            "ca.crt",
            (!self.certificates.is_empty()).then(|| self.certificates.to_owned()),
        );
        if as_text(&secret["data"]["token"]).is_empty() {
            set_missing(
                "token",
                self.auth
                    .legacy_token(key.namespace(), name, uid, key.name())
                    .ok(),
            );
        }
        if !is_changed {
            return SecretAction::None;
        }
        SecretAction::Patch(json!({
            "metadata": {"annotations": {UID: uid}, "resourceVersion": metadata["resourceVersion"]},
            "data": data,
        }))
    }
}

enum SecretAction {
    None,
    Patch(Value),
    Delete,
}

/// A cheap check, so that other Secrets are not parsed.
fn may_be_token(secret: &Object) -> bool {
    let needle = TYPE.as_bytes();
    secret
        .bytes()
        .windows(needle.len())
        .any(|window| window == needle)
}
