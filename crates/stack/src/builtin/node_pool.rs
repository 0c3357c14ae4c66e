//! The machines of node pools.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::contributions::{
    Contributions, auto_scaling_group, launch_parameters, launch_template, parse,
};
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::Stage;

pub(super) const DEFAULTS: &str = "
minSize: 1
maxSize: 3
instanceType: t3.medium
volumeSizeGib: 30
amiId: ''
labels: {}
taints: []
";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NodePool {
    min_size: u32,
    max_size: u32,
    instance_type: String,
    volume_size_gib: u32,
    ami_id: String,
    labels: BTreeMap<String, String>,
    taints: Vec<Value>,
}

pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    if request.stage != Stage::Initialise {
        return Ok(Response::default());
    }
    let mut to = Contributions::default();
    let mut findings = Vec::new();
    let mut images: BTreeSet<String> = BTreeSet::new();
    for (name, values) in request.pools {
        let pool: NodePool = parse(Some(values))?;
        if pool.min_size > pool.max_size {
            findings.push(Finding::fatal(
                "",
                format!(
                    "node pool {name}: minSize {} is above maxSize {}",
                    pool.min_size, pool.max_size
                ),
            ));
        }
        images.insert(pool.ami_id.clone());
        machines(&format!("pool/{name}"), &pool, &mut to);
    }
    if let Some(image) = images.first() {
        if images.len() > 1 {
            findings.push(Finding::fatal(
                "",
                "amiId differs between node pools; set it for all of them or for none",
            ));
        }
        launch_parameters(&mut to, "nodePools", image, "SecurityGroupWorker");
        to.network_parameter(
            "nodePools",
            "Subnets",
            "List<AWS::EC2::Subnet::Id>",
            "Subnets",
        );
    }
    Ok(Response {
        findings,
        ..to.into_response()
    })
}

fn machines(scope: &str, pool: &NodePool, to: &mut Contributions) {
    let template = launch_template("worker", &pool.instance_type, pool.volume_size_gib);
    let resource = |name: &str, kind: &str, properties: Value| json!({"stack": "nodePools", "name": name, "body": {"Type": kind, "Properties": properties}});
    to.add(
        scope,
        "resource",
        resource("LaunchTemplate", "AWS::EC2::LaunchTemplate", template),
    );
    let group = auto_scaling_group(pool.min_size, pool.max_size, json!({}));
    to.add(
        scope,
        "resource",
        resource("Workers", "AWS::AutoScaling::AutoScalingGroup", group),
    );
    for (key, value) in &pool.labels {
        to.add(scope, "nodeLabel", json!({"key": key, "value": value}));
    }
    for taint in &pool.taints {
        to.add(scope, "nodeTaint", taint.clone());
    }
}
