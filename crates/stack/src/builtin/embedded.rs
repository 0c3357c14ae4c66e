//! Data plugins in the binary.

use std::collections::BTreeMap;

use crate::folder::Folder;
use crate::plugin::Origin;

/// A data plugin in the binary.
pub(super) struct Embedded {
    pub(super) name: &'static str,
    pub(super) origin: Origin,
    plugin_file: &'static str,
}

impl Embedded {
    pub(super) fn folder(&self) -> Folder {
        Folder::Embedded(BTreeMap::from([("plugin.yaml", self.plugin_file)]))
    }
}

macro_rules! embedded {
    ($name:literal, $origin:ident) => {
        Embedded {
            name: $name,
            origin: Origin::$origin,
            plugin_file: include_str!(concat!("../../plugins/", $name, "/plugin.yaml")),
        }
    };
}

pub(super) const PLUGINS: [Embedded; 8] = [
    embedded!("kubelet", Builtin),
    embedded!("bastion", Builtin),
    embedded!("cluster-autoscaler", Builtin),
    embedded!("dashboard", Builtin),
    embedded!("dex", Builtin),
    embedded!("kube2iam", Builtin),
    embedded!("monitoring-agent", Contrib),
    embedded!("rescheduler", Contrib),
];
