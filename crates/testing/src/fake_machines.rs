//! Machines without a network: files are kept in memory, and hooks and scripts are recorded instead of run.
//!
//! Like real machines, they do the work of an attempt at most once, and remember how it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::MachineFacts;
use outrigger_cluster::{
    Command, Connect, Login, MachineIds, Outcome, Output, Remote, RemoteError, Script,
};
use outrigger_node::Tree;
use tokio::sync::Notify;

/// All machines of a test. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct FakeMachines {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

/// A hook that began. Scripts of providers are recorded like hooks, by the names of their steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRun {
    pub address: String,
    pub hook: String,
    pub attempt: String,
    pub arguments: Vec<String>,
    /// That of a hook, or the text of a script.
    pub context: String,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, BTreeMap<String, String>>,
    runs: Vec<HookRun>,
    /// How often a hook still fails on a machine.
    failures: BTreeMap<(String, String), u32>,
    /// Hooks that do not end.
    hanging: BTreeSet<(String, String)>,
    offline: BTreeSet<String>,
    begun: BTreeSet<(String, String, String)>,
    ended: BTreeMap<(String, String, String), Outcome>,
    passwords: BTreeMap<String, Vec<u8>>,
    /// Further addresses of machines, with their first ones.
    aliases: BTreeMap<String, String>,
    /// How often machines were installed again, by their first addresses.
    reinstalled: BTreeMap<String, u32>,
    /// What queries are answered with: that of the first text which they contain, of one machine or of all.
    answers: Vec<(Option<String>, String, String)>,
    /// Queries that were answered, with the addresses of the machines.
    queries: Vec<(String, String)>,
    /// Facts other than those of all machines.
    facts: BTreeMap<String, MachineFacts>,
    /// By their first addresses.
    machine_ids: BTreeMap<String, String>,
}

/// The algorithm of the host key that a machine presents if no other one is required.
const ALGORITHM: &str = "ssh-ed25519";

impl State {
    /// The first address of the machine at an address.
    fn identity<'a>(&'a self, address: &'a str) -> &'a str {
        self.aliases.get(address).map_or(address, String::as_str)
    }

    /// The host key of the machine at an address. It has one for each algorithm.
    fn host_key(&self, address: &str, algorithm: &str) -> String {
        let identity = self.identity(address);
        match self.reinstalled.get(identity) {
            None => format!("{algorithm} {identity}"),
            Some(times) => format!("{algorithm} {identity}#{times}"),
        }
    }

    /// The machine id of the machine at an address; empty if it has none.
    fn machine_id(&self, address: &str) -> String {
        let id = self.machine_ids.get(self.identity(address));
        id.cloned().unwrap_or_default()
    }
}

impl FakeMachines {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hooks that began, in order: address and name.
    pub fn hooks(&self) -> Vec<(String, String)> {
        let runs = self.runs().into_iter();
        runs.map(|run| (run.address, run.hook)).collect()
    }

    pub fn runs(&self) -> Vec<HookRun> {
        self.state().runs.clone()
    }

    /// The files on a machine, by path, with their digests.
    pub fn files(&self, address: &str) -> BTreeMap<String, String> {
        self.state().files.get(address).cloned().unwrap_or_default()
    }

    /// The password of the last connection to a machine.
    pub fn password(&self, address: &str) -> Option<Vec<u8>> {
        self.state().passwords.get(address).cloned()
    }

    /// Lets a hook fail this many times on a machine.
    pub fn fail(&self, address: &str, hook: &str, times: u32) {
        let key = (address.to_owned(), hook.to_owned());
        self.state().failures.insert(key, times);
    }

    /// Lets a hook run without end on a machine, until [`Self::release`].
    pub fn hang(&self, address: &str, hook: &str) {
        let key = (address.to_owned(), hook.to_owned());
        self.state().hanging.insert(key);
    }

    /// Lets all hanging hooks end.
    pub fn release(&self) {
        self.state().hanging.clear();
        self.changed.notify_waiters();
    }

    /// Lets the hanging hooks of one machine end.
    pub fn release_machine(&self, address: &str) {
        self.state()
            .hanging
            .retain(|(machine, _)| machine != address);
        self.changed.notify_waiters();
    }

    /// Answers queries that contain a text.
    pub fn answer(&self, query: &str, answer: &str) {
        let answer = (None, query.to_owned(), answer.to_owned());
        self.state().answers.insert(0, answer);
    }

    /// The same for one machine.
    pub fn answer_at(&self, address: &str, query: &str, answer: &str) {
        let address = Some(address.to_owned());
        let answer = (address, query.to_owned(), answer.to_owned());
        self.state().answers.insert(0, answer);
    }

    /// The texts of the queries that a machine answered.
    pub fn queries(&self, address: &str) -> Vec<String> {
        let state = self.state();
        let queries = state.queries.iter().filter(|(at, _)| at == address);
        queries.map(|(_, text)| text.clone()).collect()
    }

    /// Gives a machine facts.
    pub fn set_facts(&self, address: &str, facts: MachineFacts) {
        self.state().facts.insert(address.to_owned(), facts);
    }

    pub fn set_offline(&self, address: &str, is_offline: bool) {
        let mut state = self.state();
        if is_offline {
            state.offline.insert(address.to_owned());
        } else {
            state.offline.remove(address);
        }
    }

    /// Makes an address one of the machine that has another address.
    pub fn alias(&self, address: &str, of: &str) {
        let mut state = self.state();
        state.aliases.insert(address.to_owned(), of.to_owned());
    }

    /// Installs a machine again: it has another host key.
    pub fn reinstall(&self, address: &str) {
        let mut state = self.state();
        *state.reinstalled.entry(address.to_owned()).or_default() += 1;
    }

    /// The host key of a machine.
    pub fn host_key(&self, address: &str) -> String {
        self.state().host_key(address, ALGORITHM)
    }

    /// Gives a machine a machine id.
    pub fn set_machine_id(&self, address: &str, id: &str) {
        let mut state = self.state();
        state.machine_ids.insert(address.to_owned(), id.to_owned());
    }

    /// The records of attempts on a machine.
    pub fn attempts(&self, address: &str) -> Vec<String> {
        let state = self.state();
        let begun = state.begun.iter().filter(|(at, _, _)| at == address);
        begun.map(|(_, _, attempt)| attempt.clone()).collect()
    }

    /// Waits until a hook begins on a machine.
    pub async fn until_begun(&self, address: &str, hook: &str) {
        loop {
            let changed = self.changed.notified();
            let expected = (address.to_owned(), hook.to_owned());
            if self.hooks().contains(&expected) {
                return;
            }
            changed.await;
        }
    }
}

impl Connect for FakeMachines {
    fn connect(&self, login: &Login) -> Result<Arc<dyn Remote>, RemoteError> {
        let address = login.access.address();
        let password = login.access.password.as_ref();
        let password = password.map(|password| password.expose().to_vec());
        let mut state = self.state();
        state
            .passwords
            .insert(address.clone(), password.unwrap_or_default());
        drop(state);
        Ok(Arc::new(FakeMachine {
            machines: self.clone(),
            address,
            host_key: Mutex::new(login.host_key.clone()),
            is_connected: AtomicBool::new(false),
        }))
    }
}

#[derive(Debug)]
struct FakeMachine {
    machines: FakeMachines,
    address: String,
    /// The key that is required, or that the machine presented first.
    host_key: Mutex<Option<String>>,
    is_connected: AtomicBool,
}

impl FakeMachine {
    fn check_online(&self) -> Result<(), RemoteError> {
        let state = self.machines.state();
        if state.offline.contains(&self.address) {
            let message = format!("failed to connect to {}", self.address);
            return Err(RemoteError { message });
        }
        let mut known = self.host_key.lock().unwrap_or_else(PoisonError::into_inner);
        let required = known.as_ref().and_then(|key| key.split_once(' '));
        let algorithm = required.map_or(ALGORITHM, |(algorithm, _)| algorithm);
        let presented = state.host_key(&self.address, algorithm);
        let required = known.get_or_insert_with(|| presented.clone());
        if *required != presented {
            let message = format!("the host key of {} changed", self.address);
            return Err(RemoteError { message });
        }
        self.is_connected.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn run_once(
        &self,
        key: &(String, String, String),
        run: HookRun,
    ) -> Result<Outcome, RemoteError> {
        self.check_online()?;
        let hook = run.hook.clone();
        self.begin(key, run);
        loop {
            let changed = self.machines.changed.notified();
            if let Some(outcome) = self.outcome(key, &hook) {
                return Ok(outcome);
            }
            changed.await;
        }
    }

    fn begin(&self, key: &(String, String, String), run: HookRun) {
        let mut state = self.machines.state();
        if !state.begun.insert(key.clone()) {
            return;
        }
        state.runs.push(run);
        drop(state);
        self.machines.changed.notify_waiters();
    }

    /// How an attempt ended; `None` while it runs.
    fn outcome(&self, key: &(String, String, String), hook: &str) -> Option<Outcome> {
        let mut state = self.machines.state();
        if let Some(outcome) = state.ended.get(key) {
            return Some(outcome.clone());
        }
        let on_machine = (self.address.clone(), hook.to_owned());
        if state.hanging.contains(&on_machine) {
            return None;
        }
        let failures = state.failures.entry(on_machine).or_default();
        let code = i32::from(*failures > 0);
        *failures = failures.saturating_sub(1);
        let text = format!("{hook} ends with {code}\n");
        let outcome = Outcome::Exited {
            code,
            output: Output {
                text,
                is_truncated: false,
            },
        };
        state.ended.insert(key.clone(), outcome.clone());
        Some(outcome)
    }
}

impl Remote for FakeMachine {
    fn run<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>> {
        async move {
            let key = (self.address.clone(), task.to_owned(), attempt.to_owned());
            let run = HookRun {
                address: self.address.clone(),
                hook: command.environment["OUTRIGGER_HOOK"].clone(),
                attempt: attempt.to_owned(),
                arguments: command.arguments.clone(),
                context: command.context.clone(),
            };
            self.run_once(&key, run).await
        }
        .boxed()
    }

    fn run_script<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
        script: &'a Script,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>> {
        async move {
            let key = (self.address.clone(), task.to_owned(), attempt.to_owned());
            let step = task.rsplit('/').next().unwrap_or(task);
            let run = HookRun {
                address: self.address.clone(),
                hook: step.to_owned(),
                attempt: attempt.to_owned(),
                arguments: Vec::new(),
                context: script.text.clone(),
            };
            self.run_once(&key, run).await
        }
        .boxed()
    }

    /// Prints what was given as an answer, by default nothing.
    fn query<'a>(&'a self, script: &'a Script) -> BoxFuture<'a, Result<String, RemoteError>> {
        async move {
            self.check_online()?;
            let mut state = self.machines.state();
            let query = (self.address.clone(), script.text.clone());
            state.queries.push(query);
            let mut answers = state.answers.iter();
            let answer = answers.find(|(address, query, _)| {
                address.as_ref().is_none_or(|it| *it == self.address) && script.text.contains(query)
            });
            let answer = answer.map(|(_, _, answer)| answer.clone());
            Ok(answer.unwrap_or_default())
        }
        .boxed()
    }

    fn cancel<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>> {
        async move {
            self.check_online()?;
            let key = (self.address.clone(), task.to_owned(), attempt.to_owned());
            let mut state = self.machines.state();
            state.begun.insert(key.clone());
            let outcome = state.ended.entry(key).or_insert(Outcome::Canceled).clone();
            drop(state);
            self.machines.changed.notify_waiters();
            Ok(outcome)
        }
        .boxed()
    }

    fn copy<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move {
            self.check_online()?;
            let mut state = self.machines.state();
            let files = state.files.entry(self.address.clone()).or_default();
            for path in tree.destinations() {
                let digest = tree.digest_of(path).unwrap_or_default();
                files.insert(path.to_owned(), digest.to_owned());
            }
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move {
            self.check_online()?;
            let mut state = self.machines.state();
            let files = state.files.entry(self.address.clone()).or_default();
            files.retain(|path, _| tree.digest_of(path).is_none());
            Ok(())
        }
        .boxed()
    }

    fn forget<'a>(&'a self, tasks: &'a [String]) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move {
            self.check_online()?;
            let mut state = self.machines.state();
            let is_kept =
                |address: &str, task: &String| address != self.address || !tasks.contains(task);
            state
                .begun
                .retain(|(address, task, _)| is_kept(address, task));
            state
                .ended
                .retain(|(address, task, _), _| is_kept(address, task));
            Ok(())
        }
        .boxed()
    }

    fn ids(&self) -> BoxFuture<'_, Result<MachineIds, RemoteError>> {
        async move {
            self.check_online()?;
            let state = self.machines.state();
            Ok(MachineIds {
                boot: format!("boot of {}", state.identity(&self.address)),
                machine: state.machine_id(&self.address),
            })
        }
        .boxed()
    }

    fn facts(&self) -> BoxFuture<'_, Result<MachineFacts, RemoteError>> {
        async move {
            self.check_online()?;
            let state = self.machines.state();
            let facts = state.facts.get(&self.address).cloned();
            let facts = facts.unwrap_or_else(|| MachineFacts {
                os: "Fake Linux".to_owned(),
                architecture: "amd64".to_owned(),
                ..MachineFacts::default()
            });
            Ok(MachineFacts {
                machine_id: state.machine_id(&self.address),
                ..facts
            })
        }
        .boxed()
    }

    fn host_key(&self) -> Option<String> {
        let is_connected = self.is_connected.load(Ordering::Relaxed);
        let key = self.host_key.lock().unwrap_or_else(PoisonError::into_inner);
        key.clone().filter(|_| is_connected)
    }
}
