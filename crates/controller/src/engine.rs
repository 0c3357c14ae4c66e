//! The one who keeps the queue: takes in news, wakes those whom it concerns, and sends workers to look at them.

mod watching;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::runtime::watcher::Event;
use outrigger_api::plugin::Plugin;
use outrigger_release::health::{self, Health};
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};

use crate::act;
use crate::context::Context;
use crate::decide::is_deleted;
use crate::key::Key;
use crate::news::{News, Sight};
use crate::objects::{Kind, Place, Release, Seen, Verdict};
use crate::pass::{self, End};
use crate::queue::Queue;
use crate::references::Source;
use crate::watches::{self, Watch};
use crate::world::{Woken, World};

/// How long workers may finish what they are at when the controller stops.
const GRACE: Duration = Duration::from_secs(5);

/// How often it is seen to that only what is in use is watched.
const TIDY_EVERY: Duration = Duration::from_secs(30);

/// News that is taken in before workers are sent out.
const AT_ONCE: usize = 256;

pub(crate) struct Engine {
    ctx: Arc<Context>,
    world: World,
    queue: Queue,
    news: Receiver<News>,
    workers: JoinSet<End>,
    /// Who each worker looks at, and how to tell it that the plugin changed.
    at_work: HashMap<Id, Key>,
    stops: HashMap<Key, watch::Sender<bool>>,
    /// Plugin watches that have not listed all yet.
    unlisted: BTreeSet<Option<String>>,
    listing: HashMap<Option<String>, BTreeSet<Key>>,
    are_defaults_known: bool,
    are_repositories_known: bool,
    source_watches: HashMap<(Source, String), Watch>,
    source_listings: HashMap<(Source, String), HashMap<String, String>>,
    object_watches: HashMap<(Place, Kind), Watch>,
    _watches: Vec<Watch>,
}

impl Engine {
    /// Starts the watches.
    pub(crate) fn new(ctx: Context, news: Receiver<News>) -> Self {
        let ctx = Arc::new(ctx);
        let namespaces: Vec<Option<String>> = match ctx.options.namespaces.as_slice() {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        let sender = || ctx.news.clone();
        let mut watches: Vec<Watch> = namespaces
            .iter()
            .map(|namespace| watches::plugins(ctx.client.clone(), namespace.clone(), sender()))
            .collect();
        watches.push(watches::defaults(ctx.client.clone(), sender()));
        let repositories = ctx.sources.repositories.clone();
        watches.push(watches::repositories(
            ctx.client.clone(),
            repositories,
            sender(),
        ));
        Self {
            world: World::default(),
            queue: Queue::new(ctx.options.parallel),
            news,
            workers: JoinSet::new(),
            at_work: HashMap::new(),
            stops: HashMap::new(),
            unlisted: namespaces.into_iter().collect(),
            listing: HashMap::new(),
            are_defaults_known: false,
            are_repositories_known: false,
            source_watches: HashMap::new(),
            source_listings: HashMap::new(),
            object_watches: HashMap::new(),
            _watches: watches,
            ctx,
        }
    }

    /// Works until it is told to stop.
    pub(crate) async fn run(&mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut tidy = Instant::now() + TIDY_EVERY;
        let mut resync = Instant::now() + self.ctx.options.resync;
        loop {
            self.send_workers();
            let wake = [Some(tidy), Some(resync), self.next_due()];
            let wake = wake.into_iter().flatten().min().unwrap_or(tidy);
            tokio::select! {
                () = &mut stop => break,
                news = self.news.recv() => {
                    let Some(news) = news else { break };
                    self.take_in(news);
                    for _ in 0..AT_ONCE {
                        let Ok(news) = self.news.try_recv() else { break };
                        self.take_in(news);
                    }
                }
                Some(ended) = self.workers.join_next_with_id() => self.ended(ended),
                () = tokio::time::sleep_until(wake.into()) => {}
            }
            let now = Instant::now();
            if now >= tidy {
                self.tidy_watches();
                tidy = now + TIDY_EVERY;
            }
            if now >= resync {
                self.wake_all();
                resync = now + self.ctx.options.resync;
            }
        }
        self.stop().await;
    }

    /// Whether all is known that decisions rest on.
    fn is_oriented(&self) -> bool {
        self.unlisted.is_empty() && self.are_defaults_known && self.are_repositories_known
    }

    fn next_due(&self) -> Option<Instant> {
        self.queue.next_due().filter(|_| self.is_oriented())
    }

    fn send_workers(&mut self) {
        if !self.is_oriented() {
            return;
        }
        let now = Instant::now();
        while let Some(key) = self.queue.take(now) {
            let Some(facts) = self.world.facts(&key, now) else {
                self.queue.finish(&key);
                continue;
            };
            self.queue.forget_time(&key);
            let (stop, stopped) = watch::channel(false);
            let worker = pass::run(Arc::clone(&self.ctx), facts, stopped);
            let id = self.workers.spawn(worker).id();
            self.at_work.insert(id, key.clone());
            self.stops.insert(key, stop);
        }
    }

    fn ended(&mut self, ended: Result<(Id, End), tokio::task::JoinError>) {
        let (id, end) = match ended {
            Ok((id, end)) => (id, Some(end)),
            Err(error) => {
                tracing::error!(%error, "a worker broke down");
                (error.id(), None)
            }
        };
        let Some(key) = self.at_work.remove(&id) else {
            return;
        };
        self.stops.remove(&key);
        if let Some(end) = end {
            self.learn(&key, end);
        } else {
            let pause = self.ctx.options.backoff.pause(3);
            self.queue.add_at(key.clone(), Instant::now() + pause);
        }
        self.queue.finish(&key);
    }

    fn learn(&mut self, key: &Key, end: End) {
        self.world.remember(key, end.unsaved, end.tries);
        if let Some(plugin) = end.written {
            let woken = self.world.apply(*plugin);
            // It knows what it wrote itself.
            self.wake(woken.into_iter().filter(|other| other != key).collect());
        }
        if let Some(read) = end.read
            && self.world.references.was_read(key, read)
        {
            self.queue.add(key.clone());
        }
        if let Some(at) = end.again {
            self.queue.add_at(key.clone(), at);
        }
        self.watch_objects(key);
        self.watch_sources();
    }

    fn take_in(&mut self, news: News) {
        match news {
            News::Plugin(namespace, event) => self.take_plugin(namespace, event),
            News::Reference(source, namespace, event) => {
                self.take_reference(source, &namespace, event);
            }
            News::Object(place, kind, event) => self.take_object(&place, &kind, *event),
            News::Defaults(registry) => {
                self.are_defaults_known = true;
                if self.ctx.set_cluster_registry(registry) {
                    self.wake_all();
                }
            }
            News::Repositories => {
                self.are_repositories_known = true;
                self.world.forget_memos();
                self.wake_all();
            }
            News::Waits(key) => self.queue.wait(&key),
        }
    }

    fn take_plugin(&mut self, namespace: Option<String>, event: Event<Box<Plugin>>) {
        match event {
            Event::Init => {
                self.listing.insert(namespace, BTreeSet::new());
            }
            Event::InitApply(plugin) => {
                let key = Key::of(&plugin);
                self.listing.entry(namespace).or_default().insert(key);
                self.apply(*plugin);
            }
            Event::InitDone => self.end_listing(namespace.as_ref()),
            Event::Apply(plugin) => self.apply(*plugin),
            Event::Delete(plugin) => {
                let woken = self.world.delete(&Key::of(&plugin));
                self.wake(woken);
            }
        }
    }

    fn end_listing(&mut self, namespace: Option<&String>) {
        let slot = namespace.cloned();
        let mut keys = self.listing.remove(&slot).unwrap_or_default();
        if let Some(namespace) = namespace {
            let others = self.world.keys();
            keys.extend(others.filter(|key| key.namespace != *namespace).cloned());
        }
        let woken = self.world.keep_only(&keys);
        self.wake(woken);
        // The server may have been away: who got no answer asks again now.
        self.wake_all();
        self.unlisted.remove(&slot);
        self.watch_all_objects();
        self.watch_sources();
    }

    fn apply(&mut self, plugin: Plugin) {
        let key = Key::of(&plugin);
        let before = self.world.plugin(&key).cloned();
        let has_new_rules = before
            .as_ref()
            .is_some_and(|before| before.spec.health != plugin.spec.health);
        let woken = self.world.apply(plugin);
        if let (Some(before), Some(after)) = (before, self.world.plugin(&key))
            && is_another_order(&before, after)
            && let Some(stop) = self.stops.get(&key)
        {
            stop.send_replace(true);
        }
        self.wake(woken);
        if self.is_oriented() {
            self.watch_sources();
        }
        if has_new_rules {
            self.judge_anew(&key);
        }
    }

    fn take_reference(&mut self, source: Source, namespace: &str, event: Event<(String, String)>) {
        let place = (source, namespace.to_owned());
        let reference = |name: String| crate::references::Reference {
            source,
            namespace: namespace.to_owned(),
            name,
        };
        let woken: Woken = match event {
            Event::Init => {
                self.source_listings.insert(place, HashMap::new());
                return;
            }
            Event::InitApply((name, version)) => {
                let listing = self.source_listings.entry(place).or_default();
                listing.insert(name, version);
                return;
            }
            Event::InitDone => {
                let found = self.source_listings.remove(&place).unwrap_or_default();
                let references = &mut self.world.references;
                references.listed(source, namespace, &found)
            }
            Event::Apply((name, version)) => {
                let references = &mut self.world.references;
                references
                    .told(&reference(name), Some(&version))
                    .into_iter()
                    .collect()
            }
            Event::Delete((name, _)) => {
                let references = &mut self.world.references;
                references
                    .told(&reference(name), None)
                    .into_iter()
                    .collect()
            }
        };
        self.renew_watches(&woken);
        self.wake(woken);
    }

    fn take_object(&mut self, place: &Place, kind: &Kind, event: Event<Sight>) {
        let releases = match event {
            Event::Init => {
                self.world.objects.begin(place, kind);
                return;
            }
            Event::InitApply(sight) => {
                let (name, seen) = self.judge(place, sight);
                self.world.objects.listed(place, kind, name, seen);
                return;
            }
            Event::InitDone => self.world.objects.end(place, kind),
            Event::Apply(sight) => {
                let (name, seen) = self.judge(place, sight);
                self.world.objects.applied(place, kind, name, seen)
            }
            Event::Delete(sight) => self.world.objects.deleted(place, kind, &sight.name),
        };
        let woken = self.world.owners(&releases);
        self.wake(woken);
    }

    /// What is thought of an object, by the rules of the plugin that it belongs to.
    fn judge(&self, place: &Place, sight: Sight) -> (crate::objects::Name, Seen) {
        let verdict = match (&sight.object, &sight.release) {
            (Some(object), Some((namespace, name))) => {
                let release = Release {
                    place: place.clone(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                };
                let owner = self.world.owner(&release);
                let rules = owner.map(|plugin| act::rules(plugin)).unwrap_or_default();
                verdict(health::assess(object, &rules))
            }
            _ => Verdict::Healthy,
        };
        let seen = Seen {
            release: sight.release,
            verdict,
            fields: sight.fields,
            version: sight.version,
        };
        (sight.name, seen)
    }

    fn wake(&mut self, woken: Woken) {
        for key in woken {
            self.queue.add(key);
        }
    }

    fn wake_all(&mut self) {
        let all: Woken = self.world.keys().cloned().collect();
        self.wake(all);
    }

    /// Lets the workers finish; those who take too long are dropped, which their work survives.
    async fn stop(&mut self) {
        let finish = async { while self.workers.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, finish).await.is_err() {
            tracing::info!("workers were stopped half-way; the next start goes on");
        }
        self.workers.shutdown().await;
    }
}

/// Whether the plugin asks for something else than before.
fn is_another_order(before: &Plugin, after: &Plugin) -> bool {
    before.metadata.generation != after.metadata.generation
        || is_deleted(before) != is_deleted(after)
}

fn verdict(health: Health) -> Verdict {
    match health {
        Health::Current => Verdict::Healthy,
        Health::Failed(why) => Verdict::Failed(why),
        Health::InProgress(why) => Verdict::Progressing(why),
        Health::Terminating => Verdict::Progressing("is being deleted".to_owned()),
        Health::NotFound => Verdict::Failed("is gone".to_owned()),
    }
}
