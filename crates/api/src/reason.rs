//! The reasons of conditions and events of plugins and repositories. Users and programs compare them, so each is listed
//! here with its meaning, from which the reference of all output is generated.

use std::fmt;

macro_rules! reasons {
    ($(#[$attribute:meta])* $type:ident { $($name:ident: $meaning:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type {
            $(#[doc = $meaning] $name,)+
        }

        impl $type {
            /// All reasons, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The reason as it is written in conditions and events.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// What the reason means.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)+
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<$type> for &'static str {
            fn from(reason: $type) -> Self {
                reason.as_str()
            }
        }

        impl PartialEq<$type> for str {
            fn eq(&self, other: &$type) -> bool {
                self == other.as_str()
            }
        }

        impl PartialEq<$type> for String {
            fn eq(&self, other: &$type) -> bool {
                self.as_str() == other.as_str()
            }
        }
    };
}

reasons! {
    /// The reason of a condition.
    Reason {
        Ready: "The plugin is installed as specified and healthy; its dependencies are Ready.",
        Installing: "The plugin is being installed.",
        Upgrading: "The plugin is being upgraded.",
        CorrectingDrift: "Objects that were modified are being restored.",
        Removing: "The release is being uninstalled.",
        Disabled: "The plugin is disabled and nothing is installed.",
        Suspended: "The plugin is suspended: the controller leaves its release alone.",
        InvalidSpec: "A field of the spec is not valid.",
        KindNotSupported: "Plugins of this kind are not supported yet.",
        ImmutableField: "A field was changed that cannot change while the plugin is installed.",
        ReleaseConflict: "The release belongs to another plugin.",
        DependencyMissing: "A dependency does not exist.",
        DependencyNotReady: "A dependency is not Ready.",
        DependencyVersionMismatch: "The version of a dependency is not in the required range.",
        DependencyCycle: "Plugins depend on each other in a cycle.",
        Fetched: "The chart or the manifests were fetched.",
        Fetching: "The repository has not answered yet, or has yet to be asked because too many requests are in progress.",
        RepositoryMissing: "The Repository does not exist, or there is none in which the chart could be searched.",
        CredentialsMissing: "The Secret of the Repository does not exist or cannot be read.",
        InvalidSource: "The repository is not the URL of a chart source.",
        SourceNotAllowed: "The controller may not read charts from this directory or address.",
        Unsupported: "The source is a git repository, which is not supported yet.",
        InvalidVersion: "The version is not a valid version range.",
        ChartNotFound: "The source has no such chart, version or path.",
        Unauthorized: "The repository rejected the credentials, or needs some.",
        Unreachable: "The cluster or the repository did not respond. It is retried, and does not count as an attempt.",
        UntrustedCertificate: "The certificate of the repository is not trusted.",
        InvalidCertificates: "The certificates in the Secret of the Repository are not valid.",
        UnexpectedResponse: "The repository did not answer as a chart repository or registry does.",
        InvalidIndex: "The index of the repository is not valid.",
        InvalidChart: "The archive is not a valid chart.",
        WrongChart: "The archive contains another chart or version than the index says.",
        DigestMismatch: "The archive does not have the digest that the repository promises.",
        TooLarge: "The index, the archive or a file is larger than the limit.",
        Unreadable: "A file of the chart could not be read.",
        ValuesMissing: "A ConfigMap, a Secret or a key of `valuesFrom` does not exist.",
        ReadingValues: "The sources of `valuesFrom` are being read.",
        BadValues: "Values are not valid YAML, or not a map.",
        InvalidPath: "A path of `valuesFrom` is not valid, or has too many levels.",
        BadFileOverride: "A file override is not valid for this chart.",
        Rendered: "The templates were rendered.",
        RenderFailed: "The templates or the values schema of the chart report an error.",
        BadManifest: "A manifest is not valid YAML.",
        HooksRefused: "The chart has hooks that plugins of this kind cannot run.",
        NestingTooDeep: "Plugins create plugins too many levels deep.",
        TooManyPlugins: "A plugin creates too many plugins.",
        BadHealthRule: "A health rule is not a valid CEL expression.",
        ClusterMissing: "The Cluster, or the Secret with the kubeconfig of the cluster, does not exist.",
        ClusterNotReady: "The Cluster is being created or deleted, or has no kubeconfig yet.",
        ClusterNotAllowed: "The Cluster does not allow plugins of this namespace; its `spec.pluginNamespaces` lists those that it allows.",
        BadCluster: "The kubeconfig of the cluster is not valid or not allowed.",
        Connecting: "The cluster of the kubeconfig has not answered yet.",
        ClusterFailed: "The API of the cluster could not be read.",
        ClusterUnreachable: "The objects cannot be watched because the cluster does not respond.",
        KindMissing: "The cluster does not define a kind of the chart yet. Another plugin may bring it.",
        NamespaceMissing: "The namespace does not exist yet. Another plugin may bring it.",
        OperationInProgress: "Another tool, such as Helm, is changing the release.",
        Applied: "All objects were applied.",
        Drifted: "Live objects differ from the deployed revision; the message names them.",
        ApplyFailed: "The cluster rejected an object.",
        Refused: "The release cannot be installed, for example because an object belongs to another release.",
        Forbidden: "The service account lacks a permission.",
        FieldConflict: "Another field manager owns fields of an object; `spec.conflicts` decides.",
        HookFailed: "A hook of the chart failed.",
        RolledBack: "The attempt failed, and the previous revision was restored or the release uninstalled.",
        RollbackFailed: "The attempt failed, and so did restoring the previous revision.",
        Healthy: "All objects are healthy.",
        Progressing: "Objects are not ready yet.",
        Unhealthy: "Objects failed.",
        Timeout: "Objects did not become ready in time.",
        Required: "The plugin is required and cannot be removed.",
        DependentsRemain: "Other plugins depend on it.",
        Cascading: "Its dependents are removed first.",
        RemovingDependents: "Its dependents are being removed.",
        CascadeFailed: "The removal of a dependent could not be requested.",
        RemovalFailed: "Objects could not be deleted. It is retried.",
        Read: "The index of the repository was read.",
    }
}

reasons! {
    /// The reason of an event about a plugin.
    EventReason {
        Installed: "The plugin is Ready for the first time.",
        Upgraded: "A new revision is Ready.",
        Recovered: "A degraded plugin is Ready again.",
        Waiting: "The plugin waits, for example for a dependency.",
        Degraded: "A plugin that was Ready is not healthy any more.",
        Failed: "An attempt failed.",
        Unreachable: "A server did not respond. It is retried.",
        Refused: "The spec cannot be installed as written.",
        InstallWarnings: "The cluster or the chart engine warned during an installation.",
        Drifted: "Live objects differ from the deployed revision and are left as they are.",
        DriftCorrected: "Live objects differed from the deployed revision and were restored.",
        Removed: "The release was uninstalled; the note names what was kept.",
        RemovalBlocked: "A requested removal has to wait.",
        RemovalFailed: "Objects could not be deleted. It is retried.",
        Orphaned: "The plugin was removed, but objects of its release were left behind.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_are_sentences_that_fit_a_table() {
        let reasons = Reason::ALL.iter().map(|reason| reason.meaning());
        let events = EventReason::ALL.iter().map(|reason| reason.meaning());
        for meaning in reasons.chain(events) {
            assert!(meaning.ends_with('.'), "{meaning}");
            assert!(!meaning.contains(['|', '\n']), "{meaning}");
        }
    }
}
