//! What plugins may make the controller do: the account they get, and the servers it connects to on their behalf.

/// The defaults trust the authors of plugins with everything that the controller may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// The service account, in the namespace of the plugin, of plugins that name none and are installed in the cluster of
    /// the controller. `None`: they get the rights of the controller.
    pub default_service_account: Option<String>,
    /// The rules for servers that kubeconfigs in Secrets name.
    pub clusters: ClusterRules,
}

/// Which servers a kubeconfig in a Secret may name. That holds for those that the controller wrote, too: who may write Secrets
/// in its namespace could have changed them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClusterRules {
    /// Refuse servers without TLS.
    pub refuse_http: bool,
    /// Refuse loopback, link-local and unspecified addresses: those of the controller's node.
    pub refuse_local: bool,
}
