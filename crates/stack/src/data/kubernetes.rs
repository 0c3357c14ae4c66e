//! What a plugin contributes to Kubernetes: flags, volumes, settings, objects, releases and key pairs.

use std::collections::BTreeSet;

use outrigger_gostd::time::Duration;
use outrigger_goyaml as goyaml;
use outrigger_model::Scope;
use outrigger_model::construct::{
    Component, ComponentSetting, Flag, KeyPair, KeyUsage, Manifest, S3File, Volume,
};
use serde_json::{Map, Value};

use super::contribute::{Contributor, Drafts, draft, raw_draft};
use super::spec::{ComponentSpec, FileSpec, KeyPairSpec, Kubernetes};
use crate::plugin::Failure;

impl Contributor<'_> {
    /// Flags, volumes and settings of components that run on the control plane only.
    pub(super) fn control_plane_components(&self, kubernetes: &Kubernetes) -> Drafts {
        let components = [
            (Component::KubeApiserver, &kubernetes.apiserver),
            (
                Component::KubeControllerManager,
                &kubernetes.controller_manager,
            ),
            (Component::KubeScheduler, &kubernetes.kube_scheduler),
        ];
        let drafts =
            components.map(|(component, spec)| self.component(component, spec, &Scope::Cluster));
        flatten(drafts)
    }

    /// Flags, volumes and settings of components that run on the nodes of a scope.
    pub(super) fn node_components(&self, kubernetes: &Kubernetes, scope: &Scope) -> Drafts {
        let components = [
            (Component::Kubelet, &kubernetes.kubelet),
            (Component::KubeProxy, &kubernetes.kube_proxy),
        ];
        flatten(components.map(|(component, spec)| self.component(component, spec, scope)))
    }

    fn component(&self, component: Component, spec: &ComponentSpec, scope: &Scope) -> Drafts {
        let mut drafts = Vec::new();
        for flag in &spec.flags {
            let value = self.scalar(&flag.name, &flag.value)?;
            let name = flag.name.trim_start_matches('-').to_owned();
            drafts.push(draft(
                scope,
                Flag {
                    component,
                    name,
                    value,
                },
            )?);
        }
        for volume in &spec.volumes {
            let (name, path) = (volume.name.clone(), self.text("path", &volume.path)?);
            drafts.push(draft(
                scope,
                Volume {
                    component,
                    name,
                    path,
                    read_only: volume.read_only,
                },
            )?);
        }
        for (name, value) in &spec.config {
            let (path, value) = (vec![name.clone()], self.context.render_value(name, value)?);
            drafts.push(draft(
                scope,
                ComponentSetting {
                    component,
                    path,
                    value,
                },
            )?);
        }
        Ok(drafts)
    }

    pub(super) fn manifests(&self, specs: &[FileSpec]) -> Drafts {
        let mut drafts = Vec::new();
        for spec in specs {
            let source = spec
                .source
                .as_ref()
                .and_then(|source| source.path.as_deref());
            let base = source.and_then(|path| path.rsplit('/').next());
            let name = spec
                .name
                .as_deref()
                .or(base)
                .ok_or_else(|| Failure("a manifest has no name".to_owned()))?;
            let text = self.rendered_text(name, spec)?.unwrap_or_default();
            for (position, object) in objects(name, &text)?.into_iter().enumerate() {
                let manifest = Manifest {
                    name: name.to_owned(),
                    position,
                    object,
                };
                drafts.push(draft(&Scope::Cluster, manifest)?);
            }
        }
        Ok(drafts)
    }

    pub(super) fn releases(&self, releases: &[Map<String, Value>]) -> Drafts {
        let drafts = releases.iter().map(|release| {
            let rendered = self
                .context
                .render_value("helm.releases", &Value::Object(release.clone()))?;
            Ok(raw_draft(
                &Scope::Cluster,
                "helmRelease",
                rendered.as_object().cloned().unwrap_or_default(),
            ))
        });
        drafts.collect()
    }

    pub(super) fn key_pairs(&self, specs: &[KeyPairSpec]) -> Drafts {
        specs
            .iter()
            .map(|spec| draft(&Scope::Cluster, self.key_pair(spec)?))
            .collect()
    }

    fn key_pair(&self, spec: &KeyPairSpec) -> Result<KeyPair, Failure> {
        let failure = |message: String| Failure(format!("key pair {}: {message}", spec.name));
        let duration = Duration::parse(spec.duration.as_bytes())
            .map_err(|error| failure(error.to_string()))?;
        let duration_seconds = u64::try_from(duration.0 / 1_000_000_000).unwrap_or(0);
        let dns_names = spec
            .dns_names
            .iter()
            .map(|name| self.text("dnsNames", name));
        let ip_addresses = spec.ip_addresses.iter().map(|address| {
            let address = self.text("ipAddresses", address)?;
            address
                .parse()
                .map_err(|_| failure(format!("{address:?} is not an IP address")))
        });
        Ok(KeyPair {
            name: spec.name.clone(),
            common_name: self.text("commonName", &spec.common_name)?,
            organization: spec
                .organization
                .as_deref()
                .map(|text| self.text("organization", text))
                .transpose()?,
            duration_seconds,
            dns_names: dns_names.collect::<Result<BTreeSet<_>, _>>()?,
            ip_addresses: ip_addresses.collect::<Result<BTreeSet<_>, _>>()?,
            usages: spec
                .usages
                .iter()
                .map(|usage| {
                    key_usage(usage).ok_or_else(|| failure(format!("unknown usage {usage:?}")))
                })
                .collect::<Result<_, _>>()?,
            signer: spec.signer.clone().filter(|signer| !signer.is_empty()),
        })
    }

    pub(super) fn s3_files(&self, specs: &[FileSpec]) -> Drafts {
        let drafts = specs.iter().map(|spec| {
            let key = spec
                .path
                .clone()
                .ok_or_else(|| Failure("an S3 file has no path".to_owned()))?;
            let content = self.content(&key, spec)?;
            draft(
                &Scope::Cluster,
                S3File {
                    key: format!("{}/{key}", self.plugin),
                    content,
                },
            )
        });
        drafts.collect()
    }
}

fn flatten<const N: usize>(drafts: [Drafts; N]) -> Drafts {
    let drafts: Result<Vec<_>, _> = drafts.into_iter().collect();
    drafts.map(|drafts| drafts.concat())
}

fn key_usage(usage: &str) -> Option<KeyUsage> {
    match usage {
        "ca" => Some(KeyUsage::Ca),
        "server" => Some(KeyUsage::Server),
        "client" => Some(KeyUsage::Client),
        _ => None,
    }
}

/// The objects of a YAML stream; lists are taken apart.
fn objects(name: &str, text: &str) -> Result<Vec<Value>, Failure> {
    let mut objects = Vec::new();
    for document in goyaml::documents(text.as_bytes()) {
        let document = document.map_err(|error| Failure(format!("{name}: {error}")))?;
        let object =
            goyaml::parse_json(&document).map_err(|error| Failure(format!("{name}: {error}")))?;
        match object.get("items") {
            _ if object.is_null() => {}
            Some(Value::Array(items))
                if object["kind"]
                    .as_str()
                    .is_some_and(|kind| kind.ends_with("List")) =>
            {
                objects.extend(items.iter().cloned());
            }
            _ => objects.push(object),
        }
    }
    Ok(objects)
}
