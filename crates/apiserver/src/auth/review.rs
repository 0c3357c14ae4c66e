//! Reviews: questions about rights and identities that are answered and forgotten.

use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use serde_json::{Map, Value, json};

use super::Auth;
use super::identity::{Attributes, Identity, Target};
use super::index::together;
use super::issue::seconds_text;
use super::rule::Rule;
use super::service_account::{strings, text};

impl Auth {
    /// Answers a review that `who` has sent: `object` with its status. None if `kind`, a plural name, is no review.
    pub fn review(
        &self,
        kind: &str,
        who: &Identity,
        mut object: Value,
    ) -> Option<Result<Value, Status>> {
        if object["metadata"].is_null() {
            set(&mut object, "metadata", json!({}));
        }
        Some(match kind {
            "selfsubjectaccessreviews" => self.access(object, Some(who), false),
            "subjectaccessreviews" => self.access(object, None, false),
            "localsubjectaccessreviews" => self.access(object, None, true),
            "selfsubjectrulesreviews" => self.rules(&object, who),
            "selfsubjectreviews" => Ok(self.identity(who)),
            "tokenreviews" => self.token(object),
            _ => return None,
        })
    }

    /// `who` is the user of a review about oneself.
    fn access(
        &self,
        mut review: Value,
        who: Option<&Identity>,
        local: bool,
    ) -> Result<Value, Status> {
        check_access(&review, who.is_none(), local)?;
        let spec = &review["spec"];
        let status = match who {
            Some(who) => self.answer(who, spec),
            None => self.answer(&user_of(spec), spec),
        };
        set(&mut review, "status", status);
        Ok(review)
    }

    fn answer(&self, who: &Identity, spec: &Value) -> Value {
        let resource = &spec["resourceAttributes"];
        let path = &spec["nonResourceAttributes"];
        let (verb, target) = if resource.is_null() {
            (text(&path["verb"]), Target::Path(text(&path["path"])))
        } else {
            let target = Target::Resource {
                group: text(&resource["group"]),
                version: text(&resource["version"]),
                resource: text(&resource["resource"]),
                subresource: text(&resource["subresource"]),
                namespace: text(&resource["namespace"]),
                name: text(&resource["name"]),
            };
            (text(&resource["verb"]), target)
        };
        let decision = self.decide(who, &Attributes { verb, target });
        let mut status = json!({"allowed": decision.allowed});
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        status
    }

    fn rules(&self, review: &Value, who: &Identity) -> Result<Value, Status> {
        let namespace = text(&review["spec"]["namespace"]);
        if namespace.is_empty() {
            return Err(Status::bad_request("no namespace on request"));
        }
        let mut held = self.index().held(who, namespace);
        if who.is_privileged() {
            held.rules.extend(Rule::full_authority());
        }
        let resources: Vec<Value> = held.rules.iter().filter_map(resource_rule).collect();
        let paths: Vec<Value> = held.rules.iter().filter_map(path_rule).collect();
        let mut status = json!({
            "resourceRules": resources, "nonResourceRules": paths, "incomplete": false,
        });
        if !held.errors.is_empty() {
            status["evaluationError"] = together(&held.errors).into();
        }
        Ok(json!({
            "kind": "SelfSubjectRulesReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {},
            "status": status,
        }))
    }

    fn identity(&self, who: &Identity) -> Value {
        json!({
            "kind": "SelfSubjectReview",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": seconds_text(self.now())},
            "status": {"userInfo": user_info(who)},
        })
    }

    fn token(&self, mut review: Value) -> Result<Value, Status> {
        let spec = &review["spec"];
        let token = text(&spec["token"]);
        if token.is_empty() {
            return Err(Status::bad_request(
                "token is required for TokenReview in authentication",
            ));
        }
        let status = match self.identify(token, &strings(&spec["audiences"])) {
            Ok(shown) => json!({
                "authenticated": true, "user": user_info(&shown.identity), "audiences": shown.audiences,
            }),
            Err(error) => json!({"user": {}, "error": error}),
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

fn user_of(spec: &Value) -> Identity {
    let extra = spec["extra"].as_object().into_iter().flatten();
    Identity {
        name: text(&spec["user"]).to_owned(),
        uid: text(&spec["uid"]).to_owned(),
        groups: strings(&spec["groups"]),
        extra: extra
            .map(|(key, values)| (key.clone(), strings(values)))
            .collect(),
    }
}

fn user_info(who: &Identity) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), who.name.clone().into());
    if !who.uid.is_empty() {
        info.insert("uid".to_owned(), who.uid.clone().into());
    }
    if !who.groups.is_empty() {
        info.insert("groups".to_owned(), who.groups.clone().into());
    }
    if !who.extra.is_empty() {
        info.insert("extra".to_owned(), json!(who.extra));
    }
    info.into()
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
    if names_user && text(&spec["user"]).is_empty() && strings(&spec["groups"]).is_empty() {
        let detail = "at least one of user or group must be specified";
        errors.push(Error::invalid(&root.child("user"), "", detail));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        errors.extend(check_selector(&resource[selector], selector));
    }
    let metadata = told_metadata(&review["metadata"], local);
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
        let own = text(&review["metadata"]["namespace"]);
        let asked = text(&resource["namespace"]);
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
    // The real server has lost the kind when it says this.
    Err(Status::invalid(
        GroupKind::new("authorization.k8s.io", ""),
        "",
        &errors,
    ))
}

/// A selector is either text or a list of requirements.
fn check_selector(selector: &Value, name: &str) -> Option<Error> {
    let root = Path::root("spec");
    let resource = root.child("resourceAttributes");
    let place = resource.child(name);
    if selector.is_null() {
        return None;
    }
    let raw = text(&selector["rawSelector"]);
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

/// What must be empty: all that a client may have written.
fn told_metadata(metadata: &Value, local: bool) -> Value {
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
    let value = json!({"Path": text(&path["path"]), "Verb": text(&path["verb"])});
    BadValue::from(&value)
}
