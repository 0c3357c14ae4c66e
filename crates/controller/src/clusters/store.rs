//! Stores records of flows in the status of clusters and machines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use kube::Client;
use outrigger_api::cluster::Cluster;
use outrigger_api::condition::Condition;
use outrigger_api::machine::Machine;
use outrigger_cluster::{Inputs, status};
use outrigger_flow::{Store, Target, Write, WriteError};

use super::objects::write_status;
use super::runs::Runs;

/// Concurrent writes.
const MAX_WRITES: usize = 32;

/// The objects of a cluster as they were last read or written. The versions of records are those of the objects.
pub(super) struct StatusStore<'a> {
    pub(super) client: Client,
    pub(super) runs: &'a Runs,
    pub(super) inputs: &'a Inputs,
    objects: SharedObjects,
}

/// The objects of a cluster.
#[derive(Debug, Clone)]
pub(super) struct Objects {
    pub(super) cluster: Arc<Cluster>,
    pub(super) machines: HashMap<String, Arc<Machine>>,
}

/// The objects as they were last written: an attempt begins with what was stored before.
#[derive(Debug, Clone)]
pub(super) struct SharedObjects(Arc<Mutex<Objects>>);

impl SharedObjects {
    pub(super) fn new(objects: Objects) -> Self {
        Self(Arc::new(Mutex::new(objects)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> StatusStore<'a> {
    pub(super) fn new(
        client: Client,
        runs: &'a Runs,
        inputs: &'a Inputs,
        objects: SharedObjects,
    ) -> Self {
        Self {
            client,
            runs,
            inputs,
            objects,
        }
    }

    /// The objects as they were last written.
    pub(super) fn into_objects(self) -> Objects {
        self.objects().clone()
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock()
    }

    /// The conditions of an object.
    pub(super) fn conditions(&self, target: &Target) -> Vec<Condition> {
        let objects = self.objects();
        let conditions = match target {
            Target::Cluster => {
                let status = objects.cluster.status.as_ref();
                status.map(|status| status.conditions.clone())
            }
            Target::Machine(name) => {
                let machine = objects.machines.get(name);
                let status = machine.and_then(|machine| machine.status.as_ref());
                status.map(|status| status.conditions.clone())
            }
        };
        conditions.unwrap_or_default()
    }

    async fn write_one(&self, write: Write<()>) -> Result<(), WriteError> {
        let objects = self.objects().clone();
        let reports = self.runs.reports(&write.target);
        let result = match &write.target {
            Target::Cluster => {
                let cluster = &objects.cluster;
                let new = status::of_cluster(cluster, self.inputs, &write.record, &reports);
                let written = write_status(&self.client, cluster.as_ref(), &new).await;
                written.map(|written| {
                    if let Some(written) = written {
                        self.objects().cluster = Arc::new(written);
                    }
                })
            }
            Target::Machine(name) => {
                let Some(machine) = objects.machines.get(name) else {
                    return Err(WriteError::Conflict);
                };
                let cluster = &objects.cluster;
                let inputs = self.inputs;
                let new = status::of_machine(cluster, machine, inputs, &write.record, &reports);
                let written = write_status(&self.client, machine.as_ref(), &new).await;
                written.map(|written| {
                    if let Some(written) = written {
                        let machines = &mut self.objects().machines;
                        machines.insert(name.clone(), Arc::new(written));
                    }
                })
            }
        };
        match result {
            Ok(()) => {
                self.runs.forget_reports(&write.target);
                Ok(())
            }
            Err(kube::Error::Api(reply)) if reply.code == 409 || reply.code == 404 => {
                Err(WriteError::Conflict)
            }
            Err(error) => Err(WriteError::Failed(crate::error::error_chain(&error))),
        }
    }
}

impl Store for StatusStore<'_> {
    type Version = ();

    async fn write(&self, writes: Vec<Write<()>>) -> Vec<Result<(), WriteError>> {
        let writes = futures::stream::iter(writes).map(|write| self.write_one(write));
        writes.buffered(MAX_WRITES).collect().await
    }
}
