//! Describes the drift that a plan corrects, without values: events are readable by many.

use outrigger_release::{Change, Plan, Step};

use crate::observed::object_text;

/// The number of fields that are named for each object.
const MAX_FIELDS: usize = 5;

/// The objects that are written, with the fields that differ.
pub(super) fn describe(plan: &Plan) -> Vec<String> {
    plan.objects.iter().filter_map(describe_step).collect()
}

fn describe_step(step: &Step) -> Option<String> {
    let id = &step.object;
    let object = object_text(&id.kind, id.namespace.as_deref(), &id.name);
    match step.change {
        Change::Create => Some(format!("{object} was missing")),
        Change::Update | Change::Adopt => {
            let fields = step.fields.iter().map(|field| field.path.as_str());
            let fields: Vec<&str> = fields.take(MAX_FIELDS).collect();
            let others = step.fields.len() - fields.len();
            let more = match others {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            match fields.as_slice() {
                [] => Some(format!("{object} was modified")),
                fields => Some(format!(
                    "{object} was modified: {}{more}",
                    fields.join(", ")
                )),
            }
        }
        Change::Unchanged | Change::Prune | Change::Keep => None,
    }
}
