//! Paths, queries and options as the real server reads them.

use http::Method;

use super::{DeleteOptions, Endpoint, Place, Query, WriteOptions, manager_or_agent};

fn place(path: &str) -> Place<'_> {
    match Endpoint::parse(path) {
        Endpoint::Resource(place) => place,
        Endpoint::Document(path) => panic!("{path} names no resource"),
    }
}

#[test]
fn a_path_names_a_resource_or_a_document() {
    for path in [
        "/",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz",
    ] {
        assert_eq!(Endpoint::parse(path), Endpoint::Document(path), "{path}");
    }
    let pods = place("/api/v1/namespaces/a/pods");
    assert_eq!(
        (&*pods.resource, &*pods.namespace, &*pods.name),
        ("pods", "a", "")
    );
    let scale = place("/apis/apps/v1/namespaces/a/deployments/web/scale");
    assert_eq!(
        (&*scale.group, &*scale.name, &*scale.subresource),
        ("apps", "web", "scale")
    );
    let namespace = place("/api/v1/namespaces/a");
    assert_eq!(
        (&*namespace.resource, &*namespace.name),
        ("namespaces", "a")
    );
    assert_eq!(
        (&*namespace.namespace, namespace.object_namespace()),
        ("a", "")
    );
    let finalize = place("/api/v1/namespaces/a/finalize");
    assert_eq!((&*finalize.name, &*finalize.subresource), ("a", "finalize"));
    assert!(place("/api/v1/watch/namespaces/a/pods").is_watch);
    assert_eq!(place("/api/v1/nodes/a%2Fb").name, "a/b");
}

#[test]
fn the_verb_follows_from_method_and_name() {
    let verb = |method, path, watches| place(path).verb(&method, watches);
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
fn a_query_skips_empty_pairs_and_decodes() {
    let query = Query::parse("&labelSelector=a%3Db%2Cc&&limit=5&x=a+b&watch=0");
    assert_eq!(query.text("labelSelector"), "a=b,c");
    assert_eq!(query.integer("limit").unwrap(), Some(5));
    assert_eq!(query.text("x"), "a b");
    assert!(!query.flag("watch"));
    assert!(Query::parse("watch=").flag("watch"));
}

#[test]
fn options_are_refused_in_the_words_of_the_real_server() {
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
fn without_a_manager_the_program_owns_the_fields() {
    assert_eq!(manager_or_agent("", "kubectl/v1.36 (linux)"), "kubectl");
    assert_eq!(manager_or_agent("mine", "kubectl/v1.36"), "mine");
}
