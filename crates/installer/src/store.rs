//! Stores the record of an installation in its status.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::Api;
use kube::api::PostParams;
use outrigger_api::installation::Installation;
use outrigger_flow::{Record, Store, Target, Versioned, Write, WriteError};

use crate::reports::Reports;
use crate::status;

/// The object as it was last read or written.
pub(crate) struct StatusStore<'a> {
    api: Api<Installation>,
    current: Mutex<Installation>,
    reports: &'a Reports,
}

impl<'a> StatusStore<'a> {
    pub(crate) fn new(
        api: Api<Installation>,
        installation: Installation,
        reports: &'a Reports,
    ) -> Self {
        let current = Mutex::new(installation);
        Self {
            api,
            current,
            reports,
        }
    }

    pub(crate) fn current(&self) -> Installation {
        self.lock().clone()
    }

    /// The record that a pass begins with.
    pub(crate) fn records(&self) -> Versioned<()> {
        let record = status::record(&self.lock());
        let record = record.map(|record| (Target::Cluster, ((), record)));
        record.into_iter().collect()
    }

    /// Reads the object again, after a conflict.
    pub(crate) async fn reload(&self) -> Result<(), kube::Error> {
        let name = self.lock().metadata.name.clone().unwrap_or_default();
        let read = self.api.get(&name).await?;
        *self.lock() = read;
        Ok(())
    }

    /// Stores a record. The resource version is that of the last read or write.
    pub(crate) async fn write_record(
        &self,
        record: &Record,
        is_completed: bool,
    ) -> Result<(), kube::Error> {
        let reports = self.reports.pending();
        let mut installation = self.current();
        let status = status::status(&installation, record, &reports, is_completed);
        if installation.status.as_ref() == Some(&status) {
            return Ok(());
        }
        installation.status = Some(status);
        let name = installation.metadata.name.clone().unwrap_or_default();
        let parameters = PostParams::default();
        let written = self.api.replace_status(&name, &parameters, &installation);
        let written = written.await?;
        *self.lock() = written;
        self.reports.forget(reports.len());
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Installation> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for StatusStore<'_> {
    type Version = ();

    async fn write(&self, writes: Vec<Write<()>>) -> Vec<Result<(), WriteError>> {
        let mut results = Vec::new();
        for write in writes {
            results.push(match self.write_record(&write.record, false).await {
                Ok(()) => Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => Err(WriteError::Conflict),
                Err(error) => Err(WriteError::Failed(error.to_string())),
            });
        }
        results
    }
}
