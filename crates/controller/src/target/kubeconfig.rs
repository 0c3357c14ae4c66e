//! A kubeconfig in a Secret: which of its fields and servers are accepted.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Secret;
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use outrigger_repository::is_local_address;

use super::{CONNECT_TIMEOUT, Error};
use crate::trust::ClusterRules;

/// A key of a Secret.
pub(super) struct SecretKey {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) key: String,
}

/// The configuration of a client for the cluster that the Secret names.
pub(super) async fn load(
    from: &SecretKey,
    secret: &Secret,
    rules: ClusterRules,
) -> Result<Config, Error> {
    let data = secret.data.as_ref().and_then(|data| data.get(&from.key));
    let Some(data) = data else {
        return Err(Error::KeyNotFound {
            namespace: from.namespace.clone(),
            name: from.name.clone(),
            key: from.key.clone(),
        });
    };
    let invalid = || Error::InvalidKubeconfig {
        namespace: from.namespace.clone(),
        name: from.name.clone(),
    };
    let text = std::str::from_utf8(&data.0).map_err(|_| invalid())?;
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| invalid())?;
    if let Some(field) = forbidden_field(&kubeconfig) {
        return Err(Error::ForbiddenField {
            namespace: from.namespace.clone(),
            name: from.name.clone(),
            field,
        });
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|_| invalid())?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    check_server(&config, rules)
        .await
        .map_err(|reason| Error::ForbiddenServer {
            namespace: from.namespace.clone(),
            name: from.name.clone(),
            reason,
        })?;
    Ok(config)
}

/// The first field that would run a program or read a file on this node.
fn forbidden_field(kubeconfig: &Kubeconfig) -> Option<&'static str> {
    let clusters = kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref());
    for cluster in clusters {
        if cluster.certificate_authority.is_some() {
            return Some("a certificate-authority file");
        }
    }
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    users.into_iter().find_map(forbidden_user_field)
}

fn forbidden_user_field(user: &AuthInfo) -> Option<&'static str> {
    let fields = [
        (user.exec.is_some(), "exec"),
        (user.auth_provider.is_some(), "an auth-provider"),
        (user.token_file.is_some(), "a tokenFile"),
        (
            user.client_certificate.is_some(),
            "a client-certificate file",
        ),
        (user.client_key.is_some(), "a client-key file"),
    ];
    fields
        .into_iter()
        .find_map(|(is_used, field)| is_used.then_some(field))
}

/// Checks the server, and the addresses that its name resolves to now.
async fn check_server(config: &Config, rules: ClusterRules) -> Result<(), &'static str> {
    let url = &config.cluster_url;
    if rules.refuse_http && url.scheme_str() != Some("https") {
        return Err("a server without TLS");
    }
    if !rules.refuse_local {
        return Ok(());
    }
    let host = url.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<IpAddr>() {
        return check_address(address);
    }
    let port = url.port_u16().unwrap_or(443);
    // A name that does not resolve is reported by the connection.
    let addresses = tokio::net::lookup_host((host, port)).await;
    let mut addresses = addresses.into_iter().flatten();
    addresses.try_for_each(|address| check_address(address.ip()))
}

fn check_address(address: IpAddr) -> Result<(), &'static str> {
    if is_local_address(address) {
        return Err("a loopback or link-local address");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(user: &str, cluster: &str, expected: Option<&str>) {
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: https://x{cluster}}}}}]\nusers: [{{name: a, user: {{{user}}}}}]\n"
        );
        assert_eq!(
            forbidden_field(&Kubeconfig::from_yaml(&text).unwrap()),
            expected
        );
    }

    #[test]
    fn a_kubeconfig_cannot_run_programs_or_read_local_files() {
        check("token: x", "", None);
        check("exec: {command: evil, apiVersion: v1}", "", Some("exec"));
        check("tokenFile: /etc/passwd", "", Some("a tokenFile"));
        check("client-key: /etc/key", "", Some("a client-key file"));
        check(
            "token: x",
            ", certificate-authority: /etc/ca",
            Some("a certificate-authority file"),
        );
    }

    #[tokio::test]
    async fn servers_without_tls_and_on_the_node_are_refused_unless_allowed() {
        let strict = ClusterRules {
            refuse_http: true,
            refuse_local: true,
        };
        let rows = [
            ("https://10.0.0.1:6443", true),
            ("http://10.0.0.1:6443", false),
            ("https://127.0.0.1:6443", false),
            ("https://127.8.8.8", false),
            ("https://169.254.169.254", false),
            ("https://[::1]:6443", false),
            ("https://[fe80::1]:6443", false),
            ("https://[::ffff:127.0.0.1]:6443", false),
            ("https://0.0.0.0:6443", false),
            ("https://localhost:6443", false),
        ];
        for (server, is_allowed) in rows {
            let config = Config::new(server.parse().unwrap());
            let result = check_server(&config, strict).await;
            assert_eq!(result.is_ok(), is_allowed, "{server}: {result:?}");
            let result = check_server(&config, ClusterRules::default()).await;
            assert!(result.is_ok(), "{server}: {result:?}");
        }
    }
}
