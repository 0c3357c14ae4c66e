//! `PodTemplate`: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use super::pod;
use crate::table::cells::{containers, format_labels, name};
use crate::table::moment::Now;

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    pod::validate_template(errors, &Path::root("template"), &object["template"]);
}

pub(crate) fn cells(object: &Value, _: Now) -> Vec<Value> {
    let template = &object["template"];
    let [names, images] = containers(&template["spec"]);
    let labels = format_labels(&template["metadata"]["labels"]);
    vec![name(object), names, images, labels.into()]
}
