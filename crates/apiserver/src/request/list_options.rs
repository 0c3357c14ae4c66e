//! `ListOptions`.

use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::selector::{FieldSelector, LabelSelector};

use super::Query;
use super::options::parse_revision;

/// `resourceVersionMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Exact,
    NotOlderThan,
}

#[derive(Debug, Clone)]
pub(crate) struct ListOptions {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    /// `resourceVersion`.
    pub(crate) revision: Option<u64>,
    pub(crate) version_match: Option<Match>,
    /// `timeoutSeconds`.
    pub(crate) timeout: Option<i64>,
    pub(crate) bookmarks: bool,
    pub(crate) initial_events: Option<bool>,
}

impl ListOptions {
    pub(crate) fn parse(query: &Query<'_>, kind: &Kind, is_watch: bool) -> Result<Self, Status> {
        let limit = query.integer("limit")?.unwrap_or(0);
        let timeout = query.integer("timeoutSeconds")?;
        let labels = LabelSelector::parse(query.text("labelSelector"))?;
        let errors = check(query, is_watch);
        if !errors.is_empty() {
            let kind = GroupKind::new("meta.k8s.io", "ListOptions");
            return Err(Status::invalid(kind, "", &errors));
        }
        let fields = FieldSelector::parse(query.text("fieldSelector"), kind)?;
        let revision = match query.text("resourceVersion") {
            "" => None,
            text => Some(parse_revision(text).map_err(|status| {
                if is_watch {
                    return status;
                }
                Status::bad_request(format!("invalid resource version: {}", status.message))
            })?),
        };
        Ok(Self {
            labels,
            fields,
            limit: usize::try_from(limit).unwrap_or(0),
            continue_token: query.text("continue").to_owned(),
            revision,
            version_match: match query.text("resourceVersionMatch") {
                "Exact" => Some(Match::Exact),
                "NotOlderThan" => Some(Match::NotOlderThan),
                _ => None,
            },
            timeout,
            bookmarks: query.flag("allowWatchBookmarks"),
            initial_events: query.optional_flag("sendInitialEvents"),
        })
    }

    pub(crate) fn has_selector(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}

const MATCH: Path<'static> = Path::root("resourceVersionMatch");

fn check(query: &Query<'_>, is_watch: bool) -> Vec<Error> {
    let mut errors = Vec::new();
    let wanted = query.text("resourceVersionMatch");
    let sends_initial = query.has("sendInitialEvents");
    if is_watch {
        check_watch(query, wanted, sends_initial, &mut errors);
        return errors;
    }
    if !wanted.is_empty() {
        if query.text("resourceVersion").is_empty() {
            let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(Error::forbidden(&MATCH, detail));
        }
        if !query.text("continue").is_empty() {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(Error::forbidden(&MATCH, detail));
        }
        if !matches!(wanted, "Exact" | "NotOlderThan") {
            let known = ["Exact", "NotOlderThan", ""];
            errors.push(Error::not_supported(&MATCH, wanted, &known));
        }
        if wanted == "Exact" && query.text("resourceVersion") == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(Error::forbidden(&MATCH, detail));
        }
    }
    if sends_initial {
        let path = Path::root("sendInitialEvents");
        let detail = "sendInitialEvents is forbidden for list";
        errors.push(Error::forbidden(&path, detail));
    }
    errors
}

fn check_watch(query: &Query<'_>, wanted: &str, sends_initial: bool, errors: &mut Vec<Error>) {
    if sends_initial && wanted != "NotOlderThan" {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(Error::forbidden(&MATCH, detail));
    }
    if wanted.is_empty() {
        return;
    }
    if !sends_initial {
        let detail =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        errors.push(Error::forbidden(&MATCH, detail));
    }
    if wanted != "NotOlderThan" {
        errors.push(Error::not_supported(&MATCH, wanted, &["NotOlderThan"]));
    }
    if !query.text("continue").is_empty() {
        let detail = "resourceVersionMatch is forbidden when continue is provided";
        errors.push(Error::forbidden(&MATCH, detail));
    }
}
