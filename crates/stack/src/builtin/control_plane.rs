//! The machines of the control plane, and the load balancer of the API server.

use serde::Deserialize;
use serde_json::json;

use super::contributions::{
    Contributions, auto_scaling_group, launch_parameters, launch_template, values, values_of,
};
use super::network::Network;
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::Stage;

pub(super) const DEFAULTS: &str = "
count: 3
instanceType: t3.medium
volumeSizeGib: 30
amiId: ''
internetFacing: false
";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ControlPlane {
    count: u32,
    instance_type: String,
    volume_size_gib: u32,
    ami_id: String,
    /// Whether the API server can be reached from the internet.
    internet_facing: bool,
}

pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    if request.stage != Stage::Initialise {
        return Ok(Response::default());
    }
    let control_plane: ControlPlane = values(request)?;
    let network: Network = values_of(request, "network")?;
    let mut to = Contributions::default();
    machines(&control_plane, &mut to);
    load_balancer(&control_plane, &mut to);
    let pki = "/etc/kubernetes/pki";
    let flags = [
        ("kube-controller-manager", "cluster-cidr", network.pods),
        (
            "kube-controller-manager",
            "allocate-node-cidrs",
            "true".to_owned(),
        ),
        (
            "kube-controller-manager",
            "root-ca-file",
            format!("{pki}/ca.pem"),
        ),
        (
            "kube-controller-manager",
            "service-account-private-key-file",
            format!("{pki}/service-account-key.pem"),
        ),
        (
            "kube-controller-manager",
            "use-service-account-credentials",
            "true".to_owned(),
        ),
        ("kube-controller-manager", "leader-elect", "true".to_owned()),
        ("kube-scheduler", "leader-elect", "true".to_owned()),
    ];
    for (component, name, value) in flags {
        to.flag(component, name, &value);
    }
    to.add("cluster", "volume", json!({"component": "kube-controller-manager", "name": "pki", "path": pki, "readOnly": true}));
    let taint = json!({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"});
    to.add("role/controller", "nodeTaint", taint);
    let mut response = to.into_response();
    if control_plane.count == 0 {
        response.findings.push(Finding::fatal(
            "",
            "count is 0; a cluster needs a control plane",
        ));
    }
    Ok(response)
}

fn machines(control_plane: &ControlPlane, to: &mut Contributions) {
    let ControlPlane {
        count,
        instance_type,
        volume_size_gib,
        ami_id,
        ..
    } = control_plane;
    launch_parameters(to, "controlPlane", ami_id, "SecurityGroupController");
    to.network_parameter(
        "controlPlane",
        "Subnets",
        "List<AWS::EC2::Subnet::Id>",
        "Subnets",
    );
    to.resource(
        "controlPlane",
        "LaunchTemplate",
        "AWS::EC2::LaunchTemplate",
        &launch_template("controller", instance_type, *volume_size_gib),
    );
    let extra = json!({"TargetGroupARNs": [{"Ref": "TargetGroup"}], "HealthCheckType": "EC2"});
    to.resource(
        "controlPlane",
        "Controllers",
        "AWS::AutoScaling::AutoScalingGroup",
        &auto_scaling_group(*count, count + 1, extra),
    );
}

fn load_balancer(control_plane: &ControlPlane, to: &mut Contributions) {
    let (scheme, subnets) = if control_plane.internet_facing {
        to.network_parameter(
            "controlPlane",
            "PublicSubnets",
            "List<AWS::EC2::Subnet::Id>",
            "PublicSubnets",
        );
        ("internet-facing", "PublicSubnets")
    } else {
        ("internal", "Subnets")
    };
    let balancer = json!({"Type": "network", "Scheme": scheme, "Subnets": {"Ref": subnets}});
    to.resource(
        "controlPlane",
        "ApiServer",
        "AWS::ElasticLoadBalancingV2::LoadBalancer",
        &balancer,
    );
    to.network_parameter("controlPlane", "VpcId", "AWS::EC2::VPC::Id", "VpcId");
    let group = json!({"Protocol": "TCP", "Port": 6443, "VpcId": {"Ref": "VpcId"}, "HealthCheckProtocol": "TCP"});
    to.resource(
        "controlPlane",
        "TargetGroup",
        "AWS::ElasticLoadBalancingV2::TargetGroup",
        &group,
    );
    let listener = json!({
        "LoadBalancerArn": {"Ref": "ApiServer"}, "Port": 443, "Protocol": "TCP",
        "DefaultActions": [{"Type": "forward", "TargetGroupArn": {"Ref": "TargetGroup"}}],
    });
    to.resource(
        "controlPlane",
        "Listener",
        "AWS::ElasticLoadBalancingV2::Listener",
        &listener,
    );
    let name = json!({"Fn::GetAtt": ["ApiServer", "DNSName"]});
    to.output("controlPlane", "ApiServerName", &name);
    to.output(
        "root",
        "ApiServerName",
        &json!({"Fn::GetAtt": ["ControlPlane", "Outputs.ApiServerName"]}),
    );
}
