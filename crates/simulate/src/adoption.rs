//! Adopts objects without a controller that a selector matches, and releases those that it no longer matches.

use serde_json::{Value, json};

use super::cache::ObjectRef;
use super::object::{
    controller, controller_reference, is_active, is_deleting, items, namespace, selects, uid,
};
use super::plan::{Action, Context};
use super::pod_template::PodOwner;

/// The patches that adopt and release objects of a kind.
pub(super) fn claim(
    owner: PodOwner<'_>,
    plural: &'static str,
    selector: &Value,
    ctx: &Context<'_>,
) -> Vec<Action> {
    if !selector.is_object() {
        return Vec::new();
    }
    let is_selected = |object: &Value| selects(selector, &object["metadata"]["labels"]);
    let all = ctx.cache.list(plural, namespace(owner.owner));
    let orphans = all.filter(|object| {
        let is_finished = plural == "pods" && !is_active(object);
        controller(object).is_none() && !is_deleting(object) && !is_finished && is_selected(object)
    });
    let adopted = orphans.map(|object| {
        let mut references = items(&object["metadata"]["ownerReferences"]).to_vec();
        let own = controller_reference(owner.owner, owner.api_version, owner.kind);
        references.extend(items(&own).iter().cloned());
        set_references(plural, object, &references)
    });
    let controlled = ctx.cache.controlled(plural, uid(owner.owner)).into_iter();
    let strangers = controlled.filter(|object| !is_selected(object) && !is_deleting(object));
    let released = strangers.map(|object| {
        let references = items(&object["metadata"]["ownerReferences"]).iter();
        let others = references.filter(|reference| reference["uid"] != uid(owner.owner));
        set_references(plural, object, &others.cloned().collect::<Vec<_>>())
    });
    adopted.chain(released).collect()
}

fn set_references(plural: &'static str, object: &Value, references: &[Value]) -> Action {
    // The uid is a precondition: another object of this name is not touched.
    let change = json!({"metadata": {"uid": uid(object), "ownerReferences": references}});
    Action::Patch(ObjectRef::of(plural, object), change)
}
