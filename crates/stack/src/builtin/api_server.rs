//! The API server: its flags, and the check that the flags of all plugins fit together.

use std::collections::BTreeMap;

use outrigger_model::construct::{Component, Flag};
use outrigger_model::{Entry, Owner, Placement};
use serde::Deserialize;

use super::contributions::{Contributions, values, values_of};
use super::etcd;
use super::network::Network;
use crate::check::Cidr;
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::Stage;

pub(super) const DEFAULTS: &str = "
authorizationMode: Node,RBAC
";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ApiServer {
    authorization_mode: String,
}

pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    match request.stage {
        Stage::Initialise => initialise(request),
        Stage::Render => Ok(Response {
            findings: check(request),
            ..Response::default()
        }),
        _ => Ok(Response::default()),
    }
}

fn initialise(request: &Request<'_>) -> Result<Response, Failure> {
    const PKI: &str = "/etc/kubernetes/pki";
    let server: ApiServer = values(request)?;
    let network: Network = values_of(request, "network")?;
    let servers: Vec<String> = etcd::members(request)?
        .iter()
        .map(|(_, address)| format!("https://{address}:2379"))
        .collect();
    let mut to = Contributions::default();
    let file = |name: &str| format!("{PKI}/{name}.pem");
    let flags = [
        ("etcd-servers", servers.join(",")),
        ("etcd-cafile", file("etcd-ca")),
        ("etcd-certfile", file("etcd-client")),
        ("etcd-keyfile", file("etcd-client-key")),
        ("service-cluster-ip-range", network.services.clone()),
        ("authorization-mode", server.authorization_mode),
        ("client-ca-file", file("ca")),
        ("tls-cert-file", file("apiserver")),
        ("tls-private-key-file", file("apiserver-key")),
        (
            "kubelet-client-certificate",
            file("apiserver-kubelet-client"),
        ),
        ("kubelet-client-key", file("apiserver-kubelet-client-key")),
        (
            "service-account-issuer",
            "https://kubernetes.default.svc".to_owned(),
        ),
        ("service-account-key-file", file("service-account")),
        (
            "service-account-signing-key-file",
            file("service-account-key"),
        ),
        ("enable-admission-plugins", "NodeRestriction".to_owned()),
        ("anonymous-auth", "true".to_owned()),
        ("secure-port", "6443".to_owned()),
    ];
    for (name, value) in flags {
        to.flag("kube-apiserver", name, &value);
    }
    to.add("cluster", "volume", serde_json::json!({"component": "kube-apiserver", "name": "pki", "path": PKI, "readOnly": true}));
    certificates(request, &network, &mut to);
    Ok(to.into_response())
}

fn certificates(request: &Request<'_>, network: &Network, to: &mut Contributions) {
    const SCOPE: &str = "role/controller";
    const PKI: &str = "/etc/kubernetes/pki";
    let mut names: Vec<String> = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    .map(str::to_owned)
    .to_vec();
    let public = request.setting("apiServerName");
    if !public.is_empty() {
        names.push(public.to_owned());
    }
    let service = network
        .services
        .parse::<Cidr>()
        .ok()
        .and_then(|services| services.address(1));
    names.extend(service.map(|address| address.to_string()));
    to.key_pair("ca", "kubernetes", None, &["ca"], &[]);
    to.key_pair(
        "apiserver",
        "kube-apiserver",
        Some("ca"),
        &["server"],
        &names,
    );
    let kubelet_client = serde_json::json!({
        "name": "apiserver-kubelet-client",
        "commonName": "kube-apiserver-kubelet-client",
        "organization": "system:masters",
        "durationSeconds": 31_536_000,
        "usages": ["client"],
        "signer": "ca",
    });
    to.add("cluster", "keyPair", kubelet_client);
    to.key_pair("service-account", "service-accounts", None, &["ca"], &[]);
    to.certificate(SCOPE, PKI, "etcd-ca");
    for name in [
        "ca",
        "apiserver",
        "apiserver-kubelet-client",
        "service-account",
        "etcd-client",
    ] {
        to.key_files(SCOPE, PKI, name);
    }
}

/// Checks that the flags that plugins contributed do not contradict each other.
fn check(request: &Request<'_>) -> Vec<Finding> {
    let Some(model) = request.model else {
        return Vec::new();
    };
    let flags = model.flags.for_placement(&Placement::Controller);
    let flags = flags.filter(|entry| entry.value.component == Component::KubeApiserver);
    let flags: Vec<&Entry<Flag>> = flags.collect();
    let mut findings = Vec::new();
    findings.extend(flags.iter().filter_map(|entry| removed(entry)));
    findings.extend(incomplete(&flags));
    findings.extend(admission(&flags));
    findings.extend(flags.iter().filter_map(|entry| unsafe_value(entry)));
    findings
}

fn owner(entry: &Entry<Flag>) -> &str {
    entry.owners.first().map_or("", Owner::as_str)
}

/// Flags that current API servers do not have.
fn removed(entry: &Entry<Flag>) -> Option<Finding> {
    const REMOVED: [&str; 6] = [
        "insecure-port",
        "insecure-bind-address",
        "port",
        "address",
        "basic-auth-file",
        "admission-control",
    ];
    let name = entry.value.name.as_str();
    REMOVED.contains(&name).then(|| {
        Finding::fatal(
            "",
            format!(
                "flag --{name} of plugin {} does not exist in current API servers",
                owner(entry)
            ),
        )
    })
}

/// Flags that need another one.
fn incomplete(flags: &[&Entry<Flag>]) -> Vec<Finding> {
    const NEEDS: [(&str, &str); 6] = [
        ("oidc-issuer-url", "oidc-client-id"),
        ("oidc-client-id", "oidc-issuer-url"),
        ("oidc-groups-claim", "oidc-issuer-url"),
        ("oidc-username-claim", "oidc-issuer-url"),
        ("tls-cert-file", "tls-private-key-file"),
        ("audit-log-maxage", "audit-log-path"),
    ];
    let by_name: BTreeMap<&str, &Entry<Flag>> = flags
        .iter()
        .map(|entry| (entry.value.name.as_str(), *entry))
        .collect();
    let missing = NEEDS.into_iter().filter_map(|(flag, needed)| {
        let entry = by_name.get(flag)?;
        let is_missing = !by_name.contains_key(needed);
        is_missing.then(|| {
            Finding::fatal(
                "",
                format!(
                    "flag --{flag} of plugin {} needs --{needed}, which nobody sets",
                    owner(entry)
                ),
            )
        })
    });
    missing.collect()
}

/// Admission plugins that are both enabled and disabled.
fn admission(flags: &[&Entry<Flag>]) -> Vec<Finding> {
    let named = |name: &'static str| flags.iter().filter(move |entry| entry.value.name == name);
    let both = named("enable-admission-plugins").flat_map(|enabled| {
        named("disable-admission-plugins").filter_map(move |disabled| {
            let is_same = enabled.value.value == disabled.value.value;
            is_same.then(|| {
                Finding::fatal(
                    "",
                    format!(
                        "admission plugin {} is enabled by plugin {} and disabled by plugin {}",
                        enabled.value.value,
                        owner(enabled),
                        owner(disabled)
                    ),
                )
            })
        })
    });
    both.collect()
}

fn unsafe_value(entry: &Entry<Flag>) -> Option<Finding> {
    let Flag { name, value, .. } = &entry.value;
    let is_open =
        name == "authorization-mode" && value.split(',').any(|mode| mode == "AlwaysAllow");
    is_open.then(|| {
        Finding::fatal(
            "",
            format!(
                "plugin {} sets --authorization-mode={value}, which allows everything to everyone",
                owner(entry)
            ),
        )
    })
}
