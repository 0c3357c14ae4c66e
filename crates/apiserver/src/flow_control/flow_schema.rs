//! Flow schemas: which requests they match, and which flow of the schema a request belongs to.

use http::HeaderValue;
use outrigger_builtin::fields::as_text;
use serde_json::Value;

use super::header;
use crate::auth::{Attributes, Target, UserInfo, service_account_name};

/// A parsed `FlowSchema`.
#[derive(Debug)]
pub(super) struct FlowSchema {
    name: String,
    pub(super) uid: HeaderValue,
    pub(super) level: String,
    precedence: i64,
    distinguisher: Option<Distinguisher>,
    rules: Vec<Rule>,
}

/// What tells the flows of a schema apart.
#[derive(Debug, Clone, Copy)]
enum Distinguisher {
    User,
    Namespace,
}

/// `PolicyRulesWithSubjects`.
#[derive(Debug)]
struct Rule {
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

#[derive(Debug)]
enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

#[derive(Debug)]
struct ResourceRule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    namespaces: Vec<String>,
    has_cluster_scope: bool,
}

#[derive(Debug)]
struct PathRule {
    verbs: Vec<String>,
    paths: Vec<String>,
}

impl FlowSchema {
    pub(super) fn parse(object: &Value) -> Self {
        let spec = &object["spec"];
        Self {
            name: as_text(&object["metadata"]["name"]).to_owned(),
            uid: header(&object["metadata"]["uid"]),
            level: as_text(&spec["priorityLevelConfiguration"]["name"]).to_owned(),
            precedence: spec["matchingPrecedence"].as_i64().unwrap_or_default(),
            distinguisher: match as_text(&spec["distinguisherMethod"]["type"]) {
                "ByUser" => Some(Distinguisher::User),
                "ByNamespace" => Some(Distinguisher::Namespace),
                _ => None,
            },
            rules: items(&spec["rules"]).map(Rule::parse).collect(),
        }
    }

    /// The schema with the lowest rank that matches a request applies.
    pub(super) fn rank(&self) -> (i64, &str) {
        (self.precedence, &self.name)
    }

    pub(super) fn matches(&self, user: &UserInfo, attributes: &Attributes<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(user, attributes))
    }

    pub(super) fn flow_key(&self, user: &UserInfo, attributes: &Attributes<'_>) -> String {
        let distinguisher = match self.distinguisher {
            Some(Distinguisher::User) => &user.name,
            Some(Distinguisher::Namespace) => attributes.namespace(),
            None => "",
        };
        format!("{}/{distinguisher}", self.name)
    }
}

impl Rule {
    fn parse(rule: &Value) -> Self {
        Self {
            subjects: items(&rule["subjects"])
                .filter_map(Subject::parse)
                .collect(),
            resources: items(&rule["resourceRules"])
                .map(ResourceRule::parse)
                .collect(),
            paths: items(&rule["nonResourceRules"])
                .map(|rule| PathRule {
                    verbs: texts(&rule["verbs"]),
                    paths: texts(&rule["nonResourceURLs"]),
                })
                .collect(),
        }
    }

    fn matches(&self, user: &UserInfo, attributes: &Attributes<'_>) -> bool {
        let matches_target = || match attributes.target {
            Target::Path(path) => self
                .paths
                .iter()
                .any(|rule| rule.matches(attributes.verb, path)),
            Target::Resource { .. } => self.resources.iter().any(|rule| rule.matches(attributes)),
        };
        self.subjects.iter().any(|subject| subject.matches(user)) && matches_target()
    }
}

impl Subject {
    fn parse(subject: &Value) -> Option<Self> {
        let name = |field: &str| as_text(&subject[field]["name"]).to_owned();
        match as_text(&subject["kind"]) {
            "User" => Some(Self::User(name("user"))),
            "Group" => Some(Self::Group(name("group"))),
            "ServiceAccount" => Some(Self::ServiceAccount {
                namespace: as_text(&subject["serviceAccount"]["namespace"]).to_owned(),
                name: name("serviceAccount"),
            }),
            _ => None,
        }
    }

    fn matches(&self, user: &UserInfo) -> bool {
        match self {
            Self::User(name) => name == "*" || *name == user.name,
            Self::Group(name) => name == "*" || user.is_in(name),
            Self::ServiceAccount { namespace, name } if name == "*" => {
                user.name.starts_with(&service_account_name(namespace, ""))
            }
            Self::ServiceAccount { namespace, name } => {
                user.name == service_account_name(namespace, name)
            }
        }
    }
}

impl ResourceRule {
    fn parse(rule: &Value) -> Self {
        Self {
            verbs: texts(&rule["verbs"]),
            groups: texts(&rule["apiGroups"]),
            resources: texts(&rule["resources"]),
            namespaces: texts(&rule["namespaces"]),
            has_cluster_scope: rule["clusterScope"] == true,
        }
    }

    fn matches(&self, attributes: &Attributes<'_>) -> bool {
        let Target::Resource {
            group,
            resource,
            subresource,
            namespace,
            ..
        } = attributes.target
        else {
            return false;
        };
        let is_in_scope = if namespace.is_empty() {
            self.has_cluster_scope
        } else {
            has(&self.namespaces, namespace)
        };
        let is_resource = || match subresource {
            "" => has(&self.resources, resource),
            _ => has(&self.resources, &format!("{resource}/{subresource}")),
        };
        is_in_scope
            && has(&self.verbs, attributes.verb)
            && has(&self.groups, group)
            && is_resource()
    }
}

impl PathRule {
    fn matches(&self, verb: &str, path: &str) -> bool {
        let is_prefix = |pattern: &String| {
            let prefix = pattern.strip_suffix('*');
            prefix.is_some_and(|prefix| prefix.ends_with('/') && path.starts_with(prefix))
        };
        has(&self.verbs, verb) && (has(&self.paths, path) || self.paths.iter().any(is_prefix))
    }
}

/// Whether a text or `*` is in the list.
fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == text)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> Vec<String> {
    let texts = items(value).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
