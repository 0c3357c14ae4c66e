//! Hooks: objects that run at a point in the lifecycle of a release and are not part of it.

use crate::profile::Profile;
use crate::yaml::Head;

pub const HOOK: &str = "helm.sh/hook";
pub const WEIGHT: &str = "helm.sh/hook-weight";
pub const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
pub const OUTPUT_LOG_POLICY: &str = "helm.sh/hook-output-log-policy";

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    PreInstall,
    PostInstall,
    PreDelete,
    PostDelete,
    PreUpgrade,
    PostUpgrade,
    PreRollback,
    PostRollback,
    Test,
}

/// An object with the annotation `helm.sh/hook`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub name: String,
    pub kind: String,
    pub api_version: String,
    /// The path of its template.
    pub path: String,
    pub manifest: String,
    pub events: Vec<Event>,
    pub weight: i64,
    /// In lower case; unknown names have no effect.
    pub delete_policies: Vec<String>,
    /// Helm 4 only.
    pub output_log_policies: Vec<String>,
}

impl Event {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pre-install" => Self::PreInstall,
            "post-install" => Self::PostInstall,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "pre-upgrade" => Self::PreUpgrade,
            "post-upgrade" => Self::PostUpgrade,
            "pre-rollback" => Self::PreRollback,
            "post-rollback" => Self::PostRollback,
            "test" | "test-success" => Self::Test,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::Test => "test",
        }
    }
}

impl Hook {
    pub fn is_test(&self) -> bool {
        self.events.contains(&Event::Test)
    }
}

/// The classification of a document.
#[derive(Debug)]
pub(crate) enum Class {
    Hook(Hook),
    /// A hook with an unknown event, which Helm drops: the value of the annotation.
    Unknown(String),
    Manifest,
}

pub(crate) fn classify(path: &str, content: &str, head: &Head, profile: Profile) -> Class {
    let Some(events) = head.annotation(HOOK) else {
        return Class::Manifest;
    };
    let parsed: Option<Vec<Event>> = list(events).map(|name| Event::parse(&name)).collect();
    let Some(events) = parsed else {
        return Class::Unknown(events.to_owned());
    };
    let policies = |annotation| -> Vec<String> {
        head.annotation(annotation)
            .map_or_else(Vec::new, |names| list(names).collect())
    };
    Class::Hook(Hook {
        name: head.name.clone(),
        kind: head.kind.clone(),
        api_version: head.api_version.clone(),
        path: path.to_owned(),
        manifest: content.to_owned(),
        events,
        weight: head
            .annotation(WEIGHT)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
        delete_policies: policies(DELETE_POLICY),
        output_log_policies: if profile.rules().hook_log_policies {
            policies(OUTPUT_LOG_POLICY)
        } else {
            Vec::new()
        },
    })
}

/// The items of a comma-separated list, trimmed and in lower case.
fn list(names: &str) -> impl Iterator<Item = String> {
    names.split(',').map(|name| name.trim().to_lowercase())
}
