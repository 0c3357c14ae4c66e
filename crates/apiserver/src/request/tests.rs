//! Request info, queries and options.

use http::Method;

use super::{DeleteOptions, Endpoint, Query, RequestInfo, WriteOptions, manager_or_agent};

fn info(path: &str) -> RequestInfo<'_> {
    match Endpoint::parse(path) {
        Endpoint::Resource(info) => info,
        Endpoint::NonResource(path) => panic!("{path} is not a resource path"),
    }
}

#[test]
fn distinguishes_resource_and_non_resource_paths() {
    for path in [
        "/",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz",
    ] {
        assert_eq!(Endpoint::parse(path), Endpoint::NonResource(path), "{path}");
    }
    let pods = info("/api/v1/namespaces/a/pods");
    assert_eq!(
        (&*pods.resource, &*pods.namespace, &*pods.name),
        ("pods", "a", "")
    );
    let scale = info("/apis/apps/v1/namespaces/a/deployments/web/scale");
    assert_eq!(
        (&*scale.group, &*scale.name, &*scale.subresource),
        ("apps", "web", "scale")
    );
    let namespace = info("/api/v1/namespaces/a");
    assert_eq!(
        (&*namespace.resource, &*namespace.name),
        ("namespaces", "a")
    );
    assert_eq!(
        (&*namespace.namespace, namespace.object_namespace()),
        ("a", "")
    );
    let finalize = info("/api/v1/namespaces/a/finalize");
    assert_eq!((&*finalize.name, &*finalize.subresource), ("a", "finalize"));
    assert!(info("/api/v1/watch/namespaces/a/pods").is_watch);
    assert_eq!(info("/api/v1/nodes/a%2Fb").name, "a/b");
}

#[test]
fn derives_the_verb_from_method_and_name() {
    let verb = |method, path, watches| info(path).verb(&method, watches);
    assert_eq!(verb(Method::GET, "/api/v1/pods", false), "list");
    assert_eq!(verb(Method::GET, "/api/v1/pods", true), "watch");
    assert_eq!(
        verb(Method::GET, "/api/v1/namespaces/a/pods/b", true),
        "get"
    );
    assert_eq!(
        verb(Method::DELETE, "/api/v1/namespaces/a/pods", false),
        "deletecollection"
    );
}

#[test]
fn decodes_queries_and_skips_empty_pairs() {
    let query = Query::parse("&labelSelector=a%3Db%2Cc&&limit=5&x=a+b&watch=0");
    assert_eq!(query.text("labelSelector"), "a=b,c");
    assert_eq!(query.integer("limit").unwrap(), Some(5));
    assert_eq!(query.text("x"), "a b");
    assert!(!query.flag("watch"));
    assert!(Query::parse("watch=").flag("watch"));
}

#[test]
fn rejects_invalid_options() {
    let query = Query::parse("dryRun=Some");
    let status = WriteOptions::parse(&query, "CreateOptions", false).unwrap_err();
    assert_eq!(
        status.message,
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""
    );
    let query = Query::parse("");
    let status = WriteOptions::parse(&query, "PatchOptions", true).unwrap_err();
    assert_eq!(
        status.message,
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
    let query = Query::parse("propagationPolicy=Later");
    assert_eq!(DeleteOptions::from_query(&query).unwrap_err().code(), 422);
}

#[test]
fn the_user_agent_is_the_default_field_manager() {
    assert_eq!(manager_or_agent("", "kubectl/v1.36 (linux)"), "kubectl");
    assert_eq!(manager_or_agent("mine", "kubectl/v1.36"), "mine");
}
