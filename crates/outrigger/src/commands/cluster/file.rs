//! Reads clusters from files, including those of TKEStack, with the comments of its documentation.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail, ensure};
use outrigger_api::cluster::{Cluster, validate};
use outrigger_api::compat;

use crate::input_file;
use crate::report::{HintExt as _, note};

/// Reads the clusters of a file and validates them.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Cluster>> {
    let text = input_file::read_text(path)?;
    parse(&path.display().to_string(), &text)
}

fn parse(name: &str, text: &str) -> anyhow::Result<Vec<Cluster>> {
    let text = compat::strip_comments(text);
    let mut clusters = Vec::new();
    for (index, document) in outrigger_goyaml::documents(text.as_bytes()).enumerate() {
        let location = || format!("{name}, document {}", index + 1);
        let document = document.map_err(|error| anyhow!("{}: {}", location(), error.rest))?;
        let object = outrigger_goyaml::parse_json(&document).with_context(location)?;
        if object.is_null() {
            continue;
        }
        clusters.push(convert(object).with_context(location)?);
    }
    ensure!(!clusters.is_empty(), "{name} contains no clusters");
    Ok(clusters)
}

fn convert(object: serde_json::Value) -> anyhow::Result<Cluster> {
    let kind = object["kind"].as_str().unwrap_or("object without a kind");
    let kind = kind.to_owned();
    let cluster = match compat::read_cluster(object) {
        Ok(Some(cluster)) => cluster,
        Ok(None) => bail!("{kind} is not a cluster"),
        Err(error) => {
            return match error.hint() {
                Some(hint) => Err(error).hint(hint),
                None => Err(error.into()),
            };
        }
    };
    let errors = validate(&cluster);
    if !errors.is_empty() {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        bail!("the cluster is invalid: {}", errors.join("; "));
    }
    let machines = &cluster.spec.machines;
    if machines.iter().any(|machine| machine.password.is_some()) {
        note("everybody who may read the cluster can read its passwords; secretRef avoids that");
    }
    Ok(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_cluster_is_refused_with_document_field_and_suggestion() {
        let text = "apiVersion: outrigger.dev/v1beta1\nkind: Cluster\nspec:\n  version: 1.0.0\n  \
                    machines: [{ip: 10.0.0.1, privateKey: eA==}]\n  \
                    features: {skipConditions: [EnsureKublet]}\n";
        let error = parse("x.yaml", text).unwrap_err();
        let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
        assert_eq!(chain[0], "x.yaml, document 1");
        assert!(
            chain[1].contains("did you mean EnsureKubelet?"),
            "{chain:?}"
        );
        let error = parse("x.yaml", "kind: Deployment\n").unwrap_err();
        assert_eq!(
            error.root_cause().to_string(),
            "Deployment is not a cluster"
        );
        assert!(parse("x.yaml", "# nothing\n").is_err());
    }
}
