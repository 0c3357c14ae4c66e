//! What the watches report about clusters and machines.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kube::{Resource, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_cluster::Claim;
use outrigger_flow::Identity;
use outrigger_node::FileCache;

use super::runs::Runs;

/// All clusters and machines.
#[derive(Default)]
pub(crate) struct ClusterIndex {
    pub(crate) clusters: Table<Cluster>,
    pub(crate) machines: Table<Machine>,
    /// The attempts of each cluster.
    runs: HashMap<String, Arc<Runs>>,
    /// The files of all clusters.
    files: FileCache,
    /// The machine of each address that a reconcile was started with. It keeps the address as long as it exists: what
    /// the reconcile does may not be observed yet.
    owners: HashMap<String, String>,
}

/// What is known about one cluster.
pub(crate) struct Observed {
    pub(crate) name: String,
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) machines: Vec<Arc<Machine>>,
    /// The machines whose addresses belong to others.
    pub(crate) conflicts: BTreeMap<String, Claim>,
    /// The machines of all clusters whose host keys or facts are recorded.
    pub(crate) recorded: Arc<[Arc<Machine>]>,
    pub(crate) runs: Arc<Runs>,
}

impl ClusterIndex {
    /// Whether the initial lists are complete.
    pub(crate) fn has_synced(&self) -> bool {
        self.clusters.has_synced && self.machines.has_synced
    }

    /// The names of all clusters, and of those that machines name.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let clusters = self.clusters.objects.keys().cloned();
        let machines = self.machines.objects.values();
        clusters
            .chain(machines.map(|machine| machine.spec.cluster.clone()))
            .collect()
    }

    /// The clusters with machines that have this address, or ask for it.
    pub(crate) fn rivals(&self, address: &str) -> BTreeSet<String> {
        let machines = self.machines.objects.values();
        machines
            .filter(|machine| machine.spec.access.address() == address)
            .map(|machine| machine.spec.cluster.clone())
            .collect()
    }

    pub(crate) fn observe(&mut self, name: &str, identity: Identity) -> Option<Observed> {
        let cluster = self.clusters.objects.get(name).cloned();
        let machines = self.machines.objects.values();
        let machines = machines.filter(|machine| machine.spec.cluster == name);
        let machines: Vec<Arc<Machine>> = machines.cloned().collect();
        if cluster.is_none() && machines.is_empty() {
            if let Some(runs) = self.runs.remove(name) {
                runs.abort_tasks();
            }
            return None;
        }
        let conflicts = self.claim(&machines);
        let has_identity = |machine: &&Arc<Machine>| {
            let status = machine.status.as_ref();
            status.is_some_and(|it| it.host_key.is_some() || it.facts.is_some())
        };
        let recorded = self.machines.objects.values().filter(has_identity);
        let recorded = recorded.cloned().collect();
        let runs = self.runs.entry(name.to_owned());
        let runs = runs.or_insert_with(|| Arc::new(Runs::new(identity, self.files.clone())));
        Some(Observed {
            name: name.to_owned(),
            cluster,
            machines,
            conflicts,
            recorded,
            runs: Arc::clone(runs),
        })
    }
}

impl ClusterIndex {
    /// Claims the addresses of machines that nobody has. Returns the claims of others.
    fn claim(&mut self, machines: &[Arc<Machine>]) -> BTreeMap<String, Claim> {
        let all = self.machines.objects.values().map(AsRef::as_ref);
        let mut conflicts = outrigger_cluster::conflicts(all);
        let mut claims = BTreeMap::new();
        for machine in machines {
            let (name, address) = (machine.name_any(), machine.spec.access.address());
            let owner = self.owners.get(&address);
            let owner = owner.and_then(|owner| self.machines.get(owner));
            let owner = owner.filter(|owner| owner.spec.access.address() == address);
            match owner {
                Some(owner) if owner.name_any() == name => {}
                Some(owner) => {
                    let claim = Claim {
                        machine: owner.name_any(),
                        cluster: owner.spec.cluster.clone(),
                        address,
                    };
                    claims.insert(name, claim);
                }
                None => match conflicts.remove(&name) {
                    Some(claim) => drop(claims.insert(name, claim)),
                    None => drop(self.owners.insert(address, name)),
                },
            }
        }
        claims
    }
}

impl Drop for ClusterIndex {
    fn drop(&mut self) {
        for runs in self.runs.values() {
            runs.abort_tasks();
        }
    }
}

/// The objects of one kind, by name.
#[derive(Debug)]
pub(crate) struct Table<K> {
    objects: HashMap<String, Arc<K>>,
    listing: BTreeSet<String>,
    has_synced: bool,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            listing: BTreeSet::new(),
            has_synced: false,
        }
    }
}

impl<K: Resource> Table<K> {
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<K>> {
        self.objects.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.objects.keys()
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.has_synced
    }

    /// Stores an object, unless a newer version is known.
    pub(crate) fn apply(&mut self, object: K) {
        self.apply_shared(Arc::new(object));
    }

    pub(crate) fn apply_shared(&mut self, object: Arc<K>) {
        let name = object.name_any();
        let known = self.objects.get(&name);
        if known.is_none_or(|known| is_newer(known.as_ref(), object.as_ref())) {
            self.objects.insert(name, object);
        }
    }

    /// Like [`Self::apply_shared`], for objects that were written: one that is not known was deleted meanwhile.
    pub(crate) fn update(&mut self, object: Arc<K>) {
        if self.objects.contains_key(&object.name_any()) {
            self.apply_shared(object);
        }
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.objects.remove(name);
    }

    pub(crate) fn start_listing(&mut self) {
        self.listing.clear();
    }

    pub(crate) fn add_listed(&mut self, object: K) {
        self.listing.insert(object.name_any());
        self.apply(object);
    }

    /// Drops the objects that are not in the completed list.
    pub(crate) fn finish_listing(&mut self) {
        let listing = std::mem::take(&mut self.listing);
        self.objects.retain(|name, _| listing.contains(name));
        self.has_synced = true;
    }
}

fn is_newer<K: Resource>(known: &K, object: &K) -> bool {
    if known.uid() != object.uid() {
        return true;
    }
    let number = |object: &K| object.resource_version()?.parse::<u64>().ok();
    match (number(known), number(object)) {
        (Some(known), Some(new)) => new > known,
        _ => known.resource_version() != object.resource_version(),
    }
}
