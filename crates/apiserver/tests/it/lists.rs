//! Lists and tables in every format.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Empty};
use outrigger_apiserver::server::{Body, Service};
use serde_json::{Value, json};

use crate::requests::{request, server};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

async fn get(service: &Service, path: &str, accept: &str, encoding: &str) -> http::Response<Body> {
    let request = Request::get(path)
        .header("accept", accept)
        .header("accept-encoding", encoding);
    let body = Empty::<Bytes>::new();
    service.handle(request.body(body).unwrap()).await
}

async fn text(response: http::Response<Body>) -> Bytes {
    assert_eq!(response.status(), StatusCode::OK);
    response.into_body().collect().await.unwrap().to_bytes()
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(bytes);
    std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
    text
}

/// A client that does not read must not make the server render all of it.
#[tokio::test]
async fn large_lists_are_rendered_while_they_are_sent_in_every_format() {
    let server = server().await;
    let service = server.service();
    for number in 0..8 {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}")},
            "data": {"text": "line\n".repeat(10_000)},
        });
        let (code, answer) = request(&service, Method::POST, CONFIG_MAPS, &object).await;
        assert_eq!(code, StatusCode::CREATED, "{answer}");
    }
    let plain = text(get(&service, CONFIG_MAPS, "application/json", "").await).await;
    let plain: Value = serde_json::from_slice(&plain).unwrap();
    let pretty = format!("{CONFIG_MAPS}?pretty=1");
    let objects = format!("{CONFIG_MAPS}?includeObject=Object");
    let forms = [
        (CONFIG_MAPS, "application/yaml", ""),
        (CONFIG_MAPS, "application/yaml", "gzip"),
        (CONFIG_MAPS, "application/json", "gzip"),
        (&pretty, "application/json", ""),
        (&objects, TABLE, ""),
        (CONFIG_MAPS, METADATA, ""),
    ];
    for (path, accept, encoding) in forms {
        let response = get(&service, path, accept, encoding).await;
        let form = format!("{path} {accept} {encoding}");
        assert_eq!(response.body().size_hint().exact(), None, "{form}");
        let mut bytes = text(response).await.to_vec();
        if encoding == "gzip" {
            bytes = unzipped(&bytes);
        }
        let list = outrigger_goyaml::parse_json(&bytes).unwrap();
        match accept {
            TABLE => {
                let rows = list["rows"].as_array().unwrap();
                let items = plain["items"].as_array().unwrap();
                assert_eq!(rows.len(), items.len());
                assert_eq!(rows[0]["object"]["data"], items[0]["data"]);
            }
            METADATA => assert_eq!(list["items"][7]["metadata"], plain["items"][7]["metadata"]),
            _ => assert_eq!(list, plain, "{form}"),
        }
    }
    server.close().await;
}

fn definition(storage: &str) -> Value {
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "default": {}, "properties": {
                    "color": {"type": "string", "default": format!("of {storage}")},
                }},
            }}},
            "additionalPrinterColumns": [
                {"name": "Version", "type": "string", "jsonPath": ".apiVersion"},
                {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
            ],
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [version("v1"), version("v2")],
        },
    })
}

#[tokio::test]
async fn tables_show_custom_resources_in_the_requested_version() {
    let server = server().await;
    let service = server.service();
    let (code, answer) = request(&service, Method::POST, DEFINITIONS, &definition("v1")).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    let path = |version: &str| format!("/apis/example.com/{version}/namespaces/default/widgets");
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    let (code, answer) = request(&service, Method::POST, &path("v1"), &widget).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    // The widget remains stored as v1.
    let changed = json!({"spec": definition("v2")["spec"]});
    let name = format!("{DEFINITIONS}/widgets.example.com");
    let (code, answer) = request(&service, Method::PATCH, &name, &changed).await;
    assert_eq!(code, StatusCode::OK, "{answer}");
    for version in ["v1", "v2"] {
        for path in [path(version), format!("{}/w", path(version))] {
            let path = format!("{path}?includeObject=Object");
            let table = text(get(&service, &path, TABLE, "").await).await;
            let table: Value = serde_json::from_slice(&table).unwrap();
            let row = &table["rows"][0];
            let api_version = format!("example.com/{version}");
            assert_eq!(row["cells"], json!(["w", api_version, "of v1"]), "{path}");
            assert_eq!(row["object"]["apiVersion"], api_version);
        }
    }
    server.close().await;
}
