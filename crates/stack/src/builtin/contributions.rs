//! Builds the contributions of compiled plugins.

use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::plugin::{Failure, Request, Response};

/// Contributions of one plugin.
#[derive(Debug, Default)]
pub(super) struct Contributions(Vec<Map<String, Value>>);

impl Contributions {
    pub(super) fn add(&mut self, scope: &str, kind: &str, fields: Value) {
        let scope = Value::String(scope.to_owned());
        self.0.push(Map::from_iter([
            ("scope".to_owned(), scope),
            (kind.to_owned(), fields),
        ]));
    }

    pub(super) fn resource(&mut self, stack: &str, name: &str, kind: &str, properties: &Value) {
        self.add(
            "cluster",
            "resource",
            json!({"stack": stack, "name": name, "body": {"Type": kind, "Properties": properties}}),
        );
    }

    pub(super) fn output(&mut self, stack: &str, name: &str, value: &Value) {
        self.add(
            "cluster",
            "output",
            json!({"stack": stack, "name": name, "value": value}),
        );
    }

    /// A parameter whose value is an output of the network stack.
    pub(super) fn network_parameter(&mut self, stack: &str, name: &str, kind: &str, output: &str) {
        let value = json!({"Fn::GetAtt": ["Network", format!("Outputs.{output}")]});
        self.add(
            "cluster",
            "parameter",
            json!({"stack": stack, "name": name, "body": {"Type": kind}, "value": value}),
        );
    }

    pub(super) fn unit(&mut self, scope: &str, name: &str, content: &str) {
        self.add(scope, "unit", json!({"name": name, "content": content}));
    }

    pub(super) fn flag(&mut self, component: &str, name: &str, value: &str) {
        self.add(
            "cluster",
            "flag",
            json!({"component": component, "name": name, "value": value}),
        );
    }

    /// A key pair that the CA of the given name signs; without a signer, it is a CA. Names may be DNS names and addresses.
    pub(super) fn key_pair(
        &mut self,
        name: &str,
        common_name: &str,
        signer: Option<&str>,
        usages: &[&str],
        names: &[String],
    ) {
        let years = if signer.is_some() { 1 } else { 10 };
        let is_address = |name: &&String| name.parse::<IpAddr>().is_ok();
        let (addresses, dns_names): (Vec<&String>, Vec<&String>) =
            names.iter().partition(is_address);
        let mut fields = json!({
            "name": name,
            "commonName": common_name,
            "durationSeconds": years * 31_536_000_u64,
            "usages": usages,
            "dnsNames": dns_names,
            "ipAddresses": addresses,
        });
        if let Some(signer) = signer {
            fields["signer"] = json!(signer);
        }
        self.add("cluster", "keyPair", fields);
    }

    /// The certificate and the private key of a key pair as files.
    pub(super) fn key_files(&mut self, scope: &str, folder: &str, name: &str) {
        self.certificate(scope, folder, name);
        let content = json!({"keyPair": {"name": name, "part": "privateKey"}});
        self.add(
            scope,
            "file",
            json!({"path": format!("{folder}/{name}-key.pem"), "mode": 0o600, "content": content}),
        );
    }

    pub(super) fn certificate(&mut self, scope: &str, folder: &str, name: &str) {
        let content = json!({"keyPair": {"name": name, "part": "certificate"}});
        self.add(
            scope,
            "file",
            json!({"path": format!("{folder}/{name}.pem"), "mode": 0o644, "content": content}),
        );
    }

    pub(super) fn into_response(self) -> Response {
        Response {
            contributions: self.0,
            ..Response::default()
        }
    }
}

/// The values of the plugin as a type.
pub(super) fn values<T: DeserializeOwned>(request: &Request<'_>) -> Result<T, Failure> {
    parse(request.values)
}

pub(super) fn parse<T: DeserializeOwned>(
    values: Option<&Map<String, Value>>,
) -> Result<T, Failure> {
    let values = Value::Object(values.cloned().unwrap_or_default());
    serde_json::from_value(values).map_err(|error| Failure(format!("invalid values: {error}")))
}

/// The values of another plugin as a type.
pub(super) fn values_of<T: DeserializeOwned>(
    request: &Request<'_>,
    key: &str,
) -> Result<T, Failure> {
    parse(request.configuration["plugins"][key].as_object())
}

/// A launch template for machines of a role (`etcd`, `controller` or `worker`).
pub(super) fn launch_template(role: &str, instance_type: &str, volume_size: u32) -> Value {
    json!({"LaunchTemplateData": {
        "ImageId": {"Ref": "ImageId"},
        "InstanceType": instance_type,
        "IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["InstanceProfile", "Arn"]}},
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": volume_size, "VolumeType": "gp3", "Encrypted": true}}],
        "SecurityGroupIds": [{"Ref": "SecurityGroup"}],
        "UserData": {"Outrigger::UserData": role},
    }})
}

/// Adds the parameters that launch templates refer to. An empty image is asked for when the stack is deployed.
pub(super) fn launch_parameters(
    contributions: &mut Contributions,
    stack: &str,
    image: &str,
    security_group: &str,
) {
    let value = if image.is_empty() {
        json!({"Ref": "ImageId"})
    } else {
        json!(image)
    };
    let parameter = json!({"stack": stack, "name": "ImageId", "body": {"Type": "AWS::EC2::Image::Id"}, "value": value});
    contributions.add("cluster", "parameter", parameter);
    if image.is_empty() {
        let root = json!({"stack": "root", "name": "ImageId", "body": {"Type": "AWS::EC2::Image::Id", "Description": "The image of all machines"}});
        contributions.add("cluster", "parameter", root);
    }
    contributions.network_parameter(
        stack,
        "SecurityGroup",
        "AWS::EC2::SecurityGroup::Id",
        security_group,
    );
}

/// An Auto Scaling group with the launch template of its stack.
pub(super) fn auto_scaling_group(minimum: u32, maximum: u32, extra: Value) -> Value {
    let mut group = json!({
        "MinSize": minimum.to_string(),
        "MaxSize": maximum.to_string(),
        "VPCZoneIdentifier": {"Ref": "Subnets"},
        "LaunchTemplate": {"LaunchTemplateId": {"Ref": "LaunchTemplate"}, "Version": {"Fn::GetAtt": ["LaunchTemplate", "LatestVersionNumber"]}},
        "Tags": {"Outrigger::Tags": []},
    });
    if let (Some(group), Value::Object(extra)) = (group.as_object_mut(), extra) {
        group.extend(extra);
    }
    group
}
