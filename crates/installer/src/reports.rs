//! What attempts report beside their outcome, until it is stored.

use std::sync::{Mutex, MutexGuard, PoisonError};

use outrigger_api::flow_status::HookStatus;
use outrigger_api::installation::InstallationStatus;

/// What one attempt found out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    pub(crate) hook: Option<HookStatus>,
    pub(crate) registry: Option<String>,
    pub(crate) images: Option<Vec<String>>,
    pub(crate) charts: Option<Vec<String>>,
    pub(crate) files: Option<Vec<String>>,
    pub(crate) plugins: Option<Vec<String>>,
}

impl Report {
    /// Adds the report to a status.
    pub(crate) fn add_to(&self, status: &mut InstallationStatus) {
        if let Some(hook) = &self.hook {
            status.hooks.retain(|other| other.name != hook.name);
            status.hooks.push(hook.clone());
        }
        if let Some(registry) = &self.registry {
            status.registry = Some(registry.clone());
        }
        let inventory = &mut status.inventory;
        let lists = [
            (&self.images, &mut inventory.images),
            (&self.charts, &mut inventory.charts),
            (&self.files, &mut inventory.files),
            (&self.plugins, &mut inventory.plugins),
        ];
        for (reported, list) in lists {
            if let Some(reported) = reported {
                list.clone_from(reported);
            }
        }
    }
}

/// Reports of attempts that ended.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pending: Mutex<Vec<Report>>,
}

impl Reports {
    pub(crate) fn push(&self, report: Report) {
        self.lock().push(report);
    }

    /// All reports, in the order of the attempts.
    pub(crate) fn pending(&self) -> Vec<Report> {
        self.lock().clone()
    }

    /// Drops the first reports, which are stored.
    pub(crate) fn forget(&self, count: usize) {
        let mut pending = self.lock();
        let count = count.min(pending.len());
        pending.drain(..count);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Report>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
