//! Authorization checks: the values that `authorizer` and its functions return.

use std::fmt;
use std::sync::Arc;

use crate::types::Type;

/// Decides what users may do.
pub trait Authorizer: fmt::Debug + Send + Sync {
    /// Whether the user of the request, or a service account, may do something.
    fn decide(&self, account: Option<&ServiceAccount>, check: &Check, verb: &str) -> Decision;
}

/// What is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A non-resource path.
    Path(Arc<str>),
    Resource(ResourceCheck),
}

/// A resource to check; parts that do not matter are empty. Selectors are not part of it: RBAC ignores them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceCheck {
    pub group: Arc<str>,
    pub resource: Arc<str>,
    pub subresource: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: Arc<str>,
}

/// A value of the library.
#[derive(Debug, Clone)]
pub enum Authorization {
    Authorizer(AuthorizerValue),
    /// With the name of the group.
    Group(AuthorizerValue, Arc<str>),
    Check(AuthorizerValue, Box<Check>),
    Decision(Decision),
}

/// `authorizer`, or that of a service account.
#[derive(Debug, Clone)]
pub struct AuthorizerValue {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) account: Option<Arc<ServiceAccount>>,
}

impl AuthorizerValue {
    pub(crate) fn decide(&self, check: &Check, verb: &str) -> Decision {
        self.authorizer.decide(self.account.as_deref(), check, verb)
    }
}

impl From<Arc<dyn Authorizer>> for AuthorizerValue {
    fn from(authorizer: Arc<dyn Authorizer>) -> Self {
        Self {
            authorizer,
            account: None,
        }
    }
}

impl Authorization {
    /// The type of the variable `authorizer`.
    pub fn authorizer_type() -> Type {
        Type::object("kubernetes.authorization.Authorizer")
    }

    /// The type of the variable `authorizer.requestResource`.
    pub fn resource_check_type() -> Type {
        Type::object("kubernetes.authorization.ResourceCheck")
    }

    pub(crate) fn path_check_type() -> Type {
        Type::object("kubernetes.authorization.PathCheck")
    }

    pub(crate) fn group_check_type() -> Type {
        Type::object("kubernetes.authorization.GroupCheck")
    }

    pub(crate) fn decision_type() -> Type {
        Type::object("kubernetes.authorization.Decision")
    }

    pub(crate) fn type_(&self) -> Type {
        match self {
            Self::Authorizer(_) => Self::authorizer_type(),
            Self::Group(..) => Self::group_check_type(),
            Self::Check(_, check) => match **check {
                Check::Path(_) => Self::path_check_type(),
                Check::Resource(_) => Self::resource_check_type(),
            },
            Self::Decision(_) => Self::decision_type(),
        }
    }
}

impl super::Value<'_> {
    /// The variable `authorizer`.
    pub fn authorizer(authorizer: &Arc<dyn Authorizer>) -> Self {
        let authorizer = AuthorizerValue::from(Arc::clone(authorizer));
        Authorization::Authorizer(authorizer).into()
    }

    /// The variable `authorizer.requestResource`.
    pub fn resource_check(authorizer: &Arc<dyn Authorizer>, check: &ResourceCheck) -> Self {
        let authorizer = AuthorizerValue::from(Arc::clone(authorizer));
        let check = Box::new(Check::Resource(check.clone()));
        Authorization::Check(authorizer, check).into()
    }
}

impl From<Authorization> for super::Value<'_> {
    fn from(authorization: Authorization) -> Self {
        Self::Opaque(super::Opaque::Authorization(authorization))
    }
}
