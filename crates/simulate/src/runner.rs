//! The runner: hears news, asks the state machines, does what they say, and waits where they say so.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use outrigger_apiserver::local::Local;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::affected::affected;
use super::news::{News, follow};
use super::perform::{Effect, Performed, perform};
use super::step::{Action, View};
use super::world::{Id, WATCHED, World};
use super::{Options, machine, node};

/// Most objects that are acted on at a time.
const AT_ONCE: usize = 32;
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub(super) async fn run(local: Local, options: Options) {
    let (sender, mut news) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    for (plural, _) in WATCHED {
        watches.spawn(follow(local.clone(), plural, sender.clone()));
    }
    drop(sender);
    let mut runner = Runner::new(local, options);
    runner.start(
        Id::new("nodes", "", node::NAME),
        vec![Action::Create("nodes", node::new())],
    );
    let mut listed = BTreeSet::new();
    loop {
        // Nothing is decided before everything was seen once.
        if listed.len() == WATCHED.len() {
            runner.begin();
        }
        let due = runner.alarms.first().map(|(time, _)| *time);
        tokio::select! {
            heard = news.recv() => match heard {
                Some(News::Listed(plural, objects)) => {
                    listed.insert(plural);
                    runner.replace(plural, objects);
                }
                Some(News::Applied(plural, object)) => runner.put(plural, object),
                Some(News::Deleted(plural, object)) => runner.remove(plural, &object),
                None => return,
            },
            Some(done) = runner.tasks.join_next() => runner.finish(done),
            () = wait_until(due) => {}
        }
    }
}

/// What is known, and what is to be done.
struct Runner {
    local: Local,
    options: Options,
    world: World,
    dirty: BTreeSet<Id>,
    /// Being acted on; true if it must be looked at again afterwards.
    busy: HashMap<Id, bool>,
    /// What waits, and since which stage.
    stages: HashMap<Id, (String, Instant)>,
    alarms: BTreeSet<(Instant, Id)>,
    failures: HashMap<Id, u32>,
    tasks: JoinSet<(Id, Performed)>,
}

impl Runner {
    fn new(local: Local, options: Options) -> Self {
        Self {
            local,
            options,
            world: World::default(),
            dirty: BTreeSet::new(),
            busy: HashMap::new(),
            stages: HashMap::new(),
            alarms: BTreeSet::new(),
            failures: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    fn replace(&mut self, plural: &'static str, objects: Vec<serde_json::Value>) {
        for stale in self.world.retain(plural, &objects) {
            self.mark(affected(&self.world, plural, Some(&stale), None));
        }
        for object in objects {
            self.put(plural, object);
        }
    }

    fn put(&mut self, plural: &'static str, object: serde_json::Value) {
        let id = Id::of(plural, &object);
        let old = self.world.get(&id).cloned();
        if !self.world.put(plural, object) {
            return;
        }
        let new = self.world.get(&id);
        let ids = affected(&self.world, plural, old.as_deref(), new.map(|new| &**new));
        self.mark(ids);
    }

    fn remove(&mut self, plural: &'static str, object: &serde_json::Value) {
        self.world.remove(plural, object);
        let id = Id::of(plural, object);
        if self.world.get(&id).is_none() {
            self.stages.remove(&id);
            self.failures.remove(&id);
        }
        self.mark(affected(&self.world, plural, Some(object), None));
    }

    fn mark(&mut self, ids: Vec<Id>) {
        for id in ids {
            match self.busy.get_mut(&id) {
                Some(again) => *again = true,
                None => {
                    self.dirty.insert(id);
                }
            }
        }
    }

    /// Asks the machines about what has changed, and starts what they say.
    fn begin(&mut self) {
        let now = Instant::now();
        while let Some((time, _)) = self.alarms.first() {
            if *time > now {
                break;
            }
            if let Some((_, id)) = self.alarms.pop_first() {
                self.mark(vec![id]);
            }
        }
        while self.tasks.len() < AT_ONCE {
            let Some(id) = self.dirty.pop_first() else {
                return;
            };
            let actions = self.decide(&id, now);
            if !actions.is_empty() {
                self.start(id, actions);
            }
        }
    }

    fn decide(&mut self, id: &Id, now: Instant) -> Vec<Action> {
        let Some(object) = self.world.get(id) else {
            self.stages.remove(id);
            return Vec::new();
        };
        let view = View {
            world: &self.world,
            options: &self.options,
            now: (self.options.now)(),
        };
        let step = machine::next(id.plural, object, &view);
        let mut actions = step.actions;
        let Some(later) = step.later else {
            self.stages.remove(id);
            return actions;
        };
        let due = match self.stages.get(id) {
            Some((stage, due)) if *stage == later.stage => *due,
            _ => now + later.delay,
        };
        if due <= now {
            self.stages.remove(id);
            actions.extend(later.actions);
        } else {
            self.stages.insert(id.clone(), (later.stage, due));
            self.alarms.insert((due, id.clone()));
        }
        actions
    }

    fn start(&mut self, id: Id, actions: Vec<Action>) {
        self.busy.insert(id.clone(), false);
        let local = self.local.clone();
        self.tasks
            .spawn(async move { (id, perform(&local, actions).await) });
    }

    fn finish(&mut self, done: Result<(Id, Performed), tokio::task::JoinError>) {
        let Ok((id, performed)) = done else {
            return;
        };
        for effect in performed.effects {
            match effect {
                Effect::Put(plural, object) => self.put(plural, object),
                Effect::Removed(id) => self.removed(&id),
            }
        }
        let again = self.busy.remove(&id).unwrap_or(false);
        if performed.is_complete {
            self.failures.remove(&id);
            if again {
                self.dirty.insert(id);
            }
            return;
        }
        let failures = self.failures.entry(id.clone()).or_default();
        let wait = FIRST_WAIT
            .saturating_mul(1 << (*failures).min(12))
            .min(LONGEST_WAIT);
        *failures += 1;
        self.alarms.insert((Instant::now() + wait, id));
    }

    fn removed(&mut self, id: &Id) {
        let old = self.world.get(id).cloned();
        self.world.removed_by_us(id);
        self.mark(affected(&self.world, id.plural, old.as_deref(), None));
    }
}

/// For ever if nothing is due.
async fn wait_until(due: Option<Instant>) {
    match due {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
