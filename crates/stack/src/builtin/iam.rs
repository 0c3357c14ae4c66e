//! The IAM roles of the machines. Their statements come from all plugins.

use serde_json::{Value, json};

use super::contributions::Contributions;
use super::machine_files::bucket;
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::Stage;

#[expect(clippy::unnecessary_wraps, reason = "the signature of all plugins")]
pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    if request.stage != Stage::Initialise {
        return Ok(Response::default());
    }
    let mut contributions = Contributions::default();
    for (stack, role) in [
        ("etcd", "etcd"),
        ("controlPlane", "controller"),
        ("nodePools", "worker"),
    ] {
        add_role(stack, role, &mut contributions);
    }
    let mut findings = Vec::new();
    match bucket(request.configuration) {
        Some((bucket, prefix)) => {
            let resource =
                json!({"Fn::Sub": format!("arn:${{AWS::Partition}}:s3:::{bucket}/{prefix}/*")});
            contributions.add(
                "cluster",
                "iamStatement",
                json!({"actions": ["s3:GetObject"], "resources": [resource]}),
            );
        }
        None => findings.push(Finding::fatal(
            "",
            "s3URI is missing, or is not s3://BUCKET[/PREFIX]",
        )),
    }
    let key = request.setting("kmsKeyArn");
    if !key.is_empty() {
        contributions.add(
            "cluster",
            "iamStatement",
            json!({"actions": ["kms:Decrypt"], "resources": [key]}),
        );
    }
    Ok(Response {
        findings,
        ..contributions.into_response()
    })
}

fn add_role(stack: &str, role: &str, to: &mut Contributions) {
    let document = |statement: Value| json!({"Version": "2012-10-17", "Statement": statement});
    let trust = json!([{"Effect": "Allow", "Principal": {"Service": ["ec2.amazonaws.com"]}, "Action": ["sts:AssumeRole"]}]);
    let statements = json!({"Outrigger::Statements": role});
    let properties = json!({
        "AssumeRolePolicyDocument": document(trust),
        "Policies": [{"PolicyName": "plugins", "PolicyDocument": document(statements)}],
    });
    to.resource(stack, "Role", "AWS::IAM::Role", &properties);
    to.resource(
        stack,
        "InstanceProfile",
        "AWS::IAM::InstanceProfile",
        &json!({"Roles": [{"Ref": "Role"}]}),
    );
}
