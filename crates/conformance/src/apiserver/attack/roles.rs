//! Roles of many rules, bound many times.

use anyhow::ensure;
use futures::future::try_join_all;
use http_body_util::Full;
use serde_json::{Value, json};

use super::target::{Answer, JSON, Target};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/// Requests that none of 30,000 rules allows, and a review of all rules.
pub(super) async fn bound_often(target: &Target) -> anyhow::Result<String> {
    let rule = |number: usize| json!({"verbs": ["get"], "apiGroups": [""], "resources": [format!("r{number}")]});
    let rules: Vec<Value> = (0..30_000).map(rule).collect();
    let role = json!({"metadata": {"name": "large"}, "rules": rules});
    let created = target.post(&format!("{RBAC}/roles"), &role).await?;
    created.expect(&[201])?;
    for number in 0..50 {
        let binding = json!({
            "metadata": {"name": format!("b{number}")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "large"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
        });
        let path = format!("{RBAC}/rolebindings");
        target.post(&path, &binding).await?.expect(&[201])?;
    }
    let denied =
        (0..200).map(|_| as_bob(target, "GET", "/api/v1/namespaces/default/secrets/x", ""));
    for answer in try_join_all(denied).await? {
        answer.expect(&[403])?;
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    });
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let review = as_bob(target, "POST", reviews, &review.to_string()).await?;
    let answer = review.expect(&[201])?;
    let status = &review.body["status"];
    ensure!(status["incomplete"] == true, "the review has all rules");
    Ok(answer)
}

async fn as_bob(target: &Target, method: &str, path: &str, body: &str) -> anyhow::Result<Answer> {
    let request = target.client.request(method, path);
    let request = request
        .header("content-type", JSON)
        .header("impersonate-user", "bob");
    let request = request.body(Full::from(body.to_owned()))?;
    Ok(Answer::new(&target.client.send(request).await?))
}
