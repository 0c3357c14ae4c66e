//! Objects in namespaces with many quotas.

use outrigger_apiserver::loopback::{Client, ResourcePath};
use outrigger_apiserver::server::{Options, Server};
use serde_json::{Value, json};

async fn create(client: &Client, plural: &str, object: &Value) -> Result<Value, String> {
    let path = ResourcePath::all("v1", plural).in_namespace("default");
    let created = client.create(&path, object).await;
    created.map_err(|error| error.to_string())
}

async fn add_quotas(client: &Client, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let quota = json!({
            "metadata": {"name": format!("q{number}")}, "spec": {"hard": {"count/configmaps": "9"}},
            "status": {"hard": {"count/configmaps": "9"}, "used": {"count/configmaps": "0"}},
        });
        create(client, "resourcequotas", &quota).await.unwrap();
    }
}

#[tokio::test]
async fn an_object_is_charged_to_300_quotas() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    server.run_controllers();
    let client = Client::new(server.service(), "test");
    add_quotas(&client, 0..300).await;
    for number in 0..300 {
        let quota = ResourcePath::all("v1", "resourcequotas").in_namespace("default");
        let quota = quota.named(&format!("q{number}"));
        let is_measured =
            |quota: Option<&Value>| quota.is_some_and(|quota| quota["status"]["used"].is_object());
        client.await_condition(&quota, is_measured).await.unwrap();
    }
    let object = json!({"metadata": {"name": "charged"}});
    create(&client, "configmaps", &object).await.unwrap();
    server.close().await;
}
