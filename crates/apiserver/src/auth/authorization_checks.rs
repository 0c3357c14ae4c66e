//! `authorizer` of admission policies: checks of the user that sent a request, or of a service account.

use std::sync::Arc;

use outrigger_cel::{Authorizer, Check, Decision, ServiceAccount};

use super::Auth;
use super::user::{Attributes, Target, UserInfo, service_account_groups, service_account_name};

#[derive(Debug)]
pub(crate) struct AuthorizationChecks {
    auth: Auth,
    user: UserInfo,
}

impl Auth {
    /// The authorizer for a request of a user.
    pub(crate) fn checks_of(&self, user: UserInfo) -> AuthorizationChecks {
        AuthorizationChecks {
            auth: self.clone(),
            user,
        }
    }
}

impl Authorizer for AuthorizationChecks {
    fn decide(&self, account: Option<&ServiceAccount>, check: &Check, verb: &str) -> Decision {
        let account = account.map(|account| UserInfo {
            name: service_account_name(&account.namespace, &account.name),
            groups: service_account_groups(&account.namespace),
            ..UserInfo::default()
        });
        let target = match check {
            Check::Path(path) => Target::Path(path),
            Check::Resource(check) => Target::Resource {
                group: &check.group,
                version: "*",
                resource: &check.resource,
                subresource: &check.subresource,
                namespace: &check.namespace,
                name: &check.name,
            },
        };
        let user = account.as_ref().unwrap_or(&self.user);
        let decision = self.auth.decide(user, &Attributes { verb, target });
        Decision {
            allowed: decision.allowed,
            reason: Arc::from(decision.reason),
        }
    }
}
