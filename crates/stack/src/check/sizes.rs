//! Limits of CloudFormation and EC2.

use crate::finding::Finding;
use crate::stage::Rendered;

/// The maximum size of a template in S3.
const TEMPLATE_BYTES: usize = 1 << 20;
/// The maximum size of a template in a request.
const INLINE_TEMPLATE_BYTES: usize = 51_200;
/// The maximum size of user data, before it is encoded in base64.
pub(crate) const USER_DATA_BYTES: usize = 16 << 10;
/// The maximum number of resources of a template.
const RESOURCES: usize = 500;

pub(super) fn findings(rendered: &Rendered) -> Vec<Finding> {
    let mut findings = Vec::new();
    for template in &rendered.templates {
        let name = &template.name;
        let bytes = template.body.to_string().len();
        if bytes > TEMPLATE_BYTES {
            findings.push(Finding::fatal(
                "",
                format!(
                    "template {name} has {bytes} bytes; CloudFormation allows {TEMPLATE_BYTES}"
                ),
            ));
        } else if bytes > INLINE_TEMPLATE_BYTES && name == "root" {
            let message = format!(
                "template {name} has {bytes} bytes and must be uploaded; up to {INLINE_TEMPLATE_BYTES} could be sent inline"
            );
            findings.push(Finding::warning("", message));
        }
        let resources = template.body["Resources"]
            .as_object()
            .map_or(0, serde_json::Map::len);
        if resources > RESOURCES {
            findings.push(Finding::fatal(
                "",
                format!(
                    "template {name} has {resources} resources; CloudFormation allows {RESOURCES}"
                ),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stage::Template;

    #[test]
    fn large_templates_are_reported() {
        let template = |name: &str, bytes: usize| Template {
            name: name.to_owned(),
            body: json!({"x": "a".repeat(bytes)}),
        };
        let rendered = |template| Rendered {
            templates: vec![template],
            files: Vec::new(),
        };
        assert!(findings(&rendered(template("root", 100))).is_empty());
        assert!(!findings(&rendered(template("root", 60_000)))[0].is_fatal());
        assert!(findings(&rendered(template("network", 1 << 20)))[0].is_fatal());
    }
}
