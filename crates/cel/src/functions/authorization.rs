//! `authz`: the library for authorization checks. It needs the variable `authorizer`, which only admission policies have.

use std::sync::Arc;

use outrigger_apimachinery::syntax;

use super::{Function, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{
    Authorization, AuthorizerValue, Check, Decision, Opaque, ResourceCheck, ServiceAccount, Value,
};

type Result<T> = std::result::Result<T, Error>;

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, String};
    let authorizer = Authorization::authorizer_type;
    let path = Authorization::path_check_type;
    let group = Authorization::group_check_type;
    let resource = Authorization::resource_check_type;
    let decision = Authorization::decision_type;
    let of_resource =
        |name, id, set| Function::new(name).member(id, [resource(), String], resource(), set);
    vec![
        Function::new("path").member(
            "authorizer_path",
            [authorizer(), String],
            path(),
            path_check,
        ),
        Function::new("group").member(
            "authorizer_group",
            [authorizer(), String],
            group(),
            group_check,
        ),
        Function::new("serviceAccount").member(
            "authorizer_serviceaccount",
            [authorizer(), String, String],
            authorizer(),
            service_account,
        ),
        Function::new("resource").member(
            "groupcheck_resource",
            [group(), String],
            resource(),
            resource_check,
        ),
        of_resource("subresource", "resourcecheck_subresource", |meter, args| {
            with(meter, args, |check, text| check.subresource = text)
        }),
        of_resource("namespace", "resourcecheck_namespace", |meter, args| {
            with(meter, args, |check, text| check.namespace = text)
        }),
        of_resource("name", "resourcecheck_name", |meter, args| {
            with(meter, args, |check, text| check.name = text)
        }),
        // RBAC ignores selectors.
        of_resource(
            "fieldSelector",
            "authorizer_fieldselector",
            |meter, args| with(meter, args, |_, _| {}),
        ),
        of_resource(
            "labelSelector",
            "authorizer_labelselector",
            |meter, args| with(meter, args, |_, _| {}),
        ),
        Function::new("check")
            .member("pathcheck_check", [path(), String], decision(), check)
            .member(
                "resourcecheck_check",
                [resource(), String],
                decision(),
                check,
            ),
        // RBAC reports errors as reasons.
        Function::new("errored").member("decision_errored", [decision()], Bool, |_, args| {
            decided(args).map(|_| Value::Bool(false))
        }),
        Function::new("error").member("decision_error", [decision()], String, |_, args| {
            decided(args).map(|_| Value::string(std::string::String::new()))
        }),
        Function::new("allowed").member("decision_allowed", [decision()], Bool, |_, args| {
            decided(args).map(|decision| Value::Bool(decision.allowed))
        }),
        Function::new("reason").member("decision_reason", [decision()], String, |_, args| {
            decided(args).map(|decision| Value::string(decision.reason.to_string()))
        }),
    ]
}

/// The target of a call, and its other arguments.
fn target<'a, 'v>(args: &'a [Value<'v>]) -> Result<(&'a Authorization, &'a [Value<'v>])> {
    match args.split_first() {
        Some((Value::Opaque(Opaque::Authorization(target)), rest)) => Ok((target, rest)),
        _ => Err(Error::NoSuchOverload),
    }
}

/// The `authorizer` that a function is called on, and the text that it is called with.
fn authorizer<'a>(args: &'a [Value<'_>]) -> Result<(&'a AuthorizerValue, &'a str)> {
    match target(args)? {
        (Authorization::Authorizer(authorizer), [argument, ..]) => {
            Ok((authorizer, text(argument)?))
        }
        _ => Err(Error::NoSuchOverload),
    }
}

fn path_check<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (authorizer, path) = authorizer(args)?;
    if path.trim().is_empty() {
        return Err(Error::function("path must not be empty"));
    }
    let path = shared(meter, path)?;
    let check = Box::new(Check::Path(path));
    Ok(Authorization::Check(authorizer.clone(), check).into())
}

fn group_check<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (authorizer, group) = authorizer(args)?;
    let group = shared(meter, group)?;
    Ok(Authorization::Group(authorizer.clone(), group).into())
}

fn service_account<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (authorizer, namespace) = authorizer(args)?;
    let name = text(args.get(2).ok_or(Error::NoSuchOverload)?)?;
    if !syntax::dns1123_subdomain(name).is_empty() {
        return Err(Error::function("Invalid service account name"));
    }
    if !syntax::dns1123_label(namespace).is_empty() {
        return Err(Error::function("Invalid service account namespace"));
    }
    let account = ServiceAccount {
        namespace: shared(meter, namespace)?,
        name: shared(meter, name)?,
    };
    Ok(Authorization::Authorizer(AuthorizerValue {
        authorizer: Arc::clone(&authorizer.authorizer),
        account: Some(Arc::new(account)),
    })
    .into())
}

fn resource_check<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (Authorization::Group(authorizer, group), [resource]) = target(args)? else {
        return Err(Error::NoSuchOverload);
    };
    let resource = text(resource)?;
    if resource.trim().is_empty() {
        return Err(Error::function("resource must not be empty"));
    }
    let check = Check::Resource(ResourceCheck {
        group: Arc::clone(group),
        resource: shared(meter, resource)?,
        ..ResourceCheck::default()
    });
    let check = Box::new(check);
    Ok(Authorization::Check(authorizer.clone(), check).into())
}

/// A check of a resource with a change.
fn with<'v>(
    meter: &mut Meter,
    args: &[Value<'v>],
    change: impl FnOnce(&mut ResourceCheck, Arc<str>),
) -> Result<Value<'v>> {
    let (Authorization::Check(authorizer, check), [argument]) = target(args)? else {
        return Err(Error::NoSuchOverload);
    };
    let mut check = check.clone();
    let Check::Resource(resource) = &mut *check else {
        return Err(Error::NoSuchOverload);
    };
    change(resource, shared(meter, text(argument)?)?);
    Ok(Authorization::Check(authorizer.clone(), check).into())
}

fn check<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (Authorization::Check(authorizer, check), [verb]) = target(args)? else {
        return Err(Error::NoSuchOverload);
    };
    let decision = authorizer.decide(check, text(verb)?);
    Ok(Authorization::Decision(decision).into())
}

fn decided<'a>(args: &'a [Value<'_>]) -> Result<&'a Decision> {
    match target(args)? {
        (Authorization::Decision(decision), []) => Ok(decision),
        _ => Err(Error::NoSuchOverload),
    }
}

fn shared(meter: &mut Meter, text: &str) -> Result<Arc<str>> {
    meter.copy(text.len())?;
    Ok(text.into())
}
