//! The kinds of other systems that can be converted to plugins.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use super::{Error, kubegems_bundle, kubegems_plugin, status, tkestack_app};
use crate::plugin::Plugin;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignKind {
    /// `plugins.kubegems.io/v1beta1 Plugin`, with the legacy or the current spec
    KubeGemsPlugin,
    /// `bundle.kubegems.io/v1beta1 Bundle`
    KubeGemsBundle,
    /// `application.tkestack.io/v1 App`
    TkestackApp,
}

impl ForeignKind {
    pub const ALL: &'static [Self] = &[
        Self::KubeGemsPlugin,
        Self::KubeGemsBundle,
        Self::TkestackApp,
    ];

    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|foreign| {
            let resource = foreign.resource();
            resource.api_version == api_version && resource.kind == kind
        })
    }

    pub fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = match self {
            Self::KubeGemsPlugin => ("plugins.kubegems.io", "v1beta1", "Plugin", "plugins"),
            Self::KubeGemsBundle => ("bundle.kubegems.io", "v1beta1", "Bundle", "bundles"),
            Self::TkestackApp => ("application.tkestack.io", "v1", "App", "apps"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    /// Converts an object to a plugin.
    pub fn convert(self, object: Value) -> Result<Plugin, Error> {
        match self {
            Self::KubeGemsPlugin => kubegems_plugin::convert(object),
            Self::KubeGemsBundle => kubegems_bundle::convert(object),
            Self::TkestackApp => tkestack_app::convert(object),
        }
    }

    /// The status of the object, in the format of its system, for the plugin that it was converted to.
    pub fn status(self, object: &Value, plugin: &Plugin) -> Value {
        match self {
            Self::KubeGemsPlugin | Self::KubeGemsBundle => status::kubegems(object, plugin),
            Self::TkestackApp => status::tkestack(object, plugin),
        }
    }

    /// The status of an object that cannot be converted.
    pub fn rejected_status(self, object: &Value, error: &Error, now: &str) -> Value {
        status::rejected(self, object, error, now)
    }

    /// The custom resource definition, which accepts what the other system accepts.
    pub fn definition(self) -> CustomResourceDefinition {
        let text: &[u8] = match self {
            Self::KubeGemsPlugin => include_bytes!("../../compat/kubegems-plugin.yaml"),
            Self::KubeGemsBundle => include_bytes!("../../compat/kubegems-bundle.yaml"),
            Self::TkestackApp => include_bytes!("../../compat/tkestack-app.yaml"),
        };
        let value = outrigger_goyaml::parse_json(text).expect("the file is valid YAML");
        serde_json::from_value(value).expect("the file is a custom resource definition")
    }
}
