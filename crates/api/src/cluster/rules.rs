//! CEL validation rules of the custom resource definitions of Cluster and Machine.

use super::validation::MAX_NAME;
use crate::definition::Rule;
use crate::hook::Hook;

/// Rules of the object.
pub(crate) fn object() -> Vec<Rule> {
    vec![Rule::new(
        format!("size(self.metadata.name) <= {MAX_NAME}"),
        format!(
            "the name has more than {MAX_NAME} characters; the names of machines begin with it"
        ),
    )]
}

/// Rules of the maximum duration of a step.
pub(crate) fn timeout() -> Vec<Rule> {
    vec![Rule::new(
        "duration(self) > duration('0s') && duration(self) <= duration('8760h')",
        "must be greater than zero, and at most 8760h",
    )]
}

/// Rules of `spec`. Rules with `oldSelf` are transition rules.
pub(crate) fn spec() -> Vec<Rule> {
    vec![
        Rule::new(
            "self.type == oldSelf.type",
            "type is immutable; delete the cluster and create it again",
        ),
        Rule::new(
            "self.type != 'Baremetal' || (has(self.machines) && size(self.machines) > 0)",
            "a Baremetal cluster needs at least one machine",
        ),
        Rule::new(
            "self.type != 'Baremetal' || (has(self.version) && size(self.version) > 0)",
            "a Baremetal cluster needs a version",
        ),
        Rule::new(
            "self.type != 'Imported' || !has(self.machines) || size(self.machines) == 0",
            "an Imported cluster has no machines",
        ),
    ]
}

/// Rules of `spec.features.hooks`.
pub(crate) fn hooks() -> Vec<Rule> {
    let names: Vec<String> = Hook::of_clusters()
        .map(|hook| format!("'{}'", hook.name))
        .collect();
    vec![
        Rule::new(
            format!("self.all(name, name in [{}])", names.join(", ")),
            format!(
                "unknown hook; the hooks are {}",
                names.join(", ").replace('\'', "")
            ),
        ),
        Rule::new(
            "self.all(name, self[name].startsWith('/'))",
            "a hook is an absolute path on the machines",
        ),
    ]
}

/// Rules of each item of `spec.features.files`.
pub(crate) fn files() -> Vec<Rule> {
    vec![
        Rule::new("self.dst.startsWith('/')", "dst must be an absolute path"),
        Rule::new(
            r"!self.src.matches('^/|(^|/)[.][.](/|$)')",
            "src must be a path inside the files root",
        ),
    ]
}

/// Rules of how a machine is reached: items of `spec.machines` of a Cluster, `spec` of a Machine.
pub(crate) fn access() -> Vec<Rule> {
    vec![
        Rule::new(
            "has(self.secretRef) != (has(self.password) || has(self.privateKey))",
            "set either secretRef, or password or privateKey",
        ),
        Rule::new("isIP(self.ip)", "ip must be an IP address"),
    ]
}

/// Rules of a Machine. Something was done at its address; the port is one of the same machine, whose host key is required.
pub(crate) fn machine_object() -> Vec<Rule> {
    let status = "oldSelf.status";
    let is_untouched = format!(
        "!has({status}) || !(has({status}.address) || has({status}.hostKey) || has({status}.version))"
    );
    vec![Rule::new(
        format!("{is_untouched} || ip(self.spec.ip) == ip(oldSelf.spec.ip)"),
        "the IP address of a machine that was set up is immutable: outrigger machine replace puts another machine in its \
         place; or remove the machine and add it again",
    )]
}

/// Rules of `spec` of a Machine, in addition to those of its access.
pub(crate) fn machine() -> Vec<Rule> {
    let mut rules = vec![
        Rule::new(
            "self.cluster == oldSelf.cluster",
            "cluster is immutable; delete the machine and create it again",
        ),
        Rule::new(
            "self.role == oldSelf.role",
            "role is immutable; delete the machine and create it again",
        ),
    ];
    rules.extend(access());
    rules
}
