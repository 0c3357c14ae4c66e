//! etcd: members with fixed addresses.

use serde::Deserialize;
use serde_json::json;

use super::contributions::{Contributions, launch_parameters, launch_template, values, values_of};
use super::network::Network;
use crate::check::Cidr;
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::Stage;

pub(super) const DEFAULTS: &str = "
count: 3
instanceType: t3.medium
volumeSizeGib: 30
amiId: ''
";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Etcd {
    count: u32,
    instance_type: String,
    volume_size_gib: u32,
    ami_id: String,
}

/// The host names and addresses of the members.
pub(super) fn members(request: &Request<'_>) -> Result<Vec<(String, String)>, Failure> {
    let etcd: Etcd = values_of(request, "etcd")?;
    let network: Network = values_of(request, "network")?;
    let subnets = network.machine_subnets();
    let members = (0..etcd.count.min(9)).filter_map(|member| {
        let subnet = subnets.get(member as usize % subnets.len().max(1))?;
        // AWS reserves the first four addresses of a subnet.
        let address = subnet.cidr.parse::<Cidr>().ok()?.address(10 + member)?;
        Some((
            format!("ip-{}", address.to_string().replace('.', "-")),
            address.to_string(),
        ))
    });
    Ok(members.collect())
}

pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    if request.stage != Stage::Initialise {
        return Ok(Response::default());
    }
    let etcd: Etcd = values(request)?;
    let mut findings = Vec::new();
    if etcd.count.is_multiple_of(2) || etcd.count > 9 {
        findings.push(Finding::fatal(
            "",
            format!("count is {}; use an odd number up to 9", etcd.count),
        ));
    }
    let members = members(request)?;
    let mut to = Contributions::default();
    machines(request, &etcd, &members, &mut to)?;
    to.unit("role/etcd", "etcd.service", &unit(&members));
    let names: Vec<String> = members
        .iter()
        .flat_map(|(name, address)| [name.clone(), address.clone()])
        .collect();
    to.key_pair("etcd-ca", "etcd", None, &["ca"], &[]);
    to.key_pair(
        "etcd-server",
        "etcd",
        Some("etcd-ca"),
        &["server", "client"],
        &names,
    );
    to.key_pair(
        "etcd-client",
        "etcd-client",
        Some("etcd-ca"),
        &["client"],
        &[],
    );
    to.certificate("role/etcd", "/etc/etcd/pki", "etcd-ca");
    to.key_files("role/etcd", "/etc/etcd/pki", "etcd-server");
    Ok(Response {
        findings,
        ..to.into_response()
    })
}

fn machines(
    request: &Request<'_>,
    etcd: &Etcd,
    members: &[(String, String)],
    to: &mut Contributions,
) -> Result<(), Failure> {
    let network: Network = values_of(request, "network")?;
    let subnets = network.machine_subnets();
    launch_parameters(to, "etcd", &etcd.ami_id, "SecurityGroupEtcd");
    let mut template = launch_template("etcd", &etcd.instance_type, etcd.volume_size_gib);
    if let Some(data) = template["LaunchTemplateData"].as_object_mut() {
        // The network interface has the security group.
        data.remove("SecurityGroupIds");
    }
    to.resource(
        "etcd",
        "LaunchTemplate",
        "AWS::EC2::LaunchTemplate",
        &template,
    );
    for (position, (_, address)) in members.iter().enumerate() {
        let subnet = &subnets[position % subnets.len()].name;
        to.network_parameter(
            "etcd",
            &format!("Subnet{subnet}"),
            "AWS::EC2::Subnet::Id",
            &format!("Subnet{subnet}"),
        );
        let interface = json!({"SubnetId": {"Ref": format!("Subnet{subnet}")}, "PrivateIpAddress": address, "GroupSet": [{"Ref": "SecurityGroup"}]});
        to.resource(
            "etcd",
            &format!("Interface{position}"),
            "AWS::EC2::NetworkInterface",
            &interface,
        );
        let instance = json!({
            "LaunchTemplate": {"LaunchTemplateId": {"Ref": "LaunchTemplate"}, "Version": {"Fn::GetAtt": ["LaunchTemplate", "LatestVersionNumber"]}},
            "NetworkInterfaces": [{"DeviceIndex": "0", "NetworkInterfaceId": {"Ref": format!("Interface{position}")}}],
        });
        to.resource(
            "etcd",
            &format!("Etcd{position}"),
            "AWS::EC2::Instance",
            &instance,
        );
    }
    Ok(())
}

fn unit(members: &[(String, String)]) -> String {
    let cluster: Vec<String> = members
        .iter()
        .map(|(name, address)| format!("{name}=https://{address}:2380"))
        .collect();
    let pki = "/etc/etcd/pki";
    format!(
        "[Unit]\nDescription=etcd\nAfter=network-online.target\nWants=network-online.target\n\n[Service]\nType=notify\n\
         ExecStart=/opt/bin/etcd --name=%l --data-dir=/var/lib/etcd --initial-cluster={} --initial-cluster-state=new \
         --listen-peer-urls=https://0.0.0.0:2380 --initial-advertise-peer-urls=https://%l:2380 \
         --listen-client-urls=https://0.0.0.0:2379 --advertise-client-urls=https://%l:2379 \
         --cert-file={pki}/etcd-server.pem --key-file={pki}/etcd-server-key.pem --trusted-ca-file={pki}/etcd-ca.pem --client-cert-auth \
         --peer-cert-file={pki}/etcd-server.pem --peer-key-file={pki}/etcd-server-key.pem --peer-trusted-ca-file={pki}/etcd-ca.pem --peer-client-cert-auth\n\
         Restart=always\n\n[Install]\nWantedBy=multi-user.target\n",
        cluster.join(",")
    )
}
