//! A reflector: returns every object of a resource, then every later change.

use std::collections::VecDeque;
use std::sync::Arc;

use outrigger_store::watch::{WatchEnd, Watcher};
use outrigger_store::{Object, Resource, Scope, Store};

/// Lists a resource and watches it from there; lists again if the watch falls behind.
#[derive(Debug)]
pub(super) struct Reflector<'s> {
    store: &'s Store,
    scope: Scope,
    listed: VecDeque<Arc<Object>>,
    watcher: Option<Watcher>,
}

impl<'s> Reflector<'s> {
    pub(super) fn new(store: &'s Store, resource: &Resource) -> Self {
        Self::in_scope(store, Scope::resource(resource))
    }

    pub(super) fn in_scope(store: &'s Store, scope: Scope) -> Self {
        Self {
            store,
            scope,
            listed: VecDeque::new(),
            watcher: None,
        }
    }

    /// The next object: listed, written or deleted. Waits forever once the store is closed.
    pub(super) async fn next(&mut self) -> Arc<Object> {
        loop {
            if let Some(object) = self.listed.pop_front() {
                return object;
            }
            let Some(watcher) = &mut self.watcher else {
                self.list();
                continue;
            };
            match watcher.next().await {
                Ok(event) => return Arc::clone(event.object()),
                Err(WatchEnd::Overflow) => self.watcher = None,
                Err(WatchEnd::Closed) => return std::future::pending().await,
            }
        }
    }

    fn list(&mut self) {
        let snapshot = self.store.snapshot();
        let watcher = self.store.watch(self.scope.clone(), snapshot.revision());
        if let Ok(watcher) = watcher {
            self.listed = snapshot.list(&self.scope).cloned().collect();
            self.watcher = Some(watcher);
        }
    }
}
