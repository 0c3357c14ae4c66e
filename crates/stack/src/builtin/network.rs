//! The network: VPC, subnets, gateways and security groups.

use serde::Deserialize;
use serde_json::{Value, json};

use super::contributions::{Contributions, values};
use crate::check::{Cidr, overlaps};
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::Stage;

pub(super) const DEFAULTS: &str = "
vpcCIDR: 10.0.0.0/16
podCIDR: 10.2.0.0/16
serviceCIDR: 10.3.0.0/24
subnets:
- {name: Public0, zone: 0, cidr: 10.0.0.0/24, public: true}
- {name: Public1, zone: 1, cidr: 10.0.1.0/24, public: true}
- {name: Private0, zone: 0, cidr: 10.0.16.0/20}
- {name: Private1, zone: 1, cidr: 10.0.32.0/20}
";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Network {
    #[serde(rename = "vpcCIDR")]
    vpc: String,
    #[serde(rename = "podCIDR")]
    pub(super) pods: String,
    #[serde(rename = "serviceCIDR")]
    pub(super) services: String,
    pub(super) subnets: Vec<Subnet>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Subnet {
    pub(super) name: String,
    /// The position of the availability zone in the region.
    zone: u32,
    pub(super) cidr: String,
    #[serde(default)]
    public: bool,
}

impl Network {
    /// The subnets of machines: private ones, if there are any.
    pub(super) fn machine_subnets(&self) -> Vec<&Subnet> {
        let private: Vec<&Subnet> = self
            .subnets
            .iter()
            .filter(|subnet| !subnet.public)
            .collect();
        if private.is_empty() {
            self.subnets.iter().collect()
        } else {
            private
        }
    }
}

pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    if request.stage != Stage::Initialise {
        return Ok(Response::default());
    }
    let network: Network = values(request)?;
    let mut contributions = Contributions::default();
    vpc(&network, &mut contributions);
    for subnet in &network.subnets {
        add_subnet(subnet, &mut contributions);
    }
    routes(&network, &mut contributions);
    security_groups(&mut contributions);
    let mut response = contributions.into_response();
    response.findings = findings(&network);
    Ok(response)
}

fn findings(network: &Network) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut parse = |name: &str, text: &str| match text.parse::<Cidr>() {
        Ok(cidr) => Some((name.to_owned(), cidr)),
        Err(error) => {
            findings.push(Finding::fatal("", format!("{name}: {error}")));
            None
        }
    };
    let vpc = parse("vpcCIDR", &network.vpc);
    let blocks: Vec<_> = [
        vpc.clone(),
        parse("podCIDR", &network.pods),
        parse("serviceCIDR", &network.services),
    ]
    .into_iter()
    .flatten()
    .collect();
    let subnets = network
        .subnets
        .iter()
        .filter_map(|subnet| parse(&format!("subnet {}", subnet.name), &subnet.cidr));
    let subnets: Vec<_> = subnets.collect();
    let overlapping = overlaps(&blocks).into_iter().chain(overlaps(&subnets));
    findings.extend(overlapping.map(|message| Finding::fatal("", message)));
    if let Some((_, vpc)) = vpc {
        let outside = subnets.iter().filter(|(_, subnet)| !vpc.contains(*subnet));
        findings.extend(outside.map(|(name, subnet)| {
            Finding::fatal("", format!("{name} {subnet} is not in vpcCIDR {vpc}"))
        }));
    }
    if !network.subnets.iter().any(|subnet| subnet.public) {
        findings.push(Finding::fatal(
            "",
            "there is no public subnet for the load balancer of the API server",
        ));
    }
    findings
}

fn vpc(network: &Network, to: &mut Contributions) {
    let tags = json!([{"Key": "Name", "Value": {"Ref": "AWS::StackName"}}]);
    to.resource("network", "Vpc", "AWS::EC2::VPC", &json!({"CidrBlock": network.vpc, "EnableDnsHostnames": true, "EnableDnsSupport": true, "Tags": tags}));
    to.resource(
        "network",
        "InternetGateway",
        "AWS::EC2::InternetGateway",
        &json!({"Tags": tags}),
    );
    let attachment =
        json!({"VpcId": {"Ref": "Vpc"}, "InternetGatewayId": {"Ref": "InternetGateway"}});
    to.resource(
        "network",
        "GatewayAttachment",
        "AWS::EC2::VPCGatewayAttachment",
        &attachment,
    );
    to.output("network", "VpcId", &json!({"Ref": "Vpc"}));
    let joined = |subnets: Vec<&Subnet>| {
        let names: Vec<Value> = subnets
            .iter()
            .map(|subnet| json!({"Ref": format!("Subnet{}", subnet.name)}))
            .collect();
        json!({"Fn::Join": [",", names]})
    };
    to.output("network", "Subnets", &joined(network.machine_subnets()));
    to.output(
        "network",
        "PublicSubnets",
        &joined(
            network
                .subnets
                .iter()
                .filter(|subnet| subnet.public)
                .collect(),
        ),
    );
}

fn add_subnet(subnet: &Subnet, to: &mut Contributions) {
    let Subnet {
        name,
        zone,
        cidr,
        public,
    } = subnet;
    let role = if *public {
        "kubernetes.io/role/elb"
    } else {
        "kubernetes.io/role/internal-elb"
    };
    let properties = json!({
        "VpcId": {"Ref": "Vpc"},
        "CidrBlock": cidr,
        "AvailabilityZone": {"Fn::Select": [zone, {"Fn::GetAZs": ""}]},
        "MapPublicIpOnLaunch": public,
        "Tags": [{"Key": role, "Value": "1"}],
    });
    to.resource(
        "network",
        &format!("Subnet{name}"),
        "AWS::EC2::Subnet",
        &properties,
    );
    let table = if *public {
        "PublicRoutes"
    } else {
        "PrivateRoutes"
    };
    let association =
        json!({"SubnetId": {"Ref": format!("Subnet{name}")}, "RouteTableId": {"Ref": table}});
    to.resource(
        "network",
        &format!("Routes{name}"),
        "AWS::EC2::SubnetRouteTableAssociation",
        &association,
    );
    to.output(
        "network",
        &format!("Subnet{name}"),
        &json!({"Ref": format!("Subnet{name}")}),
    );
}

/// Public subnets reach the internet through a gateway, private ones through one NAT gateway.
fn routes(network: &Network, to: &mut Contributions) {
    let table = json!({"VpcId": {"Ref": "Vpc"}});
    to.resource("network", "PublicRoutes", "AWS::EC2::RouteTable", &table);
    let body = json!({
        "Type": "AWS::EC2::Route",
        "DependsOn": "GatewayAttachment",
        "Properties": {"RouteTableId": {"Ref": "PublicRoutes"}, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": {"Ref": "InternetGateway"}},
    });
    to.add(
        "cluster",
        "resource",
        json!({"stack": "network", "name": "PublicRoute", "body": body}),
    );
    let public = network.subnets.iter().find(|subnet| subnet.public);
    let has_private = network.subnets.iter().any(|subnet| !subnet.public);
    if let (Some(public), true) = (public, has_private) {
        let address = json!({"Type": "AWS::EC2::EIP", "DependsOn": "GatewayAttachment", "Properties": {"Domain": "vpc"}});
        to.add(
            "cluster",
            "resource",
            json!({"stack": "network", "name": "NatAddress", "body": address}),
        );
        let gateway = json!({"SubnetId": {"Ref": format!("Subnet{}", public.name)}, "AllocationId": {"Fn::GetAtt": ["NatAddress", "AllocationId"]}});
        to.resource("network", "NatGateway", "AWS::EC2::NatGateway", &gateway);
        to.resource("network", "PrivateRoutes", "AWS::EC2::RouteTable", &table);
        let route = json!({"RouteTableId": {"Ref": "PrivateRoutes"}, "DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": {"Ref": "NatGateway"}});
        to.resource("network", "PrivateRoute", "AWS::EC2::Route", &route);
    }
}

fn security_groups(to: &mut Contributions) {
    for role in ["Etcd", "Controller", "Worker"] {
        let name = format!("SecurityGroup{role}");
        let group = json!({
            "GroupDescription": format!("{role} machines"),
            "VpcId": {"Ref": "Vpc"},
            "SecurityGroupEgress": [{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}],
        });
        to.resource("network", &name, "AWS::EC2::SecurityGroup", &group);
        to.output("network", &name, &json!({"Fn::GetAtt": [name, "GroupId"]}));
    }
    let rules = [
        ("Etcd", "Etcd", Some((2379, 2380))),
        ("Etcd", "Controller", Some((2379, 2379))),
        ("Controller", "Controller", None),
        ("Controller", "Worker", None),
        ("Worker", "Controller", None),
        ("Worker", "Worker", None),
    ];
    for (group, source, ports) in rules {
        let id = |role: &str| json!({"Fn::GetAtt": [format!("SecurityGroup{role}"), "GroupId"]});
        let mut rule =
            json!({"GroupId": id(group), "SourceSecurityGroupId": id(source), "IpProtocol": "-1"});
        if let Some((first, last)) = ports {
            rule["IpProtocol"] = json!("tcp");
            rule["FromPort"] = json!(first);
            rule["ToPort"] = json!(last);
        }
        to.resource(
            "network",
            &format!("{group}From{source}"),
            "AWS::EC2::SecurityGroupIngress",
            &rule,
        );
    }
    let api = json!({"GroupId": {"Fn::GetAtt": ["SecurityGroupController", "GroupId"]}, "CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 6443, "ToPort": 6443});
    to.resource(
        "network",
        "ApiServerIngress",
        "AWS::EC2::SecurityGroupIngress",
        &api,
    );
}
