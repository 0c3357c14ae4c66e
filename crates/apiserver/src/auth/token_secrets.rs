//! Secrets of type `kubernetes.io/service-account-token`: gives them their token, and removes them when their account
//! is gone.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_store::watch::{Event, WatchEnd, Watcher};
use outrigger_store::{Key, Object, Resource, Scope, Store};
use serde_json::{Value, json};

use super::Auth;
use super::service_account::{find, text};
use crate::local::{Local, Patch, Place};

const TYPE: &str = "kubernetes.io/service-account-token";
const NAME: &str = "kubernetes.io/service-account.name";
const UID: &str = "kubernetes.io/service-account.uid";

/// Serves token Secrets until the store closes. `certificates` is what clients trust, as PEM.
pub async fn run(local: Local, auth: Auth, certificates: String) {
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
        let mut keeper = Keeper {
            local: &local,
            auth: &auth,
            certificates: &certificates,
            store: &store,
            known: known.map(|secret| secret.key().clone()).collect(),
        };
        drop(snapshot);
        if keeper.run(secrets_watcher, accounts_watcher).await == WatchEnd::Closed {
            return;
        }
    }
}

/// The token Secrets that are known.
struct Keeper<'a> {
    local: &'a Local,
    auth: &'a Auth,
    certificates: &'a str,
    store: &'a Store,
    known: BTreeSet<Key>,
}

impl Keeper<'_> {
    async fn run(&mut self, mut secrets: Watcher, mut accounts: Watcher) -> WatchEnd {
        for key in self.known.clone() {
            self.serve(&key).await;
        }
        loop {
            tokio::select! {
                event = secrets.next() => match event {
                    Ok(event) => self.note(&event).await,
                    Err(end) => return end,
                },
                event = accounts.next() => match event {
                    Ok(event) => self.serve_all_of(event.key()).await,
                    Err(end) => return end,
                },
            }
        }
    }

    async fn note(&mut self, event: &Event) {
        if matches!(event, Event::Deleted { .. }) {
            self.known.remove(event.key());
        } else if may_be_token(event.object()) {
            self.known.insert(event.key().clone());
            self.serve(event.key()).await;
        }
    }

    /// An account has come or gone.
    async fn serve_all_of(&self, account: &Key) {
        for key in self
            .known
            .iter()
            .filter(|key| key.namespace() == account.namespace())
        {
            self.serve(key).await;
        }
    }

    async fn serve(&self, key: &Key) {
        let Some(object) = self.store.get(key) else {
            return;
        };
        let Ok(secret) = serde_json::from_slice::<Value>(object.bytes()) else {
            return;
        };
        if secret["type"] != TYPE || object.metadata().deletion_timestamp().is_some() {
            return;
        }
        let place = Place::all("v1", "secrets")
            .within(key.namespace())
            .named(key.name());
        let answer = match self.change(key, &secret) {
            Wanted::Nothing => return,
            Wanted::Change(change) => self.local.patch(&place, Patch::Merge, &change).await,
            Wanted::Removal => {
                let options = json!({"preconditions": {"uid": object.metadata().uid()}});
                self.local.delete(&place, &options).await
            }
        };
        if let Err(error) = answer
            && !error.is_not_found()
            && !error.is_conflict()
        {
            tracing::warn!(%key, %error, "failed to serve a token Secret");
        }
    }

    fn change(&self, key: &Key, secret: &Value) -> Wanted {
        let metadata = &secret["metadata"];
        let name = text(&metadata["annotations"][NAME]);
        let told = text(&metadata["annotations"][UID]);
        let account = find(self.store, "serviceaccounts", key.namespace(), name);
        let Some(account) =
            account.filter(|account| told.is_empty() || account.metadata().uid() == told)
        else {
            return Wanted::Removal;
        };
        let uid = account.metadata().uid();
        let mut data = json!({});
        let mut is_changed = told.is_empty();
        let mut want = |field: &str, value: Option<String>| {
            if let Some(value) = value
                && text(&secret["data"][field]).is_empty()
            {
                data[field] = STANDARD.encode(value).into();
                is_changed = true;
            }
        };
        want("namespace", Some(key.namespace().to_owned()));
        want(
            "ca.crt",
            (!self.certificates.is_empty()).then(|| self.certificates.to_owned()),
        );
        if text(&secret["data"]["token"]).is_empty() {
            want(
                "token",
                self.auth
                    .legacy_token(key.namespace(), name, uid, key.name())
                    .ok(),
            );
        }
        if !is_changed {
            return Wanted::Nothing;
        }
        Wanted::Change(json!({
            "metadata": {"annotations": {UID: uid}, "resourceVersion": metadata["resourceVersion"]},
            "data": data,
        }))
    }
}

/// What a Secret needs.
enum Wanted {
    Nothing,
    Change(Value),
    Removal,
}

/// Most Secrets are something else and are not parsed.
fn may_be_token(secret: &Object) -> bool {
    let needle = TYPE.as_bytes();
    secret
        .bytes()
        .windows(needle.len())
        .any(|window| window == needle)
}
