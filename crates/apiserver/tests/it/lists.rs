//! Lists and tables in every format.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Empty};
use outrigger_apiserver::server::{Body, Service};
use serde_json::{Value, json};

use crate::requests::{request, server};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
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
    for number in 0..20 {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}")},
            "data": {"text": "line\n".repeat(20_000)},
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
            METADATA => assert_eq!(
                list["items"][19]["metadata"],
                plain["items"][19]["metadata"]
            ),
            _ => assert_eq!(list, plain, "{form}"),
        }
    }
    server.close().await;
}
