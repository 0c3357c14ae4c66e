//! Access, rules, token and self-subject reviews.

use std::collections::HashSet;

use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_builtin::fields::as_text;
use serde_json::{Map, Value, json};

use super::Auth;
use super::index::aggregate;
use super::rule::Rule;
use super::service_account::strings;
use super::token_request::seconds_text;
use super::user::{Attributes, Target, UserInfo};

/// How many verbs, groups, resources, names and paths the rules of a rules review have at most.
const MAX_REPORTED_TEXTS: usize = 20_000;

impl Auth {
    /// The review with its status; none if `kind`, a plural name, is not a review.
    pub fn review(
        &self,
        kind: &str,
        user: &UserInfo,
        mut object: Value,
    ) -> Option<Result<Value, Status>> {
        if object["metadata"].is_null() {
            set(&mut object, "metadata", json!({}));
        }
        Some(match kind {
            "selfsubjectaccessreviews" => self.access(object, Some(user), false),
            "subjectaccessreviews" => self.access(object, None, false),
            "localsubjectaccessreviews" => self.access(object, None, true),
            "selfsubjectrulesreviews" => self.rules(&object, user),
            "selfsubjectreviews" => Ok(self.self_subject(user)),
            "tokenreviews" => self.token(object),
            _ => return None,
        })
    }

    /// `user` is set for self-subject reviews.
    fn access(
        &self,
        mut review: Value,
        user: Option<&UserInfo>,
        local: bool,
    ) -> Result<Value, Status> {
        check_access(&review, user.is_none(), local)?;
        let spec = &review["spec"];
        let status = match user {
            Some(user) => self.access_status(user, spec),
            None => self.access_status(&user_of(spec), spec),
        };
        set(&mut review, "status", status);
        Ok(review)
    }

    fn access_status(&self, user: &UserInfo, spec: &Value) -> Value {
        let resource = &spec["resourceAttributes"];
        let path = &spec["nonResourceAttributes"];
        let (verb, target) = if resource.is_null() {
            (as_text(&path["verb"]), Target::Path(as_text(&path["path"])))
        } else {
            let target = Target::Resource {
                group: as_text(&resource["group"]),
                version: as_text(&resource["version"]),
                resource: as_text(&resource["resource"]),
                subresource: as_text(&resource["subresource"]),
                namespace: as_text(&resource["namespace"]),
                name: as_text(&resource["name"]),
            };
            (as_text(&resource["verb"]), target)
        };
        let decision = self.decide(user, &Attributes { verb, target });
        let mut status = json!({"allowed": decision.allowed});
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        status
    }

    fn rules(&self, review: &Value, user: &UserInfo) -> Result<Value, Status> {
        let namespace = as_text(&review["spec"]["namespace"]);
        if namespace.is_empty() {
            return Err(Status::bad_request("no namespace on request"));
        }
        let held = self.index().roles_for(user, namespace);
        let full = Rule::full_authority();
        let full = user.is_privileged().then_some(&full);
        let held_rules = held.roles.iter().flat_map(|role| role.rules());
        let (rules, is_complete) = reported(held_rules.chain(full.into_iter().flatten()));
        let mut errors = held.errors;
        if !is_complete {
            errors.push(format!("only the first {} rules are listed", rules.len()));
        }
        let resources: Vec<Value> = rules.iter().copied().filter_map(resource_rule).collect();
        let paths: Vec<Value> = rules.iter().copied().filter_map(path_rule).collect();
        let mut status = json!({
            "resourceRules": resources, "nonResourceRules": paths, "incomplete": !is_complete,
        });
        if !errors.is_empty() {
            status["evaluationError"] = aggregate(&errors).into();
        }
        Ok(json!({
            "kind": "SelfSubjectRulesReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {},
            "status": status,
        }))
    }

    fn self_subject(&self, user: &UserInfo) -> Value {
        json!({
            "kind": "SelfSubjectReview",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": seconds_text(self.now())},
            "status": {"userInfo": user_info(user)},
        })
    }

    fn token(&self, mut review: Value) -> Result<Value, Status> {
        let spec = &review["spec"];
        let token = as_text(&spec["token"]);
        if token.is_empty() {
            return Err(Status::bad_request(
                "token is required for TokenReview in authentication",
            ));
        }
        let status = match self.authenticate_token(token, &strings(&spec["audiences"])) {
            Ok(token) => json!({
                "authenticated": true, "user": user_info(&token.user), "audiences": token.audiences,
            }),
            Err(error) => json!({"user": {}, "error": error.to_string()}),
        };
        set(&mut review, "status", status);
        Ok(review)
    }
}

fn set(review: &mut Value, key: &str, value: Value) {
    if let Some(fields) = review.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

fn user_of(spec: &Value) -> UserInfo {
    let extra = spec["extra"].as_object().into_iter().flatten();
    UserInfo {
        name: as_text(&spec["user"]).to_owned(),
        uid: as_text(&spec["uid"]).to_owned(),
        groups: strings(&spec["groups"]),
        extra: extra
            .map(|(key, values)| (key.clone(), strings(values)))
            .collect(),
    }
}

fn user_info(user: &UserInfo) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), user.name.clone().into());
    if !user.uid.is_empty() {
        info.insert("uid".to_owned(), user.uid.clone().into());
    }
    if !user.groups.is_empty() {
        info.insert("groups".to_owned(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        info.insert("extra".to_owned(), json!(user.extra));
    }
    info.into()
}

/// Each rule once, and whether these are all.
fn reported<'r>(rules: impl Iterator<Item = &'r Rule>) -> (Vec<&'r Rule>, bool) {
    let (mut seen, mut texts) = (HashSet::new(), 0_usize);
    let mut reported = Vec::new();
    for rule in rules {
        if seen.insert(rule) {
            texts = texts.saturating_add(rule.texts());
            if texts > MAX_REPORTED_TEXTS {
                return (reported, false);
            }
            reported.push(rule);
        }
    }
    (reported, true)
}

fn resource_rule(rule: &Rule) -> Option<Value> {
    if rule.resources.is_empty() {
        return None;
    }
    let mut told = json!({
        "verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources,
    });
    if !rule.resource_names.is_empty() {
        told["resourceNames"] = json!(rule.resource_names);
    }
    Some(told)
}

fn path_rule(rule: &Rule) -> Option<Value> {
    let urls = &rule.non_resource_urls;
    (!urls.is_empty()).then(|| json!({"verbs": rule.verbs, "nonResourceURLs": urls}))
}

fn check_access(review: &Value, names_user: bool, local: bool) -> Result<(), Status> {
    let spec = &review["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let root = Path::root("spec");
    let mut errors = Vec::new();
    if !resource.is_null() && !path.is_null() {
        let detail = "cannot be specified in combination with resourceAttributes";
        errors.push(Error::invalid(
            &root.child("nonResourceAttributes"),
            go_path(path),
            detail,
        ));
    }
    if resource.is_null() && path.is_null() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(Error::invalid(
            &root.child("resourceAttributes"),
            &Value::Null,
            detail,
        ));
    }
    if names_user && as_text(&spec["user"]).is_empty() && strings(&spec["groups"]).is_empty() {
        let detail = "at least one of user or group must be specified";
        errors.push(Error::invalid(&root.child("user"), "", detail));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        errors.extend(check_selector(&resource[selector], selector));
    }
    let metadata = client_metadata(&review["metadata"], local);
    if metadata
        .as_object()
        .is_some_and(|fields| !fields.is_empty())
    {
        let detail = if local {
            "must be empty except for namespace"
        } else {
            "must be empty"
        };
        errors.push(Error::invalid(&Path::root("metadata"), &metadata, detail));
    }
    if local {
        let own = as_text(&review["metadata"]["namespace"]);
        let asked = as_text(&resource["namespace"]);
        if !resource.is_null() && asked != own {
            let place = root.child("resourceAttributes");
            let detail = "must match metadata.namespace";
            errors.push(Error::invalid(&place.child("namespace"), asked, detail));
        }
        if !path.is_null() {
            let detail = "disallowed on this kind of request";
            errors.push(Error::invalid(
                &root.child("nonResourceAttributes"),
                go_path(path),
                detail,
            ));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    // The real server omits the kind here.
    Err(Status::invalid(
        GroupKind::new("authorization.k8s.io", ""),
        "",
        &errors,
    ))
}

/// A selector is either a string or a list of requirements.
fn check_selector(selector: &Value, name: &str) -> Option<Error> {
    let root = Path::root("spec");
    let resource = root.child("resourceAttributes");
    let place = resource.child(name);
    if selector.is_null() {
        return None;
    }
    let raw = as_text(&selector["rawSelector"]);
    let has_requirements = selector["requirements"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    match (raw.is_empty(), has_requirements) {
        (false, true) => {
            let detail = "may not specified at the same time as requirements";
            Some(Error::invalid(&place.child("rawSelector"), raw, detail))
        }
        (true, false) => {
            let detail =
                format!("when {place} is specified, requirements or rawSelector is required");
            Some(Error::required(&place.child("requirements"), detail))
        }
        _ => None,
    }
}

/// The metadata that a client has set, which must be empty.
fn client_metadata(metadata: &Value, local: bool) -> Value {
    let mut metadata = metadata.clone();
    if let Some(fields) = metadata.as_object_mut() {
        fields.remove("managedFields");
        fields.retain(|_, value| !value.is_null());
        if local {
            fields.remove("namespace");
        }
    }
    metadata
}

fn go_path(path: &Value) -> BadValue {
    let value = json!({"Path": as_text(&path["path"]), "Verb": as_text(&path["verb"])});
    BadValue::from(&value)
}
