//! Asks the cluster whether a token may read the metrics: who it is (`TokenReview`), and whether that user may get
//! `/metrics` (`SubjectAccessReview`), as controller-runtime does.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Semaphore;

/// How long a decision is cached.
const CACHE_DURATION: Duration = Duration::from_mins(1);

const MAX_CACHED: usize = 32;

/// Clients with wrong tokens must not flood the API server.
const MAX_CONCURRENT_REVIEWS: usize = 2;

/// A token and whether it may read the metrics. Omitted from debug output.
struct Decision {
    token: String,
    status: StatusCode,
    at: Instant,
}

pub(super) struct Authorizer {
    client: Client,
    reviews: Semaphore,
    decisions: Mutex<Vec<Decision>>,
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").finish_non_exhaustive()
    }
}

impl Authorizer {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            reviews: Semaphore::new(MAX_CONCURRENT_REVIEWS),
            decisions: Mutex::default(),
        }
    }

    /// 200, or why the token may not read the metrics.
    pub(super) async fn status(&self, token: &str) -> StatusCode {
        if let Some(status) = self.cached(token) {
            return status;
        }
        let Ok(_permit) = self.reviews.acquire().await else {
            return StatusCode::SERVICE_UNAVAILABLE;
        };
        match self.review(token).await {
            Ok(status) => {
                self.store(token, status);
                status
            }
            Err(error) => {
                tracing::warn!(%error, "failed to authorize a request for metrics");
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    async fn review(&self, token: &str) -> Result<StatusCode, kube::Error> {
        let Some(user) = self.authenticate(token).await? else {
            return Ok(StatusCode::UNAUTHORIZED);
        };
        if self.is_authorized(user).await? {
            Ok(StatusCode::OK)
        } else {
            Ok(StatusCode::FORBIDDEN)
        }
    }

    async fn authenticate(&self, token: &str) -> Result<Option<UserInfo>, kube::Error> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let status = api.create(&PostParams::default(), &review).await?.status;
        let status = status.unwrap_or_default();
        let is_authenticated = status.authenticated.unwrap_or_default();
        Ok(status.user.filter(|_| is_authenticated))
    }

    async fn is_authorized(&self, user: UserInfo) -> Result<bool, kube::Error> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some("/metrics".to_owned()),
                    verb: Some("get".to_owned()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let status = api.create(&PostParams::default(), &review).await?.status;
        Ok(status.is_some_and(|status| status.allowed))
    }

    fn cached(&self, token: &str) -> Option<StatusCode> {
        let decisions = self.decisions.lock();
        let decisions = decisions.unwrap_or_else(PoisonError::into_inner);
        let mut fresh = decisions
            .iter()
            .filter(|decision| decision.at.elapsed() < CACHE_DURATION);
        let found = fresh.find(|decision| decision.token == token);
        found.map(|decision| decision.status)
    }

    fn store(&self, token: &str, status: StatusCode) {
        let decisions = self.decisions.lock();
        let mut decisions = decisions.unwrap_or_else(PoisonError::into_inner);
        decisions.retain(|decision| decision.token != token);
        if decisions.len() == MAX_CACHED {
            decisions.remove(0);
        }
        decisions.push(Decision {
            token: token.to_owned(),
            status,
            at: Instant::now(),
        });
    }
}
