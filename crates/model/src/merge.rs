//! The merge of all contributions into one model.

use std::collections::BTreeSet;

use crate::conflict::{Conflict, Problem};
use crate::construct::{Construct, Content, KeyPair, KeyUsage, Manifest, StackName};
use crate::contribution::{Contribution, Model};
use crate::merged::Entry;

/// Merges contributions into a model, or returns all conflicts, sorted. The result does not depend on their order.
pub fn merge(
    contributions: impl IntoIterator<Item = Contribution>,
) -> Result<Model, Vec<Conflict>> {
    let mut conflicts = Vec::new();
    let model = Model::collect(contributions, &mut conflicts);
    conflicts.extend(missing_patch_targets(&model));
    conflicts.extend(missing_stacks(&model));
    conflicts.extend(missing_key_pairs(&model));
    conflicts.extend(signers(&model));
    if conflicts.is_empty() {
        return Ok(model);
    }
    conflicts.sort();
    conflicts.dedup();
    Err(conflicts)
}

fn problem<T: Construct>(entry: &Entry<T>, problem: Problem) -> Option<Conflict> {
    Some(Conflict {
        kind: T::KIND,
        key: entry.value.key(),
        owner: entry.owners.first()?.clone(),
        scope: entry.scope.clone(),
        problem,
    })
}

/// Patches of resources that nobody contributes.
fn missing_patch_targets(model: &Model) -> Vec<Conflict> {
    let missing = model.patches.entries().filter(|entry| {
        let patched: BTreeSet<_> = entry.scope.widening().collect();
        let reaches = |resource: &&Entry<_>| {
            patched.contains(&resource.scope)
                || resource.scope.widening().any(|scope| scope == entry.scope)
        };
        !model
            .resources
            .get(&entry.value.key())
            .any(|resource| reaches(&resource))
    });
    let missing = missing.filter_map(|entry| {
        problem(
            entry,
            Problem::Missing(format!("resource {}", entry.value.key())),
        )
    });
    missing.collect()
}

/// Resources, outputs, parameters and tags of stacks that nobody contributes.
fn missing_stacks(model: &Model) -> Vec<Conflict> {
    fn find<'a, T: Construct + 'a>(
        model: &'a Model,
        entries: impl Iterator<Item = &'a Entry<T>>,
        stack: fn(&T) -> &StackName,
    ) -> Vec<Conflict> {
        let missing = entries.filter_map(|entry| match stack(&entry.value) {
            StackName::Additional(name) if model.additional_stacks.in_cluster(name).is_none() => {
                problem(entry, Problem::Missing(format!("stack {name}")))
            }
            _ => None,
        });
        missing.collect()
    }
    [
        find(model, model.resources.entries(), |resource| &resource.stack),
        find(model, model.outputs.entries(), |output| &output.stack),
        find(model, model.parameters.entries(), |parameter| {
            &parameter.stack
        }),
        find(model, model.tags.entries(), |tag| &tag.stack),
    ]
    .concat()
}

/// Files whose content is a key pair that nobody contributes.
fn missing_key_pairs(model: &Model) -> Vec<Conflict> {
    let missing = |content: &Content| match content {
        Content::KeyPair { name, .. } if model.key_pairs.in_cluster(name).is_none() => {
            Some(Problem::Missing(format!("key pair {name}")))
        }
        _ => None,
    };
    let files = model.files.entries();
    let files = files.filter_map(|entry| problem(entry, missing(&entry.value.content)?));
    let s3_files = model.s3_files.entries();
    let s3_files = s3_files.filter_map(|entry| problem(entry, missing(&entry.value.content)?));
    files.chain(s3_files).collect()
}

/// Key pairs whose signer is missing, is not an authority, or is signed by the key pair itself.
fn signers(model: &Model) -> Vec<Conflict> {
    let found = model.key_pairs.entries().filter_map(|entry| {
        let signer = entry.value.signer.as_deref()?;
        let Some(authority) = model.key_pairs.in_cluster(signer) else {
            return problem(entry, Problem::Missing(format!("signer {signer}")));
        };
        if !authority.usages.contains(&KeyUsage::Ca) {
            return problem(
                entry,
                Problem::Invalid(format!("its signer {signer} has no usage ca")),
            );
        }
        let cycle = signer_cycle(model, &entry.value)?;
        problem(
            entry,
            Problem::Invalid(format!("signers form a cycle: {cycle}")),
        )
    });
    found.collect()
}

/// The names of the signers up to where they repeat, if they do.
fn signer_cycle(model: &Model, key_pair: &KeyPair) -> Option<String> {
    let mut names = vec![key_pair.name.as_str()];
    let mut current = key_pair;
    while let Some(signer) = &current.signer {
        let is_repeated = names.contains(&signer.as_str());
        names.push(signer);
        if is_repeated {
            return Some(names.join(" -> "));
        }
        current = model.key_pairs.in_cluster(signer)?;
    }
    None
}

impl Model {
    /// The objects in the order of files and of positions within them.
    pub fn sorted_manifests(&self) -> Vec<&Entry<Manifest>> {
        let mut manifests: Vec<_> = self.manifests.entries().collect();
        manifests.sort_by_key(|entry| (&entry.owners, &entry.value.name, entry.value.position));
        manifests
    }
}

#[cfg(test)]
mod tests;
