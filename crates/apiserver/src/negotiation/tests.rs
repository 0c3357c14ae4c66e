//! `Accept` headers and YAML.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};

use super::accept::Format;
use super::{Accept, NotAcceptable, View, from_yaml};
use crate::request::Query;

#[track_caller]
fn accept(header: &str) -> Result<Accept, u16> {
    let value = HeaderValue::from_str(header).ok();
    let headers: HeaderMap = value.map(|value| (ACCEPT, value)).into_iter().collect();
    Accept::parse(&headers, &Query::parse("")).map_err(|_| NotAcceptable::custom().code())
}

#[test]
fn negotiates_the_best_offered_format() {
    assert_eq!(accept("").unwrap().format, Format::Json);
    assert_eq!(accept("application/yaml").unwrap().format, Format::Yaml);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    assert_eq!(accept(table).unwrap().view, View::Table);
    let metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    assert_eq!(accept(metadata).unwrap().view, View::Metadata);
    let typed = "application/vnd.kubernetes.protobuf,application/json";
    assert_eq!(accept(typed).unwrap().format, Format::Json);
    assert_eq!(
        accept("application/json;q=0.1, application/yaml")
            .unwrap()
            .format,
        Format::Yaml
    );
    assert_eq!(accept("text/html, */*;q=0.1").unwrap().format, Format::Json);
    assert_eq!(accept("text/html"), Err(406));
}

#[test]
fn knows_clients_that_accept_only_protobuf() {
    let protobuf = "application/vnd.kubernetes.protobuf";
    let only_protobuf = |header: &str| accept(header).map(|accept| accept.only_protobuf);
    assert_eq!(only_protobuf(protobuf), Ok(true));
    assert_eq!(only_protobuf(&format!("text/html, {protobuf}")), Ok(true));
    for other in ["application/json", "application/yaml", "*/*;q=0.1"] {
        assert_eq!(only_protobuf(&format!("{protobuf}, {other}")), Ok(false));
    }
    let metadata = format!("{protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    assert_eq!(only_protobuf(&metadata), Ok(false));
    let table = format!("{protobuf};as=Table;g=meta.k8s.io;v=v1");
    assert_eq!(only_protobuf(&table), Err(406));
}

#[test]
fn reads_and_writes_yaml() {
    let value = from_yaml(b"a: 1\nb:\n- x\n- true\n").unwrap();
    assert_eq!(value, serde_json::json!({"a": 1, "b": ["x", true]}));
    assert_eq!(
        outrigger_goyaml::write_json(&value),
        b"a: 1\nb:\n- x\n- true\n"
    );
    assert!(from_yaml(b"a: [").is_err());
}
